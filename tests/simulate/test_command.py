"""`sounding simulate` as a person uses it: curves, tables, reuse, charts and errors."""

from __future__ import annotations

import csv
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr
from tests.conftest import require
from tests.docs_examples import run_commands
from tests.e2e.calling import Call, caller, check_refused, next_command, sampled
from tests.plan.test_command import words, write_small
from tests.simulate.test_trial import run_trial

from sounding.cli import main
from sounding.core.executors import run_on
from sounding.data.formats import read_qrels
from sounding.evaluate.evaluation import evaluate
from sounding.runs.pool import judgments_at_depth
from sounding.runs.retrieved import read_retrieved
from sounding.selection.mtc.session import Session
from sounding.simulate.trial import Truth

ROOT = Path(__file__).parents[2]
FIRST = [
    "strategy", "seed", "judgments", "relevant", "confidence", "tau_expected", "tau_plain", "tau_bpref",
    "accuracy",
]  # fmt: skip
QUICK = ("--depth", "20", "--judgments", "24", "--jobs", "1")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 6 runs and 5 topics, judged to depth 20, and small files of all kinds."""
    sizes = "--topics 5 --groups 3 --systems 2 --documents 300 --length 40"
    folder = sampled(tmp_path_factory.mktemp("simulate") / "trial", f"{sizes} --pool-depth 20 --seed 4")
    write_small(folder)
    return folder


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding simulate` in the folder of the collection."""
    monkeypatch.chdir(trial)
    return caller(capsys, "simulate")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_curves_have_the_columns_that_programs_rely_on_and_a_row_for_every_look(call: Call) -> None:
    argument = ("--strategy", "mtc,pooling,move-to-front", "--seeds", "1,2", "--format", "csv")
    status, out, err = call("qrels.txt", "runs", *QUICK, *argument)
    assert status == 0
    rows = read(out)
    assert list(rows[0])[:9] == FIRST
    assert [(row["strategy"], row["seed"], int(row["judgments"])) for row in rows] == [
        (strategy, seed, number)
        for strategy in ("mtc", "pooling", "move-to-front")
        for seed in ("1", "2")
        for number in (1, 2, 4, 8, 16, 24)
    ]
    assert err.splitlines()[0].endswith("runs, 5 topics).") or "At the end: mtc " in err.splitlines()[0]
    assert call("qrels.txt", "runs", *QUICK[:-1], "2", *argument)[1] == out


