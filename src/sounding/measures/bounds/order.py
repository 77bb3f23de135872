"""Decide whether two runs stay in order whatever the unjudged documents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.workers import Progress
from sounding.measures import Measure
from sounding.measures.bounds import Unknowns, bounds
from sounding.measures.bounds.margins import Gains
from sounding.measures.bounds.registry import scale
from sounding.measures.listings import Listed, Listings
from sounding.measures.summaries import GEOMETRIC_FLOOR
from sounding.measures.universe import cap
from sounding.runs.pairs import KnownLimits, Limits, Pairs, blocks
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Kind = Literal["difference", "rule", "separate"]
Table = NDArray[np.float64]  # (pair, topic), or (run, topic)
OwnBounds = tuple[Table, Table]  # the smallest and largest value of each run by itself, (run, topic)

CLOSE = 1e-12  # relative to the largest value: a bound this near to 0 may be 0
NEAR = 1e-9  # a limit of AP this near to 0 is computed in full before its sign is decided
LIMITS_AT_ONCE = 2**22  # pairs times topics
ROWS_AT_ONCE = 2**20  # the same, if only a few topics of each pair are computed
NEGLIGIBLE = 1e-12  # share of all weight; a rank with less is not looked up in the other run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairBounds:
    """The smallest and largest possible difference of two runs' means: run_a - run_b."""

    limits: Limits
    # difference: exact, document by document; rule: the closer of Carterette's rule for AP and separate
    # bounds; separate: one run's own lower bound minus the other's upper bound
    kind: Kind
    known: NDArray[np.bool_]  # (pair,) the runs have a common topic
    settled: NDArray[np.bool_]  # (pair,) 0 is outside: the same run stays ahead whatever is judged
    equal: NDArray[np.bool_]  # (pair,) both bounds are 0: the runs stay equal whatever is judged
    closest: bool = True  # False: bounds from the runs' documents would be closer and may settle more pairs

    @property
    def final(self) -> NDArray[np.bool_]:
        """Return (pair,): whether no judgment can reverse the pair: one run stays ahead or both tie."""
        return self.settled | self.equal

    def between(self, pairs: Sequence[int] | NDArray[np.intp]) -> Table:
        """Return (2, pair): the smallest and largest possible difference; NaN without a common topic.

        `pairs` are indices of pairs. Computing all of many pairs can take long and is rarely needed.
        """
        numbers = np.asarray(pairs, np.intp)
        return np.where(self.known[numbers], self.limits.of(numbers), np.nan)

    @property
    def lower(self) -> Values:
        """Return (pair,): the smallest difference; NaN without a common topic."""
        return self.between(np.arange(len(self.known)))[0]

    @property
    def upper(self) -> Values:
        """Return (pair,): the largest difference; NaN without a common topic."""
        return self.between(np.arange(len(self.known)))[1]

    def without(self, pairs: NDArray[np.bool_]) -> PairBounds:
        """Return the same with nothing known of these pairs, (pair,)."""
        return replace(
            self, known=self.known & ~pairs, settled=self.settled & ~pairs, equal=self.equal & ~pairs
        )


def pair_bounds(
    measure: Measure,
    listings: Listings,
    pairs: Pairs,
    own: OwnBounds | None = None,
    *,
    progress: Progress | None = None,
) -> PairBounds:
    """Return the bounds of the differences of pairs of runs, and which pairs they settle.

    `own` are the runs' own bounds, over the universe of the listings; None: they are computed. `progress` is
    called for pairs.
    """
    if measure.definition.aggregate == "text":
        raise DataError(f"{measure} gives a text, but only numbers have a difference; leave it out")
    measure = as_asked(measure, listings.policies)
    if _has_rule(measure):
        return _by_rule(measure, listings, pairs, own or own_bounds(measure, listings), progress)
    if is_additive(measure, listings):
        found = _by_difference(measure, listings, pairs)
    else:
        low, high = own or own_bounds(measure, listings)
        known = _known(listings, pairs)
        found = _with_same_lists(separate_bounds(measure, low, high, pairs, known), listings, pairs)
    if progress:
        progress(len(pairs))
    return found


