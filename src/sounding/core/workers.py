"""The same work on many items, on one process, several, or a cluster; results in the items' order.

Where the work is done is decided here and nowhere else: on the executor that `sounding.core.executors` put
in force, otherwise on forked processes, otherwise in this one.
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
Progress = Callable[[int], None]  # called with how many more items are done
Bars = Callable[[int, str], "AbstractContextManager[Progress | None]"]  # items and label -> who hears of them

_LENGTH = 8  # bytes that say how long a child's answer is
STOPPING = [  # the signals that ask a process to end; not every system has all of them
    signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
TIME_TO_LEAVE = 5.0  # seconds that a child has to remove what it had begun, before it is killed
WORTH_FORKING = 20_000_000  # bytes of input below which a second process costs more than it brings
_PR_SET_PDEATHSIG = 1  # of Linux's prctl: the signal that a process gets when its parent dies

_child = False  # whether this process was forked by us
_hindered = False  # and whether the one that forked it had used Polars
_leaving: list[int] = []  # children that have answered, and may not be gone yet

# The function of `sounding.core.executors` that has the work done elsewhere; None: it is done here.
in_force: ContextVar[Callable[..., dict[int, Any]] | None] = ContextVar("in_force", default=None)


def no_bars(_items: int, _label: str) -> AbstractContextManager[Progress | None]:
    """Nobody hears of progress."""
    return nullcontext()


class Stopped(SystemExit):
    """A signal asked this process to end; the code is what a shell gives for the signal."""


class NoProcessError(SoundingError):
    """The system has no room for another process."""


def unwind(number: int, _: object) -> NoReturn:
    """Handle a signal: leave by an exception, so that whatever is half-written is removed.

    Only the first one counts; a second would interrupt the cleaning up.
    """
    for other in STOPPING:
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(128 + number)


def settle_memory() -> None:
    """Keep the C library from handing memory back to the system between one array and the next.

    It learns from the largest block that was freed; taking and freeing one that is never touched costs
    nothing, and saves most page faults of the work that follows: a third of its time.
    """
    bytes(31 << 20)


def processes_for(size: int, items: int, jobs: int | None) -> int:
    """How many processes to use: what was asked for, or as many as there are cores where that pays.

    Only Linux forks safely; elsewhere it is always one. More than one where an executor is in force.
    """
    if in_force.get() is not None:
        return 2
    if sys.platform != "linux":
        return 1
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if size > WORTH_FORKING else 1
    return max(1, min(jobs, items))


def worth_sharing(items: int, jobs: int | None) -> int:
    """How many processes to use for items that each take a while."""
    return processes_for(WORTH_FORKING + 1, items, jobs)


def map_items(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """[work(item) for item in items]. Where several items fail, the first one's error is raised."""
    outcomes = _outcomes(_Task(work, items, stop=True), processes, progress)
    # Items are taken in order, so none before the first that failed is missing.
    for _, outcome in sorted(outcomes.items()):
        if isinstance(outcome, Exception):
            raise outcome
    return [outcomes[number] for number in range(len(items))]


def map_outcomes(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int = 1,
    progress: Progress | None = None,
    kept: Callable[[Item, Result], None] | None = None,
) -> list[Result | SoundingError]:
    """What `work` makes of each item, or why it could not: an item that fails does not lose the others.

    `kept` is called with every result as soon as it is there: by the process that made it, or by this
    one where an executor is in force.
    """
    outcomes = _outcomes(_Task(work, items, kept), processes, progress)
    return [outcomes[number] for number in range(len(items))]


def out_of_memory(error: MemoryError) -> SoundingError:
    """What to do where memory does not suffice, with how much was asked for where that is known."""
    found = re.search(r"allocate (\S+ \S+) for", str(error))  # as NumPy says it
    wanted = "" if found is None else f" ({found[1]} more did not fit)"
    return SoundingError(f"out of memory{wanted}; use --jobs 1, or give fewer or smaller files")


def unexpected(error: Exception) -> SoundingError:
    """The outcome of one item that failed by a fault of ours, or for want of memory."""
    if isinstance(error, MemoryError):
        return out_of_memory(error)
    return SoundingError(
        f"unexpected {type(error).__name__}: {error}; this is a fault of sounding, please report it"
    )


