"""The same work on many items, on one process or several, with the results in the items' order."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from sounding.errors import SoundingError

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int], None]  # called with how many more items are done

WORTH_FORKING = 20_000_000  # bytes of input below which a second process costs more than it brings


def settle_memory() -> None:
    """Keep the C library from handing memory back to the system between one array and the next.

    It learns from the largest block that was freed; taking and freeing one that is never touched costs
    nothing, and saves most page faults of the work that follows: a third of its time.
    """
    bytes(31 << 20)


def processes_for(size: int, items: int, jobs: int | None) -> int:
    """How many processes to use: what was asked for, or as many as there are cores where that pays.

    Only Linux forks safely; elsewhere it is always one.
    """
    if sys.platform != "linux":
        return 1
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if size > WORTH_FORKING else 1
    return max(1, min(jobs, items))


def map_items(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """[work(item) for item in items]. Where several items fail, the first one's error is raised.

    Children are forked: they share what is in memory, and hand back what they made when done.
    """
    children = [_start(work, items[number::processes]) for number in range(1, processes)]
    shares: list[list[Any]] = [_outcomes(work, items[0::processes], progress, processes)]
    for child in children:
        shares.append(_collect(*child))
    failed = [
        (number + processes * (len(share) - 1), share[-1])
        for number, share in enumerate(shares)
        if share and isinstance(share[-1], SoundingError)
    ]
    if failed:
        raise min(failed, key=lambda failure: failure[0])[1]
    return [shares[number % processes][number // processes] for number in range(len(items))]


def _outcomes(
    work: Callable[[Item], Result], items: Sequence[Item], progress: Progress | None, processes: int = 1
) -> list[Result | SoundingError]:
    """What `work` made of each item; the last one is the error where it met one."""
    outcomes: list[Result | SoundingError] = []
    for item in items:
        try:
            outcomes.append(work(item))
        except SoundingError as error:
            return [*outcomes, error]
        if progress:
            progress(processes)  # the others are as far, as near as one can tell
    return outcomes


def _start(work: Callable[[Item], Result], items: Sequence[Item]) -> tuple[int, int]:
    """A forked child at work on the items: its process id and the pipe that will hold its outcomes."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_leave(work, items, theirs)
    os.close(theirs)
    return child, ours


def _work_and_leave(work: Callable[[Item], Result], items: Sequence[Item], pipe: int) -> NoReturn:
    status = 1
    try:
        # Written at the end and in one go: a full pipe would stall the work.
        answer = pickle.dumps(_outcomes(work, items, None))
        with os.fdopen(pipe, "wb") as stream:
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def _collect(child: int, pipe: int) -> list[Any]:
    with os.fdopen(pipe, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise SoundingError(f"a worker process ended with status {status}; try again with --jobs 1")
    return pickle.loads(answer)  # noqa: S301 - written by our own child
