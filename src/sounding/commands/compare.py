"""`sounding compare`: which differences between runs are more than chance, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.commands.options import (
    by_suffix,
    output_options,
    policy_options,
    pool_options,
    progress_bar,
    qrels_first,
    remark,
    table_width,
    taken_info,
    taken_judgments,
    taken_policies,
    worker_options,
    write_tables,
    write_text,
)
from sounding.errors import DataError, FormatError, UnknownNameError

if TYPE_CHECKING:
    from sounding.compare.comparison import Comparison
    from sounding.compare.designs import Designs
    from sounding.compare.gate import Verdict
    from sounding.compare.plan import Choices, Plan
    from sounding.compare.procedure import Procedure
    from sounding.compare.runs import Reading
    from sounding.measures import Measure
    from sounding.policies import Policies
    from sounding.report.tables import Table

PEOPLE = ("table", "md", "latex")  # formats that people read
NO_NOTES = ("csv", "jsonl", "parquet")  # formats that hold rows alone
DEFAULT_MEASURES = ("AP", "P@10")
DEFAULT_FAMILIES = ("P", "AP")  # with --depths

# Views, and the options that each has no use for.
VIEWS = {
    "matrix": ("pair", "design", "each_pair", "top", "baselines", "margin", "info", "chart", "holds"),
    "design": ("each_pair", "top", "margin", "permutations", "fail_on", "info", "chart", "notes", "holds"),
    "pair": ("each_pair", "baselines"),
}
SPELLINGS = {"baselines": "--baseline", "measures": "--measure", "collections": "--collection"}

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
    help="none, bonferroni, holm, bh or max-t; default: holm, or what belongs to the test.",
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
@click.option("--qrels-format", metavar="F", help="Format of QRELS, where it is not recognised.")
@click.option("--run-format", metavar="F", help="Format of the runs, where it is not recognised.")
@worker_options
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

    \b
    Exit status: 0 done; 1 for what the input is, 2 for how the command was called;
    with --fail-on 3 worse, 4 weak, 5 unsettled.
    """  # noqa: D301 - click wants the control character
    plan = None if options["plan"] is None else _taken_plan(context, options)
    with _options_refused():
        policies = taken_policies(options, always_bounds=True)
        procedure = _procedure(policies, options)
    options["test"], options["correction"] = procedure.test, procedure.correction
    options["depths"] = _depths(options["depths"])
    named = _collections(qrels, runs, options)
    _check_view(context, options)
    _check_gate(options)
    with _options_refused():
        measures, options["dropped"] = _measures(policies, options)
    listed = taken_info(options)
    if options["design"]:
        _, source, files = named[0]
        return _design(source, files, measures, policies, procedure, plan, options)
    found = []
    for place, (name, source, files) in enumerate(named):
        # Runs of other collections may have the same names, and were pooled elsewhere.
        options["info"] = None if place else listed
        found.append((name, _compared(source, files, measures, policies, procedure, plan, options)))
    echo = None
    if plan is not None:
        echo = plan, _used(found[0][1].performance_tests[0].correction, policies, options)
    tables = _write(found, echo, options)
    _write_beside(found[0][1], options)
    _say(_beside(found, tables, options), echo, options)
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

    stray = [name for name in (qrels, *runs) if name and name.isdigit() and not Path(name).exists()]
    if options["depths"] and stray:
        depths = ",".join(map(str, (*options["depths"], *stray)))
        raise click.UsageError(f"no file {stray[0]!r}; depths are one text with commas: --depths {depths}")
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


