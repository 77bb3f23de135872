"""--only: the same figures of fewer runs, under the pool of all runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller, check_refused, next_command, sampled

import sounding
from sounding.compare.result import Comparison
from sounding.data.run_info import read_run_info

Rows = list[dict[str, str]]
GIVEN = ("--info", "info.tsv", "--only")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 8 runs and 26 topics; three of four groups were pooled to depth 10."""
    sizes = "--topics 26 --groups 4 --systems 2 --documents 400 --length 60"
    folder = sampled(tmp_path_factory.mktemp("only") / "trial", f"{sizes} --pool-depth 10 --seed 4")
    listed = {row["run"]: row for row in table((folder / "info.tsv").read_text(), "\t")}
    unpooled = [run for run, row in listed.items() if row["pooled"] == "no"]
    pooled = [run for run in listed if run not in unpooled]
    assert unpooled
    assert len(unpooled) < len(pooled)
    # By hand: the runs alone, and what a pool of depth 4 of the pooled runs judged.
    for part, runs in (("alone", unpooled), ("together", pooled)):
        (folder / part).mkdir()
        for run in runs:
            (folder / part / f"{run}.txt").write_text((folder / "runs" / f"{run}.txt").read_text())
    first = {
        (topic, doc)
        for run in pooled
        for topic, docs in ranked(folder / "runs" / f"{run}.txt").items()
        for doc in docs[:4]
    }
    lines = (folder / "qrels.txt").read_text().splitlines(keepends=True)
    kept = [line for line in lines if (line.split()[0], line.split()[2]) in first]
    assert 0 < len(kept) < len(lines)
    (folder / "shallow.txt").write_text("".join(kept))
    return folder


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def table(text: str, separator: str = ",") -> Rows:
    return list(csv.DictReader(io.StringIO(text), delimiter=separator))


def ranked(path: Path) -> dict[str, list[str]]:
    """Documents by topic: by score, then by id, both descending."""
    lines = [line.split() for line in path.read_text().splitlines()]
    topics: dict[str, list[tuple[float, str]]] = {}
    for topic, _, doc, _, score, _ in lines:
        topics.setdefault(topic, []).append((float(score), doc))
    return {topic: [doc for _, doc in sorted(docs, reverse=True)] for topic, docs in topics.items()}


def rows(call: Call, *words: str) -> Rows:
    status, out, err = call(*words, "--format", "csv", "--quiet")
    assert status == 0, err
    return table(out)


def names(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "alone").iterdir()}


def test_values_are_those_of_the_runs_among_all(folder: Path, call: Call) -> None:
    every = rows(call, "evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "P@10")
    some = rows(call, "evaluate", "qrels.txt", "runs", "-m", "AP", "-m", "P@10", *GIVEN, "unpooled")
    assert sorted(map(str, some)) == sorted(str(row) for row in every if row["run"] in names(folder))
    others = rows(call, "evaluate", "qrels.txt", "runs", "-m", "AP", *GIVEN, "pooled")
    assert {row["run"] for row in others} == {row["run"] for row in every} - names(folder)


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "-m", "AP", "-m", "P@10"),
        ("depth", "-m", "AP", "--depths", "5,20", "--each-run"),
        ("compare", "-m", "AP", "-m", "P@10", "--test", "t"),
    ],
)
@pytest.mark.parametrize(("which", "alone"), [("unpooled", "alone"), ("pooled", "together")])
def test_a_cut_pool_stays_that_of_all_runs(
    words: tuple[str, ...], which: str, alone: str, call: Call
) -> None:
    verb, *more = words
    expected = rows(call, verb, "shallow.txt", alone, *more)
    found = rows(call, verb, "qrels.txt", "runs", *more, "--pool-depth", "4", *GIVEN, which)
    # What stands below depends on what else may be relevant, and on who was pooled.
    free = {"advice", "settled", "difference_least", "difference_most"}
    for row in (*expected, *found):
        for name in free & set(row):
            del row[name]
    if verb == "compare" and which == "unpooled":
        return  # two runs alone are a pair in the order of their names
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_sessions_judge_for_some_runs_under_the_pool_of_all(call: Call) -> None:
    session = ("--prior", "0.5", "--depth", "10", "--quiet", "--format", "json")
    limited = ("--pool-depth", "4", *GIVEN, "unpooled")
    for verb, *more in (("simulate", "--judgments", "16"), ("plan", "--view", "ranking")):
        _, expected, _ = call(verb, "shallow.txt", "alone", *more, *session)
        status, found, err = call(verb, "qrels.txt", "runs", *more, *session, *limited)
        assert status == 0, err
        assert json.loads(found)["rows"] == json.loads(expected)["rows"]


