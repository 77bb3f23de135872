"""Statements on what a collection is fit for, with their risks: answer, figure and rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.audit import sentences
from sounding.audit.beyond import TIMES, DeeperEvaluation, depths_beyond
from sounding.audit.evidence import LADDER, AuditEvidence
from sounding.audit.judged_runs import UNKNOWN_KIND, Flags
from sounding.audit.new_runs import TOP
from sounding.audit.pseudo import assessed_at, assessment, average_precision
from sounding.core.errors import DataError
from sounding.core.text import natural_order
from sounding.evaluate.result import FEW_RUNS, FEW_TOPICS
from sounding.measures.cumulative import name_of
from sounding.runs.pool import UNPOOLED, depth_by_topic
from sounding.statistics.rank_correlation import kendall_tau

Answer = Literal["yes", "with care", "no", "not known", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that can be said of a collection."""

    about: str
    answer: Answer
    claim: str
    figure: str  # the meaning of `value`
    value: float  # NaN: not known
    rule: str  # the rule for the answer
    why: str  # the claim's reasons, with all of their figures


READING = "runs"  # the subject of remarks on reading files
NOT_JUDGED = -1.0  # the grade of a document that was pooled and not judged
STEADY_TIES = 0.95  # tau between two rules for tied scores
FEW_RELEVANT = 5  # a topic with fewer moves in large steps
ASSESSED_ALIKE = 0.5  # tau between MAP and assessment: above it, much of what is measured is popularity


def cautions(audit: AuditEvidence) -> Iterator[Statement]:
    """Yield what weakens comparisons, where there is any of it."""
    runs = audit.runs
    yield from _only_relevant(audit)
    if audit.has_pool:
        yield from _holes(audit)
        yield from _outside(audit)
        kinds = {kind for kind, own in zip(runs.kinds, runs.contributing, strict=True) if own}
        if UNKNOWN_KIND not in kinds and "manual" not in kinds:
            yield _note("manual runs", 0.0, "pooled manual runs", sentences.NO_MANUAL_RUN)
        yield from _winners(audit)
    yield from _relevant_counts(audit)
    yield from _short_runs(audit)
    yield from _tied(audit)
    yield from _popular(audit)
    yield from _undrawn(audit)
    yield from remarks(audit)


def remarks(audit: AuditEvidence) -> Iterator[Statement]:
    """Yield what was noticed while the runs were read."""
    for text in audit.runs.remarks:
        yield _note(READING, np.nan, "", (text[0].upper() + text[1:], ""))


def _undrawn(audit: AuditEvidence) -> Iterator[Statement]:
    """Documents that are listed with the grade of what was pooled and not judged."""
    grades = audit.runs.qrels.grades
    count = int(np.count_nonzero(grades == NOT_JUDGED))
    if count and audit.runs.policies.negative != "nonrelevant":
        share, claim = count / len(grades), sentences.undrawn(count, len(grades))
        yield _note("not judged", share, "share of lines", claim)


def _note(about: str, value: float, figure: str, words: sentences.Claim) -> Statement:
    claim, why = words
    return Statement(about=about, answer="note", claim=claim, figure=figure, value=value, rule="", why=why)


def _only_relevant(audit: AuditEvidence) -> Iterator[Statement]:
    if audit.only_relevant:
        grades = audit.runs.judgments.grades
        claim = sentences.only_relevant(int(np.count_nonzero(grades > 0)), len(grades))
        yield _note("relevant only", audit.relevant_share, "share of judgments", claim)


def _holes(audit: AuditEvidence) -> Iterator[Statement]:
    places = audit.runs.holes()
    if len(places) and not audit.only_relevant:
        named = audit.runs.named_documents(places[: sentences.NAMED])
        claim = sentences.holes(len(places), audit.runs.pool.depth, named)
        yield _note("holes", float(len(places)), "unjudged documents", claim)


def _outside(audit: AuditEvidence) -> Iterator[Statement]:
    outside, judged = audit.growth().elsewhere, len(audit.runs.judgments.grades)
    if outside:
        claim = sentences.judged_elsewhere(outside, judged, audit.runs.reach)
        yield _note("judged elsewhere", outside / judged, "share of judgments", claim)


def _winners(audit: AuditEvidence) -> Iterator[Statement]:
    found = audit.leave_out()
    topics = int(np.count_nonzero(found.winner_changes.any(axis=0)))
    if topics and len(found.units) > 1:
        changing = np.count_nonzero(found.winner_changes, axis=1) > 0
        groups = [name for name, own in zip(found.units, changing, strict=True) if own]
        claim = sentences.winners(topics, str(found.measures[0]), groups)
        yield _note("winners", float(topics), "topics", claim)


