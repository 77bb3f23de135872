"""`sounding audit`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from sounding.terminal import declare

CHART_FORMATS = ("html", "svg", "png", "pdf")
SECTIONS = (
    "pool", "runs", "topics", "growth", "unique", "leave-out", "reinforcement", "ties", "assessment", "parts",
    "titles",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AuditOptions(declare.PlainPolicyOptions, declare.ReadingOptions):
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
@declare.qrels_and_runs
@declare.measures("A measure: AP, nDCG@10.")
@declare.texts("--new", "A run that had no part in the judgments.", metavar="RUN")
@declare.number("-l --level", "Lowest relevant grade.", default=1)
@declare.pool
@declare.choice(
    "--remove",
    ("relevant", "judgments"),
    "What leaving out takes: unique relevant documents, or all unique judgments.",
    default="relevant",
)
@declare.choice(
    "--unique-among",
    ("pooled", "all"),
    "Count a document as unique if no other pooled run (or no other run) has it.",
    default="pooled",
)
@click.option("--section", "chosen", multiple=True, type=click.Choice(SECTIONS), help="Details; repeatable.")
@declare.flag("--all every", "The verdict and every section.")
@declare.count("--top", "Rows that people see of a section.  [default: 20]")
@declare.text("--parts", "prefix:N, a regular expression, or a file of doc and part.", metavar="P")
@declare.text("--topics", "Topics with titles; with --corpus: title bias.", metavar="FILE")
@declare.texts("--corpus", "Documents: TREC SGML or JSON lines.", metavar="FILE")
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, for tau with assessment side by side; may be repeated.",
)  # fmt: skip
@click.option(
    "--collection-info", "collection_info", nargs=2, multiple=True, metavar="NAME FILE",
    help="Which runs of such a collection were pooled; may be repeated.",
)  # fmt: skip
@declare.count("--draws", "Pseudo-judgments.", default=50)
@declare.seed("Of the draws.")
@click.option("--chart", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="All charts.")
@declare.choice("--chart-format", CHART_FORMATS, "Of the files in DIR.", default="html")
@declare.formats
@declare.workers
@declare.plain_policies
@declare.output_options()
@declare.taking(AuditOptions)
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
