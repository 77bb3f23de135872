"""Work on several processes gives what one process gives."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sounding.core import workers
from sounding.core.errors import DataError, SoundingError
from sounding.core.workers import WORTH_FORKING, map_items, map_outcomes, processes_for, shared_progress

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")


def square(number: int) -> int:
    return number * number


@linux
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("count", [3, 4, 7, 50, 4097, 9001])
def test_results_come_in_the_order_of_the_items(processes: int, count: int) -> None:
    assert map_items(square, range(count), processes=processes) == [square(n) for n in range(count)]


@linux
def test_progress_within_items_arrives_from_every_process() -> None:
    told: list[int] = []

    def work(number: int) -> None:
        assert report is not None
        for _ in range(1000):
            report(1)
        time.sleep(0.01)

    with shared_progress(told.append) as report:
        assert report is not None
        map_items(work, range(20), processes=3, progress=lambda _: report(0))
        report(0)
    assert sum(told) == 20_000


@linux
def test_progress_is_refreshed_while_children_work() -> None:
    here = os.getpid()
    told: list[int] = []
    ours, theirs = os.pipe()

    def work(number: int) -> None:
        if os.getpid() == here:
            os.read(ours, 1)  # until a child has the other item
        else:
            os.write(theirs, b"x")
            time.sleep(0.6)

    map_items(work, range(2), processes=2, progress=told.append)
    assert told.count(0) >= 1


@linux
def test_results_larger_than_a_pipe_arrive_whole() -> None:
    parts = map_items(lambda n: bytes([n]) * 300_000, range(4), processes=2)
    assert [len(part) for part in parts] == [300_000] * 4
    assert parts[3] == bytes([3]) * 300_000


@linux
@pytest.mark.parametrize("processes", [1, 2])
def test_the_first_failing_item_is_the_one_that_is_reported(processes: int) -> None:
    def work(number: int) -> int:
        if number in (3, 4):
            raise DataError(f"item {number} is bad")
        return number

    with pytest.raises(DataError, match="item 3 is bad"):
        map_items(work, range(6), processes=processes)


@linux
def test_whoever_is_done_takes_the_next_item() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        time.sleep(0.001 if os.getpid() == parent else 0.05)
        return os.getpid()

    made = map_items(work, range(20), processes=2)
    assert made.count(parent) > 10


@linux
def test_what_a_lost_child_had_is_done_again(tmp_path: Path) -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != parent and not list(tmp_path.iterdir()):
            (tmp_path / str(number)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        end = time.monotonic() + 30
        while not list(tmp_path.iterdir()) and time.monotonic() < end:
            time.sleep(0.005)  # leaves something for the child
        return number * number

    assert map_items(work, range(20), processes=2) == [n * n for n in range(20)]
    assert len(list(tmp_path.iterdir())) == 1, "the child was lost"


@linux
def test_an_answer_that_breaks_off_counts_for_nothing() -> None:
    answer = pickle.dumps({0: "made"})
    length = len(answer).to_bytes(8, "little")
    for written, expected in ((length + answer, {0: "made"}), (length + answer[:-1], {}), (length[:5], {})):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(theirs, written)
            os._exit(0)
        os.close(theirs)
        assert workers._collect([workers._Child(child, ours)]) == expected


def test_children_that_are_gone_are_let_go_by_the_next_who_has_some() -> None:
    map_items(abs, [-1, -2], processes=2)
    (child,) = workers._leaving[-1:]
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # until it is gone, and still known
    map_items(abs, [-1, -2], processes=2)
    assert child not in workers._leaving
    with pytest.raises(ChildProcessError):
        os.waitpid(child, 0)
    (other,) = workers._leaving[-1:]
    os.waitpid(other, 0)  # somebody else asked: no error
    assert map_items(abs, [-1, -2], processes=2) == [1, 2]
    assert other not in workers._leaving


def test_a_child_that_is_lost_twice_is_an_error_and_not_a_lost_result() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != parent:
            os._exit(3)
        time.sleep(0.2)  # leaves something for the child
        return number

    with pytest.raises(SoundingError, match=r"a worker process was lost twice at item \d+ of 20"):
        map_items(work, range(20), processes=2)


@linux
@pytest.mark.parametrize("processes", [1, 2])
def test_a_fault_of_ours_is_raised_as_what_it_is(processes: int) -> None:
    def work(number: int) -> float:
        time.sleep(0.01)
        return 1 / (number - 7)

    with pytest.raises(ZeroDivisionError):
        map_items(work, range(9), processes=processes)


@linux
@pytest.mark.parametrize("processes", [1, 2])
def test_items_that_fail_do_not_lose_the_others(processes: int) -> None:
    def work(number: int) -> float:
        if number == 2:
            raise DataError("item 2 is bad")
        return 6 / (number - 4)

    made = map_outcomes(work, range(6), processes=processes)
    assert [made[number] for number in (0, 1, 3, 5)] == [-1.5, -2, -6, 6]
    assert isinstance(made[2], DataError)
    assert str(made[4]).startswith("unexpected ZeroDivisionError: ")


@linux
@pytest.mark.parametrize("processes", [1, 3])
def test_every_result_is_kept_when_it_is_there_and_no_failure_is(processes: int, tmp_path: Path) -> None:
    def work(number: int) -> int:
        if number == 5:
            raise DataError("bad")
        return number * number

    def keep(number: int, result: int) -> None:
        (tmp_path / f"{number}").write_text(str(result))

    map_outcomes(work, range(12), processes=processes, kept=keep)
    found = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert found == {number: number * number for number in range(12) if number != 5}


@linux
def test_work_in_a_child_leaves_no_trace_in_this_process_but_its_result() -> None:
    program = """
