"""The HTTP API for the judging page and for programs.

Assessors judge the topics that are assigned to them, and develop the topics that they wrote.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from sounding.core.errors import DataError
from sounding.judge import messages, web
from sounding.judge.auth import RefusedError, too_soon
from sounding.judge.export_kinds import EXPORT_KINDS, JSON_LINES, TEXT
from sounding.judge.exports import EXPORTS
from sounding.judge.language import current, gettext, marked, ngettext
from sounding.judge.machines import suggesting, visible_labels
from sounding.judge.marks import checked_marks, shown_marks
from sounding.judge.merge_sort import pair_for, sides_of
from sounding.judge.nuggets import nuggets_of
from sounding.judge.organizing import guide_of
from sounding.judge.project import digest_of
from sounding.judge.records import (
    Ahead,
    AssessorProgress,
    Marks,
    Receipt,
    Seen,
    StandingJudgment,
    Topic,
    User,
)
from sounding.judge.store import Store
from sounding.judge.subtopics import subtopics_of, wrong_grades
from sounding.judge.texts import render_document, render_part, split_title

NO_PAIR = marked("expected a pair of documents: two different ids with a blank between them")
OTHER_WAY = marked("the documents of this pair stand the other way round; go back and reload")
NO_DOCUMENT = marked("the collection does not contain this document; go back and choose another")
GONE = marked("this is not one of your topics; an organizer may have dropped it or assigned it to others")


def own_topic(store: Store, who: User, topic: str) -> Topic:
    """Return a topic that an assessor judges or develops; refuse others as if they did not exist."""
    found = find_own(store, who, topic)
    if found is None:
        raise RefusedError(404, GONE)
    return found


def find_own(store: Store, who: User, topic: str) -> Topic | None:
    """Return a topic that an assessor judges or develops, or None.

    Once a topic is chosen or dropped, its author has no special access: its assigned assessors judge it.
    """
    for one in store.topics_of(who.pseudonym):
        if one.id == topic and not one.dropped:
            return one
    developed = _begun(store, who, topic)
    return developed if developed is not None and developed.candidate else None


def earlier_topic(store: Store, who: User, topic: str) -> Topic:
    """Return a topic that an assessor could judge or develop before it was dropped or reassigned.

    Judgments from that time that arrive late are kept: nobody's work is lost.
    """
    found = store.topic(topic)
    if found is not None and store.was_assigned(topic, who.pseudonym):
        return found
    developed = _begun(store, who, topic)
    if developed is None or developed.in_use:
        raise RefusedError(404, GONE)
    return developed


def written_topic(store: Store, who: User, topic: str) -> Topic:
    """Return a topic that an assessor wrote."""
    found = _begun(store, who, topic)
    if found is None:
        raise RefusedError(404, marked("this is not one of the topics that you wrote; see New topics"))
    return found


def _begun(store: Store, who: User, topic: str) -> Topic | None:
    return next((one for one in store.topics_by(who.pseudonym) if one.id == topic), None)


STREAM_SECONDS = 1.0  # between two checks of the log
BEAT_SECONDS = 15.0  # between two heartbeats, each of which checks that the session is valid
MOST_FOUND = 50  # hits per page
MOST_PLACES = 1_000_000  # highest rank of a hit
NO_MORE = marked("no longer among your topics")


def _content(*kinds: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {kind: {} for kind in kinds}}}


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of routes, for the API description."""
    return {code: {"model": messages.Refusal} for code in codes}


def routes(prefix: str, tag: str, who: Callable[..., Any], *codes: int) -> APIRouter:
    """Return a router for those whom `who` admits, with the error responses of its routes."""
    return APIRouter(
        prefix=prefix, tags=[tag], dependencies=[Depends(who), Depends(web.from_our_page)],
        responses=problems(*codes),
    )  # fmt: skip


signing = APIRouter(
    prefix="/api", tags=["sign-in"], responses=problems(400, 401, 403, 413, 422, 429, 500, 503)
)
judging = routes("/api", "assessors", web.assessor, 400, 401, 403, 404, 409, 412, 413, 422, 429, 500, 503)
watching = routes("/api", "organizers", web.organizer, 400, 401, 403, 404, 422, 500, 503)

TopicId = Annotated[messages.Id, Query(description="one of your topics")]


# ---- signing in