def apart(work: Callable[[], Result]) -> Result:
    """What `work` gives, made by a child process that leaves no threads behind in this one.

    A process that has used Polars cannot fork children that use it as well: they would wait for ever.
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
    """Whether Polars works here: not in a child of a process that had used it."""
    return not _hindered


class _Task(NamedTuple):
    """The same work on many items; with `stop`, not all behind the first error."""

    work: Callable[[Any], Any]
    items: Sequence[Any]
    kept: Callable[[Any, Any], None] | None = None  # called with every result as soon as it is there
    stop: bool = False


def _outcomes(task: _Task, processes: int, progress: Progress | None) -> dict[int, Any]:
    """Item -> what was made of it, or its error."""
    elsewhere = in_force.get()
    if elsewhere is not None:
        return elsewhere(task.work, task.items, progress, task.kept, stop=task.stop)
    if processes == 1:
        return _made(task, range(len(task.items)), progress)
    return _forked(task, processes, progress)


def _made(task: _Task, numbers: Iterable[int], progress: Progress | None = None) -> dict[int, Any]:
    """Item -> outcome, in this process."""
    outcomes: dict[int, Any] = {}
    told = 0
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
            outcomes[number] = unexpected(error)
        if progress:
            progress(number + 1 - told)  # those before it are done as well, or nearly
            told = number + 1
    return outcomes


def _forked(task: _Task, processes: int, progress: Progress | None) -> dict[int, Any]:
    """Item -> outcome, by this process and its children.

    Children share what is in memory, take the next item when they are done with one, and hand back
    what they made at the end. What a child had that is gone is done again, by one that is alone.
    """
    count = len(task.items)
    queue = _queue_of(count)
    with _children() as children:
        try:
            for _ in range(1, processes):
                _start(children, task, _taken_from(queue, count))
            outcomes = _made(task, _taken_from(queue, count), progress)
        finally:
            os.close(queue)
        while children:
            outcomes |= _collect(children)
        lost = _lacking(outcomes, count, stop=task.stop)
        if lost:
            _start(children, task, lost)
            outcomes |= _collect(children)
            if again := _lacking(outcomes, count, stop=task.stop):
                raise SoundingError(
                    f"a worker process was lost twice at item {again[0] + 1} of {count} (out of memory?);"
                    " use --jobs 1, or give fewer or smaller files"
                )
    return outcomes


def _lacking(outcomes: dict[int, Any], count: int, *, stop: bool) -> list[int]:
    """The items that nobody has done; with `stop`, only those before the first error."""
    failed = (number for number, outcome in outcomes.items() if isinstance(outcome, Exception))
    end = min(failed, default=count) if stop else count
    return [number for number in range(end) if number not in outcomes]


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


class _Child(NamedTuple):
    """A forked process at work, and the pipe that will hold its outcomes."""

    process: int
    pipe: int


@contextmanager
def _children() -> Iterator[list[_Child]]:
    """The children whose answers are still to come; none of them outlives an error or a signal."""
    children: list[_Child] = []
    try:
        yield children
    except BaseException:
        _end(children)
        raise


def _start(children: list[_Child], task: _Task, numbers: Iterable[int]) -> None:
    """Fork a child that works on the items."""
    _let_go()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by whoever started this process
            stream.flush()
    ours, theirs = os.pipe()
    parent = os.getpid()
    # A signal that arrives now waits: the child must not unwind what its parent is doing, and the
    # parent must know of the child.
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
                os.close(pipe)  # with a reader left, whoever writes would wait for it when the parent is gone
            _work_and_leave(lambda: _made(task, _while_wanted(numbers, parent)), theirs, parent, before)
        children.append(_Child(child, ours))
    finally:
        os.close(theirs)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _while_wanted(numbers: Iterable[int], parent: int) -> Iterator[int]:
    """Yield the items until the process that wants them is gone."""
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
        except Exception as error:  # a fault of ours: raised where somebody sees it
            outcomes = {0: error}
        # Written at the end and in one go: a full pipe would stall the work.
        answer = pickle.dumps(outcomes)
        with os.fdopen(pipe, "wb") as stream:
            stream.write(len(answer).to_bytes(_LENGTH, "little"))
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def _end_with(parent: int) -> None:
    """Have this child unwind, and so remove half-written files, when it is told to or its parent dies.

    It ignores the signals that its parent ignores (nohup).
    """
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, unwind)
    if sys.platform == "linux":
        import ctypes

        ends = signal.SIGKILL if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN else signal.SIGTERM
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ends)
    if os.getppid() != parent:  # which was gone before the system knew that this matters
        sys.exit(1)


def _end(children: list[_Child]) -> None:
    """End children whose answers nobody waits for any more; those that do not clean up in time are killed."""
    for child in children:
        os.close(child.pipe)
        with suppress(ProcessLookupError):
            os.kill(child.process, signal.SIGTERM)
    until = time.monotonic() + TIME_TO_LEAVE
    for child in children:
        with suppress(ChildProcessError):  # asked for elsewhere
            while os.waitpid(child.process, os.WNOHANG)[0] == 0:
                if time.monotonic() > until:
                    os.kill(child.process, signal.SIGKILL)
                    os.waitpid(child.process, 0)
                    break
                time.sleep(0.005)


def _collect(children: list[_Child]) -> dict[int, Any]:
    """What the first of the children made; nothing where it was gone before it had said all.

    Once it has, its end is not waited for: giving back its memory takes longer than what is left to do here.
    """
    import pickle

    with os.fdopen(children[0].pipe, "rb", closefd=False) as stream:
        length = stream.read(_LENGTH)
        answer = stream.read()
    child = children.pop(0)
    os.close(child.pipe)
    _leaving.append(child.process)
    whole = len(length) == _LENGTH and len(answer) == int.from_bytes(length, "little")
    return pickle.loads(answer) if whole else {}  # noqa: S301 - written by our own child


def _let_go() -> None:
    """Forget the children that are gone by now: until somebody asks, the system keeps their names."""
    for child in list(_leaving):
        gone = child
        with suppress(ChildProcessError):  # one of the process that forked this one, or asked for elsewhere
            gone, _ = os.waitpid(child, os.WNOHANG)
        if gone:
            _leaving.remove(child)