def _with_same_lists(found: PairBounds, listings: Listings, pairs: Pairs) -> PairBounds:
    """Set the bounds to 0 for two runs with the same lists, whose own bounds do not show that."""
    numbers: dict[bytes, int] = {}
    lists = (listings.ranks(run).tobytes() for run in range(len(listings.rankings)))
    content = np.array([numbers.setdefault(one, len(numbers)) for one in lists])
    same = (content[pairs[:, 0]] == content[pairs[:, 1]]) & found.known
    limits = KnownLimits(np.where(same, 0.0, [found.lower, found.upper]))
    return replace(found, limits=limits, equal=found.equal | same)


def as_asked(measure: Measure, policies: Policies) -> Measure:
    """Return the measure under the policy for unjudged documents."""
    return measure.replace(judged_only=True) if policies.unjudged == "condensed" else measure


def has_closer_bounds(measure: Measure) -> bool:
    """Return whether the documents of two runs may give closer bounds than the runs' own bounds."""
    plain = not (measure.get("assessed") or measure.get("judged_only"))
    return _has_rule(measure) or (plain and measure.additive and measure.definition.basis == "utility")


# -- sums over documents ---------------------------------------------------------------------------


def is_additive(measure: Measure, listings: Listings) -> bool:
    """Return whether a value is just the sum over documents of a gain times a weight of the rank."""
    if not measure.additive or measure.definition.basis != "utility":
        return False
    if measure.get("assessed") or measure.get("judged_only"):
        return False
    # Negative gains, or gains that depend on which grades occur, have no exact bounds either.
    return _own_kind(measure, listings) == "exact"


def has_bounds(measure: Measure, listings: Listings) -> bool:
    """Return whether anything is known about how far a value can move."""
    return _own_kind(measure, listings) != "none"


def _own_kind(measure: Measure, listings: Listings) -> str:
    ranking = listings.rankings[0]
    return bounds(measure, ranking, Unknowns(np.zeros(len(ranking.topics), np.int64))).kind


def worth_of_ranks(measure: Measure, listings: Listings) -> Values:
    """(rank from 0,): Return what a document of the best grade adds to an additive measure; 0 at rank 0."""
    options = scale(listings.judgments, measure.get("rel"))
    at_the_top = measure(_lone_documents(listings.judgments, np.ones(len(options), np.int64), options))
    best = options[at_the_top.argmax()]
    ranks = np.arange(1, listings.deepest + 1)
    worth = measure(_lone_documents(listings.judgments, ranks, np.full(len(ranks), best)))
    whole = np.zeros(1 + max(len(ranks), listings.longest))
    whole[1 : len(worth) + 1] = worth  # ranks beyond a depth limit are worth nothing
    return whole


def _lone_documents(judgments: Judgments, rank: Counts, grade: Values) -> Ranking:
    """Build a ranking with one document per topic; an additive utility only needs the existing grades."""
    count = len(rank)
    starts = np.zeros(count + 1, np.int64)
    starts[-1] = len(judgments.grades)
    none = np.empty(0, np.int64)
    return Ranking(
        run="", judgments=replace(
            judgments, topics=("",) * count, starts=starts, pooled=np.zeros(count, np.int64), sampling=None,
            _known={},
        ),
        topic=np.arange(count), rank=rank, grade=grade, retrieved=rank, missing=np.zeros(count, np.bool_),
        pooled_topic=none, pooled_rank=none,
    )  # fmt: skip


