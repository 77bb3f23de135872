"""The judging server put together, and how it is served."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType
from typing import NoReturn

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from sounding.core.errors import DataError, SoundingError
from sounding.judge import api, assessor_pages, organizer_api, organizer_pages, sign_in_pages
from sounding.judge.auth import Door, RefusedError
from sounding.judge.database import StoreError
from sounding.judge.live import LiveFeed, Prospects, Refits, Task
from sounding.judge.project import Project
from sounding.judge.records import ConflictError, DamagedError, UnseenError
from sounding.judge.serving import address_of, answering, remember_address, written_log
from sounding.judge.web import FOLDER, HEADERS, NOTHING_HERE, Context, Shell, is_organizer, refusal

log = logging.getLogger("sounding.judge")

ROUTERS = (
    api.signing, api.judging, api.watching, organizer_api.audits, organizer_api.router, sign_in_pages.router,
    sign_in_pages.own, assessor_pages.entrance, assessor_pages.router, organizer_pages.router,
)  # fmt: skip

WRITE_BACK_SECONDS = 1.0  # between two times: the less there is, the less a judgment waits for the same disk

NOT_NOW = "the server cannot store or read anything now; try again later"
OWN_FAULT = "the server met a fault of its own and recorded nothing; its log says which"
FAULT = "the server met a fault of its own and recorded nothing; send it again later, and tell an organizer"


def create_app(project: Project) -> FastAPI:
    """The judging server of a project, as an ASGI application."""
    feed = LiveFeed(project)
    tidying = Task("write-back of the log", project.store.write_back, WRITE_BACK_SECONDS)
    tasks = (Refits(project.engine), Prospects(project, feed), tidying)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        for task in tasks:
            task.start()
        yield
        for task in tasks:
            task.stop()

    app = FastAPI(title="sounding judge", version="1", docs_url=None, redoc_url=None, lifespan=running)
    app.state.context = Context(project=project, door=Door(project.store), live=feed)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"))
    app.add_middleware(Shell)
    app.exception_handler(SoundingError)(_refused)
    app.exception_handler(RequestValidationError)(_malformed)
    app.exception_handler(HTTPException)(_not_there)
    app.exception_handler(Exception)(_fault)
    return app


def _refused(request: Request, error: Exception) -> Response:
    """One line for whatever went wrong; what the store could not do is never called done."""
    headers: dict[str, str] = {}
    if isinstance(error, RefusedError):
        status, headers = error.status, error.headers
    elif isinstance(error, ConflictError):
        status = 412 if isinstance(error, UnseenError) else 409
    elif isinstance(error, StoreError):
        log.error("%s", error)
        reason = f". The reason: {error}" if is_organizer(request) else ""
        return refusal(request, 503, f"{NOT_NOW}{reason}")
    elif is_organizer(request):
        status = 500 if isinstance(error, DamagedError) else 400
    else:
        # What the others send is checked before anything is done with it: this is no fault of theirs, and
        # its text may name runs.
        log.error("%s: %s", request.url.path, error)
        return refusal(request, 500, FAULT)
    if status == 500:
        log.error("%s: %s", request.url.path, error)
    return refusal(request, status, str(error), headers)


def _fault(request: Request, error: Exception) -> Response:
    """The answer to what nobody foresaw; the server's log has the rest."""
    log.error("%s: %s", request.url.path, error)
    return refusal(request, 500, OWN_FAULT if is_organizer(request) else FAULT, HEADERS)


def _malformed(request: Request, error: Exception) -> Response:
    """Which parts of a request are not as they should be; what was sent is not sent back."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this kind alone
    problems = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()]
    return refusal(request, 422, f"what was asked for is not as expected: {'; '.join(problems[:5])}")


def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this kind alone
    known = {404: NOTHING_HERE, 405: "this cannot be asked for in that way; go back and load the page again"}
    message = known.get(error.status_code, str(error.detail))
    return refusal(request, error.status_code, message, error.headers)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve(project: Project, host: str, port: int, *, access_log: bool = False) -> None:
    """Serve a project until it is stopped; beyond this machine only once somebody can sign in.

    `access_log` writes a line for every answer to standard output. Behind a proxy on this machine, its word
    on addresses and HTTPS is taken.
    """
    ready = [user for user in project.store.users() if user.active and user.password_hash is not None]
    if not is_loopback(host) and not ready:
        raise DataError(
            f"nobody has a password yet, so the server listens on this machine alone and not on {host};"
            " begin without --host, open the link that `sounding judge user DIR NAME --role organizer` prints"
            " on this machine, set a password there, and start again with --host"
        )
    app = create_app(project)
    elsewhere = answering(project.folder, app.state.context.guest_cookie)
    listening = _listening(host, port)
    address = address_of(*listening.getsockname()[:2])
    config = uvicorn.Config(
        app, proxy_headers=True, forwarded_allow_ips="127.0.0.1,::1,::ffff:127.0.0.1", server_header=False,
        timeout_graceful_shutdown=3, log_level="warning",
    )  # fmt: skip
    for remark in _remarks(project, elsewhere):
        sys.stderr.write(f"{remark}\n")
    if elsewhere is None:
        remember_address(project.folder, address)
    sys.stderr.write(f"{project.settings.title}: {address} (Ctrl+C stops it)\n")
    with (
        suppress(KeyboardInterrupt), stopped_alike(), written_log(access_log=access_log), _ready(project),
    ):  # fmt: skip
        _Server(config, app.state.context).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that tells those who watch that it ends: it would wait for them, and then call it an error."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._context.ended.set()
        super().handle_exit(sig, frame)


def _remarks(project: Project, elsewhere: str | None) -> Iterator[str]:
    """What whoever starts a server may not expect."""
    try:
        project.store.check_writable()
    except StoreError as error:
        yield f"Nobody can judge now: {error}"
    if elsewhere is not None:
        yield (
            f"another server of this project is at {elsewhere}; links that `sounding judge user` makes go on"
            " leading there"
        )


@contextmanager
def stopped_alike() -> Iterator[None]:
    """Have SIGTERM, which services are stopped with, end everything in order, as Ctrl+C does.

    A terminal that is closed (SIGHUP) counts as SIGTERM, whoever handles that, unless nohup has it ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which signals never reach
        return
    handlers: dict[signal.Signals, Callable[..., object]] = {signal.SIGTERM: _interrupt}
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = lambda *_: signal.raise_signal(signal.SIGTERM)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def _ready(project: Project) -> Iterator[None]:
    """What the first document needs is made, and the garbage collector does not look through it meanwhile.

    Whenever it did, everybody would wait: 70 ms were measured for a small project.
    """
    with suppress(SoundingError):  # of which whoever asks is told
        project.engine.get_ready()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def can_listen(host: str, port: int) -> bool:
    """Whether nobody else listens at an address of this machine."""
    try:
        _listening(host, port).close()
    except DataError:
        return False
    return True


def _listening(host: str, port: int) -> socket.socket:
    """A socket at an address; one that is taken or not this machine's is refused in one line."""
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host.strip("[]"), port))
        made.listen(2048)  # whoever comes before the server is ready waits a moment
    except OSError as error:
        made.close()
        raise DataError(
            f"{host}:{port} cannot be listened on ({error.strerror}); give another --port or --host"
        ) from error
    return made
