"""Check how often sounding's confidence statements are right, by hiding judgments."""

from sounding.core.verbs import make_verb

make_verb(__name__, "calibrating")
