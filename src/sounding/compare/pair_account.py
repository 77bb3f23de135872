"""One pair in words: the verdict by each measure, the advice, and the topics and documents they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sounding.compare import sentences
from sounding.compare.comparison import TOPICS
from sounding.compare.documents import OpenDocument, TellingDocument
from sounding.compare.result import Comparison
from sounding.compare.tables import WIDEST_NAME, p_name, short_names, shown_interval, signed, yes_or_no
from sounding.core.text import SMALL, fill_paragraph, natural_places, p_phrase, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, markdown_text, render
from sounding.statistics.pairwise import PairTests
from sounding.statistics.testing import Equivalence

DOCUMENTS = 5  # unjudged documents that people see without asking for more


def explain(comparison: Comparison, *, width: int | None = None, top: int | None = None) -> str:
    """Return the first pair in words: by each measure the advice, the facts and short lists behind them.

    `width` breaks lines; `top` is for the unjudged documents that matter.
    """
    parts = []
    for pair in _by_measure(comparison):
        parts.append(f"{_filled(f'{pair.measure}. Advice: {pair.advice()}', width)}\n")
        facts = list(pair.facts())
        indent = max(len(name) for name, _ in facts) + 4
        lines = [_filled(f"  {name:<{indent - 2}}{text}", width, " " * indent) for name, text in facts]
        parts.append("".join(f"{line}\n" for line in lines))
        parts += [render([table], "table", width=width) for table in pair.tables(top)]
    legend = [_filled(text, width) for text in _legends(comparison)]
    return "\n".join([*parts, *legend])


def explain_in_markdown(comparison: Comparison, *, top: int | None = None) -> str:
    """Return the same with headings, lists and tables of Markdown."""
    parts = []
    for pair in _by_measure(comparison):
        parts.append(f"### {markdown_text(str(pair.measure))}\n")
        parts.append(f"{markdown_text(f'Advice: {pair.advice()}')}\n")
        parts.append("".join(f"- {name}: {markdown_text(text)}\n" for name, text in pair.facts()))
        parts += [render([table], "md") for table in pair.tables(top)]
    parts += [f"{markdown_text(text)}\n" for text in _legends(comparison)]
    return "\n".join(parts)


def _legends(comparison: Comparison) -> list[str]:
    tests = [*comparison.performance_tests, *comparison.assessment_tests]
    marked = any(np.any(one.floor_adjusted & (one.p_adjusted >= SMALL)) for one in tests)
    return sentences.floor_legend(comparison, marked)


def _filled(text: str, width: int | None, hanging: str = "") -> str:
    """A text in lines of this width, those after the first set in."""
    return text if width is None else fill_paragraph(text, width, others=hanging)


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
        listed = sentences.documents_listed(self.a, self.b)
        return self.comparison.advice(self.number, 0).replace(listed, sentences.LISTED_BELOW)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what the verdict rests on: a name, and a text for it."""
        tests, a = self.tests, self.a
        if tests.reasons[0]:
            yield "not tested", tests.reasons[0]
        mean_a, mean_b = self.comparison.means(self.number)[:, 0].tolist()
        yield "means", sentences.two_means((a, mean_a), (self.b, mean_b))
        interval = shown_interval(*tests.between([0])[:, 0].tolist())
        # There is no effect size where the differences do not vary.
        effect = f"{tests.effect[0]:+.2f}" if np.isfinite(tests.effect[0]) else UNKNOWN
        shown = (signed(tests.difference[0]), interval, effect, _adjusted_p(tests))
        yield "difference", sentences.pair_difference(a, self.b, tests, shown)
        yield "topics", sentences.wins(a, tests)
        yield "judged", self._judged()
        if self.comparison.only_relevant:
            yield "case", sentences.NO_CASE
        elif self.case:
            better = a if tests.difference[0] > 0 else self.b
            yield "case", sentences.case_of(self.case, better if tests.significant[0] else None)
        yield "settled", self._settled()
        if self.account is not None and self.settled is False:
            text = self.account.settling.sentence(a, self.b).removeprefix("Open: ").removesuffix(".")
            yield "to settle it", text[0].lower() + text[1:]
        if self.comparison.holds is not None:
            difference = float(tests.difference[0])
            yield "holds", self.comparison.holds.tell(self.number, 0, (a, self.b), difference)
            if self.comparison.holds.shallow is not None and self.comparison.holds.differs_when_shallow:
                shallow = self.comparison.holds.shallow
                yield "holds@10", shallow.tell(self.number, 0, (a, self.b), difference)
        if tests.equivalence is not None:
            yield from self._equivalence(tests.equivalence)

    def _equivalence(self, equivalence: Equivalence) -> Iterator[tuple[str, str]]:
        """Yield whether the two are as good, and whether the first is no worse, within the margin."""
        margin, alpha = equivalence.margin, self.tests.alpha
        yield "equivalence", sentences.equivalent(margin, equivalence.p_adjusted[0], alpha)
        p = equivalence.noninferior_p_adjusted[0]
        yield "non-inferiority", sentences.noninferior(self.a, margin, p, alpha)

    def _ends_early(self, run: int, share: float) -> bool:
        """Return whether a measure of whole lists looks deeper than a run's, so that its share is lower."""
        returned = self.comparison.judged_of_returned(run, self.number)
        ends = (
            self.comparison.measures[self.number].k is None and 0 < self.comparison.lengths[run] < self.depth
        )
        return bool(ends) and whole_percent(returned) != whole_percent(share)

    def _judged(self) -> str:
        """Return how much of both runs was judged, whether that differs, and why it may be little."""
        comparison, number = self.comparison, self.number
        shares = np.nanmean(comparison.assessment[self.runs, number], axis=1)
        short = [
            sentences.short_list(comparison.runs[run], comparison.judged_of_returned(run, number))
            for run, share in zip(self.runs, shares, strict=True)
            if run in comparison.short_runs(number, 0) or self._ends_early(run, share)
        ]
        absent = np.count_nonzero(comparison.retrieved[self.runs] == 0, axis=1).tolist()
        lacking = [
            sentences.lacks_topics(name, count)
            for name, count in zip((self.a, self.b), absent, strict=True)
            if count and comparison.policies.missing == "zero"
        ]
        if self.comparison.only_relevant:
            listed = sentences.listed(self.depth, (self.a, shares[0]), (self.b, shares[1]))
            return "".join([listed, *lacking])
        compared = f"{sentences.differ(self.assessment)} ({_adjusted_p(self.assessment)})"
        text = sentences.judged(self.depth, (self.a, shares[0]), (self.b, shares[1]), compared)
        return "".join([text, *short, *lacking])

    def _settled(self) -> str:
        """Return whether the order holds, with the limits of the difference and how they were found."""
        bounds = self.comparison.bounds[self.number]
        if bounds is None or not bounds.known[0]:
            return sentences.SETTLED_NOT_KNOWN
        low, high = (signed(limit) for limit in bounds.between([0])[:, 0].tolist())
        answer, policies = yes_or_no(self.settled), self.comparison.policies
        return sentences.pair_settled(answer, low, high, policies, bounds.kind)

    def tables(self, top: int | None) -> list[Table]:
        """The topics that differ most and, for an open pair, the documents that matter most."""
        return [table for table in (self.topic_table(), self._document_table(top)) if table.height]

    def topic_table(self) -> Table:
        """The topics that made the difference, the largest first, with the relevant document behind each."""
        topics = self.comparison.topics
        values = self.comparison.values[self.runs, self.number]
        gaps = np.nan_to_num(self.comparison.gaps(self.number)[0])
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
        """Return the most important unjudged documents of an open pair, and the effect of each."""
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
    return f"{p_name(tests)} {p_phrase(tests.p_adjusted[0], bool(tests.floor_adjusted[0]))}"
