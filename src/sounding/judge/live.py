"""What organizers watch while people judge, and what goes on behind the pages: refits and prospects."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from sounding.core.errors import SoundingError
from sounding.core.text import plural
from sounding.data.judgment_log import StandingJudgments
from sounding.judge.engine import Engine
from sounding.judge.organizing import staffing_note
from sounding.judge.progress import Counts, Live, Opinion, agreements, live_work
from sounding.judge.project import Project
from sounding.judge.records import IN_USE, Event, is_relevant
from sounding.judge.settings import CORPUS
from sounding.judge.state import JudgingState
from sounding.judge.store import Store

HOUR = 3600.0
SURE = 0.95  # the chance from which on the order of two runs counts as settled
POINTS = 40  # of the curve of confidence that are worked out anew for when nobody looked
FINE = 20  # steps of a curve that has no gap
BETWEEN = 1.0  # seconds between two workings-out at least
REST = 4.0  # times as long as the last one took pass before the next: judging comes first
LOOKING = 5.0  # seconds after which nobody is thought to look at the live page any more
PROSPECTS_REST = 10.0  # as REST, after prospects
CHEAP = 2.0  # seconds that a fit may take at most for the model to be fitted in every pause
GRADING = ("judge", "withdraw", "adjudicate")  # events after which other documents may be judged
IDLE_SETTINGS = {"title", "lease_seconds", CORPUS}  # a `project` that changes nothing else shapes nothing
NOTHING_LEFT = (
    "Nothing is left to judge by the orders of the topics, so there is no forecast: the ranking stays as sure"
    " as it is, unless another order or another run brings more."
)

Place = tuple[str, str, str]  # assessor, topic, document
Curve = list[tuple[int, float]]  # documents judged, and how sure the ranking was then

log = logging.getLogger("sounding.judge")


@dataclass(slots=True)
class AssessorTally:
    """What an assessor has done so far, in judgments: one for each document and topic that stands."""

    judged: int = 0  # judgments that stand, for topics that count
    relevant: int = 0  # among them
    cannot: int = 0  # among them: could not be judged
    changed: int = 0  # among them: have another grade than at first
    last_hour: int = 0  # among them: given, or changed, in the last hour
    elsewhere: int = 0  # judgments that stand besides, for topics that do not count
    timed: int = 0  # judgments of which it is known how long they took, standing or not, for any topic
    active: float = 0.0  # seconds at work on these, and on what was skipped

    @property
    def per_active_hour(self) -> float:
        """Judgments in an hour of work; NaN: it is not known how long any took."""
        return self.timed / self.active * HOUR if self.timed else math.nan


class Given(NamedTuple):
    """A judgment of the log."""

    time: float
    grade: float | None


class Tally:
    """Who has judged how much, following the log."""

    def __init__(self) -> None:
        self.sequence = 0
        self.shaped = 0  # the last event that changed which topics and runs are ranked, or how
        self.ordered = 0  # the last one that changed an order: forecasts go by what the orders can bring
        self._settings: dict[str, Any] = {}  # those that shape the ranking
        self._unused: set[str] = set()  # topics that do not count
        self._given: StandingJudgments[Place, Given] = StandingJudgments()
        self._times: dict[str, tuple[int, float]] = {}  # assessor -> judgments that were timed, seconds

    def follow(self, events: Iterable[Event]) -> None:
        """Take in events, each in its turn."""
        for event in events:
            self.sequence = event.sequence
            if self._is_shaping(event):
                self.shaped = event.sequence
            elif event.kind == "order":
                self.ordered = event.sequence
            if event.assessor is not None and event.kind in ("judge", "withdraw", "skip"):
                self._take(event, (event.assessor, event.topic or "", event.doc or ""))

    def _is_shaping(self, event: Event) -> bool:
        """Take in settings and topics; returns whether nothing holds any more that was worked out before."""
        before = self._settings, self._unused
        if event.kind == "project":
            detail = event.detail.items()
            self._settings = {name: value for name, value in detail if name not in IDLE_SETTINGS}
        elif event.kind == "topic":  # a topic counts from when a run brings it until it has another status
            topic = {event.topic or ""}
            is_used = event.detail["status"] == IN_USE
            self._unused = self._unused - topic if is_used else self._unused | topic
        return event.kind == "run" or before != (self._settings, self._unused)

    def opinions(self, topics: Collection[str]) -> Iterator[Opinion]:
        """The grades that stand for these topics, of every assessor."""
        for (assessor, topic, doc), given in self._given.items():
            if topic in topics:
                yield assessor, (topic, doc), given[-1].grade

    def work(self, topics: Collection[str], level: float, now: float) -> dict[str, AssessorTally]:
        """What every assessor has done, where these topics count and this is the lowest relevant grade."""
        found = {
            assessor: AssessorTally(timed=timed, active=active)
            for assessor, (timed, active) in self._times.items()
        }
        for (assessor, topic, _), given in self._given.items():
            work, last = found[assessor], given[-1]
            if topic not in topics:
                work.elsewhere += 1
                continue
            work.judged += 1
            work.relevant += is_relevant(last.grade, level)
            work.cannot += last.grade is None
            work.changed += last.grade != given[0].grade
            work.last_hour += last.time >= now - HOUR
        return found

    def seconds_a_judgment(self) -> float | None:
        """How long a judgment has taken everybody, with the time on what was skipped; None: not known."""
        timed = sum(timed for timed, _ in self._times.values())
        return sum(active for _, active in self._times.values()) / timed if timed else None

    def _take(self, event: Event, place: Place) -> None:
        timed, active = self._times.get(place[0], (0, 0.0))
        self._times[place[0]] = (
            timed + (event.kind == "judge" and bool(event.active)), active + (event.active or 0.0)
        )  # fmt: skip
        given = Given(event.time, event.grade)
        self._given.follow(place, event.kind, given, undoes=event.undoes is not None)


class LiveFeed:
    """The organizers' page as plain data, worked out when something has changed and somebody looks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._tally = Tally()
        self._curve: Curve = []  # since this process began
        self._latest: dict[str, Any] | None = None
        self._made = self._took = 0.0
        self._staffing = ""
        self._staffed: Any = None  # what the sentence on staffing was made from
        self.prospects: dict[str, Any] | None = None  # see `sounding.judge.prospects`; None: none yet
        self.earlier: Curve = []  # the curve of confidence of when nobody looked
        self.looked = -math.inf  # when somebody last asked for the page

    def current(self) -> dict[str, Any]:
        """The page as it is now; not older than a second or so where anything was judged since."""
        self.looked = time.monotonic()
        with self._lock:
            last = self._project.store.last_sequence()
            fresh = self._latest is not None and self._latest["sequence"] == last
            begun = time.monotonic()
            soon = begun - self._made < max(BETWEEN, REST * self._took)
            if self._latest is None or not (fresh or soon):
                self._latest = self._compute()
                people = self._of_people(self._latest)
                self._made = time.monotonic()
                self._took = self._made - begun
            else:
                people = self._of_people(self._latest)
            curve = [
                [judged, finite_or_none(sure)] for judged, sure in join_curves(self.earlier, self._curve)
            ]
            return {**self._latest, "curve": curve, "prospects": self.prospects, **people}

    def _of_people(self, latest: dict[str, Any]) -> dict[str, Any]:
        """What changes with the people, which is no event of the log: names are forgotten at once."""
        users = self._project.store.users()
        names = {user.pseudonym: user.name for user in users}
        present = latest["sequence"], {(user.pseudonym, user.role, user.active) for user in users}
        if present != self._staffed:  # to look through all topics takes long where samples are drawn
            self._staffing, self._staffed = staffing_note(self._project.engine), present
        return {
            "staffing": self._staffing,
            "assessors": [
                {**one, "name": names.get(one["name"], one["name"])} for one in latest["assessors"]
            ],
            "agreement": [
                {**one, **{place: names.get(one[place], one[place]) for place in ("first", "second")}}
                for one in latest["agreement"]
            ],
        }

    def take(self, found: dict[str, Any]) -> bool:
        """Show prospects, unless other topics or runs are ranked since they were begun.

        Returns whether they may go on: a forecast of before another order is not shown either.
        """
        with self._lock:
            if found["sequence"] < self._tally.shaped:
                return False
            self.earlier = found.pop("curve", self.earlier)
            self.prospects = found
            return not self._drop_forecast()

    @property
    def outdated(self) -> int:
        """The last event that is known here after which a forecast, or more, no longer held."""
        return max(self._tally.shaped, self._tally.ordered)

    def _drop_forecast(self) -> bool:
        """Forget a forecast of before another order, and nothing else; returns whether all is of then."""
        if self.prospects is None or self.prospects["sequence"] >= self._tally.ordered:
            return False
        self.prospects = {name: value for name, value in self.prospects.items() if name != "forecast"}
        return True

    def has_gaps(self) -> bool:
        """Whether much was judged while nobody looked, so that the curve of then is still missing."""
        if not self.earlier:
            return True
        known = self.earlier[-1][0]
        with self._lock:
            counts = [known, *(judged for judged, _ in self._curve if judged > known)]
        return any(after - before > max(2, counts[-1] / FINE) for before, after in pairwise(counts))

    def _compute(self) -> dict[str, Any]:
        project, store = self._project, self._project.store
        shaped = self._tally.shaped
        self._tally.follow(store.events(self._tally.sequence))
        if self._tally.shaped != shaped:  # what is known is of other topics or runs
            self._curve, self.earlier = [], []
            if self.prospects is not None and self.prospects["sequence"] < self._tally.shaped:
                self.prospects = None
        self._drop_forecast()
        reason = project.engine.why_no_ranking()
        if reason:
            return self._record(None, reason)
        live = project.engine.live()
        extend_curve(self._curve, live)
        return self._record(live)

    def _record(self, live: Live | None, reason: str = "") -> dict[str, Any]:
        store = self._project.store
        titles = {topic.id: topic.title for topic in store.topics()}
        engine = self._project.engine
        counts: Counts = engine.counts() if live is None else live
        total, done = counts.total, self._tally.work(counts.topics, engine.settings.level, time.time())
        return {
            "sequence": self._tally.sequence if live is None else live.sequence,
            "judged": total.judged,
            "relevant": total.relevant,
            "cannot": total.cannot,
            "unsettled": total.unsettled,
            "again": total.again,
            "fitted": 0 if live is None else live.fitted,
            "fittable": 0 if live is None else live.fittable,
            "measure": self._project.settings.measure,
            "sure": SURE,
            "reason": reason,
            "not_stated": "" if live is None else live.stated.reason,
            "nothing_left": "" if live is None else nothing_left(live, live.stated.of_ranking()),
            **({} if live is None else _confidence_record(live)),
            "agreement": agreements(
                self._tally.opinions(counts.topics), [grade.value for grade in engine.settings.scale], {}
            ),
            "assessors": [
                {
                    "name": pseudonym, "judged": work.judged, "relevant": work.relevant,
                    "cannot": work.cannot, "changed": work.changed, "last_hour": work.last_hour,
                    "elsewhere": work.elsewhere, "per_active_hour": finite_or_none(work.per_active_hour),
                }
                for pseudonym, work in sorted(done.items())
            ],
            "topics": [
                {"id": topic, "title": titles.get(topic, ""), **one._asdict()}
                for topic, one in counts.topics.items()
            ],
            "unused": [
                {"id": topic, "title": titles.get(topic, ""), "judged": one.judged + one.unsettled}
                for topic, one in counts.unused.items()
            ],
        }  # fmt: skip


