"""`sounding audit`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

CHART_FORMATS = ("html", "svg", "png", "pdf")
SECTIONS = (
    "pool", "runs", "topics", "growth", "unique", "leave-out", "reinforcement", "ties", "assessment", "parts",
    "titles",
)  # fmt: skip


@declare.options
class AuditOptions(declare.PlainPolicyOptions, declare.ReadingOptions):
    """What `sounding audit` is asked for."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("A measure: AP, nDCG@10.")
    new: tuple[str, ...] = declare.texts("A run that had no part in the judgments.", metavar="RUN")
    level: float = declare.number("Lowest relevant grade.", default=1, spelled="-l --level")
    _pool: ClassVar[declare.Declaration] = declare.pool
    remove: Literal["relevant", "judgments"] = declare.choice(
        ("relevant", "judgments"),
        "What leaving out takes: unique relevant documents, or all unique judgments.",
        default="relevant",
    )
    unique_among: Literal["pooled", "all"] = declare.choice(
        ("pooled", "all"),
        "Count a document as unique if no other pooled run (or no other run) has it.",
        default="pooled",
    )
    chosen: tuple[str, ...] = declare.option(
        multiple=True, type=click.Choice(SECTIONS), help="Details; repeatable.", spelled="--section"
    )
    every: bool = declare.flag("The verdict and every section.", spelled="--all")
    top: int | None = declare.count("Rows that people see of a section.  [default: 20]")
    parts: str | None = declare.text(
        "prefix:N, a regular expression, or a file of doc and part.", metavar="P"
    )
    topics: str | None = declare.text("Topics with titles; with --corpus: title bias.", metavar="FILE")
    corpus: tuple[str, ...] = declare.texts("Documents: TREC SGML or JSON lines.", metavar="FILE")
    collections: tuple[tuple[str, str, str], ...] = declare.option(
        nargs=3,
        multiple=True,
        metavar="NAME QRELS RUNS",
        help="Another collection, for tau with assessment side by side; may be repeated.",
        spelled="--collection",
    )
    collection_info: tuple[tuple[str, str], ...] = declare.option(
        nargs=2,
        multiple=True,
        metavar="NAME FILE",
        help="Which runs of such a collection were pooled; may be repeated.",
    )
    draws: int = declare.count("Pseudo-judgments.", default=50)
    seed: int = declare.seed("Of the draws.")
    chart: Path | None = declare.option(
        type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="All charts."
    )
    chart_format: str = declare.choice(CHART_FORMATS, "Of the files in DIR.", default="html")

    @property
    def sections(self) -> list[str]:
        """The sections that are asked for, by name or by what only they show."""
        asked = {
            "parts": self.parts is not None,
            "titles": self.topics is not None,
            "assessment": bool(self.collections),
        }
        return list(dict.fromkeys([*self.chosen, *(name for name, own in asked.items() if own)]))


@click.command("audit", cls=GroupedCommand, short_help="Can this collection judge these runs.")
@declare.taking(AuditOptions)
@declare.formats
@declare.workers
@declare.plain_policies
@declare.output_options()
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
