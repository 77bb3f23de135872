"""The protocol of all strategies for selecting documents to judge, and their registry by name.

Pools, samples, simulations and the judging server use a `Strategy` without knowing which one. Its next step
depends only on the runs, its parameters, its seed and the valid judgments: a judgment that was taken back
leaves no trace, and no clock is read.

A family of strategies registers itself here when it is imported, which `sounding.selection` does.
"""

from __future__ import annotations

import heapq
import inspect
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.workers import Progress
from sounding.data.tables import byte_order
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.runs.topic_lists import places_of, topic_lists

State = dict[str, Any]  # plain data: text, numbers, lists and dicts of these


class Pick(NamedTuple):
    """A document to judge, and what the strategy knows about it."""

    document: int  # its number in what the runs retrieved
    topic: int
    order: int  # its place among all judged documents, from 1
    pool_rank: int  # its best rank in a contributing run
    weight: float | None = None  # the reason for its selection
    stratum: int | None = None  # part of the pool from which it was sampled
    probability: float | None = None  # its probability of being sampled


class Strategy(Protocol):
    """A way of selecting documents to judge."""

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """Return the next documents to judge, of these topics (None: all); fewer if no more are left.

        The call changes nothing. Several at once are those that would follow if none of them were relevant.
        """

    def judge(self, document: int, grade: float | None) -> None:
        """Record a judgment; None: the document could not be judged and will not be returned again."""

    def undo(self, document: int) -> None:
        """Take a judgment back, as if it had never been made."""

    def state(self) -> State:
        """Return plain data from which `restore` builds the same strategy."""


