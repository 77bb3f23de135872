"""Follow the settings, runs, topics and orders in the log, which determine what is judged in which order."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sounding.core.errors import DataError, UnknownNameError
from sounding.data.formats import Place, parse_run
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Run
from sounding.judge.records import IN_USE, DamagedError, Event, TopicStatus
from sounding.judge.settings import MTC, Order, Settings, settings_of
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.samples import make_sample
from sounding.selection.strategies import TopicQueues


@dataclass(frozen=True, slots=True)
class InForce:
    """An order, and the event that put it in force; 0: the project's first order."""

    order: Order
    version: int


class SampledDocument(NamedTuple):
    """The place of a pooled document in a sampling design."""

    stratum: int | None
    chance: float | None  # probability of being drawn
    drawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSample:
    """The sample of a topic, and whether the topic is still judged by it."""

    documents: dict[str, SampledDocument]
    in_force: bool


class _Stay(NamedTuple):
    """A record that a topic's drawn sample was kept when more runs were added."""

    runs: int  # number of earlier runs
    rule: str  # rule of the order in force


class _Adoption(NamedTuple):
    """The number of runs when a sample came into force for the first and for the last time."""

    first: int
    last: int


class Agenda:
    """Documents to judge, in order, after the events so far."""

    def __init__(self, read_run: Callable[[str], bytes]) -> None:
        """Start without events; `read_run` returns the content of a run by name."""
        self.runs: list[str] = []
        self.statuses: dict[str, TopicStatus] = {}  # topic -> status; a topic without one is in use
        self._read_run = read_run
        self._settings: Settings | None = None
        self._orders: dict[str, InForce] = {}
        self._general: InForce | None = None
        self._samples: dict[str, Order] = {}  # topic -> its last own order that was a sample
        self._general_sample: Order | None = None
        # Keys: topic (None: all) and rule of a sample.
        self._adoptions: dict[tuple[str | None, str], _Adoption] = {}
        self._stays: dict[str, list[_Stay]] = {}  # by topic
        self._all_lists: Retrieved | None = None

    @property
    def settings(self) -> Settings:
        """Return the current settings of the project."""
        if self._settings is None:
            raise DamagedError("the log does not begin with the settings of a project; is this its database?")
        return self._settings

    @property
    def of_pairs(self) -> bool:
        """Return whether pairs of documents are judged."""
        return self._settings is not None and self._settings.of_pairs

    @property
    def all_lists(self) -> Retrieved:
        """Return what the runs retrieved, including topics that are not in use."""
        if self._all_lists is None:
            self._all_lists = self._read()
        return self._all_lists

    def in_use(self, topic: str) -> bool:
        """Return whether a topic is judged and counts: it is neither a candidate nor dropped."""
        return self.statuses.get(topic, IN_USE) == IN_USE

    def order(self, topic: str) -> Order:
        """Return the order in which a topic is judged."""
        return self.in_force(topic).order

    def general_order(self) -> Order:
        """Return the order of topics without an order of their own."""
        return self.settings.order if self._general is None else self._general.order

    def own_orders(self) -> list[str]:
        """Return the topics with an order of their own."""
        return list(self._orders)

    def in_force(self, topic: str) -> InForce:
        """Return the order of a topic, and the event that put it in force."""
        return self._orders.get(topic) or self._general or InForce(self.settings.order, 0)

    def sample(self, topic: str) -> TopicSample | None:
        """Return the last sample of a topic; None: its orders were no samples, or nothing can be drawn.

        Nothing can be drawn if no run has the topic, or if lists go beyond the strata of a sample that was
        replaced before anything was judged.

        The draw depends only on the runs and the seed, never on judgments. If runs were added after judging
        began, the documents that only they retrieved were drawn separately.
        """
        order = self._sample_order(topic)
        if order is None or not self.runs or topic not in self.all_lists.topics:
            return None
        in_force = self.order(topic).rule == order.rule
        last = len(self.runs) if in_force else self._last_run(topic, order)
        alone = self._of_topic(topic).pick(range(last))
        try:
            strategy = self._draw(order, alone, [end for end in self.draws(topic, order) if end < last])
        except DataError:
            return None
        drawn = {pick.document for pick in strategy.next([0], len(alone.docs))}
        docs = alone.docs.texts()
        documents = {
            docs[number]: SampledDocument(*strategy.design(number), number in drawn)
            for number in alone.best_ranks().nonzero()[0].tolist()
        }
        return TopicSample(documents=documents, in_force=in_force)

    def draws(self, topic: str, order: Order) -> tuple[int, ...]:
        """Return the number of runs at the end of each draw of a topic's sample, except the last."""
        since = min((one.first for one in self._adoptions_of(topic, order)), default=len(self.runs))
        return tuple(stay.runs for stay in self._stays.get(topic, ()) if stay.runs >= max(since, 1))

    def check_order(self, topic: str | None, order: Order) -> None:
        """Refuse an order of a topic (None: of all) if it is a sample that cannot be drawn from the runs.

        Refuse as well the name of a run that the project does not have.
        """
        if self.runs:
            chosen = order.session_parameters() if order.policy == MTC else {}
            for name in (*chosen.get("pair", ()), *([chosen["baseline"]] if "baseline" in chosen else [])):
                if name not in self.all_lists.runs:
                    raise UnknownNameError("run", name, self.all_lists.runs)
        if order.is_sample and self.runs:
            for name in self.all_lists.topics if topic is None else {topic} & {*self.all_lists.topics}:
                self._check_draw(order, self._of_topic(name), self.draws(name, order))

    def check_runs(self, retrieved: Retrieved) -> None:
        """Refuse runs that go beyond the last stratum of a sample in force."""
        for number, topic in enumerate(retrieved.topics):
            if self.order(topic).is_sample:
                self._check_draw(self.order(topic), retrieved.of_topics([number]), ())

    def is_sampled(self, topic: str) -> bool:
        """Return whether any order of a topic was a sample."""
        return self._sample_order(topic) is not None

    def take(self, event: Event) -> None:
        """Process an event; ignore kinds that do not affect the plan."""
        if event.kind == "project":
            self._settings = settings_of(event.detail)
            order = self._settings.order
            if self._general is None or self._general.order != order:
                self._general = InForce(order, 0 if self._general is None else event.sequence)
                if order.is_sample:
                    self._general_sample = order
                    self._note_adoption(None, order)
        elif event.kind == "order":
            self._reorder(event.topic, InForce(Order(**event.detail), event.sequence))
        elif event.kind == "run":
            for topic in event.detail.get("stay", ()):
                self._stays.setdefault(topic, []).append(_Stay(len(self.runs), self.order(topic).rule))
            self.runs.append(event.detail["name"])
            self._all_lists = None
        elif event.kind == "topic":
            self.statuses[event.topic or ""] = event.detail["status"]

    def _reorder(self, topic: str | None, in_force: InForce) -> None:
        sampled = in_force.order.is_sample
        if sampled:
            self._note_adoption(topic, in_force.order)
        if topic is None:
            self._general, self._orders = in_force, {}
            if sampled:
                self._general_sample, self._samples = in_force.order, {}
        else:
            self._orders[topic] = in_force
            if sampled:
                self._samples[topic] = in_force.order

    def _note_adoption(self, topic: str | None, sample: Order) -> None:
        runs = len(self.runs)
        before = self._adoptions.get((topic, sample.rule), _Adoption(runs, runs))
        self._adoptions[topic, sample.rule] = before._replace(last=runs)

    def _adoptions_of(self, topic: str, sample: Order) -> list[_Adoption]:
        found = (self._adoptions.get((each, sample.rule)) for each in (None, topic))
        return [adoption for adoption in found if adoption is not None]

    def _last_run(self, topic: str, sample: Order) -> int:
        """Return the number of runs in a replaced sample; later runs are no part of it."""
        came = max((one.last for one in self._adoptions_of(topic, sample)), default=0)
        others = {stay.runs for stay in self._stays.get(topic, ()) if stay.rule != sample.rule}
        gone = {end for end in self.draws(topic, sample) if end >= came}  # and it was not restored
        return min(gone & others, default=len(self.runs))

    def _of_topic(self, topic: str) -> Retrieved:
        """Return the lists of one topic, because each topic is drawn separately, in use or not."""
        return self.all_lists.of_topics([self.all_lists.topics.index(topic)])

    def _draw(self, sample: Order, alone: Retrieved, draws: Sequence[int]) -> TopicQueues:
        return make_sample(
            sample.policy, alone, draws={alone.topics[0]: draws}, seed=self.settings.seed,
            **sample.parameters,
        )  # fmt: skip

    def _check_draw(self, sample: Order, alone: Retrieved, draws: Sequence[int]) -> None:
        try:
            self._draw(sample, alone, draws)
        except DataError as error:
            raise DataError(f"topic {alone.topics[0]}: {error}") from None

    def _sample_order(self, topic: str) -> Order | None:
        """Return the last order of a topic that was a sample, or None."""
        return self._samples.get(topic, self._general_sample)

    def _read(self) -> Retrieved:
        if not self.runs:
            raise DataError(
                "the project has no runs yet; add some with: sounding judge import DIR --runs ..."
            )
        runs = [Place(partial(self._run, name), name) for name in self.runs]  # read one at a time
        return read_retrieved(runs, depth=self.settings.depth)

    def _run(self, name: str) -> Run:
        return run_of(name, self._read_run(name))


def run_content(retrieved: Retrieved, run: int, topics: Collection[str]) -> bytes:
    """Return a run as it is stored: documents in order, with scores that only encode the order."""
    depth, tag, packed = retrieved.depth, retrieved.tags[run], io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as stream:
        for place, topic in enumerate(retrieved.topics):  # one at a time: all ids as texts need much memory
            if topic in topics:
                numbers = retrieved.lists[run, place]
                docs = retrieved.docs[numbers[numbers >= 0]].texts()
                lines = (
                    f"{topic} Q0 {doc} {rank + 1} {depth - rank} {tag}\n" for rank, doc in enumerate(docs)
                )
                stream.write("".join(lines).encode("utf-8", "surrogateescape"))
    return packed.getvalue()


def run_of(name: str, content: bytes) -> Run:
    """Return a stored run."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(f"run {name!r} is damaged in the database ({error}); restore a backup") from error
    problems = Problems(name)
    run = parse_run(Content.from_bytes(name, text), problems, format="trec", name=name)
    problems.refuse()
    return run
