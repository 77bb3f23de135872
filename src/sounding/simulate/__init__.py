"""Replay known judgments to see how soon each strategy ranks the runs correctly."""

from sounding.core.verbs import make_verb

make_verb(__name__, "study")