@signing.get("/token")
def token(request: Request, response: Response, here: web.Here, asking: web.Asking) -> messages.Identity:
    """Return who you are, and the token that every changing request must carry."""
    web.keep_guest(request, response)
    known = asking.user
    return messages.Identity(
        token=asking.token,
        name=None if known is None else known.name,
        account=None if known is None else known.pseudonym,
        lasting=here.lasting(known),
        role=None if known is None else known.role,
    )


@signing.post("/sign-in", dependencies=[Depends(web.from_our_page)], status_code=204)
async def sign_in(given: messages.Credentials, request: Request, here: web.Here) -> Response:
    """Sign in. The response sets the session cookie; request a new token afterwards."""
    who, secret = await web.enter(request, here, given.name, given.password)
    answer = Response(status_code=204)
    return await run_in_threadpool(web.keep_session, request, answer, secret, who)


@signing.post("/sign-out", dependencies=[Depends(web.user), Depends(web.from_our_page)], status_code=204)
def sign_out(request: Request, here: web.Here, asking: web.Asking) -> Response:
    """Sign out and release your documents."""
    leave(here, asking.signed_in(), asking.secret)
    return web.end_session(request, Response(status_code=204))


def leave(here: web.Context, who: User, secret: str) -> None:
    """End a session and release the documents of its user."""
    here.project.store.end_sign_in(digest_of(secret))
    here.project.store.release(who.pseudonym)


# ---- judging


@judging.get("/topics")
def topics(here: web.Here, who: web.Assessor) -> list[messages.TopicProgress]:
    """Return your topics with your progress on each."""
    store, level = here.project.store, here.project.settings.level
    done = {one.topic: one for one in store.progress(who.pseudonym, level)}
    answer = []
    for topic in store.topics_of(who.pseudonym):
        if not topic.dropped:
            own = done.get(topic.id) or AssessorProgress(topic=topic.id, judged=0, cannot=0, relevant=0)
            ahead = coming(here, who, topic)
            answer.append(messages.TopicProgress(title=topic.title, coming=ahead, **asdict(own)))
    return answer


def coming(here: web.Context, who: User, topic: Topic) -> messages.Coming:
    """Return how many documents an assessor still has to judge for a topic."""
    ahead = here.project.engine.ahead(who.pseudonym, topic.id)
    if topic.candidate:
        words = gettext("not open for judging yet")
    elif ahead.left == 0:
        words = gettext("nothing left for you")
    else:
        words = _left_words(ahead, at_most=here.project.settings.of_pairs)
    return messages.Coming(**asdict(ahead), words=words)


def no_more() -> messages.Coming:
    """Return what an assessor still has to judge for a topic of somebody else."""
    return messages.Coming(left=0, batch_left=0, batch_size=0, words=gettext(NO_MORE))


def _left_words(ahead: Ahead, *, at_most: bool) -> str:
    if not ahead.batch_size:
        if ahead.left is None:
            return gettext("more follow as needed")
        if at_most:
            return ngettext("at most {n} left", "at most {n} left", ahead.left)
        return ngettext("{n} left", "{n} left", ahead.left)
    batch = {"left": ahead.batch_left, "size": ahead.batch_size}
    if ahead.left is None:
        return gettext("{left} of {size} left in this batch, more follow as needed", **batch)
    if at_most:
        return gettext(
            "{left} of {size} left in this batch, at most {all} left in all", **batch, all=ahead.left
        )
    return gettext("{left} of {size} left in this batch, {all} left in all", **batch, all=ahead.left)


@judging.get("/next")
def next_documents(
    here: web.Here,
    who: web.Assessor,
    topic: TopicId,
    count: Annotated[int, Query(ge=1, le=messages.MOST_AHEAD)] = 2,
    have: Annotated[list[messages.DocId], Query(max_length=10)] = [],  # noqa: B006 - FastAPI copies it
) -> messages.DocumentsAtHand:
    """Return the next documents for you to judge in a topic, in order."""
    asked = own_topic(here.project.store, who, topic)
    with here.project.engine.together(topic):
        leases = here.project.engine.next(who.pseudonym, topic, count)
        still = coming(here, who, asked)
    judged = here.project.store.judged_by(who.pseudonym, topic)
    answer = at_hand(here, asked, (lease.doc for lease in leases), have, still, judged)
    with_labels(here, topic, answer.documents)
    return answer


