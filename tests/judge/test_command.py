"""`sounding judge` from end to end, without a browser."""

from __future__ import annotations

import io
import json
import os
import re
import stat
from pathlib import Path

import pytest
from tests.conftest import require
from tests.judge.journals import keep, reading

from sounding.cli import main
from sounding.data.formats import read_qrels
from sounding.judge.project import open_project
from sounding.judge.sqlite import sqlite3
from sounding.judge.store import Store

TOPICS = ("301", "302")


def call(*words: object, expect: int = 0) -> None:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    assert (left.value.code or 0) == expect


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "runs").mkdir(parents=True)
    for run, shift in (("bm25", 0), ("dense", 3), ("fused", 5)):
        lines = [
            f"{topic} Q0 d{(rank + shift) % 12:02} {rank} {20 - rank} {run}\n"
            for topic in TOPICS
            for rank in range(8)
        ]
        (folder / "runs" / f"{run}.txt").write_text("".join(lines))
    docs = [json.dumps({"_id": f"d{n:02}", "text": f"text of document {n}"}) for n in range(11)]
    (folder / "docs.jsonl").write_text("\n".join(docs) + "\n")
    (folder / "topics.tsv").write_text("301\tflutter\n302\twhales\n")
    return folder


@pytest.fixture
def project(tmp_path: Path, files: Path) -> Path:
    folder = tmp_path / "project"
    call(
        "judge", "init", folder, "--corpus", files / "docs.jsonl", "--topics", files / "topics.tsv",
        "--runs", files / "runs", "--scale", "0=no,1=yes,2=very", "--seed", 4, "--batch", 2, "--quiet",
    )  # fmt: skip
    return folder


def judge_some(folder: Path, count: int = 6) -> None:
    with open_project(folder) as project:
        for number in range(count):
            lease = project.engine.next("assessor-1", TOPICS[number % 2])[0]
            project.engine.judge("assessor-1", lease.topic, lease.doc, number % 3, key=str(number))


def test_init_says_what_there_is_and_what_is_missing(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(
        "judge", "init", tmp_path / "p", "--corpus", files / "docs.jsonl", "--topics", files / "topics.tsv",
        "--runs", files / "runs", "--order", "stratified-sample", "-P", "strata=3:1,100:0.5",
    )  # fmt: skip
    said = capsys.readouterr().err
    told = r"11 documents, 2 topics, 3 runs; (\d+) to judge: (.*) that the runs retrieved for each topic\n"
    drawn = re.match(told, said)
    assert drawn is not None
    assert drawn[2] == "a sample of the documents"
    assert "not in the corpus: 2 documents of the runs, such as d11 of topic 301" in said
    assert f"next: sounding judge user {tmp_path / 'p'} NAME --role organizer" in said
    with open_project(tmp_path / "p") as project:
        assert project.settings.order.parameters == {"strata": "3:1,100:0.5"}
        assert int(drawn[1]) == project.engine.counts().total.left
    call("judge", "init", tmp_path / "q", "--corpus", files / "docs.jsonl", "--runs", files / "runs")
    said = capsys.readouterr().err
    assert "0 topics, 3 runs; 0 to judge: the documents that the runs retrieved for each topic\n" in said
    assert "the runs contain 2 topics without a text, such as 301, 302: nobody can judge them" in said


def init_with_topics(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str], topics: str, *, runs: tuple[str, ...]
) -> tuple[str, str]:
    """What `init` says of these topics and of runs that number them so; then what `status` says."""
    (files / "topics.tsv").write_text(topics)
    lines = [f"{topic} Q0 d{rank:02} {rank} {9 - rank} r\n" for topic in runs for rank in range(3)]
    (files / "runs" / "bm25.txt").write_text("".join(lines))
    folder = tmp_path / "p"
    call(
        "judge", "init", folder, "--corpus", files / "docs.jsonl", "--topics", files / "topics.tsv",
        "--runs", files / "runs" / "bm25.txt",
    )  # fmt: skip
    said = capsys.readouterr().err
    call("judge", "status", folder, "--format", "json")
    return said, capsys.readouterr().out


