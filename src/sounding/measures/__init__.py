"""Measures: from a ranking to one value a topic."""

# A family is registered when its module is imported, and listed in this order; then averages over ties.
from sounding.measures import (  # isort: skip  # noqa: F401
    binary, interpolated, sets, counts, assessment, graded, utility, overlap, sampled, tied,
)  # fmt: skip
from sounding.measures.grammar import named_measures, parse, parse_measures
from sounding.measures.registry import Definition, Measure, definition, definitions, has_expectation

__all__ = [
    "Definition", "Measure", "definition", "definitions", "has_expectation", "named_measures", "parse",
    "parse_measures",
]  # fmt: skip
