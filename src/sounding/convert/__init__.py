"""Runs and judgments from one format to another."""

from sounding.core.verbs import make_verb

make_verb(__name__, "converting")
