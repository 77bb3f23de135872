"""Reports with labels: estimates in the leaderboard, the share by machines, and the verdict on the labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.calling import caller

import sounding
from sounding.audit.fitness import audit_labels
from sounding.audit.fitness_tables import headline

RNG = np.random.default_rng(41)
TOPICS, DOCS = 16, 20
GRADES = {
    f"t{t:02}": {f"d{d:02}": int(RNG.random() < 0.7 / (1 + d / 6)) for d in range(DOCS)}
    for t in range(TOPICS)
}
LABELS = {t: {d: int(g or RNG.random() < 0.25) for d, g in docs.items()} for t, docs in GRADES.items()}
RUNS = {
    name: {t: {d: float(-n + RNG.normal() * noise) for n, d in enumerate(docs)} for t, docs in GRADES.items()}
    for name, noise in (("good", 2.0), ("fair", 8.0), ("poor", 40.0))
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    whole = list(GRADES.items())[:9]
    (folder / "qrels.txt").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, docs in whole for d, g in docs.items())
    )
    (folder / "labels.tsv").write_text(
        "topic\tdoc\tlabel\tjudge\n"
        + "".join(f"{t}\t{d}\t{g}\tm-1\n" for t, docs in LABELS.items() for d, g in docs.items())
    )
    (folder / "runs").mkdir()
    for name, ranking in RUNS.items():
        sounding.write_run(sounding.read_run(ranking, name=name), folder / "runs" / f"{name}.txt")
    return folder


def arguments(files: Path) -> list[str]:
    return [str(files / "qrels.txt"), str(files / "runs"), "--labels", str(files / "labels.tsv"), "--quiet"]


def test_the_leaderboard_shows_estimates(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = caller(capsys, "report")
    body = json.loads(call(*arguments(files), "-m", "nDCG@5", "-m", "P@5", "--format", "json")[1])
    paths = sorted((files / "runs").iterdir())
    own = sounding.estimate(files / "qrels.txt", paths, ["nDCG@5", "P@5"], labels=files / "labels.tsv")
    assert [screen["measure"] for screen in body["summary"]] == ["nDCG@5", "P@5"]
    for screen, one in zip(body["summary"], own.estimates, strict=True):
        rows = {row["run"]: row for row in screen["leaderboard"]}
        for run, name in enumerate(own.runs):
            shown = [rows[name][column] for column in ("value", "ci_low", "ci_high")]
            assert rows[name]["judged"] == pytest.approx(9 / TOPICS)
            assert shown == pytest.approx([one.means[run], one.low[run], one.high[run]], rel=1e-4)
        assert list(rows) == [own.runs[run] for run in own.order(one)]
    assert body["topics"] == TOPICS
    assert body["estimates"]["machine_share"] == pytest.approx(1 - 9 / TOPICS)
    fitness = audit_labels(files / "qrels.txt", paths, files / "labels.tsv", ["nDCG@5", "P@5"])
    assert body["summary"][0]["caution"] == headline(fitness)
    assert list(body["sections"]) == ["labels", "methods"]
    assert "labels by machines" in json.dumps(body["sections"]["methods"])


def test_the_page_names_the_share_by_machines(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = caller(capsys, "report")
    page = call(*arguments(files), "-m", "nDCG@5", "--format", "html")[1]
    assert "seen by machines only" in page
    assert "people alone" in page
    assert "--all-pairs" in page
    text = call(*arguments(files), "-m", "nDCG@5", "--format", "md")[1]
    assert "## Estimates and labels" in text


def test_what_does_not_go_with_labels_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = caller(capsys, "report")
    for more in (["--for", "good"], ["--sections", "pairs"], ["-m", "AP"]):
        code, _, problem = call(*arguments(files), *more, "--format", "json")
        assert code
        assert problem.count("Error: ") == 1
    assert call(*arguments(files)[:2], "--sections", "labels", "--format", "json")[0]
