"""What `sounding depth` does: read the files, look deeper and deeper, write what was found."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import click

from sounding.core.errors import DataError
from sounding.core.text import fill_paragraph
from sounding.data.finding import find_runs
from sounding.depth import tables
from sounding.depth.charts import study_charts
from sounding.depth.command import DepthOptions
from sounding.depth.fewer_judgments import DRAWS, SHARES, JudgmentSubsets, PoolDepths
from sounding.depth.intervals import PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import Finding, heeded, not_drawn
from sounding.depth.study import DEFAULT_MEASURES, chosen_measures, depth, parsed_reference
from sounding.depth.volatility import Agreeing
from sounding.measures.cumulative import name_of
from sounding.render.save import require_suffix, save, together
from sounding.render.tables import Table
from sounding.statistics.pairwise import Procedure, find_test
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    PIPED_WIDTH,
    options_refused,
    policies_of,
    progress_bar,
    read_info,
    remark,
    typed_command,
    write_tables,
)
from sounding.terminal.plan_file import Plan, PlanChoices, read_plan

SHOWN_RUNS = 8  # that the repeated command names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """All that was asked for."""

    study: DepthStudy
    findings: tuple[Finding, ...]
    pair: tuple[PairOverDepth, ...]
    pools: PoolDepths | None
    subsets: JudgmentSubsets | None


def run(options: DepthOptions) -> None:
    """Study the runs over depth; print the tables that are asked for, and draw the charts."""
    typed = typed_command(click.get_current_context(), SHOWN_RUNS)
    plan = None if options.preregistered is None else read_plan(options.preregistered)
    if plan is not None:
        options = _planned(options, plan)
    found = _answer(options, plan, typed)
    write_tables(_tables(found, options), options.format_name, options.output)
    if options.chart is not None:
        save(together(list(study_charts(found.study, found.pair, found.pools, found.subsets))), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)
        agreeing = found.study.agreeing
        if agreeing.is_distance:
            remark(not_drawn(agreeing.coefficient), quiet=options.quiet)
    if options.format_name in NO_NOTES:  # no room for what to beware of, and the policies
        policies = f"policies: {found.study.policies.describe()}"
        for text in [*found.study.notes, *heeded(found.findings), policies]:
            remark(text, quiet=options.quiet)


# -- what is asked for -----------------------------------------------------------------------------


def _planned(options: DepthOptions, plan: Plan) -> DepthOptions:
    """The options, with what the plan fixes and the command line does not say."""
    known = {field.name for field in fields(options)}
    fixed: dict[str, Any] = {
        key: ",".join(map(str, value)) if key == "depths" else value
        for key, value in plan.choices.made().items()
        if key in known and not typed(key)
    }
    return replace(options, **fixed)


def _procedure(options: DepthOptions, seed: int) -> Procedure:
    """How pairs are tested: each by itself, unless a correction is asked for."""
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
    """Refuse options that would change nothing, and two tables where there is room for one."""
    if options.chart is not None:
        require_suffix(options.chart)
    if options.pools and options.pool_depth:
        raise DataError("--pools cuts the pool itself; leave --pool-depth out")
    if options.format_name in PEOPLE:
        if options.each_depth:
            raise DataError("--each-depth is for programs; give --format csv, json, jsonl or parquet as well")
        return
    views = [f"--{name.replace('_', '-')}" for name in options.views]
    if options.each_depth and views not in (["--each-run"], ["--pair"]):
        views += ["--each-depth"]
    if len(views) > 1 and (options.format_name != "json" or options.each_depth):
        raise DataError(f"{options.format_name} holds one table; give one of {' and '.join(views)}")
    if options.format_name in NO_NOTES and options.chart is None:
        _refuse_idle(options)


def _refuse_idle(options: DepthOptions) -> None:
    """Refuse what rows alone do not show: how orderings agree between depths, and what is stable."""
    for name, idle in (("threshold", True), ("coefficient", not options.volatility)):
        if idle and typed(name):
            other = " --volatility or" if name == "coefficient" else ""
            raise DataError(
                f"--{name} changes nothing in {options.format_name} without{other} --chart; json and"
                " tables say from where on the ordering is stable"
            )


# -- what is found ---------------------------------------------------------------------------------


def _answer(options: DepthOptions, plan: Plan | None, typed: str) -> _Answer:
    with options_refused():  # before files are read
        policies = policies_of(options)
        procedure = _procedure(options, policies.seed)
        depths, pool_depths = _numbers("depths", options.depths), _numbers("pools", options.pools)
        _check_views(options)
        chosen_measures(options.measures or DEFAULT_MEASURES, policies)
        parsed_reference(options.reference)
        Agreeing(coefficient=options.coefficient, p=options.rbo_p, threshold=options.threshold)
    info, files = read_info(options.info), find_runs(options.runs)
    with progress_bar(len(files), quiet=options.quiet, label="reading runs") as progress:
        study = depth(
            options.qrels, files, options.measures or DEFAULT_MEASURES, depths=depths,
            reference=options.reference, procedure=procedure, coefficient=options.coefficient,
            rbo_p=options.rbo_p, threshold=options.threshold, info=info, pool_depth=options.pool_depth,
            keep_lists=bool(pool_depths or options.subsets), policies=policies,
            qrels_format=options.qrels_format, run_format=options.run_format, jobs=options.jobs,
            progress=progress,
        )  # fmt: skip
    deviations = [] if plan is None else plan.check(_choices(study, options))
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
    return _Answer(study=study, findings=findings, pair=pair, pools=pools, subsets=subsets)


def _choices(study: DepthStudy, options: DepthOptions) -> PlanChoices:
    """The choices that were made in the end, to be held against a plan."""
    return PlanChoices(
        measures=tuple(name_of(one.measure) for one in study.measures), depths=study.depths,
        test=options.test, correction=study.procedure.correction, alpha=options.alpha,
        policies=asdict(study.policies),
    )  # fmt: skip


# -- what is shown ---------------------------------------------------------------------------------


def _tables(found: _Answer, options: DepthOptions) -> list[Table]:
    study, names = found.study, found.study.names_at_reference()
    if options.format_name in PEOPLE:
        shown = [tables.people_table(study, () if options.quiet else found.findings)]
        shown += tables.pair_tables(found.pair, study.depths)
        shown += tables.run_tables(study) if options.each_run else []
        shown += tables.volatility_tables(study) if options.volatility else []
        shown += [tables.ordering_table(study)] if options.agreement else []
        shown += [tables.weights_table(study)] if options.weights else []
        shown += [tables.pools_table(found.pools, names)] if found.pools is not None else []
        shown += [tables.subsets_table(found.subsets, names)] if found.subsets is not None else []
        terminal = options.output is None and sys.stdout.isatty()
        return shown if terminal or options.format_name != "table" else [_filled(table) for table in shown]
    facts = tables.facts(study, found.findings)
    if len(options.views) == 1:
        return [replace(_tidy(options.views[0], found, options), facts=facts)]
    for view in options.views:
        facts[view] = _tidy(view, found, options).rows()
    return [replace(tables.tidy_table(study, every_k=options.each_depth), facts=facts)]


def _tidy(view: str, found: _Answer, options: DepthOptions) -> Table:
    """The table of a view, as programs get it."""
    study, every_k = found.study, options.each_depth
    if found.pools is not None and view == "pools":
        return tables.tidy_fewer(found.pools, study.names_at_reference())
    if found.subsets is not None and view == "subsets":
        return tables.tidy_fewer(found.subsets, study.names_at_reference())
    if view == "pair":
        return tables.tidy_pair(found.pair, None if every_k else study.depths)
    if view == "each_run":
        return tables.tidy_frame(study.run_frame if every_k else study.interval_frame)
    views = {
        "volatility": tables.tidy_volatility, "agreement": tables.tidy_orderings,
        "weights": tables.tidy_weights,
    }  # fmt: skip
    return views[view](study)


def _filled(table: Table) -> Table:
    """The table with its notes in lines that a pipe or a file shows whole."""
    return replace(table, notes=[fill_paragraph(note, PIPED_WIDTH) for note in table.notes])
