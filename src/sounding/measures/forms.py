"""Write measures as sums over documents and pairs of them, or as cascades, and evaluate drawn relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures import Measure, parse
from sounding.measures.expected import level_of
from sounding.measures.graded import DcgForm
from sounding.relevance.model import DrawnOdds, generator
from sounding.relevance.regression import logistic
from sounding.runs.ranking import Counts, Judgments, Ranking, Values
from sounding.runs.topic_lists import TopicLists

KNOWN = "AP, R@k, P@k, DCG@k, nDCG@k, RBP(p=...) or another sum over ranks, RR or ERR"
REASONS = {  # why a measure has no form
    "Q": "its rank weights depend on how many documents are relevant; AP is its form for one grade",
    "Bpref": "it ignores unjudged documents, so which are judged changes it as well; use AP",
}


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A measure to a depth; all relevant documents count equally."""

    name: str
    level: float  # the lowest grade that counts as relevant
    weights: Values  # (rank,) what a relevant document adds by itself
    divided_by: Literal["nothing", "relevant", "best"]
    best: Values  # (number of relevant documents,) the best sum; the last applies to larger numbers
    pairs: bool = False  # two relevant documents also add the weight of the lower one, as in AP
    # Chance that a reader stops at a relevant document, so that it counts only if none above did: RR and ERR.
    stops: float | None = None

    @property
    def most(self) -> float:
        """The largest possible value."""
        return max(1.0, float(self.weights.sum())) if self.divided_by == "nothing" else 1.0

    def divisor(self, relevant: float) -> tuple[float, float]:
        """Return N for a number of relevant documents, interpolated between whole numbers, and its slope."""
        if self.divided_by == "nothing":
            return 1.0, 0.0
        if self.divided_by == "relevant":
            return relevant, 1.0
        below = min(int(relevant), len(self.best) - 2)
        slope = float(self.best[below + 1] - self.best[below])
        if relevant >= len(self.best) - 1:
            return float(self.best[-1]), 0.0
        return float(self.best[below]) + (relevant - below) * slope, slope

    def divisors(self, relevant: Values) -> Values:
        """Return N for each of these whole numbers of relevant documents."""
        if self.divided_by == "nothing":
            return np.ones_like(relevant)
        if self.divided_by == "relevant":
            return relevant
        return self.best[np.minimum(relevant, len(self.best) - 1).astype(np.int64)]


def form_of(measure: str | Measure, depth: int, longest: int | None = None) -> Form:
    """Return the form of a measure for lists of this depth, none longer than `longest`.

    A depth beyond the longest list costs nothing.
    """
    asked = parse(measure) if isinstance(measure, str) else measure
    if asked.k is not None and asked.k > depth:
        raise DataError(f"{asked} looks deeper than the depth of {depth}; give a larger depth")
    rank = np.arange(1, min(depth, longest or depth) + 1)
    near = rank <= (asked.k or depth)
    none = np.zeros(2)
    if asked.name == "AP" and asked.get("norm") == "a":
        return Form(str(asked), level_of(asked), np.where(near, 1 / rank, 0), "relevant", none, pairs=True)
    if asked.name == "AP" and asked.get("norm") == "b" and asked.k is not None:
        best = np.arange(asked.k + 1.0)  # divided by the relevant documents, but by no more than k
        return Form(str(asked), level_of(asked), np.where(near, 1 / rank, 0), "best", best, pairs=True)
    if asked.name == "R":
        return Form(str(asked), level_of(asked), np.where(near, 1.0, 0.0), "relevant", none)
    if asked.name in ("RR", "ERR"):
        alone = _lone_documents(asked, len(rank))
        return Form(str(asked), level_of(asked), alone / alone[0], "nothing", none, stops=float(alone[0]))
    if asked.name == "nDCG" and asked.get("norm") == "a" and asked.k is not None:
        discount = DcgForm(asked.get("dcg")).discount
        weights = np.where(near, discount(rank), 0)
        best = np.concatenate([[0], np.cumsum(discount(np.arange(1, asked.k + 1)))])
        return Form(str(asked), level_of(asked), weights, "best", best)
    if asked.additive and asked.definition.basis == "utility":
        return Form(str(asked), level_of(asked), _lone_documents(asked, len(rank)), "nothing", none)
    if asked.name in REASONS:
        raise DataError(f"{asked}: {REASONS[asked.name]}")
    raise DataError(f"{asked} is not a sum over documents or pairs of them; use {KNOWN}")


def _lone_documents(measure: Measure, depth: int) -> Values:
    """Return the value of the measure if only one document is relevant, at each rank in turn."""
    each, grade = np.arange(depth), np.full(depth, level_of(measure))
    judgments = Judgments(
        topics=("",) * depth, starts=np.arange(depth + 1), grades=grade, pool_ranks=None,
        pooled=np.zeros(depth, np.int64), highest=level_of(measure),
    )  # fmt: skip
    ranking = Ranking(
        run="", judgments=judgments, topic=each, rank=each + 1, grade=grade,
        retrieved=np.full(depth, depth), missing=np.zeros(depth, np.bool_),
        pooled_topic=np.empty(0, np.int64), pooled_rank=np.empty(0, np.int64),
    )  # fmt: skip
    return measure(ranking)


