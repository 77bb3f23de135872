"""Estimate measures from few judgments by people and labels by machines on every document, with intervals."""

from sounding.core.verbs import make_verb

make_verb(__name__, "estimating")
