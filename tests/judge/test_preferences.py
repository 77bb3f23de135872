"""Pairs of documents: the merge sort asks what is needed and no more, and the log alone says what is next."""

from __future__ import annotations

import random
from itertools import combinations, permutations
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.small import draw_runs, found_by, found_by_replay
from tests.judge.web import Browser, add_person, make_project, signed_in

from sounding import evaluate
from sounding.core.errors import DataError
from sounding.judge.command import command
from sounding.judge.engine import Engine, first_settings
from sounding.judge.exports import EXPORTS, Omitted, omission_note
from sounding.judge.live import LiveFeed
from sounding.judge.merge_sort import (
    BOTH_BAD,
    EQUAL,
    LEFT,
    RIGHT,
    Answers,
    Preference,
    common_levels,
    levels,
    pair_for,
    preference_of,
    sides_of,
    sort,
    sound_answers,
    start_of,
)
from sounding.judge.project import Project, import_qrels
from sounding.judge.settings import MERGE_SORT, PREFERENCE_SCALE, Order, Settings, parse_scale
from sounding.judge.store import Store
from sounding.judge.verify import replay_log, verify

PAIRS: dict[str, Any] = {
    "kind": "preferences", "scale": parse_scale(PREFERENCE_SCALE), "order": Order(policy=MERGE_SORT),
}  # fmt: skip


def begin_pairs(store: Store, seed: int = 1, **settings: Any) -> Engine:
    first_settings(store, Settings(**{**PAIRS, "depth": 8, "seed": 3, **settings}))
    engine = Engine(store)
    engine.add_runs(draw_runs(seed))
    return engine


def said(worth: dict[str, int], one: str, other: str) -> float:
    """What somebody says who knows the worth of every document; 0: bad."""
    if worth[one] == worth[other]:
        return EQUAL if worth[one] else BOTH_BAD
    return LEFT if worth[one] > worth[other] else RIGHT


def sorted_by(worth: dict[str, int], documents: list[str]) -> tuple[Answers, list[str]]:
    """All answers that a sort takes, and its order; each step asks something new and promises enough."""
    answers: Answers = {}
    first = sort(documents, answers).left
    while True:
        state = sort(documents, answers)
        assert len(answers) + state.left <= first  # the promise holds from the beginning
        if state.order is not None:
            assert (state.open, state.left) == ([], 0)
            return answers, state.order
        assert 0 < len(state.open) <= state.left
        for pair in state.open:
            one, other = sorted(pair)
            assert (one, other) not in answers
            answers[one, other] = said(worth, one, other)


@given(st.lists(st.integers(0, 6), max_size=24), st.randoms())
def test_a_sort_finds_the_order_of_whoever_answers(worths: list[int], rng: random.Random) -> None:
    worth = {f"d{number}": one for number, one in enumerate(worths)}
    documents = list(worth)
    rng.shuffle(documents)
    answers, order = sorted_by(worth, documents)
    assert sorted(order) == sorted(documents)
    assert [worth[doc] for doc in order] == sorted(worths, reverse=True)
    ranks = {value: number for number, value in enumerate(sorted(set(worths) - {0}), 1)}
    # A document of no worth is only known to be bad once it met another one; else it is the lowest level.
    # One that was never compared has no level.
    lowest = 1 if worths.count(0) == 1 else 0
    expected = {doc: ranks[one] + lowest if one else lowest for doc, one in worth.items()}
    assert levels(order, answers) == (expected if len(worths) > 1 else {})


def test_documents_of_a_pair_that_cannot_be_judged_leave_the_sort() -> None:
    state = sort(["a", "b"], {("a", "b"): None})
    assert (state.order, state.open, state.left) == ([], [], 0)
    assert levels(["a", "b"], {("a", "b"): None}) == {}
    answers: Answers = {("a", "b"): RIGHT, ("c", "x"): None}
    assert sort(["a", "b", "x", "c"], answers).order == ["b", "a"]
    answers = {("a", "c"): LEFT, ("b", "x"): None, ("b", "d"): RIGHT}
    assert sort(["a", "c"], answers).order == ["a", "c"]
    state = sort(["b", "d", "x"], answers)
    assert state.open == [("d", "x")]  # only x leaves, as the assessor could judge d
    state = sort(["b", "d", "x"], {**answers, ("d", "x"): None})
    assert state.order == ["d", "b"]


