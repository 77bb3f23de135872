"""The sentences of a report, with the numbers that fill them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from sounding.calibrate.result import Calibration
from sounding.compare.result import Comparison
from sounding.core.text import (
    first_few,
    hours,
    join_names,
    likelihood,
    p_phrase,
    plural,
    sentence,
    whole_percent,
)
from sounding.depth.result import DepthStudy
from sounding.depth.volatility import THRESHOLD
from sounding.evaluate.result import FEW_RUNS, FEW_TOPICS
from sounding.runs.pool import Pool
from sounding.statistics.forecasts import SURE

SECONDS = 30  # to judge a document (Voorhees 2002)
NAMED = 3  # runs named in a sentence
SAME = 1e-12  # smaller differences of means are rounding errors

LEADS = {  # what each section shows
    "labels": "See what people or the machine alone would say, and whether the labels are fit for use.",
    "pairs": "Pick any two runs, or read the table of all pairs.",
    "topics": "See which topics are hard, and on which the runs differ most.",
    "slices": "See the values by group of topics, and where another run is best.",
    "measures": "See every run by every measure, with the lowest and highest value that it can still reach.",
    "depth": "See whether the ranking of the runs depends on the evaluation depth.",
    "collection": "See what the judgments can be used for: pool, growth, unique documents, leave-out, ties.",
    "methods": "To reproduce this report you need these policies, tests, sources, files and versions.",
}
NO_POOL = (
    "It is not known which runs were pooled, so growth, unique relevant documents and leave-out are missing."
    " List the pooled runs with --info."
)
SEE_PAIRS = "See which pairs of runs differ."
WHY_PAIRS = "The differences have narrower intervals than the runs, because runs share documents."
WITH_LABELS = "Labels by machines are no judgments: leave out --labels to see what people's judgments say."
NOT_ASKED_FOR = "--sections does not ask for it."
BOUNDED = "Values count unjudged documents as not relevant. Bounds show how far a value can move."
ADD_A_RUN = "Add a second run."
WHY_A_RUN = "A comparison needs two."
RESOLVE = "Make the runs comparable."
RESOLVE_WHY = "The verdict above says why they could not be compared."
NOT_TESTED = "The two runs in question could not be tested against each other."
JUDGE = "Judge the missing documents."
ADD_TOPICS = f"Add topics: at least {FEW_TOPICS} in total."
FEWER_PAIRS = "Add topics, or test fewer pairs with --baseline."
FEWER_PAIRS_WHY = "Tested alone, these two runs differ significantly; corrected for all pairs, they do not."
EQUAL_WHY = "Even 1,000 topics would not show a difference of this size. Choose by cost or speed."
SAME_WHY = "They have the same mean. Choose by cost or speed."
NOTHING = "Nothing: you can use this result."
NOTHING_FOLLOWS = "No conclusion follows from that."


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The facts about two runs, the better one first."""

    first: str
    second: str
    difference: float
    p: float  # adjusted for all pairs
    at_floor: bool
    alone: bool  # they would differ significantly if no other pair were tested
    settled: bool | None  # no further judgment can reverse the order; None: not known
    stays: float  # chance that the leader stays ahead if more is judged; NaN: not known
    unstated: str  # why that chance is not known
    weak: bool  # one of the two was judged more completely
    judged: tuple[float, float]
    complete: (
        int  # the depth to which both are completely judged, where that is all the measure looks at; 0: not
    )

    @property
    def equal(self) -> bool:
        """Say whether both have the same mean."""
        return self.difference < SAME

    @property
    def doubtful(self) -> bool:
        """Say whether uneven judging may explain the lead: not if it would very likely survive judging."""
        return self.weak and not self.settled and not self.stays >= SURE


def names_of(runs: Sequence[str]) -> str:
    """Name the first runs: `a`, `a and b`, `a, b, c and 4 more`."""
    if len(runs) > NAMED + 1:
        return first_few(runs, NAMED)
    return join_names(runs)


def estimated_best(run: str, value: float, measure: object) -> str:
    """Say which run is estimated best."""
    return f"{run} is estimated best by {measure}: {value:.3f}."


