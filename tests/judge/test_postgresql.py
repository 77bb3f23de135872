"""What PostgreSQL is asked, on which line, in how many journeys; and what a lost line costs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.conftest import require
from tests.judge.databases import Server
from tests.judge.small import begin

from sounding.judge import postgresql, sql
from sounding.judge.database import StoreError, shown_url
from sounding.judge.postgresql import PostgresDatabase
from sounding.judge.records import FREE, Offer, Submission
from sounding.judge.store import Store, open_store

psycopg = require("psycopg")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def opened(store: Store) -> PostgresDatabase:
    database = store._database
    assert isinstance(database, PostgresDatabase)
    return database


def judgment(doc: str, key: str) -> Submission:
    return Submission(assessor="ann", topic="7", doc=doc, grade=1, key=key)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The journeys to the server: the beginning, every answer that is waited for, and the end."""
    journeys: list[str] = []
    begun, fetched = PostgresDatabase._wait_for_turn, postgresql._fetched

    def turn(database: PostgresDatabase) -> Any:
        journeys.append("begin")
        return begun(database)

    def fetch(cursor: Any) -> Any:
        if cursor.pgresult is None:  # it has not come with an earlier answer
            journeys.append("answer")
        return fetched(cursor)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresDatabase, "_wait_for_turn", turn)
        patch.setattr(postgresql, "_fetched", fetch)
        yield journeys


def test_judge_and_next_is_five_journeys_and_the_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = begin(store)
    leases = engine.next("ann", "MB001", 2)
    with counted(monkeypatch) as journeys:
        receipt, following = engine.and_next(
            lambda: engine.judge("ann", "MB001", leases[0].doc, 1, key="key-one"), "ann", "MB001", 2
        )
    assert receipt is not None
    assert len(following) == 2
    assert following[0].doc == leases[1].doc
    # How far the log is; what judging asks, all at once; who has what; whether the next one is free.
    assert journeys == ["begin", *["answer"] * 4]


def test_answers_that_were_expected_are_those_of_before_any_change(opened: PostgresDatabase) -> None:
    ask = "SELECT count(*) AS count FROM setting WHERE name = :name"
    with opened.write() as run:
        run.expect(ask, name="a")
        assert run(ask, name="a")[0]["count"] == 0
        run.expect(ask, name="a")
        run.expect(ask, name="b")
        run(sql.SET_SETTING, name="a", value="1")
        assert (run(ask, name="a")[0]["count"], run(ask, name="b")[0]["count"]) == (1, 0)
        run.expect(ask, name="b")
        run.many(sql.SET_SETTING, [{"name": "b", "value": "2"}, {"name": "c", "value": "3"}])
        assert run(ask, name="b")[0]["count"] == 1


def test_readers_do_not_wait_for_a_writer_and_see_what_was_committed(
    store: Store, opened: PostgresDatabase
) -> None:
    store.set_setting("title", "before")
    seen: list[str | None] = []
    with opened.write() as run:
        run(sql.SET_SETTING, name="title", value="after")
        reader = threading.Thread(target=lambda: seen.append(store.setting("title")))
        reader.start()
        reader.join(30)
        assert seen == ["before"]
        assert store.setting("title") == "after", "the thread of the transaction sees what it did"
    assert store.setting("title") == "after"


def test_an_error_of_a_statement_that_was_sent_late_ends_the_transaction(
    store: Store, opened: PostgresDatabase, capfd: pytest.CaptureFixture[str]
) -> None:
    def change_the_past() -> None:
        with opened.write() as run:
            run(sql.SET_SETTING, name="title", value="never")
            run("DELETE FROM event")

    with pytest.raises(StoreError, match=r"append-only.*; nothing was recorded$"):
        change_the_past()
    assert capfd.readouterr().err == ""
    assert store.setting("title") is None
    assert store.judge(judgment("d1", "key-one")).event.sequence == 1


@pytest.mark.parametrize("together", [True, False])
def test_a_transaction_that_failed_is_no_commit_even_if_somebody_hides_the_error(
    together: bool, store: Store, opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.Pipeline, "is_supported", lambda: together)

    def hide() -> None:
        with opened.write() as run:
            run(sql.SET_SETTING, name="title", value="never")
            with pytest.raises(psycopg.Error):
                run("SELECT 1 / 0")

    with pytest.raises(StoreError, match="pipeline aborted" if together else "nothing was recorded"):
        hide()
    assert store.setting("title") is None


