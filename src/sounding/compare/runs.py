"""compare_runs(): from files to a comparison, with the documents behind it where few pairs are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.align import prepare
from sounding.compare.cases import FIRST_UNJUDGED, assessment_measures
from sounding.compare.comparison import Account, Comparison
from sounding.compare.documents import what_would_settle
from sounding.compare.listings import Listings
from sounding.compare.pairs import Pairs
from sounding.compare.procedure import Procedure, check_procedure
from sounding.compare.requests import check_choices, check_named, check_names, check_request, chosen_pairs
from sounding.compare.scenarios import Pool
from sounding.compare.scores import bounds_of_scores, compared
from sounding.compare.settled import PairBounds, bounds_of_pairs
from sounding.compare.telling import telling_documents
from sounding.data.formats import read_qrels, run_sources
from sounding.data.reading import read_one, readable_again
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.evaluation import evaluate
from sounding.measures import Measure, parse_measures
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.scores import Scores
from sounding.uncertainty import value_bounds
from sounding.workers import Bars, Progress

TOPICS = 5  # whose documents are looked at where one pair is explained
MOST_DOCUMENTS = 100_000_000  # of all runs: more are not held in memory for all pairs
MOST_MEETINGS = 1_000_000_000  # documents of one run looked up in another, over all pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read: formats where they are not recognised, processes, and who hears of progress.

    `progress` hears of the runs; `bars` give somebody to every step of the work.
    """

    qrels_format: str | None = None
    run_format: str | None = None
    jobs: int | None = 1
    progress: Progress | None = None
    bars: Bars | None = None

    def judgments(self, qrels: Any, policies: Policies) -> Qrels:
        """The judgments under the policies for what is repeated or no whole number."""
        return read_qrels(
            qrels, format=self.qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
        )

    def step(self, items: int, label: str) -> AbstractContextManager[Progress | None]:
        """Who hears of one step; None: nobody does."""
        return nullcontext() if self.bars is None else self.bars(items, label)


def compare_runs(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    baselines: str | Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    procedure: Procedure | None = None,
    info: Mapping[str, RunInfo] | None = None,
    policies: Policies = DEFAULT_POLICIES,
    reading: Reading | None = None,
    settled: bool = True,
    scores: Scores | None = None,
    pool: Pool | None = None,
) -> Comparison:
    """Evaluate runs with all that a comparison needs, and compare them.

    Runs, qrels and measures are what `evaluate` takes; `baselines` and `pair` name runs by their names, tags
    or files.
    Bounds are those of the difference: the documents of two runs are set against each other. Where all
    pairs are asked for and documents are very many, they are the runs' own, and a pair that they leave
    open is not known to be. What may be relevant is the same for all runs: whatever one of them
    retrieved, and the N further documents of the universe `+N`. `settled` False: no bounds at all.
    `scores` are those that `scores_to_compare` gave for the same, where they are there already; `pool` is the
    one that the judgments were cut to, where they were.
    """
    chosen = parse_measures(measures)
    check_choices(chosen, policies)
    if policies.universe == "run":
        policies = replace(policies, universe="runs")
    how = Procedure(seed=policies.seed) if procedure is None else procedure
    check_procedure(how)
    baselines = [baselines] if isinstance(baselines, str) else baselines
    check_named(baselines, pair)
    files = Reading() if reading is None else reading
    places = readable_again(runs, policies, files.run_format)
    judgments = files.judgments(qrels, policies)
    if scores is None:
        check_names(pair or baselines, places, files.run_format)
        scores = scores_to_compare(
            judgments, places, chosen, policies=policies, reading=files, bounded=settled
        )
    check_request(scores, chosen)
    pairs = chosen_pairs(scores, chosen, baselines, pair, [place.source for place in places])
    if scores.bounds is None or not settled:
        return compared(scores, chosen, pairs, (None,) * len(chosen), how, info, pool)
    apart = not (baselines or pair) and _too_many(scores, pairs)
    if (
        apart and policies.universe == "runs"
    ):  # the runs' own bounds, which are there already, suppose the same
        return compared(scores, chosen, pairs, _bounds_apart(scores, chosen, pairs), how, info, pool)
    listings = Listings.of(
        [read_one(place, policies, files.run_format) for place in places],
        prepare(judgments, scores.policies),
        scores.policies,
    )
    if apart:
        shared = value_bounds(listings.rankings, listings.outside(), scores.measures, scores.policies)
        bounds = _bounds_apart(replace(scores, bounds=shared), chosen, pairs)
        return compared(scores, chosen, pairs, bounds, how, info, pool)
    bounds = _bounds_of_differences(scores, chosen, pairs, listings, files)
    found = compared(scores, chosen, pairs, bounds, how, info, pool)
    return found if pair is None else replace(found, accounts=tuple(_accounts(found, listings)))


