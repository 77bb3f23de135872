"""The gate: which comparisons fail, with which exit status, and that more trouble never helps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.compare.gate import EXIT_CODES, GateRow, Verdict, gate, parse_conditions
from sounding.core.errors import DataError, UnknownNameError

GOOD = GateRow(
    candidate="new", baseline="old", measure="AP", difference=0.02, p_adjusted=0.01,
    noninferior_p_adjusted=0.001, case=3, strength="strong", settled=True,
)  # fmt: skip
WORSE = replace(GOOD, difference=-0.02)
WEAK = replace(GOOD, case=4, strength="weak")
OPEN = replace(GOOD, settled=False)

conditions = st.lists(st.sampled_from(sorted(EXIT_CODES)), min_size=1, max_size=3)
rows = st.builds(
    GateRow,
    candidate=st.just("new"),
    baseline=st.just("old"),
    measure=st.sampled_from(["AP", "P@10"]),
    difference=st.floats(-1, 1),
    p_adjusted=st.floats(0, 1),
    noninferior_p_adjusted=st.floats(0, 1),
    case=st.sampled_from([None, 1, 2, 3, 4]),
    strength=st.sampled_from([None, "strong", "weak"]),
    settled=st.sampled_from([None, True, False]),
)
margins = st.sampled_from([None, 0.01])


def seriousness(verdict: Verdict) -> int:
    """0 for a pass, more for what is more serious: the lower code."""
    return 0 if verdict.passed else 10 - verdict.exit_code


@pytest.mark.parametrize(
    ("row", "condition", "code", "sentence"),
    [
        (WORSE, "worse", 3, "significantly worse by 0.0200 (adjusted p = 0.0100, alpha 0.05)"),
        (
            WEAK,
            "weak",
            4,
            "a weak case: new is significantly better, and judged significantly more completely",
        ),
        (OPEN, "unsettled", 5, "unjudged documents could reverse the order"),
        (replace(WEAK, strength=None), "weak", 4, "it is unknown whether judging was even"),
        (
            replace(GOOD, settled=None),
            "unsettled",
            5,
            "it is unknown whether unjudged documents could reverse the order",
        ),
    ],
)
def test_a_condition_fails_with_its_code_and_a_sentence(
    row: GateRow, condition: str, code: int, sentence: str
) -> None:
    verdict = gate([GOOD, row], [condition])
    assert (verdict.passed, verdict.exit_code) == (False, code)
    assert [failure.row for failure in verdict.failures] == [row]
    assert str(verdict) == f"{condition}: new against old, AP: {sentence}"


def test_conditions_that_are_not_asked_for_do_not_fail() -> None:
    for condition, row in (("worse", WEAK), ("worse", OPEN), ("weak", WORSE), ("unsettled", WORSE)):
        verdict = gate([row], [condition])
        assert (verdict.passed, verdict.exit_code) == (True, 0)
    assert str(gate([GOOD, WEAK], ["worse"])) == "passed: 2 comparisons, none worse"
    assert str(gate([GOOD], ["unsettled,worse"])) == "passed: 1 comparison, none worse or unsettled"


@pytest.mark.parametrize(
    ("difference", "p", "fails"),
    [(-0.01, 0.05, True), (-0.01, 0.0501, False), (0.0, 0.01, False), (0.01, 0.01, False)],
)
def test_worse_is_a_difference_below_0_with_p_at_most_alpha(difference: float, p: float, fails: bool) -> None:
    verdict = gate([replace(GOOD, difference=difference, p_adjusted=p)], ["worse"])
    assert verdict.passed is not fails
    assert gate([replace(GOOD, difference=difference, p_adjusted=p)], ["worse"], alpha=0.001).passed


def test_with_a_margin_the_candidate_must_be_shown_non_inferior() -> None:
    shown = replace(WORSE, noninferior_p_adjusted=0.05)
    unclear = replace(GOOD, p_adjusted=0.5, noninferior_p_adjusted=0.06)
    assert gate([shown], ["worse"], margin=0.05).passed
    verdict = gate([unclear], ["worse"], margin=0.05)
    assert verdict.exit_code == 3
    assert str(verdict) == (
        "worse: new against old, AP: may be worse by 0.05 or more:"
        " difference +0.0200 (non-inferiority p = 0.0600, alpha 0.05)"
    )


def test_the_most_serious_condition_gives_the_code_and_comes_first() -> None:
    verdict = gate([OPEN, WEAK, WORSE], ["unsettled", "weak", "worse"])
    assert verdict.exit_code == 3
    assert [failure.condition for failure in verdict.failures] == ["worse", "weak", "unsettled"]
    assert gate([OPEN, WEAK, WORSE], ["unsettled", "weak"]).exit_code == 4


@given(st.lists(rows, min_size=1, max_size=4), rows, conditions, margins)
def test_a_further_comparison_never_makes_a_verdict_milder(
    some: list[GateRow], further: GateRow, asked: list[str], margin: float | None
) -> None:
    before, after = (gate(seen, asked, margin=margin) for seen in (some, [*some, further]))
    assert seriousness(after) >= seriousness(before)
    assert set(before.failures) <= set(after.failures)


@given(st.lists(rows, min_size=1, max_size=4), conditions, conditions, margins)
def test_a_further_condition_never_makes_a_verdict_milder(
    some: list[GateRow], asked: list[str], more: list[str], margin: float | None
) -> None:
    before, after = (gate(some, names, margin=margin) for names in (asked, asked + more))
    assert seriousness(after) >= seriousness(before)


@given(rows, st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 0.999), conditions)
def test_a_larger_loss_or_a_smaller_p_never_makes_a_verdict_milder(
    row: GateRow, loss: float, factor: float, alpha: float, asked: list[str]
) -> None:
    worse = replace(row, difference=row.difference - loss)
    surer = replace(row, p_adjusted=row.p_adjusted * factor)
    before = gate([row], asked, alpha=alpha)
    assert seriousness(gate([worse], asked, alpha=alpha)) >= seriousness(before)
    if row.difference < 0:
        assert seriousness(gate([surer], asked, alpha=alpha)) >= seriousness(before)


def test_conditions_are_read_once_each_most_serious_first() -> None:
    assert parse_conditions(["unsettled, worse", "worse"]) == ("worse", "unsettled")
    with pytest.raises(UnknownNameError, match=r"unknown condition to fail on 'wose'; did you mean worse\?"):
        parse_conditions(["wose"])


def test_a_gate_without_conditions_rows_or_numbers_is_an_error_not_a_pass() -> None:
    with pytest.raises(DataError, match="no condition to fail on; expected some of worse, weak, unsettled"):
        gate([GOOD], [])
    with pytest.raises(DataError, match="nothing to gate: no run was compared with a baseline"):
        gate([], ["worse"])
    with pytest.raises(
        DataError, match=r"new against old, AP: difference nan, p 0\.01; expected a comparison"
    ):
        gate([replace(GOOD, difference=float("nan"))], ["worse"])
    with pytest.raises(DataError, match="p nan; expected a comparison on common topics"):
        gate([replace(GOOD, p_adjusted=float("nan"))], ["worse"])
    with pytest.raises(DataError, match=r"no test against the margin 0\.05; compare with that margin"):
        gate([replace(GOOD, noninferior_p_adjusted=None)], ["worse"], margin=0.05)


@pytest.mark.parametrize(("difference", "better"), [(0.02, "new"), (-0.02, "old")])
def test_a_weak_case_names_the_run_that_is_better(difference: float, better: str) -> None:
    verdict = gate([replace(WEAK, difference=difference)], ["weak"])
    assert verdict.failures[0].sentence.endswith(
        f": a weak case: {better} is significantly better, and judged significantly more completely"
    )
    other = gate([replace(WEAK, case=2, difference=difference)], ["weak"])
    assert other.failures[0].sentence.endswith(": a weak case: no significant difference, but one run was"
                                               " judged significantly more completely")  # fmt: skip


def test_a_worse_run_that_could_not_be_tested_does_not_pass() -> None:
    reason = "the difference is the same on all 30 topics: no error to test against"
    row = replace(WORSE, p_adjusted=1.0, untested=reason)
    verdict = gate([row], ["worse"])
    assert verdict.exit_code == 3
    assert verdict.failures[0].sentence.endswith(f"worse by 0.0200, and not tested: {reason}")
    assert gate([replace(row, difference=0.02)], ["worse"]).passed
    assert gate([replace(row, untested="")], ["worse"]).passed
