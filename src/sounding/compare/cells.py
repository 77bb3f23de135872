"""The cells of a comparison as people read them: names, p, intervals, differences and cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.render.tables import UNKNOWN, decimal
from sounding.statistics.pairwise import OWN, PairTests

WIDEST_NAME = 20  # of a run in a table for a terminal


def short_names(runs: Sequence[str], widest: int | None) -> dict[str, str]:
    """The runs by name, those longer than `widest` with a gap in the middle, no two alike."""
    shown = {name: name for name in runs}
    if widest is None:
        return shown
    for name in runs:
        if len(name) <= widest:
            continue
        taken = {other for run, other in shown.items() if run != name}
        # The end tells more runs apart than the beginning: it gives way only where it must.
        for front in (*range(widest // 2, widest), *range(widest // 2)):
            text = f"{name[:front]}…{name[len(name) - (widest - 1 - front) :]}"
            if text not in taken:
                shown[name] = text
                break
    return shown


def p_name(tests: PairTests) -> str:
    """What the adjusted p is called: plain p where there was nothing to adjust for."""
    single = len(tests.pairs) == 1 and tests.correction != OWN
    return "p" if tests.correction == "none" or single else "adjusted p"


def shown_interval(low: float, high: float) -> str:
    """An interval in words; one without a limit says so, and one that is not known is a dash."""
    if np.isnan(low) or np.isnan(high):
        return UNKNOWN
    if np.isinf(low) and np.isinf(high):
        return "unlimited"
    if np.isinf(low):
        return f"up to {decimal(high)}"
    return f"from {decimal(low)}" if np.isinf(high) else f"{decimal(low)} to {decimal(high)}"


def signed(value: float) -> str:
    """A difference with its sign; 0 to four decimals has none."""
    text = decimal(value)
    return f"+{text}" if float(text) > 0 else text


def shown_case(case: int | None, strength: str | None) -> str | None:
    """A case with its strength."""
    return None if not case else f"{case} {strength or '(nothing could be significant)'}"


def yes_or_no(cell: bool | None) -> str | None:
    """An answer in a word; None: not known."""
    return None if cell is None else ("yes" if cell else "no")
