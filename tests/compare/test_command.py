"""`sounding compare` as a person uses it: tables, paragraphs, formats, exit status and errors."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars
import pytest
from tests.e2e.calling import Call, Said, caller, sampled

from sounding.compare.comparison import compare
from sounding.compare.headlines import pairs_headline
from sounding.compare.result import COLUMNS
from sounding.compare.tables import shown_interval
from sounding.core.text import format_chance, format_p, p_phrase
from sounding.evaluate.evaluation import evaluate
from sounding.statistics.pairwise import TESTS


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 8 runs and 30 topics, judged to depth 10."""
    sizes = "--topics 30 --groups 4 --systems 2 --documents 500 --length 100"
    return sampled(
        tmp_path_factory.mktemp("compare") / "trial", f"{sizes} --pool-depth 10 --pooled-runs 1 --seed 4"
    )


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding compare` on the collection; t tests unless another is named."""
    monkeypatch.chdir(trial)
    monkeypatch.setenv("COLUMNS", "400")  # tables in one piece

    run_command = caller(capsys, "compare")

    def run(*arguments: str) -> Said:
        test = [] if "--test" in arguments or "--preregistered" in arguments else ["--test", "t"]
        return run_command(*arguments, *test)

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "runs").iterdir())


def table_of(out: str, first: str = "run_a") -> list[str]:
    """The lines from the heading of the table that begins with this column."""
    lines = out.splitlines()
    return lines[next(place for place, line in enumerate(lines) if line.startswith(first)) :]


def answer_of(out: str) -> str:
    """The headline, in one line."""
    return " ".join(out.partition("\n\n")[0].split())


def notes_of(out: str) -> list[str]:
    """The notes below the table, without the next command."""
    *_, notes, last = out.rstrip("\n").split("\n\n")
    assert last.startswith("Next: sounding ")
    return notes.splitlines()


# -- pairs -----------------------------------------------------------------------------------------


def test_the_answer_comes_first_then_pairs_of_the_best_runs_notes_and_the_next_command(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "--top", "3")
    status, out, err = call(*asked)
    assert (status, err) == (0, "")
    _, rows, _ = call(*asked[:-2], "--format", "csv")
    differ = sum(float(row.split(",")[COLUMNS.index("p_adjusted")]) <= 0.05 for row in rows.splitlines()[1:])
    assert answer_of(out).startswith(
        f"{differ} of 28 pairs differ significantly by P@5 (t, holm, alpha 0.05, 30 topics)."
    )
    head, _, *rows_shown = table_of(out)
    assert head.split() == [
        "run_a", "run_b", "mean_a", "mean_b", "difference", "interval", "adjusted", "p", "assessment", "case",
        "settled", "advice",
    ]  # fmt: skip
    means = {cell for row in rows_shown[:3] for cell in zip(row.split()[:2], row.split()[2:4], strict=True)}
    best, second, third = [name for name, _ in sorted(means, key=lambda cell: -float(cell[1]))]
    assert [row.split()[:2] for row in rows_shown[:3]] == [[best, second], [best, third], [second, third]]
    assert rows_shown[3] == ""
    assert rows_shown[4].startswith("Pairs of the best runs come first. 3 of 28 rows")
    assert len(notes_of(out)) <= 4  # three, and how to see the others
    assert "Policies" not in out
    _, every, _ = call(*asked, "--notes")
    for part in (
        "Test: paired t test; correction holm; alpha 0.05.",
        "Policies: ties trec",
        "A pair is settled if its order stays",
        "by t",
    ):
        assert part in every
        assert part not in out
    assert "more note" not in every


def test_the_next_command_runs_as_it_is_printed(
    call: Call, trial: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, *_, b = names(trial)
    views = ((), ("--baseline", a), ("--pair", a, b), ("--matrix",), ("--design",), ("--for", a))
    for view in (*views, ("--depths", "5,10")):
        measure = "P" if "--depths" in view else "P@5"
        _, out, _ = call("qrels.txt", "runs", "-m", measure, *view)
        words = shlex.split(out.splitlines()[-1].removeprefix("Next: sounding "))
        if words[0] == "compare":
            status, again, err = caller(capsys, "compare")(*words[1:])
            assert (status, err.count("Error")) == (0, 0)
            assert answer_of(again)


def test_the_headline_of_a_baseline_counts_who_is_better_and_who_is_worse(call: Call, trial: Path) -> None:
    for name in names(trial):
        asked = ("qrels.txt", "runs", "-m", "P@5", "--baseline", name)
        rows = json.loads(call(*asked, "--format", "json")[1])["rows"]
        sure = [row for row in rows if row["p_adjusted"] <= 0.05]
        better = [row for row in sure if row["difference"] > 0]
        headline = answer_of(call(*asked)[1])
        worse = len(sure) - len(better)
        assert ("No run is significantly better" in headline) == (not better)
        if len(better) > 1:
            assert headline.startswith(f"{len(better)} of 7 runs are significantly better than {name} by P@5")
        if better and worse:
            are = "is" if worse == 1 else "are"
            assert f", and {worse} {are} worse (t, holm, alpha 0.05, 30 topics)" in headline
        ahead = max(better or rows, key=lambda row: row["difference"])
        if ahead["difference"] > 0:
            assert f"{ahead['run_a']} is ahead by {ahead['difference']:.4f}, p " in headline


def test_several_measures_are_named_in_the_headline_with_the_one_named_first(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "-m", "AP")
    assert "2 measures were tested together (P@5 first); p is adjusted within each." in answer_of(out)
    assert "together" not in answer_of(call("qrels.txt", "runs", "-m", "P@5")[1])


def test_two_runs_are_explained_as_a_pair(call: Call, trial: Path) -> None:
    a, b, *_ = names(trial)
    two = ("qrels.txt", f"runs/{a}.txt", f"runs/{b}.txt", "-m", "P@5")
    status, out, _ = call(*two)
    assert status == 0
    assert call(*two, "--pair", a, b)[1] == out
    assert "P@5: topics that differ most" in out
    body = json.loads(call(*two, "--format", "json")[1])
    assert list(body["pair"]) == ["P@5"]
    assert "topics that differ most" not in call(*two, "--baseline", a)[1]
    assert call(*two, "--fail-on", "worse")[0] == 2  # which of the two is the baseline?


def test_a_run_in_focus_is_compared_with_the_others_alone(call: Call, trial: Path) -> None:
    name, b, c, *_ = names(trial)
    asked = ("qrels.txt", "runs", "-m", "P@5", "--for", name)
    rows = json.loads(call(*asked, "--format", "json")[1])["rows"]
    assert {row["run_a"] for row in rows} == {name}
    assert len(rows) == 7
    against = json.loads(call("qrels.txt", "runs", "-m", "P@5", "--baseline", name, "--format", "json")[1])
    p = {row["run_a"]: row["p_adjusted"] for row in against["rows"]}
    assert {row["run_b"]: row["p_adjusted"] for row in rows} == pytest.approx(p)
    _, out, _ = call(*asked)
    won, lost = (
        sum(row["p_adjusted"] <= 0.05 and side * row["difference"] > 0 for row in rows) for side in (1, -1)
    )
    headline = answer_of(out)
    rank = 1 + sum(row["mean_b"] > row["mean_a"] for row in rows)
    assert headline.startswith(f"{name} ranks {rank} of 8 by P@5 ")
    beaten, better = (f"{count} run{'s' * (count > 1)}" if count else "no run" for count in (won, lost))
    assert f"significantly beats {beaten} and loses to {better}" in headline
    open_ones = 7 - won - lost
    assert ("undecided" in headline) == bool(open_ones)
    assert not open_ones or f"; {open_ones} comparison" in headline
    results = [line.split()[1] for line in table_of(out, "against")[2:9]]
    assert [results.count(word) for word in ("better", "worse", "undecided")] == [won, lost, 7 - won - lost]
    few = json.loads(call(*asked, "--against", f"{b},{c}", "--format", "json")[1])["rows"]
    assert {row["run_b"] for row in few} == {b, c}
    assert call("qrels.txt", "runs", "--against", b)[0] == 2
    assert call(*asked, "--against", name)[0] == 2
    assert call("qrels.txt", "runs", "-m", "P@5", "--for", "nobody")[0] == 2


def test_slices_are_tested_by_themselves(call: Call, trial: Path, tmp_path: Path) -> None:
    topics = sorted({line.split()[0] for line in (trial / "qrels.txt").read_text().splitlines()})
    groups = ["few"] * 5 + ["many"] * 25
    file = tmp_path / "groups.tsv"
    file.write_text("".join(f"{topic}\t{group}\n" for topic, group in zip(topics, groups, strict=True)))
    name = names(trial)[0]
    asked = ("qrels.txt", "runs", "-m", "P@5", "--baseline", name, "--by", str(file))
    rows = json.loads(call(*asked, "--format", "json")[1])["rows"]
    assert len(rows) == 2 * 7
    qrels = tmp_path / "many.txt"
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    qrels.write_text("".join(line for line in lines if line.split()[0] in topics[5:]))
    whole = json.loads(
        call(str(qrels), "runs", "-m", "P@5", "--baseline", name, "--format", "json")[1]
    )["rows"]  # fmt: skip
    found = {row["run_a"]: row for row in rows if row["slice"] == "many"}
    for row in whole:
        for key in ("difference", "p_adjusted", "topics", "ci_low", "mean_a"):
            assert found[row["run_a"]][key] == pytest.approx(row[key])
    assert all(row["p_adjusted"] is None and not row["tested"] for row in rows if row["slice"] == "few")
    headline = answer_of(call(*asked)[1])
    assert "few cannot be tested (fewer than 6 topics)." in headline
    sure = any(row["p_adjusted"] <= 0.05 for row in found.values())
    assert ("differ significantly in many" in headline) == sure
    turned = {row["slice"] for row in rows if row["reversed"]}
    assert all(part in headline.partition("opposite order in ")[2] for part in turned)
    file.write_text("no-such-topic\tfew\n")
    assert call(*asked)[0] == 1


def test_markdown_for_a_pull_request_has_five_columns(call: Call, trial: Path) -> None:
    name = names(trial)[0]
    asked = ("qrels.txt", "runs", "-m", "P@5", "--baseline", name)
    _, out, _ = call(*asked, "--format", "md")
    first, *_, last = out.splitlines()
    assert first.startswith(answer_of(call(*asked)[1])[:30])
    assert last.startswith("Next: `sounding compare ")
    head, _, *rows = (line for line in out.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "run", "measure", "difference (interval)", "adjusted p", "verdict",
    ]  # fmt: skip
    facts = json.loads(call(*asked, "--format", "json")[1])["rows"]
    for row, fact in zip(rows, facts, strict=True):
        verdict = row.strip("| ").split("|")[-1].strip()
        word = "better" if fact["difference"] > 0 else "worse"
        assert verdict.startswith(word if fact["p_adjusted"] <= 0.05 else "no significant difference")
        assert f"{fact['difference']:+.4f} (" in row


