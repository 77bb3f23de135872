"""Sentences about a comparison: notes, a pair in words, why pairs move, what a gate and a design say.

What `advice.py`, `holds.py` and `documents.py` say is part of a result, and stands with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sounding.compare.advice import MANY_TOPICS, advise, which_completions
from sounding.compare.result import Comparison
from sounding.compare.slices import SlicedPairs
from sounding.core.arrays import NDArray
from sounding.core.policies import Policies
from sounding.core.text import FLOOR, first_few, join_names, p_phrase, plural, sentence, whole_percent
from sounding.evaluate.result import FEW_TOPICS, Scores
from sounding.measures import Measure
from sounding.statistics.cases import CASES, MEANING, strength
from sounding.statistics.pairwise import OWN, PairTests
from sounding.statistics.power import LEAST_SPLIT, PairPower

NAMED = 5  # runs that a note names before it counts the others
EFFECT = "The effect size is Cohen's d_z: the mean of the differences by topic over their standard deviation."
LONG_NAMES = "Long run names are shortened here; other formats have them whole."
ONLY_RELEVANT = (
    "The qrels list only relevant documents, so nobody knows what else was judged. Documents that are not"
    " listed may be relevant, and nobody can say whether two runs were judged equally well."
)
NO_CASE = "not stated: nobody knows what was judged besides the relevant documents"
LEGEND = (
    "Each row is compared with each column, in the same order: > better, < worse, = no significant"
    " difference; › ‹ ~ the same where the case is weak; ? not tested."
)
ONLY_ALONE = "significant alone, but not after correction"
TOO_SMALL = "even 1,000 topics would hardly show a difference this small"
EXAMPLES = (
    "The clearest pair of each case: its tests of performance and of assessment are farthest from the"
    " opposite result."
)
POWER = (
    "Power: the chance of finding the observed difference if it is the true one; topics needed to find it."
)
NO_CLAIMS = "Share of comparisons without a claim: the runs are equal, or differ by less than required."

# Why pairs move from case to case: as a table has it, and in full.
CAUSE_NAMES = {
    "frozen": "lists end", "pool": "pool depth", "assessment": "assessment", "performance": "performance",
    "both": "both",
}  # fmt: skip
CAUSES = {
    "frozen": "the lists of a run end",
    "pool": "the step passes the pool depth, and below it one run is judged less",
    "assessment": "only the test of assessment changes, for other reasons",
    "performance": "only the test of performance changes",
    "both": "both tests change",
}


def topic_notes(scores: Scores, values: NDArray[np.float64]) -> Iterator[str]:
    """Yield notes on few topics and on runs that lack topics; the values are (run, measure, topic)."""
    topics = len(scores.topics)
    if topics < FEW_TOPICS:
        yield f"Only {topics} topics, fewer than {FEW_TOPICS}: differences may well be chance."
    known = ~np.isnan(values)
    if (known != known[:1]).any():
        yield (
            "Values over different topic sets: some runs lack topics that others have. Each pair is compared"
            " on the topics that both have, so the means of different pairs cannot be compared."
        )
    elif scores.missing.any():
        counts = np.count_nonzero(scores.missing, axis=1).tolist()
        lacking = [(run, count) for run, count in zip(scores.runs, counts, strict=True) if count]
        lacking.sort(key=lambda row: -row[1])
        yield (
            f"{plural(len(lacking), 'run')} lack{'s' * (len(lacking) == 1)} some of the"
            f" {topics} judged topics, which count as 0 and as not judged: {_named(lacking)}."
        )


def _named(runs: Sequence[tuple[str, int]]) -> str:
    """Runs with how many topics each lacks, the first ones if they are many."""
    return first_few([f"{run} {count}" for run, count in runs], NAMED)


# {}: measures
DIRECT_PREFERENCES = (
    "{} compares the two runs of a pair directly: its difference is the mean preference for run_a, from -1 to"
    " 1. Its means are those of a run over all others, so they do not subtract to the difference."
)


def short_lists(longest: ArrayLike, measures: Sequence[Measure]) -> Iterator[str]:
    """Yield notes on cut-offs deeper than the longest list of some runs, (run,); equal ones share a note."""
    lengths = np.asarray(longest)
    grouped: dict[int, list[int]] = {}
    for depth in sorted({measure.k for measure in measures if measure.k is not None and "@" in str(measure)}):
        short = int(np.count_nonzero(lengths < depth))
        if short:
            grouped.setdefault(short, []).append(depth)
    for short, depths in grouped.items():
        cuts = " and ".join(f"{depth:,}" for depth in depths)
        runs = f"{short} of {len(lengths)} runs {'has' if short == 1 else 'have'}"
        yield (f"Depth {cuts}: {runs} no list that long; missing ranks count as neither relevant nor judged.")


def test_notes(performance: Sequence[PairTests]) -> Iterator[str]:
    """Yield notes on pairs without a test, and the notes of the tests themselves."""
    by_pair = list(zip(*(tests.reasons for tests in performance), strict=True))
    untested = [reasons for reasons in by_pair if any(reasons)]
    if untested:
        some = "" if all(map(all, untested)) else " by some measures"
        reason = next(filter(None, untested[0]))
        yield f"{len(untested):,} of {plural(len(by_pair), 'pair')} without a test{some}: {reason}."
    grouped: dict[str, list[str]] = {}
    for note in dict.fromkeys(note for tests in performance for note in tests.notes):
        grouped.setdefault(note.partition(":")[0], []).append(note)
    for first, *others in grouped.values():
        more = f"; similarly by {plural(len(others), 'more measure')}" * bool(others)
        yield sentence(f"{first}{more}")


def notes(comparison: Comparison, *, intervals: bool = True, every: bool = True) -> list[str]:
    """Return what a reader should know of a comparison, what could mislead first.

    `every`: also what is the same for all comparisons, how they are tested and valued. `intervals`: some
    are shown.
    """
    lines = [*_uneven(comparison), *_assessed_otherwise(comparison)]
    if comparison.only_relevant:
        lines = [ONLY_RELEVANT]
    lines = [*_changed_policies(comparison), *lines, *comparison.notes]
    if comparison.holds is not None:
        lines.append(comparison.holds.describe())
    lines += _omnibus_notes(comparison)
    if intervals:
        lines += _not_adjusted(comparison)
    if not every:
        return lines
    lines += [*advice_notes(comparison), cases_in_words(comparison)]
    return [*lines, *_methods(comparison, intervals=intervals)]


def _uneven(comparison: Comparison) -> Iterator[str]:
    """Say in how many pairs one run was judged more completely, by the measures where that is so."""
    parts = []
    for measure, cases, depth in zip(comparison.measures, comparison.cases, comparison.depths, strict=True):
        count = int(np.count_nonzero((cases == 2) | (cases == 4)))
        if count:
            parts.append(f"{count:,} of {len(comparison.pairs):,} by {measure} (top {depth:,})")
    if parts and len(comparison.pairs) > 1:  # of one pair the headline says so
        yield (
            f"Weak pairs: {', '.join(parts)}. In a weak pair, one run was judged significantly more"
            " completely than the other."
        )


def _assessed_otherwise(comparison: Comparison) -> Iterator[str]:
    """Say by what assessment was tested, where that is not A_p at the depth of the measure."""
    other = comparison.other_assessment
    if not other:
        return
    if len(set(other.values())) == 1:
        yield f"Assessment is tested by {next(iter(other.values()))} beside every measure."
    else:
        tested = "; ".join(f"{name} beside {measure}" for measure, name in other.items())
        yield f"Assessment is tested by another measure than A_p: {tested}."


def _changed_policies(comparison: Comparison) -> Iterator[str]:
    changed = comparison.policies.changed()
    if changed:
        yield f"Policies that differ from the defaults: {changed}."


def _methods(comparison: Comparison, *, intervals: bool) -> list[str]:
    """Say how the pairs were tested and valued: the same for every comparison of this kind."""
    first = comparison.performance_tests[0]
    lines = [f"Test: {how_tested(comparison)}."]
    if intervals:
        lines += [f"The {100 * (1 - first.alpha):g}% intervals are intervals {first.interval}.", EFFECT]
    if first.equivalence is not None and intervals:
        lines.append(f"Equivalence and non-inferiority: {first.equivalence.method}.")
    return [*lines, *how_valued(comparison)]


def _not_adjusted(comparison: Comparison) -> Iterator[str]:
    """Say that p is adjusted for the number of pairs and intervals are not, where they may disagree."""
    tests = comparison.performance_tests
    if tests[0].correction in ("none", OWN) or "at once" in tests[0].interval:
        return
    only_alone = [(one.p_alone <= one.alpha) & ~one.significant for one in tests if not one.limit]
    if count := sum(int(np.count_nonzero(rows)) for rows in only_alone):
        yield (
            "Intervals are not adjusted for the number of pairs, unlike p: an interval can exclude 0 although"
            f" the adjusted p is above {tests[0].alpha:g} ({count:,} of {comparison.cases.size:,} rows)."
        )


def _omnibus_notes(comparison: Comparison) -> list[str]:
    """The F of all runs at once, where the test has one."""
    first = comparison.performance_tests[0]
    omnibus = [
        f"{measure} {tests.omnibus.f:.4g} (p {p_phrase(tests.omnibus.p)})"
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
    lines = [f"Policies: {policies.describe()}."]
    basis = settled_basis(comparison)
    if basis is not None:
        universe = basis["universe"] or ""
        if policies.unjudged != "bounds" and (basis["at_most"] is not None or universe.startswith("+")):
            capped = "" if basis["at_most"] is None else f", at most {basis['at_most']}"
            lines[0] = f"{lines[0][:-1]}; for what is settled: universe {universe}{capped}."
        more = f" and of {universe[1:]} others per topic" if universe.startswith("+") else ""
        limited = which_completions(policies)
        lines.append(
            "A pair is settled if its order stays the same, whatever the grades of the unjudged documents of"
            f" these runs{more}{f', {limited}' if limited else ''}."
        )
    return lines


def cases_in_words(comparison: Comparison) -> str:
    """Say how many pairs are in which case, in a sentence for each measure."""
    parts = []
    for measure, counts, bounds in zip(
        comparison.measures, comparison.counts().tolist(), comparison.bounds, strict=True
    ):
        found = [f"{count:,} in case {case}" for case, count in zip(CASES, counts, strict=True) if count]
        without = len(comparison.pairs) - sum(counts)
        found += [f"{without:,} in no case"] if without else []
        text = "" if comparison.only_relevant else f" {join_names(found).replace(' in', ' are in', 1)}"
        settled = "" if bounds is None else f" {np.count_nonzero(bounds.final):,} are settled"
        if text or settled:
            both = ";" if text and settled else ""
            parts.append(f"{measure}: of {plural(len(comparison.pairs), 'pair')},{text}{both}{settled}.")
    return " ".join(parts)


def advice_notes(comparison: Comparison) -> list[str]:
    """Say where the correction changes cases: that advice is on each pair by itself."""
    other = int(np.count_nonzero(comparison.cases != comparison.own_cases))
    if not other:
        return []
    return [
        "Advice is about each pair alone, without correction for other pairs."
        f" In {other:,} of {comparison.cases.size:,} rows, the correction changes the case of the decision"
        " matrix; the column of advice names the case without correction."
    ]


def floor_notes(comparison: Comparison) -> list[str]:
    """Say how many p are the smallest that the draws can show, for programs."""
    tests = comparison.performance_tests
    floors = sum(int(np.count_nonzero(one.floor_drawn)) for one in tests)
    if not floors:
        return []
    rows = sum(len(one.pairs) for one in tests)
    return [
        f"{floors:,} of {rows:,} p-values are the smallest that {_draws(comparison)} can show (p_at_floor)."
    ]


def floor_legend(comparison: Comparison, shown: bool) -> list[str]:
    """Say what the mark of such a p means, where people see one."""
    return [f"{FLOOR} marks the smallest p that {_draws(comparison)} can show."] if shown else []


def _draws(comparison: Comparison) -> str:
    return plural(max(tests.drawn for tests in comparison.performance_tests), "draw")


def settled_basis(comparison: Comparison) -> dict[str, str | None] | None:
    """Say what settled rests on: which unjudged documents may be relevant; None where nothing is known."""
    if all(bounds is None for bounds in comparison.bounds):
        return None
    policies = comparison.policies
    return {
        "by": "bounds", "universe": "runs" if policies.universe == "run" else policies.universe,
        "at_most": policies.at_most,
    }  # fmt: skip


def finite_quantiles(numbers: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
    """Return quantiles of numbers that may be infinite: infinite where a neighbor is."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(numbers, shares)
    return np.where(np.isnan(found), np.inf, found).tolist()


