"""Links made by hand: they lead to where the project was served last."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
import uvicorn

from sounding.cli import main
from sounding.judge import app
from sounding.judge.project import open_project
from sounding.judge.serving import FILE, address_of, is_address, last_address, remember_address


@pytest.fixture
def folder(sea_reports: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sea_reports, tmp_path / "project"))


def printed(capsys: pytest.CaptureFixture[str], *words: object, expect: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as left:
        main(["judge", "user", *map(str, words)])
    assert (left.value.code or 0) == expect
    said = capsys.readouterr()
    return said.out.strip(), said.err


def test_a_link_leads_to_where_the_project_was_served_last(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    link, remarks = printed(capsys, folder, "jane", "--role", "organizer")
    assert link.startswith("http://127.0.0.1:8000/welcome/")
    assert "has not been served yet" in remarks
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: [one.close() for one in sockets])
    with open_project(folder) as project:
        app.serve(project, "127.0.0.1", 0)
    address = capsys.readouterr().err.split(": ")[1].split(" ")[0]
    assert not address.endswith((":0", ":8000"))
    link, remarks = printed(capsys, folder, "jane", "--link")
    assert link.startswith(f"{address}/welcome/")
    assert "--url" not in remarks
    link, _ = printed(capsys, folder, "jane", "--link", "--url", "https://judge.example.org/")
    assert link.startswith("https://judge.example.org/welcome/")


@pytest.mark.parametrize(
    ("url", "better"),
    [
        ("judge.example.org", "https://judge.example.org"),
        ("10.0.0.3:8000", "https://10.0.0.3:8000"),
        ("ftp://judge.example.org", "https://judge.example.org"),
        ("http://", "https://judge.example.org"),
        ("http://host:port", "https://judge.example.org"),
    ],
)
def test_what_is_no_address_is_refused_before_anything_changes(
    folder: Path, capsys: pytest.CaptureFixture[str], url: str, better: str
) -> None:
    _, said = printed(capsys, folder, "jane", "--url", url, expect=2)
    expected = f"--url {url}: expected an address that begins with http:// or https://, such as {better}"
    assert said.strip().splitlines()[-1] == f"Error: {expected}"
    with open_project(folder) as project:
        assert project.store.users() == []


def test_a_server_that_listens_everywhere_is_called_by_the_name_of_its_machine() -> None:
    assert address_of("127.0.0.1", 8123) == "http://127.0.0.1:8123"
    assert address_of("::1", 80) == "http://[::1]:80"
    for host in ("0.0.0.0", "::"):
        assert address_of(host, 8000) == f"http://{socket.gethostname()}:8000"


def test_an_address_that_cannot_be_kept_or_read_is_as_good_as_none(tmp_path: Path) -> None:
    remember_address(tmp_path / "missing", "http://127.0.0.1:1")
    assert last_address(tmp_path / "missing") is None
    for content in (b"\xff\xfe", b"", b"elsewhere", b"http://"):
        (tmp_path / FILE).write_bytes(content)
        assert last_address(tmp_path) is None
    remember_address(tmp_path, "http://127.0.0.1:1")
    assert last_address(tmp_path) == "http://127.0.0.1:1"
    assert is_address("https://[::1]:8000/path")
