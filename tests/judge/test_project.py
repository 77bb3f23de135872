"""A project as a folder: made whole or not at all, opened, added to, backed up, and verified against its log."""

from __future__ import annotations

import json
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.conftest import require
from tests.docs_examples import run_page
from tests.judge.databases import Server
from tests.judge.small import SCALE, TOPICS, Runs, draw_runs

from sounding.core.errors import DataError, FormatError
from sounding.judge import sql
from sounding.judge.database import StoreError
from sounding.judge.project import (
    Project,
    add_runs,
    create_project,
    digest_of,
    extra_sample_note,
    import_qrels,
    invite,
    open_project,
)
from sounding.judge.settings import Order, Settings
from sounding.judge.sqlite import sqlite3
from sounding.judge.store import Store, new_store, open_store
from sounding.judge.verify import verify

DEPTH = 8


def write_runs(folder: Path, runs: Runs) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, topics in runs.items():
        lines = [
            f"{topic} Q0 {doc} 0 {score} {name}\n"
            for topic, docs in topics.items()
            for doc, score in docs.items()
        ]
        (folder / name).write_text("".join(lines))
    return [str(folder / name) for name in runs]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    write_runs(folder / "runs", draw_runs(1))
    docs = [json.dumps({"_id": f"d{n:02}", "text": f"document number {n} about flutter"}) for n in range(14)]
    (folder / "docs.jsonl").write_text("\n".join(docs) + "\n")
    (folder / "topics.tsv").write_text("".join(f"{topic}\twhat of {topic}\n" for topic in TOPICS))
    return folder


def create(folder: Path, files: Path, database: str | None = None, **changes: object) -> Project:
    settings = Settings(scale=SCALE, **{"depth": DEPTH, "seed": 3, **changes})  # type: ignore[arg-type]
    return create_project(
        folder, corpus=[str(files / "docs.jsonl")], topics=str(files / "topics.tsv"),
        runs=[str(files / "runs")], settings=settings, database=database,
    )  # fmt: skip


def work(project: Project, steps: int, seed: int = 1) -> None:
    rng = random.Random(seed)
    engine = project.engine
    for step in range(steps):
        name, topic = f"assessor-{rng.randint(1, 2)}", rng.choice(TOPICS)
        leases = engine.next(name, topic, count=2)
        if rng.random() < 0.15:
            engine.withdraw(name, topic, key=f"{seed}-{step}")
        elif leases:
            engine.judge(name, topic, leases[0].doc, rng.choice((0, 1, 2, None)), key=f"{seed}-{step}")
        if step % 9 == 8:
            engine.refit_if_due()


def test_a_project_is_made_and_opened(tmp_path: Path, files: Path) -> None:
    with create(tmp_path / "p", files, title="Flutter") as project:
        assert (project.settings.title, project.corpus.count) == ("Flutter", 14)
        assert [topic.id for topic in project.store.topics()] == ["7", "MB001", "t-é"]
        assert project.engine.run_names() == ("run0", "run1", "run2", "run3")
        assert project.engine.lost(project.corpus) == []
        work(project, 5)
        judged = project.store.last_sequence()
    with open_project(tmp_path / "p") as again:
        assert again.engine.catch_up() == judged
    assert stat.S_IMODE((tmp_path / "p" / "project.json").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "p"]


