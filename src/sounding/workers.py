"""The same work on many items, on one process or several, with the results in the items' order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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

    Children are forked: they share what is in memory, take the next item when they are done with one,
    and hand back what they made at the end.
    """
    numbers: Iterable[int] = range(len(items))
    children = []
    if processes > 1:
        queue = _queue_of(len(items))
        children = [_start(work, items, _taken_from(queue, len(items))) for _ in range(1, processes)]
        numbers = _taken_from(queue, len(items))
    outcomes = _outcomes(work, items, numbers, progress)
    if children:
        os.close(queue)
    for child in children:
        outcomes |= _collect(*child)
    # Items are taken in order, so none before the first that failed is missing.
    for _, outcome in sorted(outcomes.items()):
        if isinstance(outcome, SoundingError):
            raise outcome
    return [outcomes[number] for number in range(len(items))]


def _outcomes(
    work: Callable[[Item], Result], items: Sequence[Item], numbers: Iterable[int], progress: Progress | None
) -> dict[int, Any]:
    """Item -> what `work` made of it; where it meets an error, that is the last one."""
    outcomes: dict[int, Any] = {}
    told = 0
    for number in numbers:
        try:
            outcomes[number] = work(items[number])
        except SoundingError as error:
            return {**outcomes, number: error}
        if progress:
            progress(number + 1 - told)  # those before it are done as well, or nearly
            told = number + 1
    return outcomes


def _stretch(count: int) -> int:
    """How many items are taken at a time: a pipe holds the beginnings of so many stretches at once."""
    return max(1, -(-count // 4096))


def _queue_of(count: int) -> int:
    """A pipe that holds the number of the first item of every stretch, for whoever reads it first."""
    ours, theirs = os.pipe()
    beginnings = range(0, count, _stretch(count))
    os.write(theirs, b"".join(number.to_bytes(8, "little") for number in beginnings))
    os.close(theirs)
    return ours


def _taken_from(queue: int, count: int) -> Iterator[int]:
    """The numbers of the items that this process takes."""
    while begin := os.read(queue, 8):
        first = int.from_bytes(begin, "little")
        yield from range(first, min(first + _stretch(count), count))


def _start(work: Callable[[Item], Result], items: Sequence[Item], numbers: Iterable[int]) -> tuple[int, int]:
    """A forked child at work on the items: its process id and the pipe that will hold its outcomes."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_leave(work, items, numbers, theirs)
    os.close(theirs)
    return child, ours


def _work_and_leave(
    work: Callable[[Item], Result], items: Sequence[Item], numbers: Iterable[int], pipe: int
) -> NoReturn:
    import pickle

    status = 1
    try:
        # Written at the end and in one go: a full pipe would stall the work.
        answer = pickle.dumps(_outcomes(work, items, numbers, None))
        with os.fdopen(pipe, "wb") as stream:
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def _collect(child: int, pipe: int) -> dict[int, Any]:
    import pickle

    with os.fdopen(pipe, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise SoundingError(f"a worker process ended with status {status}; try again with --jobs 1")
    return pickle.loads(answer)  # noqa: S301 - written by our own child
