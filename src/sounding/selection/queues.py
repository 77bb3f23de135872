"""The queue in which the documents of a topic are judged, and how topics take turns."""

from __future__ import annotations

import heapq
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from sounding.core.errors import DataError
from sounding.data.tables import byte_order
from sounding.runs.retrieved import NONE, Retrieved
from sounding.runs.topic_lists import places_of, topic_lists
from sounding.selection.strategies import Pick, State, Strategy, fingerprint, register

Relevance = bool | None  # None: it could not be judged


class Queue(ABC):
    """The documents of a topic in the order in which they should be judged.

    A queue is told the relevance of the document that it gave, and of no other: whoever knows more
    waits until the queue comes to it. So its order depends on what is known, not on when it was known.
    """

    _changing: ClassVar[tuple[str, ...]] = ()  # lists and arrays that judgments change

    @property
    def urgency(self) -> float:
        """How much sooner than those of other topics its next document should be judged."""
        return 0.0

    @property
    def weight(self) -> float | None:
        """The weight of the next document, where there is one."""
        return None

    def design(self, position: int) -> tuple[int | None, float | None]:
        """Stratum and probability of a document that was sampled; None: this is no sample."""
        return None, None

    @abstractmethod
    def next(self) -> int:
        """The position of the next document; NONE: no more are left."""

    @abstractmethod
    def tell(self, position: int, relevant: Relevance) -> None:
        """What the document that `next` gave turned out to be."""

    def copy(self) -> Self:
        """A queue that goes its own way from here."""
        other = copy(self)
        for name in self._changing:
            setattr(other, name, copy(getattr(self, name)))
        return other


QueueMaker = Callable[..., Queue]
Maker = TypeVar("Maker", bound=QueueMaker)
Turn = tuple[float, float, int]  # urgency with a minus, share judged, topic: the smallest is due


