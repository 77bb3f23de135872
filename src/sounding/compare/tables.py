"""Comparisons as tables: pairs, all runs against all, and how large an experiment must be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare import sentences
from sounding.compare.designs import Designs
from sounding.compare.result import MARGIN_COLUMNS, Comparison, Rows
from sounding.compare.slices import SlicedPairs
from sounding.core.text import FLOOR, format_chance, format_p, sentence
from sounding.measures import Measure
from sounding.measures.summaries import mean_over_topics
from sounding.render.tables import UNKNOWN, Cell, Column, Table, Tone, columns_of, decimal, with_notes
from sounding.statistics.pairwise import OWN, PairTests
from sounding.statistics.power import Design, SwapRates

WIDEST_NAME = 20  # of a run in a table for a terminal
SHOWN = 20  # pairs that people see without asking for more
SLICES_SHOWN = 40  # rows of slices, of which a pair has several

Named = Sequence[tuple[str, Comparison]]  # collections by name
Cells = Mapping[str, Sequence[Any]]  # the columns of a comparison, by name


def short_names(runs: Sequence[str], widest: int | None) -> dict[str, str]:
    """The runs by name, those longer than `widest` with a gap in the middle, no two alike."""
    shown = {name: name for name in runs}
    if widest is None:
        return shown
    for name in runs:
        if len(name) <= widest:
            continue
        taken = {other for run, other in shown.items() if run != name}
        # The end tells more runs apart than the beginning: it gives way only where it must.
        for front in (*range(widest // 2, widest), *range(widest // 2)):
            text = f"{name[:front]}…{name[len(name) - (widest - 1 - front) :]}"
            if text not in taken:
                shown[name] = text
                break
    return shown


def p_name(tests: PairTests) -> str:
    """Return what the adjusted p is called: plain p where there was nothing to adjust for."""
    single = len(tests.pairs) == 1 and tests.correction != OWN
    return "p" if tests.correction == "none" or single else "adjusted p"


def shown_interval(low: float, high: float) -> str:
    """Return an interval in words; a dash if unknown."""
    if np.isnan(low) or np.isnan(high):
        return UNKNOWN
    if np.isinf(low) and np.isinf(high):
        return "unlimited"
    if np.isinf(low):
        return f"up to {decimal(high)}"
    return f"from {decimal(low)}" if np.isinf(high) else f"{decimal(low)} to {decimal(high)}"


def signed(value: float) -> str:
    """A difference with its sign; 0 to four decimals has none."""
    text = decimal(value)
    return f"+{text}" if float(text) > 0 else text


def shown_case(case: int | None, strength: str | None) -> str | None:
    """A case with its strength."""
    return None if not case else f"{case} {strength or '(nothing could be significant)'}"


def yes_or_no(cell: bool | None) -> str | None:
    """An answer in a word; None: not known."""
    return None if cell is None else ("yes" if cell else "no")


def facts(comparison: Comparison) -> dict[str, Any]:
    """Return what JSON says beside the rows."""
    first = comparison.performance_tests[0]
    return {
        "policies": asdict(comparison.policies),
        "settled": sentences.settled_basis(comparison),
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
        "assessed_by": dict(zip(map(str, comparison.measures), comparison.assessed_by, strict=True)),
        "cases": {
            str(measure): counts
            for measure, counts in zip(comparison.measures, comparison.counts().tolist(), strict=True)
        },
        "notes": [*comparison.limits, *sentences.notes(comparison)],
    }  # fmt: skip


def tidy_pairs(
    comparison: Comparison,
    collection: str | None = None,
    top: int | None = None,
    *,
    found: Cells | None = None,
) -> Table:
    """Return one row per measure and pair, in the order that people see: all rows, or the first ones.

    `found`: the columns of these rows, where they are there already.
    """
    rows = comparison.by_rank()[:top]
    cells = comparison.columns(rows) if found is None else found
    columns = [Column(name, own) for name, own in cells.items()]
    if collection is not None:
        columns.insert(0, Column("collection", [collection] * len(rows)))
    about = facts(comparison)
    about["notes"] += sentences.floor_notes(comparison)
    return Table(columns, facts=about | _account_facts(comparison, top))


def tidy_pairs_of(collections: Named, top: int | None = None) -> list[Table]:
    """The pairs of every collection for programs; what json says beside them by collection, if several."""
    if len(collections) == 1:
        return [tidy_pairs(collections[0][1], None, top)]
    first, *others = [tidy_pairs(comparison, name, top) for name, comparison in collections]
    about = {name: facts(comparison) for name, comparison in collections}
    return [replace(first, facts={"collections": about}), *others]


def _account_facts(comparison: Comparison, top: int | None) -> dict[str, Any]:
    """Return the topics and documents of one pair for JSON output; `top` limits the open documents."""
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
                    {"topic": topic, "a": a, "b": b, "difference": gap}
                    for topic, a, b, gap in zip(
                        comparison.topics,
                        *comparison.values[places, number].tolist(),
                        comparison.gaps(number)[0].tolist(),
                        strict=True,
                    )
                    if not np.isnan(gap)
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
    """Return the documents to judge for one pair by every open measure, the most important first."""
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
    widest: int | None = None,
    found: Cells | None = None,
) -> Table:
    """Return the pairs as people read them, those among the best runs first.

    `full`: for print, with topics, effect sizes and both p. `widest`: longer names of runs are shortened.
    `found`: the columns of these rows, where they are there already.
    """
    order = comparison.by_rank()
    rows = order[: SHOWN if top is None else top]
    found = comparison.columns(rows) if found is None else found
    short = short_names(comparison.runs, widest)
    keys = [Column(side, [short[name] for name in found[side]]) for side in ("run_a", "run_b")]
    if len(comparison.measures) > 1:
        keys.append(Column("measure", found["measure"]))
    columns = [
        *keys,
        *_size_columns(comparison, rows, found, full=full),
        *_trust_columns(comparison, found),
        Column("advice", _advice_cells(found, short), optional=6),
    ]
    cut, every = len(rows) < len(order), comparison.has_all_pairs
    left_out = sentences.rows_shown(len(rows), len(order), every_pair=every) if cut else ""
    marked = any(str(cell).startswith(FLOOR) for column in columns for cell in column.cells)
    lines = [*sentences.floor_legend(comparison, marked)]
    if any(short[name] != name for side in ("run_a", "run_b") for name in found[side]):
        lines.append(sentences.LONG_NAMES)
    return Table(columns, title=title, notes=lines, keys=len(keys), summary=left_out)


def _significant(comparison: Comparison, rows: Rows) -> dict[int, Tone]:
    """The rows of significant differences, to be shown as good."""
    found = comparison.significant
    return {place: "good" for place, row in enumerate(rows) if found[row]}


def _size_columns(comparison: Comparison, rows: Rows, found: Cells, *, full: bool) -> Iterator[Column]:
    """Yield how large the differences are, and how sure that is."""
    tests = comparison.performance_tests
    good = _significant(comparison, rows)
    if full or not comparison.same_topics:
        yield Column("topics", found["topics"], optional=1)
    yield Column("mean_a", found["mean_a"])
    yield Column("mean_b", found["mean_b"])
    yield Column("difference", found["difference"], tones=good)
    intervals = [
        UNKNOWN if np.isnan(gap) else shown_interval(low, high)
        for gap, low, high in zip(found["difference"], found["ci_low"], found["ci_high"], strict=True)
    ]
    # The difference is of the mean: where intervals are of something else, the heading says so.
    of_what = "" if tests[0].center == "mean" else f" ({tests[0].center})"
    yield Column(f"interval{of_what}", intervals, optional=4)
    if full:
        yield Column("effect size", found["effect_size"], digits=2)
        drawn = [bool(tests[number].floor_drawn[pair]) for number, pair in rows]
        yield Column("p", list(map(format_p, found["p"], drawn)))
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    adjusted = list(map(format_p, found["p_adjusted"], floors))
    yield Column("adjusted p" if full else p_name(tests[0]), adjusted, tones=good)


def _trust_columns(comparison: Comparison, found: Cells) -> Iterator[Column]:
    """Yield how far the differences can be trusted: assessment, case, what is settled, and what holds."""
    if not comparison.only_relevant:
        yield from _case_columns(found)
    yield Column("settled", [yes_or_no(cell) for cell in found["settled"]], optional=3)
    yield from _chance_columns(comparison, found)
    for name, shown_name in zip(MARGIN_COLUMNS, ("equivalence p", "non-inferiority p"), strict=True):
        if name in found:
            yield Column(shown_name, [format_p(p) for p in found[name]])


def _chance_columns(comparison: Comparison, found: Cells) -> Iterator[Column]:
    """Yield the chances that conclusions and signs hold, if they were asked for."""
    if comparison.holds is None:
        return
    names = {"holds": "holds", "sign": "sign_holds"}
    if comparison.holds.differs_when_shallow:
        names |= {"holds@10": "holds_top10", "sign@10": "sign_holds_top10"}
    for title, name in names.items():
        shown = list(map(format_chance, found[name]))
        yield Column(title, shown, right=True, joined=title.startswith("sign"))


def _case_columns(found: Cells) -> Iterator[Column]:
    """Yield the difference in judged share, and the case of each pair."""
    yield Column("assessment", found["assessment_difference"], optional=5)
    weak: dict[int, Tone] = {
        place: "weak" for place, strength in enumerate(found["strength"]) if strength == "weak"
    }
    yield Column("case", list(map(shown_case, found["case"], found["strength"])), optional=2, tones=weak)


def summary_table(comparison: Comparison, top: int | None = None) -> Table:
    """Return five columns for a pull request: every run against its baseline, with a verdict."""
    order = comparison.by_rank()
    rows = order[: SHOWN if top is None else top]
    found = comparison.columns(rows)
    several = len(set(found["run_b"])) > 1
    runs = [f"{a} against {b}" if several else a for a, b in zip(found["run_a"], found["run_b"], strict=True)]
    differences = [
        f"{signed(gap)} ({shown_interval(low, high)})"
        for gap, low, high in zip(found["difference"], found["ci_low"], found["ci_high"], strict=True)
    ]
    tests = comparison.performance_tests
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    columns = [
        Column("run", runs),
        Column("measure", found["measure"]),
        Column("difference (interval)", differences, right=True),
        Column(p_name(tests[0]), list(map(format_p, found["p_adjusted"], floors))),
        Column("verdict", [sentences.verdict_in_words(comparison, *row) for row in rows]),
    ]
    left_out = "" if len(rows) == len(order) else sentences.rows_shown(len(rows), len(order))
    return Table(columns, keys=2, summary=left_out)


def focus_table(
    comparison: Comparison, top: int | None = None, widest: int | None = None, *, chances: bool = False
) -> Table:
    """Return one row for each run that a run was compared with: won, lost or undecided, and why."""
    order = comparison.by_rank()
    rows = order if top is None else order[:top]
    found = comparison.columns(rows)
    short = short_names(comparison.runs, widest)
    good = _significant(comparison, rows)
    tests = comparison.performance_tests
    keys = [Column("against", [short[name] for name in found["run_b"]])]
    if len(comparison.measures) > 1:
        keys.append(Column("measure", found["measure"]))
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    intervals = list(map(shown_interval, found["ci_low"], found["ci_high"]))
    columns = [
        *keys,
        Column("result", [sentences.result_in_words(comparison, *row) for row in rows], tones=good),
        Column("mean", found["mean_a"], optional=2),
        Column("other mean", found["mean_b"], optional=2),
        Column("difference", found["difference"], tones=good),
        Column("interval", intervals, optional=3),
        Column(p_name(tests[0]), list(map(format_p, found["p_adjusted"], floors)), tones=good),
        *(_chance_columns(comparison, found) if chances else ()),
        Column("why", [sentences.why_in_words(comparison, *row) for row in rows], folds=True),
    ]
    return Table(columns, keys=len(keys))


def slice_table(sliced: SlicedPairs, top: int | None = None, widest: int | None = None) -> Table:
    """Return one row for each slice and pair, for people."""
    comparison = sliced.comparison
    order = sliced.rows()
    rows = order[: SLICES_SHOWN if top is None else top]
    found = sliced.columns(rows)
    short = short_names(comparison.runs, widest)
    good: dict[int, Tone] = {place: "good" for place, cell in enumerate(found["significant"]) if cell}
    keys = [Column(side, [short[str(name)] for name in found[side]]) for side in ("run_a", "run_b")]
    if len(comparison.measures) > 1:
        keys.append(Column("measure", found["measure"]))
    keys.append(Column("slice", found["slice"]))
    p = [UNKNOWN if one is None else format_p(one) for one in found["p_adjusted"]]
    intervals = [
        UNKNOWN if low is None else shown_interval(low, high)
        for low, high in zip(found["ci_low"], found["ci_high"], strict=True)
    ]
    columns = [
        *keys,
        Column("topics", found["topics"]),
        Column("mean_a", found["mean_a"], optional=2),
        Column("mean_b", found["mean_b"], optional=2),
        Column("difference", found["difference"], tones=good),
        Column("interval", intervals, optional=1),
        Column(p_name(comparison.performance_tests[0]), p, tones=good),
        Column("remark", [sentences.slice_remark(sliced, *row) for row in rows], optional=3),
    ]
    left_out = "" if len(rows) == len(order) else sentences.rows_shown(len(rows), len(order))
    return Table(columns, keys=len(keys), summary=left_out)


def tidy_slices(sliced: SlicedPairs, top: int | None = None) -> Table:
    """Return one row for each slice, measure and pair, for programs."""
    rows = sliced.rows()[:top]
    columns = [Column(name, cells) for name, cells in sliced.columns(rows).items()]
    return Table(columns, facts=facts(sliced.comparison) | {"slices": sliced.sizes()})


def _advice_cells(found: Cells, short: Mapping[str, str]) -> list[str]:
    """Return the advice in a few words, without its reason, for a table."""
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


SIGNS_IN_LINE = 60  # columns that people see beside each other
SIGNS: Mapping[tuple[bool, int], str] = {  # (strong, sign of the difference, 0: not significant)
    (True, 1): ">", (True, -1): "<", (True, 0): "=",
    (False, 1): "›", (False, -1): "‹", (False, 0): "~",
}  # fmt: skip
UNTESTED_SIGN, SELF_SIGN = "?", "·"


def matrix_tables(
    comparison: Comparison, *, widest: int | None = None, line: int | None = None
) -> list[Table]:
    """Return a table a measure of all runs against all: one sign a pair, in the order of the measure.

    `line`: no more signs in a column than this, in groups of ten.
    """
    tables = []
    short = short_names(comparison.runs, widest)
    for number, measure in enumerate(comparison.measures):
        rows = _matrix_rows(comparison, number)
        columns = [
            Column("rank", [rank for rank, *_ in rows]),
            Column("run", [short[run] for _, run, *_ in rows]),
            Column(str(measure), [value for _, _, value, _ in rows]),
            *_sign_columns([signs for *_, signs in rows], line),
        ]
        tables.append(Table(columns, keys=2))
    tables[-1] = with_notes(tables[-1], [sentences.LEGEND])
    return tables


def _sign_columns(signs: Sequence[str], line: int | None) -> list[Column]:
    """The signs of a matrix in columns that fit a line, named by the ranks of the runs they are against."""
    if line is None or len(signs) <= line:
        return [Column("against", list(signs), code=True)]
    found = []
    for first in range(0, len(signs), line):
        last = min(first + line, len(signs))
        cells = [
            " ".join(row[place : min(place + 10, last)] for place in range(first, last, 10)) for row in signs
        ]
        found.append(Column(f"against {first + 1} to {last}", cells, code=True))
    return found


def tidy_matrix(comparison: Comparison) -> Table:
    """Return one row per measure and run, with its signs against all runs in the order of the rows."""
    rows = [
        (str(measure), *row)
        for number, measure in enumerate(comparison.measures)
        for row in _matrix_rows(comparison, number)
    ]
    names = ["measure", "rank", "run", "value", "against"]
    return Table(columns_of(names, rows), facts=facts(comparison) | {"legend": sentences.LEGEND})


def ranks_of(comparison: Comparison) -> list[tuple[int, int]]:
    """Return the rank of the first pair's run_a by every measure, and the number of runs compared."""
    own = int(comparison.pairs[0, 0])
    members = sorted({own, *comparison.pairs[:, 1].tolist()})
    found = []
    for number in range(len(comparison.measures)):
        means = np.nanmean(comparison.values[members, number], axis=1)
        mean = np.nanmean(comparison.values[own, number])
        found.append((int(np.count_nonzero(means > mean)) + 1, len(members)))
    return found