def test_a_project_in_postgresql_keeps_only_its_corpus_in_the_folder(
    tmp_path: Path, files: Path, postgresql: Server
) -> None:
    url = postgresql.fresh()
    with create(tmp_path / "p", files, database=url, order=Order(batch=3)) as project:
        work(project, 20)
        assert verify(project).problems == ()
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == ["corpus.sqlite", "project.json"]
    with pytest.raises(DataError, match="the database has a project already"):
        create(tmp_path / "q", files, database=url)
    assert not (tmp_path / "q").exists()
    postgresql.drop(url)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda files: (files / "runs" / "bad").write_text("7 Q0 d01 1\n"), "bad:1: "),
        (lambda files: (files / "topics.tsv").write_text("x\n"), "topics.tsv:1: "),
        (lambda files: (files / "docs.jsonl").write_text('{"_id": "1"}\n{"_id": "1"}\n'), "stands twice"),
        (lambda files: (files / "docs.jsonl").unlink(), "docs.jsonl: cannot be opened"),
    ],
)  # fmt: skip
def test_bad_input_leaves_nothing_of_a_project(
    tmp_path: Path, files: Path, spoil: object, message: str
) -> None:
    spoil(files)  # type: ignore[operator]
    with pytest.raises((DataError, FormatError), match=message):
        create(tmp_path / "p", files)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_a_project_that_cannot_be_put_in_its_place_leaves_nothing_in_a_database(
    tmp_path: Path, files: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = place if place.startswith("postgresql:") else None
    whole = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if target == tmp_path / "p":
            raise OSError(18, "Invalid cross-device link")
        return whole(path, target)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", fail)
        with pytest.raises(DataError, match="/p: Invalid cross-device link"):
            create(tmp_path / "p", files, database=database)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]
    with create(tmp_path / "p", files, database=database) as project:
        assert project.engine.run_names() == ("run0", "run1", "run2", "run3")


def test_a_project_that_a_database_did_not_keep_is_not_left_in_its_place(
    tmp_path: Path, files: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = place if place.startswith("postgresql:") else None

    @contextmanager
    def cut(place: str | Path) -> Iterator[Store]:
        with new_store(place) as store:
            yield store
            raise StoreError("the line was cut")

    with monkeypatch.context() as broken:
        broken.setattr("sounding.judge.project.new_store", cut)
        with pytest.raises(StoreError, match="the line was cut"):
            create(tmp_path / "p", files, database=database)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]
    create(tmp_path / "p", files, database=database).store.close()


