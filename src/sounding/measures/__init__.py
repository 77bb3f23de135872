"""Measures: from a ranking to one value a topic."""

# A family is registered when its module is imported, and listed in this order; then averages over ties.
from sounding.measures import (  # isort: skip
    binary,
    interpolated,
    sets,
    counts,
    assessment,
    graded,
    utility,
    overlap,
    sampled,
    tied,
)
from sounding.measures.grammar import named_measures, parse, parse_measures
from sounding.measures.registry import Definition, Measure, definition, definitions, has_expectation

__all__ = [
    "Definition",
    "Measure",
    "assessment",
    "binary",
    "counts",
    "definition",
    "definitions",
    "graded",
    "has_expectation",
    "interpolated",
    "named_measures",
    "overlap",
    "parse",
    "parse_measures",
    "sampled",
    "sets",
    "tied",
    "utility",
]
