"""What is said beside scores: what was counted and how, and where what is unknown outweighs what is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import natural_order, plural
from sounding.evaluate.result import FEW_TOPICS, Scores

BOUND_KINDS = {
    "contains": "the bounds contain the truth and may be wider than need be",
    "none": "no bounds are known but the range of the measure",
}
NOISE = 1e-12  # what rounding makes of bounds that meet


def notes_on(scores: Scores) -> list[str]:
    """What was counted and how, in sentences."""
    topics = len(scores.topics)
    notes = [f"{plural(len(scores.runs), 'run')}, {plural(topics, 'judged topic')}."]
    barren = scores.without_relevant
    if scores.policies.missing == "skip" and len(scores.missing):
        nowhere = np.asarray(scores.missing.all(axis=0)).tolist()
        skipped = {topic for topic, gone in zip(scores.topics, nowhere, strict=True) if gone}
        barren = tuple(topic for topic in barren if topic not in skipped)
    if barren:
        barren = tuple(sorted(barren, key=natural_order))
        grade = "" if scores.level == 1 else f" (grade {scores.level:g} or better)"
        notes.append(
            f"{_some('topic', barren)} without a relevant document{grade}: recall measures are 0 there."
        )
    lacking = [(int(lost), name) for name, lost in zip(scores.runs, scores.missing.sum(axis=1), strict=True)]
    runs = sum(1 for lost, _ in lacking if lost)
    if runs:
        lost, name = max(lacking)
        verb = "lacks" if runs == 1 else "lack"
        notes.append(
            f"{plural(runs, 'run')} {verb} judged topics ({name}: {lost}); {_missing_effect(scores)}."
        )
    runs = sum(1 for count in scores.ignored if count)
    if runs:
        verb = "has" if runs == 1 else "have"
        most = max(scores.ignored)
        notes.append(f"{plural(runs, 'run')} {verb} topics that nobody judged (up to {most}): ignored.")
    if topics < FEW_TOPICS and len(scores.runs) > 1:
        notes.append(f"Fewer than {FEW_TOPICS} topics: differences between runs may well be chance.")
    notes += warnings(scores)
    notes += [f"{remark[0].upper()}{remark[1:]}." for remark in scores.remarks]
    notes.append(f"Policies: {scores.policies.describe()}.")
    return notes


def _uncounted_notes(scores: Scores) -> list[str]:
    """Measures that have no value for some topics, where the topics are there."""
    notes = []
    for number, measure in enumerate(scores.measures):
        if measure.definition.aggregate == "text":
            continue
        lacking = (np.isnan(scores.values[:, number]) & ~scores.missing).sum(axis=1)
        if lacking.any():
            run = scores.runs[int(lacking.argmax())]
            notes.append(
                f"{measure} has no value for up to {lacking.max()} of {plural(len(scores.topics), 'topic')}"
                f" ({run}); the mean is over the others."
            )
    return notes


def warnings(scores: Scores) -> list[str]:
    """What people should hear beside a format that has no room for it."""
    return [*_length_notes(scores), *_uncounted_notes(scores), *_unknown_notes(scores)]


def _length_notes(scores: Scores) -> list[str]:
    """How long the lists are that condensation left."""
    if scores.policies.unjudged != "condensed":
        return []
    lengths = scores.lengths.mean(axis=1)
    shortest = int(lengths.argmin())
    least = f"; {scores.runs[shortest]} has the fewest, {lengths[shortest]:.1f}" if len(lengths) > 1 else ""
    return [f"Condensed lists hold {lengths.mean():.1f} documents a topic{least}."]


def _unknown_notes(scores: Scores) -> list[str]:
    """Where what is unknown outweighs what is known; measures that give text have neither."""
    if scores.texts:
        scores = scores.of_measures([m for m in scores.measures if m.definition.aggregate != "text"])
    if not scores.measures:
        return []
    notes = []
    for number, width, spread in silent_bounds(scores):
        notes.append(
            f"{scores.measures[number]}: the bounds, {width:.3f} wide, tell no two runs apart (they differ by"
            f" {spread:.3f} at most); look at a utility measure (P, RBP, ERR) first."
        )
    if scores.bounds is not None:
        for kind, words in BOUND_KINDS.items():
            named = [str(m) for m, k in zip(scores.measures, scores.bounds.kinds, strict=True) if k == kind]
            if named:
                notes.append(f"{', '.join(named)}: {words}.")
    if scores.expected is not None:
        notes.append(
            "Deviations suppose that the prior is right and that documents are relevant independently of each"
            " other: they are no confidence intervals."
        )
    open_pairs = [
        f"{scores.measures[number]} {found.pairs:,} of {found.of_pairs:,}"
        f" ({found.neighbors:,} of {found.of_neighbors:,})"
        for number, found in _open_pairs(scores)
    ]
    if open_pairs:
        notes.append(
            "Pairs of runs (of neighbours) whose bounds overlap, so that unjudged documents may decide their"
            f" order: {', '.join(open_pairs)}."
        )
    return notes


class OpenPairs(NamedTuple):
    """Pairs of runs whose order is open: the worse can be worth more than the least that the better is."""

    pairs: int
    of_pairs: int
    neighbors: int  # those that stand one below the other
    of_neighbors: int


def _open_pairs(scores: Scores) -> list[tuple[int, OpenPairs]]:
    """Measures by which the order of some pairs is open, but for those said to tell no two runs apart."""
    if scores.bounds is None:
        return []
    means, bounds = scores.mean(), scores.bounds.over_topics(scores.measures)
    most = bounds.upper + np.nan_to_num(bounds.residual_tail)
    told = {number for number, _, _ in silent_bounds(scores)}
    found = []
    for number, measure in enumerate(scores.measures):
        if number in told or measure.definition.basis == "count" or scores.bounds.kinds[number] == "none":
            continue
        counted = count_open_pairs(means[:, number], bounds.lower[:, number], most[:, number])
        if counted.pairs:
            found.append((number, counted))
    return found


def count_open_pairs(
    value: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> OpenPairs:
    """How many pairs of runs have bounds that overlap; of equal ones, which need not stay so."""
    order = np.argsort(-value, kind="stable")
    order = order[~np.isnan(value[order])]
    value, lower, upper = value[order], lower[order], upper[order]
    pairs = neighbors = 0
    for better in range(len(order) - 1):
        below = slice(better + 1, None)
        passes = upper[below] - lower[better] > NOISE
        passes |= (value[below] == value[better]) & (upper[better] - lower[below] > NOISE)
        pairs += int(np.count_nonzero(passes))
        neighbors += int(passes[0])
    runs = len(order)
    return OpenPairs(pairs, runs * (runs - 1) // 2, neighbors, max(runs - 1, 0))


def _missing_effect(scores: Scores) -> str:
    if scores.policies.missing == "skip":
        return "left out, and values over different topics do not compare"
    return "counted as 0"


def _some(word: str, names: Iterable[str]) -> str:
    listed = list(names)
    head = ", ".join(listed[:3]) + (", ..." if len(listed) > 3 else "")
    return f"{plural(len(listed), word)} ({head})"


def silent_bounds(scores: Scores) -> list[tuple[int, float, float]]:
    """Recall measures whose bounds tell no two runs apart: (measure, mean width, largest difference)."""
    if scores.bounds is None or len(scores.runs) < 2:
        return []
    means, bounds = scores.mean(), scores.bounds.over_topics(scores.measures)
    found = []
    for number, measure in enumerate(scores.measures):
        lower, upper = bounds.lower[:, number], bounds.upper[:, number]
        informed = measure.definition.basis == "recall" and scores.bounds.kinds[number] != "none"
        if informed and lower.max() <= upper.min():
            spread = float(means[:, number].max() - means[:, number].min())
            found.append((number, float(np.mean(upper - lower)), spread))
    return found