def best_run(comparison: Comparison) -> str:
    """The run with the highest mean by the first measure."""
    means = np.nan_to_num(np.nanmean(comparison.values[:, 0], axis=1), nan=-np.inf)
    return comparison.runs[int(np.argmax(means))]


def _matrix_rows(comparison: Comparison, number: int) -> list[tuple[int, str, float, str]]:
    """Rank, run, mean and signs against all runs, the best run first."""
    means = np.nanmean(comparison.values[:, number], axis=1)
    order = sorted(range(len(means)), key=lambda run: (-means[run], comparison.runs[run]))
    place = {run: row for row, run in enumerate(order)}
    grid = np.full((len(order), len(order)), UNTESTED_SIGN, dtype="<U1")
    np.fill_diagonal(grid, SELF_SIGN)
    tests = comparison.performance_tests[number]
    signs = np.where(tests.significant, np.sign(np.nan_to_num(tests.difference)), 0).astype(int)
    for pair, (a, b) in enumerate(comparison.pairs.tolist()):
        if comparison.cases[number, pair]:
            strong, sign = bool(comparison.strong[number, pair]), int(signs[pair])
            grid[place[a], place[b]] = SIGNS[strong, sign]
            grid[place[b], place[a]] = SIGNS[strong, -sign]
    return [
        (rank, comparison.runs[run], float(means[run]), "".join(row))
        for rank, (run, row) in enumerate(zip(order, grid.tolist(), strict=True), 1)
    ]


