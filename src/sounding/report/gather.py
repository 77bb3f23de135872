"""report(): compute everything that a page needs, each part once, and read and sort each run once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sounding.audit.auditing import audit
from sounding.audit.beyond import depths_beyond
from sounding.audit.fitness import audit_labels
from sounding.audit.judged_runs import ListedRuns, list_runs
from sounding.audit.result import Audit
from sounding.audit.verdict import Statement
from sounding.calibrate.calibrating import calibrate
from sounding.compare.comparison import compare, scores_to_compare
from sounding.compare.holds import DEFAULT_UNTIL, holds
from sounding.compare.result import Comparison
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import plural
from sounding.core.workers import Bars, Progress, map_items
from sounding.data.finding import RunIndex, run_names
from sounding.data.formats import Place, read_qrels, run_sources
from sounding.data.labels import read_labels
from sounding.data.reading import Reading, read_one
from sounding.data.run_info import RunInfo, reported_runs
from sounding.data.sources import STDIN, bytes_to_read, on_file_read
from sounding.data.tables import Qrels, Run
from sounding.depth.intervals import PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import Finding
from sounding.depth.study import depth
from sounding.estimate.estimating import estimate
from sounding.evaluate.result import Scores
from sounding.evaluate.topic_files import slices
from sounding.measures import parse_measures
from sounding.measures.cumulative import name_of
from sounding.measures.registry import needs_intents
from sounding.measures.summaries import check_comparable, needs_pool_ranks
from sounding.relevance.basis import FEW_RUNS
from sounding.report import sentences
from sounding.report.result import (
    DEFAULT_MEASURES,
    LABEL_SECTIONS,
    NEEDS,
    PARTS,
    SECTIONS,
    InputFile,
    MissingPart,
    Report,
    ReportRequest,
)
from sounding.runs.align import hold_judgments, hold_order
from sounding.runs.pairs import Pairs
from sounding.runs.pool import Flags, Pool, judgments_at_depth, parse_until, with_pool_ranks
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.statistics.pairwise import Procedure

# Of the check of chances on hidden judgments, which takes a third of a second.
CHECKED_RUNS, CHECKED_DRAWS = 20, 30
LEAST_DEPTH = 8  # of the pool, to hide three quarters of it
MOST_BYTES = 1_000_000_000  # of files: more are not held in memory, and read again for every part

Part = TypeVar("Part")


def report(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    baselines: Sequence[str] = (),
    about: str | None = None,
    by: str | None = None,
    info: Mapping[str, RunInfo] | None = None,
    only: Sequence[str] = (),
    info_files: Sequence[str] = (),
    pool_depth: int | None = None,
    until: str = DEFAULT_UNTIL,
    sections: Sequence[str] | None = None,
    procedure: Procedure | None = None,
    draws: int = 50,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    command: str = "",
    labels: Sequence[Any] = (),
    judges: Sequence[str] = (),
    bars: Bars | None = None,
) -> Report:
    """Compute everything that a report shows about a collection and its runs; `render_report` writes it.

    Judgments, runs and measures are what `evaluate` takes. `about` names a run: only its comparisons with
    the other runs are tested, and the page is written about it. `by` is a file that puts topics into
    groups. `sections` says what is needed, `until` what full judging means, `draws` how many
    pseudo-judgments the audit makes. `only` reports only runs that meet conditions on `info` (see `compare`),
    beside those that are named; the pool stays that of all runs. With `labels` (and `judges`, see
    `estimate`), the report shows estimates and whether the labels are fit for use. `command` and
    `info_files` are repeated in the report, so that others can make it again.
    """
    check_about(about, baselines)
    wanted = parse_measures(measures)
    check_comparable(wanted, policies)
    request = ReportRequest(
        qrels=qrels, runs=runs, measures=wanted, baselines=tuple(baselines), about=about or "", by=by or "",
        info_files=tuple(info_files),
        info=info, only=tuple(only), policies=policies, procedure=procedure or Procedure(seed=policies.seed),
        pool_depth=pool_depth, until=str(parse_until(until, files=True)), draws=draws,
        qrels_format=qrels_format,
        run_format=run_format, jobs=jobs, command=command,
        labels=tuple(labels), judges=tuple(judges),
        sections=known_sections(sections, LABEL_SECTIONS if labels else SECTIONS),
    )  # fmt: skip
    if labels:
        return _with_labels(request, bars or (lambda total, label: nullcontext()))
    needed = {part for section in request.sections for part in NEEDS.get(section, ())}
    return gather(request, bars or (lambda total, label: nullcontext()), needed)


def check_about(about: str | None, baselines: Sequence[str]) -> None:
    """Refuse a page about one run with baselines: it compares that run with every other."""
    if about and baselines:
        raise DataError(f"--for {about} compares {about} with every other run; leave out --baseline")


def known_sections(names: Iterable[str] | None, known: Mapping[str, str] = SECTIONS) -> tuple[str, ...]:
    """Return the named sections in the order of the report, None: all; refuse an unknown name."""
    wanted = list(known if names is None else names)
    for name in wanted:
        if name not in known:
            raise UnknownNameError("section", name, known)
    return tuple(name for name in known if name in wanted)


def _with_labels(request: ReportRequest, bars: Bars) -> Report:
    """Read everything, and estimate from judgments and labels."""
    policies, places, procedure = request.policies, run_sources(request.runs), request.procedure
    with bars(len(places), f"reading {plural(len(places), 'run')}") as progress, fingerprints() as taken:
        qrels = Reading(qrels_format=request.qrels_format).judgments(request.qrels, policies)
        machines = read_labels(list(request.labels), judges=request.judges)
        runs = _held(request, places, progress)
        hold_judgments(qrels)
    with bars(0, "estimating"):
        estimation = estimate(
            qrels, runs, request.measures, labels=machines, policies=policies, procedure=procedure,
            confidence=1 - procedure.alpha, run_format=request.run_format, jobs=request.jobs,
        )  # fmt: skip
    with bars(0, "checking the labels"):
        fitness = _wanted(
            "fitness", ("fitness",),
            lambda: audit_labels(
                qrels, runs, machines, request.measures, alpha=procedure.alpha, seed=procedure.seed,
                policies=policies, run_format=request.run_format, jobs=request.jobs,
            ),
        )  # fmt: skip
    with bars(len(places), "evaluating") as progress:
        reading = Reading(run_format=request.run_format, jobs=request.jobs, progress=progress)
        scores = scores_to_compare(qrels, runs, request.measures, policies=policies, reading=reading)
    none = MissingPart(sentences.WITH_LABELS)
    return Report(
        request=request, scores=scores.of_measures(request.measures), comparison=none, stability=none,
        findings=(), leaders=(), audit=none, statements=(), inputs=tuple(_inputs(request, places, taken)),
        estimation=estimation, fitness=fitness,
    )  # fmt: skip


def gather(request: ReportRequest, bars: Bars, parts: Collection[str] = PARTS) -> Report:
    """Read everything, and compute the parts that are wanted."""
    policies, places = request.policies, run_sources(request.runs)
    count = len(places)
    with bars(count, f"reading {plural(count, 'run')}") as progress, fingerprints() as taken:
        qrels = read_qrels(
            request.qrels, format=request.qrels_format, duplicates=policies.duplicates,
            fractional=policies.fractional, intents=needs_intents(request.measures),
        )  # fmt: skip
        runs = _held(request, places, progress)
        _check_baselines(request, runs)
        cut, remarks, pool = _cut(request, qrels, runs)
        hold_judgments(qrels)
        hold_judgments(cut)
    with bars(count, "evaluating") as progress:
        reading = Reading(run_format=request.run_format, jobs=request.jobs, progress=progress)
        whole = scores_to_compare(cut, runs, request.measures, policies=policies, reading=reading)
    scores = replace(whole.of_measures(request.measures), remarks=(*remarks, *whole.remarks))
    reported = _reported(request, scores)
    if reported is not None:
        scores = scores.of_runs(reported.nonzero()[0].tolist())
    lists = cache(lambda: _listed(request, qrels, runs, bars))  # read once, when a part first needs them
    comparison = _wanted("comparison", parts, lambda: _compared(request, cut, runs, whole, pool, lists, bars))
    over_depth = _wanted("stability", parts, lambda: _over_depth(request, cut, runs, pool, bars))
    audited = _wanted("audit", parts, lambda: _audited(request, qrels, lists(), bars))
    findings: tuple[Finding, ...] = ()
    leaders: tuple[PairOverDepth, ...] = ()
    if not isinstance(over_depth, MissingPart):
        findings = over_depth.findings(command=request.command)
        leaders = _leaders(over_depth, scores, request.about)
    return Report(
        request=request,
        scores=scores,
        comparison=comparison,
        stability=over_depth,
        findings=findings,
        leaders=leaders,
        audit=audited,
        statements=() if isinstance(audited, MissingPart) else tuple(_statements(request, audited)),
        slices=tuple(slices(scores, request.by)) if request.by else (),
        inputs=tuple(_inputs(request, places, taken)),
    )


def _reported(request: ReportRequest, scores: Scores) -> Flags | None:
    """Return which runs, (run,), are reported; None: all."""
    named = RunIndex(scores.runs, scores.tags)
    always = [named.place(name) for name in (*request.baselines, *filter(None, [request.about]))]
    return reported_runs(scores.runs, scores.tags, request.info, request.only, always)


def _wanted(name: str, parts: Collection[str], compute: Callable[[], Part]) -> Part | MissingPart:
    """A part, or why it is not there: what the data do not allow is said in its place."""
    if name not in parts:
        return MissingPart(sentences.NOT_ASKED_FOR)
    try:
        return compute()
    except DataError as error:
        text = str(error)
        return MissingPart(f"{text[:1].upper()}{text[1:]}.")


def _check_baselines(request: ReportRequest, runs: Sequence[Any]) -> None:
    """Refuse the name of a baseline, or of the run for --for, that no run has."""
    names = [run.name for run in runs if not isinstance(run, str)]
    wanted = [*request.baselines, *filter(None, [request.about])]
    for name in wanted if len(names) == len(runs) else ():
        if name not in names:
            raise UnknownNameError("run", name, names)


def _cut(
    request: ReportRequest, qrels: Qrels, runs: Sequence[Any]
) -> tuple[Qrels, tuple[str, ...], Pool | None]:
    """The judgments of the pool that was asked for, what was cut in a sentence, and that pool."""
    if request.pool_depth is None:
        if request.info is None or qrels.pool_ranks is not None or not needs_pool_ranks(request.measures):
            return qrels, (), None
        retrieved = read_retrieved(
            runs, topics=qrels.topics, policies=request.policies, run_format=request.run_format,
            jobs=request.jobs,
        )  # fmt: skip
        return with_pool_ranks(qrels, retrieved, request.info, request.policies), (), None
    kept, note, pool = judgments_at_depth(
        qrels, runs, request.pool_depth, info=request.info, policies=request.policies,
        run_format=request.run_format, jobs=request.jobs,
    )  # fmt: skip
    return kept, (note,), pool


def _held(request: ReportRequest, places: Sequence[Place], progress: Progress | None) -> list[Any]:
    """The runs in memory, in order, each by a name of its own; files themselves where they are very large."""

    def read(place: Place) -> Run:
        return replace(read_one(place, request.policies, request.run_format), words=None)

    if bytes_to_read(source for source, _ in places) > MOST_BYTES:
        return [read(place) if place.source == STDIN else place.source for place in places]
    runs = map_items(read, places, progress=progress)
    names = run_names([run.source for run in runs], [run.name for run in runs])
    held = [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
    for run in held:
        hold_order(run, request.policies)
    return held


# -- the parts -------------------------------------------------------------------------------------


def _listed(request: ReportRequest, qrels: Qrels, runs: Sequence[Any], bars: Bars) -> ListedRuns:
    """Return the lists of all runs for the judged topics, which comparison and audit look at."""
    with bars(len(runs), "listing documents") as progress:
        return list_runs(
            runs, qrels.topics, policies=request.policies, run_format=request.run_format, jobs=request.jobs,
            progress=progress,
        )  # fmt: skip


def _compared(
    request: ReportRequest,
    qrels: Qrels,
    runs: Sequence[Any],
    scores: Scores,
    pool: Pool | None,
    lists: Callable[[], ListedRuns],
    bars: Bars,
) -> Comparison:
    count = len(runs)
    if count < 2:
        raise DataError("there is one run, and a comparison needs two")
    pairs = count * (count - 1) // 2
    references = (request.about,) if request.about else request.baselines
    has_order = request.policies.ties != "average"
    retrieved = lists().retrieved.narrowed(topics=qrels.topics) if has_order else None
    with bars(0, f"comparing {f'runs with {references[0]}' if references else f'{pairs:,} pairs'}"):
        found = compare(
            qrels, runs, request.measures, baselines=references, info=request.info, only=request.only,
            policies=request.policies, procedure=request.procedure, scores=scores, pool=pool,
            run_format=request.run_format, jobs=request.jobs, retrieved=retrieved,
        )  # fmt: skip
    places = np.array([scores.runs.index(run) for run in found.runs])
    every = runs if retrieved is None else retrieved
    return _with_holds(found, places[found.pairs], request, qrels, every, bars)


def _with_holds(
    found: Comparison, pairs: Pairs, request: ReportRequest, qrels: Qrels, runs: Any, bars: Bars
) -> Comparison:
    """The comparison with the chances that conclusions hold; without, where these cannot be had.

    `pairs` are its pairs among all `runs`, of which not all may be reported.
    """
    with bars(len(found.runs), "drawing full judgments") as progress:
        try:
            held = holds(
                qrels, runs, found.measures, until=request.until, info=request.info, pairs=pairs,
                alpha=found.alpha, policies=request.policies, run_format=request.run_format,
                jobs=request.jobs, progress=progress,
            )  # fmt: skip
        except DataError as error:
            return replace(found, notes=(*found.notes, sentences.holds_not_known(str(error))))
    if not held.open_documents:
        return found
    checked = () if held.reason else tuple(_checked(found, request, qrels, runs, bars))
    return replace(found, holds=held, notes=(*found.notes, *checked))


def _checked(found: Comparison, request: ReportRequest, qrels: Qrels, runs: Any, bars: Bars) -> Iterator[str]:
    """Say how often such chances come true for some of the runs if the pool were a quarter as deep."""
    pool = found.pool
    if pool is None or pool.judged < LEAST_DEPTH or not isinstance(runs, Retrieved):
        return
    if len(pool.contributing) != len(runs.runs) or np.count_nonzero(pool.contributing) < FEW_RUNS:
        return
    places = pool.contributing.nonzero()[0]
    some = places[np.linspace(0, len(places) - 1, min(len(places), CHECKED_RUNS)).astype(np.int64)]
    shallow = pool.judged // 4
    with bars(0, "checking chances on hidden judgments"):
        try:
            scored = calibrate(
                qrels, runs.pick(some.tolist()), found.measures[:1], scenarios=[f"pool:{shallow}"],
                claims=("holds", "sign"), until=f"runs:{pool.judged}", draws=CHECKED_DRAWS, resamples=0,
                policies=request.policies, jobs=request.jobs,
            )  # fmt: skip
        except DataError:
            return
    yield from sentences.checked(scored, pool.judged, shallow)


def _over_depth(
    request: ReportRequest, qrels: Qrels, runs: Sequence[Any], pool: Pool | None, bars: Bars
) -> DepthStudy:
    deep = [m for m in request.measures if m.definition.at == "k" and m.definition.takes("k")]
    if not deep:
        named = ", ".join(map(str, request.measures))
        raise DataError(f"{named}: no measure here has a cut-off; values over depth need one such as AP or P")
    with bars(len(runs), "looking deeper and deeper") as progress:
        return depth(
            qrels, runs, list(dict.fromkeys(map(name_of, deep))), info=request.info, only=request.only,
            policies=request.policies, pool=pool,
            run_format=request.run_format, jobs=request.jobs, progress=progress,
        )  # fmt: skip


def _leaders(found: DepthStudy, scores: Scores, about: str) -> tuple[PairOverDepth, ...]:
    """Return the best two runs over depth, or the run that the page is about and the best of the others."""
    if len(scores.runs) < 2 or len(scores.topics) < 2:
        return ()
    ranked = [scores.runs[run] for run in scores.order()]
    first, second = ranked[:2] if not about else (about, next(run for run in ranked if run != about))
    return found.pair((first, second))[:1]


def _audited(request: ReportRequest, qrels: Qrels, lists: ListedRuns, bars: Bars) -> Audit:
    """The audit; each part that the sections show is asked for here, where somebody hears of progress."""
    runs = len(lists.retrieved.runs)
    with bars(0, "auditing the collection"):
        found = audit(
            qrels, lists, request.measures, info=request.info, only=request.only,
            pool_depth=request.pool_depth,
            policies=request.policies, draws=request.draws, run_format=request.run_format, jobs=request.jobs,
        )  # fmt: skip
    if found.has_pool:
        with bars(len(found.unique("group").names), "leaving out groups") as progress:
            found.leave_out("group", progress, jobs=request.jobs)
    if "collection" not in request.sections:
        return found
    if found.has_pool:
        with bars(runs, "leaving out runs") as progress:
            found.leave_out("run", progress, jobs=request.jobs)
        with bars(len(depths_beyond(found.runs)), "looking below the pool") as progress:
            # By all measures, so that the verdict does not ask for one by itself.
            found.beyond_all(progress, jobs=request.jobs)
    with bars(request.draws, "drawing judgments") as progress:
        found.pseudo(progress, jobs=request.jobs)
    with bars(runs, "looking for ties"):
        found.ties()
    return found


def _statements(request: ReportRequest, audited: Audit) -> list[Statement]:
    """Return what the collection is fit for and, where a section shows it, what to beware of."""
    return audited.verdict() if "collection" in request.sections else audited.fitness()


# -- what was read ---------------------------------------------------------------------------------


class Fingerprints:
    """Size in bytes and SHA-256 of files, taken as they are read, so that none is read again for it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str]] = {}

    def __call__(self, name: str, content: memoryview) -> None:
        """Take the fingerprint of a file that was just read."""
        self._known[name] = len(content), hashlib.sha256(content).hexdigest()

    def of(self, name: str) -> tuple[int, str]:
        """Return the fingerprint of a file; one that was not read whole is read here."""
        if name not in self._known:
            with Path(name).open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            self._known[name] = Path(name).stat().st_size, digest
        return self._known[name]


@contextmanager
def fingerprints() -> Iterator[Fingerprints]:
    """Take the fingerprints of all files that are read within, also before a report is asked for."""
    outer = on_file_read.get()
    taken = outer if isinstance(outer, Fingerprints) else Fingerprints()
    token = on_file_read.set(taken)
    try:
        yield taken
    finally:
        on_file_read.reset(token)


def _inputs(request: ReportRequest, places: Sequence[Place], taken: Fingerprints) -> Iterator[InputFile]:
    files = [(request.qrels, "judgments"), *((file, "info") for file in request.info_files)]
    files += [(file, "labels by machines") for file in request.labels]
    files += [(request.by, "groups of topics")] if request.by else []
    for source, role in [*files, *((place.source, "run") for place in places)]:
        name = str(source) if isinstance(source, str | Path) else getattr(source, "source", "in memory")
        is_file = isinstance(source, str | Path) and source != STDIN and Path(source).is_file()
        size, digest = taken.of(name) if is_file else (None, None)
        yield InputFile(name=name, role=role, size=size, sha256=digest)
