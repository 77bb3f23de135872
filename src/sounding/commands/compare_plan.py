"""The plan of a comparison, and the gate that it has to pass, as `sounding compare` takes and tells them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sounding.commands.compare_checks import asked_measures
from sounding.commands.options import PEOPLE, Options
from sounding.errors import DataError, FormatError, UnknownNameError

if TYPE_CHECKING:
    from sounding.compare.comparison import Comparison
    from sounding.compare.gate import Verdict
    from sounding.compare.plan import Choices, Plan
    from sounding.policies import Policies
    from sounding.report.tables import Table

Echo = tuple["Plan", "Choices"]  # what was planned, and what was done


def taken_plan(context: click.Context, options: Options) -> Plan:
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
    from sounding.compare.claims import OWN
    from sounding.compare.plan import Choices

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