def test_documents_are_equal_across_one_that_left() -> None:
    answers: Answers = {("a", "b"): EQUAL, ("c", "d"): LEFT, ("b", "c"): None}
    answers[("a", "c")] = EQUAL
    state = sort(["a", "b", "c", "d"], answers)
    assert state.order == ["a", "d"]  # b and c leave: both were judged in other pairs
    assert levels(state.order, answers) == {"a": 2, "d": 1}
    answers[("c", "d")] = EQUAL
    assert levels(state.order, answers) == {"a": 1, "d": 1}


@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=20),
    st.sets(st.integers(0, 19), max_size=6),
    st.randoms(),
)
def test_documents_without_text_cost_at_most_their_neighbors_and_no_more_pairs(
    worths: list[int], empty: set[int], rng: random.Random
) -> None:
    worth = {f"d{number:02}": one for number, one in enumerate(worths)}
    without = {f"d{number:02}" for number in empty}
    documents = list(worth)
    rng.shuffle(documents)
    answers: Answers = {}
    first = sort(documents, answers).left
    while (state := sort(documents, answers)).order is None:
        assert 0 < len(state.open) <= state.left <= first - len(answers)
        for pair in state.open:
            one, other = sorted(pair)
            assert (one, other) not in answers
            answers[one, other] = None if {one, other} & without else said(worth, one, other)
    found = levels(state.order, answers)
    assert not without & found.keys()
    assert len(found) >= len(documents) - 2 * len(without & worth.keys()) - 1
    judged = sorted(found, key=lambda doc: -found[doc])
    assert [worth[doc] for doc in judged] == sorted((worth[doc] for doc in judged), reverse=True)
    for one, other in combinations(found, 2):
        if min(worth[one], worth[other]) > 0:
            assert (found[one] == found[other]) == (worth[one] == worth[other])


@pytest.mark.parametrize("worths", list(permutations((1, 2, 3, 4))))
def test_four_documents_take_at_most_five_pairs_and_at_least_four(worths: tuple[int, ...]) -> None:
    worth = dict(zip("abcd", worths, strict=True))
    answers, _ = sorted_by(worth, list("abcd"))
    assert 4 <= len(answers) <= 5
    assert {("a", "b"), ("c", "d")} <= answers.keys()


def test_a_merge_by_hand() -> None:
    documents = ["a", "b", "c", "d", "e"]
    assert sort(documents, {}).open == [("a", "b"), ("c", "d")]
    assert sort(documents, {}).left == 1 + 1 + 3 + 4
    answers: Answers = {("a", "b"): RIGHT, ("c", "d"): LEFT}
    assert sort(documents, answers).open == [("b", "c")]  # the best of both halves
    answers[("b", "c")] = LEFT
    assert sort(documents, answers).open == [("a", "c")]
    answers[("a", "c")] = EQUAL
    assert sort(documents, answers).open == [("b", "e")]  # b a c d
    answers[("b", "e")] = RIGHT
    state = sort(documents, answers)
    assert state.order == ["e", "b", "a", "c", "d"]
    assert levels(state.order, answers) == {"e": 4, "b": 3, "a": 2, "c": 2, "d": 1}


