"""Measure how the choice of assessors affects an evaluation, under many qrels with one assessor per topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import sounding.statistics.rank_overlap  # noqa: F401 - registers the coefficients of RBO
from sounding.agree import reasons
from sounding.agree.combining import combine
from sounding.agree.panel import Panel
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import check_count
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import plural
from sounding.core.workers import Progress
from sounding.data.reading import check_topics, map_runs
from sounding.data.tables import Places, Run
from sounding.measures import Measure, parse_measures
from sounding.runs.align import align, hold_order, matches, prepare, treat_unjudged
from sounding.statistics.rank_correlation import (
    Agreement,
    agreement_matrix,
    find_coefficient,
    most_places,
    on_a_grid,
    rank_agreement,
)

COMBINED = ("union", "intersection")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AssessorValues:
    """Values of each system on each topic, under each assessor's judgments and under combined ones."""

    assessors: tuple[str, ...]
    combined: tuple[str, ...]  # names of combined judgments, which follow the assessors
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    values: Floats  # (assessor and combined, measure, system, topic); NaN: no value
    relevant: Places  # (assessor and combined, measure, topic) relevant documents, at the measure's level
    policies: Policies


def evaluate_assessors(
    panel: Panel,
    runs: Any,
    measures: Any,
    *,
    policies: Policies = DEFAULT_POLICIES,
    level: float = 1,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> AssessorValues:
    """Score each run under each assessor's judgments, their union and intersection; read each run once.

    `level` applies to measures given as text without their own level; a `Measure` is used as it is.
    """
    wanted = parse_measures(measures, level=level)
    _check(wanted, policies)
    made = [panel.qrels_of(place) for place in range(len(panel.assessors))]
    sides = [prepare(qrels, policies) for qrels in (*made, *(combine(panel, how) for how in COMBINED))]
    # Judgments of the same documents are found in a run together.
    alike = [len(side.grades) == len(panel.grades) for side in sides]

    def work(run: Run) -> Floats:
        check_topics(run, panel.topics, policies)
        hold_order(run, policies)
        found = matches(run, sides[alike.index(True)]) if any(alike) else None
        rankings = [
            treat_unjudged(align(run, side, policies, found if same else None), policies)
            for side, same in zip(sides, alike, strict=True)
        ]
        return np.array([[measure(ranking) for measure in wanted] for ranking in rankings])

    read = map_runs(work, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    if len(read.names) < 2:
        raise DataError(f"only {plural(len(read.names), 'run')} to rank; give at least two")
    levels = [_level(measure, level) for measure in wanted]
    return AssessorValues(
        assessors=panel.assessors, combined=COMBINED, systems=read.names, measures=wanted,
        topics=panel.topics, values=np.stack(read.results, axis=2),
        relevant=np.array([[side.judgments.relevant(one) for one in levels] for side in sides]),
        policies=policies,
    )  # fmt: skip


def _level(measure: Measure, level: float) -> float:
    """Return the lowest grade that a measure counts as relevant; `level` if it uses grades as gains."""
    own = measure.get("rel")
    return level if own is None else float(own)


def _check(measures: tuple[Measure, ...], policies: Policies) -> None:
    if not measures:
        raise DataError("no measure to rank the systems by; give at least one")
    for measure in measures:
        if measure.definition.aggregate != "mean":
            raise DataError(
                f"{measure} has no mean over topics, so qrels cannot be resampled for it; leave it out"
            )
    if policies.unjudged not in ("nonrelevant", "condensed"):
        raise DataError(
            f"policy unjudged={policies.unjudged} gives no single value to rank systems by;"
            " use nonrelevant or condensed"
        )
    if policies.missing == "skip":
        raise DataError("policy missing=skip would compare systems over different topics; use zero or error")


SAMPLES = 100_000
SUBSAMPLE = 1000  # qrels compared with each other
CHUNK = 4096  # qrels at a time
KENDALL = ("tau_a", "tau_b")  # each value corresponds to a number of swaps


# -- results ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TauSpread:
    """Mean, minimum and maximum of a coefficient over pairs of rankings."""

    mean: float  # NaN: see `reason`
    least: float
    most: float
    unknown: int  # pairs of rankings without a value, excluded
    reason: str  # why they have none; "" if `unknown` is 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dropped:
    """A topic that is left out, and the assessors who found nothing relevant for it."""

    topic: str
    without: tuple[str, ...]
    everywhere: bool  # False: it is left out of the intersection only

    def __str__(self) -> str:
        return f"{self.topic} ({', '.join(self.without)})"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Effect:
    """Effect of the choice of assessors on the values and the ranking of systems, for one measure."""

    measure: Measure
    systems: tuple[str, ...]
    assessors: tuple[str, ...]
    original: int  # the assessor whose ranking the others are compared with
    topics: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    samples: int  # number of qrels, including each assessor's own
    enumerated: bool  # True: every possible qrels was used, not a sample
    seed: int
    coefficient: str
    mean: Floats  # (system,) over all qrels
    least: Floats  # (system,)
    most: Floats  # (system,)
    by_assessor: Floats  # (assessor, system)
    union: Floats  # (system,)
    intersection: Floats  # (system,) over the topics where the intersection has a relevant document
    taus: Floats = field(repr=False)  # (qrels,) with the original, excluding itself; NaN: undefined
    with_original: TauSpread
    in_subsample: TauSpread
    subsample: int
    single: tuple[Agreement, ...]  # of each assessor, the union and the intersection with the original
    correlation: Floats  # (system, system) of values over qrels
    swap_share: Floats  # (system, system) share of qrels that reverse the pair; NaN: tied in the original
    swap_difference: Floats  # (4,) largest original difference among 50%, 95%, 99% and all swaps

    @property
    def values(self) -> Floats:
        """Return (system,): the values under the original qrels."""
        return self.by_assessor[self.original]

    @property
    def order(self) -> list[int]:
        """Return the systems by descending mean over qrels (Voorhees 2002, Fig. 3); equal ones by name."""
        return sorted(range(len(self.systems)), key=lambda row: (-self.mean[row], self.systems[row]))

    @property
    def pairs(self) -> int:
        """Return the number of pairs of systems."""
        return len(self.systems) * (len(self.systems) - 1) // 2

    def swaps(self, tau: float) -> float:
        """Return the number of swapped pairs that a Kendall's tau implies; NaN for other coefficients."""
        return (1 - tau) / 2 * self.pairs if self.coefficient in KENDALL else np.nan

    def inside(self, which: str) -> NDArray[np.bool_]:
        """Return (system,): whether the value under `which` combination lies in the range over qrels."""
        value = getattr(self, which)
        return (value >= self.least - 1e-12) & (value <= self.most + 1e-12)

    def outside(self, which: str) -> list[str]:
        """Return the systems whose value under `which` combination lies outside the range over qrels."""
        return [name for name, good in zip(self.systems, self.inside(which), strict=True) if not good]

    def mean_correlation(self) -> tuple[float, float]:
        """Return the mean and least correlation of two systems over qrels; NaN if values never vary."""
        known = self.correlation[np.triu_indices(len(self.systems), 1)]
        known = known[~np.isnan(known)]
        return (float(known.mean()), float(known.min())) if len(known) else (np.nan, np.nan)


SWAP_SHARES = (0.5, 0.95, 0.99, 1.0)  # shares of all swaps that `Effect.swap_difference` reports


def resample(
    found: AssessorValues,
    number: int,
    *,
    samples: int = SAMPLES,
    original: int = 0,
    coefficient: str = "tau_b",
    seed: int = 0,
    progress: Progress | None = None,
) -> Effect:
    """Score systems under `samples` qrels with a random assessor per topic, and under each assessor's own.

    `number` is the measure's place. If no more than `samples` qrels are possible, each is used
    once. `coefficient` is any of `sounding.statistics.rank_correlation`.
    """
    find_coefficient(coefficient)
    check_count("samples", samples, 1)
    count = len(found.assessors)
    kept, dropped = _topics(found, number)
    values = found.values[:, number][:, :, kept]  # (assessor and combined, system, topic)
    _refuse_unknown(found, number, kept)
    picks = _Picks(count, int(kept.sum()), samples, seed)
    tally = _Tally(values[original].mean(axis=1), coefficient)
    some = _walk(values[:count], picks, tally, progress)
    by_assessor = values[:count].mean(axis=2)
    in_union = values[count].mean(axis=1)
    whole = kept & (found.relevant[count + 1, number] > 0)
    in_intersection = _mean_or_nan(found.values[count + 1, number][:, whole])
    taus = np.delete(np.concatenate(tally.taus), picks.own(original))
    share = tally.swap_share()
    names = (*found.assessors, "the union", "the intersection")
    return Effect(
        measure=found.measures[number], systems=found.systems, assessors=found.assessors, original=original,
        topics=tuple(t for t, keep in zip(found.topics, kept.tolist(), strict=True) if keep),
        dropped=dropped, samples=picks.total, enumerated=picks.enumerated, seed=seed,
        coefficient=coefficient, mean=tally.total / picks.total, least=tally.least, most=tally.most,
        by_assessor=by_assessor, union=in_union, intersection=in_intersection, taus=taus,
        with_original=_spread(taus, "the original qrels" if _all_tied(tally.reference) else "some qrels"),
        in_subsample=_spread(_between(some, coefficient), "some qrels"), subsample=len(some),
        single=tuple(
            named_agreement(tally.reference, other, coefficient, "the original qrels", name)
            for name, other in zip(names, [*by_assessor, in_union, in_intersection], strict=True)
        ),
        correlation=tally.correlation(), swap_share=share,
        swap_difference=_swap_difference(tally.reference, share),
    )  # fmt: skip


def _walk(values: Floats, picks: _Picks, tally: _Tally, progress: Progress | None) -> Floats:
    """Tally all qrels, and return the means (qrels, system) of a random subsample of them."""
    rng = np.random.default_rng([picks.seed, 1])
    chosen = np.sort(rng.choice(picks.total, min(SUBSAMPLE, picks.total), replace=False))
    kept = []
    for start, choice in picks.chunks():
        means = _means(values, choice)
        tally.add(means)
        inside = chosen[(chosen >= start) & (chosen < start + len(choice))] - start
        kept.append(means[:, inside].T)
        if progress:
            progress(len(choice))
    return np.concatenate(kept)


def _refuse_unknown(found: AssessorValues, number: int, kept: NDArray[np.bool_]) -> None:
    """Refuse a system without a value on a topic that counts: its mean would be over other topics."""
    counts = kept & (found.relevant[:, number] > 0)
    unknown = np.argwhere(np.isnan(found.values[:, number]) & counts[:, np.newaxis])
    if len(unknown):
        side, system, topic = unknown[0].tolist()
        raise DataError(
            f"{found.measures[number]}: no value for {found.systems[system]} on topic {found.topics[topic]}"
            f" by {(*found.assessors, *found.combined)[side]} ({len(unknown):,} values are missing);"
            " rank systems by a measure that always has one"
        )


def _topics(found: AssessorValues, number: int) -> tuple[NDArray[np.bool_], tuple[Dropped, ...]]:
    """Return which topics count, and those left out altogether or from the intersection."""
    names = (*found.assessors, *found.combined)
    count = len(found.assessors)
    lacking = found.relevant[:, number] == 0
    own = lacking[:count]
    kept = ~own.any(axis=0)
    dropped = []
    for place in lacking[: count + 2].any(axis=0).nonzero()[0].tolist():
        who = tuple(names[row] for row in lacking[:, place].nonzero()[0].tolist())
        if not kept[place]:
            who = tuple(name for name in who if name in found.assessors)
        dropped.append(Dropped(topic=found.topics[place], without=who, everywhere=not kept[place]))
    if not kept.any():
        raise DataError(
            "no topic has a relevant document by every assessor, so rankings cannot be compared;"
            f" topic {dropped[0].topic}, for example, has none by {', '.join(dropped[0].without)}"
        )
    return kept, tuple(dropped)


def _mean_or_nan(values: Floats) -> Floats:
    return values.mean(axis=1) if values.shape[1] else np.full(len(values), np.nan)


# -- samples ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Picks:
    """The assessor that each topic gets in each of the qrels."""

    assessors: int
    topics: int
    samples: int
    seed: int

    @property
    def enumerated(self) -> bool:
        """Return whether all possible qrels are used, because there are no more than `samples`."""
        return self.assessors**self.topics <= self.samples

    @property
    def total(self) -> int:
        """The number of qrels, including those of each assessor alone."""
        return self.assessors**self.topics if self.enumerated else self.samples + self.assessors

    def own(self, assessor: int) -> int:
        """Return the place of one assessor's own qrels."""
        if not self.enumerated:
            return assessor
        return assessor * sum(self.assessors**place for place in range(self.topics))

    def chunks(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the place of the first and the picks (qrels, topic), some thousand at a time."""
        if self.enumerated:
            # Count from 0 in base `assessors`, one digit per topic.
            places = self.assessors ** np.arange(self.topics - 1, -1, -1)
            for start in range(0, self.total, CHUNK):
                numbers = np.arange(start, min(start + CHUNK, self.total))
                yield start, numbers[:, np.newaxis] // places % self.assessors
            return
        rng = np.random.default_rng([self.seed, 0])
        yield 0, np.repeat(np.arange(self.assessors)[:, np.newaxis], self.topics, axis=1)
        for start in range(0, self.samples, CHUNK):
            size = min(CHUNK, self.samples - start)
            yield start + self.assessors, rng.integers(0, self.assessors, (size, self.topics))


def _means(values: Floats, choice: NDArray[np.int64]) -> Floats:
    """Return the means (system, qrels) over topics of the picked values (assessor, system, topic)."""
    assessors, systems, topics = values.shape
    picked = (np.arange(assessors)[:, np.newaxis, np.newaxis] == choice.T).reshape(assessors * topics, -1)
    flat = values.transpose(1, 0, 2).reshape(systems, assessors * topics)
    return flat @ picked.astype(np.float64) / topics


class _Tally:
    """Running sums over qrels for range, correlation, tau and swaps against the original order."""

    def __init__(self, reference: Floats, coefficient: str) -> None:
        self.reference = reference
        self.coefficient = coefficient
        systems = len(reference)
        self.order = np.argsort(-on_a_grid(reference[np.newaxis])[0], kind="stable")
        steps = on_a_grid(reference[np.newaxis])[0][self.order]
        self.above = steps[:, np.newaxis] > steps  # (system, system) in the original order: strictly better
        self.total = np.zeros(systems)
        self.least, self.most = np.full(systems, np.inf), np.full(systems, -np.inf)
        self.products = np.zeros((systems, systems))
        self.shifts = np.zeros(systems)
        self.seen = 0
        self.reversed = np.zeros((systems, systems), np.int64)  # in the original order
        self.taus: list[Floats] = []

    def add(self, means: Floats) -> None:
        """Add the means (system, qrels) of more qrels."""
        self.total += means.sum(axis=1)
        np.minimum(self.least, means.min(axis=1), out=self.least)
        np.maximum(self.most, means.max(axis=1), out=self.most)
        shifted = means - self.reference[:, np.newaxis]  # centered on a nearby value to reduce rounding
        self.products += shifted @ shifted.T
        self.shifts += shifted.sum(axis=1)
        self.seen += means.shape[1]
        agreed = self._count(means)
        if self.coefficient in KENDALL:
            self.taus.append(agreed)
        else:
            self.taus.append(agreement_matrix(self.reference[np.newaxis], means.T, self.coefficient)[0])

    def _count(self, means: Floats) -> Floats:
        """Return tau with the original (qrels,), and count the reversed pairs."""
        steps = np.ascontiguousarray(on_a_grid(means.T)[:, self.order].T)
        systems, size = steps.shape
        reversed_, tied = np.zeros(size, np.int64), np.zeros(size, np.int64)
        level = np.zeros(size, np.int64)  # pairs tied here but not in the original
        for row in range(systems - 1):
            below = steps[row + 1 :] > steps[row]
            equal = steps[row + 1 :] == steps[row]
            ordered = self.above[row, row + 1 :]
            self.reversed[row, row + 1 :] += np.bitwise_count(np.packbits(below, axis=1)).sum(
                axis=1, dtype=np.int64
            )
            reversed_ += _count_rows(below if ordered.all() else below[ordered])
            if equal.any():
                tied += _count_rows(equal)
                level += _count_rows(equal[ordered])
        pairs = systems * (systems - 1) // 2
        apart = np.count_nonzero(np.triu(self.above))
        same = apart - reversed_ - level
        whole = float(pairs) if self.coefficient == "tau_a" else np.sqrt(apart * (pairs - tied))
        whole = np.broadcast_to(whole, size)
        return np.divide(same - reversed_, whole, out=np.full(size, np.nan), where=whole > 0)

    def swap_share(self) -> Floats:
        """Return the share of qrels that reverse each pair of systems; NaN if the original ties them."""
        share = np.where(self.above, self.reversed / self.seen, np.nan)
        systems = len(share)
        found = np.full((systems, systems), np.nan)
        found[np.ix_(self.order, self.order)] = np.where(self.above, share, share.T)
        return found

    def correlation(self) -> Floats:
        """Return Pearson's correlation of each pair's values over qrels; NaN if a value never changes."""
        centered = self.products - np.outer(self.shifts, self.shifts) / self.seen
        spread = np.sqrt(np.maximum(np.diag(centered), 0.0) / self.seen)
        varies = spread > 1e-12
        scale = np.outer(spread, spread) * self.seen
        both = np.outer(varies, varies)
        return np.clip(np.divide(centered, scale, out=np.full(scale.shape, np.nan), where=both), -1.0, 1.0)


def _count_rows(flags: NDArray[np.bool_]) -> NDArray[np.integer[Any]]:
    """(column,): Return how many rows are true; in small numbers this is many times as fast."""
    small = np.uint8 if len(flags) < 2**8 else np.uint16 if len(flags) < 2**16 else np.int64
    return np.add.reduce(flags.view(np.uint8), axis=0, dtype=small)


def _spread(taus: Floats, tied: str) -> TauSpread:
    """Return the spread of the known values; `tied` says whose ranking makes a value undefined."""
    known = taus[~np.isnan(taus)]
    unknown = len(taus) - len(known)
    reason = ""
    if unknown:
        reason = reasons.without_tau(unknown, len(taus), tied)
    elif not len(taus):
        reason = reasons.ONE_RANKING
    if not len(known):
        return TauSpread(mean=np.nan, least=np.nan, most=np.nan, unknown=unknown, reason=reason)
    return TauSpread(
        mean=float(known.mean()), least=float(known.min()), most=float(known.max()), unknown=unknown,
        reason=reason,
    )  # fmt: skip


def _all_tied(values: Floats) -> bool:
    return bool(np.ptp(on_a_grid(values[np.newaxis])) == 0)


def named_agreement(
    first: Floats, second: Floats, coefficient: str, first_name: str, second_name: str
) -> Agreement:
    """Return how far two rankings agree; if that is undefined, the reason says whose ranking ties."""
    agreed = rank_agreement(first, second, coefficient)
    if not agreed.reason:
        return agreed
    if len(first) < 2:
        return replace(agreed, reason=reasons.ONE_SYSTEM)
    if np.isnan(second).any():
        return replace(agreed, reason=reasons.nothing_relevant_by(second_name))
    return replace(agreed, reason=reasons.all_tie(first_name if _all_tied(first) else second_name))


def _between(means: Floats, coefficient: str) -> Floats:
    """Return the coefficient of every two of some rankings (qrels, system)."""
    matrix = agreement_matrix(means, means, coefficient)
    return matrix[np.triu_indices(len(means), 1)]


def _swap_difference(reference: Floats, share: Floats) -> Floats:
    """Return the original differences that SWAP_SHARES of all swaps do not exceed; NaN without swaps."""
    left, right = np.triu_indices(len(reference), 1)
    swaps = np.nan_to_num(share[left, right])
    gaps = np.abs(reference[left] - reference[right])
    order = np.argsort(gaps, kind="stable")
    reached = np.cumsum(swaps[order])
    if not len(reached) or reached[-1] <= 0:
        return np.full(len(SWAP_SHARES), np.nan)
    wanted = np.array(SWAP_SHARES) * reached[-1] * (1 - 1e-12)
    return gaps[order][np.searchsorted(reached, wanted)]


# -- the best systems ------------------------------------------------------------------------------

TOP = 10  # number of best systems


@dataclass(frozen=True, slots=True, kw_only=True)
class TopEffect:
    """Effect of one assessor on the best systems, relative to the mean of the other assessors."""

    assessor: str
    top: int  # number of systems: the best by the mean over assessors
    shift: float  # mean of their values minus the mean by the other assessors
    tau: float  # among these systems; NaN: see `reason`
    reason: str
    best: str  # system that is best by this assessor
    best_by_others: str
    favored: str  # the system that gains most under this assessor, beyond `shift`
    favor: float  # its gain
    moved: str  # the system that moves the most places
    places: float


def top_effects(effect: Effect, *, top: int = TOP) -> list[TopEffect]:
    """Return a row for each assessor, over the `top` best systems by the mean over assessors."""
    means = effect.by_assessor.mean(axis=0)
    chosen = sorted(range(len(means)), key=lambda row: (-means[row], effect.systems[row]))[:top]
    names = [effect.systems[row] for row in chosen]
    found = []
    for place, assessor in enumerate(effect.assessors):
        mine = effect.by_assessor[place, chosen]
        others = np.delete(effect.by_assessor, place, axis=0)[:, chosen].mean(axis=0)
        gains = mine - others
        agreed = named_agreement(others, mine, effect.coefficient, "the others", assessor)
        moves = most_places(others, mine)
        favored = int(np.argmax(gains))
        found.append(
            TopEffect(
                assessor=assessor, top=len(chosen), shift=float(gains.mean()), tau=agreed.value,
                reason=agreed.reason, best=names[int(np.argmax(mine))],
                best_by_others=names[int(np.argmax(others))], favored=names[favored],
                favor=float(gains[favored] - gains.mean()),
                moved=names[moves.systems[0]] if moves.places else "none", places=moves.places,
            )
        )  # fmt: skip
    return found
