"""Shared parts of all pages and the HTTP API: visitors, forms, cookies, templates, refusals and headers."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.datastructures import FormData, Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sounding.judge import language
from sounding.judge.auth import (
    DEVICE_SECONDS,
    SIGN_IN_SECONDS,
    Door,
    RateLimit,
    RefusedError,
    Visitor,
    new_device,
    visitor_of,
)
from sounding.judge.connections import body_deadline
from sounding.judge.database import StoreError
from sounding.judge.language import gettext, marked
from sounding.judge.live import LiveFeed
from sounding.judge.project import Project, digest_of
from sounding.judge.records import Event, User
from sounding.judge.serving import cookie_of, guest_cookie_of, log_access
from sounding.judge.templates import TEMPLATES, for_scripts

TOKEN = "X-Page-Token"  # noqa: S105 - the name of a header
MOST_BYTES = 1_000_000  # of a request
MOST_UPLOAD = 100_000_000  # of one that brings a run
UPLOADS = "/organize/runs"
MOST_REMEMBERED = 1000  # sign-ins of organizers
SAID = {
    "saved": marked("Saved."),
    "same": marked("Nothing changed: the topics were like this already."),
    "undone": marked("Undone."),
    "partly": marked("Undone, except for topics that were changed again since."),
    "held": marked(
        "Erased. Another program is reading the database; one file keeps the name until it finishes."
    ),
    "begun": marked("Topic created."),
    "password": marked("Password changed."),
    "ended": marked("That browser is signed out."),
}  # confirmations that pages show after a form
HEADINGS = {
    400: marked("Request refused"), 403: marked("No access"), 404: marked("Page not found"),
    405: marked("Page not found"), 408: marked("Connection too slow"), 409: marked("Conflict"),
    413: marked("Too large"), 422: marked("Invalid request"), 429: marked("Too many requests"),
    500: marked("Server error"), 503: marked("Temporarily unavailable"),
}  # fmt: skip  # the text below the heading is that of the API
PASSING = (429, 500, 503)  # statuses after which the page offers to try again
TOO_SLOW = marked("the request took too long to arrive; send it again over a faster connection")
ENDING = {"Connection": "close"}  # the rest of a refused request is not read
NOTHING_HERE = marked("there is no page at this address; go back or start from the home page")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Context:
    """Everything that requests need: the project, signing in, the live feed, and rate limits."""

    project: Project
    door: Door
    live: LiveFeed
    pause: int = 300  # milliseconds in which a new document takes no grade: nobody has read it yet
    searches: RateLimit = field(default_factory=lambda: RateLimit(60, 60))
    links: RateLimit = field(default_factory=lambda: RateLimit(30, 300))

    organizers: set[str] = field(default_factory=set)  # digests of cookies, for when the database is down
    ended: threading.Event = field(default_factory=threading.Event)  # set when the server stops

    def __post_init__(self) -> None:
        _ = self.cookie  # computed now, because the database may be down later

    def remember_organizer(self, digest: str) -> None:
        """Remember the cookie of an organizer, who sees the reason when the database is down."""
        if len(self.organizers) >= MOST_REMEMBERED:
            self.organizers.clear()
        self.organizers.add(digest)

    @cached_property
    def cookie(self) -> str:
        """Return the name of the session cookie; all servers of a project use the same."""
        return cookie_of(self._first)

    @property
    def guest_cookie(self) -> str:
        """Return the name of the cookie for visitors who have not signed in."""
        return guest_cookie_of(self._first)

    @property
    def device_cookie(self) -> str:
        """Return the name of the cookie that marks a browser which has signed in before."""
        return f"{self.cookie}_device"

    @property
    def language_cookie(self) -> str:
        """Return the name of the cookie with the language that a person chose."""
        return f"{self.cookie}_language"

    @cached_property
    def _first(self) -> Event:
        """Return the first event of the log, which is unique to the project."""
        return next(self.project.store.events(until=1))

    def lasting(self, who: User | None) -> str:
        """Return the id under which a browser stores data of an account; empty for a guest.

        It survives restarts and backups. It differs between projects, because another project with the same
        pseudonyms may be served at this address next.
        """
        if who is None:
            return ""
        words = f"{self._first.time!r} {who.pseudonym} {who.created!r}"
        return hashlib.sha256(words.encode()).hexdigest()[:32]


def context(request: Request) -> Context:
    """Return the context of the application."""
    here: Context = request.app.state.context
    return here


def visitor(request: Request) -> Visitor:
    """Return the visitor who sent a request."""
    known: Visitor | None = getattr(request.state, "visitor", None)
    if known is None:
        here, cookies = context(request), request.cookies
        known = visitor_of(here.project.store, cookies.get(here.cookie), cookies.get(here.guest_cookie))
        if known.user is not None and known.user.role == "organizer":
            here.remember_organizer(digest_of(known.secret))
        request.state.visitor = known
    return known


# Dependencies that never wait are asynchronous, so that they use no thread of the pool for database work.
async def _here(request: Request) -> Context:
    return context(request)


Here = Annotated[Context, Depends(_here)]
Asking = Annotated[Visitor, Depends(visitor)]


async def user(asking: Asking) -> User:
    """Return the user who sent the request; refuse guests."""
    return asking.signed_in()


async def assessor(asking: Asking) -> User:
    """Return the assessor who sent the request; refuse others, because whoever saw the runs is not blind."""
    return asking.having("assessor")


async def organizer(asking: Asking) -> User:
    """Return the organizer who sent the request; refuse others."""
    return asking.having("organizer")


SignedIn = Annotated[User, Depends(user)]
Assessor = Annotated[User, Depends(assessor)]
Organizer = Annotated[User, Depends(organizer)]


async def from_our_page(request: Request, asking: Asking) -> AsyncIterator[None]:
    """Refuse a changing request that does not carry the token of one of this visitor's pages."""
    try:
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            await _check_token(request, asking)
        yield
    finally:
        await request.close()  # removes uploaded files


