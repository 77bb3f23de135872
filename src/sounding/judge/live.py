"""The data of the organizers' live page, and the background tasks: refits and prospects."""

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
from sounding.data.judgment_log import StandingJudgments, before_labels
from sounding.judge.engine import Engine
from sounding.judge.language import english
from sounding.judge.merge_sort import preference_of
from sounding.judge.organizing import staffing_note
from sounding.judge.progress import Counts, Live, Opinion, Unseen, agreements, live_work
from sounding.judge.project import Project
from sounding.judge.records import IN_USE, LABELS, Event, Pair, is_relevant
from sounding.judge.settings import CORPUS
from sounding.judge.state import JudgingState
from sounding.judge.store import Store

HOUR = 3600.0
SURE = 0.95  # confidence at which the order of two runs counts as decided
POINTS = 40  # points of the confidence curve to recompute for times when nobody watched
FINE = 20  # steps of a curve without gaps
BETWEEN = 1.0  # minimum seconds between two updates
REST = 4.0  # an update waits this many times as long as the last one took: judging comes first
LOOKING = 5.0  # seconds after the last request before the live page counts as unwatched
PROSPECTS_REST = 10.0  # like REST, for prospects
CHEAP = 2.0  # seconds; a fit that takes no longer is repeated in every pause
GRADING = ("judge", "withdraw", "adjudicate")  # events that change which documents are judged
IDLE_SETTINGS = {"title", "lease_seconds", "language", CORPUS}  # settings that do not affect the ranking
NOTHING_LEFT = (
    "All documents that the orders of the topics select are judged, so there is no forecast. To gain more"
    " confidence, change the order or add a run."
)

Place = tuple[str, str, str]  # assessor, topic, document
Curve = list[tuple[int, float]]  # documents judged, confidence in the ranking

log = logging.getLogger("sounding.judge")


@dataclass(slots=True)
class AssessorTally:
    """Counts of an assessor's judgments: one for each document and topic."""

    judged: int = 0  # current judgments, for topics in use
    relevant: int = 0  # of these
    cannot: int = 0  # of these: impossible to judge
    changed: int = 0  # of these: with a grade other than the first
    last_hour: int = 0  # of these: made or changed in the last hour
    elsewhere: int = 0  # current judgments for other topics
    timed: int = 0  # judgments with a known duration, current or not, for any topic
    active: float = 0.0  # seconds spent on these and on skipped documents

    @property
    def per_active_hour(self) -> float:
        """Return the judgments per hour of work; NaN if no duration is known."""
        return self.timed / self.active * HOUR if self.timed else math.nan


class Given(NamedTuple):
    """A judgment in the log."""

    time: float
    grade: float | None
    labels: tuple[str, ...]  # machines whose labels were shown


