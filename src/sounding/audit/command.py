"""`sounding audit`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from sounding.terminal.options import (
    PlainPolicyOptions,
    ReadingOptions,
    format_options,
    output_options,
    plain_policies,
    pool_options,
    taking,
    worker_options,
)

CHART_FORMATS = ("html", "svg", "png", "pdf")
SECTIONS = (
    "pool", "runs", "topics", "growth", "unique", "leave-out", "reinforcement", "ties", "assessment", "parts",
    "titles",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AuditOptions(PlainPolicyOptions, ReadingOptions):
    """What `sounding audit` is asked for."""

    qrels: str
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    new: tuple[str, ...]
    level: float
    remove: Literal["relevant", "judgments"]
    unique_among: Literal["pooled", "all"]
    chosen: tuple[str, ...]
    every: bool
    top: int | None
    parts: str | None
    topics: str | None
    corpus: tuple[str, ...]
    collections: tuple[tuple[str, str, str], ...]
    collection_info: tuple[tuple[str, str], ...]
    draws: int
    chart: Path | None
    chart_format: str

    @property
    def sections(self) -> list[str]:
        """The sections that are asked for, by name or by what only they show."""
        asked = {
            "parts": self.parts is not None,
            "titles": self.topics is not None,
            "assessment": bool(self.collections),
        }
        return list(dict.fromkeys([*self.chosen, *(name for name, own in asked.items() if own)]))


@click.command("audit", short_help="Can this collection judge these runs.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, nDCG@10.")
@click.option("--new", multiple=True, metavar="RUN", help="A run that had no part in the judgments.")
@click.option("-l", "--level", type=float, default=1, show_default=True, help="Lowest relevant grade.")
@pool_options
@click.option(
    "--remove", type=click.Choice(("relevant", "judgments")), default="relevant", show_default=True,
    help="What leaving out takes: unique relevant documents, or all unique judgments.",
)  # fmt: skip
@click.option(
    "--unique-among", type=click.Choice(("pooled", "all")), default="pooled", show_default=True,
    help="Count a document as unique if no other pooled run (or no other run) has it.",
)  # fmt: skip
@click.option("--section", "chosen", multiple=True, type=click.Choice(SECTIONS), help="Details; repeatable.")
@click.option("--all", "every", is_flag=True, help="The verdict and every section.")
@click.option("--top", type=click.IntRange(1), help="Rows that people see of a section.  [default: 20]")
@click.option("--parts", metavar="P", help="prefix:N, a regular expression, or a file of doc and part.")
@click.option("--topics", metavar="FILE", help="Topics with titles; with --corpus: title bias.")
@click.option("--corpus", multiple=True, metavar="FILE", help="Documents: TREC SGML or JSON lines.")
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, for tau with assessment side by side; may be repeated.",
)  # fmt: skip
@click.option(
    "--collection-info", "collection_info", nargs=2, multiple=True, metavar="NAME FILE",
    help="Which runs of such a collection were pooled; may be repeated.",
)  # fmt: skip
@click.option("--draws", type=click.IntRange(1), default=50, show_default=True, help="Pseudo-judgments.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@click.option("--chart", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="All charts.")
@click.option(
    "--chart-format", type=click.Choice(CHART_FORMATS), default="html", show_default=True,
    help="Of the files in DIR.",
)  # fmt: skip
@format_options
@worker_options
@plain_policies
@output_options()
@taking(AuditOptions)
def command(options: AuditOptions) -> None:
    """Say what QRELS are fit for: to compare the RUNs that were pooled, and new ones.

    First a verdict with the figure behind every statement. Details by --section: what the pool was, how
    much of each run was judged, growth, unique relevant documents, leaving out runs and groups, ties,
    rankings that need no judgments.

    \b
    sounding audit qrels.txt runs/ --info info.tsv
    sounding audit qrels.txt runs/ --info info.tsv --new mine.txt
    sounding audit qrels.txt runs/ --info info.tsv --section leave-out --top 50
    """  # noqa: D301 - click wants the control character
    from sounding.audit.flow import run  # NumPy and the engine, which --help does without

    run(options)
