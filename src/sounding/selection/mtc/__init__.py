"""Minimal test collections: what to judge next, how sure the order of the runs is, and when to stop."""
