"""Comparisons as tables: pairs of interest, one pair in words, and the matrix of runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare.cases import CASES, MEANING, strength
from sounding.compare.claims import OWN, PairTests
from sounding.compare.comparison import MARGIN_COLUMNS, Comparison
from sounding.compare.documents import OpenDocument, Settling
from sounding.compare.holds import shown_chance
from sounding.compare.p_values import SMALL, p_is, shown_p
from sounding.compare.runs import TOPICS
from sounding.compare.settled import which_completions
from sounding.compare.telling import TellingDocument
from sounding.report.tables import UNKNOWN, Cell, Column, Table, decimal, markdown_text, render
from sounding.scores import mean_over_topics

SHOWN = 20  # pairs that people see without asking for more
DOCUMENTS = 5  # unjudged documents, likewise, of one pair
WIDEST_NAME = 20  # of a run in a table for a terminal
SIGNS_IN_LINE = 60  # of a matrix
EFFECT = "Effect size: Cohen's d_z, mean over standard deviation of the differences by topic."

Named = Sequence[tuple[str, Comparison]]  # collections by name


# -- pairs -----------------------------------------------------------------------------------------


def tidy_pairs(comparison: Comparison, collection: str | None = None, top: int | None = None) -> Table:
    """One row a measure and pair, for programs, in the order that people see: all, or the first ones."""
    rows = comparison.interesting()[:top]
    columns = [Column(name, cells) for name, cells in comparison.columns(rows).items()]
    if collection is not None:
        columns.insert(0, Column("collection", [collection] * len(rows)))
    beside = facts(comparison)
    beside["notes"] += [*floor_notes(comparison, "p_at_floor"), *advice_notes(comparison)]
    return Table(columns, facts=beside | _account_facts(comparison, top))


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


def tidy_pairs_of(collections: Named, top: int | None = None) -> list[Table]:
    """The pairs of every collection for programs; what json says beside them by collection, if several."""
    if len(collections) == 1:
        return [tidy_pairs(collections[0][1], None, top)]
    first, *others = [tidy_pairs(comparison, name, top) for name, comparison in collections]
    beside = {name: facts(comparison) for name, comparison in collections}
    return [replace(first, facts={"collections": beside}), *others]


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
    columns = [Column(side, [short[name] for name in found[side]]) for side in ("run_a", "run_b")]
    if len(comparison.measures) > 1:
        columns.append(Column("measure", found["measure"]))
    keys = len(columns)
    if full or _topics_differ(comparison):
        columns.append(Column("topics", found["topics"]))
    if full:
        columns += [Column("mean_a", found["mean_a"]), Column("mean_b", found["mean_b"])]
    tests = comparison.performance_tests
    intervals = [
        UNKNOWN if np.isnan(gap) else shown_interval(low, high)
        for gap, low, high in zip(found["difference"], found["ci_low"], found["ci_high"], strict=True)
    ]
    columns += [
        Column("difference", found["difference"]),
        Column(_interval_name(tests[0]), intervals, joined=True),
    ]
    if full:
        columns.append(Column("effect size", found["effect_size"], digits=2))
        columns.append(
            Column(
                "p",
                [
                    shown_p(tests[number].p[pair], bool(tests[number].floor_drawn[pair]))
                    for number, pair in rows
                ],
            )
        )
    adjusted = "adjusted p" if full else p_name(tests[0])
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    columns += [
        Column(adjusted, list(map(shown_p, found["p_adjusted"], floors))),
        Column("assessment", found["assessment_difference"]),
        Column("case", list(map(shown_case, found["case"], found["strength"]))),
        Column("settled", [_yes(cell) for cell in found["settled"]]),
    ]
    if comparison.holds is not None:
        columns += [
            Column("holds", list(map(shown_chance, found["holds"])), right=True),
            Column("sign", list(map(shown_chance, found["sign_holds"])), right=True, joined=True),
        ]
    for name, shown_name in zip(MARGIN_COLUMNS, ("equivalence p", "non-inferiority p"), strict=True):
        if name in found:
            columns.append(Column(shown_name, [shown_p(p) for p in found[name]]))
    # What to do is enough in a table; why is told where there is room.
    advice = [_shortened(text.partition(":")[0], short) for text in found["advice"]]
    alone = zip(advice, found["case"], found["case_alone"], strict=True)
    columns.append(
        Column(
            "advice", [text if own == case else f"{text} (alone: case {own})" for text, case, own in alone]
        )
    )
    shown = "" if len(rows) == len(order) else f"{len(rows)} of {len(order):,} rows, the rest with --top N. "
    told = [shown + _summary(comparison)]
    if not brief:
        told += advice_notes(comparison)
    told += notes(comparison, brief=brief)
    marked = any(floor and p >= SMALL for floor, p in zip(floors, found["p_adjusted"], strict=True))
    if brief and marked:
        told[1] += " ≤: with more draws it may be smaller."
    if not brief:
        told += [*floor_notes(comparison, "≤"), *([EFFECT] if full else [])]
    if any(short[name] != name for side in ("run_a", "run_b") for name in found[side]):
        told.append("Long names of runs are shortened here, and whole in every other format.")
    return Table(columns, title=title, notes=told, keys=keys)


def _shortened(text: str, short: Mapping[str, str]) -> str:
    """A text with the names of runs shortened."""
    for name, shown in short.items():
        if name != shown:
            text = text.replace(name, shown)
    return text


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


def floor_notes(comparison: Comparison, sign: str) -> list[str]:
    """How many p are the least that so many draws can give, and how they are marked."""
    tests = comparison.performance_tests
    floors = sum(int(np.count_nonzero(one.floor_drawn)) for one in tests)
    if not floors:
        return []
    rows = sum(len(one.pairs) for one in tests)
    draws = max(one.drawn for one in tests)
    return [f"{floors:,} of {rows:,} p are the least that {draws:,} draws can give: marked with {sign}."]


def _interval_name(tests: PairTests) -> str:
    """What stands over the intervals: that they are of the median, where the difference is of the mean."""
    return "interval" if tests.centre == "mean" else f"interval ({tests.centre})"


def advice_notes(comparison: Comparison) -> list[str]:
    """Where the correction changes cases: that advice is on each pair by itself."""
    other = int(np.count_nonzero(comparison.cases != comparison.own_cases))
    if not other:
        return []
    return [
        "Advice takes each pair alone, before correction; where that changes the case, it says so:"
        f" {other:,} of {comparison.cases.size:,} rows."
    ]


def _topics_differ(comparison: Comparison) -> bool:
    return len({count for tests in comparison.performance_tests for count in tests.topics.tolist()}) > 1


def _summary(comparison: Comparison) -> str:
    """How many pairs are in which case, in a sentence for each measure."""
    parts = []
    for measure, counts, bounds in zip(
        comparison.measures, comparison.counts().tolist(), comparison.bounds, strict=True
    ):
        told = ", ".join(
            f"{count:,} in case {case}" for case, count in zip(CASES, counts, strict=True) if count
        )
        rest = "" if bounds is None else f"; {np.count_nonzero(bounds.settled):,} settled"
        pairs = len(comparison.pairs)
        parts.append(f"{measure}: {pairs:,} pair{'s' * (pairs > 1)}, {told or 'none tested'}{rest}.")
    return " ".join(parts)


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
    basis = _settled_basis(comparison)
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


def _settled_basis(comparison: Comparison) -> dict[str, str | None] | None:
    """What settled rests on: which unjudged documents may be relevant; None where nothing is known."""
    if all(bounds is None for bounds in comparison.bounds):
        return None
    policies = comparison.policies
    return {
        "by": "bounds", "universe": "runs" if policies.universe == "run" else policies.universe,
        "at_most": policies.at_most,
    }  # fmt: skip


def facts(comparison: Comparison) -> dict[str, Any]:
    """What JSON says beside the rows."""
    first = comparison.performance_tests[0]
    return {
        "policies": asdict(comparison.policies),
        "settled": _settled_basis(comparison),
        "test": {"name": first.test, "correction": first.correction, "alpha": first.alpha,
                 "method": first.method, "interval": first.interval},
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
        "notes": list(comparison.notes),
    }  # fmt: skip


# -- one pair --------------------------------------------------------------------------------------


def explain(
    comparison: Comparison,
    pair: int = 0,
    *,
    width: int | None = None,
    more: Sequence[str] = (),
    top: int | None = None,
    brief: bool = False,
) -> str:
    """One pair in words: for each measure the verdict and advice, then what they rest on in short lists.

    `width` breaks lines; `more` are notes below; `top` is for the unjudged documents that matter.
    """
    a, b = comparison.names(pair)
    parts = [f"{a} against {b}\n"]
    for number in range(len(comparison.measures)):
        parts += _account(comparison, number, pair, width, top)
    parts.append("".join(f"{_filled(text, width)}\n" for text in _told_of_pair(comparison, more, brief)))
    return "\n".join(parts)


def explain_in_markdown(
    comparison: Comparison,
    pair: int = 0,
    *,
    more: Sequence[str] = (),
    top: int | None = None,
    brief: bool = False,
) -> str:
    """The same with headings, lists and tables of Markdown."""
    a, b = comparison.names(pair)
    parts = [f"## {markdown_text(f'{a} against {b}')}\n"]
    for number, measure in enumerate(comparison.measures):
        parts.append(f"### {markdown_text(str(measure))}\n")
        said = [f"{_verdict(comparison, number, pair)}.", f"Advice: {_advice(comparison, number, pair)}"]
        parts += [f"{markdown_text(text)}\n" for text in said]
        named = _named_facts(comparison, number, pair)
        parts.append("".join(f"- {name}: {markdown_text(text)}\n" for name, text in named))
        tables = [_topic_table(comparison, number, pair), _document_table(comparison, number, pair, top)]
        parts += [render([table], "md") for table in tables if table.height]
    parts += [f"{markdown_text(text)}\n" for text in _told_of_pair(comparison, more, brief)]
    return "\n".join(parts)


def _told_of_pair(comparison: Comparison, more: Sequence[str], brief: bool) -> list[str]:
    beside = [] if brief else [*floor_notes(comparison, "≤"), EFFECT]
    return [*notes(comparison, brief=brief), *beside, *more]


def _filled(text: str, width: int | None, hanging: str = "") -> str:
    """A text in lines of this width, those after the first set in."""
    if width is None:
        return text
    return textwrap.fill(
        text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )


def _account(
    comparison: Comparison, number: int, pair: int, width: int | None, top: int | None
) -> Iterator[str]:
    """The parts of one measure: verdict and advice, facts by name, topics, documents."""
    measure = comparison.measures[number]
    yield "".join(
        f"{_filled(text, width)}\n"
        for text in (
            f"{measure}: {_verdict(comparison, number, pair)}.",
            f"Advice: {_advice(comparison, number, pair)}",
        )
    )
    named = list(_named_facts(comparison, number, pair))
    indent = max(len(name) for name, _ in named) + 4
    yield "".join(
        f"{_filled(f'  {name:<{indent - 2}}{text}', width, ' ' * indent)}\n" for name, text in named
    )
    tables = [_topic_table(comparison, number, pair), _document_table(comparison, number, pair, top)]
    yield from (render([table], "table", width=width) for table in tables if table.height)


def _advice(comparison: Comparison, number: int, pair: int) -> str:
    """The advice, where the documents that it speaks of are listed below it."""
    told = comparison.advice(number, pair)
    listed = f"; --pair {' '.join(comparison.names(pair))} --documents FILE lists them."
    below = "; the first are listed below, all that are needed with --documents FILE."
    return told.replace(listed, below)


def _verdict(comparison: Comparison, number: int, pair: int) -> str:
    """Which run is better, or that no difference was found, with p; and a word on weak cases."""
    tests, case = comparison.performance_tests[number], int(comparison.cases[number, pair])
    (a, b), (mean_a, mean_b) = comparison.names(pair), comparison.means(number)[:, pair].tolist()
    if tests.reasons[pair]:
        return f"not tested: {tests.reasons[pair]}"
    p = f"{p_name(tests)} {p_is(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))}"
    weak = "; weak, for more of one run was judged" if strength(case) == "weak" else ""
    if tests.powerless:
        return f"nothing could be significant here, {mean_a:.4f} against {mean_b:.4f} ({p})"
    if not tests.significant[pair]:
        return f"no significant difference, {mean_a:.4f} against {mean_b:.4f} ({p}){weak}"
    if tests.difference[pair] < 0:
        a, b, mean_a, mean_b = b, a, mean_b, mean_a
    return f"{a} is significantly better than {b}, {mean_a:.4f} against {mean_b:.4f} ({p}){weak}"


def _named_facts(comparison: Comparison, number: int, pair: int) -> Iterator[tuple[str, str]]:
    """What the verdict rests on: a name, and a text for it."""
    a, b = comparison.names(pair)
    tests, assessed = comparison.performance_tests[number], comparison.assessment_tests[number]
    case = int(comparison.cases[number, pair])
    of_what = "" if tests.centre == "mean" else f" of the {tests.centre}"
    interval = shown_interval(tests.ci_low[pair], tests.ci_high[pair])
    yield (
        "difference",
        f"{_signed(tests.difference[pair])}, {a} less {b}; {100 * (1 - tests.alpha):g}% interval{of_what}"
        f" {interval}; effect size {_effect(tests.effect[pair])}",
    )
    yield (
        "topics",
        f"{tests.topics[pair]}: {a} is better on {tests.wins[pair]}, worse on {tests.losses[pair]},"
        f" equal on {tests.ties[pair]}",
    )
    places = comparison.pairs[pair]
    shares = np.nanmean(comparison.assessment[places, number], axis=1)
    p = f"{p_name(assessed)} {p_is(assessed.p_adjusted[pair], bool(assessed.floor_adjusted[pair]))}"
    lengths = comparison.retrieved[places]
    lacking = [
        f"{name} lacks {count} topic{'s' * (count > 1)}, which count{'s' * (count == 1)} as not judged"
        for name, count in zip((a, b), np.count_nonzero(lengths == 0, axis=1).tolist(), strict=True)
        if count and comparison.policies.missing == "zero"
    ]
    short = [
        f"{name} has short lists, and {100 * comparison.judged_of_returned(int(run), number):.0f}% of what it"
        " returned was judged"
        for name, run in zip((a, b), places, strict=True)
        if 0 < comparison.lengths[run] < comparison.depths[number] / 2
    ]
    yield (
        "judged",
        f"of the first {comparison.depths[number]} documents {100 * shares[0]:.0f}% of {a}'s and"
        f" {100 * shares[1]:.0f}% of {b}'s: {'a' if assessed.significant[pair] else 'no'} significant"
        f" difference ({p}){''.join(f'; {text}' for text in (*short, *lacking))}",
    )
    if case and tests.powerless:
        yield "case", f"{case}: nothing could be significant here"
    elif case:
        better = f"{a if tests.difference[pair] > 0 else b} is " if tests.significant[pair] else ""
        yield "case", f"{case}, {strength(case)}: {better}{MEANING[case]}"
    yield "settled", _settled(comparison, number, pair)
    if comparison.accounts and comparison.settled(number, pair) is False:
        yield "to settle it", _to_settle(comparison.accounts[number].settling, a, b)
    if comparison.holds is not None:
        yield "holds", comparison.holds.tell(number, pair, (a, b), float(tests.difference[pair]))
    if tests.equivalence is not None:
        margin = tests.equivalence
        for name, who, what, found in (
            ("equivalence", "the two are", f"within {margin.margin:g} of each other", margin.p_adjusted),
            (
                "non-inferiority",
                f"{a} is",
                f"less than {margin.margin:g} worse",
                margin.noninferior_p_adjusted,
            ),
        ):
            shown = "" if found[pair] <= tests.alpha else "not shown to be "
            yield name, f"{who} {shown}{what}: {name} p {p_is(found[pair])}"


def _effect(effect: float) -> str:
    """Cohen's d_z with its sign; a dash where the differences do not vary."""
    return f"{effect:+.2f}" if np.isfinite(effect) else UNKNOWN


