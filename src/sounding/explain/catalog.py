"""Describe every measure in tables made from the registry, for the page about measures and the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import Parameter
from itertools import groupby
from math import isinf

from sounding.measures.grammar import RANX
from sounding.measures.registry import Definition, definitions, has_expectation
from sounding.measures.trec import trec_names_of

# Measures that ir_measures has under the same name; a test compares the list with the package.
IR_MEASURES = frozenset(
    {
        "P", "R", "Success", "RR", "AP", "Rprec", "Bpref", "Accuracy", "Judged", "IPrec", "SetP",
        "SetRelP", "SetR", "SetF", "SetAP", "NumQ", "NumRet", "NumRel", "NumRelRet", "nDCG", "RBP",
        "ERR", "SDCG", "INSQ", "INST", "BPM", "NERR8", "NERR9", "NERR10", "NERR11", "Compat", "infAP",
        "alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "P_IA", "AP_IA", "StRecall",
    }
)  # fmt: skip
# Measures that tools compute differently; a test compares the list with docs/peers.md.
DIFFERENT = frozenset({"AP", "ERR", "RBP", "SetF", "nDCG"})
_HEADER = (
    "| measure | parameters | meaning | basis | claims | other tools |",
    "|---|---|---|---|---|---|",
)


def tables() -> str:
    """Return a heading and a table of measures for each family, in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    """Yield the lines of the tables."""
    for family, members in groupby(definitions(), key=lambda known: known.family):
        rows = list(members)
        title = (sys.modules[rows[0].kernel.__module__].__doc__ or family).split("\n", 1)[0]
        yield f"### {title.rstrip('.')}"
        yield ""
        yield from _HEADER
        for known in rows:
            yield _row(known)
        yield ""


def _row(known: Definition) -> str:
    cells = (
        f"`{spelling(known)}`",
        ", ".join(f"`{text}`" for text in parameters(known)),
        known.summary,
        known.basis,
        ", ".join(claims(known)),
        "; ".join(elsewhere(known)),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def elsewhere(known: Definition) -> Iterator[str]:
    """Yield the tools that compute the measure, with their names for it, and whether they agree."""
    trec = ", ".join(f"`{name}`" for name in trec_names_of(known.name))
    if trec:
        yield f"trec_eval {trec}"
    if known.name in IR_MEASURES:
        yield "ir_measures"
    ranx = [name for name, (bare, cut, _) in RANX.items() if known.name in (bare, cut)]
    if ranx:
        yield "ranx " + ", ".join(f"`{name}`" for name in ranx)
    if known.name in DIFFERENT:
        yield "[these differ](peers.md)"


def spelling(known: Definition) -> str:
    """Return the name with its cut-off: @k if it is required, [@k] if it is optional."""
    at = known.parameters.get(known.at)
    if at is None:
        return known.name
    return f"{known.name}@{at.name}" if at.default is Parameter.empty else f"{known.name}[@{at.name}]"


def parameters(known: Definition) -> list[str]:
    """Return the parameters that go in parentheses, with their defaults."""
    inside = (parameter for parameter in known.parameters.values() if parameter.name != known.at)
    return [p.name if p.default is Parameter.empty else f"{p.name}={p.default!r}" for p in inside]


def claims(known: Definition) -> Iterator[str]:
    """Yield the properties that the measure claims."""
    if known.monotone:
        yield "monotone"
    if known.monotone_in_k:
        yield "monotone in k"
    if known.additive:
        yield "additive"
    low, high = known.bounds
    if (low, high) != (0.0, 1.0) and known.aggregate == "mean":
        yield f"{_number(low)} to {_number(high)}"
    if known.aggregate in ("sum", "geometric"):
        yield {"sum": "summed", "geometric": "geometric mean"}[known.aggregate]
    if has_expectation(known.name):
        yield "ties"


def _number(value: float) -> str:
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:g}"
