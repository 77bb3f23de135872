"""`sounding pool`: what to judge, and what a pool will cost and cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click
from click.core import ParameterSource

from sounding import policies as names
from sounding.commands.options import output_options, progress_bar, remark, write_tables, write_text
from sounding.errors import DataError

if TYPE_CHECKING:
    from sounding.collection.depth_pool import Contributors
    from sounding.collection.foresight import Foresight
    from sounding.collection.replay import Replay
    from sounding.collection.strategy import Kind, Sample, Strategy
    from sounding.ranking import Values
    from sounding.report.tables import Table
    from sounding.retrieved import Retrieved

PEOPLE = ("table", "md", "latex")  # formats that people read
LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade
SUFFIXES = {".tsv": "tsv", ".qrels": QRELS}  # beside those that all commands know
PLAIN = ("", ".txt", ".lines")  # suffixes of plain lines; a replay writes qrels there
BATCH = 10  # documents of each topic in the first batch, where nobody says how many
ORDERS = ("trec", "file", "rank")  # tie rules that give an order

Options = dict[str, Any]


class PoolCommand(click.Command):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.collection.strategies import STRATEGIES
        from sounding.mtc.strategy import register_strategy

        register_strategy()
        with formatter.section("Strategies"):
            formatter.write_dl([(kind.name, kind.title) for kind in STRATEGIES.values()])


@click.command("pool", cls=PoolCommand, short_help="What to judge.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--info", metavar="FILE", help="Groups and pooled runs: run group kind priority pooled.")
@click.option("--depth", type=click.IntRange(1), default=100, show_default=True, help="Documents of a run.")
@click.option("--per-group", type=click.IntRange(1), metavar="N", help="Runs of a group, by priority.")
@click.option(
    "--strategy",
    metavar="S",
    help="How documents are chosen; listed below. With --simulate several: S,S.  [default: depth; rank with"
    " --budget or --batches]",
)
@click.option("--budget", type=click.IntRange(1), metavar="N", help="Judgments in all, those of --qrels too.")
@click.option("--batches", type=click.IntRange(1), metavar="N", help="The next N of each topic, shuffled.")
@click.option("--rate", type=float, metavar="R", help="Share of the pool that a sample draws.")
@click.option("--strata", metavar="K:R,...", help="Strata of a sample: last pool rank and rate of each.")
@click.option("-p", "p", type=float, help="Persistence of RBP, for weights and residuals.  [default: 0.8]")
@click.option("-l", "--level", type=float, metavar="G", help="Lowest relevant grade.  [default: 1]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@click.option("--qrels", metavar="FILE", help="What has been judged already.")
@click.option(
    "--pool-depth", type=click.IntRange(1), metavar="D",
    help="Of --qrels, only what a pool of this depth would have had.",
)  # fmt: skip
@click.option("--simulate", is_flag=True, help="Replay the judging of --qrels, document by document.")
@click.option("--summary", is_flag=True, help="What the pool costs and covers, instead of the pool.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw what --summary or --simulate shows: .html, .svg, .png or .pdf.",
)  # fmt: skip
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
@output_options(LINES, QRELS, "tsv", otherwise="lines of topic and doc, or a table")
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
    sounding pool runs/ --depth 50 -o to-fill-in.qrels
    sounding pool runs/ --qrels qrels.txt --simulate --strategy depth,rank,mtf
    """  # noqa: D301 - click wants the control character
    from sounding.collection.depth_pool import choose_contributors
    from sounding.data.run_info import read_run_info
    from sounding.data.sources import find_runs
    from sounding.mtc.strategy import register_strategy
    from sounding.policies import Policies
    from sounding.retrieved import read_retrieved

    register_strategy()
    kinds = _strategies(options)
    _check(kinds, options)
    _check_use(context, kinds, options)
    _check_values(options)
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
        pool = contributors.pool(retrieved, options["depth"])
        if options["simulate"]:
            _simulate(pool, kinds, options)
        else:
            _choose(pool, kinds[0], options)


# -- what is asked for -----------------------------------------------------------------------------


