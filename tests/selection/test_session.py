"""A session from its first document to its last: order, undo, replay, assessors, refits, confidence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.selection.small import DEFINITIONS, draw_grades, draw_runs

from sounding.core.errors import DataError, UnknownNameError
from sounding.data.formats import read_qrels
from sounding.relevance.model import Fit
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session, known_judgments
from sounding.selection.mtc.topic_state import TopicState
from sounding.selection.strategies import Pick, Strategy

SEEDS = st.integers(0, 10**6)
DEPTH = 6  # lists are up to 8 long: some documents do not count

WAYS: list[dict[str, Any]] = [
    {},
    {"prior": "0.5", "selection": "faithful", "confidence": "normal"},
    {"prior": "rate", "selection": "scaled", "confidence": "paper"},
    {"prior": "rank", "confidence": "exact", "top": 3},
    {"baseline": "run1", "measure": "P@4"},
    {"pair": ("run0", "run2"), "measure": "RBP(p=0.8)"},
    {"open_below": 0.95, "draws": 20},
    {"open_below": 0.8, "prior": "0.3", "confidence": "normal", "measure": "nDCG@5"},
]


def names_of(way: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in way.items()) or "defaults"


every_way = pytest.mark.parametrize("way", WAYS, ids=names_of)


def begin(retrieved: Retrieved, way: dict[str, Any], **more: Any) -> Session:
    return Session(retrieved, depth=DEPTH, **{"draws": 30, **way, **more})


def judge_some(session: Session, grades: list[float], count: int) -> list[Pick]:
    picks = []
    for _ in range(count):
        due = session.next()
        if not due:
            break
        session.judge(due[0].document, grades[due[0].document])
        picks += due
    return picks


def counted(retrieved: Retrieved) -> set[int]:
    numbers = retrieved.cut(DEPTH).lists
    return set(numbers[numbers >= 0].tolist())


def snapshot(session: Session) -> tuple[Any, ...]:
    sure = session.confidence()
    return session.next(count=3), session.ranking(), session.version, sure.values, sure.not_above


def assert_alike(left: tuple[Any, ...], right: tuple[Any, ...], *, exactly: bool = True) -> None:
    assert left[0] == right[0] or not exactly
    assert [pick.document for pick in left[0]] == [pick.document for pick in right[0]]
    assert left[1:3] == right[1:3]
    for one, other in zip(left[3:], right[3:], strict=True):
        if exactly:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_session_is_a_strategy() -> None:
    strategy: Strategy = Session(draw_runs(1))
    assert strategy.next()


@every_way
def test_every_document_that_counts_comes_exactly_once(way: dict[str, Any]) -> None:
    retrieved = draw_runs(2)
    session = begin(retrieved, way)
    picks = judge_some(session, draw_grades(2, retrieved), 10_000)
    assert sorted(pick.document for pick in picks) == sorted(counted(retrieved))
    assert [pick.order for pick in picks] == list(range(1, len(picks) + 1))
    best = retrieved.best_ranks()
    assert all(pick.pool_rank == best[pick.document] for pick in picks)
    assert all(pick.document in range(*retrieved.starts[pick.topic : pick.topic + 2]) for pick in picks)
    assert session.judgments == len(picks)
    assert session.next() == []
    assert session.next(count=5) == []


@every_way
@settings(max_examples=15)
@given(seed=SEEDS, judged=st.integers(0, 40))
def test_undo_leaves_no_trace(way: dict[str, Any], seed: int, judged: int) -> None:
    retrieved = draw_runs(seed)
    grades = draw_grades(seed, retrieved)
    session = begin(retrieved, way)
    judge_some(session, grades, judged)
    before = snapshot(session)
    due = session.next()
    if due:
        session.judge(due[0].document, 1.0)
        session.next()
        session.undo(due[0].document)
        # Kept covariances are computed anew: the last bits may differ.
        assert_alike(before, snapshot(session), exactly=way.get("confidence") not in ("normal", "paper"))


@every_way
@settings(max_examples=10)
@given(seed=SEEDS)
def test_an_early_judgment_taken_back_is_as_if_it_had_never_been_made(way: dict[str, Any], seed: int) -> None:
    retrieved = draw_runs(seed)
    grades = draw_grades(seed, retrieved)
    session = begin(retrieved, way)
    picks = [pick.document for pick in judge_some(session, grades, 20)]
    if len(picks) < 3:
        return
    session.undo(picks[1])
    other = begin(retrieved, way)
    for document in [picks[0], *picks[2:]]:
        other.judge(document, grades[document])
    assert_alike(snapshot(session), snapshot(other), exactly=False)


@every_way
@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_replay_of_the_log_gives_identical_numbers(way: dict[str, Any], seed: int) -> None:
    retrieved = draw_runs(seed)
    grades = draw_grades(seed, retrieved)
    rng = np.random.default_rng(seed)
    session = begin(retrieved, way, seed=seed % 7)
    for _ in range(25):
        due = session.next()
        if not due:
            break
        session.judge(due[0].document, None if rng.random() < 0.2 else grades[due[0].document])
        if rng.random() < 0.3:
            judged = [document for document, _ in session.state()["judgments"]]
            session.undo(int(rng.choice(judged)))
    state = json.loads(json.dumps(session.state()))
    other = Session.restored(retrieved, state)
    assert other.state() == session.state()
    assert_alike(snapshot(session), snapshot(other))


@every_way
def test_what_could_not_be_judged_stays_unjudged_and_does_not_come_again(way: dict[str, Any]) -> None:
    retrieved = draw_runs(5)
    session = begin(retrieved, way)
    first = session.next()[0].document
    ranking = session.ranking()
    session.judge(first, None)
    assert session.ranking() == ranking
    assert session.judgments == 0
    rest = [pick.document for pick in judge_some(session, draw_grades(5, retrieved), 10_000)]
    assert sorted(rest) == sorted(counted(retrieved) - {first})
    session.undo(first)
    assert [pick.document for pick in session.next()] == [first]


@every_way
def test_assessors_with_topics_of_their_own_never_meet(way: dict[str, Any]) -> None:
    retrieved = draw_runs(7)
    grades = draw_grades(7, retrieved)
    session = begin(retrieved, way)
    shares = ([0, 3], [1], [2])
    seen: list[int] = []
    while dues := [pick for share in shares for pick in session.next(topics=share)]:
        assert all(pick.topic in share for pick, share in zip(dues, shares, strict=False)) or len(dues) < 3
        for pick in dues:
            session.judge(pick.document, grades[pick.document])
            seen.append(pick.document)
    assert sorted(seen) == sorted(counted(retrieved))
    assert session.next(topics=[]) == []


@every_way
def test_several_at_once_are_what_would_follow_if_none_were_relevant(way: dict[str, Any]) -> None:
    if "top" in way or "open_below" in way:
        return  # which runs matter would change on the way
    retrieved = draw_runs(8)
    session = begin(retrieved, way, refits="asked")
    ahead = session.next(count=12)
    one_by_one = []
    for _ in range(12):
        pick = session.next()[0]
        one_by_one.append(pick)
        session.judge(pick.document, 0.0)
    assert ahead == one_by_one


def test_asking_changes_nothing() -> None:
    retrieved = draw_runs(9)
    session = begin(retrieved, {})
    judge_some(session, draw_grades(9, retrieved), 9)
    before = session.state()
    first = snapshot(session)
    session.next(count=20)
    session.proven()
    session.confidence("exact")
    assert session.state() == before
    assert_alike(first, snapshot(session))


@pytest.mark.parametrize("measure", ["AP", "P@3", "DCG@4", "nDCG@4", "RBP(p=0.8)"])
@pytest.mark.parametrize("method", ["draws", "normal", "paper", "exact"])
def test_with_everything_judged_values_are_known_and_differences_certain(measure: str, method: Any) -> None:
    retrieved = draw_runs(11)
    grades = draw_grades(11, retrieved)
    session = Session(retrieved, depth=DEPTH, measure=measure, confidence=method)
    judge_some(session, grades, 10_000)
    values = np.zeros(len(retrieved.runs))
    for topic in range(len(retrieved.topics)):
        relevant = [int(grade >= 1 and number in counted(retrieved)) for number, grade in enumerate(grades)]
        own = range(*retrieved.starts[topic : topic + 2])
        here = [x if number in own else 0 for number, x in enumerate(relevant)]
        for run, numbers in enumerate(retrieved.cut(DEPTH).lists[:, topic].tolist()):
            values[run] += DEFINITIONS[measure]([n for n in numbers if n >= 0], here, 0)
    values /= len(retrieved.topics)
    sure = session.confidence()
    np.testing.assert_allclose(sure.values, values, atol=1e-6)
    np.testing.assert_allclose([dict(session.ranking())[run] for run in retrieved.runs], values, atol=1e-12)
    different = np.abs(values[:, np.newaxis] - values) > 1e-6
    np.testing.assert_array_equal(sure.of_pairs()[different], 1)
    np.testing.assert_array_equal(session.proven(), (values[:, np.newaxis] - values) > 1e-12)


def test_the_normal_approximation_is_near_the_exact_one() -> None:
    retrieved = draw_runs(12, topics=10)
    session = begin(retrieved, {"prior": "0.4"})
    judge_some(session, draw_grades(12, retrieved), 15)
    exact, normal = session.confidence("exact"), session.confidence("normal")
    np.testing.assert_allclose(normal.values, exact.values, rtol=0.05)
    np.testing.assert_allclose(normal.deviations, exact.deviations, rtol=0.25)
    assert exact.method == "exact"


def test_the_seed_decides_what_is_drawn() -> None:
    retrieved = draw_runs(12)
    drawn = [begin(retrieved, {"prior": "0.4"}, seed=seed).confidence().values for seed in (1, 1, 2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_draws_agree_with_the_exact_moments_where_chances_are_known() -> None:
    retrieved = draw_runs(13, topics=8)
    session = begin(retrieved, {"prior": "0.3"}, draws=8000)
    judge_some(session, draw_grades(13, retrieved), 10)
    drawn, exact = session.confidence(), session.confidence("exact")
    np.testing.assert_allclose(drawn.values, exact.values, atol=5 * exact.deviations.max() / np.sqrt(8000))
    np.testing.assert_allclose(drawn.deviations, exact.deviations, rtol=0.06)


@pytest.mark.parametrize("prior", ["runs", "0.4", "rate"])
def test_confidence_is_the_share_of_the_draws(prior: str) -> None:
    retrieved = draw_runs(13, topics=8)
    session = begin(retrieved, {"prior": prior}, draws=50)
    judge_some(session, draw_grades(13, retrieved), 20)
    values = session.drawn_values().mean(axis=0, dtype=np.float64)
    sure = session.confidence()
    np.testing.assert_allclose(sure.values, values.mean(axis=1))
    np.testing.assert_allclose(sure.deviations, values.std(axis=1, ddof=1))
    if prior != "runs":  # which also draws relevant documents that no run has
        gap = values[0] - values[1]
        assert sure.not_above[0, 1] == pytest.approx((gap < 0).mean() + (gap == 0).mean() / 2)


def test_the_prior_is_fitted_anew_when_judgments_have_doubled() -> None:
    retrieved = draw_runs(14, topics=8)
    grades = draw_grades(14, retrieved)
    session = begin(retrieved, {})
    versions = []
    for _ in range(40):
        judge_some(session, grades, 1)
        versions.append(session.version)
    assert versions == [0] * 7 + [8] * 8 + [16] * 16 + [32] * 9
    assert [event[1] for event in session.state()["log"] if event[0] == "refit"] == [8, 16, 32]


def test_a_refit_may_run_beside_the_judging() -> None:
    retrieved = draw_runs(15, topics=8)
    grades = draw_grades(15, retrieved)
    session = begin(retrieved, {}, refits="asked")
    judge_some(session, grades, 20)
    assert session.version == 0
    assert session.refit_due()
    work, fits = session.fitting(), []
    thread = threading.Thread(target=lambda: fits.append(work()))
    thread.start()
    judge_some(session, grades, 3)
    thread.join()
    assert session.adopt(fits[0])
    assert session.version == 20
    assert not session.refit_due()
    assert not session.adopt(fits[0])
    judge_some(session, grades, 3)
    other = Session.restored(retrieved, session.state())
    assert_alike(snapshot(session), snapshot(other))


def test_a_fit_changes_a_topic_only_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    retrieved = draw_runs(15, topics=8)
    session = begin(retrieved, {"confidence": "normal"}, refits="asked")
    judge_some(session, draw_grades(15, retrieved), 20)
    fit = session.fitting()()
    session.confidence()
    worked_on: list[int] = []
    for name in ("believe", "add_up", "due", "moments"):
        monkeypatch.setattr(TopicState, name, _noting(worked_on, getattr(TopicState, name)))
    assert session.adopt(fit)
    assert worked_on == []
    pick = session.next(topics=[3])[0]
    session.judge(pick.document, 1.0)
    session.next(topics=[3])
    assert set(worked_on) == {3}
    session.next()
    assert set(worked_on) == set(range(8))
    worked_on.clear()
    session.next(topics=[5])
    assert worked_on == []


def _noting(numbers: list[int], method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which notes the topics that it is called for."""

    def noted(topic: TopicState, *arguments: Any) -> Any:
        numbers.append(topic.number)
        return method(topic, *arguments)

    return noted


