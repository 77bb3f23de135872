"""Check whether a collection can evaluate its runs, and new ones, and to what depth."""

from sounding.core.verbs import make_verb

make_verb(__name__, "auditing")
