"""Coming in and going: passwords, links, sign-ins, rates, and where the server listens."""

from __future__ import annotations

import gc
import re
import socket
import time

import pytest
import uvicorn
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError
from tests.judge.web import PASSWORD, TOPICS, Browser, add_person, awaited, signed_in

from sounding.core.errors import DataError
from sounding.judge import agenda as plan
from sounding.judge import auth
from sounding.judge.app import is_loopback, serve
from sounding.judge.auth import LEAST_PASSWORD, RateLimit, RefusedError, hash_password, is_password
from sounding.judge.passwords import why_common
from sounding.judge.project import Project, digest_of, invite, open_project
from sounding.judge.sign_in_pages import browser_of
from sounding.judge.web import local_path


@pytest.fixture
def ann(project: Project) -> Browser:
    add_person(project, "ann", topics=tuple(TOPICS))
    return signed_in(project, "ann")


def cookie(browser: Browser) -> str:
    """The secret of a signed-in browser."""
    return browser.client.cookies[browser.app.state.context.cookie]


def test_passwords_are_kept_as_argon2_hashes() -> None:
    kept = hash_password(PASSWORD)
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept
    assert kept != hash_password(PASSWORD)
    assert is_password(kept, PASSWORD)
    assert not is_password(kept, PASSWORD + "x")
    assert not is_password(None, PASSWORD)
    assert not is_password("no hash at all", PASSWORD)


def test_a_long_password_counts_whole() -> None:
    long = "a" * 200
    kept = hash_password(long)
    assert not is_password(kept, long + "b")
    assert is_password(kept, long)


def test_an_unknown_name_and_a_wrong_password_look_alike(ann: Browser) -> None:
    guest = Browser(None, ann.app)  # type: ignore[arg-type]
    wrong = guest.sign_in("ann", "not the password")
    unknown = guest.sign_in("nobody", "not the password")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace("ann", "") == unknown.text.replace("nobody", "")


def test_names_are_compared_without_case(ann: Browser, project: Project) -> None:
    assert signed_in(project, " ANN ").get("/api/topics").status_code == 200


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(project: Project) -> None:
    add_person(project, "ann")
    browser = Browser(project)
    given = [
        *browser.get("/sign-in").headers.get_list("set-cookie"),
        *browser.post("/sign-in", name="ann", password=PASSWORD).headers.get_list("set-cookie"),
    ]
    assert len(given) == 4  # of the guest, of the user, of the browser, and the guest's taken away
    assert all("HttpOnly" in one and "SameSite=lax" in one for one in given if "Max-Age=0" not in one)


def test_behind_a_proxy_with_https_the_cookie_is_sent_over_https_alone(project: Project) -> None:
    add_person(project, "ann")
    browser = Browser(project)
    browser.client.base_url = "https://judge.example.org"
    browser.get("/sign-in")
    answer = browser.post("/sign-in", name="ann", password=PASSWORD)
    assert "Secure" in answer.headers.get_list("set-cookie")[0]


def test_the_database_knows_no_cookie_and_no_link(ann: Browser, project: Project) -> None:
    secret = cookie(ann)
    link = invite(project.store, project.store.users()[0], "reset")
    with project.store._database.read() as run:
        if project.store._database.dialect == "sqlite":
            named = run("SELECT name FROM sqlite_master WHERE type = 'table'")
        else:
            named = run(
                "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'"
            )
        content = str([dict(row) for table in named for row in run(f"SELECT * FROM {table['name']}")])
    assert secret not in content
    assert link not in content
    assert digest_of(link) in content


def test_signing_in_gives_a_new_cookie_whatever_was_there_before(project: Project) -> None:
    add_person(project, "ann")
    browser = Browser(project)
    browser.client.cookies.set(
        browser.app.state.context.cookie, "fixed-by-somebody-else" * 2, domain="testserver.local"
    )
    browser.sign_in("ann")
    assert "fixed-by-somebody-else" not in " ".join(one.value or "" for one in browser.client.cookies.jar)