async def _check_token(request: Request, asking: Visitor) -> None:
    given = request.headers.get(TOKEN)
    if given is None and _is_form(request.headers):
        given = FormFields(await _form(request)).text("token", most=200)
    if request.headers.get("sec-fetch-site") == "cross-site" or not asking.is_token(given or ""):
        raise RefusedError(403, marked("this page is out of date; reload it and try again"))


class FormFields:
    """The fields of a form, each read with a maximum length."""

    def __init__(self, form: FormData) -> None:
        self._form = form

    def text(self, name: str, *, most: int) -> str:
        """Return a text with Unix line ends; empty if the field is missing."""
        value = self._form.get(name, "")
        if not isinstance(value, str) or len(value) > most:
            raise RefusedError(
                400,
                gettext(
                    "the field “{name}” has more than {most} characters; shorten it", name=name, most=most
                ),
            )
        return value.replace("\r\n", "\n")

    def changed(self, name: str) -> bool:
        """Return whether a field differs from its value in the form, which `was-NAME` holds."""
        return self._form.get(name) != self._form.get(f"was-{name}")

    def texts(self, name: str) -> list[str]:
        """Return all texts of a repeatable field."""
        return [value for value in self._form.getlist(name) if isinstance(value, str)]

    def whole(self, name: str, *, least: int, most: int) -> int | None:
        """Return a whole number; None if the field is empty."""
        text = self.text(name, most=30).strip()
        if not text:
            return None
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise RefusedError(
                400,
                gettext(
                    "{name} “{text}”: expected a whole number from {least} to {most}",
                    name=name,
                    text=text,
                    least=least,
                    most=most,
                ),
            )
        return int(text)

    def file(self, name: str) -> UploadFile:
        """Return an uploaded file."""
        value = self._form.get(name)
        if not isinstance(value, UploadFile) or not value.filename:
            raise RefusedError(400, marked("no file is selected; choose one"))
        return value


