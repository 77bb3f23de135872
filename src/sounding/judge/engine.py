"""The interface of the judging pages: next documents, judgments, orders, runs, confidence in the ranking.

All state comes from the log, so every process that follows the log has the same state, even a new one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import first_few, plural, quote
from sounding.core.workers import Progress
from sounding.data.judgment_log import before_labels
from sounding.judge.agenda import run_content
from sounding.judge.ids import MOST_DOC, check_run_names, check_table
from sounding.judge.log import Last
from sounding.judge.merge_sort import check_docs
from sounding.judge.progress import Counts, Live, Unseen, counts_of, live_work
from sounding.judge.records import (
    LABELS,
    Ahead,
    Event,
    Lease,
    Marks,
    Receipt,
    Seen,
    Submission,
    Topic,
    TopicStatus,
)
from sounding.judge.search import Corpus, missing_from
from sounding.judge.settings import CORPUS, Order, Settings
from sounding.judge.state import CountedGrade, JudgingState
from sounding.judge.store import Store
from sounding.relevance.model import FIRST_REFIT
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session

QUIET_GROWTH = 1.1  # growth of the judgments since the last fit from which a pause is used to refit
LONG = ("project", "topic", "run", "order", "refit")  # kinds of events that may take long to process
FEW = 100  # this many other events are processed in no time
NAMED = 3  # topics listed in a message
TRIES = 3  # attempts to do slow work outside of a transaction


class Difference(NamedTuple):
    """A document on which assessors differ, with their grades in the order of judging."""

    topic: str
    doc: str
    grades: dict[str, float | None]
    settled: CountedGrade  # its grade by an organizer; "not judged" if not settled


class AddedRuns(NamedTuple):
    """The result of adding runs; their lists for topics that the project lacks are not stored."""

    names: tuple[str, ...]
    strangers: tuple[str, ...]
    stayed: tuple[str, ...]  # topics whose earlier sample was kept
    new: int  # documents of these topics that only the new runs retrieved
    drawn: int  # number of these that were sampled


AT_ONCE = 20_000  # documents looked up together: all ids as texts would need much memory


class Engine:
    """Judging on top of a store; its methods may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._replay = JudgingState(store.run)
        self._doubtful = False  # the replay may have processed events that were not recorded
        self._inside = False  # in a transaction of `together`, by the thread that holds the lock
        self._fitting = threading.Lock()
        self.catch_up()

    @property
    def settings(self) -> Settings:
        """Return the current settings of the project."""
        return self._replay.settings

    def catch_up(self) -> int:
        """Process events that other processes have added to the log; return the last event's number."""
        with self._lock:
            replay = JudgingState(self._store.run) if self._doubtful else self._replay
            replay.follow(self._events_after(replay, self._store.last_event()))
            self._replay, self._doubtful = replay, False
            return replay.sequence

    def _events_after(self, replay: JudgingState, last: Last) -> Iterator[Event]:
        """Return the events that a replay has not processed; refuse a log that lacks one it has processed.

        Such a log was replaced or restored to an earlier state, so event numbers would be used twice.
        Nothing is recorded from then on.
        """
        known = Last(replay.sequence, replay.time)
        if last == known:
            return iter(())
        events = self._store.events(max(0, known.sequence - 1), last.sequence)
        found = next(events, None) if known.sequence else None
        if known.sequence and (found is None or Last(found.sequence, found.time) != known):
            raise self._store.refuse(
                f"the log lacks event {known.sequence} as it was read before: it has gone back to an earlier"
                " state, or is another one; stop the server and start it again"
            )
        return events

    @contextmanager
    def _up_to_date(self) -> Iterator[JudgingState]:
        """Yield the current state of judging, locked for this thread."""
        with self._lock:
            self.catch_up()
            yield self._replay

    def get_ready(self) -> None:
        """Read the runs and prepare the next documents, so that the first request need not wait."""
        with self._up_to_date() as replay:
            replay.prepare()

    def next(self, assessor: str, topic: str, count: int = 1) -> list[Lease]:
        """Return up to `count` documents for an assessor: those already leased, then new ones.

        The first is to be judged now; a page can preload the second.
        """
        with self.together(topic):
            self.catch_up()
            if self.settings.of_pairs:
                self._release_decided(assessor, topic)
            return self._store.lease(
                assessor, topic, lambda asked: self._replay.offers(assessor, topic, asked), count=count,
                overlap=self.settings.sharing, seconds=self.settings.lease_seconds,
            )  # fmt: skip

    def _release_decided(self, assessor: str, topic: str) -> None:
        """Release the pairs of an assessor that other answers have decided meanwhile."""
        open_pairs = {offer.doc for offer in self._replay.offers(assessor, topic, 0)}
        for lease in self._store.leases(assessor, topic):
            if lease.doc not in open_pairs:
                self._store.release(assessor, topic, lease.doc)

    @contextmanager
    def together(self, topic: str | None = None) -> Iterator[None]:
        """Run the block as one transaction, recorded completely or not at all.

        Other processes cannot write meanwhile, so slow work, such as reading a new run or preparing the order
        of `topic`, is done first. If other processes keep adding such work, after some attempts it is done
        inside the transaction. A nested call is part of the outer transaction.
        """
        with self._lock:
            if self._inside:
                yield
                return
            for left in reversed(range(TRIES)):
                if self._doubtful or left < TRIES - 1:
                    self.catch_up()
                self._replay.prepare(topic)
                known = recorded = self._replay.sequence
                try:
                    with self._store.together():
                        last = self._store.last_event()
                        late = self._events_after(self._replay, last)
                        recorded = last.sequence
                        if left and (recorded > known + FEW or any(event.kind in LONG for event in late)):
                            continue
                        self._inside = True
                        yield
                        return
                except BaseException:
                    # Events processed since the transaction began are not recorded.
                    self._doubtful = self._doubtful or self._replay.sequence > recorded
                    raise
                finally:
                    self._inside = False

    def and_next(
        self, act: Callable[[], Receipt | None], assessor: str, topic: str, count: int
    ) -> tuple[Receipt | None, list[Lease]]:
        """Return the result of an action and the next documents, in one transaction."""
        with self.together(topic):
            return act(), self.next(assessor, topic, count) if count else []

    def judge(
        self,
        assessor: str,
        topic: str,
        doc: str,
        grade: float | None,
        *,
        key: str,
        comment: str = "",
        active: float | None = None,
        away: float | None = None,
        seen: Seen | None = None,
        marks: Marks | None = None,
        labels: Mapping[str, float] | None = None,
    ) -> Receipt:
        """Record a grade (None: cannot be judged) or a change of one; see `Store.judge` for `seen`."""
        self.settings.check_grade(grade)
        receipt = self._store.judge(
            Submission(
                assessor=assessor, topic=topic, doc=doc, grade=grade, key=key, comment=comment,
                active=active, away=away, seen=seen, marks=marks or {}, labels=dict(labels or {}),
            )
        )  # fmt: skip
        self._take_in(receipt)
        return receipt

    def _take_in(self, receipt: Receipt) -> None:
        """Process the log up to a recorded event, which is not read back if it is the next one."""
        with self._lock:
            if receipt.event.sequence == self._replay.sequence + 1 and not self._doubtful:
                self._replay.follow([receipt.event])
            else:
                self.catch_up()

    def withdraw(self, assessor: str, topic: str, doc: str | None = None, *, key: str) -> Receipt | None:
        """Undo an assessor's last action on a document (None: in the topic); return None if there is none.

        See `Store.withdraw`.
        """
        settings = self.settings
        receipt = self._store.withdraw(
            assessor, topic, doc, key=key, overlap=settings.sharing, seconds=settings.lease_seconds
        )
        self.catch_up()
        return receipt

    def skip(
        self,
        assessor: str,
        topic: str,
        doc: str,
        *,
        key: str,
        active: float | None = None,
        away: float | None = None,
    ) -> Receipt:
        """Skip a document: the assessor sees it again when nothing else is left."""
        receipt = self._store.skip(assessor, topic, doc, key=key, active=active, away=away)
        self.catch_up()
        return receipt

    def adjudicate(self, organizer: str, topic: str, doc: str, grade: float | None, *, key: str) -> Receipt:
        """Settle a document on which assessors differ, or differed when the organizer looked."""
        self.settings.check_grade(grade)
        with self.together():  # so that nobody withdraws its last judgment between check and record
            self.catch_up()
            if not self._replay.has_been_judged(topic, doc):
                raise DataError(
                    f"nobody has judged document {quote(doc)} of topic {quote(topic)}: there is nothing to"
                    " settle"
                )
            receipt = self._store.append(
                "adjudicate", assessor=organizer, topic=topic, doc=doc, grade=grade, key=key
            )
            self.catch_up()
            return receipt

    def short_of_assessors(self) -> dict[str, int]:
        """Return the topics that their assessors cannot finish, with the number of these assessors.

        Each document needs as many assessors as the overlap; people who cannot sign in do not count.
        """
        store = self._store
        who: dict[str, set[str]] = {topic.id: set() for topic in store.topics() if topic.in_use}
        for topic, assessor in store.assigned():
            if topic in who:
                who[topic].add(assessor.pseudonym)
        with self._up_to_date() as replay:
            return {topic: len(own) for topic, own in who.items() if not replay.can_finish(topic, own)}

    def topics_without_runs(self) -> list[str]:
        """Return the chosen topics that no run has, if there are runs; they have no documents to judge."""
        self.catch_up()
        known = self.topics()
        return [
            topic.id for topic in self._store.topics() if topic.in_use and known and topic.id not in known
        ]

    def differences(self) -> list[Difference]:
        """Return the documents of topics in use on which assessors differ, unsettled ones first."""
        with self._up_to_date() as replay:
            found = [
                Difference(*pair, opinions.grades, opinions.adjudicated)
                for pair, opinions in replay.opinions.items()
                if opinions.differ and replay.in_use(pair[0])
            ]
        return sorted(found, key=lambda one: (one.settled.judged, one.topic, one.doc))

    def unseen(self) -> Unseen:
        """Return the grades for agreement with machines whose labels were shown."""
        found: Unseen = {}
        with self._up_to_date() as replay:
            for pair, opinions in replay.opinions.items():
                for who, history in opinions.given.items() if replay.in_use(pair[0]) else ():
                    before = before_labels(history, lambda event: event.detail.get(LABELS, ()))
                    for machine, one in before.items():
                        found.setdefault((who, machine), {})[pair] = None if one is None else one.grade
        return found

    def ahead(self, assessor: str, topic: str) -> Ahead:
        """Return how many documents an assessor still has to judge in a topic."""
        with self._lock:
            return self._replay.ahead(assessor, topic)

    def order(self, topic: str) -> Order:
        """Return the order in which a topic is judged."""
        with self._lock:
            return self._replay.order(topic)

    def in_use(self, topic: str) -> bool:
        """Return whether a topic is judged and counts: it is neither a candidate nor dropped."""
        with self._lock:
            return self._replay.in_use(topic)

    def general_order(self) -> Order:
        """Return the order of topics without an order of their own."""
        with self._lock:
            return self._replay.general_order()

    def set_order(self, topic: str | None, order: Order, *, by: str | None = None) -> None:
        """Change the order of a topic (None: of all) from now on; leased documents stay leased."""
        self.settings.check_order(order)
        order.check()
        with self._up_to_date() as replay:
            replay.check_order(topic, order)
        self._store.append("order", topic=topic, assessor=by, detail=asdict(order.named))
        self.catch_up()

    def set_status(self, topic: str, status: TopicStatus, *, by: str | None = None) -> Topic:
        """Choose a topic, drop it, or make it a candidate; only chosen topics are judged and counted."""
        changed = self._store.set_status(topic, status, author=by)
        self.catch_up()
        return changed

    def change_settings(self, settings: Settings, *, by: str | None = None) -> None:
        """Change the settings; seed, depth and the grades in use must stay.

        To change the order of judging, use `set_order`.
        """
        present = self.settings
        if (settings.seed, settings.depth, settings.kind) != (present.seed, present.depth, present.kind):
            raise DataError("seed, depth and kind cannot change once a project has begun; make a new one")
        lost = {one.value for one in present.scale} - {one.value for one in settings.scale}
        if lost:
            raise DataError(f"the grade {min(lost):g} would be gone from the scale; keep it")
        with self.together():  # so that nobody changes the order between check and record
            self.catch_up()
            kept = replace(settings, order=self._replay.general_order())
            self._store.append("project", assessor=by, detail=kept.record())
            self.catch_up()

    def add_runs(
        self,
        runs: Any,
        *,
        topics: Collection[str] = (),
        names: Sequence[str] = (),
        run_format: str | None = None,
        progress: Progress | None = None,
    ) -> AddedRuns:
        """Add runs (files, folders, globs); their names, or the given `names`, must be new.

        Only their lists for `topics` are stored; without `topics`, all. A run without any of them is refused.
        """
        retrieved = read_retrieved(
            runs, depth=self.settings.depth, policies=DEFAULT_POLICIES, run_format=run_format,
            progress=progress, check=check_table,
        )  # fmt: skip
        if names:
            retrieved = _renamed(retrieved, names)
        check_run_names(retrieved.runs)
        if self.settings.of_pairs:
            check_docs(retrieved.docs.texts(), MOST_DOC)
        taken = sorted(set(retrieved.runs) & set(self._store.run_names()))
        if taken:
            raise DataError(
                f"there is a run {taken[0]!r} already; runs are never replaced, so give this one another name"
            )
        known = frozenset(topics or retrieved.topics)
        kept = np.array([topic in known for topic in retrieved.topics])
        lengths = np.where(kept, retrieved.lengths, 0)
        for number, name in enumerate(retrieved.runs):
            if not lengths[number].any():
                seen = retrieved.topics[int((retrieved.lengths[number] > 0).argmax())]
                raise DataError(f"run {name!r} has {none_of_the_topics(self._store, seen, known)}")
        contents = [run_content(retrieved, number, known) for number in range(len(retrieved.runs))]
        before = self._in_samples()
        with self.together():
            self.catch_up()
            self._replay.check_runs(retrieved.of_topics(kept.nonzero()[0].tolist()))
            begun = self._replay.begun_samples()
            stay = {"stay": begun} if begun else {}
            for number, name in enumerate(retrieved.runs):
                detail = {"documents": int(lengths[number].sum()), "topics": int((lengths[number] > 0).sum())}
                # Runs that are added together form one further draw.
                self._store.add_run(name, contents[number], {**detail, **({} if number else stay)})
        self.catch_up()
        after = self._in_samples()
        new = [pair for pair in after if pair not in before]
        return AddedRuns(
            retrieved.runs,
            tuple(topic for topic in retrieved.topics if topic not in known),
            tuple(dict.fromkeys(topic for topic, _ in after)),
            len(new),
            sum(after[pair] for pair in new),
        )

    def _in_samples(self) -> dict[tuple[str, str], bool]:
        """Map (topic, doc) of samples that are in force and partly judged to whether it was drawn."""
        with self._up_to_date() as replay:
            found = ((topic, replay.sample(topic)) for topic in replay.begun_samples())
            return {
                (topic, doc): one.drawn
                for topic, sample in found
                if sample is not None and sample.in_force
                for doc, one in sample.documents.items()
            }

    def run_names(self) -> tuple[str, ...]:
        """Return the runs in the order in which they were added."""
        with self._lock:
            return tuple(self._replay.runs)

    def topics(self) -> tuple[str, ...]:
        """Return the topics for which any run has documents."""
        with self._lock:
            return self._replay.all_lists.topics if self._replay.runs else ()

    def pool_sizes(self) -> dict[str, int]:
        """Return how many documents the runs have for each topic in use."""
        with self._up_to_date() as replay:
            if not replay.runs:
                return {}
            sizes = zip(replay.all_lists.topics, replay.all_lists.sizes.tolist(), strict=True)
            return {topic: size for topic, size in sizes if replay.in_use(topic)}

    def brings(self, topic: str, doc: str) -> bool:
        """Return whether any run has a document for a topic."""
        with self._lock:
            if not self._replay.runs or topic not in self._replay.all_lists.topics:
                return False
            every = self._replay.all_lists
        return doc in every.of_topics([every.topics.index(topic)]).docs.texts()

    def lost(self, corpus: Corpus, runs: Collection[str] | None = None) -> list[tuple[str, str]]:
        """Return the (topic, doc) that runs (None: all) retrieved but the corpus lacks."""
        with self._lock:
            if not self._replay.runs:
                return []
            retrieved = self._replay.all_lists
        rows = [number for number, name in enumerate(retrieved.runs) if runs is None or name in runs]
        numbers = np.unique(retrieved.lists[rows])
        numbers = numbers[numbers >= 0]
        found: list[tuple[str, str]] = []
        for part in np.split(numbers, range(AT_ONCE, len(numbers), AT_ONCE)):
            topics = [retrieved.topics[number] for number in retrieved.topic[part].tolist()]
            docs = retrieved.docs[part].texts()
            found += missing_from(corpus, list(zip(topics, docs, strict=True)))
        return found

    def why_no_ranking(self) -> str:
        """Return why the runs cannot be ranked, as a sentence; "" if they can."""
        with self._up_to_date() as replay:
            if not replay.runs:
                return "There are no runs yet."
            if replay.settings.of_pairs:
                return "Preferences rank no runs here: export prefs, and evaluate the runs by them."
            return "" if replay.ready else "No topic that the runs have is in use."

    def counts(self) -> Counts:
        """Return how much is judged, even if the runs cannot be ranked."""
        with self._up_to_date() as replay:
            return counts_of(replay)

    def live(self) -> Live:
        """Return how certain the ranking is, for organizers only; judging continues meanwhile."""
        with self._up_to_date() as replay:
            work = live_work(replay)
        return work()

    def refit_if_due(self, *, quiet: bool = False) -> bool:
        """Refit the relevance model if the judgments have doubled; meant for a background thread.

        While nobody judges (`quiet`), a tenth more judgments are enough. Both the start and the end of a fit
        are events, so that every process and every replay uses the same fit from the same judgment on.
        """
        with self._fitting:
            with self._lock:
                self.catch_up()
                if not self._replay.ready or not _is_due(self._replay.session, quiet):
                    return False
                asked = self._store.append("fit", detail={"process": uuid4().hex}).event.sequence
                self.catch_up()
                work = self._replay.asked_fit(asked)
            if work is None:
                return False
            fit = work()
            with self._lock:
                self._replay.ready_fit = (asked, fit)
                self._store.append("refit", detail={"fit": asked})
                self.catch_up()
        return True


