"""Collect the problems of a file while it is read, to raise the first or list and count them all.

A file may have as many problems as lines, so only the first LISTED are kept.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import FormatError

LISTED = 100  # problems that are kept with their text; the others are counted


class Problem(NamedTuple):
    """One kind of problem: its first line, a description, and how often it occurs."""

    line: int
    text: str
    times: int
    lines: tuple[int, ...]  # the first few lines with this problem


class Problems:
    """The problems of one source."""

    def __init__(
        self, source: str, *, lines_before: int = 0, own_lines: NDArray[np.int64] | None = None
    ) -> None:
        """Start without problems.

        For a part of a file, give the lines before it, or the line of each of its own.
        """
        self.source = source
        self.found: list[Problem] = []  # the first problems, in line order
        self.more = 0  # the number of other problems
        self.lines_before = lines_before
        self.own_lines = own_lines

    def line(self, number: int) -> int:
        """Return the line number in the whole file for a line number in the part that was read."""
        return self.lines_before + number if self.own_lines is None else int(self.own_lines[number - 1])

    def add(self, lines: NDArray[np.integer[Any]], describe: Callable[[int], str]) -> None:
        """Report a problem on several lines (from 1); describe(i) words it for the i-th of them."""
        if len(lines):
            first = int(np.argmin(lines))
            few = min(5, len(lines))
            listed = tuple(self.line(int(line)) for line in np.sort(np.partition(lines, few - 1)[:few]))
            self._keep(Problem(listed[0], describe(first), len(lines), listed))

    def note(self, line: int, text: str) -> None:
        """Report a problem on one line."""
        self._keep(Problem(self.line(line), text, 1, (self.line(line),)))

    def _keep(self, problem: Problem) -> None:
        insort(self.found, problem)
        if len(self.found) > LISTED:
            self.more += self.found.pop().times

    def refuse(self) -> None:
        """Raise an error for the first problem in the file, with the number of others."""
        if self.found:
            others = sum(problem.times for problem in self.found) - 1 + self.more
            raise FormatError(self.source, self.found[0].line, self.found[0].text, others)
