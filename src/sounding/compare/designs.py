"""design_runs(): from files to what the topics at hand can show. Nothing is tested or bounded for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.compare.comparison import values_of
from sounding.compare.requests import check_names, check_request, chosen_pairs
from sounding.compare.sentences import power_of_t, short_lists, topic_notes
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Bars
from sounding.data.formats import run_sources
from sounding.data.reading import Reading
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.measures.registry import needs_intents
from sounding.measures.summaries import check_comparable
from sounding.runs.pairs import Pairs, lead_over_nobody
from sounding.statistics.pairwise import Procedure
from sounding.statistics.pairwise import check_choices as checked_correction
from sounding.statistics.power import Design, design

ONE_BY_ONE = ("none", "bh")  # corrections under which a pair may be significant at alpha itself


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Designs:
    """Power and error rates that the available topics allow, for some pairs of runs by some measures."""

    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    pairs: Pairs
    designs: tuple[Design, ...]  # (measure,)
    correction: str  # which decides whether the pairs share alpha
    notes: tuple[str, ...]  # warnings for readers
    procedure: Procedure
    policies: Policies

    def names(self, pair: int) -> tuple[str, str]:
        """run_a and run_b of a pair."""
        a, b = self.pairs[pair].tolist()
        return self.runs[a], self.runs[b]

    def by_measure(self) -> Iterator[tuple[Measure, Design]]:
        """Return the design of every measure."""
        return zip(self.measures, self.designs, strict=True)


def design_runs(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    baselines: Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    procedure: Procedure | None = None,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    bars: Bars | None = None,
) -> Designs:
    """Evaluate runs, and ask of the pairs that would be compared how large the experiment must be.

    All pairs share alpha, as by Bonferroni, unless the correction is none or bh.
    """
    chosen = parse_measures(measures)
    check_comparable(chosen, policies)
    how = Procedure(seed=policies.seed) if procedure is None else procedure
    files = Reading(qrels_format=qrels_format, run_format=run_format, jobs=jobs, bars=bars)
    values_only = replace(policies, unjudged="nonrelevant") if policies.unjudged == "bounds" else policies
    places = run_sources(runs)
    check_names(pair or baselines, places, files.run_format)
    judgments = files.judgments(qrels, policies, intents=needs_intents(chosen))
    with files.step(len(places), "evaluating runs") as progress:
        scores = evaluate(
            judgments, places, chosen, policies=values_only,
            run_format=files.run_format, jobs=files.jobs, progress=progress,
        )  # fmt: skip
    check_request(scores, chosen)
    pairs = chosen_pairs(scores, chosen, baselines, pair, [place.source for place in places])
    correction = checked_correction(how.test, how.correction, how.alpha, None, None)
    comparisons = 1 if correction in ONE_BY_ONE else len(pairs)
    found = [_designed(scores, measure, pairs, how, comparisons) for measure in chosen]
    values = np.stack([values_of(scores, measure) for measure in chosen], axis=1)
    notes = [*topic_notes(scores, values), *short_lists(scores.lengths.max(axis=1, initial=0), chosen)]
    if how.test != "t":
        notes.append(power_of_t(how.test))
    return Designs(
        runs=scores.runs, measures=chosen, topics=scores.topics, pairs=pairs, designs=tuple(found),
        correction=correction, notes=tuple(notes), procedure=how, policies=policies,
    )  # fmt: skip


def _designed(
    scores: Scores, measure: Measure, pairs: Pairs, procedure: Procedure, comparisons: int
) -> Design:
    """Return which differences these topics can detect by one measure, if the comparisons share alpha."""
    values, tested, preferences = values_of(scores, measure), pairs, scores.preferences(measure, pairs)
    if preferences is not None:
        values, tested = lead_over_nobody(preferences)
    try:
        found = design(
            values, tested, alpha=procedure.alpha, comparisons=comparisons,
            rng=np.random.default_rng(procedure.seed),
        )  # fmt: skip
        low, high = measure.definition.bounds
        most = high if measure.definition.pairwise else high - low
        detectable = np.where(found.power.detectable > most, np.inf, found.power.detectable)
        return replace(found, power=replace(found.power, pairs=pairs, detectable=detectable))
    except DataError as problem:
        raise DataError(f"{measure}: {problem}") from problem