def test_bad_documents_are_not_asked_about_again() -> None:
    answers: Answers = {("a", "b"): BOTH_BAD, ("c", "d"): LEFT}
    state = sort(["a", "b", "c", "d"], answers)
    assert state.open == [("a", "d")]  # c is good, but d was only worse than c
    for said_then, expected in (
        (RIGHT, {"c": 2, "d": 1, "a": 0, "b": 0}),
        (BOTH_BAD, {"c": 1, "d": 0, "a": 0, "b": 0}),
    ):
        more = {**answers, ("a", "d"): said_then}
        state = sort(["a", "b", "c", "d"], more)
        assert state.order is not None
        assert levels(state.order, more) == expected


def test_a_pair_has_two_different_documents_and_a_name_that_can_be_read_from_either_side() -> None:
    assert sides_of("b a") == ("b", "a")
    assert preference_of("b a", LEFT) == Preference("a", "b", RIGHT)
    assert preference_of("b a", RIGHT) == Preference("a", "b", LEFT)
    for grade in (BOTH_BAD, EQUAL, None):
        assert preference_of("b a", grade) == Preference("a", "b", grade)
        assert preference_of("a b", grade) == Preference("a", "b", grade)
    for wrong in ("", "a", "a ", " b", "a a", "a b c", "a  b"):
        assert sides_of(wrong) is None, wrong


def test_the_seed_draws_the_sides_for_every_assessor_anew() -> None:
    pairs = list(combinations([f"d{number}" for number in range(60)], 2))
    drawn = {
        (seed, who): [pair_for(seed, who, "7", *pair) == " ".join(sorted(pair)) for pair in pairs]
        for seed in (0, 1)
        for who in ("assessor-1", "assessor-2")
    }
    for sides in drawn.values():  # 1,770 coins: 4 standard deviations are 84
        assert abs(sum(sides) - len(pairs) / 2) < 84
    for one, other in combinations(drawn.values(), 2):
        same = sum(a == b for a, b in zip(one, other, strict=True))
        assert abs(same - len(pairs) / 2) < 84
    assert pair_for(3, "a", "t", "x", "y") == pair_for(3, "a", "t", "y", "x")


def judge_all(engine: Engine, who: str, topic: str, worth: dict[str, int], most: int = 1000) -> int:
    """Answer the next pair until none is left; returns the number of judgments."""
    for count in range(most):
        leases = engine.next(who, topic)
        if not leases:
            return count
        sides = sides_of(leases[0].doc)
        assert sides is not None
        engine.judge(who, topic, leases[0].doc, said(worth, *sides), key=uuid4().hex)
    return most


def worth_of(engine: Engine, topic: str, seed: int = 0) -> dict[str, int]:
    rng = random.Random(seed)
    docs = start_of(engine._replay.all_lists, topic, engine._replay.preferences.groups, 0)
    return {doc: rng.randint(0, 4) for doc in sorted(docs)}


def test_all_pairs_are_judged_once_and_every_assessor_sorts_everything(store: Store) -> None:
    engine = begin_pairs(store)
    worth = worth_of(engine, "7")
    promised = engine.ahead("assessor-1", "7").left
    assert promised
    done = judge_all(engine, "assessor-1", "7", worth)
    assert len(worth) / 2 <= done <= promised
    assert engine.ahead("assessor-1", "7").left == 0
    assert engine.ahead("assessor-2", "7").left == promised
    assert judge_all(engine, "assessor-2", "7", worth) == done
    own = {who: {one.doc for one in store.standing(assessor=who)} for who in ("assessor-1", "assessor-2")}
    as_sets = [{frozenset(doc.split()) for doc in docs} for docs in own.values()]
    assert as_sets[0] == as_sets[1]  # the same pairs, as both say the same
    assert own["assessor-1"] != own["assessor-2"]  # on other sides
    order = engine._replay.sorting("assessor-1", "7").order
    assert order is not None
    assert [worth[doc] for doc in order] == sorted(worth.values(), reverse=True)
    assert engine.counts().of("7").judged == 2 * done
    assert found_by(engine, store) == found_by_replay(store)


