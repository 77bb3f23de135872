"""Keep the results of an evaluation per commit, and see whether quality declines."""

from sounding.core.verbs import make_verb

make_verb(__name__, "tracking")
