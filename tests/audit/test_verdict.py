"""The verdict: every rule on both sides of its limit, every statement with its figure."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.random_runs import Trial, trial

from sounding.audit import verdict as rules
from sounding.audit.auditing import audit
from sounding.audit.coverage import Growth
from sounding.audit.leave_out import LeftOut
from sounding.audit.result import Audit
from sounding.audit.verdict import FEW_RELEVANT, STEADY_TIES, Answer, Statement
from sounding.core.errors import DataError
from sounding.core.policies import Policies, Unjudged
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.sample.result import Collection
from sounding.sample.simulation import sample


def about(found: Audit, what: str) -> Statement:
    return next(one for one in found.verdict() if one.about.startswith(what))


def of(made: Trial) -> Audit:
    return audit(made.qrels, made.runs, ["AP", "P@5"], info=made.info)


@pytest.fixture(scope="module")
def collection() -> Collection:
    """26 topics, 8 runs of four groups, three of which were pooled to depth 20."""
    return sample(
        topics=26, groups=4, systems=2, documents=300, length=100, pool_depth=20, contributors=3,
        short=0.0, ties=0.0, seed=5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def simulated(collection: Collection) -> Audit:
    return audit(collection.qrels, collection.runs, info={row.run: row for row in collection.info})


def deep(topics: int, depth: int) -> Audit:
    """Two runs of different groups that share all documents but the last."""
    docs = [f"d{number:02}" for number in range(depth)]
    names = [str(100 + number) for number in range(topics)]
    judged = {topic: {doc: int(doc == "d00") for doc in docs} | {"x": 0, "y": 0} for topic in names}
    runs = [
        Run.from_dict(
            {t: {doc: -float(n) for n, doc in enumerate([*docs[:-1], last])} for t in names}, name=last
        )
        for last in ("x", "y")
    ]
    for topic in names:
        del judged[topic][docs[-1]]
    info = {
        name: RunInfo(run=name, group=name, kind="automatic", priority=1, pooled=True) for name in ("x", "y")
    }
    return audit(Qrels.from_dict(judged), runs, ["AP"], info=info)


@pytest.mark.parametrize(
    ("topics", "depth", "answer"),
    [(25, 10, "yes"), (24, 10, "with care"), (25, 9, "with care"), (2, 10, "with care"), (1, 10, "no")],
)
def test_pooled_runs_need_a_pool_of_ten_and_25_topics(topics: int, depth: int, answer: str) -> None:
    found = about(deep(topics, depth), "pooled runs")
    assert found.answer == answer
    assert found.value == depth
    assert f"the first {depth} documents of each of them are judged" in found.why
    assert found.claim == f"Compare pooled runs down to rank {depth}"
    assert ("One topic proves nothing" in found.why) == (topics == 1)


@pytest.mark.parametrize(("topics", "answer"), [(25, "yes"), (24, "with care"), (1, "no")])
@pytest.mark.parametrize("what", ["recall", "below the pool"])
def test_too_few_topics_cap_every_answer_for_pooled_runs(what: str, topics: int, answer: str) -> None:
    found = about(deep(topics, 10), what)  # one relevant document, at rank 1, and all lists judged
    assert found.answer == answer
    assert ("too few for a better answer" in found.why) == (answer != "yes")
    assert found.why.endswith("1 topic is too few for a better answer.") == (topics == 1)


def mostly_relevant(made: Collection, others: int, **options: Any) -> Audit:
    """The audit by relevant judgments alone, and so many of the others."""
    relevant = made.qrels.grades >= 1
    kept = relevant | np.isin(np.arange(len(relevant)), (~relevant).nonzero()[0][:others])
    return audit(made.qrels.keep(kept), made.runs, info={row.run: row for row in made.info}, **options)


@pytest.mark.parametrize("pool_depth", [None, 20])
def test_where_only_relevant_documents_are_listed_no_pool_is_diagnosed(
    collection: Collection, simulated: Audit, pool_depth: int | None
) -> None:
    relevant = int((collection.qrels.grades >= 1).sum())
    found = mostly_relevant(collection, relevant // 5, pool_depth=pool_depth)
    assert found.only_relevant
    assert not simulated.only_relevant
    assert not mostly_relevant(collection, relevant // 3).only_relevant  # 75% are
    statements = {one.about: one for one in found.verdict()}
    grades = found.runs.judgments.grades
    assert f"({(grades >= 1).sum():,} of {len(grades):,})" in statements["relevant only"].claim
    for what in ("pooled runs", "below the pool", "recall", "runs like the pooled ones"):
        assert statements[what].answer == "not known"
        assert "not pooled as listed" not in statements[what].why
    assert "would add" not in statements["recall"].why
    assert math.isnan(statements["recall"].value)
    assert not {"assessment", "holes"} & set(statements)


def test_a_new_run_is_not_called_unknown_to_judgments_that_list_the_relevant_alone(
    collection: Collection, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.txt"
    run = collection.runs[0]
    fresh.write_text("".join(f"{topic} Q0 nobody-has-this 1 1 fresh\n" for topic in run.topics))
    found = about(mostly_relevant(collection, 0, new=[fresh]), "new run")
    assert (found.answer, found.value) == ("not known", 0)
    assert "what else was judged is not known" in found.why
    info = {row.run: row for row in collection.info}
    assert about(audit(collection.qrels, collection.runs, new=[fresh], info=info), "new run").answer == "no"


def test_a_judged_pool_of_relevant_documents_is_a_pool() -> None:
    names = [str(number) for number in range(3)]
    docs = [f"d{number:02}" for number in range(12)]
    run = {topic: {doc: -float(place) for place, doc in enumerate(docs)} for topic in names}
    qrels = Qrels.from_dict({topic: dict.fromkeys(docs[:10], 1) for topic in names})
    found = audit(qrels, [Run.from_dict(run, name=name) for name in ("x", "y")], ["AP"])
    assert found.relevant_share == 1
    assert found.runs.pool.depth == 10
    assert not found.only_relevant


def test_runs_of_another_collection_are_told_so_and_nothing_else_is_said() -> None:
    made = trial(0)
    strange = {topic: {f"x{doc}": grade for doc, grade in own.items()} for topic, own in made.judged.items()}
    first, *others = of(Trial(strange, made.ranked, made.info)).verdict()
    assert (first.about, first.answer, first.value) == ("no document in common", "no", 0)
    assert first.why.startswith("Runs and qrels share no document: none of the ")
    assert {one.about for one in others} <= {"runs"}


def test_without_contributing_runs_little_is_known_and_nothing_breaks() -> None:
    made = trial(0)
    judged = {topic: {"unseen": 1, made.order("run0", topic)[1]: 0} for topic in made.judged}
    unseen = Trial(judged, made.ranked, {})
    found = audit(unseen.qrels, unseen.runs)
    assert not found.has_pool
    statements = found.verdict()
    assert statements[0].answer == "not known"
    assert math.isnan(statements[0].value)
    assert "--info" in statements[0].why
    assert {one.answer for one in statements[1:]} == {"note"}


def test_where_the_first_documents_are_not_judged_the_judgments_do_not_show_what_they_miss() -> None:
    made = trial(0)
    for topic in made.judged:
        for run in made.ranked:
            made.judged[topic].pop((made.order(run, topic) or [""])[0], None)
        made.judged[topic] |= {f"other{number}": 0 for number in range(4)}
    found = of(made)
    assert found.runs.pool.depth == 0
    assert found.has_pool
    statements = {one.about: one for one in found.verdict()}
    assert statements["pooled runs"].answer == "no"
    for about_what in ("recall", "runs like the pooled ones"):
        assert statements[about_what].answer == "not known"
        assert statements[about_what].why.endswith("they were not pooled as listed.")


def with_share(found: Audit, share: float) -> Audit:
    coverage = replace(found.coverage(), judged_share=np.full_like(found.coverage().judged_share, share))
    return replace(found, _known={"coverage": coverage})


@pytest.mark.parametrize(
    ("share", "answer"),
    [(0.9, "yes"), (0.89, "with care"), (0.5, "with care"), (0.49, "no"), (np.nan, "not known")],
)
def test_below_the_pool_the_median_share_judged_decides(share: float, answer: str, simulated: Audit) -> None:
    found = about(with_share(simulated, share), "below the pool")
    assert found.answer == answer
    assert found.figure == "median share judged at 100"


def with_growth(found: Audit, known: int, more: float) -> Audit:
    growth = Growth(
        topics=("1",), relevant=np.array([[known, 0]]), judged=np.array([[known, 1]]), elsewhere=0,
        twice=np.array([more]), twice_likely=np.array([2 * more]), end=4, remaining=np.array([more]),
        last=np.array([np.inf]),
    )  # fmt: skip
    return replace(found, _known={"growth": growth})


@pytest.mark.parametrize(
    ("more", "answer"),
    [(2.0, "yes"), (2.1, "with care"), (5.0, "with care"), (5.1, "no"), (np.nan, "not known")],
)
def test_recall_needs_few_relevant_documents_to_come(more: float, answer: str, simulated: Audit) -> None:
    found = about(with_growth(simulated, 10, more), "recall")
    assert found.answer == answer
    assert math.isnan(found.value) if math.isnan(more) else found.value == pytest.approx(more / 10)
    if not math.isnan(more):
        assert f"{2 * more:,.0f} ({20 * more:.0f}%) by a Poisson fit" in found.why


def left_out(found: Audit, percent: float) -> Audit:
    real = found.leave_out()
    full = np.full_like(real.full, 0.5)
    changed: LeftOut = replace(real, full=full, without=full * (1 - percent / 100))
    return replace(found, _known={("leave_out", "group"): changed})


@pytest.mark.parametrize(
    ("percent", "answer"),
    [(0.0, "yes"), (1.99, "yes"), (2.01, "with care"), (5.99, "with care"), (6.01, "no")],
)
def test_new_runs_need_small_changes_when_groups_are_left_out(
    percent: float, answer: str, simulated: Audit
) -> None:
    found = about(left_out(simulated, percent), "runs like")
    assert found.answer == answer
    assert found.value == pytest.approx(percent)
    assert f"{percent:.2f}%" in found.why


def test_one_group_alone_says_nothing_of_other_runs() -> None:
    made = trial(0, runs=2)
    found = about(of(made), "runs like")
    assert found.answer == "not known"
    assert "Only one run or group was pooled" in found.why


@pytest.mark.parametrize(
    ("judged", "usual", "answer", "claim"),
    [
        ([0.95, 0.9, 0.5], 0.99, "yes", "down to rank 10"),
        ([0.95, 0.95, 0.95], 0.99, "yes", "down to rank 100"),
        ([0.8, 0.8, 0.3], 0.75, "with care", "down to rank 20"),
        ([0.5, 0.5, 0.5], 0.75, "no", "with the others"),
        ([0.5, 0.5, 0.3], 0.1, "with care", "down to rank 20"),
        ([0.4, 0.4, 0.4], 0.1, "no", "with the others"),  # however poor the pooled runs are
    ],
)
def test_a_new_run_is_held_against_runs_whose_group_was_left_out(
    judged: list[float], usual: float, answer: str, claim: str, simulated: Audit
) -> None:
    runs = replace(simulated.runs, new=np.arange(8) == 7)
    real = simulated.leave_out()
    first, ten, rest = judged
    share = simulated.coverage().judged_share.copy()
    share[7] = np.repeat([first, ten, ten if answer == "with care" else rest, rest], [9, 1, 10, 80])
    spread = np.linspace(usual - 0.05, usual + 0.15, int(real.pooled.sum()))  # the lower quartile is `usual`
    around = np.zeros_like(real.judged_share)
    around[real.pooled] = spread[:, np.newaxis]
    around[:, 0] = 1.0  # at rank 1, which is not asked for
    known = {
        "coverage": replace(simulated.coverage(), judged_share=share),
        ("leave_out", "group"): replace(real, judged_share=around),
    }
    found = about(replace(simulated, runs=runs, _known=known), "new run")
    assert found.answer == answer
    assert claim in found.claim
    assert f"{100 * first:.0f}% of the top 5" in found.why or f"{100 * ten:.0f}% of the top 10" in found.why


@pytest.mark.parametrize(
    ("own", "pooled", "answer"),
    [
        ("yes", "yes", "yes"), ("yes", "with care", "with care"), ("yes", "no", "no"), ("no", "yes", "no"),
        ("yes", "not known", "with care"), ("with care", "not known", "with care"),
    ],
)  # fmt: skip
def test_a_new_run_is_never_better_known_than_pooled_ones(
    own: Answer, pooled: Answer, answer: Answer
) -> None:
    assert rules._no_better(own, pooled) == answer


def test_a_new_run_on_few_topics_needs_care_though_all_of_it_is_judged() -> None:
    statement = rules._new_run(deep(24, 10), 1)
    assert statement.answer == "with care"
    assert "never better than for pooled runs" in statement.why
    assert rules._new_run(deep(25, 10), 1).answer == "yes"


def test_what_is_not_judged_counts_as_the_policy_says() -> None:
    made = trial(0)
    told: dict[Unjudged, str] = {"nonrelevant": "count as not relevant", "condensed": "are removed"}
    for unjudged, words in told.items():
        found = audit(made.qrels, made.runs, ["AP"], info=made.info, policies=Policies(unjudged=unjudged))
        assert words in about(found, "below the pool").why


def test_without_a_relevant_document_there_is_nothing_to_audit() -> None:
    made = trial(0)
    with pytest.raises(DataError, match=r"no relevant document at level 9; the highest grade is \d$"):
        audit(made.qrels, made.runs, info=made.info, level=9)


@pytest.mark.parametrize("column", ["strata", "probabilities"])
def test_a_sample_is_told_by_its_design_and_nothing_else_is_said_of_it(column: str) -> None:
    made = trial(0)
    size = len(made.qrels.docs)
    halves: dict[str, Any] = {"strata": np.arange(size) % 2 + 1, "probabilities": np.full(size, 0.5)}
    grades = made.qrels.grades.copy()
    grades[:3] = -1
    qrels = replace(made.qrels, grades=grades, **{column: halves[column]})
    first, *others = audit(qrels, made.runs, info=made.info).verdict()
    assert (first.about, first.answer, first.value) == ("sample", "with care", size - 3)
    assert ("xinfAP" in first.claim) == (column == "strata")
    assert "statAP" in first.claim
    assert "3 documents of the pool were not drawn (grade -1)" in first.why
    assert all(one.answer == "note" for one in others)


def test_grades_of_minus_one_without_a_design_are_noted() -> None:
    made = trial(0)
    assert "not judged" not in {one.about for one in of(made).verdict()}
    grades = made.qrels.grades.copy()
    grades[:2] = -1
    found = about(audit(replace(made.qrels, grades=grades), made.runs, info=made.info), "not judged")
    assert found.claim.startswith(f"2 of {len(grades):,} lines of the qrels have grade -1")


def test_notes_name_what_weakens_comparisons() -> None:
    made = trial(1, topics=3)
    for name, row in made.info.items():
        made.info[name] = replace(row, kind="automatic")
    made.judged["9"] = dict.fromkeys(made.judged["9"], 0) | {"unseen": 1}
    statements = {one.about: one for one in of(made).verdict() if one.answer == "note"}
    assert statements["manual runs"].value == 0
    assert "1 topic with fewer than 5 relevant documents" in statements["few relevant"].claim or (
        statements["few relevant"].value >= 1
    )
    assert "9" in statements["few relevant"].why
    assert statements["judged elsewhere"].claim.startswith("3 of ")
    assert statements["many relevant"].claim.endswith("than the pool is deep (3)")
    relevant = {topic: sum(grade >= 1 for grade in own.values()) for topic, own in made.judged.items()}
    many = [topic for topic, count in relevant.items() if count > 3]
    assert statements["many relevant"].why.endswith(f"{', '.join(sorted(many))}.")
    assert "9" not in many


def test_manual_runs_are_missed_only_where_kinds_are_known() -> None:
    made = trial(1)
    assert "manual runs" not in {one.about for one in of(made).verdict()}  # there are some
    unknown = {name: replace(row, kind="") for name, row in made.info.items()}
    assert "manual runs" not in {one.about for one in of(replace(made, info=unknown)).verdict()}


def test_ties_are_a_matter_where_the_rules_disagree(simulated: Audit) -> None:
    real = simulated.ties()
    shares = np.full_like(real.shares, 0.5)
    for tau, expected in (
        (0.95, None),
        (0.94, "The tie policy changes the ranking of the runs"),
        (np.nan, "Whether the tie policy matters is not known"),
    ):
        ties = replace(real, shares=shares, tau=np.full((3, 3), tau))
        found = {one.about: one.claim for one in replace(simulated, _known={"ties": ties}).verdict()}
        assert found.get("ties") == expected


def test_every_statement_has_a_rule_or_is_a_note(simulated: Audit) -> None:
    for one in simulated.verdict():
        assert bool(one.rule) == (one.answer != "note")
        assert one.claim
        assert not one.claim.endswith(".")


def test_limits_are_those_of_the_page() -> None:
    assert (rules.SHALLOW, rules.SMALL_CHANGE, rules.LARGE_CHANGE) == (10, 2.0, 6.0)
    assert (rules.SMALL_REMAINDER, rules.LARGE_REMAINDER) == (0.2, 0.5)
    assert (rules.WELL_JUDGED, rules.HALF_JUDGED) == (0.9, 0.5)
    assert (STEADY_TIES, FEW_RELEVANT) == (0.95, 5)


@pytest.mark.parametrize("runs", [2, 3])
@pytest.mark.parametrize("topics", [1, 3])
def test_few_runs_and_topics_give_a_verdict(runs: int, topics: int) -> None:
    made = trial(3, runs=runs, topics=topics)
    assert of(made).verdict()
    alone = Trial(made.judged, {"run0": made.ranked["run0"]}, {"run0": made.info["run0"]})
    assert of(alone).verdict()


def test_leaving_groups_out_says_nothing_where_most_of_the_pool_is_absent() -> None:
    """Two of the pooled runs: what their groups alone found here, absent runs may have found as well."""
    collection = sample(topics=26, groups=12, systems=1, documents=400, length=100, pool_depth=20, seed=5)
    info = {row.run: row for row in collection.info}
    pooled = [run for run in collection.runs if info[run.name].pooled]
    groups = {info[run.name].group: run for run in pooled}
    found = audit(collection.qrels, list(groups.values())[:2], info=info)
    outside, judged = found.growth().elsewhere, len(collection.qrels.grades)
    assert outside > judged / 2
    statement = about(found, "runs like")
    assert statement.answer == "not known"
    assert f"{outside:,} of {judged:,} judged documents came from runs that you did not give" in statement.why
