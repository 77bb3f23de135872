"""`sounding audit` as a person uses it: verdict, sections, formats, charts and errors."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polars
import pytest
from tests.conftest import require
from tests.docs_examples import run_commands
from tests.e2e.calling import Call, Said, caller, next_command, sampled

from sounding.audit.command import SECTIONS
from sounding.cli import COMMANDS, main

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
FREE = [name for name in SECTIONS if name not in ("parts", "titles")]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 8 runs and 26 topics; three of four groups were pooled to depth 10."""
    sizes = "--topics 26 --groups 4 --systems 2 --documents 400 --length 100"
    return sampled(tmp_path_factory.mktemp("audit") / "trial", f"{sizes} --pool-depth 10 --seed 4")


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding audit` on the collection, with its info file unless told otherwise."""
    monkeypatch.chdir(trial)

    run_command = caller(capsys, "audit")

    def run(*arguments: str, info: str | None = "info.tsv") -> Said:
        known = [] if info is None else ["--info", info]
        drawn = {"--all", "assessment", "--collection", "--chart"} & set(arguments)
        few = ["--draws", "3"] if drawn and "growth" not in arguments else []
        return run_command("qrels.txt", "runs", *known, *few, *arguments)

    return run


# -- the verdict -----------------------------------------------------------------------------------


def test_the_verdict_comes_first_and_fits_a_screen(call: Call) -> None:
    status, out, err = call()
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert "compare pooled runs down to rank 10" in lines[0]  # the answer
    size = r"qrels.txt: 26 topics, [\d,]+ judgments, \d+ of them relevant; 8 runs of 4 groups."
    assert any(re.fullmatch(size, line) for line in lines)
    assert "yes        Compare pooled runs down to rank 10." in lines
    assert sum(line.startswith("- ") for line in lines) <= 4  # three notes, and how to see the others
    assert len(lines) <= 50
    assert max(len(line) for line in lines if not line.startswith("Next: ")) <= 100
    assert "ties trec" not in out  # a default policy is no news
    assert f"For details, add --section with one of {', '.join(FREE)}; or --all." in " ".join(out.split())
    assert next_command(out)[0] in COMMANDS


def test_all_notes_name_all_policies(call: Call) -> None:
    assert "ties trec, unjudged nonrelevant" in " ".join(call("--notes")[1].split())
    assert "ties file" in call("--policy", "ties=file")[1]


@pytest.mark.parametrize("columns", ["1", "60", "500"])
def test_the_verdict_is_as_wide_as_the_screen_within_reason(
    call: Call, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    _, out, _ = call()
    sentences = [
        line for line in out.splitlines() if not line.startswith("Next: ")
    ]  # commands are not wrapped
    assert max(map(len, sentences)) <= {"1": 40, "60": 60, "500": 100}[columns]


def test_a_new_run_gets_its_own_statement_and_counts_once(call: Call, trial: Path) -> None:
    pooled = [line.split("\t") for line in (trial / "info.tsv").read_text().splitlines()[1:]]
    outsider = next(row[0] for row in pooled if row[4] == "no")
    _, out, _ = call("--new", f"runs/{outsider}.txt")
    assert "7 runs of" in out
    assert re.search(rf"(yes|with care|no) +Compare {outsider} with the others", out)
    contributor = next(row[0] for row in pooled if row[4] == "yes")
    _, out, _ = call("--new", f"runs/{contributor}.txt")
    assert f"The new run {contributor} is listed as pooled" in " ".join(out.split())


def test_without_info_contributors_are_guessed_and_that_is_said(call: Call) -> None:
    _, out, _ = call(info=None)
    assert "guessed from the judgments" in out
    assert "- Without --info, every run counts as a group of its own, of unknown kind." in out


def test_a_shallower_pool_is_said(call: Call) -> None:
    _, out, _ = call("--pool-depth", "5")
    assert "Compare pooled runs down to rank 5." in out
    told = r"- Pool cut to depth 5 \(of 6 contributing runs, listed\): [\d,]+ of [\d,]+ judgments kept."
    assert re.search(told, " ".join(out.split()))


def test_the_verdict_for_programs_has_every_figure_and_rule(call: Call) -> None:
    status, out, _ = call("--format", "json")
    body = json.loads(out)
    assert status == 0
    assert body["pool"]["depth"] == 10
    assert body["measures"] == ["AP", "nDCG@10", "P@10"]
    first = body["rows"][0]
    assert (first["about"], first["answer"], first["value"]) == ("pooled runs", "yes", 10.0)
    assert "25 topics" in first["rule"]
    _, out, err = call("--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["about"] for row in rows] == [row["about"] for row in body["rows"]]
    assert err.startswith("Yes, this collection can be used")  # as every command does without a place for it


# -- sections --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FREE)
def test_every_section_is_a_table_for_people_and_one_for_programs(call: Call, name: str) -> None:
    status, out, err = call("--section", name, "--top", "3")
    assert (status, err) == (0, "")
    assert "───" in out
    body = json.loads(call("--section", name, "--format", "json")[1])
    assert body["headline"].endswith(".")
    assert " ".join(out.split()).startswith(body["headline"])
    assert out.endswith(f"\n\nNext: {body['next']}\n")
    _, out, _ = call("--section", name, "--format", "csv")
    rows = list(csv.reader(io.StringIO(out)))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1
    _, out, _ = call("--section", name, "--format", "json")
    assert len(json.loads(out)["rows"]) == len(rows) - 1


def test_all_sections_follow_the_verdict(call: Call) -> None:
    _, out, _ = call("--all")
    titles = [
        "Compare pooled runs", "Pools of these depths", "Runs by AP", "Topics", "Growth by pool depth",
        "Unique relevant documents", "Leave one out", "Contributing runs by overlap", "Rules for tied scores",
        "tau with MAP",
    ]  # fmt: skip
    places = [out.index(title) for title in titles]
    assert places == sorted(places)
    _, out, _ = call("--all", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(dict.fromkeys(row["section"] for row in rows)) == ["verdict", *FREE]
    _, out, _ = call("--all", "--format", "json")
    body = json.loads(out)
    assert list(body["sections"]) == FREE
    assert set(body["reinforcement"]) == {"tau", "group_tau"}
    assert [row["collection"] for row in body["assessment"]] == ["qrels"]
    _, out, _ = call("--all", "--format", "md")
    assert out.count("|--") > 10 or out.count("|:--") > 10


@pytest.mark.parametrize("name", ["growth", "leave-out", "reinforcement", "ties", "assessment"])
def test_all_of_them_in_json_say_what_each_says_alone(call: Call, name: str) -> None:
    alone = json.loads(call("--section", name, "--format", "json")[1])
    every = json.loads(call("--all", "--format", "json")[1])
    own = {key: value for key, value in alone.items() if key not in every or key == name.replace("-", "_")}
    assert set(own) - {"rows"} == {name.replace("-", "_")}
    assert every[name.replace("-", "_")] == alone[name.replace("-", "_")]


def test_relevant_judgments_alone_are_not_taken_for_a_pool(
    call: Call, trial: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines()
    (tmp_path / "relevant.txt").write_text("\n".join(line for line in lines if line.split()[3] != "0"))
    asked = [str(tmp_path / "relevant.txt"), "runs", "--info", "info.tsv"]
    audit = caller(capsys, "audit")
    said = " ".join(audit(*asked)[1].split())
    assert "list only relevant documents" in said
    assert "not pooled as listed" not in said
    assert "would add" not in said
    assert "judged more come out better" not in said
    for section in ("growth", "topics", "assessment"):
        said = " ".join(audit(*asked, "--section", section)[1].split())
        assert "Nearly all judgments are relevant: the qrels seem to list only relevant documents." in said
        assert "would add" not in said
    told = json.loads(audit(*asked, "--section", "growth", "--format", "json")[1])["growth"]
    assert told["expected_at_twice_the_depth"] is None
    assert told["remaining"] is None


def test_parquet_and_files_by_suffix(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    assert call("--section", "runs", "-o", str(path))[0] == 0
    frame = polars.read_parquet(path)
    assert frame.height == 8
    assert {"run", "group", "kind", "pooled", "AP", "judged_10", "first_unjudged"} <= set(frame.columns)


def test_leaving_out_all_judgments_takes_more_than_relevant_documents(call: Call) -> None:
    taken = {}
    for remove in ("relevant", "judgments"):
        _, out, _ = call("--section", "leave-out", "--remove", remove, "--format", "csv", "-m", "AP")
        rows = [row for row in csv.DictReader(io.StringIO(out)) if row["by"] == "group"]
        taken[remove] = [int(row["unique"]) for row in rows]
    assert all(a <= b for a, b in zip(taken["relevant"], taken["judgments"], strict=True))
    assert sum(taken["relevant"]) < sum(taken["judgments"])


def test_parts_by_prefix(call: Call) -> None:
    _, out, _ = call("--parts", "([A-Z]+)")
    assert "Parts of the collection" in out
    assert "WIRE" in out


def test_titles_by_pool_rank(call: Call, trial: Path, tmp_path: Path) -> None:
    judged = [line.split() for line in (trial / "qrels.txt").read_text().splitlines()]
    topics = sorted({row[0] for row in judged})
    (tmp_path / "topics.tsv").write_text("".join(f"{topic}\tgreen turtles\n" for topic in topics))
    docs = dict.fromkeys(row[2] for row in judged)
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": doc, "text": "green sea"}) + "\n" for doc in docs)
    )
    _, out, err = call("--topics", str(tmp_path / "topics.tsv"), "--corpus", str(tmp_path / "corpus.jsonl"))
    assert err == ""
    assert "Relevant documents contain 50% of the words" in " ".join(out.split())


def test_a_collection_without_a_known_pool_stands_beside_one_with_it(call: Call, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow.txt"
    lines = [line for line in Path("qrels.txt").read_text().splitlines() if int(line.split()[2][-1:], 36) % 3]
    shallow.write_text("\n".join(lines))
    status, out, err = call("--collection", "thin", str(shallow), "runs", "--format", "json")
    assert (status, err) == (0, "")
    own, other = json.loads(out)["assessment"]
    assert None not in own.values()
    assert other["random"] is None  # no pool is known to draw from
    assert -1 <= other["assessment"] <= 1
    assert -1 <= other["popularity"] <= 1
    told = ["--collection", "thin", str(shallow), "runs", "--collection-info", "thin", "info.tsv"]
    _, out, _ = call(*told, "--format", "json")
    assert json.loads(out)["assessment"][1]["random"] is not None
    status, _, err = call("--collection-info", "thick", "info.tsv")
    assert (status, err.count("\n")) == (2, 4)
    assert "--collection-info thick: no --collection has that name" in err


def test_assessment_needs_no_pool(call: Call, tmp_path: Path) -> None:
    rows = Path("info.tsv").read_text().replace("yes", "no")
    (tmp_path / "none.tsv").write_text(rows)
    status, out, _ = call("--section", "assessment", info=str(tmp_path / "none.tsv"))
    assert status == 0
    assert "random is empty for qrels" in " ".join(out.split())
    status, _, err = call("--section", "growth", info=str(tmp_path / "none.tsv"))
    assert status == 1
    assert "section growth: none of these runs is known to have contributed" in err


def test_holes_are_counted_and_named(trial: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines()
    holed = tmp_path / "holed.txt"
    holed.write_text("\n".join(lines[:5] + lines[6:]))
    topic, _, doc, _ = lines[5].split()
    files = [str(holed), str(trial / "runs"), "--info", str(trial / "info.tsv")]
    status, out, _ = caller(capsys, "audit")(*files, "--section", "pool")
    assert status == 0
    assert "it is 10 deep, with holes" in out
    assert f": {topic} {doc}." in out


def test_collections_stand_side_by_side(call: Call) -> None:
    _, out, _ = call("--collection", "again", "qrels.txt", "runs", "--format", "json")
    body = json.loads(out)
    assert [row["collection"] for row in body["assessment"]] == ["qrels", "again"]
    assert body["assessment"][0]["assessment"] == body["assessment"][1]["assessment"]


def test_charts_are_written_to_a_folder(call: Call, tmp_path: Path) -> None:
    require("altair")
    require("vl_convert")
    status, _, err = call(
        "--chart", str(tmp_path / "new" / "charts"), "--chart-format", "svg", "--parts", "([A-Z]+)"
    )
    assert status == 0
    names = [
        "added", "assessment", "beyond", "growth", "judged-by-depth", "judged-shares", "leave-out",
        "leave-out-differences", "parts", "pool", "reinforcement", "ties", "unique-relevant", "without-judgments",
    ]  # fmt: skip
    assert sorted(path.stem for path in (tmp_path / "new" / "charts").iterdir()) == names
    assert err.startswith("charts in ")


# -- what is refused, and small inputs -------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--section", "nothing"), 2, "'nothing' is not one of"),
        (("--section", "parts"), 2, "--section parts needs --parts"),
        (("--section", "titles"), 2, "--section titles needs --topics and --corpus"),
        (("--topics", "x"), 2, "--topics and --corpus belong together"),
        (("--all", "--section", "runs"), 2, "leave --section out"),
        (
            ("--section", "runs", "--section", "ties", "--format", "csv"),
            2,
            "csv holds one section, and runs, ties are asked for",
        ),
        (("--parts", "([A-Z"), 1, "neither a file nor a regular expression"),
        (("--parts", "part.tsv"), 1, "parts 'part.tsv': no such file, and an expression of plain letters"),
        (("--draws", "3"), 2, "--draws changes nothing without --section assessment, --all or --chart"),
        (("--seed", "3"), 2, "--seed changes nothing without --section assessment"),
        (("--top", "3"), 2, "--top changes nothing without a section: --section or --all"),
        (
            ("--section", "growth", "-m", "P@5"),
            2,
            "--measure changes nothing in section growth; it is for the verdict and --section runs, topics,",
        ),
        (
            ("--section", "runs", "--remove", "judgments"),
            2,
            "--remove changes nothing in section runs; it is",
        ),
        (("--section", "pool", "--unjudged", "condensed"), 2, "--unjudged changes nothing in section pool;"),
        (
            ("--parts", "prefix:2", "--policy", "missing=skip"),
            2,
            "--policy missing changes nothing in section parts;",
        ),
        (("-o", "audit.foo"), 2, "no format has the suffix '.foo'"),
        (("--chart-format", "svg"), 2, "--chart-format changes nothing without --chart DIR"),
        (("--chart", "x.png"), 2, "expected a folder"),
        (("-l", "7"), 1, "qrels.txt: no relevant document at level 7; the highest grade is"),
        (("--pool-depth", "50"), 1, "the pool of these runs is 10 deep"),
        (("-m", "infAP"), 1, "infAP is an estimate from a sample"),
        (("-m", "nope"), 2, "unknown measure 'nope'"),
        (("--new", "nowhere.txt"), 1, "'nowhere.txt': no such file"),
        (("--policy", "ties=average"), 2, "'ties=average'; write ties=trec or"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    call: Call, arguments: tuple[str, ...], status: int, message: str
) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (status, "")
    assert message in err
    assert "Traceback" not in err


def test_an_info_file_of_other_runs_is_refused(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "info.tsv"
    path.write_text("run\tgroup\tkind\tpriority\tpooled\nother\tg\tmanual\t1\tyes\n")
    status, _, err = call(info=str(path))
    assert status == 1
    assert err.startswith("Error: the info file lists none of the 8 runs")


def test_runs_that_share_no_document_with_the_qrels_are_told_so(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels.txt").write_text("51 0 nobody-has-this 1\n52 0 nor-this 0\n")
    with pytest.raises(SystemExit):
        main(["audit", str(tmp_path / "qrels.txt"), "runs"])
    out, _ = capsys.readouterr()
    assert "no         Compare these runs by these judgments." in out
    assert "share no document" in out
    assert "tied" not in out


def test_without_a_pool_the_verdict_says_so_and_sections_that_need_one_are_refused(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doc = next(Path("runs").iterdir()).read_text().split()[2]
    (tmp_path / "qrels.txt").write_text(f"51 0 nobody-has-this 1\n51 0 {doc} 0\n52 0 nor-this 0\n")
    for arguments, status in ((("--section", "growth"), 1), ((), 0), (("--all",), 0)):
        with pytest.raises(SystemExit) as left:
            main(["audit", str(tmp_path / "qrels.txt"), "runs", *arguments])
        assert (left.value.code or 0) == status
        out, err = capsys.readouterr()
        if status:
            assert err.count("\n") == 1
            assert "section growth: none of these runs is known to have contributed" in err
        else:
            assert "not known  Compare pooled runs." in out


@pytest.mark.parametrize("grade", ["1", "3"])
def test_one_run_one_topic_and_any_grades_give_an_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], grade: str
) -> None:
    (tmp_path / "qrels.txt").write_text(f"1 0 a {grade}\n1 0 b -1\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2.0 r\n1 Q0 b 2 1.0 r\n")
    (tmp_path / "info.tsv").write_text("run\tgroup\tkind\tpriority\tpooled\nr\tg\tmanual\t1\tyes\n")
    for more in (("--info", str(tmp_path / "info.tsv")), ()):
        for arguments in ((), ("--all",), ("--all", "--format", "json"), ("--level", grade)):
            with pytest.raises(SystemExit) as left:
                main(["audit", str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt"), *more, *arguments])
            out, err = capsys.readouterr()
            assert not left.value.code, err
            assert out


def test_one_run_of_one_group_is_counted_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2.0 r\n")
    with pytest.raises(SystemExit):
        main(["audit", str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt")])
    assert "1 topic, 1 judgment, 1 of them relevant; 1 run of 1 group." in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_sample_that_pool_made_is_told_as_a_sample(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call()  # changes to the folder of the collection
    path = tmp_path / "sampled.tsv"
    sample = ["--strategy", "stratified-sample", "--strata", "3:1,10:0.3", "--qrels", "qrels.txt"]
    with pytest.raises(SystemExit):
        main(["pool", "runs", "--info", "info.tsv", "--depth", "10", *sample, "--simulate", "-o", str(path)])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["audit", str(path), "runs", "--info", "info.tsv"])
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "with care Compare runs only by measures that estimate from a sample, such as xinfAP or statAP."
        in out
    )
    assert "Compare pooled runs" not in out


def test_figures_of_the_verdict_are_short_where_people_read_them(call: Call) -> None:
    _, out, _ = call("--format", "md")
    row = next(line for line in out.splitlines() if line.startswith("| pooled runs"))
    assert "| pool depth | 10 |" in row


def test_a_narrow_table_keeps_what_identifies_a_row_and_names_the_columns_that_it_leaves_out(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = call("--section", "leave-out")
    head = next(line for line in out.splitlines() if line.startswith("left out  measure  runs"))
    assert len(head) <= 60
    note = out[out.index("Columns left out") :]
    dropped = " ".join(note[: note.index(".")].split()).partition(": ")[2].split(", ")
    assert dropped[:3] == ["signed", "median", "change"]
    assert not set(dropped) & set(head.split())


def test_the_sections_that_may_be_named_are_those_that_there_are(call: Call) -> None:
    _, out, _ = call("--all", "--parts", "prefix:2", "--format", "json")
    assert [*json.loads(out)["sections"], "titles"] == list(SECTIONS)


# -- the page --------------------------------------------------------------------------------------


def test_the_commands_and_the_code_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_commands(PAGE) == 7
    text = PAGE.read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "audit.md", "exec"), {})


def test_growth_of_several_collections_stands_side_by_side(call: Call, tmp_path: Path) -> None:
    more = ("--section", "growth", "--collection", "again", "qrels.txt", "runs")
    listed = ("--collection-info", "again", "info.tsv")
    _, alone, _ = call("--section", "growth", "--format", "csv")
    _, both, _ = call(*more, *listed, "--format", "csv")
    expected = list(csv.DictReader(io.StringIO(alone)))
    rows = list(csv.DictReader(io.StringIO(both)))
    assert [row.pop("collection") for row in rows] == ["qrels"] * len(expected) + ["again"] * len(expected)
    assert rows == [*expected, *expected]
    (tmp_path / "none.tsv").write_text(
        "run\tgroup\tpooled\n" + "".join(f"{path.stem}\tg\tno\n" for path in Path("runs").iterdir())
    )
    _, out, _ = call(*more, "--collection-info", "again", str(tmp_path / "none.tsv"))
    assert "No pool is known: again" in " ".join(out.split())


def test_the_figures_of_the_papers_are_drawn(call: Call, tmp_path: Path) -> None:
    require("altair")
    status, _, err = call(
        "--chart", str(tmp_path), "--chart-format", "svg", "--collection", "b", "qrels.txt", "runs"
    )
    assert status == 0, err
    growth = (tmp_path / "growth.svg").read_text()
    assert "relevant, of the documents new at this depth" in growth
    assert ">b<" in growth
    assert "unique relevant documents" in (tmp_path / "leave-out-differences.svg").read_text()
