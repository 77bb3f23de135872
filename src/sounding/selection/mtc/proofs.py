"""Find the pairs of runs whose order no judgment can reverse: the stopping rule without probabilities.

For relevant documents S and unjudged ones T, take the sum over pairs of documents in S of c_ij = a_ij - b_ij,
minus everything that pairs with a document of T could still remove. No later judgment can close this gap, so
a positive gap on a topic proves the order there (Carterette, Allan & Sitaraman 2006, equation 3: left side
minus right side). Topics have different divisors, so for the mean over topics a gap that helps is divided by
its largest possible divisor, and one that hurts by its smallest.

With a_ij = min(a_i, a_j), what a pair of documents can remove is at most b_ij - min(m_ij, b_ij), where
m_i = min(a_i, b_i) is the weight of a document at the lower of its two ranks. So the gap of two runs is

    sum of the first over S - sum of the second over S and T + sum of both over S and T - sum of both over S,

where "both" is a ranking that has each shared document at the lower of its two ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.workers import Progress
from sounding.measures.forms import Form
from sounding.runs.pairs import blocks
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import TopicLists
from sounding.selection.mtc.moments import expected_sums
from sounding.selection.mtc.weights import Beliefs

ROUNDING = 1e-12  # a smaller gap may be zero: equal values are not proven to differ
SAFE = 1e-9  # an upper limit of a gap is below 0 if it is smaller than minus this
_BLOCK = 1 << 20  # shared documents of pairs processed at a time


def proven_pairs(
    form: Form,
    lists: Sequence[TopicLists],
    beliefs: Sequence[Beliefs],
    elsewhere: Sequence[float],
    pairs: Counts,
    progress: Progress | None = None,
) -> NDArray[np.bool_]:
    """(run, other) Return whether the run's mean is above the other's, whatever the unjudged documents are.

    Only these pairs (pair, 2), a run and another that it may be above, are checked. `progress` counts topics.
    """
    runs = len(lists[0].places)
    run, other = pairs.T
    relevant = [np.where(one.unjudged, 0.0, one.probability) for one in beliefs]
    possible = [known + one.unjudged for known, one in zip(relevant, beliefs, strict=True)]
    known, most = (
        np.stack([expected_sums(form, *topic, 0.0).total for topic in zip(lists, chosen, strict=True)])
        for chosen in (relevant, possible)
    )
    divisors = _divisors(form, beliefs, elsewhere)
    # The sums of both runs are at least 0 and at most what they are among known documents: most pairs are
    # decided without them.
    at_least, at_most = np.zeros(len(pairs)), np.zeros(len(pairs))
    for some in blocks(len(lists), len(pairs)):
        at_least += _divided(known[some][:, run] - most[some][:, other], divisors[some]).sum(axis=0)
        at_most += _divided(known[some][:, run] - known[some][:, other], divisors[some]).sum(axis=0)
    proven = at_least > ROUNDING
    unclear = (~proven & (at_most > ROUNDING) & (form.stops is None)).nonzero()[0]
    gap, at_most = np.zeros(len(unclear)), at_most[unclear]
    # Topics with many unjudged documents come first: they show which pairs can no longer be proven.
    order = np.argsort([-np.count_nonzero(one.unjudged) for one in beliefs], kind="stable").tolist()
    for topic in order if len(unclear) else ():
        run, other = pairs[unclear].T
        both = sums_of_both(form, lists[topic], possible[topic], pairs[unclear])
        both -= sums_of_both(form, lists[topic], relevant[topic], pairs[unclear])
        exact = _divided(known[topic][run] - most[topic][other] + both, divisors[topic])
        gap += exact
        at_most += exact - _divided(known[topic][run] - known[topic][other], divisors[topic])
        if (lost := at_most < -SAFE).any():
            unclear, gap, at_most = unclear[~lost], gap[~lost], at_most[~lost]
        if progress is not None:
            progress(1)
        if not len(unclear):
            break
    proven[unclear[gap > ROUNDING]] = True
    result = np.zeros((runs, runs), np.bool_)
    result[tuple(pairs[proven].T)] = True
    return result


def _divided(gap: Values, divisors: Values) -> Values:
    """Divide gaps ([topic,] pair) by the divisors ([topic,] 2) of their topics."""
    least, most = divisors[..., :1], divisors[..., 1:]
    return np.where(gap >= 0, gap / most, gap / least)


def sums_of_both(form: Form, lists: TopicLists, relevant: Values, pairs: Counts) -> Values:
    """(pair,) Return the sum of a ranking with each shared document at the lower of its two ranks.

    `relevant` is 1 for the documents that count, 0 for others, with an extra 0 at the end.
    """
    runs, depth = lists.places.shape
    rank = np.full((runs, lists.size + 1), depth, np.int32)  # `depth`: the run lacks the document
    np.put_along_axis(rank, lists.places, np.arange(depth, dtype=np.int32)[np.newaxis], axis=1)
    rank[:, relevant == 0] = depth
    # Documents that count go to the front of each row, so that few columns are left.
    chosen = relevant[lists.places] > 0
    width = int(np.count_nonzero(chosen, axis=1).max(initial=0))
    own = np.argsort(~chosen, axis=1, kind="stable")[:, :width]
    documents = np.take_along_axis(lists.places, own, axis=1)
    step = max(1, _BLOCK // max(depth, 1))
    parts = [
        _sums_of_pairs(form, rank, own, documents, pairs[begin : begin + step])
        for begin in range(0, len(pairs), step)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _sums_of_pairs(
    form: Form, rank: NDArray[np.int32], own: Counts, documents: Counts, pairs: Counts
) -> Values:
    depth = len(form.weights)
    run, other = pairs.T
    lower = np.maximum(rank[other[:, np.newaxis], documents[run]], own[run])
    if not form.pairs:
        weights = np.append(form.weights, 0.0)
        return weights[lower].sum(axis=1)
    place = lower + (depth + 1) * np.arange(len(pairs))[:, np.newaxis]
    found = np.bincount(place.ravel(), minlength=len(pairs) * (depth + 1)).reshape(len(pairs), depth + 1)
    number = np.cumsum(found[:, :-1], axis=1)
    return (number * (number + 1) / 2) @ (form.weights - np.append(form.weights[1:], 0.0))


def _divisors(form: Form, beliefs: Sequence[Beliefs], elsewhere: Sequence[float]) -> Values:
    """(topic, 2) Return the smallest and largest N; one document must be relevant."""
    known = np.array([float((one.probability[~one.unjudged] == 1).sum()) for one in beliefs])
    known += np.array(elsewhere)
    most = known + np.array([float(one.unjudged.sum()) for one in beliefs])
    least = form.divisors(np.maximum(known, 1))
    return np.stack([least, np.maximum(form.divisors(most), least)], axis=1)


# -- how few judgments would prove an order ---------------------------------------------------------


class ProofStep(NamedTuple):
    """A document that is judged to prove an order, and the grade that helps most."""

    topic: int
    place: int  # in the lists of the topic
    relevant: bool


@dataclass(slots=True, eq=False)
class _TopicGap:
    """The gap of one topic, and what judging each of its unjudged documents could add to it.

    With P and N the positive and negative parts of c_ij, the gap is the sum of N over pairs of documents that
    may be relevant, plus the sum of P over pairs that are.
    """

    form: Form
    documents: Counts  # (document,) places of the documents that one of the two runs has
    gains: NDArray[np.float64]  # P, (document, document)
    risks: NDArray[np.float64]  # N
    relevant: NDArray[np.bool_]  # (document,)
    possible: NDArray[np.bool_]  # (document,) relevant or unjudged
    known: float  # relevant documents
    unjudged: float  # documents of the topic, of other runs too

    @staticmethod
    def of(
        form: Form, lists: TopicLists, beliefs: Beliefs, elsewhere: float, pair: tuple[int, int]
    ) -> _TopicGap:
        own, other = lists.by_document(form.weights * lists.filled)[list(pair)]
        documents = ((own > 0) | (other > 0)).nonzero()[0]
        own, other = own[documents], other[documents]
        if form.pairs:
            differences = np.minimum.outer(own, own) - np.minimum.outer(other, other)
        else:
            differences = np.diag(own - other)
        unjudged = beliefs.unjudged[:-1]
        relevant = (beliefs.probability[:-1] == 1) & ~unjudged
        return _TopicGap(
            form=form, documents=documents, gains=np.maximum(differences, 0),
            risks=np.minimum(differences, 0), relevant=relevant[documents],
            possible=(relevant | unjudged)[documents], known=float(relevant.sum()) + elsewhere,
            unjudged=float(unjudged.sum()),
        )  # fmt: skip

    def share(self, gap: Values, relevant: float, unjudged: float) -> Values:
        """Return what gaps count for the mean over topics, in the worst case."""
        least = self.form.divisors(np.array([max(relevant, 1.0)]))[0]
        most = max(self.form.divisors(np.array([relevant + unjudged]))[0], least)
        return np.where(gap >= 0, gap / most, gap / least)

    def gap(self) -> float:
        """Return the gap; a pair of documents counts once."""
        total = 0.0
        for table, chosen in ((self.gains, self.relevant), (self.risks, self.possible)):
            some = table[np.ix_(chosen, chosen)]
            total += float(some.sum() + np.trace(some)) / 2
        return total

    def best(self) -> tuple[float, int, bool]:
        """Return the largest growth of the share by one judgment, the document's row, and its grade."""
        gap = self.gap()
        now = float(self.share(np.array(gap), self.known, self.unjudged))
        free = self.possible & ~self.relevant
        if not free.any():
            return -np.inf, -1, False
        if_relevant = gap + self.gains.diagonal() + self.gains @ self.relevant
        if_not = gap - self.risks @ self.possible
        growth = np.array(
            [
                self.share(if_not, self.known, self.unjudged - 1) - now,
                self.share(if_relevant, self.known + 1, self.unjudged - 1) - now,
            ]
        )
        growth[:, ~free] = -np.inf
        relevant, row = np.unravel_index(int(growth.argmax()), growth.shape)
        return float(growth[relevant, row]), int(row), bool(relevant)

    def judge(self, row: int, relevant: bool) -> None:
        """Record a judgment."""
        self.relevant[row], self.possible[row] = relevant, relevant
        self.known += relevant
        self.unjudged -= 1