def _confidence_record(live: Live) -> dict[str, Any]:
    confidence, coverage = live.stated, live.coverage
    order = confidence.order.tolist()
    above = [*confidence.adjacent().tolist(), math.nan]
    pairs = confidence.of_pairs()
    values = confidence.values.tolist()
    count = len(order) * (len(order) - 1) // 2
    return {
        "ranking": finite_or_none(confidence.of_ranking()),
        "pairs": count,
        "open_pairs": len(confidence.open_pairs(SURE)),
        "depths": list(coverage.depths),
        "runs": [
            {
                "name": confidence.runs[run], "value": finite_or_none(values[run]),
                "above_next": finite_or_none(sure),
                "coverage": [finite_or_none(share) for share in coverage.shares[run].tolist()],
                "ungraded": int(coverage.ungraded[run]), "joined": live.joined[run],
            }
            for run, sure in zip(order, above, strict=True)
        ],
        "chances": [[finite_or_none(pairs[first, second]) for second in order] for first in order],
    }  # fmt: skip


def nothing_left(counts: Counts, ranking: float) -> str:
    """Why it cannot be said what it would take, where everything that the orders bring is judged.

    Empty: something is left, or the ranking is sure already.
    """
    total = counts.total
    if total.left or ranking >= SURE:
        return ""
    to_do = [
        f"{plural(total.unsettled, 'document')} to settle" if total.unsettled else "",
        f"{plural(total.again, 'document')} to be judged by more people" if total.again else "",
    ]
    if not any(to_do):
        return NOTHING_LEFT
    return (
        "Every document that the orders of the topics bring is judged, so there is no forecast of more. Still"
        f" to do: {', '.join(filter(None, to_do))}."
    )


