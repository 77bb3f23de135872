"""What an info file says of the runs that were given, and what the two do not have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sounding.data.naming import RunIndex
from sounding.data.run_info import RunInfo
from sounding.errors import expect
from sounding.wording import plural

SHOWN = 3  # names in a remark

Rows = Sequence[RunInfo | None]  # (run,) None: it is not listed


def listed_rows(
    runs: Sequence[str], tags: Sequence[str], info: Mapping[str, RunInfo]
) -> list[RunInfo | None]:
    """Return what is listed of each run: under its name, its tag or its file, where no other run is meant.

    A row with exactly the name of a run comes before one that differs by a folder or an extension.
    """
    expect(info, Mapping, "info", "{run: RunInfo}, as read_run_info() gives it")
    for row in info.values():
        expect(row, RunInfo, "info", "{run: RunInfo}, as read_run_info() gives it")
    index = RunIndex(runs, tags)
    rows: list[RunInfo | None] = [info.get(name) for name in runs]
    for name, row in info.items():
        place = index.find(name)
        if place is not None and rows[place] is None:
            rows[place] = row
    return rows


def groups_of(runs: Sequence[str], rows: Rows) -> tuple[str, ...]:
    """The group of each run; one of an unknown group is a group of its own."""
    return tuple(row.group if row and row.group else name for name, row in zip(runs, rows, strict=True))


def info_remarks(
    runs: Sequence[str],
    rows: Rows,
    info: Mapping[str, RunInfo],
    *,
    new: Sequence[bool] | None = None,
    consequence: str = "",
    grouped: bool = True,
) -> list[str]:
    """What the info file and the runs do not have in common: a line each.

    `new` runs need not be listed. `consequence` says what pooled rows without a run lead to; `grouped` says
    whether it matters who submitted a run; if not, rows of runs that were not pooled may lack theirs.
    """
    asked = [False] * len(runs) if new is None else new
    old = [(name, row) for name, row, fresh in zip(runs, rows, asked, strict=True) if not fresh]
    unlisted = [name for name, row in old if row is None]
    lonely = [name for name, row in old if row is not None and not row.group]
    found = {row.run for row in rows if row is not None}
    absent = [row for row in info.values() if row.run not in found]
    remarks = []
    if unlisted:
        remarks.append(f"{named(unlisted, 'run')} not in the info file: taken as not pooled")
    if lonely and grouped:
        remarks.append(f"{named(lonely, 'run')} without a group in the info file: each counts as its own")
    pooled = sum(row.pooled for row in absent)
    if pooled or (absent and grouped):
        remarks.append(
            f"{named([row.run for row in absent], 'row')} of the info file without a run here,"
            f" {pooled} of them pooled{consequence if pooled else ''}"
        )
    return remarks


def named(names: Sequence[str], what: str) -> str:
    """How many there are, and the first of them by name."""
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{plural(len(names), what)} ({shown})"