def test_where_statements_cannot_be_sent_together_all_is_the_same(
    store: Store, opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.Pipeline, "is_supported", lambda: False)  # a library of before version 14
    engine = begin(store)
    [lease] = engine.next("ann", "MB001")
    receipt, following = engine.and_next(
        lambda: engine.judge("ann", "MB001", lease.doc, 1, key="key-one"), "ann", "MB001", 2
    )
    assert receipt is not None
    assert len(following) == 2
    assert [one.doc for one in store.standing()] == [lease.doc]
    test_answers_that_were_expected_are_those_of_before_any_change(opened)


@pytest.mark.parametrize("line", ["_reading", "_writing"])
def test_a_line_that_was_lost_meanwhile_is_not_noticed(
    line: str, url: str, store: Store, opened: PostgresDatabase
) -> None:
    store.judge(judgment("d1", "key-one"))
    process = getattr(opened, line).info.backend_pid
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [process])
    assert store.judge(judgment("d2", "key-two")).event.sequence == 2
    assert [event.doc for event in store.events()] == ["d1", "d2"]
    assert getattr(opened, line).info.backend_pid != process


def test_a_line_that_is_lost_within_a_transaction_records_nothing(
    url: str, store: Store, opened: PostgresDatabase, capfd: pytest.CaptureFixture[str]
) -> None:
    def lose() -> None:
        with opened.write() as run:
            run(sql.SET_SETTING, name="title", value="never")
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 10000)", [opened._writing.info.backend_pid])

    with pytest.raises(StoreError, match="whether it was recorded shows when the same submission is sent"):
        lose()
    assert capfd.readouterr().err == ""
    assert store.setting("title") is None
    assert store.judge(judgment("d1", "key-one")).event.sequence == 1


def test_the_clock_of_a_transaction_goes_on_from_the_servers(opened: PostgresDatabase) -> None:
    with opened.read() as run:
        before = run.now()
    with opened.write() as run:
        first = run.now()
        time.sleep(0.05)
        second = run.now()
    with opened.read() as run:
        after = run.now()
    assert before < first < second < after
    assert second - first >= 0.05


def test_what_only_reads_cannot_write_many(opened: PostgresDatabase) -> None:
    with opened.read() as run, pytest.raises(TypeError, match="cannot write outside a transaction"):
        run.many(sql.SET_SETTING, [])


