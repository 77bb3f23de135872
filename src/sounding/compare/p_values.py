"""How a p-value is written, wherever people read one."""

from __future__ import annotations

import math

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
