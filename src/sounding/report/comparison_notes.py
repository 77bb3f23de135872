"""What stands beside a comparison: notes for people, and the same as facts for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from sounding.compare.cases import CASES
from sounding.compare.comparison import Comparison
from sounding.compare.p_values import FLOOR, p_is
from sounding.compare.settled import which_completions
from sounding.wording import plural

EFFECT = "Effect size: Cohen's d_z, mean over standard deviation of the differences by topic."


def notes(comparison: Comparison, *, intervals: bool = True, brief: bool = False) -> list[str]:
    """What was tested and how, what to beware of, and the policies; `intervals` where some are shown.

    `brief`: the test in a line, what to beware of, and the policies with what settled means in another.
    """
    first = comparison.performance_tests[0]
    told = [f"{len(comparison.runs)} runs, {len(comparison.topics)} judged topics."]
    told[0] += f" Test: {how_tested(comparison)}."
    if brief:
        beside = [*_omnibus_notes(comparison), *comparison.notes]
        return [*told, *beside, " ".join(how_valued(comparison))]
    if intervals:
        told[0] += f" Intervals ({100 * (1 - first.alpha):g}%): {first.interval}."
    if first.equivalence is not None and intervals:
        told.append(f"Equivalence and non-inferiority: {first.equivalence.method}.")
    told += _omnibus_notes(comparison)
    told += comparison.notes
    return [*told, *how_valued(comparison)]


def _omnibus_notes(comparison: Comparison) -> list[str]:
    """The F of all runs at once, where the test has one."""
    first = comparison.performance_tests[0]
    omnibus = [
        f"{measure} {tests.omnibus.f:.4g} (p {p_is(tests.omnibus.p)})"
        for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
        if tests.omnibus is not None
    ]
    if omnibus and first.omnibus is not None:
        f = first.omnibus
        degrees = f"{f.df_runs} and {f.df_error} degrees of freedom"
        return [f"F of all runs at once, on {degrees}: {', '.join(omnibus)}."]
    return []


def how_tested(comparison: Comparison) -> str:
    """The test with its draws and seed, the correction, and alpha."""
    first = comparison.performance_tests[0]
    return f"{first.method}; alpha {first.alpha:g}"


def how_valued(comparison: Comparison) -> list[str]:
    """The policies behind the values, and what is behind the word settled."""
    policies = comparison.policies
    told = [f"Policies: {policies.describe()}."]
    basis = settled_basis(comparison)
    if basis is not None:
        universe = basis["universe"] or ""
        if policies.unjudged != "bounds" and (basis["at_most"] is not None or universe.startswith("+")):
            capped = "" if basis["at_most"] is None else f", at most {basis['at_most']}"
            told[0] = f"{told[0][:-1]}; for what is settled: universe {universe}{capped}."
        more = f" and of {universe[1:]} others a topic" if universe.startswith("+") else ""
        limited = which_completions(policies)
        told.append(
            f"Settled: no judgments of the unjudged documents that any of these runs retrieved{more}"
            f" could turn the order{f', {limited}' if limited else ''}."
        )
    if comparison.holds is not None:
        told.append(comparison.holds.describe())
    return told


def settled_basis(comparison: Comparison) -> dict[str, str | None] | None:
    """What settled rests on: which unjudged documents may be relevant; None where nothing is known."""
    if all(bounds is None for bounds in comparison.bounds):
        return None
    policies = comparison.policies
    return {
        "by": "bounds", "universe": "runs" if policies.universe == "run" else policies.universe,
        "at_most": policies.at_most,
    }  # fmt: skip


def cases_in_words(comparison: Comparison) -> str:
    """How many pairs are in which case, in a sentence for each measure."""
    parts = []
    for measure, counts, bounds in zip(
        comparison.measures, comparison.counts().tolist(), comparison.bounds, strict=True
    ):
        told = ", ".join(
            f"{count:,} in case {case}" for case, count in zip(CASES, counts, strict=True) if count
        )
        without = len(comparison.pairs) - sum(counts)
        told += f"{', ' * bool(told)}{without:,} without a case" * bool(without)
        rest = "" if bounds is None else f"; {np.count_nonzero(bounds.final):,} settled"
        parts.append(f"{measure}: {plural(len(comparison.pairs), 'pair')}, {told}{rest}.")
    return " ".join(parts)


def advice_notes(comparison: Comparison) -> list[str]:
    """Where the correction changes cases: that advice is on each pair by itself."""
    other = int(np.count_nonzero(comparison.cases != comparison.own_cases))
    if not other:
        return []
    return [
        "Advice takes each pair alone, before correction; where that changes the case, it says so:"
        f" {other:,} of {comparison.cases.size:,} rows."
    ]


def floor_notes(comparison: Comparison) -> list[str]:
    """How many p are the smallest that the draws can show, for programs."""
    tests = comparison.performance_tests
    floors = sum(int(np.count_nonzero(one.floor_drawn)) for one in tests)
    if not floors:
        return []
    rows = sum(len(one.pairs) for one in tests)
    return [f"{floors:,} of {rows:,} p are the smallest that {_draws(comparison)} can show: p_at_floor."]


def floor_legend(comparison: Comparison, shown: bool) -> list[str]:
    """What the mark of such a p means, where people see one."""
    return [f"{FLOOR} marks the smallest p that {_draws(comparison)} can show."] if shown else []


def _draws(comparison: Comparison) -> str:
    return plural(max(tests.drawn for tests in comparison.performance_tests), "draw")


def facts(comparison: Comparison) -> dict[str, Any]:
    """What JSON says beside the rows."""
    first = comparison.performance_tests[0]
    return {
        "policies": asdict(comparison.policies),
        "settled": settled_basis(comparison),
        "test": {"name": first.test, "correction": first.correction, "alpha": first.alpha,
                 "method": first.method, "interval": first.interval},
        "inconclusive": {
            str(measure): f"{tests.limit}."
            for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
            if tests.limit
        },
        "omnibus": {
            str(measure): asdict(tests.omnibus)
            for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
            if tests.omnibus is not None
        },
        "runs": list(comparison.runs),
        "topics": len(comparison.topics),
        "cases": {
            str(measure): counts
            for measure, counts in zip(comparison.measures, comparison.counts().tolist(), strict=True)
        },
        "notes": [*comparison.limits, *comparison.notes],
    }  # fmt: skip
