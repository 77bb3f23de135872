"""How people read things: counts and lists in words, percentages, p-values, quoted input, paragraphs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from math import isnan


def plural(count: int, thing: str) -> str:
    """A number of things in words: `1 topic`, `2,000 topics`."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def percent(share: float) -> str:
    """A share in per cent: `49.9%`; only all of it is 100%, and only nothing 0%, however near others come.

    A dash where the share is not known.
    """
    if isnan(share):
        return "–"
    if share in (0, 1):
        return f"{share:.0%}"
    return ">99.9%" if 0.9995 <= share < 1 else "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.1f}%"


def whole_percent(share: float) -> str:
    """The same without decimals, `50%`, but for shares that would come out as all or nothing: `99.7%`."""
    rounded = "–" if isnan(share) else f"{100 * share:.0f}%"
    return percent(share) if rounded in ("–", "0%", "-0%", "100%") else rounded


def sentence(text: str) -> str:
    """A text as a sentence: with a capital letter, and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def natural_order(name: str) -> list[tuple[int, int, str, str]]:
    """The key by which people sort names with numbers in them: topics 2, 10, 11 and not 10, 11, 2."""
    return [_natural_key(part) for part in re.split(r"(\d+)", name) if part]


def _natural_key(part: str) -> tuple[int, int, str, str]:
    if not part.isdecimal():
        return 1, 0, "", part
    # Not int(part): Python reads no number of more than 4,300 digits. Digits of other scripts count as well.
    number = "".join(str(int(digit)) for digit in part).lstrip("0")
    return 0, len(number), number, part


def natural_places(names: Sequence[str]) -> list[int]:
    """The places of the names when people sort them."""
    return sorted(range(len(names)), key=lambda place: natural_order(names[place]))


def wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """The lines of a paragraph, the first and the others set in as is said.

    No word is broken, nor at its hyphens: a path or a run's name can be copied from the screen.
    """
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def filled(text: str, width: int, first: str = "", others: str = "") -> str:
    """The same as one text."""
    return "\n".join(wrapped(text, width, first, others))


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


def first_few(texts: Sequence[str], most: int, count: int | None = None) -> str:
    """Texts with commas between; of more than `most` the first, and how many more there are.

    `count` is how many there are where `texts` are only the first of them.
    """
    rest = (len(texts) if count is None else count) - most
    return ", ".join(texts[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def listed(texts: Sequence[str]) -> str:
    """Texts in quotes with commas between; of many the first, and how many there are."""
    shown: list[str] = []
    for text in texts:
        shown.append(quoted(text))
        if sum(map(len, shown)) > LONGEST_LIST:
            break
    rest = f", ... ({len(texts):,} in all)" if len(shown) < len(texts) else ""
    return ", ".join(shown) + rest


NOT_TESTED = "–"
FLOOR = "≤"  # before the least p that draws can show
SMALL = 0.001  # a p below it is shown as such, never as 0


def shown_p(p: float, floor: bool = False) -> str:
    """A p-value as a cell: four decimals, or `<0.001`; `floor` marks the least that draws can show."""
    if math.isnan(p):
        return NOT_TESTED
    return f"{FLOOR * floor}{p:.4f}" if p >= SMALL else f"<{SMALL}"


def p_is(p: float, floor: bool = False) -> str:
    """A p-value as a sentence goes on after the letter: `= 0.0123`, `≤ 0.0123`, or `< 0.001`."""
    return f"{FLOOR if floor else '='} {p:.4f}" if p >= SMALL else f"< {SMALL}"


def shown_chance(chance: float) -> str:
    """A chance with two decimals as people read it: never 0 or 1, a dash where it is not known."""
    if isnan(chance):
        return "–"
    return ">0.99" if chance > 0.99 else "<0.01" if chance < 0.01 else f"{chance:.2f}"


def hours(documents: int, seconds: float) -> float:
    """How many hours it takes to judge so many documents, at so many seconds each."""
    return documents * seconds / 3600
