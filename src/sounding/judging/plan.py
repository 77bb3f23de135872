"""What is judged and in which order, as the log says: settings, runs, topics, orders. No judgment enters."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from sounding.collection.strategies import make_sample
from sounding.data.formats import parse_run
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Run
from sounding.errors import DataError
from sounding.judging.events import Event
from sounding.judging.records import IN_USE, DamagedError, TopicStatus
from sounding.judging.settings import Order, Settings, settings_of
from sounding.retrieved import Retrieved, read_retrieved

_KEPT = re.compile(r"(\S+) Q0 (.+) [0-9]+ ([0-9]+) .+")  # a line of a run as it is kept


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


class _Stay(NamedTuple):
    """That what was drawn for a topic stays although more runs come."""

    runs: int  # how many there were
    rule: str  # of the order that was in force


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
        self._first: dict[tuple[str | None, str], int] = {}
        # (topic or None: all, rule of a sample) -> runs that there were when it first came in force
        self._stays: dict[str, list[_Stay]] = {}  # by topic
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

        What is drawn depends on the runs and the seed alone, and not on what was judged or how. Of runs that
        came when something was judged, what they brought beside the others was drawn by itself.
        """
        order = self._sample_order(topic)
        if order is None or not self.runs or topic not in self.every.topics:
            return None
        draws, present = self.draws(topic, order), self.order(topic)
        in_force = present.rule == order.rule
        others = [stay.runs for stay in self._stays.get(topic, ()) if stay.rule != order.rule]
        # What came when it had given way is no part of it, unless it came back.
        last = len(self.runs) if in_force else min({*draws} & {*others}, default=len(self.runs))
        # Topics are drawn apart from each other, so that one that is not in use has its sample as well.
        alone = self.every.of_topics([self.every.topics.index(topic)]).pick(range(last))
        strategy = make_sample(
            order.policy, alone, draws={topic: [end for end in draws if end < last]}, seed=self.settings.seed,
            **order.parameters,
        )  # fmt: skip
        drawn = {pick.document for pick in strategy.next([0], len(alone.docs))}
        docs = alone.docs.texts()
        documents = {
            docs[number]: Sampled(*strategy.design(number), number in drawn)
            for number in alone.best_ranks().nonzero()[0].tolist()
        }
        return Sample(documents=documents, in_force=in_force)

    def draws(self, topic: str, order: Order) -> tuple[int, ...]:
        """How many runs there were at the end of each draw but the last of a sample of a topic."""
        since = min(self._first.get((each, order.rule), len(self.runs)) for each in (None, topic))
        return tuple(stay.runs for stay in self._stays.get(topic, ()) if stay.runs >= max(since, 1))

    def is_sampled(self, topic: str) -> bool:
        """Whether some order of a topic was a sample."""
        return self._sample_order(topic) is not None

    def take(self, event: Event) -> None:
        """Follow an event; those that say nothing about the plan are passed over."""
        if event.kind == "project":
            self._settings = settings_of(event.detail)
            order = self._settings.order
            if self._general is None or self._general.order != order:
                self._general = InForce(order, 0 if self._general is None else event.sequence)
                if order.is_sample:
                    self._general_sample = order
                    self._first.setdefault((None, order.rule), len(self.runs))
        elif event.kind == "order":
            self._reorder(event.topic, InForce(Order(**event.detail), event.sequence))
        elif event.kind == "run":
            for topic in event.detail.get("stay", ()):  # earlier releases drew anew
                self._stays.setdefault(topic, []).append(_Stay(len(self.runs), self.order(topic).rule))
            self.runs.append(event.detail["name"])
            self._every = None
        elif event.kind == "topic":
            self.statuses[event.topic or ""] = event.detail["status"]

    def _reorder(self, topic: str | None, in_force: InForce) -> None:
        sampled = in_force.order.is_sample
        if sampled:
            self._first.setdefault((topic, in_force.order.rule), len(self.runs))
        if topic is None:
            self._general, self._orders = in_force, {}
            if sampled:
                self._general_sample, self._samples = in_force.order, {}
        else:
            self._orders[topic] = in_force
            if sampled:
                self._samples[topic] = in_force.order

    def _sample_order(self, topic: str) -> Order | None:
        """The last order of a topic that was a sample; None: none was."""
        return self._samples.get(topic, self._general_sample)

    def _read(self) -> Retrieved:
        if not self.runs:
            raise DataError(
                "the project has no runs yet; add some with: sounding judge import DIR --runs ..."
            )
        runs = [run_of(name, self._read_run(name)) for name in self.runs]
        return read_retrieved(runs, depth=self.settings.depth)


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
    return _with_blanks(name, text, problems) if problems.found else run


def _with_blanks(name: str, text: bytes, problems: Problems) -> Run:
    """A run as releases kept it that took ids and tags with blanks in them from tables."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")[:-1]
    found = [match.groups() for line in lines if (match := _KEPT.fullmatch(line))]
    if len(found) != len(lines):
        problems.refuse()
    topics, docs, scores = zip(*found, strict=True)
    return Run.from_columns(topics, docs, map(float, scores), name=name)