def _strategies(options: Options) -> list[Kind]:
    """The strategies that are named; where none is, the plain pool, or by rank where not all is taken."""
    from sounding.collection.strategies import find_strategy

    given = options["strategy"]
    if given is None:
        some = [f"--{name}" for name in ("budget", "batches") if options[name]]
        if some:
            remark(f"strategy: rank, for {some[0]} takes the best ranks first", quiet=options["quiet"])
        given = "rank" if some else "depth"
    return [find_strategy(name.strip()) for name in given.split(",")]


def _check(kinds: Sequence[Kind], options: Options) -> None:
    """Refuse what does not go together, before files are read."""
    ahead = [name for name in ("summary", "residual") if options[name] not in (None, False)]
    if len(ahead) > 1:
        raise click.UsageError("--residual and --summary do not go together; give one")
    if options["simulate"] and options["qrels"] is None:
        raise click.UsageError("--simulate replays judgments: give them with --qrels")
    if len(kinds) > 1 and not options["simulate"]:
        raise click.UsageError(
            "several strategies are compared on known judgments: add --qrels and --simulate"
        )
    idle = ["batches", "budget", "simulate", "strategy", *(["qrels"] if options["residual"] else [])]
    for name in idle:
        if ahead and options[name] not in (None, False, "depth"):
            raise click.UsageError(f"--{name} changes nothing with --{ahead[0]}; leave one out")
    if any(kind.name == "depth" for kind in kinds) and not options["simulate"]:
        for name in ("budget", "batches"):
            if options[name]:
                raise click.UsageError(
                    f"--{name} takes the most promising documents first, and the strategy depth has them by"
                    " doc id; use --strategy rank, rrf or move-to-front"
                )
    if any(kind.sampled for kind in kinds):
        if options["budget"]:
            raise click.UsageError("a sample is judged as a whole, so --budget has no place; lower its rate")
        if options["batches"]:
            raise click.UsageError("a sample is drawn at random and judged as a whole; leave --batches out")
    if options["chart"] is not None and not (options["summary"] or options["simulate"]):
        raise click.UsageError("--chart draws what --summary or --simulate shows; add one of them")


