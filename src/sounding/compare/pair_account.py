"""One pair in words: the verdict by each measure, the advice, and the topics and documents they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sounding.compare.advice import which_completions
from sounding.compare.comparison import TOPICS
from sounding.compare.documents import OpenDocument, TellingDocument
from sounding.compare.result import Comparison
from sounding.compare.sentences import EFFECT, floor_legend, notes
from sounding.compare.tables import WIDEST_NAME, p_name, short_names, shown_interval, signed, yes_or_no
from sounding.core.text import SMALL, filled, natural_places, p_is, plural, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, markdown_text, render
from sounding.statistics.cases import MEANING, strength
from sounding.statistics.pairwise import PairTests
from sounding.statistics.testing import Equivalence

DOCUMENTS = 5  # unjudged documents that people see without asking for more
HOW_BOUNDED = {
    "difference": "exact, document by document",
    "rule": "a bound for AP from pairs of documents",
    "separate": "from the bounds of each run",
}


def explain(
    comparison: Comparison,
    *,
    width: int | None = None,
    more: Sequence[str] = (),
    top: int | None = None,
    brief: bool = False,
) -> str:
    """The first pair in words: by each measure the verdict and advice, then what they rest on in short lists.

    `width` breaks lines; `more` are notes below; `top` is for the unjudged documents that matter.
    """
    parts = [f"{' against '.join(comparison.names(0))}\n"]
    for pair in _by_measure(comparison):
        opening = (f"{pair.measure}: {pair.verdict()}.", f"Advice: {pair.advice()}")
        parts.append("".join(f"{_filled(text, width)}\n" for text in opening))
        facts = list(pair.facts())
        indent = max(len(name) for name, _ in facts) + 4
        lines = [_filled(f"  {name:<{indent - 2}}{text}", width, " " * indent) for name, text in facts]
        parts.append("".join(f"{line}\n" for line in lines))
        parts += [render([table], "table", width=width) for table in pair.tables(top)]
    parts.append("".join(f"{_filled(text, width)}\n" for text in _notes_below(comparison, more, brief)))
    return "\n".join(parts)


def explain_in_markdown(
    comparison: Comparison, *, more: Sequence[str] = (), top: int | None = None, brief: bool = False
) -> str:
    """The same with headings, lists and tables of Markdown."""
    parts = [f"## {markdown_text(' against '.join(comparison.names(0)))}\n"]
    for pair in _by_measure(comparison):
        parts.append(f"### {markdown_text(str(pair.measure))}\n")
        parts += [f"{markdown_text(text)}\n" for text in (f"{pair.verdict()}.", f"Advice: {pair.advice()}")]
        parts.append("".join(f"- {name}: {markdown_text(text)}\n" for name, text in pair.facts()))
        parts += [render([table], "md") for table in pair.tables(top)]
    parts += [f"{markdown_text(text)}\n" for text in _notes_below(comparison, more, brief)]
    return "\n".join(parts)


def _notes_below(comparison: Comparison, more: Sequence[str], brief: bool) -> list[str]:
    tests = [*comparison.performance_tests, *comparison.assessment_tests]
    marked = any(np.any(one.floor_adjusted & (one.p_adjusted >= SMALL)) for one in tests)
    legends = [*floor_legend(comparison, marked), *([] if brief else [EFFECT])]
    return [*notes(comparison, brief=brief), *legends, *more]


def _filled(text: str, width: int | None, hanging: str = "") -> str:
    """A text in lines of this width, those after the first set in."""
    return text if width is None else filled(text, width, others=hanging)


def _by_measure(comparison: Comparison) -> Iterator[PairByMeasure]:
    return (PairByMeasure(comparison, number) for number in range(len(comparison.measures)))


class PairByMeasure:
    """The first pair of a comparison by one of its measures, in words and short tables."""

    def __init__(self, comparison: Comparison, number: int) -> None:
        self.comparison, self.number = comparison, number
        self.measure, self.depth = comparison.measures[number], comparison.depths[number]
        self.tests, self.assessment = (
            comparison.performance_tests[number],
            comparison.assessment_tests[number],
        )
        self.a, self.b = comparison.names(0)
        self.runs = comparison.pairs[0]
        self.case, self.settled = int(comparison.cases[number, 0]), comparison.settled(number, 0)
        self.account = comparison.accounts[number] if comparison.accounts else None

    def advice(self) -> str:
        """The advice, where the documents that it speaks of are listed below it."""
        listed = f"; --pair {self.a} {self.b} --documents FILE lists them."
        below = "; the first are listed below, all that are needed with --documents FILE."
        return self.comparison.advice(self.number, 0).replace(listed, below)

    def verdict(self) -> str:
        """Which run is better, or that no difference was found, with p; and what limits that."""
        tests, (a, b) = self.tests, (self.a, self.b)
        mean_a, mean_b = self.comparison.means(self.number)[:, 0].tolist()
        if tests.reasons[0]:
            return f"not tested: {tests.reasons[0]}"
        p = _adjusted_p(tests)
        if tests.limit:
            return f"no conclusion, {mean_a:.4f} against {mean_b:.4f} ({p}): {tests.limit}"
        if not tests.significant[0]:
            return f"no significant difference, {mean_a:.4f} against {mean_b:.4f} ({p}){self._limits()}"
        if tests.difference[0] < 0:
            a, b, mean_a, mean_b = b, a, mean_b, mean_a
        return (
            f"{a} is significantly better than {b}, {mean_a:.4f} against {mean_b:.4f} ({p}){self._limits()}"
        )

    def _limits(self) -> str:
        """What a verdict should not be read without: that it is weak, that lists are short."""
        short = [self.comparison.runs[run] for run in self.comparison.short_runs(self.number, 0)]
        named = f"{' and '.join(short)} {'has' if len(short) == 1 else 'have'} short lists"
        if strength(self.case) != "weak":
            return f"; {named}" if short else ""
        weak = "; weak: one run was judged more completely than the other"
        return f"{weak}, and {named}" if short else weak

    def facts(self) -> Iterator[tuple[str, str]]:
        """What the verdict rests on: a name, and a text for it."""
        tests, a = self.tests, self.a
        of_what = "" if tests.center == "mean" else f" of the {tests.center}"
        interval = shown_interval(tests.ci_low[0], tests.ci_high[0])
        # There is no effect size where the differences do not vary.
        effect = f"{tests.effect[0]:+.2f}" if np.isfinite(tests.effect[0]) else UNKNOWN
        yield (
            "difference",
            f"{signed(tests.difference[0])}, {a} less {self.b}; {100 * (1 - tests.alpha):g}%"
            f" interval{of_what} {interval}; effect size {effect}",
        )
        yield (
            "topics",
            f"{tests.topics[0]}: {a} is better on {tests.wins[0]}, worse on {tests.losses[0]},"
            f" equal on {tests.ties[0]}",
        )
        yield "judged", self._judged()
        if self.case:
            better = f"{a if tests.difference[0] > 0 else self.b} is " if tests.significant[0] else ""
            yield "case", f"{self.case}, {strength(self.case)}: {better}{MEANING[self.case]}"
        yield "settled", self._settled()
        if self.account is not None and self.settled is False:
            text = self.account.settling.tell(a, self.b).removeprefix("Open: ").removesuffix(".")
            yield "to settle it", text[0].lower() + text[1:]
        if self.comparison.holds is not None:
            difference = float(tests.difference[0])
            yield "holds", self.comparison.holds.tell(self.number, 0, (a, self.b), difference)
        if tests.equivalence is not None:
            yield from self._equivalence(tests.equivalence)

    def _equivalence(self, equivalence: Equivalence) -> Iterator[tuple[str, str]]:
        """Whether the two are as good, and whether the first is no worse, within the margin."""
        p, margin = equivalence.p_adjusted[0], f"{equivalence.margin:g}"
        shown = "" if p <= self.tests.alpha else "not shown to be "
        yield "equivalence", f"the two are {shown}within {margin} of each other: equivalence p {p_is(p)}"
        p = equivalence.noninferior_p_adjusted[0]
        shown = "" if p <= self.tests.alpha else "not shown to be "
        yield "non-inferiority", f"{self.a} is {shown}less than {margin} worse: non-inferiority p {p_is(p)}"

    def _judged(self) -> str:
        """How much of both runs was judged, whether that differs, and why it may be little."""
        comparison, number = self.comparison, self.number
        shares = np.nanmean(comparison.assessment[self.runs, number], axis=1)
        short = [
            f"; {comparison.runs[run]} has short lists, and"
            f" {whole_percent(comparison.judged_of_returned(run, number))} of what it returned was judged"
            for run in comparison.short_runs(number, 0)
        ]
        absent = np.count_nonzero(comparison.retrieved[self.runs] == 0, axis=1).tolist()
        lacking = [
            f"; {name} lacks {plural(count, 'topic')}, which count{'s' * (count == 1)} as not judged"
            for name, count in zip((self.a, self.b), absent, strict=True)
            if count and comparison.policies.missing == "zero"
        ]
        return (
            f"of the first {self.depth} documents {whole_percent(shares[0])} of {self.a}'s and"
            f" {whole_percent(shares[1])} of {self.b}'s: {_differ(self.assessment)}"
            f" ({_adjusted_p(self.assessment)}){''.join([*short, *lacking])}"
        )

    def _settled(self) -> str:
        """Whether the order holds, with the limits of the difference and how they were found."""
        bounds = self.comparison.bounds[self.number]
        if bounds is None or np.isnan(bounds.lower[0]):
            return "not known whether unjudged documents could turn the order round"
        low, high = signed(bounds.lower[0]), signed(bounds.upper[0])
        limits = f"is {low}" if low == high else f"lies between {low} and {high}"
        when = which_completions(self.comparison.policies) or "whatever the unjudged documents are"
        answer = yes_or_no(self.settled) or "not known"
        return f"{answer}: the difference {limits} {when} ({HOW_BOUNDED[bounds.kind]})"

    def tables(self, top: int | None) -> list[Table]:
        """The topics that differ most and, for an open pair, the documents that matter most."""
        return [table for table in (self.topic_table(), self._document_table(top)) if table.height]

    def topic_table(self) -> Table:
        """The topics that made the difference, the largest first, with the relevant document behind each."""
        topics = self.comparison.topics
        values = self.comparison.values[self.runs, self.number]
        gaps = np.nan_to_num(values[0] - values[1])
        largest = sorted(natural_places(topics), key=lambda place: -abs(gaps[place]))
        order = [place for place in largest[:TOPICS] if gaps[place]]
        telling = {} if self.account is None else self.account.telling
        first = [next(iter(telling.get(topics[place], ())), None) for place in order]
        a, b = short_names((self.a, self.b), WIDEST_NAME).values()
        columns = [
            Column("topic", [topics[place] for place in order]),
            Column("difference", [signed(gaps[place]) for place in order], right=True),
            Column(a, values[0, order].tolist()),
            Column(b, values[1, order].tolist()),
        ]
        if any(first):
            columns.append(Column("relevant document", [None if one is None else one.doc for one in first]))
            columns += self._rank_columns(first)
        return Table(columns, title=f"{self.measure}: topics that differ most")

    def _document_table(self, top: int | None) -> Table:
        """For an open pair, the unjudged documents that matter most, and what each would change."""
        if self.account is None or self.settled is not False:
            return Table([])
        documents = self.account.settling.documents[: DOCUMENTS if top is None else top]
        columns = [
            Column("topic", [one.topic for one in documents]),
            Column("document", [one.doc for one in documents]),
            *self._rank_columns(documents),
            Column("change if relevant", [signed(one.weight) for one in documents], right=True),
        ]
        title = f"{self.measure}: unjudged documents that matter most for the difference"
        return Table(columns, title=title)

    def _rank_columns(self, documents: Sequence[OpenDocument | TellingDocument | None]) -> list[Column]:
        """The ranks of documents in the two runs; a dash: not there."""
        a, b = short_names((self.a, self.b), WIDEST_NAME).values()
        return [
            Column(f"rank in {a}", [None if one is None else one.rank_a for one in documents]),
            Column(f"rank in {b}", [None if one is None else one.rank_b for one in documents]),
        ]


def _adjusted_p(tests: PairTests) -> str:
    return f"{p_name(tests)} {p_is(tests.p_adjusted[0], bool(tests.floor_adjusted[0]))}"


def _differ(tests: PairTests) -> str:
    """Whether the two were judged differently, as far as the test can tell."""
    if tests.significant[0]:
        return "a significant difference"
    if tests.constant[0]:
        return "the same difference on every topic"
    if tests.equal[0]:
        return "the same on every topic"
    return (
        "no significant difference" if tests.could_differ()[0] else "no test could tell whether they differ"
    )