def _to_settle(found: Settling, run_a: str, run_b: str) -> str:
    """How few judgments would do, as a fact of one pair."""
    text = found.tell(run_a, run_b).removeprefix("Open: ").removesuffix(".")
    return text[0].lower() + text[1:]


def _topic_table(comparison: Comparison, number: int, pair: int) -> Table:
    """The topics that made the difference, the largest first, with the relevant document behind each."""
    a, b = short_names(comparison.names(pair), WIDEST_NAME).values()
    values = comparison.values[comparison.pairs[pair], number]
    gaps = np.nan_to_num(values[0] - values[1])
    order = [place for place in np.argsort(-np.abs(gaps), kind="stable")[:TOPICS].tolist() if gaps[place]]
    telling = comparison.accounts[number].telling if comparison.accounts else {}
    first = [next(iter(telling.get(comparison.topics[place], ())), None) for place in order]
    columns = [
        Column("topic", [comparison.topics[place] for place in order]),
        Column("difference", [_signed(gaps[place]) for place in order], right=True),
        Column(a, values[0, order].tolist()),
        Column(b, values[1, order].tolist()),
    ]
    if any(first):
        columns += [
            Column("relevant document", [None if one is None else one.doc for one in first]),
            *_rank_columns(comparison, pair, first),
        ]
    return Table(columns, title=f"{comparison.measures[number]}: topics that differ most")


