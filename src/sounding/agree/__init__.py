"""Measure how far assessors agree, and how that affects the ranking of runs."""

from sounding.core.verbs import make_verb

make_verb(__name__, "study")
