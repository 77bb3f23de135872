"""`sounding calibrate`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

NO_USE = ("prior", "moments", "universe", "at_most", "draws", "unjudged")  # policies that change nothing here


@declare.options
class CalibrateOptions(declare.PolicyOptions, declare.FileOptions):
    """What `sounding calibrate` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("A measure; may be repeated.", default=("AP",))
    scenarios: tuple[str, ...] = declare.texts(
        "How judgments are hidden: pool:10, groups:0.5, sample:0.1, mtc:512, rank:512, runs:20, or several"
        " with +; may be repeated. Default: pool:10, pool:5, pool:10+groups:0.5, sample:0.1.",
        metavar="H",
        spelled="--hide",
    )
    claims: tuple[str, ...] = declare.texts(
        "Only this claim, such as holds, sign, strong, p-value, settled or mtc; may be repeated.",
        metavar="C",
        spelled="--claim",
    )
    until: str = declare.text(
        "What full judging means: the first D documents of contributing runs (pool:D) or of all (runs:D).",
        metavar="U",
        default="pool:100",
    )
    info: tuple[str, ...] = declare.info
    test: str = declare.test("t", "The test behind conclusions.")
    alpha: float = declare.alpha("Its level, each pair by itself.")
    repeats: int = declare.count("Of ways of hiding that chance has a part in.", default=3, metavar="N")
    completions: int = declare.count(
        "Draws of complete judgments.", least=2, default=100, metavar="N", spelled="--draws"
    )
    resamples: int = declare.count("Of the runs, for intervals.", least=0, default=200, metavar="N")
    chart: Path | None = declare.chart("Draw the reliability diagram")


@click.command("calibrate", cls=GroupedCommand, short_help="How often what is said for certain is right.")
@declare.taking(CalibrateOptions)
@declare.policies(without=NO_USE)
@declare.formats
@declare.workers
@declare.output_options()
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