def _check_view(context: click.Context, options: Options) -> None:
    """Refuse options that would change nothing, so that nobody believes that they did."""
    from sounding.compare.registry import find_test

    given = {
        name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }  # what a plan fixes is no mistake of the call
    for view, others in VIEWS.items():
        for other in others:
            if other == "info" and options["pool_depth"]:
                continue  # it says which runs made the pool that is cut
            if options[view] and options[other] and other in given:
                raise click.UsageError(f"{_spelt(view)} and {_spelt(other)} do not go together; give one")
    pair = options["pair"]
    if pair and pair[0] == pair[1]:
        raise click.UsageError(f"--pair {pair[0]} {pair[1]}: a run against itself; name two different runs")
    if options["documents"] is not None and (not pair or options["design"]):
        raise click.UsageError("--documents lists what would settle one pair; give --pair A B as well")
    by_suffix(options["documents"], "csv", option="--documents")
    if options["chart"] is not None:
        _check_chart(options)
    if options["each_pair"] and not options["depths"]:
        raise click.UsageError("--each-pair changes nothing without --depths; every pair is shown anyway")
    if "permutations" in given and not find_test(options["test"]).draws:
        raise click.UsageError(
            f"--permutations changes nothing with --test {options['test']}, which makes no draws"
        )
    counts = _counts(options)
    if options["until"] is not None and not options["holds"]:
        raise click.UsageError("--until says what --holds is about; give --holds as well")
    if counts and options["holds"]:
        raise click.UsageError("--holds is about pairs, and --depths counts them; give --each-pair as well")
    if counts and options["top"] and options["format_name"] in NO_NOTES:
        raise click.UsageError(
            f"--top shortens the list of pairs that move, which {options['format_name']} does not have;"
            " use --format json, or --each-pair"
        )
    if counts and "margin" in given and not options["fail_on"] and not options["design"]:
        raise click.UsageError("--margin changes no case; give --each-pair to see it beside every pair")


def _counts(options: Options) -> bool:
    """Whether cases are counted by depth, and no pair is shown."""
    shown = options["each_pair"] or options["pair"] or options["matrix"]
    return bool(options["depths"]) and not shown


def _spelt(name: str) -> str:
    return SPELLINGS.get(name, f"--{name.replace('_', '-')}")


def _check_chart(options: Options) -> None:
    """Refuse before files are read what could not be drawn after."""
    from sounding.report.charts import require_suffix
    from sounding.report.charts.frames import require_charts

    if options["depths"] and not (options["each_pair"] or options["pair"]):
        raise click.UsageError("--chart draws pairs, not counts of cases; give --each-pair or --pair as well")
    if options["collections"]:
        raise click.UsageError("--chart is for one collection; leave --collection out")
    require_suffix(options["chart"])
    require_charts("altair", "drawing a chart")