class Tally:
    """Count the judgments of every assessor while following the log."""

    def __init__(self) -> None:
        self.sequence = 0
        self.shaped = 0  # the last event that changed the topics, runs or settings of the ranking
        self.ordered = 0  # the last event that changed an order, on which forecasts depend
        self._settings: dict[str, Any] = {}  # settings that affect the ranking
        self._unused: set[str] = set()  # topics not in use
        self._given: StandingJudgments[Place, Given] = StandingJudgments()
        self._labels: dict[Place, float | None] = {}  # by machines
        self._times: dict[str, tuple[int, float]] = {}  # assessor -> timed judgments, seconds

    def follow(self, events: Iterable[Event]) -> None:
        """Process events in order."""
        for event in events:
            self.sequence = event.sequence
            if self._is_shaping(event):
                self.shaped = event.sequence
            elif event.kind == "order":
                self.ordered = event.sequence
            place = (event.assessor or "", event.topic or "", event.doc or "")
            if event.kind in ("judge", "withdraw", "skip"):
                self._take(event, place)
            elif event.kind == "label":
                self._labels[place] = event.grade

    def _is_shaping(self, event: Event) -> bool:
        """Process settings and topics; return whether earlier results are outdated."""
        before = self._settings, self._unused
        if event.kind == "project":
            detail = event.detail.items()
            self._settings = {name: value for name, value in detail if name not in IDLE_SETTINGS}
        elif event.kind == "topic":  # a topic of a run is in use until it gets another status
            topic = {event.topic or ""}
            is_used = event.detail["status"] == IN_USE
            self._unused = self._unused - topic if is_used else self._unused | topic
        return event.kind == "run" or before != (self._settings, self._unused)

    def opinions(self, topics: Collection[str]) -> Iterator[Opinion]:
        """Yield every assessor's current grades for these topics, and every machine's labels."""
        for (machine, topic, doc), grade in self._labels.items():
            if topic in topics:
                yield machine, (topic, doc), grade
        for (assessor, topic, doc), given in self._given.items():
            if topic in topics:
                yield assessor, *_from_either_side(topic, doc, given[-1].grade)

    def unseen(self, topics: Collection[str]) -> Unseen:
        """Return the grades for agreement with machines whose labels were shown."""
        found: Unseen = {}
        for (assessor, topic, doc), given in self._given.items() if self._labels else ():
            for machine, one in before_labels(given, lambda one: one.labels).items():
                if topic in topics:
                    pair, grade = _from_either_side(topic, doc, None if one is None else one.grade)
                    found.setdefault((assessor, machine), {})[pair] = grade
        return found

    def work(self, topics: Collection[str], level: float, now: float) -> dict[str, AssessorTally]:
        """Count every assessor's judgments for these topics, with `level` as the lowest relevant grade."""
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
        """Return the mean seconds per judgment, including time on skipped documents; None if unknown."""
        timed = sum(timed for timed, _ in self._times.values())
        return sum(active for _, active in self._times.values()) / timed if timed else None

    def _take(self, event: Event, place: Place) -> None:
        timed, active = self._times.get(place[0], (0, 0.0))
        self._times[place[0]] = (
            timed + (event.kind == "judge" and bool(event.active)), active + (event.active or 0.0)
        )  # fmt: skip
        given = Given(event.time, event.grade, tuple(event.detail.get(LABELS, ())))
        self._given.follow(place, event.kind, given, undoes=event.undoes is not None)


def _from_either_side(topic: str, doc: str, grade: float | None) -> tuple[Pair, float | None]:
    """Return a judgment with the documents of a pair in the order of their ids, and no others changed."""
    pair = preference_of(doc, grade)
    return ((topic, doc), grade) if pair is None else ((topic, f"{pair.first} {pair.second}"), pair.grade)


class LiveFeed:
    """The state of the live page, recomputed when something has changed and somebody watches."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._tally = Tally()
        self._curve: Curve = []  # since this process started
        self._latest: dict[str, Any] | None = None
        self._made = self._took = 0.0
        self._staffing = ""
        self._staffed: Any = None  # the state for which the staffing note was made
        self.prospects: dict[str, Any] | None = None  # see `sounding.judge.prospects`; None: none yet
        self.earlier: Curve = []  # the confidence curve of times when nobody watched
        self.looked = -math.inf  # time of the last request

    def current(self) -> dict[str, Any]:
        """Return the current state, at most about a second old."""
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
        """Return the parts that depend on users, who are not in the log: erased names vanish at once."""
        users = self._project.store.users()
        names = {user.pseudonym: user.name for user in users}
        present = latest["sequence"], {(user.pseudonym, user.role, user.active) for user in users}
        if present != self._staffed:  # checking all topics is slow if samples must be drawn
            with english():
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
        """Take over new prospects, unless topics, runs or settings have changed since they were started.

        Returns whether the computation should continue; a changed order outdates a forecast too.
        """
        with self._lock:
            if found["sequence"] < self._tally.shaped:
                return False
            self.earlier = found.pop("curve", self.earlier)
            self.prospects = found
            return not self._drop_forecast()

    @property
    def outdated(self) -> int:
        """Return the last known event that outdated a forecast or more."""
        return max(self._tally.shaped, self._tally.ordered)

    def _drop_forecast(self) -> bool:
        """Drop a forecast that an order change has outdated; return whether it has."""
        if self.prospects is None or self.prospects["sequence"] >= self._tally.ordered:
            return False
        self.prospects = {name: value for name, value in self.prospects.items() if name != "forecast"}
        return True

    def has_gaps(self) -> bool:
        """Return whether the curve lacks points, because much was judged while nobody watched."""
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
        if self._tally.shaped != shaped:  # earlier results are for other topics, runs or settings
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
                self._tally.opinions(counts.topics), [grade.value for grade in engine.settings.scale], {},
                self._tally.unseen(counts.topics),
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
    """Say why there is no forecast if all selected documents are judged.

    Returns an empty text if documents are left or the ranking is certain enough.
    """
    total = counts.total
    if total.left or ranking >= SURE:
        return ""
    to_do = [
        f"{plural(total.unsettled, 'document')} to settle" if total.unsettled else "",
        f"{plural(total.again, 'document')} to be judged by more assessors" if total.again else "",
    ]
    if not any(to_do):
        return NOTHING_LEFT
    return (
        "All documents that the orders of the topics select are judged, so there is no forecast. Still to do:"
        f" {', '.join(filter(None, to_do))}."
    )


def curve_of(store: Store, points: int) -> Curve:
    """Return the confidence in the ranking at `points` moments of the log.

    The whole curve uses the current measure, level and topics, so that its points are comparable. Each moment
    is moved to just before the next judgment, when all runs that were added together are present.
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
    """Return a function that rewrites events as if the current settings and topics had always applied."""
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
    """Add the current point to a curve; drop points of judgments that have been undone since."""
    sure = live.stated.of_ranking()
    while curve and curve[-1][0] >= live.total.judged:
        curve.pop()
    if math.isfinite(sure):
        curve.append((live.total.judged, sure))