def estimated_lead(tied: int, others: int, *, tested: bool) -> str:
    """Say how many runs are statistically tied with the best."""
    if not tested:
        return ""
    if not tied:
        return f"It is significantly better than all {plural(others, 'other run')}."
    if tied == others:
        return f"It is not significantly better than any of {plural(others, 'other run')}."
    return f"It is statistically tied with {tied:,} of {plural(others, 'other run')}."


def how_to_read_estimates(pairs: int) -> str:
    """Explain the leaderboard of estimates."""
    return (
        "Values are estimates of what complete judgments by people would give; intervals are for these"
        f" topics. Lines join runs that do not differ significantly ({plural(pairs, 'pair')}, max-t)."
    )


def fitness_unknown(reason: str) -> str:
    """Say that the labels could not be checked."""
    return f"Whether the labels are fit for use is not known: {reason}"


def title(runs: int, topics: int, about: str) -> str:
    """Give the page its title."""
    if not about:
        return f"{plural(runs, 'run')} on {plural(topics, 'topic')}"
    return f"{about} among {plural(runs, 'run')} on {plural(topics, 'topic')}"


# -- who wins --------------------------------------------------------------------------------------


def one_run(run: str, measure: str, value: float) -> str:
    """Say that there is nothing to compare."""
    return f"There is only one run: {run}, with {measure} {value:.4f}."


def highest(run: str, sharing: int, measure: str, value: float) -> str:
    """Name the leader if no test is possible; `sharing` is the number of runs with the same value."""
    if sharing > 1:
        return f"{sharing:,} runs share the highest {measure} ({value:.4f}). {NOTHING_FOLLOWS}"
    return f"{run} has the highest {measure} ({value:.4f}), but no conclusion follows from that."


def place(run: str, number: int, runs: int, measure: str, value: float) -> str:
    """Give the place of a run."""
    return f"{run} ranks {number:,} of {runs:,} by {measure} ({value:.4f})."


def beats(beaten: int, better: int, tied: int) -> str:
    """Say how many runs one run beats, how many beat it, and how many comparisons are undecided."""
    parts = [
        f"it is significantly better than {plural(beaten, 'run')}" if beaten else "",
        f"{plural(better, 'run')} {'is' if better == 1 else 'are'} significantly better than it"
        if better
        else "",
        f"{tied:,} {'is' if tied == 1 else 'are'} statistically tied with it" if tied else "",
    ]
    return sentence("; ".join(filter(None, parts)))


def undecided(reasons: Mapping[str, Sequence[str]]) -> str:
    """Name the runs that are tied with another one, by what would decide each comparison."""
    parts = [f"{names_of(runs)} ({why})" for why, runs in reasons.items()]
    return f"Undecided: {'; '.join(parts)}." if parts else ""


def uneven(runs: Sequence[str]) -> str:
    """Name the runs whose significant difference may be due to uneven judging."""
    return f"Uneven judging may explain the difference from {names_of(runs)}."


def winner(first: str, tied: int, beaten: int, runs: int, measure: str, biased: bool) -> str:
    """Say who wins, or how many share the lead; `biased`: the leader was judged more completely."""
    if not tied:
        others = {2: "the other run", 3: "both other runs"}.get(runs, f"all {runs - 1:,} other runs")
        if beaten < runs - 1:
            others = f"the {plural(beaten, 'run')} that could be tested"
        if biased:
            return (
                f"{first} scores significantly higher than {others} by {measure},"
                " but uneven judging may explain this."
            )
        return f"{first} wins: it is significantly better than {others} by {measure}."
    if tied == runs - 1:
        none = "neither of the other 2 runs" if runs == 3 else f"none of the other {runs - 1:,} runs"
        both = "the two runs do not differ significantly" if runs == 2 else (
            f"{none} differs significantly from {first}"
        )  # fmt: skip
        return f"No winner: {both} by {measure}."
    return f"No clear winner: {tied + 1:,} runs are statistically tied for first by {measure}."


