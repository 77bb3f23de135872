"""A small pool of threads for work that is slow on purpose: checking and hashing passwords.

Whoever asks waits in a line of their own, and lines take turns, so one address that sends many requests makes
nobody else wait long. Waiting takes no thread: the rest of the server has all of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sounding.core.errors import SoundingError

Result = TypeVar("Result")

THREADS = 2 if (os.cpu_count() or 1) >= 4 else 1  # each takes a core and 64 MiB while it hashes
MOST_WAITING = 100  # the last of them waits for about 15 s with one thread
NICENESS = 5  # added to that of the process: other threads of the machine come first


class BusyError(SoundingError):
    """A job was refused because too many others wait."""


@dataclass
class _Line:
    """The jobs of one requester, oldest first."""

    known: bool
    jobs: deque[_Job] = field(default_factory=deque)


@dataclass
class _Job:
    work: Callable[[], Any]
    future: Future[Any]

    def run(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.work())
            except BaseException as error:
                self.future.set_exception(error)

    def refuse(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(BusyError("too many people are signing in at this moment"))


class HashingPool:
    """Runs jobs in a few threads that exist only while there are jobs.

    At most `most` jobs wait. One more pushes out the newest job of the longest line, which is refused. Among
    lines of equal length those of requesters who are not known lose first. If the newcomer's own line would
    be the one to lose, the newcomer is refused. So a flood from one place is refused, and nobody else.
    """

    def __init__(self, threads: int = THREADS, most: int = MOST_WAITING) -> None:
        self._threads = threads
        self._most = most
        self._lock = threading.Lock()
        self._lines: OrderedDict[Hashable, _Line] = OrderedDict()  # the first has the next turn
        self._waiting = 0
        self._running = 0  # threads

    async def run(self, who: Hashable, work: Callable[[], Result], *, known: bool = False) -> Result:
        """Return the result of a job of `who` after its turn; BusyError if too many others wait."""
        return await asyncio.wrap_future(self.submit(who, work, known=known))

    def submit(self, who: Hashable, work: Callable[[], Result], *, known: bool = False) -> Future[Result]:
        """Queue a job of `who` and return its future."""
        job = _Job(work, Future())
        with self._lock:
            refused = self._enter(who, known, job)
            if self._running < self._threads and self._lines:
                threading.Thread(target=self._work, name="hashing of passwords", daemon=True).start()
                self._running += 1
        if refused is not None:
            refused.refuse()
        return job.future

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for their turn."""
        return self._waiting

    def _enter(self, who: Hashable, known: bool, job: _Job) -> _Job | None:
        """Put a job into its line and return the job that is refused for it, if any."""
        line = self._lines.get(who) or _Line(known)
        refused = None
        if self._waiting >= self._most:
            longest = max(self._lines, key=lambda one: _precedence(self._lines[one]))
            if _precedence(self._lines[longest]) <= (len(line.jobs) + 1, not known):
                return job
            refused = self._lines[longest].jobs.pop()
            self._waiting -= 1
            if not self._lines[longest].jobs:
                del self._lines[longest]
        line.jobs.append(job)
        self._lines[who] = line
        self._waiting += 1
        return refused

    def _work(self) -> None:
        _step_back()
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> _Job | None:
        """Take the oldest job of the line whose turn it is; None: nothing waits, and the thread ends."""
        with self._lock:
            if not self._lines:
                self._running -= 1
                return None
            who, line = self._lines.popitem(last=False)
            job = line.jobs.popleft()
            if line.jobs:
                self._lines[who] = line  # behind the others
            self._waiting -= 1
            return job


def _precedence(line: _Line) -> tuple[int, bool]:
    """Rank a line by who makes room first: the longest, then those who are not known."""
    return len(line.jobs), not line.known


def _step_back() -> None:
    """Let other threads come first where cores are short; only Linux has a niceness for each thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            number = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, number, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
