"""`sounding convert`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import click

from sounding.core import policies as names
from sounding.terminal import declare


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(declare.WorkerOptions):
    """What `sounding convert` is asked for."""

    files: tuple[str, ...]
    output: str
    to: Literal["parquet", "trec"] | None
    kind: Literal["run", "qrels"] | None
    form: str | None
    without_ranks: bool
    duplicates: names.Duplicates
    fractional: names.Fractional
    quiet: bool


@click.command("convert", short_help="Runs and judgments to Parquet, and back.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o", "--output", required=True, metavar="TARGET",
    help="The file to write, or the folder for several.",
)  # fmt: skip
@declare.choice(
    "--to", ["parquet", "trec"], "What to write; default: by the suffix of TARGET, parquet into a folder."
)
@declare.choice("--as kind", ["run", "qrels"], "What the files hold, where their columns do not tell.")
@declare.text("--from form", "Format of the files, where it is not recognised.", metavar="F")
@declare.flag("--without-ranks", "Leave the rank column of runs out.")
@declare.choice(
    "--duplicates", get_args(names.Duplicates), "A document listed twice for a topic.", default="error"
)
@declare.choice("--fractional", get_args(names.Fractional), "Grades such as 0.5.", default="accept")
@declare.quiet
@declare.workers
@declare.taking(ConvertOptions)
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