def at_hand(
    here: web.Context,
    topic: Topic,
    docs: Iterable[str],
    have: list[str],
    coming: messages.Coming,
    judged: int,
) -> messages.DocumentsAtHand:
    """Return the next documents, without the texts that the page already has."""
    return messages.DocumentsAtHand(
        topic=topic.id,
        documents=[shown_document(here, doc, words_of(topic), None, text=doc not in have) for doc in docs],
        coming=coming,
        judged=judged,
        guide=guide_of(here.project, topic),
    )


@judging.get("/document")
def document(
    here: web.Here,
    who: web.Assessor,
    topic: TopicId,
    doc: messages.DocId,
    query: Annotated[str, Query(max_length=1000)] = "",
) -> messages.ShownDocument:
    """Return one document with your judgment. With a query, log that it was opened from the results."""
    asked = own_topic(here.project.store, who, topic)
    existing(here, who, topic, doc)
    if query:
        here.project.store.log_opening(who.pseudonym, topic, query, doc)
    shown = shown_document(here, doc, f"{words_of(asked)} {query}", _standing(here, who, topic, doc))
    with_labels(here, topic, [shown])
    return shown


MorePlaces = Annotated[int, Query(ge=1, le=MOST_PLACES * 100, description="`data-more` of the button")]


@judging.get("/text")
def more_text(
    here: web.Here, who: web.Assessor, topic: TopicId, doc: messages.DocId, first: MorePlaces
) -> messages.TextPart:
    """Return a further part of a long document."""
    asked = own_topic(here.project.store, who, topic)
    if not here.project.settings.of_pairs:
        existing(here, who, topic, doc)
    elif not _is_there(here, topic, doc):
        raise RefusedError(404, NO_DOCUMENT)
    return text_part(here, asked, doc, first)


def text_part(here: web.Context, topic: Topic, doc: str, first: int) -> messages.TextPart:
    """Return the part of a document that begins at a character."""
    found = here.project.corpus.document(doc)
    text = "" if found is None else split_title(found)[1]
    return messages.TextPart(html=render_part(text, words_of(topic), min(first, len(text))))


@judging.post("/judge")
def judge(given: messages.Grading, here: web.Here, who: web.Assessor) -> messages.Recorded:
    """Record a grade or a change. It is on disk when this answers.

    Late grades for a topic that was dropped or reassigned are recorded as well.
    """
    _check_subtopics(here, given)

    def act() -> Receipt:
        return here.project.engine.judge(
            who.pseudonym, given.topic, given.doc, checked_grade(here, given), key=given.key,
            comment=given.comment, active=given.active, away=given.away, seen=seen_of(given),
            marks=marks_of(here, given), labels=labels_shown(here, who, given),
        )  # fmt: skip

    return _recorded(here, who, given, given.doc, act, late=True)


def checked_grade(here: web.Context, given: messages.Grading) -> float | None:
    """Return a grade; refuse one that is not on the scale, or for a document without a text."""
    sides = sides_of(given.doc) if here.project.settings.of_pairs else None
    if given.grade is not None and None in map(here.project.corpus.document, sides or [given.doc]):
        raise RefusedError(
            400, marked("the corpus has no text for this document; mark it as impossible to judge")
        )
    try:
        here.project.settings.check_grade(given.grade)
    except DataError as error:
        raise RefusedError(400, str(error)) from None
    return given.grade


def _check_subtopics(here: web.Context, given: messages.Grading) -> None:
    """Refuse a judgment without a grade for each subtopic, or with grades for others."""
    known = subtopics_of(here.project.store, given.topic) if here.project.settings.by_subtopic else []
    grades = {} if given.marks is None else given.marks.subtopics
    if problem := wrong_grades(known, given.grade, grades):
        raise RefusedError(400, problem)


def labels_shown(here: web.Context, who: User, given: messages.Grading) -> dict[str, float]:
    """Return the labels that its assessor could see with a document: on this page, or before an undo."""
    earlier = here.project.store.labels_before_withdrawal(who.pseudonym, given.topic, given.doc)
    if given.labels == []:
        return earlier
    judged = _standing(here, who, given.topic, given.doc) is not None
    sent = visible_labels(here.project.store, given.topic, given.doc, judged=judged)
    shown = {name: grade for name, grade in sent.items() if given.labels is None or name in given.labels}
    return earlier | shown