def test_after_signing_out_the_cookie_is_worth_nothing(ann: Browser) -> None:
    secret = cookie(ann)
    assert ann.post("/sign-out").headers["location"] == "/sign-in"
    thief = Browser(None, ann.app)  # type: ignore[arg-type]
    thief.client.cookies.set(ann.app.state.context.cookie, secret)
    assert thief.get("/api/topics").status_code == 401


def test_signing_out_everywhere_ends_every_browser(ann: Browser, project: Project) -> None:
    other = signed_in(project, "ann")
    assert ann.get("/account").text.count("<tr>") == 3  # the heading and two browsers
    ann.post("/account/end-all")
    assert other.get("/api/topics").status_code == ann.get("/api/topics").status_code == 401


def test_one_browser_is_signed_out_by_its_owner_alone(ann: Browser, project: Project) -> None:
    add_person(project, "eve")
    other, eve = signed_in(project, "ann"), signed_in(project, "eve")
    first, second = project.store.sign_ins(1)
    assert eve.post("/account/end", which=second.digest).status_code == 404
    assert ann.post("/account/end", which=second.digest, token="0" * 64).status_code == 403
    assert other.get("/account").status_code == 200
    assert second.digest in ann.get("/account").text
    assert first.digest not in ann.get("/account").text  # this one: it has its own way out
    assert ann.post("/account/end", which=second.digest).status_code == 303
    assert other.get("/account").status_code == 303
    assert ann.get("/account?said=ended").text.count("That browser is signed out.") == 1
    assert ann.post("/account/end", which=second.digest).status_code == 404


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/139.0 Safari/537.36",
            "Chrome on Android",
        ),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18 like Mac OS X) Version/18 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/139.0 Safari/537.36 Edg/139.0", "Edge on Windows"),
        ("curl/8.0", "curl/8.0"),
        ("", ""),
        ("<b> from here", "<b> from here"),
    ],
)
def test_a_browser_is_named_in_a_few_words(said: str, shown: str) -> None:
    assert browser_of(f"{said} from 192.0.2.1") == f"{shown} from 192.0.2.1"


