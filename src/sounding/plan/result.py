"""What `plan` gives: the documents to judge next, how sure the order of the runs is, and what is to come."""

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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgingPlan:
    """What is known of the order of some runs, and what to judge next to know more."""

    session: Session
    confidence: Confidence  # of the order, as far as it is stated
    picks: tuple[Pick, ...]  # the next documents, what tells most first
    proven: NDArray[np.bool_]  # (run, other) whether the run is above the other whatever is judged later
    sure: float  # from which on the order of two runs counts as probable
    outlook: Outlook | None  # what judging the next documents should bring; None: not asked, or unknown
    wanted: float | None  # the confidence that forecasts are for
    most: int  # judgments after which a forecast gives up
    forecasts: tuple[JudgingForecast, ...] | None  # None: not asked for, or no confidence is stated
    holds: Holds | None  # what a test concludes of the pairs by now; None: not known
    unsaid: str | None  # why that could not be said
    cut: str | None  # how the judgments were cut, in a sentence
    policies: Policies
    seed: int

    @property
    def retrieved(self) -> Retrieved:
        """What the runs have."""
        return self.session.retrieved

    @property
    def parameters(self) -> SessionParameters:
        """What the session was asked for."""
        return self.session.parameters

    @property
    def form(self) -> Form:
        """The measure by which runs are compared."""
        return self.session.form

    def documents(self) -> list[tuple[str, str]]:
        """Return topic and doc id of the next documents to judge."""
        names = self.retrieved
        return [(names.topics[pick.topic], names.docs.text(pick.document)) for pick in self.picks]
