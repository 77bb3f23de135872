"""Learn which grade a relevant document has: from its topic, and from how likely it was to be relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.relevance.model import generator
from sounding.relevance.regression import Matrix, logistic
from sounding.runs.ranking import Counts, Values

TOPIC_SPREAD = 1.5  # prior standard deviation of a topic's level
WEIGHTS = ((0.0, 3.0), (0.0, 1.0))  # prior mean and deviation of the level, and of the effect of the log odds
FARTHEST = 4.0  # log odds further from 0 count as this
_STEPS = 50
_SAME = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """Probability that a document with at least one grade has a better one."""

    weights: Values  # (2,) level, effect of the log odds of relevance
    levels: Values  # (topic,)
    covariance: Matrix  # of the weights
    own: Values  # (topic,) posterior precision of each level, given the weights
    cross: Matrix  # (topic, 2) posterior precision between both

    @staticmethod
    def fitted(better: NDArray[np.bool_], log_odds: Values, topic: Counts, topics: int) -> _Step:
        """Fit it by Newton's method; the levels of topics are eliminated."""
        rows = np.stack([np.ones(len(better)), log_odds], axis=1)
        center, spread = np.array(WEIGHTS).T
        weights, levels = center.copy(), np.zeros(topics)
        for _ in range(_STEPS):
            chance = logistic(rows @ weights + levels[topic])
            curved, left = chance * (1 - chance), better - chance
            own = np.bincount(topic, curved, topics) + TOPIC_SPREAD**-2.0
            cross = np.array([np.bincount(topic, curved * column, topics) for column in rows.T], np.float64).T
            schur = (rows.T * curved) @ rows + np.diag(spread**-2) - cross.T @ (cross / own[:, np.newaxis])
            topic_pull = np.bincount(topic, left, topics) - levels * TOPIC_SPREAD**-2.0
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
        number: Counts, documents: Counts, log_odds: Values, topic: Counts, shape: tuple[int, int],
        draws: int, seed: Sequence[int],
    ) -> DrawnGrades:  # fmt: skip
        """Fit grades to judged documents, and draw.

        `number` is the grade of each judged document (0: not relevant, 1: the lowest that is relevant),
        `documents` their places, `shape` the number of topics and of relevant grades.
        """
        near = np.clip(log_odds, -FARTHEST, FARTHEST)
        rng = generator("grades", *seed)
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
