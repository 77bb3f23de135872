"""Commands do the same where processes cannot be forked, as on macOS and Windows, forced here by taking away what they lack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.packaging.calls import CALLS

# What only Linux has is gone before anything of ours is imported, and our modules see another name of the system.
PRELUDE = """
import asyncio, contextlib, importlib.machinery, importlib.util, io, json, multiprocessing, os, signal, subprocess, sys, types

PLATFORM = sys.argv[1]


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = self.get_data(self.path).replace(b"sys.platform", repr(PLATFORM).encode())
        return compile(source, self.path, "exec", dont_inherit=True)


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name.partition(".")[0] == "sounding" else None
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def refused(*_, **__):
    raise AssertionError("a process was forked")


if PLATFORM != "linux":
    sys.meta_path.insert(0, Finder)
    multiprocessing.set_start_method("spawn")
    os.fork = os.forkpty = refused
    del os.sched_getaffinity
if PLATFORM == "win32":
    for name in ("SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGPIPE", "SIGCHLD"):
        delattr(signal, name)
    for name in ("pthread_sigmask", "pthread_kill", "alarm", "setitimer", "sigwait"):
        delattr(signal, name)
    for name in ("fork", "forkpty", "setsid", "nice", "killpg", "sched_setaffinity", "mkfifo"):
        delattr(os, name)
    import fcntl

    windows = types.ModuleType("msvcrt")
    windows.LK_LOCK, windows.locking = 1, lambda file, *_: fcntl.flock(file, fcntl.LOCK_EX)
    sys.modules["msvcrt"] = windows
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
        sys.modules[name] = None
"""
FILES = "trial/qrels.txt trial/runs"
LINES = (  # every command that can use processes, and those that write files or keep locks
    "sample trial --topics 6 --groups 3 --systems 2 --documents 150 --length 20 --pool-depth 6 --seed 3",
    f"evaluate {FILES} -m AP -m nDCG@10 --jobs 2",
    f"evaluate {FILES} -m AP --unjudged bounds --jobs 2",
    f"evaluate {FILES} -m P@5 --unjudged expected --draws 5 --jobs 2",
    f"compare {FILES} -m AP --jobs 2",
    f"audit {FILES} --jobs 2",
    f"depth {FILES} -m P --depths 5,10 --jobs 2",
    "pool trial/runs --depth 5 --summary --jobs 2",
    f"plan {FILES} --draws 10 --jobs 2",
    f"simulate {FILES} --judgments 6 --draws 10 --jobs 2",
    f"calibrate {FILES} --hide sample:0.5 --until runs:10 --repeats 1 --draws 5 --resamples 0 --jobs 2",
    "agree trial/qrels.txt trial/truth.txt --runs trial/runs --resamples 10 --samples 10 --jobs 2",
    "convert trial/runs trial/qrels.txt -o parquet --jobs 2",
    f"check {FILES}",
    f"track history.parquet {FILES} -m AP --commit v1 --time 2026-01-01",
    f"track history.sqlite {FILES} -m AP --commit v1 --time 2026-01-01",
    "label own/one.qrels --corpus own/corpus.jsonl --topics own/topics.tsv --model m --batch-out b.jsonl",
    "judge init project --corpus own/corpus.jsonl --topics own/topics.tsv",
    "judge user project jane --role organizer --format csv --quiet",
    "judge import project --qrels own/one.qrels",
    "judge export project qrels",
    "judge verify project",
)


def outcomes(platform: str, folder: Path, lines: tuple[str, ...]) -> list[tuple[str, int, str, str]]:
    (folder / "own").mkdir(parents=True)
    (folder / "own/corpus.jsonl").write_text('{"id": "d1", "text": "some words"}\n')
    (folder / "own/one.qrels").write_text("1 0 d1 0\n")
    (folder / "own/topics.tsv").write_text("1\twhales\n")
    words = [sys.executable, "-c", PRELUDE + CALLS, platform, json.dumps(lines)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [tuple(row) for row in json.loads(done.stdout)]


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, int, str, str]]]:
    folder = tmp_path_factory.mktemp("here") / "linux"
    return folder, outcomes("linux", folder, LINES)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_every_command_does_the_same(
    platform: str, here: tuple[Path, list[tuple[str, int, str, str]]], tmp_path: Path
) -> None:
    folder, expected = here
    found = outcomes(platform, tmp_path / platform, LINES)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine[:2] == theirs[:2], mine[3]
        assert mine[1] == 0, mine
        if "welcome" not in theirs[2]:  # a one-time link is random
            assert mine == theirs
    assert written(tmp_path / platform) == written(folder)


def test_a_report_is_written_without_processes_and_signals(tmp_path: Path) -> None:
    lines = (LINES[0], f"report {FILES} -m P@10 -o report.html --jobs 2 --quiet")
    assert [status for _, status, _, _ in outcomes("win32", tmp_path / "x", lines)] == [0, 0]
    assert (tmp_path / "x/report.html").stat().st_size > 100_000
