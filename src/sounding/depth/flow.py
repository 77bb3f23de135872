"""The work of `sounding depth`: read the files, study the runs at each depth, write the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import click

from sounding.core.errors import DataError
from sounding.data.finding import find_runs
from sounding.data.run_info import RunInfo
from sounding.data.sources import plain_name
from sounding.depth import sentences, tables
from sounding.depth.charts import collections_over_k, study_figures
from sounding.depth.command import DepthOptions
from sounding.depth.fewer_judgments import DRAWS, SHARES, JudgmentSubsets, PoolDepths
from sounding.depth.intervals import PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import Finding
from sounding.depth.study import DEFAULT_MEASURES, chosen_measures, depth, parsed_reference
from sounding.depth.volatility import Agreeing
from sounding.evaluate.result import FEW_RUNS
from sounding.measures.cumulative import name_of
from sounding.measures.registry import needs_intents
from sounding.render.save import require_suffix, save, together
from sounding.render.tables import Answer, Table
from sounding.statistics.pairwise import Procedure, find_test
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    options_refused,
    policies_of,
    progress_bar,
    read_info,
    remark,
    suggest,
    typed_command,
    write_answer,
)
from sounding.terminal.plan_file import Plan, PlanChoices, planned_judgments, read_plan

KEPT = ("info", "only", "pool_depth", "qrels_format", "run_format")  # options that the next command repeats
SHOWN_RUNS = 8  # runs that the repeated command names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The results that the options ask for."""

    study: DepthStudy
    findings: tuple[Finding, ...]
    pair: tuple[PairOverDepth, ...]
    pools: PoolDepths | None
    subsets: JudgmentSubsets | None
    others: tuple[tuple[str, DepthStudy], ...] = ()  # of other collections, by name


def run(options: DepthOptions) -> None:
    """Study the runs over depth; write the answer, and draw the chosen figures."""
    typed = typed_command(click.get_current_context(), SHOWN_RUNS)
    plan = None if options.preregistered is None else read_plan(options.preregistered)
    if plan is not None:
        options = _planned(options, plan)
    found = _answer(options, plan, typed)
    headline, notes = found.study.headline(), _notes(found, options)
    write_answer(
        Answer(headline, _tables(found, options), notes, _next_command(found.study, options)), options
    )
    if options.chart is not None:
        _draw(found, options)


def _notes(found: _Answer, options: DepthOptions) -> list[str]:
    """Return what a reader should know, the most important first."""
    study = found.study
    test = find_test(study.procedure.test)
    notes = [
        *study.notes,
        *sentences.cautions(() if options.quiet else found.findings),
        study.pool.describe(),
    ]
    if changed := study.policies.changed():
        notes.append(sentences.changed_policies(changed))
    notes.append(
        sentences.test_used(test.title, study.procedure.correction or test.correction, study.procedure.alpha)
    )
    if options.notes:
        notes += [
            *sentences.other_findings(found.findings),
            sentences.all_policies(study.policies.describe()),
        ]
    return notes


def _next_command(study: DepthStudy, options: DepthOptions) -> str:
    """Return the next step: compare at a stable depth, or see between which depths the order changes."""
    first = study.measures[0].name
    begin = study.stable_from()[first] if len(study.runs) >= FEW_RUNS else None
    if begin is not None:
        k = next((k for k in study.depths if k >= begin), begin)
        return suggest("compare", "-m", f"{first}@{k}", keep=(*KEPT, "policy", "unjudged"))
    if not options.volatility:
        return suggest(
            "depth", "--volatility", keep=(*KEPT, "measures", "depths", "reference", "policy", "unjudged")
        )
    if needs_intents(one.measure for one in study.measures):  # which an audit does not take
        return suggest("compare", keep=(*KEPT, "measures", "policy", "unjudged"))
    return suggest("audit", keep=KEPT)


