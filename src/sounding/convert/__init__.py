"""Convert runs and judgments to Parquet and back."""

from sounding.core.verbs import make_verb

make_verb(__name__, "converting")
