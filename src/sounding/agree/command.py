"""The options of `sounding agree`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, get_args

import click

from sounding.core import policies as names
from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

Outside = Literal["common", "primary", "nonrelevant"]
By = Literal["file", "column"]
Repeated = Literal["error", "first", "last", "highest", "lowest", "majority", "mean"]

SECTIONS = (
    "pairs", "grades", "confusions", "rejected", "bias", "topics", "taus", "systems", "swaps", "top",
    "contradictions", "ranks",
)  # fmt: skip
OF_PREFERENCES = ("contradictions", "ranks")  # sections that only files of preferences have
# Policies that do not apply: bounds and expected values give no single ranking; two have fewer choices here.
OTHERWISE = ("universe", "at_most", "prior", "moments", "draws", "unjudged")
FILE = click.Path(dir_okay=False, path_type=Path)


@declare.options
class AgreeOptions(declare.PolicyOptions, declare.FileOptions):
    """The options of `sounding agree`."""

    qrels: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="QRELS...")
    runs: tuple[str, ...] = declare.texts("Rank these runs: files, folders or globs.", metavar="RUN...")
    measures: tuple[str, ...] = declare.measures("Rank the runs by measure M; repeatable; default: AP.")
    level: float = declare.number("Count grades from this one up as relevant.", default=1)
    primary: str | None = declare.text(
        "Take the judgments of NAME as the original ones; default: the first assessor.", metavar="NAME"
    )
    outside: Outside = declare.choice(
        get_args(Outside),
        "Use only documents that all assessors judged (common), or fill a missing grade with the primary's if"
        " that is relevant (primary), or with 0 (nonrelevant).",
        default="common",
    )
    assessors: By | None = declare.choice(
        get_args(By), "Read one assessor per file, or their names from a column; default: whichever fits."
    )
    words: tuple[str, ...] = declare.texts(
        "Map a word to a grade, such as relevant=1; repeatable.", metavar="WORD=G", spelled="--word"
    )
    repeated: Repeated = declare.choice(
        get_args(Repeated),
        "Choose which grade counts if an assessor gave a document different grades.",
        default="error",
    )
    samples: int = declare.count(
        "Draw this many qrels, each with a random assessor per topic.", default=100_000
    )
    tau: str = declare.text(
        "Compare rankings by this coefficient (see docs/rank-agreement.md).", metavar="T", default="tau_b"
    )
    resamples: int = declare.count(
        "Resample the topics this many times for confidence intervals.", least=2, default=2000
    )
    alpha: float = declare.option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="X",
        default=0.05,
        show_default=True,
        help="Set the confidence level of the intervals to 1 - alpha.",
    )
    top: int | None = declare.count("Show only the first N rows of long tables, and the N best systems.")
    sections: tuple[str, ...] = declare.option(
        multiple=True,
        type=click.Choice(SECTIONS),
        help="Show only this table; repeatable.",
        spelled="--section",
    )
    everything: bool = declare.flag("Show every table.", spelled="--all")
    combinations: tuple[tuple[str, str], ...] = declare.option(
        nargs=2,
        multiple=True,
        metavar="HOW FILE",
        help="Write combined qrels to FILE: union, intersection, majority, mean or priority; repeatable.",
        spelled="--combine",
    )
    priority: tuple[str, ...] = declare.texts(
        "Prefer the grades of NAME in --combine priority; repeatable.", metavar="NAME"
    )
    adjudicate: Path | None = declare.file("Write to FILE the documents on which assessors disagree.")
    secondary_pool: Path | None = declare.file(
        "Write to FILE the documents that a second assessor should judge."
    )
    pool_relevant: int = declare.count(
        "Write at most N relevant documents per topic to --secondary-pool.", least=0, default=200
    )
    pool_nonrelevant: int = declare.count(
        "Write at most N nonrelevant documents per topic to --secondary-pool.", least=0, default=200
    )
    simulated: str | None = declare.choice(
        ("independent", "correlated"), "Add two simulated assessors to a single QRELS."
    )
    overlaps: str | None = declare.text(
        "Set the overlap of simulated assessors with the primary; default: 0.421,0.494.", metavar="O,O"
    )
    chart: Path | None = declare.chart("Draw the agreement, and with --runs the rankings")
    _formats: ClassVar[declare.Declaration] = declare.formats
    _workers: ClassVar[declare.Declaration] = declare.workers
    _policies: ClassVar[declare.Declaration] = declare.policies(without=OTHERWISE, missing=("zero", "error"))
    unjudged: names.Unjudged = declare.only_condensed


def _refuse_no_runs(taken: int | None, context: click.Context) -> None:
    if taken == 0:
        raise click.UsageError("--runs without runs; name files, folders or globs behind it", context)


class SeveralRuns(GroupedCommand):
    """A command whose option --runs takes all words up to the next option, so that --runs runs/* works."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line, with --runs repeated before each of its words."""
        spelled: list[str] = []
        taken: int | None = None  # words that the current --runs has taken; None: outside of --runs
        for word in args:
            if taken is not None and (word == "-" or not word.startswith("-")):
                spelled += ["--runs", word]
                taken += 1
                continue
            _refuse_no_runs(taken, ctx)
            taken = 0 if word == "--runs" else None
            spelled += [] if word == "--runs" else [word]
        _refuse_no_runs(taken, ctx)
        try:
            return super().parse_args(ctx, list(spelled))  # click empties the list
        except click.MissingParameter as error:
            if "--runs" not in spelled or error.param is None or error.param.name != "qrels":
                raise
            raise click.UsageError(
                "no QRELS: --runs took all words behind it; give QRELS before --runs, or behind --", ctx
            ) from None


@click.command(
    "agree",
    cls=SeveralRuns,
    short_help="Measure how far assessors agree.",
)
@declare.taking(AgreeOptions)
@declare.output_options()
def command(options: AgreeOptions) -> None:
    """Measure how far the assessors of QRELS agree, and how that affects the ranking of runs.

    The tables show overlap, kappa and alpha with intervals, and the topics to discuss first. With
    --runs, they also show the values and ranks of the runs under many qrels, each with a random
    assessor per topic.
    In files of preferences every judgment group is an assessor: the tables show how far they agree on
    pairs of documents, who contradicts themselves, and Bradley-Terry ranks.

    \b
    sounding agree first.qrels second.qrels
    sounding agree votes.csv --repeated majority --section bias
    sounding agree first.qrels second.qrels third.qrels --runs runs/* -m AP -m P@10
    sounding agree first.qrels second.qrels --combine union union.qrels --adjudicate differ.tsv
    sounding agree first.qrels --secondary-pool to-judge.tsv
    sounding agree all.prefs --section ranks
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