def _detected(difference: float) -> str:
    """Write a difference; infinite: larger than any that the measure can have."""
    return f"{difference:.3f}" if np.isfinite(difference) else "none that the measure can have"


def power_in_words(power: PairPower) -> tuple[str, ...]:
    """The middle of the pairs in sentences: what can be detected, and topics for what is wanted."""
    known = ~np.isnan(power.detectable)
    shared = f" shared by {power.comparisons:,} comparisons" if power.comparisons > 1 else ""
    lines = [f"paired t test, alpha {power.alpha:g}{shared}, power {power.target:g}"]
    if (~known).any():
        lines.append(
            f"{np.count_nonzero(~known):,} of {plural(known.size, 'pair')} left out: no spread over topics"
        )
    if not known.any():
        return tuple(lines)
    if known.size == 1:
        lines.append(f"smallest difference that these topics detect: {_detected(power.detectable[0])}")
        for difference, (needed,) in zip(power.wanted.tolist(), power.needed.tolist(), strict=True):
            lines.append(f"a difference of {difference:g} needs {needed:,.0f} topics")
        return tuple(lines)
    low, middle, high = finite_quantiles(power.detectable[known], (0.1, 0.5, 0.9))
    lines.append(
        f"smallest difference that these topics detect: {_detected(middle)} for half of the pairs,"
        f" {_detected(low)} for a tenth, {_detected(high)} for nine tenths"
    )
    for difference, needed in zip(power.wanted.tolist(), power.needed[:, known], strict=True):
        middle, high = np.quantile(needed, (0.5, 0.9), method="inverted_cdf")
        lines.append(
            f"a difference of {difference:g} needs {middle:,.0f} topics for half of the pairs,"
            f" {high:,.0f} for nine tenths"
        )
    return tuple(lines)


