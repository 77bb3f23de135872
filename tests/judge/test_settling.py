"""Settling differences and drawing audits without the pages: by command and by the programming interface."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.calling import Call, caller, check_refused
from tests.judge.web import TOPICS, Browser, add_person

from sounding.judge import log
from sounding.judge import organizing as organizing
from sounding.judge.exports import EXPORTS
from sounding.judge.progress import FEWEST
from sounding.judge.project import Project
from sounding.judge.review import audit_sample, audits_of
from sounding.judge.verify import verify

TOPIC, OTHER, *_ = TOPICS
ANN, BOB, OLGA = "assessor-1", "assessor-2", "assessor-3"
PATH = "/api/organize/differences"


@pytest.fixture
def call(olga: Browser, project: Project, capsys: pytest.CaptureFixture[str]) -> Call:
    """`sounding judge WHAT` with the folder of the project, whose server runs meanwhile."""
    run = caller(capsys, "judge")
    return lambda what, *more: run(what, str(project.folder), *more)


@pytest.fixture
def differing(olga: Browser, project: Project) -> Project:
    """Ann and bob differ on d10 and d11 of a topic and on d10 of another, and agree on d12."""
    organizing.change_settings(project, feed="adjudicated", overlap=2)
    judge(project, ANN, TOPIC, {"d10": 0, "d11": 1, "d12": 2})
    judge(project, BOB, TOPIC, {"d10": 2, "d11": 0, "d12": 2}, comment="the whales\n do sing")
    judge(project, ANN, OTHER, {"d10": 1})
    judge(project, BOB, OTHER, {"d10": 2})
    return project


def judge(project: Project, who: str, topic: str, grades: dict[str, float | None], comment: str = "") -> None:
    for doc, grade in grades.items():
        project.engine.judge(
            who, topic, doc, grade, key=f"{who}-{topic}-{doc}".replace("/", "-"), comment=comment
        )


def rows(call: Call, *words: str) -> list[dict[str, Any]]:
    status, out, err = call(*words, "--format", "json", "--quiet")
    assert (status, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)["rows"]
    return found


def settled(project: Project) -> list[tuple[Any, ...]]:
    """Who settled what, as the log has it."""
    events = [event for event in project.store.events() if event.kind == "adjudicate"]
    return [(event.assessor, event.topic, event.doc, event.grade) for event in events]


def exported(project: Project) -> list[str]:
    return list(EXPORTS["qrels"](project.store, project.store.last_sequence()))


def file_of(tmp_path: Path, text: str, name: str = "settled.txt") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


# ---- the programming interface


def test_a_program_lists_differences_and_settles_them_as_the_page_does(
    olga: Browser, differing: Project
) -> None:
    listed = olga.get(PATH).json()
    assert [(one["topic"], one["doc"], one["settled"], one["open"]) for one in listed] == [
        (TOPIC, "d10", None, True), (TOPIC, "d11", None, True), (OTHER, "d10", None, True),
    ]  # fmt: skip
    assert listed[0]["grades"] == [
        {"name": "ann", "grade": 0, "comment": ""},
        {"name": "bob", "grade": 2, "comment": "the whales\n do sing"},
    ]
    sent = {"topic": TOPIC, "doc": "d10", "grade": 1, "key": "settled-1"}
    assert [olga.send(PATH, sent).json() for _ in range(2)] == [{"changed": 1}, {"changed": 0}]
    assert olga.post("/organize/adjudicate", topic=TOPIC, doc="d11", grade="2.0").status_code == 303
    assert settled(differing) == [(OLGA, TOPIC, "d10", 1), (OLGA, TOPIC, "d11", 2)]
    assert [(one["doc"], one["settled"], one["open"]) for one in olga.get(PATH).json()] == [
        ("d10", None, True), ("d10", 1, False), ("d11", 2, False),
    ]  # fmt: skip
    assert exported(differing) == [
        f"{TOPIC} 0 {doc} {grade}\n" for doc, grade in (("d10", 1), ("d11", 2), ("d12", 2))
    ]
    assert verify(differing).problems == ()


def test_what_is_settled_so_already_is_no_event_and_what_is_sent_again_has_its_first_answer(
    olga: Browser, differing: Project
) -> None:
    sent = {"topic": TOPIC, "doc": "d10", "grade": 1, "key": "settled-1"}
    assert olga.send(PATH, sent).json() == {"changed": 1}
    assert olga.send(PATH, {**sent, "key": "settled-2"}).json() == {"changed": 0}
    differing.engine.judge(ANN, TOPIC, "d10", 2, key="as-bob")  # nobody differs any more
    assert olga.send(PATH, sent).json() == {"changed": 0}
    assert olga.send(PATH, {**sent, "key": "settled-3"}).status_code == 400
    assert settled(differing) == [(OLGA, TOPIC, "d10", 1)]


def test_a_program_may_settle_that_a_document_cannot_be_judged(olga: Browser, differing: Project) -> None:
    sent = {"topic": TOPIC, "doc": "d10", "grade": None, "key": "settled-1"}
    assert olga.send(PATH, sent).json() == {"changed": 1}
    assert [(one["settled"], one["open"]) for one in olga.get(PATH).json()] == [(None, True)] * 2 + [
        (None, False)
    ]
    assert f"{TOPIC} 0 d12 2\n" in exported(differing)
    assert not any(" d10 " in line for line in exported(differing))


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"grade": 7}, 400, "grade 7 is not on the scale; expected one of 0, 1, 2"),
        (
            {"doc": "d40"},
            400,
            f"cannot settle document 'd40' of topic '{TOPIC}': its assessors do not differ",
        ),
        ({"doc": "d12"}, 400, "its assessors do not differ"),
        ({"topic": "no-such"}, 400, "document 'd10' of topic 'no-such': its assessors do not differ"),
        ({"doc": "d11"}, 409, "settled-1"),
        ({"key": "x"}, 422, "key"),
        ({"doc": "d\0"}, 422, "doc"),
    ],
)
def test_what_cannot_be_settled_is_refused(
    olga: Browser, differing: Project, change: dict[str, Any], status: int, message: str
) -> None:
    sent = {"topic": TOPIC, "doc": "d10", "grade": 1, "key": "settled-1"}
    olga.send(PATH, sent)
    answer = olga.send(
        PATH, {**sent, "key": "settled-2", **change, **({"key": "settled-1"} if status == 409 else {})}
    )
    assert answer.status_code == status
    assert message in str(answer.json()["detail"])
    assert len(settled(differing)) == 1


# ---- by command


def test_differences_are_listed_and_settled_from_a_file(
    olga: Browser, differing: Project, call: Call, tmp_path: Path
) -> None:
    grades = "ann 0, bob 2"
    assert rows(call, "differences")[0] == {
        "topic": TOPIC, "doc": "d10", "grades": grades, "comments": "bob: the whales do sing", "settled": None,
    }  # fmt: skip
    file = file_of(tmp_path, f"# of the meeting\n{OTHER} 0 d10 0\n{TOPIC} 0 d10 1\n")
    status, out, err = call("differences", "--settle", file, "--organizer", "OLGA")
    assert (status, err) == (0, "settled 2 documents, 2 new or changed\n")
    assert "3 documents with different grades, 1 not settled; unsettled documents count as unjudged" in out
    assert settled(differing) == [(OLGA, OTHER, "d10", 0), (OLGA, TOPIC, "d10", 1)]
    assert [(row["topic"], row["doc"], row["settled"]) for row in rows(call, "differences")] == [
        (TOPIC, "d11", None), (TOPIC, "d10", "1"), (OTHER, "d10", "0"),
    ]  # fmt: skip
    assert [row["doc"] for row in rows(call, "differences", "--open")] == ["d11"]
    assert [one["open"] for one in olga.get(PATH).json()] == [True, False, False]  # the server follows
    assert exported(differing) == [f"{TOPIC} 0 d10 1\n", f"{TOPIC} 0 d12 2\n", f"{OTHER} 0 d10 0\n"]
    assert verify(differing).problems == ()


def test_the_same_file_again_changes_nothing_and_another_grade_does(
    differing: Project, call: Call, tmp_path: Path
) -> None:
    file = file_of(tmp_path, f"{TOPIC} 0 d10 1\n{TOPIC} 0 d11 1\n")
    for told in ("settled 2 documents, 2 new or changed\n", "settled 2 documents, 0 new or changed\n"):
        assert call("differences", "--settle", file, "--organizer", OLGA)[2] == told
    assert len(settled(differing)) == 2
    file_of(tmp_path, f"{TOPIC} 0 d10 0\n{TOPIC} 0 d11 1\n")
    assert (
        call("differences", "--settle", file, "--organizer", OLGA)[2]
        == "settled 2 documents, 1 new or changed\n"
    )
    assert settled(differing)[2:] == [(OLGA, TOPIC, "d10", 0)]


def test_what_was_listed_goes_back_with_a_column_of_grades(
    differing: Project, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, *lines = call("differences", "--open", "--format", "csv")[1].splitlines()
    filled = "\n".join([f"{head},grade", *(f"{line},2" for line in lines)])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(filled.encode())))
    assert call("differences", "--settle", "-", "--organizer", "olga", "--open", "--format", "csv")[1] == (
        "topic,doc,grades,settled\n"
    )
    assert {one[1:] for one in settled(differing)} == {
        (TOPIC, "d10", 2), (TOPIC, "d11", 2), (OTHER, "d10", 2),
    }  # fmt: skip


def test_settlements_are_exported_however_many_there_are(
    differing: Project, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("differences", "--settle", file_of(tmp_path, f"{TOPIC} 0 d10 1\n"), "--organizer", "olga")
    monkeypatch.setattr(log, "PAGE", 1)  # nothing that has no name comes through from page to page
    assert exported(differing) == [f"{TOPIC} 0 d10 1\n", f"{TOPIC} 0 d12 2\n"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            f"{TOPIC} 0 d12 1",
            "cannot settle document 'd12' of topic 'MB001': its assessors do not differ",
        ),
        (
            f"{TOPIC} 0 d40 1",
            "cannot settle document 'd40' of topic 'MB001': its assessors do not differ",
        ),
        ("303 0 d10 1", "cannot settle document 'd10' of topic '303': the topic is not in use"),
        (f"{TOPIC} 0 d11 7", "grade 7 is not on the scale; expected one of 0, 1, 2"),
        (f"{TOPIC} 0 d11 -1", "grade -1 is not on the scale; expected one of 0, 1, 2"),
        (f"{TOPIC} 0 d11 x", "grade 'x' is not a number"),
        (f"{TOPIC} 0 d11", "3 fields"),
        (f"{OTHER} 0 d10 2", "d10"),
    ],
)
def test_where_a_line_is_wrong_nothing_is_settled(
    differing: Project, call: Call, tmp_path: Path, line: str, message: str
) -> None:
    judge(differing, ANN, "303", {"d10": 1})
    judge(differing, BOB, "303", {"d10": 2})
    organizing.set_statuses(differing, ["303"], "dropped")
    before = differing.store.last_sequence()
    file = file_of(tmp_path, f"{TOPIC} 0 d10 1\n{line}\n{OTHER} 0 d10 1\n")
    said = call("differences", "--settle", file, "--organizer", "olga")
    check_refused(said, 1, message)
    assert f"{file}:{3 if line.endswith('d10 2') else 2}: " in said[2]
    assert differing.store.last_sequence() == before


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--settle", "FILE"), 2, "--settle FILE and --organizer NAME need each other"),
        (("--organizer", "olga"), 2, "--settle FILE and --organizer NAME need each other"),
        (("--settle", "FILE", "--organizer", "bob"), 1, "bob is an assessor; name an organizer"),
        (("--settle", "FILE", "--organizer", "olg"), 2, "unknown organizer 'olg'; did you mean olga?"),
        (("--settle", "no-such.txt", "--organizer", "olga"), 1, "no-such.txt"),
    ],
)
def test_who_settles_is_an_organizer(
    differing: Project, call: Call, tmp_path: Path, words: tuple[str, ...], status: int, message: str
) -> None:
    file = file_of(tmp_path, f"{TOPIC} 0 d10 1\n")
    check_refused(call("differences", *(file if word == "FILE" else word for word in words)), status, message)
    assert settled(differing) == []


def test_the_list_says_what_counts(olga: Browser, project: Project, call: Call) -> None:
    assert "assessors agree on all documents" in call("differences")[1]
    judge(project, ANN, TOPIC, {"d10": 0})
    judge(project, BOB, TOPIC, {"d10": 2})
    out = call("differences")[1]
    assert "1 document with different grades, 1 not settled\n" in out
    assert "the grade that counts: first; settled grades count only with --feed adjudicated" in out
    assert "which grade counts" not in call("differences", "--quiet")[1]


# ---- audits


def test_a_sample_is_drawn_by_command_without_the_grades(differing: Project, call: Call) -> None:
    status, out, err = call("audit", "Bob", "--expert", "olga", "--size", "2", "--format", "csv")
    [audit] = audits_of(differing.store, OLGA)
    drawn = audit_sample(differing.store.standing(assessor=BOB), 2, differing.settings.seed)
    assert status == 0
    assert out == "audit,topic,doc\n" + "".join(f"{audit.number},{one.topic},{one.doc}\n" for one in drawn)
    page = f"/organize/audit?audit={audit.number}"
    assert err == f"audit {audit.number}: 2 of bob's 4 judgments; olga can grade them at {page}\n"
    last = differing.store.last_sequence()
    again = call("audit", BOB, "--expert", OLGA, "--size", "2", "--format", "csv")
    assert (again[1], again[2]) == (out, err.replace(":", " (drawn before):", 1))
    assert differing.store.last_sequence() == last
    differing.engine.catch_up()
    assert verify(differing).problems == ()


def test_a_sample_of_a_command_is_graded_on_the_page(olga: Browser, differing: Project, call: Call) -> None:
    [number] = {row["audit"] for row in rows(call, "audit", "ann", "--expert", "olga")}
    assert "A sample of 4 judgments from 4" in olga.get(f"/organize/audit?audit={number}").text
    for doc, grade in (("d10", 0), ("d11", 0)):
        sent = {"audit": number, "topic": TOPIC, "doc": doc, "grade": grade, "key": f"audit-{doc}"}
        assert olga.send("/api/audit/judge", sent).status_code == 200
    [listed] = rows(call, "audit")
    assert listed == {
        "audit": number, "expert": "olga", "assessor": "ann", "drawn": 4, "of": 4, "graded": 2,
        "same grade": 0.5, "kappa": None,
    }  # fmt: skip
    differing.engine.withdraw(ANN, TOPIC, "d11", key="taken-back")
    [listed] = rows(call, "audit")
    assert (listed["taken back"], listed["graded"], listed["same grade"]) == (1, 1, 1.0)
    assert f"at least {FEWEST} documents" in call("audit")[1]


def test_draws_of_all_experts_are_listed_or_those_of_one(differing: Project, call: Call) -> None:
    assert "no samples yet" in call("audit")[1]
    add_person(differing, "oskar", "organizer")
    judge(differing, "import-old", TOPIC, {"d10": 1})
    for who, expert in (("ann", "olga"), ("bob", "oskar"), ("import-old", "olga")):
        rows(call, "audit", who, "--expert", expert)
    assert [(row["expert"], row["assessor"]) for row in rows(call, "audit")] == [
        ("olga", "ann"), ("oskar", "bob"), ("olga", "import-old"),
    ]  # fmt: skip
    assert [row["assessor"] for row in rows(call, "audit", "--expert", "oskar")] == ["bob"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("ann",), 2, "add --expert NAME"),
        (("--size", "3"), 2, "--size is for a new sample; add the ASSESSOR"),
        (("an", "--expert", "olga"), 2, "unknown assessor 'an'; did you mean ann?"),
        (("ann", "--expert", "bob"), 1, "bob is an assessor; name an organizer"),
        (("olga", "--expert", "olga"), 1, "olga cannot audit olga"),
        (
            ("oskar", "--expert", "olga"),
            1,
            "nothing to draw: oskar has no judgments for topics in use",
        ),
    ],
)
def test_an_audit_that_cannot_be_is_refused(
    differing: Project, call: Call, words: tuple[str, ...], status: int, message: str
) -> None:
    add_person(differing, "oskar", "organizer")
    before = differing.store.last_sequence()
    check_refused(call("audit", *words), status, message)
    assert differing.store.last_sequence() == before