def test_undo_brings_a_pair_back_and_a_change_asks_only_what_it_needs(store: Store) -> None:
    engine = begin_pairs(store)
    first = engine.next("assessor-1", "7")[0].doc
    engine.judge("assessor-1", "7", first, LEFT, key="one")
    engine.judge("assessor-1", "7", first, RIGHT, key="two")
    undone = engine.withdraw("assessor-1", "7", key="three")
    assert undone is not None
    assert (undone.event.grade, undone.event.undid) == (LEFT, "change")
    assert [one.grade for one in store.standing()] == [LEFT]
    assert first not in [lease.doc for lease in engine.next("assessor-1", "7", 6)]
    engine.withdraw("assessor-1", "7", key="four")
    assert engine.next("assessor-1", "7")[0].doc == first
    assert engine._replay.preferences.answers("assessor-1", "7") == {}


def test_a_change_releases_the_pairs_that_it_has_decided(store: Store) -> None:
    engine = begin_pairs(store)
    judge_all(engine, "assessor-1", "7", worth_of(engine, "7"), most=12)
    before = [lease.doc for lease in engine.next("assessor-1", "7", 6)]
    given = store.standing(assessor="assessor-1")[0]
    engine.judge("assessor-1", "7", given.doc, BOTH_BAD, key="changed")
    after = [lease.doc for lease in engine.next("assessor-1", "7", 6)]
    bad = set(given.doc.split())
    assert not any(bad & set(pair.split()) for pair in after)
    assert {lease.doc for lease in store.leases("assessor-1", "7")} == set(after)
    assert before
    assert found_by(engine, store) == found_by_replay(store)


def test_a_skipped_pair_comes_when_no_other_is_left(store: Store) -> None:
    engine = begin_pairs(store)
    opened = [lease.doc for lease in engine.next("assessor-1", "7", 6)]
    engine.skip("assessor-1", "7", opened[0], key="skipped")
    now = [lease.doc for lease in engine.next("assessor-1", "7", 6)]
    assert now == [*opened[1:], *([opened[0]] if opened[0] in now else [])]
    everything = engine.next("assessor-1", "7", 20)
    assert everything[-1].doc == opened[0]


def test_later_runs_leave_what_was_judged_of_use(store: Store) -> None:
    engine = begin_pairs(store)
    before = engine._replay.sorting("assessor-1", "7")
    done = judge_all(engine, "assessor-1", "7", worth_of(engine, "7"))
    engine.add_runs({"late": {"7": {f"x{number}": 1.0 for number in range(4)}}})
    assert engine._replay.sorting("assessor-1", "7").left > 0
    documents = engine._replay._starts["7"]
    assert {doc[0] for doc in documents[-4:]} == {"x"}
    worth = {**worth_of(engine, "7"), **{f"x{number}": number for number in range(4)}}
    more = judge_all(engine, "assessor-1b", "7", worth)
    again = judge_all(engine, "assessor-1", "7", worth)
    assert again < more
    assert done <= before.left
    assert found_by(engine, store) == found_by_replay(store)


def test_pairs_and_documents_do_not_mix(store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="order mtc"):
        first_settings(store, Settings(kind="preferences", scale=parse_scale(PREFERENCE_SCALE)))
    with pytest.raises(DataError, match="order merge-sort"):
        Settings(scale=parse_scale("0,1"), order=Order(policy=MERGE_SORT))
    with pytest.raises(DataError, match="scale of their own"):
        Settings(kind="preferences", scale=parse_scale("0,1"), order=Order(policy=MERGE_SORT))
    engine = begin_pairs(store)
    with pytest.raises(DataError, match="order depth"):
        engine.set_order(None, Order(policy="depth"))
    with pytest.raises(DataError, match="999 bytes"):
        engine.add_runs({"long": {"7": {"x" * 1200: 1.0, "y": 0.5}}})
    (tmp_path / "a.qrels").write_text("7 0 d01 1\n")
    with pytest.raises(DataError, match="preferences"):
        import_qrels(Project(tmp_path, store), str(tmp_path / "a.qrels"))


