"""Options that `plan` and `simulate` share: what a session is asked for, and how the files are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from sounding.core import policies as names
from sounding.terminal.options import (
    Options,
    dask_option,
    format_options,
    options_refused,
    pool_options,
    progress_bar,
    qrels_first,
    taken_info,
    taken_judgments,
)

if TYPE_CHECKING:
    from sounding.core.policies import Policies
    from sounding.data.tables import Qrels
    from sounding.runs.retrieved import Retrieved
    from sounding.selection.mtc.session import Parameters

Command = Callable[..., Any]

MODEL = "model"  # another word for the prior that learns how far to believe each run


def session_options(command: Command) -> Command:
    """Add what a session of minimal test collections is asked for, and how files are read."""
    for option in reversed(
        (
            click.option(
                "-m", "--measure", multiple=True, default=("AP",), show_default=True, metavar="M",
                callback=_only_one,
                help="What the runs are compared by: AP, P@k, nDCG@k, DCG@k, RBP.",
            ),
            click.option(
                "--depth", type=click.IntRange(1), default=100, show_default=True,
                help="Documents of each list that count.",
            ),
            click.option(
                "--prior", default="runs", show_default=True, metavar="P",
                help="Chance of relevance of the unjudged: a number, rate, rank, runs (or model), a file.",
            ),
            click.option(
                "--selection", default="informed", show_default=True, metavar="S",
                help="How documents are weighed: informed, variance, scaled, faithful (the paper's).",
            ),
            click.option(
                "--confidence", metavar="C",
                help="draws, normal, paper or exact; default: draws for the prior runs, else normal.",
            ),
            click.option(
                "--draws", type=click.IntRange(2), default=200, show_default=True,
                help="Completions of the judgments that are drawn.",
            ),
            click.option(
                "--sure", type=float, default=0.95, show_default=True, metavar="C",
                help="When the order of two runs counts as probable.",
            ),
            click.option(
                "--ties", type=click.Choice(names.ORDERS), default="trec", show_default=True,
                help="As evaluate.",
            ),
            click.option(
                "--compat", type=click.Choice(get_args(names.Compat)), default="trec_eval-10",
                show_default=True, help="As evaluate.",
            ),
            click.option(
                "--duplicates", type=click.Choice(get_args(names.Duplicates)), default="error",
                show_default=True, help="A document listed twice for a topic.",
            ),
            format_options,
            click.option(
                "--jobs", type=click.IntRange(1), help="Processes; default: all cores where that pays."
            ),
            dask_option,
            pool_options,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _only_one(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str:
    """The one value of an option; several are refused, of which all but the last would be lost."""
    if len(values) > 1:
        raise click.UsageError(
            f"{parameter.opts[0]} {' '.join(values)}: runs are compared by one measure at a time; give one"
        )
    return values[0]


def taken_parameters(options: Options, **more: Any) -> Parameters:
    """What the options ask of a session, checked; wrong ones are refused as such, before files are read."""
    from sounding.measures.forms import form_of
    from sounding.relevance.document_priors import DEFAULT
    from sounding.selection.mtc.session import Parameters

    prior = DEFAULT if options["prior"] == MODEL else options["prior"]
    way: Any = options["confidence"] or ("draws" if prior == DEFAULT else "normal")
    if options["info"] and options["pool_depth"] is None:
        raise click.UsageError("--info says which runs --pool-depth cuts the pool by; give that as well")
    if not 0.5 < options["sure"] <= 1:
        raise click.UsageError(f"--sure {options['sure']:g}: expected a confidence above 0.5, at most 1")
    with options_refused():
        form_of(options["measure"], options["depth"], 1)
        return Parameters(
            measure=options["measure"], depth=options["depth"], prior=prior, selection=options["selection"],
            confidence=way, draws=options["draws"], **more,
        )  # fmt: skip


def require_chart(path: Path) -> None:
    """Refuse a file that no chart can be written to."""
    from sounding.render.save import require_suffix

    with options_refused():
        require_suffix(path)


def read_judgments(source: str, runs: tuple[str, ...], options: Options) -> tuple[Qrels, str | None]:
    """The judgments of a file, and where --pool-depth cuts them a sentence that says so."""
    from sounding.data.finding import find_runs
    from sounding.data.formats import read_qrels

    policies, info = session_policies(options), taken_info(options)
    with qrels_first(source):
        if options["pool_depth"] is not None:
            judgments, told, _ = taken_judgments(source, find_runs(runs), options, policies, info)
            return judgments, told
        judgments = read_qrels(
            source, format=options["qrels_format"], duplicates=options["duplicates"], fractional="accept"
        )
        return judgments, None


def read_lists(runs: tuple[str, ...], topics: Any, options: Options) -> Retrieved:
    """The lists of two runs or more, on these topics (None: on all)."""
    from sounding.data.finding import find_runs
    from sounding.runs.retrieved import read_retrieved

    files = find_runs(runs)
    if len(files) < 2:
        raise click.UsageError(f"{files[0]} alone makes no pair; give two runs or more to compare")
    with progress_bar(len(files), quiet=options["quiet"], label="reading runs") as progress:
        return read_retrieved(
            files, depth=options["depth"], topics=topics, judged=topics is not None,
            policies=session_policies(options), run_format=options["run_format"], jobs=options["jobs"],
            progress=progress,
        )  # fmt: skip


def session_policies(options: Options) -> Policies:
    """The policies that the options name."""
    from sounding.core.policies import Policies

    return Policies(
        ties=options["ties"], compat=options["compat"], duplicates=options["duplicates"], fractional="accept"
    )


def worth_sharing(items: int, jobs: int | None) -> int:
    """How many processes to use for items that each take a while."""
    from sounding.core.workers import WORTH_FORKING, processes_for

    return processes_for(WORTH_FORKING + 1, items, jobs)
