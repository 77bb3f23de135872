"""Counts in words, and paragraphs in lines: the same everywhere."""

from __future__ import annotations

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
