"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare


@dataclass(frozen=True, kw_only=True)
class CompareOptions(declare.PolicyOptions, declare.ReadingOptions):
    """What `sounding compare` is asked for."""

    qrels: str | None
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    baselines: tuple[str, ...]
    pair: tuple[str, str] | None
    test: str
    correction: str | None
    alpha: float
    margin: float | None
    permutations: int | None
    depths: tuple[str, ...]
    collections: tuple[tuple[str, str, str], ...]
    top: int | None
    documents: Path | None
    chart: Path | None
    holds: bool
    until: str | None
    notes: bool
    matrix: bool
    each_pair: bool
    design: bool
    plan: str | None
    fail_on: tuple[str, ...]


@click.command("compare", short_help="Which differences between runs are more than chance.")
@click.argument("qrels", required=False)
@click.argument("runs", nargs=-1, metavar="RUN...")
@declare.measures("A measure: AP, P@10.")
@declare.baselines
@click.option("--pair", nargs=2, metavar="A B", help="Only this pair, explained with topics and documents.")
@declare.test(
    "randomisation",
    "t, wilcoxon, wilcoxon-pratt, sign, randomisation, bootstrap, bootstrap-percentile, anova, anova2,"
    " tukey or randomised-tukey; see docs/tests.md.",
)
@declare.correction("max-t, or what belongs to the test")
@declare.alpha("Level of both tests.")
@declare.number(
    "--margin", "A difference that would not matter: equivalence and non-inferiority.", metavar="D"
)
@declare.count(
    "--permutations",
    "Draws, for tests that make any; default: 10,000, or as many as the correction needs.",
    metavar="N",
)
@declare.texts(
    "--depths", "Cases by depth: measures without a cut-off get each; may be repeated.", metavar="D,D..."
)
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, whose decisions are counted beside; may be repeated.",
)  # fmt: skip
@declare.pool
@declare.count(
    "--top",
    "Only the first N rows, pairs of interest first; default: 20 in tables, all for programs. With"
    " --pair: only the first N unjudged documents; default: 5, and all that are needed for programs.",
    metavar="N",
)
@declare.file(
    "--documents",
    "With --pair: write the documents whose judgments would settle it, as its suffix says, or as csv.",
)
@declare.chart("Draw the differences with their intervals, or of a pair by topic")
@declare.flag("--holds", "The chance that each conclusion, and its sign, is what full judging would give.")
@declare.text(
    "--until",
    "With --holds, what full judging means: the first D documents of every run (runs:D; default:"
    " runs:100) or of those that contribute to the pool (pool:D).",
    metavar="U",
)
@declare.flag("--notes", "Under a table all notes, not only those nobody should miss.")
@declare.flag("--matrix", "All runs against all, one sign a pair.")
@declare.flag("--each-pair", "With --depths: a row for every pair, not the counts.")
@declare.flag("--design", "Power, topics needed and error rates, not the pairs.")
@declare.text("--plan", "Choices fixed beforehand: taken, repeated and checked.", metavar="FILE")
@declare.texts(
    "--fail-on",
    "Exit with 3 if a run is worse than the baseline, 4 if a case is weak, 5 if an order is unsettled:"
    " worse, weak, unsettled, or several with commas.",
    metavar="C",
)
@declare.formats
@declare.workers
@declare.policies(without=("prior", "moments", "draws"))  # of expected values, which are not compared
@declare.output_options()
@declare.taking(CompareOptions)
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
