"""What to beware of in a collection: what weakens comparisons, where there is any of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sounding.collection.audit import Audit
from sounding.collection.judged_runs import UNKNOWN_KIND
from sounding.collection.statements import NAMED, Statement, listed
from sounding.scores import FEW_RUNS
from sounding.wording import natural_order, plural, whole_percent

NOT_JUDGED = -1.0  # the grade of a document that was pooled and not judged
STEADY_TIES = 0.95  # tau between two rules for tied scores
FEW_RELEVANT = 5  # a topic with fewer moves in large steps
ASSESSED_ALIKE = 0.5  # tau between MAP and assessment: above it, much of what is measured is popularity


def cautions(audit: Audit) -> Iterator[Statement]:
    """What weakens comparisons, where there is any of it."""
    runs = audit.runs
    yield from _only_relevant(audit)
    if audit.has_pool:
        yield from _holes(audit)
        yield from _outside(audit)
        kinds = {kind for kind, own in zip(runs.kinds, runs.contributing, strict=True) if own}
        if UNKNOWN_KIND not in kinds and "manual" not in kinds:
            yield _note(
                "manual runs", "No manual run was pooled", 0.0, "pooled manual runs",
                "Manual runs bring in relevant documents that automatic ones do not find (Voorhees 2002);"
                " recall is overestimated without them.",
            )  # fmt: skip
        yield from _winners(audit)
    yield from _relevant_counts(audit)
    yield from _short_runs(audit)
    yield from _tied(audit)
    yield from _popular(audit)
    yield from _undrawn(audit)
    yield from remarks(audit)


def remarks(audit: Audit) -> Iterator[Statement]:
    """What was noticed while the runs were read."""
    for text in audit.runs.remarks:
        yield _note("runs", text[0].upper() + text[1:], np.nan, "", "")


def _undrawn(audit: Audit) -> Iterator[Statement]:
    """Documents that are listed with the grade of what was pooled and not judged."""
    grades = audit.runs.qrels.grades
    count = int(np.count_nonzero(grades == NOT_JUDGED))
    if count and audit.runs.policies.negative != "nonrelevant":
        yield _note(
            "not judged", f"{count:,} of {len(grades):,} lines of the qrels have grade -1: not judged",
            count / len(grades), "share of lines",
            "Where the judgments are a sample, values are infAP's to estimate, and depth, growth and leaving"
            " out tell little.",
        )  # fmt: skip


def _note(about: str, claim: str, value: float, figure: str, why: str) -> Statement:
    return Statement(about=about, answer="note", claim=claim, figure=figure, value=value, rule="", why=why)


def _only_relevant(audit: Audit) -> Iterator[Statement]:
    if audit.only_relevant:
        grades = audit.runs.judgments.grades
        yield _note(
            "relevant only", f"Nearly all judgments are relevant ({np.count_nonzero(grades > 0):,} of"
            f" {len(grades):,}): only relevant documents seem to be listed",
            audit.relevant_share, "share of judgments",
            "How deep was judged, what deeper pools hold and how far a run is judged does not show in them;"
            " where judgments of other documents exist, give them too.",
        )  # fmt: skip


def _holes(audit: Audit) -> Iterator[Statement]:
    places = audit.runs.holes()
    if len(places) and not audit.only_relevant:
        named = audit.runs.named_documents(places[:NAMED])
        depth = audit.runs.pool.depth
        yield _note(
            "holes", f"{plural(len(places), 'document')} within the pool's depth of {depth} unjudged",
            float(len(places)), "unjudged documents",
            f"Lost judgments, or pools of some topics that end above it (topic doc):"
            f" {listed(named, len(places))}.",
        )  # fmt: skip


def _outside(audit: Audit) -> Iterator[Statement]:
    outside, judged = audit.growth().elsewhere, len(audit.runs.judgments.grades)
    if outside:
        yield _note(
            "judged elsewhere", f"{outside:,} of {judged:,} judged documents are in no pooled run's first"
            f" {audit.runs.reach}", outside / judged, "share of judgments",
            "Runs that are not here, or deeper pools of some topics, brought them in.",
        )  # fmt: skip


def _winners(audit: Audit) -> Iterator[Statement]:
    found = audit.leave_out()
    topics = int(np.count_nonzero(found.winner_changes.any(axis=0)))
    if topics and len(found.units) > 1:
        changing = np.count_nonzero(found.winner_changes, axis=1) > 0
        groups = [name for name, own in zip(found.units, changing, strict=True) if own]
        yield _note(
            "winners", f"On {plural(topics, 'topic')} leaving out one group changes the best run",
            float(topics), "topics", f"By {found.measures[0]}; left out: {listed(groups)}.",
        )  # fmt: skip


def _relevant_counts(audit: Audit) -> Iterator[Statement]:
    runs = audit.runs
    relevant = runs.judgments.relevant(runs.level)
    few = relevant < FEW_RELEVANT
    if few.any():
        names = sorted((runs.topics[place] for place in few.nonzero()[0]), key=natural_order)
        yield _note(
            "few relevant", f"{plural(len(names), 'topic')} with fewer than {FEW_RELEVANT} relevant"
            " documents", float(len(names)), "topics", f"One document moves them far: {listed(names)}.",
        )  # fmt: skip
    many = relevant > runs.pool.depth
    if audit.has_pool and runs.pool.depth and many.any():
        names = sorted((runs.topics[place] for place in many.nonzero()[0]), key=natural_order)
        yield _note(
            "many relevant", f"{plural(len(names), 'topic')} with more relevant documents than the pool is"
            f" deep ({runs.pool.depth})", float(len(names)), "topics",
            f"No run could have had them all pooled, and more are likely: {listed(names)}.",
        )  # fmt: skip


def _short_runs(audit: Audit) -> Iterator[Statement]:
    found = audit.coverage()
    rows = found.short.nonzero()[0]
    if len(rows):
        names = [f"{found.runs[row]} {found.lengths[row]:.0f}" for row in rows]
        yield _note(
            "short runs", f"{plural(len(rows), 'run')} with short lists", float(len(rows)), "runs",
            f"Such values stand still at deeper k; documents for a topic: {listed(names)}"
            f" (median of all runs {np.median(found.lengths):.0f}).",
        )  # fmt: skip


def _tied(audit: Audit) -> Iterator[Statement]:
    found = audit.ties()
    tau = float(found.tau[0, 1])
    if found.with_ties() > 0 and not tau >= STEADY_TIES:
        told = "is not defined" if np.isnan(tau) else f"is {tau:.3f}"
        claim = "Whether the rule for tied scores matters is not known"
        yield _note(
            "ties", claim if np.isnan(tau) else "The rule for tied scores matters", tau, "tau",
            f"{whole_percent(found.with_ties())} of lists have ties in the first {found.top}; tau of"
            f" {found.measure} between order by doc id and order of lines {told}.",
        )  # fmt: skip


def _popular(audit: Audit) -> Iterator[Statement]:
    from sounding.agreement import kendall_tau
    from sounding.collection.pseudo import average_precision
    from sounding.collection.reinforcement import assessed_at, assessment

    old = ~audit.runs.new
    if np.count_nonzero(old) < FEW_RUNS:
        return
    tau = kendall_tau(average_precision(audit.runs)[old], assessment(audit.runs)[old])
    if tau > ASSESSED_ALIKE and not audit.only_relevant:  # where judged means relevant it says nothing
        yield _note(
            "assessment", "Runs that were judged more come out better", tau, "tau",
            f"tau between MAP and assessment at {assessed_at(audit.runs)} is {tau:.3f}.",
        )  # fmt: skip
