"""Headlines: one or two sentences that answer the question of each view of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.compare.depths import families
from sounding.compare.designs import Designs
from sounding.compare.result import Comparison
from sounding.compare.sentences import finite_quantiles
from sounding.compare.slices import SlicedPairs
from sounding.core.text import (
    first_few,
    format_chance,
    join_names,
    likelihood,
    p_phrase,
    plural,
    whole_percent,
)
from sounding.statistics.cases import WEAK
from sounding.statistics.pairwise import OWN, find_test
from sounding.statistics.power import LEAST_SPLIT

MOST_MEASURES = 3  # measures that a headline names before it counts the others
MOST_RUNS = 3
MOST_REVERSED = 2  # pairs that a headline names
WANTED = 0.05  # the difference whose price in topics a design names


def pairs_headline(comparison: Comparison) -> str:
    """Return how many of all pairs differ significantly, by each measure."""
    counts = [_count_pairs(comparison, number) for number in _able(comparison)]
    if not counts:
        return _limits(comparison)
    text = f"{_joined(counts)} ({_frame(comparison)})."
    first = _able(comparison)[0]
    if not comparison.significant[first].any():
        text += f" {_largest(comparison, first)}"
    elif weak := _count_weak(comparison, first):
        text += f" In {weak:,} of them the better run was judged more completely{_by_first(comparison)}."
    return _with_limits(f"{text}{_reversals(comparison)}{_together(comparison)}", comparison)


def _count_pairs(comparison: Comparison, number: int) -> str:
    """Say how many pairs differ significantly by a measure; the total stands with the first measure."""
    found, pairs = int(np.count_nonzero(comparison.significant[number])), len(comparison.pairs)
    measure = comparison.measures[number]
    if number != _able(comparison)[0]:
        return f"{found:,} by {measure}"
    if found == 0:
        only = f"{comparison.names(0)[0]} and {comparison.names(0)[1]} do not differ"
        verb = only if pairs == 1 else f"None of the {pairs:,} pairs differs"
        return f"{verb} significantly by {measure}"
    return f"{found:,} of {pairs:,} pairs differ{'s' * (pairs == 1)} significantly by {measure}"


def baseline_headline(comparison: Comparison) -> str:
    """Return which runs are significantly better or worse than the baselines."""
    able = _able(comparison)
    if not able:
        return _limits(comparison)
    baselines = list(dict.fromkeys(comparison.names(pair)[1] for pair in range(len(comparison.pairs))))
    first = able[0]
    text = _against(comparison, first, baselines)
    more = [_better_and_worse(comparison, number) for number in able[1:MOST_MEASURES]]
    text += "".join(f" By {measure}: {counts}." for measure, counts in more)
    return _with_limits(f"{text}{_reversals(comparison)}{_together(comparison)}", comparison)


def _against(comparison: Comparison, number: int, baselines: Sequence[str]) -> str:
    """Say who beats the baselines by a measure, and how far the run ahead can be trusted."""
    better = _places(comparison, number, 1)
    worse = len(_places(comparison, number, -1))
    measure, pairs = comparison.measures[number], len(comparison.pairs)
    named = first_few(baselines, MOST_RUNS)
    frame = f"({_frame(comparison)})"
    behind = f", and {worse:,} {'is' if worse == 1 else 'are'} worse" if worse else ""
    if len(baselines) > 1:
        baselined = " or ".join(baselines) if len(baselines) == 2 else named
        who = f"In {len(better):,} of {pairs:,} comparisons with {baselined} the run is significantly better"
        text = f"{who} by {measure}, in {worse:,} it is worse {frame}."
    elif not better:
        worse_runs = f"; {worse:,} {'is' if worse == 1 else 'are'} worse" if worse else ""
        text = f"No run is significantly better than {named} by {measure}{worse_runs} {frame}."
    elif len(better) == 1:
        who = f"1 of {pairs:,} runs, {comparison.names(better[0])[0]}, is significantly better than {named}"
        who = f"{comparison.names(better[0])[0]} is significantly better than {named}" if pairs == 1 else who
        text = f"{who} by {measure}{behind} {frame}."
    else:
        who = f"{len(better):,} of {pairs:,} runs are significantly better than {named}"
        text = f"{who} by {measure}{behind} {frame}."
    return f"{text} {_leader(comparison, number, better)}"


def _leader(comparison: Comparison, number: int, better: Sequence[int]) -> str:
    """Say by how much the best run is ahead of its baseline, and how much of it is unjudged."""
    gaps = np.nan_to_num(comparison.performance_tests[number].difference, nan=-np.inf)
    if better:
        gaps = np.where(np.isin(np.arange(len(gaps)), better), gaps, -np.inf)
    best = int(np.argmax(gaps))
    run, baseline = comparison.names(best)
    if gaps[best] < 0:
        behind = f"{run} is behind by {-gaps[best]:.4f}, {_p(comparison, number, best)}."
        return "Every run is behind." if len(gaps) > 1 else behind
    if gaps[best] == 0:
        return f"{run} and {baseline} have the same mean."
    return (
        f"{run} is ahead by {gaps[best]:.4f}, {_p(comparison, number, best)}"
        f"{_unjudged(comparison, number, int(comparison.pairs[best, 0]))}."
    )


def _better_and_worse(comparison: Comparison, number: int) -> tuple[str, str]:
    better, worse = (len(_places(comparison, number, side)) for side in (1, -1))
    return str(comparison.measures[number]), f"{better:,} better, {worse:,} worse"


def pair_headline(comparison: Comparison) -> str:
    """Return which of two runs is better by each measure, or that no difference was found."""
    able = _able(comparison)
    if not able:
        return _limits(comparison)
    text = f"{_one_pair(comparison, able[0])} ({_frame(comparison)})."
    text += _uneven(comparison, able[0]) if int(comparison.cases[able[0], 0]) in WEAK else ""
    text += _after_judging(comparison, able[0])
    others = able[1:MOST_MEASURES]
    text += "".join(
        f" By {comparison.measures[number]}: {_briefly(comparison, number)}." for number in others
    )
    rest = len(able) - 1 - len(others)
    text += f" {plural(rest, 'more measure')} below." if rest else ""
    return _with_limits(f"{text}{_together(comparison)}", comparison)


def _one_pair(comparison: Comparison, number: int) -> str:
    tests, measure = comparison.performance_tests[number], comparison.measures[number]
    a, b = comparison.names(0)
    if tests.reasons[0]:
        return f"By {measure}, {a} and {b} were not tested: {tests.reasons[0]}"
    mean_a, mean_b = comparison.means(number)[:, 0].tolist()
    if tests.difference[0] < 0:
        a, b, mean_a, mean_b = b, a, mean_b, mean_a
    values = f"{mean_a:.4f} against {mean_b:.4f}, {_p(comparison, number, 0)}"
    if tests.equal[0]:
        return f"{a} and {b} are equal by {measure} on every topic"
    if not tests.significant[0]:
        return f"{a} and {b} do not differ significantly by {measure}: {values}"
    return f"{a} is significantly better than {b} by {measure}: {values}"


def _uneven(comparison: Comparison, number: int) -> str:
    """Say which run of the first pair was judged less completely, with both shares."""
    runs = comparison.pairs[0].tolist()
    shares = np.nanmean(comparison.assessment[runs, number], axis=1).tolist()
    less, more = sorted(zip(shares, runs, strict=True))
    depth = comparison.depths[number]
    return (
        f" {comparison.runs[less[1]]} was judged less completely:"
        f" {whole_percent(less[0])} of its top {depth:,} against {whole_percent(more[0])}."
    )


def _after_judging(comparison: Comparison, number: int) -> str:
    """Say who would lead if more were judged, or whether the conclusion would stand; "" if not asked for."""
    holds, difference = comparison.holds, float(comparison.performance_tests[number].difference[0])
    if holds is None or holds.reason or not difference or np.isnan(holds.conclusion[number, 0]):
        return ""
    ahead, stands = float(holds.sign[number, 0]), float(holds.conclusion[number, 0])
    if ahead < 0.5:
        behind = comparison.names(0)[1 if difference > 0 else 0]
        lead = f" But {behind} would {likelihood(1 - ahead)} lead if more were judged"
        return f"{lead} (a chance of {format_chance(1 - ahead)})."
    return f" If more were judged, that would be the conclusion with a chance of {format_chance(stands)}."


def _reversals(comparison: Comparison) -> str:
    """Say in which pairs the run behind would more likely than not lead if more were judged; "" if none."""
    holds, pairs = comparison.holds, len(comparison.pairs)
    parts: list[str] = []
    if holds is None or holds.reason:
        return ""
    for number in _able(comparison)[:MOST_MEASURES]:
        difference = comparison.performance_tests[number].difference
        chance = np.where(np.abs(difference) > 0, holds.sign[number], np.nan)
        likely = [pair for pair in np.argsort(chance, kind="stable").tolist() if chance[pair] < 0.5]
        ahead = [(comparison.names(pair), difference[pair] > 0) for pair in likely]
        named = [f"{b} over {a}" if first else f"{a} over {b}" for (a, b), first in ahead]
        count = f"{len(named):,} of {plural(pairs, 'pair')}" if not parts else f"{len(named):,}"
        if named:
            parts.append(f"{count} by {comparison.measures[number]} ({first_few(named, MOST_REVERSED)})")
    if not parts:
        return ""
    return (
        f" If {holds.until_in_words} were judged, the run that is behind now would more likely than not be"
        f" ahead in {join_names(parts)}."
    )


def _briefly(comparison: Comparison, number: int) -> str:
    """Say which run is better by a further measure."""
    tests, (a, b) = comparison.performance_tests[number], comparison.names(0)
    if tests.reasons[0]:
        return "not tested"
    mean_a, mean_b = comparison.means(number)[:, 0].tolist()
    if tests.difference[0] < 0:
        a, mean_a, mean_b = b, mean_b, mean_a
    who = f"{a} is better" if tests.significant[0] else "no significant difference"
    return f"{who}, {mean_a:.4f} against {mean_b:.4f}, {_p(comparison, number, 0)}"


def focus_headline(comparison: Comparison, ranks: Sequence[tuple[int, int]]) -> str:
    """Return where a run stands, what it beats, what beats it and what is undecided.

    `ranks` has its rank and the number of runs, by every measure.
    """
    able = _able(comparison)
    if not able:
        return _limits(comparison)
    first = able[0]
    run = comparison.names(0)[0]
    rank, runs = ranks[first]
    record = f"{_record(comparison, first)} ({_frame(comparison)})"
    text = f"{run} ranks {rank} of {runs} by {comparison.measures[first]} and {record}."
    for number in able[1:MOST_MEASURES]:
        rank, runs = ranks[number]
        text += f" By {comparison.measures[number]} it ranks {rank} and {_record(comparison, number)}."
    return _with_limits(f"{text}{_reversals(comparison)}{_together(comparison)}", comparison)


def _record(comparison: Comparison, number: int) -> str:
    won, lost = (len(_places(comparison, number, side)) for side in (1, -1))
    undecided = len(comparison.pairs) - won - lost
    beaten, better = (plural(count, "run") if count else "no run" for count in (won, lost))
    rest = f"; {plural(undecided, 'comparison')} undecided" if undecided else ""
    return f"significantly beats {beaten} and loses to {better}{rest}"


def matrix_headline(comparison: Comparison) -> str:
    """Return who leads by the first measure, and how many runs it beats."""
    text = pairs_headline(comparison)
    able = _able(comparison)
    if not able:
        return text
    means = np.nan_to_num(np.nanmean(comparison.values[:, able[0]], axis=1), nan=-np.inf)
    best = int(np.argmax(means))
    signs = _signs(comparison, able[0])
    beaten = int(
        np.count_nonzero((comparison.pairs[:, 0] == best) & (signs > 0))
        + np.count_nonzero((comparison.pairs[:, 1] == best) & (signs < 0))
    )
    leads = f"{comparison.runs[best]} leads by {comparison.measures[able[0]]}"
    return f"{leads} and significantly beats {beaten} of {len(comparison.runs) - 1} runs. {text}"


def depth_headline(collections: Sequence[tuple[str, Comparison]]) -> str:
    """Return how many pairs differ significantly at each depth, and how many of these are weak."""
    parts = []
    for name, comparison in collections:
        found = [
            (family, [number for number in places if number in _able(comparison)])
            for family, places in families(comparison)
        ]
        texts = [text for family, places in found[:2] if (text := _by_depth(comparison, family, places))]
        own = " ".join(texts) or _limits(comparison)
        parts.append(f"{name}: {own}" if len(collections) > 1 else own)
    first = collections[0][1]
    if not any(_able(comparison) for _, comparison in collections):
        return parts[0]
    return f"{' '.join(parts)} Test: {_frame(first)}."


def _by_depth(comparison: Comparison, family: str, places: Sequence[int]) -> str:
    if not places:
        return ""
    counts = [
        f"{np.count_nonzero(comparison.significant[number]):,} at depth {comparison.depths[number]:,}"
        for number in (places if len(places) <= MOST_MEASURES else [places[0], places[-1]])
    ]
    weak = _count_weak(comparison, places[-1])
    uneven = ""
    if weak:
        deepest = comparison.depths[places[-1]]
        uneven = f". In {weak:,} of the pairs at depth {deepest:,} the better run was judged more completely"
    pairs = plural(len(comparison.pairs), "pair")
    return f"Of {pairs}, these differ significantly by {family}: {join_names(counts)}{uneven}."


def design_headline(found: Designs) -> str:
    """Return which difference these topics can show, and what a difference of 0.05 costs."""
    measure, design = next(iter(found.by_measure()))
    power = design.power
    known = ~np.isnan(power.detectable)
    topics = plural(len(found.topics), "topic")
    if not known.any():
        return f"{topics} cannot show how many are needed: no difference by {measure} varies over topics."
    shared = f" shared by {power.comparisons:,} comparisons" if power.comparisons > 1 else ""
    (half,) = finite_quantiles(power.detectable[known], (0.5,))
    who = "the pair" if known.size == 1 else "half of the pairs"
    how = f"(power {power.target:g}, alpha {power.alpha:g}{shared})"
    text = f"{topics} are enough to find a difference of {half:.3f} by {measure} for {who} {how}."
    if not np.isfinite(half):
        text = f"{topics} are too few to find any difference that {measure} can have for {who} {how}."
    wanted = power.wanted.tolist()
    if WANTED in wanted:
        needed = float(np.quantile(power.needed[wanted.index(WANTED), known], 0.5, method="inverted_cdf"))
        text += f" A difference of {WANTED:g} needs {needed:,.0f} topics."
    if design.swaps.topics < LEAST_SPLIT:
        text += " There are too few topics to estimate error rates."
    return text


def slices_headline(sliced: SlicedPairs) -> str:
    """Return in which slices a difference is significant, and where its sign is not the overall one."""
    comparison = sliced.comparison
    significant, reversed_in = sliced.significant_slices(), sliced.reversed_slices()
    small = sliced.small_slices()
    tested = [name for name in sliced.names if name not in small]
    measure = comparison.measures[0]
    one = len(comparison.pairs) == 1
    what = " and ".join(comparison.names(0)) if one else "some runs"
    verb = "differ significantly" if one or significant else "differ"
    if significant:
        text = f"By {measure}, {what} {verb} in {_named(significant)} ({len(sliced.names)} slices)."
    elif tested:
        who = f"{what} do not differ" if one else "no two runs differ"
        text = f"By {measure}, {who} significantly in any of {plural(len(tested), 'tested slice')}."
    else:
        text = f"No slice can be tested: each has fewer than {sliced.fewest} topics."
    if reversed_in:
        text += (
            f" The order reverses in {_named(reversed_in)}."
            if one
            else (f" Some pair is in the opposite order in {_named(reversed_in)}.")
        )
    if small and tested:
        text += f" {_named(small)} cannot be tested (fewer than {sliced.fewest} topics)."
    return f"{text} Each slice is adjusted by itself ({_frame(comparison, topics=False)})."


# -- parts -----------------------------------------------------------------------------------------


def _able(comparison: Comparison) -> list[int]:
    """The measures by which something could be significant."""
    return [number for number, tests in enumerate(comparison.performance_tests) if not tests.limit]


def _signs(comparison: Comparison, number: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(pair,): the sign of every significant difference; 0: not significant."""
    tests = comparison.performance_tests[number]
    return np.where(tests.significant, np.sign(np.nan_to_num(tests.difference)), 0.0)


