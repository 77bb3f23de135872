"""Write a report as an HTML page that needs no network, as Markdown, LaTeX or JSON."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sounding.render.html import html_table
from sounding.render.save import OPTIONS, POLICY, vega_scripts
from sounding.render.style import require_charts, unchecked
from sounding.render.tables import (
    SCHEMA_VERSION,
    UNKNOWN,
    Cell,
    Column,
    Table,
    columns_of,
    json_text,
    latex_text,
    markdown_text,
    render,
    shown_cell,
    stands_left,
)
from sounding.report.first_screen import FirstScreen
from sounding.report.result import Report
from sounding.report.sections import Drawn, ReportPage, ReportSection, Shown, page_of
from sounding.report.terms import explain, explained

FOLDER = Path(__file__).parent
DIGITS = 6  # significant digits of downloads
TONES = {"yes": "sure", "with care": "likely", "no": "open"}  # answer -> color
LEVEL = 7  # of compression: 9 takes four times as long and saves a fiftieth
MOST_ROWS = 5000  # a longer table is downloaded from its rows, not from a packed file
DATA = "data"  # prefix of the names of embedded data


def render_report(report: Report, format_name: str, sections: Sequence[str] | None = None) -> str:
    """Return a report as html, md, latex or json; `sections` None: those that it was made for."""
    return FORMATS[format_name](page_of(report, sections))


# -- the page --------------------------------------------------------------------------------------


def _html(report: ReportPage) -> str:
    """Return one self-contained page; charts and long tables are compressed."""
    require_charts("jinja2", "writing a report")
    require_charts("vl_convert", "writing a report")
    from jinja2 import Environment, FileSystemLoader

    packed: dict[str, str] = {}
    sections = [_view(section, packed) for section in report.sections]
    explorer = ""
    if report.explorer is not None:
        explorer = "explorer-data"
        packed[explorer] = _packed(json.dumps(report.explorer, ensure_ascii=False))
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        report=report,
        screens=report.screens,
        fitness=[
            (claim, answer, TONES.get(answer, ""))
            for claim, answer in report.fitness
            if answer != "not known"
        ],
        sections=sections,
        explorer=explorer,
        packed=packed,
        policy=POLICY,
        options=json.dumps(OPTIONS),
        style=(FOLDER / "style.css").read_text("utf-8"),
        script=(FOLDER / "script.js").read_text("utf-8"),
        libraries=vega_scripts() if _has_charts(report) else "",
    )


def _has_charts(report: ReportPage) -> bool:
    return any(isinstance(block, Drawn) for section in report.sections for block in section.blocks)


def _view(section: ReportSection, packed: dict[str, str]) -> dict[str, Any]:
    """Return a section for the template; add what a script shows to `packed`."""
    blocks = []
    for number, block in enumerate(section.blocks):
        identifier = f"{section.name}-{number}"
        name = f"{DATA}-{section.name}-{_plain(block.name)}"
        if block.data.height <= MOST_ROWS:  # for longer tables, a script makes the file from the rows
            packed[name] = _packed(csv_text(block.data))
        else:
            name = ""
        shared = {"id": identifier, "download": name, "file": f"{_plain(block.name)}.csv"}
        blocks.append(shared | (_chart_view(block, identifier, packed) if isinstance(block, Drawn)
                                else _table_view(block, identifier, packed)))  # fmt: skip
    return {"name": section.name, "title": section.title, "lead": section.lead, "missing": section.missing,
            "sentences": section.sentences, "blocks": blocks}  # fmt: skip


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
    """Return the columns of a long table, with the cells to show and the values to sort by."""
    exact = {column.name: column for column in data.columns}
    shown = [(column, [shown_cell(cell, column) for cell in column.cells]) for column in whole.columns]
    return [
        {
            "name": column.name, "left": stands_left(column), "cells": cells,
            "values": None if all(map(_is_number, cells))
            else _order_of(exact.get(ORDERED_BY.get(column.name, column.name))),
        }
        for column, cells in shown
    ]  # fmt: skip


def _is_number(text: str) -> bool:
    """Return whether a script can sort the text as a number; unknown values always come last."""
    return text == UNKNOWN or text.removeprefix("-").replace(".", "", 1).isdecimal()


ORDERED_BY = {
    "interval": "ci_low", "adjusted p": "p_adjusted", "p": "p_adjusted",
    "assessment": "assessment_difference",
}  # fmt: skip


def _order_of(column: Column | None) -> list[Cell] | None:
    """Return the rounded numbers to sort a column by; None to sort it by its text."""
    if column is None or not any(isinstance(cell, float) for cell in column.cells):
        return None
    return [_rounded(cell) for cell in column.cells]


def _chart_view(block: Drawn, identifier: str, packed: dict[str, str]) -> dict[str, Any]:
    """Return a chart for the template; its title is text, which wraps and which screen readers can read."""
    specification = unchecked(block.make)
    title = specification.pop("title")
    packed[f"{identifier}-chart"] = _packed(json.dumps(specification))
    return {"kind": "chart", "title": title["text"], "notes": title.get("subtitle", []),
            "specification": f"{identifier}-chart"}  # fmt: skip


def _plain(name: str) -> str:
    """Return a name in a form that suits files and identifiers."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name).strip("-")