def _relevant_counts(audit: AuditEvidence) -> Iterator[Statement]:
    runs = audit.runs
    relevant = runs.judgments.relevant(runs.level)
    few = relevant < FEW_RELEVANT
    if few.any():
        names = _topics(audit, few)
        claim = sentences.few_relevant(names, FEW_RELEVANT)
        yield _note("few relevant", float(len(names)), "topics", claim)
    many = relevant > runs.pool.depth
    if audit.has_pool and runs.pool.depth and many.any():
        names = _topics(audit, many)
        claim = sentences.many_relevant(names, runs.pool.depth)
        yield _note("many relevant", float(len(names)), "topics", claim)


def _topics(audit: AuditEvidence, chosen: Flags) -> list[str]:
    """The chosen topics, in the order in which people count."""
    return sorted((audit.runs.topics[place] for place in chosen.nonzero()[0]), key=natural_order)


def _short_runs(audit: AuditEvidence) -> Iterator[Statement]:
    found = audit.coverage()
    rows = found.short.nonzero()[0]
    if len(rows):
        short = [(found.runs[row], found.lengths[row]) for row in rows]
        claim = sentences.short_runs(short, float(np.median(found.lengths)))
        yield _note("short runs", float(len(rows)), "runs", claim)


def _tied(audit: AuditEvidence) -> Iterator[Statement]:
    found = audit.ties()
    tau = float(found.tau[0, 1])
    if found.with_ties() > 0 and not tau >= STEADY_TIES:
        claim = sentences.tied_scores(found.with_ties(), found.top, str(found.measure), tau)
        yield _note("ties", tau, "tau", claim)


def _popular(audit: AuditEvidence) -> Iterator[Statement]:
    old = ~audit.runs.new
    if np.count_nonzero(old) < FEW_RUNS:
        return
    tau = kendall_tau(average_precision(audit.runs)[old], assessment(audit.runs)[old])
    if tau > ASSESSED_ALIKE and not audit.only_relevant:  # where judged means relevant it says nothing
        yield _note("assessment", tau, "tau", sentences.popular(assessed_at(audit.runs), tau))


SHALLOW = 10  # a pool that is not as deep as this tells too little of any run
# Percent: Voorhees (2002) has less than 2 for good collections, 6 to 8 for poor ones.
SMALL_CHANGE, LARGE_CHANGE = 2.0, 6.0
SMALL_REMAINDER, LARGE_REMAINDER = 0.2, 0.5  # new relevant documents at twice the depth, by those known
WELL_JUDGED, HALF_JUDGED = 0.9, 0.5  # shares of a run's first documents
MOST_SAFE, HALF_SAFE = 0.95, 0.5  # shares of the conclusions about a new run that very likely stand
WELL_STANDING, MOST_STANDING = 0.95, 0.8  # shares of the conclusions below the pool's depth that stand
MOST_HOLED = 0.01  # of a pool's documents: more unjudged ones are no accident
MOST_ABSENT = 0.5  # of the judged documents, from runs that are not here: leaving a group out misleads


def verdict(audit: AuditEvidence) -> list[Statement]:
    """Return what the collection is fit for, and what to beware of, most important first."""
    doubtful = audit.sampled or audit.strangers
    first, *others = fitness(audit)
    if doubtful:
        return [first, *others, *remarks(audit)]
    return [first, *_deeper(audit), *others, *cautions(audit)]


def fitness(audit: AuditEvidence) -> list[Statement]:
    """Return what the collection is fit for, most important first."""
    if audit.sampled:
        return [_sample(audit)]
    if audit.strangers:
        return [_no_common_document(audit)]
    found = [_pooled_runs(audit)]
    if audit.has_pool:
        found += [_below_the_pool(audit), _recall(audit), _runs_like_these(audit)]
    for run in audit.runs.new.nonzero()[0].tolist():
        found += [_new_run(audit, run), *_conclusions(audit, run)]
    return found


def _sample(audit: AuditEvidence) -> Statement:
    """Judgments of a sample say nothing of depth, growth or leaving out: all of that needs a whole pool."""
    qrels = audit.runs.qrels
    strata = None if qrels.strata is None else len(np.unique(qrels.strata))
    undrawn = int(np.count_nonzero(qrels.grades < 0))
    judged = len(qrels.docs) - undrawn
    claim, why = sentences.sample(judged, undrawn, strata)
    return Statement(
        about="sample", answer="with care", figure="judged documents", value=float(judged),
        rule=sentences.SAMPLE_RULE, claim=claim, why=why,
    )  # fmt: skip