@every_way
@settings(max_examples=5)
@given(seed=SEEDS)
def test_numbers_do_not_depend_on_when_they_are_asked_for(way: dict[str, Any], seed: int) -> None:
    retrieved = draw_runs(seed, topics=6)
    grades = draw_grades(seed, retrieved)
    curious, quiet = (begin(retrieved, way, refits="asked") for _ in range(2))
    order = np.random.default_rng(seed).permutation(sorted(counted(retrieved)))[:24].tolist()
    for place, document in enumerate(order):
        for session in (curious, quiet):
            session.judge(document, grades[document])
            if place % 9 == 4:
                session.undo(order[place - 3])
            if place % 7 == 5:
                session.refit()
        snapshot(curious)
    assert curious.state() == quiet.state()
    assert_alike(snapshot(curious), snapshot(quiet))


def test_confidence_may_be_found_beside_the_judging() -> None:
    retrieved = draw_runs(15, topics=8)
    grades = draw_grades(15, retrieved)
    session, other = (begin(retrieved, {}) for _ in range(2))
    for one in (session, other):
        judge_some(one, grades, 12)
    work, found = session.drawing(), []
    judge_some(session, grades, 1)
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    judge_some(session, grades, 8)
    thread.join()
    expected = other.confidence()
    assert (found[0].judgments, found[0].version) == (12, 8)
    np.testing.assert_array_equal(found[0].not_above, expected.not_above)
    judge_some(other, grades, 9)
    assert_alike(snapshot(session), snapshot(other))