def against_baseline(baseline: str, better: int, worse: int, runs: int, measure: str) -> str:
    """Say how many of the runs that were tested against the baseline beat it."""
    if not better and not worse:
        return f"No run differs significantly from {baseline} by {measure}."
    if not better:
        return (
            f"No run is significantly better than {baseline} by {measure};"
            f" {worse:,} of {runs:,} {'is' if worse == 1 else 'are'} significantly worse."
        )
    if better == runs == 1:
        return f"The run compared with {baseline} is significantly better by {measure}."
    verb = "is" if better == 1 else "are"
    return (
        f"{better:,} of {plural(runs, 'other run')} {verb} significantly better than {baseline} by {measure}."
    )


def limit(text: str) -> tuple[str, str]:
    """Say why no test could succeed, and what would help."""
    why, _, helps = text.rpartition(". Use ")
    return sentence(why), sentence(f"use {helps}")


def limit_why(topics: int) -> str:
    """Say why to follow the advice that lifts the limit."""
    advised = f" At least {FEW_TOPICS} topics are advised." if topics < FEW_TOPICS else ""
    return f"Until then no difference can be significant.{advised}"


def nothing_why(first: str, second: str, *, settled: bool) -> str:
    """Say why a result can be used."""
    sure = "no further judgment can" if settled else "more judging is unlikely to"
    return f"{first} is significantly better than {second}, and {sure} reverse that."


def equal(first: str, second: str) -> str:
    """Say that no difference between two runs is worth a search."""
    return f"Nothing: treat {first} and {second} as equal."


def all_decided(run: str) -> str:
    """Say that no comparison of a run is open."""
    return f"{run} differs significantly from every other run, and more judging is unlikely to reverse that."


def too_few(topics: int) -> str:
    """Say that runs on few topics cannot be called equal."""
    return f"{plural(topics, 'topic')} are too few to call these runs equal."


def same_mean(runs: Sequence[str]) -> str:
    """Name the runs that share the highest mean."""
    return f"{names_of(runs)} have the same mean."


def lead(known: Lead, *, significant: bool) -> str:
    """Say how large the lead is, whether it is chance, and whether more judging would change it."""
    if known.equal:
        return same_mean([known.first, known.second])
    difference = f"{known.difference:.3f}" if known.difference >= 0.0005 else "less than 0.001"
    size = f"{known.first} is {difference} ahead of {known.second}"
    if isnan(known.p):
        size += " (not tested)."
    else:
        p = f"p {'> 0.99' if known.p > 0.99 else p_phrase(known.p, known.at_floor)}"
        size += f" ({p})." if significant else f", which is not significant ({p})."
    return f"{size} {_after_judging(known, significant=significant)}".strip()


OTHER_TOPICS = ", but other topics might."


def _after_judging(known: Lead, *, significant: bool) -> str:
    if known.settled:
        return "No further judgment can reverse that order" + ("." if significant else OTHER_TOPICS)
    if known.complete:
        return judged_top(known.complete)
    if known.unstated:
        return f"Whether more judging would reverse that order is not known: {known.unstated}."
    if isnan(known.stays):
        return ""
    condition = "if more were judged"
    if known.stays < 0.5:
        likely, chance = likelihood(1 - known.stays), _chance(1 - known.stays)
        return f"But {known.second} would {likely} lead {condition} (a chance of {chance})."
    if known.stays >= SURE:
        chance = f"(a chance of {_chance(known.stays)})"
        if significant:
            return f"It would very likely stay ahead {condition} {chance}."
        return f"More judging will very likely not change who is ahead {chance}, but more topics might."
    return f"It may lose that lead {condition}: its chance to stay ahead is {_chance(known.stays)}."


def _chance(chance: float) -> str:
    """Return a chance in whole percent, rounded down: 94.9% must not look like 95%, which counts as sure."""
    return ">99%" if chance > 0.99 else "<1%" if chance < 0.01 else f"{math.floor(100 * chance + 1e-9)}%"


FEWEST_CHECKED = 20  # statements of which a share means something


