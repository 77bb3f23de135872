"""The sentences of `depth`: findings by the guidelines of Lu et al., and notes below the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sounding import __version__
from sounding.core.arrays import NDArray
from sounding.core.policies import Policies
from sounding.core.text import first_few, percent, plural, whole_percent
from sounding.depth.over_depth import OverDepth, Rankings, UnjudgedDocuments
from sounding.depth.ratios import is_quick
from sounding.depth.volatility import Agreeing
from sounding.evaluate.result import FEW_TOPICS
from sounding.measures import Measure
from sounding.runs.pool import Pool
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import MostPlaces

Floats = NDArray[np.float64]
Named = Mapping[str, Measure]  # measures by what they are called here

STANDARD = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # the cut-offs of trec_eval
LEADING = 0.1  # the share of the runs that are said to lead
LEAST = 0.25  # the share of the runs that are said to be least assessed
CLEARLY = 0.05  # how far below the median assessment they have to be: less is no difference to speak of
EXACT_FORM = "exact form"  # not to be heeded, and always told
NAMED = 5  # runs that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One guideline: whether it asks for attention here, and what was found."""

    guideline: str
    heed: bool  # something is to be heeded; otherwise the guideline is met
    text: str


def _by_basis(measures: Named, basis: str) -> list[str]:
    return [name for name, measure in measures.items() if measure.definition.basis == basis]


def standard_depths(depths: Sequence[int]) -> Finding:
    """Compare runs at depths that others use too."""
    odd = [k for k in depths if k not in STANDARD]
    known = _listed(STANDARD)
    if odd:
        text = (
            f"k = {_listed(odd)}: not among the cut-offs that others report ({known}); say why, or use those."
        )
    else:
        text = f"all of {_listed(depths)} are cut-offs that others report."
    return Finding(guideline="standard depths", heed=bool(odd), text=text)


def fixed_beforehand(
    measures: Named,
    discrimination: Mapping[str, tuple[float, float]],
    plan: str | None,
    deviations: Sequence[str] = (),
) -> Finding:
    """Fix the depths of recall-based measures before the experiment.

    `discrimination` has, by the name of a measure, the least and the largest ratio over the depths.
    """
    recall, name = _by_basis(measures, "recall"), "depths fixed beforehand"
    if plan is not None:
        outcome = f"deviates: {'; '.join(deviations)}" if deviations else "it is followed"
        return Finding(guideline=name, heed=bool(deviations), text=f"by {plan}; {outcome}.")
    if not recall:
        text = "no recall-based measure: k only says how much of the sum is known."
        return Finding(guideline=name, heed=False, text=text)
    low, high = discrimination[recall[0]]
    text = f"no plan file (--preregistered) fixes them. For {_listed(recall)} another k is another measure"
    if not np.isnan(low):
        text += (
            f": by {recall[0]} the share of pairs told apart goes from {percent(low)} to"
            f" {percent(high)} over the depths shown"
        )
    return Finding(guideline=name, heed=True, text=f"{text}.")


_DIVISORS = {
    "a": "all known relevant documents, R (norm 'a')",
    "b": "min(k, R) (norm 'b')",
    "c": "the relevant documents of the pool of depth k (norm 'c')",
}
_IDEALS = {
    "a": "the best k of all judged documents (norm 'a', as trec_eval)",
    "b": "the best k of the pool of depth k (norm 'b')",
}


def exact_form(measures: Named, command: str | None) -> Finding:
    """Say how a truncated measure is computed, or name the tool and its options."""
    forms = [text for name, measure in measures.items() if (text := _form(measure, name))]
    by = f"sounding {__version__}" + ("" if command is None else f": {command}")
    return Finding(guideline=EXACT_FORM, heed=False, text="; ".join([*forms, by]) + ".")