def curve_of(store: Store, points: int) -> Curve:
    """Documents judged and how sure the ranking was then, at so many places of the log as it is now.

    Measure, level and topics are those of now: of others, one curve would join what cannot be compared.
    Each place is moved to just before the next judgment, when all runs that were added together are there.
    """
    last = store.last_sequence()
    as_now, replay = _as_now(store, last), JudgingState(store.run)
    curve: Curve = []
    due = 0.0
    for event in store.events(until=last):
        if event.kind in GRADING and replay.sequence >= due:
            due = max(due, replay.sequence) + last / points
            if replay.ready:
                extend_curve(curve, live_work(replay)())
        replay.follow([as_now(event)])
    if replay.ready:
        extend_curve(curve, live_work(replay)())
    return curve


def _as_now(store: Store, last: int) -> Callable[[Event], Event]:
    """What an event would have been if the settings and the topics in use had always been those of now."""
    plan = store.plan_events(last)
    settings = [event.detail for event in plan if event.kind == "project"][-1:]
    statuses = {event.topic: event.detail["status"] for event in plan if event.kind == "topic"}

    def changed(event: Event) -> Event:
        if event.kind == "project":
            return replace(event, detail=settings[0])
        if event.kind == "topic":
            return replace(event, detail={**event.detail, "status": statuses[event.topic]})
        return event

    return changed