def test_only_topics_that_have_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    retrieved = draw_runs(15, topics=8)
    session = begin(retrieved, {}, refits="asked")
    session.confidence()
    drawn: list[int] = []
    monkeypatch.setattr(TopicState, "drawn", _noting(drawn, TopicState.drawn))
    pick = session.next(topics=[2])[0]
    session.judge(pick.document, 1.0)
    session.confidence()
    assert drawn == [2]
    session.undo(pick.document)
    session.confidence()
    assert drawn == [2, 2]
    session.confidence()
    assert drawn == [2, 2]


def test_a_fit_that_knows_what_was_taken_back_is_not_used() -> None:
    retrieved = draw_runs(16)
    grades = draw_grades(16, retrieved)
    session = begin(retrieved, {}, refits="asked")
    picks = judge_some(session, grades, 10)
    fit: Fit = session.fitting()()
    session.undo(picks[4].document)
    assert not session.adopt(fit)
    assert session.version == 0
    assert session.state()["log"][-1] == ["undo", picks[4].document]


def test_a_prior_of_one_number_never_needs_a_refit() -> None:
    retrieved = draw_runs(17)
    session = begin(retrieved, {"prior": "0.5"})
    judge_some(session, draw_grades(17, retrieved), 20)
    assert session.version == 0
    assert not session.refit_due()