def _by_difference(measure: Measure, listings: Listings, pairs: Pairs) -> PairBounds:
    """Return exact bounds: every unjudged document has the relevance that suits one of the two runs."""
    values = np.array([measure(ranking) for ranking in listings.rankings])
    worth = worth_of_ranks(measure, listings)
    most = cap(measure, listings.rankings[0], listings.policies, listings.deepest)
    lists = {run: listings.unjudged(run) for run in np.unique(pairs).tolist()}
    if most is None:
        rise_a, rise_b = _rises(listings, pairs, lists, worth)
    else:
        rise_a = _capped_rise(listings, pairs, lists, worth, most)
        rise_b = _capped_rise(listings, pairs[:, ::-1], lists, worth, most)
    present = values[pairs[:, 0]] - values[pairs[:, 1]]
    known = _known(listings, pairs)
    size = float(np.abs(values).mean(axis=1).max(initial=0.0) + worth.max())
    return _pair_bounds(_mean(present - rise_b, known), _mean(present + rise_a, known), "difference", size)


def _rises(
    listings: Listings, pairs: Pairs, lists: Mapping[int, Listed], worth: Values
) -> tuple[Table, Table]:
    """Return how far unjudged documents can move a pair toward its first run, and toward its second.

    That is the worth of all of a run's documents, minus what they must be worth to the other too. A
    negligible document is treated as in no other run, which can only widen the bounds.
    """
    topics = len(listings.judgments.topics)
    alone = np.zeros((len(listings.rankings), topics))
    near = {}
    reach = int((worth > NEGLIGIBLE * worth.sum()).nonzero()[0].max(initial=0))
    for run, listed in lists.items():
        alone[run] = np.bincount(listed.topic, worth[listed.rank], topics)
        near[run] = listed.where(listed.rank <= reach)
    shared = np.zeros((len(pairs), topics))
    for number, first, rank in listings.meetings(pairs, near):
        shared[number] = np.bincount(first.topic, np.minimum(worth[first.rank], worth[rank]), topics)
    return alone[pairs[:, 0]] - shared, alone[pairs[:, 1]] - shared


def _capped_rise(
    listings: Listings, pairs: Pairs, lists: Mapping[int, Listed], worth: Values, most: Counts
) -> Table:
    """Return how far a limited number of documents per topic can move a pair toward its first run."""
    rises = np.zeros((len(pairs), len(most)))
    for number, first, rank in listings.meetings(pairs, lists):
        gain = worth[first.rank] - worth[rank]
        helps = gain > 0
        topic, gain = first.topic[helps], gain[helps]
        order = np.lexsort((-gain, topic))
        topic, gain = topic[order], gain[order]
        nth = np.arange(len(topic)) - np.searchsorted(topic, np.arange(len(most)))[topic]
        gain[nth >= most[topic]] = 0
        rises[number] = np.bincount(topic, gain, len(most))
    return rises


# -- average precision -----------------------------------------------------------------------------


def _has_rule(measure: Measure) -> bool:
    """Return whether Carterette's rule applies: AP over R, or over min(k, R)."""
    if measure.name != "AP" or measure.get("assessed") or measure.get("judged_only"):
        return False
    return measure.k is None or measure.get("norm") in ("a", "b")