@pytest.mark.parametrize("option", ["--labels", "--nuggets"])
def test_what_is_for_graded_documents_is_not_imported(tmp_path: Path, option: str) -> None:
    make_project(tmp_path, documents=20, topics=2, **PAIRS).store.close()
    (tmp_path / "x.tsv").write_text("topic\tdoc\tlabel\ttext\nMB001\td05\t1\tx\n")
    told = CliRunner().invoke(command, ["import", str(tmp_path / "project"), option, str(tmp_path / "x.tsv")])
    assert told.exit_code == 1
    assert f"{option} is for documents that are graded" in str(told.exception) + told.output


# ---- the API


def test_agreement_counts_pairs_on_whichever_side_their_documents_stood(sea_pairs: Project) -> None:
    add_person(sea_pairs, "bob", topics=("MB001",))
    worth = worth_of(sea_pairs.engine, "MB001")
    people = [user.pseudonym for user in sea_pairs.store.users()]
    done = [judge_all(sea_pairs.engine, who, "MB001", worth) for who in people]
    [found] = LiveFeed(sea_pairs).current()["agreement"]
    assert (found["common"], found["observed"]) == (done[0], 1.0)


@pytest.fixture
def sea_pairs(tmp_path: Path) -> Any:
    with make_project(tmp_path, documents=20, topics=2, **PAIRS) as project:
        add_person(project, "ann", topics=("MB001",))
        yield project


def ask(browser: Browser, count: int = 2) -> dict[str, Any]:
    found: dict[str, Any] = browser.client.get("/api/next", params={"topic": "MB001", "count": count}).json()
    return found


def test_a_pair_is_shown_with_both_texts_and_judged(sea_pairs: Project) -> None:
    ann = signed_in(sea_pairs, "ann")
    first = ask(ann)["documents"][0]
    assert [side["doc"] for side in first["sides"]] == first["doc"].split(" ")
    assert all(side["html"] for side in first["sides"])
    assert "at most" in ask(ann)["coming"]["words"]
    answer = ann.send("/api/judge", {"topic": "MB001", "doc": first["doc"], "grade": 1, "key": "abcdefgh"})
    assert (answer.status_code, answer.json()["judged"]) == (200, 1)
    turned = " ".join(reversed(first["doc"].split(" ")))
    for wrong, code in ((turned, 404), ("d05", 404), ("d05 d05", 404), ("d05 nowhere", 404)):
        answer = ann.send("/api/judge", {"topic": "MB001", "doc": wrong, "grade": 1, "key": "abcdefgi"})
        assert answer.status_code == code, wrong
    answer = ann.send("/api/judge", {"topic": "MB001", "doc": first["doc"], "grade": 5, "key": "abcdefgj"})
    assert answer.status_code == 400
    part = ann.client.get("/api/text", params={"topic": "MB001", "doc": "d05", "first": 1})
    assert part.status_code == 200
    undone = ann.send("/api/undo", {"topic": "MB001", "key": "abcdefgk"})
    assert (undone.status_code, undone.json()["undid"]) == (200, "judge")
    assert undone.json()["documents"][0]["doc"] == first["doc"]


def test_a_project_of_pairs_is_verified_by_repeating_every_choice(sea_pairs: Project) -> None:
    who = sea_pairs.store.users()[0].pseudonym
    for number in range(9):
        pair = sea_pairs.engine.next(who, "MB001", 3)[-1].doc
        sea_pairs.engine.judge(who, "MB001", pair, [LEFT, RIGHT, EQUAL][number % 3], key=f"key-{number}")
    found = verify(sea_pairs)
    assert found.problems == ()
    assert found.choices == 9
    assert replay_log(sea_pairs.store).pair_offers(who, "MB001")


# ---- exports


def exported(store: Store, name: str, until: int | None = None) -> list[str]:
    return [line.strip() for line in EXPORTS[name](store, until)]


