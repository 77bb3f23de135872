"""Sentences about a simulation, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.text import percent, plural
from sounding.relevance.basis import LEAST_JUDGMENTS, LEAST_RUNS
from sounding.render.tables import UNKNOWN, decimal
from sounding.selection.mtc.sentences import OPEN, how_note, missing_notes
from sounding.simulate.experiments import ListPair, Normality, correlations
from sounding.simulate.result import Simulation

NAMED = 3  # topics that a sentence names

BINS = (
    "A run begins the next bin where it differs significantly from the best of the one before"
    " (paired t test, 0.05); ±: the middle 95% of the model, no confidence interval."
)
RESCALED = "Rescaled: expected values stretched to the range of the true ones."
NO_BINS = "One topic tells no runs apart, so there are no bins."
DISTANCE = "Distance: sum over documents of the difference between reciprocal ranks."
PLAN_STATES = (
    f"Confidence: the model's own. sounding plan states it from {LEAST_RUNS} runs and {LEAST_JUDGMENTS}"
    " judgments on."
)


def truth_note(found: Simulation) -> str:
    """What a trial is held against."""
    truth, parameters = found.truth, found.parameters
    return (
        f"Truth: {parameters.measure} of the first {plural(parameters.depth, 'document')} of each run on"
        f" {plural(len(found.retrieved.topics), 'topic')}, with all given judgments;"
        f" what nobody judged, {truth.never_judged:,} of {plural(len(truth.pool), 'document')}, is not"
        " relevant."
    )


def curve_notes(found: Simulation, means: Sequence[dict[str, Any]]) -> list[str]:
    """What the curves say, and what their columns are."""
    strategies = dict.fromkeys(row["strategy"] for row in means)
    columns = (
        "Tau: with the truth, of expected values, of plain ones (unjudged documents not relevant), of bpref."
        f" Claimed: pairs said to be {found.sure:g} sure. In bin: runs in their bin of the truth. As pool:"
        " share of the judged documents that a pool of as many documents has, deepened rank by rank."
    )
    return [
        *(_cost_note(found, [row for row in means if row["strategy"] == name]) for name in strategies),
        truth_note(found), *([] if found.cut is None else [found.cut]), *_topic_notes(found),
        *missing_notes(found.retrieved), how_note(found.parameters), columns, PLAN_STATES,
        *([NO_BINS] if found.truth.bins is None else []), *seed_notes(found.seeds),
    ]  # fmt: skip


def _cost_note(found: Simulation, rows: Sequence[dict[str, Any]]) -> str:
    """When a strategy was first as sure as wanted, and when its bins were right for good."""
    last, sure, pool = rows[-1], found.sure, len(found.truth.pool)
    shown = next((row for row in rows if row["confidence"] >= sure), None)
    text = f"{last['strategy']}: confidence "
    text += f"{sure:g} by" if shown else f"{last['confidence']:.3f} after"
    shown = shown or last
    text += f" {shown['judgments']:,} judgments, {percent(shown['cost'])} of a pool of {pool:,}"
    bins, pairs = _right_from(rows, "bins"), _right_from(rows, "accuracy")
    if not np.isnan(last["bins"]):
        text += "; bins not right yet" if bins is None else f"; bins right from {bins:,} on"
    if not np.isnan(last["accuracy"]):
        text += "; not every pair is right" if pairs is None else f"; every pair right from {pairs:,} on"
    return f"{text}."


def _right_from(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    """The number of judgments from which on a share was 1; None: it is not in the end."""
    wrong = [place for place, row in enumerate(rows) if row[name] != 1]
    after = wrong[-1] + 1 if wrong else 0
    return rows[after]["judgments"] if after < len(rows) else None


def _topic_notes(found: Simulation) -> list[str]:
    """Which topics can tell nothing."""
    none = [found.retrieved.topics[topic] for topic in (found.truth.relevant == 0).nonzero()[0]]
    named = ", ".join(none[:NAMED]) + (", ..." if len(none) > NAMED else "")
    note = f"{plural(len(none), 'topic')} ({named}) without a relevant document: every run has 0 there."
    return [note] if none else []


def seed_notes(seeds: int) -> list[str]:
    """That numbers are means, where they are."""
    return [f"Means over {seeds} seeds."] if seeds > 1 else []


def relevant_note(relevant: int, judged: int) -> str:
    """How many of the judged documents are relevant."""
    return f"{percent(relevant / max(judged, 1))} of the {plural(judged, 'judged document')} are relevant."


def curves_alone(format_name: str, others: Sequence[str]) -> str:
    """That a format has no room for the other tables."""
    return (
        f"{format_name} holds the curves alone, not {', '.join(others)}: each comes with --view, and json"
        " holds all"
    )


def least_sure(shown: int, pairs: int) -> str:
    """That only the pairs about which least is sure are shown."""
    return f"The {shown} least sure of {plural(pairs, 'pair')}."


def differences_note(words: Sequence[str], sure: float) -> str:
    """What the chance of a pair is, and how many pairs are right, wrong and open."""
    return (
        f"P(≤ 0): chance that the first run, the better in truth, is not above the other. At {sure:g}:"
        f" {words.count('right')} right, {words.count('wrong')} wrong, {words.count(OPEN)} open."
    )


def list_pair_notes(pairs: Sequence[ListPair], sure: float) -> list[str]:
    """How many pairs of lists were told apart, and what that goes together with."""
    reached = [pair for pair in pairs if pair.judgments is not None]
    right = [pair.right for pair in reached if pair.right is not None]
    shown = [UNKNOWN if np.isnan(value) else decimal(value, 3) for value in correlations(pairs)]
    return [
        f"Told apart at {sure:g}: {len(reached):,} of {plural(len(pairs), 'pair')} of lists"
        + (f"; {percent(float(np.mean(right)))} of their orders are right." if right else "."),
        f"Correlations: difference and judgments {shown[0]}, distance and judgments {shown[1]}, difference"
        f" and distance {shown[2]}.",
        DISTANCE,
    ]


def reuse_note(prior: str, runs: int, seeds: int) -> str:
    """Whose confidence the table of runs left out has."""
    return (
        f"Confidence in the order of the other runs, and of all with the prior {prior} once the run is"
        f" back; means over {plural(runs, 'run')} left out" + (f" and {seeds} seeds." if seeds > 1 else ".")
    )


def normality_note(normality: Normality, prior: str) -> str:
    """What the test of normality says."""
    verdict = "not rejected" if normality.p > 0.05 else "rejected"
    return (
        f"Nothing judged, prior {prior}. That these differences are normally distributed is {verdict} by"
        " the Anderson-Darling test at 0.05; a normal distribution has .683, .954 and .997 within 1, 2"
        " and 3 deviations."
    )