Draws = NDArray[np.floating]  # (document + 1, draw) 1 if relevant; the last row, for no document, is 0


def values_of_draws(
    form: Form, lists: Sequence[TopicLists], relevant: Sequence[Draws], elsewhere: Sequence[float]
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """(topic, run, draw) Evaluate every run in every draw; 0 if nothing is relevant.

    The second result, (topic, draw), counts the relevant documents: `elsewhere` says how many no run has.
    Rankings are added up from the top, so that runs with relevant documents at the same ranks have the same
    value to the last bit. Documents that are relevant in no draw are skipped.
    """
    ends = np.cumsum([len(own) for own in relevant])
    starts = ends - [len(own) for own in relevant]
    every = relevant[0] if len(relevant) == 1 else np.concatenate(relevant)
    places = np.concatenate([one.places + begin for one, begin in zip(lists, starts, strict=True)])
    order, places, left = _possible_documents(places, every.max(axis=1) > 0)
    weights = np.append(form.weights, 0).astype(every.dtype)[order]
    by_length = np.argsort(-left, kind="stable")
    longer = np.searchsorted(np.sort(-left), -np.arange(places.shape[1]), side="left").tolist()
    places, weights = places[by_length].T.copy(), weights[by_length].T[:, :, np.newaxis].copy()
    number = np.zeros((len(left), every.shape[1]), every.dtype)
    reads = np.ones_like(number)  # chance that a reader comes so far
    total = np.zeros_like(number)
    for column, runs in enumerate(longer):
        found = every.take(places[column, :runs], axis=0)
        if form.stops is not None:
            found *= form.stops * reads[:runs]
            reads[:runs] -= found
        if form.pairs:
            number[:runs] += found
            found *= number[:runs]
        found *= weights[column, :runs]
        total[:runs] += found
    number[by_length] = total
    values = number.reshape(len(lists), -1, every.shape[1])
    count = np.add.reduceat(every, starts, axis=0).astype(np.float64)  # whole numbers: exact
    count += np.array(elsewhere)[:, np.newaxis]
    divisor = form.divisors(count).astype(every.dtype)[:, np.newaxis]
    return np.divide(values, divisor, out=np.zeros_like(values), where=divisor > 0), count


def _possible_documents(places: Counts, possible: NDArray[np.bool_]) -> tuple[Counts, Counts, Counts]:
    """Return the ranks, from 0, and places of each row's possible documents, by rank, and their number.

    Shorter rows end with the depth, and with the last place, which is of no document.
    """
    chosen = possible[places]
    row, rank = chosen.nonzero()
    number = np.count_nonzero(chosen, axis=1)
    column = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number)
    shape = len(number), int(number.max(initial=0))
    ranks, found = np.full(shape, places.shape[1]), np.full(shape, len(possible) - 1)
    ranks[row, column], found[row, column] = rank, places[row, rank]
    return ranks, found, number


def drawn_relevance(
    log_odds: NDArray[np.float32], *seed: int, of: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """(document, draw) Draw relevance with the probabilities of the log odds.

    `of` says which documents the log odds are of; None: all. The outcome of one does not depend on which
    others there are.
    """
    size = len(log_odds) if of is None else len(of)
    chance = generator("relevance", *seed).random((size, log_odds.shape[1]), dtype=np.float32)
    return (chance if of is None else chance[of]) < logistic(log_odds)


def new_elsewhere(odds: DrawnOdds, topic: int, found: NDArray[np.integer]) -> Counts:
    """(draw,): Return how many relevant documents no run has if `found` new ones are in the runs."""
    return np.rint(odds.unseen(topic) * found).astype(np.int64)


def known_values(
    form: Form, lists: Sequence[TopicLists], relevant: NDArray[np.bool_], elsewhere: Counts | Values
) -> NDArray[np.float64]:
    """(topic, run) Evaluate all runs when `relevant` is known for every document."""
    values = np.zeros((len(lists), len(lists[0].places)))
    for number, (topic, more) in enumerate(zip(lists, np.asarray(elsewhere).tolist(), strict=True)):
        known = np.append(relevant[topic.documents], 0.0)
        found = known[topic.places]
        if form.pairs:
            found *= np.cumsum(found, axis=1)
        if form.stops is not None:
            found = form.stops * found * reading(form.stops, found)
        divisor = float(form.divisors(np.array([known.sum() + more]))[0])
        if divisor > 0:
            values[number] = np.matmul(form.weights, found[:, :, np.newaxis])[:, 0] / divisor
    return values


def reading(stops: float, relevant: Values) -> Values:
    """(run, rank) Return the chance that a reader comes so far; `relevant` holds chances of relevance."""
    past = np.cumprod(1 - stops * relevant, axis=1)
    return np.concatenate([np.ones((len(past), 1)), past[:, :-1]], axis=1)
