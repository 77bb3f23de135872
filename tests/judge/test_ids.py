"""Ids that come in: what is no good is refused with its place and nothing is recorded; what is long goes through."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.judge.databases import Server
from tests.judge.small import SCALE
from tests.judge.web import add_person, signed_in

from sounding.core.errors import DataError, FormatError
from sounding.data.tables import Qrels, Run
from sounding.data.topics import read_topics
from sounding.judge.exports import Export
from sounding.judge.ids import (
    MOST_ASSESSOR,
    MOST_DOC,
    MOST_TOPIC,
    check_table,
    wrong_doc,
    wrong_topic,
)
from sounding.judge.project import Project, add_runs, add_topics, create_project, import_qrels, open_project
from sounding.judge.records import ConflictError, Submission
from sounding.judge.settings import Settings
from sounding.judge.store import Store
from sounding.judge.texts import read_documents
from sounding.judge.verify import verify

LATIN = "caf\udce9"  # as Python has bytes that are not UTF-8


def unlike(size: int, seed: int) -> str:
    """A text that no database can make shorter."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits + "/?&=%", k=size))


# ---- what is wrong with an id


@pytest.mark.parametrize(
    ("doc", "problem"),
    [
        ("d1", ""),
        ("#d1", ""),
        ("http://x.org/a?b=c#d", ""),
        ("鯨-é", ""),
        ("zero\u200bwidth", ""),
        ("鯨\xa0é", "contains blanks; expected one word"),
        ("鯨\u3000é", "contains blanks"),
        ("\u2003", "contains blanks"),
        ("end ", "contains blanks"),
        ("x" * MOST_DOC, ""),
        ("é" * (MOST_DOC // 2), ""),
        ("", "is empty"),
        ("a b", "'a b' contains blanks; expected one word"),
        ("a\tb", r"contains the control character '\t'"),
        ("a\nMB001 0 forged 1", r"contains the control character '\n'|contains blanks"),
        ("a\0", "control character"),
        ("a\x7f", r"contains the control character '\x7f'"),
        ("a\x85b", r"contains the control character '\x85'"),
        ("a\u2028b", "control character"),
        (LATIN, r"'caf\xe9' is not UTF-8"),
        ("x" * (MOST_DOC + 1), "has 2,001 bytes; expected at most 2,000"),
        ("é" * (MOST_DOC // 2) + "x", "has 2,001 bytes"),
    ],
)
def test_an_id_is_a_word_in_utf_8_that_is_not_too_long(doc: str, problem: str) -> None:
    found = wrong_doc(doc)
    assert (found == "") if not problem else any(one in found for one in problem.split("|"))
    assert len(found) < 200


def test_an_id_of_a_topic_is_shorter_and_begins_no_comment() -> None:
    assert wrong_topic("x" * MOST_TOPIC) == wrong_topic("3#1") == ""
    assert "has 501 bytes" in wrong_topic("x" * (MOST_TOPIC + 1))
    assert "begins with #" in wrong_topic("#301")


def test_a_column_of_ids_is_checked_as_its_ids_are() -> None:
    rng = random.Random(5)
    pieces = ["a", "Z9", "~", "é", "鯨", LATIN[-1], "\x7f", " ", "\u3000", "\x01", "x" * 1000]
    wrong = 0
    for _ in range(300):
        docs = list(dict.fromkeys("".join(rng.choices(pieces[:5], k=3)) for _ in range(rng.randint(1, 6))))
        if rng.random() < 0.7:
            docs.insert(rng.randint(0, len(docs)), "-" + "".join(rng.choices(pieces, k=rng.randint(1, 3))))
        expected = next(((row + 1, told) for row, doc in enumerate(docs) if (told := wrong_doc(doc))), None)
        for table in (
            Run.from_columns(["1"] * len(docs), docs, range(len(docs)), name="r"),
            Qrels.from_columns(["1"] * len(docs), docs, [1] * len(docs), source="r"),
        ):
            if expected is None:
                check_table(table)
            else:
                wrong += 1
                with pytest.raises(FormatError) as refused:
                    check_table(table)
                assert (refused.value.line, refused.value.problem) == expected
    assert 100 < wrong < 500


# ---- where they come in


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("lat.txt", b"303 Q0 d07 1 9 r\n303 Q0 caf\xe9 2 8 r\n", r"lat.txt:2: doc id 'caf\\xe9' is not UTF-8"),
        ("del.txt", b"303 Q0 d07 1 9 r\nMB001 Q0 a\x7fb 1 9 r\n", r"del.txt:2: doc id 'a\\x7fb' contains the control"),
        ("long.txt", b"303 Q0 " + b"u" * 2001 + b" 1 9 r\n", r"long.txt:1: doc id .* has 2,001 bytes"),
        ("blank.csv", b"topic,doc,score\n303,d07,9\n303,my doc,8\n", r"blank.csv:3: doc id 'my doc' contains blanks"),
        ("topic.txt", b"303 Q0 d07 1 9 r\n30\xe93 Q0 d08 1 9 r\n", r"topic.txt:2: topic id '30\\xe93' is not UTF-8"),
    ],
)  # fmt: skip
def test_a_run_with_an_id_that_is_no_good_is_refused_and_nothing_is_recorded(
    project: Project, tmp_path: Path, name: str, content: bytes, place: str
) -> None:
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    olga.get("/organize/project")
    before, names = project.store.last_sequence(), project.store.run_names()
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.txt").write_text("303 Q0 d01 1 9 good\n")
    with pytest.raises(FormatError, match=place):
        add_runs(project, [str(tmp_path / "good.txt"), str(tmp_path / name)])
    answer = olga.client.post(
        "/organize/runs", data={"token": olga.token}, files={"run": (name, content)}
    )  # fmt: skip
    assert answer.status_code == 400
    assert name in answer.text.lower()
    assert (project.store.last_sequence(), project.store.run_names()) == (before, names)
    assert project.engine.next("assessor-1", "303")


def test_a_tag_with_blanks_is_no_harm(project: Project, tmp_path: Path) -> None:
    (tmp_path / "my best run.csv").write_text(
        "topic,doc,score,run\n303,d08,10,my best run\n303,d07,9,my best run\n"
    )
    assert add_runs(project, [str(tmp_path / "my best run.csv")]).rows == 1
    assert project.engine.next("assessor-1", "303")
    with open_project(project.folder) as again:
        assert "my best run" in again.engine.run_names()


def test_runs_are_added_all_or_none(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"303 Q0 d07 1 9 {name}\n")
    add_run = Store.add_run

    def taken(store: Store, name: str, *given: object) -> object:
        if name == "two":
            raise ConflictError("somebody has added it meanwhile")
        return add_run(store, name, *given)  # type: ignore[arg-type]

    before = project.store.last_sequence()
    monkeypatch.setattr(Store, "add_run", taken)
    with pytest.raises(ConflictError):
        add_runs(project, [str(tmp_path / "one"), str(tmp_path / "two")])
    assert project.store.last_sequence() == before
    monkeypatch.undo()
    assert add_runs(project, [str(tmp_path / "one"), str(tmp_path / "two")]).rows == 2


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", b'{"id": "d1", "text": "x"}\n\n{"id": "caf\xe9", "text": "x"}\n', r"a.jsonl:3: doc id .* is not UTF-8"),
        ("a.jsonl", b'{"id": "d\\n1", "text": "x"}\n', r"a.jsonl:1: doc id 'd\\n1' contains the control character"),
        ("a.sgml", b"\n<DOC><DOCNO> a b </DOCNO>x</DOC>\n", r"a.sgml:2: doc id 'a b' contains blanks"),
        ("a.csv", b"id,text\nd1,x\n" + b"u" * 2001 + b",x\n", r"a.csv:3: doc id .* has 2,001 bytes"),
        ("two words.txt", b"x", r"two words.txt: doc id 'two words' contains blanks"),
    ],
)  # fmt: skip
def test_a_corpus_with_an_id_that_is_no_good_is_refused(
    tmp_path: Path, name: str, content: bytes, place: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=place):
        list(read_documents([tmp_path / name]))
    with pytest.raises(FormatError, match=place):
        create_project(
            tmp_path / "project",
            corpus=[str(tmp_path / name)],
            topics=None,
            runs=[],
            settings=Settings(scale=SCALE),
        )
    assert not (tmp_path / "project").exists()