def _bounds_apart(scores: Scores, measures: Sequence[Measure], pairs: Pairs) -> tuple[PairBounds | None, ...]:
    """By every measure, bounds of differences from the bounds of each run."""
    return tuple(bounds_of_scores(scores, measure, pairs) for measure in measures)


def _bounds_of_differences(
    scores: Scores, measures: Sequence[Measure], pairs: Pairs, listings: Listings, reading: Reading
) -> tuple[PairBounds | None, ...]:
    """By every measure that has bounds, those of the differences themselves, document by document."""
    kinds = {} if scores.bounds is None else dict(zip(scores.measures, scores.bounds.kinds, strict=True))
    bounded = [measure for measure in measures if kinds[measure] != "none"]
    with reading.step(len(bounded) * len(pairs), "bounding differences") as progress:
        found = {measure: bounds_of_pairs(measure, listings, pairs, progress=progress) for measure in bounded}
    return tuple(found.get(measure) for measure in measures)


def scores_to_compare(
    qrels: Any,
    runs: Any,
    measures: Sequence[Measure],
    *,
    policies: Policies = DEFAULT_POLICIES,
    reading: Reading | None = None,
    bounded: bool = True,
) -> Scores:
    """The measures and, behind them, all that a comparison of the runs by them needs."""
    files = Reading() if reading is None else reading
    judgments = files.judgments(qrels, policies)
    needed, places = evaluations(measures, policies, bounded=bounded), run_sources(runs)
    with files.step(len(needed) * len(places), "evaluating runs") as progress:
        parts = [
            evaluate(
                judgments, places, wanted, policies=under,
                run_format=files.run_format, jobs=files.jobs, progress=progress or files.progress,
            )
            for under, wanted in needed.items()
        ]  # fmt: skip
    return _joined(parts)


def _too_many(scores: Scores, pairs: Pairs) -> bool:
    """Whether it would take too long, or too much memory, to set the documents of all pairs side by side."""
    documents = int(scores.lengths.sum())
    return documents > MOST_DOCUMENTS or documents / len(scores.runs) * len(pairs) > MOST_MEETINGS


def evaluations(
    measures: Sequence[Measure], policies: Policies, *, bounded: bool = True
) -> dict[Policies, tuple[Measure, ...]]:
    """What to evaluate under which policies: the measures themselves, and what stands beside them.

    One evaluation is enough unless unjudged documents are removed (A_p counts them) or ties averaged
    (the first unjudged rank has no average). Bounds come along where they can be had and are wanted.
    """
    own = policies
    if policies.unjudged == "bounds" and not bounded:
        own = replace(policies, unjudged="nonrelevant")
    if policies.unjudged == "nonrelevant" and policies.ties != "average" and bounded:
        own = replace(policies, unjudged="bounds")
    whole = replace(own, unjudged="nonrelevant") if own.unjudged == "condensed" else own
    ordered = replace(whole, ties="trec") if whole.ties == "average" else whole
    found: dict[Policies, dict[Measure, None]] = {}
    for under, wanted in (
        (own, measures),
        (whole, assessment_measures(measures)),
        (ordered, [FIRST_UNJUDGED]),
    ):
        found.setdefault(under, {}).update(dict.fromkeys(wanted))
    return {under: tuple(wanted) for under, wanted in found.items()}


def _joined(parts: Sequence[Scores]) -> Scores:
    """The measures of several scores of the same runs and topics side by side; bounds only of one alone."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return replace(
        first,
        measures=tuple(measure for part in parts for measure in part.measures),
        values=np.concatenate([part.values for part in parts], axis=1),
        judged=np.concatenate([part.judged for part in parts], axis=1),
        sampling_errors=np.concatenate([part.sampling_errors for part in parts], axis=1),
        judged_by_rank=next((part.judged_by_rank for part in parts if part.judged_by_rank is not None), None),
        bounds=None,
        expected=None,
    )


def _accounts(comparison: Comparison, listings: Listings) -> Iterator[Account]:
    """For one pair, by every measure: what would settle it, and what made the difference."""
    a, b = comparison.pairs[0].tolist()
    for number, measure in enumerate(comparison.measures):
        gaps = np.nan_to_num(comparison.values[a, number] - comparison.values[b, number])
        leading = [
            place for place in np.argsort(-np.abs(gaps), kind="stable")[:TOPICS].tolist() if gaps[place]
        ]
        telling = {
            comparison.topics[place]: telling_documents(
                measure, listings, (a, b), place, ahead=0 if gaps[place] > 0 else 1
            )
            for place in leading
        }
        settling = what_would_settle(measure, listings, (a, b), limit=None)
        yield Account(settling=settling, telling=telling)