class TurnTaking:
    """A strategy with a queue for each topic: the most urgent topic comes next, or else the least judged.

    How far a topic is judged is a share of the documents in its queue.
    """

    def __init__(
        self,
        name: str,
        pool: Retrieved,
        seed: int,
        parameters: Mapping[str, Any],
        maker: QueueMaker,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """`more` is what its state says beside what `make_strategy` needs."""
        self._identity = {"strategy": name, "seed": seed, "parameters": dict(parameters), **(more or {})}
        own = dict(parameters)
        self._level = float(own.pop("level", 1))
        self._pool, self._pools = pool, topic_lists(pool)
        self._starts: list[int] = pool.starts.tolist()
        self._position = places_of(self._pools, len(pool.docs))
        self._fresh = [
            # Randomness that the other topics do not touch.
            maker(one, np.random.default_rng([seed, zlib.crc32(byte_order(one.topic))]), **own)
            for one in self._pools
        ]
        self._queues = [queue.copy() for queue in self._fresh]
        self._grades: dict[int, float | None] = {}
        self._known: list[dict[int, Relevance]] = [{} for _ in self._pools]
        self._turns: list[Turn] = []  # a heap; entries that are no longer a topic's own are passed over
        self._turn: list[Turn | None] = [None] * len(self._pools)
        for topic in range(len(self._pools)):
            self._move_on(topic)

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """The next documents to judge."""
        if topics is None and count == 1:
            topic = self._due()
            return [] if topic is None else [self._pick(topic, self._queues[topic], 0)]
        chosen = range(len(self._pools)) if topics is None else dict.fromkeys(topics)
        turns = [turn for topic in chosen if (turn := self._turn[topic]) is not None]
        heapq.heapify(turns)
        ahead: dict[int, tuple[Queue, int]] = {}  # queues that go on, and how many each has given
        picks: list[Pick] = []
        while turns and len(picks) < count:
            topic = turns[0][2]
            queue, given = ahead[topic] if topic in ahead else (self._queues[topic].copy(), 0)
            picks.append(self._pick(topic, queue, len(picks)))
            queue.tell(queue.next(), False)
            self._pass_over_known(topic, queue)
            ahead[topic] = queue, given + 1
            turn = self._turn_of(topic, queue, given + 1)
            if turn is None:
                heapq.heappop(turns)
            else:
                heapq.heapreplace(turns, turn)
        return picks

    def judge(self, document: int, grade: float | None) -> None:
        """Take in a judgment; None: it could not be judged."""
        if not 0 <= document < len(self._position):
            raise DataError(f"no document {document}; the runs have 0 to {len(self._position) - 1}")
        if document in self._grades:
            raise DataError(f"document {document} has been judged; take that back first")
        self._grades[document] = grade
        position = self._position[document]
        if position != NONE:
            topic = bisect_right(self._starts, document) - 1
            self._known[topic][position] = None if grade is None else grade >= self._level
            self._move_on(topic)

    def undo(self, document: int) -> None:
        """Take a judgment back."""
        if document not in self._grades:
            raise DataError(f"document {document} has not been judged: nothing to take back")
        del self._grades[document]
        position = self._position[document]
        if position != NONE:
            topic = bisect_right(self._starts, document) - 1
            del self._known[topic][position]
            self._queues[topic] = self._fresh[topic].copy()
            self._move_on(topic)

    def state(self) -> State:
        """Plain data from which the same strategy can be made."""
        judgments = [[document, grade] for document, grade in self._grades.items()]
        return {**self._identity, "pool": fingerprint(self._pool), "judgments": judgments}

    def design(self, document: int) -> tuple[int | None, float | None]:
        """Stratum and probability of a document of the pool, drawn or not; None: this is no sample."""
        return self._fresh[bisect_right(self._starts, document) - 1].design(self._position[document])

    def _pass_over_known(self, topic: int, queue: Queue) -> None:
        known = self._known[topic]
        position = queue.next()
        while position in known:
            queue.tell(position, known[position])
            position = queue.next()

    def _move_on(self, topic: int) -> None:
        """Bring a topic's queue to its next unknown document, and the topic to its place among the others."""
        self._pass_over_known(topic, self._queues[topic])
        turn = self._turn_of(topic, self._queues[topic], 0)
        self._turn[topic] = turn
        if turn is not None:
            heapq.heappush(self._turns, turn)

    def _turn_of(self, topic: int, queue: Queue, given: int) -> Turn | None:
        if queue.next() == NONE:
            return None
        share = (len(self._known[topic]) + given) / self._pools[topic].size
        return -queue.urgency, share, topic

    def _due(self) -> int | None:
        """The topic whose turn it is; None: nothing is left."""
        while self._turns and self._turns[0] != self._turn[self._turns[0][2]]:
            heapq.heappop(self._turns)
        return self._turns[0][2] if self._turns else None

    def _pick(self, topic: int, queue: Queue, before: int) -> Pick:
        position = queue.next()
        own = self._pools[topic]
        stratum, probability = queue.design(position)
        return Pick(
            document=int(own.documents[position]), topic=topic, order=len(self._grades) + before + 1,
            pool_rank=int(own.best[position]), weight=queue.weight, stratum=stratum, probability=probability,
        )  # fmt: skip


def by_topic(
    name: str,
    *,
    adaptive: bool = False,
    sampled: bool = False,
    drawn: bool = False,
    restored: Callable[[Retrieved, State], Strategy] | None = None,
) -> Callable[[Maker], Maker]:
    """Make a function from the lists of a topic to its queue known as a strategy.

    It is given the lists, a random generator of the topic's own, and keyword-only parameters. `drawn`: it
    makes use of the generator, as samples always do.
    """

    def add(maker: Maker) -> Maker:
        def build(pool: Retrieved, seed: int, parameters: Mapping[str, Any]) -> Strategy:
            return TurnTaking(name, pool, seed, parameters, maker)

        register(name, maker, build, adaptive=adaptive, sampled=sampled, drawn=drawn, restored=restored)
        return maker

    return add
