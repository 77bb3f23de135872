"""`sounding plan`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from sounding.terminal import declare

NOTHING = "none"  # in place of QRELS: nothing is judged yet
VIEWS = ("documents", "ranking", "pairs", "forecast")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(declare.SessionOptions):
    """What `sounding plan` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    count: int
    topics: tuple[str, ...]
    pair: tuple[str, str] | None
    baseline: str | None
    top: int | None
    open_below: float | None
    wanted: float | None
    worlds: int
    most: int
    seconds: float
    view: Literal["documents", "ranking", "pairs", "forecast"] | None
    chart: Path | None
    seed: int


@click.command("plan", short_help="What to judge next.")
@declare.qrels_and_runs
@declare.count("-n --next count", "Documents of each topic to judge next.", least=0, default=3)
@declare.texts("--topic topics", "Only this topic's; may be repeated.", metavar="T")
@click.option("--pair", nargs=2, metavar="A B", help="Only the order of these two runs matters.")
@declare.text("--baseline", "Only how this run compares with the others matters.", metavar="RUN")
@declare.count("--top", "Only the first N runs matter.", least=2, metavar="N")
@declare.number("--open open_below", "Judge only for pairs less sure than C by now.", metavar="C")
@declare.number("--to wanted", "How many judgments a confidence of C takes.", metavar="C")
@declare.count("--worlds", "Completions of the judgments in which judging is tried out.", default=8)
@declare.count("--most", "Judgments after which --to gives up in a completion.", default=10_000)
@declare.seconds
@declare.choice("--view", VIEWS, "One table alone; files hold documents by default.")
@declare.chart("Draw the ranking, and with --to the forecast")
@declare.seed()
@declare.session
@declare.output_options()
@declare.taking(PlanOptions)
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
