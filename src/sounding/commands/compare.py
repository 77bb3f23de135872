"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from sounding.commands.options import (
    output_options,
    policy_options,
    progress_bar,
    remark,
    taken_policies,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.compare.comparison import Comparison
    from sounding.compare.gate import Verdict
    from sounding.compare.plan import Plan
    from sounding.policies import Policies
    from sounding.report.tables import Table

PEOPLE = ("table", "md", "latex")  # formats that people read
DEFAULT_MEASURES = ("AP", "P@10")
DEFAULT_FAMILIES = ("P", "AP")  # with --depths

Options = dict[str, Any]


@click.command("compare", short_help="Which differences between runs are more than chance.")
@click.argument("qrels", required=False)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, P@10.")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="RUN", help="Only pairs with this run; may be repeated."
)
@click.option("--pair", nargs=2, metavar="A B", help="Only this pair, explained in a paragraph.")
@click.option("--test", default="randomisation", show_default=True, metavar="T", help="See docs/tests.md.")
@click.option(
    "--correction",
    metavar="C",
    help="none, bonferroni, holm, bh or max-t; default: holm, or what belongs to the test.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests.")
@click.option("--margin", type=float, metavar="D", help="A difference that would not matter: equivalence.")
@click.option(
    "--permutations",
    type=click.IntRange(1),
    metavar="N",
    help="Draws; default: 10,000, or as many as the correction needs.",
)
@click.option("--depths", metavar="D,D...", help="Cases by depth: measures without a cut-off get each.")
@click.option(
    "--collection",
    "collections",
    nargs=3,
    multiple=True,
    metavar="NAME QRELS RUNS",
    help="Another collection, whose decisions are counted beside; may be repeated.",
)
@click.option(
    "--info",
    multiple=True,
    metavar="FILE",
    help="Which runs were pooled: run group kind priority pooled; may be repeated.",
)
@click.option("--top", type=click.IntRange(1), help="Only the first so many rows.")
@click.option("--matrix", is_flag=True, help="All runs against all, one sign a pair.")
@click.option("--each-pair", is_flag=True, help="With --depths: a row for every pair, not the counts.")
@click.option("--design", is_flag=True, help="Power, topics needed and error rates, not the pairs.")
@click.option("--plan", metavar="FILE", help="Choices fixed beforehand: taken, repeated and checked.")
@click.option("--fail-on", multiple=True, metavar="C", help="Exit status for worse, weak or unsettled pairs.")
@click.option("--qrels-format", metavar="F", help="Format of QRELS, where it is not recognised.")
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@click.option(
    "--jobs", type=click.IntRange(1), help="Processes; default: all cores when the files are large."
)
@policy_options
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
    """  # noqa: D301 - click wants the control character
    from sounding.data.run_info import read_run_info

    plan = None if options["plan"] is None else _taken_plan(context, options)
    policies = taken_policies(options, always_bounds=True)
    options["depths"] = _depths(options["depths"])
    named = _collections(qrels, runs, options)
    listed = [row for source in options["info"] for row in read_run_info(source).items()]
    options["info"] = dict(listed) or None
    _check_gate(options)
    found = [(name, _compared(source, files, policies, options)) for name, source, files in named]
    _write(found, options)
    _say(found, options)
    if plan is not None:
        _say_plan(plan, found[0][1], policies, options)
    if not options["fail_on"]:
        return 0
    verdict = _verdict(found[0][1], options)
    click.echo(str(verdict), err=True)
    return verdict.exit_code


# -- what is asked for -----------------------------------------------------------------------------


def _collections(
    qrels: str | None, runs: tuple[str, ...], options: Options
) -> list[tuple[str, str, tuple[str, ...]]]:
    """(name, qrels, runs) of every collection: the arguments first, by the name of their qrels."""
    from sounding.data.sources import plain_name

    others = [(name, source, (files,)) for name, source, files in options["collections"]]
    if qrels is None and not others:
        raise click.UsageError("missing QRELS and RUN...: give them, or collections with --collection")
    if qrels is not None and not runs:
        raise click.UsageError("missing RUN...: give the runs to compare")
    if others and not options["depths"]:
        raise click.UsageError("--collection counts decisions by depth; give --depths as well")
    single = [name for name in ("pair", "matrix", "design", "fail_on") if options[name]]
    if others and single:
        raise click.UsageError(
            f"--{single[0].replace('_', '-')} is for one collection; leave --collection out"
        )
    first = [] if qrels is None else [(plain_name(qrels), qrels, runs)]
    names = [name for name, _, _ in (*first, *others)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two collections are called {max(names, key=names.count)!r}")
    return [*first, *others]


def _depths(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise click.UsageError(f"--depths {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(int(word) for word in words)


def _asked(options: Options) -> tuple[str, ...]:
    """The measures, before depths are put to them."""
    return options["measures"] or (DEFAULT_FAMILIES if options["depths"] else DEFAULT_MEASURES)


def _compared(qrels: str, runs: tuple[str, ...], policies: Policies, options: Options) -> Comparison:
    from sounding.compare.depths import at_depths
    from sounding.compare.procedure import Procedure
    from sounding.compare.runs import Reading, compare_runs
    from sounding.data.sources import find_runs
    from sounding.measures import parse_measures

    asked, depths = _asked(options), options["depths"]
    chosen = ("test", "correction", "alpha", "margin", "permutations")
    files = find_runs(runs)
    with progress_bar(len(files), quiet=options["quiet"], label="evaluating runs") as progress:
        return compare_runs(
            qrels, files, at_depths(asked, depths) if depths else parse_measures(asked),
            baselines=options["baselines"], pair=options["pair"], info=options["info"], policies=policies,
            procedure=Procedure(**{name: options[name] for name in chosen}, seed=policies.seed),
            reading=Reading(
                qrels_format=options["qrels_format"], run_format=options["run_format"],
                jobs=options["jobs"], progress=progress,
            ),
        )  # fmt: skip


# -- what is shown ---------------------------------------------------------------------------------


def _write(found: list[tuple[str, Comparison]], options: Options) -> None:
    if options["pair"] and options["format_name"] == "table" and not options["design"]:
        from sounding.report.comparison_tables import explain

        terminal = options["output"] is None and sys.stdout.isatty()
        width = os.get_terminal_size().columns if terminal else None
        write_text(explain(found[0][1], width=width), options["output"])
        return
    write_tables(_tables(found, options), options["format_name"], options["output"])


def _tables(found: list[tuple[str, Comparison]], options: Options) -> list[Table]:
    from sounding.report import comparison_tables as tables
    from sounding.report import design_tables

    people, top = options["format_name"] in PEOPLE, options["top"]
    several, first = len(found) > 1, found[0][1]
    if options["design"]:
        made = design_tables.designs(first)
        return design_tables.people_designs(made) if people else [design_tables.tidy_designs(made)]
    if options["matrix"]:
        return [tables.matrix_table(first, number) for number in range(len(first.measures))]
    if not options["depths"] or options["each_pair"] or options["pair"]:
        if people and not several:
            return [tables.people_pairs(first, top)]
        return [tables.tidy_pairs(comparison, name if several else None, top) for name, comparison in found]
    if not people:
        return [tables.tidy_cases(found)]
    shown = tables.case_tables(found)
    for name, comparison in found:
        shown += tables.depth_tables(comparison, name if several else None, top)
    shown[-1] = tables.with_notes(shown[-1], [note for _, one in found for note in tables.notes(one)])
    return shown


def _say(found: list[tuple[str, Comparison]], options: Options) -> None:
    """Beside formats that have no room for notes: what to beware of, and the policies."""
    if options["format_name"] not in ("csv", "jsonl", "parquet"):
        return
    for name, comparison in found:
        for note in comparison.notes:
            remark(f"{name}: {note}" if len(found) > 1 else note, quiet=options["quiet"])
    remark(f"policies: {found[0][1].policies.describe()}", quiet=options["quiet"])


# -- plans and gates -------------------------------------------------------------------------------


def _taken_plan(context: click.Context, options: Options) -> Plan:
    """The plan; what it fixes and the command line does not say is put among the options."""
    from sounding.compare.plan import read_plan

    plan = read_plan(options["plan"])
    names = {"measures": "measures", "baseline": "baselines"}
    for key, value in plan.choices.made().items():
        name = names.get(key, key)
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            options[name] = ",".join(map(str, value)) if key == "depths" else value
    return plan


def _say_plan(plan: Plan, comparison: Comparison, policies: Policies, options: Options) -> None:
    """Repeat the plan, and every choice that deviates from it."""
    from sounding.compare.claims import OWN
    from sounding.compare.plan import Choices

    correction = comparison.performance_tests[0].correction
    used = Choices(
        measures=tuple(_asked(options)), depths=options["depths"] or None, test=options["test"],
        correction=None if correction == OWN else correction, alpha=options["alpha"],
        margin=options["margin"], baseline=tuple(options["baselines"]) or None, policies=asdict(policies),
    )  # fmt: skip
    remark(plan.describe(), quiet=options["quiet"])
    for deviation in plan.check(used):
        click.echo(f"deviates from the plan: {deviation}", err=True)


def _check_gate(options: Options) -> None:
    """Refuse before files are read what the gate would refuse after."""
    from sounding.compare.gate import parse_conditions

    parse_conditions(options["fail_on"])
    if options["fail_on"] and not (options["baselines"] or options["pair"]):
        raise click.UsageError("--fail-on looks at runs against a baseline; give --baseline or --pair")


def _verdict(comparison: Comparison, options: Options) -> Verdict:
    from sounding.compare.gate import GateRow, gate

    columns = comparison.columns(comparison.in_order())
    rows = []
    for place, (number, pair) in enumerate(comparison.in_order()):
        margin = comparison.performance_tests[number].equivalence
        rows.append(
            GateRow(
                candidate=columns["run_a"][place], baseline=columns["run_b"][place],
                measure=columns["measure"][place], difference=columns["difference"][place],
                p_adjusted=columns["p_adjusted"][place], case=columns["case"][place],
                strength=columns["strength"][place], settled=columns["settled"][place],
                noninferior_p_adjusted=None if margin is None else float(margin.noninferior_p_adjusted[pair]),
            )
        )  # fmt: skip
    return gate(rows, options["fail_on"], alpha=options["alpha"], margin=options["margin"])
