"""The options of `sounding track`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class TrackOptions(declare.PlainPolicyOptions, declare.FormatOptions, declare.OutputOptions):
    """The options of `sounding track`."""

    history: str = declare.argument(metavar="HISTORY")
    qrels: str | None = declare.argument(required=False)
    runs: tuple[str, ...] = declare.argument(nargs=-1, metavar="[RUN]...")
    measures: tuple[str, ...] = declare.measures(
        "Use measure M; repeatable; default: the measures of `sounding evaluate` when values are added, and"
        " all measures of HISTORY when it is shown."
    )
    commit: str | None = declare.text(
        "Name the state of the software; default: the commit that git has checked out.", metavar="NAME"
    )
    time: str | None = declare.text(
        "Place the commit in the history at this time (ISO 8601); default: its own time, or now.", metavar="T"
    )
    since: str | None = declare.text(
        "Compare the last commit with NAME; default: the first with the same judgments.", metavar="NAME"
    )
    alpha: float = declare.alpha()
    chart: Path | None = declare.chart("Draw each run's values over the commits, with confidence intervals")


@click.command("track", cls=GroupedCommand, short_help="Keep values per commit, and see a slow decline.")
@declare.taking(TrackOptions)
@declare.formats
@declare.plain_policies
@declare.output_options()
def command(options: TrackOptions) -> None:
    """Keep the values of RUNs per commit in the file HISTORY, and test whether they changed.

    With QRELS and RUNs, the command evaluates the RUNs and adds their values under a commit. Without them, it
    shows the history. HISTORY is a Parquet or SQLite file; it is made if it does not exist.

    \b
    sounding track history.parquet qrels.txt runs/ -m nDCG@10
    sounding track history.parquet --since v1.0 --chart history.html
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
