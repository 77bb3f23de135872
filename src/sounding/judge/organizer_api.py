"""The HTTP API for organizers: topics, people, orders, settings, differences and audits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import Query

from sounding.judge import messages, organizing
from sounding.judge.api import (
    MorePlaces,
    at_hand,
    checked_grade,
    marks_of,
    problems,
    recorded,
    routes,
    seen_of,
    text_part,
    with_comment,
)
from sounding.judge.auth import RefusedError
from sounding.judge.language import gettext, marked
from sounding.judge.records import MOST_EVENTS, Receipt, Topic, User
from sounding.judge.review import (
    DifferingDocument,
    JudgmentAudit,
    audit_of,
    differing_documents,
    draw_audit,
    record_audit,
    refuse_pairs,
    settle_document,
)
from sounding.judge.settings import Order, Settings
from sounding.judge.web import Context, Here, Organizer, organizer

router = routes("/api/organize", "organizers", organizer, 400, 401, 403, 413, 422, 500, 503)
audits = routes("/api/audit", "audits", organizer, 400, 401, 403, 404, 409, 412, 413, 422, 500, 503)
NOT_DRAWN = marked("this document is not in the sample; reload the page")
Documents = Annotated[list[messages.DocId], Query(max_length=100)]


@router.get("/topics")
def topics(here: Here) -> list[messages.OrganizedTopic]:
    """Return all topics with status, assessors, order and progress."""
    return [
        messages.OrganizedTopic(
            topic=one.topic.id, title=one.topic.title, version=one.topic.version, status=one.topic.status,
            estimate=one.topic.estimate, assessors=[person.name for person in one.assessors],
            order=messages.ShownOrder(**asdict(one.order)), judged=one.counts.judged,
            unsettled=one.counts.unsettled, left=one.counts.left, again=one.counts.again,
        )
        for one in organizing.topic_states(here.project)
    ]  # fmt: skip


@router.post("/status")
def set_status(given: messages.StatusChange, here: Here, who: Organizer) -> messages.Changed:
    """Choose topics, drop them, or make them candidates again. All change, or none."""
    changed = organizing.set_statuses(here.project, given.topics, given.status, by=who.pseudonym)
    return messages.Changed(changed=changed)


@router.post("/assign")
def assign(given: messages.Assignment, here: Here) -> messages.Changed:
    """Assign a topic to exactly these assessors."""
    return messages.Changed(changed=organizing.assign(here.project, given.topic, given.assessors))


@router.post("/share-out")
def share_out(given: messages.Sharing, here: Here) -> messages.Changed:
    """Assign assessors to every chosen topic that has too few, people with the fewest topics first."""
    return messages.Changed(changed=organizing.share_out(here.project, given.count))


@router.post("/order")
def set_order(given: messages.OrderChange, here: Here, who: Organizer) -> messages.Changed:
    """Change the order of judging for some topics or for all."""
    order = Order(policy=given.policy, parameters=given.parameters, batch=given.batch, warm_up=given.warm_up)
    changed = organizing.set_order(here.project, given.topics, order, by=who.pseudonym)
    return messages.Changed(changed=changed)


@router.get("/settings")
def settings(here: Here) -> messages.ProjectSettings:
    """Return the settings that can change while people judge."""
    here.project.engine.catch_up()
    return _shown(here.project.settings)


@router.post("/settings")
def change_settings(given: messages.SettingsChange, here: Here, who: Organizer) -> messages.ProjectSettings:
    """Change some settings. Judgments stay; confidence and the next documents are recomputed."""
    changes = given.model_dump(exclude_none=True)
    return _shown(organizing.change_settings(here.project, by=who.pseudonym, **changes))


def _shown(settings: Settings) -> messages.ProjectSettings:
    return messages.ProjectSettings(
        title=settings.title, overlap=settings.overlap, feed=settings.feed, level=settings.level,
        measure=settings.measure, lease=settings.lease_seconds / 60, language=settings.language,
    )  # fmt: skip


@router.get("/instructions")
def instructions(here: Here) -> messages.Instructions:
    """Return the instructions for assessors."""
    return messages.Instructions(text=organizing.instructions_of(here.project))


@router.post("/instructions")
def set_instructions(given: messages.Instructions, here: Here, who: Organizer) -> messages.Instructions:
    """Change the instructions for assessors."""
    organizing.set_instructions(here.project, given.text, by=who.pseudonym)
    return instructions(here)


@router.get("/differences")
def differences(here: Here) -> list[DifferingDocument]:
    """Return the documents of topics in use on which assessors differ, unsettled ones first."""
    return differing_documents(here.project, here.project.store.standing())


@router.post("/differences", responses=problems(409))
def settle(given: messages.Settlement, here: Here, who: Organizer) -> messages.Changed:
    """Settle a document on which assessors differ. Repeating the same grade changes nothing."""
    is_new = settle_document(
        here.project, given.topic, given.doc, given.grade, by=who.pseudonym, key=given.key
    )
    return messages.Changed(changed=int(is_new))


AuditNumber = Annotated[int, Query(ge=1, le=MOST_EVENTS, description="number of the audit")]
SampleTopic = Annotated[messages.Id, Query(description="a topic of the sample")]


@audits.post("/draw")
def draw(given: messages.AuditDraw, here: Here, expert: Organizer) -> messages.AuditDrawn:
    """Draw a random sample of a person's judgments. Drawing the same sample again returns the same audit."""
    number = drawn(here, expert, given.assessor, given.size)
    if number is None:
        raise RefusedError(400, marked("nothing to draw: this person has no judgments for topics in use"))
    audit = audited(here, expert, number)
    return messages.AuditDrawn(audit=number, topics=audit.topics, size=len(audit.drawn), of=audit.of)


