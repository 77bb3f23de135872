"""A judging server on a port of this machine, and real browsers that talk to it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.conftest import lacking, require
from tests.judging.web import PASSWORD, TOPICS, add_person, make_project

from sounding.judging.app import create_app
from sounding.judging.project import Project, open_project

PHONE = {"width": 390, "height": 780}
DESK = {"width": 1280, "height": 800}
PATIENCE = 30  # seconds until something that should happen is given up; machines can be slow
AXE = "SOUNDING_AXE"  # the file axe.min.js of the npm package axe-core


class Site:
    """A project that is being served; the server can be stopped and started again on the same port."""

    pause = 0  # milliseconds: tests do not read what they grade

    def __init__(self, project: Project) -> None:
        self.project = project
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        app = create_app(self.project)
        app.state.context = replace(app.state.context, pause=self.pause)
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=self.port,
            log_level="error",
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = require("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        lacking("no chromium on the PATH")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sea_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small project that nobody changes."""
    with make_project(tmp_path_factory.mktemp("sea")) as project:
        add_person(project, "ann", topics=tuple(TOPICS))
        add_person(project, "bob", topics=("MB001",))
        add_person(project, "olga", "organiser")
        project.store.set_setting("instructions", "Judge by the text alone.")
        return project.folder


@pytest.fixture
def site(sea_reports: Path, tmp_path: Path) -> Iterator[Site]:
    shutil.copytree(sea_reports, tmp_path / "project")
    with open_project(tmp_path / "project") as project:
        site = Site(project)
        yield site
        site.stop()


Visit = Callable[..., Any]


def until(
    page: Any, condition: str | Callable[[], object], given: Any = None, seconds: float = PATIENCE
) -> None:
    """Wait until something holds: here, or in a page, whose policy forbids the way in which Playwright waits."""
    holds = condition if callable(condition) else lambda: page.evaluate(condition, given)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never: {condition}"
        page.wait_for_timeout(20)


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
def visit(chromium: Any, site: Site) -> Iterator[Visit]:
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
        context = chromium.new_context(viewport=size, has_touch=size is PHONE, color_scheme=scheme)
        contexts.append(context)
        # Chromium answers that it intercepts requests before a page that is open already does: a busy machine
        # let the next request through. Here a context intercepts from its first page on.
        context.route("**/nothing-asks-for-this", lambda route: route.abort())
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
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
