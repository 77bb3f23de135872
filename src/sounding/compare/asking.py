"""What `sounding compare` is asked for: collections and measures, and options that do not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.terminal.options import NO_NOTES, PEOPLE, Options, by_suffix, options_refused

if TYPE_CHECKING:
    from sounding.compare.gate import Verdict
    from sounding.compare.result import Comparison
    from sounding.core.policies import Policies
    from sounding.measures import Measure
    from sounding.render.tables import Table
    from sounding.statistics.pairwise import Procedure
    from sounding.terminal.plan_file import Choices, Plan


DEFAULT_MEASURES = ("AP", "P@10")
DEFAULT_FAMILIES = ("P", "AP")  # with --depths

# Views, and the options that each has no use for.
VIEWS = {
    "matrix": ("pair", "design", "each_pair", "top", "baselines", "margin", "info", "chart", "holds"),
    "design": ("each_pair", "top", "margin", "permutations", "fail_on", "info", "chart", "notes", "holds"),
    "pair": ("each_pair", "baselines"),
}
SPELLINGS = {"baselines": "--baseline", "measures": "--measure", "collections": "--collection"}


class Source(NamedTuple):
    """Where the judgments and the runs of a collection are."""

    name: str
    qrels: str
    runs: tuple[str, ...]


def named_collections(qrels: str | None, runs: tuple[str, ...], options: Options) -> list[Source]:
    """Every collection: the arguments first, by the name of their qrels."""
    from sounding.data.sources import plain_name

    stray = [name for name in (qrels, *runs) if name and name.isdigit() and not Path(name).exists()]
    if options["depths"] and stray:
        depths = ",".join(map(str, (*options["depths"], *stray)))
        raise click.UsageError(f"no file {stray[0]!r}; depths are one text with commas: --depths {depths}")
    others = [Source(name, source, (files,)) for name, source, files in options["collections"]]
    if qrels is None and not others:
        raise click.UsageError("missing QRELS and RUN...: give them, or collections with --collection")
    if qrels is not None and not runs:
        raise click.UsageError("missing RUN...: give the runs to compare")
    if others and not options["depths"]:
        raise click.UsageError("--collection counts decisions by depth; give --depths as well")
    single = [name for name in ("pair", "matrix", "design", "fail_on") if options[name]]
    if others and single:
        raise click.UsageError(f"{_spelt(single[0])} is for one collection; leave --collection out")
    first = [] if qrels is None else [Source(plain_name(qrels), qrels, runs)]
    names = [one.name for one in (*first, *others)]
    if len(set(names)) < len(names):
        raise click.UsageError(f"two collections are called {max(names, key=names.count)!r}")
    return [*first, *others]


def taken_measures(policies: Policies, options: Options) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """The measures that runs are compared by, with the depths put to them; and those that were dropped.

    A name that stands for many measures, such as `official`, may hold some that nothing is compared by.
    """
    from sounding.compare.depths import at_depths
    from sounding.compare.requests import comparable
    from sounding.measures import parse_measures
    from sounding.measures.summaries import check_comparable

    asked, depths = asked_measures(options), options["depths"]
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
    check_comparable(measures, policies)
    return measures, tuple(dropped)


def asked_measures(options: Options) -> tuple[str, ...]:
    """The measures, before depths are put to them."""
    return options["measures"] or (DEFAULT_FAMILIES if options["depths"] else DEFAULT_MEASURES)


def taken_depths(texts: Sequence[str]) -> tuple[int, ...]:
    """The depths that were given, each once."""
    if not texts:
        return ()
    text = ",".join(texts)
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise click.UsageError(f"--depths {text!r}: expected whole numbers from 1, such as 10,30,100")
    return tuple(dict.fromkeys(int(word) for word in words))


def taken_procedure(policies: Policies, options: Options) -> Procedure:
    """The test and all that belongs to it."""
    from sounding.statistics.pairwise import Procedure

    chosen = ("test", "correction", "alpha", "margin", "permutations")
    return Procedure(**{name: options[name] for name in chosen}, seed=policies.seed)


def counts_only(options: Options) -> bool:
    """Whether cases are counted by depth, and no pair is shown."""
    shown = options["each_pair"] or options["pair"] or options["matrix"]
    return bool(options["depths"]) and not shown


def check_view(context: click.Context, options: Options) -> None:
    """Refuse options that would change nothing, so that nobody believes that they did."""
    # What a plan fixes is no mistake of the call.
    typed = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    for view, others in VIEWS.items():
        for other in others:
            if other == "info" and options["pool_depth"]:
                continue  # it says which runs made the pool that is cut
            if options[view] and options[other] and other in typed:
                raise click.UsageError(f"{_spelt(view)} and {_spelt(other)} do not go together; give one")
    _check_pair(options)
    if options["chart"] is not None:
        _check_chart(options)
    _check_tests(typed, options)
    if counts_only(options):
        _check_counts(typed, options)


def _check_pair(options: Options) -> None:
    pair = options["pair"]
    if pair and pair[0] == pair[1]:
        raise click.UsageError(f"--pair {pair[0]} {pair[1]}: a run against itself; name two different runs")
    if options["documents"] is not None and (not pair or options["design"]):
        raise click.UsageError("--documents lists what would settle one pair; give --pair A B as well")
    by_suffix(options["documents"], "csv", option="--documents")


def _check_tests(typed: Collection[str], options: Options) -> None:
    """Refuse what needs another option to have an effect."""
    from sounding.statistics.testing import find_test

    if options["each_pair"] and not options["depths"]:
        raise click.UsageError("--each-pair changes nothing without --depths; every pair is shown anyway")
    if "permutations" in typed and not find_test(options["test"]).draws:
        raise click.UsageError(
            f"--permutations changes nothing with --test {options['test']}, which makes no draws"
        )
    if options["until"] is not None and not options["holds"]:
        raise click.UsageError("--until says what --holds is about; give --holds as well")


def _check_counts(typed: Collection[str], options: Options) -> None:
    """Refuse what is about pairs where they are only counted."""
    if options["holds"]:
        raise click.UsageError("--holds is about pairs, and --depths counts them; give --each-pair as well")
    if options["top"] and options["format_name"] in NO_NOTES:
        raise click.UsageError(
            f"--top shortens the list of pairs that move, which {options['format_name']} does not have;"
            " use --format json, or --each-pair"
        )
    if "margin" in typed and not options["fail_on"] and not options["design"]:
        raise click.UsageError("--margin changes no case; give --each-pair to see it beside every pair")


def _check_chart(options: Options) -> None:
    """Refuse before files are read what could not be drawn after."""
    from sounding.render.save import require_suffix
    from sounding.render.style import require_charts

    if options["depths"] and not (options["each_pair"] or options["pair"]):
        raise click.UsageError("--chart draws pairs, not counts of cases; give --each-pair or --pair as well")
    if options["collections"]:
        raise click.UsageError("--chart is for one collection; leave --collection out")
    require_suffix(options["chart"])
    require_charts("altair", "drawing a chart")


def check_gate(options: Options) -> None:
    """Refuse before files are read what the gate would refuse after."""
    from sounding.compare.gate import parse_conditions

    with options_refused():
        parse_conditions(options["fail_on"])
    if options["fail_on"] and not (options["baselines"] or options["pair"]):
        raise click.UsageError("--fail-on looks at runs against a baseline; give --baseline or --pair")


def _spelt(name: str) -> str:
    return SPELLINGS.get(name, f"--{name.replace('_', '-')}")


Echo = tuple["Plan", "Choices"]  # what was planned, and what was done


def taken_plan(context: click.Context, options: Options) -> Plan:
    """The plan; what it fixes and the command line does not say is put among the options."""
    from sounding.terminal.plan_file import read_plan

    plan = read_plan(options["plan"])
    names = {"measures": "measures", "baseline": "baselines"}
    for key, value in plan.choices.made().items():
        name = names.get(key, key)
        if key == "baseline" and (options["pair"] or options["matrix"]):
            continue  # one pair, or all, were asked for: a deviation, which is named
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            options[name] = (",".join(map(str, value)),) if key == "depths" else value
    return plan


@contextmanager
def plan_blamed(plan: Plan | None) -> Iterator[None]:
    """A baseline that the plan names wrongly is said with the line of the plan."""
    try:
        yield
    except UnknownNameError as error:
        planned = () if plan is None else plan.choices.baseline or ()
        if plan is None or error.kind != "run" or error.name not in planned:
            raise
        raise FormatError(plan.source, plan.lines["baseline"], f"baseline: {error}") from error


def choices_used(correction: str, policies: Policies, options: Options) -> Choices:
    """The choices that were made in the end, to be held against a plan."""
    from sounding.statistics.pairwise import OWN
    from sounding.terminal.plan_file import Choices

    return Choices(
        measures=tuple(asked_measures(options)), depths=options["depths"] or None, test=options["test"],
        correction=None if correction == OWN else correction, alpha=options["alpha"],
        margin=options["margin"], baseline=tuple(options["baselines"]) or None, policies=asdict(policies),
    )  # fmt: skip


def plan_notes(plan: Plan, used: Choices) -> list[str]:
    """The plan and every choice that deviates from it, as sentences for people."""
    text = plan.describe()
    deviations = [f"Deviates from the plan: {deviation}." for deviation in plan.check(used)]
    return [f"{text[0].upper()}{text[1:]}.", *(deviations or ["The plan is followed."])]


def with_plan(tables: list[Table], echo: Echo | None, options: Options) -> list[Table]:
    """The tables with the plan and all deviations from it: below for people, beside for programs."""
    if echo is None:
        return tables
    first, *_, last = tables if len(tables) > 1 else (tables[0], tables[0])
    plan, used = echo
    if options["format_name"] in PEOPLE:
        return [*tables[:-1], replace(last, notes=[*last.notes, *plan_notes(plan, used)])]
    return [replace(first, facts={"plan": plan.facts(used), **first.facts}), *tables[1:]]


def gate_verdict(comparison: Comparison, options: Options) -> Verdict:
    """Whether the comparison passes what --fail-on asks."""
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
                strength=columns["strength"][place],
                settled=columns["settled"][place],
                noninferior_p_adjusted=margins[place],
                untested=tests.limit or ("" if tests.omnibus is not None else tests.reasons[pair]),
            )
        )  # fmt: skip
    return gate(rows, options["fail_on"], alpha=options["alpha"], margin=options["margin"])
