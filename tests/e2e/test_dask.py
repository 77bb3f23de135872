"""A real Dask scheduler and two worker processes, one of which is killed half-way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import require

import sounding
from sounding.cli import main
from sounding.core.executors import run_on
from sounding.core.workers import map_items, map_outcomes

distributed = require("distributed")
dask = require("dask")
QUICK = "3s"  # how long a lost worker is waited for; 30 s otherwise
SECONDS = 60  # that processes have to start on a busy machine


@dataclass(frozen=True, slots=True)
class Cluster:
    """A scheduler and its workers."""

    address: str
    processes: list[subprocess.Popen[bytes]]
    folder: Path

    def start_worker(self) -> subprocess.Popen[bytes]:
        """One more worker: a process of one thread."""
        asked = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder))
        self.processes.append(started(self.folder, "distributed.cli.dask_worker", self.address, *asked))
        return self.processes[-1]


def started(folder: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    # A task may lose two workers, not four: starting one takes seconds.
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    environment |= {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": QUICK}
    with (folder / "log.txt").open("ab") as log:
        program = [sys.executable, "-W", "ignore", "-m", module, *arguments]
        return subprocess.Popen(program, stdout=log, stderr=log, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("dask")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scheduler = started(
        folder, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
    )
    cluster = Cluster(f"tcp://127.0.0.1:{port}", [scheduler], folder)
    try:
        wait_until(lambda: answers(port))
        cluster.start_worker()
        cluster.start_worker()
        yield cluster
    finally:
        for process in cluster.processes:
            process.kill()
            process.wait()


def answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: object) -> None:
    end = time.monotonic() + SECONDS
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@pytest.fixture
def two_workers(cluster: Cluster) -> Cluster:
    while sum(process.poll() is None for process in cluster.processes) < 3:
        cluster.start_worker()
    with distributed.Client(cluster.address, set_as_default=False, timeout=SECONDS) as client:
        client.wait_for_workers(2, timeout=SECONDS)
    return cluster


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection")
    with pytest.raises(SystemExit) as left:
        main(
            [
                "sample",
                str(folder / "c"),
                "--topics",
                "6",
                "--groups",
                "3",
                "--systems",
                "2",
                "--length",
                "60",
            ]
        )
    assert not left.value.code
    return folder / "c"


def test_a_lost_workers_tasks_are_done_again_and_nothing_changes(
    two_workers: Cluster, tmp_path: Path
) -> None:
    def work(number: int) -> int:
        (tmp_path / f"{number:02}-{os.getpid()}").touch()
        time.sleep(0.05)
        return number * number

    def marks() -> set[int]:
        return {int(path.name.split("-")[1]) for path in tmp_path.iterdir()}

    killed: list[int] = []

    def kill() -> None:
        wait_until(lambda: len(list(tmp_path.iterdir())) >= 16 and len(marks()) == 2)
        killed.append(min(marks()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    steps: list[int] = []
    with dask.config.set({"distributed.comm.timeouts.connect": QUICK}), run_on(two_workers.address):
        made = map_items(work, range(60), progress=steps.append)
    killer.join()
    assert made == [number * number for number in range(60)]
    assert sum(steps) == 60
    done_twice = len(list(tmp_path.iterdir())) - 60
    assert done_twice >= 1, "what the killed worker had was done by the other"
    assert len(marks()) == 2, "both workers took part"


def test_an_evaluation_that_loses_a_worker_half_way_gives_the_same(
    two_workers: Cluster, collection: Path
) -> None:
    files = sorted((collection / "runs").iterdir())
    runs = {f"run {number}": files[number % len(files)] for number in range(80)}
    alone = sounding.evaluate(collection / "qrels.txt", runs, ["AP", "nDCG@10"])
    alive = [process for process in two_workers.processes[1:] if process.poll() is None]
    done = [0]

    def kill_half_way(more: int) -> None:
        done[0] += more
        if done[0] == 20:
            alive[0].kill()

    with dask.config.set({"distributed.comm.timeouts.connect": QUICK}), run_on(two_workers.address):
        shared = sounding.evaluate(collection / "qrels.txt", runs, ["AP", "nDCG@10"], progress=kill_half_way)
    assert alive[0].poll() is not None
    assert done == [80]
    assert shared.runs == alone.runs
    assert np.array_equal(shared.values, alone.values)


def test_a_task_that_kills_every_worker_is_the_failure_of_its_item_alone(two_workers: Cluster) -> None:
    stop = threading.Event()

    def keep_alive() -> None:
        while not stop.wait(0.1):
            if sum(process.poll() is None for process in two_workers.processes) < 3:
                two_workers.start_worker()

    keeper = threading.Thread(target=keep_alive)
    keeper.start()
    try:
        with run_on(two_workers.address):
            made = map_outcomes(lambda number: os._exit(9) if number == 3 else number, range(8))
    finally:
        stop.set()
        keeper.join()
    assert [made[number] for number in (0, 1, 2, 4, 5, 6, 7)] == [0, 1, 2, 4, 5, 6, 7]
    assert "out of memory?" in str(made[3])


@pytest.fixture
def client(two_workers: Cluster) -> Iterator[object]:
    with distributed.Client(two_workers.address, set_as_default=False, timeout=SECONDS) as client:
        yield client


def test_a_worker_that_is_lost_after_its_result_was_fetched_changes_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = distributed.Client._gather

    async def fetch_and_lose(asked: object, futures: Any, **given: object) -> object:
        found = await fetch(asked, futures, **given)
        for future in [futures] if isinstance(futures, distributed.Future) else futures:
            future._state.lose()
        return found

    monkeypatch.setattr(distributed.Client, "_gather", fetch_and_lose)
    with run_on(client):
        assert map_items(lambda number: number * number, range(4)) == [0, 1, 4, 9]


def test_a_scheduler_that_is_gone_when_results_are_fetched_ends_the_work(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object, **__: object) -> object:
        raise distributed.comm.CommClosedError("the other side is gone")

    monkeypatch.setattr(distributed.Client, "_gather", gone)
    with run_on(client):
        made = map_outcomes(lambda number: number, range(3))
    assert ["scheduler was lost" in str(made[number]) for number in range(3)] == [True] * 3


def test_work_that_somebody_cancels_there_ends_here(client: Any) -> None:
    def cancel() -> None:
        wait_until(lambda: len(client.futures) >= 3)
        client.cancel([distributed.Future(key, client) for key in list(client.futures)])

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with run_on(client):
        made = map_outcomes(lambda _: time.sleep(2), range(3))
    canceller.join()
    assert "somebody canceled the work" in str(made[2])


COMMANDS = (
    "evaluate qrels.txt runs -m AP -m nDCG@10 --per-topic",
    "evaluate qrels.txt runs -m AP --unjudged bounds",
    "compare qrels.txt runs -m AP",
    "depth qrels.txt runs -m P",
    "audit qrels.txt runs --all --draws 5",
    "simulate qrels.txt runs --judgments 15 --strategy mtc --seeds 1,2",
    "calibrate qrels.txt runs",
    "agree qrels.txt truth.txt --runs runs",
)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_command_gives_the_same_on_a_cluster(
    arguments: str, two_workers: Cluster, collection: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(collection)
    printed = []
    for more in ([], ["--dask", two_workers.address]):
        with pytest.raises(SystemExit) as left:
            main([*arguments.split(), "--format", "csv", "--quiet", *more])
        output = capsys.readouterr()
        assert not left.value.code, output.err
        printed.append(output.out)
    assert printed[0] == printed[1]
    assert printed[0].count("\n") >= 2


def test_a_failing_run_is_named_and_the_others_are_evaluated(
    two_workers: Cluster,
    collection: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(collection)
    runs = sorted(map(str, Path("runs").iterdir()))
    Path("broken.txt").write_text("1 Q0 d1 1 high tag\n")
    with pytest.raises(SystemExit) as left:
        main(
            [
                "evaluate",
                "qrels.txt",
                runs[0],
                "broken.txt",
                runs[1],
                "-m",
                "AP",
                "--dask",
                two_workers.address,
            ]
        )
    assert left.value.code == 1
    output = capsys.readouterr()
    assert output.err == "Error: broken.txt:1: score 'high' is not a number; expected one such as 12.5\n"
    assert "could not be evaluated: broken.txt" in " ".join(output.out.split())
    with pytest.raises(SystemExit):
        main(["evaluate", "qrels.txt", runs[0], runs[1], "-m", "AP"])
    whole = capsys.readouterr().out
    for run in runs[:2]:
        row = [line for line in whole.splitlines() if line.startswith(Path(run).stem)][-1]  # not the headline
        assert row in output.out.splitlines()
