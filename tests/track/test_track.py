"""A history gives the values of `evaluate` and the tests of `compare`, and says what cannot be compared."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.calling import Call, caller, check_refused

from sounding import Policies, Procedure, compare, evaluate, sample, track, write_qrels
from sounding.core.errors import DataError, UnknownNameError
from sounding.track.commits import Commit, find_commit

TOPICS = 12
MEASURES = ["nDCG@10", "AP", "P@5"]
KINDS = ("history.parquet", "history.sqlite")


def table(grades: Any) -> dict[str, dict[str, Any]]:
    return {f"t{topic}": dict(row) for topic, row in enumerate(grades)}


# One relevant document a topic: RR is one over its rank.
QRELS = table([[("yes", 1)]] * TOPICS)


def ranked(ranks: Any) -> dict[str, dict[str, float]]:
    """A run that has the relevant document of each topic at these ranks."""
    return table(
        [[("yes" if at == rank else f"no{at}", 100.0 - at) for at in range(1, rank + 1)] for rank in ranks]
    )


@pytest.fixture(scope="module")
def collection() -> Any:
    return sample(topics=TOPICS, groups=3, systems=1, documents=200, length=40, pool_depth=8, seed=11)


@pytest.mark.parametrize("name", KINDS)
def test_means_are_those_of_evaluate_to_the_last_bit(name: str, collection: Any, tmp_path: Path) -> None:
    fewer = collection.qrels.of_topics(collection.qrels.topics[3:])
    cases = (("v1", collection.qrels), ("v2", fewer), ("v3", collection.qrels))
    for commit, qrels in cases:
        track(tmp_path / name, qrels, collection.runs, MEASURES, commit=commit)
    history = track(tmp_path / name)
    assert [commit.name for commit in history.commits] == ["v1", "v2", "v3"]
    for place, (_, qrels) in enumerate(cases):
        scores = evaluate(qrels, collection.runs, MEASURES)
        order = [scores.runs.index(run) for run in history.runs]
        assert history.mean()[:, :, place].tolist() == scores.mean()[order].tolist()
        assert history.judged_share()[:, :, place] == pytest.approx(scores.judged_share()[order])
    shown = track(tmp_path / name, measures="AP")
    assert shown.mean().tolist() == history.mean()[:, 1:2].tolist()
    assert history.frame.height == 3 * 3 * 3 * TOPICS


@pytest.mark.parametrize("name", KINDS)
def test_a_later_evaluation_replaces_the_values_of_its_commit_and_time_orders_commits(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    track(
        path,
        QRELS,
        {"a": ranked([1] * TOPICS), "b": ranked([4] * TOPICS)},
        "RR",
        commit="new",
        time="2026-03-01",
    )
    track(path, QRELS, {"a": ranked([2] * TOPICS)}, "RR", commit="old", time="2026-02-28T23:00:00-02:00")
    track(path, QRELS, {"a": ranked([2] * TOPICS)}, "RR", commit="older", time="2026-02-28T23:00:00Z")
    history = track(path, QRELS, {"a": ranked([4] * TOPICS)}, "RR", commit="new", time="2026-03-01T01:00:00Z")
    # 23:00 two hours west of Greenwich is 01:00, as late as the last; it came first.
    assert [commit.name for commit in history.commits] == ["older", "old", "new"]
    assert history.commits[1].time == history.commits[2].time == "2026-03-01T01:00:00+00:00"
    assert history.runs == ("a", "b")
    assert history.mean()[:, 0].tolist()[0] == [0.5, 0.5, 0.25]
    assert history.mean()[1, 0, 2] == 0.25  # the other run of the commit stays
    assert np.isnan(history.mean()[1, 0, :2]).all()


def test_a_change_is_tested_as_compare_tests_two_runs(collection: Any, tmp_path: Path) -> None:
    before, after, _ = collection.runs
    for commit, run in (("v1", before), ("v2", after)):
        history = track(tmp_path / "h.parquet", collection.qrels, {"x": run}, MEASURES, commit=commit)
    procedure = Procedure(alpha=0.1)
    comparison = compare(collection.qrels, {"after": after, "before": before}, MEASURES, procedure=procedure)
    rows = {row["measure"]: row for row in comparison.frame.to_dicts()}
    for change in history.changes(procedure=procedure):
        row = rows[change.measure]
        sign = 1 if row["run_a"] == "after" else -1
        assert change.difference == pytest.approx(sign * row["difference"], abs=1e-15)
        assert change.p_adjusted == row["p_adjusted"]
        assert sorted([change.ci_low, change.ci_high]) == pytest.approx(
            sorted([sign * row["ci_low"], sign * row["ci_high"]])
        )
        assert (change.first.name, change.last.name, change.commits) == ("v1", "v2", 2)


def test_p_is_the_share_of_sign_flips_that_are_as_extreme(tmp_path: Path) -> None:
    ranks = np.array([1, 1, 2, 1, 1, 3, 1, 2])
    later = np.array([2, 1, 3, 1, 4, 2, 2, 5])
    qrels = dict(itertools.islice(QRELS.items(), len(ranks)))
    for commit, run in (("v1", ranks), ("v2", later)):
        history = track(tmp_path / "h.db", qrels, {"x": ranked(run)}, "RR", commit=commit)
    gaps = 1 / later - 1 / ranks
    flipped = [abs(np.dot(signs, gaps)) for signs in itertools.product((-1, 1), repeat=len(gaps))]
    exact = np.mean(np.array(flipped) >= abs(gaps.sum()) - 1e-12)
    (change,) = history.changes()
    assert change.p == pytest.approx(exact, abs=0.02)
    assert change.difference == pytest.approx(gaps.mean())


def slow_decline(path: Path) -> Any:
    """Each commit moves the relevant document of two topics from the first rank to the second."""
    for step in range(6):
        run = ranked([2 if topic < 2 * step else 1 for topic in range(TOPICS)])
        history = track(path, QRELS, {"x": run}, "RR", commit=f"v{step}")
    return history


def test_a_slow_decline_is_significant_although_no_step_is(tmp_path: Path) -> None:
    history = slow_decline(tmp_path / "h.parquet")
    (change,) = history.changes()
    assert change.difference == pytest.approx(-10 / TOPICS / 2)
    assert change.p_adjusted < 0.01
    assert change.step is not None
    assert change.step.difference == pytest.approx(-2 / TOPICS / 2)
    assert change.step.p > 0.5
    (recent,) = history.changes("v4")
    assert (recent.first.name, recent.commits) == ("v4", 2)
    assert recent.p_adjusted > 0.05
    assert recent.step is None


def test_commits_with_other_judgments_or_policies_are_not_compared(tmp_path: Path) -> None:
    path, run = tmp_path / "h.parquet", {"x": ranked([3] * TOPICS)}
    reordered = {topic: QRELS[topic] for topic in reversed(QRELS)}
    more = {**QRELS, "t0": {"yes": 1, "no1": 1}}
    condensed = Policies(unjudged="condensed")
    track(path, QRELS, run, "RR", commit="1")
    history = track(path, reordered, run, "RR", commit="2")
    assert history.comparable(0, 0).tolist() == [0, 1]
    history = track(path, more, run, "RR", commit="3")
    assert history.comparable(0, 0).tolist() == [2]
    assert np.isnan(history.changes()[0].p_adjusted)
    history = track(path, more, run, "RR", commit="4", policies=condensed)
    assert history.comparable(0, 0).tolist() == [3]
    track(path, QRELS, run, "RR", commit="5")
    history = track(path, QRELS, run, "RR", commit="6")
    assert history.comparable(0, 0).tolist() == [4, 5]  # not those before the others


def test_the_interval_is_that_of_a_t_test(tmp_path: Path) -> None:
    from scipy import stats

    history = track(tmp_path / "h.db", QRELS, {"x": ranked(range(2, TOPICS + 2))}, "RR", commit="1")
    values = 1 / np.arange(2, TOPICS + 2)
    low, high = stats.t.interval(0.9, TOPICS - 1, values.mean(), stats.sem(values))
    assert history.interval(0.1)[:, 0, 0, 0] == pytest.approx([low, high])


def test_a_commit_is_found_by_its_name_or_by_how_only_its_name_begins() -> None:
    commits = tuple(Commit(name, "") for name in ("abc", "abcd", "b1", "b2"))
    assert [find_commit(commits, name) for name in ("abc", "abcd", "b1")] == [0, 1, 2]
    for name in ("b", "", "x"):
        with pytest.raises(UnknownNameError):
            find_commit(commits, name)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((QRELS,), {}, "give qrels and runs"),
        ((QRELS, {"x": QRELS}, "NumRel"), {"commit": "1"}, "sum over topics"),
        ((QRELS, {"x": QRELS}, "RR"), {"commit": " "}, "empty"),
        ((QRELS, {"x": QRELS}, "RR"), {"commit": "1", "time": "noon"}, "expected a date"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_a_file_is_made(
    arguments: Any, options: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        track(tmp_path / "h.parquet", *arguments, **options)
    assert not list(tmp_path.iterdir())


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return caller(capsys)


def test_the_command_names_a_slow_decline_and_what_to_do_next(call: Call) -> None:
    slow_decline(Path("h.parquet"))
    status, out, _ = call("track", "h.parquet")
    assert status == 0
    headline = out.splitlines()[0]
    assert headline.startswith("RR of x declined by 0.4167 since v0 ")
    assert "no single commit" in headline
    assert out.splitlines()[-1] == "Next: sounding track h.parquet --chart history.html"
    assert call("track", "h.parquet", "--since", "v4")[1].startswith("No decline is significant")
    body = json.loads(call("track", "h.parquet", "--format", "json")[1])
    assert [row["value"] for row in body["rows"]] == pytest.approx([1 - step / TOPICS for step in range(6)])
    assert body["changes"][0]["step"]["commit"] in body["commits"]
    rows = call("track", "h.parquet", "--format", "csv")[1].splitlines()
    assert rows[0].startswith("run,measure,commit,time,topics,value,ci_low,ci_high,judged")
    assert len(rows) == 1 + 6


def test_missing_judgments_are_named_as_a_possible_reason(call: Call) -> None:
    # The relevant document stays at the first rank, or new unjudged documents are before it.
    for commit, rank in (("v1", 1), ("v2", 3)):
        track("h.parquet", QRELS, {"x": ranked([rank] * TOPICS)}, "RR@3", commit=commit)
    assert "judged share fell from 100% to 33.3%" in call("track", "h.parquet")[1].replace("\n", " ")


def test_too_few_topics_are_said_before_no_difference_is(call: Call) -> None:
    few = dict(itertools.islice(QRELS.items(), 4))
    for commit, rank in (("v1", 1), ("v2", 3)):
        track("h.parquet", few, {"x": ranked([rank] * 4)}, "RR", commit=commit)
    assert call("track", "h.parquet")[1].startswith("No change could be significant")


def test_git_names_the_commit(call: Call, tmp_path: Path) -> None:
    write_qrels(QRELS, "qrels.txt")
    Path("x.txt").write_text("".join(f"{topic} Q0 yes 1 1 x\n" for topic in QRELS))
    line = ("track", "h.parquet", "qrels.txt", "x.txt", "-m", "RR", "--format", "json", "--quiet")
    check_refused(call(*line), 1, "--commit")
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+01:00"
    }  # fmt: skip

    def git(*words: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", *settings, *words], env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    assert call(*line)[0] == 1  # no commit yet
    git("add", ".")
    git("commit", "-q", "-m", "one")
    name = git("rev-parse", "HEAD")
    assert json.loads(call(*line)[1])["rows"][0]["time"] == "2026-01-02T02:04:05+00:00"
    git("add", "h.parquet")
    git("commit", "-q", "-m", "the history itself")
    second = git("rev-parse", "HEAD")
    assert json.loads(call(*line)[1])["commits"] == [name, second]
    # The history changed, which does not count; a run does.
    assert json.loads(call(*line)[1])["commits"] == [name, second]
    Path("x.txt").write_text(Path("x.txt").read_text() + "t0 Q0 no 2 0.5 x\n")
    assert json.loads(call(*line)[1])["commits"] == [name, second, f"{second}-dirty"]
    assert (
        f"{second[:10]}-dirty"
        in call("track", "h.parquet", "-m", "RR", "--since", second)[1] + second[:10] + "-dirty"
    )
    git("tag", "v1.0", name)
    tagged = json.loads(call(*line, "--commit", "v1.0")[1])
    assert {row["time"] for row in tagged["rows"] if row["commit"] == "v1.0"} == {"2026-01-02T02:04:05+00:00"}


def test_wrong_calls_and_files_are_refused_in_one_line(call: Call) -> None:
    write_qrels(QRELS, "qrels.txt")
    Path("x.txt").write_text("t1 Q0 yes 1 1 x\n")
    check_refused(call("track", "h.parquet"), 1, "h.parquet")
    check_refused(call("track", "h.csv"), 2, "name it .parquet, .sqlite or .db")
    check_refused(call("track", "h.parquet", "qrels.txt"), 2, "name the RUNs")
    track("h.parquet", QRELS, {"x": QRELS}, "RR", commit="v1")
    check_refused(call("track", "h.parquet", "--commit", "v2"), 2, "without QRELS and RUNs")
    check_refused(call("track", "h.parquet", "--policy", "ties=file"), 2, "without QRELS and RUNs")
    check_refused(call("track", "h.parquet", "--since", "v3"), 2, "unknown commit 'v3'; known: v1")
    check_refused(call("track", "h.parquet", "-m", "AP"), 1, "this history has RR")
    check_refused(call("track", "h.parquet", "--alpha", "2"), 2, "alpha 2")
    check_refused(call("track", "h.parquet", "--chart", "x.gif"), 2, "no chart format")
    for name in KINDS:
        Path(name).write_bytes(b"this is something else, and long enough to look at\n" * 30)
        check_refused(call("track", name), 1, name)
        check_refused(call("track", name, "qrels.txt", "x.txt", "--commit", "1"), 1, name)
        assert Path(name).read_bytes().startswith(b"this is something else")
    evaluate(QRELS, {"x": QRELS}, "RR").frame.write_parquet("other.parquet")
    check_refused(call("track", "other.parquet"), 1, "expected a history that `sounding track` wrote")
    check_refused(call("track", "h.parquet", "-o", "h.parquet"), 2, "overwrite an input")


def test_after_changed_judgments_the_next_command_evaluates_the_last_commit_before_them(call: Call) -> None:
    Path("x.txt").write_text("t1 Q0 yes 1 1 x\n")
    for commit, grade in (("v1", 1), ("v2", 1), ("v3", 0)):
        Path("qrels.txt").write_text(f"t1 0 yes {grade}\nt1 0 no 1\n")
        status, out, _ = call("track", "h.parquet", "qrels.txt", "x.txt", "-m", "AP", "--commit", commit)
        assert status == 0
    assert out.splitlines()[-1] == "Next: sounding track h.parquet qrels.txt x.txt -m AP --commit v2"


def test_a_chart_is_drawn(call: Call) -> None:
    slow_decline(Path("h.parquet"))
    status, out, err = call("track", "h.parquet", "--chart", "chart.svg")
    assert (status, err) == (0, "chart: chart.svg\n")
    assert "Next:" not in out
    drawn = Path("chart.svg").read_text()
    assert all(f">v{step}<" in drawn for step in range(6))


def test_a_chart_of_many_runs_shows_those_that_changed_and_commits_that_begin_alike(tmp_path: Path) -> None:
    from sounding.track.charts import MOST_RUNS, chart_of

    hashes = [f"{'a' * 20}{number:020}" for number in (1, 2)]
    for number, commit in enumerate(hashes):
        runs = {f"r{place}": ranked([1 + (place > 7) * number] * TOPICS) for place in range(10)}
        history = track(tmp_path / "h.db", QRELS, runs, "RR", commit=commit, time=f"2026-01-0{number + 1}")
    specification = chart_of(history, history.changes()).to_dict()
    drawn = "".join(str(rows) for rows in specification["datasets"].values())
    assert {"r8", "r9"} <= {f"r{place}" for place in range(10) if f"r{place}," in drawn}
    assert sum(f"r{place}," in drawn for place in range(10)) == MOST_RUNS
    assert all(commit in drawn for commit in hashes)


def test_a_shortened_hash_names_the_clean_commit() -> None:
    """The name that is shown begins that of the same commit with changed files, too."""
    name = "e483626bb9" + 30 * "a"
    commits = tuple(Commit(one, f"2026-01-0{day}") for day, one in enumerate((f"{name}-dirty", name), 1))
    assert find_commit(commits, commits[1].short) == 1
    assert find_commit(commits, f"{name}-dirty") == 0