import sys, os
from sounding.core.errors import DataError
from sounding.core.workers import run_in_child, map_items, may_use_polars

def count() -> int:
    import polars
    return polars.DataFrame({"a": [1, 2, 3]}).height

def fail() -> None:
    raise DataError("bad")

assert run_in_child(count) == 3
assert "polars" not in sys.modules
try:
    run_in_child(fail)
except DataError as error:
    assert str(error) == "bad"
assert map_items(lambda n: count() + n, range(4), processes=2) == [3, 4, 5, 6]  # would hang otherwise
import polars
seen = map_items(lambda n: (os.getpid(), may_use_polars()), range(400), processes=2)
assert may_use_polars() and all(may == (process == os.getpid()) for process, may in seen)
assert run_in_child(count) == 3
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_progress_counts_every_item_on_one_process() -> None:
    steps: list[int] = []
    map_items(square, range(5), progress=steps.append)
    assert steps == [1] * 5


@linux
def test_progress_ends_with_all_items_on_two_processes() -> None:
    steps: list[int] = []
    map_items(lambda number: time.sleep(0.002), range(50), processes=2, progress=steps.append)
    assert 40 < sum(steps) <= 50


@linux
def test_small_work_and_single_items_stay_on_one_process() -> None:
    cores = len(os.sched_getaffinity(0))
    assert processes_for(WORTH_FORKING - 1, 100, None) == 1
    assert processes_for(WORTH_FORKING + 1, 100, None) == min(cores, 100)
    assert processes_for(WORTH_FORKING + 1, 1, None) == 1
    assert processes_for(10, 100, 2) == 2


@linux
def test_a_system_that_gives_no_more_processes_is_said_and_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fork = os.fork
    made: list[int] = []

    def refuse() -> int:
        if made:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        made.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", refuse)
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(SoundingError, match="--jobs 1"):
        map_items(square, range(9), processes=3)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert workers.run_in_child(lambda: 7) == 7  # which can do without
    assert sorted(Path("/proc/self/fd").iterdir()) == before
