"""agree(): measure agreement and bias and, with runs, the effect of the choice of assessors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sounding.agree.agreement import assessor_agreements, grade_biases
from sounding.agree.assessors import read_panel
from sounding.agree.command import By, Outside, Repeated
from sounding.agree.panel import Panel, fill_outside
from sounding.agree.resampling import SAMPLES, TOP, Effect, evaluate_assessors, resample, top_effects
from sounding.agree.result import Study, StudyChoices
from sounding.core.errors import DataError
from sounding.core.limits import check_count, check_finite
from sounding.core.policies import DEFAULT_POLICIES, Policies, check_policies
from sounding.core.workers import Progress
from sounding.statistics.assessor_agreement import RESAMPLES, Bootstrap

DEFAULT_MEASURES = ("AP",)


def agree(
    qrels: Any,
    runs: Any = None,
    measures: Any = DEFAULT_MEASURES,
    *,
    by: By | None = None,
    repeated: Repeated = "error",
    labels: Mapping[str, float] | None = None,
    level: float = 1,
    primary: str | None = None,
    outside: Outside = "common",
    samples: int = SAMPLES,
    coefficient: str = "tau_b",
    resamples: int = RESAMPLES,
    alpha: float = 0.05,
    top: int = TOP,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Study:
    """Study how far assessors agree, how each is biased, and how the ranking of runs depends on them.

    `qrels` is a Panel or anything that `read_panel` accepts; it also receives `by`, `repeated` and `labels`.
    `primary` names the assessor whose judgments are the original ones; None: the first.
    """
    check_policies(policies)
    check_count("resamples", resamples, 2)
    check_count("samples", samples, 1)
    check_count("seed", policies.seed, 0)
    check_finite("level", level)
    if not 0 < alpha < 1:
        raise DataError(f"alpha is {alpha}; give a number between 0 and 1, such as 0.05")
    panel = qrels
    if not isinstance(qrels, Panel):
        panel = read_panel(
            qrels, by=by, repeated=repeated, labels=labels, policies=policies, format=qrels_format
        )
    choices = StudyChoices(
        level=level, primary=0 if primary is None else panel.place(primary), outside=outside,
        resamples=resamples, alpha=alpha, samples=samples, coefficient=coefficient, top=top,
        seed=policies.seed,
    )  # fmt: skip
    panel = fill_outside(panel, outside, primary=choices.primary, level=level)
    bootstrap = Bootstrap(resamples, alpha, policies.seed)
    agreements = assessor_agreements(panel, level=level, bootstrap=bootstrap)
    biases = grade_biases(panel, bootstrap=bootstrap)
    effects: list[Effect] = []
    if runs is not None:
        values = evaluate_assessors(
            panel, runs, measures, policies=policies, level=level, run_format=run_format, jobs=jobs,
            progress=progress,
        )  # fmt: skip
        effects = [
            resample(
                values, number, samples=samples, original=choices.primary, coefficient=coefficient,
                seed=policies.seed, progress=progress,
            )
            for number in range(len(values.measures))
        ]  # fmt: skip
    return Study(
        panel=panel, choices=choices, policies=policies, agreements=agreements, biases=tuple(biases),
        effects=tuple(effects), tops=tuple(tuple(top_effects(effect, top=top)) for effect in effects),
    )  # fmt: skip
