"""An expert's look at an assessor's judgments: a random sample, graded anew without seeing the grades.

What was drawn is an event of the log and stays, whatever is judged later; its number is that of the audit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sounding.judge.events import AUDIT, Event, Pair, Selection
from sounding.judge.store import Receipt, Seen, Standing, Store, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A sample of an assessor's judgments as they stand, and what an expert says of the same documents."""

    number: int  # of the event that drew it
    time: float
    expert: str
    assessor: str
    drawn: tuple[Pair, ...]
    of: int  # judgments that could be drawn
    standing: Mapping[Pair, Standing]  # the assessor's judgments
    own: Mapping[Pair, Standing]  # the expert's

    @property
    def chance(self) -> float:
        """That a judgment had of being drawn."""
        return len(self.drawn) / self.of

    @property
    def topics(self) -> list[str]:
        """The topics that the sample is about, each once."""
        return sorted({topic for topic, _ in self.drawn})

    @property
    def sample(self) -> list[Standing]:
        """The judgments that were drawn and stand, with the grades of now."""
        return [self.standing[pair] for pair in self.drawn if pair in self.standing]

    @property
    def taken_back(self) -> list[Pair]:
        """What was drawn and has no judgment of the assessor any more."""
        return [pair for pair in self.drawn if pair not in self.standing]

    @property
    def compared(self) -> list[tuple[Standing, Standing]]:
        """The judgments that the expert has graded as well, each with the expert's."""
        return [(one, self.own[_about(one)]) for one in self.sample if _about(one) in self.own]

    def open(self, topic: str | None = None) -> list[Standing]:
        """What the expert has not graded yet, of a topic where one is named."""
        return [
            one
            for one in self.sample
            if _about(one) not in self.own and (topic is None or one.topic == topic)
        ]

    def graded(self, topic: str) -> list[Standing]:
        """The expert's judgments of the part of the sample that is about a topic."""
        return [own for one, own in self.compared if one.topic == topic]

    def about(self, topic: str) -> list[Standing]:
        """The part of the sample that is about a topic."""
        return [one for one in self.sample if one.topic == topic]


def draw_audit(store: Store, expert: str, assessor: str, size: int, seed: int) -> int | None:
    """Draw so many of an assessor's judgments for topics in use; None: there are none.

    Returns the number of the audit. The same sample drawn again is the same audit.
    """
    with store.together():
        used = {topic.id for topic in store.topics() if topic.in_use}
        every = [one for one in store.standing(assessor=assessor) if one.topic in used]
        if not every:
            return None
        documents = [[one.topic, one.doc] for one in audit_sample(every, size, seed)]
        drawn = {"assessor": assessor, "documents": documents, "of": len(every)}
        for event in store.audits(expert):
            if drawn.items() <= event.detail.items():
                return event.sequence
        return store.append("audit", assessor=expert, detail={**drawn, "size": size}).event.sequence


def audits_of(store: Store, expert: str) -> list[Audit]:
    """The samples that an expert has drawn, the newest first."""
    events = store.audits(expert)
    own = _by_document(store, expert) if events else {}
    standing = {who: _by_document(store, who) for who in {event.detail["assessor"] for event in events}}
    return [_audit(event, standing[event.detail["assessor"]], own) for event in reversed(events)]


def audit_of(store: Store, expert: str, number: int) -> Audit | None:
    """A sample that an expert has drawn; None: no audit of theirs has this number."""
    event = next(store.events(number - 1, number), None)
    if event is None or (event.kind, event.assessor) != ("audit", expert):
        return None
    return _audit(event, _by_document(store, event.detail["assessor"]), _by_document(store, expert))


def audit_sample(judgments: Sequence[Standing], size: int, seed: int) -> list[Standing]:
    """So many judgments at random: a larger sample holds the smaller, and new judgments move few of them.

    Every judgment has a place of its own, a hash of what it is about; the sample is those that come first.
    """
    return sorted(judgments, key=lambda one: _place(one, seed))[:size]


def record_audit(
    store: Store,
    audit: Audit,
    pair: Pair,
    grade: float | None,
    *,
    key: str,
    comment: str = "",
    active: float | None = None,
    away: float | None = None,
    seen: Seen | None = None,
) -> Receipt:
    """Keep the grade of an expert, with the chance that the judgment had of being looked at.

    Where it changes what the expert judged as an assessor, it stays a judgment of that kind.
    """
    before = audit.own.get(pair)
    if before is not None and before.selection.policy != AUDIT:
        selection = before.selection
    else:
        selection = Selection(policy=AUDIT, policy_version=audit.number, probability=audit.chance)
    return store.judge(
        Submission(
            assessor=audit.expert, topic=pair[0], doc=pair[1], grade=grade, key=key, comment=comment,
            active=active, away=away, seen=seen, selection=selection,
        )
    )  # fmt: skip


def _audit(event: Event, standing: Mapping[Pair, Standing], own: Mapping[Pair, Standing]) -> Audit:
    detail = event.detail
    return Audit(
        number=event.sequence, time=event.time, expert=event.assessor or "", assessor=detail["assessor"],
        drawn=tuple((topic, doc) for topic, doc in detail["documents"]), of=detail["of"], standing=standing,
        own=own,
    )  # fmt: skip


def _by_document(store: Store, assessor: str) -> dict[Pair, Standing]:
    return {_about(one): one for one in store.standing(assessor=assessor)}


def _about(judgment: Standing) -> Pair:
    return judgment.topic, judgment.doc


def _place(judgment: Standing, seed: int) -> bytes:
    about = "\0".join((str(seed), judgment.assessor, judgment.topic, judgment.doc))
    return hashlib.sha256(about.encode("utf-8", "surrogateescape")).digest()
