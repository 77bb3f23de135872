"""`sounding estimate` on small files: what it computes, shows and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.calling import caller

import sounding
from sounding.core.errors import DataError
from sounding.data.tables import Qrels
from sounding.estimate.tables import run_tables

RNG = np.random.default_rng(8)
TOPICS, DOCS = 12, 30
GRADES = {
    str(t): {f"d{d:02}": int(RNG.random() < 0.8 / (1 + d / 8)) * int(RNG.integers(1, 3)) for d in range(DOCS)}
    for t in range(TOPICS)
}
LABELS = {t: {d: min(3, g + int(RNG.random() < 0.3)) for d, g in docs.items()} for t, docs in GRADES.items()}
RUNS = {
    name: {t: {d: float(-n + RNG.normal() * noise) for n, d in enumerate(docs)} for t, docs in GRADES.items()}
    for name, noise in (("good", 2.0), ("fair", 8.0), ("poor", 40.0))
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [(t, d, g) for t, docs in GRADES.items() for d, g in docs.items()]
    chance = np.where([int(d[1:]) < 15 for _, d, _ in rows], 0.6, 0.2)
    drawn = np.random.default_rng(2).random(len(rows)) < chance
    (tmp_path / "prels.txt").write_text(
        "".join(f"{t} {d} {g} 1 {p:g}\n" for (t, d, g), p, i in zip(rows, chance, drawn, strict=True) if i)
    )
    (tmp_path / "qrels.txt").write_text("".join(f"{t} 0 {d} {g}\n" for t, d, g in rows))
    (tmp_path / "labels.tsv").write_text(
        "topic\tdoc\tlabel\tjudge\tprompt\n"
        + "".join(f"{t}\t{d}\t{g}\tm-1\tours-1\n" for t, docs in LABELS.items() for d, g in docs.items())
    )
    (tmp_path / "runs").mkdir()
    for name, ranking in RUNS.items():
        sounding.write_run(sounding.read_run(ranking, name=name), tmp_path / "runs" / f"{name}.txt")
    return tmp_path


def test_with_everything_judged_the_estimates_are_the_values(files: Path) -> None:
    measures = ["P@5", "RBP", "DCG@10", "SDCG@10", "ERR", "ERR@5", "RBP(rel=1)", "DCG(dcg='exp-log2')@10"]
    own = sounding.estimate(files / "qrels.txt", RUNS, measures, labels=files / "labels.tsv")
    scores = sounding.evaluate(files / "qrels.txt", RUNS, measures)
    for number, one in enumerate(own.estimates):
        assert one.values == pytest.approx(scores.values[:, number])
        assert (one.errors == 0).all()
    assert own.machine_share == 0


def test_the_estimate_with_its_parts_as_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = caller(capsys, "estimate")
    arguments = [str(files / "prels.txt"), str(files / "runs"), "--labels", str(files / "labels.tsv")]
    answer = json.loads(call(*arguments, "-m", "P@5", "--format", "json")[1])
    assert answer["judged"] == len((files / "prels.txt").read_text().splitlines())
    assert answer["documents"] == answer["labeled"] == TOPICS * DOCS
    assert answer["machine_share"] == pytest.approx(1 - answer["judged"] / (TOPICS * DOCS))
    assert answer["judges"] == ["m-1 (prompt ours-1)"]
    rows = {row["run"]: row for row in answer["rows"]}
    truth = sounding.evaluate(files / "qrels.txt", RUNS, ["P@5"]).values[:, 0].mean(axis=1)
    for name, value in zip(RUNS, truth, strict=True):
        assert rows[name]["low"] < value < rows[name]["high"]
    assert rows["good"]["error"] < rows["good"]["people_error"]
    pairs = json.loads(call(*arguments, "-m", "P@5", "--all-pairs", "--format", "json")[1])
    first = pairs["rows"][0]
    assert first["difference"] == pytest.approx(
        rows[first["run_a"]]["estimate"] - rows[first["run_b"]]["estimate"]
    )
    assert first["low"] < first["difference"] < first["high"]
    assert 0 < first["p"] <= first["p_adjusted"] <= 1


def test_machines_are_named_for_qrels_and_for_mixed_files(files: Path) -> None:
    people = [line.split() for line in (files / "prels.txt").read_text().splitlines()]
    mixed = files / "mixed.tsv"
    rows = [f"{t}\t{d}\t{g}\tann\t{p}\n" for t, d, g, _, p in people]
    rows += [f"{t}\t{d}\t{g}\tm-1\t1\n" for t, docs in LABELS.items() for d, g in docs.items()]
    mixed.write_text("topic\tdoc\tgrade\tassessor\tprobability\n" + "".join(rows))
    one = sounding.estimate(files / "prels.txt", RUNS, ["P@5"], labels=files / "labels.tsv")
    other = sounding.estimate(mixed, RUNS, ["P@5"], judges=["m-1"])
    assert other.estimates[0].means == pytest.approx(one.estimates[0].means)
    assert other.judges == ("m-1",)


def test_judgments_without_known_chances_are_refused(files: Path) -> None:
    greedy = files / "greedy.txt"
    greedy.write_text("".join(f"0 d{d:02} 1 0 1\n" for d in range(25)))
    with pytest.raises(DataError, match="greedily"):
        sounding.estimate(greedy, RUNS, ["P@5"], labels=files / "labels.tsv")
    part = files / "part.txt"
    part.write_text("".join(f"0 0 d{d:02} 1\n" for d in range(25)))
    with pytest.raises(DataError, match="with which probability"):
        sounding.estimate(part, RUNS, ["P@5"], labels=files / "labels.tsv")
    # Of 12 topics with 30 labeled documents each, 8 are enough for early measures; AP needs more than there are.
    for measure, needed in (
        ("nDCG@10", r"8 randomly .* \(about 240 j"),
        ("AP", r"all 12 topics .* \(about 360 j"),
    ):
        with pytest.raises(DataError, match=f"no interval.*judge {needed}"):
            sounding.estimate(files / "prels.txt", RUNS, [measure], labels=files / "labels.tsv")
    few = files / "few.txt"
    few.write_text("0 d00 1 1 0.5\n0 d01 1 1 0.5\n")
    with pytest.raises(DataError, match="at least 20"):
        sounding.estimate(few, RUNS, ["P@5"], labels=files / "labels.tsv")


def test_greedy_rows_are_left_out_and_a_sample_of_other_documents_is_noticed(files: Path) -> None:
    lines = (files / "prels.txt").read_text()
    both = files / "both.txt"
    taken = {tuple(line.split()[:2]) for line in lines.splitlines()}
    more = next((t, d) for t, docs in GRADES.items() for d in docs if (t, d) not in taken)
    both.write_text(lines + f"{more[0]} {more[1]} 1 0 1\n")
    own = sounding.estimate(both, RUNS, ["P@5"], labels=files / "labels.tsv")
    assert own.judged == len(lines.splitlines())
    assert any("1 judgment chosen greedily" in remark for remark in own.remarks)
    shallow = files / "shallow.txt"
    shallow.write_text("".join(f"{line}\n" for line in lines.splitlines() if line.endswith(" 0.6")))
    own = sounding.estimate(shallow, RUNS, ["RBP(p=0.95)"], labels=files / "labels.tsv")
    assert any("represents about" in remark for remark in own.remarks)


def test_a_sample_that_nobody_graded_yet_is_not_called_greedy(files: Path) -> None:
    empty = files / "ungraded.txt"
    empty.write_text(
        "".join(
            f"{line.split()[0]} {line.split()[1]} -1 1 0.5\n"
            for line in (files / "prels.txt").read_text().splitlines()
        )
    )
    with pytest.raises(DataError, match="no document has a grade yet"):
        sounding.estimate(empty, RUNS, ["P@5"], labels=files / "labels.tsv")


def test_intervals_are_possible_and_those_for_topics_like_these_are_the_wider_ones(files: Path) -> None:
    found = sounding.estimate(files / "prels.txt", RUNS, ["P@5", "DCG@5"], labels=files / "labels.tsv")
    for one in found.estimates:
        assert (one.low >= 0).all()
        assert (one.measure.name == "DCG") or (one.topics_high <= 1).all()
        assert (one.topics_low <= one.low).all()
        assert (one.topics_high >= one.high).all()


def test_negative_grades_count_as_evaluate_counts_them(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junk = {t: {d: -2 if d == "d07" else g for d, g in docs.items()} for t, docs in GRADES.items()}
    rows = ((t, d, g) for t, docs in junk.items() for d, g in docs.items())
    (files / "junk.txt").write_text("".join(f"{t} {d} {g} 1 1\n" for t, d, g in rows))
    call = caller(capsys, "estimate")
    words = ["junk.txt", "runs", "--labels", "labels.tsv", "-m", "P@5", "--format", "json"]
    words = [str(files / one) if "." in one or one == "runs" else one for one in words]
    truth = sounding.evaluate(junk, RUNS, ["P@5"]).values[:, 0].mean(axis=1)
    rows_of = {row["run"]: row for row in json.loads(call(*words, "--policy", "negative=split")[1])["rows"]}
    # -2: judged and not relevant, so that nothing is unknown
    assert [rows_of[name]["estimate"] for name in RUNS] == pytest.approx(truth.tolist())
    assert all(row["error"] == 0 for row in rows_of.values())
    plain = json.loads(call(*words)[1])  # as trec_eval: these were not judged
    assert (plain["judged"], max(row["error"] for row in plain["rows"]) > 0) == (29 * TOPICS, True)


def test_an_estimate_is_a_value_that_the_measure_can_have() -> None:
    """A relevant first document with a chance of 1/20 in each topic stands for 20, so that P@1 would be 20."""
    drawn = {str(t): {"d": 1.0} for t in range(25)}
    qrels = Qrels.from_columns(list(drawn), ["d"] * 25, [1.0] * 25, probabilities=[0.05] * 25)
    own = sounding.estimate(qrels, {"a": drawn, "b": drawn}, ["P@1", "DCG@1"])
    assert own.estimates[0].means.tolist() == own.estimates[0].people.tolist() == [1, 1]
    assert own.estimates[1].means == pytest.approx([20, 20])  # DCG has no upper end
    # A run with every second such document has 10. Differences are of the estimates before they are cut.
    half = {topic: docs if int(topic) % 2 else {"x": 1.0} for topic, docs in drawn.items()}
    own = sounding.estimate(qrels, {"a": drawn, "b": half}, ["P@1"])
    row = own.frame_of_pairs.row(0, named=True)
    assert row["difference"] == pytest.approx(20 * 13 / 25)
    assert row["difference"] == pytest.approx((row["low"] + row["high"]) / 2)
    assert own.estimates[0].tests is not None
    assert row["difference"] == pytest.approx(own.estimates[0].tests.difference[0])


def test_ordinary_judgments_without_labels_are_nothing_to_estimate_from() -> None:
    """They would give an interval of no width, as if nothing were unknown."""
    with pytest.raises(DataError, match="nothing to estimate from"):
        sounding.estimate({"1": {"a": 1, "b": 0}}, {"1": {"a": 2.0, "c": 1.0}}, measures=["P@2"])


def test_runs_that_share_the_best_estimate_are_all_marked(files: Path) -> None:
    same = {"good": RUNS["good"], "copy": RUNS["good"], "poor": RUNS["poor"]}
    (table,) = run_tables(sounding.estimate(files / "prels.txt", same, ["P@5"], labels=files / "labels.tsv"))
    assert table.columns[1].best == {0, 1}
