"""A candidate for the relevance model of `holds`; `benchmarks.calibration` measures it beside today's model.

Unlike in `sounding.relevance.model`, the weight of a run differs by topic, judgments decide how much runs and
topics differ, grades depend on the topic and on the log odds of relevance, topics may have more relevant
documents than expected, and the spread of draws is not widened. README.md has what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures import Measure
from sounding.measures.completions import Completions, draw_completions
from sounding.measures.regrading import Regrading, View
from sounding.relevance.model import ENOUGH, FUSED, LEVEL, STEPS, Evidence, Features, Matrix, logistic
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import topic_lists

RUNS_TOTAL = 0.5  # prior mean of the weights of all runs together
# For each new relevant document that is drawn there are exp(spread |normal|) - 1 more that no run has, at
# most MOST_UNSEEN. The spread is UNSEEN by the root of the number of runs.
UNSEEN, MOST_UNSEEN = 6.0, 30.0
MOST_WORK = 200_000_000  # judgments times squared features from which spreads are learned
GRADE_SPREAD = 1.5  # prior standard deviation of a topic's level in the model of grades
GRADE_WEIGHTS = (
    (0.0, 3.0),
    (0.0, 1.0),
)  # prior mean and deviation of its level, and of the weight of the log odds
FARTHEST = 4.0  # log odds further from 0 count as this
_STEPS = 50
_SAME = 1e-6
_LEAST_STEP = 1e-6
_PURPOSES = ("weights", "levels", "unseen", "grades", "relevance")


def random_numbers(purpose: str, *seed: int) -> np.random.Generator:
    """Create a random generator for one purpose."""
    return np.random.default_rng([_PURPOSES.index(purpose) + 1, *seed])


def places(features: Features) -> list[slice]:
    """(topic,): Return where the documents of each topic stand."""
    starts = np.searchsorted(features.topic, np.arange(features.topics + 1)).tolist()
    return [slice(begin, end) for begin, end in pairwise(starts)]


class Spreads(NamedTuple):
    """How far weights lie from their mean, as standard deviations; judgments decide how far."""

    run: float  # of a run's weight
    level: float  # of a topic's level
    slope: float  # of what a topic adds to the weight of the fused rank
    by_topic: float  # of what a topic adds to a run's weight


SPREADS = Spreads(run=0.6, level=1.2, slope=0.3, by_topic=0.2)  # before any judgment
SPREADS_WORTH = 4.0  # the weights, and the topics, that these count as
_CLOSE = 0.02  # spreads that change by less are final


class _Curve(NamedTuple):
    """Where a fit stands: its residuals' pull, and the posterior around it."""

    pull: Values  # (feature,) slope of the log likelihood
    topic_pull: Matrix  # (judged topic, feature)
    schur: Matrix  # posterior precision of the weights, with those of topics integrated out
    own: NDArray[
        np.float64
    ]  # (judged topic, feature, feature) covariance of a topic's weights, given the weights
    follows: NDArray[
        np.float64
    ]  # (judged topic, feature, feature) how these give way when the weights change