def _form(measure: Measure, name: str) -> str:
    norm = measure.get("norm")
    if measure.name in ("AP", "Q"):
        as_in = ", as in trec_eval" if (measure.name, norm) == ("AP", "a") else ""
        return f"{name}@k divides by {_DIVISORS[norm]}{as_in}"
    if measure.name == "RBP":
        return f"{name} has p = {measure.get('p'):g}, its sum cut at k"
    if measure.name == "nDCG":
        return f"{name}@k divides by the DCG of {_IDEALS[norm]}"
    return ""


def tie_rule(
    ties: str, other: str, found: Mapping[str, tuple[float, MostPlaces]], runs: Sequence[str]
) -> Finding:
    """Beware of the tie rule: what it does to the ordering of the runs, by measure cut at a depth.

    `found` has tau between the orderings under the two rules, and the runs that move furthest.
    """
    name = "tie rule"
    worst = min(found, key=lambda one: (np.nan_to_num(found[one][0], nan=1.0), -found[one][1].places))
    tau, moved = found[worst]
    rules = f"ties {ties} against {other}"
    if not moved.systems or moved.places == 0 or np.isnan(moved.places):
        return Finding(guideline=name, heed=False, text=f"{rules}: every run keeps its place.")
    who = runs[moved.systems[0]]
    text = (
        f"{rules}: by {worst} tau is {tau:.3f}, and the run that moves furthest is {who},"
        f" {moved.places:g} place{'s' * (moved.places != 1)}, from {moved.before[0]:g} to"
        f" {moved.after[0]:g}."
    )
    return Finding(guideline=name, heed=True, text=text)


def extended_evaluation(
    depths: Sequence[int], pool: Pool, covered: Mapping[int, tuple[str, float, float]], measures: int = 1
) -> Finding:
    """Do not evaluate deeper than the judgments reach, unless the collection was shown to allow it.

    `covered` has for depths the measure with the lowest coverage there, its coverage and inversions;
    `measures` is how many there are.
    """
    name = "extended evaluation"
    if not pool.contributing.any():
        text = "no pool was recognized: every depth may lie below what was judged."
        return Finding(guideline=name, heed=True, text=text)
    beyond = [k for k in depths if k > pool.depth]
    how = "guessed" if pool.guessed else "listed"
    if not beyond:
        text = f"no depth is below the pool's, {pool.depth} (contributing runs {how})."
        return Finding(guideline=name, heed=False, text=text)
    text = f"k = {_listed(beyond)}: below the pool depth {pool.depth} (contributing runs {how})"
    measure, coverage, inverted = covered.get(beyond[-1], ("", np.nan, np.nan))
    if not np.isnan(coverage):
        text += (
            f"; at {beyond[-1]} {measure} confirms {percent(coverage)} of what the reference separates and"
            f" turns {percent(inverted)} round"
            f"{', and other measures confirm as much or more' if measures > 1 else ''}"
        )
    return Finding(guideline=name, heed=True, text=f"{text}.")


def utility_beside_recall(measures: Named) -> Finding:
    """Show utility-based measures beside recall-based ones."""
    recall, utility = _by_basis(measures, "recall"), _by_basis(measures, "utility")
    alone = bool(recall) and not utility
    if alone:
        advice = "give one beside it that does not ask for R, such as -m 'RBP(p=0.8)'."
        text = f"{_listed(recall)} alone: {advice}"
    elif recall:
        text = f"{_listed(utility)} beside {_listed(recall)}."
    else:
        text = f"{_listed(utility)}, and no recall-based measure."
    return Finding(guideline="utility beside recall", heed=alone, text=text)


