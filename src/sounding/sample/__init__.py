"""Write a simulated collection in which the relevance of every document is known."""

from sounding.core.verbs import make_verb

make_verb(__name__, "simulation")