# -- results in words -------------------------------------------------------------------------------


def rows_shown(shown: int, rows: int, *, every_pair: bool = False) -> str:
    """Say how many rows are shown, and how to see the others."""
    first = "Pairs of the best runs come first. " if every_pair else ""
    return f"{first}{shown:,} of {rows:,} rows are shown; --top N shows more."


def verdict_in_words(comparison: Comparison, measure: int, pair: int) -> str:
    """Say in a few words what was found of run_a against run_b."""
    tests = comparison.performance_tests[measure]
    if tests.reasons[pair]:
        return "not tested"
    if tests.limit:
        return "cannot be significant"
    weak = int(comparison.cases[measure, pair]) in (2, 4)
    if not tests.significant[pair]:
        return "no significant difference" + (", unevenly judged" if weak else "")
    word = "better" if tests.difference[pair] > 0 else "worse"
    more = "more" if word == "better" else "less"
    return f"{word}, but judged {more} completely" if weak else word


def result_in_words(comparison: Comparison, measure: int, pair: int) -> str:
    """Say whether run_a beats run_b, loses to it, or neither."""
    tests = comparison.performance_tests[measure]
    if not tests.significant[pair]:
        return "undecided"
    return "better" if tests.difference[pair] > 0 else "worse"


def why_in_words(comparison: Comparison, measure: int, pair: int) -> str:
    """Say why a result is undecided or weak, and what to do about it."""
    tests, case = comparison.performance_tests[measure], int(comparison.cases[measure, pair])
    if tests.reasons[pair]:
        return f"not tested: {tests.reasons[pair]}"
    if not tests.significant[pair]:
        remedy = what_would_decide(comparison, measure, pair)
        limited = "too few topics or draws" if tests.limit else "the difference is within chance"
        return remedy if remedy == ONLY_ALONE else f"{limited}; {remedy}"
    if case == 3:
        return "significant"
    return f"the better run was judged more completely; {_remedy(comparison.advice(measure, pair))}"


