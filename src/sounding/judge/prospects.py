"""Slow parts of the live page: the decision matrix, significance tests, the curve, and the forecast.

`python -m sounding.judge.prospects FOLDER SEQUENCE` prints a line of JSON whenever a part is ready, with all
parts so far. The argument `curve` adds the confidence in the ranking at moments of the log.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.compare.comparison import compare
from sounding.compare.holds import holds
from sounding.compare.result import Comparison
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import format_chance, percent, plural, whole_percent
from sounding.data.tables import Qrels, Run
from sounding.evaluate.result import FEW_TOPICS
from sounding.judge.agenda import run_of
from sounding.judge.live import POINTS, SURE, Tally, curve_of, nothing_left
from sounding.judge.progress import counts_of
from sounding.judge.project import open_project
from sounding.judge.state import JudgingState
from sounding.judge.store import Store
from sounding.judge.verify import replay_log
from sounding.plan.forecast import JudgingForecast, forecast_to
from sounding.plan.sentences import forecast_note
from sounding.runs.pairs import all_pairs
from sounding.statistics.cases import MEANING, UNTESTED

WORLDS = 5  # simulated completions of the judgments
MOST = 3000  # judgments after which a simulation gives up
MOST_RUNS = 40  # in the table of pairs
SO_FAR = "judgments so far"  # the name of the qrels in messages
SMALL_SHARE = 0.25  # judged share of a run below which its cases reflect the judging more than the run
SECONDS = 30.0  # assumed time per judgment before anybody has judged


def matrix(store: Store, replay: JudgingState) -> dict[str, Any]:
    """Count the pairs of runs in each case of the decision matrix, based on the judgments so far.

    Only topics in use that some run has are included, as in the ranking.
    """
    grades = grades_in_use(replay)
    if len(replay.runs) < 2 or not grades:
        return {"reason": "There are no pairs of runs with judgments yet."}
    measure = replay.settings.graded_measure
    try:
        found = compare(
            Qrels.from_dict(grades, source=SO_FAR), _runs(store, replay), [measure], settled=False,
            policies=replace(DEFAULT_POLICIES, fractional="accept"),
        )  # fmt: skip
    except DataError as error:
        return {"reason": f"Nothing can be tested yet: {error}"}
    # (run,): judged share of its documents to the compared depth; 0 if none, or if it has no documents.
    shares = np.nan_to_num(found.assessment[:, 0]).mean(axis=1)
    # Two runs without judged documents pass as evenly judged, although nothing is known about either.
    unseen = (shares[found.pairs] == 0).any(axis=1)
    cases = np.where(unseen, UNTESTED, found.cases[0])
    return {
        "reason": "",
        "early": too_early(found, shares),
        "cases": [[case, int((cases == case).sum()), meaning] for case, meaning in MEANING.items()],
        "untested": int((cases == UNTESTED).sum()),
        "unseen": int(unseen.sum()),
        "topics": len(found.topics),
        "method": found.performance_tests[0].method,
        "depth": found.depths[0],
    }


def pair_conclusions(store: Store, replay: JudgingState) -> list[tuple[str, str, str, str]]:
    """Return for every pair of runs the test's conclusion about the first, and the chance that it holds.

    The same as `compare --holds`; empty if it cannot be computed, or if there are too many runs for the page.
    """
    grades, settings = grades_in_use(replay), replay.settings
    if not 2 <= len(replay.runs) <= MOST_RUNS or not grades:
        return []
    policies = replace(DEFAULT_POLICIES, fractional="accept", depth=settings.depth, seed=settings.seed)
    try:
        found = holds(
            Qrels.from_dict(grades, source=SO_FAR), _runs(store, replay), [settings.graded_measure],
            until=f"runs:{settings.depth}", policies=policies,
        )  # fmt: skip
    except DataError:
        return []
    if found.reason:
        return []
    return [
        (
            replay.runs[first], replay.runs[second], found.in_words(0, pair),
            format_chance(float(found.conclusion[0, pair])),
        )
        for pair, (first, second) in enumerate(all_pairs(len(replay.runs)).tolist())
    ]  # fmt: skip


def grades_in_use(replay: JudgingState) -> dict[str, dict[str, float]]:
    """Return the grades that count, by topic and document, for topics in use that some run has."""
    grades: dict[str, dict[str, float]] = {}
    ranked = set(replay.retrieved.topics)
    for (topic, doc), verdict in replay.verdicts.items():
        if verdict.grade is not None and topic in ranked:
            grades.setdefault(topic, {})[doc] = verdict.grade
    return grades


def _runs(store: Store, replay: JudgingState) -> list[Run]:
    return [run_of(name, store.run(name)) for name in replay.runs]


def too_early(found: Comparison, shares: NDArray[np.float64]) -> str:
    """Say why it is too early to interpret the cases; empty if it is not."""
    least = int(shares.argmin())
    few, depth = len(found.topics) < FEW_TOPICS, found.depths[0]
    reasons = [
        f"only {plural(len(found.topics), 'topic')} with judgments ({FEW_TOPICS} needed)" if few else "",
        f"only {percent(float(shares[least]))} of {found.runs[least]}'s top {depth} is judged in these topics"
        if shares[least] < SMALL_SHARE
        else "",
    ]
    given = "; ".join(reason for reason in reasons if reason)
    return f"Too early to conclude: {given}." if given else ""


def forecasts(store: Store, replay: JudgingState) -> Iterator[dict[str, Any]]:
    """Forecast how many more judgments the ranking needs to be certain, one simulation at a time."""
    session, counts = replay.session, counts_of(replay)
    left, confidence = counts.total.left, session.confidence().stated(session.basis())
    ranking = confidence.of_ranking()
    if reason := nothing_left(counts, ranking):
        yield {"reason": reason, "needed": []}
        return
    if confidence.reason:
        yield {"reason": f"There is no forecast: {confidence.reason}.", "needed": []}
        return
    if not ranking < SURE:
        yield {
            "reason": "",
            "needed": [0] * WORLDS,
            "note": f"The ranking is at least {whole_percent(SURE)} certain already.",
        }
        return
    unjudged, overlap = len(replay.retrieved.docs) - session.judgments, replay.settings.overlap
    seconds = seconds_a_judgment(store, replay.sequence) * overlap
    found: list[JudgingForecast] = []
    for seed in range(WORLDS):
        found += forecast_to(session, SURE, [seed], most=min(unjudged, MOST))
        yield {
            "reason": "",
            "needed": [int(one.needed) if one.reached else None for one in found],
            "note": forecast_note(found, SURE, seconds)
            + too_few_note(found, left, unjudged)
            + overlap_note(overlap),
            "so_far": len(found) < WORLDS,
        }


def too_few_note(courses: Sequence[JudgingForecast], left: int, unjudged: int) -> str:
    """Say that the forecast needs more documents than the orders select; empty if it does not."""
    too_few = sum(one.judgments[-1] + (not one.reached) > left for one in courses)
    if not too_few or left >= unjudged:
        return ""
    return (
        f" The orders of the topics select only {left:,} more, too few in {too_few} of {len(courses)}"
        " simulations."
    )


def overlap_note(overlap: int) -> str:
    """Explain the counts of a forecast if several people judge each document; else empty."""
    if overlap == 1:
        return ""
    return f" The count is of new documents; the time includes all {overlap} assessors per document."


def seconds_a_judgment(store: Store, until: int) -> float:
    """Return the mean seconds per judgment up to an event, including time on skipped documents."""
    tally = Tally()
    tally.follow(store.events(until=until))
    return tally.seconds_a_judgment() or SECONDS


def prospects(store: Store, until: int, *, curve: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the prospects as of an event, with one more part each time."""
    replay = replay_log(store, until)
    found: dict[str, Any] = {"sequence": until, "judged": replay.count_judged()}
    if replay.ready:
        found = found | {"matrix": matrix(store, replay)}
        yield found
        if curve:
            found = found | {"curve": curve_of(store, POINTS)}
            yield found
        found = found | {"held": pair_conclusions(store, replay)}
        for one in forecasts(store, replay):
            yield found | {"forecast": one}
    else:
        yield found


def main(folder: str, until: int, *more: str) -> None:
    """Print the prospects, at low priority."""
    if hasattr(os, "nice"):
        os.nice(10)
    with open_project(folder) as project:
        for found in prospects(project.store, until, curve="curve" in more):
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
