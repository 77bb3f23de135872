"""Files about topics: references that values are standardized by, and attributes that make slices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sounding.core.errors import DataError, FormatError
from sounding.core.text import plural
from sounding.data.assembly import checked_numbers
from sounding.data.columns import line_numbers
from sounding.data.delimited import guess_separator, split_grid
from sounding.data.fast.fields import Fields, split_fields
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.evaluate import sentences
from sounding.evaluate.result import Scores
from sounding.measures.trec import trec_name

SHAPE = "topic measure mean deviation"

References = dict[tuple[str, str], tuple[float, float]]  # (topic, measure as trec_eval prints it)


def read_references(source: str | Path) -> References:
    """Mean and standard deviation of every topic and measure, as trec_eval's -Z reads them."""
    content = read_content(source)
    problems = Problems(content.source)
    fields = split_fields(
        content.buffer, content.size, wanted=(0, 1, 2, 3), least=4, most=4, shape=SHAPE, problems=problems
    )
    topic, measure, mean, deviation = fields.columns
    means = checked_numbers(mean, fields.lines, "mean", problems)
    deviations = checked_numbers(deviation, fields.lines, "deviation", problems)
    below = (deviations < 0).nonzero()[0]
    problems.add(
        line_numbers(fields.lines, below),
        lambda i: f"deviation {deviation.text(int(below[i]))!r} is negative; expected 0 or more",
    )
    places = list(zip(topic.texts(), measure.texts(), strict=True))
    _note_repeats(places, fields, problems)
    problems.refuse()
    return dict(zip(places, zip(means.tolist(), deviations.tolist(), strict=True), strict=True))


def _note_repeats(places: list[tuple[str, str]], fields: Fields, problems: Problems) -> None:
    """Note rows whose topic and measure stand in an earlier row."""
    first: dict[tuple[str, str], int] = {}
    later = np.array([row for row, place in enumerate(places) if first.setdefault(place, row) != row], int)

    def describe(number: int) -> str:
        topic, measure = place = places[later[number]]
        return f"topic {topic} has {measure} already in line {fields.line(first[place])}; expected it once"

    problems.add(line_numbers(fields.lines, later), describe)


def standardize(scores: Scores, references: References, *, level: float = 1) -> Scores:
    """(value - mean) / deviation; NaN where there is no reference, or where its deviation is 0.

    A value that is the very mean of a reference without deviation gives 0, as in trec_eval. How many values
    are not defined is said in the remarks. The number of topics stays a number.
    """
    values = scores.values.copy()
    undefined: dict[str, int] = {}
    unknown = 0
    for number, measure in enumerate(scores.measures):
        if measure.name == "NumQ" or measure.definition.aggregate == "text":
            continue
        name = trec_name(measure, level=level)
        known = [references.get((topic, name), (np.nan, np.nan)) for topic in scores.topics]
        mean, deviation = np.array(known).reshape(-1, 2).T
        from_mean = values[:, number] - mean
        spread = np.where(deviation == 0, np.where(from_mean == 0, 1.0, np.nan), deviation)
        unknown += int(np.count_nonzero(~np.isnan(values[:, number]) & np.isnan(mean)))
        if lost := int(np.count_nonzero(~np.isnan(from_mean) & np.isnan(spread))):
            undefined[str(measure)] = lost
        values[:, number] = from_mean / spread + 0.0  # makes -0.0 a plain 0
    remarks = (*scores.remarks, sentences.Z_SCORES, *sentences.undefined_z_scores(undefined, unknown))
    return replace(scores, values=values, remarks=remarks)


def slices(scores: Scores, source: str | Path) -> list[tuple[str, Scores]]:
    """The scores over the topics of each attribute value, by the names in a file."""
    parts: dict[str, list[str]] = {}
    for topic, label in read_attributes(source):
        parts.setdefault(label, []).append(topic)
    known, listed = set(scores.topics), {topic for topics in parts.values() for topic in topics}
    more = sentences.sliced(source, len(known - listed), len(listed - known))
    scores = replace(scores, remarks=(*scores.remarks, *more))
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
