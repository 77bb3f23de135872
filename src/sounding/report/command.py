"""`sounding report`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".tex": "latex", ".json": "json"}  # by suffix


def _by_suffix(context: click.Context, _: click.Parameter, value: str | None) -> str:
    return value or declare.by_suffix(context.params.get("output"), "html", FORMATS)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(declare.PlainPolicyOptions, declare.ReadingOptions):
    """What `sounding report` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    baselines: tuple[str, ...]
    until: str
    sections: str | None
    test: str
    correction: str | None
    alpha: float
    draws: int


@click.command("report", short_help="One page with all of it.")
@declare.qrels_and_runs
@declare.measures("A measure: AP, P@10. The first puts runs in order.")
@declare.baselines
@declare.pool
@declare.text(
    "--until",
    "What full judging means, for chances that a conclusion holds: runs:D, or pool:D of pooled runs.",
    metavar="U",
    default="runs:100",
)
@declare.text(
    "--sections",
    "Only these: summary, scoreboard, pairs, assessment, depth, audit, methods, reproduce.",
    metavar="A,B...",
)
@declare.test("randomisation", "Of the pairs; see docs/tests.md.")
@declare.correction("max-t, or what belongs to the test")
@declare.alpha("Level of both tests.")
@declare.count("--draws", "Pseudo-judgments of the audit.", default=50)
@declare.seed("Of everything drawn at random.")
@declare.formats
@declare.workers
@declare.plain_policies
@declare.flag("--quiet", "No progress, no remarks.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    callback=declare.writable,
    help="Write to this file.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("html", "md", "latex", "json")),
    callback=_by_suffix,
    help="Layout of the output; default: by the suffix of -o, otherwise html.",
)
@declare.keeping_inputs
@declare.taking(ReportOptions)
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
