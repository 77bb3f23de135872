"""What takes too long while people wait: the decision matrix so far, and what it would take to be sure.

`python -m sounding.judge.prospects FOLDER SEQUENCE` prints each as soon as it is known, as a line of JSON
with all that came before; with `curve` behind, how sure the ranking was at places of the log as well.
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

WORLDS = 5  # completions of the judgments in which judging is tried out
MOST = 3000  # judgments after which that is given up
MOST_RUNS = 40  # in the table of pairs
SO_FAR = "judgments so far"  # what stands for the name of their file
SMALL_SHARE = 0.25  # of a run's documents: with fewer judged, its cases say more of judging than of the run
SECONDS = 30.0  # that a judgment takes where nobody has judged yet: the usual guess


def matrix(store: Store, replay: JudgingState) -> dict[str, Any]:
    """How many pairs of runs fall into each case of the decision matrix, by what is judged so far.

    Only topics in use that some run has count, as in the ranking.
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
    # (run,): the share of its documents down to the compared depth that is judged; 0: none, or no lists.
    shares = np.nan_to_num(found.assessment[:, 0]).mean(axis=1)
    # Two runs of which nothing is judged are assessed alike by the test, and nothing is known of either.
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
    """Every two runs, what a test concludes of the first by now, and the chance that it holds.

    As `compare --holds` has it; nothing where it cannot be said, or for more runs than a page has room for.
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
    """The grades that count, by topic in use that some run has, and document."""
    grades: dict[str, dict[str, float]] = {}
    ranked = set(replay.retrieved.topics)
    for (topic, doc), verdict in replay.verdicts.items():
        if verdict.grade is not None and topic in ranked:
            grades.setdefault(topic, {})[doc] = verdict.grade
    return grades


def _runs(store: Store, replay: JudgingState) -> list[Run]:
    return [run_of(name, store.run(name)) for name in replay.runs]


def too_early(found: Comparison, shares: NDArray[np.float64]) -> str:
    """Why the cases mean little as yet; empty: they do not."""
    least = int(shares.argmin())
    few, depth = len(found.topics) < FEW_TOPICS, found.depths[0]
    reasons = [
        f"{plural(len(found.topics), 'topic')} with judgments, fewer than {FEW_TOPICS}" if few else "",
        f"{percent(float(shares[least]))} of the first {depth} documents of {found.runs[least]} are judged"
        " in the topics with judgments"
        if shares[least] < SMALL_SHARE
        else "",
    ]
    given = "; ".join(reason for reason in reasons if reason)
    return f"Too early to conclude: {given}." if given else ""


def forecasts(store: Store, replay: JudgingState) -> Iterator[dict[str, Any]]:
    """How many more judgments it would take until the order of the runs is sure, completion by completion."""
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
            "note": f"The order is as sure as {whole_percent(SURE)} already.",
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
    """That more is needed than the orders can bring, where they leave some of the unjudged out."""
    too_few = sum(one.judgments[-1] + (not one.reached) > left for one in courses)
    if not too_few or left >= unjudged:
        return ""
    return f" The orders can bring only {left:,} more, too few in {too_few} of {len(courses)}."


def overlap_note(overlap: int) -> str:
    """What the judgments of a forecast are, where several people are to judge each document."""
    if overlap == 1:
        return ""
    return (
        f" Each is a document that nobody has judged yet; the time is that of the {overlap} people who are to"
        " judge it."
    )


def seconds_a_judgment(store: Store, until: int) -> float:
    """How long a judgment has taken up to an event, on average, with the time on what was skipped."""
    tally = Tally()
    tally.follow(store.events(until=until))
    return tally.seconds_a_judgment() or SECONDS


def prospects(store: Store, until: int, *, curve: bool = False) -> Iterator[dict[str, Any]]:
    """The prospects after an event, with more of them every time."""
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
    """Print the prospects, giving way to whatever else the machine has to do."""
    if hasattr(os, "nice"):
        os.nice(10)
    with open_project(folder) as project:
        for found in prospects(project.store, until, curve="curve" in more):
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