def _places(comparison: Comparison, number: int, side: int) -> list[int]:
    """The pairs in which run_a is significantly better (1) or worse (-1)."""
    return (_signs(comparison, number) == side).nonzero()[0].tolist()


def _count_weak(comparison: Comparison, number: int) -> int:
    return int(np.count_nonzero(comparison.significant[number] & (comparison.cases[number] == 4)))


def _largest(comparison: Comparison, number: int) -> str:
    """Say which pair differs most where no difference is significant."""
    gaps = np.nan_to_num(np.abs(comparison.performance_tests[number].difference))
    best = int(np.argmax(gaps))
    if not gaps[best]:
        return "All means are equal."
    a, b = comparison.names(best)
    if comparison.performance_tests[number].difference[best] < 0:
        a, b = b, a
    return f"The largest difference: {a} is ahead of {b} by {gaps[best]:.4f}, {_p(comparison, number, best)}."


def _p(comparison: Comparison, number: int, pair: int) -> str:
    tests = comparison.performance_tests[number]
    if np.isnan(tests.p_adjusted[pair]):
        return "not tested"
    return f"p {p_phrase(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))}"


def _unjudged(comparison: Comparison, number: int, run: int) -> str:
    """Say how much of what a run returned is unjudged; empty: nothing is."""
    judged = comparison.judged_of_returned(run, number)
    if np.isnan(judged) or judged >= 1 or comparison.only_relevant:
        return ""
    return f"; {whole_percent(1 - judged)} of its top {comparison.depths[number]:,} is unjudged"