def unpooled_runs(found: Sequence[UnjudgedDocuments], pool: Pool, depth: int) -> Finding:
    """Look at the number and ranks of the unjudged documents of runs that did not contribute to the pool."""
    name = "runs outside the pool"
    if not pool.contributing.any():
        text = "no pool was recognized: it is not known which runs contributed; list them with --info."
        return Finding(guideline=name, heed=True, text=text)
    if not found:
        return Finding(guideline=name, heed=False, text="every run contributed to the pool.")
    order = sorted(found, key=lambda one: (-one.share, one.run))
    shown = [
        f"{one.run} {one.number:,} ({whole_percent(one.share)}; median rank {one.first:g} of a topic's first,"
        f" {one.middle:g} of all)"
        for one in order[:NAMED]
        if one.number
    ]
    how = "guessed" if pool.guessed else "listed"
    some = [one for one in found if one.number]
    text = (
        f"{len(found)} of {len(pool.contributing)} runs did not contribute ({how}); {len(some)} of them"
        f" {'has' if len(some) == 1 else 'have'} unjudged documents down to {depth}"
    )
    if shown:
        text += f", most of all {_listed(shown)}"
    return Finding(guideline=name, heed=bool(some), text=f"{text}.")


def early_leaders(
    runs: Sequence[str],
    measure: str,
    early: tuple[int, Floats],
    deep: tuple[int, Floats],
    assessment: Floats,
) -> Finding:
    """Runs among the first tenth at a shallow depth that are in the least assessed quarter at a deep one.

    Least assessed are only runs clearly below the others: none that ties with a run outside the quarter.
    `early` and `deep` are depths with the means there, (run,); `assessment` is A_p at the deep one.
    """
    count = len(runs)
    leading = set(_first(-_or(early[1], -np.inf), max(1, int(LEADING * count))))
    least = _least_assessed(assessment, max(1, int(LEAST * count)))
    both = sorted(leading & least, key=lambda run: -early[1][run])
    places = {k: _places_of(means) for k, means in (early, deep)}
    name = "early leaders"
    first = f"among the first {len(leading)} by {measure}@{early[0]}"
    if not both or count < 4:
        text = f"no run {first} is assessed clearly less than the others at {deep[0]}."
        return Finding(guideline=name, heed=False, text=text)
    rule = f"{first} and the {len(least)} least assessed at {deep[0]}"
    leaders = [
        f"{runs[run]} (place {places[early[0]][run]}, then {places[deep[0]][run]}; A_p {assessment[run]:.2f})"
        for run in both
    ]
    return Finding(guideline=name, heed=True, text=f"{rule}: {first_few(leaders, NAMED)}.")


def _least_assessed(assessment: Floats, count: int) -> set[int]:
    """The places of at most so many runs whose assessment is clearly below that of all others."""
    known = np.sort(assessment[np.isfinite(assessment)])
    if len(known) <= count:
        return set()
    limit = min(known[count], np.median(known) - CLEARLY)
    return set((assessment < limit).nonzero()[0].tolist())


def _first(values: Floats, count: int) -> list[int]:
    """The places of so many of the smallest values that are known."""
    order = np.argsort(values, kind="stable")[:count]
    return order[np.isfinite(values[order])].tolist()


def _or(values: Floats, unknown: float) -> Floats:
    """The values, with this in place of those that are not known."""
    return np.where(np.isnan(values), unknown, values)


def _places_of(means: Floats) -> NDArray[np.int64]:
    """(run,): places from 1, the highest mean first."""
    places = np.empty(len(means), np.int64)
    places[np.argsort(-_or(means, -np.inf), kind="stable")] = np.arange(1, len(means) + 1)
    return places


