"""Decisions by depth: how many pairs are in each case, which move between depths, and why.

Tables 3 and 4 of Baillie, Azzopardi & Ruthven and their section 4.2. Values are never compared across
collections; decisions are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sounding.compare import sentences
from sounding.compare.result import Comparison
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import most
from sounding.measures import Measure, parse_measures
from sounding.measures.grammar import single_measure
from sounding.runs.pool import SCENARIOS, scenarios
from sounding.statistics.cases import CASES, UNTESTED
from sounding.statistics.pairwise import PairTests


def at_depths(texts: Sequence[str | Measure], depths: Sequence[int]) -> tuple[Measure, ...]:
    """The measures with each depth as their cut-off; an error for one that has its own, or takes none."""
    ordered = sorted(set(depths))
    if not ordered or ordered[0] < 1:
        raise DataError(f"depths {', '.join(map(str, depths)) or 'none'}: expected whole numbers from 1")
    if ordered[-1] > most("k"):
        raise DataError(f"depth {ordered[-1]:,}: too deep; give at most {most('k'):,}")
    found: dict[Measure, None] = {}
    for text in texts:
        deepened = [_cut(text, depth) for depth in ordered]
        known = [measure for measure in deepened if measure is not None]
        if not known:
            raise DataError(_no_depth(text))
        found.update(dict.fromkeys(known))
    return tuple(found)


def _no_depth(text: str | Measure) -> str:
    """Return why a measure gets no depth, and what to write; the text must name a measure."""
    measure, *_ = parse_measures([text])
    if measure.definition.at == "k" and measure.k is not None:
        plain = "".join(str(measure).rsplit(f"@{measure.k}", 1))
        return f"{text} has the cut-off {measure.k}, which depths do not change; write {plain}"
    return f"{text} takes no depth; leave it out, or compare by it without depths"


def _cut(text: str | Measure, depth: int) -> Measure | None:
    """A measure cut at a depth; None where it has a cut-off of its own, or takes none."""
    measure = single_measure(text)
    if measure is None:
        return single_measure(f"{text}@{depth}")  # P alone stands for nine measures or none, P@10 for one
    free = measure.k is None and measure.definition.at == "k" and measure.definition.takes("k")
    return measure.replace(k=depth) if free else None


def families(comparison: Comparison) -> list[tuple[str, list[int]]]:
    """Measures that differ in depth alone: name, and their places from the shallowest to the deepest."""
    found: dict[str, list[int]] = {}
    for number, measure in enumerate(comparison.measures):
        found.setdefault(str(measure).partition("@")[0], []).append(number)
    return [
        (name, sorted(places, key=lambda number: comparison.depths[number])) for name, places in found.items()
    ]


# -- moves -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Moves:
    """Moves of pairs from case to case between two neighboring depths of one measure."""

    measure: str
    shallow: int  # place of the shallower measure
    deep: int
    counts: NDArray[np.int64]  # (4, 4): from case (row) to case (column)

    @property
    def moved(self) -> int:
        """Return how many pairs are in another case at the deeper depth."""
        return int(self.counts.sum() - np.trace(self.counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One pair that changes its case between two neighboring depths, and why."""

    measure: str
    pair: int
    from_depth: int
    to_depth: int
    from_case: int
    to_case: int
    cause: str  # one of `sentences.CAUSES`
    why: str


def moves(comparison: Comparison) -> list[Moves]:
    """Count matrices, one for each measure and each step from a depth to the next."""
    found = []
    for name, places in families(comparison):
        for shallow, deep in pairwise(places):
            before, after = comparison.cases[shallow], comparison.cases[deep]
            tested = (before != UNTESTED) & (after != UNTESTED)
            place = (before[tested].astype(np.int64) - 1) * len(CASES) + after[tested] - 1
            counts = np.bincount(place, minlength=len(CASES) ** 2).reshape(len(CASES), len(CASES))
            found.append(Moves(measure=name, shallow=shallow, deep=deep, counts=counts))
    return found


def moved_pairs(comparison: Comparison) -> Iterator[Move]:
    """Return every pair that changes its case, step by step, in the order of the pairs."""
    for step in moves(comparison):
        before, after = comparison.cases[step.shallow], comparison.cases[step.deep]
        changed = np.flatnonzero((before != after) & (before != UNTESTED) & (after != UNTESTED))
        for pair in changed.tolist():
            cause, why = _cause(comparison, step.shallow, step.deep, pair)
            yield Move(
                measure=step.measure, pair=pair,
                from_depth=comparison.depths[step.shallow], to_depth=comparison.depths[step.deep],
                from_case=int(before[pair]), to_case=int(after[pair]), cause=cause, why=why,
            )  # fmt: skip


