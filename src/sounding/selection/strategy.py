"""What is judged next: the protocol that every way of choosing documents follows, and which ways there are.

Pools, samples, the simulation of judging and the judging server speak to a `Strategy` and do not know
which one it is. What a strategy does next depends on the runs, its parameters, its seed and the judgments
that stand, and on nothing else: what was taken back has left no trace, and a clock is never asked.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

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
        """The next documents to judge, of these topics (None: of all); fewer where no more are left.

        Asking changes nothing. Several at once are what would follow if none of them were relevant.
        """

    def judge(self, document: int, grade: float | None) -> None:
        """Take in a judgment; None: it could not be judged, stays unjudged and does not come again."""

    def undo(self, document: int) -> None:
        """Take a judgment back: everything is as if it had never been made."""

    def state(self) -> State:
        """Plain data from which `restore` makes the same strategy."""


class Sample(Strategy, Protocol):
    """A strategy that draws a random part of the pool."""

    def design(self, document: int) -> tuple[int | None, float | None]:
        """Stratum and chance of a document of the pool, drawn or not; None: there are no strata."""


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


STRATEGIES: dict[str, Kind] = {}


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


def fingerprint(pool: Retrieved) -> int:
    """A number that tells pools apart: their topics, documents and lists."""
    marks = zlib.crc32("\n".join(pool.topics).encode("utf-8", "surrogateescape"))
    marks = zlib.crc32(pool.docs.words().tobytes(), marks)
    return zlib.crc32(pool.lists.tobytes(), marks)
