"""What takes too long while people wait: the decision matrix so far, and what it would take to be sure.

`python -m sounding.judging.prospects FOLDER SEQUENCE` prints each as soon as it is known, as a line of JSON
with all that came before; with `curve` behind, how sure the ranking was at places of the log as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.compare.cases import MEANING, UNTESTED
from sounding.compare.runs import compare_runs
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.judging.live import POINTS, SURE, curve_of
from sounding.judging.project import open_project
from sounding.judging.replay import Replay, run_of
from sounding.judging.store import Store
from sounding.judging.verify import replayed
from sounding.mtc.planning import Course, courses
from sounding.policies import DEFAULT_POLICIES
from sounding.report.mtc_tables import forecast_note

WORLDS = 5  # completions of the judgments in which judging is tried out
MOST = 3000  # judgments after which that is given up
LEAST = 8  # judgments that the model of relevance needs before it has anything to say
SECONDS = 30.0  # that a judgment takes where nobody has judged yet: the usual guess


def matrix(store: Store, replay: Replay) -> dict[str, Any]:
    """How many pairs of runs fall into each case of the decision matrix, by what is judged so far."""
    grades: dict[str, dict[str, float]] = {}
    for (topic, doc), verdict in replay.verdicts.items():
        if verdict.grade is not None:
            grades.setdefault(topic, {})[doc] = verdict.grade
    if len(replay.runs) < 2 or not grades:
        return {"reason": "There are no pairs of runs with judgments yet."}
    runs = [run_of(name, store.run(name)) for name in replay.runs]
    measure = replay.settings.graded_measure
    try:
        found = compare_runs(
            Qrels.from_dict(grades, source="judgments so far"), runs, [measure], settled=False,
            policies=replace(DEFAULT_POLICIES, fractional="accept"),
        )  # fmt: skip
    except DataError as error:
        return {"reason": f"Nothing can be tested yet: {error}"}
    cases = found.cases[0]
    return {
        "reason": "",
        "cases": [[case, int((cases == case).sum()), meaning] for case, meaning in MEANING.items()],
        "untested": int((cases == UNTESTED).sum()),
        "topics": len(found.topics),
        "method": found.performance_tests[0].method,
        "depth": found.depths[0],
    }


def forecasts(store: Store, replay: Replay) -> Iterator[dict[str, Any]]:
    """How many more judgments it would take until the order of the runs is sure, completion by completion."""
    session = replay.session
    if session.judgments < LEAST:
        yield {"reason": f"After {LEAST} judgments it can be said what it would take.", "needed": []}
        return
    if not session.confidence().of_ranking() < SURE:
        yield {"reason": "", "needed": [0] * WORLDS, "note": f"The order is as sure as {SURE:g} already."}
        return
    left = len(replay.retrieved.docs) - session.judgments
    seconds = seconds_a_judgment(store)
    found: list[Course] = []
    for seed in range(WORLDS):
        found += courses(session, SURE, [seed], most=min(left, MOST))
        yield {
            "reason": "",
            "needed": [int(one.needed) if one.reached else None for one in found],
            "note": forecast_note(found, SURE, seconds),
        }


def seconds_a_judgment(store: Store) -> float:
    """How long a judgment has taken so far, on average."""
    times = [event.active for event in store.events() if event.kind == "judge" and event.active]
    return float(np.mean(times)) if times else SECONDS


def prospects(store: Store, until: int, *, curve: bool = False) -> Iterator[dict[str, Any]]:
    """The prospects after an event, with more of them every time."""
    replay = replayed(store, until)
    found: dict[str, Any] = {"sequence": until, "judged": len(replay.verdicts)}
    if replay.runs:
        found = found | {"matrix": matrix(store, replay)}
        yield found
        if curve:
            found = found | {"curve": curve_of(store, POINTS)}
            yield found
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
