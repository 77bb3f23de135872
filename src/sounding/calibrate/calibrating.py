"""calibrate(): hide judgments, make confidence statements, and check how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sounding.calibrate.claims import CLAIMS, WholeTruth, find_claim, situations
from sounding.calibrate.hiding import DEFAULT_SCENARIOS, Scenario, hide, parse_scenario
from sounding.calibrate.result import Calibration, ClaimScore
from sounding.calibrate.sampling import Floats as Labeled
from sounding.calibrate.sampling import labels_by_row
from sounding.core.errors import DataError, expect
from sounding.core.limits import check_count
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress, map_items, processes_for
from sounding.data.labels import read_labels
from sounding.data.run_info import RunInfo, groups_of, listed_rows, reported_runs
from sounding.estimate.estimable import form_of, has_form
from sounding.measures import Measure, parse_measures
from sounding.measures.completions import DRAWS
from sounding.measures.regrading import JUDGED, Regrading, read_regrading
from sounding.measures.summaries import check_comparable
from sounding.runs.pool import Flags, Until, parse_until, pool_of_lists
from sounding.statistics.conclusions import ALPHA
from sounding.statistics.forecasts import (
    RESAMPLES,
    Forecasts,
    Weights,
    reliability,
    run_weights,
    score_forecasts,
)
from sounding.statistics.pairwise import Procedure, check_procedure

DEFAULT_UNTIL = "pool:100"
REPEATS = 3  # of a scenario that chance has a part in
EACH_PAIR_ALONE = Procedure(test="t", correction="none", alpha=ALPHA)
PARTS = ("all", "pooled", "unpooled")  # pairs: all; both runs contributed; one of them did not


def calibrate(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    scenarios: Sequence[str] = DEFAULT_SCENARIOS,
    claims: Sequence[str] | None = None,
    until: str = DEFAULT_UNTIL,
    labels: Any = None,
    judges: Sequence[str] = (),
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    procedure: Procedure = EACH_PAIR_ALONE,
    repeats: int = REPEATS,
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Calibration:
    """Hide judgments, ask what is certain without them, and hold it against all judgments.

    A scenario is a way of hiding (`sounding.calibrate.hiding`); one that chance has a part in is repeated,
    and the pairs of all repeats are scored together. `claims` None: all. `until` says which documents full
    judging means; it is what `holds` is about, and it is given, not read off the judgments. Intervals
    resample runs. What is hidden, drawn and resampled follows the seed of the policies, and a test that draws
    that of the procedure. `only` scores statements about some runs: those that meet conditions on `info`
    (see `compare`); judgments are hidden, and claims made, with all runs. `labels` by machines, as
    `read_labels` takes them with `judges`, are for the claim `estimate`. `progress` counts repeats.
    """
    wanted = parse_measures(measures)
    check_comparable(wanted, policies)
    check_procedure(procedure)
    expect(scenarios, (list, tuple), "scenarios", "a list of texts such as pool:10")
    asked = list({str(text): parse_scenario(text) for text in scenarios}.values())
    names = list(CLAIMS) if claims is None else list(dict.fromkeys(find_claim(name).name for name in claims))
    for name, number, least in (("repeats", repeats, 1), ("draws", draws, 2), ("resamples", resamples, 0)):
        check_count(name, number, least)
    whole = parse_until(until)
    regrading = read_regrading(
        qrels, runs, policies=policies, qrels_format=qrels_format, run_format=run_format, jobs=jobs
    )
    if len(regrading.runs) < 2:
        raise DataError(f"{len(regrading.runs)} run makes no pair; give at least 2")
    machines = [] if labels is None else read_labels(labels, judges=judges)
    if claims is not None and "estimate" in names:
        _need_samples(asked, wanted, regrading)
    pool = pool_of_lists(regrading.retrieved, regrading.grades(), info)
    rows = (
        [None] * len(regrading.runs)
        if info is None
        else listed_rows(regrading.runs, regrading.retrieved.tags, info)
    )
    truth = WholeTruth(regrading)
    for measure in wanted:
        truth.values(measure)  # processes share what is computed before they start
    task = _ScenarioTask(
        regrading, truth, wanted, tuple(names), whole, procedure, pool.contributing,
        groups_of(regrading.runs, rows), draws, labels_by_row(regrading.qrels, machines),
    )  # fmt: skip
    items = [(scenario, number) for scenario in asked for number in range(repeats if scenario.drawn else 1)]
    processes = processes_for(regrading.retrieved.lists.size * draws, len(items), jobs)
    reported = reported_runs(regrading.runs, regrading.retrieved.tags, info, only)
    answers: dict[str, list[tuple[int, list[Forecasts]]]] = {}
    for (scenario, _), (judgments, asked_of) in zip(
        items, map_items(task.forecasts, items, processes=processes, progress=progress), strict=True
    ):
        if reported is not None:
            asked_of = [one.pick(reported[one.first] & reported[one.second]) for one in asked_of]
        answers.setdefault(scenario.name, []).append((judgments, asked_of))
    scores = [
        score for name, own in answers.items() for score in _scores(name, own, resamples, policies.seed)
    ]
    considered = whole.considered(regrading.retrieved, pool.contributing)
    return Calibration(
        runs=regrading.runs, topics=regrading.topics, measures=wanted,
        judgments=int(np.count_nonzero(regrading.full == JUDGED)),
        contributing=int(np.count_nonzero(pool.contributing)), guessed=pool.guessed,
        until=whole, considered=int(np.count_nonzero(considered)),
        never_judged=int(np.count_nonzero(considered & np.isnan(regrading.grades()))), procedure=procedure,
        repeats={name: len(own) for name, own in answers.items()},
        draws=draws, seed=policies.seed, scores=tuple(scores), notes=tuple(pool.notes()),
    )  # fmt: skip


def _need_samples(scenarios: Sequence[Scenario], measures: Sequence[Measure], regrading: Regrading) -> None:
    """Raise an error if nothing can be estimated."""
    if not any(scenario.draw is not None for scenario in scenarios):
        raise DataError(
            "the claim estimate needs judgments drawn with known chances: hide with draw:300 or so"
        )
    if not any(map(has_form, measures)):
        form_of(measures[0], regrading.judgments)  # which says what can be estimated


class _ScenarioTask(NamedTuple):
    """Inputs that all repeats of all scenarios share."""

    regrading: Regrading
    truth: WholeTruth
    measures: tuple[Measure, ...]
    claims: tuple[str, ...]
    until: Until
    procedure: Procedure
    pooled: Flags
    groups: tuple[str, ...]
    draws: int
    labels: Labeled

    def forecasts(self, item: tuple[Scenario, int]) -> tuple[int, list[Forecasts]]:
        """Hide judgments, and ask every claim; give how many judgments are left, and what was said."""
        scenario, repeat = item
        seed = self.regrading.policies.seed
        hidden = hide(
            self.regrading, scenario, pooled=self.pooled, groups=self.groups, until=self.until,
            seed=(seed, repeat), measures=self.measures,
        )  # fmt: skip
        claims = [CLAIMS[name] for name in self.claims]
        draws = self.draws if any(claim.needs_draws for claim in claims) else 0
        seen = situations(
            hidden,
            self.truth,
            self.measures,
            self.until,
            self.procedure,
            draws=draws,
            seed=seed,
            labels=self.labels,
        )
        return hidden.judgments, [
            forecasts for situation in seen for claim in claims for forecasts in claim.ask(situation)
        ]


def _scores(
    scenario: str, answers: Sequence[tuple[int, list[Forecasts]]], resamples: int, seed: int
) -> Iterator[ClaimScore]:
    """Score every claim of a scenario over the pairs of all repeats."""
    budget = float(np.mean([judgments for judgments, _ in answers]))
    grouped: dict[tuple[str, str], list[Forecasts]] = {}
    for _, answer in answers:
        for forecasts in answer:
            grouped.setdefault((forecasts.measure, forecasts.claim), []).append(forecasts)
    weights: dict[bytes, Weights] = {}  # by the runs of the units: most claims are about the same ones
    for (measure, claim), parts in grouped.items():
        whole = Forecasts.joined(parts)
        for part in PARTS:
            chosen = whole if part == "all" else whole.pick(whole.unpooled == (part == "unpooled"))
            if not chosen.units or (part != "all" and chosen.units == whole.units):
                continue  # nothing, or the same as all
            units = chosen.first.tobytes() + chosen.second.tobytes()
            if units not in weights:
                weights[units] = run_weights(chosen, resamples=resamples, seed=seed)
            yield ClaimScore(
                scenario, budget, claim, measure, part, chosen.units,
                score_forecasts(chosen, weights[units]), reliability(chosen, weights[units]),
            )  # fmt: skip
