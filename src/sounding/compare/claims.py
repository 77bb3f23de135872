# ruff: noqa: PT028 - test_pairs tests runs, not code
"""test_pairs(): from values by run and topic to what can be claimed of every pair of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from sounding.compare.effect import cohens_dz, wins_ties_losses
from sounding.compare.equivalence import Equivalence, one_sided
from sounding.compare.multiplicity import CORRECTIONS, MAX_T, check_correction
from sounding.compare.pairs import Pairs, grid_decimals
from sounding.compare.registry import Floats, Omnibus, Outcome, PairTest, Request, find_test
from sounding.errors import DataError

LEAST = float(np.finfo(np.float64).tiny)  # no p-value is 0
OWN = "own"  # the correction of tests that allow for all pairs by themselves


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairTests:
    """What one test says of every pair of runs; differences are run_a - run_b."""

    pairs: Pairs  # (pair, 2): run_a, run_b
    topics: NDArray[np.int64]  # (pair,) that were used
    wins: NDArray[np.int64]  # (pair,) topics on which run_a is better
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    difference: Floats  # (pair,) mean over these topics; NaN without topics
    ci_low: Floats  # (pair,) see `interval`; infinite: no limit
    ci_high: Floats
    effect: Floats  # (pair,) Cohen's d_z
    p: Floats  # (pair,) two-sided, each pair for itself; never 0
    p_adjusted: Floats  # (pair,) for all pairs of the request
    floor: NDArray[np.bool_]  # (pair,) p is the least that these topics, or so many draws, can give
    floor_adjusted: NDArray[np.bool_]  # (pair,) the adjusted p is made of such a least p
    reasons: tuple[str, ...]  # (pair,) why there is nothing to test, or empty
    test: str
    correction: str
    alpha: float
    method: str  # test, zero handling, number of permutations, seed, correction
    interval: str  # what ci_low and ci_high are the limits of, as a sentence goes on
    centre: str  # the same in a word: mean, median or pseudomedian
    least: float  # the least p there can be; 0: any
    notes: tuple[str, ...]  # what a reader of the whole table should know
    omnibus: Omnibus | None  # of analyses of variance
    equivalence: Equivalence | None  # where a margin was given

    @property
    def significant(self) -> NDArray[np.bool_]:
        """(pair,): the adjusted p is at most alpha."""
        return self.p_adjusted <= self.alpha

    @property
    def p_alone(self) -> Floats:
        """(pair,): p of the pair whichever others are asked for with it.

        That is p, and the adjusted one where the test allows for all runs by itself.
        """
        return self.p_adjusted if self.correction == OWN else self.p

    @property
    def significant_alone(self) -> NDArray[np.bool_]:
        """(pair,): that p is at most alpha, and there was something to test."""
        return (self.p_alone <= self.alpha) & ~np.array([bool(reason) for reason in self.reasons])


def test_pairs(
    values: Floats,
    pairs: Pairs,
    *,
    test: str = "randomisation",
    correction: str | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    permutations: int = 10_000,
    rng: np.random.Generator,
) -> PairTests:
    """Test the differences between pairs of runs, from values by run and topic (NaN: no value).

    A pair is tested on the topics where both runs have a value; analyses of variance and Tukey's tests
    use the topics where all runs have one. `correction` None: Holm's, or the one that belongs to the
    test. A pair that cannot be tested has p = 1 and a reason.
    """
    chosen = find_test(test)
    used = check_choices(test, correction, alpha, margin, permutations)
    table, dropped = _check_values(np.asarray(values, np.float64), chosen)
    request = Request(
        values=table, pairs=_check_pairs(np.asarray(pairs, np.intp), table), correction=used,
        alpha=alpha, permutations=permutations, rng=rng, decimals=grid_decimals(table),
    )  # fmt: skip
    seen = _describe(request)
    if seen.topics.max() < 2:
        raise DataError(
            f"no pair of the {len(request.pairs):,} has 2 topics where both runs have values;"
            " a test needs at least 2"
        )
    outcome = chosen.function(request)
    few = seen.topics < 2
    p = np.clip(np.where(few, 1.0, outcome.p), LEAST, 1.0)
    floor, floor_adjusted = _floors(p, seen, chosen, outcome)
    return PairTests(
        pairs=request.pairs,
        topics=seen.topics, wins=seen.wins, ties=seen.ties, losses=seen.losses,
        difference=seen.difference, effect=seen.effect,
        ci_low=np.where(few, -np.inf, outcome.low), ci_high=np.where(few, np.inf, outcome.high),
        p=p, p_adjusted=_adjust(p, outcome, used), floor=floor, floor_adjusted=floor_adjusted,
        reasons=tuple(_reasons(seen, chosen, outcome)),
        test=test, correction=used, alpha=alpha,
        method=_method(outcome, used, dropped), interval=outcome.interval, centre=outcome.centre,
        least=outcome.least, notes=tuple(_notes(request, outcome, chosen)), omnibus=outcome.omnibus,
        equivalence=None if margin is None else _equivalence(request, seen, outcome, margin),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Seen:
    """What does not depend on the test; (pair,) each."""

    topics: NDArray[np.int64]
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    difference: Floats
    effect: Floats


def check_choices(
    test: str, correction: str | None, alpha: float, margin: float | None, permutations: int | None
) -> str:
    """The correction that is used; an error where a choice is none, or two do not go together."""
    used = _correction(find_test(test), correction)
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise DataError(f"alpha {alpha}: expected a number between 0 and 1, such as 0.05")
    if permutations is not None and not (isinstance(permutations, Integral) and permutations >= 1):
        raise DataError(f"{permutations} permutations: expected at least 1, better 10,000")
    if margin is not None and (not _is_number(margin) or not 0 < margin < np.inf):
        raise DataError(f"margin {margin}: expected a difference above 0 that would not matter, such as 0.01")
    return used


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _correction(test: PairTest, asked: str | None) -> str:
    if asked is None:
        return test.correction
    check_correction(asked)
    if test.correction == OWN:
        raise DataError(f"test {test.name} allows for all pairs by itself; leave the correction {asked} out")
    if asked == MAX_T and test.name != "randomisation":
        raise DataError(
            f"correction {MAX_T} comes from sign flips: use it with the test randomisation, not {test.name}"
        )
    return asked


def _check_values(values: Floats, test: PairTest) -> tuple[Floats, int]:
    """The values the test uses, and how many topics had to go."""
    if values.ndim != 2:
        raise DataError(f"values of shape {values.shape}: expected one row a run and one column a topic")
    if np.isinf(values).any():
        run, topic = np.argwhere(np.isinf(values))[0].tolist()
        raise DataError(
            f"run {run}, topic {topic}: the value {values[run, topic]} cannot be tested; expected numbers"
        )
    topics = values.shape[1]
    if topics < 2:
        raise DataError(f"{topics} topic{'s' * (topics != 1)} with values; a test needs at least 2")
    if not test.whole_topics:
        return values, 0
    whole = ~np.isnan(values).any(axis=0)
    kept = int(np.count_nonzero(whole))
    if kept < 2:
        raise DataError(
            f"test {test.name} uses topics on which all runs have values, and there are {kept} of {topics};"
            " it needs at least 2: leave out runs that lack topics, or use a paired test"
        )
    return values[:, whole], topics - kept


def _check_pairs(pairs: Pairs, values: Floats) -> Pairs:
    runs = len(values)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataError(f"pairs of shape {pairs.shape}: expected two runs a row")
    if not len(pairs):
        raise DataError(
            f"no pairs to test among {runs} run{'s' * (runs != 1)}; a comparison needs at least 2 runs"
        )
    wrong = ((pairs < 0) | (pairs >= runs)).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        a, b = pairs[wrong][0].tolist()
        raise DataError(f"pair ({a}, {b}): expected two different runs from 0 to {runs - 1}")
    return pairs


def _describe(request: Request) -> _Seen:
    count = len(request.pairs)
    topics, wins, ties, losses = np.empty((4, count), np.int64)
    mean, effect = np.empty((2, count))
    for rows, gaps in request.differences():
        topics[rows], mean[rows], effect[rows] = gaps.topics, gaps.mean, cohens_dz(gaps)
        wins[rows], ties[rows], losses[rows] = wins_ties_losses(gaps)
    return _Seen(topics=topics, wins=wins, ties=ties, losses=losses, difference=mean, effect=effect)


def _reasons(seen: _Seen, test: PairTest, outcome: Outcome) -> Iterator[str]:
    equal = (seen.ties == seen.topics).tolist()
    constant = np.isinf(seen.effect).tolist()
    for place, topics in enumerate(seen.topics.tolist()):
        if topics < 2:
            yield f"{topics} common topic{'s' * (topics != 1)}; a test needs at least 2"
        elif equal[place]:
            yield f"the runs are equal on all {topics} topics"
        elif test.needs_spread and constant[place]:
            yield f"the difference is the same on all {topics} topics: no error to test against"
        else:
            yield outcome.silent


def _adjust(p: Floats, outcome: Outcome, correction: str) -> Floats:
    adjusted = CORRECTIONS[correction](p) if outcome.adjusted is None else outcome.adjusted
    return np.clip(np.maximum(adjusted, p), LEAST, 1.0)


def _floors(
    p: Floats, seen: _Seen, test: PairTest, outcome: Outcome
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(pair,) each: whether p, and the adjusted p, is the least that there can be for this pair."""
    drawn = outcome.least * (1 + 1e-9)
    floor = p <= drawn
    if test.by_signs:
        # Where all differences have one sign no other arrangement of them is further from 0.
        floor |= (np.minimum(seen.wins, seen.losses) == 0) & (seen.wins + seen.losses > 0)
    return floor, floor if outcome.adjusted is None else outcome.adjusted <= drawn


