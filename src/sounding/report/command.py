"""`sounding report`: its options."""

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
    """What `sounding report` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("A measure: AP, P@10. The first puts runs in order.")
    baselines: tuple[str, ...] = declare.baselines
    _pool: ClassVar[declare.Declaration] = declare.pool
    until: str = declare.text(
        "What full judging means, for chances that a conclusion holds: runs:D, or pool:D of pooled runs.",
        metavar="U",
        default="runs:100",
    )
    sections: str | None = declare.text(
        "Only these: summary, pairs, topics, measures, depth, collection, methods.",
        metavar="A,B...",
    )
    test: str = declare.test("randomisation", "Of the pairs; see docs/tests.md.")
    correction: str | None = declare.correction("max-t, or what belongs to the test")
    alpha: float = declare.alpha("Level of both tests.")
    draws: int = declare.count("Pseudo-judgments of the audit.", default=50)
    seed: int = declare.seed("Of everything drawn at random.")
    _formats: ClassVar[declare.Declaration] = declare.formats
    _workers: ClassVar[declare.Declaration] = declare.workers
    _plain_policies: ClassVar[declare.Declaration] = declare.plain_policies
    quiet: bool = declare.flag("No progress, no remarks.")
    output: Path | None = declare.option(
        type=click.Path(dir_okay=False, path_type=Path),
        is_eager=True,
        callback=declare.writable,
        help="Write to this file.",
        spelled="-o --output",
    )
    format_name: str = declare.option(
        type=click.Choice(("html", "md", "latex", "json")),
        callback=_by_suffix,
        help="Layout of the output; default: by the suffix of -o, otherwise html.",
        spelled="--format",
    )


@click.command("report", cls=GroupedCommand, short_help="One page with all of it.")
@declare.taking(ReportOptions)
@declare.keeping_inputs
def command(options: ReportOptions) -> None:
    """Write one page with all that QRELS and RUNs tell.

    First a summary in plain sentences: who is best, which differences can be trusted and which cannot, how
    deep the collection can be used, what to do next. Then all values, pairs, depths and the audit of the
    collection, with charts and their data. The page is one file and needs no network.

    \b
    sounding report qrels.txt runs/ --info info.tsv -o report.html
    sounding report qrels.txt runs/ --baseline bm25 -m nDCG@10 -o report.html
    sounding report qrels.txt runs/ --sections summary,pairs -o report.md
    """  # noqa: D301 - click wants the control character
    from sounding.report.flow import run  # NumPy and the engine, which --help does without

    run(options)
