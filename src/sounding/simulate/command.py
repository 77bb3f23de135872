"""`sounding simulate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare

VIEWS = ("curves", "values", "topics", "documents", "differences", "pairs", "leave-out", "histogram")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(declare.SessionOptions):
    """What `sounding simulate` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    strategies: tuple[str, ...]
    judgments: int
    at: str | None
    seeds: str
    tables: bool
    sets: int | None
    pairs: int | None
    leave_out: bool
    histogram: tuple[str, str] | None
    topic: str | None
    view: str | None
    chart: Path | None


@click.command("simulate", short_help="Judging replayed from known judgments.")
@declare.qrels_and_runs
@declare.texts(
    "--strategy strategies",
    "Who chooses: mtc, and any strategy of pool; pooling is another word for rank. May be repeated.",
    metavar="S,S...",
    default=("mtc,rank",),
)
@declare.count("--judgments", "How many are made.", default=1024, metavar="N")
@declare.text("--at", "When to look; default: 1, 2, 4, ... and at the end.", metavar="N,N...")
@declare.text(
    "--seeds",
    "Each is a replay of its own, and a draw of its own for --pairs, --leave-out and --histogram.",
    metavar="S,S...",
    default="0",
)
@declare.flag("--tables", "Values, topics and pairs at the end of the first replay.")
@declare.count("--sets", "True values on N sets of topics as well.", metavar="N")
@declare.count(
    "--pairs",
    "Judgments that tell two lists of a topic apart, for N pairs of lists drawn at random.",
    metavar="N",
)
@declare.flag("--leave-out", "Each run left out in turn, and put back in the end.")
@click.option("--histogram", nargs=2, metavar="A B", help="Whether the difference of two runs is normal.")
@declare.text("--topic", "Of --histogram: on this topic alone.", metavar="T")
@declare.choice("--view", VIEWS, "One table alone; files hold curves by default.")
@declare.chart("Draw it all")
@declare.session
@declare.output_options()
@declare.taking(SimulateOptions)
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
