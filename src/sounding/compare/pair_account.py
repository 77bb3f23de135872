"""One pair in words: the verdict by each measure, the advice, and the topics and documents they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sounding.compare.advice import which_completions
from sounding.compare.comparison import TOPICS
from sounding.compare.documents import OpenDocument, Settling, TellingDocument
from sounding.compare.notes import EFFECT, floor_legend, notes
from sounding.compare.result import Comparison
from sounding.compare.tables import WIDEST_NAME, p_name, short_names, shown_interval, signed
from sounding.core.text import SMALL, filled, natural_places, p_is, plural, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, markdown_text, render
from sounding.statistics.cases import MEANING, strength
from sounding.statistics.pairwise import PairTests

DOCUMENTS = 5  # unjudged documents that people see without asking for more
HOW_BOUNDED = {
    "difference": "exact, document by document",
    "rule": "a bound for AP from pairs of documents",
    "separate": "from the bounds of each run",
}


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
    tests = [*comparison.performance_tests, *comparison.assessment_tests]
    marked = any(np.any(one.floor_adjusted & (one.p_adjusted >= SMALL)) for one in tests)
    beside = [*floor_legend(comparison, marked), *([] if brief else [EFFECT])]
    return [*notes(comparison, brief=brief), *beside, *more]


def _filled(text: str, width: int | None, hanging: str = "") -> str:
    """A text in lines of this width, those after the first set in."""
    if width is None:
        return text
    return filled(text, width, others=hanging)


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
    """Which run is better, or that no difference was found, with p; and what limits that."""
    tests = comparison.performance_tests[number]
    (a, b), (mean_a, mean_b) = comparison.names(pair), comparison.means(number)[:, pair].tolist()
    if tests.reasons[pair]:
        return f"not tested: {tests.reasons[pair]}"
    p = f"{p_name(tests)} {p_is(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))}"
    limits = _limits(comparison, number, pair)
    if tests.limit:
        return f"no conclusion, {mean_a:.4f} against {mean_b:.4f} ({p}): {tests.limit}"
    if not tests.significant[pair]:
        return f"no significant difference, {mean_a:.4f} against {mean_b:.4f} ({p}){limits}"
    if tests.difference[pair] < 0:
        a, b, mean_a, mean_b = b, a, mean_b, mean_a
    return f"{a} is significantly better than {b}, {mean_a:.4f} against {mean_b:.4f} ({p}){limits}"


def _limits(comparison: Comparison, number: int, pair: int) -> str:
    """What a verdict should not be read without: that it is weak, that lists are short."""
    short = [comparison.runs[run] for run in comparison.short_runs(number, pair)]
    named = f"{' and '.join(short)} {'has' if len(short) == 1 else 'have'} short lists"
    if strength(int(comparison.cases[number, pair])) != "weak":
        return f"; {named}" if short else ""
    return "; weak: one run was judged more completely than the other" + (f", and {named}" if short else "")


def _named_facts(comparison: Comparison, number: int, pair: int) -> Iterator[tuple[str, str]]:
    """What the verdict rests on: a name, and a text for it."""
    a, b = comparison.names(pair)
    tests = comparison.performance_tests[number]
    of_what = "" if tests.center == "mean" else f" of the {tests.center}"
    interval = shown_interval(tests.ci_low[pair], tests.ci_high[pair])
    yield (
        "difference",
        f"{signed(tests.difference[pair])}, {a} less {b}; {100 * (1 - tests.alpha):g}% interval{of_what}"
        f" {interval}; effect size {_effect(tests.effect[pair])}",
    )
    yield (
        "topics",
        f"{tests.topics[pair]}: {a} is better on {tests.wins[pair]}, worse on {tests.losses[pair]},"
        f" equal on {tests.ties[pair]}",
    )
    yield "judged", _judged(comparison, number, pair)
    if comparison.cases[number, pair]:
        yield "case", _case(comparison, number, pair)
    yield "settled", _settled(comparison, number, pair)
    if comparison.accounts and comparison.settled(number, pair) is False:
        yield "to settle it", _to_settle(comparison.accounts[number].settling, a, b)
    if comparison.holds is not None:
        yield "holds", comparison.holds.tell(number, pair, (a, b), float(tests.difference[pair]))
    if tests.equivalence is not None:
        margin, p = tests.equivalence.margin, tests.equivalence.p_adjusted[pair]
        shown = "" if p <= tests.alpha else "not shown to be "
        yield "equivalence", f"the two are {shown}within {margin:g} of each other: equivalence p {p_is(p)}"
        p = tests.equivalence.noninferior_p_adjusted[pair]
        shown = "" if p <= tests.alpha else "not shown to be "
        yield "non-inferiority", f"{a} is {shown}less than {margin:g} worse: non-inferiority p {p_is(p)}"


def _judged(comparison: Comparison, number: int, pair: int) -> str:
    """How much of both runs was judged, whether that differs, and why it may be little."""
    tests, (a, b), places = (
        comparison.assessment_tests[number],
        comparison.names(pair),
        comparison.pairs[pair],
    )
    shares = np.nanmean(comparison.assessment[places, number], axis=1)
    p = f"{p_name(tests)} {p_is(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))}"
    short = [
        f"; {comparison.runs[run]} has short lists, and"
        f" {whole_percent(comparison.judged_of_returned(run, number))} of what it returned was judged"
        for run in comparison.short_runs(number, pair)
    ]
    absent = np.count_nonzero(comparison.retrieved[places] == 0, axis=1).tolist()
    lacking = [
        f"; {name} lacks {plural(count, 'topic')}, which count{'s' * (count == 1)} as not judged"
        for name, count in zip((a, b), absent, strict=True)
        if count and comparison.policies.missing == "zero"
    ]
    return (
        f"of the first {comparison.depths[number]} documents {whole_percent(shares[0])} of {a}'s and"
        f" {whole_percent(shares[1])} of {b}'s: {_differ(tests, pair)} ({p}){''.join([*short, *lacking])}"
    )


def _differ(tests: PairTests, pair: int) -> str:
    """Whether the two were judged differently, as far as the test can tell."""
    if tests.significant[pair]:
        return "a significant difference"
    if tests.constant[pair]:
        return "the same difference on every topic"
    if tests.equal[pair]:
        return "the same on every topic"
    if not tests.could_differ()[pair]:
        return "no test could tell whether they differ"
    return "no significant difference"


def _case(comparison: Comparison, number: int, pair: int) -> str:
    """The case of the decision matrix, its strength, and what it means."""
    tests, case = comparison.performance_tests[number], int(comparison.cases[number, pair])
    better = comparison.names(pair)[0 if tests.difference[pair] > 0 else 1]
    return f"{case}, {strength(case)}: {f'{better} is ' if tests.significant[pair] else ''}{MEANING[case]}"


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
    largest = sorted(natural_places(comparison.topics), key=lambda place: -abs(gaps[place]))
    order = [place for place in largest[:TOPICS] if gaps[place]]
    telling = comparison.accounts[number].telling if comparison.accounts else {}
    first = [next(iter(telling.get(comparison.topics[place], ())), None) for place in order]
    columns = [
        Column("topic", [comparison.topics[place] for place in order]),
        Column("difference", [signed(gaps[place]) for place in order], right=True),
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
        Column("change if relevant", [signed(one.weight) for one in found], right=True),
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
    low, high = signed(bounds.lower[pair]), signed(bounds.upper[pair])
    limits = f"is {low}" if low == high else f"lies between {low} and {high}"
    settled = comparison.settled(number, pair)
    when = which_completions(comparison.policies) or "whatever the unjudged documents are"
    return (
        f"{'not known' if settled is None else 'yes' if settled else 'no'}: the difference {limits} {when}"
        f" ({HOW_BOUNDED[bounds.kind]})"
    )
