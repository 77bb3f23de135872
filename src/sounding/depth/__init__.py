"""Whether the outcome depends on how deep one looks: values over k, volatility, shallower pools, subsets."""

from sounding.core.verbs import make_verb

make_verb(__name__, "study")
