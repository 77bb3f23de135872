"""compare(): from judgments and runs to what can be said of every pair; each run is read once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.compare.documents import telling_documents, what_would_settle
from sounding.compare.holds import DEFAULT_UNTIL, Holds, holding, pooled_runs
from sounding.compare.requests import (
    check_named,
    check_names,
    check_request,
    chosen_pairs,
    find_run,
    without_common_topics,
)
from sounding.compare.result import Account, Comparison, Evenness
from sounding.compare.sentences import DIRECT_PREFERENCES, short_lists, test_notes, topic_notes
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, expect
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import sentence
from sounding.core.workers import Bars, processes_for
from sounding.data.formats import Place, run_sources
from sounding.data.reading import Reading, hold_runs, is_too_large, processes_to_read
from sounding.data.run_info import RunInfo, reported_runs
from sounding.data.sources import bytes_to_read
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.measures.assessed import (
    DEFAULT_ASSESSMENT,
    FIRST_UNJUDGED,
    JUDGED,
    RETRIEVED,
    assessment_depth,
    assessment_measure,
    assessment_measures,
    chosen_assessment,
)
from sounding.measures.bounds.order import (
    PairBounds,
    counted_topics,
    has_bounds,
    has_closer_bounds,
    own_bounds,
    pair_bounds,
    separate_bounds,
)
from sounding.measures.completions import DRAWS
from sounding.measures.listings import Listings
from sounding.measures.paired import pairwise
from sounding.measures.registry import needs_intents
from sounding.measures.regrading import Regrading, regrade
from sounding.measures.summaries import check_comparable, mean_over_topics, needs_pool_ranks
from sounding.runs.align import hold_judgments, hold_order
from sounding.runs.pairs import Pairs
from sounding.runs.pool import (
    JudgedDepths,
    Pool,
    Until,
    cut_to_depth,
    find_pool,
    judgments_at_depth,
    parse_until,
    pool_of_lists,
    with_pool_ranks,
)
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.statistics.cases import decide
from sounding.statistics.pairwise import PairTests, Procedure, check_procedure, find_test

DEFAULT_MEASURES = ("AP", "P@10")
TOPICS = 5  # whose documents are looked at where one pair is explained
MOST_DOCUMENTS = 100_000_000  # of all runs: more are not set against each other for all pairs
MOST_MEETINGS = 1_000_000_000  # documents of one run looked up in another, over all pairs


def compare(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    baselines: str | Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    focus: str | None = None,
    against: Sequence[str] = (),
    only: str | Sequence[str] = (),
    procedure: Procedure | None = None,
    assessment: str = DEFAULT_ASSESSMENT,
    settled: bool = True,
    until: str | None = None,
    pool_depth: int | None = None,
    info: Mapping[str, RunInfo] | None = None,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    bars: Bars | None = None,
    scores: Scores | None = None,
    pool: Pool | None = None,
    retrieved: Retrieved | None = None,
) -> Comparison:
    """Compare runs by their values: all pairs, runs with baselines, one run with others, or one pair.

    Runs, qrels and measures are what `evaluate` takes; `baselines`, `pair`, `focus` and `against` name runs
    by their names, tags or files. With `focus` only the pairs of that run are compared: with the runs
    `against`, or with all others. `only` compares only runs that meet conditions on `info`: `pooled`,
    `unpooled`, `group=NAME`, `kind=NAME`; the pool, and what may be relevant, stay those of all runs. The
    `procedure` says how differences are tested, and `assessment` by which measure assessment is tested beside
    performance: `A_p` (at the depth of each measure), `A_p@500`, `A_r`, `AA@100`, `MAA`, or `twin` (each
    measure with judged documents in place of relevant ones).

    `settled` asks which orders no judgment can reverse. Bounds are those of the difference: the documents of
    two runs are set against each other. Where all pairs are asked for and documents are very many, they are
    the runs' own, and a pair that they leave open is not known to be. What may be relevant is the same for
    all runs: whatever one of them retrieved, and the N further documents of the universe `+N`.

    `until` asks for the chance that each conclusion is what full judging would give, and says what that
    means: `runs:100` or `pool:100`, as for `holds` (with `focus` it is asked for anyway). With
    `pool_depth` only those judgments count that a pool of this depth would have had; `info` lists the
    runs that were pooled. `bars` show the progress of each step. `scores` are what `scores_to_compare`
    gave for the same runs, `pool` is the one that the judgments were cut to, and `retrieved` are the
    runs' lists for the judged topics, where these are there already.
    """
    chosen = parse_measures(measures)
    check_comparable(chosen, policies)
    for measure in chosen:
        chosen_assessment(measure, assessment)
    how = Procedure(seed=policies.seed) if procedure is None else procedure
    check_procedure(how)
    baselines = [baselines] if isinstance(baselines, str) else baselines
    check_named(baselines, pair)
    wanted = None if until is None else parse_until(until, files=True)
    whole = replace(policies, universe="runs") if policies.universe == "run" else policies
    bounded = settled and has_pair_bounds(policies)
    reading = Reading(qrels_format=qrels_format, run_format=run_format, jobs=jobs, bars=bars)
    places = run_sources(runs)
    judgments = reading.judgments(qrels, policies, intents=needs_intents(chosen))
    hold_judgments(judgments)
    if scores is None:
        check_names([*(pair or baselines), *([focus] if focus else []), *against], places, run_format)
    ranked = info is not None and judgments.pool_ranks is None and needs_pool_ranks(chosen)
    more = (
        bounded or until is not None or focus is not None or pool_depth is not None or ranked
    ) and retrieved is None
    passes = len(evaluations(chosen, whole, assessment=assessment)) + more
    sources = _Sources(places, whole, reading, again=passes > 1, retrieved=retrieved)
    notes: list[str] = []
    if pool_depth is not None:
        judgments, cut, pool = sources.cut(judgments, pool_depth, info, policies)
        notes.append(sentence(cut))
    elif ranked:
        judgments = with_pool_ranks(judgments, sources.retrieved(judgments), info, policies)
        hold_judgments(judgments)
    if scores is None:
        scores = scores_to_compare(
            judgments, sources.places, chosen, policies=whole, reading=sources.reading,
            bounded=bounded and sources.large, assessment=assessment,
        )  # fmt: skip
    check_request(scores, chosen)
    files = [place.source for place in places]
    if pool is None:
        pool = _pool(scores, info)
    named = [find_run(scores, name, files) for name in (*baselines, *([focus] if focus else []), *against)]
    reported = reported_runs(scores.runs, scores.tags, info, only, named)
    places_of = np.arange(len(scores.runs))  # of the runs compared, among all
    if reported is not None:
        if pair is not None:
            raise DataError("a pair and conditions on runs do not go together: give one of pair and only")
        places_of = reported.nonzero()[0]
        scores, files = scores.of_runs(places_of.tolist()), [files[place] for place in places_of]
        pool = None if pool is None else pool.of_runs(reported)
        check_request(scores, chosen)
    pairs = chosen_pairs(scores, chosen, baselines, pair, files, focus=focus, against=against)
    apart = not (baselines or pair or focus) and _too_many(scores, pairs)
    listings: Listings | None = None
    bounds: tuple[PairBounds | None, ...] = (None,) * len(chosen)
    if bounded and apart and scores.bounds is not None and whole.universe == "runs":
        # The runs' own bounds, which are there already, suppose the same.
        bounds = tuple(bounds_of_scores(scores, measure, pairs) for measure in chosen)
    elif bounded:
        regrading, among = sources.regrading(judgments), places_of[pairs]
        listings = Listings.of(regrading, pair=None if pair is None else (int(among[0, 0]), int(among[0, 1])))
        among = among if pair is None else np.array([[0, 1]])
        bounds = _bounds_of_pairs(chosen, among, listings, reading, apart=apart)
    found = _compared(scores, chosen, pairs, bounds, how, pool, assessment)
    found = replace(found, policies=policies, notes=(*notes, *found.notes))
    if pair is not None and listings is not None:
        found = replace(found, accounts=tuple(_accounts(found, listings)))
    if wanted is None and focus is None:
        return found
    try:
        until_then = parse_until(DEFAULT_UNTIL) if wanted is None else wanted
        held = sources.holds(judgments, found, places_of[pairs], until_then, info)
    except DataError:
        if wanted is not None:
            raise
        return found  # the chances were not asked for by name, and nobody can state them
    return replace(found, holds=held) if wanted is not None or held.open_documents else found


class _Sources:
    """The runs of a comparison, and what they retrieved; no file that memory can hold is read twice."""

    def __init__(
        self,
        places: Sequence[Place],
        policies: Policies,
        reading: Reading,
        *,
        again: bool,
        retrieved: Retrieved | None,
    ) -> None:
        """`again`: the runs are looked at more than once."""
        self.policies = policies
        self.large = is_too_large(places)
        size = bytes_to_read(place.source for place in places)
        self.reading = replace(reading, jobs=processes_to_read(places, size, reading.jobs))
        self.places = list(places)
        if again:
            with reading.step(len(places), "reading runs") as progress:
                self.places = hold_runs(places, policies, reading.run_format, progress)
            for place in self.places:
                if isinstance(place.source, Run):
                    hold_order(place.source, policies)
        self._retrieved = retrieved
        self._regrading: Regrading | None = None

    def retrieved(self, judgments: Qrels) -> Retrieved:
        """Return what the runs have for the judged topics."""
        if self._retrieved is None:
            with self.reading.step(len(self.places), "listing documents") as progress:
                self._retrieved = read_retrieved(
                    self.places, topics=judgments.topics, policies=self.policies,
                    run_format=self.reading.run_format, jobs=self.reading.jobs, progress=progress,
                )  # fmt: skip
        return self._retrieved

    def regrading(self, judgments: Qrels) -> Regrading:
        """Return the runs under these judgments, by their values alone."""
        if self._regrading is None:
            values_only = self.policies
            if values_only.unjudged == "bounds":  # columns beside a value do not change it
                values_only = replace(values_only, unjudged="nonrelevant")
            self._regrading = regrade(judgments, self.retrieved(judgments), values_only)
        return self._regrading

    def cut(
        self, judgments: Qrels, depth: int, info: Mapping[str, RunInfo] | None, policies: Policies
    ) -> tuple[Qrels, str, Pool | None]:
        """Return the judgments of a pool of this depth, a sentence that says so, and that pool."""
        if judgments.pool_ranks is not None:  # then the runs are not asked
            return judgments_at_depth(judgments, self.places, depth)
        retrieved = self.retrieved(judgments)
        pool = pool_of_lists(retrieved, retrieved.grades(judgments, policies), info)
        return cut_to_depth(judgments, depth, retrieved, pool, info=info, policies=policies)

    def holds(
        self,
        judgments: Qrels,
        found: Comparison,
        pairs: Pairs,
        until: Until,
        info: Mapping[str, RunInfo] | None,
    ) -> Holds:
        """Return the chances that the conclusions of a comparison hold; `pairs` are places among all runs."""
        regrading = self.regrading(judgments)
        considered = until.considered(regrading.retrieved, pooled_runs(regrading, info))
        runs = len(regrading.runs)
        processes = processes_for(regrading.retrieved.lists.size * DRAWS, runs, self.reading.jobs)
        with self.reading.step(runs, "drawing judgments") as progress:
            return holding(
                regrading, found.measures, considered, until, pairs=pairs, alpha=found.alpha,
                seed=self.policies.seed, processes=processes, progress=progress,
                shallow=str(until) == DEFAULT_UNTIL,
            )  # fmt: skip


def has_pair_bounds(policies: Policies) -> bool:
    """Return whether bounds of differences exist: ties not averaged, unjudged documents kept."""
    return policies.unjudged != "condensed" and policies.ties != "average"


def _bounds_of_pairs(
    measures: Sequence[Measure], pairs: Pairs, listings: Listings, reading: Reading, *, apart: bool
) -> tuple[PairBounds | None, ...]:
    """Return the bounds of the differences by every measure that has them, document by document.

    `apart`: from the bounds of each run, where documents are too many for that.
    """
    bounded = [measure for measure in measures if has_bounds(measure, listings)]
    missing = np.array([ranking.missing for ranking in listings.rankings])
    counted = counted_topics(missing, pairs, listings.policies)
    found = {}
    with reading.step(len(bounded) * len(pairs), "bounding differences") as progress:
        for measure in bounded:
            if apart:
                separate = separate_bounds(measure, *own_bounds(measure, listings), pairs, counted)
                found[measure] = replace(separate, closest=not has_closer_bounds(measure))
            else:
                found[measure] = pair_bounds(measure, listings, pairs, progress=progress)
    return tuple(found.get(measure) for measure in measures)


def compare_scores(
    scores: Scores,
    *,
    measures: Any = None,
    baselines: str | Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    procedure: Procedure | None = None,
    assessment: str = DEFAULT_ASSESSMENT,
    info: Mapping[str, RunInfo] | None = None,
) -> Comparison:
    """Compare runs by scores that are there already; by all of their measures, or by some.

    Scores need A_p, and the `assessment` chosen, beside every measure: evaluate
    `with_assessment(measures, assessment)`. They tell which pairs are
    settled if they were evaluated with bounds over the universe `runs`; over another, only for measures
    that do not ask how many relevant documents there are. They have no documents: where the runs' own
    bounds do not settle a pair and closer ones might, it is not known whether it is (see `compare`).
    """
    expect(scores, Scores, "scores", "what evaluate() gives; compare() takes files and runs")
    if scores.policies.unjudged == "condensed":
        raise DataError("A_p counts unjudged documents, and these scores removed them; compare() keeps both")
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
    return _compared(scores, chosen, pairs, bounds, how, _pool(scores, info), assessment)


def _compared(
    scores: Scores,
    measures: tuple[Measure, ...],
    pairs: Pairs,
    bounds: tuple[PairBounds | None, ...],
    procedure: Procedure,
    pool: Pool | None,
    assessment: str = DEFAULT_ASSESSMENT,
) -> Comparison:
    """Test the pairs by every measure, and put down what belongs to them; the request was checked.

    `pool` is the one behind the judgments; None: not known.
    Measures by which no pair can be tested are left out, with a note, unless that is all of them.
    """
    apart = without_common_topics(scores, pairs)
    if apart.all():
        raise DataError(_apart(scores, pairs))
    attempts = {measure: _tested(scores, measure, pairs, procedure, apart) for measure in measures}
    problems = [one for one in attempts.values() if isinstance(one, str)]
    if len(problems) == len(attempts):
        raise DataError(problems[0])
    tests = {measure: one for measure, one in attempts.items() if not isinstance(one, str)}
    kept, performance = tuple(tests), tuple(tests.values())
    bounds_of = dict(zip(measures, bounds, strict=True))
    depths, assessed = zip(*(assessment_values(scores, measure) for measure in kept), strict=True)
    shares_at = dict(zip(depths, assessed, strict=True))  # depth -> (run, topic)
    tests_at = {depth: procedure.apply(shares, pairs, apart=apart) for depth, shares in shares_at.items()}
    own = [chosen_assessment(measure, assessment) for measure in kept]
    assessed_tests = tuple(
        tests_at[depth]
        if one is None
        else procedure.apply(
            values_of(scores, one), pairs, apart=apart, preferences=scores.preferences(one, pairs)
        )
        for depth, one in zip(depths, own, strict=True)
    )
    assessed_by = tuple(
        str(assessment_measure(depth) if one is None else one) for depth, one in zip(depths, own, strict=True)
    )
    evenness = [_evenness(depth, shares, tests_at[depth]) for depth, shares in shares_at.items()]
    evenness += _shallower(scores, pairs, procedure, shares_at)
    decided, even = list(zip(performance, assessed_tests, strict=True)), scores.only_relevant
    values = np.stack([values_of(scores, measure) for measure in kept], axis=1)
    retrieved = values_of(scores, RETRIEVED)
    return Comparison(
        runs=scores.runs, measures=kept, topics=scores.topics, depths=depths,
        values=values, assessment=np.stack(assessed, axis=1), pairs=pairs,
        performance_tests=performance, assessment_tests=assessed_tests, assessed_by=assessed_by,
        cases=np.array([decide(*both, even=even) for both in decided]),
        own_cases=np.array([decide(*both, alone=True, even=even) for both in decided]),
        only_relevant=even,
        bounds=tuple(_of_common_topics(bounds_of[measure], apart) for measure in kept), accounts=(),
        evenness=tuple(sorted(evenness, key=lambda one: one.depth)),
        lengths=_lengths(scores), retrieved=retrieved, pool=pool,
        notes=(
            *([DIRECT_PREFERENCES.format(", ".join(map(str, pairwise(kept))))] if pairwise(kept) else []),
            *topic_notes(scores, values),
            *short_lists(np.nanmax(retrieved, axis=1, initial=0.0), kept),
            *test_notes(performance),
            *(f"Left out: {problem}." for problem in problems),
            *([] if pool is None else pool.notes()),
        ),
        preferences={
            measure: found for measure in kept if (found := scores.preferences(measure, pairs)) is not None
        },
        left_out=tuple(problems), procedure=procedure, policies=scores.policies,
    )  # fmt: skip


def _apart(scores: Scores, pairs: Pairs) -> str:
    """Describe, with the first pair as example, that no two of the runs share a topic."""
    a, b = pairs[0].tolist()
    has = np.count_nonzero(~scores.missing, axis=1).tolist()
    others = f" (and {len(pairs) - 1:,} more pairs alike)" if len(pairs) > 1 else ""
    return (
        f"{scores.runs[a]} has {has[a]} of the {len(scores.topics)} judged topics, {scores.runs[b]} {has[b]},"
        f" and none in common{others}; expected runs for the same topics"
    )


def _of_common_topics(bounds: PairBounds | None, apart: NDArray[np.bool_]) -> PairBounds | None:
    """The bounds, not known for pairs without common topics."""
    return None if bounds is None else bounds.without(apart)


def _evenness(depth: int, table: NDArray[np.float64], tests: PairTests) -> Evenness:
    alike = tests.could_differ(alone=True) & ~(tests.significant_alone | tests.constant)
    return Evenness(depth=depth, shares=mean_over_topics(table), even=tests.equal | alike)


def _shallower(
    scores: Scores, pairs: Pairs, procedure: Procedure, known: Collection[int]
) -> Iterator[Evenness]:
    """Assessment at depths above the deepest that is compared, where it is not known yet.

    Tests that draw would take long for this many pairs, so the paired t test replaces them.
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
    scores: Scores,
    measure: Measure,
    pairs: Pairs,
    procedure: Procedure,
    apart: NDArray[np.bool_],
) -> PairTests | str:
    """The test of performance; a sentence where no pair has enough topics for it."""
    try:
        preferences = scores.preferences(measure, pairs)
        return procedure.apply(values_of(scores, measure), pairs, procedure.margin, apart, preferences)
    except DataError as problem:
        return f"{measure}: {problem}"


