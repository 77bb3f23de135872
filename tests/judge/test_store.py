"""The store on both databases: the log and its order, keys, what stands, searches, settings, several writers."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time

import pytest
from tests.judge.acts import DESIGN, judge

from sounding.core.errors import DataError
from sounding.judge.database import StoreError
from sounding.judge.records import ConflictError, Offer, Selection, Submission
from sounding.judge.store import Store, open_database, open_store


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
    assert [(one.assessor, one.grade, one.sequence) for one in standing] == [
        ("assessor-2", 2, 2),
        ("assessor-1", 1, 3),
    ]


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
    monkeypatch.setattr("sounding.judge.log.PAGE", 3)
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


@pytest.mark.parametrize(
    ("bad", "said"), [("", "is empty"), ("a\0b", "cannot be stored"), ("a\ud800", "cannot be stored")]
)
def test_ids_that_no_database_can_hold_are_refused(store: Store, bad: str, said: str) -> None:
    with pytest.raises(DataError, match=f"a doc id .*{said}"):
        judge(store, bad, 1, "k")
    assert store.last_sequence() == 0


def test_a_comment_with_zero_bytes_is_kept_with_a_mark_for_each(store: Store) -> None:
    store.judge(Submission(assessor="a", topic="t", doc="d", grade=1, key="k", comment="x\0y\ud800z"))
    assert store.standing()[0].comment == "x\ufffdy?z"


def test_the_selection_of_a_judgment_is_that_of_the_lease_and_stays_with_changes(store: Store) -> None:
    store.lease("assessor-1", "MB001", lambda _: [Offer(doc="d1", selection=DESIGN)], overlap=1, seconds=60)
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


def test_searches_are_logged_with_what_was_opened(store: Store) -> None:
    store.log_search("assessor-1", "t1", "検索 \0", 12, first=1, total=12)
    store.log_opening("assessor-1", "t1", "検索", "d7")
    store.log_search("assessor-1", None, "x", 0, first=1, total=0)
    assert [(one.query, one.doc, one.results) for one in store.searches() if one.topic == "t1"] == [
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


def writer(place: str, name: str, count: int) -> str:
    return (
        "from sounding.judge.records import Submission; from sounding.judge.store import open_store\n"
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


def test_zero_is_the_same_in_a_receipt_and_in_the_log(store: Store) -> None:
    asked = Submission(assessor="a", topic="t", doc="d", grade=-0.0, key="key-zero", active=-0.0)
    receipt = store.judge(asked)
    [found] = store.events()
    assert repr(receipt.event) == repr(found)
