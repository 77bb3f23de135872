"""`sounding measures`: what can be measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sounding.terminal.options import output_options, write_tables, write_text

if TYPE_CHECKING:
    from sounding.measures import Measure
    from sounding.render.tables import Table


RESIDUALS = (0.1, 0.01, 0.001)


@click.command("measures", short_help="Names, parameters and definitions of measures.")
@click.argument("names", nargs=-1, metavar="[MEASURE]...")
@click.option(
    "--residual",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    multiple=True,
    metavar="X",
    help="The k beyond which documents can add no more than X (RBP, ERR).",
)
@output_options()
def command(
    names: tuple[str, ...], residual: tuple[float, ...], format_name: str, output: Path | None, quiet: bool
) -> None:
    """List all measures, or explain each MEASURE.

    A MEASURE may be spelled as ir_measures, trec_eval or ranx do.

    \b
    sounding measures
    sounding measures nDCG@10 map_cut.100 official
    sounding measures 'RBP(p=0.95)' --residual 0.01
    """  # noqa: D301 - click wants the control character
    from sounding.measures import parse_measures

    residual = tuple(dict.fromkeys(residual))
    if residual and not names:
        raise click.UsageError("--residual asks for a MEASURE, such as 'RBP(p=0.95)' or ERR")
    if not names:
        write_tables([_listed(format_name, quiet)], format_name, output)
    elif format_name == "table":
        write_text("\n".join(_explained(measure, residual) for measure in parse_measures(names)), output)
    else:
        write_tables([_tabulated(parse_measures(names), residual)], format_name, output)


def _listed(format_name: str, quiet: bool) -> Table:
    """Every measure there is, a row each."""
    from sounding.explain.catalog import parameters, spelling
    from sounding.measures import definitions
    from sounding.measures.trec import trec_names_of
    from sounding.render.tables import Column, Table

    known = list(definitions())
    columns = [
        Column("measure", [spelling(one) for one in known]),
        Column("what it gives", [one.summary for one in known]),
    ]
    if format_name != "table":
        columns.insert(1, Column("parameters", [", ".join(parameters(one)) for one in known]))
        columns.append(Column("trec_eval", [", ".join(trec_names_of(one.name)) for one in known]))
    notes = (
        ()
        if quiet
        else ("All take judged_only=True and assessed=True; `sounding measures NAME` tells more.",)
    )
    return Table(columns, notes=notes)


def _tabulated(measures: Sequence[Measure], residuals: tuple[float, ...]) -> Table:
    """What is said of each measure, a row each; with the k of every residual that is wanted."""
    from sounding.explain.catalog import claims, parameters
    from sounding.measures.trec import trec_name
    from sounding.render.tables import Column, Table

    known = [measure.definition for measure in measures]
    theirs = [trec_name(measure) for measure in measures]
    depths = [_depths(measure, residuals) for measure in measures]
    columns = [
        Column("measure", list(map(str, measures))),
        Column("parameters", [", ".join(parameters(one)) for one in known]),
        Column("what it gives", [one.summary for one in known]),
        Column("basis", [one.basis for one in known]),
        Column("claims", [", ".join(claims(one)) for one in known]),
        Column("trec_eval", [n if n != str(m) else "" for n, m in zip(theirs, measures, strict=True)]),
    ]
    return Table([*columns, *(Column(f"k for {x}", [each[x] for each in depths]) for x in residuals)])


def _explained(measure: Measure, residuals: tuple[float, ...]) -> str:
    """A measure in a few lines."""
    from sounding.explain.catalog import claims, parameters
    from sounding.measures.trec import trec_name

    known = measure.definition
    lines = [str(measure), f"  {known.summary}"]
    lines += [f"  {line}" for line in known.details.splitlines() if line]
    lines.append(f"  parameters: {', '.join(parameters(known)) or 'none'}")
    lines.append(f"  {known.basis}-based; {', '.join(claims(known)) or 'no claims'}")
    if trec_name(measure) != str(measure):
        lines.append(f"  trec_eval: {trec_name(measure)}")
    if measure.name in ("RBP", "ERR") or residuals:
        depths = _depths(measure, residuals or RESIDUALS)
        told = ", ".join(f"{wanted:g} at k = {depth:,}" for wanted, depth in depths.items())
        lines.append(f"  what lies beyond k can add at most: {told}")
    return "\n".join(lines) + "\n"


def _depths(measure: Measure, residuals: tuple[float, ...]) -> dict[float, int]:
    """The k for each residual; a scale that ERR names itself makes it sharper."""
    from sounding.measures.bounds.utility import depth_for_residual

    highest = measure.get("max_rel") if measure.name == "ERR" else None
    return {wanted: depth_for_residual(measure, wanted, highest=highest) for wanted in residuals}
