"""`sounding agree`: its options."""

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

SECTIONS = ("pairs", "grades", "confusions", "rejected", "bias", "topics", "taus", "systems", "swaps", "top")
# Policies of bounds and expected values, which give no single ranking; and two that have fewer choices here.
OTHERWISE = ("universe", "at_most", "prior", "moments", "draws", "unjudged", "missing")
FILE = click.Path(dir_okay=False, path_type=Path)


@declare.options
class AgreeOptions(declare.PolicyOptions, declare.FileOptions):
    """What `sounding agree` is asked for."""

    qrels: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="QRELS...")
    runs: tuple[str, ...] = declare.texts("Runs to rank: files, folders or globs.", metavar="RUN...")
    measures: tuple[str, ...] = declare.measures("A measure; default: AP.")
    level: float = declare.number("Lowest grade that is relevant.", default=1)
    primary: str | None = declare.text(
        "Whose judgments are the original ones; default: the first.", metavar="NAME"
    )
    outside: Outside = declare.choice(
        get_args(Outside),
        "What an assessor was not shown: not compared, relevant where the primary says so, or grade 0.",
        default="common",
    )
    by: By | None = declare.choice(
        get_args(By), "A file is one assessor's, or a column names them; default: as it looks."
    )
    labels: tuple[str, ...] = declare.texts(
        "The grade of a word, as relevant=1.", metavar="WORD=G", spelled="--label"
    )
    repeated: Repeated = declare.choice(
        get_args(Repeated),
        "What counts where an assessor graded a document several times, and not the same.",
        default="error",
    )
    samples: int = declare.count("Qrels that pick an assessor for each topic.", default=100_000)
    tau: str = declare.text("How rankings are compared.", metavar="T", default="tau_b")
    resamples: int = declare.count("Resamples of topics, for intervals.", least=2, default=2000)
    alpha: float = declare.option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="Intervals are of 1 - alpha.",
    )
    top: int | None = declare.count("Rows of long tables; best systems that are looked at.")
    sections: tuple[str, ...] = declare.option(
        multiple=True, type=click.Choice(SECTIONS), help="Only this table.", spelled="--section"
    )
    everything: bool = declare.flag("Every table.", spelled="--all")
    combinations: tuple[tuple[str, str], ...] = declare.option(
        nargs=2,
        multiple=True,
        metavar="HOW FILE",
        help="Write one set of qrels: union, intersection, majority, mean, priority.",
        spelled="--combine",
    )
    priority: tuple[str, ...] = declare.texts("Whose word counts first; may be repeated.", metavar="NAME")
    adjudicate: Path | None = declare.file("Write the documents on which assessors differ.")
    secondary_pool: Path | None = declare.file("Write what to show a second assessor.")
    pool_relevant: int = declare.count("Relevant documents of a topic in it, at most.", least=0, default=200)
    pool_nonrelevant: int = declare.count("Other documents of a topic in it, at most.", least=0, default=200)
    simulate: str | None = declare.choice(
        ("independent", "correlated"), "Add two simulated assessors to the one of QRELS."
    )
    overlaps: str | None = declare.text(
        "Overlap of each with the primary; default: 0.421,0.494.", metavar="O,O"
    )
    chart: Path | None = declare.chart("Draw")
    _formats: ClassVar[declare.Declaration] = declare.formats
    _workers: ClassVar[declare.Declaration] = declare.workers
    _policies: ClassVar[declare.Declaration] = declare.policies(without=OTHERWISE)
    unjudged: names.Unjudged = declare.choice(
        ("nonrelevant", "condensed"),
        "What an unjudged document counts; condensed: removed.",
        default="nonrelevant",
    )
    missing: names.Missing = declare.choice(
        ("zero", "error"), "What a judged topic counts that a run lacks.", default="zero"
    )


def _refuse_no_runs(taken: int | None, context: click.Context) -> None:
    if taken == 0:
        raise click.UsageError("--runs without runs; name files, folders or globs behind it", context)


class SeveralRuns(GroupedCommand):
    """A command whose option --runs takes all words up to the next option, as a shell spells a glob."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line, with --runs repeated before each of its words."""
        spelled: list[str] = []
        taken: int | None = None  # words of the --runs that is being read; None: it is another option
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
            return super().parse_args(ctx, list(spelled))  # which is emptied
        except click.MissingParameter as error:
            if "--runs" not in spelled or error.param is None or error.param.name != "qrels":
                raise
            raise click.UsageError(
                "no QRELS: --runs took all words behind it; give QRELS before --runs, or behind --", ctx
            ) from None


@click.command(
    "agree",
    cls=SeveralRuns,
    short_help="How far several assessors agree, and what it does.",
)
@declare.taking(AgreeOptions)
@declare.output_options()
def command(options: AgreeOptions) -> None:
    """How far the assessors of QRELS agree, and how much the ranking of runs depends on them.

    Overlap, kappa and alpha with intervals; topics to talk about first; with runs, their values and ranks
    under very many qrels that pick an assessor for each topic.

    \b
    sounding agree first.qrels second.qrels
    sounding agree votes.csv --repeated majority --section bias
    sounding agree first.qrels second.qrels third.qrels --runs runs/* -m AP -m P@10
    sounding agree first.qrels second.qrels --combine union union.qrels --adjudicate differ.tsv
    sounding agree first.qrels --secondary-pool to-judge.tsv
    """  # noqa: D301 - click wants the control character
    from sounding.agree.flow import run  # NumPy and the engine, which --help does without

    run(options)
