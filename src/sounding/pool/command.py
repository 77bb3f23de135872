"""`sounding pool`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal.options import (
    FormatOptions,
    OutputOptions,
    RankingOptions,
    WorkerOptions,
    format_options,
    output_options,
    ranking_options,
    taking,
    worker_options,
)

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade


@dataclass(frozen=True, kw_only=True)
class PoolingOptions(RankingOptions, FormatOptions, WorkerOptions, OutputOptions):
    """What `sounding pool` is asked for."""

    runs: tuple[str, ...]
    info: str | None
    depth: int
    per_group: int | None
    strategy: str | None
    budget: int | None
    batches: int | None
    rate: float | None
    strata: str | None
    p: float | None
    level: float | None
    seed: int
    qrels: str | None
    pool_depth: int | None
    simulate: bool
    summary: bool
    chart: Path | None
    residual: float | None
    seconds: float


class PoolCommand(click.Command):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.selection.strategies import STRATEGIES  # NumPy, which the command itself does without

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
@ranking_options
@format_options
@worker_options
@output_options(LINES, QRELS, "tsv", otherwise="lines of topic and doc, or a table")
@taking(PoolingOptions)
def command(options: PoolingOptions) -> None:
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
    from sounding.pool.flow import run  # NumPy and the engine, which --help does without

    run(options)
