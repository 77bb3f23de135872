"""The organizers' pages: live page, topics, people, differences, audits, and the project."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import quote, urlencode
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from sounding.core.errors import SoundingError
from sounding.data.finding import run_name
from sounding.judge import organizing, web
from sounding.judge.assessor_pages import judging_page
from sounding.judge.auth import RefusedError
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import left_out, omission_note, omitted_from_qrels, omitted_from_samples
from sounding.judge.ids import MOST_DOC, MOST_RUN_NAME, MOST_TOPIC
from sounding.judge.language import gettext, marked
from sounding.judge.machines import label_opinions
from sounding.judge.messages import MOST_BATCH, MOST_INSTRUCTIONS, MOST_SAMPLED
from sounding.judge.organizer_api import audited, coming, drawn
from sounding.judge.people import MOST_NAME
from sounding.judge.progress import FEWEST, agreements, opinion_of
from sounding.judge.project import add_runs, renew_link
from sounding.judge.records import AUDIT, MOST_EVENTS, Role, Topic, User
from sounding.judge.review import JudgmentAudit, agreement_of, audits_of, differing_documents
from sounding.judge.search import shortened
from sounding.judge.settings import MOST_ASSESSORS, MOST_LEASE, MOST_TITLE, MTC, Order, parse_parameters
from sounding.judge.texts import plain, split_title
from sounding.judge.topic_changes import (
    USED,
    TopicChange,
    TopicFilter,
    assign_also,
    changed_topics,
    find_topics,
    recorded,
    undo,
)
from sounding.judge.uploads import name_of_upload, place_of_upload, save_run
from sounding.selection.strategies import STRATEGIES

MOST_SHOWN = 100  # differences on one page
TOPICS_SHOWN = 50  # on one page
MOST_TEXT = 4000  # characters of a document shown next to its grades
MTC_TITLE = marked("minimal test collection: the documents that say most about the ranking of the runs")
CANNOT = "cannot"  # the form value for a document that cannot be judged
FEEDS = {
    "first": "first: the earliest grade",
    "majority": "majority: the most frequent grade",
    "adjudicated": "adjudicated: the common grade, or the one an organizer settled",
}

Text = Annotated[str, Query(max_length=500)]
Number = Annotated[int, Query(ge=1, le=MOST_EVENTS)]
SAMPLED = 20  # default number of judgments in an audit

router = APIRouter(
    prefix="/organize",
    include_in_schema=False,
    dependencies=[Depends(web.organizer), Depends(web.from_our_page)],
)


@router.get("")
def live_page(request: Request, here: web.Here) -> Response:
    """Show the live page, which server-sent events keep up to date."""
    return web.page(request, "live.html", depth=here.project.settings.depth, fewest=FEWEST)


# ---- topics


Skipped = Annotated[int, Query(ge=0, le=MOST_EVENTS)]
Changed = Annotated[str, Query(max_length=50, pattern=r"^([0-9]+-[0-9]+)?$")]


@router.get("/topics")
def topics_page(
    request: Request,
    here: web.Here,
    find: Text = "",
    status: Text = USED,
    who: Text = "",
    first: Skipped = 0,
    changed: Changed = "",
) -> Response:
    """Show a page of the topics that match, with status, assessors and order."""
    project, wanted = here.project, TopicFilter(find=find, status=status, who=who)
    found = find_topics(project, wanted)
    first = min(first, max(0, len(found.topics) - 1)) // TOPICS_SHOWN * TOPICS_SHOWN
    shown = found.topics[first : first + TOPICS_SHOWN]
    counts = project.engine.counts()
    change = _change(changed)
    return web.page(
        request, "organize_topics.html", found=found, wanted=wanted, first=first, last=first + len(shown),
        page_size=TOPICS_SHOWN, query=lambda **given: _query(wanted, **given),
        topics=[
            {"topic": one, "assessors": found.assessors.get(one.id, ()), "counts": counts.of(one.id),
             "order": project.engine.order(one.id)}
            for one in shown
        ],
        assessors=project.store.assessors(), names=project.store.names(),
        overlap=project.settings.overlap, general=project.engine.general_order(),
        notes=organizing.notes_of(project.engine), change=change,
        changed_topics=0 if change is None else changed_topics(project, change),
        policies={MTC: MTC_TITLE}
        | {name: kind.title for name, kind in STRATEGIES.items() if name != MTC},
    )  # fmt: skip


def _change(text: str) -> TopicChange | None:
    """Return the change that an address names by the numbers of its events."""
    after, _, until = text.partition("-")
    if not (after.isdecimal() and until.isdecimal()):
        return None
    change = TopicChange(int(after), int(until))
    return change if change.after < change.until <= MOST_EVENTS else None


def _query(wanted: TopicFilter, **more: object) -> str:
    """Return the address of the topics page with a filter."""
    given = {name: value for name, value in asdict(wanted).items() if value != getattr(TopicFilter(), name)}
    values = {name: value for name, value in {**given, **more}.items() if value}
    return f"/organize/topics?{urlencode(values)}" if values else "/organize/topics"


def _ticked(here: web.Context, given: web.FormFields) -> tuple[list[str], str]:
    """Return the ticked topics, or all that match the page's filter, and the address to go back to."""
    wanted = TopicFilter(
        find=given.text("find", most=500), status=given.text("within", most=20) or USED,
        who=given.text("who", most=500),
    )  # fmt: skip
    if given.text("all", most=10):
        topics = [one.id for one in find_topics(here.project, wanted).topics]
    else:
        topics = [name for name in given.texts("topic") if name]
        if not topics:
            raise RefusedError(400, marked("no topic is ticked; go back and tick some"))
    return topics, _query(wanted, first=given.whole("first", least=0, most=MOST_EVENTS) or 0)