def checked(scored: Calibration, depth: int, shallow: int) -> Iterator[str]:
    """Say how many chances of 95% or more came true where judgments were hidden, and how to read 95%."""
    every = [
        (round(one.pairs * one.figures["share_claimed"].value), one.figures["share_right"].value)
        for one in scored.scores
        if one.part == "all"
    ]
    count = sum(claimed for claimed, _ in every)
    if count < FEWEST_CHECKED:
        return
    right = sum(claimed * share for claimed, share in every if claimed) / count
    said = (
        f"Checked on these judgments: if only the top {shallow} of {plural(len(scored.runs), 'run')} had been"
        f" judged instead of the top {depth}, {whole_percent(right)} of the {count:,} chances of 95% or more"
        f" by {scored.measures[0]} would have come true."
    )
    yield said if math.floor(100 * right + 1e-9) >= 95 else f"{said} So read 95% as {_chance(right)} here."


ONLY_RELEVANT = "Only relevant documents are on record, so the judged share does not measure completeness."


def do_not_rank(tied: int, beaten: int, first: str) -> str:
    """Say which runs not to rank."""
    if tied < 2 or not beaten:
        return ""
    others = "1 other run is" if beaten == 1 else f"{beaten:,} other runs are"
    return (
        f"Do not rank the {tied:,} tied runs: with other topics their order may change. {others}"
        f" significantly worse than {first}."
    )


def may_not_stay(shaky: int, differences: int) -> str:
    """Say how many significant differences from the leader are not sure to remain."""
    which = f"{shaky:,} of the {differences:,} differences"
    if shaky == differences < 3:
        which = "That difference" if differences == 1 else "Both differences"
    return f"{which} may no longer be significant once more is judged."


def judged_unevenly(known: Lead) -> str:
    """Say which of two runs was judged more completely; "" if that raises no doubt."""
    if not known.doubtful:
        return ""
    more, less = (known.first, known.second)[:: 1 if known.judged[0] >= known.judged[1] else -1]
    shares = [whole_percent(share) for share in sorted(known.judged, reverse=True)]
    return f"{more} was judged more completely than {less} ({shares[0]} against {shares[1]})."


# -- what is missing, and what to do ------------------------------------------------------------------


def judged_label(depth: int | None) -> str:
    """Name the judged share."""
    return "Documents judged" if depth is None else f"Judged in the top {depth:,}, all runs"


def least_judged(run: str) -> str:
    """Name the run that was judged least."""
    return f"Least judged run: {run}"


def pool_label(known: Pool | None) -> str:
    """Name the pool, and where its description comes from if no one stated it."""
    return "Pool, guessed from judgments" if known is not None and known.known and known.guessed else "Pool"


def pool(known: Pool | None) -> str:
    """Describe the pool in a few words."""
    if known is None or not known.known:
        return "not known"
    runs = f"{known.contributors:,} of {plural(known.among, 'run')}"
    depth = f", top\N{NO-BREAK SPACE}{known.depth:,}" if known.depth else ""
    return f"{runs}{depth}"


def topics(count: int) -> str:
    """Give the number of topics, and the minimum for a comparison if there are fewer."""
    return f"{count:,}" if count >= FEW_TOPICS else f"{count:,} (at least {FEW_TOPICS} are advised)"


def to_separate(first: str, second: str) -> str:
    """Name the number of topics that would separate two runs."""
    return f"Topics to separate {first} and {second}"


def cost_of_topics(topics: int, documents: float) -> str:
    """Give the cost of more topics; `documents`: unjudged ones that each brings in the top of both runs."""
    needed = max(1, round(topics * documents))
    each = max(1, round(documents))
    return (
        f"{plural(topics, 'more topic')} of about {plural(each, 'judgment')} would take {duration(needed)}."
    )


def tie(first: str, second: str) -> str:
    """Say that two runs should be reported as tied."""
    return f"Report {first} and {second} as tied."


def too_many_topics(needed: float, *, alone: bool) -> str:
    """Say how many topics would separate two runs, where that costs too much."""
    condition = " if no other pair is tested" if alone else ""
    return f"About {needed:,.0f} topics in total would separate the two runs{condition}."


def about(number: float) -> str:
    """Give an estimated number of topics."""
    return f"≈\N{NO-BREAK SPACE}{number:,.0f}" if number <= 1000 else "more than\N{NO-BREAK SPACE}1,000"


