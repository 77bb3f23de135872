"""What to judge: pools, budgets and samples, and what they will cost and cover."""

from sounding.core.verbs import make_verb

make_verb(__name__, "pooling")