def _no_common_document(audit: AuditEvidence) -> Statement:
    """Runs of another collection, or ids that are written otherwise: nothing can be compared."""
    runs = audit.runs
    return Statement(
        about="no document in common", answer="no", figure="judged documents retrieved", value=0.0,
        rule=sentences.NO_COMMON_DOCUMENT_RULE, claim=sentences.COMPARE_THESE,
        why=sentences.no_common_document(runs.retrieved.docs.texts(), runs.qrels.docs.texts()),
    )  # fmt: skip


def _pooled_runs(audit: AuditEvidence) -> Statement:
    runs = audit.runs
    depth, topics = runs.pool.depth, len(runs.topics)
    rule = sentences.pooled_rule(SHALLOW, MOST_HOLED, UNPOOLED)
    why = sentences.pool_and_topics(runs.pool.describe(), topics)
    if audit.only_relevant or not audit.has_pool:
        why += sentences.ONLY_RELEVANT if audit.only_relevant else sentences.LIST_POOLED_RUNS
        return Statement(
            about="pooled runs", answer="not known", figure="pool depth", value=np.nan, rule=rule,
            claim=sentences.compare_pooled(0), why=why,
        )  # fmt: skip
    if topics == 1:
        why += sentences.ONE_TOPIC
    elif 0 < depth < SHALLOW:
        why += sentences.shallow_pool(depth)
    enough = depth >= SHALLOW and topics >= FEW_TOPICS and audit.holed() <= MOST_HOLED
    own: Answer = "yes" if enough else "with care" if depth else "no"
    answer = _no_better(own, _by_topics(audit))
    return Statement(
        about="pooled runs", answer=answer, figure="pool depth", value=float(depth), rule=rule,
        claim=sentences.compare_pooled(depth), why=why + _topic_depths(audit),
    )  # fmt: skip


def _by_topics(audit: AuditEvidence) -> Answer:
    """The best answer that the number of topics allows, whatever was judged."""
    topics = len(audit.runs.topics)
    return "no" if topics == 1 else "yes" if topics >= FEW_TOPICS else "with care"


def _few_topics(audit: AuditEvidence, answer: Answer) -> str:
    """Return why an answer is worse than the figure alone would give."""
    if _no_better(answer, _by_topics(audit)) == answer:
        return ""
    return sentences.topics_allow_no_more(len(audit.runs.topics))


def _topic_depths(audit: AuditEvidence) -> str:
    """Return what the topics' own depths add."""
    depths, _ = depth_by_topic(audit.runs.pool, audit.runs.retrieved, audit.runs.grades())
    known = depths[np.isfinite(depths)]
    if not len(known) or known.max() == known.min():
        return ""
    return sentences.depths_by_topic(known.min(), known.max(), float(np.median(known)))


def _below_the_pool(audit: AuditEvidence) -> Statement:
    deepest = audit.runs.retrieved.depth
    shares = audit.coverage().judged_share[audit.runs.contributing, deepest - 1]
    shares = shares[np.isfinite(shares)]
    middle = float(np.median(shares)) if len(shares) else np.nan
    graded = _graded(1 - middle, 1 - WELL_JUDGED, 1 - HALF_JUDGED)
    own: Answer = "not known" if audit.only_relevant else graded
    least, most = shares.min(initial=np.inf), shares.max(initial=-np.inf)
    claim, why = sentences.below_the_pool(deepest, middle, least, most, audit.runs.policies.unjudged)
    return Statement(
        about="below the pool", figure=f"median share judged at {deepest}", value=middle,
        answer=_no_better(own, _by_topics(audit)),
        rule=sentences.below_the_pool_rule(WELL_JUDGED, HALF_JUDGED), claim=claim,
        why=why + _few_topics(audit, own) + (sentences.UNLISTED if audit.only_relevant else ""),
    )  # fmt: skip


