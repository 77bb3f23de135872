"""One topic of a session: its judgments, and everything that follows for its documents and runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.forms import Form, drawn_relevance, new_elsewhere, values_of_draws
from sounding.relevance.model import DrawnOdds, Fit
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import TopicLists
from sounding.selection.mtc.moments import (
    Matrix,
    Sums,
    TopicMoments,
    approximate_moments,
    exact_moments,
    expected_sums,
    pair_terms,
    without_document,
)
from sounding.selection.mtc.weights import Beliefs, Scope, Weighing, heaviest

MOST_CELLS = 1 << 19  # drawn numbers processed at a time
NOTHING_LEFT = -1.0  # the weight if there is no document to judge

Moments = Literal["normal", "paper", "exact"]


class Due(NamedTuple):
    """The document of a topic to judge next."""

    weight: float  # NOTHING_LEFT: there is none
    place: int
    turn: int  # order among equal weights


NOTHING_DUE = Due(NOTHING_LEFT, -1, 0)


@dataclass(slots=True, eq=False)
class TopicState:
    """The current state of a topic; `probability` and `unjudged` have an extra last place for no document."""

    form: Form
    weigh: Weighing
    number: int
    lists: TopicLists
    places: slice  # its documents among all that count
    order: Counts  # (document,) order among equal weights
    elsewhere: float  # relevant documents that do not count but add to R
    probability: Values = field(init=False)
    unjudged: NDArray[np.bool_] = field(init=False)
    refused: NDArray[np.bool_] = field(init=False)  # (document,) could not be judged
    _sums: Sums | None = None  # as of the last change that was added up
    judged: list[int] = field(default_factory=list)  # in order
    known: int = 0  # the number of them in the current fit
    # (document,) probabilities of that fit, judged or not
    chances: Values = field(default_factory=lambda: np.zeros(0))
    precision: float = math.inf  # precision of the topic's level, by that fit
    changes: int = 0  # number of judgments made or taken back
    # For the terms of pairs of documents: the variances they are based on, the terms (None: to be computed),
    # and the documents judged since.
    _spread: Values = field(default_factory=lambda: np.zeros(0))
    _terms: Matrix | None = None
    _certain: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = self.lists.size
        self.probability, self.refused = np.zeros(size + 1), np.zeros(size, np.bool_)
        self.unjudged = np.arange(size + 1) < size

    @property
    def beliefs(self) -> Beliefs:
        """Return what is known about the documents."""
        since: tuple[float, ...] = ()
        if self.precision < math.inf:
            chance = self.chances[self.judged[self.known :]]
            since = tuple((chance * (1 - chance)).tolist())
        return Beliefs(self.probability, self.unjudged, self.precision, since)

    def judge(self, place: int, relevant: bool) -> None:
        """Record whether a document is relevant."""
        self.changes += 1
        self.probability[place] = relevant
        self.unjudged[place] = False
        self.judged.append(place)
        self._certain.append(place)

    def judge_all(self, places: Sequence[int], relevant: NDArray[np.bool_]) -> None:
        """Record which of several documents are relevant."""
        self.changes += len(places)
        self.probability[places] = relevant
        self.unjudged[places] = False
        self.judged.extend(places)
        self._certain.extend(places)

    def undo(self, place: int, chance: float) -> None:
        """Make a document unjudged again, relevant with this probability."""
        self.changes += 1
        self.judged.remove(place)
        self.probability[place] = chance
        self.unjudged[place] = True
        self._begin_terms()

    def add_elsewhere(self, count: float) -> None:
        """Add relevant documents that do not count."""
        self.changes += 1
        self.elsewhere += count

    def believe(self, chances: Values, precision: float, known: int) -> None:
        """Set new probabilities of unjudged documents, by a fit that knows the first `known` judgments."""
        self.chances, self.precision, self.known = chances, precision, known
        self.probability[:-1] = np.where(self.unjudged[:-1], chances, self.probability[:-1])
        self._begin_terms()

    @property
    def sums(self) -> Sums:
        """Return the sums that expected values come from."""
        if self._sums is None:
            self._sums = expected_sums(self.form, self.lists, self.probability, self.elsewhere)
        return self._sums

    def add_up(self) -> Values:
        """(run,) Compute the expected values after a change."""
        self._sums = None
        divisor, _ = self.form.divisor(self.sums.relevant)
        return self.sums.total / divisor if divisor > 0 else np.zeros(len(self.sums.total))

    def moments(self, method: Moments) -> TopicMoments:
        """Return means and covariances of all runs' values."""
        form, lists = self.form, self.lists
        if method == "exact":
            return exact_moments(form, lists, self.probability, self.elsewhere)
        terms = self._terms_of_pairs() if form.pairs else None
        return approximate_moments(form, lists, self.probability, self.sums, terms, paper=method == "paper")

    def due(self, scope: Scope, ahead: Beliefs | None = None) -> Due:
        """Return the heaviest document that may be judged.

        `ahead`: if this were known about the documents.
        """
        beliefs = self.beliefs if ahead is None else ahead
        free = beliefs.unjudged[:-1] & ~self.refused
        if not free.any():
            return NOTHING_DUE
        form, sums = self.form, self.sums
        if ahead is not None:
            sums = expected_sums(form, self.lists, ahead.probability, self.elsewhere)
        weights = np.where(free, self.weigh(form, self.lists, beliefs, sums, scope), NOTHING_LEFT)
        place = heaviest(weights, self.order)
        return Due(float(weights[place]), place, int(self.order[place]))

    def as_it_stands(self) -> TopicState:
        """Return a copy that later judgments do not change."""
        other = copy(self)
        other.probability, other.unjudged = self.probability.copy(), self.unjudged.copy()
        return other

    @property
    def is_settled(self) -> bool:
        """Return whether every document is judged."""
        return not self.unjudged.any()

    def drawn(self, odds: DrawnOdds, seed: Sequence[int]) -> tuple[NDArray[np.float32], Counts]:
        """(document + 1, draw) Draw the relevance of all unjudged documents; 0 in the last row.

        The second result, (draw,), counts relevant documents that no run has. If every document is judged,
        one draw stands for all.
        """
        judged, unjudged = self.probability.astype(np.float32)[:, np.newaxis], self.unjudged[:-1]
        if self.is_settled:
            return judged, np.zeros(1, np.int64)
        documents = self.places.start + unjudged.nonzero()[0]
        odds_of_unjudged = odds.of_topic(documents, self.number)
        new = drawn_relevance(odds_of_unjudged, *seed, self.number, of=unjudged)
        relevant = np.repeat(judged, new.shape[1], axis=1)
        relevant[:-1][unjudged] = new
        return relevant, new_elsewhere(odds, self.number, new.sum(axis=0))

    def _begin_terms(self) -> None:
        """Discard the terms of pairs of documents after probabilities changed.

        They are recomputed on demand.
        """
        self._spread = self.probability * (1 - self.probability)
        self._terms = None
        self._certain.clear()

    def _terms_of_pairs(self) -> Matrix:
        """Return the terms of pairs of documents, computed when probabilities last changed and updated since.

        So they are the same to the last bit whenever they are requested.
        """
        weights = self.form.weights
        if self._terms is None:
            self._terms = pair_terms(self.lists, weights, self._spread)
        for place in self._certain:
            self._terms = without_document(self._terms, self.lists, weights, self._spread, place)
            self._spread[place] = 0
        self._certain.clear()
        return self._terms


