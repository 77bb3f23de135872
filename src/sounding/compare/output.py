"""What `sounding compare` shows: tables, a pair in words, files beside them, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sounding.compare.asking import Echo, counts_only, plan_notes, with_plan
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    Options,
    by_suffix,
    remark,
    table_width,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.compare.designs import Designs
    from sounding.compare.result import Comparison
    from sounding.render.tables import Table

Found = list[tuple[str, "Comparison"]]  # by the name of the collection


def write_comparison(found: Found, echo: Echo | None, options: Options) -> list[Table]:
    """Print or write what was found; gives the tables, none for a pair in words."""
    if options["pair"] and options["format_name"] in ("table", "md"):
        from sounding.compare.pair_account import explain, explain_in_markdown

        told = [*([] if echo is None else plan_notes(*echo)), *_more_notes(options)]
        rest: Options = {"more": told, "top": options["top"], "brief": not options["notes"]}
        if options["format_name"] == "md":
            text = explain_in_markdown(found[0][1], **rest)
        else:
            text = explain(found[0][1], width=table_width(options["output"]), **rest)
        write_text(text, options["output"])
        return []
    tables = with_plan(_tables(found, options), echo, options)
    write_tables(tables, options["format_name"], options["output"])
    return tables


def _tables(found: Found, options: Options) -> list[Table]:
    """The tables of the view that was asked for."""
    if options["matrix"]:
        tables = _matrix(found[0][1], options)
    elif counts_only(options):
        tables = _cases_by_depth(found, options)
    else:
        tables = _pairs(found, options)
    return _closed(tables, options) if options["format_name"] in PEOPLE else tables


def _matrix(comparison: Comparison, options: Options) -> list[Table]:
    from sounding.compare.cells import WIDEST_NAME
    from sounding.compare.tables import SIGNS_IN_LINE, matrix_tables, tidy_matrix

    if options["format_name"] not in PEOPLE:
        return [tidy_matrix(comparison)]
    widest, line = (WIDEST_NAME, SIGNS_IN_LINE) if options["format_name"] == "table" else (None, None)
    return matrix_tables(comparison, brief=not options["notes"], widest=widest, line=line)


def _pairs(found: Found, options: Options) -> list[Table]:
    from sounding.compare.cells import WIDEST_NAME
    from sounding.compare.tables import people_pairs, tidy_pairs_of

    if options["format_name"] not in PEOPLE:
        return tidy_pairs_of(found, options["top"])
    terminal = options["format_name"] == "table"
    return [
        people_pairs(
            comparison, options["top"], title=name if len(found) > 1 else None, full=not terminal,
            brief=not options["notes"], widest=WIDEST_NAME if terminal else None,
        )
        for name, comparison in found
    ]  # fmt: skip


def _cases_by_depth(found: Found, options: Options) -> list[Table]:
    from sounding.compare.depth_tables import case_tables, depth_tables, tidy_cases
    from sounding.compare.tables import notes
    from sounding.render.tables import first_said, with_notes

    if options["format_name"] not in PEOPLE:
        return [tidy_cases(found, options["top"])]
    tables = case_tables(found)
    for name, comparison in found:
        tables += depth_tables(comparison, name if len(found) > 1 else None, options["top"])
    told = [note for _, one in found for note in notes(one, intervals=False, brief=not options["notes"])]
    limits = [f"{name}: {limit}" if len(found) > 1 else limit for name, one in found for limit in one.limits]
    tables[0] = first_said(tables[0], limits)
    return [*tables[:-1], with_notes(tables[-1], told)]


def _closed(tables: list[Table], options: Options) -> list[Table]:
    """The tables, the last of which says how to see more notes."""
    last = tables[-1]
    return [*tables[:-1], replace(last, notes=[*last.notes, *_more_notes(options)])]


def _more_notes(options: Options) -> list[str]:
    return [] if options["notes"] else ["More on how to read this with --notes."]


def write_beside(comparison: Comparison, options: Options) -> None:
    """Write the list of documents and the chart, where they are asked for."""
    if options["documents"] is not None:
        from sounding.compare.tables import document_table

        table = document_table(comparison)
        write_tables([table], by_suffix(options["documents"], "csv"), options["documents"])
        remark(f"{options['documents']}: {table.height:,} documents", quiet=options["quiet"])
    if options["chart"] is not None:
        from sounding.compare.charts import chart_of
        from sounding.render.save import save

        save(chart_of(comparison, options["top"]), options["chart"])
        remark(f"chart: {options['chart']}", quiet=options["quiet"])


def beside(found: Found, tables: list[Table], options: Options) -> list[str]:
    """What formats without notes leave out: what to beware of, the test, the policies."""
    from sounding.compare.tables import how_tested, how_valued

    first = found[0][1]
    notes = [f"{name}: {note}" for name, one in found for note in (*one.limits, *one.notes)]
    if len(found) == 1:
        notes = list(tables[0].facts.get("notes", first.notes)) if tables else []
    told = [f"Test: {how_tested(first)}; seed {first.procedure.seed}."]
    if not options["matrix"] and not counts_only(options):
        told.append(f"Intervals, ci_low to ci_high: {first.performance_tests[0].interval}.")
    if options["pair"]:
        told.append("The explanation of the pair is in the formats table, md and json.")
    return [*notes, *(text[0].lower() + text[1:-1] for text in [*told, *how_valued(first)])]


def beside_design(found: Designs, tables: list[Table]) -> list[str]:
    """The same of a design."""
    how = f"correction {found.correction}; alpha {found.procedure.alpha:g}; seed {found.procedure.seed}"
    told = [f"power: that of a paired t test; {how}", f"policies: {found.policies.describe()}"]
    return [*tables[0].facts.get("notes", ()), *told]


def say_beside(texts: Sequence[str], echo: Echo | None, options: Options) -> None:
    """On stderr, what an output has no room for, or deviations from a plan that nobody might look up there.

    A deviation is said once to everybody who looks: with a table for people it stands below.
    """
    if options["pair"] and options["format_name"] == "latex" and not options["design"]:
        remark("the explanation of the pair is in the formats table, md and json", quiet=options["quiet"])
    if options["format_name"] in NO_NOTES:
        for text in [*texts, *([] if echo is None else [echo[0].describe()])]:
            remark(text, quiet=options["quiet"])
    seen = options["format_name"] in PEOPLE and options["output"] is None
    for deviation in [] if echo is None or seen else echo[0].check(echo[1]):
        click.echo(f"deviates from the plan: {deviation}", err=True)
