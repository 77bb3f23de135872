"""`sounding plan`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from sounding.terminal.options import output_options, taking
from sounding.terminal.session_options import SessionOptions, session_options

NOTHING = "none"  # in place of QRELS: nothing is judged yet
VIEWS = ("documents", "ranking", "pairs", "forecast")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(SessionOptions):
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
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-n", "--next", "count", type=click.IntRange(0), default=3, show_default=True,
    help="Documents of each topic to judge next.",
)  # fmt: skip
@click.option("--topic", "topics", multiple=True, metavar="T", help="Only this topic's; may be repeated.")
@click.option("--pair", nargs=2, metavar="A B", help="Only the order of these two runs matters.")
@click.option("--baseline", metavar="RUN", help="Only how this run compares with the others matters.")
@click.option("--top", type=click.IntRange(2), metavar="N", help="Only the first N runs matter.")
@click.option(
    "--open", "open_below", type=float, metavar="C", help="Judge only for pairs less sure than C by now."
)
@click.option("--to", "wanted", type=float, metavar="C", help="How many judgments a confidence of C takes.")
@click.option(
    "--worlds", type=click.IntRange(1), default=8, show_default=True,
    help="Completions of the judgments in which judging is tried out.",
)  # fmt: skip
@click.option(
    "--most", type=click.IntRange(1), default=10_000, show_default=True,
    help="Judgments after which --to gives up in a completion.",
)  # fmt: skip
@click.option("--seconds", type=float, default=30, show_default=True, help="Time to judge a document.")
@click.option("--view", type=click.Choice(VIEWS), help="One table alone; files hold documents by default.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw the ranking, and with --to the forecast: .html, .svg, .png or .pdf.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is drawn.")
@session_options
@output_options()
@taking(PlanOptions)
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