def _document_table(comparison: Comparison, number: int, pair: int, limit: int | None) -> Table:
    """For an open pair, the unjudged documents that matter most, and what each would change."""
    if not comparison.accounts or comparison.settled(number, pair) is not False:
        return Table([])
    found = comparison.accounts[number].settling.documents[: DOCUMENTS if limit is None else limit]
    columns = [
        Column("topic", [one.topic for one in found]),
        Column("document", [one.doc for one in found]),
        *_rank_columns(comparison, pair, found),
        Column("change if relevant", [_signed(one.weight) for one in found], right=True),
    ]
    title = f"{comparison.measures[number]}: unjudged documents that matter most for the difference"
    return Table(columns, title=title)


def _rank_columns(
    comparison: Comparison, pair: int, found: Sequence[OpenDocument | TellingDocument | None]
) -> list[Column]:
    """The ranks of documents in the two runs; a dash: not there."""
    a, b = short_names(comparison.names(pair), WIDEST_NAME).values()
    return [
        Column(f"rank in {a}", [None if one is None else one.rank_a for one in found]),
        Column(f"rank in {b}", [None if one is None else one.rank_b for one in found]),
    ]


def _settled(comparison: Comparison, number: int, pair: int) -> str:
    """Whether the order holds, with the limits of the difference and how they were found."""
    bounds = comparison.bounds[number]
    if bounds is None or np.isnan(bounds.lower[pair]):
        return "not known whether unjudged documents could turn the order round"
    low, high = _signed(bounds.lower[pair]), _signed(bounds.upper[pair])
    limits = f"is {low}" if low == high else f"lies between {low} and {high}"
    settled = comparison.settled(number, pair)
    when = which_completions(comparison.policies) or "whatever the unjudged documents are"
    return (
        f"{'not known' if settled is None else 'yes' if settled else 'no'}: the difference {limits} {when}"
        f" ({HOW_BOUNDED[bounds.kind]})"
    )


