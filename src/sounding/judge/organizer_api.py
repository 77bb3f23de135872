"""The programming interface for organisers: topics, who judges them, the order of judging, differences."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Depends

from sounding.judge import organizing as organising
from sounding.judge.api import problems
from sounding.judge.messages import (
    Assignment,
    Changed,
    GivenGrade,
    Instructions,
    OrderChange,
    OrganisedTopic,
    ProjectSettings,
    SettingsChange,
    Settlement,
    Sharing,
    ShownDifference,
    ShownOrder,
    StatusChange,
)
from sounding.judge.settings import Order, Settings
from sounding.judge.settling import differing_documents, settle_document
from sounding.judge.web import Asking, Here, from_our_page, organiser

router = APIRouter(
    prefix="/api/organise",
    tags=["organisers"],
    dependencies=[Depends(organiser), Depends(from_our_page)],
    responses=problems(400, 401, 403, 413, 422, 500, 503),
)


@router.get("/topics")
def topics(here: Here) -> list[OrganisedTopic]:
    """All topics: which are judged, by whom, in which order, and how far each is."""
    return [
        OrganisedTopic(
            topic=one.topic.id, title=one.topic.title, version=one.topic.version, status=one.topic.status,
            estimate=one.topic.estimate, assessors=[person.name for person in one.assessors],
            order=ShownOrder(**asdict(one.order)), judged=one.judged, unsettled=one.unsettled, left=one.left,
            again=one.again,
        )
        for one in organising.topic_states(here.project)
    ]  # fmt: skip


@router.post("/status")
def set_status(given: StatusChange, here: Here, asking: Asking) -> Changed:
    """Choose topics, drop them, or make them candidates again; all of them or none."""
    by = asking.signed_in().pseudonym
    return Changed(changed=organising.set_statuses(here.project, given.topics, given.status, by=by))


@router.post("/assign")
def assign(given: Assignment, here: Here) -> Changed:
    """Give a topic to exactly these assessors."""
    return Changed(changed=organising.assign(here.project, given.topic, given.assessors))


@router.post("/share-out")
def share_out(given: Sharing, here: Here) -> Changed:
    """Give every chosen topic to so many assessors, those with the fewest topics first."""
    return Changed(changed=organising.share_out(here.project, given.count))


@router.post("/order")
def set_order(given: OrderChange, here: Here, asking: Asking) -> Changed:
    """Change the order of judging of topics, or of all."""
    order = Order(policy=given.policy, parameters=given.parameters, batch=given.batch, warm_up=given.warm_up)
    by = asking.signed_in().pseudonym
    return Changed(changed=organising.set_order(here.project, given.topics, order, by=by))


@router.get("/settings")
def settings(here: Here) -> ProjectSettings:
    """What may change while people judge."""
    here.project.engine.catch_up()
    return _shown(here.project.settings)


@router.post("/settings")
def change_settings(given: SettingsChange, here: Here, asking: Asking) -> ProjectSettings:
    """Change some of the settings; judgments stay, and what follows is worked out anew."""
    changes = given.model_dump(exclude_none=True)
    if "lease" in changes:
        changes["lease_seconds"] = 60 * changes.pop("lease")
    return _shown(organising.change_settings(here.project, by=asking.signed_in().pseudonym, **changes))


def _shown(settings: Settings) -> ProjectSettings:
    return ProjectSettings(
        title=settings.title, overlap=settings.overlap, feed=settings.feed, level=settings.level,
        measure=settings.measure, lease=settings.lease_seconds / 60,
    )  # fmt: skip


@router.get("/instructions")
def instructions(here: Here) -> Instructions:
    """What assessors read beside every topic."""
    return Instructions(text=organising.instructions_of(here.project))


@router.post("/instructions")
def set_instructions(given: Instructions, here: Here, asking: Asking) -> Instructions:
    """Change what assessors read beside every topic."""
    organising.set_instructions(here.project, given.text, by=asking.signed_in().pseudonym)
    return instructions(here)


@router.get("/differences")
def differences(here: Here) -> list[ShownDifference]:
    """Documents of topics in use on which assessors differ, those that nobody has settled first."""
    return [
        ShownDifference(
            topic=one.topic, doc=one.doc, grades=[GivenGrade(**given._asdict()) for given in one.grades],
            settled=one.settled, open=one.open,
        )
        for one in differing_documents(here.project, here.project.store.standing())
    ]  # fmt: skip


@router.post("/differences", responses=problems(409))
def settle(given: Settlement, here: Here, asking: Asking) -> Changed:
    """Settle a document on which assessors differ; one that is settled so already stays as it is."""
    by = asking.signed_in().pseudonym
    is_new = settle_document(here.project, given.topic, given.doc, given.grade, by=by, key=given.key)
    return Changed(changed=int(is_new))
