"""The door under load and under attack: judging goes on, the guesser alone is refused, and the log tells who it was."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path

import httpx2
import pytest
import uvicorn
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from tests.judge.test_crash_server import signed_in_headers
from tests.judge.web import PASSWORD, Browser, add_person, awaited
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from sounding.cli import main
from sounding.judge import auth
from sounding.judge.app import create_app, serve
from sounding.judge.auth import RateLimit
from sounding.judge.project import Project, invite
from sounding.judge.serving import log_failure
from sounding.judge.web import TOKEN

DOCS = Path(__file__).parents[2] / "docs" / "judging-security.md"
THREADS = 40  # that anyio gives to all that is not asynchronous
FAR = "198.51.100.7"  # an address that nobody else uses


class Stuck:
    """Stands in for argon2: never comes to an end until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.tried = 0

    def verify(self, _: str, __: bytes) -> bool:
        self.tried += 1
        if not self.go_on.wait(30):  # something waits for it; it need not wait for all of them
            self.go_on.set()
        raise VerifyMismatchError


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost next to nothing, of unknown names as well; and no time passes for the limits."""
    monkeypatch.setattr(auth, "RateLimit", partial(RateLimit, clock=lambda: 0.0))
    monkeypatch.setattr(auth, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    nobody = auth.hash_password(PASSWORD[::-1])
    monkeypatch.setattr(auth, "_nobodys_hash", lambda: nobody)


def client_of(app: FastAPI, address: str, headers: dict[str, str] | None = None) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app, client=(address, 5000))
    return httpx2.AsyncClient(transport=transport, base_url="http://testserver", headers=headers)


async def tried(app: FastAPI, address: str, name: str, password: str) -> httpx2.Response:
    """The answer to somebody who signs in over the API."""
    async with client_of(app, address) as client:
        token = (await client.get("/api/token")).json()["token"]
        content = {"name": name, "password": password}
        return await client.post("/api/sign-in", json=content, headers={TOKEN: token})


def codes_of(app: FastAPI, attempts: list[tuple[str, str, str]]) -> list[int]:
    """The answers to (address, name, password), one after the other."""

    async def all_of_them() -> list[int]:
        return [(await tried(app, *one)).status_code for one in attempts]

    return awaited(all_of_them())


def test_judging_is_answered_while_no_password_comes_to_an_end(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More sign-ins than the server has threads wait, the queue is full, and an assessor judges."""
    add_person(project, "ann", topics=("MB001",))
    headers = signed_in_headers(project, project.store.users()[0])
    app, stuck = create_app(project), Stuck()
    monkeypatch.setattr(auth, "_nobodys_hash", lambda: "")
    monkeypatch.setattr(auth, "_hasher", stuck)
    many = 150

    async def flood_and_judge() -> list[httpx2.Response]:
        flood = [asyncio.create_task(tried(app, "192.0.2.1", f"name {n}", "wrong")) for n in range(many)]
        while not stuck.tried:
            await asyncio.sleep(0.01)
        async with client_of(app, FAR, headers) as ann:
            for number in range(3):
                found = (await ann.get("/api/next", params={"topic": "MB001"})).json()["documents"]
                content = {
                    "topic": "MB001",
                    "doc": found[0]["doc"],
                    "grade": None,
                    "key": f"key-{number}-ann",
                }
                assert (await ann.post("/api/judge", json=content)).status_code == 200
        while sum(one.done() for one in flood) < many - 101:
            await asyncio.sleep(0.01)
        assert not stuck.go_on.is_set()  # judged, and refused, while every password still waits
        # The place of the last of the flood goes to whoever comes from elsewhere.
        late = asyncio.create_task(tried(app, FAR, "ann", PASSWORD))
        while sum(one.done() for one in flood) < many - 100:
            await asyncio.sleep(0.01)
        assert not late.done()
        refused = [one.result() for one in flood if one.done()]
        stuck.go_on.set()
        await asyncio.gather(*flood, late)
        return refused

    try:
        refused = awaited(flood_and_judge())
    finally:
        stuck.go_on.set()
    assert many > 2 * THREADS
    assert {one.status_code for one in refused} == {503}
    assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
    assert stuck.tried <= 101 + 1  # those refused were never tried


def test_nobody_is_locked_out_by_attempts_that_were_refused(project: Project, quick: None) -> None:
    """300 attempts at a name from one address: 10 are tried; the others count for nothing."""
    add_person(project, "ann")
    app = create_app(project)
    codes = codes_of(app, [("192.0.2.1", "ann", "wrong")] * 300)
    assert codes == [401] * 10 + [429] * 290
    assert codes_of(app, [("192.0.2.1", "ann", PASSWORD), (FAR, "ann", PASSWORD)]) == [429, 204]


