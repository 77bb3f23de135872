"""The options of `sounding simulate`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

VIEWS = ("curves", "values", "topics", "documents", "differences", "pairs", "leave-out", "histogram")


@declare.options
class SimulateOptions(declare.SessionOptions):
    """The options of `sounding simulate`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    strategies: tuple[str, ...] = declare.texts(
        "Replay with mtc or a strategy of `sounding pool`; pooling is another name for rank; repeatable.",
        metavar="S,S...",
        default=("mtc,rank",),
        spelled="--strategy",
    )
    judgments: int = declare.count("Make N judgments in each replay.", default=1024, metavar="N")
    at: str | None = declare.text(
        "Report after N judgments; default: 1, 2, 4, ... and at the end.", metavar="N,N..."
    )
    seeds: str = declare.text(
        "Run one replay per seed S; also for --pairs, --leave-out and --histogram.",
        metavar="S,S...",
        default="0",
    )
    tables: bool = declare.flag("Show values, topics and pairs at the end of the first replay.")
    sets: int | None = declare.count(
        "Show true values on N sets of topics as well (with --tables).", metavar="N"
    )
    pairs: int | None = declare.count(
        "Count the judgments that decide the order of two rankings, for N random pairs.", metavar="N"
    )
    leave_out: bool = declare.flag(
        "Leave out each run in turn when documents are chosen, then rank it with the others."
    )
    histogram: tuple[str, str] | None = declare.option(
        nargs=2,
        metavar="A B",
        help="Test whether the difference between runs A and B is normally distributed.",
    )
    topic: str | None = declare.text("Use only topic T for --histogram.", metavar="T")
    view: str | None = declare.choice(VIEWS, "Show only this table; files contain curves by default.")
    chart: Path | None = declare.chart("Draw the main result, or what other options ask for")


@click.command("simulate", cls=GroupedCommand, short_help="Replay known judgments with several strategies.")
@declare.taking(SimulateOptions)
@declare.session
@declare.output_options()
def command(options: SimulateOptions) -> None:
    """Replay the judgments of QRELS to see how soon each strategy ranks the RUNs correctly.

    At several points it reports how certain the ranking is, and how well the rankings by expected values,
    plain values and bpref agree with the ranking by all judgments. Documents that QRELS lacks count as
    nonrelevant.

    \b
    sounding simulate qrels.txt runs/ --strategy mtc,pooling,move-to-front --seeds 1,2,3
    sounding simulate qrels.txt runs/ --prior 0.5 --selection faithful --judgments 2200 --tables
    sounding simulate qrels.txt runs/ --judgments 2000 --leave-out
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
