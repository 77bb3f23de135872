"""evaluate(): read each run, put it in order, compute every measure; memory of one run at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, SoundingError
from sounding.core.policies import DEFAULT_POLICIES, Policies, check_policies
from sounding.core.workers import Progress, map_items, map_outcomes, settle_memory
from sounding.data.fast.keys import PairTable
from sounding.data.finding import run_names
from sounding.data.formats import Place, read_qrels, run_sources
from sounding.data.large_files import is_large
from sounding.data.reading import check_topics, processes_to_read, read_one
from sounding.data.sources import bytes_to_read, refuse_stdin_twice, some_may_be_large
from sounding.data.tables import Qrels, Run
from sounding.evaluate import sentences
from sounding.evaluate.bounded import value_bounds
from sounding.evaluate.packing import POOL_MEASURE, PackedRanking, PackedRankings, RunValues, Shelf
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.measures.intents import covered_intents
from sounding.measures.paired import mean_preferences, pairwise, relevant_ranks
from sounding.measures.registry import needs_intents
from sounding.measures.sampled import has_standard_error, standard_error
from sounding.measures.universe import count_distinct, counts_others, outside, unjudged_marks
from sounding.runs.align import Judged, align, hold_order, matches, prepare, treat_unjudged
from sounding.runs.ranking import Counts, Ranking, pad_rows

MOST_HELD = 200_000_000  # bytes of runs that are kept in memory rather than read again
DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR", "R@1000")


OnFailure = Callable[[str, SoundingError], None]  # receives the name of a run that failed, and why


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    policies: Policies = DEFAULT_POLICIES,
    residual: Any = None,
    groups: bool = False,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    on_failure: OnFailure | None = None,
    results: str | Path | None = None,
) -> Scores:
    """The value of every measure for every run and judged topic.

    Runs and qrels are files, tables, dicts, frames (pandas, Polars, pyarrow) or lists of ir_measures'
    ScoredDoc and Qrel; runs also folders, globs, {name: run}, or a list of any of these. Measures are names,
    `Measure`s or those of ir_measures, one or several.
    `residual` names judgments of an earlier round: their documents are dropped from runs and qrels, and
    topics that have none left with them. With `groups` a topic's value is the mean over its judgment
    groups (the second column of the qrels), as trec_eval's `-R qrels_jg`. Formats are recognized unless
    they are given. `jobs` processes share the runs; None: as many as there are cores, where the files
    are large. A run larger than memory is read in parts.

    A run that cannot be evaluated is an error, unless `on_failure` is to receive its name and what is
    wrong: then the others are evaluated. With `results`, what a run gave is kept in a file of that folder
    and taken from there the next time, as long as nothing that it came from has changed.
    """
    check_policies(policies)
    settle_memory()
    wanted = parse_measures(measures)
    sources = run_sources(runs)
    if not wanted or not sources:
        raise DataError("nothing to evaluate: give at least one run and one measure")
    if (compared := pairwise(wanted)) and len(sources) < 2:
        raise DataError(f"{compared[0]} compares runs with each other; give at least two runs")
    if compared and policies.unjudged == "expected":
        raise DataError(
            f"{compared[0]} compares runs, and expected values are those of one run; leave it out"
        )
    refuse_stdin_twice([qrels, residual, *(source for source, _ in sources)])
    if groups:
        _refuse_with_groups(wanted, policies)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional,
        groups=groups, intents=not groups and needs_intents(wanted),
    )  # fmt: skip
    earlier, remarks = None, [sentences.MEANS_OVER_GROUPS] if groups else []
    if residual is not None:
        earlier = _earlier(residual, policies)
        left = judgments.keep(~_found(judgments, earlier)).without_empty_topics()
        source = residual if isinstance(residual, str | Path) else "earlier judgments"
        remarks.append(sentences.residual(source, judgments, left))
        judgments = left
        if not len(left.docs):
            raise DataError(
                "nothing is left to evaluate: the earlier round judged every document of the qrels"
            )
    sample = judgments.probabilities is not None or judgments.strata is not None
    if sample and any(m.definition.basis == "recall" and m.definition.family != "sampled" for m in wanted):
        remarks.append(sentences.SAMPLED)
    if judgments.strata is not None and any(m.name == "infAP" for m in wanted):
        remarks.append(sentences.ONE_SAMPLE)
    one_each = judgments.intents is not None and judgments.intents.intent.max(initial=0) < len(
        judgments.topics
    )
    if one_each and any(measure.definition.family == "intents" for measure in wanted):
        remarks.append(sentences.ONE_INTENT)
    if compared:
        remarks.append(sentences.OVER_OTHER_RUNS.format(", ".join(map(str, compared))))
    sides, whole = _prepared(judgments, policies, groups=groups)
    shelf = Shelf()

    def left_of(run: Run) -> Run:
        return run if earlier is None else run.keep(~_found(run, earlier))

    size = bytes_to_read(source for source, _ in sources)
    processes = processes_to_read(sources, size, jobs)
    needed_again = policies.unjudged == "expected" and processes == 1 and size <= MOST_HELD
    held: dict[int, Run] = {}  # by the identity of its place, until it is needed again

    def read(place: Place) -> Run:
        if id(place) in held:
            return held.pop(id(place))
        run = left_of(read_one(place, policies, run_format))
        if needed_again:
            hold_order(run, policies)
            held[id(place)] = run
        return run

    def work(place: Place) -> RunValues:
        return _evaluate_run(read(place), sides, whole, wanted, policies, shelf)

    def some(run: Run, known: Qrels) -> RunValues:
        prepared = _prepared(known, policies, groups=groups)
        return _evaluate_run(left_of(run), *prepared, wanted, policies, shelf)

    uncertain = policies.unjudged in ("bounds", "expected")
    outcomes: list[RunValues | SoundingError]
    if results is None and (uncertain or not _some_are_large(sources, run_format)):
        # Without `on_failure`, the first failure ends it.
        map_each: Any = map_items if on_failure is None else map_outcomes
        outcomes = map_each(work, sources, processes=processes, progress=progress)
    else:
        # What reads files in parts, which few evaluations do.
        from sounding.evaluate.large import Evaluation, evaluate_each, results_folder

        asked = Evaluation(
            judgments=judgments, policies=policies, run_format=run_format, whole=work,
            some=None if uncertain else some,
        )  # fmt: skip
        folder = None
        if results is not None:
            dropped = b"" if earlier is None else np.sort(earlier.keys[:-1]).tobytes()
            choices = (str(groups), run_format or "", dropped)
            folder = results_folder(results, judgments, wanted, policies, *choices)
        outcomes = evaluate_each(sources, asked, folder=folder, jobs=jobs, progress=progress)
    sources, rows, failed = _without_failures(sources, outcomes, on_failure)
    if failed:
        remarks.append(sentences.left_out(failed))
    scores = _scores(rows, wanted, judgments, sides, policies, remarks)
    if not uncertain:
        return scores
    if policies.unjudged == "expected":
        # Priors and the expected forms of all measures, which take 0.05 s to load.
        from sounding.evaluate.unjudged import MODEL, expected_values, modeled_values

        if policies.prior == MODEL:
            tables = [read(source) for source in sources]
            modeled = modeled_values(judgments, tables, wanted, policies, processes)
            return replace(scores, expected=modeled)
    kept = [row.ranking for row in rows if row.ranking is not None]
    rankings = PackedRankings(kept, whole.judgments)
    others = _outside_each(rows, rankings, policies)
    if policies.unjudged == "bounds":
        return replace(scores, bounds=value_bounds(rankings, others, wanted, policies, processes))
    again = expected_values(
        lambda number: read(sources[number]), rankings, others, whole, wanted, policies, processes
    )
    return replace(scores, expected=again)


def _prepared(qrels: Qrels, policies: Policies, *, groups: bool) -> tuple[list[Judged], Judged]:
    """The judgments of each group, and of all together."""
    sides = [prepare(side, policies) for side in (_by_group(qrels) if groups else [qrels])]
    return sides, prepare(qrels.united(), policies) if groups else sides[0]


def _without_failures(
    sources: Sequence[Place], outcomes: Sequence[RunValues | SoundingError], on_failure: OnFailure | None
) -> tuple[list[Place], list[RunValues], list[str]]:
    """The runs that could be evaluated, what they gave, and the names of the others, which are reported.

    Without `on_failure`, or if no run is left, the first error is raised.
    """
    good: list[tuple[Place, RunValues]] = []
    failed: list[tuple[str, SoundingError]] = []
    for place, outcome in zip(sources, outcomes, strict=True):
        if isinstance(outcome, RunValues):
            good.append((place, outcome))
            continue
        failed.append((_shown_name(place), outcome))
        if on_failure is not None:
            on_failure(*failed[-1])
    if failed and (on_failure is None or not good):
        raise failed[0][1]
    return [place for place, _ in good], [row for _, row in good], [name for name, _ in failed]


def _shown_name(place: Place) -> str:
    """Return what messages call a run: its name, or where it came from."""
    source = place.source.source if isinstance(place.source, Run) else place.source
    return str(place.name or source)


def _some_are_large(sources: Sequence[Place], run_format: str | None) -> bool:
    """Return whether some run is to be read in parts."""
    named = [source for source, _ in sources]
    return some_may_be_large(named) and any(is_large(source, run_format) for source in named)


def _refuse_with_groups(measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse measures and policies that have no mean over judgment groups."""
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(f"unjudged {policies.unjudged} and judgment groups do not go together; leave one out")
    for measure in measures:
        if needs_intents([measure]):
            raise DataError(f"{measure} reads the groups as intents; leave out the mean over groups")
        if measure.definition.pairwise:
            raise DataError(
                f"{measure} compares two runs and has no mean over judgment groups; leave one out"
            )
        if measure.definition.aggregate == "text" and measure.name != "RunID":
            raise DataError(f"{measure} gives a text, which has no mean over judgment groups; leave one out")