def fewest_judgments(
    form: Form,
    lists: Sequence[TopicLists],
    beliefs: Sequence[Beliefs],
    elsewhere: Sequence[float],
    pair: tuple[int, int],
) -> tuple[ProofStep, ...] | None:
    """Return the fewest judgments found that could prove the first run of a pair above the second.

    They prove it if each document turns out as listed. As in Algorithm 1 of the paper's appendix, the next
    document is the one that adds most to the gap of equation 3; here it may also be one that favors the other
    run, judged nonrelevant. None: no judgments can prove it.
    """
    if form.stops is not None:
        raise DataError(f"{form.name} is no sum over documents, which equation 3 needs; use AP, for example")
    topics = [_TopicGap.of(form, *one, pair) for one in zip(lists, beliefs, elsewhere, strict=True)]
    shares = [float(topic.share(np.array(topic.gap()), topic.known, topic.unjudged)) for topic in topics]
    best = [topic.best() for topic in topics]
    steps: list[ProofStep] = []
    while sum(shares) <= ROUNDING:
        number = max(range(len(topics)), key=lambda one: best[one][0])
        growth, row, relevant = best[number]
        if not growth > 0:
            return None
        topic = topics[number]
        steps.append(ProofStep(number, int(topic.documents[row]), relevant))
        topic.judge(row, relevant)
        shares[number] += growth
        best[number] = topic.best()
    return tuple(steps)
