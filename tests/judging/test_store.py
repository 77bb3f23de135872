"""The store on both databases: the log, keys, people, topics, searches, migrations, failures."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import lacking
from tests.judging.databases import Server
from tests.judging.small import TOPICS, begin, found_by, found_by_replay

from sounding.errors import DataError
from sounding.judging import database, migrations, sql, verify
from sounding.judging.database import journal_mode, open_database, shown_url
from sounding.judging.engine import Engine
from sounding.judging.events import Selection
from sounding.judging.exports import unused_topics, without_status
from sounding.judging.replay import Replay
from sounding.judging.settings import Order
from sounding.judging.store import ConflictError, Offer, Store, StoreError, Submission, open_store

DESIGN = Selection(
    policy="stratified-sample", policy_version=3, step=17, stratum=2, probability=0.25, belief=0.125,
    weight=1 / 3, seed=42, model_version=16, known=9,
)  # fmt: skip


def judge(
    store: Store, doc: str, grade: float | None, key: str, assessor: str = "assessor-1", topic: str = "MB001"
) -> int:
    receipt = store.judge(Submission(assessor=assessor, topic=topic, doc=doc, grade=grade, key=key))
    return receipt.event.sequence


# ---- the log


def test_an_event_comes_back_as_it_was_recorded(store: Store) -> None:
    given = Submission(
        assessor="assessor-1", topic="MB001", doc="d 'x' \"y\" %s :name ü 検索 \u200f", grade=None, key="k1",
        comment="says 1 2 3; -- DROP\n‮ שלום", active=12.25, away=0.5, selection=DESIGN,
    )  # fmt: skip
    before = time.time()
    event = store.judge(given).event
    assert list(store.events()) == [event]
    assert (event.sequence, event.kind, event.topic, event.doc) == (1, "judge", "MB001", given.doc)
    assert (event.grade, event.comment, event.active, event.away) == (None, given.comment, 12.25, 0.5)
    assert event.selection == DESIGN
    assert before <= event.time <= time.time()


def test_a_change_of_mind_is_a_new_row_and_the_last_one_stands(store: Store) -> None:
    judge(store, "d1", 0, "a")
    judge(store, "d1", 2, "b", assessor="assessor-2")
    judge(store, "d1", 1, "c")
    assert [event.grade for event in store.events()] == [0, 2, 1]
    standing = store.standing(topic="MB001", doc="d1")
    assert [(one.assessor, one.grade, one.sequence, one.first_sequence) for one in standing] == [
        ("assessor-2", 2, 2, 2),
        ("assessor-1", 1, 3, 1),
    ]


def test_what_was_taken_back_no_longer_stands_and_what_follows_begins_anew(store: Store) -> None:
    judge(store, "d1", 0, "a")
    receipt = store.withdraw("assessor-1", "MB001", "d1", key="b", overlap=1, seconds=60)
    assert receipt is not None
    assert store.standing() == []
    judge(store, "d1", 1, "c")
    assert [(one.sequence, one.first_sequence) for one in store.standing()] == [(3, 3)]


def test_without_a_document_the_newest_judgment_of_the_topic_is_taken_back(store: Store) -> None:
    judge(store, "d1", 0, "a")
    judge(store, "d2", 0, "b")
    judge(store, "d1", 1, "c")
    judge(store, "other", 1, "d", topic="MB002")
    judge(store, "d9", 1, "e", assessor="assessor-2")
    taken = [
        store.withdraw("assessor-1", "MB001", None, key=f"u{n}", overlap=1, seconds=60) for n in range(3)
    ]
    assert [one.event.doc if one else None for one in taken] == ["d1", "d2", None]
    assert {one.doc for one in store.standing()} == {"other", "d9"}


def test_the_same_key_twice_is_one_act_with_the_same_answer(store: Store) -> None:
    given = Submission(assessor="assessor-1", topic="MB001", doc="d1", grade=1, key="once")
    first, second = store.judge(given), store.judge(given)
    assert (first.repeated, second.repeated) == (False, True)
    assert first.event == second.event
    assert store.last_sequence() == 1
    undo = [store.withdraw("assessor-1", "MB001", None, key="u", overlap=1, seconds=9) for _ in range(2)]
    assert undo[0] is not None
    assert undo[1] is not None
    assert undo[0].event == undo[1].event
    assert [store.skip("assessor-1", "MB001", "d2", key="s").event.sequence for _ in range(2)] == [3, 3]


def test_a_key_of_another_submission_is_a_conflict_and_changes_nothing(store: Store) -> None:
    judge(store, "d1", 1, "once")
    for doc, grade in (("d2", 1), ("d1", 0), ("d1", None)):
        with pytest.raises(ConflictError, match="the key 'once' was used for another submission"):
            judge(store, doc, grade, "once")
    assert judge(store, "d1", 1, "once", assessor="assessor-2") == 2  # keys are each assessor's own
    assert store.last_sequence() == 2


def test_the_log_refuses_changes_whoever_asks(place: str, store: Store) -> None:
    judge(store, "d1", 1, "a")
    raw = open_database(place)
    for statement in ("UPDATE event SET grade = 0", "DELETE FROM event"):
        with pytest.raises(StoreError, match="append-only"), raw.write() as run:
            run(statement)
    raw.close()
    assert [event.grade for event in store.events()] == [1]


def test_sequence_numbers_and_not_the_clock_give_the_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    for number, moment in enumerate((now, now - 3600, now - 7200)):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        judge(store, "d1", number, f"k{number}")
    assert [event.sequence for event in store.events()] == [1, 2, 3]
    assert [one.grade for one in store.standing()] == [2]


def test_events_are_read_page_by_page_without_a_gap(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sounding.judging.log.PAGE", 3)
    for number in range(10):
        judge(store, f"d{number % 4}", number, f"k{number}", topic=f"t{number % 2}")
    assert [event.sequence for event in store.events()] == list(range(1, 11))
    assert [event.sequence for event in store.events(4, until=8)] == [5, 6, 7, 8]
    places = [(event.topic, event.doc, event.assessor, event.sequence) for event in store.gradings()]
    assert len(places) == 10
    assert places == sorted(places)


def test_topics_and_documents_are_in_byte_order_on_both_databases(store: Store) -> None:
    names = ["a", "B", "é", "z", "Z", "10", "9", "a-b", "ab", "検", "\U0001f600"]
    for number, name in enumerate(names):
        judge(store, name, 1, f"k{number}")
    assert [event.doc for event in store.gradings()] == sorted(names, key=str.encode)


@pytest.mark.parametrize("bad", ["", "a\0b", "a\ud800"])
def test_ids_that_no_database_can_hold_are_refused(store: Store, bad: str) -> None:
    with pytest.raises(DataError, match=r"a doc id .* cannot be stored"):
        judge(store, bad, 1, "k")
    assert store.last_sequence() == 0


def test_a_comment_with_zero_bytes_is_kept_with_a_mark_for_each(store: Store) -> None:
    store.judge(Submission(assessor="a", topic="t", doc="d", grade=1, key="k", comment="x\0y\ud800z"))
    assert store.standing()[0].comment == "x\ufffdy?z"


def test_the_selection_of_a_judgment_is_that_of_the_lease_and_stays_with_changes(store: Store) -> None:
    store.lease("assessor-1", "MB001", [Offer(doc="d1", selection=DESIGN)], overlap=1, seconds=60)
    judge(store, "d1", 0, "a")
    judge(store, "d1", 1, "b")
    judge(store, "found", 1, "c")
    selections = [event.selection for event in store.events()]
    assert selections[:2] == [DESIGN, DESIGN]
    assert selections[2] == Selection(policy="free")
    assert store.leases() == []


def test_progress_counts_what_stands(store: Store) -> None:
    judge(store, "d1", 0, "a")
    judge(store, "d1", 2, "b")
    judge(store, "d2", None, "c")
    judge(store, "d3", 1, "d")
    judge(store, "d4", 2, "e", topic="MB002")
    judge(store, "d5", 2, "f", assessor="assessor-2")
    store.withdraw("assessor-1", "MB001", "d3", key="g", overlap=1, seconds=60)
    found = {one.topic: (one.judged, one.cannot, one.relevant) for one in store.progress("assessor-1", 2)}
    assert found == {"MB001": (2, 1, 1), "MB002": (1, 0, 1)}
    judge(store, "d5", 0, "h")  # a second judgment of one document
    assert store.documents_judged() == {"MB001": 3, "MB002": 1}
    assert store.judgments_given() == {"assessor-1": 4, "assessor-2": 1}


def test_many_judgments_at_once_pass_over_what_stands(store: Store) -> None:
    def rows(grade: float) -> list[Submission]:
        return [
            Submission(
                assessor="import-x",
                topic="t",
                doc=f"d{n}",
                grade=grade if n == 1500 else 0,
                key=f"{grade}-{n}",
            )
            for n in range(2500)
        ]

    assert store.judge_all(rows(1)) == 2500
    assert store.judge_all(rows(1)) == 0
    assert store.judge_all(rows(2)) == 1
    assert store.last_sequence() == 2501


# ---- people


def test_users_have_pseudonyms_and_one_name_in_any_case(store: Store) -> None:
    first = store.add_user("Ünal", "organiser", "hash")
    assert first.pseudonym == "assessor-1"
    with pytest.raises(ConflictError, match="there is a user 'üNAL' already"):
        store.add_user("üNAL", "assessor")
    second = store.add_user("bob", "assessor")
    assert store.users() == [first, second]
    assert store.user_by_name(" ÜNAL ") == first
    assert store.user(second.id) == second
    assert store.user_by_name("nobody") is None


def test_erasing_a_person_keeps_the_pseudonym_and_the_log(store: Store) -> None:
    user = store.add_user("Jane Doe", "assessor", "hash")
    store.save_topic("MB001", title="x")
    store.assign("MB001", user.pseudonym)
    judge(store, "d1", 1, "a", assessor=user.pseudonym)
    store.lease(user.pseudonym, "MB001", [Offer(doc="d2", selection=DESIGN)], overlap=1, seconds=60)
    store.add_sign_in(user.id, "cookie", time.time() + 60, "browser of Jane Doe")
    before = list(store.events())
    gone = store.erase_user(user.id)
    assert (gone.name, gone.password_hash, gone.active) == (user.pseudonym, None, False)
    assert list(store.events()) == before
    assert store.user_by_name("Jane Doe") is None
    assert store.sign_in("cookie") is None
    assert store.leases() == []
    again = store.add_user("Jane Doe", "assessor")
    assert again.pseudonym != user.pseudonym


@pytest.mark.parametrize("name", ["assessor-7", " Assessor-12 ", "import-trec8"])
def test_a_name_that_looks_like_a_pseudonym_is_refused(store: Store, name: str) -> None:
    with pytest.raises(ConflictError, match="is what the log may call somebody else; give another name"):
        store.add_user(name, "assessor")
    assert store.users() == []
    assert store.add_user("assessor-x", "assessor").name == "assessor-x"


def test_everybody_can_be_erased_where_an_earlier_release_let_somebody_have_their_pseudonym(
    store: Store,
) -> None:
    ann, bob = store.add_user("ann", "assessor"), store.add_user("bob", "assessor")
    with store._database.write() as run:  # as releases did that took any name
        run("UPDATE account SET name = 'assessor-1', folded = 'assessor-1' WHERE id = :id", id=bob.id)
    assert store.erase_user(ann.id).erased
    assert store.user_by_name("assessor-1") == replace(bob, name="assessor-1")
    assert store.erase_user(bob.id).erased
    assert [user.name for user in store.users()] == ["assessor-1", "assessor-2"]
    assert store.user_by_name("assessor-1") is None


def test_who_is_erased_stays_so(store: Store) -> None:
    user = store.add_user("ann", "assessor", "hash")
    gone = store.erase_user(user.id)
    assert gone.erased
    assert not user.erased
    acts: list[Callable[[], None]] = [
        lambda: store.set_active(user.id, True),
        lambda: store.set_role(user.id, "organiser"),
        lambda: store.set_password(user.id, "hash"),
        lambda: store.add_token(user.id, "invitation", "digest", time.time() + 60),
    ]
    for act in acts:
        with pytest.raises(ConflictError, match="assessor-1 is forgotten for good"):
            act()
    assert store.users() == [gone]
    assert store.token("digest") is None
    assert store.erase_user(user.id) == gone  # once more is the same


def test_the_last_organiser_who_can_sign_in_stays(store: Store) -> None:
    olga, otto = store.add_user("olga", "organiser", "hash"), store.add_user("otto", "organiser", "hash")
    store.set_active(otto.id, False)
    acts: list[Callable[[], object]] = [
        lambda: store.set_active(olga.id, False),
        lambda: store.set_role(olga.id, "assessor"),
        lambda: store.erase_user(olga.id),
    ]
    for act in acts:
        with pytest.raises(ConflictError, match="olga is the last organiser; make somebody else one first"):
            act()
    assert store.user(olga.id) == olga
    store.set_active(otto.id, True)
    assert store.erase_user(olga.id).erased
    with pytest.raises(ConflictError, match="otto is the last organiser"):
        store.erase_user(otto.id)


def test_who_was_erased_is_no_longer_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(path) as store:
        for number in range(40):  # others around, so that pages are shared
            store.add_user(f"somebody {number}", "assessor", "hash")
        user = store.add_user("Jane Doe", "assessor", "the hash of her password")
        store.add_sign_in(user.id, "cookie", time.time() + 60, "the browser that she used")
    secrets = (b"Jane Doe", b"jane doe", b"the hash of her password", b"the browser that she used")
    assert all(secret in path.read_bytes() for secret in secrets)
    with open_store(path) as store:
        store.erase_user(user.id)
    assert not any(secret in path.read_bytes() for secret in secrets)
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_a_one_time_link_works_once_until_it_expires(store: Store) -> None:
    user = store.add_user("bob", "assessor")
    store.add_token(user.id, "invitation", "digest", time.time() + 60)
    assert store.token("digest") == ("invitation", user)
    taken = store.take_token("digest", "hash")
    assert taken is not None
    assert taken.password_hash == "hash"
    assert store.take_token("digest", "other") is None
    store.add_token(user.id, "reset", "late", time.time() - 1)
    assert store.token("late") is None
    assert store.take_token("late", "other") is None
    store.add_token(user.id, "reset", "first", time.time() + 60)
    store.add_token(user.id, "reset", "second", time.time() + 60)
    assert store.take_token("first", "other") is None


def test_one_of_many_takers_of_a_link_gets_it(store: Store) -> None:
    user = store.add_user("bob", "assessor")
    store.add_token(user.id, "invitation", "digest", time.time() + 60)
    taken: list[object] = []
    threads = [
        threading.Thread(target=lambda n=n: taken.append(store.take_token("digest", f"h{n}")))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one is not None for one in taken) == 1


def test_sign_ins_end_by_expiry_by_request_by_a_new_password_and_with_the_user(store: Store) -> None:
    user = store.add_user("bob", "assessor", "hash")
    now = time.time()
    for digest, expires in (("a", now + 60), ("b", now + 60), ("old", now - 1)):
        store.add_sign_in(user.id, digest, expires, "phone")
    assert [one.digest for one in store.sign_ins(user.id)] == ["a", "b"]
    assert store.sign_in("old") is None
    store.end_sign_in("a")
    assert store.sign_in("a") is None
    found = store.sign_in("b")
    assert found is not None
    assert found.user == user
    assert found.note == "phone"
    store.set_password(user.id, "new")
    assert store.sign_in("b") is None
    store.add_sign_in(user.id, "c", now + 60)
    store.set_active(user.id, False)
    store.set_active(user.id, True)
    assert store.sign_in("c") is None
    store.set_role(user.id, "organiser")
    changed = store.user(user.id)
    assert changed is not None
    assert (changed.role, changed.password_hash) == ("organiser", "new")


# ---- topics, searches, settings, runs


def test_topics_keep_their_versions_and_unchanged_ones_make_none(store: Store) -> None:
    store.save_topic("MB001", title="one", author="assessor-1")
    same = store.save_topic("MB001", title="one")
    assert (same.version, same.author) == (1, "assessor-1")
    store.save_topic("MB001", title="one", narrative="only x", estimate=12)
    store.save_topic("10", title="ten", status="chosen")
    assert [(topic.id, topic.version) for topic in store.topics()] == [("10", 1), ("MB001", 2)]
    assert [topic.narrative for topic in store.topic_versions("MB001")] == ["", "only x"]
    newest = store.topic("MB001")
    assert newest is not None
    assert newest.estimate == 12
    with pytest.raises(DataError, match="has blanks"):
        store.save_topic("a b", title="x")


def test_topics_are_assigned_and_taken_away_with_their_leases(store: Store) -> None:
    user = store.add_user("bob", "assessor")
    store.save_topic("t1", title="x")
    with pytest.raises(DataError, match="there is no topic 't2'"):
        store.assign("t2", user.pseudonym)
    store.assign("t1", user.pseudonym)
    store.assign("t1", user.pseudonym)
    assert store.assignments() == [("t1", user.pseudonym)]
    assert [topic.id for topic in store.topics_of(user.pseudonym)] == ["t1"]
    store.lease(user.pseudonym, "t1", [Offer(doc="d", selection=DESIGN)], overlap=1, seconds=60)
    store.unassign("t1", user.pseudonym)
    assert (store.topics_of(user.pseudonym), store.leases()) == ([], [])


def test_searches_are_logged_with_what_was_opened(store: Store) -> None:
    store.log_search("assessor-1", "t1", "検索 \0", 12)
    store.log_opening("assessor-1", "t1", "検索", "d7")
    store.log_search("assessor-1", None, "x", 0)
    assert [(one.query, one.doc, one.results) for one in store.searches("t1")] == [
        ("検索 \ufffd", None, 12),
        ("検索", "d7", None),
    ]
    assert len(list(store.searches())) == 3


def test_settings_change_and_runs_do_not(store: Store) -> None:
    assert store.setting("instructions") is None
    store.set_setting("instructions", "a")
    store.set_setting("instructions", "b", by="assessor-1")
    store.set_setting("instructions", "b", by="assessor-2")  # as it is: nothing happens
    assert store.setting("instructions") == "b"
    store.add_run("bm25", b"\0\xff content", {"documents": 3})
    assert store.run("bm25") == b"\0\xff content"
    with pytest.raises(ConflictError, match="there is a run 'bm25' already"):
        store.add_run("bm25", b"", {})
    with pytest.raises(DataError, match="the run 'other' of the log is missing"):
        store.run("other")
    assert [(event.kind, event.assessor, event.detail) for event in store.events()] == [
        ("setting", None, {"name": "instructions", "value": "a"}),
        ("setting", "assessor-1", {"name": "instructions", "value": "b"}),
        (
            "run",
            None,
            {"name": "bm25", "documents": 3, "digest": hashlib.sha256(b"\0\xff content").hexdigest()},
        ),
    ]


# ---- migrations


def test_a_database_of_version_1_is_brought_up_to_date_with_all_it_holds(place: str) -> None:
    old = open_database(place)
    assert migrations.migrate(old, until=1) == 1
    with pytest.raises(StoreError), old.read() as run:
        run("SELECT * FROM search")
    first = Store(old)
    user = first.add_user("bob", "assessor", "hash")
    judge(first, "d1", 1, "a", assessor=user.pseudonym)
    add_topic_as_before(first, "t1", 1, "candidate")
    before = list(first.events())
    first.close()
    with open_store(place) as store:
        *same, topic = store.events()
        assert same == before
        assert (topic.kind, topic.topic) == ("topic", "t1")
        assert store.users() == [user]
        store.log_search(user.pseudonym, "t1", "x", 1)
        judge(store, "d2", 1, "b", assessor=user.pseudonym)
        assert len(list(store.searches())) == 1


def add_topic_as_before(store: Store, topic: str, version: int, status: str, time: float = 5.0) -> None:
    """What releases did that did not have topics in the log."""
    with store._database.write() as run:
        run(
            sql.ADD_TOPIC, id=topic, version=version, title="x", description="", narrative="", status=status,
            estimate=None, author="assessor-1", time=time,
        )  # fmt: skip


def test_a_project_from_before_topics_were_in_the_log_goes_on_with_the_topics_it_has(place: str) -> None:
    old = open_database(place)
    migrations.migrate(old, until=2)
    first = Store(old)
    engine = begin(first, order=Order(batch=2))
    user = first.add_user("bob", "assessor", "hash")
    statuses = {"7": ["chosen"], "MB001": ["chosen", "dropped"], "t-é": ["candidate", "chosen", "candidate"]}
    for topic, own in statuses.items():
        for version, status in enumerate(own, 1):
            add_topic_as_before(first, topic, version, status, time=4.0 + version)
    with first._database.write() as run:
        run(sql.ASSIGN, topic="7", assessor=user.pseudonym)
    for number in range(9):
        topic = TOPICS[number % 3]
        engine.judge("a", topic, engine.next("a", topic)[0].doc, number % 3, key=str(number))
    before = list(first.events())
    first.close()
    with open_store(place) as store:
        events = list(store.events())
        assert events[: len(before)] == before
        added = events[len(before) :]
        assert [(event.sequence, event.kind, event.topic, event.assessor) for event in added] == [
            (len(before) + number, kind, topic, "assessor-1")
            for number, (kind, topic) in enumerate(
                [*(("topic", topic) for topic, own in statuses.items() for _ in own), ("assign", "7")], 1
            )
        ]
        assert [event.detail for event in added[:-1]] == [
            {"status": status, "version": version}
            for own in statuses.values()
            for version, status in enumerate(own, 1)
        ]
        assert [event.time for event in added[:3]] == [5.0, 5.0, 6.0]
        assert abs(added[-1].time - time.time()) < 60
        again = Engine(store)
        assert set(again.live().topics) == {"7"}
        assert len(again.live().unused) == 2
        until = store.last_sequence()
        choices = list(verify._choices(store, Replay(store.run), until, None))
        assert len(choices) == 9
        assert all(verify._same(selection, found) for _, _, selection, found in choices)
        assert list(verify._unlike_topics(store, until)) == []
        # What the log did not say then is not made up: all topics are in use.
        assert unused_topics(store, len(before)) == set()
        assert without_status(store, len(before)) == ["7", "MB001", "t-é"]
        assert (unused_topics(store), without_status(store, until)) == ({"MB001", "t-é"}, [])
        assert again.set_status("MB001", "chosen").version == 3
        assert set(again.live().topics) == {"7", "MB001"}
        again.judge("a", "MB001", again.next("a", "MB001")[0].doc, 1, key="on")
        assert found_by(again, store) == found_by_replay(store)
    open_store(place).close()  # once more: nothing is added
    with open_store(place) as store:
        assert store.last_sequence() == until + 2


def test_a_database_of_a_newer_release_is_refused(place: str) -> None:
    open_store(place).close()
    raw = open_database(place)
    with raw.write() as run:
        run(sql.ADD_MIGRATION, version=migrations.NEWEST + 1, time=0.0)
    raw.close()
    with pytest.raises(StoreError, match=f"has version {migrations.NEWEST + 1}, and this release knows"):
        open_store(place)


def test_a_database_that_cannot_be_written_can_still_be_read(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(place) as store:
        judge(store, "d1", 1, "a")
        kind = type(store._database)

    def refused(_: object) -> None:
        raise StoreError("read-only")

    monkeypatch.setattr(kind, "write", refused)
    with open_store(place) as store:
        assert [event.doc for event in store.events()] == ["d1"]
        with pytest.raises(StoreError, match="read-only"):
            judge(store, "d2", 1, "b")


def test_several_processes_may_open_a_new_database_at_once(place: str) -> None:
    code = "import sys; from sounding.judging.store import open_store; open_store(sys.argv[1]).add_user(sys.argv[2], 'assessor')"
    children = [subprocess.Popen([sys.executable, "-c", code, place, f"user{n}"]) for n in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    with open_store(place) as store:
        assert sorted(user.name for user in store.users()) == [f"user{n}" for n in range(4)]
        assert sorted(user.id for user in store.users()) == [1, 2, 3, 4]


# ---- the databases


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        ((3, 40, 1), "DELETE"), ((3, 44, 5), "DELETE"), ((3, 44, 6), "WAL"), ((3, 45, 0), "DELETE"),
        ((3, 50, 6), "DELETE"), ((3, 50, 7), "WAL"), ((3, 51, 0), "DELETE"), ((3, 51, 2), "DELETE"),
        ((3, 51, 3), "WAL"), ((3, 54, 1), "WAL"),
    ],
)  # fmt: skip
def test_wal_is_used_only_where_sqlite_has_the_fix(version: tuple[int, int, int], mode: str) -> None:
    assert journal_mode(version) == mode


def test_sqlite_is_set_to_survive_a_power_loss(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(path) as store, store._database.read() as run:
        found = {
            name: next(iter(dict(run(f"PRAGMA {name}")[0]).values()))
            for name in ("synchronous", "foreign_keys", "journal_mode", "busy_timeout")
        }
    expected = journal_mode(sqlite3.sqlite_version_info).lower()
    assert found == {"synchronous": 2, "foreign_keys": 1, "journal_mode": expected, "busy_timeout": 5000}


def test_every_acknowledged_judgment_waits_for_the_disk(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        lacking("strace is not installed")
    code = (
        "import sys; from sounding.judging.store import *\n"
        "store = open_store(sys.argv[1])\n"
        "for n in range(20): store.judge(Submission(assessor='a', topic='t', doc=f'd{n}', grade=1, key=f'k{n}'))\n"
    )
    open_store(tmp_path / "x.sqlite").close()
    done = subprocess.run(
        ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", sys.executable, "-c", code, str(tmp_path / "x.sqlite")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    calls = sum(
        int(line.split()[3]) for line in done.stderr.splitlines() if line.endswith(("fsync", "fdatasync"))
    )
    assert calls >= 20


def test_passwords_in_addresses_are_not_shown() -> None:
    assert shown_url("postgresql://me:se:cret@host/db") == "postgresql://me@host/db"


def test_a_read_only_file_gives_one_clear_error_and_nothing_is_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(path) as store:
        judge(store, "d1", 1, "a")
        with store._database.write() as run:
            run("PRAGMA user_version=1")
        store._database.close()
        reopened = database.SqliteDatabase(path)
        reopened._connection.execute("PRAGMA query_only=ON")
        spoilt = Store(reopened)
        with pytest.raises(StoreError, match=r"readonly database.*nothing was recorded"):
            judge(spoilt, "d2", 1, "b")
        reopened._connection.execute("PRAGMA query_only=OFF")
        assert [event.doc for event in spoilt.events()] == ["d1"]
        assert judge(spoilt, "d2", 1, "b") == 2
        spoilt.close()


def test_a_full_disk_gives_one_clear_error_and_judging_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """The file may not grow (RLIMIT_FSIZE), as on a full disk; the child prints what it was told."""
    code = """