def _earlier(residual: Any, policies: Policies) -> PairTable:
    """The documents that an earlier round judged."""
    seen = read_qrels(residual, duplicates=policies.duplicates, fractional=policies.fractional)
    return PairTable.build(seen.topics, seen.sizes, seen.pair_keys(), seen.docs.words())


def _outside_each(rows: Sequence[RunValues], rankings: Sequence[Ranking], policies: Policies) -> list[Counts]:
    """Count, for every run and topic, unjudged documents that it did not retrieve but may be relevant."""
    marks = [row.marks for row in rows if row.marks is not None]
    topics = len(rankings[0].topics)
    distinct = count_distinct(marks, topics) if policies.universe == "runs" else None
    return [outside(ranking, policies, distinct) for ranking in rankings]


def _found(table: Run | Qrels, earlier: PairTable) -> NDArray[np.bool_]:
    """Return which rows of a table the earlier judgments hold."""
    topic = np.repeat(earlier.numbers(table.topics), table.sizes)
    rows, _ = earlier.find(topic, table.pair_keys(), table.docs)
    found = np.zeros(len(table.docs), np.bool_)
    found[rows] = True
    return found


def _by_group(qrels: Qrels) -> list[Qrels]:
    """Return one set of judgments for each judgment group; all have the same topics."""
    if qrels.groups is None:
        raise DataError(
            f"{qrels.source}: no judgment groups; expected them in the second column of TREC qrels"
        )
    names = np.array(qrels.groups.texts(), object)
    return [qrels.keep(names == name) for name in sorted(set(names))]


