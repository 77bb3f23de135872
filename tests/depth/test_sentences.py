"""Findings: each guideline is heeded where it is broken, kept where it is not, and has its figure."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.depth import sentences as guidelines
from sounding.depth.over_depth import UnjudgedDocuments
from sounding.depth.sentences import Finding, cautions, other_findings
from sounding.measures import Measure
from sounding.measures.cumulative import measures_over_depth, name_of
from sounding.runs.pool import Pool
from sounding.statistics.rank_correlation import most_places


def named(texts: list[str]) -> dict[str, Measure]:
    return {name_of(measure): measure for measure in measures_over_depth(texts)}


def pool(*contributing: bool, depth: int = 100, guessed: bool = False) -> Pool:
    return Pool(
        contributing=np.array(contributing), among=len(contributing), depth=depth, judged=depth, lists=sum(contributing), holed=0,
        guessed=guessed,
    )  # fmt: skip


def test_depths_that_others_do_not_use_are_named() -> None:
    assert not guidelines.standard_depths([10, 100, 1000]).heed
    odd = guidelines.standard_depths([7, 10, 40])
    assert odd.heed
    assert odd.text.startswith("others do not report k = 7 and 40; use 5, 10,")


def test_depths_that_no_plan_fixes_matter_for_recall_based_measures() -> None:
    spread = {"AP": (0.52, 0.725), "RBP": (0.6, 0.6)}
    found = guidelines.fixed_beforehand(named(["RBP", "AP"]), spread, None)
    assert found.heed
    assert "by AP, 52.0% of the pairs differ significantly at one depth and 72.5% at another" in found.text
    assert not guidelines.fixed_beforehand(named(["RBP"]), spread, None).heed


def test_a_plan_that_is_followed_is_enough_and_deviations_are_named() -> None:
    kept = guidelines.fixed_beforehand(named(["AP"]), {}, "plan p.toml")
    assert (kept.heed, kept.text) == (False, "plan p.toml fixes them, and this evaluation follows it.")
    broken = guidelines.fixed_beforehand(named(["AP"]), {}, "plan p.toml", ["depths: 7 is used"])
    assert (broken.heed, broken.text) == (
        True,
        "plan p.toml fixes them, and this evaluation differs: depths: 7 is used.",
    )


def test_the_form_of_truncation_and_the_command_are_told() -> None:
    measures = named(["AP", "AP(norm='b')", "nDCG", "RBP", "P", "Q(norm='c')"])
    told = guidelines.exact_form(measures, "sounding depth q r").text
    assert "AP@k divides by all known relevant documents, R (norm 'a'), as in trec_eval;" in told
    assert "AP(norm='b')@k divides by min(k, R)" in told
    assert "Q(norm='c')@k divides by the relevant documents of the pool of depth k" in told
    assert "nDCG@k divides by the DCG of the best k of all judged documents" in told
    assert "RBP has p = 0.8" in told
    assert told.count("as in trec_eval") == 1  # which has no Q
    assert "as in trec_eval" not in guidelines.exact_form(named(["Q"]), None).text
    assert " P@k" not in told  # there is one P@k only
    assert told.endswith(": sounding depth q r.")


def test_the_tie_rule_is_heeded_where_a_run_changes_its_place() -> None:
    runs = ("a", "b", "c")
    same = (1.0, most_places([3.0, 2.0, 1.0], [3.0, 2.0, 1.0]))
    moved = (1 / 3, most_places([3.0, 2.0, 1.0], [3.0, 1.0, 2.0]))
    kept = guidelines.tie_rule("trec", "file", {"AP@10": same}, runs)
    assert (kept.heed, kept.text) == (False, "ties by trec or file: every run keeps its place.")
    found = guidelines.tie_rule("trec", "file", {"AP@10": same, "P@10": moved}, runs)
    assert found.heed
    assert found.text == (
        "ties by trec or file: the two rankings by P@10 have tau 0.333. b moves 1 place, from 2 to 3."
    )


def test_depths_below_the_pool_are_named_with_what_becomes_of_the_reference() -> None:
    covered = {100: ("AP", 1.0, 0.0), 1000: ("AP", 0.973, 0.012)}
    found = guidelines.extended_evaluation([10, 100, 500, 1000], pool(True, True), covered)
    assert found.heed
    assert found.text == (
        "k = 500 and 1000: deeper than the pool depth of 100 (pooled runs as listed). AP@1000 confirms 97.3% of"
        " the pairs that differ at the reference, and reverses 1.2%."
    )
    several = guidelines.extended_evaluation([1000], pool(True, True), covered, 3)
    assert several.text.endswith("reverses 1.2%; other measures confirm at least as many.")
    assert not guidelines.extended_evaluation([10, 100], pool(True), covered).heed


def test_without_a_pool_every_depth_may_be_too_deep() -> None:
    assert guidelines.extended_evaluation([5], pool(False, depth=0), {}).heed
    unknown = guidelines.extended_evaluation([1000], pool(True), {1000: ("AP", np.nan, np.nan)})
    assert unknown.text.endswith("(pooled runs as listed).")  # nothing is said of what is not known


@pytest.mark.parametrize(
    ("measures", "heed"), [(["AP"], True), (["AP", "nDCG"], True), (["AP", "RBP"], False), (["RBP"], False)]
)
def test_recall_based_measures_want_a_utility_one_beside_them(measures: list[str], heed: bool) -> None:
    assert guidelines.utility_beside_recall(named(measures)).heed == heed


def test_runs_outside_the_pool_come_with_number_and_ranks_of_their_unjudged_documents() -> None:
    found = [
        UnjudgedDocuments(run="x", number=12, share=0.24, first=4.5, middle=7),
        UnjudgedDocuments(run="y", number=40, share=0.8, first=1, middle=3),
        UnjudgedDocuments(run="z", number=0, share=0.0, first=np.nan, middle=np.nan),
    ]
    told = guidelines.unpooled_runs(found, pool(True, False, False, False), 10)
    assert told.heed
    assert told.text == (
        "3 of 4 runs did not contribute (as listed); 2 of them have unjudged documents in the first 10, most in"
        " y (40, 80%; the first at median rank 1) and x (12, 24%; the first at median rank 4.5)."
    )
    assert (
        "; 1 of them has unjudged" in guidelines.unpooled_runs(found[1:], pool(True, False, False), 10).text
    )
    assert not guidelines.unpooled_runs(found[2:], pool(True, False), 10).heed
    assert not guidelines.unpooled_runs([], pool(True), 10).heed
    unknown = guidelines.unpooled_runs([], pool(False, depth=0), 10)
    assert (unknown.heed, unknown.text[:22]) == (True, "no pool was recognized")


def test_runs_that_lead_early_and_are_least_assessed_deep_are_named_with_their_places() -> None:
    names = tuple("abcdefghij")
    early = np.linspace(1, 0.1, 10)
    deep = early.copy()
    deep[0] = 0.45  # a falls from place 1 to place 6
    shares = np.full(10, 0.9)
    shares[[0, 9]] = 0.1
    found = guidelines.early_leaders(names, "AP", (10, early), (1000, deep), shares)
    assert found.heed
    assert found.text == (
        "among the first 1 by AP@10, but among the 2 least assessed at 1000: a (place 1, then 6; A_p 0.10)."
    )
    shares[0] = 1.0
    assert not guidelines.early_leaders(names, "AP", (10, early), (1000, deep), shares).heed


@pytest.mark.parametrize("assessed", [1.0, 0.8])
def test_equally_assessed_runs_are_not_least_assessed(assessed: float) -> None:
    """All judged alike, or nearly so, or more than a quarter tied at the bottom: nobody is below the others."""
    names, means = tuple("abcdefgh"), np.linspace(1, 0.3, 8)
    alike = np.full(8, assessed)
    nearly = alike - np.array([0.04, *np.zeros(7)])
    tied = np.where(np.arange(8) < 4, assessed - 0.3, assessed)
    for shares in (alike, nearly, tied):
        found = guidelines.early_leaders(names, "AP", (10, means), (100, means), shares)
        assert not found.heed, shares
    below = alike - np.array([0.2, *np.zeros(7)])
    found = guidelines.early_leaders(names, "AP", (10, means), (100, means), below)
    assert found.heed
    assert "the 1 least assessed at 100: a (" in found.text


def test_people_read_what_is_to_be_heeded_and_in_one_line_what_is_kept() -> None:
    findings = [
        Finding(guideline="standard depths", heed=False, text="all."),
        Finding(guideline="tie rule", heed=True, text="moves."),
        Finding(guideline="exact form", heed=False, text="form."),
    ]
    assert cautions(findings) == ["Tie rule: moves."]
    exact, met = other_findings(findings)
    assert exact == "Exact form: form."
    assert met.endswith(": standard depths.")


def test_a_run_without_a_value_neither_leads_nor_counts_as_least_assessed() -> None:
    runs = [f"r{number}" for number in range(10)]
    means = np.linspace(0.9, 0.1, 10)
    means[0] = np.nan
    assessed = np.linspace(0.5, 0.9, 10)
    assessed[1] = np.nan  # the leader of those that are known
    found = guidelines.early_leaders(runs, "AP", (10, means), (100, means), assessed)
    assert not found.heed
    assessed[1] = 0.1
    found = guidelines.early_leaders(runs, "AP", (10, means), (100, means), assessed)
    assert "r1 (place 1, then 1; A_p 0.10)" in found.text


def test_depths_that_could_not_be_tested_have_no_range_of_pairs_told_apart() -> None:
    ap = named(["AP"])
    found = guidelines.fixed_beforehand(ap, {"AP": (np.nan, np.nan)}, None)
    assert found.text == "no, because there is no plan file (--preregistered). AP depends on the depth k."
