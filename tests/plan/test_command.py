"""`sounding plan` as a person uses it: what to judge next, how sure the order is, and how far it is to go."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import require
from tests.docs_examples import run_commands
from tests.e2e.calling import Call, caller, check_refused, next_command, sampled

from sounding.core.errors import DataError
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.plan.forecast import JudgingForecast
from sounding.plan.sentences import forecast_note
from sounding.plan.tables import forecast_rows
from sounding.runs.pool import judgments_at_depth
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session, known_judgments

ROOT = Path(__file__).parents[2]
QUICK = ("--worlds", "2", "--depth", "20", "--jobs", "1")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 6 runs and 5 topics, judged to depth 10, and small files of all kinds."""
    sizes = "--topics 5 --groups 3 --systems 2 --documents 300 --length 40"
    folder = sampled(tmp_path_factory.mktemp("plan") / "trial", f"{sizes} --pool-depth 10 --seed 4")
    write_small(folder)
    return folder


def write_small(folder: Path) -> None:
    """Two runs that lack a topic each, a copy of the first, and judgments from none to all."""
    first = "1 Q0 d1 1 9 {0}\n1 Q0 d2 2 8 {0}\n1 Q0 d3 3 7 {0}\n2 Q0 e1 1 9 {0}\n2 Q0 e2 2 8 {0}\n"
    (folder / "one").write_text(first.format("one"))
    (folder / "copy").write_text(first.format("copy"))
    (folder / "two").write_text("1 Q0 d3 1 9 two\n1 Q0 d4 2 8 two\n3 Q0 f1 1 8 two\n")
    (folder / "some").write_text("1 0 d1 1\n1 0 d2 0\n")
    judged = {"1": "d1 d2 d3 d4", "2": "e1 e2", "3": "f1"}
    lines = [
        f"{topic} 0 {doc} {int(doc[1] == '1')}" for topic, docs in judged.items() for doc in docs.split()
    ]
    (folder / "all").write_text("\n".join(lines) + "\n")
    (folder / "nobody").write_text("1 0 x 1\n")
    (folder / "none-relevant").write_text("1 0 d1 0\n2 0 e1 0\n")
    (folder / "single").write_text("1 0 d1 1\n")


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding plan` in the folder of the collection."""
    monkeypatch.chdir(trial)
    return caller(capsys, "plan")


def session_of(trial: Path, **parameters: object) -> tuple[Session, Retrieved]:
    retrieved = read_retrieved(sorted((trial / "runs").iterdir()), depth=20)
    given, elsewhere = known_judgments(retrieved, read_qrels(trial / "qrels.txt"))
    chosen: dict[str, object] = {"depth": 20, **parameters}
    return Session(retrieved, given=given, elsewhere=elsewhere, **chosen), retrieved  # type: ignore[arg-type]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def words(text: str) -> str:
    """Text without its line breaks, which depend on the width."""
    return " ".join(text.split())


def test_documents_are_the_next_of_every_topic_what_tells_most_first(call: Call, trial: Path) -> None:
    status, out, err = call("qrels.txt", "runs", *QUICK, "--next", "2", "--format", "csv")
    assert status == 0
    session, retrieved = session_of(trial)
    picks = [pick for topic in range(5) for pick in session.next(topics=[topic], count=2)]
    picks.sort(key=lambda pick: -(pick.weight or 0))
    rows = read(out)
    assert list(rows[0]) == ["topic", "doc", "chance", "pool_rank", "weight"]
    assert [(row["topic"], row["doc"]) for row in rows] == [
        (retrieved.topics[pick.topic], retrieved.docs.text(pick.document)) for pick in picks
    ]
    assert [float(row["chance"]) for row in rows] == [session.chance(pick.document) for pick in picks]
    assert err.splitlines()[0].endswith("Judge these 10 documents next: about 5 minutes at 30 s each.")


@pytest.mark.parametrize("budget", [1, 7, 500])
def test_a_budget_is_the_number_of_new_judgments_over_all_topics(
    call: Call, trial: Path, tmp_path: Path, budget: int
) -> None:
    path = tmp_path / "next.qrels"
    status, _, err = call("qrels.txt", "runs", *QUICK, "--budget", str(budget), "-o", str(path))
    assert status == 0
    session, retrieved = session_of(trial)
    expected = {
        (retrieved.topics[pick.topic], retrieved.docs.text(pick.document))
        for pick in session.next(count=budget)
    }
    rows = [line.split() for line in path.read_text().splitlines()]
    assert {(topic, doc) for topic, _, doc, _ in rows} == expected
    assert {(zero, grade) for _, zero, _, grade in rows} == {("0", "-1")}
    assert len(rows) == len(expected) <= budget
    known = {tuple(line.split()[::2]) for line in (trial / "qrels.txt").read_text().splitlines()}
    assert not expected & known
    assert "append the lines to qrels.txt" in err
    joined = tmp_path / "joined.txt"
    filled = path.read_text().replace(" -1\n", " 0\n")
    joined.write_text((trial / "qrels.txt").read_text() + filled)
    body = json.loads(call(str(joined), "runs", *QUICK, "--format", "json", "-n", "1")[1])
    assert body["judgments"] == session.judgments + len(rows)


@pytest.mark.parametrize(
    "more", [(), ("--budget", "4", "-m", "P@5"), ("--pair", "auk-1", "albatross-2"), ("--topic", "52")]
)
@pytest.mark.parametrize("qrels", ["qrels.txt", "none"])
def test_the_next_command_runs_as_it_is_printed(
    call: Call, tmp_path: Path, qrels: str, more: tuple[str, ...]
) -> None:
    _, out, _ = call(qrels, "runs", *QUICK, *more)
    words_ = next_command(out)
    assert words_[0] == "plan"
    assert words_[-2:] == ["-o", "next.qrels"]
    path = tmp_path / "next.qrels"
    status, _, err = call(*words_[1:-1], str(path))
    assert status == 0, err
    found = json.loads(call(qrels, "runs", *QUICK, *more, "--format", "json")[1])["rows"]
    rows = {tuple(line.split()[::2]) for line in path.read_text().splitlines()}
    assert rows == {(row["topic"], row["doc"]) for row in found}


def test_the_headline_counts_the_pairs_whose_order_is_certain(call: Call) -> None:
    known = ("qrels.txt", "runs", *QUICK, "--prior", "rate", "--confidence", "draws")
    rows = read(call(*known, "--view", "pairs", "--format", "csv")[1])
    for sure in ("0.95", "0.8"):
        certain = sum(float(row["confidence"]) >= float(sure) for row in rows)
        said = words(call(*known, "--sure", sure)[1])
        count = "all 15 pairs" if certain == 15 else f"{certain} of 15 pairs"
        assert said.startswith(f"The order of {count} is certain at {100 * float(sure):g}% (AP, 5 topics, ")
    assert 0 < certain < 15


def test_the_headline_and_the_ranking_are_printed_before_anything_is_simulated(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = call("qrels.txt", "runs", *QUICK)[1]

    def stop(*_: object, **__: object) -> None:
        raise DataError(f"stopped after {len(capsys.readouterr().out)} characters")

    monkeypatch.setattr("sounding.plan.planning.outlook", stop)
    status, _, err = call("qrels.txt", "runs", *QUICK)
    assert status == 1
    shown = int(re.findall(r"after (\d+) characters", err)[0])
    assert whole[:shown].count("\n") > 6
    assert whole[shown:].lstrip().startswith("Pairs of runs")
    # A file is written in one piece, or not at all.
    assert call("qrels.txt", "runs", *QUICK, "-o", "out.csv")[0] == 1
    assert not Path("out.csv").exists()


def test_at_most_three_notes_are_shown_unless_all_are_asked_for(call: Call) -> None:
    known = (*QUICK, "--to", "0.97")
    few, every = (words(call("qrels.txt", "runs", *known, *more)[1]) for more in ((), ("--notes",)))
    assert "with --notes." in few
    assert "with --notes." not in every
    assert "Policies" not in every
    assert "Policies: ties file." in words(
        call("qrels.txt", "runs", *QUICK, "--policy", "ties=file", "--notes")[1]
    )


def test_the_next_command_names_many_runs_so_that_it_can_be_pasted(call: Call, trial: Path) -> None:
    runs = sorted((trial / "runs").iterdir())
    (trial / "extra").mkdir(exist_ok=True)
    for run in runs:
        (trial / "extra" / f"{run.stem}.res").write_bytes(run.read_bytes())
    (trial / "extra" / "notes.md").write_text("no run\n")
    for given, typed in (
        (sorted(map(str, (trial / "extra").glob("*.res"))), [f"{trial}/extra/*.res"]),
        (list(map(str, runs)), [f"{trial}/runs/"]),
        (list(map(str, runs[:5])), list(map(str, runs[:5]))),
    ):
        words = next_command(call("qrels.txt", *given, *QUICK)[1])
        assert words[2 : words.index("--depth")] == typed


def test_one_topic_can_be_asked_for(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", *QUICK, "--topic", "52", "--next", "4", "--format", "csv")
    assert {row["topic"] for row in read(out)} == {"52"}


def test_the_ranking_has_expected_values_and_how_sure_each_is(call: Call, trial: Path) -> None:
    _, out, _ = call("qrels.txt", "runs", *QUICK, "--view", "ranking", "--format", "csv")
    rows = read(out)
    sure = session_of(trial)[0].confidence()
    order = sure.order
    assert [row["run"] for row in rows] == [sure.runs[run] for run in order]
    value = np.array([float(row["expected AP"]) for row in rows])
    np.testing.assert_allclose(value, sure.values[order])
    assert list(rows[0]) == ["run", "expected AP", "above next", "order"]
    assert [float(row["above next"]) for row in rows[:-1]] == sure.adjacent().tolist()
    assert rows[-1]["above next"] == ""


@pytest.mark.parametrize(
    ("choice", "pairs"), [((), 15), (("--baseline", "auk-1"), 5), (("--top", "3"), 3), (("--pair",), 1)]
)
def test_pairs_are_those_that_matter_the_least_sure_first(
    call: Call, choice: tuple[str, ...], pairs: int
) -> None:
    if choice == ("--pair",):
        choice = ("--pair", "auk-1", "albatross-2")
    _, out, _ = call("qrels.txt", "runs", *QUICK, *choice, "--view", "pairs", "--format", "csv")
    rows = read(out)
    assert len(rows) == pairs
    sure = [float(row["confidence"]) for row in rows]
    assert sure == sorted(sure)
    for row in rows:
        assert float(row["difference"]) >= 0
        probable = float(row["confidence"]) >= 0.95
        assert row["order"] in (("probable", "proven") if probable else ("open",))
    if pairs == 1:
        assert {rows[0]["run"], rows[0]["other"]} == {"auk-1", "albatross-2"}


def test_people_see_ranking_pairs_documents_and_what_judging_brings(call: Call) -> None:
    status, out, err = call("qrels.txt", "runs", *QUICK)
    assert (status, err) == (0, "")
    for title in ("Ranking", "Pairs of runs", "To judge next"):
        assert f"\n{title}\n" in f"\n{out}"
    said = words(call("qrels.txt", "runs", *QUICK, "--notes")[1])
    assert "Judge these 15 documents next: about 8 minutes at 30 s each." in said
    found = re.search(
        r"expected to bring the mean confidence from"
        r" ([\d.]+) to ([\d.]+) ± [\d.]+ \(([\d.]+) to ([\d.]+) in 2 simulations\)\.",
        said,
    )
    assert found
    before, after, low, high = map(float, found.groups())
    assert low <= after <= high
    assert f"The mean confidence over these pairs is {before:.2f} after" in said
    assert re.search(r"Of 15 pairs: \d+ proven .*, \d+ probable \(95% or more\), \d+ open", said)
    assert "Expected AP: the value if the first 20 documents of each run were judged on all 5 topics" in said
    assert "can be trusted" not in said
    assert "A draw in which two runs tie counts half" in said
    probable = re.search(r"\d probable", said.partition("Pairs of runs")[0])
    assert not re.search(r"1\.0+ probable", said)
    assert ("among nearly equal runs" in said) == bool(probable)


@pytest.mark.usefixtures("any_basis")
def test_an_order_that_only_a_tie_can_spoil_is_at_least_even(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the third document of the first list is open: relevant, the list is better; else both are equal."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n")
    (tmp_path / "second").write_text("1 Q0 a 1 3 y\n1 Q0 d 2 2 y\n1 Q0 e 3 1 y\n")
    (tmp_path / "judged").write_text("1 0 a 1\n1 0 b 0\n1 0 d 0\n1 0 e 0\n")
    known = ("--prior", "rate", "--confidence", "draws")  # by the model, two runs alone are too few to tell
    plan = caller(
        capsys, "plan", "judged", "first", "second", *known, "--jobs", "1", "--format", "json", "--view"
    )
    pair = json.loads(plan("pairs")[1])["rows"][0]
    (document,) = json.loads(plan("documents")[1])["rows"]
    assert (pair["run"], document["doc"]) == ("first", "c")
    # 200 draws: the chance of c, plus half of the rest, to within four standard errors.
    sure = document["chance"] + (1 - document["chance"]) / 2
    assert pair["confidence"] == pytest.approx(sure, abs=4 * 0.5 * (0.25 / 200) ** 0.5)
    assert pair["confidence"] > 0.5


@pytest.mark.parametrize("measure", ["AP", "nDCG@10"])
def test_chances_that_conclusions_hold_are_those_of_compare(
    call: Call, capsys: pytest.CaptureFixture[str], measure: str
) -> None:
    chosen = ("qrels.txt", "runs", "-m", measure, "--depth", "20", "--jobs", "1", "--format", "csv")
    ours = {(row["run"], row["other"]): row for row in read(call(*chosen, "-n", "0", "--view", "pairs")[1])}
    theirs = caller(capsys, "compare")(*chosen, "--holds", "--until", "runs:20")[1]
    turned = {"better": "worse", "worse": "better"}
    rows = read(theirs)
    assert len(rows) == len(ours) == 15
    assert len({row["holds"] for row in rows}) > 10
    for row in rows:
        pair, said = (row["run_a"], row["run_b"]), row["conclusion"]
        if pair not in ours:
            pair, said = pair[::-1], turned.get(said, said)
        assert ours[pair]["conclusion"] == said
        assert float(ours[pair]["holds"]) == pytest.approx(float(row["holds"]), abs=1e-12)


def test_where_no_chance_can_be_drawn_the_plan_stands_without_it(call: Call, trial: Path) -> None:
    (trial / "three").write_text("3 Q0 f1 1 8 three\n")
    status, out, _ = call("some", "one", "three", *QUICK, "--view", "pairs")
    assert status == 0
    assert "holds" not in out
    assert "conclusions would hold is not known: three: no topic in common" in words(out)


def test_a_conclusion_against_the_expected_order_is_explained(call: Call) -> None:
    for seed in ("0", "1"):
        argument = ("qrels.txt", "runs", *QUICK, "--view", "pairs", "--seed", seed)
        against = any(row["conclusion"] == "worse" for row in read(call(*argument, "--format", "csv")[1]))
        assert ("conclusion worse: " in words(call(*argument)[1])) == against


def test_a_confidence_is_reached_after_so_many_judgments_and_hours(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--to", "0.97", "--seconds", "6")
    status, out, _ = call(*argument, "--view", "forecast", "--format", "json")
    assert status == 0
    body = json.loads(out)
    assert len(body["rows"]) == 2
    for row, course in zip(body["rows"], body["forecast"], strict=True):
        assert course["reached"]
        assert row["judgments"] == course["judgments"][-1] > 0
        assert row["hours"] == pytest.approx(row["judgments"] / 600)
        assert course["confidence"][-1] >= 0.97 > course["confidence"][-2]
    needed = sorted(row["judgments"] for row in body["rows"])
    assert body["expected_judgments"] == [needed[0] / 2, needed[-1] * 2]
    said = words(call(*argument)[1])
    assert said.startswith(
        f"About {needed[0]} more judgments ({-(-needed[0] // 10)} minutes at 6 s each) bring the"
        " confidence to 97%."
    )
    assert f"All 2 simulations reached it, after {needed[0]} to {needed[1]} judgments." in said


def test_what_takes_too_long_is_given_up_and_said(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", *QUICK, "--to", "0.99", "--most", "3")
    assert words(out).startswith(
        "3 more judgments did not reach a confidence of 99% in any of 2 simulations."
    )
    assert "Simulations end after 3 judgments" in words(out)
    body = json.loads(call("qrels.txt", "runs", *QUICK, "--to", "0.99", "--most", "3", "--format", "json")[1])
    assert body["expected_judgments"] == [None, None]  # not 0: nobody knows


def test_nothing_judged_is_a_beginning(call: Call) -> None:
    status, out, _ = call("none", "runs", *QUICK)
    assert status == 0
    assert "Nothing is judged yet" in words(out)
    assert "there are 0 judgments" in words(out)


def test_judgments_are_those_that_a_shallower_pool_would_have_had(call: Call, trial: Path) -> None:
    cut = ("qrels.txt", "runs", *QUICK, "--pool-depth", "2", "--info", "info.tsv")
    _, out, _ = call(*cut, "--view", "ranking", "--format", "json")
    body = json.loads(out)
    files, info = sorted((trial / "runs").iterdir()), read_run_info(trial / "info.tsv")
    qrels, said, _ = judgments_at_depth(read_qrels(trial / "qrels.txt"), files, 2, info=info)
    given, elsewhere = known_judgments(session_of(trial)[1], qrels)
    assert body["judgments"] == len(given) < session_of(trial)[0].judgments
    expected = Session(session_of(trial)[1], depth=20, given=given, elsewhere=elsewhere).ranking()
    assert body["rows"][0]["run"] == expected[0][0]
    assert body["pool"] == said
    assert said in body["notes"]
    assert said in words(call(*cut)[1])


def test_only_open_pairs_are_judged_for_and_all_of_them_are_shown(call: Call) -> None:
    argument = ("qrels.txt", "runs", *QUICK, "--prior", "rate", "--confidence", "draws", "--format", "csv")
    sure = read(call(*argument, "--below", "0.8", "--view", "pairs")[1])
    assert len(sure) == 15
    assert (
        min(float(row["confidence"]) for row in sure) < 0.8 <= max(float(row["confidence"]) for row in sure)
    )
    assert read(call(*argument, "--below", "0.8")[1]) != read(call(*argument)[1])


@pytest.mark.parametrize("suffix", ["html", "png"])
def test_one_chart_is_drawn_of_the_ranking_or_of_the_forecast(
    call: Call, tmp_path: Path, suffix: str
) -> None:
    require("vl_convert")
    for options, forecast in (((), False), (("--to", "0.97"), True)):
        target = tmp_path / f"plan{len(options)}.{suffix}"
        status, _, err = call("qrels.txt", "runs", *QUICK, *options, "--chart", str(target))
        assert status == 0
        assert f"chart: {target}" in err
        content = target.read_bytes()
        if suffix == "png":
            assert content[:4] == b"\x89PNG"
        else:
            assert (b"Confidence that more judgments" in content) == forecast
    assert len(list(tmp_path.iterdir())) == 2


def test_a_forecast_holds_what_each_completion_had_come_to() -> None:
    first = JudgingForecast((0, 8, 20), (0.5, 0.7, 0.96), True, False)
    second = JudgingForecast((0, 8), (0.6, 0.95), True, False)
    assert forecast_rows([first, second]) == [
        {"judgments": 0, "confidence": pytest.approx(0.55), "lower": 0.5, "upper": 0.6},
        {"judgments": 8, "confidence": pytest.approx(0.825), "lower": 0.7, "upper": 0.95},
        {"judgments": 20, "confidence": pytest.approx(0.955), "lower": 0.95, "upper": 0.96},
    ]


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ((8, 8, 8), "At most 8 more judgments (4 minutes at 30 s each) bring the confidence to 90%. All 3 simulations reached it"
         " at the first check, after 8."),
        ((8, 8, 20), "About 8 more judgments or fewer (4 minutes at 30 s each) bring the confidence to 90%. All 3 simulations"
         " reached it, after 8 or fewer to 20 judgments."),
        ((30, 30, 30), "About 30 more judgments (15 minutes at 30 s each) bring the confidence to 90%. All 3 simulations reached"
         " it, after 30 judgments."),
        ((11, 300, 400), "About 300 more judgments (2.5 hours at 30 s each) bring the confidence to 90%. All 3 simulations"
         " reached it, after 11 to 400 judgments."),
    ],
)  # fmt: skip
def test_a_forecast_knows_when_it_first_looked(needed: tuple[int, ...], said: str) -> None:
    courses = [JudgingForecast((0, number), (0.5, 0.9), True, False) for number in needed]
    assert forecast_note(courses, 0.9, 30) == said


@pytest.mark.parametrize("measure", ["P@5", "nDCG@10", "RBP", "AP(rel=2)"])
def test_other_measures_are_planned_for_as_well(call: Call, measure: str) -> None:
    status, out, _ = call("qrels.txt", "runs", *QUICK, "-m", measure, "--prior", "0.5", "-n", "1", "--notes")
    assert status == 0
    approximate = ": an approximation, rough for topics with few relevant" in words(out)
    assert approximate == (measure in ("nDCG@10", "AP(rel=2)"))  # divided by what depends on relevance
    assert "confidence by normal" in out
    assert f"Expected {measure[:3]}" in out


def test_model_is_another_word_for_the_prior_of_runs(call: Call) -> None:
    chosen = ("qrels.txt", "runs", *QUICK, "--format", "csv", "--prior")
    assert call(*chosen, "model")[1] == call(*chosen, "runs")[1]


# -- small collections -----------------------------------------------------------------------------


def test_runs_that_lack_topics_are_named(call: Call) -> None:
    _, out, _ = call("some", "one", "two", *QUICK)
    assert "one lacks 1 topic (3), two lacks 1 topic (2): the value is 0 there." in words(out)


def test_everything_judged_is_proven_and_nothing_is_left(call: Call) -> None:
    status, out, _ = call("all", "one", "two", *QUICK, "--to", "0.9")
    said = words(out)
    assert status == 0
    assert "one 0.6667 1.000 proven" in said
    assert "Of 1 pair: 1 proven" in said
    assert "0 probable (95% or more), 0 open. Judging may stop." in said
    assert "Nothing is left to judge." in said
    assert "The confidence is 90% or more already." in said


@pytest.mark.usefixtures("any_basis")
def test_equal_runs_are_called_equal_and_no_confidence_is_promised(call: Call) -> None:
    status, out, _ = call("some", "one", "copy", *QUICK, "--to", "0.9")
    said = words(out)
    assert status == 0
    assert "0 open, 1 equal. Judging may stop." in said
    assert said.startswith("3 more judgments did not reach a confidence of 90% in any of 2 simulations.")
    assert "stay below that confidence even if everything is judged" in said


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("some", "one"), 2, "one alone makes no pair; give at least two runs"),
        (("nobody", "one", "two"), 1, "nobody: no document of these runs is judged for any of their topics"),
        (("some", "one", "two", "--pair", "one", "three"), 2, "unknown run 'three'"),
        (("some", "one", "two", "--pair", "one", "one"), 2, "--pair names one twice"),
        (("some", "one", "two", "--top", "2", "--baseline", "one"), 2, "--baseline and --top both choose the pairs"),
        (("some", "one", "two", "--topic", "7"), 2, "unknown topic '7'; known: 1, 2, 3"),
        (("some", "one", "two", "--prior", "much"), 2, "unknown prior 'much'"),
        (("some", "one", "two", "--prior", "1.5"), 2, "1.5"),
        (("some", "one", "two", "--selection", "best"), 2, "unknown selection 'best'"),
        (("some", "one", "two", "--confidence", "full"), 2, "unknown confidence 'full'"),
        (("some", "one", "two", "-m", "Q"), 2, "Q: its rank weights depend on how many documents are"),
        (("some", "one", "two", "-m", "ERR", "--confidence", "normal"), 2, "use confidence draws"),
        (("some", "one", "two", "-m", "RR", "--selection", "faithful"), 2, "is no sum over documents"),
        (("some", "one", "two", "-m", "P@200"), 2, "P@200 looks deeper than the depth of 100"),
        (("some", "one", "two", "-m", "AP", "-m", "P@10"), 2, "-m AP P@10: runs are compared by one measure"),
        (("some", "one", "two", "--info", "i"), 2, "--info has an effect only with --pool-depth"),
        (("some", "one", "two", "-o", "x.docx"), 2, "x.docx: no format has the suffix '.docx'"),
        (("one", "some", "two"), 1, "the order is sounding plan QRELS RUN..."),
        (("runs", "qrels.txt"), 1, "runs: this is a folder; expected a file; the order is sounding plan QRELS RUN..."),
        (("some", "one", "two", "--to", "1"), 2, "--to 1: expected a confidence between 0.5 and 1"),
        (("some", "one", "two", "--sure", "0.3"), 2, "--sure 0.3: expected a confidence above 0.5"),
        (("some", "one", "two", "--below", "0.3"), 2, "--below 0.3: expected a confidence above 0.5, at most 1"),
        (("some", "one", "two", "--below", "0.9", "--top", "2"), 2, "--top and --below both choose the pairs"),
        (("none", "one", "two", "--pool-depth", "2"), 2, "--pool-depth cuts judgments, and with none there"),
        (("some", "one", "two", "--chart", "x.txt"), 2, "x.txt: no chart format has the suffix '.txt'"),
        (("some", "one", "two", "--seconds", "0"), 2, "--seconds 0: expected more than 0"),
        (("some", "one", "two", "--view", "forecast"), 2, "--view forecast needs a confidence"),
        (("some", "one", "two", "-n", "2", "--budget", "3"), 2, "--next is per topic and --budget in all"),
        (("some", "one", "two", "-o", "x.qrels", "--view", "pairs"), 2, "a .qrels file lists documents"),
        (("all", "one", "two", "-o", "x.qrels"), 1, "nothing is left to judge"),
        (("absent", "one", "two"), 1, "absent"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(
    call: Call, arguments: tuple[str, ...], status: int, message: str
) -> None:
    check_refused(call(*arguments), status, message)


def test_the_commands_on_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_commands(ROOT / "docs" / "plan.md") >= 4


def test_only_a_proven_order_has_a_confidence_of_1(call: Call) -> None:
    """A tight run of draws shows >0.99 to people; programs get the share itself."""
    draws = (*QUICK, "--prior", "rate", "--confidence", "draws", "--view", "pairs")
    rows = read(call("qrels.txt", "runs", *draws, "--format", "csv")[1])
    probable = {(row["run"], row["other"]) for row in rows if row["order"] == "probable"}
    assert any(float(row["confidence"]) > 0.99 for row in rows if row["order"] == "probable")
    said = call("qrels.txt", "runs", *draws)[1]
    shown = [line.split() for line in said.splitlines()]
    cells = [line[3] for line in shown if tuple(line[:2]) in probable]
    assert len(cells) == len(probable)
    assert ">0.99" in cells
    assert not any(cell.startswith("1") for cell in cells)


def test_without_a_stated_confidence_neither_draws_nor_a_forecast_table_are_shown(call: Call) -> None:
    status, out, _ = call("some", "one", "two", "--jobs", "1", "--to", "0.95")
    said = words(out)
    assert status == 0
    assert said.startswith("No confidence can be stated: ")
    assert "confidence by draws" not in said
    assert "Judgments to a confidence" not in said
    assert "no forecast" in said


@pytest.mark.parametrize("measure", ["ERR@10", "RR", "R@10", "AP(norm='b')@10"])
def test_measures_that_are_no_plain_sums_are_planned_for_and_replayed(
    measure: str, call: Call, trial: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("qrels.txt", "runs", "-m", measure, "--depth", "10")
    status, out, err = call(*words, "--format", "json", "--view", "ranking")
    assert status == 0, err
    assert {row["run"] for row in json.loads(out)["rows"]} == {
        path.stem for path in (trial / "runs").iterdir()
    }
    replayed = ("--strategy", "mtc", "--judgments", "999", "--at", "999", "--format", "csv", "--quiet")
    status, out, err = caller(capsys, "simulate")(*words, *replayed)
    assert status == 0, err
    (last,) = list(csv.DictReader(out.splitlines()))
    assert float(last["tau_expected"]) == 1  # once all is judged


def test_the_fewest_judgments_that_prove_an_order_do_prove_it(
    call: Call, trial: Path, tmp_path: Path
) -> None:
    runs = sorted(path.stem for path in (trial / "runs").iterdir())[:2]
    words = ("--pair", *runs, "-m", "P@5", "--depth", "5")
    status, out, err = call("none", "runs", *words, "--view", "proof", "--format", "json")
    assert status == 0, err
    rows = json.loads(out)["rows"]
    judged = tmp_path / "proof.qrels"
    judged.write_text(
        "".join(f"{row['topic']} 0 {row['doc']} {int(row['proves if'] == 'relevant')}\n" for row in rows)
    )
    _, out, _ = call(str(judged), "runs", *words, "--view", "proof")
    assert out.startswith("It is proven that")
    assert "──" not in out  # no empty table
    assert next_command(out)[:1] == ["compare"]
    lines = judged.read_text().splitlines(keepends=True)
    judged.write_text("".join(lines[:-1]))
    _, out, _ = call(str(judged), "runs", *words, "--view", "proof")
    assert out.startswith("At best, 1 judgment ")
    check_refused(call("none", "runs", "--view", "proof"), 2, "name them with --pair A B")


def test_the_papers_method_is_its_prior_selection_and_confidence(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("--prior", "0.5", "--selection", "faithful", "--confidence", "paper")
    for verb, words in (("plan", ("--view", "ranking")), ("simulate", ("--judgments", "8"))):
        run = caller(capsys, verb)
        files = ("qrels.txt", "runs", *words, "--format", "json", "--quiet")
        (status, short, err), (_, long, _) = run(*files, "--method", "paper"), run(*files, *own)
        assert status == 0, err
        assert json.loads(short)["rows"] == json.loads(long)["rows"]
        assert json.loads(short)["parameters"]["confidence"] == "paper"
    check_refused(
        call("qrels.txt", "runs", "--method", "paper", "--prior", "rank"), 2, "--method paper sets --prior"
    )
    pool = caller(capsys, "pool")
    asked = ("runs", "--qrels", "qrels.txt", "--strategy", "mtc", "--budget", "9", "--depth", "20", "--quiet")
    _, ours, _ = pool(*asked, "--method", "paper")
    retrieved = read_retrieved("runs", depth=20)
    given, _ = known_judgments(retrieved, read_qrels("qrels.txt"))
    session = Session(retrieved, depth=20, measure="AP(rel=1)", prior="0.5", selection="faithful")
    for document, grade in given:
        session.judge(document, grade)
    chosen = {
        (retrieved.topics[pick.topic], retrieved.docs.text(pick.document)) for pick in session.next(count=9)
    }
    assert {tuple(line.split()) for line in ours.splitlines()} == chosen
    check_refused(pool("runs", "--method", "paper", "--budget", "3"), 2, "it is for --strategy mtc")


def test_a_graded_measure_is_said_to_be_taken_as_a_binary_one(
    call: Call, trial: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two grades of relevance: plan tells relevant from other documents only, and says what that means."""
    simulated = caller(capsys, "simulate")
    (trial / "grades").write_text("1 0 d1 2\n1 0 d2 0\n1 0 d3 1\n")
    (trial / "yes-or-no").write_text("1 0 d1 2\n1 0 d2 0\n1 0 d3 2\n")
    said = "those of binary nDCG@3"
    for qrels, measure, warned in (
        ("grades", "nDCG@3", True),
        ("grades", "AP", False),
        ("yes-or-no", "nDCG@3", False),
    ):
        status, out, _ = call(qrels, "one", "two", "-m", measure, *QUICK, "--view", "ranking", "--notes")
        assert status == 0
        assert (said in words(out)) == warned
        replayed = ("-m", measure, "--judgments", "2", "--seeds", "1", "--draws", "20")
        assert (said in words(simulated(qrels, "one", "two", *replayed)[1])) == warned


def test_two_runs_that_are_judged_completely_are_in_a_proven_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Among others of which hardly anything was judged, so that nothing else is certain."""
    rng = np.random.default_rng(3)
    runs: dict[str, list[str]] = {name: [] for name in ("good", "bad", "u", "v", "w")}
    judged: dict[tuple[int, str], int] = {}
    for topic in range(10):
        relevant = {f"d{topic}-{number}": number < 20 for number in range(60)}
        lists = {name: rng.permutation(list(relevant)).tolist() for name in runs}
        found = lists["bad"]
        spare, extra = (
            next(d for d in part if relevant[d] == yes) for part, yes in ((found[:10], 0), (found[10:], 1))
        )
        lists["good"] = [extra if doc == spare else doc for doc in found[:10]]
        for name, docs in lists.items():
            for place, doc in enumerate(docs[:10], 1):
                runs[name].append(f"{topic} Q0 {doc} {place} {-place} {name}\n")
                if name in ("good", "bad") or place == 1:
                    judged[topic, doc] = int(relevant[doc])
    (tmp_path / "runs").mkdir()
    for name, lines in runs.items():
        (tmp_path / "runs" / name).write_text("".join(lines))
    (tmp_path / "qrels").write_text("".join(f"{t} 0 {doc} {grade}\n" for (t, doc), grade in judged.items()))
    monkeypatch.chdir(tmp_path)
    _, out, _ = caller(capsys, "plan")(
        "qrels", "runs", "-m", "P@10", "--view", "pairs", "--format", "csv", "--quiet"
    )
    pairs = {(row["run"], row["other"]): (float(row["confidence"]), row["order"]) for row in read(out)}
    assert pairs.pop(("good", "bad")) == (1, "proven")
    assert max(confidence for confidence, _ in pairs.values()) < 0.95


def test_a_forecast_names_the_budget_that_lists_as_many_documents(call: Call) -> None:
    asked = ("qrels.txt", "runs", *QUICK, "--to", "0.97", "--next", "1")
    said = words(call(*asked)[1])
    (needed,) = re.findall(r"About ([\d,]+) more judgments", said)
    count = needed.replace(",", "")
    assert f"The plan lists 5 documents; --budget {count} lists {needed}." in said
    fewer = call("qrels.txt", "runs", *QUICK, "--to", "0.97")[1]
    assert f"--budget {count} -o next.qrels" in fewer.rpartition("Next: ")[2]
    assert "--budget" not in words(call(*asked)[1]).rpartition("Next: ")[2]