def test_bounds_of_pairs_are_those_among_all_runs(folder: Path, call: Call) -> None:
    words = ("compare", "qrels.txt", "runs", "-m", "AP", "-m", "P@10", "--test", "t")
    every = {(row["run_a"], row["run_b"], row["measure"]): row for row in rows(call, *words)}
    some = rows(call, *words, *GIVEN, "unpooled")
    assert len(some) == len(names(folder)) * (len(names(folder)) - 1)
    for row in some:
        whole = every[row["run_a"], row["run_b"], row["measure"]]
        for name in ("difference", "p", "difference_least", "difference_most", "settled"):
            assert row[name] == whole[name]


def test_a_baseline_is_compared_whatever_it_is(folder: Path, call: Call) -> None:
    other = sorted({path.stem for path in (folder / "runs").iterdir()} - names(folder))[0]
    found = rows(call, "compare", "qrels.txt", "runs", "--baseline", other, *GIVEN, "unpooled")
    assert {row["run_a"] for row in found} == names(folder)
    assert {row["run_b"] for row in found} == {other}
    shown = rows(call, "evaluate", "qrels.txt", "runs", "--baseline", other, *GIVEN, "unpooled")
    assert {row["run"] for row in shown} == names(folder) | {other}


def test_the_command_to_type_next_works(call: Call) -> None:
    _, out, _ = call("compare", "qrels.txt", "runs", "-m", "P@10", "--test", "t", *GIVEN, "pooled")
    words = next_command(out)
    assert "--pair" in words
    assert call(*words)[0] == 0


def test_the_pool_that_is_shown_is_that_of_all_runs(folder: Path, call: Call) -> None:
    words = ("depth", "qrels.txt", "runs", "-m", "AP", "--format", "json", "--quiet", "--info", "info.tsv")
    _, every, _ = call(*words)
    _, some, _ = call(*words, "--only", "unpooled")
    assert json.loads(some)["pool"]["depth"] == json.loads(every)["pool"]["depth"] == 10
    assert set(json.loads(some)["runs"]) == names(folder)
    # Every reference is the pool depth, as long as the pool is known.
    assert {row["reference"] for row in json.loads(some)["rows"]} == {"AP@10"}


@pytest.mark.parametrize("section", ["runs", "leave-out", "reinforcement", "ties", "assessment"])
def test_an_audit_reports_some_runs_with_the_figures_among_all(
    section: str, folder: Path, call: Call
) -> None:
    drawn = ("--draws", "2") if section == "assessment" else ()
    words = ("audit", "qrels.txt", "runs", "--info", "info.tsv", "--section", section, *drawn)
    kinds = {row["run"]: row["kind"] for row in table((folder / "info.tsv").read_text(), "\t")}
    some = rows(call, *words, "--only", "kind=automatic")
    every = [row for row in rows(call, *words) if kinds[row["run"]] == "automatic"]
    assert 0 < len({row["run"] for row in every}) < len(kinds)
    for row in (*some, *every):
        row.pop("tau", None)  # among the runs
    assert some == every


def test_means_of_an_audit_are_over_the_reported_runs(call: Call) -> None:
    words = ("audit", "qrels.txt", "runs", "--info", "info.tsv", "--section", "leave-out", "-m", "AP")
    some = rows(call, *words, "--only", "pooled", "--only", "kind=automatic")
    changes = [abs(float(row["percent"])) for row in some if row["by"] == "run"]
    _, text, _ = call(*words, "--only", "pooled", "--only", "kind=automatic", "--format", "json")
    summary = next(one for one in json.loads(text)["leave_out"] if one["left out"] == "run")
    assert summary["number"] == len(changes)
    assert summary["percent"] == pytest.approx(sum(changes) / len(changes))


def test_a_pool_is_not_changed_and_its_summary_covers_some_runs(folder: Path, call: Call) -> None:
    words = ("pool", "runs", "--info", "info.tsv", "--summary", "--depth", "10")
    every = [row for row in rows(call, *words) if row["run"] in names(folder)]
    assert rows(call, *words, "--only", "unpooled") == every
    check_refused(call(*words[:4], "--only", "unpooled"), 2, "add --summary")