# -- designs --------------------------------------------------------------------------------------

REQUIRED = (0.0, 0.01, 0.02, 0.05, 0.1)  # differences required that people see
DIGITS = 3


def people_designs(found: Designs) -> list[Table]:
    """Return tables a measure: power and topics needed by pair, then error rates and ties by topics."""
    tables = []
    for measure, one in found.by_measure():
        power = _power_table(measure, one, found)
        if problem := sentences.too_few_to_split(one.swaps.topics):
            tables.append(with_notes(power, [problem]))
        else:
            tables += [power, _error_table(measure, one), _tie_table(measure, one)]
    return tables


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
    rest = "" if len(shown) == len(order) else f"{len(shown)} of {len(order):,} pairs; json has all."
    notes = [sentences.POWER, *map(sentence, sentences.power_in_words(power))]
    title = f"{measure}: power at the differences seen"
    return Table(columns, title=title, notes=notes, keys=2, summary=rest)


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
    title = f"{measure}: how often another set of topics names the other run"
    return Table(columns, title=title, notes=[sentences.how_split(swaps.splits)], keys=2)


def _tie_table(measure: Measure, one: Design) -> Table:
    swaps = one.swaps
    columns = [Column("topics", swaps.sizes.tolist())]
    for place in _places(swaps):
        shares = swaps.fuzziness[:, place].tolist()
        required = float(swaps.required[place])
        columns.append(Column(f"below {required:g}" if required else "equal", shares, digits=DIGITS))
    return Table(columns, title=f"{measure}: how often no run is named", notes=[sentences.NO_CLAIMS])


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
    """Return one row per measure, number of topics and required difference; json has the pairs as well.

    Measures with too few topics to split have no rows.
    """
    rows: list[tuple[Cell, ...]] = []
    for measure, one in found.by_measure():
        swaps, beyond = one.swaps, one.extrapolation
        if sentences.too_few_to_split(swaps.topics):
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
    problems = [
        f"{measure}: {problem}"
        for measure, one in found.by_measure()
        if (problem := sentences.too_few_to_split(one.swaps.topics))
    ]
    facts = {
        "policies": asdict(found.policies),
        "runs": list(found.runs),
        "topics": len(found.topics),
        "alpha": found.procedure.alpha,
        "correction": found.correction,
        "power": {
            str(measure): list(sentences.power_in_words(one.power)) for measure, one in found.by_measure()
        },
        "pairs": {str(measure): _pair_facts(one, found) for measure, one in found.by_measure()},
        "notes": [*found.notes, *problems],
    }
    return Table(columns_of(names, rows), facts=facts)


def _pair_facts(one: Design, found: Designs) -> list[dict[str, Any]]:
    """Return every pair with its power and the topics that it needs; None: not known, or infinite."""
    power = one.power
    names = ("run_a", "run_b", "topics", "difference", "deviation", "power", "detectable", "topics_needed")
    numbers = [
        [value if math.isfinite(value) else None for value in getattr(power, name).tolist()]
        for name in names[3:]
    ]
    numbers[-1] = [None if needed is None else int(needed) for needed in numbers[-1]]
    pairs = [found.names(pair) for pair in range(len(power.pairs))]
    return [
        dict(zip(names, (*pair, *row), strict=True))
        for pair, *row in zip(pairs, power.topics.tolist(), *numbers, strict=True)
    ]