def what_would_decide(comparison: Comparison, measure: int, pair: int) -> str:
    """Say in a few words what would decide an undecided pair, or why nothing would."""
    if comparison.own_cases[measure, pair] in (3, 4):
        return ONLY_ALONE
    (situation,) = comparison.situations([(measure, pair)])
    if situation.equal:
        return "the runs are equal on every topic"
    advice = advise(situation)
    beyond = situation.topics_needed is not None and situation.topics_needed > MANY_TOPICS
    return TOO_SMALL if advice.action == "add topics" and beyond else _remedy(advice.head)


def _remedy(advice: str) -> str:
    head = advice.partition(":")[0].removesuffix(".")
    return f"{head[0].lower()}{head[1:]}"


def slice_remark(sliced: SlicedPairs, part: int, measure: int, pair: int) -> str:
    """Say what is special about a pair in a slice."""
    parts = []
    if sliced.tests[part][measure] is None:
        parts.append(f"fewer than {sliced.fewest} topics: not tested")
    if sliced.reversed[part, measure, pair]:
        parts.append("opposite order")
    return ", ".join(parts)


def slice_notes(sliced: SlicedPairs) -> Iterator[str]:
    """Say which topics are in no slice, and that slices are many looks at the same data."""
    inside = {place for own in sliced.topics for place in own}
    outside = len(sliced.comparison.topics) - len(inside)
    if outside:
        are = "is" if outside == 1 else "are"
        yield f"{plural(outside, 'judged topic')} {are} in no slice of {sliced.source}."
    yield f"With {plural(len(sliced.names), 'slice')}, some differences may be significant by chance."


