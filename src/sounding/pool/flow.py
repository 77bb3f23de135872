"""What `sounding pool` does: check the options, choose or replay or look ahead, write what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.data.finding import find_runs
from sounding.data.run_info import read_run_info
from sounding.pool import sentences, tables
from sounding.pool.charts import replay_chart, summary_chart
from sounding.pool.command import LINES, QRELS, PoolingOptions
from sounding.pool.foresight import Foresight
from sounding.pool.pooling import pool
from sounding.pool.result import Pooling
from sounding.render.save import require_suffix, save
from sounding.render.tables import Table
from sounding.selection.samples import check_rate, parse_strata
from sounding.selection.strategies import Kind, find_strategy
from sounding.terminal.declare import typed
from sounding.terminal.options import PEOPLE, bars_for, remark, write_tables, write_text

SUFFIXES = {".tsv": "tsv", ".qrels": QRELS}  # beside those that all commands know
PLAIN = ("", ".txt", ".lines")  # suffixes of plain lines; a replay writes qrels there
WRITTEN = {LINES: "lines of topic and doc", QRELS: "TREC's qrels", "table": "a table"}  # by format


def run(options: PoolingOptions) -> None:
    """Choose what to judge, replay judging, or say what a pool will cost and cover."""
    kinds = _strategies(options)
    if problems := [*_conflicts(kinds, options), *_without_use(kinds, options)]:
        raise click.UsageError(problems[0])
    if options.rate is not None:
        check_rate(options.rate)
    if options.strata is not None:
        parse_strata(options.strata)
    if options.chart is not None:
        require_suffix(options.chart)
    options = replace(options, format_name=_format_of(options))
    result = pool(
        find_runs(options.runs), depth=options.depth,
        info=None if options.info is None else read_run_info(options.info),
        per_group=options.runs_per_group, strategy=[kind.name for kind in kinds], budget=options.budget,
        batches=options.batches, rate=options.rate, strata=options.strata, p=options.p, level=options.level,
        seed=options.seed, qrels=options.qrels, pool_depth=options.pool_depth, simulate=options.simulate,
        summary=options.summary or options.max_residual is not None, policies=options.policies(),
        qrels_format=options.qrels_format, run_format=options.run_format, jobs=options.jobs,
        bars=bars_for(options),
    )  # fmt: skip
    contributing = result.contributors.contributing
    count = sentences.contributing_runs(int(contributing.sum()), len(contributing), result.contributors.how)
    _say([*result.contributors.remarks, count], options)
    cut = [] if result.cut is None else [result.cut]
    if result.foresight is not None:
        _write_foresight(result, result.foresight, cut, options)
        return
    if options.simulate:
        _say([*sentences.pool_remarks(result, options.seconds), *cut], options)
        _write_replays(result, options)
    else:
        _say([*cut, *sentences.pool_remarks(result, options.seconds, result.judged)], options)
        _write_next(result, options)


def _say(remarks: Sequence[str], options: PoolingOptions) -> None:
    for text in remarks:
        remark(text, quiet=options.quiet)


# -- what is asked for -----------------------------------------------------------------------------


def _strategies(options: PoolingOptions) -> list[Kind]:
    """Return the strategies that are named; by rank, which is said, where only a part is taken."""
    if options.strategy is not None:
        return [find_strategy(name.strip()) for name in options.strategy.split(",")]
    some = [f"--{name}" for name in ("budget", "batches") if getattr(options, name)]
    if some:
        remark(f"strategy: rank, for {some[0]} takes the best ranks first", quiet=options.quiet)
    return [find_strategy("rank" if some else "depth")]


def _looking_ahead(options: PoolingOptions) -> list[str]:
    """Return the options that ask for a forecast instead of documents."""
    return ["summary"] * options.summary + ["max-residual"] * (options.max_residual is not None)


def _conflicts(kinds: Sequence[Kind], options: PoolingOptions) -> Iterator[str]:
    """What does not go together."""
    ahead = _looking_ahead(options)
    if len(ahead) > 1:
        yield "--max-residual and --summary do not go together; give one"
    if options.simulate and options.qrels is None:
        yield "--simulate replays judgments: give them with --qrels"
    if len(kinds) > 1 and not options.simulate:
        yield "several strategies are compared on known judgments: add --qrels and --simulate"
    idle = ["batches", "budget", "simulate", "strategy", *(["qrels"] if options.max_residual else [])]
    for name in idle:
        if ahead and getattr(options, name) not in (None, False, "depth"):
            yield f"--{name} changes nothing with --{ahead[0]}; leave one out"
    for kind in kinds:
        for name in ("budget", "batches"):
            if kind.name == "depth" and getattr(options, name) and not options.simulate:
                yield (
                    f"--{name} takes the most promising documents first, and the strategy depth has them by"
                    " doc id; use --strategy rank, rrf or move-to-front"
                )
        if kind.sampled and options.budget:
            yield "a sample is judged as a whole, so --budget has no place; lower its rate"
        if kind.sampled and options.batches:
            yield "a sample is drawn at random and judged as a whole; leave --batches out"
    if options.chart is not None and not (options.summary or options.simulate):
        yield "--chart draws what --summary or --simulate shows; add one of them"


def _without_use(kinds: Sequence[Kind], options: PoolingOptions) -> Iterator[str]:
    """Options that would change nothing."""
    ahead = _looking_ahead(options)
    named = f"the strateg{'ies' if len(kinds) > 1 else 'y'} {', '.join(kind.name for kind in kinds)}"
    used = {name for kind in kinds for name in kind.parameters}
    used |= {"p"} if ahead else set()
    used |= {"level"} if options.simulate else set()
    for name, spelled in (("rate", "--rate"), ("strata", "--strata"), ("level", "--level"), ("p", "-p")):
        if getattr(options, name) is not None and name not in used:
            yield f"{spelled} changes nothing with {named}"
    if typed("seed") and ahead:
        yield f"--seed changes nothing with --{ahead[0]}"
    if typed("seed") and not (options.batches or any(kind.drawn for kind in kinds)):
        yield f"--seed changes nothing with {named}: nothing is drawn"
    if typed("depth") and options.max_residual is not None:
        yield "--max-residual finds the depth; leave --depth out"
    for name in ("qrels_format", "pool_depth"):
        if typed(name) and options.qrels is None:
            yield f"--{name.replace('_', '-')} is about judgments: give them with --qrels"
    if options.seconds <= 0:
        yield f"--seconds {options.seconds:g}: expected more than 0"
    for value, dashes in ((options.p, "-p"), (options.max_residual, "--max-residual")):
        if value is not None and not 0 < value < 1:
            yield f"{dashes} {value:g}: expected a number between 0 and 1"


def _format_of(options: PoolingOptions) -> str:
    """Return the layout: lines unless a table was asked for, or what the suffix of the output says."""
    ahead = bool(_looking_ahead(options))
    replayed = options.simulate and options.output is not None
    chosen = options.format_name
    if not typed("format_name") and chosen == "table":
        suffix = "" if options.output is None else options.output.suffix.lower()
        chosen = SUFFIXES.get(suffix, QRELS if replayed else LINES)
        if chosen == LINES and (ahead or options.simulate):
            chosen = "table"
        if suffix not in (*SUFFIXES, *PLAIN):
            written = f"{options.output}: no format has the suffix {suffix}; written as {WRITTEN[chosen]}"
            remark(written, quiet=options.quiet)
    if chosen == LINES and (ahead or options.simulate):
        raise click.UsageError("only what is to be judged is printed as lines; use another --format")
    if chosen == QRELS and ahead:
        raise click.UsageError("qrels hold documents, which a summary has none of; use another --format")
    if chosen == QRELS and options.simulate and "," in (options.strategy or ""):
        raise click.UsageError("qrels hold what one strategy had judged; name one, or write a table")
    return chosen


# -- what is written -------------------------------------------------------------------------------


def _write_foresight(
    result: Pooling, foresight: Foresight, cut: Sequence[str], options: PoolingOptions
) -> None:
    """Print what the pool would cost and cover, or how deep it has to be."""
    _say(cut, options)
    if options.max_residual is not None:
        _write(tables.residual_table(foresight, options.max_residual, options.seconds), options)
        return
    _say(sentences.pool_remarks(result, options.seconds, result.judged), options)
    if options.format_name in PEOPLE:
        write_tables(tables.summary_tables(foresight, options.seconds), options.format_name, options.output)
    else:
        _write(tables.run_table(foresight), options)
    if options.chart is not None:
        save(summary_chart(foresight), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _write_next(result: Pooling, options: PoolingOptions) -> None:
    """Print what is to be judged next."""
    if not result.picks and result.judged:
        raise DataError(
            f"nothing is left to judge: {options.qrels} holds all {plural(result.judged, 'document')} of the"
            " pool; a greater --depth or more runs add documents, and --simulate replays the judgments"
        )
    blank = options.format_name == QRELS
    _say(
        sentences.next_remarks(result, options.seconds, given=options.qrels is not None, blank=blank), options
    )
    if options.format_name == LINES:
        write_text(tables.lines(result.pool, result.picks), options.output)
    elif blank:
        write_text(tables.trec_lines(tables.blank_table(result.pool, result.picks)), options.output)
    else:
        _write(tables.pick_table(result.pool, result.picks), options, result)


def _write_replays(result: Pooling, options: PoolingOptions) -> None:
    """Print what strategies would have found: a table for people, the documents of one for programs."""
    if not result.judged:
        raise DataError(f"{options.qrels}: no document of the pool is judged; nothing to replay")
    first, *others = result.replays.values()
    for_people = options.format_name in PEOPLE
    if result.samples and not others:
        _say(sentences.sample_remarks(first, result.judgments), options)
    elif not for_people:  # tables for people have it in a note
        _say(sentences.unknown_remarks(result.replays), options)
    if for_people or others:
        _write(tables.replay_table(result.replays, result.size), options, result)
    elif options.format_name == QRELS:
        write_text(tables.trec_lines(tables.judged_table(result)), options.output)
    else:
        _write(tables.judged_table(result), options, result)
    if options.chart is not None:
        save(replay_chart(result.replays), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _write(table: Table, options: PoolingOptions, result: Pooling | None = None) -> None:
    """Print a table or write it to a file; json says how documents were chosen."""
    if result is not None:
        table = replace(table, facts={**tables.pool_facts(result), **table.facts})
    if options.format_name == "tsv":
        write_text(tables.tab_separated(table), options.output)
    else:
        write_tables([table], options.format_name, options.output)
