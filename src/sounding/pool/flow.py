"""Run `sounding pool`: check the options, choose documents or replay or look ahead, write the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.data.finding import find_runs
from sounding.data.writing import qrels_template
from sounding.measures import parse_measures
from sounding.pool import aimed_tables, sentences, tables
from sounding.pool.aimed import AIMED
from sounding.pool.charts import replay_chart, size_chart
from sounding.pool.command import LINES, QRELS, PoolingOptions
from sounding.pool.foresight import Foresight
from sounding.pool.pooling import find_kind, pool
from sounding.pool.result import Pooling
from sounding.render.save import require_suffix, save
from sounding.render.tables import Answer
from sounding.selection.samples import check_rate, parse_strata
from sounding.selection.strategies import Kind
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    PEOPLE,
    bars_for,
    options_refused,
    read_info,
    remark,
    say_answer,
    suggest,
    write_answer,
    write_text,
)

SUFFIXES = {".tsv": "tsv", ".qrels": QRELS}  # in addition to the suffixes common to all commands
PLAIN = ("", ".txt", ".lines")  # suffixes of plain lines; a replay writes qrels there
WRITTEN = {LINES: "lines of topic and doc", QRELS: "TREC qrels", "table": "a table"}  # format -> description
TEMPLATE = "to-judge.qrels"  # the file that the next command suggests
WHO = ("info", "depth", "runs_per_group", "policy", "run_format", "seconds")  # options that define the pool
WHICH = (
    "strategy",
    "budget",
    "batches",
    "rate",
    "strata",
    "p",
    "level",
    "labels",
    "judges",
    "measures",
    "pair",
    "seed",
)  # options that choose from it
JUDGED = ("qrels", "pool_depth", "qrels_format")  # existing judgments


def run(options: PoolingOptions) -> None:
    """Choose what to judge, replay judging, or show what a pool costs and covers."""
    kinds = _strategies(options)
    if problems := [*_conflicts(kinds, options), *_idle_options(kinds, options)]:
        raise click.UsageError(problems[0])
    if options.rate is not None:
        check_rate(options.rate)
    if options.strata is not None:
        parse_strata(options.strata)
    if options.chart is not None:
        require_suffix(options.chart)
    if options.measures:
        with options_refused():
            parse_measures(options.measures)
    options = replace(options, format_name=_format_of(kinds, options))
    result = pool(
        find_runs(options.runs), depth=_typed_depth(options),
        info=read_info(() if options.info is None else (options.info,), options.only), only=options.only,
        per_group=options.runs_per_group, strategy=[kind.name for kind in kinds], budget=options.budget,
        method=options.method,
        batches=options.batches, rate=options.rate, strata=options.strata, p=options.p, level=options.level,
        labels=list(options.labels) or None, judges=options.judges, measures=options.measures or None,
        pair=options.pair, seed=options.seed, qrels=options.qrels, pool_depth=options.pool_depth,
        simulate=options.simulate, summary=options.summary or options.max_residual is not None,
        policies=options.policies(),
        qrels_format=options.qrels_format, run_format=options.run_format, jobs=options.jobs,
        bars=bars_for(options),
    )  # fmt: skip
    if result.aimed is not None:
        _write_aimed(result, options)
    elif result.foresight is not None:
        _write_foresight(result, result.foresight, options)
    elif options.simulate:
        _write_replays(result, options)
    else:
        _write_next(result, options)


def _typed_depth(options: PoolingOptions) -> int | None:
    return options.depth if typed("depth") else None


# -- what is asked for -----------------------------------------------------------------------------


def _strategies(options: PoolingOptions) -> list[Kind]:
    """Return the strategies; by default depth, or rank if only a part of the pool is requested."""
    if options.strategy is not None:
        return [find_kind(name.strip()) for name in options.strategy.split(",")]
    return [find_kind("rank" if options.budget or options.batches else "depth")]


def _looking_ahead(options: PoolingOptions) -> list[str]:
    """Return the options that ask for a forecast instead of documents."""
    return ["summary"] * options.summary + ["max-residual"] * (options.max_residual is not None)


def _conflicts(kinds: Sequence[Kind], options: PoolingOptions) -> Iterator[str]:
    """Yield errors for options that exclude each other."""
    if AIMED in kinds:
        yield from _aimed_conflicts(kinds, options)
        return
    ahead = _looking_ahead(options)
    if len(ahead) > 1:
        yield "--max-residual and --summary do not go together; use one of them"
    if options.only and not ahead:
        yield "--only limits the runs of a summary, and no pool; add --summary"
    if options.simulate and options.qrels is None:
        yield "--simulate replays judgments: add --qrels FILE"
    if len(kinds) > 1 and not options.simulate:
        yield "several strategies can only be compared by replaying judgments: add --qrels FILE --simulate"
    idle = ["batches", "budget", "simulate", "strategy", *(["qrels"] if options.max_residual else [])]
    for name in idle:
        if ahead and getattr(options, name) not in (None, False, "depth"):
            yield f"--{name} changes nothing with --{ahead[0]}; leave one out"
    for kind in kinds:
        for name in ("budget", "batches"):
            if kind.name == "depth" and getattr(options, name) and not options.simulate:
                yield (
                    f"--{name} needs the most promising documents first, but the strategy depth sorts them by"
                    " doc id; use --strategy rank, rrf or move-to-front"
                )
        if kind.sampled and options.budget:
            yield "a sample is judged as a whole; use a lower --rate instead of --budget"
        if kind.sampled and options.batches:
            yield "a sample is judged as a whole; leave --batches out"
    if options.chart is not None and not (options.summary or options.simulate):
        yield "--chart draws what --summary or --simulate shows; add one of them"


def _aimed_conflicts(kinds: Sequence[Kind], options: PoolingOptions) -> Iterator[str]:
    """Yield errors for options that do not go with a sample for `estimate`."""
    if not options.budget:
        yield f"{AIMED.name} needs to know how many documents you can judge: add --budget 300, for example"
    for name in ("simulate", "batches", "max_residual", "chart", "only"):
        if getattr(options, name):
            yield f"--{name.replace('_', '-')} does not go with --strategy {AIMED.name}; leave it out"
    if len(kinds) > 1:
        yield f"{AIMED.name} cannot be compared by replaying judgments; give it alone"
    if options.judges and not options.labels:
        yield "--judge names the machine of --labels FILE; add the file"


def _idle_options(kinds: Sequence[Kind], options: PoolingOptions) -> Iterator[str]:
    """Yield errors for options that would have no effect or are out of range."""
    ahead = _looking_ahead(options)
    named = f"the strateg{'ies' if len(kinds) > 1 else 'y'} {', '.join(kind.name for kind in kinds)}"
    used = {name for kind in kinds for name in kind.parameters}
    if AIMED in kinds:
        used, ahead = {"level"}, []
    else:
        for name, spelled in (
            ("labels", "--labels"), ("judges", "--judge"), ("measures", "-m"), ("pair", "--pair")
        ):  # fmt: skip
            if getattr(options, name):
                yield f"{spelled} changes nothing with {named}; it is for --strategy {AIMED.name}"
    used |= {"p"} if ahead else set()
    used |= {"level"} if options.simulate else set()
    if options.method is not None and not {kind.name for kind in kinds} & {"mtc"}:
        yield f"--method changes nothing with {named}; it is for --strategy mtc"
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
            yield f"--{name.replace('_', '-')} is about judgments: add --qrels FILE"
    if options.seconds <= 0:
        yield f"--seconds {options.seconds:g}: expected more than 0"
    for value, dashes in ((options.p, "-p"), (options.max_residual, "--max-residual")):
        if value is not None and not 0 < value < 1:
            yield f"{dashes} {value:g}: expected a number between 0 and 1"


def _format_of(kinds: Sequence[Kind], options: PoolingOptions) -> str:
    """Return the output format: as asked for, by the suffix of the output, or lines."""
    ahead = bool(_looking_ahead(options))
    if AIMED in kinds:
        return _aimed_format(options)
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
        raise click.UsageError("only documents to judge can be printed as lines; use another --format")
    if chosen == QRELS and ahead:
        raise click.UsageError("qrels list documents, and a summary has none; use another --format")
    if chosen == QRELS and options.simulate and "," in (options.strategy or ""):
        raise click.UsageError("qrels hold the judgments of one strategy; name one, or write a table")
    return chosen


def _aimed_format(options: PoolingOptions) -> str:
    """Return the format of a sample for `estimate`, which must hold the probabilities."""
    suffix = "" if options.output is None else options.output.suffix.lower()
    chosen = options.format_name
    if not typed("format_name") and chosen == "table" and not options.summary:
        chosen = SUFFIXES.get(suffix, "tsv")
    if chosen in (LINES, QRELS):
        raise click.UsageError(
            "lines and qrels have no place for the probabilities that estimate needs; write -o FILE.tsv"
        )
    return chosen


# -- what is written -------------------------------------------------------------------------------


def _notes(result: Pooling, options: PoolingOptions) -> list[str]:
    return sentences.pool_notes(result, asked=_typed_depth(options), all_notes=options.notes)


def _write_foresight(result: Pooling, foresight: Foresight, options: PoolingOptions) -> None:
    """Write what the pool costs and covers, or how deep it has to be."""
    notes = _notes(result, options)
    if options.max_residual is not None:
        depth = foresight.depth_for_residual(options.max_residual)
        words = ("--summary",) if depth is None else ("--depth", str(depth), "-o", TEMPLATE)
        answer = Answer(
            sentences.residual_headline(foresight, options.max_residual, options.seconds),
            [tables.residual_table(foresight, options.max_residual, options.seconds)],
            notes,
            suggest("pool", *words, keep=("info", "runs_per_group", "policy", "run_format", "qrels")),
        )
        _write(answer, options)
        return
    left = result.size - result.judged
    following = suggest("pool", "-o", TEMPLATE, keep=(*WHO, *JUDGED)) if left else None
    headline = sentences.summary_headline(result, foresight, options.seconds)
    notes = [*sentences.coverage_notes(foresight, options.seconds), *notes]
    if options.format_name in PEOPLE:
        shown = tables.summary_tables(foresight, options.seconds)
    else:
        shown = [tables.run_table(foresight)]
    _write(Answer(headline, shown, notes, following), options)
    if options.chart is not None:
        save(size_chart(foresight), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _write_aimed(result: Pooling, options: PoolingOptions) -> None:
    """Write the sample to judge, or with --summary what to expect of samples of several sizes."""
    if result.aimed is None:  # pragma: no cover - the caller asked
        raise AssertionError
    following = None
    if options.summary:
        table = aimed_tables.forecast_table(result.aimed, options.seconds)
        following = suggest("pool", "-o", "sample.tsv", keep=(*WHO, *WHICH, *JUDGED))
    else:
        table = aimed_tables.sample_table(result)
        if options.output is not None:
            words = [str(options.output)]
            following = suggest("estimate", first=words, keep=("labels", "judges", "measures", "level"))
    facts = tables.pool_facts(result)
    notes = [*aimed_tables.notes(result.aimed, template=not options.summary), *_notes(result, options)]
    answer = Answer(
        aimed_tables.headline(result.aimed, options.seconds), [replace(table, facts=facts)], notes, following
    )
    _write(answer, options)


def _write_next(result: Pooling, options: PoolingOptions) -> None:
    """Write the documents to judge next."""
    if not result.picks and result.judged:
        for note in _notes(result, options):
            remark(note, quiet=options.quiet)
        raise DataError(
            f"nothing is left to judge: {options.qrels} has all {plural(result.judged, 'document')} of the"
            " pool; add documents with a greater --depth or more runs, or replay the judgments with"
            " --simulate"
        )
    answer = Answer(
        sentences.headline(result, options.seconds),
        [replace(tables.pick_table(result.pool, result.picks), facts=tables.pool_facts(result))],
        [*_advice(result, options), *_notes(result, options)],
        _following(result, options),
    )
    if options.format_name not in (LINES, QRELS):
        _write(answer, options)
        return
    lines = options.format_name == LINES
    documents = tables.lines(result.pool, result.picks) if lines else qrels_template(result.documents())
    write_text(documents, options.output)
    say_answer(answer, options)


def _advice(result: Pooling, options: PoolingOptions) -> list[str]:
    """Return advice for after the documents are judged."""
    (kind,) = result.kinds
    advice = []
    if options.format_name == QRELS:
        existing = options.qrels is not None
        advice = [sentences.APPEND.format(qrels=options.qrels) if existing else sentences.FILL_IN]
    if kind.adaptive:
        advice.append(sentences.LEARNS.format(name=kind.name))
    if kind.sampled and not result.judged:
        advice.append(sentences.MAKE_QRELS)
    return advice


def _following(result: Pooling, options: PoolingOptions) -> str | None:
    """Return the next command: write a template, or list what is unjudged after a template is filled in."""
    if options.format_name != QRELS and options.output is not None and result.kinds[0].name == "depth":
        return suggest("pool", "--summary", keep=(*WHO, *JUDGED))  # the list is written: what it covers
    if options.format_name != QRELS:
        writable = all(len(text.split()) == 1 for row in result.documents() for text in row)
        return suggest("pool", "-o", TEMPLATE, keep=(*WHO, *WHICH, *JUDGED)) if writable else None
    (kind,) = result.kinds
    if options.qrels is not None or options.output is None or kind.sampled:
        return None
    return suggest("pool", "--qrels", str(options.output), keep=(*WHO, *WHICH))


def _write_replays(result: Pooling, options: PoolingOptions) -> None:
    """Write what strategies would have found: a table for people, the documents of one for programs."""
    if not result.judged:
        raise DataError(f"{options.qrels}: no document of the pool is judged; nothing to replay")
    first, *others = result.replays.values()
    compared = options.format_name in PEOPLE or bool(others)
    if result.samples and not others:
        notes = sentences.sample_notes(first, result.judgments)
    else:
        notes = sentences.unknown_notes(result.replays, documents=not compared)
    table = tables.replay_table(result.replays, result.size) if compared else tables.judged_table(result)
    answer = Answer(
        sentences.replay_headline(result.replays, result.size),
        [replace(table, facts=tables.pool_facts(result))],
        [*notes, *_notes(result, options)],
        _after_replay(result, str(options.qrels)),
    )
    if options.format_name == QRELS:
        write_text(tables.trec_lines(table), options.output)
        say_answer(answer, options)
    else:
        _write(answer, options)
    if options.chart is not None:
        save(replay_chart(result.replays), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _after_replay(result: Pooling, qrels: str) -> str | None:
    """Return the command that shows how soon the best strategy ranks the runs correctly."""
    needed = sentences.judgments_needed(result.replays)
    if not needed or len(result.contributors.contributing) < 2:
        return None
    best = min(needed, key=lambda name: needed[name])
    return None if best in result.samples else suggest("simulate", "--strategy", best, first=[qrels])


def _write(answer: Answer, options: PoolingOptions) -> None:
    """Write an answer in the format that was asked for."""
    if options.format_name == "tsv":
        write_text(tables.tab_separated(answer.tables[0]), options.output)
        say_answer(answer, options)
    else:
        write_answer(answer, options)
