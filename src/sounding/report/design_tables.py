"""How large an experiment must be, as tables: power in sentences, error rates by topics and difference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sounding.compare.comparison import Comparison
from sounding.compare.design import Design, design
from sounding.measures import Measure
from sounding.report.tables import Cell, Column, Table

SHOWN = (0.0, 0.01, 0.02, 0.05, 0.1)  # differences required that people see
DIGITS = 3

Designs = Mapping[Measure, Design]


def designs(comparison: Comparison) -> Designs:
    """The design of every measure, for the pairs that are compared, from splits of the topics at hand."""
    alone = comparison.performance_tests[0].correction in ("none", "bh")
    return {
        measure: design(
            comparison.values[:, number], comparison.pairs, alpha=comparison.procedure.alpha,
            comparisons=1 if alone else len(comparison.pairs),
            rng=np.random.default_rng(comparison.procedure.seed),
        )
        for number, measure in enumerate(comparison.measures)
    }  # fmt: skip


def people_designs(found: Designs) -> list[Table]:
    """For each measure: error rates and fuzziness by topics, what is extrapolated, and power below."""
    tables = []
    for measure, one in found.items():
        swaps, beyond = one.swaps, one.extrapolation
        sizes = [*swaps.sizes.tolist(), *beyond.topics.tolist()]
        columns = [
            Column("topics", sizes),
            Column("seen", ["yes"] * len(swaps.sizes) + ["extrapolated"] * len(beyond.topics), joined=True),
        ]
        places = [place for place, size in enumerate(swaps.required.tolist()) if size in SHOWN]
        for place in places:
            rates = [*swaps.error_rate[:, place].tolist(), *beyond.error_rate[:, place].tolist()]
            columns.append(Column(f"errors from {swaps.required[place]:g}", rates, digits=DIGITS))
        for place in places:
            ties: list[Cell] = [*swaps.fuzziness[:, place].tolist(), *[None] * len(beyond.topics)]
            columns.append(Column(f"ties below {swaps.required[place]:g}", ties, digits=DIGITS))
        power = "; ".join(one.power.describe())
        rule = (
            f"Two disjoint sets of so many topics, {swaps.splits} splits: share of claims that the other set"
            " reverses, and of pairs too close for a claim, by the difference that is required."
        )
        title = f"{measure}: how often another set of topics names the other run"
        tables.append(Table(columns, title=title, notes=[f"Power: {power}.", rule]))
    return tables


def tidy_designs(found: Designs) -> Table:
    """One row a measure, number of topics and difference required: for programs."""
    rows: list[tuple[Cell, ...]] = []
    for measure, one in found.items():
        swaps, beyond = one.swaps, one.extrapolation
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
    power = {str(measure): list(one.power.describe()) for measure, one in found.items()}
    return Table(
        [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)],
        facts={"power": power},
    )