def topics_to_separate(alone: float, corrected: float, present: int) -> str:
    """Give the topics that would separate two runs if all pairs are tested, or else if only these two are."""
    one = present < alone <= 1000 < corrected
    return f"{about(alone)} if no other pair is tested" if one else about(corrected)


def judge(documents: int) -> str:
    """Say how many documents to judge, and how long that takes."""
    return f"Judge {plural(documents, 'document')} ({duration(documents)})."


def duration(documents: int) -> str:
    """Say how long judging takes, in minutes or hours, and at what pace."""
    needed = hours(documents, SECONDS)
    if needed < 1.5:
        return f"about {plural(max(1, round(60 * needed)), 'minute')} at {SECONDS} s each"
    return f"about {plural(round(needed), 'hour')} at {SECONDS} s each"


def judge_why(runs: Sequence[str], depth: int, measure: str, looks: int) -> str:
    """Say which documents to judge, and why; `looks`: how deep the measure looks, 0: not known."""
    which = "the first document" if depth == 1 else f"the top {depth}"
    text = f"These unjudged documents in {which} of {names_of(runs)} can still change the result"
    if not looks or depth > looks:
        return f"{text}."
    if depth == looks:
        return f"{text}; {measure} looks no deeper."
    return f"{text} most; {measure} looks down to rank {looks:,}."


def judge_first(runs: Sequence[str], depth: int) -> str:
    """Say which documents to judge first if even the first ranks hold too many."""
    return f"Begin with the highest-ranked unjudged documents in the top {depth} of {names_of(runs)}."


def judged_share(depth: int, before: float, after: float) -> str:
    """Give the judged share of the top documents, before and after judging."""
    return (
        f"The judged share of their top {depth} rises from {whole_percent(before)} to {whole_percent(after)}."
    )


def all_of_them(documents: int, runs: Sequence[str], depth: int) -> str:
    """Give the cost of judging everything; no runs: those that were just named."""
    which = f"the top {depth} of {names_of(runs)}" if runs else f"their top {depth}"
    return f"Judging {which} completely takes {duration(documents)}."


def more_topics(needed: float, first: str, second: str, *, alone: bool = False) -> str:
    """Say how many topics would separate two runs; `alone`: if only these two were tested."""
    many = f"about {needed:,.0f}" if needed <= 1000 else "more than 1,000"
    condition = " if no other pair is tested" if alone else ""
    return f"Add topics: {many} in total would separate {first} and {second}{condition}."


def alone_why(pairs: int, judged: int) -> str:
    """Say why fewer pairs should be tested; `judged`: the depth to which both runs are judged, or 0."""
    return (
        f"With all {pairs:,} pairs tested, more than 1,000 topics would be needed (80% power)."
        f" {_judging_does_not_help(judged)}"
    )


def judged_top(depth: int) -> str:
    """Say that all that a measure looks at is judged."""
    return f"All documents in their top {depth:,} are judged."


def _judging_does_not_help(judged: int) -> str:
    if judged:
        return judged_top(judged)
    return "More judging is unlikely to reverse the order of these two runs."


def topics_why(alone: float, pairs: int, judged: int) -> str:
    """Say why topics help more than judgments, and what the estimate is for."""
    power = "The estimate is for 80% power"
    if pairs > 1:
        power += (
            f" with all {pairs:,} pairs tested; if only these two runs are compared, about {alone:,.0f}"
            " topics are enough"
        )
    return f"{_judging_does_not_help(judged)} {power}."


def how_to_read(
    test: str, correction: str, pairs: int, *, brackets: bool, dotted: bool, intervals: bool, outlook: str
) -> str:
    """Explain brackets, ranks, intervals and the last column, with the method.

    `outlook`: what would be judged; empty if there is no such column.
    """
    parts = []
    if brackets:
        how = f"{test}, {correction} over {plural(pairs, 'pair')}"
        parts.append(
            "A line at the left joins a run with all lower runs that do not differ significantly from it"
            f" ({how}). Each line begins at the best run that is on no earlier line; two runs that share no"
            f" line may still be tied.{' Beside a run that differs, a line is dotted.' if dotted else ''}"
        )
    if intervals:
        parts.append("Ranks and means have 95% intervals over topics.")
    if outlook:
        parts.append(
            "Would stand: how many of the run's comparisons would very likely (95%+) come out the same if"
            f" {outlook} were judged."
        )
    return " ".join(parts)


