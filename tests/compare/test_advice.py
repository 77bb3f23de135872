"""Advice: every rule applies where its row of the page says, and before the rules below it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sounding.compare.advice import LOW, RULES, Basis, Shares, Situation, advise
from sounding.core.errors import DataError

PAGE = Path(__file__).parents[2] / "docs" / "settled.md"

EVEN = Shares(depth=100, a=0.9, b=0.9, even=True)
UNEVEN = Shares(depth=1000, a=0.3, b=0.6, even=False)
# A weak case by AP, about which nothing is known but the shares.
WEAK = Situation(
    run_a="new", run_b="old", measure="AP@1000", basis="recall", case=4, settled=False, shares=UNEVEN,
    p=0.01, topics=50,
)  # fmt: skip
STRONG = replace(WEAK, case=3, shares=EVEN, measure="P@100", basis="utility")


def test_a_pair_that_could_not_be_tested_needs_topics() -> None:
    advice = advise(replace(WEAK, case=0, settled=True, topics=1))
    assert advice.action == "add topics"
    assert str(advice) == "Add topics: the runs share 1 topic, and the test needs at least 2."
    advice = advise(replace(WEAK, case=0, settled=True, topics=5, fewest_topics=6))
    assert str(advice) == "Add topics: the runs share 5 topics, and the test needs at least 6."


def test_a_pair_with_topics_enough_that_could_not_be_tested_needs_draws() -> None:
    advice = advise(replace(WEAK, case=0, settled=True, topics=6, fewest_topics=6))
    assert advice.action == "draw more permutations"


@pytest.mark.parametrize("case", [3, 4])
def test_settled_and_significant_is_done_even_where_the_case_is_weak(case: int) -> None:
    advice = advise(replace(WEAK, case=case, settled=True, p=1e-6))
    assert advice.action == "nothing to judge"
    assert str(advice) == (
        "Nothing to judge: when this pair is tested alone, its difference is significant (p < 0.001), and no"
        " further judgment can reverse the order."
    )


def test_a_pair_whose_documents_might_settle_it_is_to_be_asked_for() -> None:
    advice = advise(replace(WEAK, settled=None, undecided=True))
    assert advice.action == "look at the pair"
    assert str(advice).startswith("Look at this pair: the bounds of each run leave the order open")
    assert str(advice).endswith("may settle it (--pair new old).")


@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_what_is_settled_under_a_cap_is_said_with_the_cap(case: int) -> None:
    limited = "if at most 1 more document a topic is relevant"
    advice = advise(replace(WEAK, case=case, settled=True, limited=limited))
    assert f"can reverse the order {limited}" in str(advice)
    assert limited not in str(advise(replace(WEAK, case=case, settled=False, limited=limited)))


def test_low_assessment_at_every_depth_calls_for_another_collection() -> None:
    low = Shares(depth=10, a=LOW - 0.01, b=0.2, even=True)
    bad = replace(WEAK, shares=replace(UNEVEN, b=0.4), shallower=(low,))
    advice = advise(bad)
    assert advice.action == "judge documents or use another collection"
    assert str(advice) == (
        "Judge documents or use another collection: less than half of either run was judged at every depth"
        " (judged in the top 1,000: 30% and 40%)."
    )
    assert (
        advise(replace(bad, shallower=(replace(low, b=LOW),))).action
        != "judge documents or use another collection"
    )
    assert advise(replace(bad, shallower=())).action != "judge documents or use another collection"
    assert advise(replace(bad, settled=True)).action != "judge documents or use another collection"


def test_an_even_comparison_without_significance_needs_topics() -> None:
    advice = advise(replace(STRONG, case=1, p=0.2, topics_needed=900))
    assert advice.action == "add topics"
    assert str(advice) == (
        "Add topics: both runs are judged equally well in the top 100, but when this pair is tested alone,"
        " its difference is not significant (p = 0.2000, 50 topics); about 900 topics would be needed for a"
        " difference of this size."
    )
    assert str(advise(replace(STRONG, case=1, p=0.2))).endswith("(p = 0.2000, 50 topics).")


def test_an_uneven_comparison_whose_order_is_settled_needs_topics_too() -> None:
    advice = advise(replace(WEAK, case=2, settled=True, p=0.2))
    assert advice.action == "add topics"
    assert "no judgment can reverse the order" in str(advice)


def test_a_weak_case_is_compared_at_the_deepest_depth_where_assessment_is_even() -> None:
    depths = (replace(EVEN, depth=10), replace(EVEN, depth=30), replace(UNEVEN, depth=100))
    situation = replace(WEAK, shallower=depths, pooled_a=False)
    advice = advise(situation)
    assert advice.action == "compare at a shallower depth"
    assert str(advice) == (
        "Compare at depth 30: it is the deepest at which both runs are judged equally well"
        " (judged in the top 1,000: 30% and 60%)."
    )
    frozen = advise(replace(situation, frozen_a=True, frozen_b=False))
    assert str(frozen).endswith("(the lists of new end before 1000).")
    assert "old" not in str(advise(replace(situation, frozen_b=True)))


def test_a_less_assessed_run_that_did_not_contribute_belongs_into_the_pool() -> None:
    advice = advise(replace(WEAK, pooled_a=False, pooled_b=True))
    assert advice.action == "put the run into the pool"
    assert str(advice) == (
        "Put new into the pool: it was not pooled, and less of it was judged"
        " (judged in the top 1,000: 30% and 60%)."
    )
    other = replace(WEAK, shares=replace(UNEVEN, a=0.6, b=0.3), pooled_a=True, pooled_b=False)
    assert str(advise(other)).startswith("Put old into the pool")
    for pooled in (True, None):
        assert advise(replace(WEAK, pooled_a=pooled, pooled_b=False)).action != "put the run into the pool"
    assert advise(replace(STRONG, pooled_b=False)).action != "put the run into the pool"


def test_recall_measures_give_way_to_others_and_the_advice_can_be_typed() -> None:
    advice = advise(replace(WEAK, condensed_as="AP(judged_only=True)@1000"))
    assert advice.action == "use another measure"
    assert str(advice) == (
        "Use P@10, RBP or Bpref: AP@1000 depends on the unknown number of relevant documents"
        " (judged in the top 1,000: 30% and 60%); -m P@10 and -m RBP use only the first documents,"
        " -m 'AP(judged_only=True)@1000' or -m Bpref only the judged ones."
    )
    assert "judged_only" not in str(advise(WEAK))
    assert advise(replace(STRONG, basis="recall")).action == "use another measure"
    assert advise(replace(STRONG, basis="recall", settled=None)).action == "nothing to judge"


@pytest.mark.parametrize("situation", [replace(WEAK, basis="utility"), STRONG])
def test_documents_of_an_open_pair_are_to_be_judged_and_the_advice_says_who_lists_them(
    situation: Situation,
) -> None:
    advice = advise(situation)
    assert advice.action == "judge documents"
    assert str(advice).startswith(
        "Judge documents: judgments could still reverse the order (judged in the top "
    )
    assert str(advice).endswith("; --pair new old --documents FILE lists them.")


def test_a_weak_case_of_a_utility_measure_without_bounds_is_condensed() -> None:
    situation = replace(WEAK, basis="utility", settled=None)
    assert str(advise(situation)).startswith("Use a condensed measure: -m Bpref, which")
    typed = str(advise(replace(situation, condensed_as="P(judged_only=True)@10")))
    assert typed.startswith("Use a condensed measure: -m 'P(judged_only=True)@10' or -m Bpref, ")


def test_a_measure_that_is_condensed_already_is_not_advised_again() -> None:
    advice = advise(replace(WEAK, condensed=True, settled=None))
    assert advice.action == "judge documents"
    assert str(advice).startswith("Judge more documents of new: the other run was judged significantly more")


def test_a_strong_difference_that_nothing_more_is_known_of_is_left_alone() -> None:
    advice = advise(replace(STRONG, settled=None))
    assert advice.action == "nothing to judge"
    assert str(advice).endswith("and the better run was not judged more completely.")


def test_topics_are_counted_only_where_more_are_needed_than_there_are() -> None:
    lacking = replace(STRONG, case=1, p=0.2, topics=50)
    assert "about 51 topics would be needed" in str(advise(replace(lacking, topics_needed=51)))
    assert str(advise(replace(lacking, topics_needed=50))).endswith("50 topics).")


def test_every_situation_has_one_sentence_of_advice() -> None:
    low = replace(UNEVEN, b=0.2)
    bases: tuple[Basis, ...] = ("recall", "utility")
    facts = itertools.product(
        range(5), (True, False, None), bases, (True, False), ((), (EVEN,), (low,)),
        (True, False, None), (True, False), (UNEVEN, EVEN, low),
    )  # fmt: skip
    seen = set()
    for case, settled, basis, condensed, shallower, pooled, undecided, shares in facts:
        situation = replace(
            WEAK, case=case, settled=settled, basis=basis, condensed=condensed, shallower=shallower,
            pooled_a=pooled, pooled_b=pooled, undecided=undecided, shares=shares,
        )  # fmt: skip
        advice = advise(situation)
        assert re.fullmatch(r"[A-Z].*\.", str(advice))
        assert ". " not in str(advice)
        seen.add(advice.action)
    assert seen == {action for action, _ in RULES}


def test_the_page_lists_the_rules_in_their_order() -> None:
    table = PAGE.read_text().partition("## Advice")[2]
    assert re.findall(r"^\| \d+ \|.*\| ([a-z ]+) \|$", table, re.MULTILINE) == [action for action, _ in RULES]


def test_a_case_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DataError, match="case 5: expected 1 to 4, or 0"):
        replace(WEAK, case=5)


def test_short_lists_are_named_with_the_share_of_what_they_have() -> None:
    advice = advise(replace(WEAK, shallower=(), frozen_b=True, returned_b=0.92))
    assert f"; {WEAK.run_b} has short lists, and 92% of what it returned was judged" in str(advice)


def test_beyond_a_thousand_topics_no_figure_is_given() -> None:
    few, many = (
        str(advise(replace(STRONG, case=1, settled=True, topics=50, topics_needed=needed)))
        for needed in (1_000, 26_545)
    )
    assert "; about 1,000 topics would be needed" in few
    assert "; more than 1,000 topics would be needed" in many


@pytest.mark.parametrize("case", [1, 2])
def test_an_undecided_pair_whose_leader_stays_ahead_needs_topics_and_not_judgments(case: int) -> None:
    """One rule for compare and for the report: from 0.95 on, judging would very likely change nothing."""
    undecided = replace(WEAK, case=case, p=0.2)
    assert advise(replace(undecided, stays=0.95)).action == "add topics"
    assert "will very likely not reverse the order (0.95)" in str(advise(replace(undecided, stays=0.95)))
    assert advise(replace(undecided, stays=0.94)).action == "judge documents"
    assert "a chance of only 0.60 to stay ahead" in str(advise(replace(undecided, stays=0.6)))


def test_the_chance_to_stay_ahead_changes_no_advice_on_pairs_that_are_decided() -> None:
    known = [
        replace(WEAK, case=3), replace(WEAK, case=4), replace(WEAK, case=1, settled=True),
        replace(WEAK, case=2, settled=True), replace(WEAK, case=1, equal=True), replace(WEAK, case=0),
    ]  # fmt: skip
    for one in known:
        assert {str(advise(replace(one, stays=stays))) for stays in (0.2, 0.99)} == {str(advise(one))}
