"""Sentences about a plan, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.compare.holds import Holds
from sounding.core.text import format_chance, judging_time, plural
from sounding.plan.forecast import JudgingForecast, expected_range
from sounding.plan.result import JudgingPlan, Proof
from sounding.runs.ranking import Values
from sounding.selection.mtc.sentences import EQUAL, OPEN, PROBABLE, PROVEN, binary_notes

NOTHING_JUDGED = "Nothing is judged yet: this order rests only on the agreement of the runs."
NEIGHBORS = "Few orders of nearly equal runs become certain; in trials, 92% of those that did were right."
TRIALS = "in all 7 trials, but 4 of those ranges had no upper end"
AGAINST = (
    "conclusion worse: the run is behind if unjudged documents count as nonrelevant, but ahead by expected"
    " values."
)
NO_FORECAST = "There is no forecast, because no confidence can be stated."
STAY_EQUAL = "Runs that are equal, or nearly so, stay below that confidence even if everything is judged."
FIRST_AND_LAST = "first and last: mean confidence over the pairs, before and after the simulated judgments."
TEMPLATE = "The file is a qrels template: replace each -1 with a grade."
APPEND = "The file is a qrels template: replace each -1 with a grade, then append the lines to {qrels}."


def headline(plan: JudgingPlan, seconds: float, *, proofs: bool) -> str:
    """Say how many pairs are in a certain order, and what to judge next.

    `proofs`: the plan knows which pairs are proven. With a forecast, the headline answers that instead.
    """
    number = len(plan.picks)
    action = f" Judge these {plural(number, 'document')} next: {judging_time(number, seconds)}."
    if number == 1:
        action = f" Judge this document next: {judging_time(number, seconds)}."
    if not number:
        action = "" if plan.session.next() else " Nothing is left to judge."
    if plan.forecasts is not None:
        needed = judgments_needed(plan.forecasts)
        if number and needed and needed != number:
            action = f" The plan lists {plural(number, 'document')}; --budget {needed} lists {needed:,}."
        return forecast_answer(plan.forecasts, plan.wanted or 0.0, seconds) + action
    return _certainty(plan, proofs=proofs) + action


PROOF = (
    "Rows stand in the order in which Algorithm 1 of Carterette et al. (2006) would judge. proves if: the"
    " judgment that brings the proof nearer; chance: that the document is judged so. The number assumes that"
    " every document is; expect to need more."
)


def proof_headline(plan: JudgingPlan, proof: Proof, seconds: float) -> str:
    """Say how few judgments could prove that one run is above another."""
    claim = f"{proof.run} is above {proof.other} by {plan.form.name}"
    if proof.judgments is None:
        return f"No judgments of these documents can prove that {claim}."
    if not proof.judgments:
        first = f"the first {plan.parameters.depth:,} documents of each run"
        return f"It is proven that {claim}: no further judgment of {first} can reverse the order."
    number = len(proof.judgments)
    return (
        f"At best, {plural(number, 'judgment')} ({judging_time(number, seconds)}) would prove that {claim}."
    )


def _certainty(plan: JudgingPlan, *, proofs: bool) -> str:
    """Say how many pairs are in a certain order, or why that cannot be said."""
    pairs = plan.session.pairs()
    first, second = pairs[:, 0], pairs[:, 1]
    proven = int((plan.proven[first, second] | plan.proven[second, first]).sum())
    count = plural(len(pairs), "pair")
    if plan.confidence.reason:
        known = f" {proven:,} of {count} are in a proven order." if proofs and proven else ""
        if not plan.confidence.judgments:
            return NOTHING_JUDGED + known
        return f"No confidence can be stated: {plan.confidence.reason}.{known}"
    chance = plan.confidence.of_pairs()
    certain = int((np.maximum(chance[first, second], chance[second, first]) >= plan.sure).sum())
    what = f"all {count}" if certain == len(pairs) > 1 else f"{certain:,} of {count}"
    frame = (
        f"{plan.form.name}, {plural(len(plan.retrieved.topics), 'topic')},"
        f" {plural(plan.session.judgments, 'judgment')}"
    )
    return f"The order of {what} is certain at {100 * plan.sure:g}% ({frame})."


def truth_note(plan: JudgingPlan) -> str:
    """Explain what the expected values estimate."""
    return (
        f"Expected {plan.form.name}: the value if the first {plural(plan.parameters.depth, 'document')} of"
        f" each run were judged on all {plural(len(plan.retrieved.topics), 'topic')}."
    )


def unstated_notes(plan: JudgingPlan) -> list[str]:
    """Say why no confidence is stated, unless the headline does."""
    confidence = plan.confidence
    if not confidence.reason or confidence.judgments:
        return []
    return [f"No confidence can be stated: {confidence.reason}."]


def binary_note(plan: JudgingPlan) -> list[str]:
    """Warn that a graded measure is taken as a binary one, where grades differ."""
    return binary_notes(plan.parameters.measure, plan.form, has_levels=plan.session.has_levels())


def stopping_note(words: Sequence[str], sure: float | None, depth: int) -> str:
    """Count the pairs by what is known of their order; `sure` None: no confidence is stated."""
    proven, probable, equal, still = (words.count(word) for word in (PROVEN, PROBABLE, EQUAL, OPEN))
    parts = [f"{proven:,} proven (no further judgment of the first {depth:,} documents can change them)"]
    parts += [] if sure is None else [f"{probable:,} probable ({100 * sure:g}% or more)"]
    parts += [f"{still:,} open"]
    parts += [f"{equal:,} equal"] if equal else []
    stop = "" if still else " Judging may stop."
    return f"Of {plural(len(words), 'pair')}: {', '.join(parts)}.{stop}"


def confidence_note(plan: JudgingPlan, words: Sequence[str]) -> str:
    """Say how sure the order is, as a mean over the pairs that matter."""
    sure, judged = plan.confidence.of_these(plan.session.pairs()), plural(plan.session.judgments, "judgment")
    shown = format_chance(sure) if set(words) != {PROVEN} else f"{sure:.3f}"
    return f"The mean confidence over these pairs is {shown} after {judged}."


def holds_note(holds: Holds) -> str:
    """Explain the columns conclusion and holds, or say why the second is empty."""
    text = (
        '"conclusion": the result of a paired t test of the two runs alone, on the judgments so far'
        f" (alpha {holds.alpha:g})."
    )
    if holds.reason:
        return f"{text} {holds.describe()}"
    return (
        f'{text} "holds": the chance that the conclusion is the same once {holds.until_in_words} are judged'
        f" ({holds.open_documents:,} of these are unjudged)."
    )


def outlook_notes(plan: JudgingPlan) -> list[str]:
    """Say what judging the next documents is expected to bring; nothing if that is unknown."""
    if plan.outlook is None:
        return []
    after = plan.outlook.after
    before = format_chance(plan.outlook.before)
    if {format_chance(float(one)) for one in (after.min(), after.max())} == {before}:
        return [f"Judging these documents is not expected to change the mean confidence ({before})."]
    return [
        f"Judging these documents is expected to bring the mean confidence from"
        f" {before} to {format_chance(float(after.mean()))}{_error(after)}"
        f" ({format_chance(float(after.min()))} to {format_chance(float(after.max()))} in"
        f" {plural(len(after), 'simulation')})."
    ]


def _error(values: Values) -> str:
    """Return the standard error of a mean; empty if there is one value."""
    return f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""


def judgments_needed(forecasts: Sequence[JudgingForecast]) -> int:
    """Return the judgments that the middle simulation took; 0: none, or it did not reach the confidence."""
    middle = np.sort([one.needed for one in forecasts])[(len(forecasts) - 1) // 2]
    return int(middle) if np.isfinite(middle) else 0


def forecast_answer(forecasts: Sequence[JudgingForecast], wanted: float, seconds: float) -> str:
    """Say how many judgments, and how much time, the wanted confidence takes."""
    needed, goal = np.sort([one.needed for one in forecasts]), f"{100 * wanted:g}%"
    if not np.isfinite(needed).any():
        last = max(one.judgments[-1] for one in forecasts)
        return (
            f"{plural(last, 'more judgment')} did not reach a confidence of {goal} in any of"
            f" {plural(len(needed), 'simulation')}."
        )
    if needed[-1] == 0:
        return f"The confidence is {goal} or more already."
    middle = needed[(len(needed) - 1) // 2]
    if not np.isfinite(middle):
        return f"Fewer than half of {plural(len(needed), 'simulation')} reached a confidence of {goal}."
    first = forecasts[0].first_check  # no simulation is checked before
    early = 0 < middle <= first
    about = "At most" if early and needed[-1] <= first else "About"
    perhaps = " or fewer" if early and about == "About" else ""
    time = judging_time(int(middle), seconds).removeprefix("about ")
    return f"{about} {middle:,.0f} more judgments{perhaps} ({time}) bring the confidence to {goal}."


def forecast_range(forecasts: Sequence[JudgingForecast]) -> list[str]:
    """Say how far the simulations behind a forecast differ; nothing if none needed judgments."""
    needed = np.sort([one.needed for one in forecasts])
    reached = int(np.isfinite(needed).sum())
    if not reached or needed[-1] == 0:
        return []
    count = plural(len(needed), "simulation")
    who = f"All {count}" if reached == len(needed) > 1 else f"{reached} of {count}"
    least, most = needed[0], needed[reached - 1]
    first = forecasts[0].first_check
    if most <= first:
        return [f"{who} reached it at the first check, after {first:,}."]
    fewer = " or fewer" if 0 < least <= first else ""
    span = f"{most:,.0f}" if least == most else f"{least:,.0f}{fewer} to {most:,.0f}"
    return [f"{who} reached it, after {span} judgments."]


def forecast_note(forecasts: Sequence[JudgingForecast], wanted: float, seconds: float) -> str:
    """Say how many judgments are needed, and how uncertain that is."""
    return " ".join([forecast_answer(forecasts, wanted, seconds), *forecast_range(forecasts)])


def forecast_notes(plan: JudgingPlan) -> list[str]:
    """Say how far to trust the forecasts, or why there are none."""
    forecasts = plan.forecasts
    if forecasts is None:
        return [NO_FORECAST]
    notes = forecast_range(forecasts)
    if any(one.all_judged and not one.reached for one in forecasts):
        notes.append(STAY_EQUAL)
    elif any(not one.reached for one in forecasts):
        notes.append(f"Simulations end after {plan.most:,} judgments; --most N goes further.")
    return [*notes, *forecast_expectation(forecasts)]


def forecast_expectation(forecasts: Sequence[JudgingForecast]) -> list[str]:
    """Say between which numbers of judgments the truth should lie; nothing if none are needed."""
    low, high = expected_range(forecasts)
    if not high or not np.isfinite(low):
        return []
    span = f"{low:,.0f} to {high:,.0f} judgments" if np.isfinite(high) else f"{low:,.0f} judgments or more"
    return [
        f"Expect {span}: from half of the fewest to twice the most in the simulations. This range held the"
        f" truth {TRIALS}."
    ]


def some_pairs_note(shown: int, pairs: int, *, stated: bool) -> str:
    """Say that the table shows only some of the pairs."""
    which = "least certain" if stated else "closest"
    return f"The table shows the {shown} {which} of {plural(pairs, 'pair')}; --view pairs shows all."


def some_documents_note(shown: int, documents: int, file: str = "next.qrels") -> str:
    """Say that the table shows only some of the documents."""
    return (
        f"The table shows the first {shown} of {plural(documents, 'document')}; -o {file} writes all of them."
    )
