"""Choose the runs that contribute to a pool, as NIST does.

Voorhees (2002): each group ranks its runs by priority and contributes a fixed number of them; the pool
takes the first X documents of each run and topic. It is shown by doc id, so that assessors cannot tell how
high, how often or by whom a document was ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.run_info import RunInfo, groups_of, info_remarks, listed_rows, named
from sounding.runs.retrieved import Retrieved


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contributors:
    """The runs, who submitted each, and which of them contribute to the pool."""

    contributing: NDArray[np.bool_]  # (run,)
    groups: tuple[str, ...]  # (run,) a run of unknown group forms its own group
    kinds: tuple[str, ...]  # (run,) empty: not known
    how: str  # the rule of choice, in words
    remarks: tuple[str, ...]  # mismatches between info and runs, one line each

    def pool(self, retrieved: Retrieved, depth: int) -> Retrieved:
        """Return the lists of the contributing runs, cut at the depth of the pool."""
        return retrieved.pick(self.contributing).cut(depth)


def choose_contributors(
    retrieved: Retrieved, info: Mapping[str, RunInfo] | None = None, *, per_group: int | None = None
) -> Contributors:
    """Choose the runs that `info` lists as pooled or, with `per_group`, that many of each group by priority.

    Without `info` every run contributes. A run that `info` does not list does not contribute.
    """
    if info is None:
        if per_group is not None:
            raise DataError("--runs-per-group needs to know the groups: list them in a file for --info")
        return Contributors(
            contributing=np.ones(len(retrieved.runs), np.bool_), groups=retrieved.runs,
            kinds=("",) * len(retrieved.runs), how="no info: every run, each a group of its own", remarks=(),
        )  # fmt: skip
    rows = listed_rows(retrieved.runs, retrieved.tags, info)
    if not any(rows):
        raise DataError(
            f"the info file lists none of the {len(rows)} runs: it has names such as"
            f" {next(iter(info), 'none')!r}, the runs have names such as {retrieved.runs[0]!r}"
        )
    groups = groups_of(retrieved.runs, rows)
    remarks = info_remarks(retrieved.runs, rows, info)
    if per_group is None:
        chosen = [row is not None and row.pooled for row in rows]
        how = "as listed"
    else:
        chosen = _by_priority(rows, groups, per_group)
        how = f"at most {per_group} a group, by priority"
        remarks += _undecided(retrieved.runs, rows, groups, chosen)
    if not any(chosen):
        raise DataError(
            "the info file lists no run as pooled; choose some of each group with --runs-per-group N"
        )
    return Contributors(
        contributing=np.array(chosen, np.bool_), groups=groups,
        kinds=tuple(row.kind if row else "" for row in rows), how=how, remarks=tuple(remarks),
    )  # fmt: skip


def _undecided(
    runs: Sequence[str], rows: Sequence[RunInfo | None], groups: Sequence[str], chosen: Sequence[bool]
) -> list[str]:
    """Return a remark on groups whose priorities leave open which runs come first."""
    left: dict[str, set[int]] = {}
    for row, group, own in zip(rows, groups, chosen, strict=True):
        if row is not None and not own:
            left.setdefault(group, set()).add(row.priority)
    equal = [
        (run, group)
        for run, row, group, own in zip(runs, rows, groups, chosen, strict=True)
        if own and row is not None and row.priority in left.get(group, ())
    ]
    if not equal:
        return []
    names = list(dict.fromkeys(group for _, group in equal))
    taken = named([run for run, _ in equal], "run")
    return [
        f"{named(names, 'group')} with runs of equal or no priority: the first in the order of reading are"
        f" taken, {taken}"
    ]


def _by_priority(rows: Sequence[RunInfo | None], groups: Sequence[str], per_group: int) -> list[bool]:
    """Choose the first runs of each group; a run without a priority comes last, ties in the order given."""
    order = sorted((row.priority or np.inf, place) for place, row in enumerate(rows) if row is not None)
    taken: dict[str, int] = {}
    chosen = [False] * len(rows)
    for _, place in order:
        taken[groups[place]] = taken.get(groups[place], 0) + 1
        chosen[place] = taken[groups[place]] <= per_group
    return chosen
