"""Topics in the store and on the pages of those who write them: versions, ids, several people at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.judge.acts import DESIGN
from tests.judge.web import Browser, add_person, signed_in

from sounding.core.errors import DataError
from sounding.judge.api import written_topic
from sounding.judge.app import create_app
from sounding.judge.project import Project
from sounding.judge.records import ConflictError, Offer, Topic
from sounding.judge.store import Store, open_store

AT_ONCE = 6


def at_once(acts: list[Callable[[], Any]]) -> list[Any]:
    """What each of these gives, begun at the same moment."""
    found: list[Any] = [None] * len(acts)
    ready = threading.Barrier(len(acts))

    def one(number: int) -> None:
        ready.wait()
        found[number] = acts[number]()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


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
    with pytest.raises(DataError, match="blanks"):
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
    store.lease(user.pseudonym, "t1", lambda _: [Offer(doc="d", selection=DESIGN)], overlap=1, seconds=60)
    store.unassign("t1", user.pseudonym)
    assert (store.topics_of(user.pseudonym), store.leases()) == ([], [])


def test_a_topic_that_is_begun_gets_the_first_id_that_is_free(store: Store) -> None:
    store.save_topic("N002", title="of a file")
    begun = [store.begin_topic(title="x", author="assessor-1") for _ in range(2)]
    assert [(one.id, one.version, one.status) for one in begun] == [
        ("N001", 1, "candidate"),
        ("N003", 1, "candidate"),
    ]


def test_topics_that_several_people_begin_at_once_are_topics_of_their_own(place: str) -> None:
    stores = [open_store(place) for _ in range(AT_ONCE)]
    titles = [f"of {number}" for number in range(AT_ONCE)]
    begun: list[Topic] = at_once(
        [
            partial(store.begin_topic, title=title, author=title)
            for store, title in zip(stores, titles, strict=True)
        ]
    )
    found = [(one.id, one.version, one.title, one.author) for one in stores[0].topics()]
    for store in stores:
        store.close()
    assert [one.title for one in begun] == titles
    assert [name for name, *_ in found] == [f"N{number:03d}" for number in range(1, AT_ONCE + 1)]
    assert sorted(rest for _, *rest in found) == [[1, title, title] for title in titles]


def test_everybody_who_begins_a_topic_at_once_is_led_to_their_own(project: Project) -> None:
    app = create_app(project)
    people: list[Browser] = []
    for number in range(AT_ONCE):
        add_person(project, f"person {number}")
        people.append(signed_in(project, f"person {number}", app))
    answers = at_once(
        [partial(person.post, "/develop", title=f"of {number}") for number, person in enumerate(people)]
    )
    for number, (person, answer) in enumerate(zip(people, answers, strict=True)):
        page = person.get(answer.headers["location"])
        assert (page.status_code, f"of {number}" in page.text) == (200, True)


def test_a_version_comes_after_the_one_that_it_was_written_from(store: Store) -> None:
    first = store.save_topic("7", title="one", after=0)
    store.save_topic("7", title="two", after=first.version)
    with pytest.raises(ConflictError, match="topic 7 has version 2 by now"):
        store.save_topic("7", title="three", after=first.version)
    with pytest.raises(ConflictError, match="topic 8 has version 0"):
        store.save_topic("8", title="three", after=1)
    assert [one.title for one in store.topic_versions("7")] == ["one", "two"]


def test_a_text_that_was_saved_in_the_same_moment_is_not_written_over_unseen(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = add_person(project, "ann")
    ann = signed_in(project, "ann")
    ann.post("/develop", title="whales")

    def and_saved_elsewhere(*given: Any) -> Topic:
        found = written_topic(*given)
        project.store.save_topic("N001", title="whales", narrative="of the other tab", author=author)
        return found

    monkeypatch.setattr("sounding.judge.api.written_topic", and_saved_elsewhere)
    fields = {"id": "N001", "title": "whales", "narrative": "of this tab", "estimate": "", "query": ""}
    answer = ann.post("/develop/topic", **fields, version="1")
    assert answer.status_code == 409
    assert "of this tab" in answer.text  # nothing that was written is lost
    assert 'name="version" value="2"' in answer.text
    assert [one.narrative for one in project.store.topic_versions("N001")] == ["", "of the other tab"]
    monkeypatch.undo()
    assert ann.post("/develop/topic", **fields, version="2").status_code == 303
    assert [one.narrative for one in project.store.topic_versions("N001")][-1] == "of this tab"
