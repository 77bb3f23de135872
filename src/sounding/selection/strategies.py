"""What is judged next: the protocol that every way of choosing documents follows, and all ways by name.

Pools, samples, the simulation of judging and the judging server speak to a `Strategy` and do not know
which one it is. What a strategy does next depends on the runs, its parameters, its seed and the judgments
that stand, and on nothing else: what was taken back has left no trace, and a clock is never asked.

A family of strategies registers itself here when it is imported, which `sounding.selection` does.
"""

from __future__ import annotations

import inspect
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.workers import Progress
from sounding.data.tables import byte_order
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import Retrieved

State = dict[str, Any]  # plain data: text, numbers, lists and dicts of these


class Pick(NamedTuple):
    """A document to be judged, and what the strategy knows of it."""

    document: int  # its number in what the runs retrieved
    topic: int
    order: int  # its place among all that are judged, from 1
    pool_rank: int  # its best rank in a run that contributes
    weight: float | None = None  # by which it was chosen
    stratum: int | None = None  # part of the pool that it was sampled from
    probability: float | None = None  # chance that it had of being sampled


class Strategy(Protocol):
    """A way of choosing what to judge."""

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """Return the next documents to judge, of these topics (None: of all); fewer where no more are left.

        Asking changes nothing. Several at once are what would follow if none of them were relevant.
        """

    def judge(self, document: int, grade: float | None) -> None:
        """Take in a judgment; None: it could not be judged, stays unjudged and does not come again."""

    def undo(self, document: int) -> None:
        """Take a judgment back: everything is as if it had never been made."""

    def state(self) -> State:
        """Return plain data from which `restore` makes the same strategy."""


class SampleStrategy(Strategy, Protocol):
    """A strategy that draws a random part of the pool."""

    def design(self, document: int) -> tuple[int | None, float | None]:
        """Return stratum and chance of a document of the pool, drawn or not; None: there are no strata."""