# -- the registry ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A strategy by its name."""

    name: str
    title: str
    function: Callable[..., Any] = field(repr=False)  # creates it, or the queue of each topic
    by_topic: bool
    parameters: Mapping[str, Any]  # with their defaults
    adaptive: bool  # the next document depends on the judgments
    sampled: bool  # a random sample of the pool, with known probabilities
    drawn: bool  # the seed matters
    restored: Callable[[Retrieved, State], Strategy] | None = field(default=None, repr=False)
    # None: replaying the judgments restores the strategy

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, with defaults for those not given."""
        for name in given:
            if name not in self.parameters:
                raise UnknownNameError(f"parameter of the strategy {self.name}:", name, self.parameters)
        return {**self.parameters, **given}


STRATEGIES: dict[str, Kind] = {}

# Names of strategies in papers and everyday use.
ALIASES = {
    "mtf": "move-to-front", "global-mtf": "global-move-to-front", "gmtf": "global-move-to-front",
    "mm": "max-mean", "uniform": "uniform-sample", "stratified": "stratified-sample",
    "weighted": "weighted-sample",
}  # fmt: skip


Maker = TypeVar("Maker", bound=Callable[..., Any])


def register(
    name: str,
    *,
    by_topic: bool = True,
    adaptive: bool = False,
    sampled: bool = False,
    drawn: bool = False,
    restored: Callable[[Retrieved, State], Strategy] | None = None,
) -> Callable[[Maker], Maker]:
    """Register a strategy by the function that creates it, which defines its title and parameters.

    The function creates the queue of a topic from its lists and the topic's own random generator or, unless
    `by_topic`, the strategy from pool and seed. Its parameters are keyword-only; a strategy that follows the
    judgments also has `level`, the lowest relevant grade. `drawn`: it uses the generator, as samples always
    do. `restored` creates the strategy from its state if the judgments alone do not suffice.
    """

    def add(function: Maker) -> Maker:
        parameters: dict[str, Any] = {"level": 1.0} if adaptive else {}
        parameters |= {
            parameter.name: parameter.default
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
        STRATEGIES[name] = Kind(
            name=name, title=(function.__doc__ or name).splitlines()[0].rstrip("."), function=function,
            by_topic=by_topic, parameters=parameters, adaptive=adaptive, sampled=sampled,
            drawn=drawn or sampled, restored=restored,
        )  # fmt: skip
        return function

    return add


def find_strategy(name: str) -> Kind:
    """Return the strategy of that name or alias; otherwise an error with similar names."""
    known = ALIASES.get(name, name)
    if known not in STRATEGIES:
        raise UnknownNameError("strategy", name, STRATEGIES)
    return STRATEGIES[known]


def make_strategy(name: str, pool: Retrieved, *, seed: int = 0, **parameters: Any) -> Strategy:
    """Create a strategy over the documents of a pool, before anything is judged.

    `pool` has the contributing runs, cut to the depth of the pool.
    """
    kind = find_strategy(name)
    chosen = kind.complete(parameters)
    if kind.by_topic:
        return TopicQueues(kind.name, pool, seed, chosen, kind.function)
    strategy: Strategy = kind.function(pool, seed, **chosen)
    return strategy


def restore(state: State, pool: Retrieved) -> Strategy:
    """Return the strategy with this state, over the same pool."""
    if state["pool"] != fingerprint(pool):
        raise DataError("this state belongs to another pool; give the runs and the depth it was made with")
    name, batches = state["strategy"], state.get("batches")
    restored = find_strategy(name).restored
    if restored is not None and batches is None:
        return restored(pool, state)
    make = partial(make_strategy, name, pool, seed=state["seed"], **state["parameters"])
    strategy: Strategy = make() if batches is None else Batches(make, pool, **batches)
    judge_all(strategy, state["judgments"])
    return strategy


def judge_all(strategy: Strategy, judgments: Iterable[tuple[int, float | None]]) -> None:
    """Pass earlier judgments to a strategy."""
    for document, grade in judgments:
        strategy.judge(document, grade)


def fingerprint(pool: Retrieved) -> int:
    """Return a number that identifies a pool by its topics, documents and lists."""
    marks = zlib.crc32(byte_order("\n".join(pool.topics)))
    marks = zlib.crc32(pool.docs.words().tobytes(), marks)
    return zlib.crc32(pool.lists.tobytes(), marks)


# -- a queue for each topic --------------------------------------------------------------------------

Relevance = bool | None  # None: it could not be judged


class Queue(ABC):
    """The documents of a topic in the order in which they should be judged.

    A queue receives the relevance only of the document that it returned; other known judgments wait until the
    queue reaches them. So its order depends on what is known, not on when it became known.
    """

    _changing: ClassVar[tuple[str, ...]] = ()  # lists and arrays that judgments change

    @property
    def urgency(self) -> float:
        """Return how much sooner its next document should be judged than those of other topics."""
        return 0.0

    @property
    def weight(self) -> float | None:
        """The weight of the next document, if any."""
        return None

    def design(self, position: int) -> tuple[int | None, float | None]:
        """Return stratum and probability of a sampled document; None if this is not a sample."""
        return None, None

    @abstractmethod
    def next(self) -> int:
        """Return the position of the next document; NONE if no more are left."""

    @abstractmethod
    def tell(self, position: int, relevant: Relevance) -> None:
        """Record the relevance of the document that `next` returned."""

    def copy(self) -> Self:
        """Return an independent copy."""
        other = copy(self)
        for name in self._changing:
            setattr(other, name, copy(getattr(self, name)))
        return other


QueueMaker = Callable[..., Queue]
Turn = tuple[float, float, int]  # negative urgency, share judged, topic: the smallest is next


class TopicQueues:
    """A strategy with a queue for each topic: the most urgent topic comes next, otherwise the least judged.

    The share of a topic's queue that is judged decides.
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
        """Create the queues; `more` is what its state holds beside the arguments of `make_strategy`."""
        self._identity = {"strategy": name, "seed": seed, "parameters": dict(parameters), **(more or {})}
        own = dict(parameters)
        self._level = float(own.pop("level", 1))
        self._pool, self._pools = pool, topic_lists(pool)
        self._starts: list[int] = pool.starts.tolist()
        self._position = places_of(self._pools, len(pool.docs))
        self._fresh = [
            # Random numbers that do not depend on other topics.
            maker(one, np.random.default_rng([seed, zlib.crc32(byte_order(one.topic))]), **own)
            for one in self._pools
        ]
        self._queues = [queue.copy() for queue in self._fresh]
        self._grades: dict[int, float | None] = {}
        self._known: list[dict[int, Relevance]] = [{} for _ in self._pools]
        self._turns: list[Turn] = []  # a heap; outdated entries are skipped
        self._turn: list[Turn | None] = [None] * len(self._pools)
        for topic in range(len(self._pools)):
            self._move_on(topic)

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """Return the next documents to judge."""
        if topics is None and count == 1:
            topic = self._due()
            return [] if topic is None else [self._pick(topic, self._queues[topic], 0)]
        chosen = range(len(self._pools)) if topics is None else dict.fromkeys(topics)
        turns = [turn for topic in chosen if (turn := self._turn[topic]) is not None]
        heapq.heapify(turns)
        # queues that are advanced, and how many documents each has returned
        ahead: dict[int, tuple[Queue, int]] = {}
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
        """Record a judgment; None: it could not be judged."""
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
        """Return plain data from which the same strategy can be built."""
        judgments = [[document, grade] for document, grade in self._grades.items()]
        return {**self._identity, "pool": fingerprint(self._pool), "judgments": judgments}

    def design(self, document: int) -> tuple[int | None, float | None]:
        """Return stratum and probability of a document of the pool, drawn or not; None if not a sample."""
        return self._fresh[bisect_right(self._starts, document) - 1].design(self._position[document])

    def _pass_over_known(self, topic: int, queue: Queue) -> None:
        known = self._known[topic]
        position = queue.next()
        while position in known:
            queue.tell(position, known[position])
            position = queue.next()

    def _move_on(self, topic: int) -> None:
        """Advance a topic's queue to its next unknown document, and update the topic's turn."""
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
        """Return the topic whose turn it is; None if nothing is left."""
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


