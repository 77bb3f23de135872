"""What the judging pages talk to: the next documents, judgments, orders, runs, and how sure the ranking is.

Nothing is kept here that the log does not have: every process follows the log, and a new one begins where
all others are.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import first_few, quote
from sounding.core.workers import Progress
from sounding.judge.agenda import run_content
from sounding.judge.ids import check_table
from sounding.judge.log import Last
from sounding.judge.progress import Counts, Live, counts_of, live_work
from sounding.judge.records import Ahead, Event, Lease, Receipt, Seen, Submission, Topic, TopicStatus
from sounding.judge.search import Corpus, missing_from
from sounding.judge.settings import CORPUS, Order, Settings
from sounding.judge.state import CountedGrade, JudgingState
from sounding.judge.store import Store
from sounding.relevance.model import FIRST_REFIT
from sounding.runs.retrieved import read_retrieved
from sounding.selection.mtc.session import Session

QUIET_GROWTH = 1.1  # times as many judgments as the model knows, from which on it is fitted in a pause
LONG = ("project", "topic", "run", "order", "refit")  # events that may take long to follow
FEW = 100  # other events, which are followed in no time
NAMED = 3  # topics of the project in a message
TRIES = 3  # times that work outside a transaction begins anew since others have done more


class Difference(NamedTuple):
    """A document on which assessors differ, with their grades in the order in which they judged."""

    topic: str
    doc: str
    grades: dict[str, float | None]
    settled: CountedGrade  # not judged: no organizer has settled it


class AddedRuns(NamedTuple):
    """Runs that were added, and topics of theirs that the project does not have: nothing of them is kept."""

    names: tuple[str, ...]
    strangers: tuple[str, ...]
    stayed: tuple[str, ...]  # topics whose sample goes on: what was drawn before stays
    new: int  # documents that the runs bring for these beside the earlier ones
    drawn: int  # of them


class Engine:
    """Judging over a store; its methods may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._replay = JudgingState(store.run)
        self._doubtful = False  # whether the replay may know of what the log does not have
        self._inside = False  # a transaction of `together`, in the thread that has the lock
        self._fitting = threading.Lock()
        self.catch_up()

    @property
    def settings(self) -> Settings:
        """Return what the project was set up with."""
        return self._replay.settings

    def catch_up(self) -> int:
        """Follow what other processes have added to the log; returns the last event's number."""
        with self._lock:
            replay = JudgingState(self._store.run) if self._doubtful else self._replay
            replay.follow(self._events_after(replay, self._store.last_event()))
            self._replay, self._doubtful = replay, False
            return replay.sequence

    def _events_after(self, replay: JudgingState, last: Last) -> Iterator[Event]:
        """The events that a replay has yet to follow; none of a log that lacks what it followed.

        Such a one was replaced, or has gone back to an earlier state: numbers would be given out a second
        time. Nothing is recorded from then on.
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
        """Yield where judging stands by now, for this thread alone."""
        with self._lock:
            self.catch_up()
            yield self._replay

    def get_ready(self) -> None:
        """Read the runs and make what the next documents need, for which the first to ask would wait."""
        with self._up_to_date() as replay:
            replay.prepare()

    def next(self, assessor: str, topic: str, count: int = 1) -> list[Lease]:
        """The documents that an assessor has at hand, then new ones, up to `count`; fewer: no more are left.

        One is to be judged now; a second one can be loaded meanwhile.
        """
        with self.together(topic):
            self.catch_up()
            return self._store.lease(
                assessor, topic, lambda asked: self._replay.offers(assessor, topic, asked), count=count,
                overlap=self.settings.overlap, seconds=self.settings.lease_seconds,
            )  # fmt: skip

    @contextmanager
    def together(self, topic: str | None = None) -> Iterator[None]:
        """One transaction for all that is done inside: it is recorded when this ends, or nothing of it is.

        Other processes cannot write meanwhile: what takes long, as after a run that another process has
        added, is done before it begins anew, also what the order of `topic` needs. Where others keep adding
        such things, it is done inside after all: nobody waits for them to stop. One inside another is part
        of it.
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
                    # What was followed and not there when it began is not recorded.
                    self._doubtful = self._doubtful or self._replay.sequence > recorded
                    raise
                finally:
                    self._inside = False

    def and_next(
        self, act: Callable[[], Receipt | None], assessor: str, topic: str, count: int
    ) -> tuple[Receipt | None, list[Lease]]:
        """What an act of this engine gives, and the documents at hand after it, all in one transaction."""
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
    ) -> Receipt:
        """Record a grade (None: cannot be judged), or the change of one; see `Store.judge` for `seen`."""
        self.settings.check_grade(grade)
        receipt = self._store.judge(
            Submission(
                assessor=assessor, topic=topic, doc=doc, grade=grade, key=key, comment=comment,
                active=active, away=away, seen=seen,
            )
        )  # fmt: skip
        self._take_in(receipt)
        return receipt

    def _take_in(self, receipt: Receipt) -> None:
        """Follow the log to what was recorded, which need not be read back where it is the next event."""
        with self._lock:
            if receipt.event.sequence == self._replay.sequence + 1 and not self._doubtful:
                self._replay.follow([receipt.event])
            else:
                self.catch_up()

    def withdraw(self, assessor: str, topic: str, doc: str | None = None, *, key: str) -> Receipt | None:
        """Take back the last act of an assessor on a document (None: in the topic); None: there is none.

        See `Store.withdraw`.
        """
        settings = self.settings
        receipt = self._store.withdraw(
            assessor, topic, doc, key=key, overlap=settings.overlap, seconds=settings.lease_seconds
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
        """Put a document off: the assessor sees it again when nothing else is left."""
        receipt = self._store.skip(assessor, topic, doc, key=key, active=active, away=away)
        self.catch_up()
        return receipt

    def adjudicate(self, organizer: str, topic: str, doc: str, grade: float | None, *, key: str) -> Receipt:
        """Settle a document on which assessors differ, or did when the organizer looked."""
        self.settings.check_grade(grade)
        with self.together():  # nobody takes the last judgment of it back between the look and the record
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
        """Topics that can never be finished by those who are to judge them, and how many these are.

        Every document is to be judged by as many as the overlap; whoever may not sign in judges nothing.
        """
        store = self._store
        who: dict[str, set[str]] = {topic.id: set() for topic in store.topics() if topic.in_use}
        for topic, assessor in store.assigned():
            if topic in who:
                who[topic].add(assessor.pseudonym)
        with self._up_to_date() as replay:
            return {topic: len(own) for topic, own in who.items() if not replay.can_finish(topic, own)}

    def topics_without_runs(self) -> list[str]:
        """Chosen topics that no run has, where there are runs: nothing of them can be judged by an order."""
        self.catch_up()
        known = self.topics()
        return [
            topic.id for topic in self._store.topics() if topic.in_use and known and topic.id not in known
        ]

    def differences(self) -> list[Difference]:
        """Documents of topics in use on which assessors differ, those that nobody has settled first."""
        with self._up_to_date() as replay:
            found = [
                Difference(*pair, opinions.grades, opinions.adjudicated)
                for pair, opinions in replay.opinions.items()
                if opinions.differ and replay.in_use(pair[0])
            ]
        return sorted(found, key=lambda one: (one.settled.judged, one.topic, one.doc))

    def ahead(self, assessor: str, topic: str) -> Ahead:
        """Return what is still to come for an assessor in a topic."""
        with self._lock:
            return self._replay.ahead(assessor, topic)

    def order(self, topic: str) -> Order:
        """In which order a topic is judged."""
        with self._lock:
            return self._replay.order(topic)

    def in_use(self, topic: str) -> bool:
        """Return whether a topic is judged by its order and counts: neither a candidate nor dropped."""
        with self._lock:
            return self._replay.in_use(topic)

    def general_order(self) -> Order:
        """In which order topics are judged that have none of their own."""
        with self._lock:
            return self._replay.general_order()

    def set_order(self, topic: str | None, order: Order, *, by: str | None = None) -> None:
        """Change the order of a topic (None: of all) from now on; what is at hand stays at hand."""
        order.check()
        with self._up_to_date() as replay:
            replay.check_order(topic, order)
        self._store.append("order", topic=topic, assessor=by, detail=asdict(order.named))
        self.catch_up()

    def set_status(self, topic: str, status: TopicStatus, *, by: str | None = None) -> Topic:
        """Choose a topic, drop it, or make it a candidate: only chosen ones are judged and counted."""
        changed = self._store.set_status(topic, status, author=by)
        self.catch_up()
        return changed

    def change_settings(self, settings: Settings, *, by: str | None = None) -> None:
        """Change what the project was set up with; seed, depth and the grades in use must stay.

        So does the order of judging, whatever it was at first: see `set_order`.
        """
        present = self.settings
        if (settings.seed, settings.depth) != (present.seed, present.depth):
            raise DataError("seed and depth cannot change once a project has begun; make a new one")
        lost = {one.value for one in present.scale} - {one.value for one in settings.scale}
        if lost:
            raise DataError(f"the grade {min(lost):g} would be gone from the scale; keep it")
        with self.together():  # nobody changes the order between the look and the record
            self.catch_up()
            kept = replace(settings, order=self._replay.general_order())
            self._store.append("project", assessor=by, detail=kept.record())
            self.catch_up()

    def add_runs(
        self,
        runs: Any,
        *,
        topics: Collection[str] = (),
        run_format: str | None = None,
        progress: Progress | None = None,
    ) -> AddedRuns:
        """Add runs (files, folders, globs); their names must be new.

        Only their lists for `topics` are kept; none: all are. A run without any of them is refused.
        """
        retrieved = read_retrieved(
            runs, depth=self.settings.depth, policies=DEFAULT_POLICIES, run_format=run_format,
            progress=progress, check=check_table,
        )  # fmt: skip
        taken = sorted(set(retrieved.runs) & set(self._store.run_names()))
        if taken:
            raise DataError(f"there is a run {taken[0]!r} already; runs are never replaced, so name it anew")
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
                # Runs that come together are one further draw.
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
        """(topic, doc) of the samples in force of which something is judged, and whether each was drawn."""
        with self._up_to_date() as replay:
            found = ((topic, replay.sample(topic)) for topic in replay.begun_samples())
            return {
                (topic, doc): one.drawn
                for topic, sample in found
                if sample is not None and sample.in_force
                for doc, one in sample.documents.items()
            }

    def run_names(self) -> tuple[str, ...]:
        """The runs in the order in which they came."""
        with self._lock:
            return tuple(self._replay.runs)

    def topics(self) -> tuple[str, ...]:
        """The topics for which some run has documents."""
        with self._lock:
            return self._replay.all_lists.topics if self._replay.runs else ()

    def brings(self, topic: str, doc: str) -> bool:
        """Return whether some run has a document for a topic."""
        with self._lock:
            if not self._replay.runs or topic not in self._replay.all_lists.topics:
                return False
            every = self._replay.all_lists
        return doc in every.of_topics([every.topics.index(topic)]).docs.texts()

    def lost(self, corpus: Corpus, runs: Collection[str] | None = None) -> list[tuple[str, str]]:
        """(topic, doc) that runs (None: any) retrieved and the corpus does not have: nobody can read them."""
        with self._lock:
            if not self._replay.runs:
                return []
            retrieved = self._replay.all_lists
        rows = [number for number, name in enumerate(retrieved.runs) if runs is None or name in runs]
        numbers = np.unique(retrieved.lists[rows])
        docs, topic = retrieved.docs.texts(), retrieved.topic
        pairs = [(retrieved.topics[topic[number]], docs[number]) for number in numbers if number >= 0]
        return missing_from(corpus, pairs)

    def why_no_ranking(self) -> str:
        """Return why the runs cannot be ranked, as a sentence; empty: they can."""
        with self._up_to_date() as replay:
            if not replay.runs:
                return "There are no runs yet."
            return "" if replay.ready else "No topic that the runs have is in use."

    def counts(self) -> Counts:
        """Return how much is judged, whether the runs can be ranked or not."""
        with self._up_to_date() as replay:
            return counts_of(replay)

    def live(self) -> Live:
        """Return how sure the ranking is now; for organizers only. Judging goes on while it is worked out."""
        with self._up_to_date() as replay:
            work = live_work(replay)
        return work()

    def refit_if_due(self, *, quiet: bool = False) -> bool:
        """Fit the model of relevance anew if judgments have doubled; for a thread in the background.

        Where nobody judges just now (`quiet`), a tenth more is enough: a log of any length has few fits.
        Both the beginning and the end are events, so that every process and every replay uses the same
        fit from the same judgment on.
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


def none_of_the_topics(store: Store, seen: str, known: Collection[str]) -> str:
    """What a file has with a topic `seen` and none of those `known`, with the first that are judged."""
    used = [topic.id for topic in store.topics() if topic.in_use] or sorted(known)
    few = first_few([quote(topic) for topic in used], NAMED)
    return f"none of the project's topics; it has {quote(seen)}, the project {few}"


def first_settings(store: Store, settings: Settings, corpus: str | None = None) -> None:
    """Begin a project: its settings, and the hash of its corpus, are the first event of the log."""
    settings.order.check()
    if store.last_sequence():
        raise DataError(f"{store.place}: the database has a project already; give another one")
    record = replace(settings, order=settings.order.named).record()
    store.append("project", detail=record if corpus is None else {**record, CORPUS: corpus})
