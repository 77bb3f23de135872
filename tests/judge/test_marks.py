"""Documents of labeled parts: contexts with grades of their own, spans that support a grade, and nuggets."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.judge.web import Browser, add_person, signed_in

from sounding.core.errors import DataError, FormatError
from sounding.data.corpus import Document
from sounding.data.labeled_parts import LabeledPart, members_of, parts_of
from sounding.judge import messages
from sounding.judge.exports import EXPORTS, Omitted
from sounding.judge.flow import _import_nuggets
from sounding.judge.marks import checked_marks, locate, shown_marks
from sounding.judge.nuggets import nuggets_of, read_nuggets, save_nuggets
from sounding.judge.project import Project, create_project, import_log
from sounding.judge.settings import Settings, parse_scale
from sounding.judge.texts import render_document
from sounding.judge.verify import verify

ANSWER = "Whales call louder when\n   ships pass [1].\n\n\u0054he n\u00f6ise \U0001f40b raises stress."
HOSTILE = "<script>alert(1)</script>\"'&"
NUGGETS = (
    "topic\tid\ttext\timportance\nT1\tn1\tWhales call louder\tvital\nT1\tn2\tNoise raises stress\tokay\n"
)
_keys = count(1)


def record(number: int) -> dict[str, Any]:
    return {
        "id": f"a{number}", "question": "Do whales hear ships?", "answer": ANSWER, "model": "secret-model",
        "contexts": [
            {"id": f"p{number}", "title": "Calls", "text": "We recorded calls.", "score": 0.9},
            f"Nobody heard {HOSTILE}.",
        ],
    }  # fmt: skip


def make(folder: Path, **settings: Any) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "c.jsonl").write_text("".join(json.dumps(record(one)) + "\n" for one in range(4)))
    (folder / "t.tsv").write_text("T1\tDo whales hear ships?\n")
    (folder / "run.txt").write_text("".join(f"T1 Q0 a{one} {one + 1} {9 - one} run\n" for one in range(4)))
    (folder / "n.tsv").write_text(NUGGETS)
    made = create_project(
        folder / "project", corpus=[str(folder / "c.jsonl")], topics=str(folder / "t.tsv"),
        runs=[str(folder / "run.txt")], fields="question,answer=Response,contexts",
        settings=Settings(scale=parse_scale("0=no,1=partly,2=yes"), **settings),
    )  # fmt: skip
    for name in ("ann", "bob"):
        add_person(made, name, topics=("T1",))
    return made


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Project]:
    with make(tmp_path, overlap=2) as project:
        save_nuggets(project.store, read_nuggets(str(tmp_path / "n.tsv")))
        yield project


def grading(doc: str, grade: float | None, **marks: Any) -> dict[str, Any]:
    more = {"marks": marks} if marks else {}
    return {"topic": "T1", "doc": doc, "grade": grade, "key": f"key-{next(_keys):08d}", **more}


def lines(project: Project, name: str, **given: Any) -> list[str]:
    return list(EXPORTS[name](project.store, None, **given))


# ---- reading records


def test_parts_are_the_named_members_in_their_order_and_items_of_lists_are_graded() -> None:
    entry = {
        "b": "text",
        "a": ["x", {"doc_id": 7, "passage": "y", "score": 3}, {"id": "two words", "text": "z"}],
        "c": "not asked",
    }
    assert parts_of(entry, members_of("a=Sources, b")) == (
        LabeledPart("a.1", "Source 1", "x", "", graded=True),
        LabeledPart("a.2", "Source 2", "y", "7", graded=True),
        LabeledPart("a.3", "Source 3", "z", "", graded=True),
        LabeledPart("b", "B", "text"),
    )  # fmt: skip
    ragas = {"retrieved_contexts": ["x", "y"], "retrieved_context_ids": ["p1", 2]}
    assert [(one.label, one.id) for one in parts_of(ragas, members_of("retrieved_contexts"))] == [
        ("Retrieved context 1", "p1"),
        ("Retrieved context 2", "2"),
    ]


@pytest.mark.parametrize("wrong", ["", " , ", "a,a", "a b", "=x"])
def test_fields_that_are_no_names_are_refused(wrong: str) -> None:
    with pytest.raises(DataError, match="fields"):
        members_of(wrong)


def test_a_record_without_any_of_the_fields_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "a", "answer": "x"}\n{"id": "b", "text": "y"}\n')
    with pytest.raises(FormatError, match=r"c.jsonl:2: .*'b' has none of the fields answer"):
        create_project(
            tmp_path / "p", corpus=[str(tmp_path / "c.jsonl")], topics=None, runs=[], fields="answer",
            settings=Settings(scale=parse_scale("0=no,1=yes")),
        )  # fmt: skip


def test_a_field_that_no_record_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(
        '{"id": "a", "answer": "x"}\n{"id": "b", "answer": "z", "contexts": ["y"]}\n'
    )
    given: dict[str, Any] = {
        "corpus": [str(tmp_path / "c.jsonl")], "topics": None, "runs": [],
        "settings": Settings(scale=parse_scale("0=no,1=yes")),
    }  # fmt: skip
    with pytest.raises(DataError, match="no document has the field 'answr'"):
        create_project(tmp_path / "p", fields="answr,answer", **given)
    assert not (tmp_path / "p").exists()
    create_project(tmp_path / "p", fields="answer,contexts", **given).store.close()


def test_the_page_has_the_parts_and_nothing_else_of_the_record(answers: Project) -> None:
    ann = signed_in(answers, "ann")
    [shown, *_] = ann.get("/api/next?topic=T1").json()["documents"]
    assert re.findall(r'data-part="([^"]*)"( data-graded)?', shown["html"]) == [
        ("question", ""), ("answer", ""), ("contexts.1", " data-graded"), ("contexts.2", " data-graded"),
    ]  # fmt: skip
    assert "<script" not in shown["html"]
    assert not [word for word in ("secret-model", "0.9", "p0") if word in json.dumps(shown)]
    assert answers.corpus.search("recorded").total == 4
    assert answers.corpus.search("secret").total == 0
    page = ann.get("/judge?topic=T1").text
    assert page.count('type="checkbox"') == 2


# ---- where spans stand


def test_words_are_found_where_they_stand_whatever_blanks_a_page_shows() -> None:
    rng = random.Random(4)
    for _ in range(300):
        text = "".join(rng.choices("ab \n\u00e4\U0001f40b", k=30))
        inked = [place for place, sign in enumerate(text) if not sign.isspace()]
        if len(inked) < 3:
            continue
        start = rng.randrange(len(inked) - 1)
        end = rng.randrange(start + 1, len(inked) + 1)
        place = (inked[start], inked[end - 1] + 1)
        shown = " ".join(text[slice(*place)])  # blanks where there were none
        assert locate(text, shown, start) == place
    assert locate("aa b aa", "aa", 3) == (5, 7)
    assert locate("aa b aa", "aa", 1) == (0, 2)
    assert locate("aa b aa", "c", 0) is locate("aa", " ", 0) is None


def test_spans_of_html_count_in_its_readable_text() -> None:
    document = Document("d", "<html><body><h1>Whales</h1><p>call <b>lou</b>der</p></body></html>")
    given = messages.MarksSent.model_validate(
        {"spans": [{"part": "text", "start": 3, "text": "call louder"}]}
    )
    settings = Settings(scale=parse_scale("0=no,1=yes"))
    marks = checked_marks(given, document, settings, ())
    assert marks["spans"][0]["text"] == "call louder"
    again = shown_marks(marks, document)
    assert again is not None
    assert (again.spans[0].start, again.spans[0].text) == (6, "call louder")
    assert "Whales" not in render_document(document, "")[1]  # the page shows the title above the text


# ---- judging


def test_marks_are_recorded_with_the_grade_and_come_back_with_the_document(answers: Project) -> None:
    ann = signed_in(answers, "ann")
    marks = {
        "contexts": {"contexts.1": 2, "contexts.2": 0},
        "spans": [{"part": "answer", "start": 20, "text": "ships pass"}],
        "nuggets": {"n1": True, "n2": False, "gone": True},
    }
    assert ann.send("/api/judge", grading("a0", 2, **marks)).status_code == 200
    [event] = [one for one in answers.store.events() if one.kind == "judge"]
    first = ANSWER.index("ships")
    assert event.marks == {
        "contexts": {"contexts.1": {"grade": 2, "id": "p0"}, "contexts.2": {"grade": 0}},
        "spans": [{"part": "answer", "first": first, "last": first + 10, "text": "ships pass"}],
        "nuggets": {
            "n1": {"found": True, "importance": "vital"},
            "n2": {"found": False, "importance": "okay"},
        },
    }
    shown = ann.get("/api/document?topic=T1&doc=a0").json()
    assert shown["marks"]["contexts"] == marks["contexts"]
    assert shown["marks"]["nuggets"] == {"n1": True, "n2": False}
    assert shown["marks"]["spans"] == marks["spans"]
    assert "2 parts graded, 1 piece of evidence, 1 of 2 nuggets" in ann.get("/history?topic=T1").text


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ({"contexts": {"answer": 1}}, "no part 'answer' to grade"),
        ({"contexts": {"contexts.9": 1}}, "no part"),
        ({"contexts": {"contexts.1": 7}}, "not on the scale"),
        ({"spans": [{"part": "answer", "start": 0, "text": "dolphins"}]}, "not in this document"),
        ({"spans": [{"part": "model", "start": 0, "text": "secret"}]}, "not in this document"),
    ],
)
def test_marks_that_do_not_fit_the_document_are_refused_whole(
    answers: Project, marks: dict[str, Any], why: str
) -> None:
    answer = signed_in(answers, "ann").send("/api/judge", grading("a0", 2, **marks))
    assert answer.status_code == 400
    assert why in answer.json()["detail"]
    assert answers.store.standing() == []


def test_a_change_of_marks_alone_is_a_change_and_undo_brings_the_marks_before_it(answers: Project) -> None:
    ann = signed_in(answers, "ann")
    for grade in (1, 2, None):
        marks = {} if grade is None else {"contexts": {"contexts.1": grade}}
        assert not ann.send("/api/judge", grading("a0", 1, **marks)).json()["repeated"]
    assert ann.send("/api/judge", grading("a0", 1)).json()["repeated"]
    found = []
    for _ in range(3):
        undone = ann.send("/api/undo", {"topic": "T1", "doc": "a0", "key": f"key-{next(_keys):08d}"}).json()
        found.append((undone["undid"], [one.marks for one in answers.store.standing()]))
    assert found == [
        ("change", [{"contexts": {"contexts.1": {"grade": 2.0, "id": "p0"}}}]),
        ("change", [{"contexts": {"contexts.1": {"grade": 1.0, "id": "p0"}}}]),
        ("judge", []),
    ]
    back = next(one for one in undone["documents"] if one["doc"] == "a0")
    assert back["marks"]["contexts"] == {"contexts.1": 1}  # nothing has to be marked again
    assert verify(answers).problems == ()


def test_an_expert_marks_in_an_audit_as_assessors_do(answers: Project) -> None:
    add_person(answers, "olga", "organizer")
    ann, olga = signed_in(answers, "ann"), signed_in(answers, "olga")
    ann.send("/api/judge", grading("a0", 2, contexts={"contexts.1": 2}))
    drawn = olga.send("/api/audit/draw", {"assessor": "assessor-1", "size": 1}).json()["audit"]
    assert olga.get(f"/api/audit/next?audit={drawn}&topic=T1").json()["documents"][0]["marks"] is None
    given = {**grading("a0", 1, contexts={"contexts.1": 0}), "audit": drawn}
    assert olga.send("/api/audit/judge", given).status_code == 200
    assert lines(answers, "contexts") == ["T1 a0 p0 2\n"]  # of first, the assessor's counts


# ---- exports


def judged_by_two(project: Project) -> None:
    ann, bob = signed_in(project, "ann"), signed_in(project, "bob")
    ann.send(
        "/api/judge", grading("a0", 2, contexts={"contexts.1": 2, "contexts.2": 0}, nuggets={"n1": True})
    )
    span = {"part": "contexts.1", "start": 5, "text": "We recorded"}
    bob.send("/api/judge", grading("a0", 1, contexts={"contexts.1": 1, "contexts.2": 0}, spans=[span]))
    bob.send("/api/judge", grading("a1", None))


@pytest.mark.parametrize(
    ("feed", "expected", "left_out"),
    [
        ("first", ["T1 a0 p0 2\n", "T1 a0 contexts.2 0\n"], 0),
        ("adjudicated", ["T1 a0 contexts.2 0\n"], 1),
    ],
)
def test_exports_have_contexts_spans_and_nuggets(
    tmp_path: Path, feed: Any, expected: list[str], left_out: int
) -> None:
    with make(tmp_path, overlap=2, feed=feed) as project:
        save_nuggets(project.store, read_nuggets(str(tmp_path / "n.tsv")))
        judged_by_two(project)
        omitted = Omitted()
        assert lines(project, "contexts", omitted=omitted) == expected
        assert omitted.unsettled == left_out
        assert [json.loads(line) for line in lines(project, "spans")] == [
            {"topic": "T1", "doc": "a0", "assessor": "assessor-2", "grade": 1.0, "part": "contexts.1",
             "first": 7, "last": 18, "text": "We recorded"},
        ]  # fmt: skip
        assert lines(project, "nuggets") == [
            "T1 assessor-1 a0 n1 vital 1\n",
        ]
        (tmp_path / "log.jsonl").write_text("".join(lines(project, "log")))
        (tmp_path / "other").mkdir()
        with make(tmp_path / "other", overlap=2, feed=feed) as other:
            import_log(other, str(tmp_path / "log.jsonl"))
            for name in ("contexts", "spans", "nuggets"):
                there = [line.replace("import-log.jsonl-", "") for line in lines(other, name)]
                assert there == lines(project, name)
            assert import_log(other, str(tmp_path / "log.jsonl")).changed == 0


# ---- files of nuggets


def test_nuggets_are_read_from_tables_and_json_lines(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text('qid,nugget\nT1,whales call\nT2,x\nT1,"a, b"\n')
    (tmp_path / "n.jsonl").write_text(
        '{"qid": "T1", "query": "?", "nuggets": [{"text": "whales call", "importance": "vital"}, "a, b"]}\n'
        '{"topic": "T2", "text": "x", "id": "own", "importance": "Okay"}\n'
    )
    table, given = read_nuggets(str(tmp_path / "n.csv")), read_nuggets(str(tmp_path / "n.jsonl"))
    assert [(one.id, one.text) for one in table["T1"]] == [("1", "whales call"), ("2", "a, b")]
    assert [(one.id, one.text, one.importance) for one in given["T1"]] == [
        ("1", "whales call", "vital"), ("2", "a, b", ""),
    ]  # fmt: skip
    assert [(one.id, one.importance) for one in given["T2"]] == [("own", "okay")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\tb\nT1\tx\n", ":1: the first line has no columns"),
        ("topic\ttext\nT1\t\n", ":2: a nugget needs a text"),
        ("topic\ttext\n\tx\n", ":2: no topic id"),
        ("topic\ttext\timportance\nT1\tx\tgreat\n", ":2: importance 'great'"),
        ("topic\tid\ttext\nT1\tn\tx\nT1\tn\ty\n", ":3: .* twice"),
        ('{"topic": "T1", "text": "x"}\nnonsense\n', ":2: not a JSON object"),
        ("topic\ttext\n", ": no nuggets"),
    ],
)
def test_wrong_files_of_nuggets_are_refused_with_the_line(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "n.tsv").write_text(text)
    with pytest.raises(FormatError, match=why):
        read_nuggets(str(tmp_path / "n.tsv"))


def test_new_nuggets_replace_the_old_ones_and_strange_topics_are_refused(
    answers: Project, tmp_path: Path
) -> None:
    file = tmp_path / "more.tsv"
    file.write_text("topic\ttext\nT1\tonly this\n")
    page = (
        Browser(answers).sign_in("ann")
        and signed_in(answers, "ann").get("/api/next?topic=T1").json()["guide"]
    )
    assert "1 nugget for 1 topic, 1 of these topics with new or changed nuggets" in _import_nuggets(
        answers, str(file)
    )
    assert "0 of these topics" in _import_nuggets(answers, str(file))
    assert [one.text for one in nuggets_of(answers.store, "T1")] == ["only this"]
    assert signed_in(answers, "ann").get("/api/next?topic=T1").json()["guide"] != page  # pages say so
    file.write_text("topic\ttext\nT9\tx\n")
    with pytest.raises(DataError, match="no topic 'T9'"):
        _import_nuggets(answers, str(file))