def with_labels(here: web.Context, topic: str, documents: Sequence[messages.ShownDocument]) -> None:
    """Add the labels that an assessor may see to documents."""
    store = here.project.store
    suggested = bool(documents) and bool(suggesting(store))
    for one in documents:
        if one.judged or suggested:
            one.labels = visible_labels(store, topic, one.doc, judged=one.judged)


def marks_of(here: web.Context, given: messages.Grading) -> Marks:
    """Return the marks of a judgment; refuse those that do not fit its document."""
    if given.marks is None:
        return {}
    nuggets = nuggets_of(here.project.store, given.topic)
    document = here.project.corpus.document(given.doc)
    try:
        return checked_marks(given.marks, document, here.project.settings, nuggets)
    except DataError as error:
        raise RefusedError(400, str(error)) from None


def seen_of(given: messages.Grading) -> Seen | None:
    """Return the judgment that the page showed with the document; None if the request does not say."""
    return None if given.seen is None else Seen(given.seen.judged, given.seen.grade)


@judging.post("/skip")
def skip(given: messages.Skipping, here: web.Here, who: web.Assessor) -> messages.Recorded:
    """Skip a document. It comes again when nothing else is left."""
    return _recorded(
        here, who, given, given.doc,
        lambda: here.project.engine.skip(
            who.pseudonym, given.topic, given.doc, key=given.key, active=given.active, away=given.away
        ),
    )  # fmt: skip


@judging.post("/undo")
def undo(given: messages.Withdrawal, here: web.Here, who: web.Assessor) -> messages.Recorded:
    """Undo your last judgment, change or skip.

    The document of a judgment or a skip comes back; a change reverts to the judgment before it.
    """
    before = here.project.store.standing(topic=given.topic, assessor=who.pseudonym, doc=given.doc)
    answer = _recorded(
        here, who, given, None,
        lambda: here.project.engine.withdraw(who.pseudonym, given.topic, given.doc, key=given.key), late=True,
    )  # fmt: skip
    return with_comment(here, answer, before)


def with_comment(
    here: web.Context, answer: messages.Recorded, before: list[StandingJudgment]
) -> messages.Recorded:
    """Add the earlier comment and marks to the undone document, if it comes back."""
    for shown in answer.documents:
        undone = next((one for one in before if one.doc == answer.doc), None)
        if shown.doc == answer.doc and undone is not None:
            shown.comment = undone.comment
            shown.marks = shown_marks(undone.marks, here.project.corpus.document(undone.doc))
    return answer


@judging.post("/at-work")
def at_work(here: web.Here, who: web.Assessor) -> messages.Leases:
    """Extend the leases on your documents."""
    seconds = here.project.settings.lease_seconds
    return messages.Leases(held=here.project.store.renew(who.pseudonym, seconds))


@judging.get("/judgments")
def judgments(here: web.Here, who: web.Assessor, topic: TopicId) -> list[messages.Judgment]:
    """Return your current judgments for a topic, newest first."""
    own_topic(here.project.store, who, topic)
    return [
        messages.Judgment(topic=one.topic, doc=one.doc, grade=one.grade, comment=one.comment, time=one.time)
        for one in reversed(here.project.store.standing(topic=topic, assessor=who.pseudonym))
    ]


@judging.get("/search")
def search(
    here: web.Here,
    who: web.Assessor,
    topic: TopicId,
    query: Annotated[str, Query(min_length=1, max_length=1000)],
    first: Annotated[int, Query(ge=1, le=MOST_PLACES, description="rank of the first hit to return")] = 1,
) -> messages.SearchResults:
    """Return the best matches for a query, 50 at a time. The query is logged."""
    own_topic(here.project.store, who, topic)
    return searched(here, who, topic, query, first)


def searched(here: web.Context, who: User, topic: str, query: str, first: int = 1) -> messages.SearchResults:
    """Search the corpus, and log the query with the number of hits."""
    wait = here.searches.wait(who.id)
    if wait:
        raise too_soon(gettext("too many searches"), wait)
    results = here.project.corpus.search(query, MOST_FOUND, first)
    here.project.store.log_search(
        who.pseudonym, topic, query, len(results.hits), first=first, total=results.total
    )
    return messages.SearchResults(
        found=results.hits, first=first, total=results.total, complete=results.complete
    )


def words_of(topic: Topic) -> str:
    """Return the words of a topic to highlight in its documents."""
    return f"{topic.title} {topic.description}"