# -- judging with known judgments ------------------------------------------------------------------


def judging(
    strategy: Strategy, grades: Values, budget: int | None = None, progress: Progress | None = None
) -> Iterator[Pick]:
    """Let a strategy judge what it selects, one document after the other, and yield each.

    `grades` are those of every document; NaN: nobody judged it, and it counts as not relevant. Ends when
    nothing is left or the budget is spent.
    """
    number = 0
    while (budget is None or number < budget) and (due := strategy.next()):
        grade = float(grades[due[0].document])
        strategy.judge(due[0].document, 0.0 if np.isnan(grade) else grade)
        number += 1
        yield due[0]
        if progress is not None:
            progress(1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Replay:
    """The documents in the order in which a strategy selected them."""

    picks: tuple[Pick, ...]
    grades: Values  # (pick,) NaN: not judged, which counted as not relevant
    relevant: int  # number of relevant documents, found or not
    level: float

    @property
    def found(self) -> Counts:
        """(pick,): relevant documents found so far."""
        return np.cumsum(self.grades >= self.level)

    @property
    def unknown(self) -> int:
        """The number of documents that are not in the judgments."""
        return int(np.count_nonzero(np.isnan(self.grades)))

    def found_at(self, judged: int) -> float:
        """Return the share of the relevant documents that this many judgments found; NaN: there are none."""
        if not self.relevant:
            return float("nan")
        return int(np.count_nonzero(self.grades[:judged] >= self.level)) / self.relevant


def replay(
    strategy: Strategy,
    grades: Values,
    *,
    budget: int | None = None,
    level: float = 1,
    progress: Progress | None = None,
) -> Replay:
    """Replay a strategy within a budget (None: until nothing is left), see `judging`.

    The relevant documents among the grades can be found: set those outside the pool to NaN.
    """
    picks = tuple(judging(strategy, grades, budget, progress))
    chosen = np.array([pick.document for pick in picks], np.int64)
    relevant = int(np.count_nonzero(grades >= level))
    return Replay(picks=picks, grades=grades[chosen], level=level, relevant=relevant)


# -- shuffled batches ------------------------------------------------------------------------------


def in_batches(
    name: str,
    pool: Retrieved,
    size: int,
    *,
    seed: int = 0,
    before: Mapping[int, float | None] | None = None,
    **parameters: Any,
) -> Strategy:
    """Create a strategy that returns shuffled batches of the next `size` documents of a topic.

    `before` holds judgments by document number that were made before the first batch.
    """
    make = partial(make_strategy, name, pool, seed=seed, **parameters)
    return Batches(make, pool, size, seed=seed, before=(before or {}).items())


class Batches:
    """A strategy that returns another one's documents in batches of one topic, in random order.

    An order that follows the judgments reveals to assessors where a document came from: whoever sees
    documents of a run that was right before can guess the next one. The larger a batch, the less its order
    reveals, and the later the strategy learns the outcome.

    A topic's next batch is formed when its last one is done; a batch that was begun is finished before
    another topic's begins. The documents of a batch depend on the order of the judgments; those `before` were
    made when there was no batch yet.
    """

    def __init__(
        self,
        make: Callable[[], Strategy],
        pool: Retrieved,
        size: int,
        *,
        seed: int,
        before: Iterable[tuple[int, float | None]],
    ) -> None:
        if size < 1:
            raise DataError(f"batches of {size}; expected at least 1 document")
        self._make, self._size, self._seed, self._before = make, size, seed, dict(before)
        self._names, self._starts = pool.topics, pool.starts.tolist()
        self._begin()

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """Return the next documents to judge; no more than the current batches hold."""
        wanted = None if topics is None else set(topics)
        begun = [topic for topic in self._begun if wanted is None or topic in wanted]
        due = [] if begun and count == 1 else [pick.topic for pick in self._inner.next(topics, count)]
        ahead = [pick for topic in dict.fromkeys([*begun, *due]) for pick in self._open[topic].values()]
        judged = len(self._before) + len(self._grades)
        return [pick._replace(order=judged + place) for place, pick in enumerate(ahead[:count], 1)]

    def judge(self, document: int, grade: float | None) -> None:
        """Record a judgment; None: it could not be judged."""
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
        """Take a judgment back by replaying the others in order."""
        if document not in self._grades and document not in self._before:
            raise DataError(f"document {document} has not been judged: nothing to take back")
        self._before.pop(document, None)
        standing = {other: grade for other, grade in self._grades.items() if other != document}
        self._begin()
        judge_all(self, standing.items())

    def state(self) -> State:
        """Return plain data from which the same strategy can be built."""
        judgments = [[document, grade] for document, grade in self._grades.items()]
        before = [[document, grade] for document, grade in self._before.items()]
        batches = {"size": self._size, "seed": self._seed, "before": before}
        return {**self._inner.state(), "judgments": judgments, "batches": batches}

    def _begin(self) -> None:
        self._inner = self._make()
        judge_all(self._inner, self._before.items())
        self._grades: dict[int, float | None] = {}
        self._open: list[dict[int, Pick]] = [{} for _ in self._names]  # (topic,) the rest of its batch
        self._made = [0] * len(self._names)  # (topic,) number of batches so far
        self._begun: dict[int, None] = {}  # topics whose batch is being judged, in that order
        for topic in range(len(self._names)):
            self._fill(topic)

    def _fill(self, topic: int) -> None:
        picks = self._inner.next([topic], self._size)
        name = zlib.crc32(byte_order(self._names[topic]))
        rng = np.random.default_rng([self._seed, name, self._made[topic]])
        self._made[topic] += 1
        shuffled = [picks[place] for place in rng.permutation(len(picks)).tolist()]
        self._open[topic] = {pick.document: pick for pick in shuffled}
