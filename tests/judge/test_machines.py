"""Labels by machines: named assessors whose labels count in agreement, and never as judgments."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi.routing import APIRoute
from tests.judge.web import TOPICS, Browser, add_person, signed_in

from sounding.agree.assessors import read_panel
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.data.labels import read_labels
from sounding.judge import api, assessor_pages, sign_in_pages
from sounding.judge.command import command
from sounding.judge.exports import EXPORTS, Omitted, omission_note
from sounding.judge.machines import import_labels, machine_name, machines_of, suggest
from sounding.judge.project import Project, open_project
from sounding.judge.review import differing_documents
from sounding.judge.settings import Feed
from sounding.judge.verify import verify

HEAD = "topic\tdoc\tlabel\tjudge\tprompt\n"
# Tokens, times and numbers of events, which differ between any two projects.
SHIFTING = r"[0-9a-f]{32,}|\d{4}-\d\d-\d\d[T ][0-9:]+|\d+\.\d+|\"sequence\":\d+"
_keys = count(1)


def given(
    folder: Path, grade: int = 2, judge: str = "umbrela", topics: tuple[str, ...] = tuple(TOPICS)
) -> str:
    """A file with the same label for every document of these topics."""
    docs = [*(f"d{number:02}" for number in range(60)), "gone-from-corpus"]
    lines = [f"{topic}\t{doc}\t{grade}\t{judge}\tp-1\n" for topic in topics for doc in docs]
    (folder / "labels.tsv").write_text(HEAD + "".join(lines), encoding="utf-8")
    return str(folder / "labels.tsv")


def key() -> str:
    return f"key-{next(_keys):08d}"


def grading(doc: str, grade: float | None = 1, /, **more: Any) -> dict[str, Any]:
    return {"topic": "MB001", "doc": doc, "grade": grade, "key": key(), **more}


@pytest.fixture
def ann(project: Project) -> Browser:
    add_person(project, "ann", topics=tuple(TOPICS))
    return signed_in(project, "ann")


# ---- nobody sees a label too early


def asked(project: Project) -> Iterator[tuple[str, str]]:
    """(request, answer) of everything that an assessor can ask for about documents that are not judged."""
    ann = signed_in(project, "ann")
    keys = count(1)
    for topic in TOPICS:
        for path in ("/api/skip", "/api/judge", "/api/judge", "/api/undo"):
            shown = ann.client.get("/api/next", params={"topic": topic, "count": 6})
            yield f"/api/next {topic}", shown.text
            sent: dict[str, Any] = {"topic": topic, "key": f"own-{next(keys):08d}", "count": 6}
            sent |= {"doc": shown.json()["documents"][0]["doc"]} if path != "/api/undo" else {}
            sent |= {"grade": 1} if path == "/api/judge" else {}
            answer = ann.send(path, sent)
            assert answer.status_code == 200
            yield f"{path} {topic}", answer.text
    ann.post("/develop", title="my topic")
    for router in (
        api.judging, api.signing, sign_in_pages.router, sign_in_pages.own, assessor_pages.entrance,
        assessor_pages.router,
    ):  # fmt: skip
        for route in router.routes:
            if (
                not isinstance(route, APIRoute)
                or "GET" not in (route.methods or ())
                or route.path == "/history"
            ):
                continue
            for topic in (*TOPICS, "N001"):
                query = {"topic": topic, "id": "N001", "query": "whales noise", "first": "1", "doc": "d59"}
                for left_out in ("doc", ""):
                    params = {name: value for name, value in query.items() if name != left_out}
                    answer = ann.client.get(route.path.replace("{secret}", "x"), params=params)
                    yield f"{route.path} {topic} {left_out}", answer.text
    for path in (
        "/organize",
        "/api/live",
        "/api/export/labels",
        "/api/export/assessors",
        "/organize/differences",
    ):
        answer = ann.client.get(path)
        assert answer.status_code == 403
        yield path, answer.text


def test_what_an_assessor_sees_before_judging_does_not_depend_on_labels(
    sea_reports: Path, tmp_path: Path
) -> None:
    """Two projects whose labels contradict each other, and one without any, answer alike."""
    found: list[dict[str, str]] = []
    for grade in (None, 0, 2):
        folder = tmp_path / f"labels-{grade}"
        shutil.copytree(sea_reports, folder / "project")
        with open_project(folder / "project") as project:
            add_person(project, "ann", topics=tuple(TOPICS))
            if grade is not None:
                import_labels(project, given(folder, grade))
            answers = {f"{number} {name}": text for number, (name, text) in enumerate(asked(project))}
        assert len(answers) > 100
        found.append({name: re.sub(SHIFTING, "", text) for name, text in answers.items()})
    assert found[0].keys() == found[1].keys() == found[2].keys()
    for name, text in found[1].items():
        assert "machine-" not in text, name
        assert text == found[0][name] == found[2][name], name


def test_labels_are_seen_once_a_document_is_judged_and_hidden_again_after_an_undo(
    project: Project, ann: Browser, tmp_path: Path
) -> None:
    import_labels(project, given(tmp_path))

    def seen(doc: str) -> dict[str, float]:
        labels: dict[str, float] = ann.get(f"/api/document?topic=MB001&doc={doc}").json()["labels"]
        return labels

    assert seen("d05") == {}
    ann.send("/api/judge", grading("d05"))
    assert (seen("d05"), seen("d06")) == ({"machine-umbrela": 2.0}, {})
    assert re.search("<bdi>machine-umbrela</bdi>: 2", ann.get("/history?topic=MB001").text)
    ann.send("/api/undo", {"topic": "MB001", "doc": "d05", "key": key()})
    assert seen("d05") == {}


def test_an_expert_does_not_see_suggestions_in_an_audit(
    project: Project, ann: Browser, tmp_path: Path
) -> None:
    add_person(project, "olga", "organizer")
    import_labels(project, given(tmp_path))
    suggest(project.store, "umbrela")
    ann.send("/api/judge", grading("d05"))
    olga = signed_in(project, "olga")
    drawn = olga.send("/api/audit/draw", {"assessor": "assessor-1", "size": 1}).json()["audit"]
    answer = olga.get(f"/api/audit/next?audit={drawn}&topic=MB001")
    assert answer.json()["documents"][0]["labels"] == {}


# ---- suggestions


def test_the_log_says_which_suggestion_was_shown(project: Project, ann: Browser, tmp_path: Path) -> None:
    import_labels(project, given(tmp_path, topics=("MB001",)))
    import_labels(project, given(tmp_path, 0, "other", topics=("MB001",)))
    before = ann.get("/api/next?topic=MB001&count=6").json()["documents"]
    assert all(one["labels"] == {} for one in before)
    suggest(project.store, "umbrela")
    shown = ann.get("/api/next?topic=MB001&count=6").json()["documents"]
    assert [one["labels"] for one in shown] == [{"machine-umbrela": 2.0}] * len(shown)
    docs = [one["doc"] for one in shown]
    for doc, said in zip(docs, (["machine-umbrela"], [], None, ["machine-other"]), strict=False):
        ann.send("/api/judge", grading(doc, 1, **({} if said is None else {"labels": said})))
    suggest(project.store, "none")
    ann.send("/api/judge", grading(docs[4]))
    found = [event.detail.get("labels", {}) for event in project.store.events() if event.kind == "judge"]
    # A page that says it showed nothing is believed; one that says nothing was sent the label. Nobody can
    # have seen the other machine's.
    assert found == [{"machine-umbrela": 2.0}, {}, {"machine-umbrela": 2.0}, {}, {}]
    again = ann.get(f"/api/document?topic=MB001&doc={docs[1]}").json()
    ann.send("/api/judge", grading(docs[1], 2, labels=list(again["labels"])))  # changed after both were seen
    assert project.store.standing(doc=docs[1], topic="MB001")[0].grade == 2
    last = [event for event in project.store.events() if event.kind == "judge"][-1]
    assert last.detail["labels"] == {"machine-umbrela": 2.0, "machine-other": 0.0}
    ann.send("/api/undo", {"topic": "MB001", "doc": docs[1], "key": key()})
    back = [event for event in project.store.events() if event.kind == "judge"][-1]
    assert (back.grade, "labels" in back.detail) == (1, False)  # as the first judgment was made


def test_only_a_machine_with_labels_can_suggest(project: Project, tmp_path: Path) -> None:
    import_labels(project, given(tmp_path))
    with pytest.raises(UnknownNameError, match="umbrela"):
        suggest(project.store, "gpt")


# ---- labels never count


@pytest.mark.parametrize("feed", ["first", "majority", "adjudicated"])
def test_nothing_that_counts_depends_on_labels(
    project: Project, ann: Browser, tmp_path: Path, feed: Feed
) -> None:
    project.engine.change_settings(
        project.settings.__class__(**{**vars_of(project), "feed": feed, "overlap": 2})
    )
    add_person(project, "bob", topics=("MB001",))
    bob = signed_in(project, "bob")
    for doc, (one, other) in {"d05": (0, 2), "d06": (1, 1), "d07": (2, None)}.items():
        ann.send("/api/judge", grading(doc, one))
        bob.send("/api/judge", grading(doc, other))

    def counted() -> tuple[Any, ...]:
        engine = project.engine
        offered = {
            topic: [offer.doc for offer in engine._replay.fresh_offers(topic, 9)] for topic in engine.topics()
        }
        exported = [list(EXPORTS[name](project.store, None)) for name in ("qrels", "prels", "strata")]
        return engine.counts().topics, offered, exported, engine.live().confidence.values.tolist()

    before = counted()
    import_labels(project, given(tmp_path, 2))
    import_labels(project, given(tmp_path, 1, "other"))
    assert counted() == before
    assert verify(project).problems == ()  # two replays have the same state
    assert {event.kind for event in project.store.events() if event.assessor == "machine-umbrela"} == {
        "label"
    }
    assert project.store.standing(assessor="machine-umbrela") == []


def vars_of(project: Project) -> dict[str, Any]:
    now = project.settings
    return {name: getattr(now, name) for name in now.__slots__}


# ---- labels are counted in agreement, and exported


def test_agreement_the_review_page_and_exports_have_the_labels(
    project: Project, ann: Browser, tmp_path: Path
) -> None:
    add_person(project, "olga", "organizer")
    add_person(project, "bob", topics=("MB001",))
    bob, olga = signed_in(project, "bob"), signed_in(project, "olga")
    for number in range(12):
        ann.send("/api/judge", grading(f"d{number:02}", 2 if number < 9 else 0))
    bob.send("/api/judge", grading("d00", 0))
    import_labels(project, given(tmp_path, topics=("MB001",)))
    live = olga.get("/api/live").json()
    pair = {"first": "ann", "second": "machine-umbrela"}
    [agreed] = [one for one in live["agreement"] if pair.items() <= one.items()]
    assert (agreed["common"], agreed["observed"]) == (12, 0.75)
    assert all(one["name"] != "machine-umbrela" for one in live["assessors"])
    page = olga.get("/organize/differences").text
    assert re.search(r"<bdi>ann</bdi> and <bdi>machine-umbrela</bdi>", page)
    [differing] = differing_documents(project, project.store.standing())
    assert [(one.name, one.grade) for one in differing.grades] == [
        ("ann", 2),
        ("bob", 0),
        ("machine-umbrela", 2),
    ]
    omitted = Omitted()
    lines = list(EXPORTS["assessors"](project.store, None, omitted=omitted))
    assert lines == sorted(lines, key=lambda line: [line.split()[place].encode() for place in (0, 2)])
    assert lines[:3] == [
        "MB001 assessor-1 d00 2\n",
        "MB001 assessor-3 d00 0\n",
        "MB001 machine-umbrela d00 2\n",
    ]
    assert (omitted.grades, omitted.labels, len(lines)) == (74, 61, 74)
    assert "82" in omission_note("assessors", omitted)
    (tmp_path / "log.jsonl").write_text("".join(EXPORTS["log"](project.store, None)))
    (tmp_path / "assessors.qrels").write_text("".join(lines))
    panel, exported = (
        read_panel(tmp_path / "log.jsonl"),
        read_panel(tmp_path / "assessors.qrels", by="column"),
    )
    assert set(panel.assessors) == set(exported.assessors) == {"assessor-1", "assessor-3", "machine-umbrela"}
    assert all(not line.startswith("MB001 0 d50") for line in EXPORTS["qrels"](project.store, None))


def test_labels_go_in_and_out_unchanged_and_new_ones_replace_old_ones(
    project: Project, tmp_path: Path
) -> None:
    source = given(tmp_path)
    first = import_labels(project, source)
    assert (first.rows, first.changed) == (244, 244)
    assert any("gone-from-corpus" in remark for remark in first.remarks)
    assert import_labels(project, source).changed == 0
    moment = project.store.last_sequence()
    (tmp_path / "out.tsv").write_text("".join(EXPORTS["labels"](project.store, None)))
    [one], [other] = read_labels(source), read_labels(str(tmp_path / "out.tsv"))
    assert (one.judge, one.facts) == (other.judge, other.facts)
    assert one.table.docs.texts() == other.table.docs.texts()
    assert one.table.grades.tolist() == other.table.grades.tolist()
    assert import_labels(project, given(tmp_path, 0, topics=("303",))).changed == 61
    assert import_labels(project, source, name="my own").rows == 61
    assert set(machines_of(project.store)) == {"machine-umbrela", "machine-my-own"}
    assert (
        list(EXPORTS["labels"](project.store, moment))[1:]
        == (tmp_path / "out.tsv").read_text().splitlines(True)[1:]
    )


def test_wrong_labels_are_refused_whole(project: Project, tmp_path: Path) -> None:
    (tmp_path / "l.tsv").write_text(f"{HEAD}MB001\td01\t2\tm\tp\nMB001\td02\t7\tm\tp\n")
    with pytest.raises(
        FormatError, match=r"l.tsv: label of document 'd02' of topic 'MB001': grade 7 is not on the scale"
    ):
        import_labels(project, str(tmp_path / "l.tsv"))
    (tmp_path / "l.tsv").write_text(f"{HEAD}nowhere\td01\t2\tm\tp\n")
    with pytest.raises(DataError, match="none of the project's topics"):
        import_labels(project, str(tmp_path / "l.tsv"))
    with pytest.raises(DataError, match="cannot be the name"):
        machine_name("x" * 200)
    assert project.store.setting("machines") is None


def test_the_commands_add_labels_and_allow_suggestions(project: Project, tmp_path: Path) -> None:
    def call(*words: str) -> str:
        result = CliRunner().invoke(command, [words[0], str(project.folder), *words[1:]])
        assert result.exit_code == 0, result.output
        return result.output

    source = given(tmp_path, topics=("MB001",))
    assert "61 labels, 61 new or changed" in call("import", "--labels", source)
    assert "machine-umbrela" in call("settings", "--suggest", "umbrela")
    assert "machine-" not in call("settings", "--suggest", "none")
    told = call("export", "assessors", "-o", str(tmp_path / "a.txt"))
    assert "100% of the lines (61) are labels by machines" in told
    assert json.loads(call("settings", "--format", "json"))["rows"]


def test_agreement_with_a_machine_uses_grades_from_before_its_label_was_shown(
    project: Project, ann: Browser, tmp_path: Path
) -> None:
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    for number in range(12):
        ann.send("/api/judge", grading(f"d{number:02}", 0))
    for doc in ("d00", "d10"):  # undone before there were labels: nothing was seen
        ann.send("/api/undo", {"topic": "MB001", "doc": doc, "key": key()})
        ann.send("/api/judge", grading(doc, 0, labels=[]))
        if doc == "d00":
            import_labels(project, given(tmp_path, topics=("MB001",)))

    last = [event for event in project.store.events() if event.kind == "judge"]
    assert [event.detail.get("labels") for event in last[-2:]] == [None, {"machine-umbrela": 2.0}]
    for doc in ("d01", "d02"):  # changed after a look at the label
        ann.send("/api/judge", grading(doc, 2, labels=["machine-umbrela"]))
    ann.send("/api/judge", grading("d03", 2, labels=[]))  # the page showed none
    # Of 12, d10 was judged again after its label could be seen; d03 agrees, d01 and d02 did not before.
    [one] = [one for one in olga.get("/api/live").json()["agreement"] if one["second"] == "machine-umbrela"]
    assert (one["common"], one["observed"]) == (11, 1 / 11)
    page = olga.get("/organize/differences").text.partition("machine-umbrela</bdi>")[2]
    assert re.findall(r"\d+(?:\.\d+)?", page)[:2] == ["11", "9.1"]
    (tmp_path / "log.jsonl").write_text("".join(EXPORTS["log"](project.store, None)))
    panel = read_panel(tmp_path / "log.jsonl")
    grades = panel.grades[:, panel.assessors.index("assessor-1")]
    found = {doc: grade for doc, grade in zip(panel.docs.texts(), grades, strict=True) if grade >= 0}
    assert found == {f"d{number:02}": 2.0 * (number == 3) for number in range(12)}
