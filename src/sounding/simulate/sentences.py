"""Sentences about a simulation, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.text import percent, plural
from sounding.evaluate.result import FEW_TOPICS
from sounding.relevance.basis import LEAST_JUDGMENTS, LEAST_RUNS
from sounding.render.tables import UNKNOWN, decimal
from sounding.selection.mtc.sentences import OPEN, binary_notes, how_note, missing_notes
from sounding.simulate.experiments import ListPair, Normality, correlations
from sounding.simulate.result import Simulation

NAMED = 3  # topics that a sentence names

BINS = (
    "A run begins the next bin where it differs significantly from the best of the one before"
    " (paired t test, 0.05); ±: the middle 95% of the model, no confidence interval."
)
RESCALED = "Rescaled: expected values stretched to the range of the true ones."
NO_BINS = "There are no bins: one topic cannot show that runs differ."
DISTANCE = "Distance: sum over documents of the difference between reciprocal ranks."
PLAN_STATES = (
    f"Confidence: the model's own. sounding plan states it from {LEAST_RUNS} runs and {LEAST_JUDGMENTS}"
    " judgments on."
)


GOAL = 0.9  # Kendall's tau with the ranking by all judgments that a headline asks for


def headline(found: Simulation, means: Sequence[dict[str, Any]]) -> str:
    """Say how soon each strategy ranks the runs correctly, or answer the other experiments."""
    if found.trials:
        return _curve_headline(found, means)
    if found.list_pairs is not None:
        needed = [pair.judgments for pair in found.list_pairs if pair.judgments is not None]
        median = f", after a median of {plural(int(np.median(needed)), 'judgment')}" if needed else ""
        return (
            f"The order of {len(needed):,} of {plural(len(found.list_pairs), 'pair')} of rankings became"
            f" certain at {100 * found.sure:g}%{median}."
        )
    if found.normality is not None and found.histogram is not None:
        verdict = "cannot be rejected" if found.normality.p > 0.05 else "is rejected"
        first, second = found.histogram
        return (
            f"That the difference between {first} and {second} is normally distributed {verdict}"
            " (Anderson-Darling test, 0.05)."
        )
    reuse = found.reuse or ()
    most = max((row.judgments for row in reuse), default=0)
    last = [row for row in reuse if row.judgments == most]
    right = sum(row.place == row.true_place for row in last)
    return (
        f"After {plural(most, 'judgment')} chosen without it, a run is ranked in its true place in {right:,}"
        f" of {plural(len(last), 'case')}."
    )


def _curve_headline(found: Simulation, means: Sequence[dict[str, Any]]) -> str:
    """Say from how many judgments on the ranking of each strategy agrees with the truth."""
    needed: dict[str, int] = {}
    names = list(dict.fromkeys(row["strategy"] for row in means))
    for name in names:
        rows = [row for row in means if row["strategy"] == name]
        low = [place for place, row in enumerate(rows) if not row["tau_expected"] >= GOAL]
        place = low[-1] + 1 if low else 0
        if place < len(rows):
            needed[name] = rows[place]["judgments"]
    most = max(row["judgments"] for row in means)
    frame = (
        f"{found.form.name}, {plural(len(found.retrieved.runs), 'run')},"
        f" {plural(len(found.retrieved.topics), 'topic')}"
    )
    if not needed:
        last = {row["strategy"]: row["tau_expected"] for row in means}
        taus = (f"{name} {UNKNOWN if np.isnan(tau) else decimal(tau, 2)}" for name, tau in last.items())
        within = f"within {plural(most, 'judgment')} ({frame})"
        return f"No strategy reaches tau {GOAL:g} {within}. At the end: {', '.join(taus)}."
    order = sorted(needed, key=lambda name: needed[name])
    parts = [f"{name} from {needed[name]:,} on" for name in order[1:]]
    parts += [f"{name} does not reach it within {most:,}" for name in names if name not in needed]
    others = f"; {', '.join(parts)}" if parts else ""
    first = plural(needed[order[0]], "judgment")
    return f"{order[0]} keeps tau at {GOAL:g} or more from {first} on{others} ({frame})."


def truth_note(found: Simulation) -> str:
    """Say what a replay is compared with."""
    truth, parameters, topics = found.truth, found.parameters, len(found.retrieved.topics)
    few = f" Fewer than {FEW_TOPICS} topics: others may well rank the runs differently." * (
        topics < FEW_TOPICS
    )
    return (
        f"Truth: {parameters.measure} of the first {plural(parameters.depth, 'document')} of each run on"
        f" {plural(topics, 'topic')}, by all judgments; the {truth.never_judged:,}"
        f" unjudged of {plural(len(truth.pool), 'document')} count as nonrelevant.{few}"
    )


def curve_notes(found: Simulation, means: Sequence[dict[str, Any]]) -> list[str]:
    """Say what each strategy cost, and what the reader should know about the replay."""
    strategies = dict.fromkeys(row["strategy"] for row in means)
    grades = np.unique(found.truth.grades[found.truth.grades >= found.form.level])
    return [
        *binary_notes(found.parameters.measure, found.form, has_levels=len(grades) > 1),
        *(_cost_note(found, [row for row in means if row["strategy"] == name]) for name in strategies),
        truth_note(found), *([] if found.cut is None else [found.cut]), *_topic_notes(found),
        *missing_notes(found.retrieved), how_note(found.parameters), PLAN_STATES,
        *([NO_BINS] if found.truth.bins is None else []), *seed_notes(found.seeds),
    ]  # fmt: skip


def columns_note(sure: float) -> str:
    """Explain the columns of the curves."""
    return (
        '"tau": how well the ranking by expected values, by plain values (unjudged documents count as not'
        ' relevant) and by bpref agrees with the true ranking. "claimed": the share of the pairs whose order'
        f' is {100 * sure:g}% certain. "proven": the share of the pairs whose order no judgment can reverse'
        ' (Eq. 3). "in bin": the share of the runs that are in their true bin. "as pool": the share of the'
        " judged documents that are also in a pool of the same size."
    )


def _cost_note(found: Simulation, rows: Sequence[dict[str, Any]]) -> str:
    """Say when a strategy was first as certain as wanted, and from when on its bins and pairs were right."""
    last, sure, pool = rows[-1], found.sure, len(found.truth.pool)
    shown = next((row for row in rows if row["confidence"] >= sure), None)
    text = f"{last['strategy']}: the confidence "
    text += f"reaches {sure:g} after" if shown else f"is {last['confidence']:.3f} after"
    shown = shown or last
    text += f" {shown['judgments']:,} judgments ({percent(shown['cost'])} of a pool of {pool:,})"
    bins, pairs = _right_from(rows, "bins"), _right_from(rows, "accuracy")
    if not np.isnan(last["bins"]):
        text += _right("bins", bins)
    if not np.isnan(last["accuracy"]):
        text += _right("pairs", pairs)
    return f"{text}."


def _right(what: str, first: int | None) -> str:
    """Say from which judgment on all bins or pairs are right; None: from none."""
    if first is None:
        return f"; at the end, some {what} are still in the wrong order"
    return f"; all {what} are in the right order from {plural(first, 'judgment')} on"


def _right_from(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    """Return the number of judgments from which on a share is 1; None: it is not at the end."""
    wrong = [place for place, row in enumerate(rows) if row[name] != 1]
    after = wrong[-1] + 1 if wrong else 0
    return rows[after]["judgments"] if after < len(rows) else None


def _topic_notes(found: Simulation) -> list[str]:
    """Name the topics without a relevant document."""
    none = [found.retrieved.topics[topic] for topic in (found.truth.relevant == 0).nonzero()[0]]
    named = ", ".join(none[:NAMED]) + (", ..." if len(none) > NAMED else "")
    note = f"{plural(len(none), 'topic')} ({named}) without a relevant document: every run has 0 there."
    return [note] if none else []


def seed_notes(seeds: int) -> list[str]:
    """Say that numbers are means over seeds, if they are."""
    return [f"Means over {seeds} seeds."] if seeds > 1 else []


def relevant_note(relevant: int, judged: int) -> str:
    """Say how many of the judged documents are relevant."""
    return f"{percent(relevant / max(judged, 1))} of the {plural(judged, 'judged document')} are relevant."


def curves_alone(format_name: str, others: Sequence[str]) -> str:
    """Say that a format has no room for the other tables."""
    return (
        f"{format_name} holds the curves alone, not {', '.join(others)}: use --view for each, or json for all"
    )


def least_sure(shown: int, pairs: int) -> str:
    """Say that only the least certain pairs are shown."""
    return f"The {shown} least certain of {plural(pairs, 'pair')}."


def differences_note(words: Sequence[str], sure: float) -> str:
    """Explain the chance of a pair, and count the pairs that are right, wrong and open."""
    return (
        f"P(≤ 0): chance that the first run, the better in truth, is not above the other. At {sure:g}:"
        f" {words.count('right')} right, {words.count('wrong')} wrong, {words.count(OPEN)} open."
    )


def list_pair_notes(pairs: Sequence[ListPair], sure: float) -> list[str]:
    """Say how many pairs of rankings were decided, and what that correlates with."""
    reached = [pair for pair in pairs if pair.judgments is not None]
    right = [pair.right for pair in reached if pair.right is not None]
    shown = [UNKNOWN if np.isnan(value) else decimal(value, 3) for value in correlations(pairs)]
    return [
        f"Decided at {sure:g}: {len(reached):,} of {plural(len(pairs), 'pair')} of rankings"
        + (f"; {percent(float(np.mean(right)))} of their orders are right." if right else "."),
        f"Correlations: difference and judgments {shown[0]}, distance and judgments {shown[1]}, difference"
        f" and distance {shown[2]}.",
        DISTANCE,
    ]


def reuse_note(prior: str, runs: int, seeds: int) -> str:
    """Explain the two columns of confidence in the table of runs left out."""
    return (
        f"Confidence in the order of the other runs, and of all with the prior {prior} once the run is"
        f" back; means over {plural(runs, 'run')} left out" + (f" and {seeds} seeds." if seeds > 1 else ".")
    )


def normality_note(normality: Normality, prior: str) -> str:
    """Say what the test of normality shows."""
    verdict = "not rejected" if normality.p > 0.05 else "rejected"
    return (
        f"Nothing judged, prior {prior}. That these differences are normally distributed is {verdict} by"
        " the Anderson-Darling test at 0.05; a normal distribution has .683, .954 and .997 within 1, 2"
        " and 3 deviations."
    )