def _frame(comparison: Comparison, *, topics: bool = True) -> str:
    """The test, the correction, alpha and the number of topics."""
    first = comparison.performance_tests[0]
    parts = [find_test(first.test).name]
    single = len(comparison.pairs) == 1
    if first.correction not in (OWN, "none") and not single:
        parts.append(first.correction)
    parts.append(f"alpha {first.alpha:g}")
    if topics:
        parts.append(plural(len(comparison.topics), "topic"))
    return ", ".join(parts)


def _together(comparison: Comparison) -> str:
    """Say that several measures were tested, which was named first, and what p is adjusted for."""
    count = len(comparison.measures)
    if count == 1:
        return ""
    within = "; p is adjusted within each" if len(comparison.pairs) > 1 else ""
    return f" {count} measures were tested together ({comparison.measures[0]} first){within}."


def _by_first(comparison: Comparison) -> str:
    able = _able(comparison)
    return f" (by {comparison.measures[able[0]]})" if len(able) > 1 else ""


def _joined(texts: Sequence[str]) -> str:
    shown = texts[:MOST_MEASURES]
    rest = len(texts) - len(shown)
    return ", ".join(shown) + (f", and so on for {plural(rest, 'more measure')}" if rest else "")


def _limits(comparison: Comparison) -> str:
    return " ".join(comparison.limits)


def _with_limits(text: str, comparison: Comparison) -> str:
    """The text with the measures by which nothing could have been found, which come first."""
    return " ".join([*comparison.limits, text])


def _named(names: Sequence[str]) -> str:
    return first_few(list(names), MOST_RUNS)


def design_notes(found: Designs, *, every: bool = True) -> list[str]:
    """Return what a reader of a design should know; `every`: also what is the same for all designs."""
    changed = found.policies.changed()
    lines = [f"Policies that differ from the defaults: {changed}."] if changed else []
    lines += found.notes
    if not every:
        return lines
    how = f"correction {found.correction}; alpha {found.procedure.alpha:g}; seed {found.procedure.seed}"
    return [*lines, f"Power is that of a paired t test; {how}.", f"Policies: {found.policies.describe()}."]