def _evaluate_run(
    run: Run,
    sides: Sequence[Judged],
    whole: Judged,
    measures: Sequence[Measure],
    policies: Policies,
    shelf: Shelf,
) -> RunValues:
    """Return all values of one run; `sides` are the judgment groups, and `whole` is all of them together."""
    check_topics(run, whole.judgments.topics, policies)
    found = matches(run, whole)
    ranking = align(run, whole, policies, found)
    seen = [
        treat_unjudged(ranking if side is whole else align(run, side, policies), policies) for side in sides
    ]
    # Under the rule trec, trec_eval's preference measures break ties the other way round.
    other = seen[0]
    if policies.ties == "trec" and any(measure.definition.family == "preferences" for measure in measures):
        other = treat_unjudged(align(run, whole, policies, found, upwards=True), policies)
    values = np.full((len(measures), len(ranking.topics)), np.nan)
    texts, ranks = {}, {}
    for number, measure in enumerate(measures):
        if measure.definition.aggregate == "text":
            texts[measure] = _text_values(measure, seen[0], run)
        elif measure.definition.pairwise:
            ranks[measure] = relevant_ranks(measure, seen[0])
        else:
            preferences = measure.definition.family == "preferences"
            values[number] = _over_groups([measure(one) for one in ([other] if preferences else seen)], sides)
    errors = _sampling_errors(measures, seen, values.shape)
    if policies.missing == "skip":
        values[:, ranking.missing] = errors[:, ranking.missing] = np.nan
    uncertain = policies.unjudged in ("bounds", "expected")
    marks = unjudged_marks(run, whole, found) if counts_others(policies) else None
    return RunValues(
        name=run.name, tag=run.tag, source=run.source, values=values, texts=texts, ranks=ranks,
        covered=_covered(seen[0], measures),
        judged=_judged_shares(ranking, measures), errors=errors,
        lengths=treat_unjudged(ranking, policies).retrieved, missing=ranking.missing,
        ignored=int(np.count_nonzero(whole.table.numbers(run.topics) < 0)),
        ranking=PackedRanking.of(ranking, shelf) if uncertain else None,
        marks=None if marks is None else marks._replace(keys=shelf.keep(marks.keys)),
        judged_by_rank=ranking.judged_by_rank() if POOL_MEASURE in measures else np.empty(0, np.int64),
    )  # fmt: skip


