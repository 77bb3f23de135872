"""Decide whether runs and judgments are enough to state a probability, for every command.

The probability that an unjudged document is relevant is learned from which judged documents are relevant and
from how the runs rank them. With few runs, few judgments, or only relevant ones, the result would just be the
prior. docs/holds.md has the measurements behind the limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import plural
from sounding.runs.ranking import Counts

LEAST_RUNS = 2  # to state how certain an order is, and whether conclusions hold
LEAST_JUDGMENTS = 50
FEW_RUNS = 5  # fewer do not bear expected values; with more, chances are less cautious
FEW_JUDGMENTS = 100
LEAST_OF_EACH = 10  # judged relevant, and judged not relevant
NEAR = 10  # the top of a list: ranks 1 to 10
SURPRISE = 3.0  # tolerated excess, in standard errors, of relevance further down


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """Data that a probability rests on: the runs, and the judged documents they retrieved."""

    runs: int
    relevant: int
    nonrelevant: int
    unjudged: int  # documents that the probability is about
    is_upside_down: bool  # documents far down were relevant more often than those at the top

    @staticmethod
    def of(runs: int, ranks: Counts, relevant: NDArray[np.bool_], unjudged: int) -> Basis:
        """Summarize judged documents, given by their best rank in any run and whether they are relevant."""
        found = int(np.count_nonzero(relevant))
        return Basis(
            runs=runs, relevant=found, nonrelevant=len(relevant) - found, unjudged=unjudged,
            is_upside_down=_rises(relevant[ranks <= NEAR], relevant[ranks > NEAR]),
        )  # fmt: skip

    @property
    def judgments(self) -> int:
        """Return the number of judged documents."""
        return self.relevant + self.nonrelevant

    def shortfall(self, *, values: bool = False) -> str:
        """Return why no probability can be stated, to continue a sentence; empty if it can.

        `values`: expected values, for which more is needed. Only what is missing is named. If nothing
        is left to judge, everything is known, even with few judgments.
        """
        if not self.unjudged:
            return ""
        least_runs = FEW_RUNS if values else LEAST_RUNS
        least_judgments = FEW_JUDGMENTS if values else LEAST_JUDGMENTS
        needed, given = [], []
        if self.runs < least_runs:
            needed.append(f"{least_runs} runs")
            given.append(plural(self.runs, "run"))
        if self.judgments < least_judgments:
            whose = "their" if needed else "the runs'"
            needed.append(f"{least_judgments} judgments of {whose} documents")
            given.append(plural(self.judgments, "judgment"))
        if needed:
            are = "is" if given[0].startswith("1 ") else "are"
            return f"this needs at least {' and '.join(needed)}; there {are} {' and '.join(given)}"
        if min(self.relevant, self.nonrelevant) < LEAST_OF_EACH:
            return (
                f"this needs at least {LEAST_OF_EACH} documents judged relevant and {LEAST_OF_EACH} judged"
                f" not relevant; there are {self.relevant:,} and {self.nonrelevant:,}"
            )
        if self.is_upside_down:
            return (
                f"judged documents below rank {NEAR} are relevant more often than those above it, so the"
                " judgments do not show how likely an unjudged document is to be relevant"
            )
        return ""


def _rises(top: NDArray[np.bool_], below: NDArray[np.bool_]) -> bool:
    """Return whether relevance is more frequent further down, by more than chance explains."""
    if not len(top) or not len(below):
        return False
    share = (top.sum() + below.sum()) / (len(top) + len(below))
    error = np.sqrt(share * (1 - share) * (1 / len(top) + 1 / len(below)))
    return bool(below.mean() - top.mean() > SURPRISE * error)
