"""Graded measures that compare with the ideal order: nDCG and its relatives, G and Q."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures.binary import ranks_in_pool, relevant_by_norm
from sounding.measures.registry import measure
from sounding.measures.totals import Cutoff, place_weights, share, weighted_sum
from sounding.runs.ranking import Counts, Hits, Judgments, Ranking, Values

Gains = Mapping[float, float]  # gains of single grades; other grades are their own gain
Dcg = Literal["log2", "exp-log2", "zipf", "exp-zipf", "jk", "exp-jk"]
QGain = Literal["linear", "exponential", "grade"]
Scale = Literal["judgments", "topic"]  # the judgments whose highest grade is the reference for gains

_DIVISORS: Mapping[str, Callable[[Counts | Values], Values]] = {
    "log2": lambda rank: np.log2(rank + 1),
    "zipf": lambda rank: np.asarray(rank, np.float64),
    "jk": lambda rank: np.log2(np.maximum(rank, 2)),
}


CELLS = 1 << 21  # cells of a table of sums
GRADE_LIMIT = 1000  # 2^1024 exceeds the range of doubles


class DcgForm:
    """The gain of a grade in DCG and its discount by rank; see nDCG for the names."""

    def __init__(self, dcg: Dcg = "log2", gains: Gains | None = None, rel: float | None = None) -> None:
        if gains is not None and rel is not None:
            raise DataError(f"gains= and rel={rel} both define the gain of a grade; give one of them")
        self.dcg = dcg
        self.gains = gains
        self.rel = rel

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that identifies the form."""
        return self.dcg, None if self.gains is None else tuple(sorted(self.gains.items())), self.rel

    def gain(self, grade: Values) -> Values:
        """Return the gains of grades before the discount."""
        if self.rel is not None:
            return (grade >= self.rel).astype(np.float64)
        worth = grade if self.gains is None else with_gains(grade, self.gains)
        return power_of_two(worth) - 1 if self.dcg.startswith("exp-") else worth

    def discount(self, rank: Counts | Values) -> Values:
        """Return the factor by which gains at these ranks are multiplied."""
        return 1 / self._divisor(rank)

    def discounted(self, gain: Values, rank: Counts | Values) -> Values:
        """Return discounted gains; divides, to match trec_eval to the last bit."""
        return gain / self._divisor(rank)

    def _divisor(self, rank: Counts | Values) -> Values:
        return _DIVISORS[self.dcg.removeprefix("exp-")](rank)


def with_gains(grade: Values, gains: Gains) -> Values:
    """Replace the grades that `gains` names by their gains."""
    result = grade.copy()
    for named, gain in gains.items():
        result[grade == named] = gain
    return result


def accumulate(operation: np.ufunc, values: Values, nth: Counts) -> Values:
    """Accumulate (sum, multiply, ...) a topic's values down to each of them; `nth` numbers them from 1.

    Each pass doubles the number of values that a result covers. So topics do not mix, not even in the last
    bits, and rounding errors grow only with the logarithm of a topic's length.
    """
    result = values.astype(np.float64)
    covered = 1
    longest = int(nth.max(initial=0))
    while covered < longest:
        later = (nth > covered).nonzero()[0]
        result[later] = operation(result[later - covered], result[later])
        covered *= 2
    return result


