"""What `sounding measures` does: look measures up in the registry, and write what it says of them."""

from __future__ import annotations

from collections.abc import Sequence

from sounding.explain.catalog import claims, parameters, spelling
from sounding.explain.command import MeasuresOptions
from sounding.measures import Measure, definitions, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.trec import trec_name, trec_names_of
from sounding.render.tables import Column, Table
from sounding.terminal.options import write_tables, write_text

RESIDUALS = (0.1, 0.01, 0.001)
NOTE = "All take judged_only=True and assessed=True; `sounding measures NAME` tells more."


def run(options: MeasuresOptions) -> None:
    """Print the list of all measures, or what there is to say of some."""
    measures, residuals = parse_measures(options.names), tuple(dict.fromkeys(options.max_residual))
    if measures and options.format_name == "table":
        write_text("\n".join(_description(measure, residuals) for measure in measures), options.output)
        return
    table = _details(measures, residuals) if measures else _overview(options)
    write_tables([table], options.format_name, options.output)


def _overview(options: MeasuresOptions) -> Table:
    """Every measure there is, a row each."""
    known = list(definitions())
    columns = [
        Column("measure", [spelling(one) for one in known]),
        Column("what it gives", [one.summary for one in known]),
    ]
    if options.format_name != "table":
        columns.insert(1, Column("parameters", [", ".join(parameters(one)) for one in known]))
        columns.append(Column("trec_eval", [", ".join(trec_names_of(one.name)) for one in known]))
    return Table(columns, notes=() if options.quiet else (NOTE,))


def _details(measures: Sequence[Measure], residuals: Sequence[float]) -> Table:
    """What is said of each measure, a row each; with the k of every residual that is wanted."""
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


def _description(measure: Measure, residuals: Sequence[float]) -> str:
    """A measure in a few lines."""
    known = measure.definition
    lines = [str(measure), f"  {known.summary}"]
    lines += [f"  {line}" for line in known.details.splitlines() if line]
    lines.append(f"  parameters: {', '.join(parameters(known)) or 'none'}")
    lines.append(f"  {known.basis}-based; {', '.join(claims(known)) or 'no claims'}")
    if trec_name(measure) != str(measure):
        lines.append(f"  trec_eval: {trec_name(measure)}")
    if measure.name in ("RBP", "ERR") or residuals:
        depths = _depths(measure, residuals or RESIDUALS)
        shown = ", ".join(f"{wanted:g} at k = {depth:,}" for wanted, depth in depths.items())
        lines.append(f"  what lies beyond k can add at most: {shown}")
    return "\n".join(lines) + "\n"


def _depths(measure: Measure, residuals: Sequence[float]) -> dict[float, int]:
    """The k for each residual; a scale that ERR names itself makes it sharper."""
    highest = measure.get("max_rel") if measure.name == "ERR" else None
    return {wanted: depth_for_residual(measure, wanted, highest=highest) for wanted in residuals}