def existing(here: web.Context, who: User, topic: str, doc: str) -> None:
    """Refuse a document that is in no run, not in the corpus, and not leased or judged by the assessor."""
    if here.project.settings.of_pairs:
        return _refuse_strange_pair(here, who, topic, doc)
    if here.project.corpus.document(doc) is None:
        leases = here.project.store.leases(assessor=who.pseudonym, topic=topic)
        held = doc in [lease.doc for lease in leases] or _standing(here, who, topic, doc) is not None
        if not held and not here.project.engine.brings(topic, doc):
            raise RefusedError(404, NO_DOCUMENT)
    return None


def shown_document(
    here: web.Context, doc: str, query: str, standing: StandingJudgment | None, *, text: bool = True
) -> messages.ShownDocument:
    """Return a document for a page, with the words of a query highlighted; without `text`, only its id."""
    pair = sides_of(doc) if here.project.settings.of_pairs else None
    sides = [] if pair is None or not text else [_shown_side(here, one, query) for one in pair]
    found = here.project.corpus.document(doc) if text and pair is None else None
    heading, body = ("", None) if found is None else render_document(found, query)
    missing = None in map(here.project.corpus.document, pair) if pair else text and found is None
    return messages.ShownDocument(
        doc=doc, heading=heading, html="" if sides else body, missing=missing, sides=sides,
        judged=standing is not None, grade=None if standing is None else standing.grade,
        comment="" if standing is None else standing.comment,
        marks=None if standing is None else shown_marks(standing.marks, found), labels={},
    )  # fmt: skip


def _shown_side(here: web.Context, doc: str, query: str) -> messages.ShownSide:
    found = here.project.corpus.document(doc)
    heading, body = ("", "") if found is None else render_document(found, query)
    return messages.ShownSide(doc=doc, heading=heading, html=body)


def _refuse_strange_pair(here: web.Context, who: User, topic: str, pair: str) -> None:
    """Refuse what is no pair of two documents, or not the one whose sides were drawn for this assessor."""
    sides = sides_of(pair)
    if sides is None:
        raise RefusedError(404, NO_PAIR)
    if pair != pair_for(here.project.settings.seed, who.pseudonym, topic, *sides):
        raise RefusedError(404, OTHER_WAY)
    if not all(_is_there(here, topic, doc) for doc in sides):
        raise RefusedError(404, NO_DOCUMENT)


def _is_there(here: web.Context, topic: str, doc: str) -> bool:
    return here.project.corpus.document(doc) is not None or here.project.engine.brings(topic, doc)


def title_of(here: web.Context, doc: str) -> str:
    """Return the title of a document, or both titles of a pair; empty if there is none."""
    sides = sides_of(doc) if here.project.settings.of_pairs else None
    if sides is not None:
        return " | ".join(title_of(here, one) or one for one in sides)
    found = here.project.corpus.document(doc)
    return "" if found is None else split_title(found)[0]


def _standing(here: web.Context, who: User, topic: str, doc: str) -> StandingJudgment | None:
    found = here.project.store.standing(topic=topic, assessor=who.pseudonym, doc=doc)
    return found[0] if found else None


def _recorded(
    here: web.Context,
    who: User,
    given: messages.Grading | messages.Skipping | messages.Withdrawal,
    doc: str | None,
    act: Callable[[], Receipt | None],
    *,
    late: bool = False,
) -> messages.Recorded:
    """Perform an action on one of the assessor's topics, and return the response with the next documents.

    `late`: the topic may have been dropped or reassigned since; then the response has no documents.
    """
    store, engine = here.project.store, here.project.engine
    own = find_own(store, who, given.topic) if late else own_topic(store, who, given.topic)
    topic = earlier_topic(store, who, given.topic) if own is None else own
    if doc is not None:
        existing(here, who, topic.id, doc)

    def act_and_let_go() -> Receipt | None:
        receipt = act()
        store.release(who.pseudonym, topic.id)  # otherwise an undone document would be leased again
        return receipt

    doing, count = (act_and_let_go, 0) if own is None else (act, given.count)
    with engine.together(
        topic.id
    ):  # one transaction, so that `coming` does not wait for others a second time
        receipt, leases = engine.and_next(doing, who.pseudonym, topic.id, count)
        still = no_more() if own is None else coming(here, who, topic)
    judged = store.judged_by(who.pseudonym, topic.id)
    documents = at_hand(here, topic, (lease.doc for lease in leases), given.have, still, judged)
    with_labels(here, topic.id, documents.documents)
    return recorded(here, documents, receipt)