def test_derived_grades_are_those_of_whoever_sorted(store: Store) -> None:
    engine = begin_pairs(store)
    worth = worth_of(engine, "7", seed=1)
    assert exported(store, "qrels") == []
    judge_all(engine, "assessor-1", "7", worth, most=3)
    omitted = Omitted()
    assert list(EXPORTS["qrels"](store, omitted=omitted)) == []
    assert omitted.unsorted == 1
    middle = store.last_sequence()
    judge_all(engine, "assessor-1", "7", worth)
    order = {value: number for number, value in enumerate(sorted({*worth.values()} - {0}), 1)}
    assert list(worth.values()).count(0) != 1
    expected = sorted(f"{doc} {order[one] if one else 0}" for doc, one in worth.items())
    assert sorted(line.removeprefix("7 0 ") for line in exported(store, "qrels")) == expected
    assert exported(store, "assessors") == [f"7 assessor-1 {line}" for line in expected]
    # A second person who thinks the opposite: all in the middle, as each is above and below as many.
    judge_all(engine, "assessor-2", "7", {doc: 5 - one for doc, one in worth.items()})
    assert len(exported(store, "assessors")) == 2 * len(worth)
    assert len({line.split()[3] for line in exported(store, "qrels")}) == 1
    assert exported(store, "qrels", middle) == []


def test_common_levels_are_of_those_who_could_judge_a_document() -> None:
    # Shares with the document itself as half: x 5/6, 1/4; y 1/2, 3/4; z 1/6, nobody else.
    given = {"a": {"x": 3, "y": 2, "z": 1}, "b": {"x": 1, "y": 2}}
    assert common_levels(given) == {"x": 2, "y": 3, "z": 1}


def test_a_document_that_nobody_could_judge_is_in_no_export(store: Store) -> None:
    engine = begin_pairs(store)
    worth = {doc: number + 1 for number, doc in enumerate(worth_of(engine, "7"))}
    [lease] = engine.next("assessor-1", "7", 1)
    engine.judge("assessor-1", "7", lease.doc, None, key="cannot")
    judge_all(engine, "assessor-1", "7", worth)
    lost = set(lease.doc.split())
    for name in ("qrels", "assessors"):
        omitted = Omitted()
        lines = list(EXPORTS[name](store, omitted=omitted))
        assert {line.split()[2] for line in lines} == worth.keys() - lost
        assert omitted.cannot == 2
    omitted = Omitted()
    assert list(EXPORTS["prefs"](store, omitted=omitted))
    assert (omitted.cannot, omitted.contrary) == (1, 0)
    assert omission_note("prefs", omitted) == "prefs leaves out 1 pair that could not be judged"
    both = Omitted(contrary=1, cannot=2)
    assert "1 preference that contradicts" in omission_note("prefs", both)
    assert "2 pairs" in omission_note("prefs", both)
    assert found_by(engine, store) == found_by_replay(store)


def test_runs_that_come_later_take_no_preference_from_the_export(store: Store) -> None:
    engine = begin_pairs(store)
    judge_all(engine, "assessor-1", "7", {doc: one + 1 for doc, one in worth_of(engine, "7").items()})
    before = exported(store, "prefs")
    engine.add_runs({"late": {"7": {f"x{number}": 1.0 for number in range(4)}}})
    worth = {**worth_of(engine, "7"), **{f"x{number}": number for number in range(4)}}
    omitted = Omitted()
    assert [line.strip() for line in EXPORTS["prefs"](store, omitted=omitted)] == before
    judge_all(engine, "assessor-1", "7", {doc: one + 1 for doc, one in worth.items()})
    assert list(EXPORTS["prefs"](store, omitted=omitted))
    assert omitted.contrary == 0


