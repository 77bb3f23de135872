"""Pages of organisers: the live page, topics, people, differences between assessors, the project."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, get_args
from urllib.parse import quote
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from sounding.collection.strategies import STRATEGIES
from sounding.errors import SoundingError
from sounding.judging.agreement import Opinion, agreements
from sounding.judging.api import words_of
from sounding.judging.audit import audit_sample, record_audit
from sounding.judging.auth import RefusedError
from sounding.judging.documents import Presented, presented
from sounding.judging.exports import left_out
from sounding.judging.project import add_runs, invite
from sounding.judging.search import shortened
from sounding.judging.settings import MTC, Order, parse_parameters
from sounding.judging.store import Role, Standing, TopicStatus, User
from sounding.judging.titles import plain, titled
from sounding.judging.web import Asking, Context, Fields, Given, Here, from_our_page, organiser, page, went_to

MOST_SHOWN = 100  # differences on one page
MOST_TEXT = 4000  # characters of a document beside its grades
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
EXPORTED = (
    ("qrels", "TREC's four columns, one grade a document"),
    ("assessors", "the grade of every assessor"),
    ("strata", "with the stratum of every document of a sample"),
    ("prels", "with the chance that every document of a sample had"),
    ("log", "every event as a line of JSON"),
    ("searches", "every query, and what was opened"),
    ("topics", "every version of every topic"),
)

FEEDS = {
    "first": "first: of whoever judged it first",
    "majority": "majority: that most gave",
    "adjudicated": "adjudicated: that all agree on, or an organiser settled",
}

Text = Annotated[str, Query(max_length=500)]

router = APIRouter(
    prefix="/organise", include_in_schema=False, dependencies=[Depends(organiser), Depends(from_our_page)]
)


@router.get("")
def live_page(request: Request) -> Response:
    """How sure the ranking is, kept up to date by server-sent events."""
    return page(request, "live.html")


# ---- topics


@router.get("/topics")
def topics_page(request: Request, here: Here) -> Response:
    """All topics: which are judged, by whom, in which order."""
    project = here.project
    who: dict[str, list[str]] = {}
    ready = {person.pseudonym for person in project.store.users() if person.active}
    for topic, assessor in project.store.assignments():
        if assessor in ready:  # those who can no longer sign in judge nothing
            who.setdefault(topic, []).append(assessor)
    judged = project.store.documents_judged()
    return page(
        request, "organise_topics.html",
        topics=[
            {
                "topic": topic, "assessors": who.get(topic.id, []), "order": project.engine.order(topic.id),
                "judged": judged[topic.id], "left": project.engine.left(topic.id),
            }
            for topic in project.store.topics()
        ],
        assessors=_assessors(here), names=_names(here), overlap=project.settings.overlap,
        general=project.engine.general_order(),
        policies={MTC: "the documents that tell most about the order of the runs"}
        | {name: kind.title for name, kind in STRATEGIES.items()},
    )  # fmt: skip


@router.post("/assign")
def assign(here: Here, given: Given) -> Response:
    """Give a topic to exactly these assessors."""
    store = here.project.store
    topic, wanted = given.text("topic", most=500), set(given.texts("assessor"))
    unknown = wanted - {person.pseudonym for person in _assessors(here)}
    if unknown:
        raise RefusedError(400, f"{min(unknown)!r} is no assessor")
    present = {assessor for one, assessor in store.assignments() if one == topic}
    for assessor in sorted(wanted - present):
        store.assign(topic, assessor)
    for assessor in sorted(present - wanted):
        store.unassign(topic, assessor)
    return went_to("/organise/topics?said=saved")


@router.post("/share-out")
def share_out(here: Here, given: Given) -> Response:
    """Give every chosen topic to so many assessors, those with the fewest topics first."""
    store = here.project.store
    count = given.whole("count", least=1, most=20) or 1
    loads = {person.pseudonym: 0 for person in _assessors(here)}
    who: dict[str, set[str]] = {}
    for topic, assessor in store.assignments():
        if assessor in loads:  # those who can no longer sign in judge nothing
            who.setdefault(topic, set()).add(assessor)
            loads[assessor] += 1
    chosen = [topic.id for topic in store.topics() if topic.in_use]
    for topic, assessor in shared_out(chosen, who, loads, count):
        store.assign(topic, assessor)
    return went_to("/organise/topics?said=saved")


def shared_out(
    topics: list[str], who: dict[str, set[str]], loads: dict[str, int], count: int
) -> Iterator[tuple[str, str]]:
    """(topic, assessor) that bring every topic to so many assessors and keep their loads even."""
    loads = dict(loads)
    for topic in topics:
        free = [assessor for assessor in loads if assessor not in who.get(topic, ())]
        missing = max(0, count - len(who.get(topic, ())))
        for assessor in sorted(free, key=lambda one: loads[one])[:missing]:
            loads[assessor] += 1
            yield topic, assessor


@router.post("/status")
def set_status(here: Here, given: Given, asking: Asking) -> Response:
    """Choose a topic, drop it, or make it a candidate again."""
    project = here.project
    topic, status = given.text("topic", most=500), given.text("status", most=20)
    if project.store.topic(topic) is None or status not in get_args(TopicStatus):
        known = ", ".join(get_args(TopicStatus))
        raise RefusedError(400, f"no such topic, or no status {status!r}; expected {known}")
    project.engine.set_status(topic, status, by=asking.signed_in().pseudonym)  # type: ignore[arg-type]
    return went_to("/organise/topics?said=saved")


@router.post("/order")
def set_order(here: Here, given: Given, asking: Asking) -> Response:
    """Change the order of judging of a topic, or of all."""
    topic = given.text("topic", most=500) or None
    if topic is not None and here.project.store.topic(topic) is None:
        raise RefusedError(400, f"there is no topic {topic!r}")
    order = Order(
        policy=given.text("policy", most=100),
        parameters=parse_parameters(given.text("parameters", most=500).split()),
        batch=given.whole("batch", least=1, most=1000) or 1,
        warm_up=given.whole("warm_up", least=0, most=1000) or 0,
    )
    here.project.engine.set_order(topic, order, by=asking.signed_in().pseudonym)
    return went_to("/organise/topics?said=saved")


# ---- people


@router.get("/people")
def people_page(request: Request, here: Here) -> Response:
    """Who can sign in."""
    return _people(request, here)


def _people(request: Request, here: Context, link: str = "", link_for: str = "") -> Response:
    store = here.project.store
    people = store.users()
    signed = {person.id: len(store.sign_ins(person.id)) for person in people}
    return page(request, "people.html", people=people, signed=signed, link=link, link_for=link_for)


@router.post("/people/add")
def add_person(request: Request, here: Here, given: Given) -> Response:
    """A new user, and the link to set a password with."""
    role = given.text("role", most=20)
    if role not in get_args(Role):
        raise RefusedError(400, f"no role {role!r}; expected {' or '.join(get_args(Role))}")
    person = here.project.store.add_user(given.text("name", most=200), role)  # type: ignore[arg-type]
    return _people(request, here, _link(request, here, person), person.name)


@router.post("/people/{act}")
def change_person(request: Request, here: Here, given: Given, asking: Asking, act: str) -> Response:
    """A new link, another role, closing, opening, signing out, erasing; never of oneself."""
    store = here.project.store
    person = store.user(given.whole("id", least=1, most=10**9) or 0)
    if person is None or person.id == asking.signed_in().id:
        raise RefusedError(400, "there is no such person, or it is you; ask another organiser")
    if act == "link":
        return _people(request, here, _link(request, here, person), person.name)
    if act == "role":
        store.set_role(person.id, "organiser" if person.role == "assessor" else "assessor")
        store.end_sign_ins(person.id)
    elif act in ("close", "open"):
        store.set_active(person.id, act == "open")
    elif act == "end":
        store.end_sign_ins(person.id)
    elif act == "erase":
        store.erase_user(person.id)
    else:
        raise RefusedError(404, "there is nothing here")
    return went_to("/organise/people?said=saved")


def _link(request: Request, here: Context, person: User) -> str:
    secret = invite(here.project.store, person, "invitation" if person.password_hash is None else "reset")
    return f"{str(request.base_url).rstrip('/')}/welcome/{secret}"


# ---- differences


@router.get("/differences")
def differences_page(request: Request, here: Here) -> Response:
    """Agreement of assessors, and the documents on which they differ."""
    project = here.project
    pairs: dict[tuple[str, str], list[Standing]] = {}
    for one in project.store.standing():
        pairs.setdefault((one.topic, one.doc), []).append(one)
    several = {pair: given for pair, given in pairs.items() if len(given) > 1}
    differing = [pair for pair, given in sorted(several.items()) if len({one.grade for one in given}) > 1]
    settled = _settled(here, set(differing))
    names = _names(here)
    return page(
        request, "differences.html", scale=project.settings.scale, feed=project.settings.feed,
        more=max(0, len(differing) - MOST_SHOWN),
        agreement=agreements(map(_given, project.store.standing()), _grades(here), names),
        differences=[
            {
                "topic": topic, "doc": doc, **_text(here, doc), "key": uuid4().hex,
                "grades": [(names.get(one.assessor, one.assessor), one.grade) for one in several[topic, doc]],
                "settled": settled.get((topic, doc)),
            }
            for topic, doc in differing[:MOST_SHOWN]
        ],
    )  # fmt: skip


def _given(one: Standing) -> Opinion:
    return one.assessor, (one.topic, one.doc), one.grade


def _grades(here: Context) -> list[float]:
    return [grade.value for grade in here.project.settings.scale]


def _settled(here: Context, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], float | None]:
    if not wanted:
        return {}
    return {
        (event.topic or "", event.doc or ""): event.grade
        for event in here.project.store.gradings()
        if event.kind == "adjudicate" and (event.topic, event.doc) in wanted
    }


def _text(here: Context, doc: str) -> dict[str, str]:
    """Title and the beginning of the text of a document."""
    found = here.project.corpus.document(doc)
    title, text = ("", "The corpus does not have this document.") if found is None else titled(found)
    return {"title": title, "text": shortened(plain(text), MOST_TEXT)}


@router.post("/adjudicate")
def adjudicate(here: Here, given: Given, asking: Asking) -> Response:
    """Settle a document on which assessors differ."""
    here.project.engine.adjudicate(
        asking.signed_in().pseudonym, given.text("topic", most=500), given.text("doc", most=500),
        _grade(here, given), key=given.text("key", most=100) or uuid4().hex,
    )  # fmt: skip
    return went_to("/organise/differences?said=saved")


# ---- audits


@router.get("/audit")
def audit_page(
    request: Request,
    here: Here,
    asking: Asking,
    assessor: Text = "",
    size: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """A random sample of somebody's judgments, graded anew, and the agreement."""
    project, expert = here.project, asking.signed_in()
    people = [one for one in project.store.users() if one.id != expert.id]
    sample = _sample(here, assessor, size)
    own = {(one.topic, one.doc): one for one in project.store.standing(assessor=expert.pseudonym)}
    done = [one for one in sample if (one.topic, one.doc) in own]
    present = next((one for one in sample if (one.topic, one.doc) not in own), None)
    both = [[one, own[one.topic, one.doc]] for one in done]
    found = agreements((_given(one) for pair in both for one in pair), _grades(here), {})
    topic = None if present is None else project.store.topic(present.topic)
    text = None if present is None else project.corpus.document(present.doc)
    heading, body = Presented("", "") if text is None or topic is None else presented(text, words_of(topic))
    return page(
        request, "audit.html", people=people, assessor=assessor, size=size, graded=len(done),
        total=len(sample),
        agreement=found[0] if found else None, present=None if topic is None else present, topic=topic,
        compared=[(one, other.grade) for one, other in both], key=uuid4().hex, scale=project.settings.scale,
        # What `presented` gives is escaped or cleaned.
        heading=Markup(heading), html=Markup(body),  # noqa: S704
    )  # fmt: skip


