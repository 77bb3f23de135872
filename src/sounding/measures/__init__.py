"""Measures: from a ranking to one value a topic."""
