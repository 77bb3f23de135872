"""`sounding evaluate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(declare.PolicyOptions, declare.ReadingOptions):
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
@declare.qrels_and_runs
@declare.measures("A measure: nDCG@10, P.5,10, map.")
@declare.flag("-q --per-topic", "The value of every topic as well.")
@declare.number("-l --level", "Lowest relevant grade, where a measure names no other.", default=1)
@declare.text("--residual", "Drop documents judged in this earlier round.", metavar="QRELS")
@declare.flag("--groups", "Mean over judgment groups (second column of the qrels).")
@declare.text("--z-scores", "Standardise by this file: topic measure mean deviation.", metavar="FILE")
@declare.text("--by", "One table for each value of a topic attribute: topic <TAB> value.", metavar="FILE")
@declare.flag("--stats", "Deviation, errors and geometric mean as well.")
@declare.count("--top", "Only the best so many runs.")
@declare.formats
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep what each run gives as a Parquet file there; what is there already is not done again.",
)  # fmt: skip
@declare.workers
@declare.pool
@declare.policies()
@declare.output_options("trec")
@declare.taking(EvaluateOptions)
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