def test_thresholds_fail_with_a_status_of_their_own(call: Call, trial: Path) -> None:
    best, *_ = [
        line.split(",")[2]
        for line in call("qrels.txt", "runs", "-m", "P@5", "--matrix", "--format", "csv")[1].splitlines()[1:]
    ]
    asked = ("qrels.txt", "runs", "-m", "P@5", "--baseline", best)
    rows = json.loads(call(*asked, "--format", "json")[1])["rows"]
    drop = max(-row["difference"] for row in rows)
    least = min(row["mean_a"] for row in rows)
    assert call(*asked, "--fail-on", f"drop>{drop + 0.001:.4f}")[0] == 0
    status, _, err = call(*asked, "--fail-on", f"drop>{drop - 0.001:.4f}")
    assert (status, err.count("the mean dropped by ")) == (6, 1)
    assert call(*asked, "--fail-on", f"P@5<{least - 0.001:.4f}")[0] == 0
    status, _, err = call(*asked, "--fail-on", f"P@5<{least + 0.001:.4f}")
    assert (status, f"P@5 is {least:.4f}, below" in err) == (6, True)
    assert call(*asked, "--fail-on", "worse,drop>0.001")[0] == 3  # the more serious of the two
    for wrong in ("drop<0.1", "P@5>0.3", "P@7<0.3", "drop>much", "nonsense<1"):
        status, out, _ = call(*asked, "--fail-on", wrong)
        assert (status, out) == (2, "")


@pytest.mark.parametrize("policy", ["nonrelevant", "bounds", "condensed"])
@pytest.mark.parametrize("view", [(), ("--matrix",), ("--design",), ("--depths", "5")])
def test_policies_are_repeated_as_they_were_chosen(call: Call, policy: str, view: tuple[str, ...]) -> None:
    asked = ("qrels.txt", "runs", "-m", "P" if "--depths" in view else "P@5", "--unjudged", policy, *view)
    _, out, _ = call(*asked)
    changed = "Policies that differ from the defaults: "
    assert (changed in out) == (policy != "nonrelevant")
    assert f"Policies: ties trec, unjudged {policy}," in call(*asked, "--notes")[1]
    _, out, _ = call(*asked, "--format", "json")
    body = json.loads(out)
    body = body["collections"]["qrels"] if "collections" in body else body
    assert body["policies"]["unjudged"] == policy
    if not view:
        known = {"by": "bounds", "universe": "runs", "at_most": None}
        assert body["settled"] == (None if policy == "condensed" else known)


def test_topics_stand_in_the_table_where_pairs_differ_in_them(
    call: Call, trial: Path, tmp_path: Path
) -> None:
    whole = [f"runs/{name}.txt" for name in names(trial)[:2]]
    lines = (trial / "runs" / f"{names(trial)[2]}.txt").read_text().splitlines(keepends=True)
    (tmp_path / "short.txt").write_text(
        "".join(line for line in lines if line.split()[0] != lines[0].split()[0])
    )
    asked = ("qrels.txt", *whole, str(tmp_path / "short.txt"), "-m", "P@5", "--policy", "missing=skip")
    _, out, _ = call(*asked)
    head, _, *rows = table_of(out)
    place = head.index("topics")
    assert sorted(row[place : place + 6].strip() for row in rows[:3]) == ["29", "29", "30"]
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5")
    assert "topics" not in table_of(out)[0]


@pytest.mark.parametrize("form", ["md", "latex"])
def test_print_has_topics_and_both_p(call: Call, form: str) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", form)
    head = next(line for line in out.splitlines() if "difference" in line).replace("\\_", "_")
    cells = [cell.strip(" \\") for cell in head.replace("&", "|").strip("| ").split("|")]
    assert cells == [
        "run_a", "run_b", "topics", "mean_a", "mean_b", "difference", "interval", "effect size", "p",
        "adjusted p", "assessment", "case", "settled", "advice",
    ]  # fmt: skip
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", form, "--notes")
    assert "The effect size is Cohen's d" in out


def test_p_is_called_adjusted_only_where_it_is(call: Call, trial: Path) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--correction", "none")
    assert "adjusted" not in table_of(out)[0]
    a, *_, b = names(trial)
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--pair", a, b)
    assert "adjusted" not in out
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--pair", a, b, "--test", "tukey")
    assert "adjusted p " in out  # for all runs, whichever pair is asked for


def test_a_narrow_terminal_keeps_the_pair_the_measure_and_the_difference(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((80, 20)))
    monkeypatch.setenv("NO_COLOR", "1")
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--top", "3")
    head = table_of(out)[0].split()
    assert head[:6] == ["run_a", "run_b", "measure", "mean_a", "mean_b", "difference"]
    assert "advice" not in head
    assert max(len(line) for line in out.splitlines() if not line.startswith("Next: ")) <= 80
    assert "Columns left out to fit the width: " in out


def test_an_interval_without_limits_says_so_and_minus_zero_is_zero() -> None:
    inf, nan = float("inf"), float("nan")
    assert shown_interval(-inf, inf) == "unlimited"
    assert shown_interval(-inf, 0.5) == "up to 0.5000"
    assert shown_interval(0.5, inf) == "from 0.5000"
    assert shown_interval(-0.00001, 0.5) == "0.0000 to 0.5000"
    assert shown_interval(nan, nan) == "–"


@pytest.mark.parametrize(
    ("p", "cell", "rest"),
    [
        (0.0, "<0.001", "< 0.001"),
        (0.00099, "<0.001", "< 0.001"),
        (0.001, "0.0010", "= 0.0010"),
        (1, "1.0000", "= 1.0000"),
    ],
)
def test_p_is_written_one_way(p: float, cell: str, rest: str) -> None:
    assert (format_p(p), p_phrase(p)) == (cell, rest)


def test_the_table_says_what_to_do_and_csv_why(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--format", "json", "--top", "5")
    sentences = [row["advice"] for row in json.loads(out)["rows"]]
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--top", "5")
    for sentence, row in zip(sentences, table_of(out)[2:7], strict=True):
        what, _, why = sentence.partition(": ")
        assert row.partition(" (alone:")[0].endswith(f"  {what}")
        assert why.endswith(".")


def test_csv_has_the_promised_columns_and_a_row_for_every_pair_and_measure(call: Call) -> None:
    status, out, err = call("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--format", "csv")
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == ",".join(COLUMNS)
    assert len(lines) == 1 + 2 * 28
    assert "(t, holm, alpha 0.05, 30 topics)" in err
    _, _, err = call("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--format", "csv", "--notes")
    assert "Test: paired t test; correction holm; alpha 0.05." in err
    assert "The 95% intervals are intervals of the mean, by t" in err
    assert "Policies: ties trec" in err


def test_the_columns_of_the_issue_come_first_and_in_its_order() -> None:
    assert COLUMNS == (
        "run_a", "run_b", "measure", "k", "topics", "difference", "ci_low", "ci_high", "p", "p_adjusted",
        "assessment_difference", "assessment_p", "case", "strength", "settled", "advice",
        "effect_size", "wins", "ties", "losses", "p_at_floor",
        "mean_a", "mean_b", "difference_least", "difference_most", "case_alone",
    )  # fmt: skip


def test_programs_see_the_rows_in_the_order_of_people_and_top_cuts_all_alike(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "-m", "AP")
    _, table, _ = call(*asked, "--top", "56")
    people = [line.split()[:3] for line in table_of(table)[2:58]]
    for form in ("csv", "json", "jsonl"):
        for top in (None, 7):
            cut = () if top is None else ("--top", str(top))
            _, out, _ = call(*asked, "--format", form, *cut)
            if form == "csv":
                rows = [line.split(",")[:3] for line in out.splitlines()[1:]]
            else:
                dicts = (
                    json.loads(out)["rows"] if form == "json" else map(json.loads, out.splitlines())
                )  # fmt: skip
                rows = [[row["run_a"], row["run_b"], row["measure"]] for row in dicts]
            assert rows == people[:top]


def test_effect_sizes_wins_and_losses_are_those_of_the_topics(call: Call, trial: Path) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", "json")
    row = json.loads(out)["rows"][3]
    scores = evaluate(str(trial / "qrels.txt"), [str(trial / "runs" / f"{row[key]}.txt") for key in
                                                 ("run_a", "run_b")], ["P@5"])  # fmt: skip
    gaps = scores.values[0, 0] - scores.values[1, 0]
    assert row["effect_size"] == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    assert [row["wins"], row["ties"], row["losses"]] == [
        int((gaps > 1e-9).sum()), int((abs(gaps) < 1e-9).sum()), int((gaps < -1e-9).sum()),
    ]  # fmt: skip


@pytest.mark.parametrize(("test", "center"), [("sign", "median"), ("wilcoxon", "pseudomedian")])
def test_an_interval_that_is_not_of_the_mean_says_what_it_is_of(
    call: Call, trial: Path, test: str, center: str
) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "--test", test)
    _, out, _ = call(*asked, "--notes")
    assert f"interval ({center})" in table_of(out)[0]
    assert f"The 95% intervals are intervals of the {center}" in out
    a, *_, b = names(trial)
    _, out, _ = call(*asked, "--pair", a, b)
    assert f"95% interval of the {center} " in out
    _, _, err = call(*asked, "--format", "csv", "--notes")
    assert f"The 95% intervals are intervals of the {center}" in err


