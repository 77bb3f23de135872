"""Test which runs differ significantly, and how far to trust each result."""

from sounding.core.verbs import make_verb

make_verb(__name__, "comparison")