HOW_BOUNDED = {
    "difference": "exact, document by document",
    "rule": "a bound for AP from pairs of documents",
    "separate": "from the bounds of each run",
}


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    """Rows turned into named columns."""
    return [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)]


def with_notes(table: Table, more: Sequence[str]) -> Table:
    """The table with further notes, each once."""
    return replace(table, notes=list(dict.fromkeys([*table.notes, *more])))


# -- the matrix of runs ----------------------------------------------------------------------------

SIGNS: Mapping[tuple[bool, int], str] = {  # (strong, sign of the difference, 0: not significant)
    (True, 1): ">", (True, -1): "<", (True, 0): "=",
    (False, 1): "›", (False, -1): "‹", (False, 0): "~",
}  # fmt: skip
UNTESTED_SIGN, SELF_SIGN = "?", "·"
LEGEND = (
    "A row against each column, runs in the same order: > better, < worse, = no significant difference;"
    " › ‹ ~ the same where the case is weak; ? not tested."
)


def matrix_tables(
    comparison: Comparison, *, brief: bool = False, widest: int | None = None, line: int | None = None
) -> list[Table]:
    """For each measure all runs against all, one sign a pair, in the order of the measure: for people.

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
        title = f"{measure}: {len(rows)} runs against each other"
        tables.append(Table(columns, title=title, keys=2))
    told = [LEGEND, _summary(comparison), *notes(comparison, intervals=False, brief=brief)]
    tables[-1] = with_notes(tables[-1], told)
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
    """One row a measure and run, with its signs against all runs in the order of the rows: for programs."""
    rows = [
        (str(measure), *row)
        for number, measure in enumerate(comparison.measures)
        for row in _matrix_rows(comparison, number)
    ]
    names = ["measure", "rank", "run", "value", "against"]
    return Table(columns_of(names, rows), facts=facts(comparison) | {"legend": LEGEND})


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


# -- cells -----------------------------------------------------------------------------------------


def p_name(tests: PairTests) -> str:
    """What the adjusted p is called: plain p where there was nothing to adjust for."""
    single = len(tests.pairs) == 1 and tests.correction != OWN
    return "p" if tests.correction == "none" or single else "adjusted p"


def shown_interval(low: float, high: float) -> str:
    """An interval in words; one without a limit says so, and one that is not known is a dash."""
    if np.isnan(low) or np.isnan(high):
        return UNKNOWN
    if np.isinf(low) and np.isinf(high):
        return "unlimited"
    if np.isinf(low):
        return f"up to {decimal(high)}"
    return f"from {decimal(low)}" if np.isinf(high) else f"{decimal(low)} to {decimal(high)}"


def _signed(value: float) -> str:
    """A difference with its sign; 0 to four decimals has none."""
    text = decimal(value)
    return f"+{text}" if float(text) > 0 else text


def shown_case(case: int | None, strength: str | None) -> str | None:
    """A case with its strength."""
    return None if not case else f"{case} {strength or '(nothing could be significant)'}"


def _yes(cell: bool | None) -> str | None:
    return None if cell is None else ("yes" if cell else "no")