def _cause(comparison: Comparison, shallow: int, deep: int, pair: int) -> tuple[str, str]:
    """Return why a pair moved: a frozen run, assessment below the pool, or the test that changed."""
    from_depth, to_depth = comparison.depths[shallow], comparison.depths[deep]
    runs = comparison.pairs[pair].tolist()
    frozen = comparison.frozen_runs(from_depth, to_depth)
    performance = _performance_change(comparison, shallow, deep, pair)
    assessment, fell_behind = _assessment_change(comparison, shallow, deep, pair)
    pool = comparison.pool
    after_pool = fell_behind and pool is not None and from_depth <= pool.depth < to_depth
    if after_pool and pool is not None:
        assessment += f", below the pool depth {pool.depth}"
    why = "; ".join(filter(None, [performance, assessment]))
    short = [run for run in runs if frozen[run]]
    if short:
        ends = sentences.lists_end(comparison.runs[short[0]], comparison.lengths[short[0]])
        return "frozen", f"{ends}; {why}" if why else ends
    if after_pool:
        cause = "pool"
    elif performance and assessment:
        cause = "both"
    else:
        cause = "assessment" if assessment else "performance"
    return cause, why or "one of the two differences now points the other way"


def _performance_change(comparison: Comparison, shallow: int, deep: int, pair: int) -> str:
    """Return what became of the difference in performance; empty: significant as before, or as little."""
    before, after = (bool(comparison.performance_tests[place].significant[pair]) for place in (shallow, deep))
    return "" if before == after else sentences.significance_changes(after)


def _assessment_change(comparison: Comparison, shallow: int, deep: int, pair: int) -> tuple[str, bool]:
    """Return what became of the difference in assessment, and whether one run fell behind."""
    tests = comparison.assessment_tests
    before, after = (bool(tests[place].significant[pair]) for place in (shallow, deep))
    if before == after:
        return "", False
    if before:
        return "assessment becomes even", False
    a, b = comparison.pairs[pair].tolist()
    less, more = (b, a) if tests[deep].difference[pair] > 0 else (a, b)
    shares = np.nanmean(comparison.assessment[[less, more], deep], axis=1).tolist()
    return sentences.falls_behind(comparison.runs[less], comparison.depths[deep], *shares), True


# -- examples and scenarios ------------------------------------------------------------------------


def examples(comparison: Comparison, measure: int) -> dict[int, int]:
    """Case -> the pair that shows it most clearly; cases without a pair are left out.

    A claim of a difference is the clearer the smaller its adjusted p, a claim of no difference the larger
    its p before correction, both against alpha on the log scale. Of a pair's two claims, on performance
    and on assessment, the less clear one counts; the pair where it is clearest is taken, of equal ones
    that with the larger difference in performance, then the first by name. Equal runs show nothing.
    """
    performance, assessed = comparison.performance_tests[measure], comparison.assessment_tests[measure]
    clear = np.minimum(_clarity(performance), _clarity(assessed))
    found = {}
    for case in CASES:
        pairs = [
            pair
            for pair in np.flatnonzero(comparison.cases[measure] == case).tolist()
            if performance.ties[pair] < performance.topics[pair]
        ]
        if pairs:
            found[case] = min(
                pairs,
                key=lambda pair: (-clear[pair], -abs(performance.difference[pair]), comparison.names(pair)),
            )
    return found


def _clarity(tests: PairTests) -> NDArray[np.float64]:
    """(pair,): how far a claim is from being the other one; see `examples`."""
    return np.where(tests.significant, np.log(tests.alpha / tests.p_adjusted), np.log(tests.p / tests.alpha))


def has_scenarios(comparison: Comparison) -> bool:
    """Return whether the pool is known: listed, or recognized from the judgments."""
    pool = comparison.pool
    return pool is not None and (not pool.guessed or pool.known)


def count_scenarios(comparison: Comparison, measure: int) -> dict[int, int]:
    """Scenario of Lu et al. -> pairs in it, at the measure's depth; empty where the pool is not known."""
    if comparison.pool is None or not has_scenarios(comparison):
        return {}
    found = scenarios(comparison.pool, comparison.pairs, comparison.depths[measure])
    return {scenario: int(np.count_nonzero(found == scenario)) for scenario in SCENARIOS}
