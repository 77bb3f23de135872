"""What is said of the chance that a conclusion holds."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.compare.holds import Holds


def holds(*, concluded: int, conclusion: float, sign: float) -> Holds:
    return Holds(
        until="runs:100", until_in_words="the first 100 documents of every run", open_documents=7, alpha=0.05,
        draws=10, seed=0, concluded=np.array([[concluded]], np.int8), conclusion=np.array([[conclusion]]),
        sign=np.array([[sign]]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "sign", "told"),
    [
        (0.1, 0.8, "x would probably be ahead then as now (0.80)"),
        (-0.1, 0.8, "y would probably be ahead then as now (0.80)"),
        (0.1, 0.001, "y, which is behind now, would very likely be ahead then (>0.99)"),
        (-0.1, 0.25, "x, which is behind now, would probably be ahead then (0.75)"),
        (0.1, 0.65, "x would more likely than not be ahead then as now (0.65)"),
        (0.0, 0.3, "the chance that the two are equal then is 0.30"),
    ],
)
def test_the_run_that_would_probably_be_ahead_is_named(difference: float, sign: float, told: str) -> None:
    found = holds(concluded=0, conclusion=0.74, sign=sign)
    assert found.tell_sign(0, 0, ("x", "y"), difference) == told
    assert found.tell(0, 0, ("x", "y"), difference) == (
        "a paired t test of the two alone finds no difference; the chance that it still finds none once the"
        f" first 100 documents of every run are judged is 0.74; {told}"
    )


def test_a_conclusion_of_a_better_run_is_said_to_be_what_the_test_still_does() -> None:
    told = holds(concluded=-1, conclusion=0.9, sign=0.99).tell(0, 0, ("x", "y"), -0.2)
    assert told.startswith(
        "a paired t test of the two alone finds x worse; the chance that it still does once"
    )


def test_a_pair_without_a_test_has_no_chances() -> None:
    told = holds(concluded=0, conclusion=np.nan, sign=np.nan).tell(0, 0, ("x", "y"), np.nan)
    assert told == "not known: the pair could not be tested"
