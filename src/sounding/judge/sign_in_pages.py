"""Pages to sign in, use one-time links, and manage one's own account."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from sounding.judge import auth, web
from sounding.judge.api import leave
from sounding.judge.language import LANGUAGES, gettext, marked
from sounding.judge.passwords import why_common
from sounding.judge.project import digest_of
from sounding.judge.records import User

VOID = marked("this link was already used or has expired; ask an organizer for a new one")
# The first match counts, because browsers and systems also name those that they descend from.
_BROWSERS = {
    "Edg": "Edge", "OPR": "Opera", "SamsungBrowser": "Samsung Internet", "Firefox": "Firefox",
    "FxiOS": "Firefox", "Chrome": "Chrome", "CriOS": "Chrome", "Safari": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Mac OS X": "macOS",
    "CrOS": "ChromeOS", "Linux": "Linux",
}  # fmt: skip

router = APIRouter(include_in_schema=False, dependencies=[Depends(web.from_our_page)])
own = APIRouter(include_in_schema=False, dependencies=[Depends(web.user), Depends(web.from_our_page)])


@router.get("/sign-in")
def sign_in_page(
    request: Request, here: web.Here, asking: web.Asking, then: Annotated[str, Query(max_length=2000)] = "/"
) -> Response:
    """Show the sign-in form."""
    if asking.user is not None:
        return web.went_to(web.local_path(then))
    nobody = not here.project.store.users()
    return _form(request, "sign_in.html", then=web.local_path(then), name="", nobody=nobody)


@router.post("/sign-in")
async def sign_in(request: Request, here: web.Here, given: web.Given) -> Response:
    """Sign in and redirect to the requested page."""
    name, then = given.text("name", most=200), web.local_path(given.text("then", most=2000))
    try:
        who, secret = await web.enter(request, here, name, given.text("password", most=1000))
    except auth.RefusedError as refused:
        return await run_in_threadpool(
            _form, request, "sign_in.html", refused, then=then, name=name, nobody=False
        )
    return await run_in_threadpool(web.keep_session, request, web.went_to(then), secret, who)


@router.post("/language")
def set_language(here: web.Here, asking: web.Asking, request: Request, given: web.Given) -> Response:
    """Remember the language that a person chose: in the browser, and in the account of who signed in."""
    code = given.text("language", most=20)
    if code and code not in LANGUAGES:
        raise auth.RefusedError(400, marked("there is no such language; reload the page and choose again"))
    if asking.user is not None:
        here.project.store.set_setting(web.language_setting(asking.user), code, by=asking.user.pseudonym)
    back = web.went_to(web.local_path(given.text("then", most=2000)))
    return web.keep_language(request, back, code)


def _form(
    request: Request, template: str, refused: auth.RefusedError | None = None, **values: Any
) -> Response:
    """Show a form; after a refusal, show it again with the reason."""
    if refused is None:
        return web.page(request, template, wrong="", **values)
    answer = web.page(request, template, status=refused.status, wrong=gettext(str(refused)), **values)
    answer.headers.update(refused.headers)
    return answer


@router.get("/welcome/{secret}")
def welcome_page(request: Request, here: web.Here, secret: str) -> Response:
    """Show the form to set a password, for the holder of a one-time link."""
    kind, who = _welcomed(request, here, secret)
    return _form(request, "welcome.html", kind=kind, who=who, least=auth.LEAST_PASSWORD)


@router.post("/welcome/{secret}")
async def welcome(request: Request, here: web.Here, given: web.Given, secret: str) -> Response:
    """Set the password, invalidate the link, and sign in."""
    kind, who = await run_in_threadpool(_welcomed, request, here, secret)
    try:
        password_hash = await here.door.hash(who, _new_password(given, who))
    except auth.RefusedError as refused:
        return await run_in_threadpool(
            _form, request, "welcome.html", refused, kind=kind, who=who, least=auth.LEAST_PASSWORD
        )
    taken = await run_in_threadpool(here.project.store.take_token, digest_of(secret), password_hash)
    if taken is None:
        raise auth.RefusedError(404, VOID)
    return await _signed_in(request, here, taken, "/")


async def _signed_in(request: Request, here: web.Here, who: User, path: str) -> Response:
    """Sign in a user who has just set a password, and redirect to a page."""
    browser = request.headers.get("user-agent", "")
    secret = await run_in_threadpool(
        auth.begin_session, here.project.store, who, web.address_of(request), browser
    )
    return await run_in_threadpool(web.keep_session, request, web.went_to(path), secret, who)


def _welcomed(request: Request, here: web.Here, secret: str) -> tuple[str, User]:
    """Return the purpose and the user of a one-time link; limit attempts with invalid links."""
    address = web.address_of(request)
    wait = here.links.wait(address)
    if wait:
        raise auth.too_soon(gettext("too many invalid links"), wait)
    found = here.project.store.token(digest_of(secret))
    if found is None or not found[1].active:
        raise auth.RefusedError(404, VOID)
    here.links.give_back(address)  # valid links do not count: many people may share an address
    return found


def _new_password(given: web.FormFields, who: User) -> str:
    password = given.text("password", most=1000)
    if password != given.text("again", most=1000):
        raise auth.RefusedError(400, marked("the two passwords differ; type them again"))
    auth.possible_password(password)
    if why := why_common(password, who.name):
        another = gettext("choose another, such as four unrelated words")
        raise auth.RefusedError(400, f"{gettext(why)}; {another}")
    return password


@own.get("/account")
def account_page(request: Request, here: web.Here, who: web.SignedIn, asking: web.Asking) -> Response:
    """Show one's own account."""
    return _account(request, here, who, asking)


