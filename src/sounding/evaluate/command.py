"""`sounding evaluate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal.options import (
    PolicyOptions,
    ReadingOptions,
    format_options,
    output_options,
    policy_options,
    pool_options,
    taking,
    worker_options,
)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(PolicyOptions, ReadingOptions):
    """What `sounding evaluate` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    per_topic: bool
    level: float
    residual: str | None
    groups: bool
    z_scores: str | None
    by: str | None
    stats: bool
    top: int | None
    into: Path | None


@click.command("evaluate", short_help="Values of measures for runs.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: nDCG@10, P.5,10, map."
)
@click.option("-q", "--per-topic", is_flag=True, help="The value of every topic as well.")
@click.option(
    "-l",
    "--level",
    type=float,
    default=1,
    show_default=True,
    help="Lowest relevant grade, where a measure names no other.",
)
@click.option("--residual", metavar="QRELS", help="Drop documents judged in this earlier round.")
@click.option("--groups", is_flag=True, help="Mean over judgment groups (second column of the qrels).")
@click.option("--z-scores", metavar="FILE", help="Standardise by this file: topic measure mean deviation.")
@click.option(
    "--by", metavar="FILE", help="One table for each value of a topic attribute: topic <TAB> value."
)
@click.option("--stats", is_flag=True, help="Deviation, errors and geometric mean as well.")
@click.option("--top", type=click.IntRange(1), help="Only the best so many runs.")
@format_options
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep what each run gives as a Parquet file there; what is there already is not done again.",
)  # fmt: skip
@worker_options
@pool_options
@policy_options
@output_options("trec")
@taking(EvaluateOptions)
def command(options: EvaluateOptions) -> None:
    """Score RUNs against QRELS.

    Values are trec_eval's, means over all judged topics (`trec_eval -c`), with the share of judged
    documents beside each. A RUN is a file, a folder, a glob, or - for standard input; most formats
    are recognised (TREC, CSV, JSON, Parquet; compressed or not).

    \b
    sounding evaluate qrels.txt bm25.txt dense.txt -m AP -m nDCG@20 -m 'RBP(p=0.8)'
    sounding evaluate qrels.txt runs/ -m official --per-topic --format trec
    """  # noqa: D301 - click wants the control character
    from sounding.evaluate.flow import run  # NumPy and the engine, which --help does without

    run(options)
