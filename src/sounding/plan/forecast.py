"""What judging will do: tried out in completions that are drawn from what is believed of the unjudged.

A completion says of every document whether it is relevant: what is judged stays, the rest is one draw of the
prior as it was fitted. Judging goes on in it as if it were the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.workers import Progress, map_items
from sounding.runs.ranking import Values
from sounding.selection.mtc.session import Session

FIRST_CHECK = 8  # judgments after which a completion is looked at first
CHECK_STEP = 1.1  # from one look to the next


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """How sure the order of the runs that matter is, and would be once some documents are judged."""

    before: float
    after: Values  # (completion,)


@dataclass(frozen=True, slots=True)
class JudgingForecast:
    """Judging in one completion until the order is as sure as wanted."""

    judgments: tuple[int, ...]  # at which it was looked at, 0 at first
    confidence: tuple[float, ...]  # of the pairs that matter, at each
    reached: bool
    all_judged: bool

    @property
    def needed(self) -> float:
        """Judgments it took; infinite: it was not reached."""
        return float(self.judgments[-1]) if self.reached else float("inf")


def outlook(
    session: Session,
    documents: Sequence[int],
    seeds: Sequence[int],
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> Outlook:
    """Return how sure the order is expected to be once these documents are judged: one value a completion."""
    before = session.confidence().of_these(session.pairs())

    def after(seed: int) -> float:
        grades = _grades(session, seed)
        ahead = session.knowing([(document, float(grades[document])) for document in documents], seed)
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
    """Judge in one completion a seed, until the pairs that matter are on average as sure as wanted.

    A completion is looked at, and the prior fitted anew, after 8 judgments and whenever there are a tenth
    more, so the number is at most so much too large. It is given up after `most` judgments.
    """
    return map_items(
        lambda seed: _forecast(session, wanted, seed, most), seeds, processes=processes, progress=progress
    )


def _forecast(session: Session, wanted: float, seed: int, most: int) -> JudgingForecast:
    grades, ahead = _grades(session, seed), session.knowing([], seed)
    at, sure = [0], [ahead.confidence().of_these(ahead.pairs())]
    number, check, left = 0, FIRST_CHECK, True
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
            check = max(check + 1, int(check * CHECK_STEP))
    return JudgingForecast(tuple(at), tuple(sure), sure[-1] >= wanted, not left)


def _grades(session: Session, seed: int) -> Values:
    """(document,) the grades of a completion."""
    return np.where(session.completion(seed), session.form.level, 0.0)
