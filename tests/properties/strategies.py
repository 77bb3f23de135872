"""Topics written down plainly, the rankings they make, and ways to draw them at random.

A label says what is known of a retrieved document: its grade, None where nobody judged it, or POOLED.
Tests that want a reference compute it from these lists; the kernels see the arrays.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import sounding.measures
from sounding.measures.registry import Definition, definitions
from sounding.runs.ranking import Intents, Judgments, Ranking, Sampling, Strata

POOLED = -1  # in the pool, and not judged
HIGHEST = 4

Label = float | None


@dataclass(frozen=True)
class Topic:
    """One topic: the labels of its ranking, the grades of judged documents that were not retrieved."""

    ranking: tuple[Label, ...] = ()
    elsewhere: tuple[float, ...] = ()
    missing: bool = False  # the run lacks the topic; its ranking is empty
    pool_ranks: tuple[int, ...] | None = None  # of the judged documents, as `judged` lists them
    unsampled: int = 0  # documents that were pooled, neither judged nor retrieved

    @property
    def judged(self) -> list[float]:
        """Every grade: first of the retrieved documents in their order, then of the others."""
        return [*(label for label in self.ranking if is_judged(label)), *self.elsewhere]

    def condensed(self) -> Topic:
        """The topic as if nothing but judged documents had been retrieved."""
        return replace(
            self,
            ranking=tuple(label for label in self.ranking if is_judged(label)),
            unsampled=self.unsampled + self.ranking.count(POOLED),
        )

    def assessed(self, grade: float = 1) -> Topic:
        """The topic as if every judged document had this grade."""
        return replace(
            self,
            ranking=tuple(grade if is_judged(label) else label for label in self.ranking),
            elsewhere=(grade,) * len(self.elsewhere),
        )

    def relabelled(self, rank: int, label: Label) -> Topic:
        """The topic with another label at a rank, counted from 1."""
        return replace(self, ranking=(*self.ranking[: rank - 1], label, *self.ranking[rank:]))


def is_judged(label: Label) -> TypeGuard[float]:
    """Whether a label is a grade."""
    return label is not None and label >= 0


def ranking_of(topics: Sequence[Topic], *, highest: float = HIGHEST, old_points: bool = False) -> Ranking:
    """The ranking of a run over these topics; `highest` is the best grade of the scale.

    What was judged is a sample of the pool, which is one stratum.
    """
    judgments = judgments_of(topics, highest)
    places = [
        (number, rank, label)
        for number, topic in enumerate(topics)
        for rank, label in enumerate(topic.ranking, 1)
    ]
    judged = [(number, rank, label) for number, rank, label in places if is_judged(label)]
    pooled = [(number, rank) for number, rank, label in places if label == POOLED]
    pooled_topic = np.array([number for number, _ in pooled], np.int64)
    return Ranking(
        run="run",
        judgments=judgments,
        topic=np.array([number for number, _, _ in judged], np.int64),
        rank=np.array([rank for _, rank, _ in judged], np.int64),
        grade=np.array([label for _, _, label in judged], np.float64),
        retrieved=np.array([len(topic.ranking) for topic in topics], np.int64),
        missing=np.array([topic.missing for topic in topics], np.bool_),
        pooled_topic=pooled_topic,
        pooled_rank=np.array([rank for _, rank in pooled], np.int64),
        judgment=_judgments_of_documents(judgments, judged),
        pooled_stratum=pooled_topic,
        old_recall_points=old_points,
    )


def _judgments_of_documents(
    judgments: Judgments, documents: Sequence[tuple[int, int, float]]
) -> NDArray[np.int64]:
    """For (topic, rank, grade) of judged documents, the place of such a judgment, each used once."""
    free: dict[tuple[int, float], list[int]] = {}
    for place, (topic, grade) in enumerate(
        zip(judgments.topic.tolist(), judgments.grades.tolist(), strict=True)
    ):
        free.setdefault((topic, grade), []).insert(0, place)
    return np.array([free[topic, grade].pop() for topic, _, grade in documents], np.int64)


def judgments_of(topics: Sequence[Topic], highest: float) -> Judgments:
    """The judged side of these topics, with pool ranks where every topic has them."""
    rows = []
    for topic in topics:
        known = topic.pool_ranks if topic.pool_ranks is not None else (0,) * len(topic.judged)
        rows.append(sorted(zip(topic.judged, known, strict=True), reverse=True))
    columns = np.array([pair for row in rows for pair in row], np.float64).reshape(-1, 2)
    with_ranks = all(topic.pool_ranks is not None for topic in topics)
    pooled = np.array([topic.ranking.count(POOLED) + topic.unsampled for topic in topics], np.int64)
    judged = np.array([len(row) for row in rows], np.int64)
    pool = Strata(np.repeat(np.arange(len(rows)), judged), judged + pooled, np.arange(len(rows) + 1))
    every = np.arange(len(columns) + 1)  # each topic is one intent
    return Judgments(
        topics=tuple(f"{number:06}" for number in range(len(topics))),
        starts=np.cumsum([0, *map(len, rows)]),
        grades=columns[:, 0],
        pool_ranks=columns[:, 1].astype(np.int64) if with_ranks else None,
        pooled=pooled,
        highest=highest,
        sampling=Sampling(strata=pool),
        intents=Intents(every, np.repeat(np.arange(len(rows)), judged), columns[:, 0], every[:-1]),
    )


def every_definition() -> list[Definition]:
    """All registered measures, those of families that nothing has imported yet among them.

    Measures that compare two runs have no value for one ranking, and laws of their own (test_paired.py).
    """
    for module in pkgutil.iter_modules(sounding.measures.__path__):
        importlib.import_module(f"sounding.measures.{module.name}")
    return [known for known in definitions() if not known.pairwise]


def random_topics(number: int, seed: int, *, longest: int = 30) -> list[Topic]:
    """Many topics at once: rich and poor in relevance, hardly and fully judged, empty, missing."""
    chance = random.Random(seed)
    topics = []
    for _ in range(number):
        grades = chance.choice([[0], [0, 1], [0, 0, 0, 1], [1], [0, 1, 2, 3, 4], [3, 4]])
        holes: list[Label] = chance.choice([[], [None], [None, POOLED] * 3])
        labels = [*grades * chance.choice([1, 3]), *holes]
        length = chance.choice([0, 1, 2, 3, chance.randint(4, longest)])
        elsewhere = chance.choices(grades, k=chance.choice([0, 0, 1, 2, 10]))
        drawn = Topic(tuple(chance.choices(labels, k=length)), tuple(elsewhere), missing=not length)
        ranks = tuple(chance.randint(0, 12) for _ in drawn.judged)
        topics.append(replace(drawn, pool_ranks=ranks))
    return topics


def labels() -> st.SearchStrategy[Label]:
    """What may be known of a retrieved document."""
    return st.sampled_from([0, 1, None, 2, POOLED, 3, 4])


@st.composite
def topic_lists(draw: st.DrawFn, *, fewest: int = 1, most: int = 6, shortest: int = 0) -> list[Topic]:
    """A few topics of any kind, with pool ranks; some have no relevant document, some nothing at all."""
    topics = []
    for _ in range(draw(st.integers(fewest, most))):
        ranking = tuple(draw(st.lists(labels(), min_size=shortest, max_size=12)))
        elsewhere = tuple(draw(st.lists(st.integers(0, HIGHEST), max_size=5)))
        missing = not ranking and draw(st.booleans())
        topic = Topic(ranking, elsewhere, missing)
        ranks = st.lists(st.integers(0, 15), min_size=len(topic.judged), max_size=len(topic.judged))
        topics.append(replace(topic, pool_ranks=tuple(draw(ranks))))
    return topics