@every_way
def test_judgments_given_beforehand_are_as_good_as_those_made(way: dict[str, Any]) -> None:
    retrieved = draw_runs(18)
    grades = draw_grades(18, retrieved)
    documents = sorted(counted(retrieved))[::3]
    given = [(document, grades[document]) for document in documents]
    session = begin(retrieved, way, given=given)
    assert session.judgments == len(given)
    other = begin(retrieved, way, refits="asked")
    for document, grade in given:
        other.judge(document, grade)
    if other.refit_due():
        other.adopt(other.fitting()())
    assert_alike(snapshot(session), snapshot(other), exactly=False)
    with pytest.raises(DataError, match="was judged beforehand"):
        session.undo(documents[0])
    assert_alike(snapshot(session), snapshot(Session.restored(retrieved, session.state())))


def test_a_relevant_document_that_does_not_count_adds_to_the_number_of_relevant_ones() -> None:
    retrieved = draw_runs(19)
    outside = sorted(set(range(len(retrieved.docs))) - counted(retrieved))[0]
    session, other = begin(retrieved, {"prior": "0.5"}), begin(retrieved, {"prior": "0.5"})
    before = session.ranking()
    session.judge(outside, 2.0)
    other.judge(outside, 0.0)
    assert other.ranking() == before
    assert session.ranking()[0][1] < before[0][1]
    topic = int(retrieved.topic[outside])
    elsewhere = [1.0 if place == topic else 0.0 for place in range(len(retrieved.topics))]
    assert begin(retrieved, {"prior": "0.5"}, elsewhere=elsewhere).ranking() == session.ranking()
    session.undo(outside)
    assert session.ranking() == before


