"""A report as a page that needs no network, as Markdown, as LaTeX, or as JSON."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sounding.render.html import html_table
from sounding.render.save import OPTIONS, POLICY, vega_scripts
from sounding.render.style import require_charts
from sounding.render.tables import (
    Cell,
    Column,
    Table,
    json_text,
    latex_text,
    markdown_text,
    render,
    shown_cell,
    stands_left,
)
from sounding.report.result import Report
from sounding.report.sections import Drawn, ReportPage, ReportSection, Shown, page_of
from sounding.report.sentences import ABOUT
from sounding.report.terms import explain, explained

FOLDER = Path(__file__).parent
DIGITS = 6  # significant ones of what a page has for download
DATA = "data"  # what the names of embedded data begin with


def render_report(report: Report, format_name: str, sections: Sequence[str] | None = None) -> str:
    """Write a report as html, md, latex or json; `sections` None: those that it was made for."""
    return FORMATS[format_name](page_of(report, sections))


# -- the page --------------------------------------------------------------------------------------


def _html(report: ReportPage) -> str:
    """One file with everything in it: tables and sentences as they stand, charts and long tables packed."""
    require_charts("jinja2", "writing a report")
    require_charts("vl_convert", "writing a report")
    from jinja2 import Environment, FileSystemLoader

    packed: dict[str, str] = {}
    sections = [_view(section, packed) for section in report.sections]
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        report=report,
        summary=_grouped(report),
        sections=sections,
        packed=packed,
        policy=POLICY,
        options=json.dumps(OPTIONS),
        style=(FOLDER / "style.css").read_text("utf-8"),
        script=(FOLDER / "script.js").read_text("utf-8"),
        libraries=vega_scripts() if _has_charts(report) else "",
    )


def _has_charts(report: ReportPage) -> bool:
    return any(isinstance(block, Drawn) for section in report.sections for block in section.blocks)


def _grouped(report: ReportPage) -> list[tuple[str, Sequence[str]]]:
    """The sentences under their headings."""
    return [(ABOUT[about], texts) for about, texts in report.sentences.items() if texts]


def _view(section: ReportSection, packed: dict[str, str]) -> dict[str, Any]:
    """A section as the template wants it; what a script shows goes among the packed texts."""
    blocks = []
    for number, block in enumerate(section.blocks):
        identifier = f"{section.name}-{number}"
        name = f"{DATA}-{section.name}-{_plain(block.name)}"
        packed[name] = _packed(csv_text(block.data))
        shared = {"id": identifier, "download": name, "file": f"{_plain(block.name)}.csv"}
        blocks.append(shared | (_chart_view(block, identifier, packed) if isinstance(block, Drawn)
                                else _table_view(block, identifier, packed)))  # fmt: skip
    return {"name": section.name, "title": section.title, "lead": section.lead, "missing": section.missing,
            "blocks": blocks}  # fmt: skip


def _table_view(block: Shown, identifier: str, packed: dict[str, str]) -> dict[str, Any]:
    view = {
        "kind": "table",
        "title": block.table.title,
        "html": html_table(block.table, explain=explain, values=True),
        "notes": [note for note in block.table.notes if note],
        "terms": explained(block.table),
        "rows": "",
    }
    if block.whole is not None and block.whole.height > block.table.height:
        view["rows"] = f"{identifier}-rows"
        packed[f"{identifier}-rows"] = _packed(
            json.dumps(_columns(block.whole, block.data), ensure_ascii=False)
        )
    return view


def _columns(whole: Table, data: Table) -> list[dict[str, Any]]:
    """The columns of a long table: what is shown, and by what a script puts the rows in order."""
    exact = {column.name: column for column in data.columns}
    return [
        {
            "name": column.name, "left": stands_left(column),
            "cells": [shown_cell(cell, column) for cell in column.cells],
            "values": _order_of(exact.get(ORDERED_BY.get(column.name, column.name))),
        }
        for column in whole.columns
    ]  # fmt: skip


ORDERED_BY = {
    "interval": "ci_low", "adjusted p": "p_adjusted", "p": "p_adjusted",
    "assessment": "assessment_difference",
}  # fmt: skip


def _order_of(column: Column | None) -> list[Cell] | None:
    """The numbers of a column, rounded; None: it is in order by its texts."""
    if column is None or not any(isinstance(cell, float) for cell in column.cells):
        return None
    return [_rounded(cell) for cell in column.cells]


def _chart_view(block: Drawn, identifier: str, packed: dict[str, str]) -> dict[str, Any]:
    """The title goes above the chart as text, which breaks on a small screen and can be read aloud."""
    specification = block.make().to_dict()
    title = specification.pop("title")
    packed[f"{identifier}-chart"] = _packed(json.dumps(specification))
    return {"kind": "chart", "title": title["text"], "notes": title.get("subtitle", []),
            "specification": f"{identifier}-chart"}  # fmt: skip


def _plain(name: str) -> str:
    """A name as files and identifiers have it."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name).strip("-")


