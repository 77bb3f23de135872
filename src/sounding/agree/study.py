"""study_assessors(): agreement, bias and, where there are runs, what the choice of assessors does to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sounding.agree.agreement import Agreements, agree
from sounding.agree.bias import TOP, GradeBias, TopEffect, grade_biases, top_effects
from sounding.agree.panel import Outside, Panel, fill_outside
from sounding.agree.resampling import SAMPLES, Effect, evaluate_assessors, resample
from sounding.core.errors import DataError, expect
from sounding.core.limits import check_count, check_finite
from sounding.core.policies import DEFAULT_POLICIES, Policies, check_policies
from sounding.core.workers import Progress
from sounding.statistics.assessor_agreement import RESAMPLES, Bootstrap

DEFAULT_MEASURES = ("AP",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
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
    """All that is found of several assessors."""

    panel: Panel
    choices: Choices
    policies: Policies
    agreements: Agreements
    biases: tuple[GradeBias, ...]
    effects: tuple[Effect, ...]  # one a measure; none without runs
    tops: tuple[tuple[TopEffect, ...], ...]  # (measure, assessor)


def study_assessors(
    panel: Panel,
    runs: Any = None,
    measures: Any = DEFAULT_MEASURES,
    *,
    choices: Choices | None = None,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Study:
    """How far assessors agree, how each is biased, and how the ranking of runs depends on them."""
    check_policies(policies)
    how = Choices() if choices is None else choices
    check_count("resamples", how.resamples, 2)
    check_count("samples", how.samples, 1)
    check_count("seed", how.seed, 0)
    check_finite("level", how.level)
    if not 0 < how.alpha < 1:
        raise DataError(f"alpha is {how.alpha}; give a number between 0 and 1, such as 0.05")
    expect(panel, Panel, "panel", "what read_panel() gives")
    filled = fill_outside(panel, how.outside, primary=how.primary, level=how.level)
    bootstrap = Bootstrap(how.resamples, how.alpha, how.seed)
    agreements = agree(filled, level=how.level, bootstrap=bootstrap)
    biases = grade_biases(filled, bootstrap=bootstrap)
    effects: list[Effect] = []
    if runs is not None:
        values = evaluate_assessors(
            filled, runs, measures, policies=policies, level=how.level, run_format=run_format, jobs=jobs,
            progress=progress,
        )  # fmt: skip
        effects = [
            resample(
                values, number, samples=how.samples, original=how.primary, coefficient=how.coefficient,
                seed=how.seed, progress=progress,
            )
            for number in range(len(values.measures))
        ]  # fmt: skip
    return Study(
        panel=filled, choices=how, policies=policies, agreements=agreements, biases=tuple(biases),
        effects=tuple(effects),
        tops=tuple(tuple(top_effects(effect, top=how.top)) for effect in effects),
    )  # fmt: skip
