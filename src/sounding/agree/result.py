"""What `agree` gives: agreement, bias and, where there are runs, what the choice of assessors does."""

from __future__ import annotations

from dataclasses import dataclass

from sounding.agree.agreement import Agreements, GradeBias
from sounding.agree.command import Outside
from sounding.agree.panel import Panel
from sounding.agree.resampling import SAMPLES, TOP, Effect, TopEffect
from sounding.core.policies import Policies
from sounding.statistics.assessor_agreement import RESAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyChoices:
    """How assessors are held against each other; every output repeats it."""

    level: float = 1  # the lowest grade that counts as relevant
    primary: int = 0  # whose qrels are the original ones
    outside: Outside = "common"
    resamples: int = RESAMPLES
    alpha: float = 0.05
    samples: int = SAMPLES
    coefficient: str = "tau_b"
    top: int = TOP
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Study:
    """All that several assessors of the same documents show."""

    panel: Panel
    choices: StudyChoices
    policies: Policies
    agreements: Agreements
    biases: tuple[GradeBias, ...]
    effects: tuple[Effect, ...]  # one a measure; none without runs
    tops: tuple[tuple[TopEffect, ...], ...]  # (measure, assessor)
