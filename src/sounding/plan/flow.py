"""Run `sounding plan`: check the options, make the plan, write the answer and its charts."""

from __future__ import annotations

from dataclasses import replace

import click

from sounding.core.errors import DataError
from sounding.data.finding import find_runs
from sounding.data.formats import read_qrels
from sounding.data.writing import qrels_template
from sounding.plan import sentences, tables
from sounding.plan.charts import plan_chart
from sounding.plan.command import NOTHING, QRELS, PlanOptions
from sounding.plan.planning import VIEWS, View, plan
from sounding.plan.result import JudgingPlan
from sounding.relevance.priors import DEFAULT
from sounding.render.save import require_suffix, save
from sounding.render.tables import Answer, Table
from sounding.selection.mtc.sentences import how_note, missing_notes
from sounding.selection.mtc.session import session_parameters
from sounding.terminal.declare import typed
from sounding.terminal.options import (
    PEOPLE,
    bars_for,
    options_refused,
    read_info,
    remark,
    say_answer,
    suggest,
    with_method,
    write_answer,
    write_beginning,
    write_rest,
    write_text,
)

TEMPLATE = "next.qrels"  # the file that the next command suggests
KEPT = (
    "measure", "depth", "method", "prior", "selection", "confidence", "draws", "sure", "policy",
    "qrels_format", "run_format", "pool_depth", "info", "only", "count", "budget", "topics", "baseline",
    "top", "open_below", "seed",
)  # fmt: skip