def _same_universe(scores: Scores, measure: Measure) -> bool:
    """Return whether bounds assume the same documents for all runs, or need no documents not retrieved."""
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
    first, lengths = values_of(scores, FIRST_UNJUDGED), np.nan_to_num(values_of(scores, RETRIEVED))
    return find_pool(JudgedDepths(scores.runs, scores.tags, first, scores.judged_by_rank, lengths), info)


def scores_to_compare(
    qrels: Any,
    runs: Any,
    measures: Sequence[Measure],
    *,
    policies: Policies = DEFAULT_POLICIES,
    reading: Reading | None = None,
    bounded: bool = True,
    assessment: str = DEFAULT_ASSESSMENT,
) -> Scores:
    """The measures and, behind them, all that a comparison of the runs by them needs."""
    files = Reading() if reading is None else reading
    judgments = files.judgments(qrels, policies, intents=needs_intents(measures))
    needed = evaluations(measures, policies, bounded=bounded, assessment=assessment)
    places = run_sources(runs)
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
    """Return whether comparing the documents of all pairs would take too much time or memory."""
    documents = int(scores.lengths.sum())
    return documents > MOST_DOCUMENTS or documents / len(scores.runs) * len(pairs) > MOST_MEETINGS


def evaluations(
    measures: Sequence[Measure],
    policies: Policies,
    *,
    bounded: bool = True,
    assessment: str = DEFAULT_ASSESSMENT,
) -> dict[Policies, tuple[Measure, ...]]:
    """Return the measures to evaluate, with policies: the given ones, and those for columns beside them.

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
        (whole, assessment_measures(measures, assessment)),
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
        ranks={measure: ranks for part in parts for measure, ranks in part.ranks.items()},
    )


def _accounts(comparison: Comparison, listings: Listings) -> Iterator[Account]:
    """Yield, for one pair by every measure, what would settle it and what made the difference.

    The listings are those of the pair.
    """
    a, b = comparison.pairs[0].tolist()
    for number, measure in enumerate(comparison.measures):
        gaps = np.nan_to_num(comparison.gaps(number)[0])
        leading = [
            place for place in np.argsort(-np.abs(gaps), kind="stable")[:TOPICS].tolist() if gaps[place]
        ]
        values = np.nan_to_num(comparison.values[[a, b], number])
        if measure.definition.pairwise:  # then no document has a share of its own
            leading, values = [], np.stack([gaps, np.zeros_like(gaps)])
        telling = {
            comparison.topics[place]: telling_documents(
                measure, listings, (0, 1), place, ahead=0 if gaps[place] > 0 else 1
            )
            for place in leading
        }
        settling = what_would_settle(measure, listings, (0, 1), limit=None, values=values)
        yield Account(settling=settling, telling=telling)


def compared_measures(scores: Scores) -> tuple[Measure, ...]:
    """The measures of scores that runs are compared by: no texts, no counts, none of assessment."""
    return tuple(
        measure
        for measure in scores.measures
        if measure.definition.aggregate != "text"
        and measure.definition.basis != "count"
        and not measure.get("assessed")
        and measure != FIRST_UNJUDGED
    )


def values_of(scores: Scores, measure: Measure) -> NDArray[np.float64]:
    """(run, topic): the values of one measure, which the scores must have."""
    if measure not in scores.measures:
        raise DataError(
            f"the scores lack {measure}, which the comparison needs; evaluate with_assessment(measures)"
        )
    return scores.values[:, scores.measures.index(measure), :]


def deepest(scores: Scores) -> int:
    """The deepest rank that any run has for a judged topic, at least 1."""
    return max(1, int(np.nanmax(values_of(scores, RETRIEVED), initial=1.0)))


def assessment_values(scores: Scores, measure: Measure) -> tuple[int, NDArray[np.float64]]:
    """The depth k of a measure and A_p@k, (run, topic); without a depth, the deepest rank of any run."""
    k = assessment_depth(measure)
    if k is not None and (k == measure.k or k <= deepest(scores)):
        return k, values_of(scores, assessment_measure(k))
    k = deepest(scores)
    return k, values_of(scores, JUDGED) / k


def assessed_depths(scores: Scores) -> list[int]:
    """The depths at which the scores have A_p, from the shallowest."""
    wanted = (measure.k for measure in scores.measures if measure.name == "P" and measure.get("assessed"))
    return sorted({k for k in wanted if k is not None and assessment_measure(k) in scores.measures})
