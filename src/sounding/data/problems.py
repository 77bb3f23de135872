"""Problems of a file, gathered while it is read: the first is raised, or all are listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sounding.errors import FormatError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One kind of problem: where it is first met, what was seen there, and how often it occurs."""

    line: int
    text: str
    count: int
    lines: tuple[int, ...]  # the first few lines that have it


@dataclass(slots=True)
class Problems:
    """What is wrong with one source."""

    source: str
    found: list[Problem] = field(default_factory=list)

    def add(self, lines: NDArray[np.integer[Any]], describe: Callable[[int], str]) -> None:
        """Note a problem of these lines (1 is the first); describe(i) words it for the i-th of them."""
        if len(lines):
            first = int(np.argmin(lines))
            listed = tuple(int(line) for line in np.sort(lines)[:5])
            self.found.append(Problem(int(lines[first]), describe(first), len(lines), listed))

    def note(self, line: int, text: str) -> None:
        """Note a problem of one line."""
        self.found.append(Problem(line, text, 1, (line,)))

    def refuse(self) -> None:
        """Raise the problem that stands first in the file, with the number of others."""
        if self.found:
            first = min(self.found)
            raise FormatError(self.source, first.line, first.text, sum(p.count for p in self.found) - 1)
