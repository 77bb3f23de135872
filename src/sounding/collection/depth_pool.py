"""Which runs contribute to a pool, as NIST chooses them, and the documents that they bring to it.

Voorhees (2002): every group contributes at most so many runs, in the order in which it wants them judged;
of each run the first X documents of a topic are taken; the pool is shown by doc id, so that nobody can
tell how high a document was ranked, how often, or by whom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sounding.data.simulation import RunInfo
from sounding.errors import DataError
from sounding.retrieved import Retrieved

SHOWN = 3  # names in a remark


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contributors:
    """The runs, who submitted each, and which of them contribute."""

    contributing: NDArray[np.bool_]  # (run,)
    groups: tuple[str, ...]  # (run,) a run of an unknown group is a group of its own
    kinds: tuple[str, ...]  # (run,) empty: not known
    how: str  # how they were chosen, in a few words
    remarks: tuple[str, ...]  # what does not fit together, a line each

    def pool(self, retrieved: Retrieved, depth: int) -> Retrieved:
        """What the contributing runs bring to a pool of this depth."""
        return retrieved.pick(self.contributing).cut(depth)


def choose_contributors(
    retrieved: Retrieved, info: Mapping[str, RunInfo] | None = None, *, per_group: int | None = None
) -> Contributors:
    """The runs that `info` lists as pooled or, with `per_group`, so many of each group by priority.

    Without `info` every run contributes. Runs that it does not list contribute nothing.
    """
    if info is None:
        if per_group is not None:
            raise DataError("runs can be chosen by group only where groups are known; list them with --info")
        return Contributors(
            contributing=np.ones(len(retrieved.runs), np.bool_), groups=retrieved.runs,
            kinds=("",) * len(retrieved.runs), how="no info: every run, each a group of its own", remarks=(),
        )  # fmt: skip
    rows = [info.get(name) or info.get(tag) for name, tag in zip(retrieved.runs, retrieved.tags, strict=True)]
    if not any(rows):
        raise DataError(
            f"none of the {len(rows)} runs is listed; expected names such as {retrieved.runs[0]!r},"
            f" found {next(iter(info), 'nothing')!r}"
        )
    groups = tuple(
        row.group if row and row.group else name for row, name in zip(rows, retrieved.runs, strict=True)
    )
    if per_group is None:
        chosen = [row is not None and row.pooled for row in rows]
        how = "as listed"
    else:
        chosen = _by_priority(rows, groups, per_group)
        how = f"at most {per_group} a group, by priority"
    if not any(chosen):
        raise DataError("none of the runs is listed as pooled; say how many of each group with --per-group")
    return Contributors(
        contributing=np.array(chosen, np.bool_), groups=groups,
        kinds=tuple(row.kind if row else "" for row in rows), how=how,
        remarks=tuple(_remarks(retrieved.runs, rows, info)),
    )  # fmt: skip


def _by_priority(rows: Sequence[RunInfo | None], groups: Sequence[str], per_group: int) -> list[bool]:
    """The first runs of every group; a run without a priority comes last, equal ones as they were given."""
    order = sorted((row.priority or np.inf, place) for place, row in enumerate(rows) if row is not None)
    taken: dict[str, int] = {}
    chosen = [False] * len(rows)
    for _, place in order:
        taken[groups[place]] = taken.get(groups[place], 0) + 1
        chosen[place] = taken[groups[place]] <= per_group
    return chosen


def _remarks(runs: Sequence[str], rows: Sequence[RunInfo | None], info: Mapping[str, RunInfo]) -> list[str]:
    """What the info file and the runs do not have in common: a line each."""
    unlisted = [name for name, row in zip(runs, rows, strict=True) if row is None]
    lonely = [name for name, row in zip(runs, rows, strict=True) if row is not None and not row.group]
    found = {row.run for row in rows if row is not None}
    absent = [row for row in info.values() if row.run not in found]
    remarks = []
    if unlisted:
        remarks.append(f"not in the info file, so not contributing: {_named(unlisted, 'run')}")
    if lonely:
        remarks.append(f"no group in the info file, so each a group of its own: {_named(lonely, 'run')}")
    if absent:
        pooled = sum(row.pooled for row in absent)
        remarks.append(
            f"in the info file and not given: {_named([row.run for row in absent], 'run')},"
            f" {pooled} of them listed as pooled"
        )
    return remarks


def _named(names: Sequence[str], what: str) -> str:
    """How many there are, and the first of them by name."""
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''} ({shown})"