def _method(outcome: Outcome, correction: str, dropped: int) -> str:
    parts = [outcome.method]
    if dropped:
        parts.append(f"{dropped} topic{'s' * (dropped > 1)} left out where not all runs have values")
    if correction != OWN:
        parts.append(f"correction {correction}")
    return "; ".join(parts)


def _notes(request: Request, outcome: Outcome, test: PairTest) -> Iterator[str]:
    """Says so where no pair could be significant, whatever its values are."""
    tests = len(request.pairs) if request.correction in ("bonferroni", "holm") else 1
    if outcome.least * tests <= request.alpha:
        return
    times = f" times {tests:,} pairs ({request.correction})" if tests > 1 else ""
    flipped = test.name == "randomisation" and tests > 1 and request.values.shape[1] > 5
    other = f" or correction {MAX_T}" if flipped else ""
    # A test that draws reaches 1 / (1 + drawn); any other has done all that these topics allow.
    drawn = bool(np.isclose(outcome.least, 1 / (1 + request.permutations)))
    needed = int(np.ceil(tests / request.alpha)) - 1
    takes = f"at least {needed:,} permutations" if drawn else "more topics"
    yield (
        f"no pair can be significant at {request.alpha:g}: the least p is {outcome.least:.3g}{times};"
        f" it takes {takes}{other}"
    )


def _equivalence(request: Request, seen: _Seen, outcome: Outcome, margin: float) -> Equivalence:
    """By t with the pooled error where the test has one, else with each pair's own."""
    known = np.maximum(seen.topics, 1)
    if outcome.error is None:
        error, df = np.empty(len(known)), np.maximum(seen.topics - 1, 1)
        for rows, gaps in request.differences():
            error[rows] = np.nan_to_num(gaps.deviation) / np.sqrt(known[rows])
        name = "paired t tests"
    else:
        error, df = outcome.error, np.full(len(known), outcome.df_error)
        name = "t tests with the pooled error"
    above, below = one_sided(seen.difference, error, df, seen.topics, margin)
    p, noninferior = (np.clip(side, LEAST, 1.0) for side in (np.maximum(above, below), above))
    correction = request.correction if request.correction in CORRECTIONS else "holm"
    adjust = CORRECTIONS[correction]
    return Equivalence(
        margin=margin, p=p, p_adjusted=adjust(p),
        noninferior_p=noninferior, noninferior_p_adjusted=adjust(noninferior),
        method=f"two one-sided {name}, margin {margin:g}; correction {correction}",
    )  # fmt: skip
