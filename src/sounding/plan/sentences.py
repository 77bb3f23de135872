"""Sentences about a plan, beside the numbers that fill them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sounding.compare.holds import Holds
from sounding.core.text import format_chance, hours, plural
from sounding.plan.forecast import FIRST_CHECK, JudgingForecast
from sounding.plan.result import JudgingPlan
from sounding.runs.ranking import Values
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.sentences import EQUAL, OPEN, PROBABLE, PROVEN

HOUR = 3600  # seconds

NOTHING_JUDGED = "Nothing judged yet: this order is only what the runs agree on."
AGAINST = (
    "Conclusion worse: by what is judged so far, the rest not relevant, the run is behind; with what the rest"
    " is expected to be it is ahead."
)
NO_FORECAST = "There is no forecast: no confidence is stated."
STAY_EQUAL = "Runs that stay equal, or nearly so, when all is judged keep a confidence below that."
FIRST_AND_LAST = (
    "Confidence is the mean over the pairs of runs that matter: first, before any of these judgments;"
    " last, after all of them."
)
MAGNITUDE = "In trials three of four forecasts were within a factor of four: read the order of magnitude."


def truth_note(plan: JudgingPlan) -> str:
    """What the expected values are expected values of."""
    return (
        f"Truth: {plan.form.name} of the first {plural(plan.parameters.depth, 'document')} of each run on"
        f" {plural(len(plan.retrieved.topics), 'topic')}, were all of them judged."
    )


def unstated_notes(confidence: Confidence) -> list[str]:
    """Why no confidence is stated, and what the order rests on where nothing is judged."""
    if not confidence.reason:
        return []
    nothing = [] if confidence.judgments else [NOTHING_JUDGED]
    return [*nothing, f"No confidence is stated: {confidence.reason}."]


def stopping_note(words: Sequence[str], sure: float | None) -> str:
    """How far both stopping rules have come; None: no confidence is stated, and the bound alone counts."""
    proven, probable, equal, still = (words.count(word) for word in (PROVEN, PROBABLE, EQUAL, OPEN))
    likely = "" if sure is None else f" {probable:,} probable at {sure:g},"
    text = (
        f"Of {plural(len(words), 'pair')}, {proven:,} proven by a bound, whatever the rest is,{likely}"
        f" {still:,} open"
    )
    if equal:
        text += f", {equal:,} equal whatever is judged"
    if still:
        return f"{text}."
    return f"{text}: judging may stop" + ("." if probable else ", for nothing can change the order.")


def confidence_note(plan: JudgingPlan, words: Sequence[str]) -> str:
    """How sure the order is, as a mean over the pairs that matter."""
    sure, judged = plan.confidence.of_these(plan.session.pairs()), plural(plan.session.judgments, "judgment")
    shown = format_chance(sure) if set(words) != {PROVEN} else f"{sure:.3f}"
    return f"Confidence {shown} after {judged}: the mean over these pairs."


def holds_note(holds: Holds, *, why: bool) -> str:
    """What is concluded, and what it would hold after; where that is not stated, why, if it is asked for."""
    text = f"Conclusion: of a paired t test ({holds.alpha:g}) of the two runs alone by what is judged so far"
    if holds.reason:
        return text + (f". {holds.describe()}" if why else "; holds: not stated.")
    return (
        f"{text}; holds: the chance that it is the same once {holds.until_in_words} are judged"
        f" ({holds.open_documents:,} of them are not yet), as compare --holds has it."
    )


def work_note(plan: JudgingPlan, seconds: float, *, brief: bool) -> str:
    """What judging the next documents takes, and what it is expected to bring."""
    number = len(plan.picks)
    if not number:
        return "No document was asked for." if plan.session.next() else "Nothing is left to judge."
    work = f"Judging {plural(number, 'document')} ({hours(number, seconds):,.1f} hours at {seconds:g} s each)"
    if plan.outlook is None:
        why = "" if brief else f"; {plan.confidence.reason}"
        return f"{work}: what it would bring, and the chance of each, is not stated{why}."
    after = plan.outlook.after
    return (
        f"{work} is expected to bring the confidence from {format_chance(plan.outlook.before)} to"
        f" {format_chance(float(after.mean()))}{_error(after)}; {format_chance(float(after.min()))} to"
        f" {format_chance(float(after.max()))} in {plural(len(after), 'completion')} drawn."
    )


def _error(values: Values) -> str:
    """The standard error of a mean; nothing where there is one value."""
    return f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""


def forecast_note(forecasts: Sequence[JudgingForecast], wanted: float, seconds: float) -> str:
    """How many judgments and how much time are needed, and how far that is uncertain."""
    needed, goal = np.sort([one.needed for one in forecasts]), f"{100 * wanted:g}%"
    reached = int(np.isfinite(needed).sum())
    if not reached:
        last = max(one.judgments[-1] for one in forecasts)
        return f"In none of {plural(len(needed), 'completion')} did {last:,} judgments reach {goal}."
    if needed[-1] == 0:
        return f"The confidence is {goal} or more already."
    middle = needed[(len(needed) - 1) // 2]
    early = 0 < middle <= FIRST_CHECK  # nothing is looked at before
    about = "At most" if early and needed[-1] <= FIRST_CHECK else "About"
    perhaps = " or fewer" if early and about == "About" else ""
    text = (
        f"{about} {middle:,.0f} more judgments{perhaps} ({_duration(int(middle), seconds)}) for {goal}"
        if np.isfinite(middle)
        else f"In less than half of the completions was {goal} reached"
    )
    tried = f"Judging was tried in {plural(len(needed), 'completion')} drawn from what is believed now"
    least, most = needed[0], needed[reached - 1]
    if most <= FIRST_CHECK:
        return f"{text}. {tried}: {reached} got there by the first look, after {FIRST_CHECK}."
    fewer = " or fewer" if 0 < least <= FIRST_CHECK else ""
    span = f"{most:,.0f}" if least == most else f"{least:,.0f}{fewer} to {most:,.0f}"
    return f"{text}. {tried}: {reached} got there, after {span}, looked at whenever a tenth more was judged."


def forecast_notes(plan: JudgingPlan, seconds: float) -> list[str]:
    """What the forecasts say, and how far to trust them; or why there are none."""
    forecasts = plan.forecasts
    if forecasts is None:
        return [f"There is no forecast: {plan.confidence.reason}."]
    notes = [forecast_note(forecasts, plan.wanted or 0.0, seconds)]
    if any(one.all_judged and not one.reached for one in forecasts):
        notes.append(STAY_EQUAL)
    elif any(not one.reached for one in forecasts):
        notes.append(f"Given up after {plan.most:,} judgments; --most goes further.")
    notes.append(FIRST_AND_LAST)
    return [*notes, MAGNITUDE] if any(one.reached and one.needed > 0 for one in forecasts) else notes


def some_pairs_note(shown: int, pairs: int, *, stated: bool) -> str:
    """That more pairs matter than the table shows."""
    which = "least sure" if stated else "closest"
    return f"The {shown} {which} of {plural(pairs, 'pair')}; --view pairs has all."


def some_documents_note(shown: int, documents: int) -> str:
    """That there are more documents to judge next than the table shows."""
    return f"The first {shown} of {plural(documents, 'document')}; -o FILE.csv has all."


def _duration(documents: int, seconds: float) -> str:
    """How long it takes to judge so many documents: in minutes, from an hour on in hours."""
    if documents * seconds < HOUR:
        return plural(math.ceil(documents * seconds / 60), "minute")
    return f"{hours(documents, seconds):,.1f} hours"
