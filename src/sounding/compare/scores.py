"""compare(): from scores to a comparison, all of its pairs tested by every measure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.cases import (
    FIRST_UNJUDGED,
    RETRIEVED,
    assessed_depths,
    assessment_measure,
    assessment_values,
    compared_measures,
    decide,
    values_of,
)
from sounding.compare.claims import PairTests
from sounding.compare.comparison import Comparison, Evenness
from sounding.compare.notes import short_lists, test_notes, topic_notes
from sounding.compare.pairs import Pairs
from sounding.compare.procedure import Procedure, check_procedure
from sounding.compare.registry import find_test
from sounding.compare.requests import check_request, chosen_pairs, without_common_topics
from sounding.compare.scenarios import Pool, find_pool
from sounding.compare.settled import PairBounds, counted_topics, has_closer_bounds, separate_bounds
from sounding.data.run_info import RunInfo
from sounding.errors import DataError, expect
from sounding.measures import Measure, parse_measures
from sounding.scores import Scores, mean_over_topics


def compare(
    scores: Scores,
    *,
    measures: Any = None,
    baselines: str | Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    procedure: Procedure | None = None,
    info: Mapping[str, RunInfo] | None = None,
) -> Comparison:
    """Test all pairs of runs, all against baselines, or one pair; by all measures, or by some.

    Scores need A_p beside every measure: evaluate `with_assessment(measures)`. They tell which pairs are
    settled if they were evaluated with bounds over the universe `runs`; over another, only for measures
    that do not ask how many relevant documents there are. They have no documents: where the runs' own
    bounds do not settle a pair and closer ones might, it is not known whether it is (`compare_runs`).
    """
    expect(scores, Scores, "scores", "what evaluate() gives; compare_runs() takes files and runs")
    if scores.policies.unjudged == "condensed":
        raise DataError(
            "A_p counts unjudged documents, and these scores removed them; compare_runs() keeps both"
        )
    chosen = compared_measures(scores) if measures is None else parse_measures(measures)
    how = Procedure(seed=scores.policies.seed) if procedure is None else procedure
    check_procedure(how)
    check_request(scores, chosen)
    baselines = [baselines] if isinstance(baselines, str) else baselines
    pairs = chosen_pairs(scores, chosen, baselines, pair)
    bounds = tuple(
        bounds_of_scores(scores, measure, pairs) if _same_universe(scores, measure) else None
        for measure in chosen
    )
    return compared(scores, chosen, pairs, bounds, how, info)


def compared(
    scores: Scores,
    measures: tuple[Measure, ...],
    pairs: Pairs,
    bounds: tuple[PairBounds | None, ...],
    procedure: Procedure,
    info: Mapping[str, RunInfo] | None,
    pool: Pool | None = None,
) -> Comparison:
    """Test the pairs by every measure, and put down what belongs to them; the request was checked.

    `pool` is the one behind the judgments, where it is known; otherwise it is found from the scores.
    Measures by which no pair can be tested are left out, with a note, unless that is all of them.
    """
    apart = without_common_topics(scores, pairs)
    if apart.all():
        raise DataError(_apart(scores, pairs))
    attempts = {
        measure: _tested(values_of(scores, measure), measure, pairs, procedure, apart) for measure in measures
    }
    problems = [one for one in attempts.values() if isinstance(one, str)]
    if len(problems) == len(attempts):
        raise DataError(problems[0])
    tests = {measure: one for measure, one in attempts.items() if not isinstance(one, str)}
    kept, performance = tuple(tests), tuple(tests.values())
    bounds_of = dict(zip(measures, bounds, strict=True))
    depths, assessed = zip(*(assessment_values(scores, measure) for measure in kept), strict=True)
    shares_at = dict(zip(depths, assessed, strict=True))  # depth -> (run, topic)
    tests_at = {depth: procedure.apply(shares, pairs, apart=apart) for depth, shares in shares_at.items()}
    assessment = tuple(tests_at[depth] for depth in depths)
    evenness = [_evenness(depth, shares, tests_at[depth]) for depth, shares in shares_at.items()]
    evenness += _shallower(scores, pairs, procedure, shares_at)
    decided = list(zip(performance, assessment, strict=True))
    values = np.stack([values_of(scores, measure) for measure in kept], axis=1)
    retrieved = values_of(scores, RETRIEVED)
    pool = _pool(scores, info) if pool is None else pool
    return Comparison(
        runs=scores.runs, measures=kept, topics=scores.topics, depths=depths,
        values=values, assessment=np.stack(assessed, axis=1), pairs=pairs,
        performance_tests=performance, assessment_tests=assessment,
        cases=np.array([decide(*both) for both in decided]),
        own_cases=np.array([decide(*both, alone=True) for both in decided]),
        bounds=tuple(_of_common_topics(bounds_of[measure], apart) for measure in kept), accounts=(),
        evenness=tuple(sorted(evenness, key=lambda one: one.depth)),
        lengths=_lengths(scores), retrieved=retrieved, pool=pool,
        notes=(
            *topic_notes(scores, values),
            *short_lists(np.nanmax(retrieved, axis=1, initial=0.0), kept),
            *test_notes(performance),
            *(f"Left out: {problem}." for problem in problems),
            *([] if pool is None else pool.notes()),
        ),
        left_out=tuple(problems), procedure=procedure, policies=scores.policies,
    )  # fmt: skip


def _apart(scores: Scores, pairs: Pairs) -> str:
    """That no two of the runs have a topic in common, with the topics of the first pair."""
    a, b = pairs[0].tolist()
    has = np.count_nonzero(~scores.missing, axis=1).tolist()
    others = f" (and {len(pairs) - 1:,} more pairs alike)" if len(pairs) > 1 else ""
    return (
        f"{scores.runs[a]} has {has[a]} of the {len(scores.topics)} judged topics, {scores.runs[b]} {has[b]},"
        f" and none in common{others}; expected runs for the same topics"
    )


def _of_common_topics(bounds: PairBounds | None, apart: NDArray[np.bool_]) -> PairBounds | None:
    """The bounds, not known for pairs without common topics."""
    if bounds is None or not apart.any():
        return bounds
    lower, upper = (np.where(apart, np.nan, side) for side in (bounds.lower, bounds.upper))
    return replace(
        bounds, lower=lower, upper=upper, settled=bounds.settled & ~apart, equal=bounds.equal & ~apart
    )


def _evenness(depth: int, table: NDArray[np.float64], tests: PairTests) -> Evenness:
    alike = tests.could_differ(alone=True) & ~(tests.significant_alone | tests.constant)
    return Evenness(depth=depth, shares=mean_over_topics(table), even=tests.equal | alike)


def _shallower(
    scores: Scores, pairs: Pairs, procedure: Procedure, known: Collection[int]
) -> Iterator[Evenness]:
    """Assessment at depths above the deepest that is compared, where it is not known yet.

    Tests that draw would take long for so many: there the paired t test stands in.
    """
    drawn = find_test(procedure.test).draws
    quick = replace(procedure, test="t", correction=None, permutations=None) if drawn else procedure
    for depth in assessed_depths(scores):
        if depth not in known and depth < max(known):
            table = values_of(scores, assessment_measure(depth))
            yield _evenness(
                depth, table, quick.apply(table, pairs, apart=without_common_topics(scores, pairs))
            )


def _tested(
    values: NDArray[np.float64],
    measure: Measure,
    pairs: Pairs,
    procedure: Procedure,
    apart: NDArray[np.bool_],
) -> PairTests | str:
    """The test of performance; a sentence where no pair has enough topics for it."""
    try:
        return procedure.apply(values, pairs, procedure.margin, apart)
    except DataError as problem:
        return f"{measure}: {problem}"


def _same_universe(scores: Scores, measure: Measure) -> bool:
    """Whether bounds suppose the same documents for all runs, or do not depend on those not retrieved."""
    return scores.policies.universe == "runs" or measure.definition.basis == "utility"


def bounds_of_scores(scores: Scores, measure: Measure, pairs: Pairs) -> PairBounds | None:
    """Bounds of differences from the bounds of each run by itself; None where the scores have none."""
    number = scores.measures.index(measure)
    if scores.bounds is None or scores.bounds.kinds[number] == "none":
        return None
    counted = counted_topics(scores.missing, pairs, scores.policies)
    low, high = scores.bounds.lower[:, number], scores.bounds.upper[:, number]
    found = separate_bounds(measure, low, high, pairs, counted)
    return replace(found, closest=not has_closer_bounds(measure))


def _lengths(scores: Scores) -> NDArray[np.float64]:
    """(run,): the mean length of a run's lists, over the topics that it has; 0: none."""
    retrieved = values_of(scores, RETRIEVED)
    having = np.count_nonzero(retrieved > 0, axis=1)
    return np.nansum(retrieved, axis=1) / np.maximum(having, 1)


def _pool(scores: Scores, info: Mapping[str, RunInfo] | None) -> Pool | None:
    if FIRST_UNJUDGED not in scores.measures or scores.judged_by_rank is None:
        return None
    names = list(zip(scores.runs, scores.tags, strict=True))
    lengths = np.nan_to_num(values_of(scores, RETRIEVED))
    return find_pool(values_of(scores, FIRST_UNJUDGED), scores.judged_by_rank, lengths, names, info)