def test_init_compares_topics_and_runs_both_ways_and_counts_as_status_does(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Cranfield's query file does, whose ids are not the positions that runs and judgments use."""
    topics = "1\tflutter\n2\twhales\n4\treefs\n8\ttides\n"
    said, status = init_with_topics(tmp_path, files, capsys, topics, runs=("1", "2", "3", "4"))
    assert "9 to judge" in said  # of 1, 2 and 4: nobody can judge 3, which has no text
    assert "the runs contain 1 topic more without a text, such as 3" in said
    assert 'no run has 1 topic of the project, such as 8 "tides"' in said
    assert '3 in the runs would be 4 "reefs"; 4 in the runs would be 8 "tides"' in said
    assert "the wrong question for 1 topic:" in said
    found = json.loads(status)["topics"]
    assert found["left"] == sum(row["left"] for row in found["rows"]) == 9
    assert {row["topic"]: row["left"] for row in found["rows"]}["3"] == 0


def test_init_shows_titles_of_topics_that_may_be_others(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, _ = init_with_topics(tmp_path, files, capsys, "5\tflutter\n6\twhales\n", runs=("5", "7"))
    assert "check that these mean the same questions" in said
    assert '5 "flutter"' in said
    assert 'no run has 1 topic of the project, such as 6 "whales"' in said


def test_init_says_nothing_of_topics_that_agree_or_of_none(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, _ = init_with_topics(tmp_path, files, capsys, "301\tflutter\n302\twhales\n", runs=("302", "301"))
    assert "no run has" not in said
    assert "without a text" not in said
    assert "in the runs would be" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scale", "1"], "scale '1' has 1 grade; expected 2 to 10"),
        (["--order", "mct"], "unknown strategy 'mct'"),
        (["-P", "strata"], "parameter 'strata': expected NAME=VALUE"),
        (["-P", "rate=0.5"], "unknown parameter of the order mtc: 'rate'"),
        (["--order", "uniform-sample", "-P", "rate=x"], "the order uniform-sample does not accept rate=x"),
        (["--order", "uniform-sample", "-P", "rate=7"], "a sampling rate of 7.0; expected more than 0"),
        (["--level", "3"], "level 3 is not on the scale"),
        (["--runs", "nowhere.run"], "nowhere.run"),
        (["--measure", "nope"], "nope"),
        (["--database", "postgresql:///x?host=/nowhere"], "the database cannot be reached"),
        (
            ["--database", "mysql://me:secret@host/x"],
            "database mysql://me@host/x: expected an address such as postgresql://",
        ),
        (["--database", "other.sqlite"], "database other.sqlite: expected an address such as postgresql://"),
        (["--database", "password='my secret' host=h"], "database password=... host=h: expected an address"),
        (
            ["--database", "postgresql://me:my secret@h/x"],
            "database postgresql://me@h/x: the address contains blanks",
        ),
        (["--overlap", "21"], "overlap 21: expected 1 to 20 assessors per document"),
        (["--depth", str(10**6)], "a depth of 1 to 100,000"),
        (["--depth", str(10**20)], "'--depth'"),
        (["--lease", "1441"], "lease of 1441 minutes: expected more than 0 and at most 1,440"),
        (["--lease", "nan"], "'--lease'"),
        (["--lease", "inf"], "'--lease'"),
        (["--title", " "], "title ' ': expected one line of 1 to 200 characters"),
        (["--title", "a\nb"], "expected one line of 1 to 200 characters"),
        (["--title", "x" * 201], "(201 characters): expected one line of 1 to 200 characters"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_left(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(
            [
                "judge",
                "init",
                str(tmp_path / "p"),
                "--corpus",
                str(files / "docs.jsonl"),
                "--runs",
                str(files / "runs"),
                *options,
            ]
        )
    assert left.value.code in (1, 2)
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("Error: ")
    assert message in said
    assert "secret" not in said
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--overlap", "21", "overlap 21: expected 1 to 20"),
        ("--lease", "1441", "lease of 1441 minutes: expected more than 0"),
        ("--title", "x" * 201, "expected one line of 1 to 200 characters"),
    ],
)
def test_no_setting_is_changed_beyond_its_limits(
    project: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    with open_project(project) as opened:
        before = opened.store.last_sequence()
    call("judge", "settings", project, option, value, expect=1)
    assert message in capsys.readouterr().err
    with open_project(project) as opened:
        assert opened.store.last_sequence() == before


def test_users_are_added_listed_changed_and_forgotten(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("judge", "user", project)
    assert "no users yet" in capsys.readouterr().out
    call("judge", "user", project, "Jane", "--role", "organizer", "--url", "https://judge.example/")
    first = capsys.readouterr().out.strip()
    assert first.startswith("https://judge.example/welcome/")
    call("judge", "user", project, "bob", "--topics", "all", "--quiet")
    capsys.readouterr()
    call("judge", "user", project, "bob", "--topics", "302")
    call("judge", "user", project, "bob", "--disable")
    call("judge", "user", project, "--format", "csv")
    rows = capsys.readouterr().out.splitlines()
    assert rows[1:] == ["Jane,organizer,assessor-1,0,0,invited", "bob,assessor,assessor-2,0,0,disabled"]
    call("judge", "user", project, "jane", "--link", "--quiet")
    assert capsys.readouterr().out.strip() not in ("", first)
    call("judge", "user", project, "Jane", "--erase", "--yes", expect=1)
    assert "Jane is the last organizer; make somebody else an organizer first" in capsys.readouterr().err
    call("judge", "user", project, "ola", "--role", "organizer")
    call("judge", "user", project, "Jane", "--erase", "--yes")
    assert "erased Jane; the judgments stay, as those of assessor-1" in capsys.readouterr().err
    call("judge", "user", project, "Jane", "--enable", expect=1)
    assert "no user 'Jane'; known users: bob, ola" in capsys.readouterr().err
    call("judge", "user", project, "assessor-1", expect=1)
    assert "'assessor-1' could be another person's pseudonym" in capsys.readouterr().err
    call("judge", "user", project, "carl", "--topics", "999", expect=1)
    assert "no topic '999'" in capsys.readouterr().err
    call("judge", "user", project, "--erase", expect=2)
    assert "--erase changes one user; add the NAME" in capsys.readouterr().err
    call("judge", "user", project, "--format", "csv")
    assert "carl" not in capsys.readouterr().out


def test_every_change_of_a_user_is_told_and_no_other_is_made(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*options: str) -> str:
        call("judge", "user", project, "ann", *options)
        return capsys.readouterr().err.splitlines()[-1]

    assert told() == "ann: assessor, 0 topics to judge; sign-in: invited; in the log: assessor-1"
    assert told("--role", "organizer") == "ann: organizer; sign-in: invited; in the log: assessor-1"
    assert told() == "ann: organizer; sign-in: invited; in the log: assessor-1"  # nobody is demoted by asking
    call("judge", "user", project, "olga", "--role", "organizer", "--quiet")
    assert "ann: assessor, 2 topics to judge" in told("--role", "assessor", "--topics", "all")
    assert told("--disable").endswith("sign-in: disabled; in the log: assessor-1")
    assert told("--enable").endswith("sign-in: invited; in the log: assessor-1")
    call("judge", "user", project, "ann", "--quiet")
    assert capsys.readouterr().err == ""
    call("judge", "user", project, " ", expect=1)
    assert "the name of a user is empty; give at least one character" in capsys.readouterr().err
    call("judge", "user", project, "a\tb", expect=1)
    assert r"Error: the name 'a\tb' contains the control character '\t';" in capsys.readouterr().err


def test_a_user_is_written_where_and_as_it_is_asked_for(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, table = tmp_path / "jane.txt", tmp_path / "jane.csv"
    call("judge", "user", project, "jane", "-o", text, "--url", "https://judge.example")
    assert capsys.readouterr().out == ""
    assert re.fullmatch(r"https://judge\.example/welcome/\S+\n", text.read_text())
    call("judge", "user", project, "jane", "--link", "--topics", "302", "--format", "json")
    [row] = json.loads(capsys.readouterr().out)["rows"]
    link = row.pop("link")
    assert re.fullmatch(r"http://127\.0\.0\.1:8000/welcome/\S+", link)
    known = {"user": "jane", "role": "assessor", "in the log": "assessor-1", "topics": 1, "judged": 0}
    assert row == {**known, "sign-in": "invited"}
    call("judge", "user", project, "jane", "--link", "-o", table)
    header, line = table.read_text().splitlines()
    assert header == "user,role,in the log,topics,judged,sign-in,link"
    assert line.startswith("jane,assessor,assessor-1,1,0,invited,http://127.0.0.1:8000/welcome/")
    call("judge", "user", project, "jane", "--disable", "--format", "csv")
    assert capsys.readouterr().out.splitlines()[1:] == ["jane,assessor,assessor-1,0,0,disabled"]
    call("judge", "user", project, "jane", "--enable", "-o", text)
    assert text.read_text().split("\n")[2].split() == ["jane", "assessor", "assessor-1", "1", "0", "invited"]
    call("judge", "user", project, "jane", "--erase", "--yes", "--format", "csv")
    assert capsys.readouterr().out.splitlines()[1].endswith("assessor,assessor-1,0,0,erased")


def test_who_erases_somebody_while_another_program_reads_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "WAL")
    for name in ("jane", "joan"):
        call("judge", "user", project, name, "--quiet")
    with reading(project / "judging.sqlite"):
        call("judge", "user", project, "jane", "--erase", "--yes")
        assert "judging.sqlite-wal still contains the name" in capsys.readouterr().err
    call("judge", "user", project, "joan", "--erase", "--yes")
    assert "still tells" not in capsys.readouterr().err


def test_a_link_goes_into_a_file_of_any_name_and_a_table_does_not(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ann.link"
    call("judge", "user", project, "ann", "-o", file, "--quiet")
    first = file.read_text()
    assert re.fullmatch(r"http://127\.0\.0\.1:8000/welcome/\S+\n", first)
    call("judge", "user", project, "ann", "--link", "-o", file, "--quiet")
    assert re.fullmatch(r"http://\S+/welcome/\S+\n", file.read_text())
    assert file.read_text() != first
    for words in (["ann", "--role", "organizer"], []):
        call("judge", "user", project, *words, "-o", tmp_path / "ann.list", expect=2)
        assert "no format has the suffix '.list'; use .csv" in capsys.readouterr().err
    assert not (tmp_path / "ann.list").exists()
    call("judge", "user", project, "-o", tmp_path / "ann.list", "--format", "csv")
    assert "ann,assessor," in (tmp_path / "ann.list").read_text()  # what was refused changed nothing


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["user", "DIR", "--url", "https://judge.example"], "--url changes one user; add the NAME"),
        (["user", "DIR", "bob", "--url", "https://judge.example"], "add --link"),
        (["import", "DIR", "--topics", "x", "--run-format", "trec"], "--run-format needs --runs"),
        (["import", "DIR", "--topics", "x", "--qrels-format", "trec"], "--qrels-format needs --qrels"),
        (["init", "DIR/p", "--corpus", "x", "--run-format", "trec"], "--run-format needs --runs"),
    ],
)
def test_an_option_that_could_change_nothing_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    call("judge", "user", project, "bob", "--quiet")
    call("judge", *(word.replace("DIR", str(project)) for word in words), expect=2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["user"], ["topics"], ["order"], ["settings"], ["status"]])
def test_quiet_leaves_the_remarks_below_a_table_out(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    remarks = r"^(no users yet|.*no assessor|new topics|.*lease: |0 documents judged|No confidence|Confidence in the ranking)"
    call("judge", *words, project)
    assert re.search(remarks, capsys.readouterr().out, re.MULTILINE)
    call("judge", *words, project, "--quiet")
    assert not re.search(remarks, capsys.readouterr().out, re.MULTILINE)


def test_runs_that_name_files_with_their_suffix_are_told_what_the_ids_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "h"
    folder.mkdir()
    (folder / "a.txt").write_text("Seals\n\ntext")
    (folder / "d.html").write_text("<!DOCTYPE html><html><body>whales</body></html>")
    (tmp_path / "x.run").write_text("1 Q0 d.html 1 2 x\n1 Q0 a 2 1 x\n")
    call("judge", "init", tmp_path / "p", "--corpus", folder, "--runs", tmp_path / "x.run")
    said = capsys.readouterr().err
    assert said.startswith("2 documents, ")
    hint = "such as d.html of topic 1; it has d, because the id of a file is its name without the suffix\n"
    assert f"not in the corpus: 1 document of the runs, {hint}" in said
    (tmp_path / "y.run").write_text("1 Q0 a.txt 1 2 y\n1 Q0 b.txt 2 1 y\n")
    call("judge", "import", tmp_path / "p", "--runs", tmp_path / "y.run")
    said = capsys.readouterr().err
    assert "2 documents not in the corpus, such as a.txt of topic 1; it has a, because" in said


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (("bees/whales-01.md", "whales/whales-01.txt"), "in bees/whales-01.md and in whales/whales-01.txt"),
        (("a.txt", "more.jsonl", "two.jsonl"), "in more.jsonl and in two.jsonl"),
        (("two.jsonl", "a.txt"), "in two.jsonl"),
    ],
)
def test_a_document_that_stands_twice_is_named_with_both_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...], place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    line = '{"id": "whales-01", "text": "x"}\n'
    content = {"more.jsonl": line, "two.jsonl": line * 2}
    for name in names:
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(content.get(name, "a text"))
    monkeypatch.chdir(tmp_path / "docs")
    call("judge", "init", tmp_path / "p", "--corpus", "*", expect=1)
    assert capsys.readouterr().err == (
        f"Error: document 'whales-01' stands twice {place}; expected it once\n"
    )
    assert not (tmp_path / "p").exists()


