"""`sounding simulate`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

VIEWS = ("curves", "values", "topics", "documents", "differences", "pairs", "leave-out", "histogram")


@declare.options
class SimulateOptions(declare.SessionOptions):
    """What `sounding simulate` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    strategies: tuple[str, ...] = declare.texts(
        "Who chooses: mtc, and any strategy of pool; pooling is another word for rank. May be repeated.",
        metavar="S,S...",
        default=("mtc,rank",),
        spelled="--strategy",
    )
    judgments: int = declare.count("How many are made.", default=1024, metavar="N")
    at: str | None = declare.text("When to look; default: 1, 2, 4, ... and at the end.", metavar="N,N...")
    seeds: str = declare.text(
        "Each is a replay of its own, and a draw of its own for --pairs, --leave-out and --histogram.",
        metavar="S,S...",
        default="0",
    )
    tables: bool = declare.flag("Values, topics and pairs at the end of the first replay.")
    sets: int | None = declare.count("True values on N sets of topics as well.", metavar="N")
    pairs: int | None = declare.count(
        "Judgments that tell two lists of a topic apart, for N pairs of lists drawn at random.", metavar="N"
    )
    leave_out: bool = declare.flag("Each run left out in turn, and put back in the end.")
    histogram: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Whether the difference of two runs is normal."
    )
    topic: str | None = declare.text("Of --histogram: on this topic alone.", metavar="T")
    view: str | None = declare.choice(VIEWS, "One table alone; files hold curves by default.")
    chart: Path | None = declare.chart("Draw it all")


@click.command("simulate", cls=GroupedCommand, short_help="Judging replayed from known judgments.")
@declare.taking(SimulateOptions)
@declare.session
@declare.output_options()
def command(options: SimulateOptions) -> None:
    """Replay the judging of RUNs as if QRELS were not known, and see how soon their order is right.

    After every so many judgments: how sure the order is, and how far it agrees with that by all judgments,
    for expected values, plain ones and bpref. What nobody judged is not relevant.

    \b
    sounding simulate qrels.txt runs/ --strategy mtc,pooling,move-to-front --seeds 1,2,3
    sounding simulate qrels.txt runs/ --prior 0.5 --selection faithful --judgments 2200 --tables
    sounding simulate qrels.txt runs/ --judgments 2000 --leave-out
    """  # noqa: D301 - click wants the control character
    from sounding.simulate.flow import run  # NumPy and the engine, which --help does without

    run(options)
