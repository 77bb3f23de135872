"""Results that are kept: a job that was stopped goes on where it was."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import require

import sounding
from sounding import Policies, Scores
from sounding.cli import main
from sounding.core.errors import DataError

MEASURES = ("AP", "nDCG@5", "RunID", "P@3")


OTHER = "^kept holds run0-.*, made with other judgments, measures, policies or another version; give another"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    docs = [f"d{number}" for number in range(40)]
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{t} 0 {d} {draw.choice([0, 1, 2])}\n" for t in range(1, 8) for d in draw.sample(docs, 15))
    )
    (tmp_path / "runs").mkdir()
    for number in range(4):
        write_run(tmp_path / "runs" / f"run{number}.txt", number)
    return tmp_path


def write_run(path: Path, seed: int) -> None:
    draw = random.Random(seed)
    docs = [f"d{number}" for number in range(40)]
    path.write_text(
        "".join(
            f"{t} Q0 {d} 1 {draw.choice([1, 2, 3])} same\n"
            for t in range(1 + seed, 10)
            for d in draw.sample(docs, 20)
        )
    )


def evaluate(*, results: str | None = "kept", **choices: Any) -> Scores:
    return sounding.evaluate(
        "qrels.txt", "runs", choices.pop("measures", MEASURES), results=results, **choices
    )


def same(one: Scores, other: Scores) -> None:
    assert (one.runs, one.tags, one.topics, one.ignored) == (
        other.runs,
        other.tags,
        other.topics,
        other.ignored,
    )
    for name in ("values", "judged", "lengths", "missing", "sampling_errors"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name
    for measure, texts in one.texts.items():
        assert texts.tolist() == other.texts[measure].tolist()


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("policies", [Policies(), Policies(missing="skip"), Policies(unjudged="condensed")])
def test_what_is_taken_from_the_folder_is_what_was_computed(
    jobs: int, policies: Policies, folder: Path
) -> None:
    plain = evaluate(results=None, policies=policies)
    same(evaluate(policies=policies, jobs=jobs), plain)
    before = times(folder / "kept")
    assert len(before) == 4
    same(evaluate(policies=policies, jobs=jobs), plain)
    assert times(folder / "kept") == before, "nothing was written again"


def test_a_job_that_was_stopped_does_only_what_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evaluate(results=None)
    from sounding.evaluate import evaluation

    real = evaluation._evaluate_run
    done: list[str] = []

    def stopped_at_the_third(run: sounding.Run, *rest: Any) -> Any:
        done.append(Path(run.source).stem)
        if len(done) == 3:
            raise KeyboardInterrupt
        return real(run, *rest)

    monkeypatch.setattr(evaluation, "_evaluate_run", stopped_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        evaluate()
    assert len(times(folder / "kept")) == 2
    steps: list[int] = []
    same(evaluate(progress=steps.append), plain)
    assert done == ["run0", "run1", "run2", "run2", "run3"]
    assert sum(steps) == 4


def test_the_pool_is_known_from_what_was_kept(folder: Path) -> None:
    first, kept, plain = (
        evaluate(measures=["FirstUnjudged"], results=name) for name in ("kept", "kept", None)
    )
    assert first.judged_by_rank is not None
    assert kept.judged_by_rank is not None
    assert plain.judged_by_rank is not None
    assert first.judged_by_rank.tolist() == kept.judged_by_rank.tolist() == plain.judged_by_rank.tolist()


def test_runs_can_be_added_later(folder: Path) -> None:
    evaluate()
    before = times(folder / "kept")
    write_run(folder / "runs" / "run9.txt", 5)
    same(evaluate(), evaluate(results=None))
    after = times(folder / "kept")
    assert len(after) == 5
    assert before.items() <= after.items()


def test_whatever_changes_a_value_makes_it_new_or_is_refused(folder: Path) -> None:
    evaluate()
    before = times(folder / "kept")
    write_run(folder / "runs" / "run2.txt", 6)  # another run under the same name
    same(evaluate(), evaluate(results=None))
    changed = {name for name, time in times(folder / "kept").items() if before.get(name) != time}
    assert {name.split("-")[0] for name in changed} == {"run2"}
    kept = times(folder / "kept")
    (folder / "early.txt").write_text((folder / "qrels.txt").read_text()[:200].rpartition("\n")[0] + "\n")
    others: list[dict[str, Any]] = [
        {"policies": Policies(depth=3)},
        {"measures": [*MEASURES, "P@4"]},
        {"residual": "early.txt"},
    ]
    for number, choices in enumerate(others):
        with pytest.raises(DataError, match=OTHER):
            evaluate(**choices)
        same(evaluate(results=f"other{number}", **choices), evaluate(results=None, **choices))
    with (folder / "qrels.txt").open("a") as file:
        file.write("7 0 new 1\n")
    with pytest.raises(DataError, match=OTHER):
        evaluate()
    assert times(folder / "kept") == kept
    same(evaluate(results="anew"), evaluate(results=None))


def test_a_folder_with_tables_of_something_else_is_refused(folder: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / "mine.parquet").write_text("")
    with pytest.raises(DataError, match=r"^kept holds mine\.parquet, made with other judgments"):
        evaluate()


def test_a_run_of_the_same_size_and_an_earlier_round_that_only_runs_feel_are_noticed(folder: Path) -> None:
    evaluate()
    path = folder / "runs" / "run2.txt"
    path.write_text(path.read_text().replace(" 3 same", " 0 same"))
    same(evaluate(), evaluate(results=None))
    judged = {tuple(line.split()[:3:2]) for line in (folder / "qrels.txt").read_text().splitlines()}
    lines = [line.split() for line in path.read_text().splitlines()]
    unjudged = [f"{line[0]} 0 {line[2]} 0\n" for line in lines if (line[0], line[2]) not in judged]
    early = folder / "early.txt"
    for text in (unjudged[0], "".join(unjudged)):
        early.write_text(text)
        with pytest.raises(DataError, match=OTHER):
            evaluate(residual=early)


def test_the_order_of_an_earlier_round_makes_no_difference(folder: Path) -> None:
    lines = (folder / "qrels.txt").read_text().splitlines(keepends=True)[:5]
    early = folder / "early.txt"
    early.write_text("".join(lines))
    kept = evaluate(residual=early)
    early.write_text("".join(reversed(lines)))
    same(evaluate(residual=early), kept)


def test_a_file_that_is_not_ours_or_was_cut_is_written_anew(folder: Path) -> None:
    plain = evaluate()
    first, second = sorted((folder / "kept").iterdir())[:2]
    first.write_bytes(first.read_bytes()[:100])
    second.write_text("nothing")
    same(evaluate(), plain)
    assert first.stat().st_size > 100


def test_large_runs_and_failures_go_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evaluate(results=None)
    (folder / "runs" / "zbad.txt").write_text("1 Q0 d1 1 high t\n")
    for name, value in (("LARGE", 1), ("LARGE_PACKED", 1), ("PART", 500)):
        monkeypatch.setattr(f"sounding.data.large_files.{name}", value)
    told: list[tuple[str, str]] = []
    for _ in range(2):
        scores = evaluate(on_failure=lambda name, error: told.append((name, str(error))))
        same(scores, plain)
        assert scores.remarks == ("skipped, because they could not be evaluated: runs/zbad.txt",)
    assert (
        told
        == [("runs/zbad.txt", "runs/zbad.txt:1: score 'high' is not a number; expected one such as 12.5")] * 2
    )
    assert len(times(folder / "kept")) == 4
    with pytest.raises(sounding.FormatError, match="score 'high'"):
        evaluate()


def test_duckdb_reads_the_folder(folder: Path) -> None:
    duckdb = require("duckdb")
    scores = evaluate()
    found = duckdb.sql(
        "select source, avg(value) from 'kept/*.parquet' where measure = 'AP' group by source order by source"
    ).fetchall()
    assert [row[0] for row in found] == [f"runs/run{number}.txt" for number in range(4)]
    assert [row[1] for row in found] == pytest.approx(scores.mean()[:, 0].tolist())
    names = [row[0] for row in duckdb.sql("describe select * from 'kept/*.parquet'").fetchall()]
    assert names == [
        "run", "measure", "topic", "value", "text", "judged", "sampling_error", "retrieved", "missing", "tag",
        "source", "qrels", "policies", "made_from", "ignored_topics",
    ]  # fmt: skip


def test_what_cannot_be_kept_is_said_in_one_line(folder: Path) -> None:
    with pytest.raises(
        DataError, match="results of unjudged bounds are not stored, because they depend on the other"
    ):
        evaluate(policies=Policies(unjudged="bounds"))
    with pytest.raises(DataError, match="results are kept of runs in files; this one has none"):
        sounding.evaluate("qrels.txt", {"1": {"a": 1.0}}, ["AP"], results="kept")
    Path("taken").write_text("")
    with pytest.raises(DataError, match="taken cannot be made a folder of results"):
        evaluate(results="taken")


def test_the_command_keeps_results_and_takes_them_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for more in ([], ["--into", "kept"], ["--into", "kept"]):
        with pytest.raises(SystemExit) as left:
            main(["evaluate", "qrels.txt", "runs", "-m", "AP", "-q", "--format", "csv", "--quiet", *more])
        assert not left.value.code
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    assert len(list(Path("kept").iterdir())) == 4