def test_a_sign_in_expires(ann: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time() + 8 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    assert ann.get("/api/topics").status_code == 401


def test_a_link_sets_a_password_once(project: Project) -> None:
    person = project.store.add_user("new", "assessor")
    link = f"/welcome/{invite(project.store, person, 'invitation')}"
    browser = Browser(project)
    assert "Welcome" in browser.get(link).text
    assert browser.post(link, password="short", again="short").status_code == 400
    assert browser.post(link, password=PASSWORD, again=PASSWORD + "x").status_code == 400
    assert browser.post(link, password=PASSWORD, again=PASSWORD).headers["location"] == "/"
    assert browser.get("/api/topics").status_code == 200
    assert Browser(project).get(link).status_code == 404
    assert signed_in(project, "new").get("/api/topics").status_code == 200


def test_a_link_is_worth_nothing_when_old_replaced_or_of_a_closed_account(project: Project) -> None:
    person = project.store.add_user("new", "assessor")
    old = invite(project.store, person, "invitation", seconds=-1)
    browser = Browser(project)
    assert browser.get(f"/welcome/{old}").status_code == 404
    first, second = (invite(project.store, person, "invitation") for _ in range(2))
    assert [browser.get(f"/welcome/{one}").status_code for one in (first, second)] == [404, 200]
    project.store.set_active(person.id, False)
    assert browser.get(f"/welcome/{second}").status_code == 404


def test_links_cannot_be_tried_at_will(project: Project) -> None:
    browser = Browser(project)
    assert [browser.get(f"/welcome/{number}").status_code for number in range(31)][-2:] == [404, 429]
    good = invite(project.store, project.store.add_user("new", "assessor"), "invitation")
    assert browser.get(f"/welcome/{good}").status_code == 429  # else what is tried would tell good ones


def test_many_people_of_one_address_accept_their_invitations(project: Project) -> None:
    app = Browser(project).app
    for number in range(20):
        browser = Browser(project, app)
        link = f"/welcome/{invite(project.store, project.store.add_user(f'p{number}', 'assessor'), 'invitation')}"
        assert browser.get(link).status_code == 200
        assert browser.post(link, password=PASSWORD, again="something else").status_code == 400
        assert browser.post(link, password=PASSWORD, again=PASSWORD).status_code == 303
    void = [Browser(project, app).get(f"/welcome/{number}").status_code for number in range(31)]
    assert void[-2:] == [404, 429]  # the good ones have not made it more


def test_a_reset_ends_what_was_signed_in(ann: Browser, project: Project) -> None:
    link = f"/welcome/{invite(project.store, project.store.users()[0], 'reset')}"
    other = Browser(project)
    other.get(link)
    other.post(link, password="another password", again="another password")
    assert ann.get("/api/topics").status_code == 401
    assert Browser(project).sign_in("ann").status_code == 401
    assert Browser(project).sign_in("ann", "another password").status_code == 303


def test_changing_the_password_needs_the_present_one_and_ends_other_browsers(
    ann: Browser, project: Project
) -> None:
    other = signed_in(project, "ann")
    new = {"password": "another password", "again": "another password"}
    assert ann.post("/account/password", present="wrong wrong", **new).status_code == 400
    assert other.get("/api/topics").status_code == 200
    assert ann.post("/account/password", present=PASSWORD, **new).status_code == 303
    assert ann.get("/api/topics").status_code == 200
    assert other.get("/api/topics").status_code == 401


def test_a_closed_account_cannot_sign_in_and_is_signed_out(ann: Browser, project: Project) -> None:
    project.store.set_active(project.store.users()[0].id, False)
    assert ann.get("/api/topics").status_code == 401
    assert Browser(project).sign_in("ann").status_code == 403


def test_guessing_is_slowed_down_for_the_guesser_alone(project: Project) -> None:
    add_person(project, "ann")
    add_person(project, "bob")
    guesser = Browser(project)
    codes = [guesser.sign_in("ann", "wrong password").status_code for _ in range(11)]
    assert codes == [401] * 10 + [429]
    answer = guesser.sign_in("ann")
    assert answer.status_code == 429  # even with the right password
    assert int(answer.headers["retry-after"]) >= 1
    assert Browser(project, guesser.app).sign_in("bob").status_code == 303  # another name from there
    assert Browser(project, guesser.app, address="198.51.100.7").sign_in("ann").status_code == 303


def test_guessing_is_slowed_down_also_where_names_change(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_person(project, "ann")
    door = Browser(project).app.state.context.door
    monkeypatch.setattr(auth, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    monkeypatch.setattr(auth, "_nobodys_hash", lambda: hash_password(PASSWORD[::-1]))

    def tried(name: str, address: str, password: str) -> int:
        try:
            awaited(door.sign_in(name, password, address, "a browser"))
        except RefusedError as error:
            return error.status
        return 200

    codes = [tried(f"name {number}", "192.0.2.1", "wrong password") for number in range(101)]
    assert codes == [401] * 100 + [429]
    assert tried("ann", "192.0.2.1", PASSWORD) == 429  # whatever the password
    assert tried("ann", "198.51.100.7", PASSWORD) == 200


class Hasher:
    """Stands in for argon2: tells which hashes a password was compared with."""

    def __init__(self) -> None:
        self.hashes: list[str] = []

    def verify(self, given: str, _: bytes) -> bool:
        self.hashes.append(given)
        raise VerifyMismatchError


def test_an_unknown_name_takes_as_long_as_a_wrong_password(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work is measured by what the hashes cost, and not by a clock."""
    project.store.add_user("ann", "assessor", hash_password(PASSWORD))
    project.store.add_user("invited", "assessor")  # has no password yet
    auth._nobodys_hash()
    hasher = Hasher()
    monkeypatch.setattr(auth, "_hasher", hasher)
    guest = Browser(project)
    for name in ("ann", "nobody", "invited"):
        assert guest.sign_in(name, "not the password").status_code == 401
    first, *others = map(extract_parameters, hasher.hashes)
    assert first == extract_parameters(PasswordHasher(parallelism=1).hash(b"x"))
    assert others == [first] * 2


def test_the_api_slows_guessing_down_as_well(project: Project) -> None:
    add_person(project, "ann")
    guesser = Browser(project)
    guesser.token = guesser.get("/api/token").json()["token"]
    codes = [guesser.send("/api/sign-in", {"name": "ann", "password": "x"}).status_code for _ in range(11)]
    assert codes == [401] * 10 + [429]


def test_signing_in_over_the_api_needs_the_token_of_the_guest(project: Project) -> None:
    add_person(project, "ann")
    browser = Browser(project)
    assert browser.send("/api/sign-in", {"name": "ann", "password": PASSWORD}, token="").status_code == 403
    known = browser.get("/api/token").json()
    assert known["account"] is None
    assert (
        browser.send("/api/sign-in", {"name": "ann", "password": PASSWORD}, token=known["token"]).status_code
        == 204
    )
    now = browser.get("/api/token").json()
    assert (now["name"], now["account"], now["role"]) == ("ann", "assessor-1", "assessor")
    assert now["token"] != known["token"]


def test_the_present_password_cannot_be_guessed_at_will(project: Project) -> None:
    add_person(project, "ann")
    add_person(project, "bob")
    ann = signed_in(project, "ann")
    new = {"password": "another good one", "again": "another good one"}
    answers = [ann.post("/account/password", present=f"wrong {n}", **new).status_code for n in range(12)]
    assert answers == [400] * 10 + [429] * 2
    late = ann.post("/account/password", present=PASSWORD, **new)  # nor is the right one tried any more
    assert (late.status_code, "try again in" in late.text) == (429, True)
    bob = signed_in(project, "bob", ann.app)  # from the same address, and not held up
    assert bob.post("/account/password", present=PASSWORD, **new).status_code == 303


def test_a_rate_recovers_with_time_and_forgets_who_was_quiet_longest() -> None:
    now = 0.0
    limit = RateLimit(2, 10, clock=lambda: now)
    assert [limit.wait("a") for _ in range(3)] == [0, 0, 5]  # one act every 5 seconds
    now = 5.0
    assert [limit.wait("a"), limit.wait("a")] == [0, 5]
    for number in range(10_000):
        limit.wait(number)
    assert [limit.wait("a") for _ in range(3)] == [0, 0, 5]


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "",
        "/a\nb",
        "/" + "x" * 3000,
    ],
)
def test_signing_in_leads_to_no_other_site(project: Project, target: str) -> None:
    assert local_path(target) == "/"
    add_person(project, "ann")
    browser = Browser(project)
    browser.get("/sign-in")
    answer = browser.post("/sign-in", name="ann", password=PASSWORD, then=target[:1999])
    assert answer.headers["location"] == ("/" if len(target) < 2000 else target[:1999])


def test_signing_in_leads_where_one_wanted_to_be(ann: Browser, project: Project) -> None:
    browser = Browser(project)
    asked = browser.get("/judge?topic=T%2F2-x")
    assert asked.status_code == 303
    found = re.search(r'name="then" value="([^"]*)"', browser.get(asked.headers["location"]).text)
    assert found is not None
    assert (
        browser.post("/sign-in", name="ann", password=PASSWORD, then=found.group(1)).headers["location"]
        == "/judge?topic=T%2F2-x"
    )


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("judge.example.org", False),
        ("", False),
    ],
)
def test_what_only_this_machine_can_reach(host: str, inside: bool) -> None:
    assert is_loopback(host) is inside


def test_without_users_the_server_listens_on_this_machine_alone(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def run(_: uvicorn.Server, sockets: list[socket.socket]) -> None:
        started.append(sockets[0].getsockname()[0])
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    project.store.add_user("invited", "organizer")  # has no password yet
    with pytest.raises(DataError, match=r"0\.0\.0\.0: nobody has a password yet"):
        serve(project, "0.0.0.0", 0)
    serve(project, "127.0.0.1", 0)
    add_person(project, "olga", "organizer")
    serve(project, "0.0.0.0", 0)
    assert started == ["127.0.0.1", "0.0.0.0"]


def test_a_password_must_be_long_enough() -> None:
    with pytest.raises(RefusedError, match=f"{LEAST_PASSWORD} to"):
        hash_password("x" * (LEAST_PASSWORD - 1))


def test_a_port_that_is_taken_is_said_in_one_line(project: Project) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(DataError, match=rf"127\.0\.0\.1:{port} .*--port"):
            serve(project, "127.0.0.1", port)


def test_the_address_is_said_when_serving_begins(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    serve(project, "127.0.0.1", 0)
    assert re.fullmatch(
        r"Sea reports: http://127\.0\.0\.1:[1-9]\d+ \(Ctrl\+C stops it\)\n", capsys.readouterr().err
    )


@pytest.mark.parametrize("damaged", [False, True])
def test_what_the_first_document_needs_is_made_before_serving_begins(
    project: Project, damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the garbage collector leaves it alone meanwhile; where it cannot be made, who asks is told."""
    frozen: list[int] = []

    def run(_: uvicorn.Server, sockets: list[socket.socket]) -> None:
        frozen.append(gc.get_freeze_count())
        sockets[0].close()
        if not damaged:
            monkeypatch.setattr(plan, "read_retrieved", lambda *_, **__: pytest.fail("read only now"))
        add_person(project, "ann", topics=("MB001",))
        answer = signed_in(project, "ann").client.get("/api/next", params={"topic": "MB001"})
        assert answer.status_code == (500 if damaged else 200)

    with open_project(project.folder) as opened:  # which has read no run yet
        project = opened
        if damaged:
            with project.store._database.write() as statements:
                statements("UPDATE run SET content = :content", content=b"\0")
        monkeypatch.setattr(uvicorn.Server, "run", run)
        before = gc.get_freeze_count()
        serve(project, "127.0.0.1", 0)
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() <= before


@pytest.mark.parametrize(
    "password",
    [
        "1234567890", "0987654321", "qwertyuiop", "Qwerty123456", "1q2w3e4r5t", "1qaz2wsx3edc", "abcdefghij", "1111111111",
        "abcabcabcabc", "1234512345", "password123", "P@ssw0rd2026!", "Passwort1234", "iloveyou2026", "welcome-welcome",
        "administrator", "sunshine2025", "ann.smith1980", "annsmithann", "Smith12345",
    ],
)  # fmt: skip
def test_a_password_that_anybody_would_try_is_refused(project: Project, password: str) -> None:
    assert why_common(password, "Ann Smith")
    person = project.store.add_user("Ann Smith", "assessor")
    browser, link = Browser(project), f"/welcome/{invite(project.store, person, 'invitation')}"
    browser.get(link)
    answer = browser.post(link, password=password, again=password)
    assert answer.status_code == 400
    assert "choose another, such as four unrelated words" in answer.text
    assert browser.post(link, password=PASSWORD, again=PASSWORD).status_code == 303


@pytest.mark.parametrize(
    "password",
    [
        PASSWORD,
        "another password",
        "qhz7-tavn-03mx",
        "reef tide gull",
        "Kp7#wq92LmzX",
        "пароль-от-архива",
        "鯨と船の騒音を測る日々",
    ],
)
def test_other_passwords_are_not(password: str) -> None:
    assert why_common(password, "ann") == ""


def test_a_new_link_on_the_page_ends_the_old_password_and_its_sessions(project: Project) -> None:
    add_person(project, "olga", "organizer")
    add_person(project, "ann")
    olga, ann = signed_in(project, "olga"), signed_in(project, "ann")
    person = project.store.user_by_name("ann")
    assert person is not None
    olga.get("/organize/people")
    answer = olga.post("/organize/people/link", id=person.id)
    link = re.search(r"/welcome/[\w-]+", answer.text)
    assert link is not None
    assert ann.get("/account").headers["location"].startswith("/sign-in")
    assert Browser(project).sign_in("ann").status_code == 401
    ann.get(link[0])
    assert "Set a new password" in ann.get(link[0]).text
    assert ann.post(link[0], password="another password", again="another password").status_code == 303
