"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class CompareOptions(declare.PolicyOptions, declare.ReadingOptions):
    """What `sounding compare` is asked for."""

    qrels: str | None = declare.argument(required=False)
    runs: tuple[str, ...] = declare.argument(nargs=-1, metavar="RUN...")
    measures: tuple[str, ...] = declare.measures("A measure: AP, P@10.")
    baselines: tuple[str, ...] = declare.baselines
    pair: tuple[str, str] | None = declare.option(
        nargs=2, metavar="A B", help="Only this pair, explained with topics and documents."
    )
    test: str = declare.test(
        "randomisation",
        "t, wilcoxon, wilcoxon-pratt, sign, randomisation, bootstrap, bootstrap-percentile, anova, anova2,"
        " tukey or randomised-tukey; see docs/tests.md.",
    )
    correction: str | None = declare.correction("max-t, or what belongs to the test")
    alpha: float = declare.alpha("Level of both tests.")
    margin: float | None = declare.number(
        "A difference that would not matter: equivalence and non-inferiority.", metavar="D"
    )
    permutations: int | None = declare.count(
        "Draws, for tests that make any; default: 10,000, or as many as the correction needs.", metavar="N"
    )
    depths: tuple[str, ...] = declare.texts(
        "Cases by depth: measures without a cut-off get each; may be repeated.", metavar="D,D..."
    )
    collections: tuple[tuple[str, str, str], ...] = declare.option(
        nargs=3,
        multiple=True,
        metavar="NAME QRELS RUNS",
        help="Another collection, whose decisions are counted beside; may be repeated.",
        spelled="--collection",
    )
    _pool: ClassVar[declare.Declaration] = declare.pool
    top: int | None = declare.count(
        "Only the first N rows, pairs of interest first; default: 20 in tables, all for programs. With"
        " --pair: only the first N unjudged documents; default: 5, and all that are needed for programs.",
        metavar="N",
    )
    documents: Path | None = declare.file(
        "With --pair: write the documents whose judgments would settle it, as its suffix says, or as csv."
    )
    chart: Path | None = declare.chart("Draw the differences with their intervals, or of a pair by topic")
    holds: bool = declare.flag(
        "The chance that each conclusion, and its sign, is what full judging would give."
    )
    until: str | None = declare.text(
        "With --holds, what full judging means: the first D documents of every run (runs:D; default:"
        " runs:100) or of those that contribute to the pool (pool:D).",
        metavar="U",
    )
    notes: bool = declare.flag("Under a table all notes, not only those nobody should miss.")
    matrix: bool = declare.flag("All runs against all, one sign a pair.")
    each_pair: bool = declare.flag("With --depths: a row for every pair, not the counts.")
    design: bool = declare.flag("Power, topics needed and error rates, not the pairs.")
    plan: str | None = declare.text("Choices fixed beforehand: taken, repeated and checked.", metavar="FILE")
    fail_on: tuple[str, ...] = declare.texts(
        "Exit with 3 if a run is worse than the baseline, 4 if a case is weak, 5 if an order is unsettled:"
        " worse, weak, unsettled, or several with commas.",
        metavar="C",
    )


@click.command(
    "compare", cls=GroupedCommand, short_help="Which differences between runs are more than chance."
)
@declare.taking(CompareOptions)
@declare.formats
@declare.workers
@declare.policies(without=("prior", "moments", "draws"))  # of expected values, which are not compared
@declare.output_options()
def command(options: CompareOptions) -> int:
    """Compare RUNs by their values on QRELS, pair by pair.

    For every pair: the difference, its interval and p; whether the two runs were assessed alike; the
    case of the decision matrix, strong or weak; whether unjudged documents could turn the order; and
    what to do about it.

    \b
    sounding compare qrels.txt runs/ -m P@10 --baseline bm25
    sounding compare qrels.txt runs/ -m AP --pair bm25 dense
    sounding compare qrels.txt runs/ -m P -m AP --depths 10,30,100,500,1000 --test anova

    \b
    Exit status: 0 done; 1 for what the input is, 2 for how the command was called;
    with --fail-on 3 worse, 4 weak, 5 unsettled.
    """  # noqa: D301 - click wants the control character
    from sounding.compare.flow import run  # NumPy and the tests, which --help does without

    return run(options)