# -- advice on one pair -----------------------------------------------------------------------------


def documents_listed(run_a: str, run_b: str) -> str:
    """Say what lists the documents of a pair, as advice goes on."""
    return f"; --pair {run_a} {run_b} --documents FILE lists them."


LISTED_BELOW = "; the first are listed below, and --documents FILE lists all that are needed."


# -- one pair ----------------------------------------------------------------------------------------

SETTLED_NOT_KNOWN = "not known whether unjudged documents could reverse the order"
HOW_BOUNDED = {
    "difference": "exact, document by document",
    "rule": "a bound for AP from pairs of documents",
    "separate": "from the bounds of each run",
}


def two_means(a: tuple[str, float], b: tuple[str, float]) -> str:
    """Say the means of two runs."""
    return f"{a[0]} {a[1]:.4f}, {b[0]} {b[1]:.4f}"


def pair_difference(a: str, b: str, tests: PairTests, shown: tuple[str, str, str, str]) -> str:
    """Say how much a pair differs; `shown` are its difference, the interval, the effect size and p."""
    difference, interval, effect, p = shown
    of_what = "" if tests.center == "mean" else f" of the {tests.center}"
    return (
        f"{difference} ({a} minus {b}), {p}; {100 * (1 - tests.alpha):g}% interval{of_what} {interval};"
        f" effect size {effect}"
    )


