"""Write the page of the papers' results from their table: `python -m tests.reproduction docs/reproduction.md`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from sounding.explain.layers import replace_between

TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ROWS: list[dict[str, Any]] = [row for paper in TABLE["paper"] for row in paper["row"]]
BEGIN = "<!-- made by python -m tests.reproduction: begin -->"
END = "<!-- end -->"


def update(page: str, source: str = "page") -> str:
    """Return the page with its results written anew."""
    parts = ["```sh", TABLE["prepare"].strip(), "```"]
    for paper in TABLE["paper"]:
        parts += ["", f"## {paper['title']}", "", paper["source"], ""]
        parts += [line for row in paper["row"] for line in _block(row)]
        parts += [paper["after"]]
    return replace_between(page, BEGIN, END, "\n".join([*parts, ""]), source)


def _block(row: dict[str, Any]) -> list[str]:
    return [
        f"**{row['id']}. {row['result'][0].upper()}{row['result'][1:]}** ([{row['more'].removesuffix('.md')}]({row['more']}))",
        "",
        f"| the paper | sounding ({_runs(row)}) |",
        "|---|---|",
        f"| {row['paper']} | {row['here']} |",
        "",
        "```sh",
        row["command"],
        "```",
        "",
    ]


def _runs(row: dict[str, Any]) -> str:
    """Say which runs the figures of a row are of."""
    return {
        "none": "no runs",
        "eight": "the eight runs",
        "71 pooled": "the 71 pooled runs",
        "all 129": "all 129 runs",
    }.get(row["runs"], row["runs"])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(update(page.read_text("utf-8"), name), "utf-8")