# -- the registry ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A strategy by its name."""

    name: str
    title: str
    build: Callable[[Retrieved, int, Mapping[str, Any]], Strategy] = field(repr=False)
    parameters: Mapping[str, Any]  # with their defaults
    adaptive: bool  # what comes next depends on what was judged
    sampled: bool  # a random part of the pool, with known chances
    drawn: bool  # the seed matters
    restored: Callable[[Retrieved, State], Strategy] | None = field(default=None, repr=False)
    # None: judgments in their order make the same strategy again

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, those that are not given by default."""
        for name in given:
            if name not in self.parameters:
                raise UnknownNameError(f"parameter of the strategy {self.name}:", name, self.parameters)
        return {**self.parameters, **given}


STRATEGIES: dict[str, Kind] = {}

# What people call strategies in papers and mail.
ALIASES = {
    "mtf": "move-to-front", "global-mtf": "global-move-to-front", "gmtf": "global-move-to-front",
    "mm": "max-mean", "uniform": "uniform-sample", "stratified": "stratified-sample",
    "weighted": "weighted-sample",
}  # fmt: skip


def register(
    name: str,
    function: Callable[..., Any],
    build: Callable[[Retrieved, int, Mapping[str, Any]], Strategy],
    *,
    adaptive: bool = False,
    sampled: bool = False,
    drawn: bool = False,
    restored: Callable[[Retrieved, State], Strategy] | None = None,
) -> None:
    """Make a strategy known; title and parameters are those of the function that makes it.

    One that follows the judgments has the parameter `level` as well: the lowest relevant grade. `restored`
    makes it from its state where the judgments alone do not.
    """
    title = (function.__doc__ or name).splitlines()[0].rstrip(".")
    parameters: dict[str, Any] = {"level": 1.0} if adaptive else {}
    parameters |= {
        parameter.name: parameter.default
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    STRATEGIES[name] = Kind(
        name=name, title=title, build=build, parameters=parameters, adaptive=adaptive, sampled=sampled,
        drawn=drawn or sampled, restored=restored,
    )  # fmt: skip


def find_strategy(name: str) -> Kind:
    """Return the strategy of that name or alias; an error with the nearest names where there is none."""
    known = ALIASES.get(name, name)
    if known not in STRATEGIES:
        raise UnknownNameError("strategy", name, STRATEGIES)
    return STRATEGIES[known]


def make_strategy(name: str, pool: Retrieved, *, seed: int = 0, **parameters: Any) -> Strategy:
    """Make a strategy over the documents of a pool, before anything is judged.

    `pool` has the runs that contribute, cut to the depth of the pool.
    """
    kind = find_strategy(name)
    return kind.build(pool, seed, kind.complete(parameters))


def restore(state: State, pool: Retrieved) -> Strategy:
    """Return the strategy that gave this state, over the same pool."""
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
    """Give a strategy judgments that were made before."""
    for document, grade in judgments:
        strategy.judge(document, grade)


def fingerprint(pool: Retrieved) -> int:
    """Return a number that tells pools apart: by their topics, documents and lists."""
    marks = zlib.crc32(byte_order("\n".join(pool.topics)))
    marks = zlib.crc32(pool.docs.words().tobytes(), marks)
    return zlib.crc32(pool.lists.tobytes(), marks)


# -- judging with known judgments ------------------------------------------------------------------


def judging(
    strategy: Strategy, grades: Values, budget: int | None = None, progress: Progress | None = None
) -> Iterator[Pick]:
    """Have a strategy judge what it chooses, one document after the other; give each once it is judged.

    `grades` are those of every document; NaN: nobody judged it, and it counts as not relevant. It ends where
    nothing is left, or the budget is spent.
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
    """The documents in the order in which a strategy had them judged."""

    picks: tuple[Pick, ...]
    grades: Values  # (pick,) NaN: not judged, which counted as not relevant
    relevant: int  # documents that are relevant, found or not
    level: float

    @property
    def found(self) -> Counts:
        """(pick,): relevant documents found so far."""
        return np.cumsum(self.grades >= self.level)

    @property
    def unknown(self) -> int:
        """How many of the documents are not in the judgments."""
        return int(np.count_nonzero(np.isnan(self.grades)))

    def found_at(self, judged: int) -> float:
        """Return the share of the relevant documents that so many judgments found; NaN: there are none."""
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
    """Return what a strategy has judged within a budget (None: until nothing is left), see `judging`.

    The relevant documents among the grades are what there is to find: set those outside the pool to NaN.
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
    """Make a strategy that hands out shuffled batches: each holds the next `size` documents of a topic.

    `before` holds judgments by document number that were made before the first batch.
    """
    make = partial(make_strategy, name, pool, seed=seed, **parameters)
    return Batches(make, pool, size, seed=seed, before=(before or {}).items())


class Batches:
    """A strategy that hands out another one's documents in batches of one topic, in random order.

    An order that follows the judgments tells assessors where a document came from: who sees documents of a
    run that was right before can guess how the next one will turn out. The larger a batch is, the less its
    order tells, and the later the strategy learns what was found.

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
        before: Iterable[tuple[int, float | None]],
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
        judge_all(self, standing.items())

    def state(self) -> State:
        """Plain data from which the same strategy can be made."""
        judgments = [[document, grade] for document, grade in self._grades.items()]
        before = [[document, grade] for document, grade in self._before.items()]
        batches = {"size": self._size, "seed": self._seed, "before": before}
        return {**self._inner.state(), "judgments": judgments, "batches": batches}

    def _begin(self) -> None:
        self._inner = self._make()
        judge_all(self._inner, self._before.items())
        self._grades: dict[int, float | None] = {}
        self._open: list[dict[int, Pick]] = [{} for _ in self._names]  # (topic,) what is left of its batch
        self._made = [0] * len(self._names)  # (topic,) batches so far
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