def test_a_project_can_be_made_in_the_folder_where_one_stands(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").mkdir()
    monkeypatch.chdir(tmp_path / "p")
    with create(Path(), files) as project:
        assert project.engine.run_names() == ("run0", "run1", "run2", "run3")
    assert sorted(one.name for one in Path().iterdir()) == ["corpus.sqlite", "judging.sqlite", "project.json"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["files", "p"]


def test_a_folder_that_holds_something_is_refused(tmp_path: Path, files: Path) -> None:
    with pytest.raises(DataError, match="not an empty folder"):
        create(files, files)
    (tmp_path / "p").mkdir()
    create(tmp_path / "p", files).store.close()


def test_what_is_no_project_is_said_in_one_line(tmp_path: Path, files: Path) -> None:
    with pytest.raises(DataError, match="not a judging project; create one with: sounding judge init"):
        open_project(tmp_path)
    create(tmp_path / "p", files).store.close()
    (tmp_path / "p" / "judging.sqlite").rename(tmp_path / "away")
    with pytest.raises(DataError, match="the project's database is missing"):
        open_project(tmp_path / "p")
    (tmp_path / "p" / "judging.sqlite").write_text("no database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_project(tmp_path / "p")
    (tmp_path / "p" / "project.json").write_text('{"version": 99}')
    with pytest.raises(FormatError, match="not a project of version 1"):
        open_project(tmp_path / "p")


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[1]", b'{"version": 1, "database": 7}'])
def test_a_damaged_file_of_a_project_is_said_with_what_mends_it(
    tmp_path: Path, files: Path, content: bytes
) -> None:
    create(tmp_path / "p", files).store.close()
    (tmp_path / "p" / "project.json").write_bytes(content)
    with pytest.raises(FormatError, match=r"project\.json: damaged; restore a copy of the file") as refused:
        open_project(tmp_path / "p")
    mend = str(refused.value).partition("is enough: ")[2]
    (tmp_path / "p" / "project.json").write_text(mend)
    with open_project(tmp_path / "p") as project:
        assert verify(project).problems == ()


def test_a_database_without_settings_is_no_project(tmp_path: Path, files: Path) -> None:
    create(tmp_path / "p", files).store.close()
    (tmp_path / "p" / "judging.sqlite").unlink()
    open_store(tmp_path / "p" / "judging.sqlite").close()
    with pytest.raises(
        DataError, match=r"judging\.sqlite: not the database of a judging project; restore a backup"
    ):
        open_project(tmp_path / "p")


@pytest.mark.parametrize("strange", ["empty", "another program's", "the corpus"])
def test_a_file_that_is_no_database_of_a_project_is_refused_and_left_as_it_is(
    strange: str, tmp_path: Path, files: Path
) -> None:
    create(tmp_path / "p", files).store.close()
    path = tmp_path / "p" / "judging.sqlite"
    path.unlink()
    if strange == "empty":
        path.touch()
    elif strange == "the corpus":
        shutil.copy(tmp_path / "p" / "corpus.sqlite", path)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE foo (a TEXT)")
    before = path.read_bytes()
    with pytest.raises(DataError, match="not the database of a judging project"):
        open_project(tmp_path / "p")
    assert path.read_bytes() == before
    assert sorted(one.name for one in path.parent.iterdir()) == [
        "corpus.sqlite",
        "judging.sqlite",
        "project.json",
    ]


@pytest.mark.parametrize("strange", ["empty", "another program's"])
def test_a_server_s_database_of_no_project_is_refused_and_left_as_it_is(
    strange: str, tmp_path: Path, files: Path, postgresql: Server
) -> None:
    first, second = postgresql.fresh(), postgresql.fresh()
    create(tmp_path / "p", files, first).store.close()
    record = tmp_path / "p" / "project.json"
    record.write_text(record.read_text().replace(first, second))
    if strange != "empty":
        change_tables(second, "CREATE TABLE foo (a TEXT)")
    with pytest.raises(DataError, match="not the database of a judging project; restore a backup"):
        open_project(tmp_path / "p")
    assert tables_of(second) == ([] if strange == "empty" else ["foo"])
    for url in (first, second):
        postgresql.drop(url)


def test_a_project_that_cannot_be_made_leaves_no_table_behind(
    tmp_path: Path, files: Path, postgresql: Server
) -> None:
    url = postgresql.fresh()
    (files / "runs" / "bad.txt").write_text("7 Q0 d01 1 high x\n")
    with pytest.raises(FormatError, match="score 'high' is not a number"):
        create(tmp_path / "p", files, url)
    assert tables_of(url) == []
    (files / "runs" / "bad.txt").unlink()
    change_tables(url, "CREATE TABLE foo (a TEXT)")
    with pytest.raises(DataError, match="the database has the table 'foo' already; give an empty one"):
        create(tmp_path / "p", files, url)
    change_tables(url, "DROP TABLE foo")
    create(tmp_path / "p", files, url).store.close()
    with pytest.raises(DataError, match="the database has a project already; give another one"):
        create(tmp_path / "other", files, url)
    assert not (tmp_path / "other").exists()
    with open_project(tmp_path / "p") as project:
        assert verify(project).problems == ()
    postgresql.drop(url)


def change_tables(url: str, statement: str) -> None:
    with require("psycopg").connect(url) as connection:
        connection.execute(statement)


def tables_of(url: str) -> list[str]:
    with require("psycopg").connect(url) as connection:
        return [name for (name,) in connection.execute(sql.TABLES["postgresql"]).fetchall()]


def test_the_backup_of_a_project_with_another_corpus_is_refused(tmp_path: Path, files: Path) -> None:
    create(tmp_path / "p", files).store.close()
    (files / "docs.jsonl").write_text(json.dumps({"id": "d01", "text": "another corpus"}) + "\n")
    with create(tmp_path / "other", files) as other:
        other.store.backup(tmp_path / "monday")
    shutil.copy(tmp_path / "monday", tmp_path / "p" / "judging.sqlite")
    with pytest.raises(
        DataError, match=r"judging\.sqlite: this database belongs to a project with another corpus"
    ):
        open_project(tmp_path / "p")
    shutil.copy(tmp_path / "monday", tmp_path / "other" / "judging.sqlite")
    open_project(tmp_path / "other").store.close()


def test_importing_judgments_wipes_nothing_and_twice_is_once(tmp_path: Path, files: Path) -> None:
    qrels = tmp_path / "old judgments.txt"
    with create(tmp_path / "p", files, overlap=2) as project:
        doc = project.engine.next("assessor-1", "7")[0].doc
        project.engine.judge("assessor-1", "7", doc, 2, key="mine")
        other = next(name for name in (f"d{n:02}" for n in range(14)) if name != doc)
        qrels.write_text(f"7 0 {doc} 0\n7 0 {other} 1\n7 0 not-in-a-run 1\n7 0 pooled -1\nMB001 0 d01 0\n")
        assert import_qrels(project, qrels)[:2] == (4, 4)
        assert import_qrels(project, qrels)[:2] == (4, 0)
        mine = project.store.standing(assessor="assessor-1")
        assert [(one.doc, one.grade) for one in mine] == [(doc, 2)]
        assert project.engine._replay.verdicts["7", doc].grade == 2  # the first grade still counts
        qrels.write_text(f"7 0 {other} 2\n")
        assert import_qrels(project, qrels, assessor="old judgments.txt")[:2] == (1, 1)
        assert {one.assessor for one in project.store.standing()} == {
            "assessor-1",
            "import-old-judgments.txt",
        }
        assert verify(project).problems == ()
        qrels.write_text("7 0 d01 1\n7 0 d02 9\n")
        before = project.store.last_sequence()
        with pytest.raises(FormatError, match=r"txt:2: grade 9 is not on the scale; expected one of 0, 1, 2"):
            import_qrels(project, qrels)
        assert project.store.last_sequence() == before


def test_an_invitation_is_kept_as_a_hash(tmp_path: Path, files: Path) -> None:
    with create(tmp_path / "p", files) as project:
        user = project.store.add_user("bob", "assessor")
        secret = invite(project.store, user, "invitation")
        assert project.store.token(secret) is None
        assert project.store.token(digest_of(secret)) == ("invitation", user)
        assert secret.encode() not in (tmp_path / "p" / "judging.sqlite").read_bytes()


# ---- verification

ORDERS = [Order(), Order(batch=3, warm_up=2), Order(policy="move-to-front"), Order(policy="stratified-sample", parameters={"strata": "3:1,8:0.5"})]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.policy}-{order.batch}")
def test_every_recorded_choice_is_made_again_by_the_replay(tmp_path: Path, files: Path, order: Order) -> None:
    with create(tmp_path / "p", files, order=order, overlap=2) as project:
        work(project, 15)
        project.engine.add_runs(write_runs(tmp_path / "late", {"late": draw_runs(8)["run0"]}))
        project.engine.set_order("7", Order(policy="depth", batch=2))
        work(project, 15, seed=2)
        found = verify(project)
        judged = {(e.topic, e.doc) for e in project.store.events() if e.kind == "judge"}
    assert found.problems == ()
    assert len(judged) <= found.choices <= found.events


def spoilt(store: Store, statement: str) -> None:
    with store._database.write() as run:
        run("DROP TRIGGER event_update")
        run("DROP TRIGGER event_delete")
        run(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE event SET weight = weight * 1.01 WHERE sequence = 12", "was chosen as number"),
        ("UPDATE event SET grade = 2 - grade WHERE sequence = (SELECT min(sequence) FROM event WHERE grade = 2)", "replay has it as"),
        ("UPDATE event SET doc = 'd99' WHERE sequence = 14", "not chosen at all"),
    ],
)  # fmt: skip
def test_a_log_that_was_tampered_with_is_found_out(
    tmp_path: Path, files: Path, statement: str, message: str
) -> None:
    with create(tmp_path / "p", files) as project:
        engine = project.engine
        for number in range(12):
            lease = engine.next("a", TOPICS[number % 3])[0]
            engine.judge("a", lease.topic, lease.doc, (2, 0, 1)[number % 3], key=str(number))
        assert verify(project).problems == ()
        spoilt(project.store, statement)
        problems = verify(project).problems
    assert problems
    assert any(message in problem for problem in problems)


def test_a_log_with_a_gap_is_refused(tmp_path: Path, files: Path) -> None:
    with create(tmp_path / "p", files) as project:
        work(project, 10)
        last = project.store.last_sequence()
        spoilt(project.store, f"DELETE FROM event WHERE sequence = {last - 1}")
        with pytest.raises(DataError, match=f"event {last} follows {last - 2} in the log; some are missing"):
            verify(project)


def test_a_damaged_file_is_found_out(tmp_path: Path, files: Path) -> None:
    with create(tmp_path / "p", files) as project:
        work(project, 30)
    path = tmp_path / "p" / "judging.sqlite"
    content = path.read_bytes()
    assert b"assessor-1" in content
    path.write_bytes(content.replace(b"assessor-1", b"\xff" * 10))  # also where nothing is kept any more
    try:
        with open_project(tmp_path / "p") as project:
            assert verify(project).problems
    except (StoreError, DataError):
        pass  # damaged so that it cannot even be read: said, too


def test_a_backup_takes_the_place_of_the_database(tmp_path: Path, files: Path) -> None:
    with create(tmp_path / "p", files) as project:
        work(project, 10)
        project.store.backup(tmp_path / "copy.sqlite")
        events = list(project.store.events())
        work(project, 10, seed=2)
    shutil.copy(tmp_path / "copy.sqlite", tmp_path / "p" / "judging.sqlite")
    with open_project(tmp_path / "p") as project:
        assert list(project.store.events()) == events
        assert verify(project).problems == ()


def test_one_document_that_a_late_run_brings_is_told_as_one(tmp_path: Path, files: Path) -> None:
    order = Order(policy="uniform-sample", parameters={"rate": 0.5})
    with create(tmp_path / "p", files, order=order) as project:
        [lease] = project.engine.next("a", TOPICS[0])
        project.engine.judge("a", TOPICS[0], lease.doc, 1, key="begun")
        told = add_runs(project, {"late": {TOPICS[0]: {"new": 1.0}}}).remarks
    assert (
        "the samples of 1 topic stay, and the document that only the new runs retrieved was sampled as well"
        in told
    )


@pytest.mark.parametrize(
    ("drawn", "new", "said"),
    [
        (0, 1, "the document that only the new runs retrieved was not sampled"),
        (1, 1, "the document that only the new runs retrieved was sampled as well"),
        (0, 2, "0 of the 2 documents that only the new runs retrieved were sampled as well"),
        (1, 3, "1 of the 3 documents that only the new runs retrieved was sampled as well"),
        (1000, 2000, "1,000 of the 2,000 documents that only the new runs retrieved were sampled as well"),
    ],
)
def test_what_was_drawn_of_new_documents_is_told_in_words(drawn: int, new: int, said: str) -> None:
    assert extra_sample_note(drawn, new) == said


def test_the_examples_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "judge.md"
    run_page(page, whole=("judge status", "judge export"))
    assert (tmp_path / "monday.sqlite").stat().st_size > 0


def test_lost_documents_are_found_in_parts_of_any_size(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, corpus = project.engine, project.corpus
    lists = engine._replay.all_lists if engine.run_names() else None
    assert lists is not None
    docs = lists.docs.texts()
    expected = sorted(
        (topic, docs[number])
        for place, topic in enumerate(lists.topics)
        for number in {int(one) for one in lists.lists[:, place].ravel() if one >= 0}
        if corpus.document(docs[number]) is None
    )
    assert expected
    for size in (1, 3, 7, 10**6):
        monkeypatch.setattr("sounding.judge.engine.AT_ONCE", size)
        assert sorted(engine.lost(corpus)) == expected
