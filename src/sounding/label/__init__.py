"""Ask a language model for labels of documents, within a budget, and store them with their origin."""

from sounding.core.verbs import make_verb

make_verb(__name__, "labeling")
