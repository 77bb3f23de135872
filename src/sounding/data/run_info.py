"""Read the info file, which says who submitted each run and which runs were pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, expect
from sounding.core.text import plural, quote
from sounding.data.delimited import guess_separator, split_grid
from sounding.data.finding import RunIndex
from sounding.data.problems import Problems
from sounding.data.sources import Content, read_content

COLUMNS = ("run", "group", "kind", "priority", "pooled")
NEEDED = ("run", "group", "pooled")
_TRUTH: Mapping[str, bool] = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """One row of an info file: who submitted a run and whether it was pooled."""

    run: str
    group: str
    kind: str  # automatic or manual
    priority: int  # 1 is the run that its group wanted judged first
    pooled: bool


def read_run_info(source: str | Path) -> dict[str, RunInfo]:
    """Read {run: RunInfo} from a table with the columns run, group, kind, priority and pooled.

    Columns may be in any order, and others are ignored. Kind and priority may be missing or empty (no kind,
    0). Pooled is yes or no.
    """
    content = read_content(source)
    problems = Problems(content.source)
    info = parse_run_info(content, problems)
    problems.refuse()
    return info


def is_run_info(names: Sequence[str]) -> bool:
    """Return whether a first line names the columns that an info file needs."""
    return {name.lower() for name in names}.issuperset(NEEDED)


def parse_run_info(content: Content, problems: Problems) -> dict[str, RunInfo]:
    """Parse an info file; wrong lines are reported and dropped."""
    grid = split_grid(content, guess_separator(content), problems)
    header = [name.lower() for name in grid.texts(0)] if len(grid.first) else []
    lacking = [name for name in NEEDED if name not in header]
    if lacking:
        if not problems.found:
            expected = f"a first line with {', '.join(COLUMNS)} (kind and priority may be left out)"
            problems.note(
                int(grid.lines[0]) if header else 1, f"no column {lacking[0]!r}; expected {expected}"
            )
        return {}
    found: dict[str, RunInfo] = {}
    for record in range(1, len(grid.first)):
        line, cells = int(grid.lines[record]), grid.texts(record)
        if len(cells) != len(header):
            problems.note(line, f"{plural(len(cells), 'column')}; expected {len(header)}")
            continue
        row = dict(zip(header, cells, strict=True))
        priority, pooled = row.get("priority") or "0", _TRUTH.get(row["pooled"].lower())
        if pooled is None:
            problems.note(line, f"pooled is {quote(row['pooled'])}; expected yes or no")
        elif not (priority.isascii() and priority.isdigit()):
            problems.note(line, f"priority is {quote(priority)}; expected a whole number")
        elif row["run"] in found:
            problems.note(line, f"run {quote(row['run'])} is listed twice; remove one of its lines")
        else:
            found[row["run"]] = RunInfo(
                run=row["run"], group=row["group"], kind=row.get("kind", ""), priority=int(priority),
                pooled=pooled,
            )  # fmt: skip
    return found


SHOWN = 3  # names in a remark

Rows = Sequence[RunInfo | None]  # (run,) None: not listed


def listed_rows(
    runs: Sequence[str], tags: Sequence[str], info: Mapping[str, RunInfo]
) -> list[RunInfo | None]:
    """Return the info row of each run: under its name, tag or file, if no other run matches.

    A row with exactly the name of a run takes precedence over one that differs by a folder or an extension.
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
    """Return the group of each run; a run without a known group is its own group."""
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
    """Return remarks on the differences between the info file and the runs, one line each.

    `new` runs need not be listed. `consequence` says what pooled rows without a run lead to. `grouped` says
    whether it matters who submitted a run; if not, rows of runs that were not pooled may be missing.
    """
    asked = [False] * len(runs) if new is None else new
    old = [(name, row) for name, row, fresh in zip(runs, rows, asked, strict=True) if not fresh]
    unlisted = [name for name, row in old if row is None]
    lonely = [name for name, row in old if row is not None and not row.group]
    found = {row.run for row in rows if row is not None}
    absent = [row for row in info.values() if row.run not in found]
    remarks = []
    if unlisted:
        remarks.append(f"{named(unlisted, 'run')} not in the info file: treated as not pooled")
    if lonely and grouped:
        remarks.append(
            f"{named(lonely, 'run')} without a group in the info file: each is treated as its own group"
        )
    pooled = sum(row.pooled for row in absent)
    if pooled or (absent and grouped):
        remarks.append(
            f"{named([row.run for row in absent], 'run')} of the info file"
            f" {'was' if len(absent) == 1 else 'were'} not given, {pooled:,} of them"
            f" pooled{consequence if pooled else ''}"
        )
    return remarks


def named(names: Sequence[str], what: str) -> str:
    """Return a count with its noun and the first few names."""
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"{plural(len(names), what)} ({shown})"


def reported_runs(
    runs: Sequence[str],
    tags: Sequence[str],
    info: Mapping[str, RunInfo] | None,
    only: str | Sequence[str],
    always: Sequence[int] = (),
) -> NDArray[np.bool_] | None:
    """Return which runs, (run,), meet all conditions `only`; None: there is no condition.

    A condition is `pooled`, `unpooled`, `group=NAME` or `kind=NAME`. A run that `info` does not list was not
    pooled and is a group of its own. Runs at the places `always` are kept in any case.
    """
    conditions = [only] if isinstance(only, str) else only
    if not conditions:
        return None
    if info is None:
        raise DataError(
            f"--only {conditions[0]}: nothing says which runs were pooled and who submitted them;"
            " give a table of the runs with info (--info FILE)"
        )
    rows = listed_rows(runs, tags, info)
    known = {
        "pooled": ["pooled" if row and row.pooled else "unpooled" for row in rows],
        "group": groups_of(runs, rows),
        "kind": [row.kind if row else "" for row in rows],
    }
    kept = np.ones(len(runs), np.bool_)
    for condition in conditions:
        name, value = split_condition(condition)
        meets = np.array([one.casefold() == value.casefold() for one in known[name]], np.bool_)
        if not meets.any():
            there = sorted({one for one in known[name] if one})
            raise DataError(
                f"--only {condition}: none of the {plural(len(runs), 'run')};"
                f" expected {name}={' or '.join(map(quote, there[:SHOWN]))}{' or ...' * (len(there) > SHOWN)}"
                if name != "pooled"
                else f"--only {condition}: none of the {plural(len(runs), 'run')} is listed as {condition}"
            )
        kept &= meets
    if not kept.any():
        raise DataError(f"--only {' and '.join(conditions)}: no run meets all conditions; leave one out")
    kept[list(always)] = True
    return kept


def split_condition(text: str) -> tuple[str, str]:
    """Return the property and the value that a condition on runs asks for."""
    name, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    name = name.lower()
    if name in ("pooled", "unpooled") and not equals:
        return "pooled", name
    if name not in ("group", "kind") or not (equals and value):
        raise DataError(f"--only {text!r}: expected pooled, unpooled, group=NAME or kind=NAME")
    return name, value
