"""`sounding simulate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal.options import output_options, taking
from sounding.terminal.session_options import SessionOptions, session_options

VIEWS = ("curves", "values", "topics", "documents", "differences", "pairs", "leave-out", "histogram")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(SessionOptions):
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
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--strategy", "strategies", multiple=True, default=("mtc,rank",), show_default=True, metavar="S,S...",
    help="Who chooses: mtc, and any strategy of pool; pooling is another word for rank. May be repeated.",
)  # fmt: skip
@click.option(
    "--judgments", type=click.IntRange(1), default=1024, show_default=True, metavar="N",
    help="How many are made.",
)  # fmt: skip
@click.option("--at", metavar="N,N...", help="When to look; default: 1, 2, 4, ... and at the end.")
@click.option(
    "--seeds",
    default="0",
    show_default=True,
    metavar="S,S...",
    help="Each is a replay of its own, and a draw of its own for --pairs, --leave-out and --histogram.",
)
@click.option("--tables", is_flag=True, help="Values, topics and pairs at the end of the first replay.")
@click.option("--sets", type=click.IntRange(1), metavar="N", help="True values on N sets of topics as well.")
@click.option(
    "--pairs", type=click.IntRange(1), metavar="N",
    help="Judgments that tell two lists of a topic apart, for N pairs of lists drawn at random.",
)  # fmt: skip
@click.option("--leave-out", is_flag=True, help="Each run left out in turn, and put back in the end.")
@click.option("--histogram", nargs=2, metavar="A B", help="Whether the difference of two runs is normal.")
@click.option("--topic", metavar="T", help="Of --histogram: on this topic alone.")
@click.option("--view", type=click.Choice(VIEWS), help="One table alone; files hold curves by default.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw it all: .html, .svg, .png or .pdf.",
)  # fmt: skip
@session_options
@output_options()
@taking(SimulateOptions)
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