def test_attempts_at_once_count_as_those_one_after_the_other(project: Project, quick: None) -> None:
    add_person(project, "ann")
    app = create_app(project)

    async def at_once() -> list[int]:
        answers = await asyncio.gather(*(tried(app, "192.0.2.1", "ann", "wrong") for _ in range(60)))
        return sorted(one.status_code for one in answers)

    codes = awaited(at_once())
    assert codes.count(401) in range(10, 12)  # each thread may have begun one more
    assert set(codes) == {401, 429}


@pytest.fixture
def attacked(project: Project, quick: None) -> FastAPI:
    """A server where 220 addresses have tried two wrong passwords of ann's each."""
    add_person(project, "ann")
    app = create_app(project)
    addresses = [f"192.0.2.{n}" for n in range(110)] + [f"203.0.113.{n}" for n in range(110)]
    assert set(codes_of(app, [(one, "ann", "wrong") for one in addresses * 2])) == {401}
    return app


def test_a_right_password_is_taken_from_an_address_that_did_nothing_wrong(attacked: FastAPI) -> None:
    assert codes_of(attacked, [(FAR, "ann", PASSWORD)]) == [204]


def test_a_name_under_attack_lets_each_address_try_two_wrong_ones(attacked: FastAPI) -> None:
    assert codes_of(attacked, [("192.0.2.1", "ann", "wrong")]) == [429]
    assert codes_of(attacked, [(FAR, "ann", "wrong")] * 3) == [401, 401, 429]
    # One typing error and the right password.
    assert codes_of(attacked, [("198.51.100.8", "ann", "wrong"), ("198.51.100.8", "ann", PASSWORD)]) == [
        401,
        204,
    ]
    assert codes_of(attacked, [("192.0.2.1", "bob", "wrong")] * 3) == [401] * 3  # another name


def test_many_people_of_one_address_sign_in(project: Project, quick: None) -> None:
    """Right passwords count for nothing, however many there are."""
    add_person(project, "ann")
    assert set(codes_of(create_app(project), [("192.0.2.1", "ann", PASSWORD)] * 120)) == {204}


def test_one_network_of_ipv6_is_one_guesser(project: Project, quick: None) -> None:
    add_person(project, "ann")
    app = create_app(project)
    codes = codes_of(app, [(f"2001:db8:0:1::{n:x}", "ann", "wrong") for n in range(12)])
    assert codes == [401] * 10 + [429] * 2
    assert codes_of(app, [("2001:db8:0:2::1", "ann", PASSWORD)]) == [204]


def test_ipv4_clients_of_an_ipv6_socket_are_guessers_of_their_own(project: Project, quick: None) -> None:
    add_person(project, "ann")
    app = create_app(project)
    codes = codes_of(app, [("::ffff:192.0.2.1", "ann", "wrong")] * 12)
    assert codes == [401] * 10 + [429] * 2
    assert codes_of(app, [("192.0.2.1", "ann", PASSWORD)]) == [429]  # the same client
    assert codes_of(app, [(one, "ann", PASSWORD) for one in ("::ffff:192.0.2.2", "::1")]) == [204, 204]
    assert auth.network_of("::1") != auth.network_of("::2")


def test_the_log_names_an_ipv4_client_of_an_ipv6_socket_by_its_own_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log_failure(None, "::ffff:192.0.2.1")
    assert caplog.messages[0].split()[-1] == "192.0.2.1"


