"""`sounding convert`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import click

from sounding.core import policies as names
from sounding.terminal.options import WorkerOptions, taking, worker_options


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(WorkerOptions):
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
@click.option(
    "--to", type=click.Choice(["parquet", "trec"]),
    help="What to write; default: by the suffix of TARGET, parquet into a folder.",
)  # fmt: skip
@click.option(
    "--as", "kind", type=click.Choice(["run", "qrels"]),
    help="What the files hold, where their columns do not tell.",
)  # fmt: skip
@click.option("--from", "form", metavar="F", help="Format of the files, where it is not recognised.")
@click.option("--without-ranks", is_flag=True, help="Leave the rank column of runs out.")
@click.option(
    "--duplicates", type=click.Choice(get_args(names.Duplicates)), default="error", show_default=True,
    help="A document listed twice for a topic.",
)  # fmt: skip
@click.option(
    "--fractional", type=click.Choice(get_args(names.Fractional)), default="accept", show_default=True,
    help="Grades such as 0.5.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
@worker_options
@taking(ConvertOptions)
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
