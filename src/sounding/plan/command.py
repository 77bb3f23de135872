"""`sounding plan`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

NOTHING = "none"  # in place of QRELS: nothing is judged yet
VIEWS = ("documents", "ranking", "pairs", "forecast")


@declare.options
class PlanOptions(declare.SessionOptions):
    """What `sounding plan` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    count: int = declare.count(
        "Documents of each topic to judge next.", least=0, default=3, spelled="-n --next"
    )
    topics: tuple[str, ...] = declare.texts(
        "Only this topic's; may be repeated.", metavar="T", spelled="--topic"
    )
    pair: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Only the order of these two runs matters."
    )
    baseline: str | None = declare.text("Only how this run compares with the others matters.", metavar="RUN")
    top: int | None = declare.count("Only the first N runs matter.", least=2, metavar="N")
    open_below: float | None = declare.number(
        "Judge only for pairs less sure than C by now.", metavar="C", spelled="--open"
    )
    wanted: float | None = declare.number(
        "How many judgments a confidence of C takes.", metavar="C", spelled="--to"
    )
    worlds: int = declare.count("Completions of the judgments in which judging is tried out.", default=8)
    most: int = declare.count("Judgments after which --to gives up in a completion.", default=10_000)
    seconds: float = declare.seconds
    view: Literal["documents", "ranking", "pairs", "forecast"] | None = declare.choice(
        VIEWS, "One table alone; files hold documents by default."
    )
    chart: Path | None = declare.chart("Draw the ranking, and with --to the forecast")
    seed: int = declare.seed()


@click.command("plan", cls=GroupedCommand, short_help="What to judge next.")
@declare.taking(PlanOptions)
@declare.session
@declare.output_options()
def command(options: PlanOptions) -> None:
    """Say which documents of RUNs to judge next, and how sure their order is by the judgments in QRELS.

    Expected values, the pairs of runs that are proven, probable or open, and the documents that tell most
    about the open ones. QRELS may be the word none: nothing is judged yet. No confidence is stated with
    fewer than 5 runs or 100 judgments of their documents.

    \b
    sounding plan qrels.txt runs/
    sounding plan qrels.txt runs/ --pair bm25 dense --to 0.95
    sounding plan none runs/ --next 10 -o to-judge.csv
    """  # noqa: D301 - click wants the control character
    from sounding.plan.flow import run  # NumPy and the engine, which --help does without

    run(options)
