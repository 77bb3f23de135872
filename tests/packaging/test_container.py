"""The image of the judging server: its steps run in a fresh root, and its health check tells whether the server works."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.packaging.test_distribution import PYENV, interpreters

from sounding.cli import main

ROOT = Path(__file__).parents[2]
FILE = ROOT / "packaging/Containerfile"
PORT = 8000


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the file, each with the rest of its line."""
    for line in FILE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


def words_of(name: str) -> list[str]:
    """The words of the only instruction of a name in exec form, such as CMD ["a", "b"]."""
    (rest,) = [rest for word, rest in instructions() if word == name]
    found: list[str] = json.loads(rest[rest.index("[") :])
    return found


def health(port: int) -> list[str]:
    """The command of the health check for another port."""
    return [word.replace(f":{PORT}/", f":{port}/") for word in words_of("HEALTHCHECK")]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def answers(port: int, seconds: float) -> bool:
    """Whether a server answers within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=5):
                return True
        except (URLError, OSError):
            time.sleep(0.1)
    return False


def make_project(folder: Path) -> None:
    (folder / "docs.jsonl").write_text('{"id": "d1", "text": "some words on whales"}\n')
    with pytest.raises(SystemExit) as left:
        main(["judge", "init", str(folder / "project"), "--corpus", str(folder / "docs.jsonl")])
    assert not left.value.code


def test_the_instructions_fit_the_repository() -> None:
    known = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "VOLUME", "ENV", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in instructions()} == known
    kept = [
        line.removeprefix("!")
        for line in (ROOT / ".containerignore").read_text().splitlines()
        if line[:1] == "!"
    ]
    copied = [name for word, rest in instructions() if word == "COPY" for name in rest.split()[:-1]]
    assert sorted(copied) == sorted(kept)
    assert all((ROOT / name).exists() for name in copied)
    assert words_of("ENTRYPOINT") == ["sounding"]


def test_the_health_check_tells_whether_the_server_and_its_database_work(tmp_path: Path) -> None:
    make_project(tmp_path)
    port = free_port()
    check = [sys.executable, *health(port)[1:]]
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0
    command = [*words_of("CMD")[:-1], str(tmp_path / "project"), "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-m", "sounding", *command], stderr=subprocess.DEVNULL)
    try:
        assert answers(port, 30)
        assert subprocess.run(check, capture_output=True, check=False).returncode == 0
        for file in (tmp_path / "project").glob("judging.sqlite*"):
            with file.open("r+b") as stream:
                stream.write(b"no database" * 500)
        assert subprocess.run(check, capture_output=True, check=False).returncode != 0
    finally:
        server.terminate()
        server.wait(20)


# -- the steps in a fresh root ---------------------------------------------------------------------

BOUND = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/dev", str(PYENV))
COPIED = (
    "passwd",
    "group",
    "shadow",
    "gshadow",
    "login.defs",
    "nsswitch.conf",
    "hosts",
    "resolv.conf",
    "ssl",
    "pip.conf",
)
USERS, FIRST_USER = ("passwd", "group"), 1000  # accounts of people begin there, and an image has none


def package_folders() -> list[str]:
    """Folders of this machine from which pip takes packages, as its settings name them."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [one for one in re.findall(r"(?:file://)?(/[^\s']+)", listed) if Path(one).is_dir()]


class FreshRoot:
    """A folder that serves as root: programs of this machine, read from it, and everything else new."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = root
        self.user = "root"
        self.environment = {
            name: value for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_", "REQUESTS_")) or name in ("LANG",)
        } | {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": ""}  # fmt: skip
        for name in ("etc", "tmp", "root", "home", "usr-local"):
            (root / name).mkdir(parents=True)
        for name in COPIED:
            source = Path("/etc", name)
            if source.is_dir():
                shutil.copytree(source, root / "etc" / name, symlinks=True)
            elif source.exists():
                rows = source.read_text().splitlines()
                own = [row for row in rows if name not in USERS or int(row.split(":")[2]) < FIRST_USER]
                (root / "etc" / name).write_text("\n".join(own) + "\n")
        self.run(python, "-m", "venv", "/usr/local")

    def command(self, words: Sequence[str]) -> list[str]:
        """The command line that runs words in the root, as the current user."""
        mounts = [
            f"mkdir -p {self.root}{folder}; mount --rbind {folder} {self.root}{folder}"
            for folder in (*BOUND, *package_folders())
            if Path(folder).exists()
        ]
        mounts.append(f"mount --bind {self.root}/usr-local {self.root}/usr/local")
        inside = ["chroot", f"--userspec={self.user}", str(self.root), "env", "-i"]
        inside += [f"{name}={value}" for name, value in self.environment.items()]
        return [
            "unshare",
            "--mount",
            "sh",
            "-ec",
            "; ".join([*mounts, f"exec {shlex.join([*inside, *words])}"]),
        ]

    def run(self, *words: str) -> None:
        done = subprocess.run(self.command(words), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"


def may_mount() -> bool:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.long
def test_the_steps_make_a_server_that_is_healthy(tmp_path: Path) -> None:
    if not may_mount():
        pytest.skip("mounting needs root")
    (image,) = [rest for word, rest in instructions() if word == "FROM"]
    version = image.rpartition(":")[2].removesuffix("-slim")
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    fresh = FreshRoot(tmp_path / "root", python)
    for word, rest in instructions():
        if word == "COPY":
            *names, target = rest.split()
            for name in names:
                place = fresh.root / target.lstrip("/")
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    place.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, place)
        elif word == "RUN":
            fresh.run("sh", "-c", rest)
        elif word == "USER":
            fresh.user = rest
            fresh.environment["HOME"] = f"/home/{rest}"
        elif word == "ENV":
            name, _, value = rest.partition("=")
            fresh.environment[name] = value
    (fresh.root / "project/docs.jsonl").write_text('{"id": "d1", "text": "some words on whales"}\n')
    fresh.run("sounding", "judge", "init", "/project/judging", "--corpus", "/project/docs.jsonl")
    port = free_port()
    words = [*words_of("ENTRYPOINT"), *words_of("CMD")[:-1], "/project/judging", "--port", str(port)]
    server = subprocess.Popen(fresh.command(words), stderr=subprocess.DEVNULL)
    try:
        assert answers(port, 60)
        fresh.run(*health(port))
    finally:
        server.terminate()
        server.wait(20)
