"""What to judge next, how sure the order of the runs is, and how much is left to do."""

from sounding.core.verbs import make_verb

make_verb(__name__, "planning")