def test_p_at_the_floor_is_marked_and_what_it_would_take_is_said_once(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--test", "randomization", "--permutations", "99")
    by_holm = (*asked, "--correction", "holm")
    _, out, _ = call(*by_holm, "--top", "3")
    first, *_ = out.splitlines()
    assert first.startswith("No pair can be significant")
    assert "at least 559 permutations" in " ".join(out.split())
    assert out.count("≤0.2800") == 3  # 28 pairs at 1 / 100
    assert "strong" not in out
    assert "case 1" not in out
    assert "differ significantly" not in out  # which no test could have found
    for shown in (("--top", "3"), ("--top", "3", "--notes")):
        assert call(*by_holm, *shown)[1].count("≤ marks the smallest p that 99 draws can show.") == 1
    notes = json.loads(call(*by_holm, "--format", "json")[1])["notes"]
    assert any("p-values are the smallest that 99 draws can show (p_at_floor)" in note for note in notes)
    for view in (("--matrix",), ("--matrix", "--format", "csv")):
        assert "≤" not in "".join(call(*by_holm, *view)[1:])
    body = json.loads(call(*by_holm, "--format", "json")[1])
    assert list(body["inconclusive"]) == ["P@5", "AP"]
    assert {row["case"] for row in body["rows"]} == {row["strength"] for row in body["rows"]} == {None}
    assert json.loads(call(*asked, "--format", "json")[1])["inconclusive"] == {}
    _, out, _ = call(*asked, "--format", "json", "--correction", "none")
    rows = json.loads(out)["rows"]
    assert {row["p_at_floor"] for row in rows} == {True, False}
    assert all((row["p"] == 0.01) == row["p_at_floor"] for row in rows)


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet", "md", "latex"])
def test_other_formats_hold_the_same_pairs(call: Call, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    status, _, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", form, "-o", str(target))
    assert status == 0
    if form == "parquet":
        assert polars.read_parquet(target).columns == list(COLUMNS)
    elif form == "json":
        body = json.loads(target.read_text())
        assert list(body["rows"][0]) == list(COLUMNS)
        assert sum(body["cases"]["P@5"]) == len(body["rows"]) == 28
        assert body["test"]["correction"] == "holm"
    elif form == "jsonl":
        assert len(target.read_text().splitlines()) == 28
    else:
        assert "run" in target.read_text()


def test_a_baseline_stands_second_in_every_row(call: Call, trial: Path) -> None:
    first, second, *_ = names(trial)
    _, out, _ = call(
        "qrels.txt", "runs", "-m", "P@5", "--baseline", first, "--baseline", second, "--format", "csv"
    )
    rows = [line.split(",")[:2] for line in out.splitlines()[1:]]
    assert len(rows) == 6 + 6
    assert {row[1] for row in rows} == {first, second}
    assert not {row[0] for row in rows} & {first, second}


def test_a_margin_adds_equivalence(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--margin", "0.1", "--format", "csv")
    assert out.splitlines()[0] == ",".join((*COLUMNS, "equivalence_p", "noninferiority_p"))
    cells = [line.rsplit(",", 2)[1:] for line in out.splitlines()[1:]]
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--margin", "0.1", "--top", "28", "--notes")
    head, _, *rows = table_of(out)
    places = [(name, head.index(name)) for name in ("equivalence p", "non-inferiority p")]
    shown = [[row[place:].split()[0] for _, place in places] for row in rows[:28]]
    assert shown == [[format_p(float(cell)) for cell in row] for row in cells]
    assert "two one-sided paired t tests, margin 0.1; correction holm" in out


def test_one_pair_is_explained_verdict_and_advice_first_then_lists(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    status, out, _ = call("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--pair", a, b)
    assert status == 0
    head, *parts = out.split("\n\n")
    assert a in head
    assert b in head
    assert " by P@5" in head
    assert "By AP: " in head
    starts = [place for place, part in enumerate(parts) if part.startswith(("P@5. ", "AP. "))]
    by_precision, by_average = (parts[place:] for place in starts)
    for part, measure, k in ((by_precision, "P@5", 5), (by_average, "AP", 100)):
        assert part[0].startswith(f"{measure}. Advice: ")
        facts = [line.split()[0] for line in part[1].splitlines()]
        assert facts[:6] == ["means", "difference", "topics", "judged", "case", "settled"]
        assert "effect size " in part[1]
        assert f"first {k} documents" in part[1]
        assert part[2] == f"{measure}: topics that differ most"
        assert part[3].split()[:2] == ["topic", "difference"]
    assert "(exact, document by document)" in by_precision[1]
    assert "(a bound for AP from pairs of documents)" in by_average[1]
    assert "judgments would settle it if all favor " in by_average[1]
    assert by_average[4] == "AP: unjudged documents that matter most for the difference"
    assert by_average[5].splitlines()[0].split()[-3:] == ["change", "if", "relevant"]


def test_a_difference_that_judgments_cannot_move_is_one_number(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    _, out, _ = call("truth.txt", "runs", "-m", "P@5", "--pair", a, b)
    _, table, _ = call("truth.txt", "runs", "-m", "P@5", "--pair", a, b, "--format", "csv")
    gap = float(table.splitlines()[1].split(",")[COLUMNS.index("difference")])
    assert f"yes: the difference is {gap:+.4f} whatever the unjudged documents are" in out
    assert "lies between" not in out


def test_json_has_the_topics_and_documents_of_one_pair(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--pair", a, b, "--format", "json")
    found = json.loads(out)["documents"]["AP"]
    assert len(found["telling"]) == 5
    assert found["settling"]["needed"] > 0
    _, text, _ = call("qrels.txt", "runs", "-m", "AP", "--pair", a, b)
    for one in found["settling"]["documents"][:5]:
        assert one["doc"] in text


def test_an_explanation_is_broken_for_a_terminal(
    call: Call, trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, *_, b = names(trial)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((80, 20)))
    monkeypatch.setenv("NO_COLOR", "1")
    _, broken, _ = call("qrels.txt", "runs", "-m", "P@5", "--pair", a, b)
    assert max(len(line) for line in broken.splitlines() if not line.startswith("Next: ")) <= 80


def test_the_verdict_names_the_better_run(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", "json")
    row = max(json.loads(out)["rows"], key=lambda row: row["difference"])
    better, other = row["run_a"], row["run_b"]
    for pair in ((better, other), (other, better)):
        _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--pair", *pair)
        assert answer_of(out).startswith(f"{better} is significantly better than {other} by P@5: ")
        assert f"case        {row['case']}, {row['strength']}: {better} is significantly better" in out


@pytest.mark.parametrize(("columns", "width"), [("90", 90), ("", 110), ("wide", 110)])
def test_tables_in_a_pipe_are_as_wide_as_columns_or_110(
    call: Call, trial: Path, monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    a, *_, b = names(trial)
    for view in ((), ("--matrix",), ("--design",), ("--pair", a, b)):
        _, out, _ = call("qrels.txt", "runs", "-m", "P@5", *view)
        *text, last = out.splitlines()
        assert last.startswith("Next: ")
        prose = [line for line in text if columns.isdigit() or line.endswith(".")]
        assert max(map(len, prose)) <= width


def test_the_matrix_has_one_sign_for_each_pair_in_the_order_of_the_measure(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--matrix")
    rows = [line.split() for line in table_of(out, "rank")[2:10]]
    beaten = rows[0][3].count(">") + rows[0][3].count("›")
    assert answer_of(out).startswith(f"{rows[0][1]} leads by P@5 and significantly beats {beaten} of 7 runs.")
    values = [float(row[2]) for row in rows]
    assert values == sorted(values, reverse=True)
    mirrored = str.maketrans("<>‹›", "><›‹")
    grid = [row[3] for row in rows]
    for place, row in enumerate(grid):
        assert row[place] == "·"
        assert set(row[place + 1 :]) <= set(">=›~")
        assert row.translate(mirrored) == "".join(other[place] for other in grid)
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--format", "csv")
    ranks = {row[1]: number for number, row in enumerate(rows)}
    expected = {"1": "=", "2": "~", "3": ">", "4": "›"}
    for line in out.splitlines()[1:]:
        cells = line.split(",")
        assert grid[ranks[cells[0]]][ranks[cells[1]]] == expected[cells[COLUMNS.index("case")]]


def test_the_matrix_of_several_measures_is_one_tidy_table_for_programs(call: Call, tmp_path: Path) -> None:
    asked = ("qrels.txt", "runs", "-m", "AP", "-m", "P@5", "--matrix")
    _, out, _ = call(*asked, "--format", "csv")
    head, *rows = out.splitlines()
    assert head == "measure,rank,run,value,against"
    cells = [row.split(",") for row in rows]
    assert [row[:2] for row in cells] == [[name, str(n)] for name in ("AP", "P@5") for n in range(1, 9)]
    status, _, _ = call(*asked, "-o", str(tmp_path / "matrix.parquet"))
    assert status == 0
    frame = polars.read_parquet(tmp_path / "matrix.parquet")
    assert [list(map(str, row)) for row in frame.rows()] == cells
    _, out, _ = call(*asked, "--format", "json")
    body = json.loads(out)
    assert [row["against"] for row in body["rows"]] == [row[4] for row in cells]
    assert body["test"]["alpha"] == 0.05
    _, out, _ = call(*asked)
    heads = [line.split()[2] for line in out.splitlines() if line.startswith("rank")]
    assert heads == ["AP", "P@5"]


# -- what a new user fell over ---------------------------------------------------------------------


def test_a_cap_on_relevant_documents_is_named_wherever_settled_is(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    asked = ("qrels.txt", "runs", "-m", "P@5", "--at-most", "1", "--universe", "+7")
    limited = "if at most 1 more document a topic is relevant"
    _, out, _ = call(*asked, "--notes")
    assert "universe +7, at most 1." in out
    assert limited in next(
        line for line in out.splitlines() if line.startswith("A pair is settled if its order stays")
    )
    _, out, _ = call(*asked, "--pair", a, b)
    assert "whatever the unjudged documents are" not in out
    assert f"{limited} (exact, document by document)" in " ".join(out.split())
    _, out, err = call(*asked, "--format", "csv", "--notes")
    assert limited in err
    assert f"can reverse the order {limited}" in out
    assert "can reverse the order." not in out
    _, out, _ = call(*asked, "--format", "json")
    assert json.loads(out)["settled"] == {"by": "bounds", "universe": "+7", "at_most": "1"}


def test_what_a_margin_did_not_show_is_not_said(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--margin", "0.1", "--format", "json")
    rows = json.loads(out)["rows"]
    seen = set()
    for row in rows:
        pair = (row["run_a"], row["run_b"])
        _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--margin", "0.1", "--pair", *pair)
        _, alone, _ = call(
            "qrels.txt", "runs", "-m", "P@5", "--margin", "0.1", "--pair", *pair, "--format", "json"
        )
        (one,) = json.loads(alone)["rows"]
        equal, good = one["equivalence_p"] <= 0.05, one["noninferiority_p"] <= 0.05
        assert ("the two are within 0.1 of each other" in out) == equal
        assert ("the two are not shown to be within 0.1 of each other" in out) != equal
        assert (f"{pair[0]} is less than 0.1 worse" in out) == good
        assert (f"{pair[0]} is not shown to be less than 0.1 worse" in out) != good
        seen |= {(equal, good)}
    assert len(seen) > 1


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_runs_without_common_topics_are_refused_or_not_tested_whatever_the_policy(
    call: Call, trial: Path, tmp_path: Path, missing: str
) -> None:
    first, second, third, *_ = names(trial)
    for name, odd in ((first, True), (second, False)):
        lines = (trial / "runs" / f"{name}.txt").read_text().splitlines(keepends=True)
        (tmp_path / f"{name}.txt").write_text(
            "".join(line for line in lines if int(line.split()[0]) % 2 == odd)
        )
    halves = [str(tmp_path / f"{name}.txt") for name in (first, second)]
    status, out, err = call("qrels.txt", *halves, "-m", "P@5", "--policy", f"missing={missing}")
    assert (status, out) == (1, "")
    assert "15 of the 30 judged topics" in err
    assert "and none in common; expected runs for the same topics" in err
    asked = (
        "qrels.txt",
        *halves,
        f"runs/{third}.txt",
        "-m",
        "P@5",
        "--policy",
        f"missing={missing}",
        "--format",
    )
    _, out, err = call(*asked, "json")
    body = json.loads(out)
    (row,) = [row for row in body["rows"] if third not in (row["run_a"], row["run_b"])]
    unknown = ("difference", "p", "p_adjusted", "case", "strength", "settled", "mean_a", "difference_least")
    assert all(row[name] is None for name in unknown)
    assert row["topics"] == 0
    others = sorted(row["p"] for row in body["rows"] if row["p"] is not None)
    smallest = min(row["p_adjusted"] for row in body["rows"] if row["p"] is not None)
    assert smallest == pytest.approx(min(1, 2 * others[0]))  # two tests, not three
    if missing == "zero":
        assert any(
            f"which count as 0 and as not judged: {first} 15, {second} 15." in note for note in body["notes"]
        )
        _, out, _ = call("qrels.txt", *halves, f"runs/{third}.txt", "-m", "P@5", "--pair", first, third)
        assert f"{first} lacks 15 topics, which count as not judged" in " ".join(out.split())


def test_all_documents_that_are_needed_can_be_had(call: Call, trial: Path, tmp_path: Path) -> None:
    a, *_, b = names(trial)
    asked = ("qrels.txt", "runs", "-m", "AP@20", "--pair", a, b)
    _, out, _ = call(*asked, "--format", "json")
    settling = json.loads(out)["documents"]["AP@20"]["settling"]
    sides = [number for number in (settling["needed_a"], settling["needed_b"]) if number is not None]
    assert len(settling["documents"]) == max(sides) > 10
    assert settling["needed"] == min(sides)
    target = tmp_path / "wanted.csv"
    _, out, err = call(*asked, "--documents", str(target))
    head, *lines = target.read_text().splitlines()
    assert head == "measure,number,topic,doc,rank_a,rank_b,weight"
    assert [line.split(",")[3] for line in lines] == [one["doc"] for one in settling["documents"]]
    assert f"{target}: {len(lines)} documents" in err
    assert f"--pair {a}" not in out.partition("Next: ")[0]
    shown = [one["doc"] for one in settling["documents"] if one["doc"] in out]
    assert len(shown) < 10
    _, out, _ = call(*asked, "--top", "10")
    assert all(one["doc"] in out for one in settling["documents"][:10])
    _, out, _ = call(*asked, "--top", "3", "--format", "json")
    assert len(json.loads(out)["documents"]["AP@20"]["settling"]["documents"]) == 3


def test_one_pair_is_explained_in_markdown_and_programs_are_told_where(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    asked = ("qrels.txt", "runs", "-m", "P@5", "--pair", a, b)
    _, table, _ = call(*asked)
    _, out, _ = call(*asked, "--format", "md")
    assert out.splitlines()[0] == answer_of(table)
    assert "\n\n### P@5\n" in out
    assert "- settled: " in out
    assert "| topic | difference | " in out
    for form in ("csv", "jsonl"):
        assert answer_of(table) in call(*asked, "--format", form)[2]
    body = json.loads(call(*asked, "--format", "json")[1])
    beside = body["pair"]["P@5"]
    (row,) = body["rows"]
    assert len(beside["topics"]) == row["topics"] == 30
    for side in ("a", "b"):
        mean = sum(topic[side] for topic in beside["topics"]) / 30
        assert row[f"mean_{side}"] == pytest.approx(mean)
    assert row["difference"] == pytest.approx(row["mean_a"] - row["mean_b"])
    assert beside["judged"][a] - beside["judged"][b] == pytest.approx(row["assessment_difference"])
    assert row["difference_least"] <= row["difference"] <= row["difference_most"]


def test_advice_that_goes_by_another_case_than_the_row_says_so(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--top", "56")
    _, out, _ = call(*asked, "--format", "json")
    rows = json.loads(out)["rows"]
    _, out, _ = call(*asked)
    lines = table_of(out)[2:58]
    differ = 0
    for row, line in zip(rows, lines, strict=True):
        same = row["case"] == row["case_alone"]
        differ += not same
        assert line.endswith(f"(alone: case {row['case_alone']})") != same
    assert differ
    _, out, _ = call(*asked, "--notes")
    assert f"{differ} of 56 rows" in out
    _, out, _ = call(*asked, "--correction", "none")
    assert "(alone: " not in out


def test_a_group_of_measures_loses_those_without_a_mean(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs", "-m", "official", "--format", "json", "--top", "1")
    assert status == 0
    body = json.loads(out)
    dropped = "Left out because they have no mean over topics to compare: RunID, NumQ, NumRet, NumRel, NumRelRet, GMAP."
    assert dropped in body["notes"]
    assert {"AP", "P@10", "Bpref"} <= set(body["cases"])
    assert not {"RunID", "NumRet", "GMAP"} & set(body["cases"])


def test_runs_may_be_called_by_their_files(call: Call, trial: Path, tmp_path: Path) -> None:
    a, b, *_ = names(trial)
    (tmp_path / "low.txt").write_text((trial / "runs" / f"{a}.txt").read_text())
    files = (str(tmp_path / "low.txt"), f"runs/{b}.txt")
    tables = [
        call("qrels.txt", *files, "-m", "P@5", "--baseline", name, "--format", "csv")
        for name in (a, "low", "low.txt", files[0])
    ]
    assert all(status == 0 for status, _, _ in tables)
    assert len({out for _, out, _ in tables}) == 1
    assert f"\n{b},low,P@5," in tables[0][1]
    assert call("qrels.txt", *files, "-m", "P@5", "--baseline", "lo")[0] == 2
    assert "--design" in call("--help-all")[1]
    assert call("qrels.txt", *files, "-m", "P@5", "--pair", "low", b, "--design")[0] == 0


@pytest.mark.parametrize("form", ["table", "csv"])
def test_depths_may_be_repeated(call: Call, form: str) -> None:
    once = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--format", form)
    assert once == call("qrels.txt", "runs", "-m", "P", "--depths", "5", "--depths", "20", "--format", form)


def test_counts_have_no_remarks_on_intervals_and_a_planned_margin_is_said_to_be_idle(
    call: Call, tmp_path: Path
) -> None:
    _, _, err = call("qrels.txt", "runs", "-m", "P", "--depths", "5", "--format", "csv")
    assert "ci_low" not in err
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["P"]\ndepths = [5]\ntest = "t"\nmargin = 0.01\n')
    _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan), "--notes")
    assert "Equivalence" not in out
    assert "The margin 0.01 changes no case: use --each-pair to see its results." in out
    _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan), "--notes", "--each-pair")
    assert "Equivalence and non-inferiority: " in out
    assert "changes no case" not in out


def test_other_spellings_of_tests_and_corrections_are_the_same_choice(call: Call, tmp_path: Path) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "--format", "csv", "--permutations", "99")
    british = call(*asked, "--test", "randomization", "--correction", "bh")
    assert british == call(*asked, "--test", "randomization", "--correction", "fdr")
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["P@5"]\ntest = "randomized-tukey"\n')
    _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan))
    assert "The plan is followed." in out


def test_long_names_are_shortened_and_told_apart_in_a_table_alone(
    call: Call, trial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    long = "a-run-name-of-more-than-fifty-letters-with-all-its-options"
    for number, name in enumerate(names(trial)):
        text = (trial / "runs" / f"{name}.txt").read_text()
        (tmp_path / f"{long}-{number}-and-more.txt").write_text(text)
    for view in ((), ("--matrix",), ("--depths", "5,20"), ("--top", "28")):
        measure = ("-m", "P") if "--depths" in view else ("-m", "P@5")
        _, out, _ = call("qrels.txt", str(tmp_path), *measure, *view)
        lines = out.partition("Next: ")[0].splitlines()
        shown_lines = lines[lines.index("") :]  # the headline has room for whole names
        assert max(map(len, lines)) <= 110
        assert not any(long in line for line in shown_lines)
    shown = {word for line in table_of(out)[2:30] for word in line.split()[:2]}
    assert len(shown) == 8
    assert max(map(len, shown)) == 20
    assert "Long run names are shortened here" in out
    _, out, _ = call("qrels.txt", str(tmp_path), "-m", "P@5", "--format", "md")
    assert f"{long}-0-and-more" in out


def test_a_matrix_of_many_runs_is_folded_and_its_signs_survive_markdown(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sounding.compare.tables.SIGNS_IN_LINE", 5)
    _, whole, _ = call("qrels.txt", "runs", "-m", "P@5", "--matrix", "--format", "csv")
    signs = [line.split(",")[4] for line in whole.splitlines()[1:]]
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--matrix")
    head, _, *rows = table_of(out, "rank")[:10]
    assert head.split()[3:] == ["against", "1", "to", "5", "against", "6", "to", "8"]
    assert ["".join(row.split()[3:]) for row in rows] == signs
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--matrix", "--format", "md")
    assert all(f"| `{row}` |" in out for row in signs)


@pytest.mark.parametrize("view", [(), ("--pair",)])
def test_a_comparison_is_drawn(call: Call, trial: Path, tmp_path: Path, view: tuple[str, ...]) -> None:
    a, *_, b = names(trial)
    pair = ("--pair", a, b) if view else ("--top", "4")
    target = tmp_path / "chart.svg"
    status, _, err = call("qrels.txt", "runs", "-m", "P@5", *pair, "--chart", str(target))
    assert (status, err) == (0, f"chart: {target}\n")
    drawn = target.read_text()
    assert drawn.startswith("<svg")
    assert (f"{a} and {b} topic by topic" if view else "Differences of 4 of 28 pairs of runs") in drawn


# -- depths ----------------------------------------------------------------------------------------


def test_depths_print_cases_moves_examples_and_scenarios(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "P", "-m", "AP", "--depths", "5,20,100", "--test", "anova",
        "--info", "info.tsv", "--notes",
    )  # fmt: skip
    assert status == 0
    assert "P: shares of pairs in cases 1, 2, 3 and 4" in out
    assert "AP: shares of pairs in cases 1, 2, 3 and 4" in out
    assert "moves between cases, counted" in out
    assert "pairs that move" in out
    moves = out.partition("moves between cases, counted")[2].partition("pairs that move")[0]
    assert not any(line.split()[-4:] == ["0"] * 4 for line in moves.splitlines())
    reasons = out.partition("for run_a and run_b. Why:")[2].partition("\n\n")[0].split()
    counted = [int(word[1:]) for word, unit in pairwise(reasons) if unit == "moves):"]
    cases = [line.split() for line in moves.splitlines() if " case " in line]
    moved = sum(int(row[-4:][place]) for row in cases for place in range(4) if place + 1 != int(row[-5]))
    assert sum(counted) == moved > 0
    assert "elsewhere" not in out
    assert "A_p" not in out
    assert "an example of each case" in out
    assert "an example of each case" in out
    assert "what the pool can tell" in out
    assert "runs contributed to the pool (as listed); the first 10 documents" in out
    assert "F of all runs at once, on 7 and 232 degrees of freedom" in out


def test_moves_have_rows_only_for_cases_that_pairs_come_from(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20,100", "--alpha", "1e-30")
    moves = out.partition("moves between cases, counted")[2].partition("an example")[0]
    rows = [line.split()[-6:] for line in moves.splitlines() if "case" in line]
    assert rows == [["case", "1", "28", "0", "0", "0"]] * 2


def test_top_cuts_the_pairs_that_move_in_json_as_in_the_table(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P", "--depths", "5,20,100", "--top", "3")
    _, out, _ = call(*asked, "--format", "json")
    moved = json.loads(out)["collections"]["qrels"]["moved"]
    _, out, _ = call(*asked)
    start = out.splitlines().index("pairs that move") + 4
    shown = [line.split()[:2] for line in out.splitlines()[start : start + 3]]
    assert [[move["run_a"], move["run_b"]] for move in moved] == shown


def test_pairs_that_go_from_strong_to_weak_are_listed_first(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20,100", "--top", "100")
    start = out.splitlines().index("pairs that move") + 4
    rows = out.splitlines()[start:]
    moves = [row.split("  ") for row in rows[: rows.index("")]]
    cases = [next(cell.strip() for cell in row if " to " in cell and "@" not in cell) for row in moves]
    weakened = [case[0] in "13" and case[-1] in "24" for case in cases]
    assert weakened == sorted(weakened, reverse=True)
    assert any(weakened)
    assert not all(weakened)


def test_depths_give_programs_tidy_counts_that_sum_to_the_pairs(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--format", "json")
    body = json.loads(out)
    assert [row["k"] for row in body["rows"]] == [5] * 4 + [20] * 4
    assert sum(row["count"] for row in body["rows"][:4]) == 28
    assert sum(row["share"] for row in body["rows"][:4]) == pytest.approx(1)
    beside = body["collections"]["qrels"]
    (step,) = beside["moves"]
    assert [sum(row) for row in step["counts"]] == [row["count"] for row in body["rows"][:4]]
    moved = sum(map(sum, step["counts"])) - sum(step["counts"][case][case] for case in range(4))
    assert len(beside["moved"]) == moved
    assert set(beside["examples"]) == {"P@5", "P@20"}
    assert sum(beside["scenarios"]["P@5"].values()) == 28
    _, rows, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--each-pair", "--format", "csv")
    assert len(rows.splitlines()) == 1 + 2 * 28


def test_collections_are_rows_whose_decisions_are_counted_apart(call: Call) -> None:
    _, alone, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--format", "csv")
    _, both, _ = call(
        "qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--format", "csv",
        "--collection", "truth", "truth.txt", "runs",
    )  # fmt: skip
    lines = both.splitlines()
    assert lines[:9] == alone.splitlines()
    assert all(line.startswith("truth,8,30,28,") for line in lines[9:])
    assert len(lines) == 1 + 2 * 8
    _, table, _ = call("-m", "P", "--depths", "5", "--collection", "a", "qrels.txt", "runs",
                       "--collection", "b", "truth.txt", "runs")  # fmt: skip
    assert [line.split()[0] for line in table_of(table, "collection")[2:4]] == ["a", "b"]
    assert "a: an example of each case" in table


def test_each_pair_of_several_collections_is_a_table_of_people_for_each(call: Call) -> None:
    asked = (
        "qrels.txt", "runs", "-m", "P", "--depths", "5", "--each-pair", "--top", "2",
        "--collection", "truth", "truth.txt", "runs",
    )  # fmt: skip
    _, out, _ = call(*asked)
    lines = out.splitlines()
    assert [line for line in lines if line in ("qrels", "truth")] == ["qrels", "truth"]
    assert sum(line.startswith("run_a") for line in lines) == 2
    assert "ci_low" not in out
    _, out, _ = call(*asked, "--format", "json")
    body = json.loads(out)
    assert [row["collection"] for row in body["rows"]] == ["qrels"] * 2 + ["truth"] * 2
    assert body["collections"]["truth"]["policies"]["unjudged"] == "nonrelevant"


def test_info_is_about_the_runs_of_the_arguments_alone(call: Call, trial: Path, tmp_path: Path) -> None:
    for path in sorted((trial / "runs").iterdir()):
        tag = path.stem
        (tmp_path / f"other-{path.name}").write_text(path.read_text().replace(tag, f"other-{tag}"))
    asked = ("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--info", "info.tsv", "--format", "json")
    for runs in (str(tmp_path), "runs"):
        status, out, err = call(*asked, "--collection", "truth", "truth.txt", runs)
        assert status == 0, err
        beside = json.loads(out)["collections"]
        assert not beside["qrels"]["pool"]["guessed"]
        assert beside["truth"]["pool"]["guessed"]


# -- plans, gates, design --------------------------------------------------------------------------


def test_a_plan_is_taken_repeated_and_checked(call: Call, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'measures = ["P"]\ndepths = [5, 20]\ntest = "t"\nalpha = 0.01\n[policies]\nties = "file"\n'
    )
    status, out, err = call("qrels.txt", "runs", "--preregistered", str(plan), "--format", "csv")
    assert status == 0
    assert ",P@20,20," in out
    assert "ties file" in err
    assert f"Plan {plan} (sha256 " in err
    assert "Deviates" not in err
    _, _, err = call("qrels.txt", "runs", "--preregistered", str(plan), "--alpha", "0.05", "--format", "csv")
    assert "Deviates from the plan: alpha: the plan says 0.01, used is 0.05" in err


def test_a_plan_stands_in_the_output_itself(call: Call, trial: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["P@5"]\ntest = "t"\nalpha = 0.01\n')
    asked = ("qrels.txt", "runs", "--preregistered", str(plan))
    a, *_, b = names(trial)
    for view in ((), ("--matrix",), ("--design",), ("--pair", a, b), ("--format", "md")):
        _, out, err = call(*asked, *view)
        said = out.replace("\\_", "_")
        assert f"Plan {plan} (sha256 " in said
        assert "The plan is followed." in said
        assert err == ""
    _, out, err = call(*asked, "--alpha", "0.05")
    assert "Deviates from the plan: alpha: the plan says 0.01, used is 0.05." in out
    assert err == ""  # once is enough
    _, _, err = call(*asked, "--alpha", "0.05", "-o", str(tmp_path / "out.txt"))
    assert err == "Deviates from the plan: alpha: the plan says 0.01, used is 0.05.\n"
    _, out, err = call(*asked, "--alpha", "0.05", "--format", "json")
    assert err == "Deviates from the plan: alpha: the plan says 0.01, used is 0.05.\n"
    echo = json.loads(out)["plan"]
    assert echo["choices"] == {"measures": ["P@5"], "test": "t", "alpha": 0.01}
    assert echo["deviations"] == ["alpha: the plan says 0.01, used is 0.05"]
    assert len(echo["sha256"]) == 64


def test_the_number_of_judgments_that_a_plan_fixes_is_held_against_the_qrels(
    call: Call, trial: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    lines = [line.split() for line in (trial / "qrels.txt").read_text().splitlines()]
    judged = sum(int(grade) >= 0 for *_, grade in lines)
    for planned, said in ((judged, []), (500, [f"judgments: the plan says 500, used is {judged}"])):
        plan.write_text(f'measures = ["P@5"]\njudgments = {planned}\n')
        _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan), "--format", "json")
        assert json.loads(out)["plan"]["deviations"] == said


def test_a_pair_wins_over_a_planned_baseline_and_the_deviation_is_named(
    call: Call, trial: Path, tmp_path: Path
) -> None:
    a, b, *_ = names(trial)
    plan = tmp_path / "plan.toml"
    plan.write_text(f'measures = ["P@5"]\ntest = "t"\nbaseline = ["{b}"]\n')
    status, out, err = call("qrels.txt", "runs", "--preregistered", str(plan), "--pair", a, b)
    assert status == 0
    assert "P@5: topics that differ most" in out
    assert f"Deviates from the plan: baseline: {b} is in the plan and not used." in out
    assert err == ""


def test_a_planned_baseline_that_is_no_run_is_named_with_its_line(call: Call, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["P@5"]\n\nbaseline = ["nobody"]\ntest = "t"\n')
    status, _, err = call("qrels.txt", "runs", "--preregistered", str(plan))
    assert status == 1
    assert f"{plan}:3: baseline: unknown run 'nobody'; " in err
    status, _, err = call("qrels.txt", "runs", "--preregistered", str(plan), "--baseline", "noone")
    assert status == 2
    assert "unknown run 'noone'" in err
    assert str(plan) not in err


def test_a_gate_ends_with_the_status_of_what_fails(call: Call, trial: Path) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--matrix", "--format", "csv")
    ordered = [line.split(",")[2] for line in out.splitlines()[1:]]
    best, worst = ordered[0], ordered[-1]
    status, _, err = call("qrels.txt", "runs", "-m", "P@5", "--baseline", best, "--fail-on", "worse")
    assert status == 3
    assert f"worse: {worst} against {best}, P@5: significantly worse by" in err
    status, _, err = call("qrels.txt", "runs", "-m", "P@5", "--baseline", worst, "--fail-on", "worse")
    assert (status, err) == (0, "passed: 7 comparisons, none worse\n")
    status, _, _ = call("qrels.txt", "runs", "-m", "AP", "--pair", best, worst, "--fail-on", "unsettled")
    assert status == 5
    asked = ("qrels.txt", "runs", "-m", "P", "--depths", "5", "--baseline", best)
    assert call(*asked, "--fail-on", "unsettled")[0] == 5
    status, _, err = call(*asked, "--fail-on", "worse", "--margin", "0.01")
    assert status == 3
    assert "(non-inferiority p = " in err


def test_a_gate_passes_what_changes_nothing_and_not_what_no_test_could_tell(
    call: Call, tmp_path: Path
) -> None:
    qrels = tmp_path / "one.txt"
    qrels.write_text("".join(f"{topic} 0 r 1\n" for topic in range(10)))
    for name, rank in (("good", 1), ("bad", 2)):
        rows = [
            f"{topic} Q0 {doc} {place} {9 - place} {name}\n"
            for topic in range(10)
            for place, doc in enumerate(("r", "n") if rank == 1 else ("n", "r"), 1)
        ]
        (tmp_path / f"{name}.txt").write_text("".join(rows))
    runs = [str(tmp_path / f"{name}.txt") for name in ("good", "bad")]
    # By P@2 the two are equal, by AP one is worse.
    asked = (str(qrels), *runs, "--baseline", "good", "--fail-on", "worse,weak,unsettled")
    for test in ("sign", "t", "randomization", "anova"):
        assert call(*asked, "-m", "P@2", "--test", test)[::2] == (
            0,
            "passed: 1 comparison, none worse or weak or unsettled\n",
        )
        status, _, err = call(*asked, "-m", "AP", "-m", "P@2", "--test", test)
        assert (status, err.count("worse: bad")) == (3, 1)
    same = tmp_path / "same.txt"
    same.write_text((tmp_path / "good.txt").read_text())
    for measures in (("-m", "AP"), ("-m", "AP", "-m", "P@1"), ("-m", "AP", "--margin", "0.01")):
        identical = (str(qrels), runs[0], str(same), "--baseline", "same", *measures)
        assert call(*identical, "--fail-on", "worse,weak,unsettled")[0] == 0
    few = tmp_path / "few.txt"
    few.write_text("".join(f"{topic} 0 r 1\n" for topic in range(3)))
    assert (
        call(str(few), runs[0], str(same), "--baseline", "same", "-m", "AP", "--fail-on", "worse,weak")[0]
        == 0
    )
    for test in ("t", "randomization"):
        worse = (str(few), *runs, "--baseline", "good", "-m", "AP", "--fail-on", "worse", "--test", test)
        status, _, err = call(*worse)
        assert (status, "not tested" in err) == (3, True)
    # On every topic .5 less: a t test has no error to test against, and the run is worse all the same.
    two = (str(qrels), *runs, "-m", "P@1", "-m", "AP", "--test", "randomization", "--baseline", "good")
    assert call(*two, "--fail-on", "worse")[0] == 3


def test_a_design_says_how_many_topics_are_needed(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design")
    assert answer_of(out).startswith("30 topics are enough to find a difference of ")
    assert "P@5: power at the differences seen" in out
    assert "P@5: how often another set of topics names the other run" in out
    assert "Smallest difference that these topics detect" in out
    tables = [line for line in out.splitlines()[1:] if not line.endswith(".")]
    assert max(map(len, tables)) <= 100
    ties = out.partition("P@5: how often no run is named")[2].splitlines()[2]
    assert ties.split() == [
        "topics",
        "equal",
        *["below", "0.01", "below", "0.02", "below", "0.05", "below", "0.1"],
    ]
    needed = [line.split()[-1] for line in table_of(out)[2:22]]
    counts = [float(word.replace(",", "")) for word in needed]
    assert counts == sorted(counts)
    assert "that of the test" not in out
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design", "--test", "sign")
    assert "for the paired t test, not for the sign test" in out
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design", "--format", "csv")
    assert out.splitlines()[0] == ("measure,topics,required,extrapolated,claims,errors,error_rate,fuzziness")


def test_a_design_of_one_pair_speaks_of_one(call: Call, trial: Path) -> None:
    a, *_, b = names(trial)
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design", "--pair", a, b)
    assert "half of the pairs" not in out
    assert "A difference of 0.05 needs " in out
    assert "shared by" not in out


def test_a_design_compares_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("sounding.compare.flow.compare", refuse)
    monkeypatch.setattr("sounding.evaluate.evaluation.value_bounds", refuse)
    status, _, err = call("qrels.txt", "runs", "-m", "P@5", "--design", "--format", "csv")
    assert status == 0
    assert "(power 0.8, alpha 0.05 shared by 28 comparisons)" in err


def test_a_design_has_power_and_topics_needed_of_every_pair(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design", "--format", "json")
    body = json.loads(out)
    pairs = body["pairs"]["P@5"]
    assert len(pairs) == 28
    assert len(body["runs"]) == 8
    assert body["topics"] == 30
    _, out, _ = call("qrels.txt", "runs", "-m", "P@5", "--design")
    head, _, *rows = table_of(out)[:22]
    assert head.split() == ["run_a", "run_b", "topics", "difference", "power", "topics", "needed"]
    needed = {(pair["run_a"], pair["run_b"]): pair for pair in pairs}
    for row in rows:
        a, b, _, _, power, topics = row.split()
        assert power == f"{needed[a, b]['power']:.3f}"
        assert topics == f"{needed[a, b]['topics_needed']:,}"
        enough = needed[a, b]["power"] >= 0.8
        assert (needed[a, b]["topics_needed"] <= 30) == enough


def test_a_design_with_too_few_topics_to_split_says_so(call: Call, trial: Path, tmp_path: Path) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    few = sorted({line.split()[0] for line in lines})[:8]
    (tmp_path / "few.txt").write_text("".join(line for line in lines if line.split()[0] in few))
    asked = (str(tmp_path / "few.txt"), "runs", "-m", "P@5", "--design")
    told = "8 topics on which all runs have a value are too few to split: error rates need at least 10."
    _, out, _ = call(*asked)
    assert told in out
    assert "Only 8 topics, fewer than 25" in out
    assert "how often another set" not in out
    status, out, err = call(*asked, "--format", "csv")
    assert (status, len(out.splitlines())) == (0, 1)
    assert "too few topics to estimate error rates" in err
    assert "Only 8 topics, fewer than 25" in err
    assert call(*asked, "-o", str(tmp_path / "few.parquet"))[0] == 0


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [("--baseline", "nobody"), ("--pair", "auk-1", "nobody"), ("--design", "--baseline", "nobody")]
)
def test_a_run_that_is_not_there_is_told_before_runs_are_evaluated(
    call: Call, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    def evaluated(*_: object, **__: object) -> None:
        raise AssertionError("runs were evaluated")

    for module in ("comparison", "designs"):
        monkeypatch.setattr(f"sounding.compare.{module}.evaluate", evaluated)
    status, _, err = call("qrels.txt", "runs", "-m", "P@5", *names)
    assert (status, "unknown run 'nobody'; known: " in err) == (2, True)


def test_a_run_that_only_reading_shows_is_found_nevertheless(call: Call, trial: Path, tmp_path: Path) -> None:
    for file in sorted((trial / "runs").iterdir())[:3]:
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    first, second, *_ = names(trial)
    status, out, _ = call("qrels.txt", str(tmp_path), "-m", "P@5", "--pair", first, second)
    assert (status, first in answer_of(out), second in answer_of(out)) == (0, True, True)
    status, _, err = call("qrels.txt", str(tmp_path), "-m", "P@5", "--baseline", "nobody")
    assert (status, "unknown run 'nobody'" in err) == (2, True)


@pytest.mark.parametrize(("most", "short"), [(100, (1,)), (3, (0, 1))])
def test_the_account_of_a_pair_says_that_lists_are_short(
    call: Call, trial: Path, tmp_path: Path, most: int, short: tuple[int, ...]
) -> None:
    pair = names(trial)[:2]
    for name, length in zip(pair, (most, 3), strict=True):
        lines = (trial / "runs" / f"{name}.txt").read_text().splitlines()
        kept = [f"{line}\n" for line in lines if int(line.split()[3]) <= length]
        (tmp_path / f"{name}.txt").write_text("".join(kept))
    _, out, _ = call("qrels.txt", str(tmp_path), "-m", "P@5", "-m", "P@20", "--pair", *pair)
    five, twenty = out.partition("P@20. Advice")[::2]
    facts = " ".join(twenty.partition("judged  ")[2].partition("\n  case")[0].split())
    assert " has short lists" not in five
    for place, name in enumerate(pair):
        assert (f"{name} has short lists" in facts) == (place in short)


def test_the_account_of_whole_lists_has_the_judged_share_of_the_shorter_ones(
    call: Call, tmp_path: Path
) -> None:
    """`evaluate` says that all of r2 was judged; of the first 4 documents, it has only 3."""
    judged = "".join(f"{topic} 0 d{rank} {rank % 2}\n" for topic in (1, 2, 3) for rank in (1, 2, 3))
    (tmp_path / "qrels.txt").write_text(judged)
    for name, length in (("r1", 4), ("r2", 3)):
        rows = [(topic, rank) for topic in (1, 2, 3) for rank in range(1, length + 1)]
        text = "".join(f"{topic} Q0 d{rank} {rank} {9 - rank} {name}\n" for topic, rank in rows)
        (tmp_path / f"{name}.txt").write_text(text)
    files = [str(tmp_path / name) for name in ("qrels.txt", "r1.txt", "r2.txt")]
    found = {}
    for measure in ("AP", "P@4"):
        _, out, _ = call(*files, "-m", measure, "--pair", "r1", "r2")
        found[measure] = " ".join(out.partition("judged  ")[2].partition("\n  case")[0].split())
    whole = "75% of r1's and 75% of r2's first 4 documents"
    assert found["AP"].startswith(whole)
    assert found["AP"].endswith("; r2 has short lists, and 100% of what it returned was judged")
    assert found["P@4"].startswith(whole)
    assert "r1 has short lists" not in found["AP"]
    assert "short lists" not in found["P@4"]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        ((), 2, "missing QRELS and RUN"),
        (("qrels.txt",), 2, "missing RUN"),
        (("qrels.txt", "runs", "--depths", "10,x"), 2, "--depths '10,x': expected whole numbers from 1"),
        (("qrels.txt", "runs", "--collection", "a", "b", "c"), 2, "give --depths as well"),
        (("qrels.txt", "runs", "--fail-on", "worse"), 2, "give --baseline or --pair"),
        (("qrels.txt", "runs", "--fail-on", "bad"), 2, "unknown condition to fail on 'bad'"),
        (("qrels.txt", "runs", "-m", "P@5", "--baseline", "nobody"), 2, "unknown run 'nobody'"),
        (("qrels.txt", "runs", "-m", "P@5", "--pair", "nobody", "b"), 2, "unknown run 'nobody'"),
        (("qrels.txt", "runs", "-m", "P@5", "--test", "tt"), 2, "unknown test 'tt'"),
        (("qrels.txt", "runs", "-m", "P@5", "--test", "ttest"), 2, "did you mean t?"),
        (("qrels.txt", "runs", "--test", "Permutation-Test"), 2, "did you mean randomization?"),
        (("qrels.txt", "runs", "-m", "P@5", "--correction", "hulm"), 2, "did you mean holm?"),
        (("qrels.txt", "runs", "-m", "P@5", "--alpha", "2"), 2, "alpha 2.0: expected a number between"),
        (("qrels.txt", "runs", "-m", "P@5", "--margin", "0"), 2, "margin 0.0: expected a difference above 0"),
        (("qrels.txt", "runs", "-m", "Pr"), 2, "unknown measure 'Pr'"),
        (("qrels.txt", "runs", "-m", "GMAP"), 2, "GMAP is a geometric mean"),
        (("qrels.txt", "runs", "--universe", "all"), 2, "universe 'all'"),
        (("qrels.txt", "runs", "--qrels-format", "tcer"), 2, "unknown format 'tcer'"),
        (("qrels.txt", "runs", "--depths", "5", "10"), 2, "depths are one text with commas: --depths 5,10"),
        (("runs", "qrels.txt"), 1, "this is a folder; expected a file; the order is sounding compare QRELS RUN..."),
        (("qrels.txt", "runs", "-m", "P@5", "--depths", "5"), 2, "P@5 has the cut-off 5"),
        (("qrels.txt", "runs", "--test", "t", "--permutations", "9"), 2, "--permutations changes nothing with"),
        (("qrels.txt", "runs", "--depths", "5", "--top", "3", "--format", "csv"), 2, "--top shortens the list"),
        (("qrels.txt", "runs", "--depths", "5", "--margin", "0.1"), 2, "--margin changes no case"),
        (("qrels.txt", "runs", "--pair", "auk-1", "auk-1"), 2, "a run against itself"),
        (("qrels.txt", "runs", "--documents", "x.csv"), 2, "give --pair A B as well"),
        (("qrels.txt", "runs", "--chart", "x.doc"), 2, "x.doc"),
        (("qrels.txt", "runs", "--depths", "5", "--chart", "x.svg"), 2, "--chart draws pairs, not counts"),
        (("qrels.txt", "runs", "--matrix", "--chart", "x.svg"), 2, "--matrix and --chart do not go together"),
        (("qrels.txt", "runs", "-m", "NumRet"), 2, "NumRet is a sum over topics"),
        (("qrels.txt", "runs", "--pair", "a", "b", "--baseline", "c"), 2, "--pair and --baseline do not"),
        (("qrels.txt", "runs", "--matrix", "--baseline", "c"), 2, "--matrix and --baseline do not"),
        (("qrels.txt", "runs", "--design", "--margin", "0.1"), 2, "--design and --margin do not"),
        (("qrels.txt", "runs", "--design", "--baseline", "c", "--fail-on", "worse"), 2, "--design and --fail-on"),
        (("qrels.txt", "runs", "-m", "P@5", "--info", "qrels.txt"), 1, "no column 'run'"),
        (("qrels.txt", "runs", "--matrix", "--pair", "a", "b"), 2, "--matrix and --pair do not go together"),
        (("qrels.txt", "runs", "--matrix", "--design"), 2, "--matrix and --design do not go together"),
        (("qrels.txt", "runs", "--matrix", "--top", "3"), 2, "--matrix and --top do not go together"),
        (("qrels.txt", "runs", "--design", "--top", "3"), 2, "--design and --top do not go together"),
        (("qrels.txt", "runs", "--each-pair"), 2, "--each-pair changes nothing without --depths"),
        (
            ("qrels.txt", "runs", "--depths", "5", "--matrix", "--collection", "a", "qrels.txt", "runs"), 2,
            "--matrix is for one collection",
        ),
        (
            ("qrels.txt", "runs", "--depths", "5", "--collection", "qrels", "qrels.txt", "runs"), 2,
            "two collections are called 'qrels'",
        ),
    ],
)  # fmt: skip
def test_bad_requests_get_a_sentence(
    call: Call, arguments: tuple[str, ...], status: int, problem: str
) -> None:
    left, out, err = call(*arguments)
    assert left == status
    assert out == ""
    assert problem in err
    assert "Traceback" not in err


def test_one_run_and_one_topic_get_a_sentence(call: Call, trial: Path, tmp_path: Path) -> None:
    one = f"runs/{names(trial)[0]}.txt"
    assert "nothing to compare it with" in call("qrels.txt", one, "-m", "P@5")[2]
    copy = tmp_path / "copy.txt"
    copy.write_text((trial / one).read_text())
    status, out, err = call("qrels.txt", one, str(copy), "-m", "P@5")
    assert (status, err) == (0, "")
    assert "the runs are equal on all 30 topics" in out
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    (tmp_path / "one.txt").write_text(
        "".join(line for line in lines if line.split()[0] == lines[0].split()[0])
    )
    assert "a comparison needs at least 2 topics" in call(str(tmp_path / "one.txt"), "runs", "-m", "P@5")[2]


def test_fewer_than_25_topics_are_warned_of_in_every_format(call: Call, trial: Path, tmp_path: Path) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    few = sorted({line.split()[0] for line in lines})[:10]
    (tmp_path / "few.txt").write_text("".join(line for line in lines if line.split()[0] in few))
    for form in ("table", "csv", "json"):
        _, out, err = call(str(tmp_path / "few.txt"), "runs", "-m", "P@5", "--format", form)
        assert "Only 10 topics, fewer than 25" in out + err


def test_swapped_arguments_get_a_hint(call: Call, trial: Path) -> None:
    status, _, err = call(f"runs/{names(trial)[0]}.txt", "qrels.txt", "-m", "P@5")
    assert status == 1
    assert "this looks like a run" in err
    assert "the order is sounding compare QRELS RUN..." in err


def test_help_lists_every_test_and_every_exit_status(call: Call) -> None:
    _, out, _ = call("--help")
    said = " ".join(out.split()).replace("- ", "-")
    about = said.partition("--test T ")[2].partition(" [default:")[0]
    assert "docs/tests.md" in about
    listed = about.partition(": ")[2].partition(" (")[0].replace(" or ", ", ")
    assert {name.strip() for name in listed.split(",")} == set(TESTS)
    statuses = said.partition("Exit status: ")[2].partition(" Options:")[0]
    assert re.findall(r"\d(?=:)", statuses) == ["0", "1", "2", "3", "4", "5", "6"]
    for reason, status in {"worse": 3, "weak": 4, "unsettled": 5}.items():
        assert f"{status}: {reason}" in statuses


def test_a_shallower_pool_is_compared_and_said(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@10", "--format", "csv")
    whole, cut = call(*asked), call(*asked, "--pool-depth", "3", "--info", "info.tsv")
    assert (whole[0], cut[0]) == (0, 0)
    assert "ool cut to depth 3" in cut[2]
    assert whole[1] != cut[1]
    matrix = call("qrels.txt", "runs", "--matrix", "--pool-depth", "3", "--info", "info.tsv")
    assert "Pool cut to depth 3" in matrix[1]


def test_a_suffix_that_no_format_goes_by_and_a_missing_folder_are_refused_before_the_work(call: Call) -> None:
    status, _, err = call("no-such-qrels", "no-such-runs", "-o", "x.pdf")
    assert status == 2
    assert "-o x.pdf: no format has the suffix '.pdf'; use .csv, .json," in err
    status, _, err = call("no-such-qrels", "no-such-runs", "-o", "nowhere/x.csv")
    assert (status, err) == (1, "Error: nowhere/x.csv cannot be written: there is no folder 'nowhere'\n")
    status, _, err = call("no-such-qrels", "no-such-runs", "--pair", "a", "b", "--documents", "x.pdf")
    assert status == 2
    assert "--documents x.pdf: no format has the suffix '.pdf'" in err


def test_the_headline_of_a_pair_says_what_more_judging_would_change(call: Call) -> None:
    common = ("qrels.txt", "runs", "-m", "P@20", "--seed", "1", "--format", "json")
    rows = sorted(json.loads(call(*common, "--holds")[1])["rows"], key=lambda row: row["sign_holds"])
    assert rows[0]["sign_holds"] < 0.5 < rows[-1]["sign_holds"]
    for run_a, run_b in ((row["run_a"], row["run_b"]) for row in (rows[0], rows[-1])):
        plain = json.loads(call(*common, "--pair", run_a, run_b)[1])
        body = json.loads(call(*common, "--pair", run_a, run_b, "--holds")[1])
        (row,) = body["rows"]
        assert "if more were judged" not in plain["headline"]
        assert ("--documents" in plain["next"]) == ("--holds" in plain["next"])
        assert "--holds" not in body["next"]
        ahead, chance = row["sign_holds"], row["holds"]
        behind = row["run_b"] if row["difference"] > 0 else row["run_a"]
        assert (f"But {behind} would" in body["headline"]) == (ahead < 0.5)
        shown = format_chance(1 - ahead if ahead < 0.5 else chance)
        assert f"a chance of {shown}" in body["headline"]


def test_the_headline_names_the_pairs_that_judging_would_probably_reverse(trial: Path) -> None:
    found = compare(trial / "qrels.txt", trial / "runs", ["P@5"], until="runs:100")
    held = found.holds
    assert held is not None
    for chances, said in ((0.9, False), (0.4, True)):
        sign = np.full(held.sign.shape, 0.9)
        sign[0, 3] = chances
        headline = pairs_headline(replace(found, holds=replace(held, sign=sign, reason="")))
        a, b = found.names(3)
        behind, ahead = (b, a) if found.performance_tests[0].difference[3] > 0 else (a, b)
        assert (
            f" ahead in 1 of {len(found.pairs)} pairs by P@5 ({behind} over {ahead})." in headline
        ) == said


def test_intervals_are_said_to_be_unadjusted_where_they_may_disagree_with_p(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "P@5", "-m", "AP", "--test", "t")
    rows = json.loads(call(*asked, "--correction", "holm", "--format", "json")[1])["rows"]
    disagree = sum(row["p"] <= 0.05 < row["p_adjusted"] for row in rows)
    assert disagree
    said = f"the adjusted p is above 0.05 ({disagree} of {len(rows)} rows)"
    assert said in " ".join(call(*asked, "--correction", "holm")[1].split())
    assert "not adjusted for the number of pairs" not in " ".join(
        call(*asked, "--correction", "none")[1].split()
    )