def _added_in_order(values: Values, topic: Counts, nth: Counts, topics: int) -> Values:
    """Like `running(np.add, ...)`, but add each topic's values one after the other, as trec_eval does.

    Topics of similar length share a table, so that one long topic does not lengthen all the others.
    """
    lengths = np.bincount(topic, minlength=topics)
    longest_first = np.argsort(-lengths, kind="stable")
    lengths = lengths[longest_first]
    row = np.argsort(longest_first)[topic]
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(lengths)])
    result = np.empty(len(values))
    begin = 0
    while begin < topics and lengths[begin]:
        end = min(begin + max(1, CELLS // int(lengths[begin])), topics)
        chosen = order[ends[begin] : ends[end]]
        cells = row[chosen] - begin, nth[chosen] - 1
        table = np.zeros((end - begin, int(lengths[begin])))
        table[cells] = values[chosen]
        result[chosen] = np.add.accumulate(table, axis=1)[cells]
        begin = end
    return result


class Ideal(NamedTuple):
    """The ideal order of each topic's judged documents that have a gain."""

    starts: Counts  # (topic + 1,)
    topic: Counts  # (document,)
    place: Counts  # (document,) rank in the ideal order, from 1
    gain: Values  # (document,) above 0

    @property
    def size(self) -> Counts:
        """The number of documents with a gain, for each topic."""
        return np.diff(self.starts)

    def reached(self, sums: Values, topic: Counts, rank: Counts) -> Values:
        """Return the running sums of the ideal order at a rank of a topic.

        They stay constant past its end.
        """
        last = np.minimum(rank, self.size[topic])
        return np.where(last > 0, np.concatenate([[0.0], sums])[self.starts[topic] + last], 0.0)


def ideal_order(judgments: Judgments, gain: Values, pool: NDArray[np.bool_] | None = None) -> Ideal:
    """Return the ideal order for these gains of judgments; with a `pool`, of its documents only."""
    chosen = gain > 0
    if pool is not None:
        chosen &= pool
    topic = judgments.topic[chosen]
    order = np.lexsort((-gain[chosen], topic))  # named gains need not follow the grades
    starts = np.searchsorted(topic, np.arange(len(judgments.topics) + 1))
    return Ideal(starts, topic, np.arange(1, len(topic) + 1) - starts[topic], gain[chosen][order])


def dcg_of(run: Ranking, k: Cutoff, form: DcgForm) -> Values:
    """Sum the discounted gains of the first k documents of every topic."""
    if run.ties is not None or isinstance(k, np.ndarray):
        return weighted_sum(run, form.gain(run.grade), form.discount, k)
    rows = np.arange(len(run.rank)) if k is None else (run.rank <= k).nonzero()[0]
    gain = form.gain(run.grade[rows])
    counts = gain != 0
    rows, gain = rows[counts], gain[counts]
    return run.total(run.topic[rows], form.discounted(gain, run.rank[rows]))


def ideal_dcg_of(judgments: Judgments, k: Cutoff, form: DcgForm, norm: str = "a") -> Values:
    """Return the largest DCG at k that the judged documents allow; computed once for all runs."""
    if isinstance(k, np.ndarray):
        return _ideal_dcg_at_every_k(judgments, len(k), form, norm)

    def compute(own: Judgments) -> Values:
        pool = None
        if norm == "b" and k is not None:
            pool = ranks_in_pool(own, k, "nDCG with norm='b'") > 0
        best = ideal_order(own, form.gain(own.grades), pool)
        near = np.ones(len(best.place), np.bool_) if k is None else best.place <= k
        weight = form.discounted(best.gain[near], best.place[near])
        return np.bincount(best.topic[near], weight, len(own.topics)).astype(np.float64)

    return judgments.by_topic(("ideal dcg", k, form.key, norm), compute)


def _ideal_dcg_at_every_k(judgments: Judgments, depth: int, form: DcgForm, norm: str) -> Values:
    """(k, topic): Return the largest DCG at every k; with norm 'b', of the pool of depth k."""

    def compute() -> Values:
        pool, changing = None, 0
        if norm == "b":
            ranks = ranks_in_pool(judgments, depth, "nDCG with norm='b'")
            pool, changing = ranks > 0, int(ranks.max(initial=0))
        best = ideal_order(judgments, form.gain(judgments.grades), pool)
        weight = best.gain * form.discount(best.place)
        table = np.cumsum(place_weights(best.topic, best.place, weight, depth, len(judgments.topics)), axis=0)
        for k in range(1, changing):  # from the deepest pool rank on, the pool is the same for every k
            table[k - 1] = ideal_dcg_of(judgments, k, form, norm)
        return table

    return judgments.remember(("ideal dcg at every k", depth, form.key, norm), compute)


@measure("nDCG", basis="recall", monotone=False, additive=True, handles_ties=True, handles_cuts=True)
def normalized_discounted_cumulative_gain(
    run: Ranking,
    *,
    k: int | None = None,
    dcg: Dcg = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
    norm: Literal["a", "b"] = "a",
) -> Values:
    """Discounted gain of the first k documents, divided by the largest that the judged documents allow.

    `dcg` names gain and discount at rank i:

    - 'log2': grade / log2(i + 1), as in trec_eval and ir_measures;
    - 'zipf': grade / i (Kanoulas & Aslam 2009);
    - 'jk': grade / log2(i), without discount before rank 2, as in Järvelin & Kekäläinen (2002), b = 2;
    - 'exp-log2' and so on: the same with the gain 2^grade - 1 (Burges, gdeval).

    `gains` sets the gain of single grades; other grades are their own gain. The ideal order follows the
    gains however close they are (trec_eval confuses gains less than 1 apart). `rel` makes gains binary: 1
    from that grade on, 0 below.

    Without k the ideal order has all judged documents, even if few were retrieved. It is formed from all
    judgments (norm 'a') or from those in the pool of depth k (norm 'b'; Lu, Moffat & Culpepper 2016,
    Table 2). Norm 'b' needs pool ranks, and can exceed 1 for a run that did not contribute to the pool.
    A topic without any gain gives 0.
    """
    form = DcgForm(dcg, gains, rel)
    return share(dcg_of(run, k, form), ideal_dcg_of(run.judgments, k, form, norm))


@measure(
    "DCG", basis="utility", monotone=True, monotone_in_k=True, additive=True, bounds=(0.0, np.inf),
    handles_ties=True, handles_cuts=True,
)  # fmt: skip
def discounted_cumulative_gain(
    run: Ranking,
    *,
    k: int | None = None,
    dcg: Dcg = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
) -> Values:
    """Sum of the gains of the first k documents, each discounted by its rank.

    Parameters as for nDCG. Its claims hold for non-negative gains that do not fall with the grade.
    """
    return dcg_of(run, k, DcgForm(dcg, gains, rel))


@measure("IDCG", basis="count", monotone=True, monotone_in_k=True, bounds=(0.0, np.inf))
def ideal_discounted_cumulative_gain(
    run: Ranking,
    *,
    k: int | None = None,
    dcg: Dcg = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
) -> Values:
    """Largest DCG that the judged documents of the topic allow, whatever was retrieved."""
    return ideal_dcg_of(run.judgments, k, DcgForm(dcg, gains, rel)).copy()


class _Progress(NamedTuple):
    """The growth of DCG (log2) down a ranking, and down the ideal order."""

    ideal: Ideal
    ideal_sums: Values  # (ideal document,) DCG of the ideal order down to it
    hit: Hits  # the retrieved documents with a gain other than 0
    gain: Values  # (hit,)
    sums: Values  # (hit,) DCG of the ranking down to it

    @staticmethod
    def of(run: Ranking, gains: Gains | None) -> _Progress:
        """Compute the growth of both for one run."""
        form = DcgForm(gains=gains)
        judgments = run.judgments

        def best() -> tuple[Ideal, Values]:
            order = ideal_order(judgments, form.gain(judgments.grades))
            gained = form.discounted(order.gain, order.place)
            return order, _added_in_order(gained, order.topic, order.place, len(judgments.topics))

        ideal, ideal_sums = judgments.remember(("progress", form.key), best)
        gain = form.gain(run.grade)
        hit = run.select(gain != 0)
        gain = gain[gain != 0]
        gained = form.discounted(gain, hit.rank)
        sums = _added_in_order(gained, hit.topic, hit.nth, len(judgments.topics))
        return _Progress(ideal, ideal_sums, hit, gain, sums)

    def dcg_at(self, topic: Counts, rank: Counts) -> Values:
        """Return the DCG of the ranking down to a rank of a topic."""
        stride = int(max(self.hit.rank.max(initial=0), rank.max(initial=0))) + 1
        keys = self.hit.topic * stride + self.hit.rank
        above = np.searchsorted(keys, topic * stride + rank, side="right")
        any_hit = above > np.searchsorted(self.hit.topic, topic)
        return np.where(any_hit, np.concatenate([[0.0], self.sums])[above], 0.0)

    def ndcg_at_end(self, run: Ranking, times: Values | int = 1) -> Values:
        """Return the nDCG of the whole ranking for every topic, multiplied by `times`."""
        every = np.arange(len(run.topics))
        return share(
            times * self.dcg_at(every, run.retrieved),
            self.ideal.reached(self.ideal_sums, every, self.ideal.size),
        )


@measure("nDCGRel", basis="recall", monotone=False)
def ndcg_at_relevant_documents(run: Ranking, *, gains: Gains | None = None) -> Values:
    """Mean of the nDCG at the rank of each relevant document; those not retrieved use the nDCG at the end.

    trec_eval's ndcg_rel. A document is relevant if its gain is above 0. nDCG at rank i compares with the i
    best documents, nDCG at the end with all.
    """
    progress = _Progress.of(run, gains)
    relevant = progress.gain > 0
    topic, rank = progress.hit.topic[relevant], progress.hit.rank[relevant]
    at_hits = progress.sums[relevant] / progress.ideal.reached(progress.ideal_sums, topic, rank)
    not_retrieved = progress.ideal.size - run.total(topic)
    at_end = progress.ndcg_at_end(run, not_retrieved)
    return share(run.total(topic, at_hits) + at_end, progress.ideal.size)


@measure("RnDCG", basis="recall", monotone=False)
def ndcg_at_levels(run: Ranking, *, gains: Gains | None = None, rel: float = 1) -> Values:
    """Mean of the nDCG at the ranks where the gain of the ideal order changes, and at the end.

    trec_eval's Rndcg: with 5 documents of grade 2 and 3 of grade 1 it is the mean of nDCG@5, nDCG@8 and the
    nDCG of the whole ranking. The last is left out if fewer than two documents follow the rank at which the
    ideal order ends. A topic without a document judged `rel` or better gives 0.
    """
    progress = _Progress.of(run, gains)
    ideal = progress.ideal
    last = np.ones(len(ideal.gain), np.bool_)
    last[:-1] = (ideal.gain[1:] != ideal.gain[:-1]) | (ideal.topic[1:] != ideal.topic[:-1])
    topic = ideal.topic[last]
    at_levels = progress.dcg_at(topic, ideal.place[last]) / progress.ideal_sums[last]
    goes_on = run.retrieved >= ideal.size + 2
    summed = run.total(topic, at_levels) + goes_on * progress.ndcg_at_end(run)
    return np.where(run.relevant(rel) > 0, share(summed, run.total(topic) + goes_on), 0.0)


@measure("G", basis="recall", monotone=False)
def normalized_gain(run: Ranking, *, gains: Gains | None = None) -> Values:
    """Sum of the gains, each discounted by the lag of the ranking behind the ideal, as a share of all gains.

    trec_eval's G: a gain is divided by log2(2 + cost - gained), both summed down to its rank. The cost of a
    rank is the gain of the ideal order there, and at least 1.
    """
    form = DcgForm(gains=gains)
    judgments = run.judgments

    def best() -> tuple[Ideal, Values]:
        order = ideal_order(judgments, form.gain(judgments.grades))
        return order, accumulate(np.add, np.maximum(order.gain, 1), order.place)

    ideal, costs = judgments.remember(("cost", form.key), best)
    gain = form.gain(run.grade)
    hit = run.select(gain != 0)
    gain = gain[gain != 0]
    past_the_best = np.maximum(hit.rank - ideal.size[hit.topic], 0)
    cost = ideal.reached(costs, hit.topic, hit.rank) + past_the_best
    lag = cost - accumulate(np.add, gain, hit.nth)
    return share(run.total(hit.topic, gain / np.log2(2 + lag)), run.total(ideal.topic, ideal.gain))


def scale_grades(grade: Values, gain: Literal["linear", "exponential"], highest: float | Values) -> Values:
    """Convert grades to gains between 0 and 1: g / highest, or (2^g - 1) / 2^highest."""
    if gain == "linear":
        return grade / highest
    return (power_of_two(grade) - 1) / power_of_two(np.asarray(highest, np.float64))


def highest_grade(judgments: Judgments, topic: Counts, scale: Scale) -> float | Values:
    """Return the reference grade of gains: the highest of all judgments, or of each document's topic."""
    return judgments.highest if scale == "judgments" else judgments.best_grades[topic]


def q_gain(
    judgments: Judgments, grade: Values, topic: Counts, gain: QGain, gains: Gains | None, scale: Scale
) -> Values:
    """Return the gains in Q of documents with these grades and topics."""
    if gain != "grade":
        return scale_grades(grade, gain, highest_grade(judgments, topic, scale))
    return grade if gains is None else with_gains(grade, gains)


def power_of_two(grade: Values | np.float64) -> Values:
    """Return 2^g; refuse grades for which it is too large."""
    if np.max(grade, initial=0.0) > GRADE_LIMIT:
        raise DataError(
            f"grade {np.max(grade):g} is too large for gains of 2^grade; use grades up to {GRADE_LIMIT}"
        )
    return np.exp2(grade)


@measure("Q", basis="recall", monotone=False, monotone_in_k=True)
def q_measure(
    run: Ranking,
    *,
    k: int | None = None,
    beta: float = 1,
    rel: float = 1,
    gain: QGain = "linear",
    gains: Gains | None = None,
    norm: Literal["a", "b", "c"] = "a",
    ideal: Literal["i", "ii"] = "i",
    scale: Scale = "judgments",
) -> Values:
    """Average precision that blends precision with the gain so far relative to the ideal order.

    Sakai's Q-measure (2004). At a relevant document of rank i (judged `rel` or better) it takes (relevant so
    far + beta * gained so far) / (i + beta * the largest possible gain of i documents), and averages that
    over the relevant documents; beta=0 gives AP. A gain is g / highest grade of the judgments ('linear'),
    (2^g - 1) / 2^highest ('exponential'; both Lu, Moffat & Culpepper 2016, Table 1) or the grade itself
    ('grade', as in NTCIREVAL), for which `gains` may set other values. With scale 'topic' the highest grade
    is that of the topic's own judgments.

    Truncation at k (Lu, Table 2): the sum is divided by all relevant documents (norm 'a'), at most k of them
    ('b'), or those in the pool of depth k ('c'); the ideal order is formed from all judgments (ideal 'i') or
    from that pool ('ii'). 'c' and 'ii' need pool ranks, and can exceed 1 for a run that did not contribute to
    the pool. The claims about its range and about deeper cut-offs hold for 'a' and 'i'.
    """
    judgments = run.judgments
    if gains is not None and gain != "grade":
        raise DataError(
            f"gains= replaces grades, but gain={gain!r} scales them; use gains= with gain='grade'"
        )
    if scale == "topic" and gain == "grade":
        raise DataError(
            "gain='grade' takes grades as they are, but scale='topic' divides them; give one of them"
        )

    def best() -> tuple[Ideal, Values]:
        pool = None
        if ideal == "ii" and k is not None:
            pool = ranks_in_pool(judgments, k, "Q with ideal='ii'") > 0
        own = q_gain(judgments, judgments.grades, judgments.topic, gain, gains, scale)
        order = ideal_order(judgments, own, pool)
        return order, accumulate(np.add, order.gain, order.place)

    key = ("q", gain, scale, DcgForm(gains=gains).key, k if ideal == "ii" else None)
    best_order, most = judgments.remember(key, best)
    value = q_gain(judgments, run.grade, run.topic, gain, gains, scale)
    near = (value != 0) | (run.grade >= rel)
    if k is not None:
        near &= run.rank <= k
    hit = run.select(near)
    relevant = hit.grade >= rel
    found = accumulate(np.add, relevant.astype(np.float64), hit.nth)[relevant]
    gained = accumulate(np.add, value[near], hit.nth)[relevant]
    topic, rank = hit.topic[relevant], hit.rank[relevant]
    blend = (found + beta * gained) / (rank + beta * best_order.reached(most, topic, rank))
    return share(run.total(topic, blend), relevant_by_norm(run, k, rel, norm, "Q"))
