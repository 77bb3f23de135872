"""The demo says what its figures say, and the commands that it suggests work."""

from __future__ import annotations

import csv
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.conftest import require

from sounding.cli import cli
from sounding.compare.comparison import compare
from sounding.compare.result import Comparison
from sounding.core.errors import DataError, MissingPartError
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.demo.command import DEFAULT_SEED
from sounding.demo.flow import (
    LOOKS,
    MEASURES,
    DemoEvidence,
    against_truth,
    anew_sentence,
    conclusions,
    depth,
    examined,
    gather,
    headline,
    hidden_worth,
    judged_anew,
    last_lines,
    observations,
    small_collection,
    swapped_pair,
    unjudged_documents,
    write_report,
)
from sounding.evaluate.evaluation import evaluate

Rankings = dict[str, list[str]]


def run_demo(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["demo", *arguments], catch_exceptions=False)


def evidence(
    rankings: Rankings, judged: dict[str, int], truth: dict[str, int], new: tuple[str, ...] = ()
) -> DemoEvidence:
    """Runs of one topic, each a list of documents from best to worst."""
    runs = [
        Run.from_dict({"1": {doc: -float(rank) for rank, doc in enumerate(docs)}}, name=name)
        for name, docs in rankings.items()
    ]
    return DemoEvidence(
        by_judgments=evaluate(Qrels.from_dict({"1": judged}), runs, MEASURES),
        by_truth=evaluate(Qrels.from_dict({"1": truth}), runs, MEASURES),
        info={
            name: RunInfo(run=name, group=name, kind="automatic", priority=1, pooled=name not in new)
            for name in rankings
        },
        pool_depth=2,
    )


# `old` finds one relevant document of two; `young` finds two that nobody judged.
SWAPPED = evidence(
    {"old": ["a", "b"], "young": ["c", "d", "b", "e"]},
    judged={"a": 1, "b": 0},
    truth={"a": 1, "b": 0, "c": 1, "d": 1, "e": 0},
    new=("young",),
)


def test_the_headline_names_who_leads_by_the_judgments_and_who_by_the_truth() -> None:
    swapped = headline(SWAPPED)
    assert swapped.startswith("old leads by P@10 (0.100)")
    assert "young would lead (0.200)" in swapped
    everything = {"a": 1, "b": 0, "c": 1}
    steady = headline(evidence({"old": ["a", "b"], "young": ["c", "a"]}, everything, everything))
    assert steady.startswith("young leads by P@10 (0.200)")
    assert "old" not in steady


def test_the_share_of_unjudged_documents_is_that_of_the_new_runs() -> None:
    said = unjudged_documents(SWAPPED)
    assert said is not None
    assert said.startswith("young was not pooled")
    assert "75% of its first ten documents" in said
    assert "0% for the pooled runs" in said


def test_what_a_new_run_hides_is_its_value_by_the_truth() -> None:
    said = hidden_worth(SWAPPED)
    assert said is not None
    assert "P@10 of young would be 0.200 instead of 0.000" in said
    assert said.endswith("would not change.")


def test_the_new_run_that_gains_most_is_named() -> None:
    shown = evidence(
        {"old": ["a"], "close": ["c"], "far": ["c", "d"], "same": ["a"]},
        judged={"a": 1},
        truth={"a": 1, "c": 1, "d": 1},
        new=("close", "far", "same"),
    )
    said = hidden_worth(shown)
    assert said is not None
    assert "P@10 of far would be 0.200 instead of 0.000" in said


def test_the_swapped_pair_is_named_with_both_orders() -> None:
    said = swapped_pair(SWAPPED)
    assert said is not None
    assert "1 of 1 pairs" in said
    assert "old is ahead of young (0.100 against 0.000), but young is better (0.200 against 0.100)" in said


def test_the_pair_with_the_widest_true_margin_is_named() -> None:
    shown = evidence(
        {"old": ["a"], "close": ["c", "d"], "far": ["c", "d", "e"]},
        judged={"a": 1},
        truth={"a": 1, "c": 1, "d": 1, "e": 1},
        new=("close", "far"),
    )
    said = swapped_pair(shown)
    assert said is not None
    assert "old is ahead of far (0.100 against 0.000), but far is better (0.300 against 0.100)" in said
    assert "2 of 3 pairs" in said


def test_depth_compares_what_is_judged_of_whole_pooled_runs_with_the_truth() -> None:
    shown = evidence(
        {"old": ["a", *"bcdefghijklmnopqrst"]},
        judged={doc: int(doc == "a") for doc in "abcdefghij"},
        truth={doc: int(doc in "az") for doc in "abcdefghijklmnopqrstz"},
    )
    said = depth(shown)
    assert said is not None
    assert "top 2 of each pooled run" in said
    assert "only 50% of what a pooled run retrieved was judged." in said
    assert said.endswith("mean AP over all runs seems to be 1.000, but is 0.500.")


