"""What a reader of a comparison should be warned of, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.core.text import plural
from sounding.evaluate.result import FEW_TOPICS, Scores
from sounding.measures import Measure
from sounding.statistics.pairwise import PairTests

NAMED = 5  # runs that a note names before it counts the others


def topic_notes(scores: Scores, values: NDArray[np.float64]) -> Iterator[str]:
    """Of few topics, and of runs that lack some; the values are (run, measure, topic)."""
    topics = len(scores.topics)
    if topics < FEW_TOPICS:
        yield f"Only {topics} topics, fewer than {FEW_TOPICS}: differences may well be chance."
    known = ~np.isnan(values)
    if (known != known[:1]).any():
        yield (
            "Values over different topic sets: some runs lack topics that others have, and each pair is"
            " compared on what it shares; the means of the runs do not compare."
        )
    elif scores.missing.any():
        counts = np.count_nonzero(scores.missing, axis=1).tolist()
        lacking = [(run, count) for run, count in zip(scores.runs, counts, strict=True) if count]
        lacking.sort(key=lambda row: -row[1])
        yield (
            f"{plural(len(lacking), 'run')} lack{'s' * (len(lacking) == 1)} some of the"
            f" {topics} judged topics, which count as 0 and as not judged: {_named(lacking)}."
        )


def _named(runs: Sequence[tuple[str, int]]) -> str:
    """Runs with how many topics each lacks, the first ones if they are many."""
    rest = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    return ", ".join(f"{run} {count}" for run, count in runs[:NAMED]) + rest


def short_lists(longest: ArrayLike, measures: Sequence[Measure]) -> Iterator[str]:
    """Of cut-offs that are deeper than the longest list of some runs, (run,); those alike in one sentence."""
    lengths = np.asarray(longest)
    told: dict[int, list[int]] = {}
    for depth in sorted({measure.k for measure in measures if measure.k is not None and "@" in str(measure)}):
        short = int(np.count_nonzero(lengths < depth))
        if short:
            told.setdefault(short, []).append(depth)
    for short, depths in told.items():
        cuts = " and ".join(f"{depth:,}" for depth in depths)
        runs = f"{short} of {len(lengths)} runs {'has' if short == 1 else 'have'}"
        yield (
            f"Depth {cuts}: {runs} no list that long; what is missing counts as neither relevant nor judged."
        )


def test_notes(performance: Sequence[PairTests]) -> Iterator[str]:
    """Of pairs without a test, and of what a test has to say itself."""
    by_pair = list(zip(*(tests.reasons for tests in performance), strict=True))
    untested = [reasons for reasons in by_pair if any(reasons)]
    if untested:
        some = "" if all(map(all, untested)) else " by some measures"
        reason = next(filter(None, untested[0]))
        yield f"{len(untested):,} of {plural(len(by_pair), 'pair')} without a test{some}: {reason}."
    told: dict[str, list[str]] = {}
    for note in dict.fromkeys(note for tests in performance for note in tests.notes):
        told.setdefault(note.partition(":")[0], []).append(note)
    for first, *others in told.values():
        more = f"; by {plural(len(others), 'more measure')} it is much the same" * bool(others)
        yield f"{first[0].upper()}{first[1:]}{more}."
