"""Run `sounding simulate`: check the options, replay the judging, write the answer and charts."""

from __future__ import annotations

from dataclasses import replace

import click

from sounding.data.finding import find_runs
from sounding.data.formats import read_qrels
from sounding.render.save import require_suffix, save
from sounding.render.tables import Answer, Table
from sounding.selection.mtc.session import session_parameters
from sounding.simulate import sentences, tables
from sounding.simulate.charts import simulation_chart
from sounding.simulate.command import SimulateOptions
from sounding.simulate.result import Simulation
from sounding.simulate.study import simulate, strategy_kind
from sounding.terminal.options import (
    PEOPLE,
    bars_for,
    options_refused,
    read_info,
    remark,
    suggest,
    with_method,
    write_answer,
)

KEPT = (
    "measure",
    "depth",
    "method",
    "prior",
    "selection",
    "policy",
    "qrels_format",
    "run_format",
)  # for plan
OF_TRIALS = ("curves", "values", "topics", "documents", "differences")  # the views that trials are for


def run(options: SimulateOptions) -> None:
    """Replay judging, and write how soon the ranking of the runs was right."""
    options = with_method(options)
    strategies, seeds, looks = _check(options)
    judgments = read_qrels(
        options.qrels, format=options.qrels_format, duplicates=options.duplicates, fractional="accept"
    )
    runs = find_runs(options.runs)
    if len(runs) < 2:
        raise click.UsageError(f"{runs[0]} alone makes no pair; give at least two runs")
    views, drawn = _views(options), _drawn(options)
    shown = views if options.format_name in (*PEOPLE, "json") else views[:1]
    parts = {*shown, *drawn}
    found = simulate(
        judgments, runs, strategies=strategies if parts & set(OF_TRIALS) else (),
        judgments=options.judgments, at=looks, seeds=seeds,
        pairs=options.pairs if "pairs" in parts else None, leave_out="leave-out" in parts,
        histogram=options.histogram if "histogram" in parts else None, topic=options.topic,
        measure=options.measure, depth=options.depth, prior=options.prior, selection=options.selection,
        confidence=options.confidence, draws=options.draws, sure=options.sure,
        pool_depth=options.pool_depth, info=read_info(options.info, options.only), only=options.only,
        policies=options.policies(),
        run_format=options.run_format, jobs=options.jobs, bars=bars_for(options),
    )  # fmt: skip
    if len(shown) < len(views):
        remark(sentences.curves_alone(options.format_name, views[1:]), quiet=options.quiet)
    means = tables.mean_rows(found.checkpoints)
    curves = found.trials and (options.view in (None, "curves") or options.format_name not in PEOPLE)
    notes = sentences.curve_notes(found, means) if curves else [] if found.cut is None else [found.cut]
    changed = options.policies().changed().replace("fractional accept", "").strip(", ")
    answer = Answer(
        sentences.headline(found, means),
        _tables(found, shown, options),
        [*notes, *([f"Policies: {changed}."] if changed else [])],
        suggest("plan", keep=KEPT),
    )
    write_answer(answer, options)
    if options.chart is not None:
        save(simulation_chart(found, drawn, options.view), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


# -- what is asked for -----------------------------------------------------------------------------


def _check(options: SimulateOptions) -> tuple[list[str], list[int], list[int] | None]:
    """Return strategies, seeds and checkpoints; refuse wrong options before files are read."""
    asked = [name.strip() for text in options.strategies for name in text.split(",")]
    strategies = list(dict.fromkeys(asked))
    with options_refused():
        for name in strategies:
            strategy_kind(name)
    seeds = _numbers("seeds", options.seeds, least=0)
    looks = None if options.at is None else sorted(_numbers("at", options.at, least=1))
    if looks is not None and looks[-1] > options.judgments:
        raise click.UsageError(f"--at {looks[-1]}: only {options.judgments} are made; raise --judgments")
    if options.sets is not None and not options.tables and options.view != "values":
        raise click.UsageError(
            "--sets belongs to the table of values: give --tables or --view values as well"
        )
    if options.view == "pairs" and options.pairs is None:
        raise click.UsageError("--view pairs: say how many pairs of lists with --pairs, such as --pairs 500")
    if options.view == "histogram" and not options.histogram:
        raise click.UsageError("--view histogram: name two runs with --histogram A B")
    if options.topic is not None and not options.histogram:
        raise click.UsageError("--topic belongs to --histogram A B")
    options.check_session()
    with options_refused():
        if options.chart is not None:
            require_suffix(options.chart)
        session_parameters(
            measure=options.measure, depth=options.depth, prior=options.prior, selection=options.selection,
            confidence=options.confidence, draws=options.draws,
        )  # fmt: skip
    return strategies, seeds, looks


def _numbers(name: str, text: str, *, least: int) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) >= least for word in words):
        raise click.UsageError(f"--{name} {text!r}: expected whole numbers from {least}, such as 1,2,3")
    return list(dict.fromkeys(int(word) for word in words))


def _views(options: SimulateOptions) -> list[str]:
    """Return the tables that are asked for."""
    if options.view is not None:
        return [options.view]
    tables_too = ["values", "topics", "differences"] if options.tables else []
    return ["curves", *tables_too, *_extra(options)]


def _extra(options: SimulateOptions) -> list[str]:
    asked = {"pairs": options.pairs, "leave-out": options.leave_out, "histogram": options.histogram}
    return [name for name, value in asked.items() if value]


def _drawn(options: SimulateOptions) -> list[str]:
    """Return what a chart shows, if one is asked for."""
    if options.chart is None:
        return []
    own = [options.view] if options.view in ("curves", "values", "leave-out") else []
    curves = ["curves"] if options.view is None else []
    return [*curves, *own, *(["values"] if options.tables else []), *_extra(options)]


# -- what is written -------------------------------------------------------------------------------


def _tables(found: Simulation, views: list[str], options: SimulateOptions) -> list[Table]:
    """Return all requested tables for people and for json, and one table for other formats."""
    brief = options.format_name in PEOPLE
    made = {view: tables.view_tables(found, view, options.sets, brief=brief) for view in views}
    if brief:
        return [table for parts in made.values() for table in parts]
    first, *more = made.pop(views[0])
    rows = {view: [row for table in parts for row in table.rows()] for view, parts in made.items()}
    return [replace(first, facts={**first.facts, **rows}), *more]
