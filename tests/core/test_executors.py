"""Work on an executor gives what one process gives, whatever the executor and the order of completion."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import require

import sounding
from sounding.core.errors import DataError, SoundingError
from sounding.core.executors import MOST_TASKS, run_on
from sounding.core.policies import Policies
from sounding.core.workers import map_items, map_outcomes, processes_for, run_elsewhere

require("cloudpickle")


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "threads":
        with ThreadPoolExecutor(3) as pool:
            yield pool
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            yield pool


def test_results_come_in_the_order_of_the_items_whoever_is_done_first() -> None:
    waits = [random.Random(number).random() / 200 for number in range(50)]

    def work(number: int) -> int:
        time.sleep(waits[number])
        return number * number

    with ThreadPoolExecutor(7) as pool, run_on(pool):
        assert map_items(work, range(50)) == [number * number for number in range(50)]


@pytest.mark.parametrize("count", [0, 1, MOST_TASKS - 1, MOST_TASKS + 1, 2 * MOST_TASKS + 1])
def test_many_items_share_a_task_and_none_is_lost(count: int) -> None:
    with ThreadPoolExecutor(2) as pool, run_on(pool):
        assert map_items(lambda number: number + 1, range(count)) == list(range(1, count + 1))


def test_what_a_function_refers_to_is_sent_with_it(executor: Executor) -> None:
    table = np.arange(10.0)
    with run_on(executor):
        assert map_items(lambda number: float(table[number]) * 2, range(10)) == [2.0 * n for n in range(10)]


def test_threads_do_not_share_what_the_work_changes() -> None:
    held: list[int] = []

    def work(number: int) -> int:
        held.append(number)
        return len(held)

    with ThreadPoolExecutor(1) as pool, run_on(pool):
        assert map_items(work, range(3)) == [1, 2, 3]
    assert held == [], "the work was a copy"


def test_the_first_failing_item_is_the_one_that_is_raised_however_late_it_is(executor: Executor) -> None:
    def work(number: int) -> int:
        if number == 3:
            time.sleep(0.1)
        if number >= 3:
            raise DataError(f"item {number} is bad")
        return number

    with run_on(executor), pytest.raises(DataError, match="item 3 is bad"):
        map_items(work, range(8))


class LastFirst(Executor):
    """Does what it was given in the opposite order, some time after the last was given."""

    def __init__(self) -> None:
        self.given: list[tuple[Future[Any], Callable[[], Any]]] = []
        self.timer = threading.Timer(0.2, self.work)
        self.timer.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a task."""
        future: Future[Any] = Future()
        self.given.append((future, lambda: fn(*args, **kwargs)))
        return future

    def work(self) -> None:
        """Do all tasks that nobody cancelled."""
        for future, task in reversed(self.given):
            time.sleep(0.01)
            if future.set_running_or_notify_cancel():
                future.set_result(task())


def test_what_stands_before_a_failure_is_done_even_if_it_comes_later() -> None:
    def work(number: int) -> int:
        if number in (2, 5):
            raise DataError(f"item {number} is bad")
        return number

    executor = LastFirst()
    with run_on(executor), pytest.raises(DataError, match="item 2 is bad"):
        map_items(work, range(8))
    executor.timer.join()


def test_items_that_fail_do_not_lose_the_others(executor: Executor) -> None:
    def work(number: int) -> float:
        if number == 2:
            raise DataError("item 2 is bad")
        return 6 / (number - 4)

    with run_on(executor):
        made = map_outcomes(work, range(6))
    assert [made[number] for number in (0, 1, 3, 5)] == [-1.5, -2, -6, 6]
    assert isinstance(made[2], DataError)
    assert str(made[4]).startswith("unexpected ZeroDivisionError: ")


def test_results_are_kept_by_the_process_that_asked() -> None:
    kept: dict[int, tuple[int, bool]] = {}
    asking = threading.get_ident()
    with ThreadPoolExecutor(3) as pool, run_on(pool):
        map_outcomes(
            lambda number: number * number, range(20),
            kept=lambda number, made: kept.update({number: (made, threading.get_ident() == asking)}),
        )  # fmt: skip
    assert kept == {number: (number * number, True) for number in range(20)}


