"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
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
    from sounding.compare.plan import Choices, Plan
    from sounding.policies import Policies
    from sounding.report.tables import Table

PEOPLE = ("table", "md", "latex")  # formats that people read
NO_NOTES = ("csv", "jsonl", "parquet")  # formats that hold rows alone
DEFAULT_MEASURES = ("AP", "P@10")
DEFAULT_FAMILIES = ("P", "AP")  # with --depths

# Views, and the options that each has no use for.
VIEWS = {"matrix": ("pair", "design", "each_pair", "top"), "design": ("each_pair", "top")}

Options = dict[str, Any]
Found = list[tuple[str, "Comparison"]]  # by the name of the collection
Echo = tuple["Plan", "Choices"]  # what was planned, and what was done


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
    help="Which runs were pooled, of QRELS alone: run group kind priority pooled; may be repeated.",
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
    _check_view(options)
    _check_gate(options)
    listed = dict(row for source in options["info"] for row in read_run_info(source).items())
    found = []
    for place, (name, source, files) in enumerate(named):
        # Runs of other collections may have the same names, and were pooled elsewhere.
        options["info"] = None if place else listed or None
        found.append((name, _compared(source, files, policies, options)))
    echo = None if plan is None else (plan, _used(found[0][1], policies, options))
    tables = _write(found, echo, options)
    _say(found, tables, echo, options)
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
        raise click.UsageError(f"{_spelt(single[0])} is for one collection; leave --collection out")
    first = [] if qrels is None else [(plain_name(qrels), qrels, runs)]
    names = [name for name, _, _ in (*first, *others)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two collections are called {max(names, key=names.count)!r}")
    return [*first, *others]


def _check_view(options: Options) -> None:
    """Refuse options that the chosen view would pass over."""
    for view, others in VIEWS.items():
        for other in others:
            if options[view] and options[other]:
                raise click.UsageError(f"{_spelt(view)} and {_spelt(other)} do not go together; give one")
    if options["each_pair"] and not options["depths"]:
        raise click.UsageError("--each-pair changes nothing without --depths; every pair is shown anyway")


def _spelt(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
        found = compare_runs(
            qrels, files, at_depths(asked, depths) if depths else parse_measures(asked),
            baselines=options["baselines"], pair=options["pair"], info=options["info"], policies=policies,
            procedure=Procedure(**{name: options[name] for name in chosen}, seed=policies.seed),
            reading=Reading(
                qrels_format=options["qrels_format"], run_format=options["run_format"],
                jobs=options["jobs"], progress=progress,
            ),
        )  # fmt: skip
    # Bounds were computed beside the values; what is repeated is what was chosen.
    return replace(found, policies=policies)


# -- what is shown ---------------------------------------------------------------------------------


def _write(found: Found, echo: Echo | None, options: Options) -> list[Table]:
    """Print or write what was found; gives the tables, none for a paragraph."""
    told = [] if echo is None else _plan_notes(*echo)
    if options["pair"] and options["format_name"] == "table" and not options["design"]:
        from sounding.report.comparison_tables import explain

        terminal = options["output"] is None and sys.stdout.isatty()
        width = os.get_terminal_size().columns if terminal else None
        write_text(explain(found[0][1], width=width, more=told), options["output"])
        return []
    tables = _tables(found, options)
    if echo is not None:
        plan, used = echo
        tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *told])
        tables[0] = replace(tables[0], facts={"plan": plan.facts(used), **tables[0].facts})
    write_tables(tables, options["format_name"], options["output"])
    return tables


def _tables(found: Found, options: Options) -> list[Table]:
    from sounding.report import comparison_tables as tables
    from sounding.report import depth_tables as by_depth
    from sounding.report import design_tables

    people, top = options["format_name"] in PEOPLE, options["top"]
    several, first = len(found) > 1, found[0][1]
    if options["design"]:
        made = design_tables.designs(first)
        if people:
            return design_tables.people_designs(made, first)
        return [design_tables.tidy_designs(made, first)]
    if options["matrix"]:
        return tables.matrix_tables(first) if people else [tables.tidy_matrix(first)]
    if not options["depths"] or options["each_pair"] or options["pair"]:
        if not people:
            return tables.tidy_pairs_of(found, top)
        full = options["format_name"] != "table"
        return [
            tables.people_pairs(one, top, title=name if several else None, full=full) for name, one in found
        ]
    if not people:
        return [by_depth.tidy_cases(found)]
    shown = by_depth.case_tables(found)
    for name, comparison in found:
        shown += by_depth.depth_tables(comparison, name if several else None, top)
    shown[-1] = tables.with_notes(shown[-1], [note for _, one in found for note in tables.notes(one)])
    return shown


def _say(found: Found, tables: list[Table], echo: Echo | None, options: Options) -> None:
    """Beside formats that have no room for notes: what to beware of, the policies and the plan.

    Deviations from a plan are said beside all formats: the output may be a file that nobody looks at.
    """
    from sounding.report.comparison_tables import how_valued

    quiet = options["quiet"]
    if options["format_name"] in NO_NOTES:
        notes = [f"{name}: {note}" for name, one in found for note in one.notes]
        if len(found) == 1:
            notes = list(tables[0].facts.get("notes", found[0][1].notes))
        # A design says nothing of what is settled.
        valued = how_valued(found[0][1])[: 1 if options["design"] else None]
        valued = [text[0].lower() + text[1:-1] for text in valued]
        for text in [*notes, *valued, *([] if echo is None else [echo[0].describe()])]:
            remark(text, quiet=quiet)
    for deviation in [] if echo is None else echo[0].check(echo[1]):
        click.echo(f"deviates from the plan: {deviation}", err=True)


# -- plans and gates -------------------------------------------------------------------------------


def _taken_plan(context: click.Context, options: Options) -> Plan:
    """The plan; what it fixes and the command line does not say is put among the options."""
    from sounding.compare.plan import read_plan

    plan = read_plan(options["plan"])
    names = {"measures": "measures", "baseline": "baselines"}
    for key, value in plan.choices.made().items():
        name = names.get(key, key)
        if key == "baseline" and options["pair"]:
            continue  # one pair was asked for: a deviation, which is named
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            options[name] = ",".join(map(str, value)) if key == "depths" else value
    return plan


def _used(comparison: Comparison, policies: Policies, options: Options) -> Choices:
    """The choices that were made in the end, to be held against a plan."""
    from sounding.compare.claims import OWN
    from sounding.compare.plan import Choices

    correction = comparison.performance_tests[0].correction
    return Choices(
        measures=tuple(_asked(options)), depths=options["depths"] or None, test=options["test"],
        correction=None if correction == OWN else correction, alpha=options["alpha"],
        margin=options["margin"], baseline=tuple(options["baselines"]) or None, policies=asdict(policies),
    )  # fmt: skip


def _plan_notes(plan: Plan, used: Choices) -> list[str]:
    """The plan and every choice that deviates from it, as sentences for people."""
    text = plan.describe()
    deviations = [f"Deviates from the plan: {deviation}." for deviation in plan.check(used)]
    return [f"{text[0].upper()}{text[1:]}.", *(deviations or ["The plan is followed."])]


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
