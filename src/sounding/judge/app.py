"""Assemble the judging server and run it."""

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
from sounding.judge.connections import available_connections, limited
from sounding.judge.database import StoreError
from sounding.judge.language import FOLDER, gettext, marked
from sounding.judge.live import LiveFeed, Prospects, Refits, Task
from sounding.judge.project import Project
from sounding.judge.records import ConflictError, DamagedError, UnseenError
from sounding.judge.serving import address_of, answering, remember_address, written_log
from sounding.judge.web import HEADERS, NOTHING_HERE, Context, Shell, is_organizer, refusal

log = logging.getLogger("sounding.judge")

ROUTERS = (
    api.signing, api.judging, api.watching, organizer_api.audits, organizer_api.router, sign_in_pages.router,
    sign_in_pages.own, assessor_pages.entrance, assessor_pages.router, organizer_pages.router,
)  # fmt: skip

WRITE_BACK_SECONDS = 1.0  # frequent write-backs are small, so judgments wait less for the disk

NOT_NOW = marked("the server cannot read or store anything right now; try again later")
OWN_FAULT = marked("the server failed and recorded nothing; see its log for the reason")
FAULT = marked("the server failed and recorded nothing; try again later, and tell an organizer")


def create_app(project: Project) -> FastAPI:
    """Return the judging server of a project as an ASGI application."""
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
    """Answer a foreseen error in one line."""
    headers: dict[str, str] = {}
    if isinstance(error, RefusedError):
        status, headers = error.status, error.headers
    elif isinstance(error, ConflictError):
        status = 412 if isinstance(error, UnseenError) else 409
    elif isinstance(error, StoreError):
        log.error("%s", error)
        reason = f". Reason: {error}" if is_organizer(request) else ""
        return refusal(request, 503, f"{gettext(NOT_NOW)}{reason}")
    elif is_organizer(request):
        status = 500 if isinstance(error, DamagedError) else 400
    else:
        # Assessors' requests are checked before, so this is the server's fault. Its text may name runs, which
        # assessors must not see.
        log.error("%s: %s", request.url.path, error)
        return refusal(request, 500, FAULT)
    if status == 500:
        log.error("%s: %s", request.url.path, error)
    return refusal(request, status, str(error), headers)


def _fault(request: Request, error: Exception) -> Response:
    """Answer an unforeseen error; the server's log has the details."""
    log.error("%s: %s", request.url.path, error)
    return refusal(request, 500, OWN_FAULT if is_organizer(request) else FAULT, HEADERS)


def _malformed(request: Request, error: Exception) -> Response:
    """Answer an invalid request with its wrong fields, without repeating their values."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this kind alone
    problems = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()]
    return refusal(request, 422, f"invalid request: {'; '.join(problems[:5])}")


def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this kind alone
    known = {
        404: NOTHING_HERE,
        405: marked("this address does not take such requests; go back and reload the page"),
    }
    message = known.get(error.status_code, str(error.detail))
    return refusal(request, error.status_code, message, error.headers)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve(project: Project, host: str, port: int, *, access_log: bool = False) -> None:
    """Serve a project until it is stopped; beyond this machine only if somebody has a password.

    `access_log` writes one line per response to standard output. Forwarding headers are trusted only from a
    proxy on this machine.
    """
    ready = [user for user in project.store.users() if user.active and user.password_hash is not None]
    if not is_loopback(host) and not ready:
        raise DataError(
            f"cannot listen on {host}: nobody has a password yet. Start without --host, open the link that"
            " `sounding judge user DIR NAME --role organizer` prints, set a password, then start again with"
            " --host"
        )
    app = create_app(project)
    elsewhere = answering(project.folder, app.state.context.guest_cookie)
    listening = _listening(host, port)
    address = address_of(*listening.getsockname()[:2])
    config = uvicorn.Config(
        app, proxy_headers=True, forwarded_allow_ips="127.0.0.1,::1,::ffff:127.0.0.1", server_header=False,
        timeout_graceful_shutdown=3, log_level="warning", http=limited(available_connections()),
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
    """A server that ends live streams when it stops; otherwise uvicorn waits for them and logs an error."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._context.ended.set()
        super().handle_exit(sig, frame)


def _remarks(project: Project, elsewhere: str | None) -> Iterator[str]:
    """Yield warnings for whoever starts the server."""
    try:
        project.store.check_writable()
    except StoreError as error:
        yield f"Nobody can judge: {error}"
    if elsewhere is not None:
        yield (
            f"Another server of this project runs at {elsewhere}; links from `sounding judge user` still lead"
            " there."
        )


@contextmanager
def stopped_alike() -> Iterator[None]:
    """Make SIGTERM stop the server cleanly, as Ctrl+C does.

    A closed terminal (SIGHUP) counts as SIGTERM, unless nohup ignores it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach only the main thread
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
    """Prepare the first documents, and keep them out of garbage collection while the server runs.

    A collection would block every request: 70 ms were measured for a small project.
    """
    with suppress(SoundingError):  # the first request reports it
        project.engine.get_ready()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def can_listen(host: str, port: int) -> bool:
    """Return whether an address of this machine is free to listen on."""
    try:
        _listening(host, port).close()
    except DataError:
        return False
    return True


def _listening(host: str, port: int) -> socket.socket:
    """Open a socket at an address; refuse one that is taken or not of this machine."""
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host.strip("[]"), port))
        made.listen(2048)  # connections queue until the server is ready
    except OSError as error:
        made.close()
        raise DataError(
            f"cannot listen on {host}:{port} ({error.strerror}); give another --port or --host"
        ) from error
    return made