@router.post("/audit")
def audit(here: Here, given: Given, asking: Asking) -> Response:
    """Keep an expert's grade for a judgment of the sample."""
    assessor, size = given.text("assessor", most=200), given.whole("size", least=1, most=1000) or 1
    pair = (given.text("topic", most=500), given.text("doc", most=500))
    grade = None if given.text("grade", most=30) == "cannot" else _grade(here, given)
    for one in _sample(here, assessor, size):
        if (one.topic, one.doc) == pair:
            every = here.project.store.judgments_given()[assessor]
            record_audit(
                here.project.store, asking.signed_in().pseudonym, one, grade, chance=min(1.0, size / every),
                key=given.text("key", most=100) or uuid4().hex,
            )  # fmt: skip
            here.project.engine.catch_up()
            return went_to(f"/organise/audit?assessor={quote(assessor, safe='')}&size={size}")
    raise RefusedError(400, "this document is not in the sample, or no longer; load the page again")


def _sample(here: Context, assessor: str, size: int) -> list[Standing]:
    judgments = here.project.store.standing(assessor=assessor) if assessor else []
    return audit_sample(judgments, size, here.project.settings.seed)


def _grade(here: Context, given: Fields) -> float:
    grade = given.text("grade", most=30)
    if grade not in [str(one.value) for one in here.project.settings.scale]:
        raise RefusedError(400, f"grade {grade!r} is not on the scale")
    return float(grade)