async def fields(request: Request) -> FormFields:
    """Return the fields of the submitted form."""
    if not _is_form(request.headers):
        raise RefusedError(415, marked("expected a form of this server; go back and reload the page"))
    return FormFields(await _form(request))


Given = Annotated[FormFields, Depends(fields)]


def _is_form(headers: Headers) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("application/x-www-form-urlencoded", "multipart/form-data")


async def _form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=2000, max_part_size=MOST_BYTES)
    except MultiPartException as error:
        raise RefusedError(
            400, gettext("cannot read the form ({why}); reload the page and try again", why=error.message)
        ) from error
    except ClientDisconnect as error:  # nobody reads this, and the log needs no traceback
        raise RefusedError(400, marked("the form did not arrive")) from error


def address_of(request: Request) -> str:
    """Return the client address of a request, as the server or its trusted proxy reports it."""
    return request.client.host if request.client is not None else "unknown"


def page(
    request: Request, template: str, /, *, status: int = 200, said: str = "", **values: Any
) -> HTMLResponse:
    """Render a page; `said`, or the confirmation named in the address, stands at its top."""
    asking, here, spoken = visitor(request), context(request), language.current()
    content = TEMPLATES.get_template(template).render(
        language=spoken,
        languages=language.LANGUAGES.values(),
        texts=for_scripts(spoken),
        title=here.project.settings.title,
        of_pairs=here.project.settings.of_pairs,
        user=asking.user,
        account=here.lasting(asking.user),
        token=asking.token,
        path=request.url.path,
        address=str(request.url.replace(scheme="", netloc="")),
        said=said or gettext(SAID.get(request.query_params.get("said", ""), "")),
        **values,
    )
    response = HTMLResponse(content, status)
    keep_guest(request, response)
    return response


def keep_guest(request: Request, response: Response) -> None:
    """Give a new guest a cookie, from which the page's token is derived."""
    asking = visitor(request)
    if asking.user is None and not asking.known:
        _set_cookie(request, response, context(request).guest_cookie, asking.secret)


async def enter(request: Request, here: Context, name: str, password: str) -> tuple[User, str]:
    """Sign a user in; return the user and the secret of the new session cookie."""
    browser, device = request.headers.get("user-agent", ""), request.cookies.get(here.device_cookie)
    return await here.door.sign_in(name, password, address_of(request), browser, device)


def keep_session(request: Request, response: Response, secret: str, user: User) -> Response:
    """Set the cookies of a signed-in browser on a response."""
    here = context(request)
    _set_cookie(request, response, here.cookie, secret, age=int(SIGN_IN_SECONDS))
    _set_cookie(request, response, here.device_cookie, new_device(user), age=int(DEVICE_SECONDS))
    response.delete_cookie(here.guest_cookie, path="/")
    chosen = here.project.store.setting(language_setting(user))
    return response if chosen is None else keep_language(request, response, chosen)


def end_session(request: Request, response: Response) -> Response:
    """Delete the session cookie on a response."""
    response.delete_cookie(context(request).cookie, path="/")
    return response


def language_setting(user: User) -> str:
    """Return the name of the setting with the language that a user chose."""
    return f"language of {user.pseudonym}"


def keep_language(request: Request, response: Response, code: str) -> Response:
    """Remember the language that a person chose in their browser; an empty code forgets it."""
    if code:
        _set_cookie(request, response, context(request).language_cookie, code, age=int(DEVICE_SECONDS))
    else:
        response.delete_cookie(context(request).language_cookie, path="/")
    return response


def language_of(request: Request) -> language.Language:
    """Return the language in which to answer."""
    here = context(request)
    chosen, accepted = (
        request.cookies.get(here.language_cookie, ""),
        request.headers.get("accept-language", ""),
    )
    return language.choose(chosen, here.project.settings.language, accepted)