import resource, sys
from sounding.judging.store import *
store = open_store(sys.argv[1])
def judge(n):
    return store.judge(Submission(assessor='a', topic='t', doc=f'd{n}', grade=1, key=f'k{n}', comment='x' * 20000))
judge(0)
import os
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]) + 40000, resource.RLIM_INFINITY))
refused = 0
acknowledged = [0]
for n in range(1, 12):
    try:
        judge(n)
        acknowledged.append(n)
    except StoreError as error:
        assert '\\n' not in str(error)
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
judge(99)
acknowledged.append(99)
print(refused, *acknowledged)
"""
    path = str(tmp_path / "x.sqlite")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    refused, *acknowledged = map(int, done.stdout.split())
    assert refused > 5
    with open_store(path) as store:
        assert [event.doc for event in store.events()] == [f"d{n}" for n in acknowledged]
        assert store.damage() == []


def test_a_locked_database_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    path = tmp_path / "x.sqlite"
    with open_store(path) as store, open_store(path) as other:
        with other._database.write(), pytest.raises(StoreError, match="database is locked"):
            judge(store, "d", 1, "k")
        assert judge(store, "d", 1, "k") == 1


def test_a_server_that_goes_away_costs_nothing_that_was_acknowledged(postgresql: Server) -> None:
    url = postgresql.fresh()
    with open_store(url) as store:
        judge(store, "d1", 1, "a")
        postgresql.control("stop", "-m", "immediate")
        with pytest.raises(StoreError, match=r"cannot be reached .*; nothing was recorded"):
            judge(store, "d2", 1, "b")
        postgresql.control(
            "-l",
            str(postgresql.folder / "log"),
            "-o",
            f"-c listen_addresses='' -c unix_socket_directories={postgresql.folder} -c max_connections=150",
            "start",
        )
        assert judge(store, "d2", 1, "b") == 2
        assert [event.doc for event in store.events()] == ["d1", "d2"]
    postgresql.drop(url)


def test_no_server_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="postgresql://"):
        open_store(f"postgresql:///x?host={tmp_path}&user=postgres")


def test_a_backup_is_a_whole_copy_and_never_overwrites(
    store: Store, place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    judge(store, "d1", 1, "a")
    target = tmp_path / "copy"
    if place.startswith("postgresql") and shutil.which("pg_dump") is None:
        lacking("pg_dump is not installed")
    store.backup(target)
    with pytest.raises(DataError, match="there is a file already"):
        store.backup(target)
    if not place.startswith("postgresql"):
        restored(str(target), store)
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.fresh()
    done = subprocess.run(
        ["pg_restore", "--exit-on-error", f"--dbname={url}", str(target)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    restored(url, store)
    server.drop(url)


def restored(place: str, original: Store) -> None:
    """A copy has what the original has, goes on where it was, and guards its log as well."""
    with open_store(place) as copy:
        assert list(copy.events()) == list(original.events())
        assert copy.damage() == []
        assert judge(copy, "d2", 0, "b") == original.last_sequence() + 1
        with pytest.raises(StoreError), copy._database.write() as run:
            run("DELETE FROM event")


# ---- several writers


def writer(place: str, name: str, count: int) -> str:
    return (
        "from sounding.judging.store import *\n"
        f"store = open_store({place!r})\n"
        f"for n in range({count}):\n"
        f"    store.judge(Submission(assessor={name!r}, topic='t', doc=f'd{{n % 10}}', grade=n % 3, key=f'k{{n}}'))\n"
    )


def test_several_processes_write_without_a_lost_or_doubled_event(place: str) -> None:
    open_store(place).close()
    children = [
        subprocess.Popen([sys.executable, "-c", writer(place, f"a{number % 2}", 50)]) for number in range(4)
    ]
    assert [child.wait() for child in children] == [0] * 4
    with open_store(place) as store:
        events = list(store.events())
        # Two processes share an assessor and its keys: each act is in the log once.
        assert len(events) == 100
        assert [event.sequence for event in events] == list(range(1, 101))
        assert len({(event.assessor, event.key) for event in events}) == 100
        standing = store.standing()
        assert len({(one.topic, one.doc, one.assessor) for one in standing}) == len(standing) == 20
