"""Tied scores: counted by hand, and rules compared with evaluating under each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.audit.random_runs import trial

from sounding.audit.auditing import audit
from sounding.audit.judged_runs import RULES, read_judged_runs
from sounding.audit.ties import TiedScores, tied_scores
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate


def ties_of(
    qrels: Qrels, runs: list[Run], *, level: float = 1, policies: Policies = DEFAULT_POLICIES
) -> TiedScores:
    return tied_scores(read_judged_runs(qrels, runs, level=level, policies=policies))


def test_a_document_is_tied_if_another_of_the_first_twenty_has_its_score() -> None:
    # 20 best of 22: scores 9 9 9, 8, 7 7, then 14 different ones; the 21st and 22nd tie with nobody above.
    scores = [9, 9, 9, 8, 7, 7, *np.linspace(6, 5, 14), 4, 4]
    run = Run.from_dict({"1": {f"d{n}": float(s) for n, s in enumerate(scores)}, "2": {"a": 1.0}}, name="r")
    qrels = Qrels.from_dict({"1": {"d1": 1}, "2": {"a": 1}, "3": {"b": 1}})
    found = ties_of(qrels, [run])
    assert found.shares[0, :2].tolist() == [5 / 20, 0.0]
    assert np.isnan(found.shares[0, 2])
    assert found.median_share() == 0.25
    assert found.with_ties() == 0.5
    assert np.isnan(found.tau[0, 1])  # one run has no order


def test_a_tie_across_the_twentieth_place_counts_only_what_is_above() -> None:
    scores = [*range(40, 21, -1), 1, 1]  # ranks 20 and 21 tie
    run = Run.from_dict({"1": {f"d{n}": float(s) for n, s in enumerate(scores)}}, name="r")
    found = ties_of(Qrels.from_dict({"1": {"d1": 1}}), [run])
    assert found.with_ties() == 0.0
    assert np.isnan(found.median_share())


def test_scores_that_tie_in_single_precision_tie_where_trec_eval_9_is_followed() -> None:
    run = Run.from_dict({"1": {"a": 1.0, "b": 1.0 + 1e-12}}, name="r")
    qrels = Qrels.from_dict({"1": {"a": 1}})
    assert ties_of(qrels, [run]).with_ties() == 0.0
    assert ties_of(qrels, [run], policies=Policies(compat="trec_eval-9")).with_ties() == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_rules_give_the_values_of_evaluating_under_them(seed: int) -> None:
    made = trial(seed)
    found = ties_of(made.qrels, made.runs)
    for place, rule in enumerate(RULES):
        expected = evaluate(made.qrels, made.runs, ["RBP(p=0.8)"], policies=Policies(ties=rule)).mean()[:, 0]
        np.testing.assert_allclose(found.means[:, place], expected, rtol=1e-12)
    expected_tau = stats.kendalltau(found.means[:, 0], found.means[:, 1]).statistic
    assert found.tau[0, 1] == pytest.approx(expected_tau)
    assert found.tau.diagonal().tolist() == pytest.approx([1, 1, 1])
    assert found.frame.columns == ["run", "tied_share", "trec", "file", "average"]


@pytest.mark.parametrize(
    "policies", [Policies(missing="skip"), Policies(unjudged="condensed")], ids=Policies.describe
)
def test_rules_keep_to_the_other_policies(policies: Policies) -> None:
    made = trial(0)  # topic 11 is missing from a run
    found = ties_of(made.qrels, made.runs, policies=policies)
    usual = ties_of(made.qrels, made.runs)
    for place, rule in enumerate(RULES):
        chosen = replace(policies, ties=rule)
        expected = evaluate(made.qrels, made.runs, ["RBP(p=0.8)"], policies=chosen).mean()[:, 0]
        np.testing.assert_allclose(found.means[:, place], expected, rtol=1e-12)
    assert not np.allclose(found.means, usual.means)


def test_new_runs_have_no_part_in_what_the_audit_says_of_ties(tmp_path: Path) -> None:
    made = trial(3)
    for name, ranked in made.ranked.items():
        lines = [
            f"{topic} Q0 {doc} 1 {score} {name}\n"
            for topic, own in ranked.items()
            for doc, score in own.items()
        ]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    files = [str(path) for path in sorted(tmp_path.iterdir())]
    found = audit(made.qrels, files, ["AP"], new=files[:1], info=made.info).ties()
    assert found.runs == tuple(made.ranked)[1:]
    alone = ties_of(made.qrels, made.runs[1:])
    np.testing.assert_array_equal(found.means, alone.means)


def test_a_level_above_1_makes_rbp_binary() -> None:
    made = trial(1)
    one, two = (ties_of(made.qrels, made.runs, level=level) for level in (1, 2))
    assert (str(one.measure), str(two.measure)) == ("RBP", "RBP(rel=2)")
    expected = evaluate(made.qrels, made.runs, ["RBP(p=0.8, rel=2)"]).mean()[:, 0]
    np.testing.assert_allclose(two.means[:, 0], expected, rtol=1e-12)
    assert (one.means != two.means).any()