def test_chances_are_those_of_the_prior_until_a_document_is_judged() -> None:
    retrieved = draw_runs(19)
    session = begin(retrieved, {"prior": "0.3"})
    document = session.next()[0].document
    assert session.chance(document) == 0.3
    session.judge(document, 2.0)
    assert session.chance(document) == 1
    session.undo(document)
    assert session.chance(document) == 0.3
    outside = sorted(set(range(len(retrieved.docs))) - counted(retrieved))[0]
    assert session.chance(outside) is None


def test_what_is_known_of_the_judgments_of_a_file() -> None:
    retrieved = read_retrieved({"r": {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}})
    qrels = read_qrels({"1": {"a": 2, "x": 1, "y": 0}, "2": {"a": 0, "z": 3}, "3": {"a": 1}})
    given, elsewhere = known_judgments(retrieved, qrels)
    assert given == [(0, 2.0), (2, 0.0)]
    assert elsewhere == [1.0, 1.0]
    given, elsewhere = known_judgments(retrieved, qrels, level=2)
    assert elsewhere == [0.0, 1.0]


def test_grades_become_relevant_at_the_level_of_the_measure() -> None:
    retrieved = read_retrieved({"r": {"1": {"a": 2.0}}, "s": {"1": {"b": 2.0}}})
    session = Session(retrieved, measure="AP(rel=2)", prior="0.5")
    session.judge(0, 1.0)
    session.judge(1, 2.0)
    assert dict(session.ranking()) == {"r": 0.0, "s": 1.0}


def test_only_the_pair_that_matters_is_judged_first() -> None:
    lists = {"a": ["x", "y"], "b": ["z", "w"], "c": ["p", "q"]}
    runs = {
        name: {"1": {doc: -float(place) for place, doc in enumerate(docs)}} for name, docs in lists.items()
    }
    retrieved = read_retrieved(runs)
    for focus in ({"pair": ("a", "c")}, {"baseline": "c"}):
        session = Session(retrieved, prior="0.5", **focus)
        texts = {retrieved.docs.text(pick.document) for pick in session.next(count=4)}
        assert texts == ({"x", "y", "p", "q"} if "pair" in focus else texts)
    first = Session(retrieved, prior="0.5", baseline="c").next(count=6)
    weights = {retrieved.docs.text(pick.document): pick.weight for pick in first}
    assert set(weights) == {"x", "y", "z", "w", "p", "q"}