def _set_cookie(request: Request, response: Response, name: str, secret: str, age: int | None = None) -> None:
    response.set_cookie(
        name, secret, max_age=age, path="/", httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def local_path(text: str) -> str:
    """Return a path on this server; the home page if the text leads elsewhere."""
    plain = text.startswith("/") and text[1:2] not in ("/", "\\") and text.isprintable()
    return text if plain and len(text) <= 2000 else "/"


def went_to(path: str) -> RedirectResponse:
    """Redirect to another page after a form was accepted."""
    return RedirectResponse(path, 303)


def is_organizer(request: Request) -> bool:
    """Return whether an organizer sent the request; by remembered cookies while the database is down."""
    try:
        user = visitor(request).user
    except StoreError:
        here = context(request)
        return digest_of(request.cookies.get(here.cookie, "")) in here.organizers
    return user is not None and user.role == "organizer"


def refusal(
    request: Request, status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer a refused request with a message, or with a page that shows it."""
    # A text of a catalogue, or one of other parts of the program; most others are in the language already.
    message = language.current().retell(gettext(message))
    try:
        visitor(request)
    except StoreError:  # the database is down, so the visitor cannot be looked up
        request.state.visitor = Visitor(secret="", user=None, known=True)
    response: Response
    if request.url.path.startswith("/api/"):
        response = JSONResponse({"detail": message}, status)
        keep_guest(request, response)
    elif status == 401 and request.url.path != "/sign-in":
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        then = target if request.method == "GET" else "/"
        response = went_to(f"/sign-in?then={quote(then, safe='')}")
    else:
        may_repeat = status in PASSING and request.method == "GET"
        response = page(
            request, "problem.html", status=status, status_code=status, message=message,
            heading=gettext(HEADINGS.get(status, marked("Request failed"))),
            again=str(request.url.replace(scheme="", netloc="")) if may_repeat else "",
        )  # fmt: skip
    response.headers.update(headers or {})
    return response


def too_large(most: int) -> str:
    """Return the message for an upload over the limit."""
    size = most // 1_000_000
    if most < MOST_UPLOAD:
        return gettext("the upload is larger than {size} MB; shorten it", size=size)
    return gettext(
        "the upload is larger than {size} MB; add larger runs with: sounding judge import DIR --runs FILE",
        size=size,
    )


class Shell:
    """Middleware: headers on every response, limits on the size and duration of requests, the access log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        language.speak(language_of(Request(scope)))
        most = MOST_UPLOAD if scope["path"] == UPLOADS else MOST_BYTES
        taken, sent = 0, 0
        started = complete = False
        status = 500  # if the response is made outside this middleware

        async def counted() -> Message:
            nonlocal taken, complete
            if complete:  # only the end of the connection can follow
                return await receive()
            # HTTPException, because FastAPI calls any other error in a body malformed JSON
            try:
                async with asyncio.timeout(body_deadline(begun, taken) - time.perf_counter()):
                    message = await receive()
            except TimeoutError:
                if started:
                    return {"type": "http.disconnect"}
                raise HTTPException(408, TOO_SLOW, ENDING) from None
            taken += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if taken > most:
                raise HTTPException(413, too_large(most), ENDING)
            return message

        async def headed(message: Message) -> None:
            nonlocal sent, started, status
            sent += len(message.get("body", b""))
            if message["type"] == "http.response.start":
                started, status = True, message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
                headers["Server-Timing"] = f"app;dur={(time.perf_counter() - begun) * 1000:.2f}"
            await send(message)

        length = Headers(scope=scope).get("content-length", "0")
        try:
            if length.isdigit() and int(length) > most:
                answer = await run_in_threadpool(refusal, Request(scope), 413, too_large(most), ENDING)
                await answer(scope, receive, headed)
            else:
                await self._app(scope, counted, headed)
        finally:
            log_access(scope, status, sent)