def if_not_relevant(beliefs: Beliefs, place: int) -> Beliefs:
    """Return the beliefs with one more document judged not relevant."""
    probability, unjudged = beliefs.probability.copy(), beliefs.unjudged.copy()
    probability[place], unjudged[place] = 0, False
    chance = float(beliefs.probability[place])
    return Beliefs(probability, unjudged, beliefs.precision, (*beliefs.since, chance * (1 - chance)))


class DrawnTopic(NamedTuple):
    """Drawn values of a topic, or of all topics."""

    values: NDArray[np.floating]  # ([topic,] run, draw)
    # ([topic,] draw) what is left of the values if there are relevant documents that no run has
    left: Values


class KeptDraws:
    """Draws of every topic; a topic is drawn again only if its fit or its judgments changed."""

    def __init__(self, draws: int) -> None:
        self._draws = draws
        # the fit and number of changes they are based on
        self._by_topic: dict[int, tuple[Fit, int, DrawnTopic]] = {}
        self._odds: tuple[Fit, DrawnOdds] | None = None

    def drawing(
        self, fit: Fit, topics: Sequence[TopicState], seed: tuple[int, int]
    ) -> Callable[[], DrawnTopic]:
        """Return a function that computes the values of all topics; it may run in another thread."""
        values = {
            number: drawn
            for number, (of_fit, changes, drawn) in self._by_topic.items()
            if of_fit is fit and changes == topics[number].changes
        }
        others = [topic.as_it_stands() for topic in topics if topic.number not in values]

        def work() -> DrawnTopic:
            for group in _groups(others, self._draws):
                found = self._drawn(group, self._odds_of(fit, seed), seed)
                for topic, *own in zip(group, found.values, found.left, strict=True):
                    values[topic.number] = DrawnTopic(*own)
                    self._by_topic[topic.number] = fit, topic.changes, values[topic.number]
            every = [values[number] for number in range(len(values))]
            return DrawnTopic(np.stack([one.values for one in every]), np.stack([one.left for one in every]))

        return work

    def _drawn(self, topics: Sequence[TopicState], odds: DrawnOdds, seed: Sequence[int]) -> DrawnTopic:
        """Return values of topics when the relevance of all unjudged documents is drawn."""
        form, lists = topics[0].form, [topic.lists for topic in topics]
        relevant, more = zip(*(topic.drawn(odds, seed) for topic in topics), strict=True)
        values, known = values_of_draws(form, lists, relevant, [topic.elsewhere for topic in topics])
        divisor, larger = form.divisors(known), form.divisors(known + np.stack(more))
        left = np.divide(divisor, larger, out=np.ones_like(known), where=larger > 0)
        each = self._draws // known.shape[1]
        return DrawnTopic(np.repeat(values, each, axis=2), np.repeat(left, each, axis=1))

    def _odds_of(self, fit: Fit, seed: tuple[int, int]) -> DrawnOdds:
        known = self._odds
        if known is None or known[0] is not fit:
            known = self._odds = (fit, fit.belief.drawn(self._draws, seed))
        return known[1]


def _groups(topics: Sequence[TopicState], draws: int) -> Iterator[list[TopicState]]:
    """Yield topics to be drawn together: small enough for the cache, and all of them settled or none."""
    for settled in (False, True):
        group: list[TopicState] = []
        cells = 0
        for topic in topics:
            if topic.is_settled != settled:
                continue
            own = (topic.lists.size + len(topic.lists.places)) * draws
            if group and cells + own > MOST_CELLS:
                yield group
                group, cells = [], 0
            group.append(topic)
            cells += own
        if group:
            yield group
