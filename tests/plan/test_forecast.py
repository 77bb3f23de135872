"""What judging will do: completions, what a batch is expected to bring, and how far it is to a confidence."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.selection.small import draw_grades, draw_runs

from sounding.core.executors import run_on
from sounding.plan import forecast
from sounding.plan.forecast import JudgingForecast, expected_range, forecast_to, outlook
from sounding.plan.sentences import forecast_expectation, forecast_range
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session


def some_judged(retrieved: Retrieved, number: int, seed: int = 1, **parameters: Any) -> Session:
    session = Session(retrieved, **parameters)
    grades = draw_grades(seed, retrieved)
    for _ in range(number):
        document = session.next()[0].document
        session.judge(document, grades[document])
    return session


def test_worlds_that_are_sent_away_give_the_same() -> None:
    retrieved = draw_runs(4, topics=6)
    session = Session(retrieved, depth=6, draws=30)
    documents = [pick.document for pick in session.next(count=4)]
    here = outlook(session, documents, [1, 2]), forecast_to(session, 0.9, [1, 2], most=20)
    with ThreadPoolExecutor(2) as pool, run_on(pool):
        away = (
            outlook(session, documents, [1, 2], processes=2),
            forecast_to(session, 0.9, [1, 2], most=20, processes=2),
        )
    np.testing.assert_array_equal(away[0].after, here[0].after)
    assert away[1] == here[1]


def test_a_completion_keeps_what_is_judged_and_draws_the_rest_with_its_chance() -> None:
    retrieved = draw_runs(1)
    grades = draw_grades(1, retrieved)
    session = some_judged(retrieved, 9, prior="0.3", depth=6)
    judged = dict(session.state()["judgments"])
    drawn = np.array([session.completion(seed) for seed in range(400)])
    counts = {int(number) for number in retrieved.cut(6).lists.ravel() if number >= 0}
    for document in range(len(retrieved.docs)):
        share = drawn[:, document].mean()
        if document in judged:
            assert share == (grades[document] >= 1)
        elif document in counts:
            assert abs(share - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 400)
        else:
            assert share == 0
    np.testing.assert_array_equal(session.completion(7), drawn[7])


def test_documents_of_a_completion_of_the_model_go_wrong_together() -> None:
    # With weights of runs drawn anew each time, the number of relevant documents varies more than by chance.
    retrieved = draw_runs(4, topics=8)
    session = some_judged(retrieved, 4)
    drawn = np.array([session.completion(seed) for seed in range(300)])
    chance = drawn.mean(axis=0)
    assert drawn.sum(axis=1).var() > 1.5 * (chance * (1 - chance)).sum()


def test_a_session_that_knows_more_is_one_that_was_given_it() -> None:
    retrieved = draw_runs(2)
    session = some_judged(retrieved, 6, depth=6)
    left = session.next(count=2)
    session.judge(left[0].document, None)
    more = [(left[1].document, 1.0)]
    known = [(document, grade) for document, grade in session.state()["judgments"] if grade is not None]
    wanted = Session(retrieved, seed=5, given=[*known, *more], depth=6)
    ahead = session.knowing(more, 5)
    assert ahead.confidence().values.tolist() == wanted.confidence().values.tolist()
    assert ahead.next() == wanted.next()
    assert ahead.version == len(known) + 1


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({}, set(combinations(range(5), 2))),
        ({"pair": ("run3", "run1")}, {(1, 3)}),
        ({"baseline": "run2"}, {(0, 2), (1, 2), (2, 3), (2, 4)}),
    ],
)
def test_pairs_are_those_that_matter(parameters: dict[str, Any], wanted: set[tuple[int, int]]) -> None:
    session = Session(draw_runs(3), **parameters)
    assert {tuple(pair) for pair in session.pairs().tolist()} == wanted
    sure = session.confidence()
    mean = np.mean([sure.of_pairs()[pair] for pair in wanted])
    assert sure.of_these(session.pairs()) == pytest.approx(mean)


def test_pairs_of_the_top_follow_the_ranking() -> None:
    session = some_judged(draw_runs(3), 5, top=3)
    best = sorted(session.retrieved.runs.index(run) for run, _ in session.ranking()[:3])
    assert [tuple(pair) for pair in session.pairs().tolist()] == list(combinations(best, 2))


def test_the_outlook_is_the_confidence_of_sessions_that_know_the_documents() -> None:
    retrieved = draw_runs(5)
    session = some_judged(retrieved, 5)
    documents = [pick.document for pick in session.next(count=4)]
    found = outlook(session, documents, [3, 4])
    assert found.before == session.confidence().of_ranking()
    for seed, after in zip([3, 4], found.after, strict=True):
        world = session.completion(seed)
        given = [(document, grade) for document, grade in session.state()["judgments"]]
        given += [(document, float(world[document])) for document in documents]
        assert after == Session(retrieved, seed=seed, given=given).confidence().of_ranking()


def test_judging_everything_leaves_no_doubt() -> None:
    retrieved = draw_runs(6, documents=9)
    session = Session(retrieved, prior="0.5", confidence="exact")
    every = [pick.document for pick in session.next(count=1000)]
    world = session.completion(1)
    done = session.knowing([(document, float(world[document])) for document in every], 1)
    values = done.confidence().values
    pairs = list(combinations(range(5), 2))
    wanted = np.mean([0.5 if abs(values[a] - values[b]) < 1e-12 else 1.0 for a, b in pairs])
    assert outlook(session, every, [1]).after[0] == pytest.approx(wanted)


def test_a_course_is_judging_in_one_world_until_it_is_sure() -> None:
    retrieved = draw_runs(8, topics=6)
    session = some_judged(retrieved, 3, prior="0.5", confidence="normal")
    (course,) = forecast_to(session, 0.9, [2], most=1000)
    assert course.reached
    assert course.confidence[-1] >= 0.9 > course.confidence[-2]
    world, ahead = session.completion(2), session.knowing([], 2)
    for _ in range(course.judgments[-1]):
        document = ahead.next()[0].document
        ahead.judge(document, float(world[document]))
    assert ahead.confidence().of_ranking() == pytest.approx(course.confidence[-1])
    assert course.needed == course.judgments[-1]
    steps = np.diff(course.judgments)
    assert (steps[1:] <= np.maximum(1, np.array(course.judgments[1:-1]) * 0.1 + 1)).all()


def test_where_topics_are_many_looks_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    retrieved = draw_runs(8, topics=40)
    few = forecast_to(Session(retrieved, prior="0.5", confidence="normal"), 0.9999, [2], most=20)[0]
    monkeypatch.setattr(forecast, "MANY_TOPICS", 39)
    many = forecast_to(Session(retrieved, prior="0.5", confidence="normal"), 0.9999, [2], most=20)[0]
    assert few.judgments[:4] == (0, 8, 9, 10)
    assert many.judgments == (0, 4, 6, 9, 13, 19, 20)
    # the same documents are judged: at 9 judgments both know the same
    assert many.confidence[3] == pytest.approx(few.confidence[2])
    assert forecast_range([replace(many, reached=True)]) == [
        "1 of 1 simulation reached it, after 20 judgments."
    ]
    assert forecast_range([JudgingForecast((0, 4), (0.5, 1.0), True, False, 4)])[0].endswith(
        "check, after 4."
    )


def test_the_prior_is_fitted_anew_at_every_look() -> None:
    retrieved = draw_runs(8, topics=6)
    session = some_judged(retrieved, 20)
    (course,) = forecast_to(session, 0.99, [1], most=8)
    world, ahead = session.completion(1), session.knowing([], 1)
    for _ in range(8):
        document = ahead.next()[0].document
        ahead.judge(document, float(world[document]))
    assert ahead.version == 20
    ahead.refit()
    assert ahead.version == 28
    assert course.confidence[-1] == ahead.confidence().of_ranking()


def test_a_course_is_given_up_where_told_and_ends_where_nothing_is_left() -> None:
    retrieved = draw_runs(9)
    few = forecast_to(Session(retrieved), 0.999, [1], most=5)[0]
    assert (few.judgments[-1], few.reached, few.all_judged, few.needed) == (5, False, False, math.inf)
    same = {"1": {"a": 2.0, "b": 1.0}}
    equal = read_retrieved({"x": same, "y": same})
    end = forecast_to(Session(equal), 0.9, [1], most=50)[0]
    assert (end.judgments, end.confidence, end.reached, end.all_judged) == ((0, 2), (0.5, 0.5), False, True)


def test_what_is_sure_already_needs_no_judgment() -> None:
    retrieved = read_retrieved({"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}})
    session = Session(retrieved, given=[(0, 1.0), (1, 0.0)])
    assert forecast_to(session, 0.9, [1, 2], most=9)[1].needed == 0


def test_the_range_to_expect_is_twice_as_wide_on_both_sides() -> None:
    courses = [JudgingForecast((0, number), (0.5, 0.95), True, False) for number in (30, 12, 400)]
    assert expected_range(courses) == (6.0, 800.0)
    assert any("6 to 800 judgments" in said for said in forecast_expectation(courses))
    lost = JudgingForecast((0, 2000), (0.5, 0.9), False, False)
    assert expected_range([*courses, lost]) == (6.0, np.inf)
    assert any("6 judgments or more" in said for said in forecast_expectation([*courses, lost]))
    done = JudgingForecast((0,), (0.97,), True, False)
    assert forecast_expectation([done, done]) == []
