"""The recipes for the judging server: nginx and Caddy in front of it, its systemd unit, and its nightly copy."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.conftest import lacking
from tests.judge.test_serving import served
from tests.judge.web import PASSWORD, add_person, make_project
from tests.packaging.test_container import free_port

from sounding.judge.project import open_project

RECIPES = Path(__file__).parents[2] / "packaging/judge"
HOST = "judge.example.org"
PATIENCE = 20.0


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        lacking(f"no {name} on the PATH")
    assert found is not None
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with make_project(tmp_path) as project:
        add_person(project, "olga", "organizer")
        return project.folder


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-out", made[0], "-keyout", made[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return made


def nginx(tmp_path: Path, port: int, backend: str, files: tuple[Path, Path]) -> list[str]:
    site = (RECIPES / "nginx.conf").read_text()
    assert site.count("127.0.0.1:8000") == 2
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}").replace("127.0.0.1:8000", backend)
    for name, file in zip(("fullchain.pem", "privkey.pem"), files, strict=True):
        site = site.replace(f"/etc/letsencrypt/live/{HOST}/{name}", str(file))
    temporary = "".join(
        f"{kind}_temp_path {tmp_path / kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"user root;\ndaemon off;\npid {tmp_path / 'pid'};\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{site}}}\n"
    )
    return [program("nginx"), "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]


def caddy(tmp_path: Path, port: int, backend: str, files: tuple[Path, Path]) -> list[str]:
    site = (RECIPES / "Caddyfile").read_text()
    assert site.count("127.0.0.1:8000") == 1
    own = f"https://localhost:{port} {{\n\ttls {files[0]} {files[1]}"
    site = site.replace(f"{HOST} {{", own).replace("127.0.0.1:8000", backend)
    (tmp_path / "Caddyfile").write_text(f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{site}")
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")]


@contextmanager
def running(command: list[str], port: int, home: Path) -> Iterator[None]:
    environment = {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "PATH": "/usr/bin",
    }
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
    finally:
        process.kill()  # Caddy would wait for the end of the stream
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_everything_works_behind_a_proxy(
    proxy: object, folder: Path, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    port, known = free_port(), ssl.create_default_context(cafile=str(certificate[0]))
    with served(folder) as (server, backend):
        command = proxy(tmp_path, port, backend.removeprefix("http://"), certificate)  # type: ignore[operator]
        address = f"https://localhost:{port}"
        with running(command, port, tmp_path), httpx2.Client(verify=known, timeout=PATIENCE) as client:
            claimed = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
            answer = client.get(f"{address}/api/token", headers=claimed)
            assert "secure" in answer.headers["set-cookie"].lower()
            given = {"name": "olga", "password": "wrong password"}
            token = {"X-Page-Token": answer.json()["token"]}
            assert (
                client.post(f"{address}/api/sign-in", json=given, headers=token | claimed).status_code == 401
            )
            given["password"] = PASSWORD
            assert client.post(f"{address}/api/sign-in", json=given, headers=token).status_code == 204
            page = client.get(f"{address}/organize/people").text
            [secret] = re.findall(r'data-token="([0-9a-f]+)"', page)
            fields = {"token": secret, "name": "zoë", "role": "assessor"}
            page = client.post(f"{address}/organize/people/add", data=fields).text
            assert f'value="{address}/welcome/' in page
            with client.stream("GET", f"{address}/api/live/stream") as events:
                assert next(line for line in events.iter_lines() if line.startswith("data:"))
            lines = b"MB001 Q0 d05 1 5.0 tag\n" + b"#" * 3_000_000
            upload = client.post(
                f"{address}/organize/runs", data={"token": secret}, files={"run": ("x.txt", lines)}
            )
            assert upload.status_code == 400
            assert "sounding.css" in upload.text  # it is our page that refuses it
        server.terminate()
        _, said = server.communicate(timeout=PATIENCE)
    assert "sign-in failed for assessor-1 from 127.0.0.1" in said
    assert "203.0.113.9" not in said


def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    text = (RECIPES / "sounding-judge.service").read_text()
    unit = tmp_path / "sounding-judge.service"
    unit.write_text(text.replace("/opt/sounding/bin/sounding", sys.executable))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if unit.name in line], done.stderr
    done = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=30", str(unit)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-500:]  # at most 3.0, which is OK


def test_the_nightly_copy_can_be_opened(folder: Path, tmp_path: Path) -> None:
    [line] = [one for one in (RECIPES / "sounding-judge.cron").read_text().splitlines() if " judging " in one]
    command = line.split(" judging ", 1)[1].replace("\\%", "%")
    for recipe, here in (
        ("/opt/sounding/bin/sounding", f"{sys.executable} -m sounding"),
        ("/srv/judging", str(folder)),
        ("/srv/backup", str(tmp_path / "backup")),
    ):
        assert recipe in command
        command = command.replace(recipe, here)
    (tmp_path / "backup").mkdir()
    subprocess.run(["/bin/sh", "-c", command], check=True, cwd=tmp_path)
    [copy] = (tmp_path / "backup").iterdir()
    shutil.copy(copy, folder / "judging.sqlite")
    with open_project(folder) as project:
        assert [one.name for one in project.store.users()] == ["olga"]
