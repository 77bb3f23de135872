"""Run `sounding measures`: look measures up in the registry and describe them."""

from __future__ import annotations

from collections.abc import Sequence

from sounding.core.text import plural, wrap_lines
from sounding.explain.catalog import claims, parameters, spelling
from sounding.explain.command import MeasuresOptions
from sounding.measures import Measure, definitions, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.registry import TWINS, definition
from sounding.measures.trec import trec_name, trec_names_of
from sounding.render.tables import Answer, Column, Table
from sounding.terminal.options import prose_width, write_answer, write_tables, write_text

RESIDUALS = (0.1, 0.01, 0.001)
WIDTH = 100  # width of a description
BASES = {
    "recall": " (compares with all relevant documents, so it depends on how many were found)",
    "utility": " (needs only the documents in the ranking)",
}
ASSESSMENT = (
    "Assessment (Baillie, Azzopardi & Ruthven): every judged document counts as relevant. It says how",
    "completely the ranking was judged, not how good it is.",
)
TWIN_SUMMARIES = {
    "A_p": "Share of the first k documents that were judged.",
    "A_r": "Share of the judged documents that are among the first k.",
    "AA": "Mean of the judged shares at the ranks of the judged documents.",
}
NOTES = (
    "A_p, A_r and AA are P, R and AP with assessed=True: every judged document counts as relevant.",
    "Every measure takes assessed=True, and judged_only=True, which removes unjudged documents first.",
)


def run(options: MeasuresOptions) -> None:
    """Print the list of all measures, or describe some."""
    measures, residuals = parse_measures(options.names), tuple(dict.fromkeys(options.max_residual))
    if measures and options.format_name == "table":
        width = min(prose_width(options.output), WIDTH)
        texts = [_description(measure, residuals, width) for measure in measures]
        write_text("\n".join(texts), options.output)
    elif measures:
        write_tables([_details(measures, residuals)], options.format_name, options.output)
    else:
        write_answer(_overview(options), options)


def _overview(options: MeasuresOptions) -> Answer:
    """Return a row for every measure; the assessment measures of the papers come last."""
    known = list(definitions())
    names = [spelling(one) for one in known]
    for name, twin in TWINS.items():
        names.append(spelling(definition(name)).replace(name, twin, 1))
    columns = [
        Column("measure", names),
        Column("what it gives", [*(one.summary for one in known), *TWIN_SUMMARIES.values()]),
    ]
    if options.format_name != "table":
        own = [*known, *map(definition, TWINS)]
        columns.insert(1, Column("parameters", [", ".join(parameters(one)) for one in own]))
        trec = [*(", ".join(trec_names_of(one.name)) for one in known), *("" for _ in TWINS)]
        columns.append(Column("trec_eval", trec))
    headline = f"{plural(len(names), 'measure')}; @k marks a cut-off, [@k] one that can be left out."
    notes = () if options.quiet else NOTES
    return Answer(headline, [Table(columns)], notes, "sounding measures nDCG@10")


def _summary(measure: Measure) -> str:
    """Describe a measure in one line."""
    if measure.get("assessed") and measure.name in TWINS:
        return TWIN_SUMMARIES[TWINS[measure.name]]
    return measure.definition.summary


def _details(measures: Sequence[Measure], residuals: Sequence[float]) -> Table:
    """Return a row for each measure, with the cut-off k for each wanted residual."""
    known = [measure.definition for measure in measures]
    trec = [trec_name(measure) for measure in measures]
    depths = [_depths(measure, residuals) for measure in measures]
    columns = [
        Column("measure", list(map(str, measures))),
        Column("parameters", [", ".join(parameters(one)) for one in known]),
        Column("what it gives", list(map(_summary, measures))),
        Column("basis", [one.basis for one in known]),
        Column("claims", [", ".join(claims(one)) for one in known]),
        Column("trec_eval", [n if n != str(m) else "" for n, m in zip(trec, measures, strict=True)]),
    ]
    return Table([*columns, *(Column(f"k for {x}", [each[x] for each in depths]) for x in residuals)])


def _description(measure: Measure, residuals: Sequence[float], width: int) -> str:
    """Return name, definition, parameters and properties of a measure."""
    known = measure.definition
    lines = [_summary(measure)]
    if measure.get("assessed"):
        lines.append(" ".join(ASSESSMENT))
        lines += [f"It is {measure.name} with assessed=True."] if measure.name in TWINS else []
    lines += _paragraphs(known.details)
    lines.append(f"parameters: {', '.join(parameters(known)) or 'none'}")
    lines.append(f"kind: {known.basis}{BASES.get(known.basis, '')}")
    properties = ", ".join(claims(known))
    lines += [f"properties: {properties} (see docs/measures.md)"] if properties else []
    if trec_name(measure) != str(measure):
        lines.append(f"trec_eval: {trec_name(measure)}")
    if measure.name in ("RBP", "ERR") or residuals:
        depths = _depths(measure, residuals or RESIDUALS)
        shown = ", ".join(f"{wanted:g} at k = {depth:,}" for wanted, depth in depths.items())
        lines.append(f"documents beyond rank k add at most: {shown}")
    wrapped: list[str] = []
    for line in lines:
        wrapped += wrap_lines(line, width, "  ", "    " if line.startswith("-") else "  ")
    return "\n".join([str(measure), *wrapped]) + "\n"


def _paragraphs(text: str) -> list[str]:
    """Join the wrapped lines of a docstring; items of a list and sentences that end a line stay apart."""
    joined: list[str] = []
    for line in filter(None, text.splitlines()):
        if joined and not line.startswith("- ") and joined[-1][-1] not in ".:;":
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _depths(measure: Measure, residuals: Sequence[float]) -> dict[float, int]:
    """Return the cut-off k for each residual; for ERR, a `max_rel` makes it smaller."""
    highest = measure.get("max_rel") if measure.name == "ERR" else None
    return {wanted: depth_for_residual(measure, wanted, highest=highest) for wanted in residuals}