# ---- the project


@router.get("/project")
def project_page(request: Request, here: Here) -> Response:
    """Instructions, exports, runs, and what the project was set up with."""
    return _project(request, here)


def _project(request: Request, here: Context, said: str = "") -> Response:
    project = here.project
    return page(
        request, "project.html", said=said, instructions=project.store.setting("instructions") or "",
        exports=EXPORTED, runs=project.engine.run_names(), settings=project.settings,
        documents=project.corpus.count, feeds=FEEDS, unused=left_out(project.store),
    )  # fmt: skip


@router.post("/instructions")
def set_instructions(here: Here, given: Given, asking: Asking) -> Response:
    """Change what assessors read beside every topic."""
    text = given.text("instructions", most=100_000).strip()
    here.project.store.set_setting("instructions", text, by=asking.signed_in().pseudonym)
    return went_to("/organise/project?said=saved")


@router.post("/settings")
def set_settings(here: Here, given: Given, asking: Asking) -> Response:
    """Change what the project was set up with; judgments stay, and what follows is worked out anew."""
    engine = here.project.engine
    present = engine.settings
    try:
        wanted = replace(
            present,
            order=engine.general_order(),  # which may have been changed since the settings were
            title=given.text("title", most=200).strip() or present.title,
            measure=given.text("measure", most=100).strip() or present.measure,
            level=float(given.text("level", most=30)),
            overlap=given.whole("overlap", least=1, most=20) or present.overlap,
            feed=given.text("feed", most=20),  # type: ignore[arg-type]  # the settings check it
            lease_seconds=60 * (given.whole("lease", least=1, most=1440) or 1),
        )
    except ValueError:
        raise RefusedError(400, "the lowest relevant grade is no number") from None
    engine.change_settings(wanted, by=asking.signed_in().pseudonym)
    return went_to("/organise/project?said=saved")


@router.post("/runs")
def add_run(request: Request, here: Here, given: Given) -> Response:
    """Add a run; its file is read whole and checked before anything is recorded."""
    upload = given.file("run")
    name = re.sub(r"[^\w.+-]+", "-", Path(upload.filename or "").name)[:100].strip("-.") or "run"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        with path.open("wb") as target:
            while block := upload.file.read(1 << 20):
                target.write(block)
        with path.open("rb") as written:
            if written.read(6).startswith(PACKED):
                raise RefusedError(400, f"{name} is compressed; unpack it first")
        try:
            added = add_runs(here.project, [str(path)])
        except SoundingError as error:
            raise RefusedError(400, str(error).replace(f"{folder}/", "")) from error
    return _project(request, here, f"The run is added. {'; '.join(added.remarks)}".strip())


def _assessors(here: Context) -> list[User]:
    return [one for one in here.project.store.users() if one.role == "assessor" and one.active]


def _names(here: Context) -> dict[str, str]:
    return {one.pseudonym: one.name for one in here.project.store.users()}
