"""Standardized values: how far a value lies from what other runs reach on the same topic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sounding.data.assembly import checked_numbers
from sounding.data.columns import numbered
from sounding.data.fast.text import Fields, split_fields
from sounding.data.problems import Problems
from sounding.data.sources import read_content
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
        numbered(fields.lines, below),
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

    problems.add(numbered(fields.lines, later), describe)


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
    remarks = [*scores.remarks, "values are z-scores"]
    if undefined:
        counted = ", ".join(f"{measure} {count:,}" for measure, count in undefined.items())
        remarks.append(
            f"z-scores not defined because all reference runs are equal (deviation 0): {counted};"
            " the means leave them out"
        )
    if unknown:
        remarks.append(f"z-scores not defined for lack of a reference: {unknown:,}; the means leave them out")
    return replace(scores, values=values, remarks=tuple(remarks))