def _by_rule(
    measure: Measure, listings: Listings, pairs: Pairs, own: OwnBounds, progress: Progress | None
) -> PairBounds:
    """Apply the rule of Carterette, Allan & Sitaraman (2006), Equation 3, valid for means over topics.

    The margin N is the smallest possible difference of the two sums of precisions. On a topic with R relevant
    documents the difference is then at least N / R, for any R from those judged to those possible. The runs'
    own bounds are used if they are closer.
    """
    known_relevant = listings.judgments.relevant(measure.get("rel"))
    more = listings.may_be_relevant()
    at_most = cap(measure, listings.rankings[0], listings.policies, listings.deepest)
    if at_most is not None:
        more = np.minimum(more, at_most)
    least, most = known_relevant, known_relevant + more
    if measure.get("norm") == "b" and measure.k is not None:
        least, most = np.minimum(least, measure.k), np.minimum(most, measure.k)
    gains = Gains.of(listings, k=measure.k, level=measure.get("rel"))
    rule = _Rule(gains, pairs, own, np.maximum(least, 1), np.maximum(most, 1), _known(listings, pairs))
    settled, equal = rule.decide(progress)
    return PairBounds(
        limits=rule,
        kind="rule",
        known=np.count_nonzero(rule.counted, axis=1) > 0,
        settled=settled,
        equal=equal,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """Carterette's rule for some pairs, which decides most of them without computing their limits."""

    gains: Gains
    pairs: Pairs
    own: OwnBounds
    least: Counts  # (topic,) the smallest possible divisor of a margin
    most: Counts  # (topic,) the largest possible divisor
    counted: NDArray[np.bool_]  # (pair, topic)

    def of(self, pairs: NDArray[np.intp]) -> Table:
        """Return (2, pair): the limits of the pairs with these indices."""
        both = np.empty((2, len(pairs)))
        for rows in blocks(len(pairs), self.counted.shape[1], most=LIMITS_AT_ONCE):
            chosen, known = self.pairs[pairs[rows]], self.counted[pairs[rows]]
            margin_a, margin_b = self.gains.margins(chosen)
            both[0, rows] = _mean(self._lower(chosen, margin_a), known)
            both[1, rows] = -_mean(self._lower(chosen[:, ::-1], margin_b), known)
        return both

    def decide(self, progress: Progress | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two flags per pair, (pair,) each: settled, and equal whatever is judged.

        What two runs gain together lies between 0 and the smaller of their gains. Topics are computed
        exactly, the most uncertain first, until the sign of each pair's limit is known.
        """
        count = len(self.pairs)
        settled, equal, near = np.zeros((3, count), np.bool_)
        turned = np.concatenate([self.pairs, self.pairs[:, ::-1]])  # each pair in both orders
        number = np.tile(np.arange(count), 2)
        for rows in blocks(len(turned), self.counted.shape[1], most=ROWS_AT_ONCE):
            low, high = self._ahead(turned[rows], self.counted[number[rows]])
            settled[number[rows][low > NEAR]] = True
            near[number[rows][(low <= NEAR) & (high >= -NEAR)]] = True
            if progress:
                progress(rows.stop * count // len(turned) - rows.start * count // len(turned))
        near &= ~settled
        (rest,) = near.nonzero()
        lower, upper = self.of(rest)
        exact = _pair_bounds(lower, upper, "rule", 1.0)
        settled[rest], equal[rest] = exact.settled, exact.equal
        return settled, equal

    def _ahead(self, pairs: Pairs, counted: NDArray[np.bool_]) -> tuple[Values, Values]:
        """Return lower and upper bounds of the first run's smallest lead, on one side of 0 if possible."""
        topics = np.maximum(np.count_nonzero(counted, axis=1), 1)
        first, second = pairs[:, 0], pairs[:, 1]
        rise = self.gains.rise
        low, high = (
            np.where(counted, self._lower(pairs, self.gains.margin(pairs, common)), 0.0)
            for common in (np.zeros(counted.shape), np.minimum(rise[first], rise[second]))
        )
        totals = np.stack([low.sum(axis=1), high.sum(axis=1)]) / topics
        for topic in np.argsort(-(high - low).sum(axis=0), kind="stable").tolist():
            (open_,) = ((totals[0] <= NEAR) & (totals[1] >= -NEAR) & counted[:, topic]).nonzero()
            if not len(open_):
                continue
            common = self.gains.common(pairs[open_], [topic])
            margin = self.gains.margin(pairs[open_], common, [topic])
            exact = self._lower(pairs[open_], margin, [topic])[:, 0]
            totals[:, open_] += (exact - np.stack([low[open_, topic], high[open_, topic]])) / topics[open_]
        return totals[0], totals[1]

    def _lower(self, pairs: Pairs, margin: Table, topics: Sequence[int] | slice = slice(None)) -> Table:
        """(pair, topic): Return the smallest difference by the rule or by the runs' own bounds."""
        low, high = (side[:, topics] for side in self.own)
        by_rule = np.where(margin >= 0, margin / self.most[topics], margin / self.least[topics])
        return np.maximum(by_rule, low[pairs[:, 0]] - high[pairs[:, 1]])


# -- the runs' own bounds --------------------------------------------------------------------------


def own_bounds(measure: Measure, listings: Listings) -> OwnBounds:
    """Return the smallest and largest value of each run by itself, (run, topic); NaN: skipped topic.

    The documents that may be relevant are the same for all runs: what any of them retrieved, and what is
    elsewhere.
    """
    low, high = np.empty((2, len(listings.rankings), len(listings.judgments.topics)))
    for run, (ranking, others) in enumerate(zip(listings.rankings, listings.outside(), strict=True)):
        most = cap(measure, ranking, listings.policies, listings.deepest)
        found = bounds(measure, ranking, Unknowns(others, most))
        low[run], high[run] = found.lower, found.upper
        if listings.policies.missing == "skip":
            low[run, ranking.missing] = high[run, ranking.missing] = np.nan
    return low, high


def separate_bounds(
    measure: Measure, low: Table, high: Table, pairs: Pairs, counted: NDArray[np.bool_]
) -> PairBounds:
    """Return the smallest value of one run minus the largest of the other, and the reverse.

    `low` and `high` bound the values, (run, topic), NaN if a run has none; both must be over the same
    universe. `counted` says which topics count for both runs, (pair, topic).
    """
    first, second = pairs[:, 0], pairs[:, 1]
    valued = ~np.isnan(low) & ~np.isnan(high)
    known = counted & valued[first] & valued[second]
    whole = np.concatenate([low, high])
    size = float(np.abs(whole[np.isfinite(whole)]).max(initial=0.0))
    if measure.definition.aggregate == "geometric":
        lows, highs = (np.log(np.maximum(side, GEOMETRIC_FLOOR)) for side in (low, high))
        low_a, low_b = (np.exp(_mean(lows[side], known)) for side in (first, second))
        high_a, high_b = (np.exp(_mean(highs[side], known)) for side in (first, second))
        return _pair_bounds(low_a - high_b, high_a - low_b, "separate", size)
    lower = _mean(low[first] - high[second], known)
    upper = _mean(high[first] - low[second], known)
    return _pair_bounds(lower, upper, "separate", size)


# -- over topics -----------------------------------------------------------------------------------


def _known(listings: Listings, pairs: Pairs) -> NDArray[np.bool_]:
    """(pair, topic): Return whether the topic counts for both runs."""
    missing = np.array([ranking.missing for ranking in listings.rankings])
    return counted_topics(missing, pairs, listings.policies)


def counted_topics(missing: NDArray[np.bool_], pairs: Pairs, policies: Policies) -> NDArray[np.bool_]:
    """(pair, topic): Return whether the topic counts for both runs, given missing ones, (run, topic)."""
    if policies.missing != "skip":
        return np.ones((len(pairs), missing.shape[1]), np.bool_)
    return ~(missing[pairs[:, 0]] | missing[pairs[:, 1]])


def _mean(table: Table, known: NDArray[np.bool_]) -> Values:
    """(pair,): Return the mean over the topics that count; NaN without any."""
    total = np.where(known, table, 0.0).sum(axis=1)
    counted = np.count_nonzero(known, axis=1)
    return np.divide(total, counted, out=np.full(len(total), np.nan), where=counted > 0)


def _pair_bounds(lower: Values, upper: Values, kind: Kind, size: float) -> PairBounds:
    margin = CLOSE * size
    return PairBounds(
        limits=KnownLimits(np.stack([lower, upper])), kind=kind, known=~np.isnan(lower),
        settled=(lower > margin) | (upper < -margin), equal=(lower >= -margin) & (upper <= margin),
    )  # fmt: skip
