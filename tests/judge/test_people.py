"""People in the store: names and pseudonyms, erasing, one-time links, sign-ins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.judge.acts import DESIGN, judge

from sounding.core.errors import DataError
from sounding.judge.records import ConflictError, Offer
from sounding.judge.store import Store, open_store


def test_users_have_pseudonyms_and_one_name_in_any_case(store: Store) -> None:
    first = store.add_user("Ünal", "organizer", "hash")
    assert first.pseudonym == "assessor-1"
    with pytest.raises(ConflictError, match="the name 'üNAL' is taken"):
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
    store.lease(user.pseudonym, "MB001", lambda _: [Offer(doc="d2", selection=DESIGN)], overlap=1, seconds=60)
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
    with pytest.raises(ConflictError, match="could be another person's pseudonym"):
        store.add_user(name, "assessor")
    assert store.users() == []
    assert store.add_user("assessor-x", "assessor").name == "assessor-x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\nb", r"the name 'a\\nb' contains the control character '\\n'"),
        ("a\tb", r"the control character '\\t'"),
        ("a\x1b[31mb", r"the control character '\\x1b'"),
        ("a\u2028b", r"the control character '\\u2028'"),
        (
            "n" * 101,
            r"the name 'n+'\.\.\. \(101 characters\) is too long; choose one of at most 100 characters",
        ),
    ],
)
def test_a_name_that_no_line_can_show_is_refused(store: Store, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        store.add_user(name, "assessor")
    assert len(str(refused.value).splitlines()) == 1
    assert store.users() == []
    assert store.add_user(" ann\n", "assessor").name == "ann"
    assert len(store.add_user("ü" * 100, "assessor").name) == 100


def test_who_is_erased_stays_so(store: Store) -> None:
    user = store.add_user("ann", "assessor", "hash")
    gone = store.erase_user(user.id)
    assert gone.erased
    assert not user.erased
    acts: list[Callable[[], None]] = [
        lambda: store.set_active(user.id, True),
        lambda: store.set_role(user.id, "organizer"),
        lambda: store.set_password(user.id, "hash"),
        lambda: store.add_token(user.id, "invitation", "digest", time.time() + 60),
    ]
    for act in acts:
        with pytest.raises(ConflictError, match="assessor-1 was erased for good"):
            act()
    assert store.users() == [gone]
    assert store.token("digest") is None
    assert store.erase_user(user.id) == gone  # once more is the same


def test_the_last_organizer_who_can_sign_in_stays(store: Store) -> None:
    olga, otto = store.add_user("olga", "organizer", "hash"), store.add_user("otto", "organizer", "hash")
    store.set_active(otto.id, False)
    acts: list[Callable[[], object]] = [
        lambda: store.set_active(olga.id, False),
        lambda: store.set_role(olga.id, "assessor"),
        lambda: store.erase_user(olga.id),
    ]
    for act in acts:
        with pytest.raises(
            ConflictError, match="olga is the last organizer; make somebody else an organizer first"
        ):
            act()
    assert store.user(olga.id) == olga
    store.set_active(otto.id, True)
    assert store.erase_user(olga.id).erased
    with pytest.raises(ConflictError, match="otto is the last organizer"):
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
    store.set_role(user.id, "organizer")
    changed = store.user(user.id)
    assert changed is not None
    assert (changed.role, changed.password_hash) == ("organizer", "new")
