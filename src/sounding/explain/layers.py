"""Write the table of folders, by which may import which: `python -m sounding.explain.layers PAGE...`.

The table of folders in docs/how-it-works.md is made from this list and the folders' docstrings.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from sounding.core.errors import FormatError

# A folder imports only folders before it.
LAYERS = (
    "core", "data", "runs", "relevance", "measures", "statistics", "selection", "render", "terminal",
    "evaluate", "compare", "label", "estimate", "depth", "audit", "pool", "plan", "simulate", "calibrate",
    "agree", "track", "report", "check", "convert", "sample", "explain", "judge", "demo", "integrations",
)  # fmt: skip
BEGIN = "<!-- made by python -m sounding.explain.layers: begin -->"
END = "<!-- end -->"
SOURCE = Path(__file__).resolve().parents[1]


def replace_between(page: str, begin: str, end: str, made: str, source: str = "page") -> str:
    """Return the page with other text between two marks."""
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise FormatError(source, None, f"the lines {begin!r} and {end!r} mark where the tables go")
    return f"{before}{begin}\n\n{made}\n{end}{after}"


def update(page: str, source: str = "page") -> str:
    """Return the page with a new table of folders."""
    rows = [f"| `{name}/` | {_first_line(name)} |" for name in LAYERS]
    return replace_between(
        page, BEGIN, END, "\n".join(["| folder | what it does |", "|---|---|", *rows, ""]), source
    )


def _first_line(folder: str) -> str:
    docstring = ast.get_docstring(ast.parse((SOURCE / folder / "__init__.py").read_text())) or ""
    return docstring.partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(update(page.read_text("utf-8"), name), "utf-8")