def test_progress_counts_every_item() -> None:
    steps: list[int] = []
    with ThreadPoolExecutor(2) as pool, run_on(pool):
        map_items(lambda number: number, range(2500), progress=steps.append)
    assert sum(steps) == 2500


def test_the_executor_is_in_force_within_the_context_only_and_not_on_its_workers() -> None:
    with ThreadPoolExecutor(1) as pool:
        with run_on(pool):
            assert processes_for(0, 1, None) == 2, "work leaves this process"
            assert map_items(lambda _: processes_for(0, 1, None), range(2)) == [1, 1]
        assert run_elsewhere.get() is None
        assert processes_for(0, 1, None) == 1


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (12, "cannot run work on 12; expected the address of a Dask scheduler"),
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        ("nonsense", "no Dask scheduler answers at 'nonsense'; expected an address such as tcp://host:8786"),
    ],
)
def test_what_is_no_executor_is_refused_in_one_line(
    executor: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("distributed")
    monkeypatch.setattr("sounding.core.executors.ANSWER_WITHIN", 0.5)
    with pytest.raises(DataError, match=message), run_on(executor):
        pass


def collection(folder: Path) -> tuple[Path, list[Path]]:
    """Judgments, and runs with ties, missing topics and unjudged documents."""
    draw = random.Random(5)
    topics, docs = [str(n) for n in range(1, 8)], [f"d{n}" for n in range(60)]
    qrels = folder / "qrels.txt"
    qrels.write_text(
        "".join(f"{t} 0 {d} {draw.choice([-1, 0, 0, 1, 2])}\n" for t in topics for d in draw.sample(docs, 25))
    )
    runs = []
    for number in range(5):
        runs.append(folder / f"run{number}.txt")
        runs[-1].write_text(
            "".join(
                f"{t} Q0 {d} {rank} {draw.choice([1, 1.5, 2, 3])} sys{number}\n"
                for t in topics[number % 3 :]
                for rank, d in enumerate(draw.sample(docs, draw.choice([1, 9, 40])), 1)
            )
        )
    return qrels, runs


@pytest.mark.parametrize(
    "policies",
    [
        Policies(),
        Policies(unjudged="bounds"),
        Policies(unjudged="expected", draws=20),
        Policies(ties="average"),
    ],
    ids=lambda policies: f"{policies.unjudged}-{policies.ties}",
)
def test_an_evaluation_is_the_same_on_an_executor(tmp_path: Path, policies: Policies) -> None:
    qrels, runs = collection(tmp_path)
    alone = sounding.evaluate(qrels, runs, ["AP", "nDCG@5", "P@3"], policies=policies)
    with ThreadPoolExecutor(3) as pool, sounding.run_on(pool):
        shared = sounding.evaluate(qrels, runs, ["AP", "nDCG@5", "P@3"], policies=policies)
    assert shared.runs == alone.runs
    assert np.array_equal(shared.values, alone.values, equal_nan=True)
    for name, column in alone.beside().items():
        assert np.array_equal(shared.beside()[name], column, equal_nan=True), name


def test_names_of_files_count_from_the_folder_that_the_work_was_sent_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, _ = collection(tmp_path)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(int).result()  # started here, not in the folder
        monkeypatch.chdir(tmp_path)
        with run_on(pool):
            scores = sounding.evaluate(qrels, "run*.txt", ["AP"])
            assert scores.runs == ("run0", "run1", "run2", "run3", "run4")
            with pytest.raises(SoundingError, match="standard input: workers of a cluster cannot read it"):
                sounding.evaluate(qrels, ["-"], ["AP"])
            with pytest.raises(
                SoundingError, match=r"gone.txt: no such file on the worker .* all workers share"
            ):
                sounding.evaluate(qrels, {"a": "gone.txt"}, ["AP"])


def test_a_worker_that_is_lost_for_good_is_an_error_of_its_items(tmp_path: Path) -> None:
    import os

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, run_on(pool):
        made = map_outcomes(lambda number: os._exit(3) if number == 1 else number, range(3))
    assert "out of memory?" in str(made[1])
