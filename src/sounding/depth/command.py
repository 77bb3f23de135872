"""`sounding depth`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

VIEWS = ("pair", "each_run", "volatility", "agreement", "weights", "pools", "subsets")  # tables of their own


@declare.options
class DepthOptions(declare.PolicyOptions, declare.ReadingOptions):
    """What `sounding depth` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("A measure without a cut-off: AP, P, RBP.")
    depths: str | None = declare.text("Depths to show; default: 5,10,30,100,500,1000.", metavar="K,K...")
    reference: str | None = declare.text(
        "What every depth is held against: a depth, or one measure at a depth; default: the pool depth.",
        metavar="M@K",
    )
    pool_depth: int | None = declare.count("Cut the judgments to this pool first.", metavar="D")
    test: str = declare.test("t", "Any test of compare: docs/tests.md.")
    correction: str | None = declare.correction("none, as Lu et al")
    alpha: float = declare.alpha("Level of the test.")
    info: tuple[str, ...] = declare.texts(
        "Which runs were pooled: run group kind priority pooled.", metavar="FILE"
    )
    plan: str | None = declare.text("Choices fixed beforehand: taken and checked.", metavar="FILE")
    each_run: bool = declare.flag("Every run: means with comparison intervals, and assessment.")
    each_depth: bool = declare.flag(
        "For programs: a row for every k; with --each-run of every run, with --pair of the two."
    )
    pair: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Two runs over depth with the case at each."
    )
    volatility: bool = declare.flag("How far the orderings at any two depths agree.")
    coefficient: str = declare.text(
        "By which two depths agree: docs/agreement.md.", metavar="C", default="tau_b"
    )
    threshold: float = declare.number("Above it orderings count as stable.", default=0.9)
    rbo_p: float = declare.number("Persistence of RBO.", default=0.9, metavar="P")
    agreement: bool = declare.flag("Orderings by every coefficient: reference, tie rule, other measures.")
    weights: bool = declare.flag("What each rank counts at the depths.")
    pools: str | None = declare.text("Shallower pools against the whole one.", metavar="D,D...")
    subsets: bool = declare.flag("Random parts of the judgments, 100% to 1%.")
    chart: Path | None = declare.chart("Draw it all")

    @property
    def views(self) -> list[str]:
        """The tables of their own that are asked for."""
        return [name for name in VIEWS if getattr(self, name)]


@click.command(
    "depth", cls=GroupedCommand, short_help="Whether the outcome depends on the depth of evaluation."
)
@declare.taking(DepthOptions)
@declare.formats
@declare.workers
@declare.policies(without=("universe", "at_most", "prior", "moments", "draws"))
@declare.output_options()
def command(options: DepthOptions) -> None:
    """Look at RUNs deeper and deeper, and whether the outcome stays.

    By measure and depth: the pairs of runs that are told apart, how many of those of a reference depth
    are confirmed or turned round, how far the orderings agree, and what was not judged. Below stands from
    where on the ordering is stable, and what to heed.

    \b
    sounding depth qrels.txt runs/ -m AP -m 'RBP(p=0.95)' --info info.tsv
    sounding depth qrels.txt runs/ -m nDCG --pool-depth 10 --reference 10
    sounding depth qrels.txt runs/ -m AP --pair bm25 dense --chart depth.html
    """  # noqa: D301 - click wants the control character
    from sounding.depth.flow import run  # NumPy and the engine, which --help does without

    run(options)