@pytest.mark.parametrize(
    ("peer", "trusted"),
    [("127.0.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("192.0.2.1", False)],
)
def test_a_proxy_on_this_machine_names_the_client(
    peer: str, trusted: bool, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[uvicorn.Config] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        served.append(server.config)
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve(project, "127.0.0.1", 0)
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["client"][0])

    async def ask() -> None:
        headers = [(b"x-forwarded-for", FAR.encode())]
        scope = {"type": "http", "client": (peer, 5000), "headers": headers, "scheme": "http"}
        trust = ProxyHeadersMiddleware(app, served[0].forwarded_allow_ips)  # type: ignore[arg-type]
        await trust(scope, None, None)  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as pool:  # a browser test may have a loop of its own in this thread
        pool.submit(asyncio.run, ask()).result()
    assert seen == [FAR if trusted else peer]


def test_a_browser_that_has_signed_in_is_not_locked_out_by_others_of_its_address(
    project: Project, quick: None
) -> None:
    add_person(project, "ann")
    add_person(project, "eve")
    ann, other = Browser(project), "192.0.2.1"  # the same address
    assert ann.sign_in("ann").status_code == 303
    ann.post("/sign-out")
    assert codes_of(ann.app, [(other, "ann", "wrong")] * 11)[-1] == 429
    assert Browser(project, ann.app).sign_in("ann").status_code == 429
    assert ann.sign_in("ann").status_code == 303
    ann.post("/sign-out")
    codes = [ann.sign_in("ann", "wrong").status_code for _ in range(11)]
    assert codes == [401] * 10 + [429]  # guessing there is limited as well
    eve = Browser(project, ann.app)
    assert eve.sign_in("eve").status_code == 303
    eve.post("/sign-out")
    assert eve.sign_in("ann").status_code == 429  # known, yet not as ann


def test_a_new_password_makes_the_browsers_unknown_that_knew_the_old_one(
    project: Project, quick: None
) -> None:
    add_person(project, "ann")
    ann, thief = Browser(project), Browser(project)
    ann.sign_in("ann")
    name = ann.app.state.context.device_cookie
    kept = ann.client.cookies[name]
    link = f"/welcome/{invite(project.store, project.store.users()[0], 'reset')}"
    ann.get(link)
    assert ann.post(link, password="another password", again="another password").status_code == 303
    assert ann.client.cookies[name] != kept
    [user] = project.store.users()
    assert auth.device_of(user, kept) is None
    assert auth.device_of(user, ann.client.cookies[name]) is not None
    assert [auth.device_of(user, one) for one in ("", ".", "x", f"x{ann.client.cookies[name]}")] == [None] * 4
    thief.client.cookies.set(thief.app.state.context.device_cookie, ann.client.cookies[name])
    assert thief.get("/account").status_code == 303  # it signs nobody in


# ---- logs


def failregex() -> re.Pattern[str]:
    """The filter that the documentation has, as fail2ban reads it: the time is cut off before."""
    [found] = re.findall(r"^\s*failregex = (.+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    return re.compile(found.replace("<HOST>", r"(?P<host>[0-9a-f.:]+)"))


def test_wrong_passwords_are_logged_and_nothing_else(
    project: Project, quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    add_person(project, "ann")
    app = create_app(project)
    hostile = "nobody\n2026-01-01T00:00:00+0000 sign-in failed for ann from 10.0.0.1"
    codes = codes_of(
        app,
        [
            ("192.0.2.1", "ann", "wrong"),
            ("192.0.2.2", hostile, "wrong"),
            ("2001:db8::5", "ann", "wrong"),
            ("x from 10.0.0.1", "ann", "wrong"),  # what a proxy passed on
            ("192.0.2.3", "ann", PASSWORD),
        ],
    )
    assert codes == [401] * 4 + [204]
    said = [record.getMessage() for record in caplog.records if record.name == "sounding.judge"]
    assert said == [
        "sign-in failed for assessor-1 from 192.0.2.1",
        "sign-in failed for nobody from 192.0.2.2",
        "sign-in failed for assessor-1 from 2001:db8::5",
        "sign-in failed for assessor-1 from unknown",
    ]
    found = [failregex().search(f" {one}") for one in said]
    assert [None if one is None else one["host"] for one in found] == [
        "192.0.2.1", "192.0.2.2", "2001:db8::5", None,
    ]  # fmt: skip


def test_a_wrong_present_password_is_logged(
    project: Project, quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    add_person(project, "ann")
    ann = Browser(project)
    ann.sign_in("ann")
    new = {"password": "another password", "again": "another password"}
    assert ann.post("/account/password", present="wrong wrong", **new).status_code == 400
    assert failregex().search(f" {caplog.messages[-1]}")


@pytest.mark.parametrize("asked", [False, True])
def test_what_a_server_writes(
    project: Project,
    quick: None,
    asked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Failed sign-ins with their time on standard error; accesses only on request, without secrets."""
    add_person(project, "ann")
    link = invite(project.store, project.store.add_user("new", "assessor"), "invitation")

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        sockets[0].close()
        app = server.config.app
        assert isinstance(app, FastAPI)
        codes_of(app, [("192.0.2.1", "ann", "wrong")])
        Browser(project, app).get(f"/welcome/{link}?x=secret%0A")
        Browser(project, app).get('/no"thing')

    monkeypatch.setattr(uvicorn.Server, "run", run)
    with pytest.raises(SystemExit):
        main(["judge", "serve", str(project.folder), "--port", "0", *(["--access-log"] if asked else [])])
    written = capsys.readouterr()
    [failed] = [one for one in written.err.splitlines() if "sign-in failed" in one]
    when, _, rest = failed.partition(" ")
    assert datetime.strptime(when, "%Y-%m-%dT%H:%M:%S%z").tzinfo is not None
    assert failregex().search(f" {rest}")
    form = re.compile(
        r'(\S+) - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([A-Z]+) (\S+) HTTP/1\.1" (\d+) (\d+)'
    )
    found = [form.fullmatch(one) for one in written.out.splitlines()]
    assert all(found)
    assert [one.groups()[:4] for one in found if one is not None] == (
        [
            ("192.0.2.1", "GET", "/api/token", "200"),
            ("192.0.2.1", "POST", "/api/sign-in", "401"),
            ("192.0.2.1", "GET", "/welcome/-", "200"),
            ("192.0.2.1", "GET", "/no%22thing", "404"),
        ]
        if asked
        else []
    )
    assert all(int(one[5]) > 0 for one in found if one is not None)
    assert link not in written.out + written.err
