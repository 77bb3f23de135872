"""What organisers watch while people judge: how sure the ranking is, who judges how much, what was found."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sounding.judging.agreement import Opinion, agreements
from sounding.judging.engine import Live, live_work
from sounding.judging.events import Event
from sounding.judging.project import Project
from sounding.judging.replay import Replay
from sounding.judging.store import Store

HOUR = 3600.0
NORMAL = 1.959964  # deviations to either side that hold 95% of a normal distribution
SURE = 0.95  # the chance from which on the order of two runs counts as settled
POINTS = 40  # of the curve of confidence that are worked out anew for when nobody looked
FINE = 20  # steps of a curve that has no gap
BETWEEN = 1.0  # seconds between two workings-out at least
REST = 4.0  # times as long as the last one took pass before the next: judging comes first
SHAPING = ("project", "run", "topic")  # events after which a forecast of before is no longer one

Curve = list[tuple[int, float]]  # documents judged, and how sure the ranking was then


@dataclass(slots=True)
class Work:
    """What an assessor has done so far."""

    judged: int = 0
    relevant: int = 0
    cannot: int = 0
    changed: int = 0
    timed: int = 0  # judgments of which it is known how long they took, later changed or not
    active: float = 0.0  # seconds that these took
    recent: deque[float] = field(default_factory=deque)  # times of the judgments of the last hour

    def last_hour(self, now: float) -> int:
        """Judgments of the last hour."""
        while self.recent and self.recent[0] < now - HOUR:
            self.recent.popleft()
        return len(self.recent)


class Tally:
    """Who has judged how much, following the log."""

    def __init__(self, level: float) -> None:
        self.sequence = 0
        self.shaped = 0  # the last event that changed which topics and runs are ranked, or how
        self.work: dict[str, Work] = {}
        self.level = level
        self._stands: dict[tuple[str, str, str], float | None] = {}  # (assessor, topic, doc) -> grade

    def follow(self, events: Iterable[Event]) -> None:
        """Take in events, each in its turn."""
        for event in events:
            self.sequence = event.sequence
            if event.kind in SHAPING:
                self.shaped = event.sequence
            if event.assessor is not None and event.kind in ("judge", "withdraw"):
                self._take(event, (event.assessor, event.topic or "", event.doc or ""))

    def opinions(self) -> Iterator[Opinion]:
        """The grades that stand, of every assessor."""
        for (assessor, topic, doc), grade in self._stands.items():
            yield assessor, (topic, doc), grade

    def _take(self, event: Event, pair: tuple[str, str, str]) -> None:
        work = self.work.setdefault(pair[0], Work())
        if pair in self._stands:
            self._count(work, self._stands.pop(pair), -1)
            work.changed += 1
        if event.kind == "judge":
            self._stands[pair] = event.grade
            self._count(work, event.grade, 1)
            if event.active:
                work.timed += 1
                work.active += event.active
            work.recent.append(event.time)

    def _count(self, work: Work, grade: float | None, by: int) -> None:
        work.judged += by
        work.cannot += by * (grade is None)
        work.relevant += by * (grade is not None and grade >= self.level)


class LiveFeed:
    """The organisers' page as plain data, worked out when something has changed and somebody looks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._tally = Tally(project.settings.level)
        self._curve: Curve = []  # since this process began
        self._latest: dict[str, Any] | None = None
        self._made = self._took = 0.0
        self.prospects: dict[str, Any] | None = None  # see `sounding.judging.prospects`; None: none yet
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
                self._latest = self._worked_out()
                self._made = time.monotonic()
                self._took = self._made - begun
            curve = [[judged, number(sure)] for judged, sure in joined(self.earlier, self._curve)]
            return {**self._latest, "curve": curve, "prospects": self.prospects}

    def take(self, found: dict[str, Any]) -> None:
        """Show prospects, unless other topics or runs are ranked since they were begun."""
        with self._lock:
            if found["sequence"] >= self._tally.shaped:
                self.earlier = found.pop("curve", self.earlier)
                self.prospects = found

    def has_gaps(self) -> bool:
        """Whether much was judged while nobody looked, so that the curve of then is still missing."""
        if not self.earlier:
            return True
        known = self.earlier[-1][0]
        with self._lock:
            counts = [known, *(judged for judged, _ in self._curve if judged > known)]
        return any(after - before > max(2, counts[-1] / FINE) for before, after in pairwise(counts))

    def _worked_out(self) -> dict[str, Any]:
        project, store = self._project, self._project.store
        shaped = self._tally.shaped
        if self._tally.level != project.settings.level:
            self._tally = Tally(project.settings.level)
        self._tally.follow(store.events(self._tally.sequence))
        if self._tally.shaped != shaped:  # what is known is of other topics or runs
            self._curve, self.earlier = [], []
            if self.prospects is not None and self.prospects["sequence"] < self._tally.shaped:
                self.prospects = None
        reason = project.engine.why_no_ranking()
        if reason:
            return self._record(None, reason)
        live = project.engine.live()
        extend(self._curve, live)
        return self._record(live)

    def _record(self, live: Live | None, reason: str = "") -> dict[str, Any]:
        store = self._project.store
        titles = {topic.id: topic.title for topic in store.topics()}
        names = {user.pseudonym: user.name for user in store.users()}
        now = time.time()
        return {
            "sequence": self._tally.sequence if live is None else live.sequence,
            "judged": sum(work.judged for work in self._tally.work.values()) if live is None else live.judged,
            "relevant": 0 if live is None else live.relevant,
            "cannot": 0 if live is None else live.cannot,
            "unsettled": 0 if live is None else live.unsettled,
            "fitted": 0 if live is None else live.fitted,
            "fittable": 0 if live is None else live.fittable,
            "measure": self._project.settings.measure,
            "sure": SURE,
            "reason": reason,
            **({} if live is None else _confidence_record(live)),
            "agreement": agreements(
                self._tally.opinions(), [grade.value for grade in self._project.settings.scale], names
            ),
            "assessors": [
                {
                    "name": names.get(pseudonym, pseudonym), "judged": work.judged, "relevant": work.relevant,
                    "cannot": work.cannot, "changed": work.changed, "last_hour": work.last_hour(now),
                    "per_active_hour": number(work.timed / work.active * HOUR if work.active else math.nan),
                }
                for pseudonym, work in sorted(self._tally.work.items())
            ],
            "topics": [
                {
                    "id": topic, "title": titles.get(topic, ""), "judged": judged, "relevant": found,
                    "left": left,
                }
                for topic, (judged, found, left) in ({} if live is None else live.topics).items()
            ],
            "unused": [
                {"id": topic, "title": titles.get(topic, ""), "judged": judged}
                for topic, judged in ({} if live is None else live.unused).items()
            ],
        }  # fmt: skip


