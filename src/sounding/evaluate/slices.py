"""Scores by an attribute of the topics, such as their language, from a file that names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sounding.core.errors import DataError, FormatError
from sounding.core.text import plural
from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.evaluate.result import Scores


def slices(scores: Scores, source: str | Path) -> list[tuple[str, Scores]]:
    """The scores over the topics of each attribute value, by the names in a file."""
    parts: dict[str, list[str]] = {}
    for topic, label in read_attributes(source):
        parts.setdefault(label, []).append(topic)
    known, listed = set(scores.topics), {topic for topics in parts.values() for topic in topics}
    for count, remark in (
        (len(known - listed), f"judged topics without an attribute in {source}, which are in no slice"),
        (len(listed - known), f"topics of {source} that were not judged"),
    ):
        if count:
            scores = replace(scores, remarks=(*scores.remarks, f"{remark}: {count}"))
    kept = {label: topics for label, topics in sorted(parts.items()) if known & set(topics)}
    if not kept:
        raise DataError(f"{source}: none of its topics was judged; expected ids such as {scores.topics[0]!r}")
    return [(label, scores.of_topics(topics)) for label, topics in kept.items()]


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
