"""Decide whether two runs stay in order whatever the unjudged documents are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.workers import Progress
from sounding.measures import Measure
from sounding.measures.bounds import Unknowns, bounds
from sounding.measures.bounds.registry import scale
from sounding.measures.listings import Listed, Listings, Numbers
from sounding.measures.summaries import GEOMETRIC_FLOOR
from sounding.measures.universe import cap
from sounding.runs.pairs import Pairs
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Kind = Literal["difference", "rule", "separate"]
Table = NDArray[np.float64]  # (pair, topic), or (run, topic)
OwnBounds = tuple[Table, Table]  # the smallest and largest value of each run by itself, (run, topic)

CLOSE = 1e-12  # relative to the largest value: a bound this near to 0 may be 0
NEGLIGIBLE = 1e-12  # share of all weight: a rank with less is not looked up in the other run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairBounds:
    """The smallest and largest possible difference of two runs' means: run_a - run_b."""

    lower: Values  # (pair,) NaN: no common topic
    upper: Values  # (pair,)
    # difference: document by document, and attained; rule: Carterette's for AP, or the better of it and
    # separate bounds; separate: the runs' own bounds against each other
    kind: Kind
    settled: NDArray[np.bool_]  # (pair,) 0 is outside: the same run is ahead whatever is judged
    equal: NDArray[np.bool_]  # (pair,) both bounds are 0: the runs stay equal whatever is judged
    closest: bool = True  # False: with the runs' documents there are closer bounds, which may settle more

    @property
    def final(self) -> NDArray[np.bool_]:
        """(pair,): whether no judgment reverses the pair: one run stays ahead, or the two stay equal."""
        return self.settled | self.equal


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
    same = (content[pairs[:, 0]] == content[pairs[:, 1]]) & ~np.isnan(found.lower)
    lower, upper = (np.where(same, 0.0, side) for side in (found.lower, found.upper))
    return replace(found, lower=lower, upper=upper, equal=found.equal | same)


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
    """Return how far unjudged documents can move a pair towards its first run, and towards its second.

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
    """Return how far a limited number of documents per topic can move a pair towards its first run."""
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
    margin_a, margin_b = margins(listings, pairs, k=measure.k, level=measure.get("rel"), progress=progress)
    known_relevant = listings.judgments.relevant(measure.get("rel"))
    more = listings.may_be_relevant()
    at_most = cap(measure, listings.rankings[0], listings.policies, listings.deepest)
    if at_most is not None:
        more = np.minimum(more, at_most)
    least, most = known_relevant, known_relevant + more
    if measure.get("norm") == "b" and measure.k is not None:
        least, most = np.minimum(least, measure.k), np.minimum(most, measure.k)
    lower = _divide(margin_a, least, most)
    upper = -_divide(margin_b, least, most)
    first, second = pairs[:, 0], pairs[:, 1]
    low, high = own
    lower = np.maximum(lower, low[first] - high[second])
    upper = np.minimum(upper, high[first] - low[second])
    known = _known(listings, pairs)
    return _pair_bounds(_mean(lower, known), _mean(upper, known), "rule", 1.0)


def _divide(margin: Table, least: Counts, most: Counts) -> Table:
    """Return the smallest value of a margin divided by a number of documents between these."""
    return np.where(margin >= 0, margin / np.maximum(most, 1), margin / np.maximum(least, 1))


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
        lower=lower, upper=upper, kind=kind,
        settled=(lower > margin) | (upper < -margin), equal=(lower >= -margin) & (upper <= margin),
    )  # fmt: skip


def margins(
    listings: Listings, pairs: Pairs, *, k: int | None, level: float, progress: Progress | None = None
) -> tuple[Table, Table]:
    """(pair, topic): Return the margin of run_a over run_b, and that of run_b over run_a.

    A difference of sums is never less than its margin: the judged part, minus all that the unjudged documents
    could add to the other run, except for what they would then add to both.
    """
    depths = _Depths(len(listings.judgments.topics), min(k or listings.deepest, listings.deepest))
    runs = np.unique(pairs).tolist()
    hidden = {run: depths.within(listings.unjudged(run)) for run in runs}
    found = {run: depths.within(listings.relevant(run, level)) for run in runs}
    sums, rises = np.zeros((2, len(listings.rankings), depths.topics))
    for run in runs:
        relevant = depths.above(found[run].topic, found[run].rank)
        sums[run] = depths.total(relevant * (relevant + 1) / 2)
        rises[run] = depths.rise(depths.above(hidden[run].topic, hidden[run].rank), relevant)
    shared = np.zeros((len(pairs), depths.topics))
    meetings = zip(listings.meetings(pairs, hidden), listings.meetings(pairs, found), strict=True)
    for (number, unjudged, there), (_, judged, judged_there) in meetings:
        new = depths.above_in_both(unjudged, there)
        shared[number] = depths.rise(new, depths.above_in_both(judged, judged_there))
        if progress:
            progress(1)
    first, second = pairs[:, 0], pairs[:, 1]
    present = sums[first] - sums[second]
    return present - (rises[second] - shared), -present - (rises[first] - shared)


@dataclass(frozen=True, slots=True)
class _Depths:
    """Counts of documents at each depth; tables are (topic, depth)."""

    topics: int
    deepest: int

    def within(self, listed: Listed) -> Listed:
        return listed.where(listed.rank <= self.deepest)

    def above(self, topic: Numbers, rank: Numbers) -> Table:
        """Count these documents at each depth or above."""
        width = self.deepest + 1
        counts = np.bincount(topic * np.int64(width) + rank, minlength=self.topics * width)
        return np.cumsum(counts.reshape(self.topics, width)[:, 1:], axis=1, dtype=np.float64)

    def above_in_both(self, listed: Listed, rank: Numbers) -> Table:
        """Count documents at each depth or above in two runs; rank 0: not in the second."""
        met = rank > 0
        return self.above(listed.topic[met], np.maximum(listed.rank, rank)[met])

    def rise(self, unjudged: Table, relevant: Table) -> Values:
        """Return what the sum of precisions gains if all unjudged documents turn relevant: pairs with one."""
        return self.total(unjudged * (unjudged + 1 + 2 * relevant) / 2)

    def total(self, pairs: Table) -> Values:
        """Sum 1 / (lower rank) over pairs of documents, given the number of pairs above each depth."""
        depth = np.arange(1, self.deepest + 1)
        step = 1 / depth - 1 / (depth + 1)
        step[-1] = 1 / self.deepest  # ranks below the last depth count nothing
        return pairs @ step
