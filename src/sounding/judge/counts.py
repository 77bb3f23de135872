"""How much is judged: every count of documents that pages and commands show, once.

A document counts once for each topic that it was judged for, so that what is counted are pairs of a topic
and a document. What people did is counted apart, by judgments: see `sounding.judge.live.Tally`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sounding.judge.records import is_relevant
from sounding.judge.state import Replay


class TopicCounts(NamedTuple):
    """How far a topic is. Judged, unsettled and left have no document in common."""

    judged: int  # documents with a grade that counts, or that nobody who looked could judge
    relevant: int  # among the judged
    left: int  # documents that nobody has judged, and that the order could still bring
    cannot: int  # among the judged: nobody could
    unsettled: int  # documents whose assessors differ, and that wait for an organiser
    again: int = 0  # among all these: documents that fewer people have judged than are to judge each


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counts:
    """How far every topic is, and all of those together that count."""

    topics: dict[str, TopicCounts]  # in use, and in some run: what ranking and confidence rest on
    unused: dict[str, TopicCounts]  # others with judgments: they count nowhere, and nothing of them is left

    @property
    def judged(self) -> int:
        """Documents that are judged, and settled."""
        return sum(one.judged for one in self.topics.values())

    @property
    def relevant(self) -> int:
        """The relevant ones among those judged."""
        return sum(one.relevant for one in self.topics.values())

    @property
    def cannot(self) -> int:
        """Those among the judged that nobody could judge."""
        return sum(one.cannot for one in self.topics.values())

    @property
    def unsettled(self) -> int:
        """Documents besides that wait for an organiser."""
        return sum(one.unsettled for one in self.topics.values())

    @property
    def left(self) -> int:
        """Documents besides that nobody has judged and the orders could still bring."""
        return sum(one.left for one in self.topics.values())

    @property
    def again(self) -> int:
        """Documents that are to be judged by more people than have done so."""
        return sum(one.again for one in self.topics.values())

    def of(self, topic: str) -> TopicCounts:
        """How far a topic is, whether it counts or not."""
        return self.topics.get(topic) or self.unused.get(topic) or TopicCounts(0, 0, 0, 0, 0)


def counts_of(replay: Replay) -> Counts:
    """How much is judged where a replay stands."""
    used = set(replay.retrieved.topics if replay.ready else ())
    grades: dict[str, list[float | None]] = {topic: [] for topic in used}
    unsettled = dict.fromkeys(used, 0)
    for pair, verdict in replay.verdicts.items():
        own, waiting = grades.setdefault(pair[0], []), replay.unsettled(pair)
        unsettled[pair[0]] = unsettled.get(pair[0], 0) + waiting
        if not waiting:
            own.append(verdict.grade)
    level = replay.settings.level
    found = {
        topic: TopicCounts(
            judged=len(given),
            relevant=sum(is_relevant(grade, level) for grade in given),
            left=replay.left(topic),
            cannot=given.count(None),
            unsettled=unsettled[topic],
            again=replay.again(topic),
        )
        for topic, given in sorted(grades.items())
    }
    return Counts(
        topics={topic: one for topic, one in found.items() if topic in used},
        unused={topic: one for topic, one in found.items() if topic not in used},
    )