def run(options: PlanOptions) -> None:
    """Write what to judge next, and how certain the ranking of the runs is."""
    options = with_method(options)
    _check(options)
    judgments = None
    if options.qrels != NOTHING:
        judgments = read_qrels(
            options.qrels, format=options.qrels_format, duplicates=options.duplicates, fractional="accept"
        )
    runs = find_runs(options.runs)
    if len(runs) < 2:
        raise click.UsageError(f"{runs[0]} alone makes no pair; give at least two runs")
    begun = False

    def begin(result: JudgingPlan) -> None:
        nonlocal begun
        begun = _begin(result, options)

    result = plan(
        judgments, runs, measure=options.measure,
        depth=options.depth, prior=options.prior, selection=options.selection,
        confidence=options.confidence, draws=options.draws, pair=options.pair or None,
        baseline=options.baseline, top=options.top, open_below=options.open_below, topics=options.topics,
        count=options.count, budget=options.budget, sure=options.sure, wanted=options.wanted,
        completions=options.worlds,
        most=options.most, views=_views(options), pool_depth=options.pool_depth,
        info=read_info(options.info, options.only), only=options.only, seed=options.seed,
        policies=options.policies(),
        run_format=options.run_format, jobs=options.jobs, bars=bars_for(options), first=begin,
    )  # fmt: skip
    _write(result, options, begun=begun)
    if options.chart is not None:
        save(plan_chart(result), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _begin(result: JudgingPlan, options: PlanOptions) -> bool:
    """Print the headline and the ranking while the rest is simulated; False: nothing was printed."""
    if options.wanted is not None or _views(options)[:1] != ["ranking"]:
        return False
    return write_beginning(Answer(_headline(result, options), _tables(result, options, "ranking")), options)


def _headline(result: JudgingPlan, options: PlanOptions) -> str:
    if result.proof is not None:
        return sentences.proof_headline(result, result.proof, options.seconds)
    proofs = bool({"ranking", "pairs"} & set(_views(options)))
    return sentences.headline(result, options.seconds, proofs=proofs)


def _write(result: JudgingPlan, options: PlanOptions, *, begun: bool) -> None:
    """Write the answer, or the documents as a template to fill in; `begun`: some of it is printed already."""
    template = options.format_name == QRELS
    answer = Answer(
        _headline(result, options), [] if template else _tables(result, options),
        _notes(result, options), _following(result, options),
    )  # fmt: skip
    if begun:
        write_rest(replace(answer, tables=answer.tables[1:]), options)
        return
    if not template:
        write_answer(answer, options)
        return
    if not result.picks:
        raise DataError("nothing is left to judge: there are no documents for a template")
    write_text(qrels_template(result.documents()), options.output)
    say_answer(answer, options)


def _notes(result: JudgingPlan, options: PlanOptions) -> list[str]:
    """Return the notes, the most important first."""
    notes = []
    if options.format_name == QRELS:
        judged = options.qrels != NOTHING
        notes = [sentences.APPEND.format(qrels=options.qrels) if judged else sentences.TEMPLATE]
    notes += sentences.unstated_notes(result)
    notes += sentences.binary_note(result)
    notes += [] if options.wanted is None else sentences.forecast_notes(result)
    notes += [] if result.cut is None else [result.cut]
    # The caveat was measured with the model of runs.
    if len(result.retrieved.runs) > 2 and result.parameters.prior == DEFAULT and _probable(result, options):
        notes.append(sentences.NEIGHBORS)
    notes += missing_notes(result.retrieved)
    notes += sentences.outlook_notes(result)
    if result.unsaid is not None:
        notes.append(f"Whether today's conclusions would hold is not known: {result.unsaid}.")
    if changed := options.policies().changed().replace("fractional accept", "").strip(", "):
        notes.append(f"Policies: {changed}.")
    return [
        *notes,
        sentences.truth_note(result),
        how_note(result.parameters, stated=not result.confidence.reason),
    ]


def _probable(result: JudgingPlan, options: PlanOptions) -> bool:
    return {"ranking", "pairs"} & set(_views(options)) != set() and tables.has_probable_neighbors(result)


def _following(result: JudgingPlan, options: PlanOptions) -> str | None:
    """Return the next command: a template of these documents, or the comparison if none is left."""
    if options.format_name == QRELS:
        return None
    pair = ("--pair", *options.pair) if options.pair else ()
    if not result.picks or (result.proof is not None and not result.proof.judgments):
        judged = options.qrels != NOTHING
        keep = ("measure", "info", "only", "pool_depth", "policy", "qrels_format", "run_format")
        return suggest("compare", *pair, keep=keep) if judged else None
    if result.proof is not None:
        return suggest("plan", *pair, keep=KEPT)
    needed = sentences.judgments_needed(result.forecasts) if result.forecasts else 0
    chosen = typed("count") or options.budget is not None
    budget = ("--budget", str(needed)) if needed and not chosen else ()
    return suggest("plan", *pair, *budget, "-o", TEMPLATE, keep=KEPT)


def _check(options: PlanOptions) -> None:
    """Refuse options that make no sense, before files are read."""
    if options.budget is not None and typed("count"):
        raise click.UsageError("--next is per topic and --budget in all; use one of them")
    if options.format_name == QRELS and options.view not in (None, "documents"):
        raise click.UsageError(f"a .qrels file lists documents; leave --view {options.view} out")
    if options.wanted is not None and not 0.5 < options.wanted < 1:
        raise click.UsageError(f"--to {options.wanted:g}: expected a confidence between 0.5 and 1")
    if options.seconds <= 0:
        raise click.UsageError(f"--seconds {options.seconds:g}: expected more than 0")
    if options.view == "proof" and not options.pair:
        raise click.UsageError("--view proof is of the order of two runs: name them with --pair A B")
    if options.view == "forecast" and options.wanted is None:
        raise click.UsageError("--view forecast needs a confidence: add --to C, such as --to 0.95")
    if options.open_below is not None and not 0.5 < options.open_below <= 1:
        raise click.UsageError(f"--below {options.open_below:g}: expected a confidence above 0.5, at most 1")
    if options.pool_depth is not None and options.qrels == NOTHING:
        raise click.UsageError(f"--pool-depth cuts judgments, and with {NOTHING} there are none")
    given = [name for name in ("pair", "baseline", "top", "open_below") if getattr(options, name)]
    if len(given) > 1:
        first, second = (name.removeprefix("open_") for name in given[:2])
        raise click.UsageError(f"--{first} and --{second} both choose the pairs that matter; use one of them")
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
    """Return the tables to show: all for people, one for programs."""
    if options.view is not None:
        return [options.view]
    if options.format_name not in PEOPLE:
        return ["documents"]
    return list(VIEWS if options.wanted is not None else VIEWS[:-1])


def _tables(result: JudgingPlan, options: PlanOptions, *only: View) -> list[Table]:
    """Return the tables: all for people, one for programs; or `only` these."""
    people = options.format_name in PEOPLE
    brief = people and options.view is None
    every = {
        "ranking": lambda: tables.ranking_table(result, people=people),
        "pairs": lambda: tables.pairs_table(result, brief=brief, people=people),
        "documents": lambda: tables.documents_table(result, brief=brief),
        "forecast": lambda: tables.forecast_table(result, options.seconds),
        "proof": lambda: tables.proof_table(result, people=people),
    }
    views = only or _views(options)
    facts = tables.plan_facts(result, options.seconds)
    made = [replace(every[view](), facts=facts) for view in views]
    # The headline says why there is no proof, and a note why there is no forecast.
    return [table for table in made if table.height or not people]
