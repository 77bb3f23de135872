"""One document, several subtopics: their grades are kept, undone and exported together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import Browser, add_person, make_project, signed_in

from sounding import evaluate
from sounding.core.errors import DataError, FormatError
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS, Omitted, omission_note
from sounding.judge.flow import _contents
from sounding.judge.marks import describe_marks
from sounding.judge.project import Project, import_log, import_qrels
from sounding.judge.settings import Feed
from sounding.judge.store import Store
from sounding.judge.subtopics import Subtopic, read_subtopics, subtopics_of
from sounding.judge.verify import verify

TABLE = "topic\tsubtopic\ttext\nMB001\ta\thow whales react\nMB001\tb\tlaws at sea\n303\t1\tany\n"


@pytest.fixture
def by_intent(store: Store) -> Engine:
    return begin(store, kind="subtopics", overlap=2)


def give(engine: Engine, who: str, doc: str, key: str, **parts: float) -> Any:
    grade = max(parts.values()) if parts else None
    return engine.judge(who, "7", doc, grade, key=key, marks={"subtopics": parts} if parts else {})


def exported(store: Store, name: str = "intents", until: int | None = None) -> list[str]:
    return [line.strip() for line in EXPORTS[name](store, until)]


# ---- files


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.partition("\n")[2],
        '<topics><topic number="MB001"><query>q</query><subtopic number="a" type="inf">how whales\n <b>react</b></subtopic>'
        '<subtopic number="b">laws at sea</subtopic></topic><topic number="303"><subtopic number="1">any</subtopic></topic></topics>',
    ],
)
def test_tables_and_trecs_topics_say_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert read_subtopics(str(tmp_path / "x")) == {
        "MB001": [Subtopic("a", "how whales react"), Subtopic("b", "laws at sea")],
        "303": [Subtopic("1", "any")],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\ta\tx\n1\ta\ty\n", r"x:2: subtopic 'a' of topic '1' is there twice"),
        ("1 a x\n", r"x:1: .* separated by tabs"),
        ("1\ta\t \n", "has no text"),
        ("1\ta b\tx\n", "subtopic id 'a b' contains blanks"),
        ("\n", "no subtopics"),
        ("<topics></topics>", "no subtopics"),
        ("".join(f"1\t{number}\tx\n" for number in range(51)), "x:51: .* more than 50"),
    ],
)
def test_what_makes_no_sense_in_a_file_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(FormatError, match=words):
        read_subtopics(str(tmp_path / "x"))


def test_entities_of_markup_are_characters(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(
        '<topic number="1"><subtopic number="a">AT&amp;T &lt; 5&#37;</subtopic></topic>'
    )
    assert read_subtopics(str(tmp_path / "x")) == {"1": [Subtopic("a", "AT&T < 5%")]}


# ---- the log


def test_grades_of_subtopics_are_changed_and_undone_together(by_intent: Engine, store: Store) -> None:
    engine = by_intent
    first = give(engine, "assessor-1", "d01", "one", a=2, b=0)
    assert (first.event.grade, first.event.marks) == (2, {"subtopics": {"a": 2, "b": 0}})
    assert give(engine, "assessor-1", "d01", "one", a=2, b=0).repeated
    assert give(engine, "assessor-1", "d01", "same", a=2, b=0).repeated
    changed = give(engine, "assessor-1", "d01", "two", a=2, b=2)  # the same highest grade is a change as well
    assert not changed.repeated
    assert exported(store) == ["7 a d01 2", "7 b d01 2"]
    undone = engine.withdraw("assessor-1", "7", key="undo")
    assert undone is not None
    assert (undone.event.undid, undone.event.grade) == ("change", 2)
    assert [one.marks for one in store.standing()] == [{"subtopics": {"a": 2, "b": 0}}]
    give(engine, "assessor-1", "d01", "four", a=1, b=2)
    assert exported(store) == ["7 a d01 1", "7 b d01 2"]
    assert exported(store, "qrels") == ["7 0 d01 2"]
    assert exported(store, until=undone.event.sequence) == ["7 a d01 2", "7 b d01 0"]
    assert found_by(engine, store) == found_by_replay(store)


@pytest.mark.parametrize(
    ("feed", "expected"),
    [
        ("first", ["7 a d01 2", "7 b d01 0"]),
        ("majority", ["7 a d01 2", "7 b d01 1"]),
        ("adjudicated", ["7 a d01 2"]),  # all three agree on a, and nobody settles single subtopics
    ],
)
def test_each_subtopic_has_the_grade_that_counts(store: Store, feed: Feed, expected: list[str]) -> None:
    engine = begin(store, kind="subtopics", overlap=3, feed=feed)
    for number, b in enumerate((0, 1, 1), 1):
        give(engine, f"assessor-{number}", "d01", f"key-{number}", a=2, b=b)
    give(engine, "assessor-1", "d02", "cannot")
    assert exported(store) == expected


def test_a_document_graded_only_as_a_whole_has_no_intent_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "subtopics.tsv").write_text(TABLE)
    (tmp_path / "old.qrels").write_text("MB001 0 d07 1\n304 0 d07 1\n")
    with make_project(tmp_path, subtopics=str(tmp_path / "subtopics.tsv"), kind="subtopics") as project:
        import_qrels(project, str(tmp_path / "old.qrels"))
        parts = {"subtopics": {"a": 1.0, "b": 0.0}}
        project.engine.judge("assessor-1", "MB001", "d05", 1.0, key="one", marks=parts)
        omitted = Omitted()
        lines = list(EXPORTS["intents"](project.store, omitted=omitted))
    assert lines == ["304 0 d07 1\n", "MB001 a d05 1\n", "MB001 b d05 0\n"]
    assert (omitted.whole, omitted.total) == (1, 1)
    assert "1 graded only as a whole" in omission_note("intents", omitted)
    assert "Differences" not in omission_note("intents", Omitted(unsettled=2))


def test_subtopics_of_topics_that_the_project_lacks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "subtopics.tsv").write_text("MB001\ta\tx\nMB100\ta\ty\n")
    with pytest.raises(DataError, match=r"subtopics\.tsv: the project has no topic 'MB100'"):
        make_project(tmp_path, subtopics=str(tmp_path / "subtopics.tsv"), kind="subtopics")
    assert not (tmp_path / "project").exists()


def test_a_project_that_gets_its_topics_later_takes_their_subtopics(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "whales"}\n')
    (tmp_path / "subtopics.tsv").write_text("MB001\ta\tx\n")
    options = ["--corpus", str(tmp_path / "corpus.jsonl"), "--subtopics", str(tmp_path / "subtopics.tsv")]
    found = CliRunner().invoke(command, ["init", str(tmp_path / "project"), *options])
    assert found.exit_code == 0, found.output


def test_topics_without_subtopics_are_counted(sea_intents: Project) -> None:
    assert any("2 topics without subtopics, such as 304" in line for line in _contents(sea_intents))


@pytest.mark.parametrize("what", ["intents", "prefs"])
def test_an_export_that_the_project_does_not_have_is_an_error_and_writes_nothing(
    tmp_path: Path, what: str
) -> None:
    make_project(tmp_path).store.close()
    output = tmp_path / "x.txt"
    told = CliRunner().invoke(command, ["export", str(tmp_path / "project"), what, "-o", str(output)])
    assert (told.exit_code, output.exists()) == (1, False)


@pytest.mark.parametrize(
    ("lowest", "expected"), [(0, "About 3 of 3 subtopics"), (1, "About 1 of 3 subtopics")]
)
def test_subtopics_are_counted_from_the_lowest_grade_of_the_scale(lowest: float, expected: str) -> None:
    marks = {"subtopics": {"a": 1.0, "b": 2.0, "c": 1.0}}
    assert list(describe_marks(marks, lowest)) == [expected]


def test_exported_intents_are_evaluated(by_intent: Engine, store: Store, tmp_path: Path) -> None:
    grades = {"d01": (1, 0), "d02": (0, 0), "d03": (1, 1), "d04": (0, 1), "d05": (1, 0)}
    for doc, (a, b) in grades.items():
        give(by_intent, "assessor-1", doc, f"key-{doc}", a=a, b=b)
    path = tmp_path / "x.qrels"
    path.write_text("".join(EXPORTS["intents"](store)))
    run = {"run": {"7": {"d02": 5.0, "d03": 4.0, "d01": 3.0, "d04": 2.0}}}
    found = evaluate(str(path), run, ["StRecall@1", "StRecall@2", "alpha_DCG@4", "P_IA@4"])
    values = dict(zip(("one", "two", "gain", "precision"), found.values[0, :, 0], strict=True))
    assert (values["one"], values["two"]) == (0, 1)
    # Ranks 2 to 4 by hand: two new intents; a again, worth 1/2; b again, worth 1/2.
    # ndeval divides by what a ranking would gain in which every document had both intents.
    logs = [1, 1.5849625, 2, 2.3219281]
    most = sum(2 * 0.5**rank / log for rank, log in enumerate(logs))
    assert values["gain"] == pytest.approx((2 / logs[1] + 0.5 / logs[2] + 0.5 / logs[3]) / most, abs=1e-6)
    assert values["precision"] == pytest.approx((2 / 4 + 2 / 4) / 2)


# ---- the API


@pytest.fixture
def sea_intents(tmp_path: Path) -> Any:
    (tmp_path / "subtopics.tsv").write_text(TABLE)
    with make_project(tmp_path, subtopics=str(tmp_path / "subtopics.tsv"), kind="subtopics") as project:
        add_person(project, "ann", topics=("MB001", "304"))
        yield project


def judged(browser: Browser, key: str, grade: float | None, **more: Any) -> Any:
    topic = more.pop("topic", "MB001")
    doc = more.pop("doc", "d05")
    marks = {"marks": {"subtopics": more.pop("grades")}} if "grades" in more else {}
    content = {"topic": topic, "doc": doc, "grade": grade, "key": key, **marks, **more}
    return browser.send("/api/judge", content)


def test_the_server_takes_a_grade_for_each_subtopic_and_nothing_else(sea_intents: Project) -> None:
    ann = signed_in(sea_intents, "ann")
    for number, (grade, grades) in enumerate(
        [
            (1, {}),
            (1, {"a": 1}),
            (1, {"a": 1, "b": 0, "c": 0}),
            (2, {"a": 1, "b": 0}),
            (None, {"a": 1, "b": 0}),
            (9, {"a": 9, "b": 0}),
        ]
    ):
        assert judged(ann, f"key-wrong-{number}", grade, grades=grades).status_code == 400, grades
    assert judged(ann, "abcdefgh", 2, grades={"a": 2, "b": 0}).status_code == 200
    assert judged(ann, "abcdefgi", None, doc="d06").status_code == 200
    assert judged(ann, "abcdefgj", 1, topic="304").status_code == 200  # a topic without subtopics
    shown = ann.client.get("/api/document", params={"topic": "MB001", "doc": "d05"}).json()
    assert shown["marks"]["subtopics"] == {"a": 2, "b": 0}
    undone = ann.send("/api/undo", {"topic": "MB001", "doc": "d05", "key": "abcdefgk"}).json()
    assert undone["documents"][0]["marks"]["subtopics"] == {"a": 2, "b": 0}  # to go on from
    assert not undone["documents"][0]["judged"]
    assert judged(ann, "abcdefgl", 1, grades={"a": 1, "b": 0}).status_code == 200
    assert exported(sea_intents.store) == ["304 0 d05 1", "MB001 a d05 1", "MB001 b d05 0"]
    assert subtopics_of(sea_intents.store, "303") == [Subtopic("1", "any")]
    assert verify(sea_intents).problems == ()


def test_a_log_brings_the_grades_of_subtopics(sea_intents: Project, tmp_path: Path) -> None:
    ann = signed_in(sea_intents, "ann")
    assert judged(ann, "abcdefgh", 2, grades={"a": 2, "b": 0}).status_code == 200
    (tmp_path / "log.jsonl").write_text("".join(EXPORTS["log"](sea_intents.store)))
    (tmp_path / "other").mkdir()
    with make_project(
        tmp_path / "other", subtopics=str(tmp_path / "subtopics.tsv"), kind="subtopics"
    ) as other:
        assert import_log(other, str(tmp_path / "log.jsonl")).changed == 1
        assert import_log(other, str(tmp_path / "log.jsonl")).changed == 0
        assert exported(other.store) == ["MB001 a d05 2", "MB001 b d05 0"]
