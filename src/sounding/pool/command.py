"""`sounding pool`: what to judge, and what a pool will cost and cover."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from sounding.core import policies as names
from sounding.pool.asking import (
    LINES,
    QRELS,
    check_together,
    check_use,
    check_values,
    format_of,
    strategies,
)
from sounding.pool.judging import (
    choose,
    grades_of,
    say_contributors,
    say_pool,
    simulate,
    write,
)
from sounding.terminal.options import (
    PEOPLE,
    Options,
    format_options,
    output_options,
    progress_bar,
    remark,
    worker_options,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.pool.depth_pool import Contributors
    from sounding.pool.foresight import Foresight
    from sounding.runs.retrieved import Retrieved


class PoolCommand(click.Command):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.selection.strategies import STRATEGIES

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
@click.option("--budget", type=click.IntRange(1), metavar="N", help="List the N next documents to judge.")
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
@click.option(
    "--ties", type=click.Choice(names.ORDERS), default="trec", show_default=True, help="As evaluate."
)
@click.option(
    "--compat", type=click.Choice(get_args(names.Compat)), default="trec_eval-10", show_default=True,
    help="As evaluate.",
)  # fmt: skip
@click.option(
    "--duplicates", type=click.Choice(get_args(names.Duplicates)), default="error", show_default=True,
    help="A document listed twice for a topic.",
)  # fmt: skip
@format_options
@worker_options
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
    from sounding.core.policies import Policies
    from sounding.data.finding import find_runs
    from sounding.data.run_info import read_run_info
    from sounding.pool.depth_pool import choose_contributors
    from sounding.runs.retrieved import read_retrieved

    kinds = strategies(options)
    check_together(kinds, options)
    check_use(context, kinds, options)
    check_values(options)
    options["format_name"] = format_of(context, options)
    info = None if options["info"] is None else read_run_info(options["info"])
    policies = Policies(ties=options["ties"], compat=options["compat"], duplicates=options["duplicates"])
    files = find_runs(runs)
    options |= {"files": files, "policies": policies, "listed": info}
    ahead = options["summary"] or options["residual"] is not None
    with progress_bar(len(files), quiet=options["quiet"], label="reading runs") as progress:
        retrieved = read_retrieved(
            files, depth=None if ahead else options["depth"], policies=policies,
            run_format=options["run_format"], jobs=options["jobs"], progress=progress,
        )  # fmt: skip
    contributors = choose_contributors(retrieved, info, per_group=options["per_group"])
    say_contributors(contributors, options)
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
            simulate(pool, kinds, options)
        else:
            choose(pool, kinds[0], options)


# -- before judging --------------------------------------------------------------------------------


def _foresee(retrieved: Retrieved, contributors: Contributors, options: Options) -> None:
    """Print what the pool would cost and cover, or how deep it has to be."""
    import numpy as np

    from sounding.pool import tables as pool_tables
    from sounding.pool.foresight import foresee

    p = 0.8 if options["p"] is None else options["p"]
    judged = None
    if options["qrels"] is not None:
        judged = ~np.isnan(grades_of(retrieved.pick(contributors.contributing), options))
    found = foresee(retrieved, contributors, options["depth"], p=p, judged=judged)
    seconds = options["seconds"]
    if options["residual"] is not None:
        write(pool_tables.residual_table(found, options["residual"], seconds, p), options)
        return
    done = found.judged_at(options["depth"])
    say_pool(contributors.pool(retrieved, options["depth"]), options, done or 0)
    if options["format_name"] in PEOPLE:
        tables = pool_tables.summary_tables(found, seconds, p)
        write_tables(tables, options["format_name"], options["output"])
    else:
        write(pool_tables.run_table(found, p), options)
    if options["chart"] is not None:
        _draw(found, options)


def _draw(found: Foresight, options: Options) -> None:
    """Sizes by depth and, of several groups, what they have in common."""
    from sounding.pool import charts
    from sounding.pool import tables as pool_tables
    from sounding.render.save import save, together

    drawn = [charts.pool_size_by_depth(pool_tables.size_frame(found))]
    if len(found.group_documents) > 1:
        drawn.append(charts.group_overlap(pool_tables.overlap_frame(found)))
    save(together(drawn), options["chart"])
    remark(f"chart: {options['chart']}", quiet=options["quiet"])
