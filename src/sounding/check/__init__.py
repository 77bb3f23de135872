"""List every problem in run, qrels and topics files, with line numbers."""

from sounding.core.verbs import make_verb

make_verb(__name__, "checking")