def _confidence_record(live: Live) -> dict[str, Any]:
    confidence, coverage = live.confidence, live.coverage
    order = confidence.order.tolist()
    above = [*confidence.adjacent().tolist(), math.nan]
    pairs = confidence.of_pairs()
    values, deviations = confidence.values.tolist(), confidence.deviations.tolist()
    count = len(order) * (len(order) - 1) // 2
    return {
        "ranking": number(confidence.of_ranking()),
        "pairs": count,
        "open_pairs": len(confidence.open_pairs(SURE)),
        "depths": list(coverage.depths),
        "runs": [
            {
                "name": confidence.runs[run], "value": number(values[run]),
                "low": number(max(values[run] - NORMAL * deviations[run], 0.0)),
                "high": number(values[run] + NORMAL * deviations[run]), "above_next": number(sure),
                "coverage": [number(share) for share in coverage.shares[run].tolist()],
                "ungraded": int(coverage.ungraded[run]), "joined": live.joined[run],
            }
            for run, sure in zip(order, above, strict=True)
        ],
        "chances": [[number(pairs[first, second]) for second in order] for first in order],
    }  # fmt: skip


def curve_of(store: Store, points: int) -> Curve:
    """Documents judged and how sure the ranking was then, at so many places of the log as it is now."""
    last = store.last_sequence()
    replay = Replay(store.run)
    places = sorted({round(last * step / points) for step in range(points + 1)})
    curve: Curve = []
    for before, place in pairwise(places):
        replay.follow(store.events(before, until=place))
        if replay.ready and (not curve or replay.counted() != curve[-1][0]):
            extend(curve, live_work(replay)())
    return curve


def extend(curve: Curve, live: Live) -> None:
    """Add where judging stands to a curve; what was judged and then taken back is no longer part of it."""
    sure = live.confidence.of_ranking()
    while curve and curve[-1][0] >= live.judged:
        curve.pop()
    if math.isfinite(sure):
        curve.append((live.judged, sure))


def joined(earlier: Curve, later: Curve) -> Curve:
    """One curve of two, the later one having the last word."""
    points = {judged: sure for judged, sure in earlier if not later or judged < later[-1][0]}
    return sorted((points | dict(later)).items())


def number(value: float) -> float | None:
    """A number as JSON can hold it; None: it is not known."""
    return float(value) if math.isfinite(value) else None