def _account(
    request: Request, here: web.Here, who: User, asking: web.Asking, refused: auth.RefusedError | None = None
) -> Response:
    sign_ins = [(one, browser_of(one.note)) for one in here.project.store.sign_ins(who.id)]
    digest = digest_of(asking.secret)
    return _form(
        request, "account.html", refused, digest=digest, least=auth.LEAST_PASSWORD, sign_ins=sign_ins
    )


def browser_of(note: str) -> str:
    """Describe a browser in a few words if it is recognized: `Firefox on Linux from 192.0.2.1`."""
    said, _, address = note.rpartition(" from ")
    browser = next((name for mark, name in _BROWSERS.items() if f"{mark}/" in said), None)
    system = next((name for mark, name in _SYSTEMS.items() if mark in said), None)
    if browser is None or system is None:
        return note
    return gettext("{browser} on {system} from {address}", browser=browser, system=system, address=address)


@own.post("/account/password")
async def change_password(
    request: Request, here: web.Here, who: web.SignedIn, asking: web.Asking, given: web.Given
) -> Response:
    """Change one's own password; sign out every other browser."""
    present = given.text("present", most=1000)
    try:
        await here.door.confirm(who, present, digest_of(asking.secret), web.address_of(request))
        password_hash = await here.door.hash(who, _new_password(given, who))
    except auth.RefusedError as refused:
        return await run_in_threadpool(_account, request, here, who, asking, refused)
    await run_in_threadpool(here.project.store.set_password, who.id, password_hash)
    return await _signed_in(
        request, here, replace(who, password_hash=password_hash), "/account?said=password"
    )


@own.post("/account/end")
def end_one(here: web.Here, who: web.SignedIn, given: web.Given) -> Response:
    """Sign out one of one's own browsers."""
    digest = given.text("which", most=200)
    if digest not in [one.digest for one in here.project.store.sign_ins(who.id)]:
        raise auth.RefusedError(
            404, marked("this session has already ended or is not yours; reload the page")
        )
    here.project.store.end_sign_in(digest)
    return web.went_to("/account?said=ended")


@own.post("/account/end-all")
def end_all(request: Request, here: web.Here, who: web.SignedIn) -> Response:
    """Sign out everywhere."""
    here.project.store.end_sign_ins(who.id)
    return web.end_session(request, web.went_to("/sign-in"))


@own.post("/sign-out")
def sign_out(request: Request, here: web.Here, who: web.SignedIn, asking: web.Asking) -> Response:
    """End the current session."""
    leave(here, who, asking.secret)
    return web.end_session(request, web.went_to("/sign-in"))
