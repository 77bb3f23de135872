"""How text becomes numbers: what counts as one, and which double it is.

`number` is the rule, one text at a time. `sounding.data.fast.decimals` gives the same values for whole
columns and leaves over the few texts that it cannot decide; those are read by the rule.
"""

from __future__ import annotations

import math

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.fast.decimals import BLOCK, parse_decimals
from sounding.data.fast.tokens import Tokens

_MAY_OCCUR = b"0123456789+-.eE"


def parse_numbers(tokens: Tokens) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The value of every text, and where a text is no finite decimal number (value NaN there)."""
    blocks = [_parsed(tokens[begin : begin + BLOCK]) for begin in range(0, len(tokens), BLOCK)]
    values = blocks[0] if len(blocks) == 1 else np.concatenate([np.empty(0), *blocks])
    return values, np.isnan(values)


def _parsed(tokens: Tokens) -> NDArray[np.float64]:
    values, sure = parse_decimals(tokens)
    if not sure.all():
        rows = (~sure).nonzero()[0]
        values[rows] = _any_numbers(tokens[rows])
    return values


def number(text: bytes) -> float:
    """The double next to the decimal number that a text spells; NaN where it is none, or too large."""
    value = _any_number(text)
    return value if math.isfinite(value) else math.nan


def is_too_large(text: str) -> bool:
    """Whether a text is a decimal number, and one beyond what double precision holds."""
    return math.isinf(_any_number(text.encode("utf-8", "surrogateescape")))


def _any_number(text: bytes) -> float:
    if text.translate(None, _MAY_OCCUR):
        return math.nan  # Python reads 1_000, inf and nan as well
    try:
        return float(text)
    except ValueError:
        return math.nan


def _any_numbers(tokens: Tokens) -> NDArray[np.float64]:
    """Every text by the rule."""
    return np.array([number(text) for text in tokens.encoded()])
