"""Check whether the outcome depends on the depth of evaluation or of the pool."""

from sounding.core.verbs import make_verb

make_verb(__name__, "study")
