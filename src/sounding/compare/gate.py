"""A gate for builds: conditions that make a comparison fail, and the exit status that says which.

docs/preregistration.md says how to use it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.compare import sentences
from sounding.compare.result import Comparison
from sounding.core.errors import DataError, UnknownNameError
from sounding.measures import Measure, parse_measures
from sounding.statistics.power import topics_needed

Name = Literal["worse", "weak", "unsettled"]

EXIT_CODES: dict[Name, int] = {"worse": 3, "weak": 4, "unsettled": 5}  # the most serious first
THRESHOLD_EXIT_CODE = 6
PASSED = 0
DROP = "drop"  # a threshold on the mean difference from the baseline, by every measure
_THRESHOLD = re.compile(r"(?P<what>[^<>=]+(?:=[^<>]+)?)\s*(?P<sign>[<>])\s*(?P<limit>[0-9.eE+-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A plain limit: `drop>0.02`, or the mean of a run by a measure, as in `nDCG@10<0.60`."""

    text: str  # as it was typed
    what: str  # drop, or the name of a measure
    limit: float

    def __str__(self) -> str:
        return self.text

    def reason(self, row: GateRow) -> str | None:
        """Say why a comparison fails; None: it passes, or the threshold is about another measure."""
        if self.what == DROP:
            if math.isnan(row.difference):
                return sentences.MEAN_NOT_KNOWN
            return sentences.dropped(row.difference, self.limit) if -row.difference > self.limit else None
        if row.measure != self.what:
            return None
        if row.mean is None or math.isnan(row.mean):
            return sentences.MEAN_NOT_KNOWN
        return sentences.below(row.measure, row.mean, self.limit) if row.mean < self.limit else None


Condition = Name | Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One comparison of a candidate with a baseline, as far as a gate looks at it."""

    candidate: str
    baseline: str
    measure: str
    difference: float  # candidate - baseline
    p_adjusted: float
    noninferior_p_adjusted: float | None = None  # of the claim: not worse by the margin; where there is one
    case: int | None = None  # 1 to 4 of the decision matrix
    strength: str | None = None  # strong or weak; None: not known
    settled: bool | None = None  # no judgment of unjudged documents reverses the order
    mean: float | None = None  # of the candidate; a threshold on a measure needs it
    untested: str = ""  # why there was nothing to test, where there was not
    enough_topics: int | None = None  # topics that would show that equal runs differ by less than the margin

    @property
    def name(self) -> str:
        """Return what is compared, as sentences begin."""
        return f"{self.candidate} against {self.baseline}, {self.measure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A comparison that a condition does not let pass, and why."""

    condition: Condition
    row: GateRow
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Verdict of a gate on all comparisons together."""

    conditions: tuple[Condition, ...]  # looked at, the most serious first
    compared: int
    failures: tuple[Failure, ...]  # the most serious first, then in the order of the rows

    @property
    def passed(self) -> bool:
        """Return whether nothing fails."""
        return not self.failures

    @property
    def exit_code(self) -> int:
        """0 where nothing fails, else the code of the most serious condition that does."""
        if self.passed:
            return PASSED
        condition = self.failures[0].condition
        return THRESHOLD_EXIT_CODE if isinstance(condition, Threshold) else EXIT_CODES[condition]

    def __str__(self) -> str:
        if self.passed:
            return sentences.passed(self.compared, list(map(str, self.conditions)))
        return "\n".join(failure.sentence for failure in self.failures)


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Return conditions by name and thresholds; commas separate several in one text.

    Named conditions come first, the most serious of them before the others; each stands once.
    """
    given = [name.strip() for text in texts for name in re.split(r",(?![^(]*\))", text)]
    thresholds = {}
    for name in given:
        if name in EXIT_CODES:
            continue
        match = _THRESHOLD.fullmatch(name)
        if match is None:
            raise UnknownNameError("condition to fail on", name, (*EXIT_CODES, "drop>0.02", "nDCG@10<0.60"))
        thresholds[name] = _threshold(name, match["what"].strip(), match["sign"], match["limit"])
    return (*(condition for condition in EXIT_CODES if condition in given), *thresholds.values())


def _threshold(text: str, what: str, sign: str, number: str) -> Threshold:
    """Return a threshold; an error says what to type instead."""
    try:
        limit = float(number)
    except ValueError:
        raise DataError(f"--fail-on {text}: {number!r} is not a number; write drop>0.02") from None
    if what == DROP:
        if sign != ">" or limit < 0:
            raise DataError(f"--fail-on {text}: a drop is a loss above 0; write drop>{abs(limit):g}")
        return Threshold(text=text, what=DROP, limit=limit)
    if sign != "<":
        raise DataError(f"--fail-on {text}: a run fails below a value; write {what}<{number}")
    measures = parse_measures([what])
    if len(measures) != 1:
        raise DataError(f"--fail-on {text}: {what} stands for {len(measures)} measures; name one")
    return Threshold(text=text, what=str(measures[0]), limit=limit)


