"""`sounding convert`: its options."""

from __future__ import annotations

from typing import Literal, get_args

import click

from sounding.core import policies as names
from sounding.terminal import declare


@declare.options
class ConvertOptions(declare.WorkerOptions):
    """What `sounding convert` is asked for."""

    files: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="FILE...")
    output: str = declare.option(
        required=True,
        metavar="TARGET",
        help="The file to write, or the folder for several.",
        spelled="-o --output",
    )
    to: Literal["parquet", "trec"] | None = declare.choice(
        ["parquet", "trec"], "What to write; default: by the suffix of TARGET, parquet into a folder."
    )
    kind: Literal["run", "qrels"] | None = declare.choice(
        ["run", "qrels"], "What the files hold, where their columns do not tell.", spelled="--as"
    )
    form: str | None = declare.text(
        "Format of the files, where it is not recognised.", metavar="F", spelled="--from"
    )
    without_ranks: bool = declare.flag("Leave the rank column of runs out.")
    duplicates: names.Duplicates = declare.choice(
        get_args(names.Duplicates), "A document listed twice for a topic.", default="error"
    )
    fractional: names.Fractional = declare.choice(
        get_args(names.Fractional), "Grades such as 0.5.", default="accept"
    )
    quiet: bool = declare.quiet


@click.command("convert", short_help="Runs and judgments to Parquet, and back.")
@declare.taking(ConvertOptions)
@declare.workers
def command(options: ConvertOptions) -> None:
    """Write runs and judgments as Parquet, or as TREC's text again.

    Parquet takes a quarter of the space of text, and DuckDB, Polars and pandas read it as well. Topics are
    sorted, columns typed, rows compressed; documents keep their order, so that every value stays what it
    was. A run may be larger than memory.

    \b
    sounding convert run.txt -o run.parquet
    sounding convert runs/ qrels.txt -o parquet/
    sounding convert run.parquet -o run.txt.gz
    """  # noqa: D301 - click wants the control character
    from sounding.convert.flow import run  # NumPy, which --help does without

    run(options)
