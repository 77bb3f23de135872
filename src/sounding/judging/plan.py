"""What is judged and in which order, as the log says: settings, runs, topics, orders. No judgment enters."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from sounding.collection.strategies import find_strategy, make_strategy
from sounding.data.formats import parse_run
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Run
from sounding.errors import DataError
from sounding.judging.events import Event
from sounding.judging.records import IN_USE, DamagedError, TopicStatus
from sounding.judging.settings import MTC, Order, Settings, settings_of
from sounding.retrieved import Retrieved, read_retrieved


@dataclass(frozen=True, slots=True)
class InForce:
    """An order, and the event that put it in force; 0: the project's own."""

    order: Order
    version: int


class Sampled(NamedTuple):
    """What a sampling design says of a document of the pool."""

    stratum: int | None
    chance: float | None  # of being drawn
    drawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The sample of a topic, and whether its order still brings it."""

    documents: dict[str, Sampled]
    in_force: bool


class Plan:
    """What is to be judged after the events that it was given."""

    def __init__(self, read_run: Callable[[str], bytes]) -> None:
        """`read_run` gives the content of a run that an event names."""
        self.runs: list[str] = []
        self.statuses: dict[str, TopicStatus] = {}  # of topics; one that has none is in use
        self._read_run = read_run
        self._settings: Settings | None = None
        self._orders: dict[str, InForce] = {}
        self._general: InForce | None = None
        self._samples: dict[str, Order] = {}  # topic -> the last of its own orders that was a sample
        self._general_sample: Order | None = None
        self._every: Retrieved | None = None

    @property
    def settings(self) -> Settings:
        """What the project was set up with."""
        if self._settings is None:
            raise DamagedError("the log does not begin with the settings of a project; is this its database?")
        return self._settings

    @property
    def every(self) -> Retrieved:
        """What the runs retrieved, also for topics that are not in use."""
        if self._every is None:
            self._every = self._read()
        return self._every

    def in_use(self, topic: str) -> bool:
        """Whether a topic is judged by its order and counts: neither a candidate nor dropped."""
        return self.statuses.get(topic, IN_USE) == IN_USE

    def order(self, topic: str) -> Order:
        """In which order a topic is judged."""
        return self.in_force(topic).order

    def general_order(self) -> Order:
        """In which order topics are judged that have none of their own."""
        return self.settings.order if self._general is None else self._general.order

    def in_force(self, topic: str) -> InForce:
        """The order of a topic, and since when it is."""
        own = self._orders.get(topic) or self._general
        return InForce(self.general_order(), 0) if own is None else own

    def sample(self, topic: str) -> Sample | None:
        """The last sample that an order of a topic was; None: no order was, or no run has the topic.

        What is drawn depends on the runs and the seed alone, and not on what was judged, how or when.
        """
        order = self._samples.get(topic, self._general_sample)
        if order is None or not self.runs or topic not in self.every.topics:
            return None
        # Topics are drawn apart from each other, so that one that is not in use has its sample as well.
        alone = self.every.of_topics([self.every.topics.index(topic)])
        strategy = make_strategy(order.policy, alone, seed=self.settings.seed, **order.parameters)
        drawn = {pick.document for pick in strategy.next([0], len(alone.docs))}
        documents = {}
        for number, doc in enumerate(alone.docs.texts()):
            stratum, chance = strategy.design(number)  # type: ignore[attr-defined]
            documents[doc] = Sampled(stratum, chance, number in drawn)
        present = self.order(topic)
        same = (present.policy, present.parameters) == (order.policy, order.parameters)
        return Sample(documents=documents, in_force=same)

    def take(self, event: Event) -> None:
        """Follow an event; those that say nothing about the plan are passed over."""
        if event.kind == "project":
            self._settings = settings_of(event.detail)
            order = self._settings.order
            if self._general is None or self._general.order != order:
                self._general = InForce(order, 0 if self._general is None else event.sequence)
                self._general_sample = order if _is_sample(order) else self._general_sample
        elif event.kind == "order":
            self._reorder(event.topic, InForce(Order(**event.detail), event.sequence))
        elif event.kind == "run":
            self.runs.append(event.detail["name"])
            self._every = None
        elif event.kind == "topic":
            self.statuses[event.topic or ""] = event.detail["status"]

    def _reorder(self, topic: str | None, in_force: InForce) -> None:
        sampled = _is_sample(in_force.order)
        if topic is None:
            self._general, self._orders = in_force, {}
            if sampled:
                self._general_sample, self._samples = in_force.order, {}
        else:
            self._orders[topic] = in_force
            if sampled:
                self._samples[topic] = in_force.order

    def _read(self) -> Retrieved:
        if not self.runs:
            raise DataError(
                "the project has no runs yet; add some with: sounding judge import DIR --runs ..."
            )
        runs = [run_of(name, self._read_run(name)) for name in self.runs]
        return read_retrieved(runs, depth=self.settings.depth)


def _is_sample(order: Order) -> bool:
    return order.policy != MTC and find_strategy(order.policy).sampled


def run_content(retrieved: Retrieved, run: int, topics: Collection[str]) -> bytes:
    """One run as it is kept: its documents in their order, with scores that say no more than that."""
    docs, depth = retrieved.docs.texts(), retrieved.depth
    lines = [
        f"{topic} Q0 {docs[number]} {rank + 1} {depth - rank} {retrieved.tags[run]}\n"
        for place, topic in enumerate(retrieved.topics)
        if topic in topics
        for rank, number in enumerate(retrieved.lists[run, place].tolist())
        if number >= 0
    ]
    return gzip.compress("".join(lines).encode("utf-8", "surrogateescape"), mtime=0)


def run_of(name: str, content: bytes) -> Run:
    """The run that was kept."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(f"run {name!r} is damaged in the database ({error}); restore a backup") from error
    problems = Problems(name)
    run = parse_run(Content.from_bytes(name, text), problems, format="trec", name=name)
    problems.refuse()
    return run
