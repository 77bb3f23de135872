"""The info file of a collection: who submitted each run, and which runs went into the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.quoting import quoted
from sounding.data.sources import Content, read_content
from sounding.wording import plural

COLUMNS = ("run", "group", "kind", "priority", "pooled")
NEEDED = ("run", "group", "pooled")
_TRUTH: Mapping[str, bool] = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Who submitted a run and whether it was pooled: one row of an info file."""

    run: str
    group: str
    kind: str  # automatic or manual
    priority: int  # 1 is the run that its group wanted judged first
    pooled: bool


def read_run_info(source: str | Path) -> dict[str, RunInfo]:
    """Run -> what is known of it, from a table with the columns run, group, kind, priority and pooled.

    Columns may stand in any order, others are passed over; kind and priority may be missing or empty (no
    kind, 0). Pooled is yes or no.
    """
    content = read_content(source)
    problems = Problems(content.source)
    info = parse_run_info(content, problems)
    problems.refuse()
    return info


def is_run_info(names: Sequence[str]) -> bool:
    """Whether a first line names the columns that run info must have."""
    return {name.lower() for name in names}.issuperset(NEEDED)


def parse_run_info(content: Content, problems: Problems) -> dict[str, RunInfo]:
    """What bytes tell of runs; what is wrong is noted, and such lines are left out."""
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
            problems.note(line, f"pooled is {quoted(row['pooled'])}; expected yes or no")
        elif not (priority.isascii() and priority.isdigit()):
            problems.note(line, f"priority is {quoted(priority)}; expected a whole number")
        elif row["run"] in found:
            problems.note(line, f"run {quoted(row['run'])} is listed twice")
        else:
            found[row["run"]] = RunInfo(
                run=row["run"], group=row["group"], kind=row.get("kind", ""), priority=int(priority),
                pooled=pooled,
            )  # fmt: skip
    return found