def wins(run: str, tests: PairTests) -> str:
    """Say on how many topics the first run of a pair is better, worse and equal."""
    return (
        f"{tests.topics[0]}: {run} is better on {tests.wins[0]}, worse on {tests.losses[0]},"
        f" equal on {tests.ties[0]}"
    )


def judged(depth: int, a: tuple[str, float], b: tuple[str, float], compared: str) -> str:
    """Say how much of two runs was judged, and how that compares."""
    (run_a, share_a), (run_b, share_b) = a, b
    return (
        f"{whole_percent(share_a)} of {run_a}'s and {whole_percent(share_b)} of {run_b}'s first {depth}"
        f" documents: {compared}"
    )


def listed(depth: int, a: tuple[str, float], b: tuple[str, float]) -> str:
    """Say how much of two runs the judgments list as relevant."""
    (run_a, share_a), (run_b, share_b) = a, b
    return (
        f"not known: the qrels list only relevant documents ({whole_percent(share_a)} of {run_a}'s first"
        f" {depth} and {whole_percent(share_b)} of {run_b}'s)"
    )


def short_list(run: str, returned: float) -> str:
    """Say that a run has short lists, with the judged share of what they have."""
    return f"; {run} has short lists, and {whole_percent(returned)} of what it returned was judged"


def lacks_topics(run: str, topics: int) -> str:
    """Say that a run lacks topics."""
    return f"; {run} lacks {plural(topics, 'topic')}, which count{'s' * (topics == 1)} as not judged"


def differ(tests: PairTests) -> str:
    """Say whether a pair was judged differently, as far as the test can tell."""
    if tests.significant[0]:
        return "a significant difference"
    if tests.constant[0]:
        return "the same difference on every topic"
    if tests.equal[0]:
        return "the same on every topic"
    return (
        "no significant difference" if tests.could_differ()[0] else "no test could tell whether they differ"
    )


def case_of(case: int, run: str | None) -> str:
    """Say what a case means; `run` is significantly better, None: neither is."""
    return f"{case}, {strength(case)}: {'' if run is None else f'{run} is '}{MEANING[case]}"


def pair_settled(answer: str | None, low: str, high: str, policies: Policies, kind: str) -> str:
    """Say whether the order holds, with the limits of the difference and how they were found."""
    limits = f"is {low}" if low == high else f"lies between {low} and {high}"
    when = which_completions(policies) or "whatever the unjudged documents are"
    return f"{answer or 'not known'}: the difference {limits} {when} ({HOW_BOUNDED[kind]})"


def equivalent(margin: float, p: float, alpha: float) -> str:
    """Say whether two runs are as good, within the margin."""
    return f"the two are {_shown(p, alpha)}within {margin:g} of each other: equivalence p {p_phrase(p)}"


def noninferior(run: str, margin: float, p: float, alpha: float) -> str:
    """Say whether a run is no worse, within the margin."""
    return f"{run} is {_shown(p, alpha)}less than {margin:g} worse: non-inferiority p {p_phrase(p)}"


def _shown(p: float, alpha: float) -> str:
    return "" if p <= alpha else "not shown to be "


# -- what a gate says --------------------------------------------------------------------------------

STRENGTH_NOT_KNOWN = "it is unknown whether judging was even"
ORDER_NOT_KNOWN = "it is unknown whether unjudged documents could reverse the order"
ORDER_OPEN = "unjudged documents could reverse the order"
MEAN_NOT_KNOWN = "the mean is unknown: the runs have no topics in common"


def dropped(difference: float, limit: float) -> str:
    """Say that a run lost more than the limit."""
    return f"the mean dropped by {-difference:.4f}, more than {limit:g}"


def below(measure: str, mean: float, limit: float) -> str:
    """Say that the mean of a run is below the limit."""
    return f"{measure} is {mean:.4f}, below {limit:g}"


