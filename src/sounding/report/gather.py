"""All that a report is made from, each computed once and every run read once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sounding.compare.comparison import compare, scores_to_compare
from sounding.compare.holds import DEFAULT_UNTIL, holds
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import plural
from sounding.core.workers import Bars, Progress, map_items
from sounding.data.finding import run_names
from sounding.data.formats import Place, read_qrels
from sounding.data.reading import Reading, read_one
from sounding.data.run_info import RunInfo
from sounding.data.sources import STDIN, bytes_to_read
from sounding.depth.study import depth
from sounding.measures import Measure, parse_measures
from sounding.measures.cumulative import name_of
from sounding.statistics.pairwise import Procedure

if TYPE_CHECKING:
    from sounding.audit.result import Audit
    from sounding.audit.verdict import Statement
    from sounding.compare.result import Comparison
    from sounding.data.tables import Qrels
    from sounding.depth.findings import Finding
    from sounding.depth.intervals import PairOverDepth
    from sounding.depth.result import DepthStudy
    from sounding.evaluate.result import Scores
    from sounding.runs.pool import Pool

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10")
PARTS = ("comparison", "stability", "audit")
MOST_BYTES = 1_000_000_000  # of files: more are not held in memory, and read again for every part

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a report is asked about."""

    qrels: str
    runs: tuple[str, ...]  # files
    measures: tuple[Measure, ...] = parse_measures(DEFAULT_MEASURES)
    baselines: tuple[str, ...] = ()
    info_files: tuple[str, ...] = ()
    info: Mapping[str, RunInfo] | None = None
    policies: Policies = DEFAULT_POLICIES
    procedure: Procedure = field(default_factory=Procedure)
    pool_depth: int | None = None  # to which the judgments are cut
    until: str = DEFAULT_UNTIL  # what full judging means, which chances of holding are about
    draws: int = 50  # of pseudo-judgments
    qrels_format: str | None = None
    run_format: str | None = None
    jobs: int | None = 1
    command: str = ""  # as it was typed


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is not there, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A file that was read: enough to know it again."""

    name: str
    role: str
    size: int | None  # bytes; None: standard input
    sha256: str | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Found:
    """What a report is made from; a part that nobody asked for, or that cannot be had, says why."""

    request: Request
    scores: Scores
    comparison: Comparison | Missing
    stability: DepthStudy | Missing
    findings: tuple[Finding, ...]  # of the stability
    leaders: tuple[PairOverDepth, ...]  # the two best runs over depth, by the first measure; or none
    audit: Audit | Missing
    statements: tuple[Statement, ...]  # of the audit
    inputs: tuple[Input, ...]

    @property
    def leading(self) -> Measure:
        """The measure by which runs are put in order: the first that was asked for."""
        return self.scores.measures[0]


def gather(request: Request, bars: Bars, parts: Collection[str] = PARTS) -> Found:
    """Read everything, and compute the parts that are wanted."""
    policies, count = request.policies, len(request.runs)
    with bars(count, f"reading {plural(count, 'run')}") as progress:
        qrels = read_qrels(
            request.qrels, format=request.qrels_format, duplicates=policies.duplicates,
            fractional=policies.fractional,
        )  # fmt: skip
        runs = _held(request, progress)
        _check_baselines(request, runs)
        cut, remarks, pool = _cut(request, qrels, runs)
    with bars(count, "evaluating") as progress:
        reading = Reading(run_format=request.run_format, jobs=request.jobs, progress=progress)
        whole = scores_to_compare(cut, runs, request.measures, policies=policies, reading=reading)
    scores = replace(whole.of_measures(request.measures), remarks=(*remarks, *whole.remarks))
    comparison = _wanted("comparison", parts, lambda: _compared(request, cut, runs, whole, pool, bars))
    over_depth = _wanted("stability", parts, lambda: _over_depth(request, cut, runs, pool, bars))
    audited = _wanted("audit", parts, lambda: _audited(request, qrels, runs, bars))
    findings: tuple[Finding, ...] = ()
    leaders: tuple[PairOverDepth, ...] = ()
    if not isinstance(over_depth, Missing):
        findings, leaders = over_depth.findings(command=request.command), _leaders(over_depth, scores)
    return Found(
        request=request,
        scores=scores,
        comparison=comparison if isinstance(comparison, Missing) else replace(comparison, policies=policies),
        stability=over_depth,
        findings=findings,
        leaders=leaders,
        audit=audited,
        statements=() if isinstance(audited, Missing) else tuple(audited.verdict()),
        inputs=tuple(_inputs(request)),
    )


def _wanted(name: str, parts: Collection[str], compute: Callable[[], Part]) -> Part | Missing:
    """A part, or why it is not there: what the data do not allow is said in its place."""
    if name not in parts:
        return Missing("It was not asked for (--sections).")
    try:
        return compute()
    except DataError as error:
        text = str(error)
        return Missing(f"{text[:1].upper()}{text[1:]}.")


def _check_baselines(request: Request, runs: Sequence[Any]) -> None:
    """Refuse a baseline that is none of the runs, where these are held and have names."""
    names = [run.name for run in runs if not isinstance(run, str)]
    for name in request.baselines if len(names) == len(runs) else ():
        if name not in names:
            raise UnknownNameError("run", name, names)


def _cut(request: Request, qrels: Qrels, runs: Sequence[Any]) -> tuple[Qrels, tuple[str, ...], Pool | None]:
    """The judgments of the pool that was asked for, what was cut in a sentence, and that pool."""
    if request.pool_depth is None:
        return qrels, (), None
    from sounding.runs.pool import judgments_at_depth

    kept, told, pool = judgments_at_depth(
        qrels, runs, request.pool_depth, info=request.info, policies=request.policies,
        run_format=request.run_format, jobs=request.jobs,
    )  # fmt: skip
    return kept, (told,), pool


def _held(request: Request, progress: Progress | None) -> list[Any]:
    """The runs in memory, each by a name of its own; the files themselves where they are very large."""

    def read(file: str) -> Any:
        return replace(read_one(Place(file, None), request.policies, request.run_format), words=None)

    if bytes_to_read(request.runs) > MOST_BYTES:
        return [read(file) if file == STDIN else file for file in request.runs]
    runs = map_items(read, request.runs, progress=progress)
    names = run_names([run.source for run in runs], [run.name for run in runs])
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


# -- the parts -------------------------------------------------------------------------------------


def _compared(
    request: Request, qrels: Qrels, runs: Sequence[Any], scores: Scores, pool: Pool | None, bars: Bars
) -> Comparison:
    count = len(runs)
    if count < 2:
        raise DataError("there is one run, and a comparison needs two")
    pairs = count * (count - 1) // 2
    with bars(0, f"comparing {'runs with the baseline' if request.baselines else f'{pairs:,} pairs'}"):
        found = compare(
            qrels, runs, request.measures, baselines=request.baselines, info=request.info,
            policies=request.policies, procedure=request.procedure, scores=scores, pool=pool,
            run_format=request.run_format, jobs=request.jobs,
        )  # fmt: skip
    return _with_holds(found, request, qrels, runs, bars)


def _with_holds(
    found: Comparison, request: Request, qrels: Qrels, runs: Sequence[Any], bars: Bars
) -> Comparison:
    """The comparison with the chances that conclusions hold; without, where these cannot be had."""
    with bars(len(runs), "drawing full judgments") as progress:
        try:
            held = holds(
                qrels, runs, found.measures, until=request.until, info=request.info, pairs=found.pairs,
                alpha=found.alpha, policies=request.policies, run_format=request.run_format,
                jobs=request.jobs, progress=progress,
            )  # fmt: skip
        except DataError as error:
            return replace(found, notes=(*found.notes, f"Whether conclusions hold is not known: {error}."))
    return replace(found, holds=held) if held.open_documents else found


def _over_depth(
    request: Request, qrels: Qrels, runs: Sequence[Any], pool: Pool | None, bars: Bars
) -> DepthStudy:
    deep = [m for m in request.measures if m.definition.at == "k" and m.definition.takes("k")]
    if not deep:
        named = ", ".join(map(str, request.measures))
        raise DataError(f"{named}: no measure here has a cut-off; values over depth need one such as AP or P")
    with bars(len(runs), "looking deeper and deeper") as progress:
        return depth(
            qrels, runs, list(dict.fromkeys(map(name_of, deep))), info=request.info,
            policies=request.policies, pool=pool,
            run_format=request.run_format, jobs=request.jobs, progress=progress,
        )  # fmt: skip


def _leaders(found: DepthStudy, scores: Scores) -> tuple[PairOverDepth, ...]:
    """The best two runs over depth; nothing where there is one."""
    if len(scores.runs) < 2 or len(scores.topics) < 2:
        return ()
    best, second = (scores.runs[run] for run in scores.order()[:2])
    return found.pair((best, second))[:1]


def _audited(request: Request, qrels: Qrels, runs: Sequence[Any], bars: Bars) -> Audit:
    """The audit with all its parts: each is asked for here, where somebody hears of progress."""
    from sounding.audit.auditing import audit

    with bars(len(runs), "auditing the collection") as progress:
        found = audit(
            qrels, runs, request.measures, info=request.info, pool_depth=request.pool_depth,
            policies=request.policies, draws=request.draws, run_format=request.run_format, jobs=request.jobs,
            progress=progress,
        )  # fmt: skip
    if found.has_pool:
        with bars(len(found.unique("group").names), "leaving out groups") as progress:
            found.leave_out("group", progress)
        with bars(len(runs), "leaving out runs") as progress:
            found.leave_out("run", progress)
    with bars(request.draws, "drawing judgments") as progress:
        found.pseudo(progress)
    with bars(len(runs), "looking for ties"):
        found.ties()
    return found


# -- what was read ---------------------------------------------------------------------------------


def _inputs(request: Request) -> list[Input]:
    roles = [(request.qrels, "judgments"), *((file, "info") for file in request.info_files)]
    return [_input(*one) for one in [*roles, *((file, "run") for file in request.runs)]]


def _input(name: str, role: str) -> Input:
    path = Path(name)
    if name == STDIN or not path.is_file():
        return Input(name=name, role=role, size=None, sha256=None)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Input(name=name, role=role, size=path.stat().st_size, sha256=digest)
