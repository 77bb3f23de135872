"""Run work on a Dask cluster or any other `concurrent.futures` executor.

The work is pickled once for all items; a task names its items. Results are placed by item number, so neither
the executor nor the order of completion can change them.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sounding import __version__
from sounding.core.errors import DataError, MissingPartError, SoundingError
from sounding.core.files import sent_from
from sounding.core.workers import Progress, item_error, run_elsewhere, settle_memory

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_TASKS = 1000  # a task costs a scheduler about a millisecond, so many small items share one
ANSWER_WITHIN = 10  # seconds to wait for a scheduler's answer
WORKERS_WITHIN = 30  # seconds to wait for its first worker

_held = threading.local()  # the last work that this thread received: (pickle, work, folder)


@dataclass(frozen=True, slots=True, eq=False)
class RemoteWorkers:
    """An executor, and a way to send one pickle to all of its workers."""

    executor: Executor
    share: Callable[[bytes], Any]  # returns the object that represents the pickle in a task's arguments

    def outcomes(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        progress: Progress | None,
        kept: Callable[[Item, Result], None] | None,
        *,
        stop: bool,
    ) -> dict[int, Any]:
        """Return the result or error of each item number.

        With `stop`, items after the first error may be missing.
        """
        payload = _pickle_work(work)
        outcomes: dict[int, Any] = {}

        def settle(numbers: Sequence[int], made: list[Any]) -> bool:
            """Record the results of a task; return whether all of them succeeded."""
            results = dict(zip(numbers, made, strict=False))
            outcomes.update(results)
            if kept:
                for number, outcome in results.items():
                    if not isinstance(outcome, Exception):
                        kept(items[number], outcome)
            if progress:
                progress(len(numbers))
            return not any(isinstance(outcome, Exception) for outcome in made)

        tasks, lost = self._submitted(self.share(payload), items, stop)
        try:
            for task in as_completed(tasks):
                made = _task_results(task, len(tasks[task]))
                if made is None:
                    lost += tasks[task]
                elif not settle(tasks[task], made) and stop:
                    _cancel_after(tasks, tasks[task])
            for number in sorted(lost):
                settle([number], [self._done_alone(payload, items[number], stop)])
        finally:
            for task in tasks:
                task.cancel()
        return outcomes

    def _submitted(
        self, shared: Any, items: Sequence[Any], stop: bool
    ) -> tuple[dict[Future[list[Any]], range], list[int]]:
        """Submit all items; return the tasks with their item numbers, and the items that were refused."""
        tasks: dict[Future[list[Any]], range] = {}
        refused: list[int] = []
        for numbers in _task_ranges(len(items)):
            part = _cloudpickle().dumps([items[number] for number in numbers])
            try:
                tasks[self.executor.submit(_run_items, shared, part, stop)] = numbers
            except BrokenExecutor:
                refused += numbers
        return tasks, refused

    def _done_alone(self, payload: bytes, item: Any, stop: bool) -> Any:
        """Retry one item whose worker was lost, alone, because another item may have crashed the worker."""
        made = None
        with suppress(BrokenExecutor):
            made = _task_results(
                self.executor.submit(_run_items, self.share(payload), _cloudpickle().dumps([item]), stop), 1
            )
        lost = SoundingError(
            "its worker process was lost repeatedly (out of memory?); give it more memory or a smaller file"
        )
        return lost if made is None else made[0]


@contextmanager
def run_on(executor: Any) -> Iterator[None]:
    """Run everything within this context that maps over runs, groups, seeds or samples on an executor.

    `executor` is the address of a Dask scheduler (tcp://host:8786), a Dask client, or any
    `concurrent.futures.Executor`. The results are the same as in one process.
    """
    if isinstance(executor, str):
        with _connect(executor) as client, run_on(client):
            yield
        return
    token = run_elsewhere.set(_wrap_executor(executor).outcomes)
    try:
        yield
    finally:
        run_elsewhere.reset(token)


def _wrap_executor(executor: Any) -> RemoteWorkers:
    if isinstance(executor, Executor):
        return RemoteWorkers(executor, lambda payload: payload)
    if hasattr(executor, "get_executor"):
        client = executor
        # A task, not scattered data: if the worker that holds it is lost, Dask computes it again.
        return RemoteWorkers(_Cluster(client), lambda payload: client.submit(bytes, payload, pure=False))
    raise DataError(
        f"cannot run work on {executor!r}; expected the address of a Dask scheduler, a Dask client or a"
        " concurrent.futures.Executor"
    )


class _Cluster(Executor):
    """The workers of a Dask client, as an executor.

    Dask's own executor checks whether a task is finished again after fetching its result. If a worker is lost
    in between, a good result becomes an error, and an error during the fetch leaves the caller waiting
    forever. Here the outcome of a task is the outcome of fetching it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Send a task; canceling the future also cancels the task on the cluster."""
        sent = self._client.submit(fn, *args, pure=False, **kwargs)
        future: Future[Result] = Future()

        def cancel_there(done: Future[Result]) -> None:
            if done.cancelled() and not sent.cancelled():
                sent.cancel()

        future.add_done_callback(cancel_there)
        self._client.loop.add_callback(self._fetch, sent, future)
        return future

    async def _fetch(self, sent: Any, future: Future[Any]) -> None:
        """Wait for a task and pass on its result or error."""
        result, problem = None, None
        try:
            result = await self._client.gather(sent, asynchronous=True)
        except BaseException as error:
            problem = error
        if isinstance(problem, CancelledError | asyncio.CancelledError) or (problem and sent.cancelled()):
            future.cancel()  # unless the caller has canceled it already
        if not future.set_running_or_notify_cancel():
            return
        if problem is None:
            future.set_result(result)
        else:
            future.set_exception(problem)


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Connect to a Dask scheduler and check that its workers have this version of sounding."""
    try:
        dask = importlib.import_module("dask")
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise MissingPartError("distributed", "work on a Dask cluster", "dask") from error
    # A large set of judgments makes one large task, which is intended.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100 GB"}):
        try:
            client = distributed.Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            raise DataError(
                f"no Dask scheduler answers at {address!r}; expected an address such as tcp://host:8786"
            ) from error
        with client:
            _check_workers(client, address)
            yield client


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS_WITHIN)
    except OSError as error:
        raise DataError(
            f"the Dask scheduler at {address!r} has no workers; start one: dask worker {address} --nthreads 1"
        ) from error

    # a nested function is pickled by value, so a worker without sounding can run it
    def installed() -> str | None:
        try:
            return str(importlib.import_module("sounding").__version__)
        except ImportError:
            return None

    for worker, version in client.run(installed).items():
        if version != __version__:
            has = "no sounding" if version is None else f"sounding {version}"
            raise DataError(f"the worker {worker} has {has}; install sounding {__version__} there, as here")


