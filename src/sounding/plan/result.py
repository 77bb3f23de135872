"""The result of `plan`: documents to judge next, how certain the ranking is, and forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.compare.holds import Holds
from sounding.core.arrays import NDArray
from sounding.core.policies import Policies
from sounding.measures.forms import Form
from sounding.plan.forecast import JudgingForecast, Outlook
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.session import Session, SessionParameters
from sounding.selection.strategies import Pick


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The fewest judgments found that could prove one run above another by equation 3 of the paper."""

    run: str
    other: str
    judgments: list[tuple[int, bool]] | None  # document, and relevant or not; None: none can prove it


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgingPlan:
    """Known facts about the order of some runs, and the documents to judge next."""

    session: Session
    confidence: Confidence  # of the order, if it can be stated
    picks: tuple[Pick, ...]  # the next documents, the most informative first
    proven: NDArray[np.bool_]  # (run, other) whether no further judgment can put the run below the other
    sure: float  # the confidence from which the order of two runs is probable
    outlook: Outlook | None  # expected gain of judging the next documents; None: unknown
    wanted: float | None  # the confidence that forecasts aim at
    most: int  # judgments after which a simulation ends
    forecasts: tuple[JudgingForecast, ...] | None  # None: not requested, or no confidence can be stated
    holds: Holds | None  # today's conclusions about the pairs and whether they hold; None: unknown
    unsaid: str | None  # why `holds` is unknown
    cut: str | None  # the cut of the judgments, in a sentence
    policies: Policies
    seed: int
    proof: Proof | None = None  # None: not asked for

    @property
    def retrieved(self) -> Retrieved:
        """Return the lists of the runs."""
        return self.session.retrieved

    @property
    def parameters(self) -> SessionParameters:
        """Return the parameters of the session."""
        return self.session.parameters

    @property
    def form(self) -> Form:
        """Return the measure by which runs are ranked."""
        return self.session.form

    def documents(self) -> list[tuple[str, str]]:
        """Return topic and doc id of the next documents to judge."""
        names = self.retrieved
        return [(names.topics[pick.topic], names.docs.text(pick.document)) for pick in self.picks]
