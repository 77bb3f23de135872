"""The options of `sounding report`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".tex": "latex", ".json": "json"}  # by suffix


def _by_suffix(context: click.Context, _: click.Parameter, value: str | None) -> str:
    return value or declare.by_suffix(context.params.get("output"), "html", FORMATS)


@declare.options
class ReportOptions(declare.PlainPolicyOptions, declare.ReadingOptions):
    """The options of `sounding report`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures(
        "Report measure M; repeatable; the first one ranks the runs; default: AP, nDCG@10 and P@10."
    )
    baselines: tuple[str, ...] = declare.baselines
    labels: tuple[str, ...] = declare.texts(
        "Show estimates from QRELS and from the machine labels in FILE; repeatable.",
        metavar="FILE",
        spelled="--labels",
    )
    judges: tuple[str, ...] = declare.judges
    about: str | None = declare.text(
        "Write the page about RUN: its place, what it beats, what beats it.", metavar="RUN", spelled="--for"
    )
    by: str | None = declare.text(
        "Add values by group of topics; FILE has lines of topic <TAB> group.", metavar="FILE"
    )
    _pool: ClassVar[declare.Declaration] = declare.pool
    until: str = declare.text(
        "Set what full judging means: the top D of all runs (runs:D) or of pooled runs (pool:D), or the"
        " documents in FILE.",
        metavar="U",
        default="runs:100",
    )
    sections: str | None = declare.text(
        "Write only these sections: summary, pairs, topics, slices, measures, depth, collection, methods.",
        metavar="A,B...",
    )
    test: str = declare.test("randomization", "Choose the significance test (see docs/tests.md).")
    correction: str | None = declare.correction("max-t for randomization, holm for most others")
    alpha: float = declare.alpha()
    draws: int = declare.count("Draw this many sets of pseudo-judgments for the audit.", default=50)
    seed: int = declare.seed()
    _formats: ClassVar[declare.Declaration] = declare.formats
    _workers: ClassVar[declare.Declaration] = declare.workers
    _plain_policies: ClassVar[declare.Declaration] = declare.plain_policies
    quiet: bool = declare.quiet
    output: Path | None = declare.option(
        type=click.Path(dir_okay=False, path_type=Path),
        is_eager=True,
        callback=declare.writable,
        help="Write to FILE.",
        spelled="-o --output",
    )
    format_name: str = declare.option(
        type=click.Choice(("html", "md", "latex", "json")),
        callback=_by_suffix,
        help="Set the output format; default: by the suffix of -o, otherwise html.",
        spelled="--format",
    )


@click.command("report", cls=GroupedCommand, short_help="Write one page with all results.")
@declare.taking(ReportOptions)
@declare.keeping_inputs
def command(options: ReportOptions) -> None:
    """Write one page that says who wins, whether to trust it, what is missing and what to do next.

    Below that, it shows any two runs, topics, measures, depth, the audit of the collection and the
    methods, with charts and their data. The page is a single file and needs no network.

    \b
    sounding report qrels.txt runs/ --info info.tsv -o report.html
    sounding report qrels.txt runs/ --for my-run -m nDCG@10 -o report.html
    sounding report qrels.txt runs/ --sections summary,pairs -o report.md
    sounding report sample.tsv runs/ --labels labels.tsv -o report.html
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
