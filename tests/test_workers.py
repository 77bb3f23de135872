"""Work on several processes gives what one process gives."""

from __future__ import annotations

import os
import sys
import time

import pytest

from sounding.errors import DataError, SoundingError
from sounding.workers import WORTH_FORKING, map_items, processes_for

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")


def square(number: int) -> int:
    return number * number


@linux
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("count", [3, 4, 7, 50, 4097, 9001])
def test_results_come_in_the_order_of_the_items(processes: int, count: int) -> None:
    assert map_items(square, range(count), processes=processes) == [square(n) for n in range(count)]


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
def test_a_child_that_dies_is_an_error_and_not_a_lost_result() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != parent:
            os._exit(3)
        time.sleep(0.05)  # leaves something for the child
        return number

    with pytest.raises(SoundingError, match="a worker process ended with status"):
        map_items(work, range(20), processes=2)


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
