"""evaluate(): read each run, put it in order, compute every measure; memory of one run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sounding.align import Judged, align, matches, prepare, treat_unjudged
from sounding.data.formats import read_qrels, read_run
from sounding.data.keys import PairTable
from sounding.data.sources import run_names
from sounding.data.tables import Qrels, Run
from sounding.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.measures.sampled import has_standard_error, standard_error
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import NO_JUDGMENTS, Counts, Judgments, Ranking
from sounding.scores import Scores
from sounding.universe import Marks, count_distinct, counts_others, outside, unjudged_marks
from sounding.workers import Progress, map_items, processes_for, settle_memory

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR", "R@1000")


@dataclass(frozen=True, slots=True, eq=False)
class _RunValues:
    """What one run gives: a column of the Scores."""

    name: str
    tag: str
    source: str
    values: NDArray[np.float64]  # (measure, topic)
    texts: dict[Measure, NDArray[np.object_]]
    judged: NDArray[np.float64]  # (measure, topic)
    errors: NDArray[np.float64]  # (measure, topic) of estimates from a sample
    lengths: NDArray[np.int64]  # (topic,)
    missing: NDArray[np.bool_]  # (topic,)
    ignored: int
    ranking: Ranking | None  # kept where the unjudged documents are to be reckoned with, without judgments
    marks: Marks | None  # of the unjudged documents, where those of all runs are to be counted


def evaluate(
    qrels: Any,
    runs: Iterable[Any],
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    policies: Policies = DEFAULT_POLICIES,
    residual: Any = None,
    groups: bool = False,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Scores:
    """The value of every measure for every run and judged topic.

    Runs and qrels are files, tables, dicts or frames. `residual` names judgments of an earlier round:
    their documents are dropped from runs and qrels. With `groups` a topic's value is the mean over its
    judgment groups (the second column of the qrels), as trec_eval's `-R qrels_jg`.
    Formats are recognised unless they are given. `jobs` processes share the runs; None: as many as
    there are cores, where the files are large.
    """
    settle_memory()
    wanted = parse_measures(measures)
    sources = list(runs)
    if not wanted or not sources:
        raise DataError("nothing to evaluate: give at least one run and one measure")
    judgments = read_qrels(
        qrels,
        format=qrels_format,
        duplicates=policies.duplicates,
        fractional=policies.fractional,
        groups=groups,
    )
    earlier = None
    if residual is not None:
        seen = read_qrels(residual, duplicates=policies.duplicates, fractional=policies.fractional)
        earlier = PairTable.build(seen.pair_keys(), seen.docs.words())
        judgments = judgments.keep(~_found(judgments, earlier))
    sides = [prepare(side, policies) for side in (_by_group(judgments) if groups else [judgments])]

    if groups and policies.unjudged in ("bounds", "expected"):
        raise DataError(f"unjudged {policies.unjudged} and judgment groups do not go together; leave one out")

    def read(source: Any) -> Run:
        run = read_run(
            source, format=run_format, duplicates=policies.duplicates, with_ranks=policies.ties == "rank"
        )
        return run if earlier is None else run.keep(~_found(run, earlier))

    def work(source: Any) -> _RunValues:
        return _evaluate_run(read(source), sides, wanted, policies)

    processes = processes_for(_bytes(sources), len(sources), jobs)
    rows = map_items(work, sources, processes=processes, progress=progress)
    scores = _scores(rows, wanted, judgments, sides, policies)
    if policies.unjudged not in ("bounds", "expected"):
        return scores
    from sounding.uncertainty import expected_values, value_bounds

    rankings = _rankings(rows, sides[0].judgments)
    others = _outside_each(rows, rankings, policies)
    if policies.unjudged == "bounds":
        return replace(scores, bounds=value_bounds(rankings, others, wanted, policies, processes))
    again = expected_values(
        lambda number: read(sources[number]), rankings, others, sides[0], wanted, policies, processes
    )
    return replace(scores, expected=again)


def _rankings(rows: Sequence[_RunValues], judgments: Judgments) -> list[Ranking]:
    """The rankings that were kept, with the judgments that all share."""
    return [replace(row.ranking, judgments=judgments) for row in rows if row.ranking is not None]


def _outside_each(
    rows: Sequence[_RunValues], rankings: Sequence[Ranking], policies: Policies
) -> list[Counts]:
    """For every run: unjudged documents that may be relevant and that it did not retrieve, by topic."""
    marks = [row.marks for row in rows if row.marks is not None]
    topics = len(rankings[0].topics)
    distinct = count_distinct(marks, topics) if policies.universe == "runs" else None
    return [outside(ranking, policies, distinct) for ranking in rankings]


def _found(table: Run | Qrels, earlier: PairTable) -> NDArray[np.bool_]:
    """Which rows of a table the earlier judgments hold."""
    rows, _ = earlier.find(table.pair_keys(), table.docs)
    found = np.zeros(len(table.docs), np.bool_)
    found[rows] = True
    return found


def _by_group(qrels: Qrels) -> list[Qrels]:
    """One set of judgments for each judgment group; all have the same topics."""
    if qrels.groups is None:
        raise DataError(
            f"{qrels.source}: no judgment groups; expected them in the second column of TREC qrels"
        )
    names = np.array(qrels.groups.texts(), object)
    return [qrels.keep(names == name) for name in sorted(set(names))]


def _bytes(sources: Sequence[Any]) -> int:
    """How much there is to read, as far as files tell."""
    paths = (Path(source) for source in sources if isinstance(source, str | Path))
    return sum(path.stat().st_size for path in paths if path.is_file())


def _evaluate_run(
    run: Run, sides: Sequence[Judged], measures: Sequence[Measure], policies: Policies
) -> _RunValues:
    found = [matches(run, judged) for judged in sides]
    rankings = [align(run, judged, policies, pairs) for judged, pairs in zip(sides, found, strict=True)]
    seen = [treat_unjudged(ranking, policies) for ranking in rankings]
    topics = len(rankings[0].topics)
    missing = rankings[0].missing
    if policies.missing == "error" and missing.any():
        lacking = [topic for topic, lost in zip(rankings[0].topics, missing, strict=True) if lost]
        raise DataError(
            f"{run.source}: no documents for {len(lacking)} of {topics} judged topics, first {lacking[0]!r};"
            " say what a missing topic counts: zero or skip"
        )
    values = np.full((len(measures), topics), np.nan)
    texts = {}
    for number, measure in enumerate(measures):
        if measure.definition.aggregate == "text":
            texts[measure] = _text_values(measure, seen[0], run)
        else:
            values[number] = _over_groups([measure(ranking) for ranking in seen], sides)
    errors = _sampling_errors(measures, seen[0], values)
    if policies.missing == "skip":
        values[:, missing] = errors[:, missing] = np.nan
    return _RunValues(
        run.name, run.tag, run.source, values, texts,
        _judged_shares(rankings[0], measures), errors, seen[0].retrieved, missing,
        sum(topic not in sides[0].place for topic in run.topics),
        # Judgments are the same for all runs: they need not travel between processes.
        replace(rankings[0], judgments=NO_JUDGMENTS) if policies.unjudged in ("bounds", "expected") else None,
        unjudged_marks(run, sides[0], found[0]) if counts_others(policies) else None,
    )  # fmt: skip


def _sampling_errors(
    measures: Sequence[Measure], ranking: Ranking, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    errors = np.full(values.shape, np.nan)
    for number, measure in enumerate(measures):
        if has_standard_error(measure) and ranking.ties is None:
            errors[number] = standard_error(measure, ranking)
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


def _judged_shares(ranking: Ranking, measures: Sequence[Measure]) -> NDArray[np.float64]:
    """Share of judged documents down to each measure's depth; NaN where a topic has no documents."""
    shares: dict[int | None, NDArray[np.float64]] = {}
    for k in {measure.k for measure in measures}:
        shares[k] = np.where(ranking.retrieved > 0, Measure.of("Judged", k=k)(ranking), np.nan)
    return np.array([shares[measure.k] for measure in measures])


def _scores(
    rows: Sequence[_RunValues],
    measures: tuple[Measure, ...],
    qrels: Qrels,
    sides: Sequence[Judged],
    policies: Policies,
) -> Scores:
    relevant = np.sum([side.judgments.relevant(1) for side in sides], axis=0)
    tags = [row.tag for row in rows]
    return Scores(
        runs=tuple(run_names([row.source for row in rows], [row.name for row in rows])),
        tags=tuple(tags),
        measures=measures,
        topics=qrels.topics,
        values=np.array([row.values for row in rows]),
        texts={
            measure: np.array([row.texts[measure] for row in rows], object)
            for measure in measures
            if measure.definition.aggregate == "text"
        },
        judged=np.array([row.judged for row in rows]),
        lengths=np.array([row.lengths for row in rows]),
        missing=np.array([row.missing for row in rows]),
        ignored=tuple(row.ignored for row in rows),
        without_relevant=tuple(t for t, n in zip(qrels.topics, relevant.tolist(), strict=True) if not n),
        policies=policies,
        sampling_errors=np.array([row.errors for row in rows]),
    )