def _depths(texts: Sequence[str]) -> tuple[int, ...]:
    if not texts:
        return ()
    text = ",".join(texts)
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise click.UsageError(f"--depths {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(dict.fromkeys(int(word) for word in words))


def _asked(options: Options) -> tuple[str, ...]:
    """The measures, before depths are put to them."""
    return options["measures"] or (DEFAULT_FAMILIES if options["depths"] else DEFAULT_MEASURES)


def _measures(policies: Policies, options: Options) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """The measures that runs are compared by, with the depths put to them; and those that were dropped.

    A name that stands for many measures, such as `official`, may hold some that nothing is compared by.
    """
    from sounding.compare.depths import at_depths
    from sounding.compare.requests import check_choices, comparable
    from sounding.measures import parse_measures

    asked, depths = _asked(options), options["depths"]
    kept = list(asked)
    dropped: list[Measure] = []
    for name in () if depths else asked:
        part = parse_measures([name])
        if len(part) > 1:
            good, others = comparable(part)
            place = kept.index(name)
            kept[place : place + 1] = map(str, good)
            dropped += others
    measures = at_depths(kept, depths) if depths else parse_measures(kept)
    check_choices(measures, policies)
    return measures, tuple(dropped)


def _procedure(policies: Policies, options: Options) -> Procedure:
    from sounding.compare.procedure import Procedure

    chosen = ("test", "correction", "alpha", "margin", "permutations")
    return Procedure(**{name: options[name] for name in chosen}, seed=policies.seed)


@contextmanager
def _options_refused(plan: Plan | None = None) -> Iterator[None]:
    """What is wrong with an option is said as such; a baseline that a plan names wrongly, with its line."""
    try:
        yield
    except UnknownNameError as error:
        planned = () if plan is None else plan.choices.baseline or ()
        if plan is not None and error.kind == "run" and error.name in planned:
            raise FormatError(plan.source, plan.lines["baseline"], f"baseline: {error}") from error
        raise click.UsageError(str(error)) from error
    except FormatError:
        raise
    except DataError as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def _reading(files: Sequence[str], options: Options) -> Iterator[Reading]:
    """How files are read, with a bar that shows how far it is."""
    from sounding.compare.runs import Reading

    with progress_bar(len(files), quiet=options["quiet"], label="evaluating runs") as progress:
        yield Reading(
            qrels_format=options["qrels_format"], run_format=options["run_format"],
            jobs=options["jobs"], progress=progress,
        )  # fmt: skip


@contextmanager
def _names_refused(plan: Plan | None, qrels: str) -> Iterator[None]:
    """Runs and formats that do not exist are wrong options; what files hold is not."""
    with qrels_first(qrels):
        try:
            yield
        except UnknownNameError as error:
            with _options_refused(plan):
                raise error


def _compared(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[Measure, ...],
    policies: Policies,
    procedure: Procedure,
    plan: Plan | None,
    options: Options,
) -> Comparison:
    from sounding.compare.runs import compare_runs
    from sounding.data.sources import find_runs

    files = find_runs(runs)
    counts = _counts(options) or options["matrix"]
    with _reading(files, options) as reading, _names_refused(plan, qrels):
        judgments, cut = taken_judgments(qrels, files, options, policies, options["info"])
        found = compare_runs(
            judgments, files, measures, baselines=options["baselines"], pair=options["pair"],
            info=options["info"], policies=policies, procedure=procedure, reading=reading,
            settled=not counts or bool(options["fail_on"]),
        )  # fmt: skip
    notes = found.notes if cut is None else (f"{cut[0].upper()}{cut[1:]}.", *found.notes)
    if options["dropped"]:
        names = ", ".join(map(str, options["dropped"]))
        notes = (*notes, f"Left out, for they have no mean over topics to compare: {names}.")
    if _counts(options) and procedure.margin is not None and not options["fail_on"]:
        notes = (*notes, f"The margin {procedure.margin:g} changes no case: --each-pair shows what it tells.")
    # Bounds were computed beside the values; what is repeated is what was chosen.
    told = replace(found, policies=policies, notes=notes)
    return _with_holds(told, judgments, files, options) if options["holds"] else told


def _with_holds(found: Comparison, judgments: Any, files: Sequence[str], options: Options) -> Comparison:
    """The comparison with the chances that conclusions hold."""
    from sounding.calibration.holding import DEFAULT_UNTIL, holds
    from sounding.data.sources import STDIN

    if STDIN in files:
        raise click.UsageError("--holds reads the runs once more, and standard input comes once; give files")
    with progress_bar(len(files), quiet=options["quiet"], label="drawing judgments") as progress:
        held = holds(
            judgments, files, found.measures, until=options["until"] or DEFAULT_UNTIL, info=options["info"],
            pairs=found.pairs, alpha=found.alpha, policies=found.policies,
            qrels_format=options["qrels_format"], run_format=options["run_format"], jobs=options["jobs"],
            progress=progress,
        )  # fmt: skip
    return replace(found, holds=held)


def _design(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[Measure, ...],
    policies: Policies,
    procedure: Procedure,
    plan: Plan | None,
    options: Options,
) -> int:
    """Show what the topics at hand can tell; nothing is compared for it."""
    from sounding.compare.designs import design_runs
    from sounding.data.sources import find_runs
    from sounding.report.design_tables import people_designs, tidy_designs

    files = find_runs(runs)
    with _reading(files, options) as reading, _names_refused(plan, qrels):
        judgments, cut = taken_judgments(qrels, files, options, policies, taken_info(options))
        found = design_runs(
            judgments, files, measures, baselines=options["baselines"], pair=options["pair"],
            policies=policies, procedure=procedure, reading=reading,
        )  # fmt: skip
    if cut is not None:
        remark(cut, quiet=options["quiet"])
    if options["dropped"]:
        remark(f"left out: {', '.join(map(str, options['dropped']))}", quiet=options["quiet"])
    echo = None if plan is None else (plan, _used(found.correction, policies, options))
    people = options["format_name"] in PEOPLE
    tables = _with_plan(people_designs(found) if people else [tidy_designs(found)], echo, options)
    write_tables(tables, options["format_name"], options["output"])
    _say(_beside_design(found, tables), echo, options)
    return 0


# -- what is shown ---------------------------------------------------------------------------------


def _write(found: Found, echo: Echo | None, options: Options) -> list[Table]:
    """Print or write what was found; gives the tables, none for a pair in words."""
    if options["pair"] and options["format_name"] in ("table", "md"):
        from sounding.report.comparison_tables import explain, explain_in_markdown

        told = [*([] if echo is None else _plan_notes(*echo)), *_more_notes(options)]
        rest: Options = {"more": told, "top": options["top"], "brief": not options["notes"]}
        if options["format_name"] == "md":
            text = explain_in_markdown(found[0][1], **rest)
        else:
            text = explain(found[0][1], width=table_width(options["output"]), **rest)
        write_text(text, options["output"])
        return []
    tables = _with_plan(_tables(found, options), echo, options)
    write_tables(tables, options["format_name"], options["output"])
    return tables


def _write_beside(comparison: Comparison, options: Options) -> None:
    """Write the list of documents and the chart, where they are asked for."""
    if options["documents"] is not None:
        from sounding.report.comparison_tables import document_table

        table = document_table(comparison)
        write_tables([table], by_suffix(options["documents"], "csv"), options["documents"])
        remark(f"{options['documents']}: {table.height:,} documents", quiet=options["quiet"])
    if options["chart"] is not None:
        from sounding.report.charts import save
        from sounding.report.charts.comparison import chart_of

        save(chart_of(comparison, options["top"]), options["chart"])
        remark(f"chart: {options['chart']}", quiet=options["quiet"])


def _more_notes(options: Options) -> list[str]:
    return [] if options["notes"] else ["More on how to read this with --notes."]


def _with_plan(tables: list[Table], echo: Echo | None, options: Options) -> list[Table]:
    """The tables with the plan and all deviations from it: below for people, beside for programs."""
    if echo is None:
        return tables
    first, *_, last = tables if len(tables) > 1 else (tables[0], tables[0])
    plan, used = echo
    if options["format_name"] in PEOPLE:
        return [*tables[:-1], replace(last, notes=[*last.notes, *_plan_notes(plan, used)])]
    return [replace(first, facts={"plan": plan.facts(used), **first.facts}), *tables[1:]]


def _tables(found: Found, options: Options) -> list[Table]:
    from sounding.report import comparison_tables as tables
    from sounding.report import depth_tables as by_depth

    people, top = options["format_name"] in PEOPLE, options["top"]
    several, first = len(found) > 1, found[0][1]
    brief = not options["notes"]
    terminal = options["format_name"] == "table"
    widest = tables.WIDEST_NAME if terminal else None
    if options["matrix"]:
        if not people:
            return [tables.tidy_matrix(first)]
        line = tables.SIGNS_IN_LINE if terminal else None
        return _closed(tables.matrix_tables(first, brief=brief, widest=widest, line=line), options)
    if not options["depths"] or options["each_pair"] or options["pair"]:
        if not people:
            return tables.tidy_pairs_of(found, top)
        shown = [
            tables.people_pairs(
                one, top, title=name if several else None, full=not terminal, brief=brief, widest=widest
            )
            for name, one in found
        ]
        return _closed(shown, options)
    if not people:
        return [by_depth.tidy_cases(found, top)]
    shown = by_depth.case_tables(found)
    for name, comparison in found:
        shown += by_depth.depth_tables(comparison, name if several else None, top)
    shown[-1] = tables.with_notes(
        shown[-1], [note for _, one in found for note in tables.notes(one, intervals=False, brief=brief)]
    )
    return _closed(shown, options)


def _closed(tables: list[Table], options: Options) -> list[Table]:
    """The tables, the last of which says how to see more notes."""
    last = tables[-1]
    return [*tables[:-1], replace(last, notes=[*last.notes, *_more_notes(options)])]


def _beside(found: Found, tables: list[Table], options: Options) -> list[str]:
    """What formats without notes leave out: what to beware of, the test, the policies."""
    from sounding.report.comparison_tables import how_tested, how_valued

    first = found[0][1]
    notes = [f"{name}: {note}" for name, one in found for note in one.notes]
    if len(found) == 1:
        notes = list(tables[0].facts.get("notes", first.notes)) if tables else []
    told = [f"Test: {how_tested(first)}; seed {first.procedure.seed}."]
    if not options["matrix"] and not _counts(options):
        told.append(f"Intervals, ci_low to ci_high: {first.performance_tests[0].interval}.")
    if options["pair"]:
        told.append("The explanation of the pair is in the formats table, md and json.")
    return [*notes, *(text[0].lower() + text[1:-1] for text in [*told, *how_valued(first)])]


def _beside_design(found: Designs, tables: list[Table]) -> list[str]:
    """The same of a design."""
    how = f"correction {found.correction}; alpha {found.procedure.alpha:g}; seed {found.procedure.seed}"
    told = [f"power: that of a paired t test; {how}", f"policies: {found.policies.describe()}"]
    return [*tables[0].facts.get("notes", ()), *told]


def _say(texts: Sequence[str], echo: Echo | None, options: Options) -> None:
    """On stderr, what an output has no room for, or deviations from a plan that nobody might look up there.

    A deviation is said once to everybody who looks: with a table for people it stands below.
    """
    if options["pair"] and options["format_name"] == "latex" and not options["design"]:
        remark("the explanation of the pair is in the formats table, md and json", quiet=options["quiet"])
    if options["format_name"] in NO_NOTES:
        for text in [*texts, *([] if echo is None else [echo[0].describe()])]:
            remark(text, quiet=options["quiet"])
    seen = options["format_name"] in PEOPLE and options["output"] is None
    for deviation in [] if echo is None or seen else echo[0].check(echo[1]):
        click.echo(f"deviates from the plan: {deviation}", err=True)


# -- plans and gates -------------------------------------------------------------------------------


def _taken_plan(context: click.Context, options: Options) -> Plan:
    """The plan; what it fixes and the command line does not say is put among the options."""
    from sounding.compare.plan import read_plan

    plan = read_plan(options["plan"])
    names = {"measures": "measures", "baseline": "baselines"}
    for key, value in plan.choices.made().items():
        name = names.get(key, key)
        if key == "baseline" and (options["pair"] or options["matrix"]):
            continue  # one pair, or all, were asked for: a deviation, which is named
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            options[name] = (",".join(map(str, value)),) if key == "depths" else value
    return plan


def _used(correction: str, policies: Policies, options: Options) -> Choices:
    """The choices that were made in the end, to be held against a plan."""
    from sounding.compare.claims import OWN
    from sounding.compare.plan import Choices

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

    with _options_refused():
        parse_conditions(options["fail_on"])
    if options["fail_on"] and not (options["baselines"] or options["pair"]):
        raise click.UsageError("--fail-on looks at runs against a baseline; give --baseline or --pair")


def _verdict(comparison: Comparison, options: Options) -> Verdict:
    from sounding.compare.gate import GateRow, gate

    if comparison.left_out:
        raise DataError(f"no verdict without every measure: {comparison.left_out[0]}")
    order = comparison.interesting()
    columns = comparison.columns(order)
    margins = columns.get("noninferiority_p", [None] * len(order))
    rows = []
    for place, (number, pair) in enumerate(order):
        tests = comparison.performance_tests[number]
        rows.append(
            GateRow(
                candidate=columns["run_a"][place], baseline=columns["run_b"][place],
                measure=columns["measure"][place], difference=columns["difference"][place],
                p_adjusted=columns["p_adjusted"][place], case=columns["case"][place],
                strength=columns["strength"][place], settled=columns["settled"][place],
                noninferior_p_adjusted=margins[place],
                untested="" if tests.omnibus is not None else tests.reasons[pair],
            )
        )  # fmt: skip
    return gate(rows, options["fail_on"], alpha=options["alpha"], margin=options["margin"])
