"""What is said beside scores: what was counted and how, and where what is unknown outweighs what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sounding.core.text import natural_order, plural
from sounding.data.tables import Qrels
from sounding.evaluate.result import FEW_TOPICS, Scores

BOUND_KINDS = {
    "contains": "the bounds contain the truth and may be wider than need be",
    "none": "no bounds are known but the range of the measure",
}
NO_INTERVALS = (
    "Deviations suppose that the prior is right and that documents are relevant independently of each other:"
    " they are no confidence intervals."
)
OPEN_PAIRS = (
    "Pairs of runs (of neighbors) whose bounds overlap, so that unjudged documents may decide their order"
)


def notes_on(scores: Scores) -> list[str]:
    """What was counted and how, in sentences."""
    notes = [f"{plural(len(scores.runs), 'run')}, {plural(len(scores.topics), 'judged topic')}."]
    barren = set(scores.without_relevant)
    if scores.policies.missing == "skip" and len(scores.missing):
        nowhere = np.asarray(scores.missing.all(axis=0)).tolist()
        barren -= {topic for topic, gone in zip(scores.topics, nowhere, strict=True) if gone}
    if barren:
        grade = "" if scores.level == 1 else f" (grade {scores.level:g} or better)"
        notes.append(
            f"{_some_topics(barren)} without a relevant document{grade}: recall measures are 0 there."
        )
    lacking = [
        (lost, name) for name, lost in zip(scores.runs, scores.missing.sum(axis=1), strict=True) if lost
    ]
    if lacking:
        lost, name = max(lacking)
        verb = "lacks" if len(lacking) == 1 else "lack"
        effect = "left out, and values over different topics do not compare"
        effect = effect if scores.policies.missing == "skip" else "counted as 0"
        notes.append(f"{plural(len(lacking), 'run')} {verb} judged topics ({name}: {lost}); {effect}.")
    more = [count for count in scores.ignored if count]
    if more:
        having = f"{plural(len(more), 'run')} {'has' if len(more) == 1 else 'have'}"
        notes.append(f"{having} topics that nobody judged (up to {max(more)}): ignored.")
    if len(scores.topics) < FEW_TOPICS and len(scores.runs) > 1:
        notes.append(f"Fewer than {FEW_TOPICS} topics: differences between runs may well be chance.")
    notes += warnings(scores)
    notes += [f"{remark[0].upper()}{remark[1:]}." for remark in scores.remarks]
    return [*notes, f"Policies: {scores.policies.describe()}."]


def _some_topics(topics: Iterable[str]) -> str:
    names = sorted(topics, key=natural_order)
    return f"{plural(len(names), 'topic')} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


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
    notes = [
        f"{scores.measures[number]}: the bounds, {width:.3f} wide, tell no two runs apart (they differ by"
        f" {spread:.3f} at most); look at a utility measure (P, RBP, ERR) first."
        for number, width, spread in scores.silent_bounds()
    ]
    if scores.bounds is not None:
        for kind, words in BOUND_KINDS.items():
            named = [str(m) for m, k in zip(scores.measures, scores.bounds.kinds, strict=True) if k == kind]
            if named:
                notes.append(f"{', '.join(named)}: {words}.")
    if scores.expected is not None:
        notes.append(NO_INTERVALS)
    open_pairs = [
        f"{scores.measures[number]} {found.pairs:,} of {found.of_pairs:,}"
        f" ({found.neighbors:,} of {found.of_neighbors:,})"
        for number, found in scores.open_pairs()
    ]
    if open_pairs:
        notes.append(f"{OPEN_PAIRS}: {', '.join(open_pairs)}.")
    return notes


# -- remarks: what else was done to the values -----------------------------------------------------

MEANS_OVER_GROUPS = "values are means over judgment groups"
SAMPLED = "the judgments are a sample, which only statAP, xinfAP and infNDCG reckon with"
ONE_SAMPLE = "infAP takes all strata for one sample; where their rates differ, use xinfAP"
Z_SCORES = "values are z-scores"


def residual(source: object, judgments: Qrels, left: Qrels) -> str:
    """What the judgments of an earlier round took away."""
    dropped, emptied = len(judgments.docs) - len(left.docs), len(judgments.topics) - len(left.topics)
    gone = f"; topics left with none, and left out: {emptied}" if emptied else ""
    return f"residual collection: judgments dropped that are in {source}: {dropped}{gone}"


def left_out(runs: Sequence[str]) -> str:
    """Which runs could not be evaluated."""
    return f"left out, for they could not be evaluated: {', '.join(runs)}"


def undefined_z_scores(equal: Mapping[str, int], unknown: int) -> Iterator[str]:
    """How many z-scores are not defined: by measure where reference runs are equal; without a reference."""
    if equal:
        counted = ", ".join(f"{measure} {count:,}" for measure, count in equal.items())
        yield (
            f"z-scores not defined because all reference runs are equal (deviation 0): {counted};"
            " the means leave them out"
        )
    if unknown:
        yield f"z-scores not defined for lack of a reference: {unknown:,}; the means leave them out"


def sliced(source: str | Path, without: int, unjudged: int) -> Iterator[str]:
    """Topics that are in no slice, and topics of the file that were not judged."""
    if without:
        yield f"judged topics without an attribute in {source}, which are in no slice: {without}"
    if unjudged:
        yield f"topics of {source} that were not judged: {unjudged}"