def _covered(ranking: Ranking, measures: Sequence[Measure]) -> NDArray[np.bool_]:
    """(intent,): Return whether the ranking has a document that is relevant to it, down to the deepest k."""
    if not any(measure.definition.family == "intents" for measure in measures):
        return np.empty(0, np.bool_)
    return covered_intents(ranking, _deepest(measures))


def _deepest(measures: Sequence[Measure]) -> int | None:
    """Return how deep the measures of intents look; None: at whole rankings."""
    depths = [measure.k for measure in measures if measure.definition.family == "intents"]
    known = [depth for depth in depths if depth is not None]
    return max(known) if len(known) == len(depths) else None


def _uncovered(rows: Sequence[RunValues], qrels: Qrels, measures: Sequence[Measure]) -> Iterator[str]:
    """Yield a remark if no run covers some intents that have a relevant document."""
    known = qrels.intents
    if known is None or known.names is None or not all(len(row.covered) for row in rows):
        return
    covered = np.any([row.covered for row in rows], axis=0)
    relevant = np.bincount(known.intent[known.grades >= 1], minlength=len(covered)) > 0
    missed = (relevant[: len(covered)] & ~covered).nonzero()[0]
    if len(missed):
        topic = np.zeros(len(known.names), np.int64)
        of_rows = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
        topic[known.intent] = np.repeat(of_rows, np.diff(known.starts))
        named = [f"{known.names.text(n)} of topic {qrels.topics[topic[n]]}" for n in missed.tolist()]
        yield sentences.uncovered(named, int(relevant.sum()), _deepest(measures))


