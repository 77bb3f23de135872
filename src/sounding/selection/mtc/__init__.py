"""Minimal test collections: what to judge next, how certain the ranking of the runs is, when to stop."""