def _packed(text: str) -> str:
    """Compressed text in letters that no page can misread; the same text always gives the same letters."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()


def csv_text(table: Table) -> str:
    """The rows of a table for a spreadsheet, rounded to six significant digits."""
    rounded = [Column(column.name, [_rounded(cell) for cell in column.cells]) for column in table.columns]
    return render([Table(rounded)], "csv")


def _rounded(cell: Cell) -> Cell:
    if not isinstance(cell, float):
        return cell
    return float(f"{cell:.{DIGITS}g}") if math.isfinite(cell) else None


# -- for papers and programs -----------------------------------------------------------------------


def _markdown(report: ReportPage) -> str:
    lines = [f"# {report.title}", ""]
    for title, texts in _grouped(report):
        lines += [f"## {title}", "", *(f"- {markdown_text(text)}" for text in texts), ""]
    for section in report.sections:
        lines += [f"## {section.title}", "", section.lead, "", *_apart(map(markdown_text, section.missing))]
        lines += [render([block.table], "md") for block in _tables(section)]
        if section.name == "reproduce":
            lines += [f"    {report.command}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _latex(report: ReportPage) -> str:
    lines = [f"% {report.title}: needs \\usepackage{{booktabs}} and \\usepackage{{longtable}}"]
    for title, texts in _grouped(report):
        items = [f"  \\item {latex_text(text)}" for text in texts]
        lines += [f"\\section{{{latex_text(title)}}}", "\\begin{itemize}", *items, "\\end{itemize}"]
    for section in report.sections:
        lines += [f"\\section{{{latex_text(section.title)}}}", latex_text(section.lead)]
        lines += _apart([latex_text(reason) for reason in section.missing])
        for block in _tables(section):
            if block.table.title:
                lines.append(f"\\paragraph{{{latex_text(block.table.title)}}}")
            lines.append(render([block.table], "latex"))
        if section.name == "reproduce":
            lines.append(f"\\begin{{verbatim}}\n{report.command}\n\\end{{verbatim}}")
    return "\n".join(lines) + "\n"


def _json(report: ReportPage) -> str:
    body: dict[str, Any] = dict(report.facts)
    body["summary"] = [
        {"about": about, "text": text} for about, texts in report.sentences.items() for text in texts
    ]
    body["sections"] = {
        section.name: {
            "title": section.title, "missing": list(section.missing),
            "tables": {block.name: block.data.rows() for block in _tables(section)},
        }
        for section in report.sections
    }  # fmt: skip
    return json_text(body, indent=1)


def _tables(section: ReportSection) -> Iterator[Shown]:
    return (block for block in section.blocks if isinstance(block, Shown))


def _apart(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in (text, "")]


FORMATS: Mapping[str, Callable[[ReportPage], str]] = {
    "html": _html, "md": _markdown, "latex": _latex, "json": _json,
}  # fmt: skip
