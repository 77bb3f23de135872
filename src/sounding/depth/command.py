"""`sounding depth`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare

VIEWS = ("pair", "each_run", "volatility", "agreement", "weights", "pools", "subsets")  # tables of their own


@dataclass(frozen=True, kw_only=True)
class DepthOptions(declare.PolicyOptions, declare.ReadingOptions):
    """What `sounding depth` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    depths: str | None
    reference: str | None
    test: str
    correction: str | None
    alpha: float
    plan: str | None
    each_run: bool
    each_depth: bool
    pair: tuple[str, str] | None
    volatility: bool
    coefficient: str
    threshold: float
    rbo_p: float
    agreement: bool
    weights: bool
    pools: str | None
    subsets: bool
    chart: Path | None

    @property
    def views(self) -> list[str]:
        """The tables of their own that are asked for."""
        return [name for name in VIEWS if getattr(self, name)]


@click.command("depth", short_help="Whether the outcome depends on the depth of evaluation.")
@declare.qrels_and_runs
@declare.measures("A measure without a cut-off: AP, P, RBP.")
@declare.text("--depths", "Depths to show; default: 5,10,30,100,500,1000.", metavar="K,K...")
@declare.text(
    "--reference",
    "What every depth is held against: a depth, or one measure at a depth; default: the pool depth.",
    metavar="M@K",
)
@declare.count("--pool-depth", "Cut the judgments to this pool first.", metavar="D")
@declare.test("t", "Any test of compare: docs/tests.md.")
@declare.correction("none, as Lu et al")
@declare.alpha("Level of the test.")
@declare.texts("--info", "Which runs were pooled: run group kind priority pooled.", metavar="FILE")
@declare.text("--plan", "Choices fixed beforehand: taken and checked.", metavar="FILE")
@declare.flag("--each-run", "Every run: means with comparison intervals, and assessment.")
@declare.flag(
    "--each-depth", "For programs: a row for every k; with --each-run of every run, with --pair of the two."
)
@click.option("--pair", nargs=2, metavar="A B", help="Two runs over depth with the case at each.")
@declare.flag("--volatility", "How far the orderings at any two depths agree.")
@declare.text("--coefficient", "By which two depths agree: docs/agreement.md.", metavar="C", default="tau_b")
@declare.number("--threshold", "Above it orderings count as stable.", default=0.9)
@declare.number("--rbo-p rbo_p", "Persistence of RBO.", default=0.9, metavar="P")
@declare.flag("--agreement", "Orderings by every coefficient: reference, tie rule, other measures.")
@declare.flag("--weights", "What each rank counts at the depths.")
@declare.text("--pools", "Shallower pools against the whole one.", metavar="D,D...")
@declare.flag("--subsets", "Random parts of the judgments, 100% to 1%.")
@declare.chart("Draw it all")
@declare.formats
@declare.workers
@declare.policies(without=("universe", "at_most", "prior", "moments", "draws"))
@declare.output_options()
@declare.taking(DepthOptions)
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