@given(st.lists(st.integers(0, 4), min_size=3, max_size=12), st.data())
def test_answers_without_contradiction_are_all_exported_used_or_not(
    worths: list[int], data: st.DataObject
) -> None:
    worth = {f"d{number:02}": one for number, one in enumerate(worths)}
    every = list(combinations(sorted(worth), 2))
    chosen = data.draw(st.sets(st.sampled_from(every)))
    answers: Answers = {pair: said(worth, *pair) for pair in chosen}
    documents = data.draw(st.permutations(sorted(worth)))
    assert sound_answers(answers, sort(documents, answers)) == answers


def test_a_document_most_find_bad_is_bad_and_the_others_are_in_the_order_of_mean_places() -> None:
    given = {
        "a": {"x": 3, "y": 2, "z": 1, "bad": 0},
        "b": {"x": 1, "y": 2, "z": 0, "bad": 0},
        "c": {"x": 3, "y": 1, "z": 2, "bad": 1},
    }
    # Shares below, of three others: x 3, 2, 3; y 2, 3, .5; z 1, .5, 2; bad 0, .5, .5.
    assert common_levels(given) == {"x": 3, "y": 2, "z": 1, "bad": 0}
    assert common_levels({"a": given["a"]}) == given["a"]
    assert common_levels({"a": {"x": 2, "y": 1}, "b": {"x": 1, "y": 2}}) == {"x": 1, "y": 1}


@pytest.mark.parametrize("bad", [0, 1])
def test_exported_preferences_are_read_by_evaluate_and_agree_with_a_count_by_hand(
    store: Store, tmp_path: Path, bad: int
) -> None:
    engine = begin_pairs(store)
    for who, seed in (("assessor-1", 1), ("assessor-2", 2)):
        for topic in ("7", "MB001"):
            worth = worth_of(engine, topic, seed)
            judge_all(engine, who, topic, worth if bad else {doc: one + 1 for doc, one in worth.items()})
    path = tmp_path / "x.prefs"
    path.write_text("".join(EXPORTS["prefs"](store)))
    groups: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for line in path.read_text().splitlines():
        topic, who, _, _, _ = line.split()
        groups[topic, who] = set()
    for topic, who in groups:
        for (first, second), grade in engine._replay.preferences.answers(who, topic).items():
            if grade in (LEFT, RIGHT):
                groups[topic, who].add((first, second) if grade == LEFT else (second, first))
        groups[topic, who] = closed(groups[topic, who])
    runs = draw_runs(1)
    found = evaluate(str(path), {"run0": runs["run0"]}, ["Prefs", "NumPrefs"])
    for topic in ("7", "MB001"):
        ranked = sorted(runs["run0"][topic], key=lambda doc: (-runs["run0"][topic][doc], doc))
        every = [pair for (about, _), pairs in groups.items() if about == topic for pair in pairs]
        right = [
            (better, worse)
            for better, worse in every
            if better in ranked and (worse not in ranked or ranked.index(better) < ranked.index(worse))
        ]
        place = found.topics.index(topic)
        values = dict(zip(("Prefs", "NumPrefs"), found.values[0, :, place], strict=True))
        assert values["NumPrefs"] == len(every)
        assert values["Prefs"] == pytest.approx(len(right) / len(every))


def closed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    while True:
        more = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
        if more == pairs:
            return pairs
        pairs = more


@given(st.lists(st.sampled_from([LEFT, RIGHT, EQUAL, BOTH_BAD, None]), min_size=28, max_size=28), st.data())
def test_whatever_was_changed_what_is_exported_contradicts_nothing(
    grades: list[float | None], data: st.DataObject
) -> None:
    """Answers to any pairs, as changes leave them behind, asked or not."""
    documents = [f"d{number}" for number in range(8)]
    every = dict(zip(combinations(documents, 2), grades, strict=True))
    answers = {pair: every[pair] for pair in data.draw(st.sets(st.sampled_from(sorted(every))))}
    sound = sound_answers(answers, sort(documents, answers))
    strict = {
        pair if grade == LEFT else pair[::-1] for pair, grade in sound.items() if grade in (LEFT, RIGHT)
    }
    assert all(one != other for one, other in closed(strict))
    assert None not in sound.values()