def passed(comparisons: int, conditions: Sequence[str]) -> str:
    """Say that nothing fails."""
    return f"passed: {plural(comparisons, 'comparison')}, none {' or '.join(conditions)}"


def worse(difference: float, p: float, alpha: float) -> str:
    """Say that a candidate is significantly worse."""
    return f"significantly worse by {-difference:.4f} (adjusted p {p_phrase(p)}, alpha {alpha:g})"


def worse_untested(difference: float, reason: str) -> str:
    """Say that a candidate is worse, and why that was not tested."""
    return f"worse by {-difference:.4f}, and not tested: {reason}"


def inferior(difference: float, margin: float, p: float, alpha: float, *, enough: int | None = None) -> str:
    """Say that a candidate may be worse by more than the margin, and how many topics would tell."""
    more = "" if enough is None else f"; to be sure, some {round_up(enough):,} topics are needed"
    return (
        f"may be worse by {margin:g} or more: difference {difference:+.4f}"
        f" (non-inferiority p {p_phrase(p)}, alpha {alpha:g}){more}"
    )


def round_up(count: int) -> int:
    """Round a forecast up to two digits: more would claim too much."""
    step = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step


def weak_case(case: int | None, run: str) -> str:
    """Say which weak case it is; `run` is ahead."""
    if case not in MEANING:
        return "a weak case"
    return f"a weak case: {f'{run} is ' if case in (3, 4) else ''}{MEANING[case]}"


# -- plans, and remarks beside formats without notes -----------------------------------------------------

PLAN_FOLLOWED = "The plan is followed."


def deviates(deviation: str) -> str:
    """Say how what was done deviates from the plan."""
    return f"Deviates from the plan: {deviation}."


# -- where measures are left out -------------------------------------------------------------------


def left_out(measures: Sequence[Measure]) -> str:
    """Say that measures have no mean over topics to compare."""
    return f"Left out because they have no mean over topics to compare: {', '.join(map(str, measures))}."


def margin_without_use(margin: float) -> str:
    """Say that a margin changes no count of cases."""
    return f"The margin {margin:g} changes no case: use --each-pair to see its results."


# -- why a pair moves ------------------------------------------------------------------------------


def lists_end(run: str, length: float) -> str:
    """Say that a run can hardly find anything more."""
    return f"{run} is frozen: its lists end after {length:.0f} documents"


def significance_changes(after: bool) -> str:
    """Say what became of the difference in performance."""
    return f"the difference in performance {'becomes' if after else 'is no longer'} significant"


def falls_behind(run: str, depth: int, share: float, other: float) -> str:
    """Say that less of a run was judged than of the other from this depth on."""
    return (
        f"assessment of {run} falls behind ({whole_percent(share)} of its first {depth} judged,"
        f" {whole_percent(other)} of the other's)"
    )


def moves_shown(shown: int, moves: int) -> str:
    """Say how many of the moves are shown, and what the columns beside them are."""
    some = "" if shown == moves else f"{shown} of {plural(moves, 'move')}, the rest with --top N. "
    return f"{some}Judged: share of the documents down to the second depth, for run_a and run_b. Why:"


# -- designs ---------------------------------------------------------------------------------------


def power_of_t(test: str) -> str:
    """Say that power is not that of the test which was asked for."""
    return f"Power is computed for the paired t test, not for the {test} test."


def too_few_to_split(topics: int) -> str:
    """Say that halves of the topics are too small for meaningful error rates; empty: they are not."""
    if topics >= LEAST_SPLIT:
        return ""
    return (
        f"{topics} topics on which all runs have a value are too few to split: error rates need"
        f" at least {LEAST_SPLIT}."
    )


def how_split(splits: int) -> str:
    """Say what error rates are of."""
    return (
        f"Two disjoint sets of topics, {splits} splits: share of claims that the other set"
        " reverses, by the difference that a claim requires."
    )