@audits.get("/next")
def next_documents(
    here: Here,
    expert: Organizer,
    audit: AuditNumber,
    topic: SampleTopic,
    count: Annotated[int, Query(ge=1, le=messages.MOST_AHEAD)] = 2,
    have: Documents = [],  # noqa: B006 - FastAPI copies it
    later: Documents = [],  # noqa: B006
) -> messages.DocumentsAtHand:
    """Return ungraded documents of the sample for a topic, without the assessor's grades."""
    sample = audited(here, expert, audit)
    asked = _topic(here, sample, topic)
    docs = _open_documents(sample, topic, count, later)
    return at_hand(here, asked, docs, have, coming(sample, topic), len(sample.graded(topic)))


@audits.get("/text")
def more_text(
    here: Here,
    expert: Organizer,
    audit: AuditNumber,
    topic: SampleTopic,
    doc: messages.DocId,
    first: MorePlaces,
) -> messages.TextPart:
    """Return a further part of a long document of the sample."""
    sample = audited(here, expert, audit)
    if (topic, doc) not in sample.drawn:
        raise RefusedError(400, NOT_DRAWN)
    return text_part(here, _topic(here, sample, topic), doc, first)


@audits.post("/judge")
def judge(given: messages.AuditGrading, here: Here, expert: Organizer) -> messages.Recorded:
    """Record your grade for a document of the sample. It is on disk when this answers."""
    audit, pair = audited(here, expert, given.audit), (given.topic, given.doc)
    if pair not in audit.drawn:
        raise RefusedError(400, NOT_DRAWN)
    receipt = record_audit(
        here.project.store, audit, pair, checked_grade(here, given), key=given.key, comment=given.comment,
        active=given.active, away=given.away, seen=seen_of(given), marks=marks_of(here, given),
    )  # fmt: skip
    here.project.engine.catch_up()
    return _recorded(here, expert, given, receipt)


@audits.post("/undo")
def undo(given: messages.AuditWithdrawal, here: Here, expert: Organizer) -> messages.Recorded:
    """Undo your last grade for a document of the sample. A change reverts to the grade before it."""
    store = here.project.store
    before = store.standing(topic=given.topic, assessor=expert.pseudonym, doc=given.doc)
    if (given.topic, given.doc) not in audited(here, expert, given.audit).drawn:
        raise RefusedError(400, NOT_DRAWN)
    receipt = here.project.engine.withdraw(expert.pseudonym, given.topic, given.doc, key=given.key)
    store.release(expert.pseudonym, given.topic)  # audits lease no documents
    return with_comment(here, _recorded(here, expert, given, receipt), before)


def drawn(here: Context, expert: User, assessor: str, size: int) -> int | None:
    """Draw an audit of another person's judgments; return its number, or None if there are no judgments."""
    project = here.project
    judge = organizing.judge_of(project.store, assessor)
    if judge == expert.pseudonym:
        raise RefusedError(400, marked("you cannot audit your own judgments; choose another person"))
    refuse_pairs(project.settings)
    number = draw_audit(project.store, expert.pseudonym, judge, size, project.settings.seed)
    project.engine.catch_up()
    return number


def audited(here: Context, expert: User, number: int) -> JudgmentAudit:
    """Return an audit that the expert has drawn; refuse an unknown number."""
    found = audit_of(here.project.store, expert.pseudonym, number)
    if found is None:
        raise RefusedError(404, marked("you have no audit with this number; draw one on the page Audit"))
    return found


def coming(audit: JudgmentAudit, topic: str) -> messages.Coming:
    """Return how much the expert still has to grade."""
    left, total = len(audit.open(topic)), len(audit.open())
    here, all_of_it = len(audit.about(topic)), len(audit.sample)
    words = gettext(
        "{left} of {here} left in this topic, {total} of {all} in all",
        left=left, here=here, total=total, all=all_of_it,
    )  # fmt: skip
    return messages.Coming(left=left, batch_left=0, batch_size=0, elsewhere=total - left, words=words)


def _topic(here: Context, audit: JudgmentAudit, topic: str) -> Topic:
    found = here.project.store.topic(topic)
    if found is None or topic not in audit.topics:
        raise RefusedError(404, marked("the sample has no document of this topic; reload the page"))
    return found


def _recorded(
    here: Context,
    expert: User,
    given: messages.AuditGrading | messages.AuditWithdrawal,
    receipt: Receipt | None,
) -> messages.Recorded:
    """Return the response to a grade or an undo; an undone document comes first."""
    audit = audited(here, expert, given.audit)
    topic = _topic(here, audit, given.topic)
    back = receipt.event.doc if receipt is not None and receipt.event.undid is not None else None
    docs = _open_documents(audit, topic.id, given.count, given.later, first=back)
    graded = len(audit.graded(topic.id))
    return recorded(here, at_hand(here, topic, docs, given.have, coming(audit, topic.id), graded), receipt)


def _open_documents(
    audit: JudgmentAudit, topic: str, count: int, later: list[str], *, first: str | None = None
) -> list[str]:
    """Return the next documents to grade: `first`, then the others, skipped ones last."""
    docs = [judgment.doc for judgment in audit.open(topic)]
    return sorted(docs, key=lambda doc: (doc != first, doc in later))[:count]
