"""Qrels that list only relevant documents: nobody knows what else was judged, so no case is stated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests import gallery
from tests.e2e.calling import Call, caller

from sounding import compare, evaluate, read_qrels
from sounding.data.tables import LEAST_LISTED, Qrels
from sounding.statistics.cases import decide


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("only")
    gallery.make("clicks", folder)
    return folder / "clicks"


@pytest.fixture
def call(clicks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(clicks)
    return caller(capsys)


def qrels(grades: list[int]) -> Qrels:
    return Qrels.from_dict({"1": {f"d{place}": grade for place, grade in enumerate(grades)}})


@pytest.mark.parametrize(
    ("grades", "listed"),
    [
        ([1] * LEAST_LISTED, True),
        ([1, 2, 3] * LEAST_LISTED, True),
        ([1] * (LEAST_LISTED - 1), False),  # may be chance
        ([1] * LEAST_LISTED + [0], False),
        ([1] * LEAST_LISTED + [-1], False),  # pooled and not judged: the pool is known
    ],
)
def test_qrels_without_any_other_document_list_only_relevant_ones(grades: list[int], listed: bool) -> None:
    assert qrels(grades).lists_only_relevant is listed


def test_judged_is_relevant_there_so_that_every_better_run_would_be_a_weak_case(clicks: Path) -> None:
    """What is avoided: assessment is performance, and both tests agree on every pair."""
    found = compare(clicks / "qrels.txt", clicks / "runs", ["P@10"])
    tests, assessment = found.performance_tests[0], found.assessment_tests[0]
    np.testing.assert_array_equal(tests.difference, assessment.difference)
    assert (decide(tests, assessment)[tests.significant] == 4).all()
    assert found.only_relevant
    assert found.frame["case"].null_count() == found.frame["strength"].null_count() == len(found.pairs)
    assert not found.counts().any()
    assert "more completely" not in " ".join(found.frame["advice"])
    assert "judged equally" not in " ".join(found.frame["advice"])


def test_the_same_with_one_document_judged_not_relevant_has_cases(clicks: Path, tmp_path: Path) -> None:
    text = (clicks / "qrels.txt").read_text()
    (tmp_path / "qrels.txt").write_text(text + f"{text.split()[0]} 0 nothing 0\n")
    assert compare(tmp_path / "qrels.txt", clicks / "runs", ["P@10"]).frame["case"].null_count() == 0


def test_tables_and_headlines_speak_of_listed_documents(call: Call) -> None:
    status, out, _ = call("evaluate", "qrels.txt", "runs", "-m", "P@10")
    assert status == 0
    assert " listed\n" in out
    assert "never judged" not in out
    assert "list only relevant documents" in " ".join(out.split())
    status, out, _ = call("compare", "qrels.txt", "runs", "-m", "P@10")
    assert status == 0
    assert "judged more completely" not in out
    assert "case" not in next(line for line in out.splitlines() if line.startswith("run_a")).split()
    assert "list only relevant documents" in " ".join(out.split())
    status, out, _ = call("compare", "qrels.txt", "runs", "-m", "P@10", "--pair", "ranker-b", "ranker-c")
    assert "case          not stated" in out
    assert "judged        not known" in out


def test_cases_that_are_not_known_cannot_be_counted(call: Call) -> None:
    status, _, err = call("compare", "qrels.txt", "runs", "-m", "P", "--depths", "5,10")
    assert status == 1
    assert "lists only relevant documents" in err
    assert "sounding depth" in err


def test_values_do_not_change(clicks: Path) -> None:
    judged = evaluate(clicks / "qrels.txt", clicks / "runs", ["P@10"])
    np.testing.assert_allclose(judged.judged_share(), judged.mean(), rtol=0, atol=1e-12)
    assert judged.only_relevant
    assert read_qrels(clicks / "qrels.txt").lists_only_relevant
