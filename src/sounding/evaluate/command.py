"""`sounding evaluate`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class EvaluateOptions(declare.PolicyOptions, declare.ReadingOptions):
    """What `sounding evaluate` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("A measure: nDCG@10, P.5,10, map.")
    per_topic: bool = declare.flag("The value of every topic as well.", spelled="-q --per-topic")
    level: float = declare.number(
        "Lowest relevant grade, where a measure names no other.", default=1, spelled="-l --level"
    )
    residual: str | None = declare.text("Drop documents judged in this earlier round.", metavar="QRELS")
    groups: bool = declare.flag("Mean over judgment groups (second column of the qrels).")
    z_scores: str | None = declare.text(
        "Standardise by this file: topic measure mean deviation.", metavar="FILE"
    )
    by: str | None = declare.text(
        "One table for each value of a topic attribute: topic <TAB> value.", metavar="FILE"
    )
    stats: bool = declare.flag("Deviation, errors and geometric mean as well.")
    top: int | None = declare.count("Only the best so many runs.")
    _formats: ClassVar[declare.Declaration] = declare.formats
    into: Path | None = declare.option(
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep what each run gives as a Parquet file there; what is there already is not done again.",
    )


@click.command("evaluate", cls=GroupedCommand, short_help="Values of measures for runs.")
@declare.taking(EvaluateOptions)
@declare.workers
@declare.pool
@declare.policies()
@declare.output_options("trec")
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
