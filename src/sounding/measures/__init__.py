"""Measures: from a ranking to one value a topic.

Importing the package registers every family.
"""

from sounding.measures import (
    binary,
    counts,
    graded,
    interpolated,
    overlap,
    sampled,
    sets,
    tied,
    utility,
)
from sounding.measures.grammar import parse, parse_measures
from sounding.measures.registry import Measure, definition, definitions, has_expectation

__all__ = [
    "Measure",
    "binary",
    "counts",
    "definition",
    "definitions",
    "graded",
    "has_expectation",
    "interpolated",
    "overlap",
    "parse",
    "parse_measures",
    "sampled",
    "sets",
    "tied",
    "utility",
]