def _saved(back: str, change: TopicChange) -> Response:
    """Go back to the topics, where the change can be undone."""
    sign = "&" if "?" in back else "?"
    saved = f"changed={change.after}-{change.until}" if change.until > change.after else "said=same"
    return web.went_to(f"{back}{sign}{saved}")


@router.post("/assign")
def assign(here: web.Here, given: web.Given) -> Response:
    """Assign the ticked topics to one more person, or remove them."""
    topics, back = _ticked(here, given)
    person, removing = given.text("assessor", most=200), given.text("act", most=20) == "remove"
    with recorded(here.project) as change:
        assign_also(here.project, topics, person, remove=removing)
    return _saved(back, change)


@router.post("/share-out")
def share_out(here: web.Here, given: web.Given) -> Response:
    """Assign assessors to every chosen topic that has too few, people with the fewest topics first."""
    with recorded(here.project) as change:
        organizing.share_out(here.project, given.whole("count", least=1, most=MOST_ASSESSORS))
    return _saved("/organize/topics", change)


@router.post("/status")
def set_status(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Choose the ticked topics, drop them, or make them candidates again."""
    topics, back = _ticked(here, given)
    status = given.text("status", most=20)
    with recorded(here.project) as change:
        organizing.set_statuses(here.project, topics, status, by=who.pseudonym)  # type: ignore[arg-type]
    return _saved(back, change)


@router.post("/order")
def set_order(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Change the order of judging for the ticked topics, or for all and future ones."""
    every = bool(given.text("general", most=10))
    topics, back = ([], "/organize/topics") if every else _ticked(here, given)
    order = Order(
        policy=given.text("policy", most=100),
        parameters=parse_parameters(given.text("parameters", most=500).split()),
        batch=given.whole("batch", least=1, most=MOST_BATCH) or 1,
        warm_up=given.whole("warm_up", least=0, most=MOST_BATCH) or 0,
    )
    with recorded(here.project) as change:
        organizing.set_order(here.project, None if every else topics, order, by=who.pseudonym)
    return _saved(back, change)


@router.post("/undo")
def undo_change(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Undo a change of topics."""
    change = _change(given.text("changed", most=50))
    if change is None or change.until > here.project.store.last_sequence():
        raise RefusedError(400, marked("there is no such change; reload the page"))
    undone = undo(here.project, change, by=who.pseudonym)
    return web.went_to(f"/organize/topics?said={'partly' if undone.kept else 'undone'}")


# ---- people


@router.get("/people")
def people_page(request: Request, here: web.Here) -> Response:
    """Show all users."""
    return _people(request, here)


def _people(request: Request, here: web.Context, link: str = "", link_for: str = "") -> Response:
    store = here.project.store
    people = store.users()
    signed = {person.id: len(store.sign_ins(person.id)) for person in people}
    return web.page(
        request, "people.html", people=people, signed=signed, link=link, link_for=link_for,
        topics=store.topics_given(), judged=store.judgments_given(), most_name=MOST_NAME,
    )  # fmt: skip


@router.post("/people/add")
def add_person(request: Request, here: web.Here, given: web.Given) -> Response:
    """Add a user and show the link to set a password."""
    role = given.text("role", most=20)
    if role not in get_args(Role):
        raise RefusedError(400, f"unknown role {role!r}; expected {' or '.join(get_args(Role))}")
    person = here.project.store.add_user(given.text("name", most=200), role)  # type: ignore[arg-type]
    return _people(request, here, _link(request, here, person), person.name)


@router.post("/people/{act}")
def change_person(
    request: Request, here: web.Here, given: web.Given, who: web.Organizer, act: str
) -> Response:
    """Create a link for a user, or change the role, close, open, sign out or erase; never for oneself."""
    store = here.project.store
    person = store.user(given.whole("id", least=1, most=10**9) or 0)
    if person is None or person.id == who.id:
        raise RefusedError(
            400,
            marked("you cannot change this account: it does not exist or is yours; ask another organizer"),
        )
    if act == "link":
        return _people(request, here, _link(request, here, person), person.name)
    if act == "role":
        store.set_role(person.id, "organizer" if person.role == "assessor" else "assessor")
        store.end_sign_ins(person.id)
    elif act in ("close", "open"):
        store.set_active(person.id, act == "open")
    elif act == "end":
        store.end_sign_ins(person.id)
    elif act == "erase":
        store.erase_user(person.id)
    else:
        raise RefusedError(404, web.NOTHING_HERE)
    return web.went_to(
        f"/organize/people?said={'held' if act == 'erase' and store.holds_erased() else 'saved'}"
    )


def _link(request: Request, here: web.Context, person: User) -> str:
    secret = renew_link(here.project.store, person)
    return f"{str(request.base_url).rstrip('/')}/welcome/{secret}"


# ---- differences


@router.get("/differences")
def differences_page(request: Request, here: web.Here) -> Response:
    """Show the agreement of assessors and the documents on which they differ."""
    project = here.project
    names, topics = project.store.names(), {one.id: one for one in project.store.topics()}
    standing = [one for one in project.store.standing() if project.engine.in_use(one.topic)]
    differing = differing_documents(project, standing)
    return web.page(
        request, "differences.html", scale=project.settings.scale, feed=project.settings.feed,
        words=_words(here), cannot=CANNOT,
        more=max(0, len(differing) - MOST_SHOWN), differing=len(differing),
        unsettled=sum(one.open for one in differing),
        agreement=agreements(
            chain(map(opinion_of, standing), label_opinions(here.project.store)), _grades(here), names,
            project.engine.unseen(),
        ), fewest=FEWEST,
        differences=[
            {
                "topic": one.topic, **_wanted(topics.get(one.topic)),
                "doc": one.doc, **_text(here, one.doc), "key": uuid4().hex,
                "grades": one.grades, "settled": one.settled, "open": one.open,
            }
            for one in differing[:MOST_SHOWN]
        ],
    )  # fmt: skip


def _wanted(topic: Topic | None) -> dict[str, Any]:
    """Return the title of a topic and the texts below it."""
    if topic is None:
        return {"topic_title": "", "wanted": []}
    return {"topic_title": topic.title, "wanted": list(filter(None, (topic.description, topic.narrative)))}


def _words(here: web.Context) -> dict[float, str]:
    """Map every grade to its label."""
    return {grade.value: grade.words for grade in here.project.settings.scale}


def _grades(here: web.Context) -> list[float]:
    return [grade.value for grade in here.project.settings.scale]


def _text(here: web.Context, doc: str) -> dict[str, str]:
    """Return the title and the beginning of the text of a document."""
    found = here.project.corpus.document(doc)
    title, text = (
        ("", gettext("The corpus does not contain this document.")) if found is None else split_title(found)
    )
    return {"title": title, "text": shortened(plain(text), MOST_TEXT)}


@router.post("/adjudicate")
def adjudicate(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Settle a document on which assessors differ."""
    here.project.engine.adjudicate(
        who.pseudonym, given.text("topic", most=MOST_TOPIC),
        given.text("doc", most=MOST_DOC),
        _grade(here, given), key=given.text("key", most=100) or uuid4().hex,
    )  # fmt: skip
    return web.went_to("/organize/differences?said=saved")


# ---- audits


@router.get("/audit")
def audit_page(
    request: Request, here: web.Here, expert: web.Organizer, audit: Number | None = None
) -> Response:
    """Show the audits, or one of them with its progress and agreement."""
    return _audits(request, here, expert, None if audit is None else audited(here, expert, audit))


@router.post("/audit/draw")
def draw_audit(request: Request, here: web.Here, expert: web.Organizer, given: web.Given) -> Response:
    """Draw a random sample of a person's judgments."""
    assessor = given.text("assessor", most=100)
    number = drawn(here, expert, assessor, given.whole("size", least=1, most=MOST_SAMPLED) or SAMPLED)
    if number is None:
        name = here.project.store.names().get(assessor, assessor)
        return _audits(
            request, here, expert, said=gettext("{name} has no judgments for topics in use yet.", name=name)
        )
    return web.went_to(f"/organize/audit?audit={number}")


def _audits(
    request: Request, here: web.Context, expert: User, audit: JudgmentAudit | None = None, said: str = ""
) -> Response:
    store = here.project.store
    titles = {one.id: one.title for one in store.topics()}
    shown = [] if audit is None else [audit]
    return web.page(
        request, "audit.html", people=_audited_people(here, expert),
        audit=audit, size=SAMPLED, names=store.names(), said=said, feed=here.project.settings.feed,
        fewest=FEWEST,
        agreement=None if audit is None else agreement_of(audit, _grades(here)),
        others=[
            (one, agreement_of(one, _grades(here)))
            for one in audits_of(store, expert.pseudonym)
            if audit is None or one.number != audit.number
        ],
        topics=[
            (topic, titles.get(topic, ""), len(one.about(topic)), len(one.open(topic)))
            for one in shown
            for topic in one.topics
            if one.about(topic)
        ],
        compared=[
            (one, own, _text(here, one.doc)["title"]) for audit in shown for one, own in audit.compared
        ],
        words=_words(here),
    )  # fmt: skip


def _audited_people(here: web.Context, expert: User) -> dict[str, str]:
    """Map pseudonyms to names of everybody else, including imported and erased assessors."""
    names = here.project.store.names()
    every = {**names, **{who: names.get(who, who) for who in here.project.store.judgments_given()}}
    return {who: name for who, name in every.items() if who != expert.pseudonym}


@router.get("/audit/judge")
def audit_judge_page(
    request: Request, here: web.Here, expert: web.Organizer, audit: Number, topic: Text = ""
) -> Response:
    """Show the judging page for the next ungraded topic of a sample; go back if none is left."""
    sample = audited(here, expert, audit)
    asked = topic or next((one.topic for one in sorted(sample.open(), key=lambda one: one.topic)), "")
    found = here.project.store.topic(asked) if asked in sample.topics else None
    back = f"/organize/audit?audit={audit}"
    if found is None:
        return web.went_to(back)
    if not topic:  # redirect, so that reloading the page shows the same topic
        return web.went_to(f"/organize/audit/judge?audit={audit}&topic={quote(asked, safe='')}")
    graded = sample.graded(asked)
    here_given = [
        one for one in graded if one.selection.policy == AUDIT
    ]  # not what was judged as an assessor
    last = max(here_given, key=lambda one: one.sequence).doc if here_given else ""
    name = here.project.store.names().get(sample.assessor, sample.assessor)
    return judging_page(
        request, here, found, doc="", query="", judged=len(graded), coming=coming(sample, asked), back=back,
        back_words=gettext("the audit"), after=f"/organize/audit/judge?audit={audit}",
        audit={"number": audit, "last": last, "name": name},
    )  # fmt: skip


def _grade(here: web.Context, given: web.FormFields) -> float | None:
    grade = given.text("grade", most=30)
    if grade == CANNOT:
        return None
    if grade not in [str(one.value) for one in here.project.settings.scale]:
        raise RefusedError(
            400, gettext("grade “{grade}” is not on the scale; reload the page and choose again", grade=grade)
        )
    return float(grade)


# ---- the project


@router.get("/project")
def project_page(request: Request, here: web.Here) -> Response:
    """Show instructions, exports, runs and settings."""
    return _project(request, here)


def _project(request: Request, here: web.Context, said: str = "") -> Response:
    project = here.project
    omitted = {"qrels": omitted_from_qrels(project.engine), **omitted_from_samples(project.store)}
    return web.page(
        request, "project.html", said=said, instructions=organizing.instructions_of(project),
        exports=EXPORT_KINDS.values(), runs=project.engine.run_names(), settings=project.settings,
        documents=project.corpus.count, feeds=FEEDS, unused=left_out(project.store),
        omissions=[note for what, one in omitted.items() if (note := omission_note(what, one))],
        staffing=organizing.staffing_note(project.engine),
        most_upload=web.MOST_UPLOAD, too_large=web.too_large(web.MOST_UPLOAD),
    )  # fmt: skip


@router.post("/instructions")
def set_instructions(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Change the instructions for assessors."""
    text = given.text("instructions", most=MOST_INSTRUCTIONS)
    organizing.set_instructions(here.project, text, by=who.pseudonym)
    return web.went_to("/organize/project?said=saved")


@router.post("/settings")
def set_settings(here: web.Here, given: web.Given, who: web.Organizer) -> Response:
    """Change only the fields that differ from the form: another organizer may have changed the others."""
    wanted: dict[str, str | float | None] = {
        "title": given.text("title", most=MOST_TITLE),
        "measure": given.text("measure", most=100),
        "feed": given.text("feed", most=20),
        "level": _level(given),
        "overlap": given.whole("overlap", least=1, most=MOST_ASSESSORS),
        "lease": given.whole("lease", least=1, most=MOST_LEASE),
        "language": given.text("language", most=20),
    }
    changed = {name: value for name, value in wanted.items() if value is not None and given.changed(name)}
    organizing.change_settings(here.project, by=who.pseudonym, **changed)
    return web.went_to("/organize/project?said=saved")


def _level(given: web.FormFields) -> float:
    try:
        return float(given.text("level", most=30))
    except ValueError:
        raise RefusedError(
            400, marked("the lowest relevant grade is not a number; choose one from the list")
        ) from None


@router.post("/runs")
def add_run(request: Request, here: web.Here, given: web.Given) -> Response:
    """Add a run after checking its whole file."""
    upload = given.file("run")
    file = name_of_upload(upload.filename or "")
    name = given.text("name", most=MOST_RUN_NAME).strip() or run_name(file)
    with tempfile.TemporaryDirectory() as folder:
        place = place_of_upload(file, Path(folder))
        try:
            save_run(upload.file, file, place)
            added = add_runs(here.project, [str(place)], names=[name])
        except SoundingError as error:
            raise RefusedError(400, str(error).replace(str(place), file)) from error
    return _project(request, here, f"{gettext('Run added.')} {'; '.join(added.remarks)}".strip())
