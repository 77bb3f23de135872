"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.compare.asking import (
    Echo,
    Source,
    check_gate,
    check_view,
    choices_used,
    counts_only,
    gate_verdict,
    named_collections,
    plan_blamed,
    taken_depths,
    taken_measures,
    taken_plan,
    taken_procedure,
    with_plan,
)
from sounding.compare.output import beside, beside_design, say_beside, write_beside, write_comparison
from sounding.terminal.options import (
    PEOPLE,
    Options,
    format_options,
    names_refused,
    options_refused,
    output_options,
    policy_options,
    pool_options,
    progress_bar,
    remark,
    taken_info,
    taken_judgments,
    taken_policies,
    worker_options,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.compare.comparing import Reading
    from sounding.compare.result import Comparison
    from sounding.core.policies import Policies
    from sounding.data.run_info import RunInfo
    from sounding.measures import Measure
    from sounding.statistics.pairwise import Procedure
    from sounding.terminal.plan_file import Plan


@click.command("compare", short_help="Which differences between runs are more than chance.")
@click.argument("qrels", required=False)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, P@10.")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="RUN",
    help="Compare the other runs with this one; may be repeated.",
)
@click.option("--pair", nargs=2, metavar="A B", help="Only this pair, explained with topics and documents.")
@click.option(
    "--test",
    default="randomisation",
    show_default=True,
    metavar="T",
    help="t, wilcoxon, wilcoxon-pratt, sign, randomisation, bootstrap, bootstrap-percentile, anova, anova2,"
    " tukey or randomised-tukey; see docs/tests.md.",
)
@click.option(
    "--correction",
    metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: max-t, or what belongs to the test.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option(
    "--margin",
    type=float,
    metavar="D",
    help="A difference that would not matter: equivalence and non-inferiority.",
)
@click.option(
    "--permutations",
    type=click.IntRange(1),
    metavar="N",
    help="Draws, for tests that make any; default: 10,000, or as many as the correction needs.",
)
@click.option(
    "--depths",
    multiple=True,
    metavar="D,D...",
    help="Cases by depth: measures without a cut-off get each; may be repeated.",
)
@click.option(
    "--collection",
    "collections",
    nargs=3,
    multiple=True,
    metavar="NAME QRELS RUNS",
    help="Another collection, whose decisions are counted beside; may be repeated.",
)
@pool_options
@click.option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    help="Only the first N rows, pairs of interest first; default: 20 in tables, all for programs. With"
    " --pair: only the first N unjudged documents; default: 5, and all that are needed for programs.",
)
@click.option(
    "--documents",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --pair: write the documents whose judgments would settle it, as its suffix says, or as csv.",
)
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the differences with their intervals, or of a pair by topic: .html, .svg, .png or .pdf.",
)
@click.option(
    "--holds",
    is_flag=True,
    help="The chance that each conclusion, and its sign, is what full judging would give.",
)
@click.option(
    "--until",
    metavar="U",
    help="With --holds, what full judging means: the first D documents of every run (runs:D; default:"
    " runs:100) or of those that contribute to the pool (pool:D).",
)
@click.option("--notes", is_flag=True, help="Under a table all notes, not only those nobody should miss.")
@click.option("--matrix", is_flag=True, help="All runs against all, one sign a pair.")
@click.option("--each-pair", is_flag=True, help="With --depths: a row for every pair, not the counts.")
@click.option("--design", is_flag=True, help="Power, topics needed and error rates, not the pairs.")
@click.option("--plan", metavar="FILE", help="Choices fixed beforehand: taken, repeated and checked.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="C",
    help="Exit with 3 if a run is worse than the baseline, 4 if a case is weak, 5 if an order is unsettled:"
    " worse, weak, unsettled, or several with commas.",
)
@format_options
@worker_options
@partial(policy_options, without=("prior", "moments", "draws"))  # of expected values, which are not compared
@output_options()
@click.pass_context
def command(context: click.Context, /, qrels: str | None, runs: tuple[str, ...], **options: Any) -> int:
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
    request, named = _request(context, qrels, runs, options)
    if options["design"]:
        return _design(named[0], request)
    listed = taken_info(options)
    # Runs of other collections may have the same names, and were pooled elsewhere.
    found = [
        (one.name, _compared(one, request, None if place else listed)) for place, one in enumerate(named)
    ]
    first = found[0][1]
    echo = request.echo(first.performance_tests[0].correction)
    tables = write_comparison(found, echo, options)
    write_beside(first, options)
    say_beside(beside(found, tables, options), echo, options)
    if not options["fail_on"]:
        return 0
    verdict = gate_verdict(first, options)
    click.echo(str(verdict), err=True)
    return verdict.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of every collection."""

    measures: tuple[Measure, ...]
    dropped: tuple[Measure, ...]  # of those that were named, by which nothing can be compared
    policies: Policies
    procedure: Procedure
    plan: Plan | None
    options: Options

    def echo(self, correction: str) -> Echo | None:
        """What was planned and what was done; None: there was no plan."""
        if self.plan is None:
            return None
        return self.plan, choices_used(correction, self.policies, self.options)

    def left_out(self) -> str:
        """The measures that were dropped, by name."""
        return ", ".join(map(str, self.dropped))


def _request(
    context: click.Context, qrels: str | None, runs: tuple[str, ...], options: Options
) -> tuple[Request, list[Source]]:
    """What is asked for, and of which collections; all that can be refused before files are read is."""
    plan = None if options["plan"] is None else taken_plan(context, options)
    with options_refused():
        policies = taken_policies(options, always_bounds=True)
        procedure = taken_procedure(policies, options)
    options["test"], options["correction"] = procedure.test, procedure.correction
    options["depths"] = taken_depths(options["depths"])
    named = named_collections(qrels, runs, options)
    check_view(context, options)
    check_gate(options)
    with options_refused():
        measures, dropped = taken_measures(policies, options)
    request = Request(
        measures=measures, dropped=dropped, policies=policies, procedure=procedure, plan=plan,
        options=options,
    )  # fmt: skip
    return request, named


def _compared(collection: Source, request: Request, info: Mapping[str, RunInfo] | None) -> Comparison:
    """The runs of one collection compared; `info` lists those that were pooled."""
    from sounding.compare.comparing import compare_runs
    from sounding.data.finding import find_runs

    files, options, procedure = find_runs(collection.runs), request.options, request.procedure
    counts = counts_only(options) or options["matrix"]
    with names_refused(collection.qrels), plan_blamed(request.plan):
        judgments, cut, pool = taken_judgments(collection.qrels, files, options, request.policies, info)
        found = compare_runs(
            judgments, files, request.measures, baselines=options["baselines"], pair=options["pair"],
            info=info, policies=request.policies, procedure=procedure, reading=_reading(options),
            settled=not counts or bool(options["fail_on"]), pool=pool,
        )  # fmt: skip
    notes = found.notes if cut is None else (f"{cut[0].upper()}{cut[1:]}.", *found.notes)
    if request.dropped:
        notes = (*notes, f"Left out, for they have no mean over topics to compare: {request.left_out()}.")
    if counts_only(options) and procedure.margin is not None and not options["fail_on"]:
        notes = (*notes, f"The margin {procedure.margin:g} changes no case: --each-pair shows what it tells.")
    # Bounds were computed beside the values; what is repeated is what was chosen.
    told = replace(found, policies=request.policies, notes=notes)
    return _with_holds(told, judgments, files, options, info) if options["holds"] else told


def _with_holds(
    found: Comparison,
    judgments: Any,
    files: Sequence[str],
    options: Options,
    info: Mapping[str, RunInfo] | None,
) -> Comparison:
    """The comparison with the chances that conclusions hold."""
    from sounding.compare.holds import DEFAULT_UNTIL, holds
    from sounding.data.sources import STDIN

    if STDIN in files:
        raise click.UsageError("--holds reads the runs once more, and standard input comes once; give files")
    with progress_bar(len(files), quiet=options["quiet"], label="drawing judgments") as progress:
        held = holds(
            judgments, files, found.measures, until=options["until"] or DEFAULT_UNTIL, info=info,
            pairs=found.pairs, alpha=found.alpha, policies=found.policies,
            qrels_format=options["qrels_format"], run_format=options["run_format"], jobs=options["jobs"],
            progress=progress,
        )  # fmt: skip
    return replace(found, holds=held)


def _design(collection: Source, request: Request) -> int:
    """Show what the topics at hand can tell; nothing is compared for it."""
    from sounding.compare.design_tables import people_designs, tidy_designs
    from sounding.compare.designs import design_runs
    from sounding.data.finding import find_runs

    files, options = find_runs(collection.runs), request.options
    with names_refused(collection.qrels), plan_blamed(request.plan):
        judgments, cut, _ = taken_judgments(
            collection.qrels, files, options, request.policies, taken_info(options)
        )
        found = design_runs(
            judgments, files, request.measures, baselines=options["baselines"], pair=options["pair"],
            policies=request.policies, procedure=request.procedure, reading=_reading(options),
        )  # fmt: skip
    if cut is not None:
        remark(cut, quiet=options["quiet"])
    if request.dropped:
        remark(f"left out: {request.left_out()}", quiet=options["quiet"])
    echo = request.echo(found.correction)
    people = options["format_name"] in PEOPLE
    tables = with_plan(people_designs(found) if people else [tidy_designs(found)], echo, options)
    write_tables(tables, options["format_name"], options["output"])
    say_beside(beside_design(found, tables), echo, options)
    return 0


def _reading(options: Options) -> Reading:
    """How files are read, with a bar for every step of the work."""
    from sounding.compare.comparing import Reading

    return Reading(
        qrels_format=options["qrels_format"], run_format=options["run_format"], jobs=options["jobs"],
        bars=lambda total, label: progress_bar(total, quiet=options["quiet"], label=label),
    )  # fmt: skip
