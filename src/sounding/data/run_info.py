"""The info file of a collection: who submitted each run, and which runs went into the pool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.quoting import quoted
from sounding.data.simulation import RunInfo
from sounding.data.sources import read_content
from sounding.errors import FormatError

COLUMNS = ("run", "group", "kind", "priority", "pooled")
NEEDED = ("run", "group", "pooled")
_TRUTH: Mapping[str, bool] = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_run_info(source: str | Path) -> dict[str, RunInfo]:
    """Run -> what is known of it, from a table with the columns run, group, kind, priority and pooled.

    Columns may stand in any order, others are passed over; kind and priority may be missing or empty (no
    kind, 0). Pooled is yes or no.
    """
    content = read_content(source)
    problems = Problems(content.source)
    grid = split_grid(content, guess_separator(content), problems)
    problems.refuse()
    header = [name.lower() for name in grid.texts(0)] if len(grid.first) else []
    lacking = [name for name in NEEDED if name not in header]
    if lacking:
        raise FormatError(
            content.source, 1 if header else None,
            f"no column {lacking[0]!r}; expected a first line with {', '.join(COLUMNS)}"
            " (kind and priority may be left out)",
        )  # fmt: skip
    found: dict[str, RunInfo] = {}
    for record in range(1, len(grid.first)):
        line, cells = int(grid.lines[record]), grid.texts(record)
        if len(cells) != len(header):
            problems.note(line, f"{len(cells)} columns; expected {len(header)}")
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
    problems.refuse()
    return found
