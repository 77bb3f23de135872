"""The pool in which passwords are hashed: few threads, lines that take turns, and who is refused when it is full."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from sounding.judge.auth import NICENESS, BusyError, HashingPool


class Work:
    """Jobs that note when they run; all of them are held up until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.begun = threading.Semaphore(0)
        self.done: list[str] = []
        self.nicenesses: set[int] = set()

    def job(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self.begun.release()
            assert self.go_on.wait(60)
            self.done.append(name)
            self.nicenesses.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return name

        return run


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work()
    yield made
    made.go_on.set()


def is_refused(future: Future[str]) -> bool:
    return future.done() and isinstance(future.exception(), BusyError)


def started(pool: HashingPool, work: Work, count: int = 1) -> None:
    """Occupy all threads of a pool."""
    for number in range(count):
        pool.submit(f"first {number}", work.job("first"))
    for _ in range(count):
        assert work.begun.acquire(timeout=60)


def test_one_address_that_sends_many_makes_another_one_wait_for_one_turn(work: Work) -> None:
    pool = HashingPool(threads=1, most=50)
    started(pool, work)
    flood = [pool.submit("flood", work.job("flood")) for _ in range(40)]
    late = pool.submit("other", work.job("other"))
    assert pool.waiting == 41
    work.go_on.set()
    assert late.result(60) == "other"
    assert [one.result(60) for one in flood] == ["flood"] * 40
    assert work.done.index("other") == 2  # after the first and one of the flood
    assert pool.waiting == 0


def test_a_full_queue_refuses_at_once_whoever_filled_it(work: Work) -> None:
    pool = HashingPool(threads=1, most=5)
    started(pool, work)
    flood = [pool.submit("flood", work.job("flood")) for _ in range(6)]
    assert [is_refused(one) for one in flood] == [False] * 5 + [True]
    late = pool.submit("other", work.job("other"))  # takes the place of the last one of the flood
    assert [is_refused(one) for one in (*flood, late)] == [False] * 4 + [True, True, False]
    assert pool.waiting == 5
    work.go_on.set()
    assert late.result(60) == "other"


def test_where_all_sent_one_those_who_are_known_come_first(work: Work) -> None:
    pool = HashingPool(threads=1, most=3)
    started(pool, work)
    many = [pool.submit(f"address {number}", work.job("unknown")) for number in range(3)]
    assert is_refused(pool.submit("one more", work.job("unknown")))
    known = pool.submit(7, work.job("known"), known=True)
    assert [is_refused(one) for one in (*many, known)].count(True) == 1
    assert not is_refused(known)
    assert is_refused(pool.submit(7, work.job("again"), known=True))  # yet one at a time
    work.go_on.set()
    assert known.result(60) == "known"


def test_no_more_threads_than_agreed_and_none_when_there_is_nothing_to_do(work: Work) -> None:
    pool = HashingPool(threads=2, most=50)
    started(pool, work, 2)
    futures = [pool.submit(number, work.job("more")) for number in range(10)]
    assert pool.waiting == 10  # the two threads are taken
    assert not work.begun.acquire(blocking=False)
    work.go_on.set()
    for one in futures:
        one.result(60)
    for thread in [one for one in threading.enumerate() if one.name == "hashing of passwords"]:
        thread.join(60)
        assert not thread.is_alive()
    assert pool.submit("later", work.job("later")).result(60) == "later"


def test_a_failure_is_that_of_its_job_alone_and_who_left_is_passed_over(work: Work) -> None:
    def fail() -> str:
        raise ZeroDivisionError

    pool = HashingPool(threads=1, most=5)
    started(pool, work)
    bad, left, good = pool.submit("a", fail), pool.submit("b", work.job("b")), pool.submit("c", work.job("c"))
    left.cancel()
    work.go_on.set()
    assert good.result(60) == "c"
    assert isinstance(bad.exception(60), ZeroDivisionError)
    assert "b" not in work.done


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a niceness for each thread")
def test_hashing_gives_way_to_the_other_threads_of_the_server(work: Work) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    work.go_on.set()
    HashingPool().submit("a", work.job("a")).result(60)
    assert work.nicenesses == {min(19, before + NICENESS)}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