def check_thresholds(fail_on: Iterable[str], measures: Sequence[Measure]) -> None:
    """Refuse thresholds on measures that are not compared."""
    compared = set(map(str, measures))
    for condition in parse_conditions(fail_on):
        if isinstance(condition, Threshold) and condition.what not in {DROP, *compared}:
            raise DataError(
                f"--fail-on {condition}: {condition.what} is not compared; add -m {condition.what}"
            )


def gate(
    rows: Iterable[GateRow], fail_on: Iterable[str], *, alpha: float = 0.05, margin: float | None = None
) -> Verdict:
    """Hold comparisons against conditions.

    worse: significantly worse than the baseline; with a margin: possibly worse by that or more.
    weak: a weak case of the decision matrix. unsettled: the unjudged documents could reverse the order.
    `drop>0.02`: the mean is lower than the baseline's by more than 0.02. `nDCG@10<0.60`: the run's mean is
    below 0.60. What is not known does not pass.
    """
    compared, conditions = tuple(rows), parse_conditions(fail_on)
    if not conditions:
        raise DataError(f"no condition to fail on; expected some of {', '.join(EXIT_CODES)}")
    if not compared:
        raise DataError("nothing to gate: no run was compared with a baseline")

    def reason(condition: Condition, row: GateRow) -> str | None:
        if isinstance(condition, Threshold):
            return condition.reason(row)
        if condition == "worse":
            return _worse(row, alpha) if margin is None else _inferior(row, alpha, margin)
        return _weak(row) if condition == "weak" else _unsettled(row)

    failures = tuple(
        Failure(condition=condition, row=row, sentence=f"{condition}: {row.name}: {why}")
        for condition in conditions
        for row in compared
        if (why := reason(condition, row)) is not None
    )
    return Verdict(conditions=conditions, compared=len(compared), failures=failures)


def gate_comparison(comparison: Comparison, fail_on: Iterable[str]) -> Verdict:
    """Hold a comparison against conditions, at its own alpha and margin."""
    if comparison.left_out:
        raise DataError(f"no verdict without every measure: {comparison.left_out[0]}")
    order = comparison.by_rank()
    columns = comparison.columns(order)
    fields = ("difference", "p_adjusted", "case", "strength", "settled", "measure")
    rows = []
    for place, (number, pair) in enumerate(order):
        tests = comparison.performance_tests[number]
        rows.append(
            GateRow(
                candidate=columns["run_a"][place], baseline=columns["run_b"][place],
                mean=columns["mean_a"][place], **{name: columns[name][place] for name in fields},
                noninferior_p_adjusted=columns["noninferiority_p"][place] if tests.equivalence else None,
                untested=tests.limit or ("" if tests.omnibus is not None else tests.reasons[pair]),
                enough_topics=_enough_topics(comparison, number, pair),
            )
        )  # fmt: skip
    return gate(rows, fail_on, alpha=comparison.alpha, margin=comparison.procedure.margin)


def _enough_topics(comparison: Comparison, number: int, pair: int) -> int | None:
    """Return how many topics would show that two equal runs differ by less than the margin; None: has enough.

    By a paired t test with power 0.8 and the spread of these differences; all pairs share alpha.
    """
    margin = comparison.procedure.margin
    gaps = comparison.gaps(number)[pair]
    gaps = gaps[~np.isnan(gaps)]
    if margin is None or len(gaps) < 2 or not (spread := float(np.std(gaps, ddof=1))):
        return None
    level = comparison.alpha / len(comparison.pairs)
    needed = float(topics_needed(margin / spread, alpha=2 * level))  # one-sided
    return int(needed) if len(gaps) < needed < np.inf else None


def _worse(row: GateRow, alpha: float) -> str | None:
    _check(row, row.p_adjusted)
    if row.difference < 0 and row.untested:
        return sentences.worse_untested(row.difference, row.untested)
    if row.difference >= 0 or row.p_adjusted > alpha:
        return None
    return sentences.worse(row.difference, row.p_adjusted, alpha)


def _inferior(row: GateRow, alpha: float, margin: float) -> str | None:
    if row.noninferior_p_adjusted is None:
        raise DataError(f"{row.name}: no test against the margin {margin:g}; compare with that margin")
    _check(row, row.noninferior_p_adjusted)
    if row.noninferior_p_adjusted <= alpha:
        return None
    unsure = row.difference > -margin  # otherwise it rather is worse, and topics would not help
    return sentences.inferior(
        row.difference, margin, row.noninferior_p_adjusted, alpha,
        enough=row.enough_topics if unsure else None,
    )  # fmt: skip


def _weak(row: GateRow) -> str | None:
    if row.strength is None:
        return sentences.STRENGTH_NOT_KNOWN
    if row.strength == "strong":
        return None
    return sentences.weak_case(row.case, row.candidate if row.difference > 0 else row.baseline)


def _unsettled(row: GateRow) -> str | None:
    if row.settled is None:
        return sentences.ORDER_NOT_KNOWN
    return None if row.settled else sentences.ORDER_OPEN


def _check(row: GateRow, p: float) -> None:
    if math.isnan(row.difference) or not 0 <= p <= 1:
        raise DataError(
            f"{row.name}: difference {row.difference}, p {p}; expected a comparison on common topics"
        )