def _draw(found: _Answer, options: DepthOptions) -> None:
    """Draw the figures of the chosen views; by default one: how far the ranking at each depth agrees."""
    figures = study_figures(found.study, found.pair, found.pools, found.subsets)
    wanted = [make for view in options.views or ["ranking"] for make in figures.get(view, [])]
    wanted = wanted or figures["ranking"]
    if found.others:
        wanted = [lambda: collections_over_k(_collections(found, options))]
    drawn = [make() for make in wanted]
    if options.chart is not None:
        save(together(drawn) if len(drawn) > 1 else drawn[0], options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)
    agreeing = found.study.agreeing
    if options.volatility and agreeing.is_distance:
        remark(sentences.not_drawn(agreeing.coefficient), quiet=options.quiet)


# -- options -----------------------------------------------------------------------------------


def _planned(options: DepthOptions, plan: Plan) -> DepthOptions:
    """Return the options, with the plan's choices where the command line has none."""
    known = {field.name for field in fields(options)}
    fixed: dict[str, Any] = {
        key: ",".join(map(str, value)) if key == "depths" else value
        for key, value in plan.choices.made().items()
        if key in known and not typed(key)
    }
    return replace(options, **fixed)


def _procedure(options: DepthOptions, seed: int) -> Procedure:
    """Return the test of pairs: without a correction unless one is chosen."""
    correction = options.correction
    if correction is None and find_test(options.test).correction != "own":
        correction = "none"
    return Procedure(test=options.test, correction=correction, alpha=options.alpha, seed=seed)


