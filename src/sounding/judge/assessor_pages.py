"""The assessors' pages: my topics, judging, my judgments, and writing topics."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from sounding.judge import api, web
from sounding.judge.auth import RefusedError
from sounding.judge.ids import MOST_DOC, MOST_TOPIC
from sounding.judge.language import gettext, marked, ngettext
from sounding.judge.machines import visible_labels
from sounding.judge.marks import describe_marks
from sounding.judge.messages import SearchResults
from sounding.judge.nuggets import nuggets_of
from sounding.judge.organizing import guide_of, instructions_of
from sounding.judge.records import ConflictError, Topic, User, is_relevant
from sounding.judge.subtopics import subtopics_of
from sounding.judge.texts import highlight

FEW = 3  # with fewer relevant documents, a topic hardly separates systems
MANY = 200  # with more, nearly every system finds some
NOTHING_ASKED = SearchResults(found=[], first=1, total=0, complete=0)

router = APIRouter(include_in_schema=False, dependencies=[Depends(web.assessor), Depends(web.from_our_page)])
entrance = APIRouter(include_in_schema=False, dependencies=[Depends(web.user)])

TopicId = Annotated[str, Query(max_length=MOST_TOPIC)]
AnyDoc = Annotated[str, Query(max_length=MOST_DOC)]  # or none
Words = Annotated[str, Query(max_length=1000)]
Place = Annotated[int, Query(ge=1, le=api.MOST_PLACES)]


@entrance.get("/")
def home(request: Request, here: web.Here, asking: web.Asking) -> Response:
    """Show an assessor's topics; redirect organizers to the live page."""
    who = asking.signed_in()
    if who.role == "organizer":
        return web.went_to("/organize")
    return web.page(
        request, "topics.html", topics=api.topics(here, who), instructions=instructions_of(here.project)
    )


@router.get("/judge")
def judge_page(
    request: Request,
    here: web.Here,
    who: web.Assessor,
    topic: TopicId,
    doc: AnyDoc = "",
    query: Words = "",
    first: Place = 1,
) -> Response:
    """Show the judging page for a topic, or for one document of it."""
    asked = api.own_topic(here.project.store, who, topic)
    if doc:
        api.existing(here, who, topic, doc)
    store, name = here.project.store, quote(topic, safe="")
    results = f"/develop/topic?id={name}&query={quote(query, safe='')}&first={first}"
    back = results if query else f"/history?topic={name}"
    back_words = gettext("back") if doc else gettext("my judgments")
    return judging_page(
        request, here, asked, doc=doc, query=query, judged=store.judged_by(who.pseudonym, topic),
        coming=api.coming(here, who, asked), back=back, back_words=back_words, after="/", audit=None,
        subtopics=subtopics_of(store, topic) if here.project.settings.by_subtopic else [],
    )  # fmt: skip


def judging_page(request: Request, here: web.Context, topic: Topic, **values: Any) -> Response:
    """Render the judging page with the topic and the instructions."""
    marks = not here.project.settings.of_pairs
    values = {"subtopics": [], **values}
    return web.page(
        request, "judge.html", topic=topic, scale=here.project.settings.scale, pause=here.pause,
        instructions=instructions_of(here.project), guide=guide_of(here.project, topic),
        nuggets=nuggets_of(here.project.store, topic.id) if marks else [],
        has_parts=marks and here.project.corpus.has_parts, marks=marks, **values,
    )  # fmt: skip


@router.get("/history")
def history(request: Request, here: web.Here, who: web.Assessor, topic: TopicId) -> Response:
    """Show an assessor's judgments for a topic, newest first."""
    asked = api.own_topic(here.project.store, who, topic)
    judgments = here.project.store.standing(topic=topic, assessor=who.pseudonym)[::-1]
    labels = {grade.value: grade.label for grade in here.project.settings.scale}
    lowest = min(labels)
    titles = {one.doc: title for one in judgments if (title := api.title_of(here, one.doc))}
    return web.page(
        request, "history.html", topic=asked, judgments=judgments, labels=labels, titles=titles,
        marked={one.doc: ", ".join(describe_marks(one.marks, lowest)) for one in judgments},
        machines={
            one.doc: visible_labels(here.project.store, topic, one.doc, judged=True) for one in judgments
        },
    )  # fmt: skip