def test_nothing_is_said_of_missing_relevant_documents_where_none_is_missing() -> None:
    grades = {doc: int(doc == "a") for doc in "abcdefghij"}
    said = depth(evidence({"old": ["a", *"bcdefghijklmnopqrst"]}, judged=grades, truth=grades))
    assert said is not None
    assert said.endswith("only 50% of what a pooled run retrieved was judged.")


def test_a_sentence_that_does_not_hold_is_left_out() -> None:
    everything = {"a": 1, "b": 0, "c": 1}
    complete = evidence({"old": ["a", "b"], "young": ["c", "a"]}, everything, everything, new=("young",))
    assert observations(complete) == []


def test_without_new_runs_nothing_is_said_of_them() -> None:
    nobody_new = evidence({"old": ["a", "b"], "other": ["b", "a"]}, {"a": 1, "b": 0}, {"a": 1, "b": 0})
    assert unjudged_documents(nobody_new) is None
    assert hidden_worth(nobody_new) is None


def test_without_pooled_runs_nothing_is_compared_with_them() -> None:
    nobody_pooled = evidence({"young": ["a"]}, {"a": 1}, {"a": 1}, new=("young",))
    assert observations(nobody_pooled) == []


@pytest.mark.parametrize("seed", [0, DEFAULT_SEED])
def test_the_figures_of_the_demo_are_those_of_its_collection(seed: int, tmp_path: Path) -> None:
    collection = small_collection(seed)
    collection.write(tmp_path / "demo")
    shown = gather(collection, tmp_path / "demo")
    in_memory = evaluate(collection.qrels, collection.runs, MEASURES)
    from_files = shown.by_judgments
    assert dict(zip(from_files.runs, from_files.mean().tolist(), strict=True)) == dict(
        zip(in_memory.runs, in_memory.mean().tolist(), strict=True)
    )
    assert shown.by_truth.judged_share().min() == 1
    assert {shown.by_judgments.runs[row] for row in shown.runs(pooled=False)} == {
        info.run for info in collection.info if not info.pooled
    }


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder in which the demo was run once, and what it said."""
    require("vl_convert")
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = run_demo("a folder")
    assert done.exit_code == 0
    return folder, done.output


def test_the_demo_shows_a_table_and_what_to_notice_and_what_to_try(shown: tuple[Path, str]) -> None:
    folder, output = shown
    before, notice = output.split("\nWhat the missing judgments hide\n\n")
    observed, rest = notice.split("\nHow many judgments are needed\n\n")
    anew, commands = rest.split("\nWhat to try next\n\n")
    collection = small_collection(DEFAULT_SEED)
    rows = {
        line.split()[0]: line.split()[1:] for line in before.splitlines() if re.match(r"[a-z]+-\d ", line)
    }
    assert set(rows) == {run.name for run in collection.runs}
    leading = [float(cells[0].rstrip("*")) for cells in rows.values()]
    assert leading == sorted(leading, reverse=True)
    assert all(cells[1].endswith("%") for cells in rows.values())
    assert " ".join(observed.split()) == " ".join(
        " ".join(
            f"- {sentence}" for sentence in observations(gather(collection, folder / "a folder"))
        ).split()
    )
    assert observed.count("\n- ") + 1 == 4
    assert "'a folder/qrels.txt'" in commands
    looks = [line.split() for line in anew.splitlines() if re.match(r" +\d+ ", line)]
    assert [int(cells[0]) for cells in looks] == list(LOOKS)


def test_what_is_judged_anew_is_what_the_command_simulates(
    shown: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shown[0])
    at = ",".join(map(str, LOOKS))
    line = (
        f"simulate 'a folder/truth.txt' 'a folder/runs' --depth 10 --at {at} --judgments {LOOKS[-1]}"
        " --strategy mtc,rank --format csv"
    )
    done = CliRunner().invoke(cli, [*shlex.split(line), "--quiet"], catch_exceptions=False)
    theirs = list(csv.DictReader(io.StringIO(done.stdout)))
    rows = judged_anew(Path("a folder"))
    for name in ("mtc", "rank"):
        told = [row for row in theirs if row["strategy"] == name]
        assert [int(row["judgments"]) for row in told] == [row.judgments for row in rows[name]] == list(LOOKS)
        for column in ("claimed", "right"):  # nothing may be claimed at first
            shares = [float(row[column] or "nan") for row in told]
            assert shares == pytest.approx([getattr(row, column) for row in rows[name]], nan_ok=True)
    sentence, last = anew_sentence(rows), rows["mtc"][-1]
    documents = {
        (fields[0], fields[2])
        for path in Path("a folder/runs").iterdir()
        for fields in map(str.split, path.read_text().splitlines())
        if int(fields[3]) <= 10
    }
    assert f"contain {len(documents):,} documents" in sentence
    assert f"has {last.accuracy:.0%} of the pairs in the right order" in sentence


def test_the_last_lines_say_what_the_report_concludes_and_what_the_truth_says_of_it(
    shown: tuple[Path, str],
) -> None:
    folder, output = shown
    page, found, truth, own = output.splitlines()[-4:]
    assert page == "Report: a folder/report.html (open it in a browser)"
    text = (folder / "a folder" / "report.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    best = re.match(r"It concludes: (\S+) is best by P@10; (\d+) of 66 pairs differ significantly\.", found)
    assert best is not None
    assert re.search(r'<th scope="row">(.*?)</th>', text)[1] == best[1]  # type: ignore[index]
    assert f"P@10: {best[2]} of 66 pairs differ significantly." in text
    counts = re.match(r"The truth contradicts (\d+) of (\d+) strong .* and (\d+) of (\d+) weak", truth)
    assert counts is not None
    wrong_strong, strong, wrong_weak, weak = map(int, counts.groups())
    assert weak + strong == 66
    # The collection of the demo shows what the cases are for.
    assert wrong_weak / weak > wrong_strong / strong
    assert "sounding report QRELS RUN..." in own


def compared(judged: dict[str, int], rankings: Rankings) -> Comparison:
    """The same lists and judgments on ten topics."""
    topics = [str(topic) for topic in range(10)]
    runs = [
        Run.from_dict({topic: {doc: -float(rank) for rank, doc in enumerate(docs)} for topic in topics}, name=name)
        for name, docs in rankings.items()
    ]  # fmt: skip
    return compare(Qrels.from_dict(dict.fromkeys(topics, judged)), runs, ["P@2"], settled=False)


def test_a_weak_conclusion_that_the_truth_reverses_is_counted() -> None:
    # Both documents of old were judged, neither of young; in truth those of young are relevant.
    rankings = {"old": ["a", "b"], "young": ["c", "d"]}
    by_judgments = compared({"a": 1, "b": 0}, rankings)
    by_truth = compared({"a": 1, "b": 0, "c": 1, "d": 1}, rankings)
    assert list(conclusions(by_judgments).values()) == ["old"]
    assert list(conclusions(by_truth).values()) == ["young"]
    said = against_truth(by_judgments, by_truth)
    assert "0 of 0 strong" in said
    assert "1 of 1 weak" in said


def test_a_strong_conclusion_that_the_truth_confirms_is_not_wrong() -> None:
    rankings = {"old": ["a", "b"], "young": ["b", "e"]}
    judged = {"a": 1, "b": 0, "e": 0}
    by_judgments = compared(judged, rankings)
    said = against_truth(by_judgments, by_judgments)
    assert "0 of 1 strong" in said
    assert "0 of 0 weak" in said


def test_without_the_packages_for_charts_the_demo_says_so_and_ends_well(
    shown: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: object) -> str:
        raise MissingPartError("altair", "writing a report", "charts")

    monkeypatch.setattr("sounding.demo.flow.render_report", lacking)
    monkeypatch.chdir(shown[0])
    found, by_truth = examined(Path("a folder"))
    assert write_report(found, Path("a folder")) is False
    first, *others = last_lines(found, by_truth, False, Path("a folder"))
    assert first == "No report.html: its charts need more packages; pip install 'sounding[charts]'"
    assert others == shown[1].splitlines()[-3:]


def test_the_demo_can_be_run_again_and_then_says_and_writes_the_same(
    shown: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, output = shown
    monkeypatch.chdir(folder)
    page = (folder / "a folder" / "report.html").read_text()
    second = run_demo("a folder")
    assert (second.exit_code, second.output) == (0, output)
    assert _without_charts((folder / "a folder" / "report.html").read_text()) == _without_charts(page)
    assert [entry.name for entry in folder.iterdir()] == ["a folder"]


def _without_charts(page: str) -> str:
    """Altair numbers the views of a process, so that only those of another process are the same."""
    return re.sub(r'(<script type="text/plain" id="[\w-]+-chart">)[^<]*', r"\1", page)


def test_another_seed_gives_another_collection() -> None:
    one, other = small_collection(DEFAULT_SEED), small_collection(9)
    assert one.qrels.docs.texts() != other.qrels.docs.texts()


def test_every_suggested_command_works(shown: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shown[0])
    lines = [line.strip() for line in shown[1].splitlines() if line.startswith("  sounding ")]
    assert len(lines) >= 4
    for line in lines:
        done = CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0, f"{line}: {done.output}"
        assert done.output


def test_lines_of_the_demo_fit_a_terminal(shown: tuple[Path, str]) -> None:
    lines = shown[1].splitlines()
    assert (shown[0] / "a folder" / "README.md").is_file()
    typed = ("Policies:", "  sounding ", "  . ")  # as long as the names in them
    assert max(len(line) for line in lines if not line.startswith(typed)) <= 88


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"holds 'thesis.tex', which is no part of a simulated collection"):
        run_demo(str(tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
