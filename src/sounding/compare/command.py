"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from sounding.terminal.options import (
    PolicyOptions,
    ReadingOptions,
    format_options,
    output_options,
    policy_options,
    pool_options,
    taking,
    worker_options,
)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(PolicyOptions, ReadingOptions):
    """What the command line of `sounding compare` says."""

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
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, P@10.")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="RUN",
    help="Compare the other runs with this one; may be repeated.",
)  # fmt: skip
@click.option("--pair", nargs=2, metavar="A B", help="Only this pair, explained with topics and documents.")
@click.option(
    "--test", default="randomisation", show_default=True, metavar="T",
    help="t, wilcoxon, wilcoxon-pratt, sign, randomisation, bootstrap, bootstrap-percentile, anova, anova2,"
    " tukey or randomised-tukey; see docs/tests.md.",
)  # fmt: skip
@click.option(
    "--correction", metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: max-t, or what belongs to the test.",
)  # fmt: skip
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option(
    "--margin", type=float, metavar="D",
    help="A difference that would not matter: equivalence and non-inferiority.",
)  # fmt: skip
@click.option(
    "--permutations", type=click.IntRange(1), metavar="N",
    help="Draws, for tests that make any; default: 10,000, or as many as the correction needs.",
)  # fmt: skip
@click.option(
    "--depths", multiple=True, metavar="D,D...",
    help="Cases by depth: measures without a cut-off get each; may be repeated.",
)  # fmt: skip
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, whose decisions are counted beside; may be repeated.",
)  # fmt: skip
@pool_options
@click.option(
    "--top", type=click.IntRange(1), metavar="N",
    help="Only the first N rows, pairs of interest first; default: 20 in tables, all for programs. With"
    " --pair: only the first N unjudged documents; default: 5, and all that are needed for programs.",
)  # fmt: skip
@click.option(
    "--documents", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="With --pair: write the documents whose judgments would settle it, as its suffix says, or as csv.",
)  # fmt: skip
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Draw the differences with their intervals, or of a pair by topic: .html, .svg, .png or .pdf.",
)  # fmt: skip
@click.option(
    "--holds", is_flag=True,
    help="The chance that each conclusion, and its sign, is what full judging would give.",
)  # fmt: skip
@click.option(
    "--until", metavar="U",
    help="With --holds, what full judging means: the first D documents of every run (runs:D; default:"
    " runs:100) or of those that contribute to the pool (pool:D).",
)  # fmt: skip
@click.option("--notes", is_flag=True, help="Under a table all notes, not only those nobody should miss.")
@click.option("--matrix", is_flag=True, help="All runs against all, one sign a pair.")
@click.option("--each-pair", is_flag=True, help="With --depths: a row for every pair, not the counts.")
@click.option("--design", is_flag=True, help="Power, topics needed and error rates, not the pairs.")
@click.option("--plan", metavar="FILE", help="Choices fixed beforehand: taken, repeated and checked.")
@click.option(
    "--fail-on", multiple=True, metavar="C",
    help="Exit with 3 if a run is worse than the baseline, 4 if a case is weak, 5 if an order is unsettled:"
    " worse, weak, unsettled, or several with commas.",
)  # fmt: skip
@format_options
@worker_options
@partial(policy_options, without=("prior", "moments", "draws"))  # of expected values, which are not compared
@output_options()
@taking(CompareOptions)
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
