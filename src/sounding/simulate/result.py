"""The result of `simulate`: what was known after each number of judgments, by strategy and seed."""

from __future__ import annotations

from dataclasses import dataclass

from sounding.core.policies import Policies
from sounding.measures.forms import Form
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.session import SessionParameters
from sounding.simulate.experiments import ListPair, Normality, Reuse
from sounding.simulate.trial import Checkpoint, Truth


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Result of one strategy with one seed."""

    strategy: str
    seed: int
    checkpoints: list[Checkpoint]
    documents: list[int]  # in the order in which they were judged
    confidence: Confidence  # in the end


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Simulation:
    """Replayed judging, compared with the truth by all judgments."""

    retrieved: Retrieved
    truth: Truth
    form: Form  # the measure by which runs are compared
    parameters: SessionParameters
    sure: float  # from which on the order of two runs counts as claimed
    policies: Policies
    cut: str | None  # the cut of the judgments, in a sentence
    trials: tuple[Trial, ...]  # one for every strategy and seed
    list_pairs: tuple[ListPair, ...] | None  # lists of a topic, with the judgments that separate two
    reuse: tuple[Reuse, ...] | None  # each run left out
    histogram: tuple[str, str] | None  # the runs whose difference was drawn
    topic: str | None  # on which; None: on all
    normality: Normality | None  # of that difference

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints of all trials."""
        return [row for trial in self.trials for row in trial.checkpoints]

    @property
    def seeds(self) -> int:
        """Return how many seeds the trials have."""
        return len({trial.seed for trial in self.trials})
