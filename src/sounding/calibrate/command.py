"""`sounding calibrate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from sounding.terminal.options import (
    FormatOptions,
    OutputOptions,
    PolicyOptions,
    WorkerOptions,
    format_options,
    output_options,
    policy_options,
    taking,
    worker_options,
)

NO_USE = ("prior", "moments", "universe", "at_most", "draws", "unjudged")  # policies that change nothing here


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(PolicyOptions, FormatOptions, WorkerOptions, OutputOptions):
    """What `sounding calibrate` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    scenarios: tuple[str, ...]
    claims: tuple[str, ...]
    until: str
    info: tuple[str, ...]
    test: str
    alpha: float
    repeats: int
    completions: int
    resamples: int
    chart: Path | None


@click.command("calibrate", short_help="How often what is said for certain is right.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, default=("AP",), show_default=True, metavar="M",
    help="A measure; may be repeated.",
)  # fmt: skip
@click.option(
    "--hide", "scenarios", multiple=True, metavar="H",
    help="How judgments are hidden: pool:10, groups:0.5, sample:0.1, mtc:512, rank:512, runs:20, or several"
    " with +; may be repeated. Default: pool:10, pool:5, pool:10+groups:0.5, sample:0.1.",
)  # fmt: skip
@click.option(
    "--claim", "claims", multiple=True, metavar="C",
    help="Only this claim, such as holds, sign, strong, p-value, settled or mtc; may be repeated.",
)  # fmt: skip
@click.option(
    "--until", default="pool:100", show_default=True, metavar="U",
    help="What full judging means: the first D documents of contributing runs (pool:D) or of all (runs:D).",
)  # fmt: skip
@click.option(
    "--info", multiple=True, metavar="FILE",
    help="Which runs were pooled: run group kind priority pooled; may be repeated.",
)  # fmt: skip
@click.option("--test", default="t", show_default=True, metavar="T", help="The test behind conclusions.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Its level, each pair by itself.")
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, metavar="N",
    help="Of ways of hiding that chance has a part in.",
)  # fmt: skip
@click.option(
    "--draws", "completions", type=click.IntRange(2), default=100, show_default=True, metavar="N",
    help="Draws of complete judgments.",
)  # fmt: skip
@click.option(
    "--resamples", type=click.IntRange(0), default=200, show_default=True, metavar="N",
    help="Of the runs, for intervals.",
)  # fmt: skip
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw the reliability diagram: .html, .svg, .png or .pdf.",
)  # fmt: skip
@partial(policy_options, without=NO_USE)
@format_options
@worker_options
@output_options()
@taking(CalibrateOptions)
def command(options: CalibrateOptions) -> None:
    """Hide judgments of QRELS, ask what is certain about RUNs without them, and count how often it is right.

    Asked are the chance that a conclusion holds, that of the sign, strong and weak, p-values, settled pairs,
    intervals, bounds and the confidence of `plan`. The judgments should be deep: they are the truth.

    \b
    sounding calibrate qrels.txt runs/ --info info.tsv
    sounding calibrate qrels.txt runs/ -m nDCG@20 --hide pool:10 --hide mtc:1000 --chart reliability.html
    """  # noqa: D301 - click wants the control character
    from sounding.calibrate.flow import run  # NumPy and the engine, which --help does without

    run(options)
