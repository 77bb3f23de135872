"""Whether labels are fit for use: figures by hand, judges made fair, unfair and blind, and what is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.calling import caller
from tests.estimate.replays import whole_frame

import sounding
from sounding.audit.fitness import Fitness, audit_labels, favors_of
from sounding.audit.fitness_tables import verdict
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.estimate.estimable import form_of
from sounding.measures import parse
from sounding.runs.align import prepare

RNG = np.random.default_rng(1)
TOPICS, DOCS = 14, 40
GRADES = {
    str(t): {
        f"d{d:02}": int(RNG.random() < 0.9 / (1 + d / 10)) * int(RNG.integers(1, 4)) for d in range(DOCS)
    }
    for t in range(TOPICS)
}
RUNS = {
    f"r{n}": {t: {d: g + RNG.normal() * (1 + n / 4) for d, g in docs.items()} for t, docs in GRADES.items()}
    for n in range(8)
}


def labels_of(noise: float, seed: int = 3) -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(seed)
    return {
        t: {d: int(np.clip(round(g + rng.normal() * noise), 0, 3)) for d, g in docs.items()}
        for t, docs in GRADES.items()
    }


def check(labels: object, qrels: object = GRADES, runs: object = RUNS, **more: object) -> Fitness:
    return audit_labels(qrels, runs, {"m": labels}, ["P@5", "AP"], **more)  # type: ignore[arg-type]


def test_agreement_is_that_of_the_formulas() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 0, "d": 0, "e": 1}, "2": {"a": 0, "b": 1, "c": 0, "d": 0, "e": 0}}
    labels = {"1": {"a": 1, "b": 0, "c": 0, "d": 1, "e": 1}, "2": {"a": 0, "b": 1, "c": 1, "d": 0, "x": 1}}
    one = audit_labels(qrels, {"s": {"1": {"a": 1.0}, "2": {"b": 1.0}}}, {"m": labels}, ["P@5"]).judges[0]
    # Nine documents have both: 3 relevant to both, 1 only to people, 2 only to the machine, 3 to neither.
    assert one.documents == 9
    assert one.confusion.tolist() == [[3, 2], [1, 3]]
    assert one.agreement.value == pytest.approx(6 / 9)
    chance = (4 * 5 + 5 * 4) / 81
    assert one.kappa.value == pytest.approx((6 / 9 - chance) / (1 - chance))
    assert one.weighted.value == pytest.approx(one.kappa.value)
    assert one.bias.value == pytest.approx(1 / 9)
    assert one.favor is None


def test_perfect_labels_are_fit_and_blind_ones_are_not() -> None:
    perfect = check(GRADES)
    one = perfect.judges[0]
    assert [row.tau for row in one.fidelity] == [1, 1]
    assert [row.false + row.lost for row in one.fidelity] == [0, 0]
    assert verdict(perfect, one).startswith("Nothing speaks against labels by m")
    rng = np.random.default_rng(0)
    blind = {
        t: dict(zip(docs, rng.permutation(list(docs.values())).tolist(), strict=True))
        for t, docs in GRADES.items()
    }
    shuffled = {
        t: dict(zip(docs, rng.integers(0, 4, len(docs)).tolist(), strict=True)) for t, docs in blind.items()
    }
    assert "not fit for use" in verdict(check(shuffled), check(shuffled).judges[0])


def test_a_run_that_the_judge_ranked_is_found_and_named() -> None:
    labels = labels_of(1.2)
    own = {
        t: {d: label + 0.001 * n for n, (d, label) in enumerate(docs.items())} for t, docs in labels.items()
    }
    found = check(labels, runs={**RUNS, "by judge": own})
    one = found.judges[0]
    assert one.favor is not None
    assert found.runs[one.suspect] == "by judge"
    assert one.favor.p_adjusted[one.suspect] < 0.05
    assert "they favor by judge" in verdict(found, one)
    top = one.checks[0]
    assert labels[top.topic][top.doc] > GRADES[top.topic][top.doc]


def test_pairs_are_counted_against_people() -> None:
    one = check(labels_of(2.0)).judges[0].fidelity[0]
    compared = sounding.compare(GRADES, RUNS, ["P@5"])
    machine = sounding.compare(labels_of(2.0), RUNS, ["P@5"])
    ours, theirs = (
        {
            frozenset((r["run_a"], r["run_b"])): r["run_a" if r["difference"] > 0 else "run_b"]
            for r in c.frame.to_dicts()
            if r["p_adjusted"] <= 0.05
        }
        for c in (compared, machine)
    )
    assert one.significant == len(theirs)
    assert one.by_people == len(ours)
    assert one.false == sum(ours.get(pair) != better for pair, better in theirs.items())
    assert one.lost == len(ours.keys() - theirs.keys())


def test_a_sample_counts_with_its_probabilities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, chance = labels_of(0.8), {d: 0.9 if d < 10 else 0.4 for d in range(DOCS)}
    rng = np.random.default_rng(5)
    rows = [
        f"{t}\td{d:02}\t{docs[f'd{d:02}']}\t{chance[d]}\n"
        for t, docs in GRADES.items() for d in range(DOCS) if rng.random() < chance[d]
    ]  # fmt: skip
    (tmp_path / "sample.tsv").write_text("topic\tdoc\tgrade\tprobability\n" + "".join(rows))
    (tmp_path / "labels.tsv").write_text(
        "topic\tdoc\tlabel\tjudge\n"
        + "".join(f"{t}\t{d}\t{g}\tm\n" for t, docs in labels.items() for d, g in docs.items())
    )
    (tmp_path / "runs").mkdir()
    for name, ranking in RUNS.items():
        sounding.write_run(sounding.read_run(ranking, name=name), tmp_path / "runs" / f"{name}.txt")
    call = caller(capsys, "audit")
    base = [str(tmp_path / "sample.tsv"), str(tmp_path / "runs"), "--labels", str(tmp_path / "labels.tsv")]
    answer = json.loads(call(*base, "-m", "P@5", "--format", "json")[1])
    whole = check(labels).judges[0]
    own = answer["fitness"][0]
    assert own["documents"] == len(rows)
    assert own["kappa"]["value"] == pytest.approx(whole.kappa.value, abs=0.1)
    assert sum(map(sum, own["confusion"])) == pytest.approx(TOPICS * DOCS, rel=0.1)
    assert {row["run"] for row in answer["rows"]} == set(RUNS)
    status, out, _ = call(*base)
    assert status == 0
    assert "Documents to judge next" in out
    assert "documents (estimate)" in out  # the sample stands for all documents
    assert call(*base, "--section", "runs")[0] == 2
    assert call(base[0], base[1], "--judge", "m")[0] == 2


def test_labels_of_other_documents_are_refused() -> None:
    with pytest.raises(DataError, match="no document has both"):
        check({"99": {"x": 1}})


def test_favor_sums_over_the_documents_of_each_topic() -> None:
    frame, lists = whole_frame("gpt-4")
    form = form_of(parse("P(rel=2)@10"), prepare(frame.judgments, DEFAULT_POLICIES).judgments)
    values, contrast, generosity, *_ = favors_of(frame, lists, form, 3)
    topic = np.repeat(np.arange(lists.topics), frame.table.sizes)
    grade = np.empty(frame.size)
    grade[frame.sample.doc] = frame.grades
    known = ~np.isnan(frame.labels[0])
    for run in (0, 5):
        beyond = contrast[run] - [contrast[run, known & (grade == own)].mean() for own in grade]
        for number in (0, lists.topics - 1):
            own = known & (topic == number)
            assert values[run, number] == pytest.approx((beyond * generosity)[own].sum() * lists.topics)


def fair(draws: int) -> float:
    """The share of shuffles within grades, a judge fair by construction, in which some run is accused."""
    frame, lists = whole_frame("gpt-4")
    form = form_of(parse("P(rel=2)@10"), prepare(frame.judgments, DEFAULT_POLICIES).judgments)
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(draws):
        labels = frame.labels.copy()
        for grade in np.unique(frame.grades):
            own = (frame.grades == grade).nonzero()[0]
            labels[0, own] = labels[0, rng.permutation(own)]
        found = favors_of(replace(frame, labels=labels), lists, form, 3).test(seed=1)
        alarms += bool(found.p_adjusted.min() <= 0.05)
    return alarms / draws


@pytest.mark.long
def test_a_fair_judge_is_seldom_accused() -> None:
    assert fair(400) < 0.08
