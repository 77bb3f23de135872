"""No chance is stated that runs and judgments cannot bear: pairs, teams, nothing judged, clicks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.calling import Call, caller

from sounding import holds
from sounding.data.tables import Qrels, Run
from sounding.data.writing import write_qrels, write_run
from sounding.relevance.basis import (
    FEW_JUDGMENTS,
    FEW_RUNS,
    LEAST_JUDGMENTS,
    LEAST_OF_EACH,
    LEAST_RUNS,
    Basis,
)
from sounding.runs.retrieved import read_retrieved
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.selection.mtc.session import Session, known_judgments

DECLINED = ("pair", "few", "clicks", "shop")  # none of which bears a chance


def shape(name: str, seed: int = 3) -> tuple[Qrels, list[Run]]:
    """Judgments and runs of one shape; `normal` has enough of everything."""
    topics = {"pair": 3, "team": 40}.get(name, 10)
    made = sample(topics=topics, groups=4, systems=2, documents=400, length=50, pool_depth=10, seed=seed)
    runs = list(made.runs)[: {"pair": 2, "team": 3}.get(name, 8)]
    if name == "clicks":  # only relevant documents are listed, all of them
        return made.truth.keep(made.truth.grades > 0), runs
    if name == "shop":  # complete: every relevant document, and what was shown at the top
        return made.truth.keep((made.truth.grades > 0) | _shown(made, runs)), runs
    if name == "few":
        return made.qrels.keep(np.arange(len(made.qrels.grades)) % 9 == 0), runs
    return made.qrels, runs


def _shown(made: Collection, runs: list[Run]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(read_retrieved(runs).cut(5).pool_ranks(made.truth) > 0)


@pytest.fixture
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    qrels, runs = shape(request.param)
    write_qrels(qrels, tmp_path / "qrels.txt")
    (tmp_path / "runs").mkdir()
    for run in runs:
        write_run(run, tmp_path / "runs" / run.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sounding(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def basis(**given: int) -> Basis:
    enough = {"runs": LEAST_RUNS, "relevant": LEAST_OF_EACH, "nonrelevant": LEAST_JUDGMENTS, "unjudged": 1}
    return Basis(is_upside_down=False, **{**enough, **given})


def test_each_limit_counts_and_numbers_needed_are_named() -> None:
    assert basis().shortfall() == ""
    few = basis(runs=LEAST_RUNS - 1).shortfall()
    assert few == f"this needs at least {LEAST_RUNS} runs; there is 1 run"
    both = basis(runs=1, nonrelevant=9).shortfall()
    assert f"{LEAST_RUNS} runs and {LEAST_JUDGMENTS} judgments of their documents" in both
    assert both.endswith(f"there is 1 run and {LEAST_OF_EACH + 9} judgments")
    assert "0 judgments" in basis(relevant=0, nonrelevant=0).shortfall()
    assert basis(nonrelevant=LEAST_JUDGMENTS - LEAST_OF_EACH - 1).shortfall()
    assert basis(relevant=LEAST_OF_EACH - 1).shortfall()
    assert basis(relevant=LEAST_JUDGMENTS, nonrelevant=LEAST_OF_EACH - 1).shortfall()
    assert basis(runs=2, relevant=0, nonrelevant=0, unjudged=0).shortfall() == ""


def test_labels_that_list_relevant_documents_from_elsewhere_are_recognized() -> None:
    ranks = np.repeat([3, 80], 100)
    relevant = np.arange(200) % 10 < np.where(ranks > 10, 8, 2)
    assert "rank" in Basis.of(8, ranks, relevant, 50).shortfall()
    assert Basis.of(8, ranks[::-1], relevant, 50).shortfall() == ""
    noise = np.random.default_rng(0).random(200) < 0.3
    assert Basis.of(8, ranks, noise, 50).shortfall() == ""


@pytest.mark.parametrize("name", DECLINED)
def test_holds_declines_and_says_why(name: str) -> None:
    qrels, runs = shape(name)
    found = holds(qrels, runs, ["AP", "P@10"], until="runs:50")
    assert found.open_documents > 0
    assert np.isnan(found.conclusion).all()
    assert np.isnan(found.sign).all()
    assert found.reason
    assert found.reason in found.describe()
    assert found.reason in found.tell(0, 0, ("a", "b"), 0.1)


def test_three_runs_have_chances_that_conclusions_hold_and_are_asked_for_more() -> None:
    qrels, runs = shape("team")
    found, more = (holds(qrels, some, ["P@10"], until="runs:50") for some in (runs, shape("normal")[1]))
    assert np.isfinite(found.conclusion).all()
    assert "give them too" in found.describe()
    assert not more.few_runs
    assert basis(runs=2, nonrelevant=40).shortfall() == ""
    assert "2 runs" in basis(runs=1).shortfall()
    assert "50 judgments" in basis(nonrelevant=39).shortfall()


def test_a_normal_collection_still_has_chances() -> None:
    found = holds(*shape("normal"), ["AP"], until="runs:50")
    assert found.reason == ""
    assert np.isfinite(found.sign).all()
    assert (found.sign >= 0.95).any()


@pytest.mark.parametrize("name", DECLINED)
def test_a_session_states_no_confidence(name: str) -> None:
    qrels, runs = shape(name)
    retrieved = read_retrieved(runs)
    given, elsewhere = known_judgments(retrieved, qrels)
    session = Session(retrieved, given=given, elsewhere=elsewhere, depth=50)
    stated = session.confidence().stated(session.basis())
    assert stated.reason == session.basis().shortfall() != ""
    assert np.isnan(stated.of_ranking())
    assert np.isnan(stated.adjacent()).all()
    assert len(stated.open_pairs(0.95)) == len(runs) * (len(runs) - 1) // 2
    assert (stated.order == session.confidence().order).all()
    assert session.next()


def test_three_runs_have_a_confidence_and_expected_values_need_more() -> None:
    qrels, runs = shape("team")
    retrieved = read_retrieved(runs)
    given, elsewhere = known_judgments(retrieved, qrels)
    session = Session(retrieved, given=given, elsewhere=elsewhere, depth=50)
    assert np.isfinite(session.confidence().stated(session.basis()).of_ranking())
    assert f"{FEW_RUNS} runs" in session.basis().shortfall(values=True)
    assert f"{FEW_JUDGMENTS} judgments" in basis(nonrelevant=60).shortfall(values=True)


def test_with_nothing_judged_the_number_of_runs_makes_nothing_sure() -> None:
    made = sample(topics=10, groups=10, systems=3, documents=300, length=40, seed=1)
    session = Session(read_retrieved(made.runs), depth=40)
    assert np.isnan(session.confidence().stated(session.basis()).of_ranking())


@pytest.mark.parametrize("files", DECLINED, indirect=True)
def test_compare_shows_dashes_and_one_note(files: Path, sounding: Call) -> None:
    status, out, _ = sounding("compare", "qrels.txt", "runs", "-m", "AP", "--holds", "--notes")
    assert status == 0
    assert " ".join(out.split()).count("Holds is not stated") == 1
    rows = json.loads(sounding("compare", "qrels.txt", "runs", "-m", "AP", "--holds", "--format", "json")[1])[
        "rows"
    ]
    assert all(row["holds"] is None and row["sign_holds"] is None for row in rows)


@pytest.mark.parametrize("files", DECLINED, indirect=True)
def test_a_plan_has_documents_and_no_confidence(files: Path, sounding: Call) -> None:
    for qrels in ("qrels.txt", "none"):
        plan = ("plan", qrels, "runs", "--depth", "50", "--worlds", "2", "--to", "0.95", "--jobs", "1")
        body = json.loads(sounding(*plan, "--format", "json")[1])
        assert body["rows"]
        assert all(row["chance"] is None for row in body["rows"])
        assert body["confidence"] is None
        assert body["forecast"] is None
        assert body["not_stated"]
        assert "outlook" not in body
        for view, columns in (("ranking", ("above next",)), ("pairs", ("confidence", "holds"))):
            rows = json.loads(sounding(*plan, "--view", view, "--format", "json")[1])["rows"]
            assert all(row.get(name) is None for row in rows for name in columns if name != "holds")
            assert not {"probable"} & {row["order"] for row in rows}
            assert not {"low", "high"} & set(rows[0])
        status, out, _ = sounding(*plan)
        said = " ".join(out.split())
        assert status == 0
        assert "can be trusted" not in said
        assert "To judge next" in said
        assert (
            "nothing is judged yet: this order rests only on the agreement of the runs" in said.lower()
        ) == (qrels == "none")


@pytest.mark.parametrize("files", ["normal"], indirect=True)
def test_a_plan_of_a_normal_collection_still_has_confidence(files: Path, sounding: Call) -> None:
    plan = ("plan", "qrels.txt", "runs", "--depth", "50", "--worlds", "2", "--jobs", "1", "--format", "json")
    body = json.loads(sounding(*plan)[1])
    assert 0.5 < body["confidence"] <= 1
    assert body["not_stated"] is None
    assert all(0 <= row["chance"] <= 1 for row in body["rows"])
    rows = json.loads(sounding(*plan, "--view", "ranking")[1])["rows"]
    assert {"low", "high"} & set(rows[0]) == set()
    assert rows[0]["above next"] is not None


@pytest.mark.parametrize("files", ["pair"], indirect=True)
def test_the_report_states_no_chance(files: Path, sounding: Call) -> None:
    assert sounding("report", "qrels.txt", "runs", "-o", "page.html", "-m", "AP")[0] == 0
    whole = (files / "page.html").read_text()
    page = " ".join(re.sub(r"<script>.*?</script>", "", whole, flags=re.DOTALL).split())
    assert " be ahead then" not in page
    assert "with a chance of" not in page
    assert "Holds is not stated" in page


def test_judgments_beyond_what_would_be_judged_are_warned_of() -> None:
    qrels, runs = shape("normal")
    shallow, deep = (holds(qrels, runs, ["AP"], until=until) for until in ("runs:2", "runs:50"))
    assert shallow.beyond > 0 == deep.beyond
    assert f"{shallow.beyond:,}" in shallow.describe()
