"""Comparisons as tables: pairs of interest for people, all pairs for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare.claims import PairTests
from sounding.compare.comparison import MARGIN_COLUMNS, Comparison
from sounding.compare.holds import shown_chance
from sounding.compare.p_values import FLOOR, shown_p
from sounding.report.comparison_cells import p_name, short_names, shown_case, shown_interval, yes_or_no
from sounding.report.comparison_notes import (
    EFFECT,
    advice_notes,
    cases_in_words,
    facts,
    floor_legend,
    floor_notes,
    notes,
)
from sounding.report.tables import UNKNOWN, Column, Table, columns_of, first_said
from sounding.scores import mean_over_topics

SHOWN = 20  # pairs that people see without asking for more

Named = Sequence[tuple[str, Comparison]]  # collections by name
Rows = Sequence[tuple[int, int]]  # (measure, pair)
Cells = Mapping[str, list[Any]]  # the columns of a comparison, by name


def tidy_pairs(comparison: Comparison, collection: str | None = None, top: int | None = None) -> Table:
    """One row a measure and pair, for programs, in the order that people see: all, or the first ones."""
    rows = comparison.interesting()[:top]
    columns = [Column(name, cells) for name, cells in comparison.columns(rows).items()]
    if collection is not None:
        columns.insert(0, Column("collection", [collection] * len(rows)))
    beside = facts(comparison)
    beside["notes"] += [*floor_notes(comparison), *advice_notes(comparison)]
    return Table(columns, facts=beside | _account_facts(comparison, top))


def tidy_pairs_of(collections: Named, top: int | None = None) -> list[Table]:
    """The pairs of every collection for programs; what json says beside them by collection, if several."""
    if len(collections) == 1:
        return [tidy_pairs(collections[0][1], None, top)]
    first, *others = [tidy_pairs(comparison, name, top) for name, comparison in collections]
    beside = {name: facts(comparison) for name, comparison in collections}
    return [replace(first, facts={"collections": beside}), *others]


def _account_facts(comparison: Comparison, top: int | None) -> dict[str, Any]:
    """For one pair, the topics and documents that json has beside its rows; `top` cuts open documents."""
    if not comparison.accounts:
        return {}
    (names,) = [comparison.names(pair) for pair in range(len(comparison.pairs))]
    places = comparison.pairs[0]
    return {
        "pair": {
            str(measure): {
                "judged": dict(
                    zip(names, mean_over_topics(comparison.assessment[places, number]).tolist(), strict=True)
                ),
                "topics": [
                    {"topic": topic, "a": a, "b": b, "difference": a - b}
                    for topic, a, b in zip(
                        comparison.topics, *comparison.values[places, number].tolist(), strict=True
                    )
                    if not np.isnan(a - b)
                ],
            }
            for number, measure in enumerate(comparison.measures)
        },
        "documents": {
            str(measure): {
                "telling": {
                    topic: [asdict(one) for one in found] for topic, found in account.telling.items()
                },
                "settling": asdict(replace(account.settling, documents=account.settling.documents[:top]))
                | {"needed": account.settling.needed},
            }
            for measure, account in zip(comparison.measures, comparison.accounts, strict=True)
        },
    }


def document_table(comparison: Comparison) -> Table:
    """For one pair, the documents to judge by every measure that leaves it open, the first ones first."""
    rows = [
        (str(measure), number, *asdict(one).values())
        for place, (measure, account) in enumerate(zip(comparison.measures, comparison.accounts, strict=True))
        if comparison.settled(place, 0) is False
        for number, one in enumerate(account.settling.documents, 1)
    ]
    names = ["measure", "number", "topic", "doc", "rank_a", "rank_b", "weight"]
    return Table(columns_of(names, rows))


def people_pairs(
    comparison: Comparison,
    top: int | None = None,
    *,
    title: str | None = None,
    full: bool = False,
    brief: bool = False,
    widest: int | None = None,
) -> Table:
    """Pairs of interest first, as people read them; `full`: for print, with topics, means and both p.

    `brief`: only the notes that nobody should miss. `widest`: longer names of runs are shortened.
    """
    order = comparison.interesting()
    rows = order[: SHOWN if top is None else top]
    found = comparison.columns(rows)
    short = short_names(comparison.runs, widest)
    keys = [Column(side, [short[name] for name in found[side]]) for side in ("run_a", "run_b")]
    if len(comparison.measures) > 1:
        keys.append(Column("measure", found["measure"]))
    columns = [
        *keys,
        *_size_columns(comparison, rows, found, full=full),
        *_trust_columns(comparison, found),
        Column("advice", _advice_cells(found, short)),
    ]
    shown = "" if len(rows) == len(order) else f"{len(rows)} of {len(order):,} rows, the rest with --top N. "
    told = [shown + cases_in_words(comparison)]
    marked = any(str(cell).startswith(FLOOR) for column in columns for cell in column.cells)
    if brief:
        told += notes(comparison, brief=True)
        told[1] = " ".join([told[1], *floor_legend(comparison, marked)])
    else:
        told += [*advice_notes(comparison), *notes(comparison), *floor_legend(comparison, marked)]
        told += [EFFECT] if full else []
    if any(short[name] != name for side in ("run_a", "run_b") for name in found[side]):
        told.append("Long names of runs are shortened here, and whole in every other format.")
    return first_said(Table(columns, title=title, notes=told, keys=len(keys)), comparison.limits)


def _size_columns(comparison: Comparison, rows: Rows, found: Cells, *, full: bool) -> Iterator[Column]:
    """How large the differences are, and how sure that is."""
    tests = comparison.performance_tests
    if full or not comparison.same_topics:
        yield Column("topics", found["topics"])
    if full:
        yield Column("mean_a", found["mean_a"])
        yield Column("mean_b", found["mean_b"])
    yield Column("difference", found["difference"])
    intervals = [
        UNKNOWN if np.isnan(gap) else shown_interval(low, high)
        for gap, low, high in zip(found["difference"], found["ci_low"], found["ci_high"], strict=True)
    ]
    yield Column(_interval_name(tests[0]), intervals, joined=True)
    if full:
        yield Column("effect size", found["effect_size"], digits=2)
        drawn = [(tests[number].p[pair], bool(tests[number].floor_drawn[pair])) for number, pair in rows]
        yield Column("p", [shown_p(*both) for both in drawn])
    adjusted = [shown_p(*both) for both in _adjusted(comparison, rows, found)]
    yield Column("adjusted p" if full else p_name(tests[0]), adjusted)


def _adjusted(comparison: Comparison, rows: Rows, found: Cells) -> list[tuple[float, bool]]:
    """The adjusted p of every row, and whether it is the least that so many draws can give."""
    tests = comparison.performance_tests
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    return list(zip(found["p_adjusted"], floors, strict=True))


def _trust_columns(comparison: Comparison, found: Cells) -> Iterator[Column]:
    """How far the differences can be trusted: assessment, case, what is settled, and what holds."""
    yield Column("assessment", found["assessment_difference"])
    yield Column("case", list(map(shown_case, found["case"], found["strength"])))
    yield Column("settled", [yes_or_no(cell) for cell in found["settled"]])
    if comparison.holds is not None:
        yield Column("holds", list(map(shown_chance, found["holds"])), right=True)
        yield Column("sign", list(map(shown_chance, found["sign_holds"])), right=True, joined=True)
    for name, shown_name in zip(MARGIN_COLUMNS, ("equivalence p", "non-inferiority p"), strict=True):
        if name in found:
            yield Column(shown_name, [shown_p(p) for p in found[name]])


def _advice_cells(found: Cells, short: Mapping[str, str]) -> list[str]:
    """What to do, which is enough in a table; why is told where there is room."""
    advice = [_shortened(text.partition(":")[0], short) for text in found["advice"]]
    return [
        text if own == case else f"{text} (alone: case {own})"
        for text, case, own in zip(advice, found["case"], found["case_alone"], strict=True)
    ]


def _shortened(text: str, short: Mapping[str, str]) -> str:
    """A text with the names of runs shortened."""
    for name, shown in short.items():
        if name != shown:
            text = text.replace(name, shown)
    return text


def _interval_name(tests: PairTests) -> str:
    """What stands over the intervals: that they are of the median, where the difference is of the mean."""
    return "interval" if tests.centre == "mean" else f"interval ({tests.centre})"