def test_an_empty_file_is_a_document_and_init_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    for name, text in (("a.txt", ""), ("b.html", "<html><body></body></html>"), ("c.txt", "whales")):
        (tmp_path / "docs" / name).write_text(text)
    call("judge", "init", tmp_path / "p", "--corpus", tmp_path / "docs")
    said = capsys.readouterr().err
    assert said.startswith("3 documents, ")
    assert "\nwithout a text: 2 documents of the corpus, such as 'a'\n" in said
    call("judge", "init", tmp_path / "q", "--corpus", tmp_path / "docs", "--quiet")
    assert capsys.readouterr().err == ""


def test_a_chosen_topic_that_no_run_has_is_named(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.tsv").write_text("N001\tseals\n")
    call("judge", "import", project, "--topics", tmp_path / "more.tsv", "--quiet")
    note = "No run has documents for topic N001, so there is nothing to judge."
    for words in (["status", project], ["topics", project]):
        call("judge", *words)
        assert note in capsys.readouterr().out
    call("judge", "topics", project, "--drop", "N001")
    assert "No run has" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--erase", "--enable"], "--erase and --enable exclude each other"),
        (["--erase", "--disable"], "--erase and --disable exclude each other"),
        (["--erase", "--role", "organizer"], "--erase and --role exclude each other"),
        (["--erase", "--link", "--yes"], "--erase and --link exclude each other"),
        (["--disable", "--link"], "--disable and --link exclude each other"),
        (["--yes"], "--yes needs --erase"),
        (["--erase"], "confirm with --yes"),
    ],
)
def test_nobody_is_erased_by_an_option_that_contradicts_or_without_being_asked(
    project: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    call("judge", "user", project, "bob")
    call("judge", "user", project, "bob", *options, expect=2)
    assert message in capsys.readouterr().err
    call("judge", "user", project, "--format", "csv")
    assert "bob,assessor,assessor-1,0,0,invited" in capsys.readouterr().out


def test_a_project_without_its_corpus_is_not_served_and_not_verified(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "corpus.sqlite").rename(project / "elsewhere")
    call("judge", "serve", project, "--port", 0, expect=1)
    assert "corpus.sqlite: the corpus is missing; make the project anew or restore" in capsys.readouterr().err
    call("judge", "verify", project, expect=1)
    assert "corpus.sqlite: the corpus is missing" in capsys.readouterr().out


def test_another_corpus_is_found_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(project / "corpus.sqlite") as corpus:
        corpus.execute("UPDATE document SET text = 'another text' WHERE doc = 'd01'")
    corpus.close()
    call("judge", "serve", project, "--port", 0, expect=1)
    assert "corpus.sqlite: not the corpus the project was created with" in capsys.readouterr().err
    call("judge", "verify", project, expect=1)
    assert "corpus.sqlite: not the corpus the project was created with" in capsys.readouterr().out
    record = json.loads((project / "project.json").read_text())
    del record["corpus"]
    (project / "project.json").write_text(json.dumps(record))
    call("judge", "verify", project, expect=1)  # the log knows it as well
    (project / "corpus.sqlite").write_bytes(b"no database at all " * 100)
    call("judge", "verify", project, expect=1)
    assert "the corpus cannot be read (file is not a database)" in capsys.readouterr().out


def test_an_export_of_what_the_log_does_not_have_yet_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_some(project)
    call("judge", "export", project, "qrels", "--event", 99999, expect=1)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Error: --event 99999: the log ends with event 12; give at most 12\n")
    call("judge", "export", project, "qrels", "--event", 12)


def test_a_backup_that_cannot_be_written_says_which_file(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "nowhere" / "copy"
    call("judge", "backup", project, target, expect=1)
    assert capsys.readouterr().err == f"Error: {target} cannot be written: No such file or directory\n"


def test_a_database_that_cannot_be_reached_is_said_without_a_word_of_judgments(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require("psycopg")
    call(
        "judge", "init", tmp_path / "p", "--corpus", files / "docs.jsonl", "--database",
        f"postgresql://jane:secret@/x?host={tmp_path}", expect=1,
    )  # fmt: skip
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("Error: postgresql://jane@/x")
    assert "the database cannot be reached" in said
    assert "submission" not in said
    assert "secret" not in said
    assert not (tmp_path / "p").exists()


def test_only_the_owner_may_read_what_passwords_are_kept_in(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    call("judge", "backup", project, copy, "--quiet")
    with open_project(project) as opened:
        modes = {copy.name: stat.S_IMODE(copy.stat().st_mode)}
        with opened.store.together():
            opened.store.add_user("ann", "assessor", "hash")
            modes |= {
                path.name: stat.S_IMODE(path.stat().st_mode) for path in project.glob("judging.sqlite*")
            }
    for form, more in (("link.txt", ()), ("row.csv", ("--format", "csv"))):
        call("judge", "user", project, "ann", "--link", "-o", tmp_path / form, *more)
        modes[form] = stat.S_IMODE((tmp_path / form).stat().st_mode)
    modes["corpus"] = stat.S_IMODE((project / "corpus.sqlite").stat().st_mode)
    assert len(modes) >= 6  # the journal, or the log and its index, as well
    assert set(modes.values()) == {0o600}


def test_imported_judgments_are_in_the_model_at_once(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{topic} 0 d{number:02} {number % 2}\n" for topic in TOPICS for number in range(6)]
    (tmp_path / "old.qrels").write_text("".join(rows))
    call("judge", "import", project, "--qrels", tmp_path / "old.qrels", "--quiet")
    capsys.readouterr()
    call("judge", "status", project, "--view", "runs", "--format", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["fitted"] == found["fittable"] > 8


@pytest.mark.parametrize(("answer", "left"), [("n\n", "bob"), ("y\n", "assessor-1")])
def test_erasing_asks_at_a_terminal(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str, left: str
) -> None:
    call("judge", "user", project, "bob")
    asked = io.StringIO(answer)
    monkeypatch.setattr(asked, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", asked)
    call("judge", "user", project, "bob", "--erase", expect=130 if left == "bob" else 0)
    capsys.readouterr()
    call("judge", "user", project, "--format", "csv")
    assert f"\n{left},assessor," in capsys.readouterr().out


def test_an_export_goes_into_a_pipe_and_does_not_take_its_place(project: Path, tmp_path: Path) -> None:
    judge_some(project)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    call("judge", "export", project, "qrels", "-o", tmp_path / "pipe", "--quiet")
    assert len(os.read(reader, 10_000).splitlines()) == 6
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "pipe", "project"]


def test_exports_go_to_a_file_or_to_standard_output(
    project: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    judge_some(project)
    call("judge", "export", project, "qrels", "-o", tmp_path / "qrels.txt")
    assert b"6 lines, as of event 12" in capfdbinary.readouterr().err
    assert len(read_qrels(tmp_path / "qrels.txt").docs) == 6
    call("judge", "export", project, "qrels")
    assert capfdbinary.readouterr().out == (tmp_path / "qrels.txt").read_bytes()
    call("judge", "export", project, "qrels", "-o", "-", "--quiet")  # prints, and makes no file "-"
    assert capfdbinary.readouterr() == ((tmp_path / "qrels.txt").read_bytes(), b"")
    call("judge", "export", project, "qrels", "--event", 8)
    assert len(capfdbinary.readouterr().out.splitlines()) == 2
    call("judge", "export", project, "log", "-o", tmp_path / "log.jsonl", "--quiet")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["project", *["topic"] * 2, *["run"] * 3, *["judge"] * 6]
    call("judge", "export", project, "prels")
    assert b"no prels: no topic is judged by a sample" in capfdbinary.readouterr().err
    call("judge", "export", project, "qrels", "-o", tmp_path / "no" / "where", expect=1)
    assert b"cannot be written" in capfdbinary.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "log.jsonl", "project", "qrels.txt"]


def test_only_tables_for_people_cut_a_title(
    project: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    title = "how the flutter of a long wing behaves " * 5
    (files / "long.tsv").write_text(f"301\t{title}\n")
    call("judge", "import", project, "--topics", files / "long.tsv")
    capsys.readouterr()
    for words in (["topics", project], ["status", project, "--view", "topics"]):
        call("judge", *words)
        assert title.strip() not in " ".join(capsys.readouterr().out.split())
        for form in ("csv", "json", "jsonl"):
            call("judge", *words, "--format", form)
            assert title.strip() in capsys.readouterr().out


def test_runs_topics_and_judgments_are_added_later(
    project: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_some(project, 2)
    (files / "new.txt").write_text("301 Q0 d11 1 1.0 new\n")
    (files / "more.tsv").write_text("301\tflutter\n303\treefs\n")
    (files / "old.qrels").write_text("301 0 d05 2\n301 0 d06 -1\n")
    call(
        "judge", "import", project, "--runs", files / "new.txt", "--topics", files / "more.tsv",
        "--qrels", files / "old.qrels",
    )  # fmt: skip
    said = capsys.readouterr().err
    assert "2 topics read, 1 new or changed" in said
    assert "1 run added" in said
    assert "old.qrels: 1 judgment, 1 new or changed" in said
    call("judge", "import", project, "--runs", files / "new.txt", expect=1)
    assert "there is a run 'new' already" in capsys.readouterr().err
    call("judge", "import", project, expect=2)
    assert "nothing to import" in capsys.readouterr().err
    call("judge", "verify", project)
    assert "no differences" in capsys.readouterr().err


def test_runs_are_named_when_they_are_not_called_as_their_files(
    project: Path, tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = [files / "runs" / "bm25.txt", files / "runs" / "dense.txt"]
    call("judge", "import", project, "--runs", new[0], "--runs", new[1], "--name", "one", "--name", "two b")
    with open_project(project) as opened:
        assert opened.engine.run_names() == ("bm25", "dense", "fused", "one", "two b")
        lists = [opened.store.run(name) for name in ("bm25", "one", "dense", "two b")]
    assert lists[0] == lists[1] != lists[2] == lists[3]
    call(
        "judge", "init", tmp_path / "q", "--corpus", files / "docs.jsonl", "--runs", new[0], "--name", "x",
    )  # fmt: skip
    with open_project(tmp_path / "q") as opened:
        assert opened.engine.run_names() == ("x",)
    for words, problem in (
        (["--runs", new[0], "--name", "a", "--name", "b"], "--name: 2 names for 1 run; give one for each"),
        (["--runs", new[0], "--runs", new[1], "--name", "a", "--name", "a"], "--name a: two runs would have"),
        (["--runs", new[0], "--name", "a\nb"], "expected one line of 1 to 200 characters"),
        (["--runs", new[0], "--name", "bm25"], "there is a run 'bm25' already"),
    ):
        call("judge", "import", project, *words, expect=1)
        assert problem in capsys.readouterr().err
    call("judge", "import", project, "--topics", files / "topics.tsv", "--name", "a", expect=2)
    assert "--name needs --runs FILE" in capsys.readouterr().err


def test_status_shows_topics_and_the_order_of_the_runs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_some(project)
    call("judge", "status", project)
    text = capsys.readouterr().out
    assert "6 documents judged; 4 relevant; " in text
    assert "No confidence is stated" in text
    call("judge", "status", project, "--format", "json")
    tables = json.loads(capsys.readouterr().out)
    assert [row["topic"] for row in tables["topics"]["rows"]] == ["301", "302"]
    assert {row["run"] for row in tables["runs"]["rows"]} == {"bm25", "dense", "fused"}
    assert tables["topics"]["judged"] == 6


def test_csv_of_status_holds_the_one_table_that_was_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("judge", "status", project, "--format", "csv", expect=2)
    assert "csv holds one table; give --view topics or --view runs" in capsys.readouterr().err
    for view, header in (("runs", "run,expected,above the next"), ("topics", "topic,title,")):
        call("judge", "status", project, "--format", "csv", "--view", view)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(header)
        assert len(lines) == (4 if view == "runs" else 3)
        assert {line.count(",") for line in lines} == {lines[0].count(",")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--corpus", "runs/bm25.txt"], "bm25.txt:1: this is a run, not a document"),
        (["--corpus", "empty.jsonl"], "the corpus has 2 documents and no text"),
        (["--corpus", "docs.jsonl", "--level", "0"], "level 0 is the lowest grade"),
        (
            ["--corpus", "docs.jsonl", "-P", "strata=3"],
            "unknown parameter of the order mtc: 'strata'",
        ),
        (["--corpus", "docs.jsonl", "--topics", "docs.jsonl"], "docs.jsonl: this seems to be a corpus file"),
    ],
)
def test_files_in_the_wrong_place_are_named_in_one_line(
    tmp_path: Path,
    files: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (files / "empty.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n')
    monkeypatch.chdir(files)
    status = 2 if message.startswith("unknown") else 1  # wrong usage, or wrong input
    call("judge", "init", tmp_path / "p", *options, expect=status)
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_no_topics_at_all_are_not_taken_for_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call("judge", "user", project, "bob", "--topics", "", expect=2)
    assert "'--topics'" in capsys.readouterr().err
    call("judge", "user", project, "bob", "--topics", ",", expect=1)
    assert "--topics names no topic" in capsys.readouterr().err


def test_export_leaves_out_topics_that_are_not_in_use_and_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_some(project)
    with open_project(project) as opened:
        opened.store.save_topic("302", title="whales", status="dropped")
    call("judge", "export", project, "qrels")
    told = capsys.readouterr()
    assert {line.split()[0] for line in told.out.splitlines()} == {"301"}
    assert "1 judged topic not in use (candidate or dropped), such as 302" in told.err
    call("judge", "export", project, "qrels", "--all-topics")
    told = capsys.readouterr()
    assert {line.split()[0] for line in told.out.splitlines()} == {"301", "302"}
    assert "not in use" not in told.err
    call("judge", "export", project, "prels")
    told = capsys.readouterr()
    assert told.err == "no prels: no topic is judged by a sample; choose one with: sounding judge order\n"
    call("judge", "order", project, "uniform-sample", "-P", "rate=1", "--topic", "301")
    call("judge", "export", project, "prels")
    assert "not in use" not in capsys.readouterr().err  # 302 has no sample either way
    call("judge", "order", project, "uniform-sample", "-P", "rate=1", "--topic", "302")
    call("judge", "export", project, "prels")
    assert "1 judged topic not in use (candidate or dropped), such as 302" in capsys.readouterr().err


def test_import_names_topics_and_documents_that_the_project_does_not_have(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def values() -> list[float]:
        call("judge", "status", project, "--format", "json", "--view", "runs")
        rows = json.loads(capsys.readouterr().out)["rows"]
        return [row["expected"] for row in rows if row["run"] in ("bm25", "dense", "fused")]

    before = values()
    run = tmp_path / "strange.txt"
    run.write_text(
        "".join(f"{topic} Q0 {doc} 1 9 strange\n" for topic, doc in (("301", "d01"), ("999", "d01")))
    )
    call("judge", "import", project, "--runs", run)
    assert "1 run added; 1 topic left out, such as 999: not in the project" in capsys.readouterr().err
    assert values() == pytest.approx(before, abs=0.05)  # a topic that nobody judges would take a third
    with open_project(project) as opened:
        assert opened.engine.topics() == TOPICS
    run = tmp_path / "elsewhere.txt"
    run.write_text("301 Q0 nowhere 1 9 elsewhere\n")
    call("judge", "import", project, "--runs", run)
    assert "1 document not in the corpus, such as nowhere of topic 301" in capsys.readouterr().err
    run = tmp_path / "other.txt"
    run.write_text("999 Q0 d01 1 9 other\n")
    call("judge", "import", project, "--runs", run, expect=1)
    assert (
        "run 'other' has none of the project's topics; it has '999', the project '301', '302'\n"
        in capsys.readouterr().err
    )
    (tmp_path / "several").mkdir()
    (tmp_path / "several" / "good.txt").write_text("301 Q0 d01 1 9 good\n")
    (tmp_path / "several" / "bad.txt").write_text("998 Q0 d01 1 9 bad\n")
    call("judge", "import", project, "--runs", tmp_path / "several", expect=1)
    assert "run 'bad' has none of the project's topics; it has '998'," in capsys.readouterr().err
    qrels = tmp_path / "old.qrels"
    qrels.write_text("301 0 d01 1\n301 0 nowhere 1\n999 0 d01 1\n")
    call("judge", "import", project, "--qrels", qrels)
    said = capsys.readouterr().err
    assert "2 judgments, 2 new or changed; 1 topic left out, such as 999" in said
    assert "1 document not in the corpus, such as nowhere of topic 301" in said
    qrels.write_text("999 0 d01 1\n")
    call("judge", "import", project, "--qrels", qrels, expect=1)
    assert "old.qrels has none of the project's topics; it has '999', the project '301', '302'\n" in (
        capsys.readouterr().err
    )
    with open_project(project) as opened:
        for name in ("100", "200"):  # which nobody judges
            opened.store.save_topic(name, title="x")
        for name in ("310", "311", "312"):
            opened.store.save_topic(name, title="x", status="chosen")
    call("judge", "import", project, "--qrels", qrels, expect=1)
    assert "it has '999', the project '301', '302', '310' and 2 more\n" in capsys.readouterr().err
    qrels.write_text("301 0 d01 1\n\n301 0 d02 7\n")
    call("judge", "import", project, "--qrels", qrels, expect=1)
    said = capsys.readouterr().err
    assert said == f"Error: {qrels}:3: grade 7 is not on the scale; expected one of 0, 1, 2\n"


def test_what_comes_in_with_an_id_that_is_no_good_is_one_line_with_its_place(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_project(project) as opened:
        before = opened.store.last_sequence()
    for option, content in (
        ("--runs", b"301 Q0 d01 1 9 r\n301 Q0 caf\xe9 2 8 r\n"),
        ("--qrels", b"301 0 d01 1\n301 0 caf\xe9 1\n"),
    ):
        (tmp_path / "bad.txt").write_bytes(content)
        call("judge", "import", project, option, tmp_path / "bad.txt", expect=1)
        said = capsys.readouterr().err
        assert r"bad.txt:2: doc id 'caf\xe9' is not UTF-8; save the file as UTF-8" in said
        assert len(said.splitlines()) == 1
    with open_project(project) as opened:
        assert opened.store.last_sequence() == before


def test_it_is_said_whose_judgments_a_file_has(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels = tmp_path / "old.qrels"
    for grade, expect in ((1, 0), (0, 1)):
        qrels.write_text(f"301 0 d01 {grade}\n")
        call("judge", "import", project, "--qrels", qrels, expect=expect)
    said = capsys.readouterr().err
    assert "old.qrels:1: document 'd01' has grade 0, but 1 in an earlier file of this name" in said
    assert "if the file has changed, add --assessor old.qrels" in said
    call("judge", "import", project, "--qrels", qrels, "--assessor", "berta")
    call("judge", "import", project, "--qrels", qrels, "--qrels", qrels, "--assessor", "berta", expect=2)
    capsys.readouterr()
    call("judge", "export", project, "assessors")
    assert capsys.readouterr().out == "301 import-old.qrels d01 1\n301 import-berta d01 0\n"
    call("judge", "import", project, "--qrels", qrels, "--assessor", "old.qrels")
    capsys.readouterr()
    call("judge", "export", project, "assessors")
    assert capsys.readouterr().out == "301 import-old.qrels d01 0\n301 import-berta d01 0\n"


def test_verify_names_every_difference_and_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge_some(project)
    call("judge", "verify", project)
    assert (
        "no differences: replayed 12 events in two processes, repeated 6 choices" in capsys.readouterr().err
    )
    with open_project(project) as opened, opened.store._database.write() as run:
        run("DROP TRIGGER event_update")
        run("UPDATE event SET doc = 'other' WHERE sequence = 8")
    call("judge", "verify", project, expect=1)
    told = capsys.readouterr()
    assert "other was chosen as number" in told.out
    assert "differences" in told.err


def test_a_backup_is_never_written_over(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_some(project)
    call("judge", "backup", project, tmp_path / "copy.sqlite")
    assert capsys.readouterr().err.endswith("copy.sqlite: contains everything up to event 12\n")
    call("judge", "backup", project, tmp_path / "copy.sqlite", expect=1)
    assert "there is a file already" in capsys.readouterr().err
    call("judge", "backup", project, tmp_path, expect=2)
    assert f"File '{tmp_path}' is a directory" in capsys.readouterr().err


def test_a_backup_says_what_came_while_it_was_made(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = Store.backup

    def meanwhile(store: Store, target: Path) -> None:
        backup(store, target)
        store.set_status("302", "dropped")

    monkeypatch.setattr(Store, "backup", meanwhile)
    call("judge", "backup", project, tmp_path / "copy.sqlite")
    told = "everything up to event 6; events up to 7 arrived during the backup and may be missing\n"
    assert capsys.readouterr().err.endswith(told)


def test_a_folder_without_a_project_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["status"], ["verify"], ["user"], ["serve"]):
        call("judge", *words, tmp_path, expect=1)
        assert "not a judging project" in capsys.readouterr().err
