"""The command line as a person uses it: what is printed, and how errors read."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars
import pytest
from tests.e2e.calling import next_command, sampled

from sounding.cli import COMMANDS, main

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 x 0\n"
RUN = "1 Q0 a 1 3 mine\n1 Q0 u 2 2 mine\n1 Q0 c 3 1 mine\n2 Q0 b 1 1 mine\n2 Q0 a 2 .5 mine\n"
OTHER = "1 Q0 c 1 3 other\n1 Q0 b 2 2 other\n2 Q0 a 1 1 other\n3 Q0 x 1 1 other\n"

Said = tuple[int, str, str]
Call = Callable[..., Said]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in a folder that holds qrels.txt, mine.txt and other.txt."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("mine.txt").write_text(RUN)
    Path("other.txt").write_text(OTHER)

    def run(*arguments: str) -> Said:
        status = 0
        try:
            main(list(arguments))
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def table_lines(out: str) -> list[str]:
    """The lines of what was printed from the header of the first table on."""
    lines = out.splitlines()
    return lines[next(place for place, line in enumerate(lines) if line.startswith("──")) - 1 :]


def test_the_answer_is_a_headline_the_table_notes_and_the_next_command(call: Call) -> None:
    asked = ("evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "AP", "-m", "P@2")
    status, out, err = call(*asked)
    assert (status, err) == (0, "")
    headline, table, notes, following = out.split("\n\n")
    assert "other has the highest AP (0.5000, 3 topics), 0.0556 ahead of mine" in headline
    assert "all of its retrieved documents were judged" in " ".join(headline.split())
    assert table == (
        "run        AP   judged     P@2  judged\n"
        "─────  ───────  ──────  ──────  ──────\n"
        "other  0.5000*    100%  0.3333    100%\n"
        "mine   0.4444      58%  0.3333     50%"
    )
    lacking, few, barren, _ = notes.splitlines()
    assert "(mine: 1)" in lacking
    assert "25 topics" in few
    assert "1 topic (3)" in barren
    assert following == "Next: sounding compare qrels.txt mine.txt other.txt -m AP -m P@2\n"
    assert "olicies" not in out
    assert "Policies: ties trec, unjudged nonrelevant, missing zero" in call(*asked, "--notes")[1]
    assert "unjudged condensed." in call(*asked, "--unjudged", "condensed", "--notes")[1]


@pytest.mark.parametrize(
    "options",
    [
        (), ("-m", "official"), ("-l", "2", "-m", "AP"), ("--unjudged", "bounds", "--universe", "+5"),
        ("--unjudged", "expected", "-m", "P@2", "--policy", "moments=sampling"), ("--policy", "ties=average"),
        ("-M", "2", "--unjudged", "condensed"),
    ],
)  # fmt: skip
def test_the_next_command_runs_as_it_is_printed(call: Call, options: tuple[str, ...]) -> None:
    for number, topic in enumerate(range(4, 12)):
        with Path("qrels.txt").open("a") as stream:
            stream.write(f"{topic} 0 a 1\n")
        with Path("mine.txt").open("a") as stream:
            stream.write(f"{topic} Q0 {'ab'[number % 2]} 1 1 mine\n")
    for runs in (("mine.txt", "other.txt"), ("mine.txt",)):
        _, out, _ = call("evaluate", "qrels.txt", *runs, *options)
        last = shlex.split(out.splitlines()[-1])
        assert last[:2] == ["Next:", "sounding"]
        assert last[2] == ("compare" if len(runs) == 2 else "report")
        status, _, err = call(*last[2:])
        assert status == 0, (last, err)


def test_no_judgment_reverses_an_order_if_all_is_judged_down_to_the_cutoff(call: Call) -> None:
    Path("few.txt").write_text("1 0 a 1\n1 0 b 0\n")
    for name, first in (("one.txt", "a"), ("two.txt", "b")):
        Path(name).write_text(f"1 Q0 {first} 1 2 x\n1 Q0 z 2 1 x\n")
    words = ("evaluate", "few.txt", "one.txt", "two.txt", "--unjudged", "bounds", "--format", "json")
    _, out, _ = call(*words, "-m", "RBP(p=0.8,rel=1)@1")
    assert "No further judgment can" in json.loads(out)["headline"]


def test_headlines_say_what_ties_what_was_judged_and_what_is_open(call: Call) -> None:
    def headline(*options: str) -> str:
        _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "other.txt", *options, "--format", "json")
        return str(json.loads(out)["headline"])

    assert headline("-m", "P@2").startswith("Both runs have the same P@2 (0.3333, 3 topics); up to 50% of")
    Path("third.txt").write_text("1 Q0 c 1 3 x\n1 Q0 b 2 2 x\n2 Q0 a 1 1 x\n3 Q0 x 1 1 x\n")
    assert headline("third.txt", "-m", "AP").startswith("other and third share the highest AP (0.5000, 3")
    # By RR other has 2/3 for certain; mine has 1/2 and can have (1 + 1 + 0) / 3, but no more.
    assert "No further judgment" in headline("-m", "RR", "--unjudged", "bounds", "--universe", "run")
    # By RBP it has (.5 + .5) / 3; mine (.5 + .125 + .25) / 3 and another (.25 + .5) / 3 for u and b.
    assert "Further judgments could still put 1 of 1 other run" in headline(
        "-m", "RBP(p=0.5,rel=1)", "--unjudged", "bounds", "--universe", "run"
    )
    assert "significant" not in headline("-m", "AP")
    assert headline("-m", "RelString").startswith("Texts of 2 runs")
    assert "top 2 was never judged" in headline("-m", "P@2", "--top", "1")
    Path("kinds.tsv").write_text("1\ten\n2\tde\n3\ten\n")
    # other is ahead on topic 2 alone; on topics 1 and 3 mine has (1 + 2/3) / 2 / 2, other 1/2 / 2.
    assert headline("-m", "AP", "--by", "kinds.tsv").endswith("in 1 of 2 groups of topics.")


def test_csv_has_the_promised_columns_and_an_empty_topic_for_the_mean(call: Call) -> None:
    status, out, err = call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "-q", "--format", "csv")
    assert status == 0
    assert out == "run,measure,topic,value\nmine,RR,1,1.0\nmine,RR,2,0.5\nmine,RR,3,0.0\nmine,RR,,0.5\n"
    assert err.startswith("mine has RR 0.5000 (3 topics)")
    assert call("evaluate", "qrels.txt", "mine.txt", "--format", "csv", "--quiet")[2] == ""


def test_trec_format_is_trec_evals_own_layout(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "P.1,2", "-m", "runid", "-q", "--format", "trec"
    )
    assert out == (
        "P_1                   \t1\t1.0000\nP_2                   \t1\t0.5000\n"
        "P_1                   \t2\t0.0000\nP_2                   \t2\t0.5000\n"
        "P_1                   \t3\t0.0000\nP_2                   \t3\t0.0000\n"
        "runid                 \tall\tmine\n"
        "P_1                   \tall\t0.3333\nP_2                   \tall\t0.3333\n"
    )


def test_json_names_policies_and_what_is_missing(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "AP", "--format", "json")
    body = json.loads(out)
    assert body["policies"]["ties"] == "trec"
    assert body["topics_missing"] == {"mine": ["3"]}
    assert body["topics_without_relevant"] == ["3"]
    assert body["rows"] == [{"run": "mine", "measure": "AP", "topic": None, "value": pytest.approx(4 / 9)}]


@pytest.mark.parametrize("format_name", ["md", "latex", "jsonl"])
def test_every_other_text_format_holds_the_run_and_a_value(call: Call, format_name: str) -> None:
    status, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--format", format_name)
    assert status == 0
    assert "mine" in out
    assert "0.5" in out


def test_parquet_goes_to_a_file(call: Call) -> None:
    status, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--format", "parquet", "-o", "out.parquet"
    )
    assert (status, out) == (0, "")
    assert polars.read_parquet("out.parquet").row(0) == ("mine", "RR", None, 0.5)


def test_stats_give_the_spread_over_topics(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--stats")
    assert table_lines(out)[0].split() == [
        "run", "measure", "topics", "mean", "deviation", "standard", "error", "geometric", "mean",
    ]  # fmt: skip
    assert table_lines(out)[2].split() == ["mine", "RR", "3", "0.5000", "0.5000", "0.2887", "0.0171"]


def test_slices_by_topic_attribute(call: Call) -> None:
    Path("kinds.tsv").write_text("topic\tlanguage\n1\ten\n2\tde\n3\ten\n")
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--by", "kinds.tsv", "--format", "csv")
    assert out.splitlines() == [
        "run,measure,topic,value,slice", "mine,RR,,0.5,language=de", "mine,RR,,0.5,language=en",
    ]  # fmt: skip


def test_top_keeps_the_best_and_says_of_how_many(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "AP", "--top", "1")
    assert "other" in out
    assert len([line for line in table_lines(out) if line.startswith("mine ")]) == 0
    assert "The best 1 of 2 runs" in out
    assert "0.0556 ahead of mine" in out


def test_a_shallower_pool_keeps_fewer_judgments_and_says_so(call: Call) -> None:
    Path("info.tsv").write_text(
        "run\tgroup\tkind\tpriority\tpooled\nmine\tg\tmanual\t1\tyes\nother\th\tmanual\t1\tno\n"
    )
    asked = ("evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "AP", "--format", "csv")
    status, out, err = call(*asked, "--pool-depth", "1", "--info", "info.tsv")
    # Only a of topic 1 is judged now: the first document of topic 2 in the pooled run was never judged.
    assert status == 0
    assert "mine,AP,,0.3333" in out
    assert "other,AP,,0.0" in out
    assert "ool cut to depth 1 (of 1 contributing runs, listed): 1 of 5 judgments kept" in err
    assert call(*asked, "--info", "info.tsv")[0] == 2
    assert call(*asked, "--pool-depth", "1", "--judgment-groups")[0] == 2


def test_a_level_holds_for_all_binary_measures_that_name_none(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "P@3", "-m", "P(rel=3)@3", "-l", "2", "--format", "csv"
    )
    assert out.splitlines()[1:] == [f"mine,P(rel=2)@3,,{1 / 9!r}", "mine,P(rel=3)@3,,0.0"]


def test_a_level_that_a_measure_names_is_kept_even_where_it_is_the_default(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "P(rel=1)@3", "-m", "P@3", "-l", "2", "--format", "csv"
    )
    assert [line.rsplit(",", 2)[0] for line in out.splitlines()[1:]] == ["mine,P@3", "mine,P(rel=2)@3"]


def test_a_folder_and_standard_input_are_runs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("runs").mkdir()
    Path("runs/a.txt").write_text(RUN)
    Path("runs/b.txt").write_text(OTHER)
    _, out, _ = call("evaluate", "qrels.txt", "runs", "-m", "RR", "--format", "csv", "--quiet")
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qrels.txt", "nowhere.txt"), "Error: 'nowhere.txt': no such file"),
        (("mine.txt", "mine.txt"), "Error: mine.txt:1: 6 fields; expected 4: topic iteration doc grade"),
        (("qrels.txt", "qrels.txt"), "Error: qrels.txt:1: 4 fields; expected 6: topic Q0 doc rank score tag"),
        (("qrels.txt", "mine.txt", "--policy", "ties=average", "-m", "IPrec@0.1"), "Error: IPrec@0.1: the average"),
        (("qrels.txt", "mine.txt", "--policy", "ties=average", "--depth", "5"), "Error: ties average needs"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_1(call: Call, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call("evaluate", *arguments)
    assert status == 1
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_bad_input_writes_nothing(call: Call) -> None:
    Path("old.csv").write_text("kept")
    status, _, _ = call("evaluate", "qrels.txt", "nowhere.txt", "--format", "csv", "-o", "old.csv")
    assert status == 1
    assert Path("old.csv").read_text() == "kept"
    assert sorted(path.name for path in Path().iterdir()) == ["mine.txt", "old.csv", "other.txt", "qrels.txt"]


def test_a_wrong_call_is_exit_2_and_an_unknown_command_gets_a_near_name(call: Call) -> None:
    assert call("evaluate", "qrels.txt")[0] == 2
    status, _, err = call("evalute", "qrels.txt")
    assert status == 2
    assert "did you mean evaluate?" in err


def test_help_lists_every_command_without_loading_numpy() -> None:
    code = "import sys; from sounding.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "sys.exit('numpy' in sys.modules or 'polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in COMMANDS:
        assert command in done.stdout


def test_import_is_light() -> None:
    code = "import sounding, sys; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'polars')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_evaluating_text_needs_neither_polars_nor_scipy(call: Call) -> None:
    code = (
        "import sys\nfrom sounding.cli import main\nmain(['evaluate', 'qrels.txt', 'mine.txt'])\n"
        "sys.exit(any(m in sys.modules for m in ('scipy', 'polars', 'pandas', 'numpy.typing')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_check_lists_every_problem_with_lines_and_counts(call: Call) -> None:
    Path("bad.txt").write_text("1 Q0 a 1 3 t\n1 Q0 a 2 x t\n1 Q0\n1 Q0\n")
    status, out, _ = call("check", "bad.txt", "mine.txt")
    assert status == 1
    assert out.startswith("1 of 2 files has 4 problems and cannot be used")
    assert out.splitlines()[2:6] == [
        "bad.txt: run, 1 topic, 2 documents, tag t; 4 problems",
        "  line 2: score 'x' is not a number; expected one such as 12.5",
        "  line 2: topic 1 lists document 'a' already in line 1; expected it once",
        "  line 3: 2 fields; expected 6: topic Q0 doc rank score tag [2 times; also line 4]",
    ]
    assert "mine.txt: run, 2 topics, 5 documents, tag mine; no problem" in out


def test_check_counts_all_problems_and_lists_the_first_of_them(call: Call) -> None:
    Path("broken.jsonl").write_text("{broken\n" * 2500)
    status, out, _ = call("check", "--kind", "run", "broken.jsonl")
    assert status == 1
    assert "2,500 problems" in out
    assert out.count("line ") == 100
    assert "2,400 more" in out
    status, out, _ = call("check", "--kind", "run", "broken.jsonl", "--format", "json")
    assert sum(row["count"] for row in json.loads(out)["rows"]) == 2500


def test_check_of_good_files_is_exit_0_and_remarks_what_surprises(call: Call) -> None:
    Path("odd.txt").write_text("1 Q0 a 1 1 t\n1 Q0 b 1 2 t\n1 Q0 c 2 2 t\n")
    status, out, _ = call("check", "odd.txt", "qrels.txt")
    assert status == 0
    assert "note: 1 document scores higher than the line above" in out
    assert "note: 1 document ties with the line above" in out
    assert "qrels.txt: qrels, 3 topics, 5 judgments, 3 relevant; no problem" in out
    assert "note: 1 topic has no relevant document: 3" in out


def test_check_takes_folders_and_globs_and_a_name_that_is_wrong(call: Call) -> None:
    Path("all").mkdir()
    for name in ("qrels.txt", "mine.txt"):
        Path("all", name).write_bytes(Path(name).read_bytes())
    Path("all", "README").write_text("no data\n")
    both = ["all/mine.txt: run, 2 topics", "all/qrels.txt: qrels, 3 topics"]
    for given in (["all"], ["all/*.txt"], ["all/mine.txt", "all"]):
        status, out, _ = call("check", "--quiet", *given)
        assert status == 0
        assert out.startswith(
            "Both files can be used. 1 run: 5 lines, 2 topics; 1 qrels: 5 judgments, 3 topics."
        )
        assert [line[: len(begin)] for line, begin in zip(out.splitlines()[2:4], both, strict=True)] == both
    status, out, _ = call("check", "--quiet", "all", "zzzzzzzzzz")
    assert status == 1
    _, files = out.split("\n\n")
    assert [line.partition(":")[0].strip() for line in files.splitlines()] == [
        "all/mine.txt", "all/qrels.txt", "zzzzzzzzzz", "no such file; check the name",
    ]  # fmt: skip
    status, out, error = call("check", "none/*.txt")
    assert (status, out) == (1, "")
    assert "no file matches 'none/*.txt'" in error


def test_check_groups_the_mistakes_of_topics_by_their_kind(call: Call) -> None:
    Path("topics.tsv").write_text("1\tone\n2\n3\n1\tagain\n1\tand again\n4\n")
    status, out, _ = call("check", "--kind", "topics", "topics.tsv")
    assert status == 1
    assert out.splitlines()[2:] == [
        "topics.tsv: topics, 3 topics; 5 problems",
        "  line 2: '2'; expected 2 fields: an id and a text separated by a tab [3 times; also lines 3, 6]",
        "  line 4: topic '1' is already in line 1; expected it once [2 times; also line 5]",
    ]


def test_measures_are_listed_and_explained(call: Call) -> None:
    _, out, _ = call("measures")
    assert "nDCG[@k]" in out
    assert {"A_p@k", "A_r@k", "AA[@k]"} <= {line.split()[0] for line in out.splitlines() if line}
    _, out, _ = call("measures", "A_p@10")
    assert out.startswith("A_p@10\n")
    assert "first k documents that were judged" in out
    assert "every judged document counts as relevant" in out
    _, out, _ = call("measures", "map_cut.10")
    assert out.startswith("AP@10\n")
    assert "trec_eval: map_cut_10" in out


def test_an_unexpected_fault_is_one_line_too(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOUNDING_DEBUG", raising=False)
    monkeypatch.setattr("sounding.evaluate.evaluation.prepare", lambda *_: 1 / 0)
    status, _, err = call("evaluate", "qrels.txt", "mine.txt")
    assert status == 1
    assert err.startswith("Error: unexpected ZeroDivisionError")
    assert err.count("\n") == 1


def test_a_topic_that_is_not_utf8_where_only_utf8_can_be_held_is_named(call: Call) -> None:
    Path("qrels.txt").write_bytes(b"caf\xe9 0 a 1\ncaf\xe9 0 b 0\n")
    Path("mine.txt").write_bytes(b"caf\xe9 Q0 a 1 2 mine\ncaf\xe9 Q0 c 2 1 mine\n")
    status, _, err = call("audit", "qrels.txt", "mine.txt", "--section", "topics", "--format", "json")
    assert status == 1
    assert err.splitlines() == [
        r"Error: 'caf\xe9' is not UTF-8, but this output can only hold UTF-8; save the files as UTF-8"
    ]


def test_what_is_wrong_with_all_runs_alike_is_said_once(call: Call) -> None:
    Path("theirs.txt").write_text(Path("mine.txt").read_text())
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "theirs.txt", "-m", "xinfAP")
    assert status == 1
    assert [line.partition(" the ")[0] for line in err.splitlines()] == ["Error: xinfAP needs"]


def test_a_reader_that_has_seen_enough_is_no_error(call: Call) -> None:
    command = f"{sys.executable} -m sounding measures | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=dict(os.environ), check=True
    )
    assert done.stderr == ""


def test_bounds_stand_beside_every_value(call: Call) -> None:
    status, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "P@2", "-m", "RBP(p=0.5)", "-q",
        "--unjudged", "bounds", "--format", "csv",
    )  # fmt: skip
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "run,measure,topic,value,lower,upper,residual_unjudged,residual_tail"
    # topic 1 of mine: a (relevant), u (nobody knows), c (relevant, the best grade)
    assert lines[1] == "mine,P@2,1,0.5,0.5,1.0,,"
    # .5 * (1/2) + .125 * (2/2); u could add .25, what follows .125
    assert lines[5] == "mine,RBP(p=0.5),1,0.375,0.375,0.625,0.25,0.125"


def test_a_wider_universe_widens_the_bounds_of_recall(call: Call) -> None:
    def lower(*options: str) -> float:
        _, out, _ = call(
            "evaluate",
            "qrels.txt",
            "mine.txt",
            "-m",
            "R@2",
            "--unjudged",
            "bounds",
            "--format",
            "csv",
            *options,
        )
        return float(out.splitlines()[1].split(",")[4])

    assert lower("--universe", "run") > lower("--universe", "+5") > lower("--universe", "+50")
    assert lower("--universe", "+50", "--at-most", "1") > lower("--universe", "+50", "--at-most", "2x")


def test_recall_measures_whose_bounds_say_nothing_come_last_with_a_note(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "AP", "-m", "P@2",
        "--unjudged", "bounds", "--universe", "+50",
    )  # fmt: skip
    header = table_lines(out)[0].split()
    assert header.index("P@2") < header.index("AP")
    assert "bounds of AP are too wide to separate any two runs" in " ".join(out.split())


def test_expected_values_stand_beside_every_value_and_repeat_with_the_seed(call: Call) -> None:
    arguments = (
        "evaluate", "qrels.txt", "mine.txt", "-m", "P@2", "-m", "Bpref", "--unjudged", "expected", "-q",
        "--universe", "run", "--prior", "0.25", "--format", "csv", "--draws", "50",
    )  # fmt: skip
    status, out, _ = call(*arguments)
    assert status == 0
    assert out.splitlines()[0] == "run,measure,topic,value,expected,deviation,error"
    # P@2 of topic 1: a is relevant, u with a chance of 1/4: (1 + .25) / 2, deviation sqrt(.25 * .75) / 2
    fields = out.splitlines()[1].split(",")
    assert [float(field) for field in fields[3:]] == pytest.approx([0.5, 0.625, 0.1875**0.5 / 2, 0.0])
    assert call(*arguments)[1] == out
    assert call(*arguments, "--seed", "1")[1] != out


def test_bounds_and_groups_do_not_go_together(call: Call) -> None:
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "--judgment-groups", "--unjudged", "bounds")
    assert status == 1
    assert "unjudged bounds and judgment groups do not go together" in err


def test_lengths_of_condensed_runs_are_reported(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "P@2", "--unjudged", "condensed")
    # mine keeps 2 + 1 + 0 documents of three topics, other 2 + 1 + 1
    assert "Condensed lists hold 1.2 documents per topic; mine has the fewest, 1.0." in out
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "--unjudged", "condensed", "--format", "json")
    assert json.loads(out)["mean_lengths"] == {"mine": 1.0}
    for format_name in ("csv", "jsonl", "trec"):
        _, _, err = call(
            "evaluate",
            "qrels.txt",
            "mine.txt",
            "other.txt",
            "--unjudged",
            "condensed",
            "--format",
            format_name,
        )
        assert "Condensed lists hold 1.2 documents per topic; mine has the fewest, 1.0." in err.splitlines()


def test_the_depth_for_a_wanted_residual_is_told(call: Call) -> None:
    _, out, _ = call("measures", "RBP(p=0.95)", "--max-residual", "0.05")
    assert "documents beyond rank k add at most: 0.05 at k = 59" in out  # 0.95^58 = .0510, 0.95^59 = .0485
    status, _, err = call("measures", "P@10", "--max-residual", "0.05")
    assert status == 1
    assert "P@10 has no residual beyond its cut-off; use RBP or ERR" in err


def test_explained_measures_are_rows_in_formats_for_programs(call: Call) -> None:
    _, out, _ = call(
        "measures",
        "RBP(p=0.95)",
        "ERR",
        "--max-residual",
        "0.05",
        "--max-residual",
        ".5",
        "--format",
        "jsonl",
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["measure"] for row in rows] == ["RBP(p=0.95)", "ERR"]
    # .95^13 = .513, .95^14 = .488; 1 / (k + 1) for ERR
    assert [(row["k for 0.05"], row["k for 0.5"]) for row in rows] == [(59, 14), (19, 1)]
    _, out, _ = call("measures", "map_cut.10", "--format", "csv")
    assert out.splitlines()[0] == "measure,parameters,what it gives,basis,claims,trec_eval"
    assert out.splitlines()[1].startswith("AP@10,")


def test_the_scale_that_err_names_makes_the_depth_for_a_residual_sharper(call: Call) -> None:
    _, out, _ = call("measures", "ERR", "--max-residual", "0.0505")
    assert "0.0505 at k = 19" in out  # 1/19 = .0526, 1/20 = .05
    _, out, _ = call("measures", "ERR(max_rel=1)", "--max-residual", "0.0505")
    # Every document satisfies with chance 1/2: after 18 ranks sum of .5^j / (18 + j) = .0502, after 17 .0529
    assert "0.0505 at k = 18" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-residual", "0.01"), "--max-residual asks for a MEASURE, such as 'RBP(p=0.95)' or ERR"),
        (("RBP", "--max-residual", "2"), "2.0 is not in the range 0<x<1"),
        (("RBP", "--max-residual", "0"), "0.0 is not in the range 0<x<1"),
    ],
)
def test_a_residual_needs_a_measure_and_lies_between_0_and_1(
    call: Call, arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = call("measures", *arguments)
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_bad_file_is_one_line_whichever_process_reads_it(call: Call, jobs: str) -> None:
    Path("bad.txt").write_text("1 Q0 a 1\n")
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "bad.txt", "--jobs", jobs)
    assert status == 1
    assert err.startswith("Error: bad.txt:1: 4 fields; expected 6: topic Q0 doc rank score tag")
    assert err.count("\n") == 1


def test_output_goes_through_links_and_pipes_and_says_where_it_cannot(call: Call) -> None:
    Path("link.csv").symlink_to("real.csv")
    Path("real.csv").write_text("old")
    call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--format", "csv", "-o", "link.csv")
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_text().startswith("run,measure")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--format", "csv", "-o", "pipe")
    assert reader.communicate()[0].startswith("run,measure")
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "-o", "nowhere/out.csv")
    assert status == 1
    assert err == "Error: nowhere/out.csv cannot be written: there is no folder 'nowhere'\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "kinds.tsv", "--format", "trec"), "--by has no place in trec_eval's layout"),
        (("--stats", "--format", "trec"), "--stats has no place in trec_eval's layout"),
        (("--stats", "-q"), "--stats and --per-topic do not fit one table"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    call: Call, options: tuple[str, ...], message: str
) -> None:
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", *options)
    assert status == 2
    assert message in err


def test_bounds_stand_beside_the_values_of_every_topic_in_the_table(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "P@2", "-q", "--unjudged", "bounds")
    assert table_lines(out)[0].split() == ["run", "topic", "P@2", "lower", "upper"]
    assert table_lines(out)[2].split() == ["mine", "1", "0.5000", "0.5000", "1.0000"]


def test_slices_say_which_topics_are_in_none_and_json_speaks_of_all(call: Call) -> None:
    Path("kinds.tsv").write_text("topic\tlanguage\n1\ten\n2\tde\n77\ten\n")
    arguments = ("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "--by", "kinds.tsv")
    _, out, _ = call(*arguments)
    assert "1 judged topic in no table, because kinds.tsv does not list it." in out
    assert "Topics of kinds.tsv that were not judged: 1." in out
    _, out, _ = call(*arguments, "--format", "json")
    assert json.loads(out)["topics"] == 3
    assert json.loads(out)["topics_without_relevant"] == ["3"]


def test_what_was_done_to_the_values_is_repeated(call: Call) -> None:
    Path("z.txt").write_text("1 recip_rank 0.5 0.25\n2 recip_rank 0.5 0.25\n3 recip_rank 0.5 0\n")
    Path("earlier.txt").write_text("2 0 a 1\n")
    arguments = (
        "evaluate",
        "qrels.txt",
        "mine.txt",
        "-m",
        "RR",
        "--z-scores",
        "z.txt",
        "--residual",
        "earlier.txt",
    )
    _, out, _ = call(*arguments)
    assert "Z RR" in table_lines(out)[0]
    assert "Values are z-scores." in out
    assert "Residual collection: 1 judgment of earlier.txt removed" in out
    _, _, err = call(*arguments, "--format", "csv")
    assert "Residual collection: 1 judgment of earlier.txt removed" in err


def test_ids_that_are_not_utf_8_survive_every_format(call: Call) -> None:
    latin = os.fsdecode(b"caf\xe9.txt")
    Path(latin).write_bytes(b"1 Q0 a 1 3 caf\xe9\n")
    for format_name in ("table", "csv", "json", "jsonl", "md", "latex", "trec"):
        arguments = ("evaluate", "qrels.txt", latin, "--format", format_name, "-o", f"out.{format_name}")
        assert call(*arguments)[0] == 0
    assert json.loads(Path("out.json").read_text())["rows"][0]["run"] == "caf\udce9"
    assert b"caf\xe9" in Path("out.csv").read_bytes()


def test_parquet_refuses_ids_that_are_not_utf_8_which_would_become_one(call: Call) -> None:
    Path("latin.qrels").write_bytes(b"caf\xe9 0 a 1\ncaf\xe8 0 a 1\n")
    Path("latin.txt").write_bytes(b"caf\xe9 Q0 a 1 3 t\ncaf\xe8 Q0 b 1 3 t\n")
    arguments = ("evaluate", "latin.qrels", "latin.txt", "--per-topic", "-m", "RR", "-o")
    assert call(*arguments, "out.csv", "--format", "csv")[0] == 0
    assert b"caf\xe8,0.0\n" in Path("out.csv").read_bytes()
    assert b"caf\xe9,1.0\n" in Path("out.csv").read_bytes()
    status, _, error = call(*arguments, "out.parquet", "--format", "parquet")
    assert (status, error) == (
        1,
        "Error: topic 'caf\\xe8' is not UTF-8, but frames and Parquet can only hold UTF-8;"
        " save the file as UTF-8, or write csv or TREC text\n",
    )
    assert not Path("out.parquet").exists()


def test_text_has_its_own_column_so_that_values_stay_numbers(call: Call) -> None:
    _, out, _ = call(
        "evaluate",
        "qrels.txt",
        "mine.txt",
        "-m",
        "runid",
        "-m",
        "relstring",
        "-m",
        "RR",
        "-q",
        "--format",
        "csv",
    )
    assert out.splitlines()[0] == "run,measure,topic,value,text"
    assert "mine,RelString,1,,1-2" in out
    assert "mine,RunID,,,mine" in out
    assert "mine,RR,1,1.0," in out


def test_sampling_errors_have_rows_only_where_they_are_known(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "AP", "-m", "infAP", "--stats", "--format", "csv"
    )
    assert [line.split(",")[1] for line in out.splitlines() if line.endswith("sampling error")] == ["infAP"]


PRELS = "1 a 1 1 0.5\n1 b 0 1 0.25\n1 c 1 1 0.5\n2 a 1 1 1.0\n2 b 1 1 0.25\n"


def test_estimates_have_the_sampling_error_of_every_topic_and_an_interval_of_the_mean(call: Call) -> None:
    Path("prels.txt").write_text(PRELS)
    _, out, _ = call(
        "evaluate", "prels.txt", "mine.txt", "-m", "AP", "-m", "statAP", "--stats", "-q", "--format", "csv"
    )
    rows = [tuple(line.split(",")) for line in out.splitlines() if "statAP" in line]
    told = {(topic, name): float(value) for _, _, topic, value, name in rows}
    # Topic 1 ranks a u c: R = 2 + 2, a adds 2 * 1, c adds 2 * (1 + 2) / 3, both over 4. Their influences
    # are 1 - 1 + 2 / 3 and 1 - 1, and the variance is the sum of (w - 1) w z^2.
    assert told["1", "value"] == pytest.approx(1)
    assert told["1", "sampling error"] == pytest.approx((2 * (2 / 3) ** 2) ** 0.5 / 4)
    # Topic 2 ranks b a: R = 4 + 1, b adds 4 * 1, a adds 1 * (1 + 4) / 2; only b was left to chance.
    assert told["2", "value"] == pytest.approx(6.5 / 5)
    assert told["2", "sampling error"] == pytest.approx((12 * (1 - 1.3 + 1 / 2) ** 2) ** 0.5 / 5)
    error = (told["1", "sampling error"] ** 2 + told["2", "sampling error"] ** 2) ** 0.5 / 2
    assert told["", "sampling error"] == pytest.approx(error)
    assert told["", "low 95%"] == pytest.approx(1.15 * math.exp(-1.959964 * error / 1.15))
    assert told["", "high 95%"] == pytest.approx(1.15 * math.exp(1.959964 * error / 1.15))
    assert not [line for line in out.splitlines() if ",AP," in line and ("sampling" in line or "95" in line)]
    _, out, _ = call("evaluate", "prels.txt", "mine.txt", "-m", "statAP", "--stats")
    assert "sampling error  low 95%  high 95%" in table_lines(out)[0]


def test_z_scores_have_no_sampling_error(call: Call) -> None:
    Path("prels.txt").write_text(PRELS)
    Path("z.txt").write_text("1 statAP 0.5 0.1\n2 statAP 0.5 0.1\n")
    _, out, _ = call("evaluate", "prels.txt", "mine.txt", "-m", "statAP", "--stats", "--z-scores", "z.txt")
    assert "6.5000" in out  # the mean of (1 - .5) / .1 and (1.3 - .5) / .1
    assert "sampling error" not in out


def test_a_narrow_table_of_statistics_names_the_columns_it_drops(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("prels.txt").write_text(PRELS)
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call("evaluate", "prels.txt", "mine.txt", "-m", "statAP", "--stats")
    header, *_ = table_lines(out)
    assert header.startswith("run   measure  topics")
    assert "95%" not in header
    assert "sampling error, low 95%, high 95%" in " ".join(out.split())
    assert max(map(len, out.splitlines()[:-1])) <= 80  # the last line is a command to copy


def test_the_sum_of_a_count_is_not_called_a_mean(call: Call) -> None:
    Path("prels.txt").write_text(PRELS)
    arguments = ("evaluate", "prels.txt", "mine.txt", "-m", "AP", "-m", "EstNumRel", "-m", "GMAP", "--stats")
    _, out, _ = call(*arguments, "--format", "csv")
    told = {(row.split(",")[1], row.split(",")[4]): row.split(",")[3] for row in out.splitlines()}
    assert float(told["EstNumRel", "sum"]) == 9  # 1/.5 + 1/.5 and 1 + 1/.25
    assert ("EstNumRel", "mean") not in told
    assert ("AP", "sum") not in told
    # Deviation and standard error of a geometric mean's topics are beside the mean that they belong to.
    assert told["GMAP", "mean"] == told["AP", "mean"]
    assert float(told["GMAP", "geometric mean"]) < float(told["GMAP", "mean"])
    _, out, _ = call(*arguments)
    header, _, _, counted, *_ = table_lines(out)
    assert header.split()[:6] == ["run", "measure", "topics", "mean", "sum", "deviation"]
    assert counted.split()[:5] == ["mine", "EstNumRel", "2", "–", "9.0000"]


def test_a_blank_within_an_id_is_named_and_not_misread(call: Call) -> None:
    Path("blank.txt").write_text("1 Q0 my doc 3 2.0 t\n1 Q0 a 1 2 t more words\n1 Q0 b x 1 t\n")
    status, _, err = call("evaluate", "qrels.txt", "blank.txt")
    assert status == 1
    assert (
        err
        == "Error: blank.txt:1: 7 fields, and the rank is 'doc'; expected 6 fields: topic Q0 doc rank score tag\n"
    )


def test_no_topic_in_common_is_an_error(call: Call) -> None:
    Path("foreign.txt").write_text("401 Q0 a 1 2 t\n402 Q0 a 1 2 t\n")
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "foreign.txt")
    assert status == 1
    assert err.startswith("Error: foreign.txt: no topic in common")
    assert "1, 2, 3, ..." in err
    assert "401, 402, ..." in err


def test_bounds_and_expectations_have_each_measures_own_summary(call: Call) -> None:
    arguments = (
        "evaluate",
        "qrels.txt",
        "mine.txt",
        "-m",
        "NumRelRet",
        "-m",
        "GMAP",
        "-m",
        "AP",
        "--format",
        "csv",
    )
    _, out, _ = call(*arguments, "--unjudged", "bounds", "--universe", "run")
    rows = {
        line.split(",")[1]: [float(x) if x else None for x in line.split(",")[3:6]]
        for line in out.splitlines()[1:]
    }
    assert rows["NumRelRet"] == [3.0, 3.0, 5.0]  # u and b may be relevant: summed over topics, as the value
    value, lower, upper = rows["GMAP"]
    assert value is not None
    assert lower is not None
    assert upper is not None
    assert lower <= value <= upper
    _, out, _ = call(*arguments, "--unjudged", "expected", "--universe", "run", "--prior", "0.5")
    told = {line.split(",")[1]: line.split(",")[4] for line in out.splitlines()[1:]}
    assert float(told["NumRelRet"]) == 4.0
    assert told["GMAP"] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--prior", "0.5"), "--prior changes nothing without --unjudged expected"),
        (("--universe", "+9"), "--universe changes nothing without --unjudged bounds or expected"),
        (("--unjudged", "expected", "--at-most", "3"), "--at-most changes nothing without --unjudged bounds"),
        (
            ("--unjudged", "bounds", "--format", "trec"),
            "--unjudged bounds has no place in trec_eval's layout",
        ),
        (("--unjudged", "bounds", "--stats"), "--stats and --unjudged bounds do not fit one output"),
        (
            ("--unjudged", "expected", "--z-scores", "z.txt"),
            "--z-scores and --unjudged expected do not fit one output",
        ),
        (("--residual", "qrels.txt"), "nothing is left to evaluate: the earlier round judged every document"),
    ],
)
def test_options_without_effect_are_refused(call: Call, options: tuple[str, ...], message: str) -> None:
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", *options)
    assert status == (1 if options[0] == "--residual" else 2)
    assert message in err


def test_the_suffix_of_the_output_decides_the_format(call: Call) -> None:
    call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "-o", "out.csv")
    assert Path("out.csv").read_text().startswith("run,measure,topic,value\n")
    call("evaluate", "qrels.txt", "mine.txt", "-m", "RR", "-o", "out.csv", "--format", "jsonl")
    assert Path("out.csv").read_text().startswith("{")


def test_one_run_with_many_measures_has_a_row_a_measure(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "official")
    lines = table_lines(out)
    assert lines[0].split() == ["mine", "value", "judged"]
    assert out.startswith("mine has AP 0.4444")  # not one of the counts that come first
    assert ["AP", "0.4444", "58%"] in [line.split() for line in lines]
    assert ["NumRet", "5", "–"] in [line.split() for line in lines]


def test_runs_that_share_a_tag_are_told_apart_in_trec_format(call: Call) -> None:
    Path("twin.txt").write_text(RUN)
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "twin.txt", "-m", "runid", "--format", "trec")
    assert [line.split()[-1] for line in out.splitlines()] == ["mine", "twin"]
    _, _, err = call("evaluate", "qrels.txt", "mine.txt", "twin.txt", "-m", "map", "--format", "trec")
    assert "runs, in this order: mine, twin" in err


def test_warnings_reach_those_who_take_csv(call: Call) -> None:
    _, _, err = call(
        "evaluate", "qrels.txt", "mine.txt", "other.txt", "-m", "AP", "--unjudged", "bounds", "--universe", "+50",
        "--format", "csv",
    )  # fmt: skip
    assert "bounds of AP are too wide" in err


def test_pairs_of_runs_whose_bounds_overlap_are_counted_whatever_an_outlier_does(call: Call) -> None:
    Path("judged.txt").write_text("1 0 a 1\n1 0 b 1\n1 0 n 0\n1 0 m 0\n")
    # P@2 is 1, then 1/2 for certain, then twice 0 that may be 1/2: of six pairs only the last two may change.
    runs = {"best": ("a", "b"), "half": ("a", "n"), "open": ("x", "n"), "opener": ("n", "y")}
    for name, (first, second) in runs.items():
        Path(f"{name}.txt").write_text(f"1 Q0 {first} 1 2 {name}\n1 Q0 {second} 2 1 {name}\n")
    files = [f"{name}.txt" for name in runs]
    asked = ("-m", "P@2", "-m", "DCG@2", "-m", "RBP(p=0.5)@2", "-m", "NumRelRet", "--unjudged", "bounds")
    _, _, err = call("evaluate", "judged.txt", *files, *asked, "--format", "csv")
    # RBP is .75, .5, 0, 0 with a tail of .25: the third can reach .5 + .25, the second and fourth only touch.
    # DCG is 1.63, 1, 0, 0: the third can reach 1, the fourth .63.
    assert (
        "1 of 6 by P@2 (1 of 3 pairs of neighbors in the ranking), 1 of 6 by DCG@2 (1 of 3 pairs of neighbors in the ranking),"
        " 2 of 6 by RBP(p=0.5)@2 (2 of 3 pairs of neighbors in the ranking)."
    ) in err
    _, out, _ = call("evaluate", "judged.txt", "best.txt", "half.txt", "-m", "P@2", "--unjudged", "bounds")
    assert "neighbors" not in out
    assert "No further judgment can change that" in " ".join(out.split())


@pytest.mark.parametrize("unjudged", ["bounds", "expected"])
def test_nothing_is_said_of_bounds_where_measures_give_only_text(call: Call, unjudged: str) -> None:
    _, _, err = call(
        "evaluate",
        "qrels.txt",
        "mine.txt",
        "other.txt",
        "-m",
        "RelString",
        "--unjudged",
        unjudged,
        "--format",
        "csv",
    )
    assert "bounds of" not in err
    assert "eviation" not in err
    assert "neighbors" not in err
    _, out, _ = call(
        "evaluate", "qrels.txt", "mine.txt", "-m", "RelString", "-m", "IPrec@0.1", "--unjudged", "bounds"
    )
    assert "IPrec@0.1: no bounds are known" in out


def test_the_growth_of_a_pool_needs_pool_ranks_or_the_pool(call: Call) -> None:
    asked = ("-m", "P@2", "--unjudged", "bounds", "--at-most", "growth")
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "other.txt", *asked)
    assert status == 1
    assert err.endswith(
        "give qrels with pool ranks (a pool_rank column), or describe the pool with --pool-depth D --info FILE\n"
    )
    Path("info.tsv").write_text("run\tgroup\tpooled\nmine\tx\tyes\nother\ty\tyes\n")
    pool = ("--pool-depth", "2", "--info", "info.tsv")
    status, out, _ = call("evaluate", "qrels.txt", "mine.txt", "other.txt", *asked, *pool)
    assert status == 0
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "other.txt", *asked, *pool, "--notes")
    assert "at most growth" in " ".join(out.split())


def test_a_line_without_an_attribute_is_counted_in_words(call: Call) -> None:
    Path("slices.tsv").write_text("1\ten\n2\n")
    status, _, err = call("evaluate", "qrels.txt", "mine.txt", "--by", "slices.tsv")
    assert status == 1
    assert "slices.tsv:2: 1 column; expected 2: topic and its attributes" in err


def test_bounds_below_zero_are_shown(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "Yaap", "--unjudged", "bounds")
    assert table_lines(out)[0].split() == ["run", "Yaap", "lower", "upper", "judged"]


def test_what_the_info_file_and_the_runs_do_not_share_is_said(call: Call) -> None:
    place = Path("collection")
    sizes = ("--topics", "8", "--groups", "2", "--systems", "2", "--pool-depth", "5", "--seed", "4")
    assert call("sample", str(place), *sizes)[0] == 0
    lines = (place / "info.tsv").read_text().splitlines()
    names = [line.split("\t")[lines[0].split("\t").index("run")] for line in lines[1:]]
    (place / "named.tsv").write_text("\n".join(line.replace(names[0], f"{names[0]}.txt") for line in lines))
    (place / "other.tsv").write_text("\n".join(line.replace(names[0], "nobody") for line in lines))
    given = (str(place / "qrels.txt"), str(place / "runs"), "-m", "AP")
    commands = (
        ("compare", *given, "--notes"), ("depth", *given, "--notes"), ("audit", *given),
        ("evaluate", *given, "--pool-depth", "3"),
    )  # fmt: skip
    for command in commands:
        plain, named, other = (
            " ".join("".join(call(*command, "--info", str(place / file))[1:]).split())
            for file in ("info.tsv", "named.tsv", "other.tsv")
        )
        assert "info file" not in plain, command
        assert named == plain.replace("info.tsv", "named.tsv"), command
        assert "nobody" in other, command
        assert f"({names[0]}) not in the info file" in other, command


def test_parameters_of_trec_evals_measures_are_printed_as_they_were_typed(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels.txt", "mine.txt", "-m", "Rndcg.1=1,2=7", "--format", "trec")
    assert out.split()[0] == "Rndcg_1=1,2=7"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs on 12 topics, with a file that says which were pooled, and a sample of the judgments."""
    sizes = "--topics 12 --groups 2 --systems 2 --documents 80 --length 20 --pool-depth 8 --seed 3"
    folder = sampled(tmp_path_factory.mktemp("next") / "trial", sizes)
    judged = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    sample = [f"{topic} {doc} {grade} 1 0.5\n" for topic, _, doc, grade in judged[::2]]
    (folder / "prels.txt").write_text("".join(sample))
    return folder


