"""The options of `sounding audit`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

CHART_FORMATS = ("html", "svg", "png", "pdf")
SECTIONS = (
    "pool", "runs", "topics", "growth", "deeper", "beyond", "unique", "leave-out", "reinforcement", "added",
    "ties", "assessment", "parts", "titles",
)  # fmt: skip


@declare.options
class AuditOptions(declare.PlainPolicyOptions, declare.ReadingOptions):
    """The options of `sounding audit`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures("Use measure M; repeatable; default: AP, nDCG@10 and P@10.")
    new: tuple[str, ...] = declare.texts(
        "Check whether the collection can evaluate RUN, which was not pooled; repeatable.", metavar="RUN"
    )
    labels: tuple[str, ...] = declare.texts(
        "Check instead whether the labels by machines in FILE are fit for use; repeatable.",
        metavar="FILE",
        spelled="--labels",
    )
    judges: tuple[str, ...] = declare.judges
    level: float = declare.number(
        "Count grades from this one up as relevant.", default=1, spelled="-l --level"
    )
    _pool: ClassVar[declare.Declaration] = declare.pool
    remove: Literal["relevant", "judgments"] = declare.choice(
        ("relevant", "judgments"),
        "Choose what leaving out a run removes: its unique relevant documents, or all its unique judgments.",
        default="relevant",
    )
    unique_among: Literal["pooled", "all"] = declare.choice(
        ("pooled", "all"),
        "Count a document as unique if no other pooled run (or no other run) has it.",
        default="pooled",
    )
    chosen: tuple[str, ...] = declare.option(
        multiple=True,
        type=click.Choice(SECTIONS),
        help="Show this section in detail; repeatable.",
        spelled="--section",
    )
    first_depth: int | None = declare.count(
        "Count new relevant documents below this depth (for --section deeper); default: half of the pool's.",
        metavar="D",
    )
    every: bool = declare.flag("Show the verdict and every section.", spelled="--all")
    top: int | None = declare.count("Show only the first N rows of each section.  [default: 20]")
    parts: str | None = declare.text(
        "Split the collection by prefix:N, a regular expression, or a file of doc and part.", metavar="P"
    )
    topics: str | None = declare.text(
        "Read topic titles from FILE, to measure title bias (with --corpus).", metavar="FILE"
    )
    corpus: tuple[str, ...] = declare.texts(
        "Read documents from FILE (TREC SGML or JSON lines); repeatable.", metavar="FILE"
    )
    collections: tuple[tuple[str, str, str], ...] = declare.collections(
        "Add another collection to the sections growth and assessment; repeatable."
    )
    collection_info: tuple[tuple[str, str], ...] = declare.option(
        nargs=2,
        multiple=True,
        metavar="NAME FILE",
        help="Read which runs of such a collection were pooled; repeatable.",
    )
    draws: int = declare.count("Draw this many sets of pseudo-judgments.", default=50)
    seed: int = declare.seed()
    chart: Path | None = declare.option(
        type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write all charts to DIR."
    )
    chart_format: str = declare.choice(CHART_FORMATS, "Set the format of the charts in DIR.", default="html")

    @property
    def sections(self) -> list[str]:
        """The sections that are asked for, by name or by what only they show."""
        asked = {
            "parts": self.parts is not None,
            "titles": self.topics is not None,
            "assessment": bool(self.collections) and "growth" not in self.chosen,
            "deeper": self.first_depth is not None,
        }
        return list(dict.fromkeys([*self.chosen, *(name for name, own in asked.items() if own)]))


@click.command(
    "audit", cls=GroupedCommand, short_help="Check whether a collection can evaluate its runs and new runs."
)
@declare.taking(AuditOptions)
@declare.formats
@declare.workers
@declare.plain_policies
@declare.output_options()
def command(options: AuditOptions) -> None:
    """Check whether QRELS can evaluate the RUNs and new runs, and down to what depth.

    The output begins with a verdict and the figure behind each statement. --section shows the details:
    the pool, judged shares, growth, unique relevant documents, leaving out runs and groups, ties, and
    rankings that need no judgments.

    \b
    sounding audit qrels.txt runs/ --info info.tsv
    sounding audit qrels.txt runs/ --info info.tsv --new mine.txt
    sounding audit qrels.txt runs/ --info info.tsv --section leave-out --top 50
    sounding audit qrels.txt runs/ --labels labels.tsv
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