def test_the_last_number_of_the_log_is_asked_once_a_transaction(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rows = postgresql._rows

    def noting(connection: Any, statement: str, parameters: Any) -> Any:
        asked.append(statement)
        return rows(connection, statement, parameters)

    monkeypatch.setattr(postgresql, "_rows", noting)
    with store.together():
        for number in range(3):
            assert store.judge(judgment(f"d{number}", f"key-{number}")).event.sequence == number + 1
        assert store.last_sequence() == 3
    assert asked.count(sql.LAST_EVENT) == 1


def test_a_line_that_broke_off_in_the_middle_holds_up_nobody(
    url: str, store: Store, opened: PostgresDatabase
) -> None:
    def break_off() -> None:
        with opened.write() as run:
            run(sql.SET_SETTING, name="title", value="never")
            run(sql.SETTING, name="title")
            # An answer that nobody collects, as when the server's last word comes before the end of the line.
            opened._writing.pgconn.send_query_params(b"SELECT 1", None)
            raise KeyError("the first error")

    for number in range(3):
        with pytest.raises(KeyError, match="the first error"):
            break_off()
        with open_store(url) as other:
            other.set_setting("other", f"is not locked out {number}")
        assert store.judge(judgment(f"d{number}", f"key-{number}")).event.kind == "judge"
    assert store.setting("title") is None


def test_a_reader_that_broke_off_in_the_middle_is_replaced(store: Store, opened: PostgresDatabase) -> None:
    opened._reading.pgconn.send_query_params(b"SELECT pg_sleep(9)", None)
    assert store.setting("title") is None


def test_documents_are_given_once_whatever_isolation_the_server_is_used_to(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        asked = "SET default_transaction_isolation = 'repeatable read'"
        other.execute(f"ALTER DATABASE {other.info.dbname} {asked}")
    offers = [Offer(doc=f"d{number}", selection=FREE) for number in range(30)]
    stores = [open_store(url) for _ in range(4)]
    given: list[str] = []
    together = threading.Barrier(len(stores))

    def ask(number: int) -> None:
        together.wait()
        for turn in range(5):
            leases = stores[number].lease(f"{number}-{turn}", "7", lambda _: offers, overlap=1, seconds=60)
            given.extend(lease.doc for lease in leases)

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(len(stores))]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    for store in stores:
        store.close()
    assert sorted(given) == sorted(offer.doc for offer in offers[: len(given)])
    assert len(given) == 20


def test_another_database_of_the_same_name_is_refused(postgresql: Server, url: str, store: Store) -> None:
    store.judge(judgment("d1", "key-one"))
    postgresql.drop(url)
    name = url.removeprefix("postgresql:///").partition("?")[0]
    with psycopg.connect(postgresql.url("postgres"), autocommit=True) as other:
        other.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    for act in (lambda: store.judge(judgment("d2", "key-two")), store.last_sequence):
        with pytest.raises(StoreError, match="another database has taken its place; nothing"):
            act()
    with psycopg.connect(url) as other:
        assert other.execute(sql.TABLES["postgresql"]).fetchall() == []


def test_a_database_in_another_encoding_is_refused(postgresql: Server) -> None:
    with psycopg.connect(postgresql.url("postgres"), autocommit=True) as other:
        other.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        with pytest.raises(StoreError, match="the encoding of the database is LATIN1; expected UTF8"):
            open_store(postgresql.url("latin"))
        other.execute("DROP DATABASE latin")


def test_where_only_one_line_is_to_be_had_it_is_given_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    connected = PostgresDatabase._connect

    def once(database: PostgresDatabase, *_: str) -> Any:
        if made:
            raise StoreError("too many clients")
        made.append(connected(database))
        return made[0]

    monkeypatch.setattr(PostgresDatabase, "_connect", once)
    with pytest.raises(StoreError, match="too many clients"):
        open_store(url)
    assert made[0].closed


def test_a_password_is_never_shown() -> None:
    assert shown_url("postgresql://u:p@ss@host/name") == "postgresql://u@host/name"
    assert shown_url("postgresql://u@host/name?x=a:b@c") == "postgresql://u@host/name?x=a:b@c"
    assert shown_url("postgresql:///n?password=sekret&user=u") == "postgresql:///n?password=...&user=u"


def test_only_statements_that_begin_with_select_give_rows() -> None:
    every = [text for name, text in vars(sql).items() if isinstance(text, str) and name.isupper()]
    assert len(every) > 50
    assert not [text for text in every if text.startswith("WITH") or "RETURNING" in text]


def test_a_database_of_the_same_number_on_another_server_is_told_apart(
    store: Store, opened: PostgresDatabase
) -> None:
    assert opened._identity is not None
    assert set(opened._identity) == {"server", "number"}
    opened._identity = {**opened._identity, "server": 1}
    opened._writing.close()
    with pytest.raises(StoreError, match="another database has taken its place"):
        store.judge(judgment("d1", "key-one"))


def test_who_may_not_ask_for_the_identity_can_judge_all_the_same(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "IDENTITY", "SELECT 1 FROM a_table_that_may_not_be_read")
    with open_store(url) as store:
        assert store.judge(judgment("d1", "key-one")).event.sequence == 1


def test_tables_are_found_wherever_statements_find_them(url: str, store: Store) -> None:
    store.judge(judgment("d1", "key-one"))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"CREATE SCHEMA {other.info.user}")  # which comes first from now on
    with open_store(url, made=True) as again:
        assert again.last_sequence() == 1


def test_the_encoding_of_the_program_s_surroundings_does_not_matter(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with open_store(url) as store:
        store.set_setting("title", "鯨")
        assert store.setting("title") == "鯨"


def test_what_takes_no_changes_now_is_asked_anew_on_another_line(
    url: str, store: Store, opened: PostgresDatabase
) -> None:
    first = opened._writing
    first.execute("SET default_transaction_read_only = on")  # as on a spare server
    with pytest.raises(StoreError, match=r"read-only transaction.*; nothing was recorded"):
        store.judge(judgment("d1", "key-one"))
    assert store.judge(judgment("d1", "key-one")).event.sequence == 1
    assert opened._writing is not first


def test_a_store_that_was_closed_stays_closed(url: str) -> None:
    store = open_store(url)
    store.close()
    for act in (lambda: store.judge(judgment("d1", "key-one")), store.last_sequence):
        with pytest.raises(StoreError, match="closed"):
            act()


def test_reading_says_nothing_about_recording(store: Store, opened: PostgresDatabase) -> None:
    with pytest.raises(StoreError, match="division by zero'; nothing could be read"), opened.read() as run:
        run("SELECT 1 / 0")


def test_times_come_back_as_they_were_written_whatever_the_server_is_used_to(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            f"ALTER DATABASE {other.info.dbname} SET extra_float_digits = 0"
        )  # as before version 12
    with open_store(url) as store:
        engine = begin(store)
        [lease] = engine.next("ann", "MB001")
        receipt = engine.judge("ann", "MB001", lease.doc, 1, key="key-one")
        assert list(store.events())[-1] == receipt.event
        assert engine.catch_up() == receipt.event.sequence
