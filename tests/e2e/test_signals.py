"""A command that is told to end leaves nothing behind: no process, no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.calling import HEED_SIGNALS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks, and has /proc")

PATIENCE = 120.0  # seconds; far more than anything here takes
ENDING = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -signal.SIGKILL}
RUNS = 150

# Every file takes a while to convert, so that a signal finds all processes at work.
SLOWLY = """
import time
import sounding.convert.converting as converting
lines = converting.run_lines

def slow(run):
    time.sleep(0.1)
    return lines(run)

converting.run_lines = slow
"""
# No process ever gets to the end of its file.
FOR_EVER = SLOWLY.replace("0.1", "3600")


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def session(leader: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):  # gone meanwhile
                continue
            if int(its_session) == leader and state != "Z":
                found.append(int(entry.name))
    return found


@contextmanager
def started(before: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command line in a session of its own, with a piece of program run before it."""
    program = f"{HEED_SIGNALS}{before}\nfrom sounding.__main__ import run\nrun()"
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        for process in session(child.pid):
            os.kill(process, signal.SIGKILL)
        child.communicate()


def told_to_end(child: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to the process alone, and see all of its session end, with the status of the signal."""
    os.kill(child.pid, number)
    assert child.wait(PATIENCE) == ENDING[number]
    eventually(lambda: not session(child.pid), f"{session(child.pid)} are left")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for number in range(RUNS):
        (folder / f"r{number}.txt").write_text(f"1 Q0 d{number} 1 2.5 r{number}\n1 Q0 d 2 1.5 r{number}\n")
    return folder


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def finished(folder: Path) -> set[str]:
    return {name for name in files(folder) if not name.startswith(".")}


def half_written(folder: Path) -> set[str]:
    return {name for name in files(folder) if name.endswith(".part")}


@pytest.mark.parametrize("number", list(ENDING))
@pytest.mark.parametrize("jobs", [2, 3])
def test_convert_writes_nothing_more_once_it_was_told_to_end(
    number: signal.Signals, jobs: int, runs: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    with started(SLOWLY, "convert", str(runs), "-o", f"{target}/", "--to", "trec", f"--jobs={jobs}") as child:
        eventually(lambda: len(session(child.pid)) == jobs and len(finished(target)) > 2, "nothing is done")
        told_to_end(child, number)
        done = finished(target)
        assert 2 < len(done) < RUNS
        if number is not signal.SIGKILL:  # which leaves a process no time to clean up
            assert files(target) == done
        else:
            assert len(half_written(target)) <= 1, "the workers clean up"
        assert all((target / name).read_text().count("\n") == 2 for name in done)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("jobs", [1, 2])
def test_no_part_of_a_file_stays(number: signal.Signals, jobs: int, runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    with started(FOR_EVER, "convert", str(runs), "-o", f"{target}/", "--to=trec", f"--jobs={jobs}") as child:
        eventually(lambda: len(half_written(target)) == jobs, "nothing is begun")
        told_to_end(child, number)
        assert files(target) == set()
        assert child.stderr
        assert child.stderr.read().split() == ["stopped"]


@pytest.mark.parametrize("number", list(ENDING))
def test_workers_that_wait_for_input_end_as_well(number: signal.Signals, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 d 1\n")
    pipes = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for pipe in pipes:
        os.mkfifo(pipe)
    with started("", "evaluate", str(qrels), *map(str, pipes), "--jobs=2") as child:
        writers = [waiting_reader(pipe) for pipe in pipes]
        told_to_end(child, number)
    for writer in writers:
        os.close(writer)


def waiting_reader(pipe: Path) -> int:
    """The writing end of a named pipe, once somebody reads from it."""
    found: list[int] = []

    def opened() -> bool:
        try:
            found.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    eventually(opened, "nobody reads")
    return found[0]


def test_a_worker_whose_answer_nobody_reads_ends_with_its_parent(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = f"""
import os, time
from pathlib import Path
from sounding.core.workers import map_items

parent = os.getpid()

def work(number):
    if os.getpid() == parent:
        time.sleep(3600)
    Path({str(ready)!r}).touch()
    return bytes(10_000_000)  # far more than a pipe holds

map_items(work, range(2), processes=2)
"""
    with started(program) as child:
        eventually(lambda: ready.exists() and len(session(child.pid)) == 2, "no worker")
        told_to_end(child, signal.SIGKILL)


def test_an_error_in_one_process_ends_the_others(tmp_path: Path) -> None:
    program = f"""
import os, time
from pathlib import Path
from sounding.core.workers import map_items

parent, ready = os.getpid(), Path({str(tmp_path / "ready")!r})

def work(number):
    if os.getpid() != parent:
        ready.touch()
        time.sleep(3600)
    while not ready.exists():
        time.sleep(0.01)
    raise ZeroDivisionError

try:
    map_items(work, range(2), processes=2)
except ZeroDivisionError:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("alone")
raise SystemExit
"""
    with started(program) as child:
        assert child.communicate(timeout=PATIENCE)[0].split() == ["alone"]


def ignoring(number: signal.Signals) -> str:
    """A piece of program that ignores a signal: nohup does so with hangups, `command &` with interrupts."""
    return f"import signal\nsignal.signal({int(number)}, signal.SIG_IGN)\n"


def test_a_hangup_is_ignored_where_whoever_started_the_command_wants_that(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    some = [str(runs / f"r{number}.txt") for number in range(10)]
    before = ignoring(signal.SIGHUP) + SLOWLY
    with started(before, "convert", *some, "-o", f"{target}/", "--to=trec", "--jobs=2") as child:
        eventually(lambda: bool(finished(target)), "nothing is done")
        os.killpg(child.pid, signal.SIGHUP)
        assert child.wait(PATIENCE) == 0
    assert len(finished(target)) == 10


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_workers_ignore_the_signals_that_their_parent_ignores(
    number: signal.Signals, runs: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    before = ignoring(number) + FOR_EVER
    with started(before, "convert", str(runs), "-o", f"{target}/", "--to=trec", "--jobs=2") as child:
        eventually(lambda: len(half_written(target)) == 2, "nothing is begun")
        both = session(child.pid)
        os.killpg(child.pid, number)
        time.sleep(0.2)  # in which a worker that did not ignore it would be gone
        assert sorted(session(child.pid)) == sorted(both)
        told_to_end(child, signal.SIGKILL)  # and its worker ends with it


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_sample_that_is_stopped_leaves_no_folder(number: signal.Signals, tmp_path: Path) -> None:
    waiting = """
import time
import sounding.data.writing as writing
writing.write_qrels = lambda *_, **__: time.sleep(3600)
"""
    with started(waiting, "sample", str(tmp_path / "new"), "--topics=2", "--systems=2") as child:
        eventually(lambda: any(tmp_path.glob(".*/runs/*")), "nothing is begun")
        told_to_end(child, number)
    assert files(tmp_path) == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_large_table_is_not_finished_first(number: signal.Signals, runs: Path, tmp_path: Path) -> None:
    endless = """
import contextlib, itertools, time
import sounding.convert.converting as converting
from sounding.data.formats import read_run

@contextlib.contextmanager
def blocks(source, *_):
    run = read_run(source, with_ranks=True)
    yield run.tag, (time.sleep(0.02) or run for _ in itertools.count())

converting._sorted_blocks = blocks
"""
    with started(endless, "convert", str(runs / "r1.txt"), "-o", str(tmp_path / "r1.parquet")) as child:
        eventually(lambda: bool(half_written(tmp_path)), "nothing is begun")
        told_to_end(child, number)
    assert files(tmp_path) == set()