def join_curves(earlier: Curve, later: Curve) -> Curve:
    """Join two curves; the later one takes precedence."""
    points = {judged: sure for judged, sure in earlier if not later or judged < later[-1][0]}
    return sorted((points | dict(later)).items())


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON; None if it is not finite."""
    return float(value) if math.isfinite(value) else None


class Task:
    """A thread that repeats its work until it is stopped."""

    def __init__(self, name: str, work: Callable[[], object], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._ended = threading.Event()
        self._said = ""  # the last error, which is logged only once
        self._thread = threading.Thread(target=self._go_on, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; unfinished work is lost."""
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
            except Exception:  # a bug; judging continues, and the next attempt may succeed
                log.exception("%s: failed", self._thread.name)


class Refits(Task):
    """Refit the relevance model when judgments have doubled, or in pauses after new judgments."""

    def __init__(self, engine: Engine, seconds: float = 2.0, pause: float = 5.0) -> None:
        super().__init__("refit of the model", self._refit, seconds)
        self._engine = engine
        self._pause = pause  # seconds without an event that count as a pause
        self._last, self._since = -1, 0.0  # the last event, and when this thread first saw it
        self._cheap = True  # True: a fit is fast enough to repeat in every pause

    def _refit(self) -> None:
        begun, last = time.monotonic(), self._engine.catch_up()
        if last != self._last:
            self._last, self._since = last, begun
        quiet = self._cheap and begun - self._since >= self._pause
        if self._engine.refit_if_due(quiet=quiet):
            self._cheap = time.monotonic() - begun < CHEAP


class Prospects(Task):
    """Recompute the prospects of a watched live page when there are new judgments.

    This takes seconds or minutes, so a separate process with low priority does it.
    """

    def __init__(self, project: Project, feed: LiveFeed, seconds: float = 1.0) -> None:
        super().__init__("prospects", self._work_out, seconds)
        self._project = project
        self._feed = feed
        self._child: subprocess.Popen[str] | None = None
        self._known = 0  # the last event that the prospects cover
        self._whole = True  # True: they were completed
        self._next = 0.0  # earliest time of the next computation

    def stop(self) -> None:
        """Stop the thread and the process."""
        self._ended.set()
        if self._child is not None:
            self._child.terminate()
        super().stop()

    def _work_out(self) -> None:
        begun = time.monotonic()
        # After a change of orders, topics, runs or settings, recompute without waiting.
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
                    child.terminate()  # the rest would be outdated too
                    break
        self._child = None
        self._whole = outdated or not child.returncode
        self._next = time.monotonic() + PROSPECTS_REST * (time.monotonic() - begun)
