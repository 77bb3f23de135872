"""Choose which documents to judge, and see what that costs and covers."""

from sounding.core.verbs import make_verb

make_verb(__name__, "pooling")