def _numbers(name: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise DataError(f"--{name} {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(int(word) for word in words)


def _check_views(options: DepthOptions) -> None:
    """Refuse options that have no effect, and two tables in a format that holds one."""
    if options.chart is not None:
        require_suffix(options.chart)
    if options.collections and options.views:
        name = options.views[0].replace("_", "-")
        raise DataError(f"--collection compares outcomes over depth; leave --{name} out")
    names = [plain_name(options.qrels), *(name for name, _, _ in options.collections)]
    if unknown := {name for name, _ in options.collection_info} - {*names[1:]}:
        raise DataError(f"--collection-info {min(unknown)}: no --collection has that name")
    if len({*names}) < len(names):
        raise DataError(f"two collections are called {max(names, key=names.count)!r}; name them differently")
    if options.pools and options.pool_depth:
        raise DataError("--pools cuts the pool itself; leave --pool-depth out")
    if options.format_name in PEOPLE:
        if options.each_depth:
            raise DataError("--each-depth is for programs; give --format csv, json, jsonl or parquet as well")
        return
    views = [f"--{name.replace('_', '-')}" for name in options.views]
    if options.each_depth and views not in (["--each-run"], ["--pair"], ["--volatility"]):
        views += ["--each-depth"]
    if len(views) > 1 and (options.format_name != "json" or options.each_depth):
        raise DataError(f"{options.format_name} holds one table; give one of {' and '.join(views)}")
    if options.format_name in NO_NOTES and options.chart is None:
        _refuse_idle(options)


def _refuse_idle(options: DepthOptions) -> None:
    """Refuse options about stability in formats that hold only rows."""
    for name, idle in (("threshold", True), ("coefficient", not options.volatility)):
        if idle and typed(name):
            other = " --volatility or" if name == "coefficient" else ""
            raise DataError(
                f"--{name} changes nothing in {options.format_name} without{other} --chart; json and"
                " tables say from where on the ordering is stable"
            )


# -- results -------------------------------------------------------------------------------------


def _answer(options: DepthOptions, plan: Plan | None, typed: str) -> _Answer:
    with options_refused():  # before files are read
        policies = policies_of(options)
        procedure = _procedure(options, policies.seed)
        depths, pool_depths = _numbers("depths", options.depths), _numbers("pools", options.pools)
        _check_views(options)
        chosen_measures(options.measures or DEFAULT_MEASURES, policies)
        parsed_reference(options.reference)
        Agreeing(coefficient=options.coefficient, p=options.rbo_p, threshold=options.threshold)

    def studied(
        qrels: str, runs: Sequence[str], info: Mapping[str, RunInfo] | None, only: Sequence[str] = ()
    ) -> DepthStudy:
        files = find_runs(runs)
        with progress_bar(len(files), quiet=options.quiet, label="reading runs") as progress:
            return depth(
                qrels, files, options.measures or DEFAULT_MEASURES, depths=depths,
                reference=options.reference, procedure=procedure, coefficient=options.coefficient,
                rbo_p=options.rbo_p, threshold=options.threshold, info=info, only=only,
                pool_depth=options.pool_depth, keep_lists=bool(pool_depths or options.subsets),
                policies=policies, qrels_format=options.qrels_format, run_format=options.run_format,
                jobs=options.jobs, progress=progress,
            )  # fmt: skip

    study = studied(options.qrels, options.runs, read_info(options.info, options.only), options.only)
    listed = {
        name: [file for own, file in options.collection_info if own == name]
        for name, _, _ in options.collections
    }
    others = tuple(
        (name, studied(qrels, [runs], read_info(listed[name]))) for name, qrels, runs in options.collections
    )
    deviations = [] if plan is None else plan.check(_choices(study, options, plan))
    pools, subsets = None, None
    if pool_depths:
        with progress_bar(1 + len(set(pool_depths)), quiet=options.quiet, label="cutting pools") as progress:
            pools = study.pools(pool_depths, progress=progress)
    if options.subsets:
        with progress_bar(DRAWS * len(SHARES), quiet=options.quiet, label="drawing judgments") as progress:
            subsets = study.subsets(jobs=options.jobs, progress=progress)
    with options_refused():
        pair = study.pair(options.pair) if options.pair else ()
    findings = study.findings(plan=plan, deviations=deviations, command=typed)
    return _Answer(study=study, findings=findings, pair=pair, pools=pools, subsets=subsets, others=others)


def _choices(study: DepthStudy, options: DepthOptions, plan: Plan) -> PlanChoices:
    """Return the choices in force, to compare them with a plan."""
    return PlanChoices(
        measures=tuple(name_of(one.measure) for one in study.measures), depths=study.depths,
        test=options.test, correction=study.procedure.correction, alpha=options.alpha,
        policies=asdict(study.policies),
        judgments=planned_judgments(plan, options.qrels, options.qrels_format, study.policies),
    )  # fmt: skip


# -- output --------------------------------------------------------------------------------------


def _tables(found: _Answer, options: DepthOptions) -> list[Table]:
    study, names = found.study, found.study.names_at_reference()
    if options.format_name in PEOPLE:
        shown = [tables.people_table(one, title=name) for name, one in _collections(found, options)]
        shown += tables.pair_tables(found.pair, study.depths)
        shown += tables.run_tables(study) if options.each_run else []
        shown += tables.volatility_tables(study) if options.volatility else []
        shown += [tables.ordering_table(study)] if options.agreement else []
        shown += [tables.weights_table(study)] if options.weights else []
        shown += [tables.pools_table(found.pools, names)] if found.pools is not None else []
        shown += [tables.subsets_table(found.subsets, names)] if found.subsets is not None else []
        return shown
    facts = tables.facts(study, found.findings)
    if len(options.views) == 1:
        return [replace(_tidy(options.views[0], found, options), facts=facts)]
    for view in options.views:
        facts[view] = _tidy(view, found, options).rows()
    if found.others:
        both = _collections(found, options)
        return [replace(tables.tidy_collections(both, every_k=options.each_depth), facts=facts)]
    return [replace(tables.tidy_table(study, every_k=options.each_depth), facts=facts)]


def _collections(found: _Answer, options: DepthOptions) -> list[tuple[str, DepthStudy]]:
    """Return every study with the name of its collection, which is empty if there is only one."""
    return [(plain_name(options.qrels) if found.others else "", found.study), *found.others]


def _tidy(view: str, found: _Answer, options: DepthOptions) -> Table:
    """Return the table of a view for programs."""
    study, every_k = found.study, options.each_depth
    if found.pools is not None and view == "pools":
        return tables.tidy_fewer(found.pools, study.names_at_reference())
    if found.subsets is not None and view == "subsets":
        return tables.tidy_fewer(found.subsets, study.names_at_reference())
    if view == "pair":
        return tables.tidy_pair(found.pair, None if every_k else study.depths)
    if view == "each_run":
        return tables.tidy_frame(study.run_frame if every_k else study.interval_frame)
    if view == "volatility":
        return tables.tidy_volatility(study, every_k=every_k)
    views = {
        "agreement": tables.tidy_orderings,
        "weights": tables.tidy_weights,
    }  # fmt: skip
    return views[view](study)
