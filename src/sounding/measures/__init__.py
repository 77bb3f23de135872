"""Compute measures: from a ranking to one value per topic."""

# Importing a module registers its family of measures; they are listed in this order, averages over ties last.
from sounding.measures import (  # isort: skip  # noqa: F401
    binary, interpolated, sets, counts, assessment, graded, utility, intents, preferences, paired, overlap,
    sampled, tied,
)  # fmt: skip
from sounding.measures.grammar import named_measures, parse, parse_measures
from sounding.measures.registry import Definition, Measure, definition, definitions, has_expectation

__all__ = [
    "Definition", "Measure", "definition", "definitions", "has_expectation", "named_measures", "parse",
    "parse_measures",
]  # fmt: skip
