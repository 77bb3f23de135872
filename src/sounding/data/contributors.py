"""What is known of runs beside their documents: who submitted them, and which went into the pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.errors import FormatError

COLUMNS = ("run", "group", "kind", "priority", "pooled")
_TRUTH: Mapping[str, bool] = {
    "yes": True, "true": True, "1": True, "y": True, "no": False, "false": False, "0": False, "n": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributor:
    """One run as the organisers list it."""

    group: str  # who submitted it; empty: not told
    kind: str  # automatic, manual and so on
    priority: str  # the group's order among its own runs
    pooled: bool  # whether its top documents were judged


def read_contributors(source: str | Path) -> dict[str, Contributor]:
    """Run -> what is known of it, from a table with the columns run and pooled, and perhaps others.

    The first line names the columns: run, group, kind, priority, pooled (yes or no), in any order.
    """
    content = read_content(source)
    problems = Problems(content.source)
    grid = split_grid(content, guess_separator(content), problems)
    problems.refuse()
    header = [name.lower() for name in grid.texts(0)] if len(grid.first) else []
    if "run" not in header or "pooled" not in header:
        raise FormatError(
            content.source, 1 if header else None,
            f"columns {', '.join(header) or 'none'}; expected a header with run and pooled,"
            f" such as {' '.join(COLUMNS)}",
        )  # fmt: skip
    found: dict[str, Contributor] = {}
    for record in range(1, len(grid.first)):
        line = int(grid.lines[record])
        cells = grid.texts(record)
        if len(cells) != len(header):
            problems.note(line, f"{len(cells)} columns; expected {len(header)}")
            continue
        row = dict(zip(header, cells, strict=True))
        if row["pooled"].lower() not in _TRUTH:
            problems.note(line, f"pooled is {row['pooled']!r}; expected yes or no")
            continue
        if row["run"] in found:
            problems.note(line, f"run {row['run']!r} is listed twice")
        found[row["run"]] = Contributor(
            group=row.get("group", ""), kind=row.get("kind", ""), priority=row.get("priority", ""),
            pooled=_TRUTH[row["pooled"].lower()],
        )  # fmt: skip
    problems.refuse()
    return found