def _check_use(context: click.Context, kinds: Sequence[Kind], options: Options) -> None:
    """Refuse options that would change nothing."""
    ahead = options["summary"] or options["residual"] is not None
    named = f"the strateg{'ies' if len(kinds) > 1 else 'y'} {', '.join(kind.name for kind in kinds)}"
    for name in ("rate", "strata", "level", "p"):
        used = any(name in kind.parameters for kind in kinds)
        used |= (name == "p" and ahead) or (name == "level" and options["simulate"])
        if options[name] is not None and not used:
            raise click.UsageError(f"{'-' if name == 'p' else '--'}{name} changes nothing with {named}")
    typed = [
        name
        for name in ("seed", "depth", "qrels_format", "pool_depth")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    drawn = options["batches"] or any(kind.drawn for kind in kinds)
    if "seed" in typed and (ahead or not drawn):
        raise click.UsageError(
            f"--seed changes nothing with --{'summary' if options['summary'] else 'residual'}" if ahead
            else f"--seed changes nothing with {named}: nothing is drawn"
        )  # fmt: skip
    if "depth" in typed and options["residual"] is not None:
        raise click.UsageError("--residual finds the depth; leave --depth out")
    for name in ("qrels_format", "pool_depth"):
        if name in typed and options["qrels"] is None:
            raise click.UsageError(f"--{name.replace('_', '-')} is about judgments: give them with --qrels")


def _check_values(options: Options) -> None:
    """Refuse values that cannot be, before files are read."""
    from sounding.collection.strategies.samples import check_rate, parse_strata

    if options["seconds"] <= 0:
        raise click.UsageError(f"--seconds {options['seconds']:g}: expected more than 0")
    for name, dashes in (("p", "-p"), ("residual", "--residual")):
        if options[name] is not None and not 0 < options[name] < 1:
            raise click.UsageError(f"{dashes} {options[name]:g}: expected a number between 0 and 1")
    if options["rate"] is not None:
        check_rate(options["rate"])
    if options["strata"] is not None:
        parse_strata(options["strata"])
    if options["chart"] is not None:
        from sounding.report.charts import require_suffix

        require_suffix(options["chart"])


def _format(context: click.Context, options: Options) -> str:
    """The layout: lines unless a table was asked for; what the suffix of the output says where it does."""
    ahead = options["summary"] or options["residual"] is not None
    replayed = options["simulate"] and options["output"] is not None
    chosen: str = options["format_name"]
    if context.get_parameter_source("format_name") is not ParameterSource.COMMANDLINE and chosen == "table":
        suffix = "" if options["output"] is None else options["output"].suffix.lower()
        if suffix not in (*SUFFIXES, *PLAIN):
            remark(f"{options['output']}: no format has the suffix {suffix}", quiet=options["quiet"])
        chosen = SUFFIXES.get(suffix, QRELS if replayed else LINES)
        if chosen == LINES and (ahead or options["simulate"]):
            return "table"
    if chosen == LINES and (ahead or options["simulate"]):
        raise click.UsageError("only what is to be judged is printed as lines; use another --format")
    if chosen == QRELS and ahead:
        raise click.UsageError("qrels hold documents, which a summary has none of; use another --format")
    return chosen


# -- the pool --------------------------------------------------------------------------------------


def _choose(pool: Retrieved, kind: Kind, options: Options) -> None:
    """Print what is to be judged."""
    import numpy as np

    from sounding.collection.strategies import in_batches, make_strategy

    given = _given(kind, options)
    options["facts"] |= {
        "strategy": kind.name, "parameters": {**kind.parameters, **given}, "seed": options["seed"],
    }  # fmt: skip
    _say_pool(pool, options)
    grades = _grades(pool, options)
    known = {document: float(grades[document]) for document in (~np.isnan(grades)).nonzero()[0].tolist()}
    if options["batches"]:
        strategy = in_batches(
            kind.name, pool, options["batches"], seed=options["seed"], before=known, **given
        )
    else:
        strategy = make_strategy(kind.name, pool, seed=options["seed"], **given)
        for document, grade in known.items():
            strategy.judge(document, grade)
    _list(pool, strategy, kind, len(known), options)


def _given(kind: Kind, options: Options) -> dict[str, Any]:
    """The parameters of a strategy that were given."""
    return {name: options[name] for name in kind.parameters if options.get(name) is not None}


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
    """(document,): its grade; NaN where it is not judged, or not in the pool."""
    import numpy as np

    from sounding.data.formats import read_qrels

    if options["qrels"] is None:
        return np.full(len(pool.docs), np.nan)
    qrels = read_qrels(
        options["qrels"], format=options["qrels_format"], duplicates=options["duplicates"],
        fractional="accept",
    )  # fmt: skip
    options["judged"] = int(np.count_nonzero(qrels.grades >= 0))
    grades, ranks = pool.grades(qrels), pool.best_ranks()
    grades[ranks == 0] = np.nan
    if options["pool_depth"] is not None:
        had = int(np.count_nonzero(~np.isnan(grades)))
        grades[ranks > options["pool_depth"]] = np.nan
        kept = int(np.count_nonzero(~np.isnan(grades)))
        remark(
            f"judgments cut to a pool of depth {options['pool_depth']}: {kept:,} of {had:,} kept",
            quiet=options["quiet"],
        )
    return grades


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
    left = int((pool.best_ranks() > 0).sum()) - judged
    if not picks and left > 0 and options["budget"]:
        remark(
            f"the budget of {options['budget']:,} is spent; {left:,} documents of the pool are unjudged",
            quiet=quiet,
        )
    elif not picks:
        remark("nothing is left to judge; --simulate replays the judgments of --qrels", quiet=quiet)
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
    elif options["format_name"] == QRELS:
        remark("qrels to fill in: put the grade of each document in place of -1", quiet=quiet)
        write_text(pool_tables.trec_lines(pool_tables.blank_table(pool, picks)), options["output"])
    else:
        _write(pool_tables.pick_table(pool, picks), options)


def _simulate(pool: Retrieved, kinds: Sequence[Kind], options: Options) -> None:
    """What strategies would have found: a table for people, the documents of one for programs."""
    import numpy as np

    from sounding.collection.strategies import in_batches, make_strategy
    from sounding.report import pool_tables

    if len(kinds) > 1 and options["format_name"] == QRELS:
        raise click.UsageError("qrels hold what one strategy had judged; name one, or write a table")
    _say_pool(pool, options)
    grades = _grades(pool, options)
    if np.isnan(grades).all():
        raise DataError(f"{options['qrels']}: no document of the pool is judged; nothing to replay")
    steps = int((pool.best_ranks() > 0).sum())
    found: dict[str, Replay] = {}
    for kind in kinds:
        given = _given(kind, options)
        strategy = (
            in_batches(kind.name, pool, options["batches"], seed=options["seed"], **given)
            if options["batches"]
            else make_strategy(kind.name, pool, seed=options["seed"], **given)
        )
        found[kind.name] = _replayed(strategy, kind.name, grades, steps, options)
    options["facts"] |= {
        "strategy": ",".join(found), "seed": options["seed"],
        "parameters": {**kinds[0].parameters, **_given(kinds[0], options)} if len(kinds) == 1
        else {kind.name: {**kind.parameters, **_given(kind, options)} for kind in kinds},
    }  # fmt: skip
    first = found[kinds[0].name]
    if len(kinds) == 1 and kinds[0].sampled:
        _say_sample(first, options)
    if len(kinds) > 1:
        _write(pool_tables.comparison_table(found, steps), options)
    elif options["format_name"] in PEOPLE:
        _write(pool_tables.replay_table(first, steps), options)
    else:
        table = (
            pool_tables.sampled_table(pool, first, cast("Sample", strategy))
            if kinds[0].sampled
            else pool_tables.judged_table(pool, first)
        )
        if options["format_name"] == QRELS:
            write_text(pool_tables.trec_lines(table), options["output"])
        else:
            _write(table, options)
    if options["chart"] is not None:
        from sounding.report.charts import relevant_by_judgments, save

        save(relevant_by_judgments(pool_tables.found_frame(found)), options["chart"])
        remark(f"chart: {options['chart']}", quiet=options["quiet"])


def _replayed(strategy: Strategy, name: str, grades: Values, steps: int, options: Options) -> Replay:
    """The replay of one strategy."""
    from sounding.collection.replay import replay

    with progress_bar(
        min(steps, options["budget"] or steps), quiet=options["quiet"], label=f"judging by {name}"
    ) as progress:
        return replay(
            strategy, grades, budget=options["budget"], progress=progress,
            level=1.0 if options["level"] is None else options["level"],
        )  # fmt: skip


def _say_sample(found: Replay, options: Options) -> None:
    """What a sample and the judgments do not share: judged in vain, or drawn otherwise."""
    import numpy as np

    from sounding.report.pool_tables import count

    size, known = len(found.picks), int(np.count_nonzero(~np.isnan(found.grades)))
    if known < size:
        remark(
            f"{size - known:,} of the {count(size, 'document')} of the sample are unjudged: they count as not"
            " drawn",
            quiet=options["quiet"],
        )
    others = options["judged"] - known
    if others:
        remark(
            f"{count(others, 'judged document')} {'are' if others > 1 else 'is'} not of this sample and left"
            " out: another seed, rate, depth or runs? (Right where more than the sample was judged.)",
            quiet=options["quiet"],
        )


# -- before judging --------------------------------------------------------------------------------


def _foresee(retrieved: Retrieved, contributors: Contributors, options: Options) -> None:
    """Print what the pool would cost and cover, or how deep it has to be."""
    import numpy as np

    from sounding.collection.foresight import foresee
    from sounding.report import pool_tables

    p = 0.8 if options["p"] is None else options["p"]
    judged = None
    if options["qrels"] is not None:
        judged = ~np.isnan(_grades(retrieved.pick(contributors.contributing), options))
    found = foresee(retrieved, contributors, options["depth"], p=p, judged=judged)
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
    if options["chart"] is not None:
        _draw(found, options)


def _draw(found: Foresight, options: Options) -> None:
    """Sizes by depth and, of several groups, what they have in common."""
    from sounding.report import charts, pool_tables

    drawn = [charts.pool_size_by_depth(pool_tables.size_frame(found))]
    if len(found.group_documents) > 1:
        drawn.append(charts.group_overlap(pool_tables.overlap_frame(found)))
    charts.save(charts.together(drawn), options["chart"])
    remark(f"chart: {options['chart']}", quiet=options["quiet"])


def _write(table: Table, options: Options) -> None:
    """Print a table or write it to a file; json says how it was made."""
    table = replace(table, facts={**options.get("facts", {}), **table.facts})
    if options["format_name"] == "tsv":
        from sounding.report.pool_tables import tab_separated

        write_text(tab_separated(table), options["output"])
    else:
        write_tables([table], options["format_name"], options["output"])