def test_rows_are_those_of_the_engine(call: Call, trial: Path) -> None:
    argument = ("--prior", "0.5", "--selection", "faithful", "--strategy", "mtc", "--at", "5,20")
    _, out, _ = call("qrels.txt", "runs", *QUICK, *argument, "--seeds", "3", "--format", "jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    qrels = read_qrels(trial / "qrels.txt")
    retrieved = read_retrieved(sorted((trial / "runs").iterdir()), depth=20, topics=qrels.topics)
    session = Session(retrieved, seed=3, prior="0.5", selection="faithful", confidence="normal", depth=20)
    wanted = run_trial(session, Truth.of(retrieved, qrels, session.form), [5, 20, 24])
    assert [row["judgments"] for row in rows] == [5, 20, 24]
    for row, other in zip(rows, wanted, strict=True):
        assert {name: None if value != value else value for name, value in other._asdict().items()} == row


def test_the_table_for_people_has_means_over_seeds_and_what_it_cost(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs", *QUICK, "--seeds", "1,2", "--strategy", "mtc", "--notes")
    assert status == 0
    rows = read(
        call("qrels.txt", "runs", *QUICK, "--seeds", "1,2", "--strategy", "mtc", "--format", "csv")[1]
    )
    last = np.mean([float(row["confidence"]) for row in rows if row["judgments"] == "24"])
    line = next(line for line in out.splitlines() if line.startswith("mtc ") and line.split()[1] == "24")
    assert line.split()[4] == f"{last:.3f}"
    said = words(out)
    assert "Means over 2 seeds." in said
    assert re.search(
        r"mtc: the confidence (is|reaches) [\d.]+ after \d+ judgments \([\d.]+% of a pool of \d+\);", said
    )
    counted = re.search(r"the (\d+) unjudged of (\d+) documents count as nonrelevant\.", said)
    assert counted
    assert 0 <= int(counted[1]) < int(counted[2])


def test_documents_that_nobody_judged_are_counted(call: Call) -> None:
    out = call("some", "one", "two", *QUICK, "--notes")[1]
    assert "the 2 unjudged of 4 documents count as nonrelevant." in words(out)  # d3 and d4 of topic 1


def test_strategies_may_be_listed_or_repeated(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--format", "csv", "--strategy")
    assert call(*argument, "mtc", "--strategy", "rank")[1] == call(*argument, "mtc,rank")[1]


def test_json_holds_all_that_is_asked_for_and_csv_says_what_it_leaves_out(call: Call) -> None:
    asked = (
        "qrels.txt", "runs", *QUICK, "--strategy", "mtc", "--tables", "--pairs", "3", "--leave-out",
        "--histogram", "auk-1", "bittern-2", "--format",
    )  # fmt: skip
    body = json.loads(call(*asked, "json")[1])
    assert [row["judgments"] for row in body["rows"]][-1] == 24
    for name in ("values", "topics", "differences", "pairs", "leave-out", "histogram"):
        alone = json.loads(call(*asked, "json", "--view", name)[1])["rows"]
        assert body[name] == alone != []
    status, out, err = call(*asked, "csv")
    assert status == 0
    assert len(read(out)) == len(body["rows"])
    assert "csv holds the curves alone, not values, topics, differences, pairs, leave-out, histogram" in err


def test_documents_are_listed_in_the_order_in_which_a_session_asks_for_them(call: Call, trial: Path) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--strategy", "mtc,rank", "--seeds", "5,6", "--format", "csv")
    rows = read(call(*argument, "--view", "documents")[1])
    retrieved = read_retrieved(sorted((trial / "runs").iterdir()), depth=20)
    session, docs = Session(retrieved, depth=20, seed=5), retrieved.docs.texts()
    fields = (line.split() for line in (trial / "qrels.txt").read_text().splitlines())
    grades = {(topic, doc): grade for topic, _, doc, grade in fields}
    for number, row in enumerate(rows, 1):
        [pick] = session.next()
        topic, doc = retrieved.topics[pick.topic], docs[pick.document]
        assert row == {
            "judgment": str(number), "topic": topic, "doc": doc, "grade": grades.get((topic, doc), "0")
        }  # fmt: skip
        session.judge(pick.document, float(row["grade"]))
    assert len(rows) == 24
    assert {row["grade"] for row in rows} == {"0", "1"}


def test_values_topics_and_differences_agree_with_an_evaluation(call: Call, trial: Path) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--strategy", "mtc", "--format", "csv", "--view")
    values = {row["run"]: row for row in read(call(*argument, "values", "--sets", "2")[1])}
    scores = evaluate(trial / "qrels.txt", sorted((trial / "runs").iterdir()), ["AP@20"])
    for run, value, topics in zip(scores.runs, scores.mean()[:, 0], scores.values[:, 0], strict=True):
        assert float(values[run]["true AP"]) == pytest.approx(value)
        assert float(values[run]["set 1"]) == pytest.approx(topics[:3].mean())
        assert float(values[run]["set 2"]) == pytest.approx(topics[3:].mean())
    rescaled = [float(row["rescaled"]) for row in values.values()]
    assert (min(rescaled), max(rescaled)) == pytest.approx((scores.mean().min(), scores.mean().max()))
    bins = [int(row["bin"]) for row in values.values()]
    assert bins == sorted(bins)
    assert bins[0] == 1
    topics_rows = read(call(*argument, "topics")[1])
    assert sum(int(row["judged"]) for row in topics_rows) == 24
    judged = [line.split() for line in (trial / "qrels.txt").read_text().splitlines()]
    for row in topics_rows:
        every = sum(topic == row["topic"] and int(grade) > 0 for topic, _, _, grade in judged)
        assert int(row["of all relevant"]) == every
    for row in read(call(*argument, "differences")[1]):
        gap = float(values[row["run"]]["true AP"]) - float(values[row["other"]]["true AP"])
        assert float(row["true difference"]) == pytest.approx(gap)
        assert gap >= 0
        assert 0 <= float(row["P(≤ 0)"]) <= 1


def test_the_headline_says_when_each_ranking_agrees_with_the_truth(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK[:-1], "2", "--judgments", "100", "--strategy", "mtc,rank")
    rows = read(call(*argument, "--format", "csv")[1])
    _, out, _ = call(*argument)
    headline = words(out.split("\n\n")[0])
    for name in ("mtc", "rank"):
        own = [row for row in rows if row["strategy"] == name]
        low = [place for place, row in enumerate(own) if float(row["tau_expected"]) < 0.9]
        after = low[-1] + 1 if low else 0
        if after < len(own):
            number = own[after]["judgments"]
            assert (
                f"{name} keeps tau at 0.9 or more from {number} " in headline
                or f"{name} from {number} on" in headline
            )
        else:
            assert (
                f"{name} does not reach it within 100" in headline
                or "No strategy reaches tau 0.9" in headline
            )
    with pytest.raises(SystemExit) as left:
        main(next_command(out))
    assert not left.value.code


def test_people_see_every_table_that_they_ask_for(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", *QUICK, "--tables", "--pairs", "6", "--leave-out", "--histogram", "auk-1",
        "bittern-2", "--strategy", "mtc",
    )  # fmt: skip
    assert status == 0
    for title in (
        "Values after 24 judgments (mtc, seed 0)", "Judgments by topic (mtc, seed 0)",
        "Pairs of runs (mtc, seed 0)", "Judgments that separate two lists of a topic at 0.95",
        "Each run left out, and put back when the others' documents are judged",
        "Where each landed after 24 judgments",
        "auk-1 less bittern-2 over completions of the judgments, all topics",
    ):  # fmt: skip
        assert f"\n{title}\n" in f"\n{out}"


def test_pairs_of_lists_are_summed_up_with_their_correlations(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--prior", "0.5", "--pairs", "30")
    rows = read(call(*argument, "--view", "pairs", "--format", "csv")[1])
    assert len(rows) == 30
    told = [row for row in rows if row["judgments"]]
    gaps, numbers = ([float(row[name]) for row in told] for name in ("difference", "judgments"))
    said = words(call(*argument, "--view", "pairs")[1])
    assert f"Decided at 0.95: {len(told)} of 30 pairs of rankings" in said
    assert f"The order of {len(told)} of 30 pairs of rankings became certain at 95%" in said
    assert f"difference and judgments {pearsonr(gaps, numbers).statistic:.3f}," in said


def test_each_run_is_left_out_and_lands_somewhere(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--view", "leave-out", "--prior", "0.5")
    rows = read(call(*argument, "--format", "csv")[1])
    assert len(rows) == 6 * 4
    assert {row["judgments"] for row in rows} == {"6", "12", "18", "24"}
    assert sorted(int(row["true_place"]) for row in rows if row["judgments"] == "24") == [1, 2, 3, 4, 5, 6]
    said = call(*argument)[1]
    assert "of all with the prior rate once the run is back; means over 6 runs left out." in words(said)
    last = [row for row in rows if row["judgments"] == "24"]
    right = np.mean([row["place"] == row["true_place"] for row in last])
    line = next(line for line in said.splitlines() if line.split()[:1] == ["24"])
    assert line.split()[1] == f"{np.mean([float(row['without']) for row in last]):.3f}"
    assert line.split()[4] == f"{100 * right:.0f}%"


def test_every_seed_leaves_out_each_run_and_draws_pairs_of_its_own(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--prior", "0.5", "--seeds", "3,4")
    rows = read(call(*argument, "--view", "leave-out", "--format", "csv")[1])
    assert [row["seed"] for row in rows[:8]] == ["3"] * 4 + ["4"] * 4
    last = [row for row in rows if row["judgments"] == "24" and row["run"] == "auk-1"]
    said = call(*argument, "--view", "leave-out")[1]
    line = next(line for line in said.splitlines() if line.startswith("auk-1"))
    assert line.split()[2] == f"{np.mean([int(row['place']) for row in last]):.1f}"
    assert "means over 6 runs left out and 2 seeds." in words(said)
    alone = [
        read(call(*argument[:-1], seed, "--pairs", "6", "--view", "pairs", "--format", "csv")[1])
        for seed in ("3", "4")
    ]
    both = read(call(*argument, "--pairs", "6", "--view", "pairs", "--format", "csv")[1])
    assert both == alone[0] + alone[1]
    drawn = call(*argument, "--histogram", "auk-1", "bittern-2", "--view", "histogram", "--format", "csv")
    assert read(drawn[1])[0]["draws"] == "10000"


def test_judgments_beyond_a_shallower_pool_are_not_known(call: Call, trial: Path) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--pool-depth", "2", "--format", "csv", "--notes")
    _, out, err = call(*argument)
    qrels, said, _ = judgments_at_depth(
        read_qrels(trial / "qrels.txt"), sorted((trial / "runs").iterdir()), 2
    )
    retrieved = read_retrieved(sorted((trial / "runs").iterdir()), depth=20, topics=qrels.topics)
    session = Session(retrieved, depth=20)
    rows = run_trial(session, Truth.of(retrieved, qrels, session.form), [16])
    found = next(row for row in read(out) if (row["strategy"], row["judgments"]) == ("mtc", "16"))
    assert (int(found["relevant"]), float(found["confidence"])) == (rows[0].relevant, rows[0].confidence)
    assert said in err


@pytest.mark.parametrize(
    "asked", [("--seeds", "1,2"), ("--view", "leave-out"), ("--view", "pairs", "--pairs", "6")]
)
def test_work_that_is_sent_away_gives_the_same(call: Call, asked: tuple[str, ...]) -> None:
    argument = ("qrels.txt", "runs", *QUICK[:4], *asked, "--format", "csv")
    here = call(*argument, "--jobs", "1")[1]
    with ThreadPoolExecutor(2) as pool, run_on(pool):
        assert call(*argument)[1] == here


def test_a_histogram_is_of_one_topic_or_of_all(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--prior", "0.5", "--histogram", "auk-1", "bittern-2")
    every = read(call(*argument, "--view", "histogram", "--format", "csv")[1])[0]
    one = read(call(*argument, "--topic", "51", "--view", "histogram", "--format", "csv")[1])[0]
    assert every["draws"] == one["draws"] == "5000"
    assert float(one["deviation"]) > float(every["deviation"])
    assert 0 <= float(every["p"]) <= 1


@pytest.mark.parametrize("suffix", ["html", "svg", "png"])
def test_a_chart_is_drawn_of_all_that_was_asked_for(call: Call, tmp_path: Path, suffix: str) -> None:
    require("vl_convert")
    target = tmp_path / f"chart.{suffix}"
    status, _, err = call(
        "qrels.txt", "runs", *QUICK, "--pairs", "5", "--histogram", "auk-1", "bittern-2", "--seeds", "1,2",
        "--tables", "--leave-out", "--chart", str(target),
    )  # fmt: skip
    assert status == 0
    assert f"chart: {target}" in err
    content = target.read_bytes()
    assert (
        content[:4] == b"\x89PNG" if suffix == "png" else b"true difference between the two lists" in content
    )


# -- small collections -----------------------------------------------------------------------------


def test_topics_that_cannot_tell_are_named(call: Call) -> None:
    status, out, _ = call("all", "one", "two", "--notes")
    said = words(out)
    assert status == 0
    assert "one lacks 1 topic (3), two lacks 1 topic (2): the value is 0 there." in said
    assert "of a pool of 7" in said
    (status, out, _) = call("none-relevant", "one", "two")
    assert status == 1


def test_one_topic_two_runs_and_short_lists_are_enough(call: Call) -> None:
    status, out, _ = call("single", "one", "two", "--tables", "--pairs", "3", "--notes")
    said = words(out)
    assert status == 0
    assert "There are no bins: one topic cannot show that runs differ." in said
    assert "% of a pool of 4" in said
    assert "difference and judgments –" in said
    assert "nan" not in said


def test_equal_runs_have_no_order_to_find(call: Call) -> None:
    status, out, _ = call("all", "one", "copy", "--tables", "--pairs", "3", "--format", "csv")
    rows = read(out)
    assert status == 0
    assert {(row["confidence"], row["tau_expected"], row["accuracy"]) for row in rows} == {("0.5", "", "")}
    said = words(call("all", "one", "copy", "--tables", "--pairs", "3")[1])
    assert "Decided at 0.95: 0 of 0 pairs of rankings." in said


def test_a_sample_ends_where_it_is_judged(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "--depth", "20", "--strategy", "uniform-sample", "--format", "csv")
    sizes = [int(row["judgments"]) for row in read(out)]
    assert 8 < sizes[-1] < 100
    assert sizes[:-1] == [2**power for power in range(len(sizes) - 1)]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("all", "one"), 2, "one alone makes no pair"),
        (("nobody", "one", "two"), 1, "nobody: no relevant document is among the first 100 of any run: all have 0"),
        (("none-relevant", "one", "two"), 1, "none-relevant: no document is relevant, so no run is better"),
        (("all", "one", "two", "--strategy", "mtc,best"), 2, "unknown strategy 'best'"),
        (("all", "one", "two", "--seeds", "a"), 2, "--seeds 'a': expected whole numbers from 0"),
        (("all", "one", "two", "--at", "0"), 2, "--at '0': expected whole numbers from 1"),
        (("all", "one", "two", "--at", "9999"), 2, "--at 9999: only 1024 are made; raise --judgments"),
        (("all", "one", "two", "--leave-out"), 1, "--leave-out needs three runs or more"),
        (("all", "one", "copy", "--histogram", "one", "copy"), 1, "differ by the same in every completion"),
        (("all", "one", "two", "--histogram", "one", "six"), 2, "unknown run 'six'"),
        (("all", "one", "two", "--histogram", "one", "two", "--topic", "9"), 2, "unknown topic '9'"),
        (("all", "one", "two", "--topic", "1"), 2, "--topic belongs to --histogram"),
        (("all", "one", "two", "--view", "pairs"), 2, "--view pairs: say how many"),
        (("all", "one", "two", "--view", "histogram"), 2, "--view histogram: name two runs"),
        (("all", "one", "two", "--sets", "2"), 2, "--sets belongs to the table of values"),
        (("all", "one", "two", "--tables", "--sets", "9"), 1, "--sets 9: there are only 3 topics"),
        (("all", "one", "two", "--chart", "x.txt"), 2, "x.txt: no chart format has the suffix '.txt'"),
        (("all", "one", "two", "--prior", "much"), 2, "unknown prior 'much'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(
    call: Call, arguments: tuple[str, ...], status: int, message: str
) -> None:
    check_refused(call(*arguments), status, message)


def test_pool_knows_minimal_test_collections(trial: Path, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(trial)
    with pytest.raises(SystemExit) as left:
        main(["pool", "runs", "--strategy", "mtc", "--depth", "20", "--budget", "6"])
    assert not left.value.code
    retrieved = read_retrieved(sorted((trial / "runs").iterdir()), depth=20)
    picks = Session(retrieved, depth=20).next(count=6)
    lines = [f"{retrieved.topics[pick.topic]} {retrieved.docs.text(pick.document)}" for pick in picks]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines)


def test_the_commands_on_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_commands(ROOT / "docs" / "simulate.md") >= 4


def test_few_topics_are_warned_of(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", *QUICK, "--format", "json")
    assert any("on 5 topics" in note and "Fewer than 25 topics" in note for note in json.loads(out)["notes"])
