"""The options of `sounding compare`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class CompareOptions(declare.PolicyOptions, declare.ReadingOptions):
    """The options of `sounding compare`."""

    qrels: str | None = declare.argument(required=False)
    runs: tuple[str, ...] = declare.argument(nargs=-1, metavar="RUN...")
    measures: tuple[str, ...] = declare.measures(
        "Compare by measure M; repeatable; default: AP and P@10 (with --depths: P and AP)."
    )
    baselines: tuple[str, ...] = declare.baselines
    pair: tuple[str, str] | None = declare.option(
        nargs=2,
        metavar="A B",
        help="Compare only runs A and B, and explain the result by topic and document.",
    )
    focus: str | None = declare.text(
        "Write everything about RUN: its rank, what it beats, what beats it, what is undecided.",
        metavar="RUN",
        spelled="--for",
    )
    against: tuple[str, ...] = declare.texts(
        "Compare the run of --for only with these runs; separate several by commas.", metavar="RUN,..."
    )
    by: str | None = declare.text(
        "Compare within each group of topics; FILE has lines of topic <TAB> group.", metavar="FILE"
    )
    test: str = declare.test(
        "randomization",
        "Choose the test: t, wilcoxon, wilcoxon-pratt, sign, randomization, bootstrap, bootstrap-percentile,"
        " anova, anova2, tukey or randomized-tukey (see docs/tests.md).",
    )
    correction: str | None = declare.correction("max-t for randomization, holm for most others")
    assessment: str = declare.text(
        "Test assessment by A_p at the depth of each measure, or by A_p@500, A_r, AA@100, MAA or twin.",
        metavar="A",
        default="A_p",
    )
    alpha: float = declare.alpha()
    margin: float | None = declare.number(
        "Also test for equivalence and non-inferiority with margin D.", metavar="D"
    )
    permutations: int | None = declare.count(
        "Draw N permutations or resamples; default: 10,000, or as many as the correction needs.", metavar="N"
    )
    depths: tuple[str, ...] = declare.texts(
        "Count the cases at each depth D (for measures without a cutoff); repeatable.", metavar="D,D..."
    )
    collections: tuple[tuple[str, str, str], ...] = declare.collections(
        "Add another collection to the counts of --depths; repeatable."
    )
    _pool: ClassVar[declare.Declaration] = declare.pool
    top: int | None = declare.count(
        "Show only the first N rows, or N documents with --pair; default in tables: 20 rows, 5 documents.",
        metavar="N",
    )
    documents: Path | None = declare.file(
        "Write the documents that would settle --pair to FILE, in the format of its suffix or as CSV."
    )
    chart: Path | None = declare.chart("Draw the differences with their intervals, or with --pair by topic")
    holds: bool = declare.flag(
        "Show the chance that each conclusion, and its sign, would hold after full judging (see --until)."
    )
    until: str | None = declare.text(
        "Set what full judging means: the top D of all runs (runs:D) or of pooled runs (pool:D), or the"
        " documents in FILE; default: runs:100.",
        metavar="U",
    )
    matrix: bool = declare.flag("Show a matrix of all runs, with one sign per pair.")
    each_pair: bool = declare.flag("Show every pair at each of --depths, not only counts.")
    design: bool = declare.flag("Show power, topics needed and error rates, instead of pairs.")
    preregistered: str | None = declare.text(
        "Read pre-registered choices from FILE and check the comparison against them.", metavar="FILE"
    )
    fail_on: tuple[str, ...] = declare.texts(
        "Fail if a run is worse, weak or unsettled, or beyond a threshold (drop>0.02, nDCG@10<0.60);"
        " separate several by commas.",
        metavar="C",
    )


@click.command("compare", cls=GroupedCommand, short_help="Test which runs differ significantly.")
@declare.taking(CompareOptions)
@declare.formats
@declare.workers
@declare.policies(without=("prior", "moments", "draws"))  # of expected values, which are not compared
@declare.output_options()
def command(options: CompareOptions) -> int:
    """Test which RUNs differ significantly on QRELS, and how far to trust each result.

    The first sentence answers; the table has the means, the difference with its interval and p-value, whether
    judging was even, and what to do next. A result of only two runs is explained by topic and document.

    \b
    sounding compare qrels.txt bm25.txt dense.txt -m nDCG@10
    sounding compare qrels.txt runs/ -m P@10 --baseline bm25 --fail-on 'worse,drop>0.02'
    sounding compare qrels.txt runs/ -m P@10 --for dense --against bm25,splade
    sounding compare qrels.txt runs/ -m P -m AP --depths 10,30,100,500,1000 --test anova

    \b
    Exit status: 0: done; 1: bad input; 2: wrong usage.
    With --fail-on, the status can also be 3: worse; 4: weak; 5: unsettled; 6: beyond a threshold.
    """  # noqa: D301 - click wants the control character
    return declare.run_flow(options)
