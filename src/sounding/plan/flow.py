"""What `sounding plan` does: check the options, make the plan, write its tables and charts."""

from __future__ import annotations

from dataclasses import replace

import click

from sounding.data.finding import find_runs
from sounding.data.formats import read_qrels
from sounding.plan import sentences, tables
from sounding.plan.charts import plan_chart
from sounding.plan.command import NOTHING, PlanOptions
from sounding.plan.planning import VIEWS, View, plan
from sounding.plan.result import JudgingPlan
from sounding.render.save import require_suffix, save
from sounding.render.tables import Table
from sounding.selection.mtc.session import session_parameters
from sounding.terminal.options import (
    PEOPLE,
    bars_for,
    options_refused,
    qrels_first,
    read_info,
    remark,
    write_tables,
)


def run(options: PlanOptions) -> None:
    """Say what to judge next, and how sure the order of the runs is."""
    _check(options)
    judgments = None
    if options.qrels != NOTHING:
        with qrels_first(options.qrels):
            judgments = read_qrels(
                options.qrels, format=options.qrels_format, duplicates=options.duplicates, fractional="accept"
            )
    runs = find_runs(options.runs)
    if len(runs) < 2:
        raise click.UsageError(f"{runs[0]} alone makes no pair; give two runs or more to compare")
    result = plan(
        judgments, runs, measure=options.measure,
        depth=options.depth, prior=options.prior, selection=options.selection,
        confidence=options.confidence, draws=options.draws, pair=options.pair or None,
        baseline=options.baseline, top=options.top, open_below=options.open_below, topics=options.topics,
        count=options.count, sure=options.sure, wanted=options.wanted, completions=options.worlds,
        most=options.most, views=_views(options), pool_depth=options.pool_depth,
        info=read_info(options.info), seed=options.seed, policies=options.policies(),
        run_format=options.run_format, jobs=options.jobs, bars=bars_for(options),
    )  # fmt: skip
    if result.unsaid is not None:
        remark(f"whether conclusions hold is not said: {result.unsaid}", quiet=options.quiet)
    write_tables(_tables(result, options), options.format_name, options.output)
    if options.chart is not None:
        save(plan_chart(result), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)
    if options.format_name not in PEOPLE:
        cut = [] if result.cut is None else [result.cut]
        for note in (*sentences.unstated_notes(result.confidence), sentences.truth_note(result), *cut):
            remark(note, quiet=options.quiet)


def _check(options: PlanOptions) -> None:
    """Refuse options that cannot be, before files are read."""
    if options.wanted is not None and not 0.5 < options.wanted < 1:
        raise click.UsageError(f"--to {options.wanted:g}: expected a confidence between 0.5 and 1")
    if options.seconds <= 0:
        raise click.UsageError(f"--seconds {options.seconds:g}: expected more than 0")
    if options.view == "forecast" and options.wanted is None:
        raise click.UsageError("--view forecast needs to know for what: give --to, such as --to 0.95")
    if options.open_below is not None and not 0.5 < options.open_below <= 1:
        raise click.UsageError(f"--below {options.open_below:g}: expected a confidence above 0.5, at most 1")
    if options.pool_depth is not None and options.qrels == NOTHING:
        raise click.UsageError(f"--pool-depth cuts judgments, and with {NOTHING} there are none to cut")
    given = [name for name in ("pair", "baseline", "top", "open_below") if getattr(options, name)]
    if len(given) > 1:
        first, second = (name.removeprefix("open_") for name in given[:2])
        raise click.UsageError(f"--{first} and --{second} say what matters in different ways; give one")
    if options.pair and options.pair[0] == options.pair[1]:
        raise click.UsageError(f"--pair names {options.pair[0]} twice; give two different runs")
    options.check_session()
    with options_refused():
        if options.chart is not None:
            require_suffix(options.chart)
        session_parameters(
            measure=options.measure, depth=options.depth, prior=options.prior, selection=options.selection,
            confidence=options.confidence, draws=options.draws,
        )  # fmt: skip


def _views(options: PlanOptions) -> list[View]:
    """Return the tables that are asked for: all of them for people, one for programs."""
    if options.view is not None:
        return [options.view]
    if options.format_name not in PEOPLE:
        return ["documents"]
    return list(VIEWS if options.wanted is not None else VIEWS[:-1])


def _tables(result: JudgingPlan, options: PlanOptions) -> list[Table]:
    """All tables for people, one for programs."""
    people = options.format_name in PEOPLE
    brief = people and options.view is None
    every = {
        "ranking": lambda: tables.ranking_table(result, people=people),
        "pairs": lambda: tables.pairs_table(result, brief=brief, people=people),
        "documents": lambda: tables.documents_table(result, options.seconds, brief=brief),
        "forecast": lambda: tables.forecast_table(result, options.seconds),
    }
    views = _views(options)
    facts = tables.plan_facts(result, options.seconds)
    without = brief and result.forecasts is None and "forecast" in views
    shown = [replace(every[view](), facts=facts) for view in views if not (without and view == "forecast")]
    if without:
        shown[-1] = replace(shown[-1], notes=[*shown[-1].notes, sentences.NO_FORECAST])
    if result.cut is not None:
        shown[0] = replace(shown[0], notes=[*shown[0].notes, result.cut])
    return shown
