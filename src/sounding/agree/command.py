"""`sounding agree`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import click

from sounding.terminal.options import (
    FormatOptions,
    OutputOptions,
    PolicyOptions,
    WorkerOptions,
    format_options,
    output_options,
    policy_options,
    taking,
    worker_options,
)

Outside = Literal["common", "primary", "nonrelevant"]
By = Literal["file", "column"]
Repeated = Literal["error", "first", "last", "highest", "lowest", "majority", "mean"]

SECTIONS = ("pairs", "grades", "confusions", "rejected", "bias", "topics", "taus", "systems", "swaps", "top")
# Policies of bounds and expected values, which give no single ranking; and two that have fewer choices here.
OTHERWISE = ("universe", "at_most", "prior", "moments", "draws", "unjudged", "missing")
FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, kw_only=True)
class AgreeOptions(PolicyOptions, FormatOptions, WorkerOptions, OutputOptions):
    """What `sounding agree` is asked for."""

    qrels: tuple[str, ...]
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    level: float
    primary: str | None
    outside: Outside
    by: By | None
    labels: tuple[str, ...]
    repeated: Repeated
    samples: int
    tau: str
    resamples: int
    alpha: float
    top: int | None
    sections: tuple[str, ...]
    everything: bool
    combinations: tuple[tuple[str, str], ...]
    priority: tuple[str, ...]
    adjudicate: Path | None
    secondary_pool: Path | None
    pool_relevant: int
    pool_nonrelevant: int
    simulate: str | None
    overlaps: str | None
    chart: Path | None


def _refuse_no_runs(taken: int | None, context: click.Context) -> None:
    if taken == 0:
        raise click.UsageError("--runs without runs; name files, folders or globs behind it", context)


class SeveralRuns(click.Command):
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


@click.command("agree", cls=SeveralRuns, short_help="How far several assessors agree, and what it does.")
@click.argument("qrels", nargs=-1, required=True, metavar="QRELS...")
@click.option("--runs", multiple=True, metavar="RUN...", help="Runs to rank: files, folders or globs.")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure; default: AP.")
@click.option("--level", type=float, default=1, show_default=True, help="Lowest grade that is relevant.")
@click.option("--primary", metavar="NAME", help="Whose judgments are the original ones; default: the first.")
@click.option("--outside", type=click.Choice(get_args(Outside)), default="common", show_default=True,
              help="What an assessor was not shown: not compared, relevant where the primary says so,"
              " or grade 0.")  # fmt: skip
@click.option("--by", type=click.Choice(get_args(By)),
              help="A file is one assessor's, or a column names them; default: as it looks.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="WORD=G",
              help="The grade of a word, as relevant=1.")  # fmt: skip
@click.option("--repeated", type=click.Choice(get_args(Repeated)), default="error", show_default=True,
              help="What counts where an assessor graded a document several times,"
              " and not the same.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1), default=100_000, show_default=True,
              help="Qrels that pick an assessor for each topic.")  # fmt: skip
@click.option("--tau", default="tau_b", show_default=True, metavar="T", help="How rankings are compared.")
@click.option("--resamples", type=click.IntRange(2), default=2000, show_default=True,
              help="Resamples of topics, for intervals.")  # fmt: skip
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05,
              show_default=True, help="Intervals are of 1 - alpha.")  # fmt: skip
@click.option("--top", type=click.IntRange(1), help="Rows of long tables; best systems that are looked at.")
@click.option("--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only this table.")
@click.option("--all", "everything", is_flag=True, help="Every table.")
@click.option("--combine", "combinations", nargs=2, multiple=True, metavar="HOW FILE",
              help="Write one set of qrels: union, intersection, majority, mean, priority.")  # fmt: skip
@click.option("--priority", multiple=True, metavar="NAME", help="Whose word counts first; may be repeated.")
@click.option("--adjudicate", type=FILE, metavar="FILE",
              help="Write the documents on which assessors differ.")  # fmt: skip
@click.option("--secondary-pool", type=FILE, metavar="FILE", help="Write what to show a second assessor.")
@click.option("--pool-relevant", type=click.IntRange(0), default=200, show_default=True,
              help="Relevant documents of a topic in it, at most.")  # fmt: skip
@click.option("--pool-nonrelevant", type=click.IntRange(0), default=200, show_default=True,
              help="Other documents of a topic in it, at most.")  # fmt: skip
@click.option("--simulate", type=click.Choice(("independent", "correlated")),
              help="Add two simulated assessors to the one of QRELS.")  # fmt: skip
@click.option("--overlaps", metavar="O,O", help="Overlap of each with the primary; default: 0.421,0.494.")
@click.option("--chart", type=FILE, metavar="FILE", help="Draw: .html, .svg, .png or .pdf.")
@format_options
@worker_options
@partial(policy_options, without=OTHERWISE)
@click.option("--unjudged", type=click.Choice(("nonrelevant", "condensed")), default="nonrelevant",
              show_default=True, help="What an unjudged document counts; condensed: removed.")  # fmt: skip
@click.option("--missing", type=click.Choice(("zero", "error")), default="zero", show_default=True,
              help="What a judged topic counts that a run lacks.")  # fmt: skip
@output_options()
@taking(AgreeOptions)
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
