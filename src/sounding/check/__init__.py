"""Every problem of a file at once."""

from sounding.core.verbs import make_verb

make_verb(__name__, "checking")
