"""What was seen, as a message shows it: in quotes, and no longer than one line bears."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 60  # characters of a text that a message shows
LONGEST_LIST = 120  # of several texts together

_STRAY_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")  # how Python spells a byte that is not UTF-8


def shortened(text: str, most: int = LONGEST) -> str:
    """A text, or its beginning and three dots."""
    return text if len(text) <= most else text[: most - 3] + "..."


def quoted(text: str) -> str:
    r"""A text in quotes, bytes that are not UTF-8 as \xe9; of a long one the beginning, and its length."""
    begin = text[:LONGEST]
    while len(repr(begin)) > LONGEST + 2:
        begin = begin[:-1]
    spelled = _STRAY_BYTE.sub(r"\\x\1", repr(begin))
    return spelled if begin == text else f"{spelled}... ({len(text):,} characters)"


def listed(texts: Sequence[str]) -> str:
    """Texts in quotes with commas between; of many the first, and how many there are."""
    shown: list[str] = []
    for text in texts:
        shown.append(quoted(text))
        if sum(map(len, shown)) > LONGEST_LIST:
            break
    rest = f", ... ({len(texts):,} in all)" if len(shown) < len(texts) else ""
    return ", ".join(shown) + rest
