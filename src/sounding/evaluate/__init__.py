"""Values of measures for runs, with the share of judged documents beside each."""

from sounding.core.verbs import make_verb

make_verb(__name__, "evaluation")
