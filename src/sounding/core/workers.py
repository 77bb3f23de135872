"""Apply a function to many items in one process, several processes or a cluster, and keep their order.

Only this module decides where work runs: on the executor that `sounding.core.executors` set, otherwise in
forked processes, otherwise in this process.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from sounding.core.errors import SoundingError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int], None]  # called with the number of items done since the last call
# (items, label) -> the progress callback
Bars = Callable[[int, str], "AbstractContextManager[Progress | None]"]

_LENGTH = 8  # bytes that hold the length of a child's answer
STOPPING = [  # the signals that ask a process to end; not every system has all of them
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
TIME_TO_LEAVE = 5.0  # seconds that a child has to remove partial files before it is killed
TICK = 250  # milliseconds between two calls of `progress` while children work
WORTH_FORKING = 20_000_000  # bytes of input below which a second process costs more than it saves
_PR_SET_PDEATHSIG = 1  # option of Linux's prctl: the signal that a process receives when its parent dies

_child = False  # True: sounding forked this process
_hindered = False  # True: the parent of this process had used Polars
_leaving: list[int] = []  # children that have answered but may still be running

# The function of `sounding.core.executors` that runs work on an executor; None: run it here.
run_elsewhere: ContextVar[Callable[..., dict[int, Any]] | None] = ContextVar("run_elsewhere", default=None)


def no_bars(_items: int, _label: str) -> AbstractContextManager[Progress | None]:
    """Report progress to nobody."""
    return nullcontext()


class Stopped(SystemExit):
    """Raised when a signal asks this process to end; the code is the shell's exit status for the signal."""


class NoProcessError(SoundingError):
    """The system cannot start another process."""


def unwind(number: int, _: object) -> NoReturn:
    """Handle a signal by raising an exception, so that partial files are removed.

    Only the first signal counts; a second one would interrupt the cleanup.
    """
    for other in STOPPING:
        # Not SIG_IGN: Python complains about a signal that is pending when it becomes ignored.
        signal.signal(other, lambda *_: None)
    raise Stopped(128 + number)


def settle_memory() -> None:
    """Keep the C library from returning memory to the system between two arrays.

    The library adapts to the largest block that was freed. Allocating and freeing a block that is never
    touched costs nothing and saves most page faults of later work, a third of its time.
    """
    bytes(31 << 20)


def processes_for(size: int, items: int, jobs: int | None) -> int:
    """Return the number of processes to use: `jobs`, or one for each core if the input is large enough.

    Only Linux forks safely; other systems always use one. With an executor, the result is more than one.
    """
    if run_elsewhere.get() is not None:
        return 2
    if sys.platform != "linux":
        return 1
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if size > WORTH_FORKING else 1
    return max(1, min(jobs, items))


def worth_sharing(items: int, jobs: int | None) -> int:
    """Return the number of processes to use for items that take a while each."""
    return processes_for(WORTH_FORKING + 1, items, jobs)


