"""Runs graded anew have the values that evaluating the changed qrels gives."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.audit.random_runs import trial

from sounding.audit.judged_runs import read_judged_runs, refuse_measures
from sounding.core.errors import DataError
from sounding.core.policies import Negative, Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.regrading import GONE, JUDGED, POOLED
from sounding.runs.align import align, prepare

MEASURES = parse_measures(
    ["AP", "nDCG@10", "P@5", "RR", "Bpref", "RBP(p=0.8)", "R@10", "A_p@10", "AP(rel=2)", "ERR@5", "NumRet",
     "NumRelRet", "Judged@5", "IPrec@0.5", "Rprec", "P(judged_only=True)@5", "gm_map"]
)  # fmt: skip
POLICIES = [
    Policies(),
    Policies(ties="file"),
    Policies(unjudged="condensed"),
    Policies(missing="skip"),
    Policies(negative="nonrelevant"),
    Policies(compat="trec_eval-9"),
    Policies(depth=6),
]


@pytest.mark.parametrize("policies", POLICIES, ids=Policies.describe)
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_evaluate(seed: int, policies: Policies) -> None:
    made = trial(seed)
    made.judged["9"]["d3"] = -1
    made.judged["10"]["d4"] = -1
    found = read_judged_runs(made.qrels, made.runs, info=made.info, policies=policies)
    expected = evaluate(made.qrels, made.runs, MEASURES, policies=policies)
    np.testing.assert_array_equal(found.values(MEASURES, found.view()), expected.values)
    np.testing.assert_array_equal(found.means(MEASURES, found.view()), expected.mean())


@pytest.mark.parametrize("negative", ["trec", "split"])
def test_rankings_are_those_that_align_gives(negative: Negative) -> None:
    made = trial(5)
    made.judged["9"] |= dict.fromkeys(made.order("run0", "9")[3:6], -1)
    made.judged["11"] |= dict.fromkeys(made.order("run1", "11")[1:4], -2)
    policies = Policies(negative=negative)
    found = read_judged_runs(made.qrels, made.runs, info=made.info, policies=policies)
    for number, run in enumerate(made.runs):
        ours, theirs = (
            found.ranking(number, found.view()),
            align(run, prepare(made.qrels, policies), policies),
        )
        names = ("topic", "rank", "grade", "retrieved", "missing", "pooled_topic", "pooled_rank")
        for name in names:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
        for name in ("starts", "grades", "pooled", "highest"):
            ours_value, theirs_value = getattr(ours.judgments, name), getattr(theirs.judgments, name)
            np.testing.assert_array_equal(ours_value, theirs_value, err_msg=name)


@pytest.mark.parametrize("seed", range(3))
def test_without_some_documents_values_are_those_of_the_shorter_qrels(seed: int) -> None:
    made = trial(seed)
    rng = np.random.default_rng(seed)
    found = read_judged_runs(made.qrels, made.runs, info=made.info)
    lost = rng.random(len(found.retrieved.docs)) < 0.3
    topics = np.unique(found.retrieved.topic[lost])
    names = found.retrieved.docs.texts()
    pairs = {(found.topics[found.retrieved.topic[doc]], names[doc]) for doc in lost.nonzero()[0]}
    expected = evaluate(made.without(pairs), made.runs, MEASURES).values
    np.testing.assert_array_equal(found.values(MEASURES, found.view(lost)), expected)
    few = found.values(MEASURES, found.view(lost, topics[:2]))
    np.testing.assert_array_equal(few, expected[:, :, topics[:2]])


def test_pretended_judgments_are_qrels_of_these_documents_alone() -> None:
    made = trial(1)
    found = read_judged_runs(made.qrels, made.runs, info=made.info)
    chosen = np.random.default_rng(1).random(len(found.retrieved.docs)) < 0.4
    names = found.retrieved.docs.texts()
    judged: dict[str, dict[str, float]] = {topic: {} for topic in found.topics}
    for doc in chosen.nonzero()[0]:
        judged[found.topics[found.retrieved.topic[doc]]][names[doc]] = 1
    measures = parse_measures(["AP", "nDCG@10", "P@5"])
    expected = evaluate(judged, made.runs, measures)
    np.testing.assert_array_equal(found.values(measures, found.pretend(chosen)), expected.values)


def test_judgments_of_documents_that_no_run_has_still_count() -> None:
    made = trial(0)
    found = read_judged_runs(made.qrels, made.runs, info=made.info)
    assert len(found.judgments.grades) == sum(map(len, made.judged.values()))
    assert np.count_nonzero(found.document == -1) == len(made.judged)


def test_a_cut_pool_keeps_what_contributing_runs_have_there() -> None:
    made = trial(2)
    for topic, judged in made.judged.items():  # judged by luck: run5 was not pooled
        judged.update(dict.fromkeys(made.order("run5", topic)[:1], 1))
    found = read_judged_runs(made.qrels, made.runs, info=made.info, pool_depth=1)
    expected = {
        (topic, made.order(run, topic)[0])
        for run, row in made.info.items()
        if row.pooled
        for topic in made.judged
        if made.order(run, topic)
    }
    assert len(found.judgments.grades) == len(expected)
    assert found.pool.depth == 1
    assert found.remarks[0].startswith(
        f"pool cut to depth 1 (of 5 contributing runs, listed): {len(expected)} of "
    )
    assert (found.pool.judged, found.pool.holed) == (1, 0)


def test_what_the_info_file_leaves_open_is_said_in_a_line_each() -> None:
    made = trial(0)
    info = dict(made.info)
    del info["run1"]
    info["run2"] = replace(info["run2"], group="")
    info["gone"] = replace(info["run0"], run="gone")
    found = read_judged_runs(made.qrels, made.runs, info=info)
    assert found.remarks == (
        "1 run (run1) not in the info file: treated as not pooled",
        "1 run (run2) without a group in the info file: each is treated as its own group",
        "1 run (gone) of the info file was not given, 1 of them pooled: documents that only these runs"
        " found count as found by no run",
        "1 run (run1) not in the info file, yet judged to depth 3 on every topic, as pooled runs are: the file"
        " may have them under other names",
    )
    made.judged["9"].pop(made.order("run1", "9")[0])
    assert not any(
        "other names" in text for text in read_judged_runs(made.qrels, made.runs, info=info).remarks
    )
    assert found.groups[:4] == ("group0", "run1", "run2", "group1")
    assert found.kinds[1] == "unknown"
    assert found.contributing.tolist() == [True, False, True, True, True, False]


def test_without_info_every_run_is_its_own_group_and_that_is_said() -> None:
    made = trial(0)
    found = read_judged_runs(made.qrels, made.runs)
    assert found.groups == found.runs
    assert found.pool.guessed
    assert "without --info" in found.remarks[0]


@pytest.mark.parametrize(("negative", "counted"), [("trec", 3), ("split", 0), ("nonrelevant", 0)])
def test_grades_below_minus_one_that_count_as_unjudged_are_counted(negative: Negative, counted: int) -> None:
    made = trial(5)
    made.judged["9"] |= dict.fromkeys(made.order("run0", "9")[3:6], -2)
    made.judged["9"] |= dict.fromkeys(made.order("run0", "9")[6:8], -1)
    found = read_judged_runs(made.qrels, made.runs, info=made.info, policies=Policies(negative=negative))
    told = [remark for remark in found.remarks if "-2 or below" in remark]
    assert [int(remark.split()[0]) for remark in told] == [counted] * bool(counted)


def test_contributions_are_refused_where_nobody_contributed() -> None:
    found = read_judged_runs(Qrels.from_dict({"1": {"a": 1}}), [Run.from_dict({"1": {"b": 1.0}}, name="r")])
    with pytest.raises(DataError, match="none of these runs is known to have contributed"):
        found.contributions()


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (Policies(unjudged="bounds"), "unjudged bounds: .* nonrelevant or condensed"),
        (Policies(missing="error"), "no documents for 1 of 4 judged topics, first '11'"),
    ],
)
def test_policies_that_do_not_fit_are_refused(policies: Policies, message: str) -> None:
    made = trial(0)
    with pytest.raises(DataError, match=message):
        read_judged_runs(made.qrels, made.runs, policies=policies)


@pytest.mark.parametrize(
    ("name", "message"), [("infAP", "estimate from a sample"), ("RunID", "gives a text")]
)
def test_measures_that_cannot_change_are_refused(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        refuse_measures(parse_measures([name]))


def test_a_run_of_other_topics_is_refused() -> None:
    runs = [Run.from_dict({"1": {"a": 1.0}}, name="r"), Run.from_dict({"7": {"a": 1.0}}, name="s")]
    with pytest.raises(
        DataError, match=re.escape("no topic in common with the qrels: they have 1, ..., the run has 7, ...")
    ):
        read_judged_runs(Qrels.from_dict({"1": {"a": 1}}), runs)


def test_the_scale_is_that_of_the_qrels_also_without_their_best_documents() -> None:
    # The only grade 3 is lost: ERR@3 of a first document of grade 1 is (2^1 - 1) / 2^3 whatever is left.
    runs = [Run.from_dict({"1": {"x": 3.0, "y": 2.0}}, name=name) for name in "ab"]
    found = read_judged_runs(Qrels.from_dict({"1": {"x": 1, "y": 3}}), runs)
    lost = np.array([text == "y" for text in found.retrieved.docs.texts()])
    (err,) = parse_measures(["ERR@3"])
    assert found.means([err], found.view(lost))[0, 0] == pytest.approx(1 / 8)


def test_rows_may_be_judged_pooled_or_gone() -> None:
    made = trial(3)
    found = read_judged_runs(made.qrels, made.runs, info=made.info)
    rng = np.random.default_rng(3)
    states = rng.choice([GONE, POOLED, JUDGED], len(found.full)).astype(np.int8)
    part = replace(made.qrels, grades=np.where(states == POOLED, -1.0, made.qrels.grades)).keep(
        states != GONE
    )
    expected = evaluate(replace(part, highest=made.qrels.best_grade), made.runs, MEASURES)
    view = found.under(states)
    np.testing.assert_array_equal(found.values(MEASURES, view), expected.values)
    topics = np.array([0, 2])
    few = found.under(states, topics)
    np.testing.assert_array_equal(found.values(MEASURES, few), expected.values[:, :, topics])
    assert few.judgments.pooled.tolist() == view.judgments.pooled[topics].tolist()
    assert (view.judgments.pooled > 0).any()
