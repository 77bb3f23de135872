"""Check whether a collection can evaluate its runs and new runs, and down to what depth."""

from sounding.core.verbs import make_verb

make_verb(__name__, "auditing")
