"""What full judging means: the first documents of every run, or of those that were pooled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import most
from sounding.runs.retrieved import Retrieved

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Until:
    """Whose documents would be judged, and how deep."""

    whose: Literal["pool", "runs"]
    depth: int

    def __str__(self) -> str:
        return f"{self.whose}:{self.depth}"

    def describe(self) -> str:
        """The documents in words, as a sentence goes on."""
        count = "first document" if self.depth == 1 else f"first {self.depth:,} documents"
        whose = "run that contributes to the pool" if self.whose == "pool" else "run"
        return f"the {count} of every {whose}"

    def considered(self, retrieved: Retrieved, contributing: Flags) -> Flags:
        """(document,): whether it would be judged; `contributing` says which runs are pooled, (run,)."""
        if self.whose == "runs":
            return retrieved.cut(self.depth).best_ranks() > 0
        if not contributing.any():
            raise DataError(
                f"until {self}: none of the runs contributes to the pool; list those that do with --info,"
                f" or say runs:{self.depth}"
            )
        return retrieved.pick(contributing).cut(self.depth).best_ranks() > 0


def parse_until(text: str) -> Until:
    """What `pool:100` or `runs:100` says."""
    found = re.fullmatch(r"(pool|runs):(\d{1,4000})", text) if isinstance(text, str) else None
    if found is None or int(found[2]) < 1:
        raise DataError(f"until {text!r}; expected pool:D or runs:D with a depth from 1, such as pool:100")
    if int(found[2]) > most("k"):  # it becomes the cut-off of a measure
        raise DataError(f"until {found[1]}: the depth is too large; give at most {most('k'):,}")
    return Until("pool" if found[1] == "pool" else "runs", int(found[2]))
