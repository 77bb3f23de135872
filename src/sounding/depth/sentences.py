"""The sentences of `depth`: the headline, findings by the guidelines of Lu et al., notes and legends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sounding import __version__
from sounding.core.arrays import NDArray
from sounding.core.text import first_few, join_names, percent, plural, whole_percent
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
CLEARLY = 0.05  # least distance below the median assessment; less is negligible
EXACT_FORM = "exact form"  # never a caution, and always shown
NAMED = 5  # runs that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One guideline: whether it asks for attention here, and what was found."""

    guideline: str
    heed: bool  # True: a caution; False: the guideline is met
    text: str


def _by_basis(measures: Named, basis: str) -> list[str]:
    return [name for name, measure in measures.items() if measure.definition.basis == basis]


def standard_depths(depths: Sequence[int]) -> Finding:
    """Compare runs at depths that others use too."""
    odd = [k for k in depths if k not in STANDARD]
    known = join_names(STANDARD)
    if odd:
        text = f"others do not report k = {join_names(odd)}; use {known}, or say why not."
    else:
        text = f"others report all of {join_names(depths)} too."
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
        outcome = (
            f"this evaluation differs: {'; '.join(deviations)}"
            if deviations
            else "this evaluation follows it"
        )
        return Finding(guideline=name, heed=bool(deviations), text=f"{plan} fixes them, and {outcome}.")
    if not recall:
        text = "no measure here is based on recall."
        return Finding(guideline=name, heed=False, text=text)
    low, high = discrimination[recall[0]]
    depend = "depends" if len(recall) == 1 else "depend"
    text = (
        f"no, because there is no plan file (--preregistered). {join_names(recall)} {depend} on the depth k"
    )
    if percent(low) != percent(high):
        text += (
            f": by {recall[0]}, {percent(low)} of the pairs differ significantly at one depth and"
            f" {percent(high)} at another"
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
    rules = f"ties by {ties} or {other}"
    if not moved.systems or moved.places == 0 or np.isnan(moved.places):
        return Finding(guideline=name, heed=False, text=f"{rules}: every run keeps its place.")
    who = runs[moved.systems[0]]
    text = (
        f"{rules}: the two rankings by {worst} have tau {tau:.3f}. {who} moves {moved.places:g}"
        f" place{'s' * (moved.places != 1)}, from {moved.before[0]:g} to {moved.after[0]:g}."
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
    if not pool.known:
        text = "no pool was recognized, so each depth may exceed the judged depth."
        return Finding(guideline=name, heed=True, text=text)
    beyond = [k for k in depths if k > pool.depth]
    how = pool.how_known
    if not beyond:
        text = f"no depth exceeds the pool depth, {pool.depth} (pooled runs {how})."
        return Finding(guideline=name, heed=False, text=text)
    text = f"k = {join_names(beyond)}: deeper than the pool depth of {pool.depth} (pooled runs {how})"
    measure, coverage, inverted = covered.get(beyond[-1], ("", np.nan, np.nan))
    if not np.isnan(coverage):
        text += (
            f". {measure}@{beyond[-1]} confirms {percent(coverage)} of the pairs that differ at the"
            f" reference, and reverses {percent(inverted)}"
            + "; other measures confirm at least as many"
            * (measures > 1)
        )
    return Finding(guideline=name, heed=True, text=f"{text}.")


def utility_beside_recall(measures: Named) -> Finding:
    """Show utility-based measures beside recall-based ones."""
    recall, utility = _by_basis(measures, "recall"), _by_basis(measures, "utility")
    alone = bool(recall) and not utility
    if alone:
        text = (
            f"no, only recall-based measures are used ({join_names(recall)}). Add a utility measure, such as"
            " -m 'RBP(p=0.8)'."
        )
    elif recall:
        text = f"{join_names(utility)} beside {join_names(recall)}."
    else:
        text = f"{join_names(utility)}, and no recall-based measure."
    return Finding(guideline="utility measures beside recall-based ones", heed=alone, text=text)


def unpooled_runs(found: Sequence[UnjudgedDocuments], pool: Pool, depth: int) -> Finding:
    """Look at the number and ranks of the unjudged documents of runs that did not contribute to the pool."""
    name = "runs outside the pool"
    if not pool.known:
        text = "no pool was recognized; list the pooled runs with --info."
        return Finding(guideline=name, heed=True, text=text)
    if not found:
        return Finding(guideline=name, heed=False, text="every run contributed to the pool.")
    order = sorted(found, key=lambda one: (-one.share, one.run))
    shown = [
        f"{one.run} ({one.number:,}, {whole_percent(one.share)}; the first at median rank {one.first:g})"
        for one in order[:NAMED]
        if one.number
    ]
    how = pool.how_known
    some = [one for one in found if one.number]
    text = (
        f"{len(found)} of {len(pool.contributing)} runs did not contribute ({how}); {len(some)} of them"
        f" {'has' if len(some) == 1 else 'have'} unjudged documents in the first {depth}"
    )
    if shown:
        text += f", most in {join_names(shown)}"
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
    name = "runs that lead early"
    first = f"among the first {len(leading)} by {measure}@{early[0]}"
    if not both or count < 4:
        text = f"no run {first} is assessed clearly less than the others at {deep[0]}."
        return Finding(guideline=name, heed=False, text=text)
    rule = f"{first}, but among the {len(least)} least assessed at {deep[0]}"
    leaders = [
        f"{runs[run]} (place {places[early[0]][run]}, then {places[deep[0]][run]}; A_p {assessment[run]:.2f})"
        for run in both
    ]
    return Finding(guideline=name, heed=True, text=f"{rule}: {first_few(leaders, NAMED)}.")


def _least_assessed(assessment: Floats, count: int) -> set[int]:
    """Return the places of the runs whose assessment is clearly below that of all others, up to a number."""
    known = np.sort(assessment[np.isfinite(assessment)])
    if len(known) <= count:
        return set()
    limit = min(known[count], np.median(known) - CLEARLY)
    return set((assessment < limit).nonzero()[0].tolist())


def _first(values: Floats, count: int) -> list[int]:
    """Return the places of the smallest known values, up to a number."""
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


URGENT = (
    "runs that lead early",
    "extended evaluation",
    "runs outside the pool",
    "tie rule",
)  # the first cautions


def cautions(findings: Sequence[Finding]) -> list[str]:
    """Return the findings that need attention, the most important first."""
    shown = [finding for finding in findings if finding.heed]
    first = [finding for name in URGENT for finding in shown if finding.guideline == name]
    return [_titled(finding) for finding in [*first, *(one for one in shown if one not in first)]]


def other_findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the exact form of the measures, and in one line which guidelines are met."""
    exact = [finding for finding in findings if finding.guideline == EXACT_FORM]
    yield from map(_titled, exact)
    met = [finding.guideline for finding in findings if not finding.heed and finding not in exact]
    if met:
        yield f"These guidelines are met (Lu, Moffat & Culpepper 2016): {join_names(met)}."


def _titled(finding: Finding) -> str:
    return f"{finding.guideline[0].upper()}{finding.guideline[1:]}: {finding.text}"


def not_drawn(coefficient: str) -> str:
    """Say why volatility is not in the chart."""
    return f"no figure of volatility by {coefficient}, because a distance has no threshold"


def notes_on(
    rankings: Rankings, procedure: Procedure, depths: Sequence[int], measures: Sequence[OverDepth]
) -> Iterator[str]:
    """Say what a reader should be warned of."""
    topics = len(rankings.judgments.topics)
    if topics < FEW_TOPICS:
        yield f"With only {plural(topics, 'topic')} (fewer than {FEW_TOPICS}), differences may be chance."
    lacking = sum(bool(ranking.missing.any()) for ranking in rankings.plain)
    if lacking:
        count = "are left out" if rankings.policies.missing == "skip" else "count as 0"
        yield f"{lacking} run{'s lack' if lacking > 1 else ' lacks'} judged topics, which {count}."
    if rankings.policies.unjudged == "condensed":
        lengths = np.concatenate([ranking.retrieved for ranking in rankings.seen()])
        yield (
            f"Condensed runs have {lengths.mean():.1f} documents on average, {lengths.max()} at most; a"
            " deeper k changes nothing."
        )
    if not is_quick(procedure):
        yield f"The {procedure.test} test covers only the chosen depths."
    yield from _beyond_the_lists(rankings.deepest, depths, measures)
    for one in measures:
        yield from _not_tested(one, depths)


def _beyond_the_lists(deepest: int, depths: Sequence[int], measures: Sequence[OverDepth]) -> Iterator[str]:
    """Say which depths no list reaches."""
    beyond = [f"k = {k:,}" for k in depths if k > deepest]
    beyond += dict.fromkeys(
        f"reference {one.reference_name}" for one in measures if one.reference_depth > deepest
    )
    if beyond:
        yield f"No run is as deep as {', '.join(beyond)}; the longest has {deepest:,} documents."


def _not_tested(one: OverDepth, depths: Sequence[int]) -> Iterator[str]:
    """Say how many pairs differ by the same on every topic, at the chosen depths."""
    counts = {k: int(one.separation.constant[one.separation.ks.index(k)]) for k in depths}
    constant = [f"{count:,} at {k}" for k, count in counts.items() if count]
    if constant:
        yield (
            f"{one.name}: the t test cannot test a difference that is equal on all topics (of"
            f" {one.separation.order.shape[1]:,} pairs, {', '.join(constant)}). Use --test randomization."
        )


# -- the headline ---------------------------------------------------------------------------------


def too_few_runs(runs: int, topics: int) -> str:
    """Say that so few runs have no order that could be stable."""
    verb = "is" if runs == 1 else "are"
    frame = plural(topics, "topic")
    return f"{plural(runs, 'run')} {verb} too few to say whether depth changes their order ({frame})."


def no_threshold(coefficient: str) -> str:
    """Say that a distance cannot show stability."""
    return f"{coefficient} cannot show from which depth the order is stable: it is a distance. Use tau_b."


def stable(begins: Mapping[str, int | None], how: Agreeing, runs: int, deepest: int, topics: int) -> str:
    """Say from which depth on the order of the runs is stable, by measure; None: nowhere."""
    named = "tau" if how.coefficient == "tau_b" else how.coefficient
    frame = f"{named} of at least {how.threshold:g} between any two depths to {deepest:,}"
    frame += f"; {plural(topics, 'topic')}"
    steady = [f"from k = {begin:,} on by {name}" for name, begin in begins.items() if begin is not None]
    never = [name for name, begin in begins.items() if begin is None]
    order = f"The order of the {runs} runs"
    if not steady:
        return f"{order} is not stable at any depth by {join_names(never)} (no {frame})."
    text = f"{order} is stable {join_names(steady)} ({frame})"
    return f"{text}, but at no depth by {join_names(never)}." if never else f"{text}."


# -- below the tables -------------------------------------------------------------------------------

ERROR_BARS = (
    "Error bars (±) of two runs are disjoint if a paired t test finds a significant difference between them."
)
NO_CASE = "A dash marks pairs with too few common topics, or with the same difference on every topic."


NO_PAIR_TESTED = "No pair could be tested: two runs need at least 2 topics in common."


def columns_explained(references: Sequence[str], p: float, residual: bool) -> str:
    """Explain the columns of the table of measures by depth; `p` is that of RBO."""
    missing = ' "open": the most that unjudged documents and deeper ranks could add.' if residual else ""
    return (
        '"means": the means of the worst and the best run. "differ": the share of the pairs that differ'
        ' significantly. "p": the median p-value over pairs. The next two columns are about the pairs that'
        f" differ significantly at the reference ({', '.join(references)})."
        ' "confirmed": the share with a significant difference in the same order here.'
        ' "reversed": the share in the opposite order here, significant or not.'
        f' "tau", "tau_ap_b", "RBO" (p {p:g}) and "r" (Pearson\'s): how well the'
        f" means of the runs agree with the reference.{missing}"
        ' "A_p": the judged share of the first k documents.'
    )


def none_to_cover(measures: Sequence[str]) -> str:
    """Name the measures whose reference separates no pair."""
    return f"{', '.join(measures)}: no pair differs significantly at the reference."


def no_tau(measures: Sequence[str]) -> str:
    """Name the measures, cut at a depth, by which the runs have no order to compare."""
    return f"No tau for {', '.join(measures)}: all runs have the same mean there or at the reference."


def test_used(test: str, correction: str, alpha: float) -> str:
    """Name the test, its correction and its level."""
    corrected = "" if correction == "own" else f", correction {correction}"
    return f"Test: {test[0].lower()}{test[1:]}{corrected}, alpha {alpha:g}."


def changed_policies(policies: str) -> str:
    """Name the policies that differ from the defaults."""
    return f"Policies that differ from the defaults: {policies}."


def all_policies(policies: str) -> str:
    """Name all policies."""
    return f"Policies: {policies}."


def interval_widths(widths: Sequence[str]) -> str:
    """Explain comparison intervals; `widths` has the half-widths by measure and depth."""
    return (
        "Runs are sorted by AP@10. Two runs differ significantly, over all pairs, if their intervals are"
        f" disjoint; an interval is the mean ± {'; '.join(widths)}."
    )


def no_interval(measure: str, depths: Sequence[int]) -> str:
    """Say at which depths the analysis of variance finds no difference among the runs."""
    named = ", ".join(map(str, depths))
    return f"{measure} at {named}: no interval, because the F test finds no difference among the runs."


def case_changes(ks: Sequence[int], steps: Sequence[str]) -> str:
    """Say between which of the depths the case of a pair changes."""
    looked = f"{len(ks)} depths from {ks[0]} to {ks[-1]:,} were checked"
    if not steps:
        return f"{looked}, and the case of the pair is the same at all of them."
    return f"{looked}. The case of the pair changes from {', from '.join(steps)}."


def pool_columns(pairs: int) -> str:
    """Explain the columns of the table of shallower pools."""
    return (
        f'The table counts {plural(pairs, "pair")}. "reversed": pairs in the opposite order in the whole'
        ' pool. "differ": pairs that differ significantly in this pool (claims). "claims reversed": claims in'
        ' the opposite order in the whole pool. "lost": claims that are not significant there.'
        ' "missed": pairs that differ significantly only there. "places": the largest move of a run.'
    )


def subset_columns(draws: int, seed: int) -> str:
    """Explain the columns of the table of random parts of the judgments."""
    return (
        '"tau": how well the ranking under a subset of the judgments agrees with the ranking under all of'
        f" them, mean and range of {draws} draws (seed {seed}; Buckley & Voorhees 2004)."
    )


def ordering_columns(p: float) -> str:
    """Explain the columns of the table of orderings."""
    return (
        "Each ranking is compared with the reference, with that under the other tie rule, and with those by"
        f' other measures. "tau" is variant b; "rho" is Spearman\'s; "RBO" has p {p:g} and is extrapolated,'
        ' with its possible range. "places": the largest move of a run, and which run it is.'
    )


def no_weights(measures: Sequence[str]) -> str:
    """Say which measures give no rank a weight of its own."""
    return f"{', '.join(measures)}: ranks have no fixed weights."
