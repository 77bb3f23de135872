"""`sounding measures`: what can be measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sounding.commands.options import output_options, write_tables, write_text

if TYPE_CHECKING:
    from sounding.measures import Measure


RESIDUALS = (0.1, 0.01, 0.001)


@click.command("measures", short_help="Names, parameters and definitions of measures.")
@click.argument("names", nargs=-1, metavar="[MEASURE]...")
@click.option(
    "--residual",
    type=float,
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
    from sounding.measures import definitions, parse_measures
    from sounding.measures.catalogue import parameters, spelling
    from sounding.measures.trec import trec_names_of
    from sounding.report.tables import Column, Table

    if names:
        write_text("\n".join(_explained(measure, residual) for measure in parse_measures(names)), output)
        return
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
    write_tables([Table(columns, notes=notes)], format_name, output)


def _explained(measure: Measure, residuals: tuple[float, ...]) -> str:
    """A measure in a few lines."""
    from sounding.bounds.utility import depth_for_residual
    from sounding.measures.catalogue import claims, parameters
    from sounding.measures.trec import trec_name

    known = measure.definition
    lines = [str(measure), f"  {known.summary}"]
    lines += [f"  {line}" for line in known.details.splitlines() if line]
    lines.append(f"  parameters: {', '.join(parameters(known)) or 'none'}")
    lines.append(f"  {known.basis}-based; {', '.join(claims(known)) or 'no claims'}")
    if trec_name(measure) != str(measure):
        lines.append(f"  trec_eval: {trec_name(measure)}")
    if measure.name in ("RBP", "ERR") or residuals:
        depths = {wanted: depth_for_residual(measure, wanted) for wanted in residuals or RESIDUALS}
        told = ", ".join(f"{wanted:g} at k = {depth:,}" for wanted, depth in depths.items())
        lines.append(f"  what lies beyond k can add at most: {told}")
    return "\n".join(lines) + "\n"