def _packed(text: str) -> str:
    """Return the text compressed and base64-encoded; the result is the same each time."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), LEVEL, mtime=0)).decode()


def csv_text(table: Table) -> str:
    """Return the rows of a table as CSV, rounded to six significant digits."""
    rounded = [Column(column.name, [_rounded(cell) for cell in column.cells]) for column in table.columns]
    return render([Table(rounded)], "csv")


def _rounded(cell: Cell) -> Cell:
    if not isinstance(cell, float):
        return cell
    return float(f"{cell:.{DIGITS}g}") if math.isfinite(cell) else None


# -- for papers and programs -----------------------------------------------------------------------


def leaderboard(screen: FirstScreen) -> Table:
    """Return the leaderboard of one measure as a table for papers and programs."""
    rows = [
        (one.run, one.value, one.low, one.high, one.best or None, one.worst or None, one.judged,
         " ".join(map(str, one.brackets)) or None, one.against or None)
        for one in screen.standings
    ]  # fmt: skip
    names = (
        "run",
        "value",
        "ci_low",
        "ci_high",
        "best_rank",
        "worst_rank",
        "judged",
        "tied_groups",
        "against",
    )
    columns = [column for column in columns_of(names, rows) if not all(map(_unknown, column.cells))]
    return Table(
        columns, title=f"Leaderboard by {screen.measure}", notes=[screen.note] if screen.note else []
    )


def _unknown(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _lines(screen: FirstScreen) -> list[str]:
    """Return the paragraphs of the first screen, without the leaderboard."""
    facts = "; ".join(f"{fact.label}: {fact.value}" for fact in screen.facts)
    verdict = " ".join(filter(None, (screen.answer, screen.reason, screen.caution)))
    return [
        verdict,
        f"What is missing: {facts}.",
        f"What to do next: {screen.next_step.head} {screen.next_step.why}",
    ]


def _markdown(report: ReportPage) -> str:
    lines = [f"# {report.title}", ""]
    for screen in report.screens:
        lines += [f"## By {screen.measure}", "", *_apart(map(markdown_text, _lines(screen)))]
        lines += [f"    {screen.next_step.command}", ""] if screen.next_step.command else []
        lines.append(render([leaderboard(screen)], "md"))
    for section in report.sections:
        lines += [f"## {section.title}", "", section.lead, "", *_apart(map(markdown_text, section.missing))]
        lines += [f"- {markdown_text(text)}" for text in section.sentences] + [""] * bool(section.sentences)
        lines += [render([block.table], "md") for block in _tables(section)]
        if section.name == "methods" and report.command:
            lines += [f"    {report.command}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _latex(report: ReportPage) -> str:
    lines = [f"% {report.title}: needs \\usepackage{{booktabs}} and \\usepackage{{longtable}}"]
    for screen in report.screens:
        lines += [f"\\section{{By {latex_text(screen.measure)}}}", *_apart(map(latex_text, _lines(screen)))]
        lines.append(render([leaderboard(screen)], "latex"))
    for section in report.sections:
        lines += [f"\\section{{{latex_text(section.title)}}}", latex_text(section.lead)]
        lines += ["", *_apart(map(latex_text, (*section.missing, *section.sentences)))]
        for block in _tables(section):
            if block.table.title:
                lines.append(f"\\paragraph{{{latex_text(block.table.title)}}}")
            lines.append(render([block.table], "latex"))
        if section.name == "methods" and report.command:
            lines.append(f"\\begin{{verbatim}}\n{report.command}\n\\end{{verbatim}}")
    return "\n".join(lines) + "\n"


def _json(report: ReportPage) -> str:
    body: dict[str, Any] = {"schema": f"sounding/report/{SCHEMA_VERSION}", **report.facts}
    body["summary"] = [
        {
            "measure": screen.measure, "answer": screen.answer, "reason": screen.reason,
            "caution": screen.caution, "missing": {fact.label: fact.value for fact in screen.facts},
            "next_step": asdict(screen.next_step), "leaderboard": leaderboard(screen).rows(),
        }
        for screen in report.screens
    ]  # fmt: skip
    body["good_for"] = [{"claim": claim, "answer": answer} for claim, answer in report.fitness]
    body["sections"] = {
        section.name: {
            "title": section.title, "missing": list(section.missing), "sentences": list(section.sentences),
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
