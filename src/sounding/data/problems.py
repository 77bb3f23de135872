"""Problems of a file, gathered while it is read: the first is raised, or all are counted and many listed.

A file may have as many problems as lines, so only the first LISTED of them are kept.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import FormatError

LISTED = 100  # problems that are worded; the others are counted


class Problem(NamedTuple):
    """One kind of problem: where it is first met, what was seen there, and how often it occurs."""

    line: int
    text: str
    times: int
    lines: tuple[int, ...]  # the first few lines that have it


class Problems:
    """What is wrong with one source."""

    def __init__(
        self, source: str, *, lines_before: int = 0, own_lines: NDArray[np.int64] | None = None
    ) -> None:
        """Where only a part of a file is read: how many lines stand before it, or the line of each."""
        self.source = source
        self.found: list[Problem] = []  # those that stand first, in the order of lines
        self.more = 0  # how many others there are
        self.lines_before = lines_before
        self.own_lines = own_lines

    def line(self, number: int) -> int:
        """The line of the file that was read as this one."""
        return self.lines_before + number if self.own_lines is None else int(self.own_lines[number - 1])

    def add(self, lines: NDArray[np.integer[Any]], describe: Callable[[int], str]) -> None:
        """Note a problem of these lines (1 is the first); describe(i) words it for the i-th of them."""
        if len(lines):
            first = int(np.argmin(lines))
            few = min(5, len(lines))
            listed = tuple(self.line(int(line)) for line in np.sort(np.partition(lines, few - 1)[:few]))
            self._keep(Problem(listed[0], describe(first), len(lines), listed))

    def note(self, line: int, text: str) -> None:
        """Note a problem of one line."""
        self._keep(Problem(self.line(line), text, 1, (self.line(line),)))

    def _keep(self, problem: Problem) -> None:
        insort(self.found, problem)
        if len(self.found) > LISTED:
            self.more += self.found.pop().times

    def refuse(self) -> None:
        """Raise the problem that stands first in the file, with the number of others."""
        if self.found:
            others = sum(problem.times for problem in self.found) - 1 + self.more
            raise FormatError(self.source, self.found[0].line, self.found[0].text, others)
