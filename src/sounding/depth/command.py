"""`sounding depth`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from sounding.terminal.options import (
    PolicyOptions,
    ReadingOptions,
    format_options,
    output_options,
    policy_options,
    taking,
    worker_options,
)

VIEWS = ("pair", "each_run", "volatility", "agreement", "weights", "pools", "subsets")  # tables of their own


@dataclass(frozen=True, kw_only=True)
class DepthOptions(PolicyOptions, ReadingOptions):
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
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="M", help="A measure without a cut-off: AP, P, RBP."
)
@click.option("--depths", metavar="K,K...", help="Depths to show; default: 5,10,30,100,500,1000.")
@click.option(
    "--reference",
    metavar="M@K",
    help="What every depth is held against: a depth, or one measure at a depth; default: the pool depth.",
)
@click.option(
    "--pool-depth", type=click.IntRange(1), metavar="D", help="Cut the judgments to this pool first."
)
@click.option(
    "--test", default="t", show_default=True, metavar="T", help="Any test of compare: docs/tests.md."
)
@click.option(
    "--correction", metavar="C", help="none, bonferroni, holm, bh or max-t; default: none, as Lu et al."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the test.")
@click.option(
    "--info", multiple=True, metavar="FILE", help="Which runs were pooled: run group kind priority pooled."
)
@click.option("--plan", metavar="FILE", help="Choices fixed beforehand: taken and checked.")
@click.option("--each-run", is_flag=True, help="Every run: means with comparison intervals, and assessment.")
@click.option(
    "--each-depth",
    is_flag=True,
    help="For programs: a row for every k; with --each-run of every run, with --pair of the two.",
)
@click.option("--pair", nargs=2, metavar="A B", help="Two runs over depth with the case at each.")
@click.option("--volatility", is_flag=True, help="How far the orderings at any two depths agree.")
@click.option(
    "--coefficient",
    default="tau_b",
    show_default=True,
    metavar="C",
    help="By which two depths agree: docs/agreement.md.",
)
@click.option(
    "--threshold", type=float, default=0.9, show_default=True, help="Above it orderings count as stable."
)
@click.option(
    "--rbo-p", "rbo_p", type=float, default=0.9, show_default=True, metavar="P", help="Persistence of RBO."
)
@click.option(
    "--agreement", is_flag=True, help="Orderings by every coefficient: reference, tie rule, other measures."
)
@click.option("--weights", is_flag=True, help="What each rank counts at the depths.")
@click.option("--pools", metavar="D,D...", help="Shallower pools against the whole one.")
@click.option("--subsets", is_flag=True, help="Random parts of the judgments, 100% to 1%.")
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw it all: .html, .svg, .png or .pdf.",
)
@format_options
@worker_options
@partial(policy_options, without=("universe", "at_most", "prior", "moments", "draws"))
@output_options()
@taking(DepthOptions)
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
