"""The options of `sounding depth`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

VIEWS = ("pair", "each_run", "volatility", "agreement", "weights", "pools", "subsets")  # tables of their own


@declare.options
class DepthOptions(declare.PolicyOptions, declare.ReadingOptions):
    """The options of `sounding depth`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures(
        "Use measure M, without a cutoff; repeatable; default: AP and RBP(p=0.95)."
    )
    depths: str | None = declare.text("Show these depths; default: 5,10,30,100,500,1000.", metavar="K,K...")
    reference: str | None = declare.text(
        "Compare with this depth, or with this measure at a depth; default: the pool depth.",
        metavar="M@K",
    )
    pool_depth: int | None = declare.count(
        "Keep only the judgments that a pool of depth D would contain.", metavar="D"
    )
    test: str = declare.test("t", "Choose the significance test (see docs/tests.md).")
    correction: str | None = declare.correction("none")
    alpha: float = declare.alpha()
    info: tuple[str, ...] = declare.info
    only: tuple[str, ...] = declare.only
    collections: tuple[tuple[str, str, str], ...] = declare.option(
        nargs=3,
        multiple=True,
        metavar="NAME QRELS RUNS",
        help="Study another collection as well, and draw them together; repeatable.",
        spelled="--collection",
    )
    collection_info: tuple[tuple[str, str], ...] = declare.option(
        nargs=2,
        multiple=True,
        metavar="NAME FILE",
        help="Read which runs of such a collection were pooled; repeatable.",
    )
    preregistered: str | None = declare.text(
        "Read pre-registered choices from FILE and check the options against them.", metavar="FILE"
    )
    each_run: bool = declare.flag(
        "Show the mean of each run with its comparison interval, and its judged share."
    )
    each_depth: bool = declare.flag(
        "Write a row for every depth (for csv, json and so on); also with --each-run, --pair or --volatility."
    )
    pair: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Compare runs A and B at each depth."
    )
    volatility: bool = declare.flag("Show how far the rankings at any two depths agree.")
    coefficient: str = declare.text(
        "Measure agreement by this coefficient (see docs/rank-agreement.md).", metavar="C", default="tau_b"
    )
    threshold: float = declare.number("Call rankings stable if they agree at least this much.", default=0.9)
    rbo_p: float = declare.number("Set the persistence of RBO.", default=0.9, metavar="P")
    agreement: bool = declare.flag(
        "Compare rankings with the reference, another tie rule and other measures, by all coefficients."
    )
    weights: bool = declare.flag("Show the weight of each rank at each depth.")
    pools: str | None = declare.text("Compare pools of these depths with the whole pool.", metavar="D,D...")
    subsets: bool = declare.flag("Evaluate with random subsets of the judgments, from 100% to 1%.")
    chart: Path | None = declare.chart("Draw the main result, or what other options ask for")

    @property
    def views(self) -> list[str]:
        """The tables of their own that are asked for."""
        return [name for name in VIEWS if getattr(self, name)]


@click.command("depth", cls=GroupedCommand, short_help="Check whether the outcome depends on depth.")
@declare.taking(DepthOptions)
@declare.formats
@declare.workers
@declare.policies(without=("universe", "at_most", "prior", "moments", "draws"))
@declare.output_options()
def command(options: DepthOptions) -> None:
    """Check whether the outcome depends on the depth of evaluation or of the pool.

    For each measure and depth, the table shows how many pairs of RUNs differ significantly, how many
    results of the reference depth are confirmed or reversed, how far the rankings agree, and how much
    is unjudged. Notes below it name the depth from which the ranking is stable, and give cautions.

    \b
    sounding depth qrels.txt runs/ -m AP -m 'RBP(p=0.95)' --info info.tsv
    sounding depth qrels.txt runs/ -m nDCG --pool-depth 10 --reference 10
    sounding depth qrels.txt runs/ -m AP --pair bm25 dense --chart depth.html
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
