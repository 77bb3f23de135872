"""`sounding report`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal.options import (
    FormatOptions,
    PlainPolicyOptions,
    PoolOptions,
    WorkerOptions,
    by_suffix,
    format_options,
    keeping_inputs,
    plain_policies,
    pool_options,
    taking,
    worker_options,
    writable,
)

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".tex": "latex", ".json": "json"}  # by suffix


def _by_suffix(context: click.Context, _: click.Parameter, value: str | None) -> str:
    return value or by_suffix(context.params.get("output"), "html", FORMATS)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(PlainPolicyOptions, PoolOptions, FormatOptions, WorkerOptions):
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
    quiet: bool
    output: Path | None
    format_name: str


@click.command("report", short_help="One page with all of it.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="M",
    help="A measure: AP, P@10. The first puts runs in order.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    help="Compare the other runs with this one; may be repeated.",
)
@pool_options
@click.option(
    "--until",
    default="runs:100",
    show_default=True,
    metavar="U",
    help="What full judging means, for chances that a conclusion holds: runs:D, or pool:D of pooled runs.",
)
@click.option(
    "--sections",
    metavar="A,B...",
    help="Only these: summary, scoreboard, pairs, assessment, depth, audit, methods, reproduce.",
)
@click.option(
    "--test", default="randomisation", show_default=True, metavar="T", help="Of the pairs; see docs/tests.md."
)
@click.option(
    "--correction",
    metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: max-t, or what belongs to the test.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option(
    "--draws", type=click.IntRange(1), default=50, show_default=True, help="Pseudo-judgments of the audit."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything drawn at random."
)
@format_options
@worker_options
@plain_policies
@click.option("--quiet", is_flag=True, help="No progress, no remarks.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    callback=writable,
    help="Write to this file.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("html", "md", "latex", "json")),
    callback=_by_suffix,
    help="Layout of the output; default: by the suffix of -o, otherwise html.",
)
@keeping_inputs
@taking(ReportOptions)
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
