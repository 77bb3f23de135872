"""Which differences between runs are more than chance, and how far to trust each."""

from sounding.core.verbs import make_verb

make_verb(__name__, "comparison")
