"""Format text for people: counts and lists in words, percentages, p-values, quotations, paragraphs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from math import isnan


def plural(count: int, thing: str) -> str:
    """Return a count with its noun: `1 topic`, `2,000 topics`."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def percent(share: float) -> str:
    """Return a share as a percentage: `49.9%`; 100% stands only for all, and 0% only for none.

    An unknown share (NaN) is a dash.
    """
    if isnan(share):
        return "–"
    if share in (0, 1):
        return f"{share:.0%}"
    return ">99.9%" if 0.9995 <= share < 1 else "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.1f}%"


def whole_percent(share: float) -> str:
    """Return a share as a whole percentage, `50%`, with decimals only near 0% and 100%: `99.7%`."""
    rounded = "–" if isnan(share) else f"{100 * share:.0f}%"
    return percent(share) if rounded in ("–", "0%", "-0%", "100%") else rounded


def sentence(text: str) -> str:
    """Turn a text into a sentence with a capital letter and a period."""
    return f"{text[:1].upper()}{text[1:]}."


def natural_order(name: str) -> list[tuple[int, int, str, str]]:
    """Return a sort key that orders numbers within names by value: topics 2, 10, 11."""
    return [_natural_key(part) for part in re.split(r"(\d+)", name) if part]


def _natural_key(part: str) -> tuple[int, int, str, str]:
    if not part.isdecimal():
        return 1, 0, "", part
    # Not int(part): Python refuses numbers of more than 4,300 digits. Digits of other scripts count too.
    number = part if part.isascii() else "".join(str(int(digit)) for digit in part)
    number = number.lstrip("0")
    return 0, len(number), number, part


def natural_places(names: Sequence[str]) -> list[int]:
    """Return the positions of the names in natural order (2, 10, 11)."""
    return sorted(range(len(names)), key=lambda place: natural_order(names[place]))


def wrap_lines(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Return the lines of a paragraph, with an indent for the first line and one for the others.

    Words are never broken, not even at hyphens, so that a path or a run's name can be copied.
    """
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def fill_paragraph(text: str, width: int, first: str = "", others: str = "") -> str:
    """Return a wrapped paragraph as one text; the arguments are those of `wrap_lines`."""
    return "\n".join(wrap_lines(text, width, first, others))


LONGEST = 60  # characters of one text that a message shows
LONGEST_LIST = 120  # characters of a list of texts that a message shows

_STRAY_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")  # Python's spelling of a byte that is not UTF-8


def shorten(text: str, most: int = LONGEST) -> str:
    """Return the text, or its beginning and three dots if it is too long."""
    return text if len(text) <= most else text[: most - 3] + "..."


def quote(text: str) -> str:
    r"""Return the text in quotes; cut a long one and give its length; show invalid bytes as \xe9."""
    begin = text[:LONGEST]
    while len(repr(begin)) > LONGEST + 2:
        begin = begin[:-1]
    spelled = _STRAY_BYTE.sub(r"\\x\1", repr(begin))
    return spelled if begin == text else f"{spelled}... ({len(text):,} characters)"


def first_few(texts: Sequence[str], most: int, count: int | None = None) -> str:
    """Join at most `most` texts with commas and add how many more there are.

    `count` is the total when `texts` holds only the first ones.
    """
    rest = (len(texts) if count is None else count) - most
    return ", ".join(texts[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def join_names(names: Sequence[object]) -> str:
    """Join names as people do: `a`, `a and b`, `a, b and c`."""
    words = [str(name) for name in names]
    return " and ".join([*[", ".join(words[:-1])] * (len(words) > 1), *words[-1:]])


def quote_list(texts: Sequence[str]) -> str:
    """Quote texts and join them with commas; cut a long list and give its length."""
    shown: list[str] = []
    for text in texts:
        shown.append(quote(text))
        if sum(map(len, shown)) > LONGEST_LIST:
            break
    rest = f", ... ({len(texts):,} in all)" if len(shown) < len(texts) else ""
    return ", ".join(shown) + rest


NOT_TESTED = "–"
FLOOR = "≤"  # marks the smallest p-value that this number of permutations can show
SMALL = 0.001  # a smaller p-value is shown as <0.001, never as 0


def format_p(p: float, floor: bool = False) -> str:
    """Format a p-value for a table cell: four decimals or `<0.001`; `floor` adds the mark ≤."""
    if math.isnan(p):
        return NOT_TESTED
    return f"{FLOOR * floor}{p:.4f}" if p >= SMALL else f"<{SMALL}"


def p_phrase(p: float, floor: bool = False) -> str:
    """Format a p-value to follow the letter p in a sentence: `= 0.0123`, `≤ 0.0123` or `< 0.001`."""
    return f"{FLOOR if floor else '='} {p:.4f}" if p >= SMALL else f"< {SMALL}"


def format_chance(chance: float) -> str:
    """Format a probability with two decimals; never 0 or 1, and a dash if unknown."""
    if isnan(chance):
        return "–"
    return ">0.99" if chance > 0.99 else "<0.01" if chance < 0.01 else f"{chance:.2f}"


def likelihood(chance: float) -> str:
    """Return how likely something is, in words: `very likely`, `probably`, or `more likely than not`."""
    return "very likely" if chance >= 0.95 else "probably" if chance >= 0.75 else "more likely than not"


def hours(documents: int, seconds: float) -> float:
    """Return the hours needed to judge documents at `seconds` each."""
    return documents * seconds / 3600


def judging_time(documents: int, seconds: float) -> str:
    """Return how long it takes to judge documents, in words: `about 20 minutes at 30 s each`."""
    needed = hours(documents, seconds)
    if needed < 1:
        text = plural(math.ceil(60 * needed), "minute")
    else:
        shown = f"{needed:,.1f}".removesuffix(".0") if needed < 9.95 else f"{needed:,.0f}"
        text = f"{shown} {'hour' if shown == '1' else 'hours'}"
    return f"about {text} at {seconds:g} s each"
