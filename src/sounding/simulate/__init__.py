"""Judging replayed from known judgments: how soon which strategy is right."""

from sounding.core.verbs import make_verb

make_verb(__name__, "simulation")
