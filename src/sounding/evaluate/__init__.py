"""Score runs, and show how much of each ranking was judged."""

from sounding.core.verbs import make_verb

make_verb(__name__, "evaluation")
