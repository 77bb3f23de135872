"""Simulated collections with complete truth."""

from sounding.core.verbs import make_verb

make_verb(__name__, "simulation")