def _is_due(session: Session, quiet: bool) -> bool:
    enough = max(FIRST_REFIT, math.ceil(QUIET_GROWTH * session.version))
    return session.refit_due() or (quiet and session.learns and session.judgments >= enough)


def _renamed(retrieved: Retrieved, names: Sequence[str]) -> Retrieved:
    """Return the runs with other names, one for each, in their order."""
    if len(names) != len(retrieved.runs):
        given = plural(len(names), "name")
        raise DataError(f"--name: {given} for {plural(len(retrieved.runs), 'run')}; give one for each")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"--name {twice}: two runs would have this name; give each its own")
    return replace(retrieved, runs=tuple(names))


def none_of_the_topics(store: Store, seen: str, known: Collection[str]) -> str:
    """Return the message for a file that has a topic `seen` but none of the `known` ones."""
    used = [topic.id for topic in store.topics() if topic.in_use] or sorted(known)
    few = first_few([quote(topic) for topic in used], NAMED)
    return f"none of the project's topics; it has {quote(seen)}, the project {few}"


def first_settings(store: Store, settings: Settings, corpus: str | None = None) -> None:
    """Record the settings of a new project and the hash of its corpus as the first event of the log."""
    settings.order.check()
    if store.last_sequence():
        raise DataError(f"{store.place}: the database has a project already; give another one")
    record = replace(settings, order=settings.order.named).record()
    store.append("project", detail=record if corpus is None else {**record, CORPUS: corpus})
