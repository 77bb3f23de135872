"""Choose which documents to judge next, and see how certain the ranking is."""

from sounding.core.verbs import make_verb

make_verb(__name__, "planning")