def test_the_first_runs_by_now_are_those_whose_documents_come() -> None:
    retrieved = draw_runs(21, runs=6, topics=3)
    session = begin(retrieved, {"prior": "0.5", "top": 2})
    grades = draw_grades(21, retrieved)
    for _ in range(8):
        best = [name for name, _ in session.ranking()[:2]]
        other = Session(
            retrieved, depth=DEPTH, prior="0.5", pair=(best[0], best[1]),
            given=[(document, grade) for document, grade in session.state()["judgments"]],
        )  # fmt: skip
        assert session.next()[0].document == other.next()[0].document
        judge_some(session, grades, 1)


def test_seeds_change_only_who_is_first_among_equals() -> None:
    runs = {f"r{n}": {str(t): {f"d{t}{n}": 1.0} for t in range(5)} for n in range(3)}
    retrieved = read_retrieved(runs)
    orders = {
        tuple(pick.document for pick in Session(retrieved, prior="0.5", seed=seed).next(count=15))
        for seed in range(10)
    }
    assert len(orders) == 10
    assert all(sorted(order) == list(range(15)) for order in orders)


@every_way
def test_one_topic_one_document_and_runs_that_lack_it(way: dict[str, Any]) -> None:
    runs = {f"run{n}": {"1": {"a": 1.0}} if n % 2 else {"2": {"b": 1.0}} for n in range(3)}
    retrieved = read_retrieved(runs, topics=["1", "3"])
    session = begin(retrieved, way)
    assert [pick.document for pick in session.next(count=9)] == [0]
    session.judge(0, 0.0)
    assert session.next() == []
    sure = session.confidence()
    assert not sure.values.any()
    assert sure.of_ranking() == 0.5


def test_one_run_is_judged_without_any_pair() -> None:
    retrieved = read_retrieved({"alone": {"1": {"a": 2.0, "b": 1.0}}})
    session = Session(retrieved)
    judge_some(session, [1.0, 0.0], 10)
    assert session.ranking() == [("alone", 1.0)]
    assert np.isnan(session.confidence().of_ranking())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pair": ("run0", "run1"), "top": 2}, "give one"),
        ({"draws": 1}, "draws is 1; give a whole number from 2"),
        ({"top": 1}, "give top a whole number from 2"),
        ({"open_below": 0.3}, "give a confidence above 0.5"),
        ({"depth": 0}, "depth is 0"),
        ({"measure": "Q"}, "depend on how many documents are relevant"),
        ({"measure": "RBP(scale='topic')"}, "not a sum over documents"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Session(draw_runs(1), **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"selection": "best"}, {"confidence": "sure"}, {"refits": "never"}, {"baseline": "run9"},
        {"pair": ("run0", "run9")}, {"prior": "nothing"}, {"measure": "ABC"},
    ],
)  # fmt: skip
def test_unknown_names_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError):
        Session(draw_runs(1), **wrong)


def test_documents_are_checked() -> None:
    retrieved = draw_runs(1)
    session = Session(retrieved)
    with pytest.raises(DataError, match=rf"no document {len(retrieved.docs)}; the runs have 0 to"):
        session.judge(len(retrieved.docs), 1.0)
    session.judge(0, 1.0)
    with pytest.raises(DataError, match="document 0 has been judged; take that back first"):
        session.judge(0, 0.0)
    with pytest.raises(DataError, match="document 1 has not been judged: nothing to take back"):
        session.undo(1)
    with pytest.raises(DataError, match="no documents for these topics"):
        Session(read_retrieved({"r": {"1": {"a": 1.0}}}, topics=["2"]))
    with pytest.raises(DataError, match="belongs to other runs"):
        Session.restored(draw_runs(2), session.state())
