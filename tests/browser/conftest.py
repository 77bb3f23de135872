"""A judging server on a port of this machine, and real browsers that talk to it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.conftest import lacking, require
from tests.judge.web import PASSWORD, TOPICS, add_person, make_project

from sounding.judge.app import create_app
from sounding.judge.project import Project, open_project

PHONE = {"width": 390, "height": 780}
DESK = {"width": 1280, "height": 800}
PATIENCE = 90  # seconds until something that should happen is given up; machines can be slow
AXE = "SOUNDING_AXE"  # the file axe.min.js of the npm package axe-core
DELAY = "SOUNDING_BROWSER_DELAY"  # milliseconds by which answers are late, or MOST:SEED to draw each anew
BROWSER = "SOUNDING_BROWSER"  # chromium or firefox: where tests run that do not name one
SLOWDOWN = "SOUNDING_BROWSER_SLOWDOWN"  # how many times slower than this machine the pages are to run

Result = TypeVar("Result")


class Late:
    """An app on a slow machine: half of the delay passes before it acts, half before it is heard."""

    def __init__(self, app: ASGIApp, delay: str) -> None:
        self._app = app
        most, _, seed = delay.partition(":")
        self._most = int(most) / 1000
        self._draw = random.Random(int(seed)) if seed else None

    async def _wait(self) -> None:
        await asyncio.sleep(self._most / 2 * (self._draw.random() if self._draw else 1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def late(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._wait()
            await send(message)

        if scope["type"] == "http":
            await self._wait()
        await self._app(scope, receive, late)


class Site:
    """A project that is being served; the server can be stopped and started again on the same port."""

    pause = 0  # milliseconds: tests do not read what they grade

    def __init__(self, project: Project) -> None:
        self.project = project
        self._place = _bound(0)  # never listens: the port stays ours while the server is away
        self.port = self._place.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        app = create_app(self.project)
        app.state.context = replace(app.state.context, pause=self.pause)
        delay = os.environ.get(DELAY)
        config = uvicorn.Config(
            Late(app, delay) if delay else app, log_level="error", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([_bound(self.port)],), daemon=True)
        self.thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self.server.started:
            assert self.thread.is_alive(), "the server ended before it served anything; its log says why"
            assert time.monotonic() < deadline, f"the server has not started within {PATIENCE} seconds"
            time.sleep(0.01)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), f"the server has not stopped within {PATIENCE} seconds"

    def leave(self) -> None:
        self.stop()
        self._place.close()


def _bound(port: int) -> socket.socket:
    """A socket at a port of this machine, beside another one of ours; 0: at a port that nobody has."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    with require("playwright.sync_api").sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def chromium(playwright: Any) -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        lacking("no chromium on the PATH")
    browser = playwright.chromium.launch(
        executable_path=program, args=["--no-sandbox"], timeout=PATIENCE * 1000
    )
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def firefox(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        lacking("no firefox-esr on the PATH")
    script = tmp_path_factory.mktemp("firefox") / "firefox"
    place = Path(__file__).with_name("firefox.py")
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {place} {program} "$@"\n')
    script.chmod(0o700)
    browser = playwright.firefox.launch(
        channel="moz-firefox", executable_path=script, timeout=PATIENCE * 1000
    )
    yield browser
    browser.close()


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Any:
    """The browser of a test: Chromium, unless the test or the environment names another."""
    name = getattr(request, "param", os.environ.get(BROWSER) or "chromium")
    return request.getfixturevalue(name)


BOTH = pytest.mark.parametrize("browser", ["chromium", "firefox"], indirect=True)


@pytest.fixture(scope="session")
def sea_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small project that nobody changes."""
    with make_project(tmp_path_factory.mktemp("sea")) as project:
        add_person(project, "ann", topics=tuple(TOPICS))
        add_person(project, "bob", topics=("MB001",))
        add_person(project, "olga", "organizer")
        project.store.set_setting("instructions", "Judge by the text alone.")
        return project.folder


@pytest.fixture
def site(sea_reports: Path, tmp_path: Path) -> Iterator[Site]:
    shutil.copytree(sea_reports, tmp_path / "project")
    with open_project(tmp_path / "project") as project:
        site = Site(project)
        yield site
        site.leave()


Visit = Callable[..., Any]

LEAVING = ("Execution context was destroyed", "Cannot read properties of null", "Cannot find context")


def until(page: Any, condition: str | Callable[[], object], given: Any = None) -> Any:
    """What holds, once it does: here, or in a page, whose policy forbids the way in which Playwright waits.

    While another page is on its way there may be none to ask, or one without what is asked about.
    """
    from playwright.sync_api import Error

    holds = condition if callable(condition) else lambda: page.evaluate(condition, given)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            found, why = holds(), ""
        except Error as error:
            found, why = False, str(error)
            if not any(one in why for one in LEAVING):
                raise
        if found:
            return found
        assert time.monotonic() < deadline, f"never: {condition} {why}"
        page.wait_for_timeout(20)


def becomes(page: Any, read: Callable[[], Result], wanted: Result) -> None:
    """Wait until what is read is what it should be."""
    last: list[Result] = []

    def as_wanted() -> bool:
        last[:] = [read()]
        return last == [wanted]

    try:
        until(page, as_wanted)
    except AssertionError:
        assert last == [wanted], f"never {wanted!r}: {last}"


def arrive(page: Any, act: Callable[[], object]) -> None:
    """Do what leads to a page, be it the same one again, and wait until it is loaded with its scripts."""
    with page.expect_navigation():
        act()


def retype(page: Any, selector: str, text: str) -> None:
    """Replace what a field of a number holds, as people do: Firefox selects nothing there when asked to fill it."""
    page.focus(selector)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def settled(page: Any) -> None:
    """Wait until what was changed is laid out and drawn, and nothing moves any more."""
    page.evaluate(
        """async () => {
          for (const _ of [1, 2]) await new Promise((drawn) => requestAnimationFrame(drawn));
          await Promise.allSettled(document.getAnimations().map((one) => one.finished));
        }"""
    )


def new_page(context: Any) -> Any:
    """A page that is waited for as long as slow machines need, on a machine as slow as is asked for."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    slowdown = float(os.environ.get(SLOWDOWN) or 1)
    if slowdown > 1:
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    return page


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that finds what people with disabilities cannot use."""
    script = Path(os.environ.get(AXE, ""))
    if not script.is_file():
        lacking(f"no axe-core: set {AXE} to its file axe.min.js")
    return script.read_text()


def faults(page: Any, axe: str) -> list[tuple[str, list[str]]]:
    """What axe finds in a page: its name for each kind, and the first elements."""
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found]


@pytest.fixture
def visit(browser: Any, site: Site) -> Iterator[Visit]:
    """A page of somebody who has signed in; what went wrong in it fails the test at the end."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def note(fine: bool, text: str) -> None:
        if not fine:
            wrong.append(text)

    def dismiss(dialog: Any) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def visiting(
        name: str,
        path: str = "/",
        size: dict[str, int] = DESK,
        expected: tuple[str, ...] = (),
        scheme: str = "light",
    ) -> Any:
        context = browser.new_context(viewport=size, has_touch=size is PHONE, color_scheme=scheme)
        contexts.append(context)
        # Chromium answers that it intercepts requests before a page that is open already does: a busy machine
        # let the next request through. Here a context intercepts from its first page on.
        context.route("**/nothing-asks-for-this", lambda route: route.abort())
        page = new_page(context)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.on("dialog", dismiss)
        page.on(
            "console",
            lambda said: note(said.type != "error" or any(one in said.text for one in expected), said.text),
        )
        page.on("request", lambda asked: note(asked.url.startswith(site.url), f"request: {asked.url}"))
        page.goto(f"{site.url}/sign-in?then={path.replace('&', '%26')}")
        page.fill("[name=name]", name)
        page.fill("[name=password]", PASSWORD)
        page.click("main button")
        page.wait_for_url(lambda url: "/sign-in" not in url)
        return page

    yield visiting
    for context in contexts:
        context.close()
    assert wrong == []
