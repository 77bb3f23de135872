"""Work on executors: a Dask cluster, or anything that has the interface of `concurrent.futures`.

What is sent travels as one pickle for all items; a task names the items it is for. Results are placed
by the number of their item, so that neither the executor nor the order of completion can change them.
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
from sounding.core.workers import Progress, in_force, settle_memory, unexpected

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_TASKS = 1000  # a task costs a scheduler about a millisecond: many small items share one
ANSWER_WITHIN = 10  # seconds that a scheduler has to answer
WORKERS_WITHIN = 30  # seconds that it has to find a worker

_held = threading.local()  # the last work that this thread was sent: (pickle, work, folder)


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """Where work goes: an executor, and how one pickle reaches all of its workers."""

    executor: Executor
    share: Callable[[bytes], Any]  # gives what stands for the pickle among a task's arguments

    def outcomes(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        progress: Progress | None,
        kept: Callable[[Item, Result], None] | None,
        *,
        stop: bool,
    ) -> dict[int, Any]:
        """Item -> what `work` made of it, or its error; with `stop`, not all behind the first error."""
        payload = _pickled(work)
        outcomes: dict[int, Any] = {}

        def settle(numbers: Sequence[int], made: list[Any]) -> bool:
            """Take what a task gave; whether all of it is well."""
            found = dict(zip(numbers, made, strict=False))
            outcomes.update(found)
            if kept:
                for number, outcome in found.items():
                    if not isinstance(outcome, Exception):
                        kept(items[number], outcome)
            if progress:
                progress(len(numbers))
            return not any(isinstance(outcome, Exception) for outcome in made)

        tasks, lost = self._submitted(self.share(payload), items, stop)
        try:
            for task in as_completed(tasks):
                made = _answer(task, len(tasks[task]))
                if made is None:
                    lost += tasks[task]
                elif not settle(tasks[task], made) and stop:
                    _give_up_behind(tasks, tasks[task])
            for number in sorted(lost):
                settle([number], [self._done_alone(payload, items[number], stop)])
        finally:
            for task in tasks:
                task.cancel()
        return outcomes

    def _submitted(
        self, shared: Any, items: Sequence[Any], stop: bool
    ) -> tuple[dict[Future[list[Any]], range], list[int]]:
        """The tasks, each with the numbers of its items; and items that a broken executor does not take."""
        tasks: dict[Future[list[Any]], range] = {}
        refused: list[int] = []
        for numbers in _tasks(len(items)):
            part = _cloudpickle().dumps([items[number] for number in numbers])
            try:
                tasks[self.executor.submit(_done, shared, part, stop)] = numbers
            except BrokenExecutor:
                refused += numbers
        return tasks, refused

    def _done_alone(self, payload: bytes, item: Any, stop: bool) -> Any:
        """The outcome of an item whose worker was lost, perhaps to what stood beside it there."""
        made = None
        with suppress(BrokenExecutor):
            made = _answer(
                self.executor.submit(_done, self.share(payload), _cloudpickle().dumps([item]), stop), 1
            )
        lost = SoundingError("the worker that had it was lost, again and again (out of memory?)")
        return lost if made is None else made[0]


@contextmanager
def run_on(executor: Any) -> Iterator[None]:
    """Within this context, all that maps over runs, groups, seeds or samples is done on an executor.

    `executor` is the address of a Dask scheduler (tcp://host:8786), a Dask client, or any
    `concurrent.futures.Executor`. What comes out is the same as in one process.
    """
    if isinstance(executor, str):
        with _connected(executor) as client, run_on(client):
            yield
        return
    token = in_force.set(_elsewhere(executor).outcomes)
    try:
        yield
    finally:
        in_force.reset(token)


def _elsewhere(executor: Any) -> Elsewhere:
    if isinstance(executor, Executor):
        return Elsewhere(executor, lambda payload: payload)
    if hasattr(executor, "get_executor"):
        client = executor
        # As a task and not as scattered data: when the worker that holds it is lost, it is made again.
        return Elsewhere(_Cluster(client), lambda payload: client.submit(bytes, payload, pure=False))
    raise DataError(
        f"work cannot be sent to {executor!r}; expected the address of a Dask scheduler, a Dask client or a"
        " concurrent.futures.Executor"
    )


class _Cluster(Executor):
    """The workers of a Dask client.

    Dask's own executor looks once more whether a task is finished after it has fetched what it gave. A worker
    that is lost in between makes an error of what is well, and an error while fetching leaves who waits
    waiting for ever. Here a task is what fetching it gives.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Send a task; cancelling what stands for it here cancels it there."""
        sent = self._client.submit(fn, *args, pure=False, **kwargs)
        future: Future[Result] = Future()

        def cancel_there(done: Future[Result]) -> None:
            if done.cancelled() and not sent.cancelled():
                sent.cancel()

        future.add_done_callback(cancel_there)
        self._client.loop.add_callback(self._fetch, sent, future)
        return future

    async def _fetch(self, sent: Any, future: Future[Any]) -> None:
        """Wait for a task, and hand on what comes of it."""
        result, problem = None, None
        try:
            result = await self._client.gather(sent, asynchronous=True)
        except BaseException as error:
            problem = error
        if isinstance(problem, CancelledError | asyncio.CancelledError) or (problem and sent.cancelled()):
            future.cancel()  # where who waits has not done so
        if not future.set_running_or_notify_cancel():
            return
        if problem is None:
            future.set_result(result)
        else:
            future.set_exception(problem)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the Dask scheduler at this address, whose workers have this version of sounding."""
    try:
        dask = importlib.import_module("dask")
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise MissingPartError("distributed", "work on a Dask cluster", "dask") from error
    # A large set of judgments is one large task, which is what we want.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100 GB"}):
        try:
            client = distributed.Client(address, timeout=ANSWER_WITHIN, set_as_default=False)
        except (OSError, ValueError) as error:  # a TimeoutError is an OSError
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

    def installed() -> str | None:  # a function within another is sent as a whole: a worker may lack ours
        try:
            return str(importlib.import_module("sounding").__version__)
        except ImportError:
            return None

    for worker, version in client.run(installed).items():
        if version != __version__:
            has = "no sounding" if version is None else f"sounding {version}"
            raise DataError(f"the worker {worker} has {has}; install sounding {__version__} there, as here")


def _pickled(work: Callable[[Any], Any]) -> bytes:
    """The work with all it refers to, and the folder from which it names files."""
    return _cloudpickle().dumps((work, os.getcwd()))  # noqa: PTH109 - a text travels to any system


def _cloudpickle() -> Any:
    try:
        return importlib.import_module("cloudpickle")
    except ImportError as error:
        raise MissingPartError("cloudpickle", "work on an executor", "dask") from error


def _tasks(count: int) -> Iterator[range]:
    """The items in stretches, each a task."""
    length = max(1, -(-count // MOST_TASKS))
    return (range(begin, min(begin + length, count)) for begin in range(0, count, length))


def _done(payload: bytes, part: bytes, stop: bool) -> list[Any]:
    """On a worker: what the work makes of each item, or its error; with `stop`, nothing behind one."""
    import pickle

    if getattr(_held, "payload", None) != payload:
        _held.work, _held.folder = pickle.loads(payload)  # noqa: S301 - sent by whoever uses the worker
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
                outcomes.append(unexpected(error))
    finally:
        sent_from.reset(token)
    return outcomes


def _answer(task: Future[list[Any]], count: int) -> list[Any] | None:
    """What a task gave; None where its worker was lost again and again."""
    try:
        return task.result()
    except BrokenExecutor:
        return None
    except Exception as error:
        kind = type(error).__name__  # Dask's are not to be imported where there is none
        if kind == "KilledWorker":
            return None
        if isinstance(error, CancelledError) or kind == "CommClosedError":
            problem = "given up by the cluster: its scheduler was lost, or somebody cancelled the work"
            return [SoundingError(problem)] * count
        raise


def _give_up_behind(tasks: dict[Future[list[Any]], range], failed: range) -> None:
    """Cancel what stands behind a task that failed: only what stands before it can matter."""
    for task, numbers in tasks.items():
        if numbers.start > failed.start:
            task.cancel()