def _deeper(audit: AuditEvidence) -> Iterator[Statement]:
    """Say down to which depth below the pool conclusions would stand, if a list is deeper."""
    seen: list[tuple[DeeperEvaluation, Answer]] = []
    for k in reversed(depths_beyond(audit.runs)):  # the deepest first: it often answers for all
        (one,) = audit.beyond(k, audit.measures[:1])
        graded = _graded(1 - one.holds, 1 - WELL_STANDING, 1 - MOST_STANDING)
        seen.append((one, _if_pooled(audit, graded)))
        if seen[-1][1] in ("yes", "not known"):
            break
    if not seen:
        return
    best = next((pair for pair in seen if pair[1] == "with care"), seen[-1])
    one, own = seen[-1] if seen[-1][1] == "yes" else best
    answer = _no_better(own, _pooled_runs(audit).answer)
    why = sentences.NO_GROWTH if audit.only_relevant else sentences.would_stand([one for one, _ in seen])
    yield Statement(
        about="deeper than the pool", answer=answer, figure="share of conclusions that stand",
        value=one.holds if own != "not known" else np.nan,
        rule=sentences.deeper_rule(WELL_STANDING, MOST_STANDING, TIMES[-1]),
        claim=sentences.compare_deeper(one.k if answer != "no" else None, name_of(one.measure)),
        why=why + (f" {sentences.NO_SURER_THAN_POOLED}" if answer != own else ""),
    )  # fmt: skip