def _listed(items: Sequence[object]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def heeded(findings: Sequence[Finding]) -> Iterator[str]:
    """Sentences for people: what is to be heeded, then in one line which guidelines are met."""
    shown = [finding for finding in findings if finding.heed or finding.guideline == EXACT_FORM]
    for finding in shown:
        yield f"{finding.guideline[0].upper()}{finding.guideline[1:]}: {finding.text}"
    met = [finding.guideline for finding in findings if finding not in shown]
    if met:
        yield f"Guidelines that are met: {', '.join(met)}."


def not_drawn(coefficient: str) -> str:
    """Say why volatility is not in the chart."""
    return f"volatility is not drawn by {coefficient}, a distance, which has no threshold"


def notes_on(
    rankings: Rankings, procedure: Procedure, depths: Sequence[int], measures: Sequence[OverDepth]
) -> Iterator[str]:
    """What a reader should be warned of."""
    topics = len(rankings.judgments.topics)
    if topics < FEW_TOPICS:
        yield f"Only {plural(topics, 'topic')}, fewer than {FEW_TOPICS}: differences may well be chance."
    lacking = sum(bool(ranking.missing.any()) for ranking in rankings.plain)
    if lacking:
        count = "are left out" if rankings.policies.missing == "skip" else "count as 0"
        yield f"{lacking} run{'s lack' if lacking > 1 else ' lacks'} judged topics, which {count}."
    if rankings.policies.unjudged == "condensed":
        lengths = np.concatenate([ranking.retrieved for ranking in rankings.seen()])
        yield (
            f"Condensed lists have {lengths.mean():.1f} documents on average, {lengths.max()} at most: deeper"
            " k adds nothing to them."
        )
    if not is_quick(procedure):
        yield f"The test {procedure.test} was made at the chosen depths only."
    yield from _beyond_the_lists(rankings.deepest, depths, measures)
    for one in measures:
        yield from _not_tested(one, depths)


def _beyond_the_lists(deepest: int, depths: Sequence[int], measures: Sequence[OverDepth]) -> Iterator[str]:
    """Which depths no list reaches."""
    beyond = [f"k = {k:,}" for k in depths if k > deepest]
    beyond += dict.fromkeys(
        f"reference {one.reference_name}" for one in measures if one.reference_depth > deepest
    )
    if beyond:
        yield f"{', '.join(beyond)}: deeper than every list; the longest has {deepest:,} documents."


def _not_tested(one: OverDepth, depths: Sequence[int]) -> Iterator[str]:
    """How many pairs differ by the same on every topic, at the chosen depths."""
    counts = {k: int(one.separation.constant[one.separation.ks.index(k)]) for k in depths}
    constant = [f"{count:,} at {k}" for k, count in counts.items() if count]
    if constant:
        yield (
            f"{one.name}: a difference that is the same on every topic leaves no error to test against. Pairs"
            f" with one, of {one.separation.order.shape[1]:,}: {', '.join(constant)}. They are not tested,"
            " nor counted in apart and p; --test randomization tests them."
        )


# -- below the tables -------------------------------------------------------------------------------

HEED = "To heed, after the closing guidelines of Lu, Moffat & Culpepper (2016):"
ERROR_BARS = (
    "Error bars (±) are disjoint where a paired t test separates the two. Tested as a pair by itself."
)
NO_CASE = "No case (–): too few common topics, or a difference that is the same on every topic."


NO_PAIR_TESTED = "No pair could be tested: a test needs at least 2 topics that two runs share."


def columns_explained(runs: int, topics: int, references: Sequence[str], p: float, residual: bool) -> str:
    """Explain the columns of the table of measures by depth; `p` is that of RBO."""
    last = "A_p, share of the first k that was judged, is a mean over the runs."
    if residual:
        last = (
            "open, what unjudged documents and deeper ranks could add to the value (the residual), and A_p,"
            " share of the first k that was judged, are means over the runs."
        )
    return (
        f"{runs} runs, {plural(runs * (runs - 1) // 2, 'pair')}, {plural(topics, 'topic')}. means: of the"
        " worst and the best run. apart: pairs that the test separates; p: its median over the pairs."
        f" Against the reference ({', '.join(references)}): cover and turned, of the pairs that it separates,"
        " those separated alike and those in the other order; tau, tau_ap_b (the"
        f" symmetric tau_ap), RBO (p {p:g}) and r (Pearson) of the runs' means. {last}"
    )


def none_to_cover(measures: Sequence[str]) -> str:
    """Name the measures whose reference separates no pair."""
    return f"{', '.join(measures)}: the reference separates no pair, so that none can be covered."


def no_tau(measures: Sequence[str]) -> str:
    """Name the measures, cut at a depth, by which the runs have no order to compare."""
    return (
        f"No tau at {', '.join(measures)}: all runs have the same mean there, or at the reference, so that"
        " there is no order to compare."
    )


def how_tested(test: str, correction: str, alpha: float, policies: Policies) -> str:
    """Name the test, its correction and level, and the policies."""
    corrected = "" if correction == "own" else f", correction {correction}"
    named = f"{test[0].lower()}{test[1:]}{corrected}"
    return f"Test: {named}, alpha {alpha:g}. Policies: {policies.describe()}."


def too_few_runs(runs: int) -> str:
    """Say that so few runs have no order that could be stable."""
    return f"Stable: not known; {plural(runs, 'run')} are too few to say."


def no_threshold(coefficient: str) -> str:
    """Say that a distance does not tell what is stable."""
    return f"Stable: not known by {coefficient}, a distance, which has no threshold; use tau_b."


def stable(begins: Mapping[str, int | None], how: Agreeing, deepest: int) -> str:
    """Say from which depth on the order of the runs is stable, by measure; None: nowhere."""
    parts = [
        f"{name} from {begin} on" if begin is not None else f"{name} nowhere"
        for name, begin in begins.items()
    ]
    named = "tau" if how.coefficient == "tau_b" else how.coefficient
    agreed = f"any two depths down to {deepest:,} order the runs with a {named} of at least {how.threshold:g}"
    if all(begin is None for begin in begins.values()):
        return f"Stable: {', '.join(parts)}: there is no depth from which on {agreed}."
    return f"Stable: {', '.join(parts)}; that is, from there on {agreed}."


def interval_widths(widths: Sequence[str]) -> str:
    """Explain comparison intervals; `widths` has the half-widths by measure and depth."""
    return (
        "Runs in the order of AP@10. Comparison intervals reach this far on either side of a mean, and runs"
        f" with disjoint ones differ significantly, all pairs taken together: {'; '.join(widths)}."
    )


def no_interval(measure: str, depths: Sequence[int]) -> str:
    """Say at which depths the analysis of variance finds no difference among the runs."""
    named = ", ".join(map(str, depths))
    return (
        f"{measure} at {named}: no interval; the F test over all runs does not reject, so no pair is looked"
        " at."
    )


def case_changes(ks: Sequence[int], steps: Sequence[str]) -> str:
    """Say between which of the depths the case of a pair changes."""
    looked = f"Of the {len(ks)} depths looked at, from {ks[0]} to {ks[-1]:,}"
    if not steps:
        return f"{looked}, the case is the same at every one."
    return f"{looked}, the case changes from {', from '.join(steps)}."


def pool_columns(pairs: int) -> str:
    """Explain the columns of the table of shallower pools."""
    return (
        f"Of {plural(pairs, 'pair')}: turned, in the other order than under the whole pool;"
        " apart, significant in this pool, which is a claim. Claims that are reversed, or lost, under the"
        " whole pool; missed: claims of the whole pool alone. places: the most that a run moves."
    )


def subset_columns(draws: int, seed: int) -> str:
    """Explain the columns of the table of random parts of the judgments."""
    return (
        f"tau of each measure with its own ordering under all judgments: mean and range of {draws}"
        f" draws (seed {seed}; Buckley & Voorhees 2004)."
    )


def ordering_columns(p: float) -> str:
    """Explain the columns of the table of orderings."""
    return (
        "The orderings of the runs by each measure at each depth, against the reference, the other tie rule,"
        " and other measures at the same depth. tau: variant b. rho: Spearman. RBO:"
        f" p {p:g}, extrapolated, and the least and most that it could be whatever followed."
        " places: the most that a run moves, and a run that does. Programs get every coefficient."
    )


def no_weights(measures: Sequence[str]) -> str:
    """Say which measures give no rank a weight of its own."""
    return f"{', '.join(measures)}: what a rank counts depends on the documents at others."
