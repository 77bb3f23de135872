"""The result of `agree`: agreement, bias and, with runs, the effect of the choice of assessors."""

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
    """The settings by which assessors are compared; every output repeats them."""

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
    """The result of `agree`."""

    panel: Panel
    choices: StudyChoices
    policies: Policies
    agreements: Agreements
    biases: tuple[GradeBias, ...]
    effects: tuple[Effect, ...]  # one for each measure; empty without runs
    tops: tuple[tuple[TopEffect, ...], ...]  # (measure, assessor)
