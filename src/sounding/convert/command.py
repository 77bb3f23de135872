"""The options of `sounding convert`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import click

from sounding.core import policies as names
from sounding.terminal import declare


@dataclass(frozen=True, kw_only=True)
class CleaningOptions:
    """The policies of --policy: what to do with what a table cannot hold."""

    duplicates: names.Duplicates = "error"
    fractional: names.Fractional = "accept"


@declare.options
class ConvertOptions(CleaningOptions, declare.WorkerOptions):
    """The options of `sounding convert`."""

    files: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="FILE...")
    output: str = declare.option(
        required=True,
        metavar="TARGET",
        help="Write to this file, or to this folder if there are several.",
        spelled="-o --output",
    )
    to: (
        Literal["parquet", "trec", "prefs", "rank_eval", "opensearch", "quepid", "label-studio", "argilla"]
        | None
    ) = declare.choice(
        ["parquet", "trec", "prefs", "rank_eval", "opensearch", "quepid", "label-studio", "argilla"],
        "Choose what to write; default: by the suffix of TARGET, parquet into a folder.",
    )
    kind: Literal["run", "qrels"] | None = declare.choice(
        ["run", "qrels"],
        "Read the files as runs or qrels if their columns do not show which.",
        spelled="--as",
    )
    form: str | None = declare.text(
        "Set the format of the files if it is not recognized.", metavar="F", spelled="--from"
    )
    topics: str | None = declare.text("Show the texts of FILE's topics in tasks.", metavar="FILE")
    corpus: str | None = declare.text("Show the texts of these documents in tasks.", metavar="FILE")
    without_ranks: bool = declare.flag("Leave out the rank column of runs.")
    _policy: ClassVar[declare.Declaration] = declare.policy("duplicates", "fractional")
    quiet: bool = declare.quiet


@click.command("convert", short_help="Convert runs and judgments to Parquet and back.")
@declare.taking(ConvertOptions)
@declare.workers
def command(options: ConvertOptions) -> None:
    """Convert runs and judgments to Parquet, and back to TREC text.

    Parquet files are a quarter of the size, and DuckDB, Polars and pandas read them too. Topics are
    sorted; documents keep their order, so every value stays the same. A run may be larger than memory.
    Judgments can also be written as preferences, for Elasticsearch (rank_eval), OpenSearch and Quepid, and
    documents to judge as tasks for Label Studio and Argilla. Preferences become grades by each person.

    \b
    sounding convert run.txt -o run.parquet
    sounding convert runs/ qrels.txt -o parquet/
    sounding convert run.parquet -o run.txt.gz
    sounding convert book.json -o products.json --to rank_eval
    sounding convert pool.qrels -o tasks.json --to label-studio --corpus docs.jsonl --topics topics.txt
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
