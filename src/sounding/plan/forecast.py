"""Forecast what judging brings, by simulating it in random completions of the judgments.

A completion says for every document whether it is relevant: judged documents keep their grade, the others
are drawn from the fitted prior. Judging then goes on as if the completion were the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.workers import Progress, map_items
from sounding.runs.ranking import Values
from sounding.selection.mtc.session import Session

FIRST_CHECK = 8  # judgments before the first check of a simulation
CHECK_STEP = 1.1  # factor from one check to the next
# Where topics are many, a check takes seconds and a few judgments change nothing.
MANY_TOPICS, MANY_STEP = 1000, 1.5
WIDER = 2.0  # factor by which the simulations understate how few, or how many, judgments are needed


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """The mean confidence of the pairs that matter, before and after some documents are judged."""

    before: float
    after: Values  # (completion,)


@dataclass(frozen=True, slots=True)
class JudgingForecast:
    """One simulation of judging, until the order is as certain as wanted."""

    judgments: tuple[int, ...]  # at each check, 0 at first
    confidence: tuple[float, ...]  # mean over the pairs that matter, at each check
    reached: bool
    all_judged: bool
    first_check: int = FIRST_CHECK  # judgments before the first check

    @property
    def needed(self) -> float:
        """Return the judgments it took; infinite if the confidence was not reached."""
        return float(self.judgments[-1]) if self.reached else float("inf")


def expected_range(forecasts: Sequence[JudgingForecast]) -> tuple[float, float]:
    """Return the least and the most judgments to expect; infinite: a simulation did not get there.

    Simulations share the errors of the model, so their own range is too narrow.
    """
    needed = [one.needed for one in forecasts]
    return min(needed) / WIDER, max(needed) * WIDER


def outlook(
    session: Session,
    documents: Sequence[int],
    seeds: Sequence[int],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> Outlook:
    """Return the confidence expected after these documents are judged, one value per simulation."""
    before = session.confidence().of_these(session.pairs())

    def after(seed: int) -> float:
        grades = _grades(session, seed)
        judged = [(document, float(grades[document])) for document in documents]
        ahead = session.knowing(judged, seed, near=True)
        return ahead.confidence().of_these(ahead.pairs())

    return Outlook(before, np.array(map_items(after, seeds, processes=processes, progress=progress)))


def forecast_to(
    session: Session,
    wanted: float,
    seeds: Sequence[int],
    *,
    most: int,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[JudgingForecast]:
    """Simulate judging, once per seed, until the mean confidence of the pairs is as wanted.

    The confidence is checked, and the prior refitted, after 8 judgments and whenever there are a tenth
    more, so the number found is at most a tenth too large. With more than 1,000 topics it is checked after
    a judgment for every tenth of them, and whenever there are half more. A simulation ends after `most`
    judgments.
    """
    return map_items(
        lambda seed: _forecast(session, wanted, seed, most), seeds, processes=processes, progress=progress
    )


def _forecast(session: Session, wanted: float, seed: int, most: int) -> JudgingForecast:
    grades, ahead = _grades(session, seed), session.knowing([], seed)
    at, sure = [0], [ahead.confidence().of_these(ahead.pairs())]
    topics = len(session.retrieved.topics)
    first, step = (FIRST_CHECK, CHECK_STEP) if topics <= MANY_TOPICS else (topics // 10, MANY_STEP)
    number, check, left = 0, first, True
    while sure[-1] < wanted and number < most and left:
        due = ahead.next()
        left = bool(due)
        if due:
            ahead.judge(due[0].document, float(grades[due[0].document]))
            number += 1
        if number in (check, most) or not left:
            ahead.refit()
            at.append(number)
            sure.append(ahead.confidence().of_these(ahead.pairs()))
            check = max(check + 1, int(check * step))
    return JudgingForecast(tuple(at), tuple(sure), sure[-1] >= wanted, not left, first)


def _grades(session: Session, seed: int) -> Values:
    """Return the grades of a completion, by document."""
    return np.where(session.completion(seed), session.form.level, 0.0)
