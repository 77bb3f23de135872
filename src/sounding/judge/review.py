"""Settle documents on which assessors differ, and audit samples of judgments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sounding.core.errors import DataError, FormatError
from sounding.core.text import quote
from sounding.data.formats import read_qrels
from sounding.judge.ids import check_table, judgments_in
from sounding.judge.machines import machines_of
from sounding.judge.progress import agreements, opinion_of
from sounding.judge.project import ImportOutcome, Project, check_grade
from sounding.judge.records import (
    AUDIT,
    Event,
    Marks,
    Pair,
    Receipt,
    Seen,
    Selection,
    StandingJudgment,
    Submission,
)
from sounding.judge.settings import Settings
from sounding.judge.store import Store


@dataclass(frozen=True, slots=True)
class GivenGrade:
    """One assessor's grade for a document, or a machine's label."""

    name: str
    grade: float | None  # None: could not judge it
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingDocument:
    """A document on which assessors differ, with the grades in the order of judging."""

    topic: str
    doc: str
    grades: tuple[GivenGrade, ...]
    settled: float | None  # None: not settled, or settled as impossible to judge
    open: bool  # True: not settled yet


def differing_documents(project: Project, standing: Iterable[StandingJudgment]) -> list[DifferingDocument]:
    """Return the documents of topics in use on which assessors differ, unsettled ones first.

    `standing` are the current judgments, from which the comments are taken.
    """
    names, store = project.store.names(), project.store
    machines = machines_of(store)
    comments = {(one.topic, one.doc, one.assessor): one.comment for one in standing if one.comment}
    return [
        DifferingDocument(
            topic=one.topic,
            doc=one.doc,
            grades=tuple(
                GivenGrade(names.get(who, who), grade, comments.get((one.topic, one.doc, who), ""))
                for who, grade in one.grades.items()
            )
            + tuple(
                GivenGrade(who, grade, "")
                for who, grade in (store.labels_of(one.topic, one.doc) if machines else {}).items()
            ),
            settled=one.settled.grade,
            open=not one.settled.judged,
        )
        for one in project.engine.differences()
    ]


def settle_document(
    project: Project, topic: str, doc: str, grade: float | None, *, by: str, key: str
) -> bool:
    """Settle one document on which assessors differ; return whether this changed anything."""
    engine = project.engine
    with engine.together():
        settled = {(one.topic, one.doc): one.settled for one in engine.differences()}
        if not project.store.has_key(by, key):  # a repeated request gets the answer of the first
            if (topic, doc) not in settled:
                raise DataError(_nothing_to_settle(project, topic, doc))
            if settled[topic, doc] == (True, grade):
                return False
        return not engine.adjudicate(by, topic, doc, grade, key=key).repeated


def settle_file(project: Project, source: Any, *, by: str) -> ImportOutcome:
    """Settle the documents of a file of judgments, all or none; repeated grades change nothing.

    Documents on which assessors agree are refused: a settlement cannot be undone, and would override the
    grade that they all gave.
    """
    qrels = read_qrels(source, fractional="accept")
    check_table(qrels)
    lines = sorted(judgments_in(qrels), key=lambda one: one.line)
    with project.engine.together():
        settled = {(one.topic, one.doc): one.settled for one in project.engine.differences()}
        for one in lines:
            if (one.topic, one.doc) not in settled:
                raise FormatError(qrels.source, one.line, _nothing_to_settle(project, one.topic, one.doc))
            check_grade(project, qrels.source, one)
        new = [one for one in lines if settled[one.topic, one.doc] != (True, one.grade)]
        for one in new:
            project.engine.adjudicate(by, one.topic, one.doc, one.grade, key=uuid4().hex)
    return ImportOutcome(len(lines), len(new))


def _nothing_to_settle(project: Project, topic: str, doc: str) -> str:
    why = "its assessors do not differ" if project.engine.in_use(topic) else "the topic is not in use"
    return f"cannot settle document {quote(doc)} of topic {quote(topic)}: {why}; leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentAudit:
    """A sample of an assessor's current judgments, and an expert's grades for the same documents."""

    number: int  # of the event that recorded the draw
    time: float
    expert: str
    assessor: str
    drawn: tuple[Pair, ...]
    of: int  # judgments available for the draw
    standing: Mapping[Pair, StandingJudgment]  # the assessor's judgments
    own: Mapping[Pair, StandingJudgment]  # the expert's

    @property
    def chance(self) -> float:
        """Return the probability with which each judgment was drawn."""
        return len(self.drawn) / self.of

    @property
    def topics(self) -> list[str]:
        """Return the topics of the sample, each once."""
        return sorted({topic for topic, _ in self.drawn})

    @property
    def sample(self) -> list[StandingJudgment]:
        """Return the drawn judgments that still exist, with their current grades."""
        return [self.standing[pair] for pair in self.drawn if pair in self.standing]

    @property
    def taken_back(self) -> list[Pair]:
        """Return the drawn documents whose judgment the assessor has withdrawn."""
        return [pair for pair in self.drawn if pair not in self.standing]

    @property
    def compared(self) -> list[tuple[StandingJudgment, StandingJudgment]]:
        """Return the judgments that the expert has graded too, each with the expert's."""
        return [(one, self.own[one.pair]) for one in self.sample if one.pair in self.own]

    def open(self, topic: str | None = None) -> list[StandingJudgment]:
        """Return what the expert has not graded yet, for one topic or for all."""
        return [one for one in self.sample if one.pair not in self.own and topic in (None, one.topic)]

    def graded(self, topic: str) -> list[StandingJudgment]:
        """Return the expert's judgments for the sampled documents of a topic."""
        return [own for one, own in self.compared if one.topic == topic]

    def about(self, topic: str) -> list[StandingJudgment]:
        """Return the sampled judgments of a topic."""
        return [one for one in self.sample if one.topic == topic]