def test_topics_with_an_id_that_is_no_good_are_refused_and_none_is_kept(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    for bad, problem in (
        (b"x" * 501, "has 501 bytes"), (b"a\x7fb", "control character"), (b"caf\xe9", "is not UTF-8"),
    ):  # fmt: skip
        path.write_bytes(b"301\twhales\n" + bad + b"\tships\n")
        with pytest.raises(FormatError, match=rf"topics.tsv:2: .*{problem}"):
            add_topics(store, read_topics(path))
    assert store.topics() == []
    assert store.last_sequence() == 0


# ---- judgments of files


def test_a_file_of_judgments_is_taken_whole_or_not_at_all(project: Project, tmp_path: Path) -> None:
    path, before = tmp_path / "old.txt", project.store.last_sequence()
    good = b"".join(b"MB001 0 x%d 1\n" % number for number in range(1500))
    path.write_bytes(good + b"MB001 0 caf\xe9 1\n")
    with pytest.raises(FormatError, match=r"old.txt:1501: doc id 'caf\\xe9' is not UTF-8"):
        import_qrels(project, path)
    assert project.store.last_sequence() == before
    path.write_bytes(good)
    assert import_qrels(project, path)[:2] == (1500, 1500)


def test_what_fails_in_the_middle_of_many_judgments_leaves_none(store: Store) -> None:
    def rows() -> Iterator[Submission]:
        for number in range(1500):
            yield Submission(assessor="import-x", topic="t", doc=f"d{number}", grade=1, key="k")
        raise ConflictError("enough")

    with pytest.raises(ConflictError):
        store.judge_all(rows())
    assert store.last_sequence() == 0


def test_files_of_two_people_are_two_assessors(project: Project, tmp_path: Path) -> None:
    for name, grade in (("qrels.anna.txt", 2), ("qrels.berta.txt", 0), ("qrels.carl", 1)):
        (tmp_path / name).write_text(f"MB001 0 d05 {grade}\n")
        assert import_qrels(project, tmp_path / name)[:2] == (1, 1)
        assert import_qrels(project, tmp_path / name)[:2] == (1, 0)
    assert list(Export(project.store).assessors()) == [
        "MB001 import-qrels.anna.txt d05 2\n", "MB001 import-qrels.berta.txt d05 0\n", "MB001 import-qrels.carl d05 1\n"
    ]  # fmt: skip


def test_files_of_one_name_that_differ_need_a_word_on_whose_they_are(
    project: Project, tmp_path: Path
) -> None:
    files = [tmp_path / folder / "qrels.txt" for folder in ("anna", "berta")]
    for path, grade in zip(files, (2, 0), strict=True):
        path.parent.mkdir()
        path.write_text(f"MB001 0 d06 1\nMB001 0 d05 {grade}\n")
    import_qrels(project, files[0])
    before = project.store.last_sequence()
    with pytest.raises(
        FormatError, match=r"qrels.txt:2: document 'd05' has grade 0, but 2 in .* --assessor NAME"
    ):
        import_qrels(project, files[1])
    assert project.store.last_sequence() == before
    assert import_qrels(project, files[1], assessor="berta").changed == 2
    assert (
        import_qrels(project, files[1], assessor="qrels.txt").changed == 1
    )  # a new version of the first file
    assert import_qrels(project, files[0], assessor="import-qrels.txt").changed == 1  # as the log spells it
    assert set(Export(project.store).assessors()) == {
        f"MB001 import-{who} {doc} {grade}\n"
        for who, doc, grade in (
            ("qrels.txt", "d05", 2),
            ("qrels.txt", "d06", 1),
            ("berta", "d05", 0),
            ("berta", "d06", 1),
        )
    }
    for name in ("x" * MOST_ASSESSOR, " "):
        with pytest.raises(DataError, match="cannot be the name of an assessor"):
            import_qrels(project, files[0], assessor=name)


# ---- settling


def test_only_what_was_judged_can_be_settled(project: Project) -> None:
    for name in ("ann", "bob"):
        add_person(project, name, topics=("MB001",))
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    olga.get("/organize/differences")
    before = project.store.last_sequence()
    for topic, doc in (("no such", "d05"), ("MB001", "a b\nMB001 0 forged 1"), ("MB001", "d05")):
        answer = olga.post("/organize/adjudicate", topic=topic, doc=doc, grade="1.0")
        assert answer.status_code == 400
        assert "othing to settle" in answer.text or "there is nothing" in answer.text
    assert project.store.last_sequence() == before
    for who, grade in (("assessor-1", 0), ("assessor-2", 2)):
        project.engine.judge(who, "MB001", "d05", grade, key=f"key-of-{who}")
    given = {"topic": "MB001", "doc": "d05", "grade": "1.0", "key": "the-same-key"}
    assert [olga.post("/organize/adjudicate", **given).status_code for _ in range(2)] == [303, 303]
    assert [event.kind for event in project.store.events()].count("adjudicate") == 1
    for who in ("assessor-1", "assessor-2"):
        project.engine.withdraw(who, "MB001", "d05", key=f"undo-of-{who}")
    assert olga.post("/organize/adjudicate", **given).status_code == 303  # the answer of the first time


# ---- long ids, from the corpus to the qrels

URL = f"https://example.org/{unlike(MOST_DOC - 20, 1)}"
TOPIC = unlike(MOST_TOPIC, 2)


@contextmanager
def project_of_long_ids(folder: Path, database: str | None) -> Iterator[Project]:
    docs = [URL, "http://" + "é" * 900, "short"]
    (folder / "docs.jsonl").write_text(
        "".join(json.dumps({"id": doc, "text": f"whales {number}"}) + "\n" for number, doc in enumerate(docs))
    )
    (folder / "topics.tsv").write_text(f"{TOPIC}\twhales\n")
    for run, order in (("one", docs), ("two", docs[::-1])):
        lines = [f"{TOPIC} Q0 {doc} {rank} {9 - rank} {run}\n" for rank, doc in enumerate(order)]
        (folder / f"{run}.run").write_text("".join(lines))
    with create_project(
        folder / "project", corpus=[str(folder / "docs.jsonl")], topics=str(folder / "topics.tsv"),
        runs=[str(folder / f"{run}.run") for run in ("one", "two")], settings=Settings(scale=SCALE, overlap=2),
        database=database,
    ) as project:  # fmt: skip
        yield project


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_ids_as_long_as_can_be_go_all_the_way(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: Server | None = request.getfixturevalue("postgresql") if kind == "postgresql" else None
    url = None if server is None else server.fresh()
    with project_of_long_ids(tmp_path, url) as project:
        add_person(project, "ann", topics=(TOPIC,))
        ann = signed_in(project, "ann")
        have: list[str] = []
        for number in range(3):
            work = ann.get("/api/next?" + urlencode({"topic": TOPIC, "have": have}, doseq=True)).json()
            doc = work["documents"][0]["doc"]
            place = {"topic": TOPIC, "doc": doc, "have": have}
            if doc == URL:
                skipped = ann.send("/api/skip", {**place, "key": f"skip-{number:08d}"})
                assert skipped.status_code == 200, skipped.text
                back = ann.send("/api/undo", {**place, "key": f"undo-{number:08d}"})
                assert back.json()["documents"][0]["doc"] == URL
            judged = ann.send("/api/judge", {**place, "grade": 1, "key": f"judge-{number:08d}"})
            assert judged.status_code == 200, judged.text
            have.append(doc)
            for path in ("/judge", "/api/document"):
                named = urlencode({"topic": TOPIC, "doc": doc, "query": "whales"})
                assert ann.get(f"{path}?{named}").status_code == 200
        assert sorted(have) == sorted([URL, "http://" + "é" * 900, "short"])
        assert ann.get(f"/history?{urlencode({'topic': TOPIC})}").status_code == 200
        old = tmp_path / "old.txt"
        old.write_text(f"{TOPIC} 0 {URL} 2\n")
        name = unlike(MOST_ASSESSOR - len("import-"), 3).replace("/", "-")
        assert import_qrels(project, old, assessor=name).changed == 1
        lines = list(Export(project.store).qrels("first"))
        assert f"{TOPIC} 0 {URL} 1\n" in lines
        assert len(lines) == 3
        assert verify(project).problems == ()
    if server is not None and url is not None:
        server.drop(url)


def test_the_limits_fit_an_index_of_postgresql() -> None:
    fixed = (
        8 + 3 * 4 + 8 + 7
    )  # header of the entry, lengths of three texts, the number of the event, rounding
    assert MOST_DOC + MOST_TOPIC + MOST_ASSESSOR + fixed <= 2704