def _recall(audit: AuditEvidence) -> Statement:
    growth = audit.growth()
    known, late, more = growth.relevant.sum(), growth.second_half().sum(), growth.twice.sum()
    likely = growth.twice_likely.sum()
    share = float(more / known) if known and np.isfinite(more) else np.nan
    own = _if_pooled(audit, _graded(share, SMALL_REMAINDER, LARGE_REMAINDER))
    if audit.only_relevant:
        share, why = np.nan, sentences.NO_GROWTH
    elif np.isnan(share):
        why = sentences.NOTHING_TO_EXTRAPOLATE
    else:
        why = sentences.to_come(known, late, more, likely, half=(growth.depth + 1) // 2)
    alone = _no_better(own, _by_topics(audit))
    answer = _no_better(alone, _pooled_runs(audit).answer)
    if answer != alone:
        why += f" {sentences.NO_SURER_THAN_POOLED}"
    return Statement(
        about="recall", figure="relevant documents to come", value=share,
        rule=sentences.recall_rule(SMALL_REMAINDER, LARGE_REMAINDER),
        why=why + _few_topics(audit, own) + ("" if audit.only_relevant else _doubt(audit)),
        answer=answer, claim=sentences.RECALL_AS_FINAL,
    )  # fmt: skip


def _runs_like_these(audit: AuditEvidence) -> Statement:
    found = audit.leave_out()
    measure, whole = str(found.measures[0]), found.summary()
    kinds = sorted({kind for kind, own in zip(found.kinds, found.pooled, strict=True) if own})
    parts = [
        sentences.changes_of_kind(kind, one)
        for kind in (kinds if len(kinds) > 1 else [])
        if (one := found.summary(0, found.of_kind(kind))).most_changed
    ]
    why = sentences.changes(measure, whole, parts, on_ten=len(audit.runs.topics) > 10)
    if whole.most_changed is None:
        why = sentences.nothing_to_change(measure)
    if len(found.units) == 1:
        why = sentences.ONE_CONTRIBUTED
    answer = _graded(whole.mean_percent, SMALL_CHANGE, LARGE_CHANGE) if len(found.units) > 1 else "not known"
    outside, judged = audit.growth().elsewhere, len(audit.runs.judgments.grades)
    if outside > MOST_ABSENT * judged:
        answer = "not known"
        why += sentences.absent_runs(outside, judged)
    return Statement(
        about="runs like the pooled ones", figure=f"% change in {measure}",
        answer=_no_better(_if_pooled(audit, answer), _pooled_runs(audit).answer),
        value=whole.mean_percent if len(found.units) > 1 else np.nan,
        rule=sentences.leave_out_rule(measure, SMALL_CHANGE, LARGE_CHANGE), why=why + _doubt(audit),
        claim=sentences.COMPARE_LIKE_POOLED,
    )  # fmt: skip


def _if_pooled(audit: AuditEvidence, answer: Answer) -> Answer:
    """The answer, where there is a pool: without one the judgments do not show what they miss."""
    return answer if audit.runs.pool.depth and not audit.only_relevant else "not known"


def _doubt(audit: AuditEvidence) -> str:
    if audit.only_relevant:
        return sentences.BUT_ONLY_RELEVANT
    return "" if audit.runs.pool.depth else sentences.not_as_listed(UNPOOLED)


def _new_run(audit: AuditEvidence, run: int) -> Statement:
    name = audit.runs.runs[run]
    length = int(audit.runs.retrieved.lengths[run].max(initial=0))
    depths = [depth for depth in LADDER if depth <= length] or [max(length, 1)]
    judged = audit.coverage().judged_share[run]
    shares = {depth: float(judged[depth - 1]) for depth in depths}
    usual = _usual_shares(audit, depths)
    well = _deepest(depths, [share >= WELL_JUDGED for share in shares.values()])
    alike = _deepest(depths, [shares[depth] >= max(usual[depth], HALF_JUDGED) for depth in usual])
    own: Answer = "yes" if well else "not known" if audit.only_relevant else "with care" if alike else "no"
    answer = _no_better(own, _pooled_runs(audit).answer)
    reach = well or alike
    limit = reach if answer in ("yes", "with care") else None
    shown = [depth for depth in depths if depth <= max(10, (reach or 0) * 5)][-4:]
    middle = depths[min(1, len(depths) - 1)]
    return Statement(
        about=f"new run {name}", answer=answer, figure=f"judged share at {middle}", value=shares[middle],
        rule=sentences.new_run_rule(WELL_JUDGED, HALF_JUDGED), claim=sentences.compare_new_run(name, limit),
        why=" ".join(
            [
                sentences.judged_of_new_run({depth: shares[depth] for depth in shown})
                + (sentences.UNLISTED if audit.only_relevant else ""),
                *([sentences.NO_SURER_THAN_POOLED] * (answer != own)),
                *_beside_new_run(audit, run, [usual[depth] for depth in shown if depth in usual]),
            ]
        ),
    )  # fmt: skip


def _conclusions(audit: AuditEvidence, run: int) -> Iterator[Statement]:
    """State whether conclusions about a new run would stand; nothing if no chance can be computed."""
    try:
        found = audit.conclusions(run)
    except DataError:  # a measure that drawn judgments do not allow
        return
    if not found.holds.open_documents or not len(found.chance):
        return
    share = found.safe / len(found.chance)
    graded = _graded(1 - share, 1 - MOST_SAFE, 1 - HALF_SAFE)
    name, measure = audit.runs.runs[run], str(found.measure)
    yield Statement(
        about=f"conclusions about {name}", answer="not known" if found.holds.reason else graded,
        figure="share of conclusions that stand", value=np.nan if found.holds.reason else share,
        rule=sentences.conclusions_rule(MOST_SAFE, HALF_SAFE), claim=sentences.use_conclusions(name, measure),
        why=sentences.conclusions_not_known(found.holds.reason)
        if found.holds.reason
        else sentences.conclusions(
            found.safe, len(found.chance), found.holds.until_in_words, found.open, found.documents, TOP
        ),
    )  # fmt: skip


def _usual_shares(audit: AuditEvidence, depths: list[int]) -> dict[int, float]:
    """Depth -> lower quartile of what is judged of pooled runs whose group is left out; {} without a pool."""
    if not audit.has_pool or len(audit.leave_out().units) < 2:
        return {}
    left_out = audit.leave_out()
    quartiles = {}
    for depth in depths:
        shares = left_out.judged_share[left_out.pooled, depth - 1]
        known = shares[np.isfinite(shares)]
        quartiles[depth] = float(np.quantile(known, 0.25)) if len(known) else np.nan
    return quartiles


def _beside_new_run(audit: AuditEvidence, run: int, usual: list[float]) -> Iterator[str]:
    """Yield the figures to compare with the shares of a new run."""
    if usual:
        yield sentences.usual_shares(usual)
    first = audit.coverage().first_unjudged[run]
    known = first[np.isfinite(first)]
    if len(known):
        yield sentences.first_unjudged(known.mean())


def _no_better(answer: Answer, pooled: Answer) -> Answer:
    """The answer for new runs, no better than that for pooled ones; with none known, with care at most."""
    if answer == "not known":
        return answer
    order: list[Answer] = ["no", "with care", "yes"]
    most: Answer = "with care" if pooled == "not known" else pooled
    return order[min(order.index(answer), order.index(most))]


def _deepest(depths: list[int], good: list[bool]) -> int | None:
    """The deepest depth such that all to it are good; None: not even the first is."""
    bad = good.index(False) if False in good else len(good)
    return depths[bad - 1] if bad else None


def _graded(value: float, small: float, large: float) -> Answer:
    if np.isnan(value):
        return "not known"
    return "yes" if value <= small else "with care" if value <= large else "no"