def refuse_pairs(settings: Settings) -> None:
    """Refuse an audit of preferences."""
    if settings.of_pairs:
        raise DataError("preferences cannot be audited; let two people judge a topic, and compare with agree")


def draw_audit(store: Store, expert: str, assessor: str, size: int, seed: int) -> int | None:
    """Draw `size` of an assessor's judgments for topics in use; return the number of the audit.

    Returns None if there are no judgments. Drawing the same sample again returns the same audit.
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


def audits_of(store: Store, expert: str) -> list[JudgmentAudit]:
    """Return the audits that an expert has drawn, newest first."""
    events = store.audits(expert)
    own = _by_document(store, expert) if events else {}
    standing = {who: _by_document(store, who) for who in {event.detail["assessor"] for event in events}}
    return [_audit(event, standing[event.detail["assessor"]], own) for event in reversed(events)]


def audit_of(store: Store, expert: str, number: int) -> JudgmentAudit | None:
    """Return the audit of an expert with this number, or None."""
    event = next(store.events(number - 1, number), None)
    if event is None or (event.kind, event.assessor) != ("audit", expert):
        return None
    return _audit(event, _by_document(store, event.detail["assessor"]), _by_document(store, expert))


def audit_sample(judgments: Sequence[StandingJudgment], size: int, seed: int) -> list[StandingJudgment]:
    """Return `size` judgments at random.

    Judgments are sorted by a hash of what they are about, and the first ones are drawn. So a larger sample
    contains the smaller, and new judgments change few documents of it.
    """
    return sorted(judgments, key=lambda one: _place(one, seed))[:size]


def record_audit(
    store: Store,
    audit: JudgmentAudit,
    pair: Pair,
    grade: float | None,
    *,
    key: str,
    comment: str = "",
    active: float | None = None,
    away: float | None = None,
    seen: Seen | None = None,
    marks: Marks | None = None,
) -> Receipt:
    """Record an expert's grade with the probability with which the judgment was drawn.

    If the expert had judged the document as an assessor before, the grade counts as a change of that
    judgment.
    """
    before = audit.own.get(pair)
    if before is not None and before.selection.policy != AUDIT:
        selection = before.selection
    else:
        selection = Selection(policy=AUDIT, policy_version=audit.number, probability=audit.chance)
    return store.judge(
        Submission(
            assessor=audit.expert, topic=pair[0], doc=pair[1], grade=grade, key=key, comment=comment,
            active=active, away=away, seen=seen, selection=selection, marks=marks or {},
        )
    )  # fmt: skip


def _audit(
    event: Event, standing: Mapping[Pair, StandingJudgment], own: Mapping[Pair, StandingJudgment]
) -> JudgmentAudit:
    detail = event.detail
    return JudgmentAudit(
        number=event.sequence, time=event.time, expert=event.assessor or "", assessor=detail["assessor"],
        drawn=tuple((topic, doc) for topic, doc in detail["documents"]), of=detail["of"], standing=standing,
        own=own,
    )  # fmt: skip


def _by_document(store: Store, assessor: str) -> dict[Pair, StandingJudgment]:
    return {one.pair: one for one in store.standing(assessor=assessor)}


def _place(judgment: StandingJudgment, seed: int) -> bytes:
    about = "\0".join((str(seed), judgment.assessor, judgment.topic, judgment.doc))
    return hashlib.sha256(about.encode("utf-8", "surrogateescape")).digest()


def agreement_of(audit: JudgmentAudit, scale: Sequence[float]) -> dict[str, Any] | None:
    """Return the agreement of assessor and expert; None if there is no document that both could judge."""
    found = agreements((opinion_of(one) for both in audit.compared for one in both), scale, {})
    return found[0] if found else None
