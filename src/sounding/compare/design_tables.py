"""How large an experiment must be, as tables: power by pair, error rates by topics and difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare.designs import Designs
from sounding.compare.tables import SHOWN
from sounding.measures import Measure
from sounding.render.tables import UNKNOWN, Cell, Column, Table
from sounding.statistics.power import LEAST_SPLIT, Design, SwapRates

REQUIRED = (0.0, 0.01, 0.02, 0.05, 0.1)  # differences required that people see
DIGITS = 3


def people_designs(found: Designs) -> list[Table]:
    """For each measure: power and topics needed by pair, then error rates and ties by topics."""
    tables = []
    for measure, one in found.by_measure():
        power = _power_table(measure, one, found)
        if too_few(one.swaps):
            tables.append(replace(power, notes=[*power.notes, _too_few(one.swaps)]))
        else:
            tables += [power, _error_table(measure, one), _tie_table(measure, one)]
    told = [f"{len(found.runs)} runs, {len(found.topics)} judged topics.", *found.notes]
    told.append(f"Policies: {found.policies.describe()}.")
    tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *told])
    return tables


def too_few(swaps: SwapRates) -> bool:
    """Whether halves of the topics are too small for their error rates to mean anything."""
    return swaps.topics < LEAST_SPLIT


def _too_few(swaps: SwapRates) -> str:
    return (
        f"{swaps.topics} topics on which all runs have a value are too few to split: error rates need"
        f" at least {LEAST_SPLIT}."
    )


def _power_table(measure: Measure, one: Design, found: Designs) -> Table:
    """The power at the difference seen, and the topics that it needs: pairs that need fewest first."""
    power = one.power
    order = np.lexsort((-np.abs(power.difference), -power.power, power.topics_needed)).tolist()
    shown = order[:SHOWN]
    names = [found.names(pair) for pair in shown]
    columns = [
        Column("run_a", [a for a, _ in names]),
        Column("run_b", [b for _, b in names]),
        Column("topics", power.topics[shown].tolist()),
        Column("difference", power.difference[shown].tolist()),
        Column("power", power.power[shown].tolist(), digits=DIGITS),
        Column("topics needed", [_many(count) for count in power.topics_needed[shown].tolist()], right=True),
    ]
    rest = "" if len(shown) == len(order) else f"{len(shown)} of {len(order):,} pairs; json has all. "
    rule = "Power: chance to find the difference seen, were it the true one; topics needed for it."
    lines = power.describe()
    notes = [f"{rest}{rule}", *(f"{line[0].upper()}{line[1:]}." for line in lines)]
    title = f"{measure}: power at the differences seen"
    return Table(columns, title=title, notes=notes, keys=2)


def _many(count: float) -> str:
    """A number of topics, which may be without end."""
    if math.isnan(count):
        return UNKNOWN
    return "no number" if math.isinf(count) else f"{count:,.0f}"


def _error_table(measure: Measure, one: Design) -> Table:
    swaps, beyond = one.swaps, one.extrapolation
    columns = [
        Column("topics", [*swaps.sizes.tolist(), *beyond.topics.tolist()]),
        Column("seen", ["yes"] * len(swaps.sizes) + ["extrapolated"] * len(beyond.topics)),
    ]
    for place in _places(swaps):
        rates = [*swaps.error_rate[:, place].tolist(), *beyond.error_rate[:, place].tolist()]
        columns.append(Column(f"from {swaps.required[place]:g}", _rates(rates), right=True))
    rule = (
        f"Two disjoint sets of so many topics, {swaps.splits} splits: share of claims that the other set"
        " reverses, by the difference that a claim requires."
    )
    title = f"{measure}: how often another set of topics names the other run"
    return Table(columns, title=title, notes=[rule], keys=2)


def _tie_table(measure: Measure, one: Design) -> Table:
    swaps = one.swaps
    columns = [Column("topics", swaps.sizes.tolist())]
    for place in _places(swaps):
        shares = swaps.fuzziness[:, place].tolist()
        required = float(swaps.required[place])
        columns.append(Column(f"below {required:g}" if required else "equal", shares, digits=DIGITS))
    rule = "Share of comparisons without a claim: equal, or less apart than the difference required."
    return Table(columns, title=f"{measure}: how often no run is named", notes=[rule])


def _places(swaps: SwapRates) -> list[int]:
    return [place for place, size in enumerate(swaps.required.tolist()) if size in REQUIRED]


def _rates(rates: Sequence[float]) -> list[str]:
    """Rates as people read them: what is not 0 is never shown as 0."""
    least = 10**-DIGITS
    return [
        UNKNOWN if math.isnan(rate) else f"<{least:g}" if 0 < rate < least / 2 else f"{rate:.{DIGITS}f}"
        for rate in rates
    ]


def tidy_designs(found: Designs) -> Table:
    """One row a measure, number of topics and difference required, for programs; json has the pairs beside.

    Measures with too few topics to split have no rows.
    """
    rows: list[tuple[Cell, ...]] = []
    for measure, one in found.by_measure():
        swaps, beyond = one.swaps, one.extrapolation
        if too_few(swaps):
            continue
        for size, required in np.ndindex(swaps.claims.shape):
            rows.append(
                (
                    str(measure), int(swaps.sizes[size]), float(swaps.required[required]), False,
                    int(swaps.claims[size, required]), int(swaps.errors[size, required]),
                    float(swaps.error_rate[size, required]), float(swaps.fuzziness[size, required]),
                )
            )  # fmt: skip
        for size, required in np.ndindex(beyond.error_rate.shape):
            rows.append(
                (
                    str(measure), int(beyond.topics[size]), float(beyond.required[required]), True,
                    None, None, float(beyond.error_rate[size, required]), None,
                )
            )  # fmt: skip
    names = (
        "measure", "topics", "required", "extrapolated", "claims", "errors", "error_rate", "fuzziness",
    )  # fmt: skip
    facts = {
        "policies": asdict(found.policies),
        "runs": list(found.runs),
        "topics": len(found.topics),
        "alpha": found.procedure.alpha,
        "correction": found.correction,
        "power": {str(measure): list(one.power.describe()) for measure, one in found.by_measure()},
        "pairs": {str(measure): _pair_facts(one, found) for measure, one in found.by_measure()},
        "notes": [*found.notes, *split_notes(found)],
    }
    return Table(
        [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)], facts=facts
    )


def split_notes(found: Designs) -> list[str]:
    """A sentence for each measure whose topics are too few to split."""
    return [f"{measure}: {_too_few(one.swaps)}" for measure, one in found.by_measure() if too_few(one.swaps)]


def _pair_facts(one: Design, found: Designs) -> list[dict[str, Any]]:
    """Every pair with its power and the topics it needs; None: not known, or without end."""
    power = one.power
    facts = []
    for pair in range(len(power.pairs)):
        a, b = found.names(pair)
        needed = float(power.topics_needed[pair])
        numbers = {
            name: value if math.isfinite(value) else None
            for name in ("difference", "deviation", "power", "detectable")
            for value in [float(getattr(power, name)[pair])]
        }
        facts.append(
            {"run_a": a, "run_b": b, "topics": int(power.topics[pair])}
            | numbers
            | {"topics_needed": int(needed) if math.isfinite(needed) else None}
        )
    return facts
