"""Whether a collection can be trusted to judge its runs, and a new one."""

from sounding.core.verbs import make_verb

make_verb(__name__, "auditing")
