"""`sounding calibrate` and `compare --holds` as people call them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller

from sounding.calibrate.calibrating import calibrate as calibration
from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.result import COLUMNS
from sounding.calibrate.tables import reliability_rows
from sounding.cli import main
from sounding.core.text import whole_percent

PAIR = ("auk-1", "bittern-1")
FEW = ("--hide", "pool:3", "--until", "pool:30", "--draws", "10", "--resamples", "10")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sample") / "made"
    with pytest.raises(SystemExit):
        main(
            ["sample", str(made), "--topics", "12", "--groups", "5", "--systems", "2", "--documents", "300",
             "--length", "60", "--pool-depth", "30", "--quiet"]
        )  # fmt: skip
    return made


@pytest.fixture
def inputs(folder: Path) -> tuple[str, str, str, str]:
    return str(folder / "qrels.txt"), str(folder / "runs"), "--info", str(folder / "info.tsv")


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str], inputs: tuple[str, ...]) -> Call:
    return caller(capsys, "calibrate", *inputs)


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str], inputs: tuple[str, ...]) -> Call:
    return caller(capsys, "compare", *inputs)


def test_a_table_a_measure_and_scenario_with_every_claim_explained(calibrate: Call) -> None:
    status, out, err = calibrate(*FEW, "-m", "AP", "-m", "P@5", "--notes")
    assert (status, err) == (0, "")
    assert out.count("judgments\n") == 2
    assert "\nAP, pool:3: " in out
    asked = {name: claim for name, claim in CLAIMS.items() if name != "estimate"}  # which needs draw:N
    for name, claim in asked.items():
        assert f"\n{name}" in out
        assert f"{name}: {claim.title}"[:30] in out.replace("\n", " ")
    assert "first 30 documents of every run that contributes" in out.replace("\n", " ")


def test_csv_has_the_promised_columns_first(calibrate: Call) -> None:
    status, out, err = calibrate(*FEW, "--claim", "holds", "--format", "csv")
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0])[: len(COLUMNS)] == list(COLUMNS)
    assert {one["claim"] for one in rows} == {"holds"}
    assert rows[0]["scenario"] == "pool:3"
    (one,) = [row for row in rows if row["part"] == "all"]
    certain = float(one["pairs"]) * float(one["share_claimed"])
    assert err.startswith(
        f"Statements of 95% were right {whole_percent(float(one['share_right']))} of the time"
    )
    assert f"({round(certain):,} statements of holds, 1 scenario, " in err


def test_full_judging_deeper_than_the_truth_is_warned_of(calibrate: Call) -> None:
    deep = ("--hide", "pool:3", "--draws", "5", "--resamples", "0", "--claim", "sign")
    _, out, _ = calibrate(*deep, "--until", "pool:60")
    assert "Make --until no deeper than the pool." in " ".join(out.split())
    _, _, err = calibrate(*deep, "--until", "pool:60", "--format", "csv")
    assert "were never judged and count as not relevant" in err
    _, out, _ = calibrate(*deep, "--until", "pool:30")
    assert "Beware" not in out


def test_json_says_what_was_asked(calibrate: Call) -> None:
    _, out, _ = calibrate(*FEW, "--claim", "sign", "--format", "json", "--seed", "3")
    said = json.loads(out)
    facts = said[0] if isinstance(said, list) else said
    assert (facts["until"], facts["seed"], facts["draws"]) == ("pool:30", 3, 10)


def test_the_reliability_diagram_is_written(calibrate: Call, tmp_path: Path) -> None:
    chart = tmp_path / "reliability.svg"
    status, _, err = calibrate(*FEW, "--claim", "holds", "--chart", str(chart))
    assert status == 0
    assert f"chart: {chart}" in err
    assert "share that came true" in chart.read_text()


def test_bins_with_few_pairs_are_not_drawn(inputs: tuple[str, ...]) -> None:
    found = calibration(inputs[0], inputs[1], ["AP"], scenarios=["pool:10"], claims=["holds"], resamples=0)
    bins = found.reliability_frame.filter(found.reliability_frame["part"] == "all")
    every, drawn = bins["pairs"].to_list(), reliability_rows(found)["pairs"].to_list()
    assert min(every) < 5
    assert drawn == [pairs for pairs in every if pairs >= 5] != []


def test_chances_of_the_t_test_beside_another_test_are_warned_of(calibrate: Call) -> None:
    for test, warned in (("wilcoxon", True), ("t", False)):
        status, _, err = calibrate(*FEW, "--claim", "holds", "--test", test, "--format", "csv")
        assert status == 0
        assert ("Beware: holds predict a paired t test" in err) == warned


def test_what_a_claim_says_beside_its_own_can_be_asked_for(calibrate: Call) -> None:
    for asked in (("mtc interval",), ("mtc", "mtc interval")):
        named = [word for name in asked for word in ("--claim", name)]
        status, out, _ = calibrate(*FEW, *named, "--format", "csv")
        assert status == 0
        rows = [row for row in csv.DictReader(io.StringIO(out)) if row["part"] == "all"]
        assert [row["claim"] for row in rows] == ["mtc", "mtc interval"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--hide", "pool"), "scenario 'pool': 'pool' has no value; expected such as pool:10"),
        (("--claim", "hold"), "unknown claim 'hold'; did you mean holds?"),
        (("--until", "100"), "until '100'; expected pool:D or runs:D with a depth from 1, such as pool:100"),
        (("--test", "tt"), "unknown test 'tt'"),
        (("-m", "APP"), "unknown measure 'APP'"),
        (("--chart", "picture.xyz"), "picture.xyz"),
    ],
)
def test_wrong_options_are_refused_in_one_line_before_files_are_read(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], problem: str
) -> None:
    status, out, err = caller(capsys, "calibrate", "no.qrels", "no.run")(*options)
    assert (status, out) == (2, "")
    assert problem in err.splitlines()[-1]


def test_claims_without_chances_cannot_be_drawn(calibrate: Call, tmp_path: Path) -> None:
    status, _, err = calibrate(*FEW, "--claim", "strong", "--chart", str(tmp_path / "chart.svg"))
    assert status == 1
    assert "there is nothing to draw; add --claim holds" in err


# -- compare ---------------------------------------------------------------------------------------


def test_compare_shows_the_chances_beside_every_pair(compare: Call) -> None:
    status, out, _ = compare("-m", "AP", "--holds", "--until", "pool:60", "--format", "csv")
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0])[-3:] == ["conclusion", "holds", "sign_holds"]
    assert {one["conclusion"] for one in rows} <= {"better", "worse", "not distinguished"}
    for one in rows:
        assert 0 <= float(one["holds"]) <= 1
        assert 0 <= float(one["sign_holds"]) <= 1
        if one["conclusion"] != "not distinguished":
            assert (one["conclusion"] == "better") == (float(one["difference"]) > 0)


def test_compare_tells_people_what_holds_means(compare: Call) -> None:
    status, out, _ = compare("-m", "AP", "--holds")
    text = " ".join(out.split())
    assert status == 0
    assert "holds sign" in text
    assert "once the first 100 documents of every run are judged" in text
    assert "100 draws, seed 0." in text


def test_one_pair_is_told_in_words(compare: Call) -> None:
    status, out, _ = compare("-m", "AP", "--pair", *PAIR, "--holds", "--until", "runs:30")
    assert status == 0
    told = " ".join(out.split())
    assert "a paired t test of the two alone finds" in told
    assert "once the first 30 documents of every run are judged is" in told


def test_without_holds_compare_is_as_ever(compare: Call) -> None:
    _, out, _ = compare("-m", "AP", "--format", "csv")
    assert "holds" not in out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--until", "runs:5"), "--until says what --holds is about; give --holds as well"),
        (("--holds", "--matrix"), "--matrix and --holds do not go together; give one"),
        (
            ("--holds", "--depths", "5,10"),
            "--holds is about pairs, and --depths counts them; give --each-pair",
        ),
    ],
)
def test_options_of_holds_that_change_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], inputs: tuple[str, ...], options: tuple[str, ...], problem: str
) -> None:
    status, _, err = caller(capsys, "compare", *inputs[:2])("-m", "AP", *options)
    assert status == 2
    assert problem in err


def test_plan_shows_the_chance_beside_every_pair(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    plan = caller(capsys, "plan", str(folder / "qrels.txt"), str(folder / "runs"), "--depth", "40", "-n", "0")
    status, out, _ = plan("--view", "pairs", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert {one["conclusion"] for one in rows} <= {"better", "worse", "not distinguished"}
    assert all(0 <= float(one["holds"]) <= 1 for one in rows)
    _, out, _ = plan()
    assert "once the first 40 documents of every run are judged" in " ".join(out.split())


def test_plan_without_draws_has_no_chances_of_holding(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    plan = caller(capsys, "plan", str(folder / "qrels.txt"), str(folder / "runs"), "--depth", "40", "-n", "0")
    for more in (("--prior", "0.5"), ("--confidence", "normal")):
        status, out, _ = plan("--view", "pairs", "--format", "csv", *more)
        assert status == 0
        assert "holds" not in out


def test_labels_alone_check_estimates_from_samples_of_three_sizes(
    calibrate: Call, folder: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.tsv"
    rows = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    labels.write_text("topic\tdoc\tlabel\tjudge\n" + "".join(f"{t}\t{d}\t{g}\tm\n" for t, _, d, g in rows))
    words = [
        "--labels",
        str(labels),
        "-m",
        "P@5",
        "--repeats",
        "1",
        "--resamples",
        "5",
        "--format",
        "csv",
        "--quiet",
    ]
    status, out, err = calibrate(*words)
    assert (status, err) == (0, "")
    rows = [line.split(",") for line in out.splitlines()[1:]]
    assert {row[0] for row in rows} == {"draw:150", "draw:300", "draw:600"}
    assert {row[2] for row in rows} == {"estimate", "estimate interval"}


@pytest.mark.parametrize(("repeats", "said"), [("1", True), ("20", False)])
def test_few_repeats_of_a_sample_are_said_to_prove_nothing(
    capsys: pytest.CaptureFixture[str], inputs: tuple[str, ...], repeats: str, said: bool
) -> None:
    call = caller(capsys, "calibrate", *inputs[:2])  # no pool is needed either
    few = ("--claim", "estimate", "--hide", "draw:40", "-m", "P@5", "--resamples", "0", "--repeats", repeats)
    status, out, _ = call(*few)
    assert status == 0
    assert ("1 repeat proves nothing" in " ".join(out.split())) == said
