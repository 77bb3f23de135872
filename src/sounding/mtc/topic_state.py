"""One topic of a session: what is judged of it, and all that follows for its documents and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sounding.mtc.completions import drawn_relevance, values_of_draws
from sounding.mtc.exact import exact_moments
from sounding.mtc.forms import Form
from sounding.mtc.lists import TopicLists
from sounding.mtc.model import DrawnOdds
from sounding.mtc.moments import Matrix, Sums, TopicMoments, approximate_moments, expected_sums
from sounding.mtc.pair_terms import pair_terms, without_document
from sounding.mtc.weights import Beliefs, Scope, Weighing, heaviest
from sounding.ranking import Counts, Values

NOTHING_LEFT = -1.0  # the weight where there is no document to judge

Moments = Literal["normal", "paper", "exact"]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What all topics of a session share."""

    form: Form
    weigh: Weighing
    with_terms: bool  # whether the terms of pairs of documents are kept up to date


class Due(NamedTuple):
    """The document of a topic to judge next."""

    weight: float  # NOTHING_LEFT: there is none
    place: int
    turn: int  # who is first among equals


NOTHING_DUE = Due(NOTHING_LEFT, -1, 0)


@dataclass(slots=True, eq=False)
class TopicState:
    """One topic at present; `probability` and `unjudged` have one more place at their end, for none."""

    setting: Setting
    number: int
    lists: TopicLists
    places: slice  # its documents among all that count
    order: Counts  # (document,) who comes first among equals
    probability: Values
    unjudged: NDArray[np.bool_]
    refused: NDArray[np.bool_]  # (document,) could not be judged
    elsewhere: float  # relevant documents that do not count and add to R
    sums: Sums
    terms: Matrix | None = None

    @staticmethod
    def fresh(
        setting: Setting, number: int, lists: TopicLists, places: slice, order: Counts, elsewhere: float
    ) -> TopicState:
        """A topic before anything is judged or believed."""
        probability = np.zeros(lists.size + 1)
        unjudged = np.append(np.ones(lists.size, np.bool_), False)
        sums = expected_sums(setting.form, lists, probability, elsewhere)
        refused = np.zeros(lists.size, np.bool_)
        return TopicState(
            setting, number, lists, places, order, probability, unjudged, refused, elsewhere, sums
        )

    @property
    def beliefs(self) -> Beliefs:
        """What is known of the documents."""
        return Beliefs(self.probability, self.unjudged)

    def judge(self, place: int, relevant: bool) -> None:
        """A document is relevant, or it is not."""
        if self.terms is not None:
            spread = self.probability * (1 - self.probability)
            self.terms = without_document(self.terms, self.lists, self.setting.form.weights, spread, place)
        self.probability[place] = relevant
        self.unjudged[place] = False

    def undo(self, place: int, chance: float) -> None:
        """A document is unjudged again, and relevant with this chance."""
        self.probability[place] = chance
        self.unjudged[place] = True
        if self.terms is not None:
            self.terms = self._fresh_terms()

    def believe(self, chances: Values) -> None:
        """Other chances for all unjudged documents."""
        self.probability[:-1] = np.where(self.unjudged[:-1], chances, self.probability[:-1])
        if self.setting.with_terms and self.setting.form.pairs:
            self.terms = self._fresh_terms()

    def add_up(self) -> Values:
        """(run,) the expected values, after a change."""
        form = self.setting.form
        self.sums = expected_sums(form, self.lists, self.probability, self.elsewhere)
        divisor, _ = form.divisor(self.sums.relevant)
        return self.sums.total / divisor if divisor > 0 else np.zeros(len(self.sums.total))

    def moments(self, method: Moments) -> TopicMoments:
        """Means and covariances of all runs' values."""
        form, lists = self.setting.form, self.lists
        if method == "exact":
            return exact_moments(form, lists, self.probability, self.elsewhere)
        terms = self._fresh_terms() if self.terms is None and form.pairs else self.terms
        way: Literal["paper", "ratio"] = "paper" if method == "paper" else "ratio"
        return approximate_moments(form, lists, self.probability, self.sums, terms, way)

    def due(self, scope: Scope, ahead: Beliefs | None = None) -> Due:
        """The heaviest document that may be judged; `ahead`: if this were known of the documents."""
        beliefs = self.beliefs if ahead is None else ahead
        free = beliefs.unjudged[:-1] & ~self.refused
        if not free.any():
            return NOTHING_DUE
        form, sums = self.setting.form, self.sums
        if ahead is not None:
            sums = expected_sums(form, self.lists, ahead.probability, self.elsewhere)
        weights = np.where(free, self.setting.weigh(form, self.lists, beliefs, sums, scope), NOTHING_LEFT)
        place = heaviest(weights, self.order)
        return Due(float(weights[place]), place, int(self.order[place]))

    def drawn_values(self, odds: DrawnOdds, draws: int, seed: Sequence[int]) -> NDArray[np.floating]:
        """(run, draw) values when the relevance of all unjudged documents is drawn."""
        relevant = np.zeros((self.lists.size + 1, draws), np.float32)
        relevant[:-1] = drawn_relevance(odds.of_topic(self.places, self.number), *seed, self.number)
        known = (~self.unjudged[:-1]).nonzero()[0]
        relevant[known] = self.probability[known, np.newaxis]
        return values_of_draws(self.setting.form, self.lists, relevant, self.elsewhere)

    def _fresh_terms(self) -> Matrix:
        spread = self.probability * (1 - self.probability)
        return pair_terms(self.lists, self.setting.form.weights, spread)


def if_not_relevant(beliefs: Beliefs, place: int) -> Beliefs:
    """The same with one more document judged and not relevant."""
    probability, unjudged = beliefs.probability.copy(), beliefs.unjudged.copy()
    probability[place], unjudged[place] = 0, False
    return Beliefs(probability, unjudged)