@pytest.mark.parametrize(
    ("words", "verb", "kept"),
    [
        ("depth qrels.txt runs --info info.tsv --depths 5,10", ("compare", "depth", "audit"), "--info"),
        ("audit qrels.txt runs -m P@5 --info info.tsv", ("compare", "audit"), "--info info.tsv"),
        ("audit qrels.txt runs -m P@5 --all --info info.tsv", ("compare",), "-m P@5 --info info.tsv"),
        ("compare qrels.txt runs -m P@5 --test t --correction holm", ("compare",), "-m P@5 --test t"),
        ("plan qrels.txt runs -m P@5 --draws 50", ("plan", "compare"), "-m P@5"),
        ("evaluate prels.txt runs --qrels-format prels", ("estimate",), "--qrels-format prels"),
    ],
)
def test_the_next_command_keeps_what_was_asked_for_and_is_not_refused(
    trial: Path, call: Call, monkeypatch: pytest.MonkeyPatch, words: str, verb: tuple[str, ...], kept: str
) -> None:
    monkeypatch.chdir(trial)
    status, out, err = call(*words.split())
    assert status == 0, err
    following = next_command(out)
    assert following[0] in verb
    assert all(word in following for word in kept.split())
    assert call(*following)[0] == 0, following


@pytest.mark.parametrize(
    "verb",
    ["evaluate", "compare", "depth", "audit", "plan", "simulate", "calibrate", "estimate", "report"],
)
def test_swapped_files_are_told_the_right_order(trial: Path, call: Call, verb: str) -> None:
    run = str(trial / "runs" / "auk-1.txt")
    status, _, err = call(verb, run, str(trial / "qrels.txt"), str(trial / "runs" / "auk-2.txt"))
    assert status == 1
    assert f"(this looks like a run); the order is sounding {verb} QRELS RUN..." in err
    assert "the order is" not in call("pool", str(trial / "runs"), "--qrels", run)[2]
    assert "the order is" not in call(verb, str(trial / "none.txt"), run)[2]


@pytest.mark.parametrize(
    "words",
    [
        "evaluate {} -m nope",
        "evaluate {} --chart x.doc",
        "evaluate {} --unjudged bounds --universe much",
        "evaluate {} --unjudged expected --prior much",
        "evaluate {} --qrels-format much",
        "evaluate {} -m P(much=1)@5",
        "compare {} --holds --until much",
        "compare {} --for auk-1 --against auk-1",
        "plan {} --topic much",
        "plan {} --pair a b",
        "simulate {} --histogram a b",
        "measures nope",
        "sample new --prevalence 5",
        "compare {} --test much",
        "plan {} --to 2",
    ],
)
def test_a_wrong_option_is_wrong_usage_everywhere(trial: Path, call: Call, words: str) -> None:
    files = f"{trial / 'qrels.txt'} {trial / 'runs'}"
    status, _, err = call(*words.format(files).split())
    assert status == 2
    assert err.splitlines()[-1].startswith("Error: ")