def map_items(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """Return [work(item) for item in items]; if several items fail, raise the error of the first."""
    outcomes = _outcomes(_Task(work, items, stop=True), processes, progress)
    # Items are started in order, so every item before the first failure has a result.
    for _, outcome in sorted(outcomes.items()):
        if isinstance(outcome, Exception):
            raise outcome
    return [outcomes[number] for number in range(len(items))]


@contextmanager
def shared_progress(progress: Progress | None) -> Iterator[Progress | None]:
    """Yield a callback for the forked processes as well: what they report reaches `progress` with our calls.

    A report that finds the pipe full goes with the next one.
    """
    if progress is None:
        yield None
        return
    ours, theirs = os.pipe()
    for end in (ours, theirs):
        os.set_blocking(end, False)
    owner, held = os.getpid(), 0

    def report(done: int) -> None:
        nonlocal held
        if os.getpid() == owner:
            with suppress(BlockingIOError):  # nothing to read
                while news := os.read(ours, 1 << 12):
                    done += sum(int.from_bytes(news[at : at + 8], "little") for at in range(0, len(news), 8))
            progress(done)
            return
        held += done
        with suppress(BlockingIOError):
            os.write(theirs, held.to_bytes(8, "little"))
            held = 0

    try:
        yield report
    finally:
        os.close(ours)
        os.close(theirs)


def map_outcomes(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int = 1,
    progress: Progress | None = None,
    kept: Callable[[Item, Result], None] | None = None,
) -> list[Result | SoundingError]:
    """Return the result of each item or its error; one failing item does not affect the others.

    `kept` is called with each result as soon as it exists: by the process that made it, or by this one with
    an executor.
    """
    outcomes = _outcomes(_Task(work, items, kept), processes, progress)
    return [outcomes[number] for number in range(len(items))]


def memory_error(error: MemoryError) -> SoundingError:
    """Return an error that says what to do about a lack of memory and, if known, how much was needed."""
    match = re.search(r"allocate (\S+ \S+) for", str(error))  # the wording of NumPy's message
    wanted = "" if match is None else f" ({match[1]} more did not fit)"
    return SoundingError(f"out of memory{wanted}; use --jobs 1, or give fewer or smaller files")


def item_error(error: Exception) -> SoundingError:
    """Return the error for an item that failed because of a bug in sounding or a lack of memory."""
    if isinstance(error, MemoryError):
        return memory_error(error)
    return SoundingError(
        f"unexpected {type(error).__name__}: {error}; this is a bug in sounding, please report it"
    )


def run_in_child(work: Callable[[], Result]) -> Result:
    """Return work(), computed in a child process so that no threads stay behind in this one.

    If a process has used Polars, children that it forks later would hang when they use Polars.
    """
    import threading

    if sys.platform != "linux" or _child or "polars" in sys.modules or threading.active_count() > 1:
        return work()
    with _children() as children:
        try:
            _start(children, _Task(lambda _: work(), [None], stop=True), [0])
        except NoProcessError:
            return work()
        outcome = _collect(children)
    if not outcome:
        return work()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def may_use_polars() -> bool:
    """Return whether Polars works here; it does not in a child of a process that had used it."""
    return not _hindered


class _Task(NamedTuple):
    """A function and its items; with `stop`, items after the first error may be skipped."""

    work: Callable[[Any], Any]
    items: Sequence[Any]
    kept: Callable[[Any, Any], None] | None = None  # called with each result as soon as it exists
    stop: bool = False


def _outcomes(task: _Task, processes: int, progress: Progress | None) -> dict[int, Any]:
    """Return the result or error of each item number."""
    elsewhere = run_elsewhere.get()
    if elsewhere is not None:
        return elsewhere(task.work, task.items, progress, task.kept, stop=task.stop)
    if processes == 1:
        return _work_here(task, range(len(task.items)), progress)
    return _work_in_children(task, processes, progress)


def _work_here(task: _Task, numbers: Iterable[int], progress: Progress | None = None) -> dict[int, Any]:
    """Return the result or error of each item number, computed in this process."""
    outcomes: dict[int, Any] = {}
    reported = 0
    for number in numbers:
        try:
            outcomes[number] = task.work(task.items[number])
            if task.kept:
                task.kept(task.items[number], outcomes[number])
        except SoundingError as error:
            outcomes[number] = error
            if task.stop:
                return outcomes
        except Exception as error:
            if task.stop:
                raise
            outcomes[number] = item_error(error)
        if progress:
            progress(number + 1 - reported)  # the items before this one are done or nearly done
            reported = number + 1
    return outcomes


def _work_in_children(task: _Task, processes: int, progress: Progress | None) -> dict[int, Any]:
    """Return the result or error of each item number, computed by this process and its children.

    Children share the memory of this process, take the next item when one is done, and send their results at
    the end. Items of a child that died are repeated by a single new child.
    """
    count = len(task.items)
    queue = _open_queue(count)
    with _children() as children:
        try:
            for _ in range(1, processes):
                _start(children, task, _take_items(queue, count))
            outcomes = _work_here(task, _take_items(queue, count), progress)
        finally:
            os.close(queue)
        while children:
            outcomes |= _collect(children, progress)
        lost = _missing_items(outcomes, count, stop=task.stop)
        if lost:
            _start(children, task, lost)
            outcomes |= _collect(children)
            if again := _missing_items(outcomes, count, stop=task.stop):
                raise SoundingError(
                    f"a worker process was lost twice at item {again[0] + 1} of {count} (out of memory?);"
                    " use --jobs 1, or give fewer or smaller files"
                )
    return outcomes


def _missing_items(outcomes: dict[int, Any], count: int, *, stop: bool) -> list[int]:
    """Return the items without a result; with `stop`, only those before the first error."""
    failed = (number for number, outcome in outcomes.items() if isinstance(outcome, Exception))
    end = min(failed, default=count) if stop else count
    return [number for number in range(end) if number not in outcomes]


def _range_size(count: int) -> int:
    """Return how many items a process takes at a time, so that a pipe can hold the start of every range."""
    return max(1, -(-count // 4096))


def _open_queue(count: int) -> int:
    """Return a pipe with the first item number of every range; each reader takes the next range."""
    ours, theirs = os.pipe()
    beginnings = range(0, count, _range_size(count))
    os.write(theirs, b"".join(number.to_bytes(8, "little") for number in beginnings))
    os.close(theirs)
    return ours


def _take_items(queue: int, count: int) -> Iterator[int]:
    """Yield the item numbers that this process takes from the queue."""
    while begin := os.read(queue, 8):
        first = int.from_bytes(begin, "little")
        yield from range(first, min(first + _range_size(count), count))


class _Child(NamedTuple):
    """A forked process and the pipe that receives its results."""

    process: int
    pipe: int


@contextmanager
def _children() -> Iterator[list[_Child]]:
    """Yield a list of running children; an error or a signal ends them all."""
    children: list[_Child] = []
    try:
        yield children
    except BaseException:
        _end(children)
        raise


def _start(children: list[_Child], task: _Task, numbers: Iterable[int]) -> None:
    """Fork a child that works on the items."""
    _reap()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None if the caller of this process closed it
            stream.flush()
    ours, theirs = os.pipe()
    parent = os.getpid()
    # Hold signals back: the child must not unwind the parent's work, and the parent must know the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        try:
            child = os.fork()
        except OSError as error:
            os.close(ours)
            raise NoProcessError(
                f"no worker process could be started ({error.strerror}); use --jobs 1"
            ) from error
        if child == 0:
            for pipe in (ours, *(other.pipe for other in children)):
                os.close(pipe)  # a reader left open would block the writer once the parent is gone
            _work_and_leave(
                lambda: _work_here(task, _while_parent_lives(numbers, parent)), theirs, parent, before
            )
        children.append(_Child(child, ours))
    finally:
        os.close(theirs)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _while_parent_lives(numbers: Iterable[int], parent: int) -> Iterator[int]:
    """Yield the items as long as the parent process lives."""
    for number in numbers:
        if os.getppid() != parent:
            sys.exit(1)
        yield number


def _work_and_leave(
    made: Callable[[], dict[int, Any]], pipe: int, parent: int, mask: set[signal.Signals | int]
) -> NoReturn:
    import pickle

    global _child, _hindered
    _child, _hindered = True, "polars" in sys.modules
    status = 1
    try:
        _end_with(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            outcomes = made()
        except Exception as error:  # a bug in sounding; the parent raises it
            outcomes = {0: error}
        # Written in one go at the end, because a full pipe would stall the work.
        answer = pickle.dumps(outcomes)
        with os.fdopen(pipe, "wb") as stream:
            stream.write(len(answer).to_bytes(_LENGTH, "little"))
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def _end_with(parent: int) -> None:
    """Make this child remove its partial files and exit when it is asked to or its parent dies.

    It ignores the signals that its parent ignores (nohup).
    """
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, unwind)
    if sys.platform == "linux":
        import ctypes

        ends = signal.SIGKILL if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN else signal.SIGTERM
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ends)
    if os.getppid() != parent:  # the parent died before prctl took effect
        sys.exit(1)


def _end(children: list[_Child]) -> None:
    """End children whose results are no longer needed; kill those that do not clean up in time."""
    for child in children:
        os.close(child.pipe)
        with suppress(ProcessLookupError):
            os.kill(child.process, signal.SIGTERM)
    until = time.monotonic() + TIME_TO_LEAVE
    for child in children:
        with suppress(ChildProcessError):  # already waited for elsewhere
            while os.waitpid(child.process, os.WNOHANG)[0] == 0:
                if time.monotonic() > until:
                    os.kill(child.process, signal.SIGKILL)
                    os.waitpid(child.process, 0)
                    break
                time.sleep(0.005)


def _collect(children: list[_Child], progress: Progress | None = None) -> dict[int, Any]:
    """Return the results of the first child; none if it died before it had sent everything.

    Its exit is not awaited, because releasing its memory takes longer than the remaining work here.
    Meanwhile `progress` is called with 0 to refresh what it shows.
    """
    import pickle
    import select

    answered = select.poll()
    answered.register(children[0].pipe, select.POLLIN)
    while progress and not answered.poll(TICK):
        progress(0)
    with os.fdopen(children[0].pipe, "rb", closefd=False) as stream:
        length = stream.read(_LENGTH)
        answer = stream.read()
    child = children.pop(0)
    os.close(child.pipe)
    _leaving.append(child.process)
    complete = len(length) == _LENGTH and len(answer) == int.from_bytes(length, "little")
    return pickle.loads(answer) if complete else {}  # noqa: S301 - written by our own child


def _reap() -> None:
    """Reap children that have ended, because the system keeps their entries until then."""
    for child in list(_leaving):
        gone = child
        with suppress(ChildProcessError):  # a child of the parent process, or already waited for elsewhere
            gone, _ = os.waitpid(child, os.WNOHANG)
        if gone:
            _leaving.remove(child)