def test_calibration_scores_pairs_of_some_runs(folder: Path, call: Call) -> None:
    words = ("calibrate", "qrels.txt", "runs", "--until", "pool:10", "--hide", "pool:4", "--claim", "p-value")
    counted = {
        int(row["pairs"])
        for row in rows(call, *words, "-m", "AP", "--resamples", "0", *GIVEN, "unpooled")
        if row["part"] == "all"
    }
    assert counted == {len(names(folder)) * (len(names(folder)) - 1) // 2}


def test_a_report_is_about_some_runs(folder: Path, call: Call) -> None:
    words = ("report", "qrels.txt", "runs", "--format", "json", "--draws", "2", "--quiet", *GIVEN, "unpooled")
    status, out, err = call(*words)
    assert status == 0, err
    for screen in json.loads(out)["summary"]:
        assert {row["run"] for row in screen["leaderboard"]} == names(folder)


def test_chances_of_some_pairs_are_those_among_all_runs(call: Call) -> None:
    words = ("compare", "qrels.txt", "runs", "-m", "AP", "--test", "t", "--holds", "--until", "pool:12")
    every = {(row["run_a"], row["run_b"]): row["holds"] for row in rows(call, *words, "--info", "info.tsv")}
    some = rows(call, *words, *GIVEN, "unpooled")
    assert {(row["run_a"], row["run_b"]): row["holds"] for row in some}.items() <= every.items()
    made = sounding.report(
        "qrels.txt", "runs", ["AP"], info=read_run_info("info.tsv"), only=["unpooled"], until="pool:12",
        sections=["pairs"], draws=2,
    )  # fmt: skip
    assert isinstance(made.comparison, Comparison)
    held = made.comparison.holds
    assert held is not None
    assert {row["holds"] for row in some} == {repr(float(chance)) for chance in held.conclusion[0]}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--only", "pooled"), 2, "--info FILE says which runs these are"),
        ((*GIVEN, "polled"), 2, "--only 'polled': expected pooled, unpooled, group=NAME or kind=NAME"),
        ((*GIVEN, "group="), 2, "expected pooled, unpooled, group=NAME or kind=NAME"),
        ((*GIVEN, "kind=robot"), 1, "--only kind=robot: none of the 8 runs; expected kind='automatic'"),
        ((*GIVEN, "pooled", "--only", "unpooled"), 1, "no run meets all conditions"),
    ],
)
def test_conditions_that_no_run_can_meet_are_refused(
    words: tuple[str, ...], status: int, message: str, call: Call
) -> None:
    for verb in ("evaluate", "compare", "depth", "audit"):
        check_refused(call(verb, "qrels.txt", "runs", "--quiet", *words), status, message)


@pytest.mark.parametrize("measure", ["AP(norm='c')@5", "nDCG(norm='b')@5", "Q(ideal='ii')@5"])
def test_a_list_of_pooled_runs_is_enough_for_measures_of_the_pool(
    measure: str, folder: Path, call: Call, tmp_path: Path
) -> None:
    # By hand: the judgments with the best rank of each document in a pooled run.
    pooled = list((folder / "together").iterdir())
    best: dict[tuple[str, str], int] = {}
    for path in pooled:
        for topic, docs in ranked(path).items():
            for rank, doc in enumerate(docs, 1):
                best[topic, doc] = min(rank, best.get((topic, doc), rank))
    rows_of = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    lines = [f"{topic}\t{doc}\t{grade}\t{best.get((topic, doc), 0)}\n" for topic, _, doc, grade in rows_of]
    known = tmp_path / "known.tsv"
    known.write_text("topic\tdoc\tgrade\tpool_rank\n" + "".join(lines))
    words = ("-m", measure, "--info", "info.tsv")
    for verb, more in (("evaluate", ()), ("compare", ("--test", "t"))):
        expected = rows(call, verb, str(known), "runs", "-m", measure, *more)
        found = rows(call, verb, "qrels.txt", "runs", *words, *more)
        for one, other in zip(found, expected, strict=True):
            for name in {"value", "difference", "run", "p"} & set(one):
                assert one[name] == other[name]
    alone = {row["run"]: row["value"] for row in rows(call, "evaluate", "qrels.txt", "runs", *words)}
    audited = rows(call, "audit", "qrels.txt", "runs", *words, "--section", "runs")
    assert {row["run"]: float(row[measure]) for row in audited} == pytest.approx(
        {run: float(value) for run, value in alone.items()}
    )
    for verb in ("evaluate", "compare"):
        check_refused(
            call(verb, "qrels.txt", "runs", "-m", measure), 1, "list the pooled runs with --info FILE"
        )


def test_conditions_are_the_same_in_any_case(call: Call) -> None:
    asked = ("evaluate", "qrels.txt", "runs", "-m", "AP", "--format", "csv", "--quiet", *GIVEN)
    for lower, other in (
        ("pooled", "Pooled"),
        ("unpooled", "UNPOOLED"),
        ("kind=automatic", "Kind=Automatic"),
    ):
        assert call(*asked, lower)[1] == call(*asked, other)[1] != ""