# -- topics ----------------------------------------------------------------------------------------


def hardest(topics: Sequence[str]) -> str:
    """Name the topics on which the runs do worst."""
    return f"The hardest topics (lowest mean over the runs) are {join_names(topics)}."


def most_divisive(topics: Sequence[str]) -> str:
    """Name the topics on which the runs differ most."""
    return f"The runs differ most (largest deviation) on topics {join_names(topics)}."


# -- slices ----------------------------------------------------------------------------------------


def other_winners(winners: Mapping[str, str], overall: str) -> str:
    """Name the groups of topics in which another run than the overall winner has the highest mean."""
    others = [f"{run} in {label}" for label, run in winners.items() if run != overall]
    if not others:
        return f"{overall} has the highest mean in every group."
    return f"{overall} has the highest mean overall; other runs lead in some groups: {names_of(others)}."


def small_slices(labels: Sequence[str]) -> str:
    """Warn of groups with few topics."""
    return f"Fewer than {FEW_TOPICS} topics, so do not rank runs by them: {first_few(labels, 5)}."


# -- pairs and depth ---------------------------------------------------------------------------------


def pairs(comparison: Comparison) -> Iterator[str]:
    """Say how many pairs differ, and how many conclusions would stand, measure by measure."""
    yield from comparison.limits
    holds = comparison.holds
    for number, measure in enumerate(comparison.measures):
        one, two, three, four = comparison.counts()[number].tolist()
        tested = one + two + three + four
        if not tested:
            continue
        parts = [f"{measure}: {three + four:,} of {plural(tested, 'pair')} differ significantly."]
        if four:
            parts.append(f"In {four:,} of them the better run was also judged more completely (case 4).")
        bounds = comparison.bounds[number]
        if bounds is not None:
            parts.append(_open_orders(int(np.count_nonzero(~np.asarray(bounds.final))), len(bounds.final)))
        if holds is not None and not holds.reason:
            known = holds.conclusion[number][np.isfinite(holds.conclusion[number])]
            stand = int(np.count_nonzero(known >= SURE))
            parts.append(
                f"{stand:,} of {len(known):,} conclusions would very likely (95%+) stand if"
                f" {holds.until_in_words} were judged."
            )
        yield " ".join(parts)
    if holds is not None and holds.reason:
        yield holds_not_known(holds.reason)
    yield from comparison.notes


def _open_orders(reversible: int, pairs: int) -> str:
    """Say how many orders of two runs are not known to be final."""
    if not reversible:
        return "No further judgment can reverse the order of any pair."
    return f"Further judgments may still reverse the order of {reversible:,} of {plural(pairs, 'pair')}."


def holds_not_known(reason: str) -> str:
    """Say that no chances are known."""
    return f"Whether conclusions would stand is not known: {reason}."


def stable(study: DepthStudy) -> str:
    """Say from which depth on the order of the runs stays the same."""
    if len(study.runs) < FEW_RUNS:
        return (
            f"{plural(len(study.runs), 'run')} are too few to say whether their order is stable over depth."
        )
    parts = []
    for one in study.measures:
        begin = one.volatility.stable_from()
        parts.append(f"{one.name} " + ("at no depth" if begin is None else f"from k = {begin:,} on"))
    return (
        f"The order of the runs is stable by {'; by '.join(parts)}: any two depths from there to"
        f" {int(study.ks[-1]):,} agree with tau {THRESHOLD:g} or more."
    )


def below_the_pool(study: DepthStudy) -> Iterator[str]:
    """Warn of depths beyond the pool."""
    if study.pool.depth and study.pool.depth < study.ks[-1]:
        yield (
            f"Do not evaluate deeper than the pool (top {study.pool.depth:,}): below it, unjudged documents"
            " count as not relevant, so the order looks stable without being right."
        )
