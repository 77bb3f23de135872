"""Shuffled batches: an order that follows the judgments tells assessors where a document came from.

Who is given the best document first, or sees documents of a run that was right before, can guess how the
next one will turn out. A batch holds the next documents of a topic in random order. The larger it is, the
less its order tells, and the later the strategy learns what was found.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sounding.core.errors import DataError
from sounding.runs.retrieved import Retrieved
from sounding.selection.strategy import Pick, State, Strategy


class Batches:
    """A strategy that hands out another one's documents in batches of one topic, in random order.

    A topic's next batch is put together when its last one is done; a batch that was begun is finished
    before another topic's begins. Which documents were in a batch depends on the order of the judgments;
    those `before` were made when there was no batch yet.
    """

    def __init__(
        self,
        make: Callable[[], Strategy],
        pool: Retrieved,
        size: int,
        *,
        seed: int,
        before: Mapping[int, float | None],
    ) -> None:
        if size < 1:
            raise DataError(f"batches of {size}; expected at least 1 document")
        self._make, self._size, self._seed, self._before = make, size, seed, dict(before)
        self._names, self._starts = pool.topics, pool.starts.tolist()
        self._begin()

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """The next documents to judge; no more than the batches hold that are at hand."""
        wanted = None if topics is None else set(topics)
        begun = [topic for topic in self._begun if wanted is None or topic in wanted]
        due = [] if begun and count == 1 else [pick.topic for pick in self._inner.next(topics, count)]
        ahead = [pick for topic in dict.fromkeys([*begun, *due]) for pick in self._open[topic].values()]
        judged = len(self._before) + len(self._grades)
        return [pick._replace(order=judged + place) for place, pick in enumerate(ahead[:count], 1)]

    def judge(self, document: int, grade: float | None) -> None:
        """Take in a judgment; None: it could not be judged."""
        self._inner.judge(document, grade)
        self._grades[document] = grade
        topic = bisect_right(self._starts, document) - 1
        if self._open[topic].pop(document, None) is None:
            return
        self._begun[topic] = None
        if not self._open[topic]:
            del self._begun[topic]
            self._fill(topic)

    def undo(self, document: int) -> None:
        """Take a judgment back: the others are taken in again, in their order."""
        if document not in self._grades and document not in self._before:
            raise DataError(f"document {document} has not been judged: nothing to take back")
        self._before.pop(document, None)
        standing = {other: grade for other, grade in self._grades.items() if other != document}
        self._begin()
        for other, grade in standing.items():
            self.judge(other, grade)

    def state(self) -> State:
        """Plain data from which the same strategy can be made."""
        judgments = [[document, grade] for document, grade in self._grades.items()]
        before = [[document, grade] for document, grade in self._before.items()]
        batches = {"size": self._size, "seed": self._seed, "before": before}
        return {**self._inner.state(), "judgments": judgments, "batches": batches}

    def _begin(self) -> None:
        self._inner = self._make()
        for document, grade in self._before.items():
            self._inner.judge(document, grade)
        self._grades: dict[int, float | None] = {}
        self._open: list[dict[int, Pick]] = [{} for _ in self._names]  # (topic,) what is left of its batch
        self._made = [0] * len(self._names)  # (topic,) batches so far
        self._begun: dict[int, None] = {}  # topics whose batch is being judged, in that order
        for topic in range(len(self._names)):
            self._fill(topic)

    def _fill(self, topic: int) -> None:
        picks = self._inner.next([topic], self._size)
        name = zlib.crc32(self._names[topic].encode("utf-8", "surrogateescape"))
        rng = np.random.default_rng([self._seed, name, self._made[topic]])
        self._made[topic] += 1
        shuffled = [picks[place] for place in rng.permutation(len(picks)).tolist()]
        self._open[topic] = {pick.document: pick for pick in shuffled}
