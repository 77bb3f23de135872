"""The options of `sounding calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

NO_USE = ("prior", "moments", "universe", "at_most", "draws", "unjudged")  # policies that change nothing here


@declare.options
class CalibrateOptions(declare.PolicyOptions, declare.FileOptions):
    """Options of `sounding calibrate`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("Check results by measure M; repeatable.", default=("AP",))
    scenarios: tuple[str, ...] = declare.texts(
        "Hide judgments by pool:D, groups:R, sample:R, mtc:N, rank:N, draw:N, runs:N, or several joined by +;"
        " repeatable; four ways by default.",
        metavar="H",
        spelled="--hide",
    )
    claims: tuple[str, ...] = declare.texts(
        "Check only the claim of this name, such as holds, sign, strong, p-value, settled, mtc or estimate;"
        " repeatable.",
        metavar="C",
        spelled="--claim",
    )
    until: str = declare.text(
        "Set what full judging means: the top D of pooled runs (pool:D) or of all runs (runs:D).",
        metavar="U",
        default="pool:100",
    )
    labels: tuple[str, ...] = declare.texts(
        "Read machine labels from FILE, for the claim `estimate`; repeatable.",
        metavar="FILE",
        spelled="--labels",
    )
    judges: tuple[str, ...] = declare.judges
    info: tuple[str, ...] = declare.info
    only: tuple[str, ...] = declare.only
    test: str = declare.test("t", "Choose the significance test (see docs/tests.md).")
    alpha: float = declare.alpha("Set the significance level of each pair, without correction.")
    repeats: int = declare.count(
        "Repeat each random way of hiding judgments N times.", default=3, metavar="N"
    )
    completions: int = declare.count(
        "Draw N completions of the judgments.", least=2, default=100, metavar="N", spelled="--draws"
    )
    resamples: int = declare.count(
        "Resample the runs N times for confidence intervals.", least=0, default=200, metavar="N"
    )
    chart: Path | None = declare.chart("Draw the reliability diagram")


@click.command(
    "calibrate", cls=GroupedCommand, short_help="Check how often sounding's confidence statements are right."
)
@declare.taking(CalibrateOptions)
@declare.policies(without=NO_USE)
@declare.formats
@declare.workers
@declare.output_options()
def command(options: CalibrateOptions) -> None:
    """Check how often sounding's confidence statements are right, by hiding judgments of QRELS.

    It checks the chance that a conclusion or its sign holds, strong and weak results, p-values, settled
    pairs, intervals, bounds and the confidence of `plan`. QRELS should be deep: it serves as the truth.

    \b
    sounding calibrate qrels.txt runs/ --info info.tsv
    sounding calibrate qrels.txt runs/ -m nDCG@20 --hide pool:10 --hide mtc:1000 --chart reliability.html
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
