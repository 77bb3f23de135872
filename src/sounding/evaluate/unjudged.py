"""Expected values of all runs over their unjudged documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sounding.core.errors import DataError
from sounding.core.policies import Moments, Policies
from sounding.core.workers import map_items
from sounding.data.tables import Qrels, Run
from sounding.evaluate.bounded import table_of
from sounding.evaluate.result import ExpectedValues
from sounding.measures import Measure
from sounding.measures.completions import basis_of, draw_completions
from sounding.measures.expected import Expected, as_judged, expected, is_drawn, is_known, level_of
from sounding.measures.expected.ratio import is_ratio
from sounding.measures.regrading import regrade
from sounding.measures.summaries import summaries
from sounding.relevance.priors import DEFAULT, chances, parse_prior
from sounding.runs.align import Judged
from sounding.runs.pool import parse_until
from sounding.runs.ranking import Counts, Ranking
from sounding.runs.retrieved import read_retrieved

MOST_DRAWN = 10_000  # documents of one topic that can be drawn in each completion


def _is_text(measure: Measure) -> bool:
    return measure.definition.aggregate == "text"


def _method(measure: Measure, policies: Policies) -> Moments:
    """Return how to compute a measure's moments; only ratios, such as AP, need approximations."""
    approximate = policies.moments in ("ratio", "paper")
    return "best" if approximate and not is_ratio(measure) else policies.moments


def _refuse_too_many(measure: Measure, policies: Policies) -> None:
    """More documents than can be drawn for every topic."""
    if policies.universe.startswith("+") and int(policies.universe) > MOST_DRAWN:
        raise DataError(
            f"{measure}: its expected value is drawn, for which universe {policies.universe} is too large;"
            f" expected at most +{MOST_DRAWN:,}, or measures with an exact form, such as AP"
        )


def expected_values(
    read: Callable[[int], Run],
    rankings: Sequence[Ranking],
    outside: Sequence[Counts],
    judged: Judged,
    measures: Sequence[Measure],
    policies: Policies,
    processes: int = 1,
) -> ExpectedValues:
    """Mean and deviation of every value under the prior; `read(n)` gives run n once more.

    Draws depend on the seed, the run's place and the measure's place, not on the number of processes.
    """
    prior = parse_prior(policies.prior)
    uncertain = [measure for measure in measures if not (_is_text(measure) or is_known(measure))]
    for measure in uncertain:
        if is_drawn(measure, _method(measure, policies)):
            _refuse_too_many(measure, policies)
    levels = {level_of(measure) for measure in uncertain}
    likelihoods = {level: prior.fitted(judged, rankings, level) for level in levels}

    def work(number: int) -> list[Expected | None]:
        run = read(number)
        ranking = rankings[number]
        fitted = {
            level: chances(run, ranking, likelihood, outside=outside[number], policies=policies)
            for level, likelihood in likelihoods.items()
        }

        def one(place: int, measure: Measure) -> Expected | None:
            if _is_text(measure):
                return None
            if is_known(measure):
                return as_judged(measure, ranking)
            return expected(
                measure, fitted[level_of(measure)], ranking, draws=policies.draws,
                rng=np.random.default_rng([policies.seed, number, place]), method=_method(measure, policies),
            )  # fmt: skip

        return [one(place, measure) for place, measure in enumerate(measures)]

    found = map_items(work, range(len(rankings)), processes=processes)
    mean, deviation, error = (
        table_of(found, name, rankings, policies) for name in ("mean", "deviation", "error")
    )
    return ExpectedValues(
        mean=mean,
        deviation=deviation,
        error=error,
        methods=tuple("none" if one is None else one.method for one in found[0]),
    )


MODEL = DEFAULT  # the prior that learns from all runs at once
FULL_JUDGING = "runs:100"  # the documents that may be relevant under the model of the runs
MOST_DRAWS = 200  # of complete judgments; each serves all runs


def modeled_values(
    qrels: Qrels, runs: Sequence[Run], measures: Sequence[Measure], policies: Policies, processes: int = 1
) -> ExpectedValues:
    """Mean and deviation of every value under the model of all runs, from draws of complete judgments.

    Errors about a run are common to its topics, so the deviation over topics comes from the draws as well.
    """
    plain = replace(policies, unjudged="nonrelevant")
    lists = read_retrieved(runs, topics=qrels.topics, judged=True, policies=plain)
    regrading = regrade(qrels, lists, plain)
    view, everyone = regrading.view(), np.ones(len(regrading.runs), np.bool_)
    considered = parse_until(FULL_JUDGING).considered(regrading.retrieved, everyone)
    if reason := basis_of(regrading, view, considered).shortfall(values=True):
        raise DataError(f"prior runs: {reason}; use --prior rate, or a number")
    uncertain = [m for m in measures if not (_is_text(m) or is_known(m))]
    draws = min(policies.draws, MOST_DRAWS)
    completions = draw_completions(regrading, view, considered, draws=draws, seed=policies.seed, unseen=False)
    drawn = completions.values(uncertain, processes=processes)
    shape = (len(regrading.runs), len(measures), len(regrading.topics))
    mean, deviation = np.full(shape, np.nan), np.zeros(shape)
    overall = np.zeros(shape[:2])
    for number, measure in enumerate(measures):
        if measure in uncertain:
            own = drawn[:, uncertain.index(measure)]
            mean[:, number], deviation[:, number] = own.mean(axis=1), own.std(axis=1, ddof=1)
            overall[:, number] = summaries(own, [measure] * own.shape[1]).std(axis=1, ddof=1)
        elif is_known(measure):
            mean[:, number] = regrading.values([measure], view)[:, 0]
    root = np.sqrt(draws)
    return ExpectedValues(
        mean=mean, deviation=deviation, error=deviation / root, overall=(overall, overall / root),
        methods=tuple(_word(measure, uncertain) for measure in measures),
    )  # fmt: skip


def _word(measure: Measure, uncertain: Sequence[Measure]) -> str:
    return "model" if measure in uncertain else "none" if _is_text(measure) else "known"