def extend_curve(curve: Curve, live: Live) -> None:
    """Add where judging stands to a curve; what was judged and then taken back is no longer part of it."""
    sure = live.stated.of_ranking()
    while curve and curve[-1][0] >= live.total.judged:
        curve.pop()
    if math.isfinite(sure):
        curve.append((live.total.judged, sure))


def join_curves(earlier: Curve, later: Curve) -> Curve:
    """One curve of two, the later one having the last word."""
    points = {judged: sure for judged, sure in earlier if not later or judged < later[-1][0]}
    return sorted((points | dict(later)).items())


def finite_or_none(value: float) -> float | None:
    """A number as JSON can hold it; None: it is not known."""
    return float(value) if math.isfinite(value) else None


class Task:
    """A thread that does something again and again until it is stopped."""

    def __init__(self, name: str, work: Callable[[], object], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._ended = threading.Event()
        self._said = ""  # why it did not go well the last time; said once
        self._thread = threading.Thread(target=self._go_on, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is being worked out is thrown away with the process."""
        self._ended.set()
        self._thread.join(timeout=5)

    def _go_on(self) -> None:
        while not self._ended.wait(self._seconds):
            try:
                self._work()
                self._said = ""
            except SoundingError as error:
                if self._said != str(error):
                    log.warning("%s: not now: %s", self._thread.name, error)
                self._said = str(error)
            except Exception:  # a fault of ours; the next time may go well, and judging goes on meanwhile
                log.exception("%s: failed", self._thread.name)


class Refits(Task):
    """Fits of the model of relevance when judgments have doubled, or some were made and nobody judges."""

    def __init__(self, engine: Engine, seconds: float = 2.0, pause: float = 5.0) -> None:
        super().__init__("refit of the model", self._refit, seconds)
        self._engine = engine
        self._pause = pause  # seconds without an event after which nobody is thought to judge
        self._last, self._since = -1, 0.0  # the last event, and when it was first seen here
        self._cheap = True  # whether a fit takes so little that there may be one in every pause

    def _refit(self) -> None:
        begun, last = time.monotonic(), self._engine.catch_up()
        if last != self._last:
            self._last, self._since = last, begun
        quiet = self._cheap and begun - self._since >= self._pause
        if self._engine.refit_if_due(quiet=quiet):
            self._cheap = time.monotonic() - begun < CHEAP


class Prospects(Task):
    """Prospects for a live page that somebody looks at, worked out anew when there are more judgments.

    They take seconds or minutes, so a process of its own works them out, with what time the machine has left.
    """

    def __init__(self, project: Project, feed: LiveFeed, seconds: float = 1.0) -> None:
        super().__init__("prospects", self._work_out, seconds)
        self._project = project
        self._feed = feed
        self._child: subprocess.Popen[str] | None = None
        self._known = 0  # the last event that the prospects know of
        self._whole = True  # whether they came to their end, and are not to be worked out again
        self._next = 0.0  # when they may be worked out again

    def stop(self) -> None:
        """End, and end the process."""
        self._ended.set()
        if self._child is not None:
            self._child.terminate()
        super().stop()

    def _work_out(self) -> None:
        begun = time.monotonic()
        # After a change of orders, topics, runs or settings less stands, or nothing: the next do not wait.
        resting = begun < self._next and self._known >= self._feed.outdated
        if resting or begun - self._feed.looked > LOOKING:
            return
        last = self._project.store.last_sequence()
        if last == self._known and self._whole:
            return
        self._known = last
        command = [sys.executable, "-m", "sounding.judge.prospects", str(self._project.folder), str(last)]
        command += ["curve"] if self._feed.has_gaps() else []
        outdated = False
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - this program
            self._child = child
            assert child.stdout is not None  # noqa: S101 - it is a pipe
            for line in child.stdout:
                if outdated := not self._feed.take(json.loads(line)):
                    child.terminate()  # the rest would be of before as well
                    break
        self._child = None
        self._whole = outdated or not child.returncode
        self._next = time.monotonic() + PROSPECTS_REST * (time.monotonic() - begun)