def _pickle_work(work: Callable[[Any], Any]) -> bytes:
    """Pickle the work with everything it refers to, and the folder that its file names are relative to."""
    return _cloudpickle().dumps((work, os.getcwd()))  # noqa: PTH109 - a string can be sent to any system


def _cloudpickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError as error:
        raise MissingPartError("cloudpickle", "work on an executor", "dask") from error


def _task_ranges(count: int) -> Iterator[range]:
    """Split the item numbers into ranges, one for each task."""
    length = max(1, -(-count // MOST_TASKS))
    return (range(begin, min(begin + length, count)) for begin in range(0, count, length))


def _run_items(payload: bytes, part: bytes, stop: bool) -> list[Any]:
    """On a worker, return the result or error of each item; with `stop`, end at the first error."""
    import pickle

    if getattr(_held, "payload", None) != payload:
        _held.work, _held.folder = pickle.loads(payload)  # noqa: S301 - sent by the user of the worker
        _held.payload = payload
        settle_memory()
    outcomes: list[Any] = []
    token = sent_from.set(_held.folder)
    try:
        for item in pickle.loads(part):  # noqa: S301 - as above
            try:
                outcomes.append(_held.work(item))
            except SoundingError as error:
                outcomes.append(error)
                if stop:
                    break
            except Exception as error:
                if stop:
                    raise
                outcomes.append(item_error(error))
    finally:
        sent_from.reset(token)
    return outcomes


def _task_results(task: Future[list[Any]], count: int) -> list[Any] | None:
    """Return what a task returned; None if its worker was lost repeatedly."""
    try:
        return task.result()
    except BrokenExecutor:
        return None
    except Exception as error:
        kind = type(error).__name__  # by name, because Dask may not be installed
        if kind == "KilledWorker":
            return None
        if isinstance(error, CancelledError) or kind == "CommClosedError":
            problem = "canceled by the cluster: its scheduler was lost, or somebody canceled the work"
            return [SoundingError(problem)] * count
        raise


def _cancel_after(tasks: dict[Future[list[Any]], range], failed: range) -> None:
    """Cancel the tasks after a failed one, because only an earlier error could still matter."""
    for task, numbers in tasks.items():
        if numbers.start > failed.start:
            task.cancel()
