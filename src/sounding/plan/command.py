"""The options of `sounding plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

NOTHING = "none"  # in place of QRELS: nothing is judged yet
QRELS = "qrels"  # the format of a template to fill in
VIEWS = ("documents", "ranking", "pairs", "forecast", "proof")


@declare.options
class PlanOptions(declare.SessionOptions):
    """The options of `sounding plan`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    count: int = declare.count(
        "List this many documents of each topic to judge next.", least=0, default=3, spelled="-n --next"
    )
    budget: int | None = declare.count("List the N documents to judge next, over all topics.", metavar="N")
    topics: tuple[str, ...] = declare.texts(
        "List only documents of topic T; repeatable.", metavar="T", spelled="--topic"
    )
    pair: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Plan only for the order of runs A and B."
    )
    baseline: str | None = declare.text("Plan only for pairs of RUN and another run.", metavar="RUN")
    top: int | None = declare.count("Plan only for the order of the N best runs.", least=2, metavar="N")
    open_below: float | None = declare.number(
        "Plan only for pairs whose confidence is below C.", metavar="C", spelled="--below"
    )
    wanted: float | None = declare.number(
        "Estimate how many judgments a confidence of C takes.", metavar="C", spelled="--to"
    )
    worlds: int = declare.count(
        "Simulate judging in this many random completions of the judgments.", default=8
    )
    most: int = declare.count("End each simulation of --to after this many judgments.", default=10_000)
    seconds: float = declare.seconds
    view: Literal["documents", "ranking", "pairs", "forecast", "proof"] | None = declare.choice(
        VIEWS, "Show only this table; files contain documents by default."
    )
    chart: Path | None = declare.chart("Draw the ranking, and with --to the forecast")
    seed: int = declare.seed()


@click.command("plan", cls=GroupedCommand, short_help="Choose which documents to judge next.")
@declare.taking(PlanOptions)
@declare.session
@declare.output_options(QRELS)
def command(options: PlanOptions) -> None:
    """Choose which documents of RUNs to judge next, and see how certain their ranking is.

    The tables show expected values, which pairs of runs are proven, probable or open, and the documents
    that would best decide the open pairs. Type none for QRELS if nothing is judged yet. A confidence is
    stated only with at least 2 runs and 50 judgments of their documents.

    \b
    sounding plan qrels.txt runs/
    sounding plan qrels.txt runs/ --pair bm25 dense --to 0.95
    sounding plan none runs/ --budget 100 -o next.qrels
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