def _sampling_errors(
    measures: Sequence[Measure], seen: Sequence[Ranking], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Errors of estimates from a sample; not known for averages over tied documents, or over groups."""
    errors = np.full(shape, np.nan)
    for number, measure in enumerate(measures):
        if has_standard_error(measure) and len(seen) == 1 and seen[0].ties is None:
            errors[number] = standard_error(measure, seen[0])
    return errors


def _text_values(measure: Measure, ranking: Ranking, run: Run) -> NDArray[np.object_]:
    if measure.name == "RunID":
        return np.full(len(ranking.topics), run.tag, object)
    return np.asarray(measure(ranking), object)


def _over_groups(values: list[NDArray[np.float64]], sides: Sequence[Judged]) -> NDArray[np.float64]:
    """The mean over judgment groups: a topic counts in the groups that judged something for it."""
    if len(values) == 1:
        return values[0]
    counts = np.array([side.judgments.judged > 0 for side in sides])
    total = np.where(counts, np.array(values), 0.0).sum(axis=0)
    return np.divide(total, counts.sum(axis=0), out=np.zeros(len(total)), where=counts.any(axis=0))


@cache
def _judged_at(k: int | None) -> Measure:
    return Measure.of("Judged", k=k)


def _judged_shares(ranking: Ranking, measures: Sequence[Measure]) -> NDArray[np.float64]:
    """Share of judged documents down to each measure's depth; NaN where a topic has no documents."""
    shares: dict[int | None, NDArray[np.float64]] = {}
    for k in {measure.k for measure in measures}:
        shares[k] = np.where(ranking.retrieved > 0, _judged_at(k)(ranking), np.nan)
    return np.array([shares[measure.k] for measure in measures])


def _scores(
    rows: Sequence[RunValues],
    measures: tuple[Measure, ...],
    qrels: Qrels,
    sides: Sequence[Judged],
    policies: Policies,
    remarks: Sequence[str],
) -> Scores:
    levels = [float(measure.get("rel")) for measure in measures if measure.get("rel") is not None]
    level = max(levels, default=1.0)
    relevant = np.sum([side.judgments.relevant(level) for side in sides], axis=0)
    values, missing = np.array([row.values for row in rows]), np.array([row.missing for row in rows])
    ranks = {measure: np.stack([row.ranks[measure] for row in rows]) for measure in rows[0].ranks}
    skipped = missing & (policies.missing == "skip")
    for measure, table in ranks.items():
        values[:, measures.index(measure)] = mean_preferences(measure, table, skipped)
    return Scores(
        runs=tuple(run_names([row.source for row in rows], [row.name for row in rows])),
        tags=tuple(row.tag for row in rows),
        measures=measures,
        topics=qrels.topics,
        values=_fixed(values),
        ranks=ranks,
        texts={
            measure: np.array([row.texts[measure] for row in rows], object)
            for measure in measures
            if measure.definition.aggregate == "text"
        },
        judged=_fixed([row.judged for row in rows]),
        lengths=_fixed([row.lengths for row in rows]),
        missing=_fixed(missing),
        ignored=tuple(row.ignored for row in rows),
        without_relevant=tuple(t for t, n in zip(qrels.topics, relevant.tolist(), strict=True) if not n),
        level=level,
        policies=policies,
        remarks=(*remarks, *_uncovered(rows, qrels, measures)),
        sampling_errors=_fixed([row.errors for row in rows]),
        only_relevant=qrels.lists_only_relevant,
        sampled=qrels.probabilities is not None or qrels.strata is not None,
        judged_by_rank=pad_rows([row.judged_by_rank for row in rows]) if POOL_MEASURE in measures else None,
    )


def _fixed(rows: NDArray[Any] | Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The rows as one array that nobody can change."""
    table = np.asarray(rows)
    table.setflags(write=False)
    return table