@dataclass(slots=True)
class _Problem:
    """A penalized logistic regression whose weights vary by topic."""

    rows: Matrix  # (judgment, feature)
    relevant: NDArray[np.bool_]
    topics: Counts  # (judged topic,)
    starts: Counts  # (judged topic + 1,) where the judgments of each begin

    @staticmethod
    def of(rows: Matrix, topic: Counts, relevant: NDArray[np.bool_]) -> _Problem:
        """Return the problem of these judgments, which are ordered by topic."""
        topics, first = np.unique(topic, return_index=True)
        return _Problem(rows, relevant, topics, np.append(first, len(topic)))

    def part(self, work: int) -> _Problem:
        """Return some of the topics, spread evenly, whose fit costs about this much or less."""
        cost = self.rows.size * self.rows.shape[1]
        count = max(1, len(self.topics) * work // max(cost, 1))
        if count >= len(self.topics):
            return self
        chosen = np.linspace(0, len(self.topics) - 1, count).astype(np.int64)
        kept = np.concatenate([np.arange(self.starts[one], self.starts[one + 1]) for one in chosen])
        sizes = np.diff(self.starts)[chosen]
        return _Problem(
            self.rows[kept], self.relevant[kept], self.topics[chosen], np.concatenate([[0], np.cumsum(sizes)])
        )

    @property
    def center(self) -> Values:
        """(feature,): The prior mean of the weights.

        The runs share a total, so that many runs do not make a prior more confident than few.
        """
        runs = self.rows.shape[1] - 2
        return np.array([LEVEL[0], FUSED[0]] + [RUNS_TOTAL / max(runs, 1)] * runs)

    def precisions(self, spreads: Spreads) -> tuple[Values, Values]:
        """(feature,) twice: Return the prior precisions of the weights, and of what a topic adds to them."""
        runs = self.rows.shape[1] - 2
        common = np.array([LEVEL[1], FUSED[1]] + [spreads.run] * runs)
        return common**-2.0, np.array([spreads.level, spreads.slope] + [spreads.by_topic] * runs) ** -2.0

    def log_odds(self, weights: Values, added: Matrix) -> Values:
        """(judgment,): Return the log odds; `added` is what each judged topic adds to the weights."""
        odds = self.rows @ weights
        for number, (begin, end) in enumerate(pairwise(self.starts.tolist())):
            odds[begin:end] += self.rows[begin:end] @ added[number]
        return odds

    def cost(self, weights: Values, added: Matrix, spreads: Spreads) -> float:
        """Return minus the penalized log likelihood."""
        odds = self.log_odds(weights, added)
        common, by_topic = self.precisions(spreads)
        misfit = np.logaddexp(0, np.where(self.relevant, -odds, odds)).sum()
        return float(misfit + (common @ (weights - self.center) ** 2 + (added**2 @ by_topic).sum()) / 2)

    def curve(self, weights: Values, added: Matrix, spreads: Spreads) -> _Curve:
        """Return slopes and second derivatives; the weights of topics are eliminated topic by topic."""
        common, by_topic = self.precisions(spreads)
        chance = logistic(self.log_odds(weights, added))
        weighted = self.rows * (chance * (1 - chance))[:, np.newaxis]
        left = self.relevant - chance
        features = self.rows.shape[1]
        among = np.empty((len(self.topics), features, features))
        pulls = np.empty((len(self.topics), features))
        for number, (begin, end) in enumerate(pairwise(self.starts.tolist())):
            among[number] = weighted[begin:end].T @ self.rows[begin:end]
            pulls[number] = left[begin:end] @ self.rows[begin:end]
        own = np.asarray(np.linalg.inv(among + np.diag(by_topic)), np.float64)
        follows = own @ among
        schur = (among - among @ follows).sum(axis=0) + np.diag(common)
        pull = pulls.sum(axis=0) - common * (weights - self.center)
        return _Curve(pull, pulls - by_topic * added, schur, own, follows)

    def begin(self, near: RunWeightedBelief | None) -> tuple[Values, Matrix]:
        """Return the weights from which a fit begins: those of a near one, or the prior means."""
        added = np.zeros((len(self.topics), self.rows.shape[1]))
        if near is None:
            return self.center, added
        _, here, there = np.intersect1d(self.topics, near.topics, return_indices=True)
        added[here] = near.added[there]
        return near.weights, added

    def solved(
        self, spreads: Spreads, near: RunWeightedBelief | None
    ) -> tuple[Values, Counts, Matrix, Spreads, _Curve]:
        """Return the best weights by Newton's method, and the posterior around them."""
        weights, added = self.begin(near)
        for _ in range(STEPS):
            curve = self.curve(weights, added, spreads)
            weights, added, is_best = self._step(weights, added, spreads, curve)
            if is_best:
                break
        return weights, self.topics, added, spreads, curve

    def learned(self, near: RunWeightedBelief | None) -> Spreads:
        """Return the spreads that the judgments suggest (expectation maximization, with Newton's steps)."""
        if not len(self.topics):
            return SPREADS
        weights, added = self.begin(near)
        spreads, start = SPREADS if near is None else near.spreads, np.array(SPREADS)
        for step in range(STEPS):
            curve = self.curve(weights, added, spreads)
            weights, added, _ = self._step(weights, added, spreads, curve)
            squares = self._squares(weights, added, curve)
            count = np.array([self.rows.shape[1] - 2, *[len(self.topics)] * 3])
            found = np.sqrt((squares + SPREADS_WORTH * start**2) / (count + SPREADS_WORTH))
            change = np.log(found / np.array(spreads))
            if step:  # larger steps than those of the method itself, which are short
                found = np.clip(found * np.exp(change / 2), 1e-3, 5.0)
            spreads = Spreads(*found.tolist())
            if np.abs(change).max() < _CLOSE:
                break
        return spreads

    def _squares(self, weights: Values, added: Matrix, curve: _Curve) -> Values:
        """(spread,): Return the expected sum of squares of what each spread is about."""
        covariance = np.linalg.inv(curve.schur)
        spread = np.diagonal(curve.own, axis1=1, axis2=2)
        spread = spread + ((curve.follows @ covariance) * curve.follows).sum(axis=2)
        of_runs = ((weights - self.center) ** 2 + np.diag(covariance))[2:].sum()
        of_topics = added**2 + spread
        runs = max(of_topics.shape[1] - 2, 1)
        return np.array(
            [of_runs, of_topics[:, 0].sum(), of_topics[:, 1].sum(), of_topics[:, 2:].sum() / runs]
        )

    def _step(
        self, weights: Values, added: Matrix, spreads: Spreads, curve: _Curve
    ) -> tuple[Values, Matrix, bool]:
        """Return better weights, and whether they were already best.

        A step that makes the fit worse is halved.
        """
        given_way = np.einsum("tab,ta->b", curve.follows, curve.topic_pull)
        step = np.linalg.solve(curve.schur, curve.pull - given_way)
        of_topics = np.einsum("tab,tb->ta", curve.own, curve.topic_pull) - curve.follows @ step
        cost = self.cost(weights, added, spreads)
        gain = float(curve.pull @ step + (curve.topic_pull * of_topics).sum())
        if gain < ENOUGH * (1 + cost):
            return weights, added, True
        size = 1.0
        while (
            self.cost(weights + size * step, added + size * of_topics, spreads) > cost - 1e-4 * size * gain
            and size > _LEAST_STEP
        ):
            size /= 2
        return weights + size * step, added + size * of_topics, False


@dataclass(frozen=True, slots=True, eq=False)
class RunWeightedBelief:
    """The fitted model: weights, what each topic adds to them, and their uncertainty."""

    features: Features
    weights: Values  # (feature,)
    topics: Counts  # (judged topic,)
    added: Matrix  # (judged topic, feature)
    spreads: Spreads
    curve: _Curve

    @property
    def by_topic(self) -> Values:
        """(feature,): The prior deviation of what a topic adds."""
        runs = len(self.weights) - 2
        return np.array([self.spreads.level, self.spreads.slope] + [self.spreads.by_topic] * runs)

    @property
    def log_odds(self) -> Values:
        """(document,): The log odds of the best fit."""
        odds = np.empty(len(self.features.topic))
        for number, documents in enumerate(places(self.features)):
            weights = self.weights + (0 if (at := self._place(number)) is None else self.added[at])
            odds[documents] = self.features.rows[documents] @ weights
        return odds

    def drawn(self, draws: int, seed: Sequence[int]) -> _DrawnWeights:
        """Draw weights from their posterior, and for every topic what it adds, given these weights."""
        normal = random_numbers("weights", *seed).standard_normal((len(self.weights), draws))
        away = np.linalg.solve(np.linalg.cholesky(self.curve.schur).T, normal)
        return _DrawnWeights(self, away, tuple(seed))

    def _place(self, topic: int) -> int | None:
        """Return where a topic stands among the judged ones; None: it has no judgments."""
        at = int(np.searchsorted(self.topics, topic))
        return at if at < len(self.topics) and self.topics[at] == topic else None


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnWeights:
    belief: RunWeightedBelief
    away: Matrix  # (feature, draw) distance of each draw from the best fit
    seed: tuple[int, ...]

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        belief, at = self.belief, self.belief._place(topic)
        own = random_numbers("levels", *self.seed, topic).standard_normal(self.away.shape)
        if at is None:
            added = belief.by_topic[:, np.newaxis] * own
        else:
            added = belief.added[at][:, np.newaxis] - belief.curve.follows[at] @ self.away
            added += np.linalg.cholesky(belief.curve.own[at]) @ own
        weights = belief.weights[:, np.newaxis] + self.away + added
        return belief.features.rows[documents] @ weights.astype(np.float32)

    def unseen(self, topic: int) -> Values:
        normal = random_numbers("unseen", *self.seed, topic).standard_normal(self.away.shape[1])
        spread = UNSEEN / math.sqrt(max(len(self.belief.weights) - 2, 1))
        return np.minimum(np.expm1(spread * np.abs(normal)), MOST_UNSEEN)


def fit(features: Features, evidence: Evidence) -> RunWeightedBelief:
    """Fit the weights to judgments."""
    by_topic = np.argsort(features.topic[evidence.documents], kind="stable")
    documents = evidence.documents[by_topic]
    problem = _Problem.of(
        features.rows[documents].astype(np.float64), features.topic[documents], evidence.relevant[by_topic]
    )
    spreads = problem.part(MOST_WORK).learned(None)
    return RunWeightedBelief(features, *problem.solved(spreads, None))


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """How likely a document with at least one grade is to have a better one."""

    weights: Values  # (2,) level, weight of the log odds of relevance
    levels: Values  # (topic,)
    covariance: Matrix  # of the weights
    own: Values  # (topic,) posterior precision of each level, given the weights
    cross: Matrix  # (topic, 2) posterior precision between both

    @staticmethod
    def fitted(better: NDArray[np.bool_], log_odds: Values, topic: Counts, topics: int) -> _Step:
        """Fit it by Newton's method; the levels of topics are eliminated."""
        rows = np.stack([np.ones(len(better)), log_odds], axis=1)
        center, spread = np.array(GRADE_WEIGHTS).T
        weights, levels = center.copy(), np.zeros(topics)
        for _ in range(_STEPS):
            chance = logistic(rows @ weights + levels[topic])
            curved, left = chance * (1 - chance), better - chance
            own = np.bincount(topic, curved, topics) + GRADE_SPREAD**-2.0
            cross = np.array([np.bincount(topic, curved * column, topics) for column in rows.T], np.float64).T
            schur = (rows.T * curved) @ rows + np.diag(spread**-2) - cross.T @ (cross / own[:, np.newaxis])
            topic_pull = np.bincount(topic, left, topics) - levels * GRADE_SPREAD**-2.0
            pull = rows.T @ left - spread**-2 * (weights - center)
            step = np.linalg.solve(schur, pull - cross.T @ (topic_pull / own))
            of_topics = (topic_pull - cross @ step) / own
            weights, levels = weights + step, levels + of_topics
            if np.abs(step).max() + np.abs(of_topics).max(initial=0) < _SAME:
                break
        return _Step(weights, levels, np.linalg.inv(schur), own, cross)

    def drawn(self, draws: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
        """Draw weights (2, draw) and levels (topic, draw) from their posterior."""
        away = np.linalg.cholesky(self.covariance) @ rng.standard_normal((2, draws))
        own = rng.standard_normal((len(self.levels), draws)) / np.sqrt(self.own)[:, np.newaxis]
        levels = self.levels[:, np.newaxis] - self.cross @ away / self.own[:, np.newaxis] + own
        return self.weights[:, np.newaxis] + away, levels


@dataclass(frozen=True, slots=True, eq=False)
class DrawnGrades:
    """Draws of what decides the grades of relevant documents."""

    log_odds: Values  # (document,) of relevance
    steps: tuple[tuple[Matrix, Matrix], ...]  # from each grade to the next better one

    @staticmethod
    def of(
        number: Counts,
        documents: Counts,
        log_odds: Values,
        topic: Counts,
        shape: tuple[int, int],
        draws: int,
        seed: Sequence[int],
    ) -> DrawnGrades:
        """Fit grades to judged documents, and draw.

        `number` is the grade of each judged document (0: not relevant, 1: the lowest that is relevant),
        `documents` their places, `shape` the number of topics and of grades.
        """
        near = np.clip(log_odds, -FARTHEST, FARTHEST)
        rng = random_numbers("grades", *seed)
        steps = []
        for grade in range(1, shape[1]):
            at = number >= grade
            places = documents[at]
            step = _Step.fitted(number[at] > grade, near[places], topic[places], shape[0])
            steps.append(step.drawn(draws, rng))
        return DrawnGrades(near, tuple(steps))

    def of_topic(self, topic: int, documents: Counts, draw: Counts, rng: np.random.Generator) -> Counts:
        """Draw the grade, from 1, of a topic's documents that are relevant in these draws."""
        grade = np.ones(len(documents), np.int64)
        better = np.ones(len(documents), np.bool_)
        odds = self.log_odds[documents]
        for weights, levels in self.steps:
            chance = logistic(weights[0, draw] + weights[1, draw] * odds + levels[topic, draw])
            better &= rng.random(len(documents)) < chance
            grade += better
        return grade


def drawn_values(
    regrading: Regrading,
    view: View,
    considered: NDArray[np.bool_],
    measures: Sequence[Measure],
    *,
    draws: int = 100,
    seed: int = 0,
) -> NDArray[np.float64]:
    """(run, measure, draw, topic): Evaluate all runs when unjudged documents are drawn from this model."""
    frame = draw_completions(regrading, view, considered, draws=1)
    known = view.grades[frame.documents]
    seen = np.isfinite(known)
    judged = seen.nonzero()[0]
    lists = topic_lists(
        regrading.retrieved,
        chosen=(regrading.retrieved.holders() > 0) & (np.isfinite(view.grades) | considered),
    )
    features = Features.of(lists)
    belief = fit(features, Evidence(judged, known[judged] > 0))
    odds, number = belief.drawn(draws, (seed,)), np.searchsorted(frame.scale, known[judged])
    shape = (len(lists), len(frame.scale) - 1)
    better = DrawnGrades.of(number, judged, belief.log_odds, features.topic, shape, draws, (seed,))
    grades = np.where(seen, np.repeat(frame.grades, draws, axis=0), 0).astype(np.uint8)
    unseen = np.zeros((draws, len(lists)), np.int64)
    for topic, own in enumerate(places(features)):
        rng = random_numbers("relevance", seed, topic)
        log_odds = odds.of_topic(own, topic)
        relevant = (rng.random(log_odds.shape, np.float32) < logistic(log_odds)).T
        relevant[:, seen[own]] = False
        draw, place = relevant.nonzero()
        grades[draw, own.start + place] = better.of_topic(topic, own.start + place, draw, rng)
        unseen[:, topic] = np.rint(odds.unseen(topic) * np.bincount(draw, minlength=draws))
    parts = [_one(frame, grades[draw], unseen[draw]).values(measures) for draw in range(draws)]
    return np.concatenate(parts, axis=2)


def _one(frame: Completions, grades: NDArray[np.uint8], unseen: Counts) -> Completions:
    """Return one draw, with relevant documents of the lowest grade that no run has."""
    elsewhere = frame.elsewhere.copy()
    elsewhere[:, 1] += unseen
    return replace(frame, grades=grades[np.newaxis], elsewhere=elsewhere)
