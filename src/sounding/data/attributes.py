"""Attributes of topics (language, intent, length), for values by slice."""

from __future__ import annotations

from pathlib import Path

from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.errors import FormatError
from sounding.wording import plural


def read_attributes(source: str | Path) -> list[tuple[str, str]]:
    """(topic, label) pairs of a CSV or TSV file whose first column is the topic.

    With a header that starts with `topic` every further column is an attribute and labels read
    `language=en`; without one there are two columns and the label is the second.
    """
    content = read_content(source)
    problems = Problems(content.source)
    grid = split_grid(content, guess_separator(content), problems)
    problems.refuse()
    if not len(grid.first):
        raise FormatError(content.source, None, "no topics; expected lines of topic and attribute")
    first = grid.texts(0)
    header = first if first[0].lower() in ("topic", "query", "query-id", "query_id", "qid") else None
    width = len(first) if header else 2
    wrong = (grid.size != width).nonzero()[0]
    problems.add(
        grid.lines[wrong],
        lambda i: f"{plural(int(grid.size[wrong[i]]), 'column')}; expected {width}: topic and its attributes",
    )
    problems.refuse()
    records = range(1 if header else 0, len(grid.first))
    pairs = []
    for record in records:
        topic, *labels = grid.texts(record)
        names = header[1:] if header else [""]
        pairs += [
            (topic, f"{name}={label}" if name else label) for name, label in zip(names, labels, strict=True)
        ]
    return pairs
