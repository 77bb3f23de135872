"""`sounding pool`: what to judge, and what a pool will cost and cover."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

import click
from click.core import ParameterSource

from sounding import policies as names
from sounding.commands.options import output_options, progress_bar, remark, write_tables, write_text
from sounding.errors import DataError

if TYPE_CHECKING:
    from sounding.collection.depth_pool import Contributors
    from sounding.collection.strategy import Kind, Sample, Strategy
    from sounding.ranking import Values
    from sounding.report.tables import Table
    from sounding.retrieved import Retrieved

PEOPLE = ("table", "md", "latex")  # formats that people read
LINES = "lines"  # topic doc
BATCH = 10  # documents of each topic in the first batch, where nobody says how many
ORDERS = ("trec", "file", "rank")  # tie rules that give an order

Options = dict[str, Any]


class PoolCommand(click.Command):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.collection.strategies import STRATEGIES

        with formatter.section("Strategies"):
            formatter.write_dl([(kind.name, kind.title) for kind in STRATEGIES.values()])


@click.command("pool", cls=PoolCommand, short_help="What to judge.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--info", metavar="FILE", help="Groups and pooled runs: run group kind priority pooled.")
@click.option("--depth", type=click.IntRange(1), default=100, show_default=True, help="Documents of a run.")
@click.option("--per-group", type=click.IntRange(1), metavar="N", help="Runs of a group, by priority.")
@click.option(
    "--strategy",
    default="depth",
    show_default=True,
    metavar="S",
    help="How documents are chosen; listed below.",
)
@click.option("--budget", type=click.IntRange(1), metavar="N", help="Judgments in all, those of --qrels too.")
@click.option("--batches", type=click.IntRange(1), metavar="N", help="The next N of each topic, shuffled.")
@click.option("--rate", type=float, metavar="R", help="Share of the pool that a sample draws.")
@click.option("--strata", metavar="K:R,...", help="Strata of a sample: last pool rank and rate of each.")
@click.option("-p", "p", type=float, help="Persistence of RBP, for weights and residuals.  [default: 0.8]")
@click.option("-l", "--level", type=float, metavar="G", help="Lowest relevant grade.  [default: 1]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@click.option("--qrels", metavar="FILE", help="What has been judged already.")
@click.option("--simulate", is_flag=True, help="Replay the judging of --qrels, document by document.")
@click.option("--summary", is_flag=True, help="What the pool costs and covers, instead of the pool.")
@click.option("--residual", type=float, metavar="X", help="The depth for a mean RBP residual of X.")
@click.option("--seconds", type=float, default=30, show_default=True, help="Time to judge a document.")
@click.option("--ties", type=click.Choice(ORDERS), default="trec", show_default=True, help="As evaluate.")
@click.option(
    "--compat", type=click.Choice(get_args(names.Compat)), default="trec_eval-10", show_default=True,
    help="As evaluate.",
)  # fmt: skip
@click.option(
    "--duplicates", type=click.Choice(get_args(names.Duplicates)), default="error", show_default=True,
    help="A document listed twice for a topic.",
)  # fmt: skip
@click.option("--qrels-format", metavar="F", help="Format of the qrels, where it is not recognised.")
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes; default: all cores when the files are large."
)
@output_options(LINES, "tsv")
@click.pass_context
def command(context: click.Context, /, runs: tuple[str, ...], **options: Any) -> None:
    """Choose the documents of RUNs to judge: one `topic doc` a line, by doc id.

    The default is the pool of the first --depth documents of every contributing run. Strategies with a
    budget begin with the documents that promise most. Orders that follow the judgments tell assessors
    where a document came from: hand them out by doc id, as printed, or in shuffled --batches.

    \b
    sounding pool runs/ --info info.tsv --depth 50 > to-judge.txt
    sounding pool runs/ --info info.tsv --summary
    sounding pool runs/ --strategy move-to-front --qrels so-far.txt --batches 20 -o next.csv
    sounding pool runs/ --strategy stratified-sample --strata 10:1,100:0.1 --seed 7 > to-judge.txt
    """  # noqa: D301 - click wants the control character
    from sounding.collection.depth_pool import choose_contributors
    from sounding.collection.strategies import find_strategy
    from sounding.data.run_info import read_run_info
    from sounding.data.sources import find_runs
    from sounding.policies import Policies
    from sounding.retrieved import read_retrieved

    kind = find_strategy(options["strategy"])
    _check(kind, options)
    options["format_name"] = _format(context, options)
    info = None if options["info"] is None else read_run_info(options["info"])
    policies = Policies(ties=options["ties"], compat=options["compat"], duplicates=options["duplicates"])
    files = find_runs(runs)
    ahead = options["summary"] or options["residual"] is not None
    with progress_bar(len(files), quiet=options["quiet"], label="reading runs") as progress:
        retrieved = read_retrieved(
            files, depth=None if ahead else options["depth"], policies=policies,
            run_format=options["run_format"], jobs=options["jobs"], progress=progress,
        )  # fmt: skip
    contributors = choose_contributors(retrieved, info, per_group=options["per_group"])
    _say_contributors(contributors, options)
    if ahead:
        _foresee(retrieved, contributors, options)
    else:
        options["facts"] = {
            "depth": options["depth"],
            "contributing": list(retrieved.pick(contributors.contributing).runs),
            "chosen": contributors.how,
            "policies": {name: options[name] for name in ("ties", "compat", "duplicates")},
        }
        _choose(contributors.pool(retrieved, options["depth"]), kind, options)


# -- what is asked for -----------------------------------------------------------------------------


def _check(kind: Kind, options: Options) -> None:
    """Refuse options that would change nothing, before files are read."""
    ahead = [name for name in ("summary", "residual") if options[name] not in (None, False)]
    if len(ahead) > 1:
        raise click.UsageError("--residual and --summary do not go together; give one")
    if options["simulate"] and options["qrels"] is None:
        raise click.UsageError("--simulate replays judgments: give them with --qrels")
    for name in ("batches", "budget", "qrels", "simulate", "strategy"):
        if ahead and options[name] not in (None, False, "depth"):
            raise click.UsageError(f"--{name} changes nothing with --{ahead[0]}; leave one out")
    for name in ("rate", "strata", "level", "p"):
        used = name in kind.parameters or (name == "p" and ahead) or (name == "level" and options["simulate"])
        if options[name] is not None and not used:
            dashes = "-" if name == "p" else "--"
            raise click.UsageError(f"{dashes}{name} changes nothing with the strategy {kind.name}")
    if kind.sampled and options["budget"]:
        raise click.UsageError("a sample is judged as a whole, so --budget has no place; lower its rate")
    if kind.sampled and options["batches"]:
        raise click.UsageError("a sample is drawn at random and judged as a whole; leave --batches out")
    if options["seconds"] <= 0:
        raise click.UsageError(f"--seconds {options['seconds']:g}: expected more than 0")


def _format(context: click.Context, options: Options) -> str:
    """The layout: lines unless a table was asked for; what the suffix of the output says where it does."""
    ahead = options["summary"] or options["residual"] is not None
    chosen: str = options["format_name"]
    if context.get_parameter_source("format_name") is not ParameterSource.COMMANDLINE and chosen == "table":
        if options["output"] is not None and options["output"].suffix.lower() == ".tsv":
            return "tsv"
        return "table" if ahead or options["simulate"] else LINES
    if chosen == LINES and (ahead or options["simulate"]):
        raise click.UsageError("only what is to be judged is printed as lines; use another --format")
    return chosen


# -- the pool --------------------------------------------------------------------------------------


def _choose(pool: Retrieved, kind: Kind, options: Options) -> None:
    """Print what is to be judged, or what a replay found."""
    import numpy as np

    from sounding.collection.strategies import in_batches, make_strategy

    given = {name: options[name] for name in kind.parameters if options.get(name) is not None}
    options["facts"] |= {
        "strategy": kind.name, "parameters": {**kind.parameters, **given}, "seed": options["seed"],
    }  # fmt: skip
    _say_pool(pool, options)
    grades = np.full(len(pool.docs), np.nan) if options["qrels"] is None else _grades(pool, options)
    grades[pool.best_ranks() == 0] = np.nan
    known: dict[int, float] = {}
    if not options["simulate"]:
        known = {document: float(grades[document]) for document in (~np.isnan(grades)).nonzero()[0].tolist()}
    if options["batches"]:
        strategy = in_batches(
            kind.name, pool, options["batches"], seed=options["seed"], before=known, **given
        )
    else:
        strategy = make_strategy(kind.name, pool, seed=options["seed"], **given)
        for document, grade in known.items():
            strategy.judge(document, grade)
    if options["simulate"]:
        if np.isnan(grades).all():
            raise DataError(f"{options['qrels']}: no document of the pool is judged; nothing to replay")
        _replay(pool, strategy, kind, grades, options)
    else:
        _list(pool, strategy, kind, len(known), options)


def _say_contributors(contributors: Contributors, options: Options) -> None:
    """Who contributes, and what does not fit together."""
    for text in contributors.remarks:
        remark(text, quiet=options["quiet"])
    count, every = int(contributors.contributing.sum()), len(contributors.contributing)
    remark(f"{count} of {every} runs contribute ({contributors.how})", quiet=options["quiet"])


def _say_pool(pool: Retrieved, options: Options) -> None:
    """How large the pool is, and what it costs."""
    from sounding.report.pool_tables import count, hours

    topics = int((pool.lengths.max(axis=0) > 0).sum())
    size, depth, runs = int((pool.best_ranks() > 0).sum()), options["depth"], len(pool.runs)
    share = size / max(depth * runs * topics, 1)
    remark(
        f"pool: {count(size, 'document')}, {share:.0%} of {depth} x {count(runs, 'run')}"
        f" x {count(topics, 'topic')};"
        f" {hours(size, options['seconds']):,.1f} hours at {options['seconds']:g} s a document",
        quiet=options["quiet"],
    )
    policies = ", ".join(f"{name} {options[name]}" for name in ("ties", "compat", "duplicates"))
    remark(f"policies: {policies}", quiet=options["quiet"])


def _grades(pool: Retrieved, options: Options) -> Values:
    from sounding.data.formats import read_qrels

    qrels = read_qrels(
        options["qrels"], format=options["qrels_format"], duplicates=options["duplicates"],
        fractional="accept",
    )  # fmt: skip
    return pool.grades(qrels)


def _list(pool: Retrieved, strategy: Strategy, kind: Kind, judged: int, options: Options) -> None:
    """The next documents: all of them, or one batch where the order follows the judgments."""
    from sounding.report import pool_tables

    count = len(pool.docs)
    if options["batches"] or kind.adaptive:
        count = (options["batches"] or BATCH) * len(pool.topics)
    if options["budget"]:
        count = min(count, options["budget"] - judged)
    picks = strategy.next(count=count) if count > 0 else []
    if not options["batches"]:
        picks.sort(key=lambda pick: pick.document)  # by topic and doc id
    quiet = options["quiet"]
    hours = pool_tables.hours(len(picks), options["seconds"])
    if options["qrels"] is not None:
        remark(f"judged already: {pool_tables.count(judged, 'document')} of the pool", quiet=quiet)
    if not picks:
        remark("nothing is left to judge", quiet=quiet)
    elif judged or len(picks) < int((pool.best_ranks() > 0).sum()):
        now = pool_tables.count(len(picks), "document")
        remark(f"to judge now: {now}, {hours:,.1f} hours", quiet=quiet)
    if kind.adaptive and picks:
        remark(f"{kind.name} follows the judgments: judge these, and come back with --qrels", quiet=quiet)
    if kind.sampled and judged == 0:
        remark(
            "when they are judged, this command with --qrels JUDGED --simulate -o FILE.tsv makes the qrels",
            quiet=quiet,
        )
    if options["format_name"] == LINES:
        write_text(pool_tables.lines(pool, picks), options["output"])
    else:
        _write(pool_tables.pick_table(pool, picks), options)


def _replay(pool: Retrieved, strategy: Strategy, kind: Kind, grades: Values, options: Options) -> None:
    """What the strategy would have found: a table for people, the documents for programs."""
    from sounding.collection.replay import replay
    from sounding.report import pool_tables

    steps = int((pool.best_ranks() > 0).sum())
    with progress_bar(
        min(steps, options["budget"] or steps), quiet=options["quiet"], label="judging"
    ) as progress:
        found = replay(
            strategy, grades, budget=options["budget"], progress=progress,
            level=1.0 if options["level"] is None else options["level"],
        )  # fmt: skip
    if options["format_name"] in PEOPLE:
        _write(pool_tables.replay_table(found, steps), options)
    elif kind.sampled:
        _write(pool_tables.sampled_table(pool, found, cast("Sample", strategy)), options)
    else:
        _write(pool_tables.judged_table(pool, found), options)


# -- before judging --------------------------------------------------------------------------------


def _foresee(retrieved: Retrieved, contributors: Contributors, options: Options) -> None:
    """Print what the pool would cost and cover, or how deep it has to be."""
    from sounding.collection.foresight import foresee
    from sounding.report import pool_tables

    p = 0.8 if options["p"] is None else options["p"]
    if not 0 < p < 1:
        raise click.UsageError(f"-p {p:g}: expected a number between 0 and 1")
    found = foresee(retrieved, contributors, options["depth"], p=p)
    seconds = options["seconds"]
    if options["residual"] is not None:
        _write(pool_tables.residual_table(found, options["residual"], seconds, p), options)
        return
    _say_pool(contributors.pool(retrieved, options["depth"]), options)
    if options["format_name"] in PEOPLE:
        tables = pool_tables.summary_tables(found, seconds, p)
        write_tables(tables, options["format_name"], options["output"])
    else:
        _write(pool_tables.run_table(found, p), options)


def _write(table: Table, options: Options) -> None:
    """Print a table or write it to a file; json says how it was made."""
    table = replace(table, facts={**options.get("facts", {}), **table.facts})
    if options["format_name"] == "tsv":
        from sounding.report.pool_tables import tab_separated

        write_text(tab_separated(table), options["output"])
    else:
        write_tables([table], options["format_name"], options["output"])
