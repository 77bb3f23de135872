"""Several assessors of the same documents: how far they agree, and what that does to an evaluation."""

from sounding.core.verbs import make_verb

make_verb(__name__, "study")