def recorded(
    here: web.Context, documents: messages.DocumentsAtHand, receipt: Receipt | None
) -> messages.Recorded:
    """Return the response to an action: the recorded event and the next documents."""
    if receipt is None:
        return messages.Recorded(**dict(documents), sequence=0, repeated=False, doc=None)
    event = receipt.event
    return messages.Recorded(
        **dict(documents),
        sequence=event.sequence,
        repeated=receipt.repeated,
        doc=event.doc,
        undid=event.undid,
        restored=event.grade if event.undid else None,  # only an undone change has a grade
        title=title_of(here, event.doc) if event.undid and event.doc else "",
    )


# ---- watching


@watching.get("/live")
def live(here: web.Here) -> messages.LiveState:
    """Return the state of the live page: confidence in the ranking, and the progress of judging."""
    return _live_state(here.live.current())


@watching.get("/live/stream", response_class=StreamingResponse, responses=_content("text/event-stream"))
async def live_stream(here: web.Here, asking: web.Asking) -> StreamingResponse:
    """Send the state of the live page whenever it changes, as server-sent events."""
    return StreamingResponse(_stream(here, digest_of(asking.secret)), media_type="text/event-stream")


def _live_state(state: dict[str, Any]) -> messages.LiveState:
    """Return the state of the live page with its sentences in the reader's language."""
    shown, retell = messages.LiveState.model_validate(state), current().retell
    for name in ("reason", "not_stated", "nothing_left", "staffing"):
        setattr(shown, name, retell(getattr(shown, name)))
    if shown.prospects is None:
        return shown
    matrix, forecast = shown.prospects.matrix, shown.prospects.forecast
    if matrix is not None:
        matrix.reason, matrix.early, matrix.method = map(retell, (matrix.reason, matrix.early, matrix.method))
        matrix.cases = [(case, pairs, retell(meaning)) for case, pairs, meaning in matrix.cases]
    if forecast is not None:
        forecast.reason, forecast.note = retell(forecast.reason), retell(forecast.note)
    return shown


async def _stream(here: web.Context, digest: str) -> AsyncIterator[str]:
    last: Any = None
    checked = time.monotonic()
    yield "retry: 3000\n\n"
    while not here.ended.is_set():
        state = await run_in_threadpool(here.live.current)
        if state != last:
            last = state
            data = _live_state(state).model_dump_json()
            yield f"id: {state['sequence']}\ndata: {data}\n\n"
        if time.monotonic() - checked >= BEAT_SECONDS:
            checked = time.monotonic()
            signed_in = await run_in_threadpool(here.project.store.sign_in, digest)
            if signed_in is None or signed_in.user.role != "organizer":
                return
            yield ": still here\n\n"
        await anyio.sleep(STREAM_SECONDS)


@watching.get("/export/{name}", response_class=StreamingResponse, responses=_content(TEXT, JSON_LINES))
def export(
    name: str,
    here: web.Here,
    all_topics: Annotated[bool, Query(description="include candidate and dropped topics")] = False,
) -> StreamingResponse:
    """Export judgments of topics in use, the sampling design, the log, searches or topics.

    Documents without a grade that counts have no line; /api/organize/topics has the number of unsettled ones.
    """
    kind = EXPORT_KINDS.get(name)
    if kind is None:
        raise RefusedError(404, f"unknown export; expected one of: {', '.join(EXPORT_KINDS)}")
    store = here.project.store
    until = store.last_sequence()
    return StreamingResponse(
        _in_blocks(EXPORTS[name](store, until, all_topics=all_topics)),
        media_type=kind.content_type,
        headers={"Content-Disposition": f'attachment; filename="{kind.file_name}"'},
    )


def _in_blocks(lines: Iterator[str], size: int = 65536) -> Iterator[bytes]:
    """Join lines into blocks, because every block costs a switch of threads."""
    block: list[str] = []
    length = 0
    for line in lines:
        block.append(line)
        length += len(line)
        if length >= size:
            yield "".join(block).encode("utf-8", "surrogateescape")
            block, length = [], 0
    yield "".join(block).encode("utf-8", "surrogateescape")