@router.get("/develop")
def develop(request: Request, here: web.Here, who: web.Assessor) -> Response:
    """Show the topics that an assessor has written."""
    return web.page(request, "develop.html", topics=here.project.store.topics_by(who.pseudonym))


@router.post("/develop")
def begin_topic(here: web.Here, who: web.Assessor, given: web.Given) -> Response:
    """Create a topic with a new id."""
    topic = here.project.store.begin_topic(title=_title(given), author=who.pseudonym)
    return web.went_to(f"/develop/topic?id={topic.id}&said=begun")


def _title(given: web.FormFields) -> str:
    title = given.text("title", most=500).strip()
    if not title:
        raise RefusedError(400, marked("the topic has no title; type one"))
    return title


@router.get("/develop/topic")
def topic_page(
    request: Request,
    here: web.Here,
    who: web.Assessor,
    id: TopicId,  # noqa: A002
    query: Words = "",
    first: Place = 1,
) -> Response:
    """Show a topic with its text, its versions, and a search over the corpus."""
    topic = api.written_topic(here.project.store, who, id)
    return _topic_page(request, here, who, topic, query.strip(), first)


@router.post("/develop/topic")
def save_topic(request: Request, here: web.Here, who: web.Assessor, given: web.Given) -> Response:
    """Save a new version of a topic; show the page again if another version was saved meanwhile."""
    store = here.project.store
    topic = api.written_topic(store, who, given.text("id", most=MOST_TOPIC))
    query = quote(given.text("query", most=1000), safe="")
    written = replace(
        topic,
        title=_title(given),
        description=given.text("description", most=20_000).strip(),
        narrative=given.text("narrative", most=20_000).strip(),
        estimate=given.whole("estimate", least=0, most=here.project.corpus.count),
    )
    try:
        store.save_topic(
            topic.id, title=written.title, description=written.description, narrative=written.narrative,
            estimate=written.estimate, author=who.pseudonym,
            after=given.whole("version", least=0, most=1_000_000) or 0,
        )  # fmt: skip
    except ConflictError:
        newest = store.topic_versions(topic.id)[-1].version
        return _topic_page(request, here, who, written, "", changed=newest, status=409)
    return web.went_to(f"/develop/topic?id={quote(topic.id, safe='')}&query={query}&said=saved")


def _topic_page(
    request: Request,
    here: web.Context,
    who: User,
    topic: Topic,
    query: str,
    first: int = 1,
    *,
    changed: int = 0,
    status: int = 200,
) -> Response:
    store = here.project.store
    judged = store.standing(topic=topic.id, assessor=who.pseudonym)
    level = here.project.settings.level
    relevant = sum(is_relevant(one.grade, level) for one in judged)
    may_search = api.find_own(store, who, topic.id) is not None
    results = api.searched(here, who, topic.id, query, first) if query and may_search else NOTHING_ASKED
    return web.page(
        request, "develop_topic.html", status=status, topic=topic, query=query, changed=changed,
        versions=store.topic_versions(topic.id), looked=len(judged), may_search=may_search,
        relevant=relevant,
        grades={one.doc: one.grade for one in judged}, advice=advice(topic.estimate, relevant),
        instructions=instructions_of(here.project), results=results, at_once=api.MOST_FOUND,
        documents=here.project.corpus.count,
        # `highlight` returns escaped HTML.
        found=[
            {
                "doc": one.doc, "title": Markup(highlight(one.title, query)),  # noqa: S704
                "html": Markup(highlight(one.snippet, query)),  # noqa: S704
            }
            for one in results.found
        ],
    )  # fmt: skip


def advice(estimate: int | None, found: int = 0) -> str:
    """Return advice on the estimated number of relevant documents, given how many were found so far."""
    if estimate is None or estimate < found:
        least = ngettext(
            "You have already found {n} relevant document. Estimate at least that many.",
            "You have already found {n} relevant documents. Estimate at least that many.",
            found,
        )
        return least if found else ""
    if estimate < FEW:
        return gettext(
            "Probably too hard: a topic with fewer than {few} relevant documents hardly separates systems.",
            few=FEW,
        )
    if estimate > MANY:
        return gettext(
            "Probably too easy: nearly every system finds some of more than {many} relevant documents.",
            many=MANY,
        )
    return gettext("Good: neither too easy nor too hard.")
