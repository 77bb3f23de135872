"""What a collection is fit for and what to beware of: statements with answer, figure and rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.audit.evidence import LADDER, AuditEvidence
from sounding.audit.judged_runs import UNKNOWN_KIND, Flags
from sounding.audit.pseudo import assessed_at, assessment, average_precision
from sounding.core.text import first_few, natural_order, plural, whole_percent
from sounding.evaluate.result import FEW_RUNS, FEW_TOPICS
from sounding.runs.pool import UNPOOLED, depth_by_topic
from sounding.statistics.rank_correlation import kendall_tau

Answer = Literal["yes", "with care", "no", "not known", "note"]

NAMED = 5  # topics, runs or documents in a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that can be said of a collection."""

    about: str
    answer: Answer
    claim: str
    figure: str  # what `value` is
    value: float  # NaN: not known
    rule: str  # what makes the answer
    why: str  # the claim's reasons, with all of their figures


NOT_JUDGED = -1.0  # the grade of a document that was pooled and not judged
STEADY_TIES = 0.95  # tau between two rules for tied scores
FEW_RELEVANT = 5  # a topic with fewer moves in large steps
ASSESSED_ALIKE = 0.5  # tau between MAP and assessment: above it, much of what is measured is popularity


def cautions(audit: AuditEvidence) -> Iterator[Statement]:
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


def remarks(audit: AuditEvidence) -> Iterator[Statement]:
    """What was noticed while the runs were read."""
    for text in audit.runs.remarks:
        yield _note("runs", text[0].upper() + text[1:], np.nan, "", "")


def _undrawn(audit: AuditEvidence) -> Iterator[Statement]:
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


def _only_relevant(audit: AuditEvidence) -> Iterator[Statement]:
    if audit.only_relevant:
        grades = audit.runs.judgments.grades
        yield _note(
            "relevant only", f"Nearly all judgments are relevant ({np.count_nonzero(grades > 0):,} of"
            f" {len(grades):,}): only relevant documents seem to be listed",
            audit.relevant_share, "share of judgments",
            "How deep was judged, what deeper pools hold and how far a run is judged does not show in them;"
            " where judgments of other documents exist, give them too.",
        )  # fmt: skip


def _holes(audit: AuditEvidence) -> Iterator[Statement]:
    places = audit.runs.holes()
    if len(places) and not audit.only_relevant:
        named = audit.runs.named_documents(places[:NAMED])
        depth = audit.runs.pool.depth
        yield _note(
            "holes", f"{plural(len(places), 'document')} within the pool's depth of {depth} unjudged",
            float(len(places)), "unjudged documents",
            f"Lost judgments, or pools of some topics that end above it (topic doc):"
            f" {first_few(named, NAMED, len(places))}.",
        )  # fmt: skip


def _outside(audit: AuditEvidence) -> Iterator[Statement]:
    outside, judged = audit.growth().elsewhere, len(audit.runs.judgments.grades)
    if outside:
        yield _note(
            "judged elsewhere", f"{outside:,} of {judged:,} judged documents are in no pooled run's first"
            f" {audit.runs.reach}", outside / judged, "share of judgments",
            "Runs that are not here, or deeper pools of some topics, brought them in.",
        )  # fmt: skip


def _winners(audit: AuditEvidence) -> Iterator[Statement]:
    found = audit.leave_out()
    topics = int(np.count_nonzero(found.winner_changes.any(axis=0)))
    if topics and len(found.units) > 1:
        changing = np.count_nonzero(found.winner_changes, axis=1) > 0
        groups = [name for name, own in zip(found.units, changing, strict=True) if own]
        yield _note(
            "winners", f"On {plural(topics, 'topic')} leaving out one group changes the best run",
            float(topics), "topics", f"By {found.measures[0]}; left out: {first_few(groups, NAMED)}.",
        )  # fmt: skip


def _relevant_counts(audit: AuditEvidence) -> Iterator[Statement]:
    runs = audit.runs
    relevant = runs.judgments.relevant(runs.level)
    few = relevant < FEW_RELEVANT
    if few.any():
        names = _topics(audit, few)
        yield _note(
            "few relevant", f"{plural(len(names), 'topic')} with fewer than {FEW_RELEVANT} relevant"
            " documents", float(len(names)), "topics",
            f"One document moves them far: {first_few(names, NAMED)}.",
        )  # fmt: skip
    many = relevant > runs.pool.depth
    if audit.has_pool and runs.pool.depth and many.any():
        names = _topics(audit, many)
        yield _note(
            "many relevant", f"{plural(len(names), 'topic')} with more relevant documents than the pool is"
            f" deep ({runs.pool.depth})", float(len(names)), "topics",
            f"No run could have had them all pooled, and more are likely: {first_few(names, NAMED)}.",
        )  # fmt: skip


def _topics(audit: AuditEvidence, chosen: Flags) -> list[str]:
    """The chosen topics, in the order in which people count."""
    return sorted((audit.runs.topics[place] for place in chosen.nonzero()[0]), key=natural_order)


def _short_runs(audit: AuditEvidence) -> Iterator[Statement]:
    found = audit.coverage()
    rows = found.short.nonzero()[0]
    if len(rows):
        names = [f"{found.runs[row]} {found.lengths[row]:.0f}" for row in rows]
        yield _note(
            "short runs", f"{plural(len(rows), 'run')} with short lists", float(len(rows)), "runs",
            f"Such values stand still at deeper k; documents for a topic: {first_few(names, NAMED)}"
            f" (median of all runs {np.median(found.lengths):.0f}).",
        )  # fmt: skip


def _tied(audit: AuditEvidence) -> Iterator[Statement]:
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


def _popular(audit: AuditEvidence) -> Iterator[Statement]:
    old = ~audit.runs.new
    if np.count_nonzero(old) < FEW_RUNS:
        return
    tau = kendall_tau(average_precision(audit.runs)[old], assessment(audit.runs)[old])
    if tau > ASSESSED_ALIKE and not audit.only_relevant:  # where judged means relevant it says nothing
        yield _note(
            "assessment", "Runs that were judged more come out better", tau, "tau",
            f"tau between MAP and assessment at {assessed_at(audit.runs)} is {tau:.3f}.",
        )  # fmt: skip


SHALLOW = 10  # a pool that is not as deep as this tells too little of any run
# Percent: Voorhees (2002) has less than 2 for good collections, 6 to 8 for poor ones.
SMALL_CHANGE, LARGE_CHANGE = 2.0, 6.0
SMALL_REMAINDER, LARGE_REMAINDER = 0.2, 0.5  # new relevant documents at twice the depth, by those known
WELL_JUDGED, HALF_JUDGED = 0.9, 0.5  # shares of a run's first documents
ONLY_RELEVANT = " Nearly all judgments are relevant: only relevant documents seem to be listed."
UNLISTED = " That is what is listed as relevant; what else was judged does not show."
TOPICS_RULE = f"with care at best: fewer than {FEW_TOPICS} topics; no: one topic"
UNJUDGED = {
    "nonrelevant": "what is not judged counts as not relevant",
    "condensed": "what is not judged is passed over, so that what is judged moves up",
}  # by policy
MOST_HOLED = 0.01  # of a pool's documents: more unjudged ones are no accident
MOST_ABSENT = 0.5  # of the judged documents, from runs that are not here: leaving a group out misleads


def verdict(audit: AuditEvidence) -> list[Statement]:
    """What the collection is fit for, and what to beware of, most important first."""
    if audit.sampled:
        return [_sample(audit), *remarks(audit)]
    if audit.strangers:
        return [_no_common_document(audit), *remarks(audit)]
    found = [_pooled_runs(audit)]
    if audit.has_pool:
        found += [_below_the_pool(audit), _recall(audit), _runs_like_these(audit)]
    found += [_new_run(audit, run) for run in audit.runs.new.nonzero()[0].tolist()]
    return [*found, *cautions(audit)]


def _sample(audit: AuditEvidence) -> Statement:
    """Judgments of a sample say nothing of depth, growth or leaving out: all of that needs a whole pool."""
    qrels = audit.runs.qrels
    count = len(np.unique(qrels.strata)) if qrels.strata is not None else 0
    how = f"in {count} strata" if count > 1 else "drawn from the whole pool"
    if qrels.strata is None:
        how = "each with the chance that it had of being drawn"
    undrawn = int(np.count_nonzero(qrels.grades < 0))
    left = f", and {undrawn:,} documents of the pool were not drawn (grade -1)" if undrawn else ""
    measures = "xinfAP or statAP" if qrels.strata is not None else "statAP"
    return Statement(
        about="sample", answer="with care", figure="judged documents", value=float(len(qrels.docs) - undrawn),
        rule="with care: judgments with strata or probabilities are a sample",
        claim=f"Compare runs by estimates from a sample alone, such as {measures}",
        why=f"The judgments are a sample: {len(qrels.docs) - undrawn:,} documents, {how}{left}. What was not"
        " drawn is not known to be anything, so depth, growth and leaving out tell nothing here; sounding"
        f" evaluate -m {measures.split()[0]} --stats gives values with their errors.",
    )  # fmt: skip


def _no_common_document(audit: AuditEvidence) -> Statement:
    """Runs of another collection, or ids that are written otherwise: nothing can be compared."""
    runs = audit.runs
    docs, judged = runs.retrieved.docs.texts(), runs.qrels.docs.texts()
    here = f" Runs have ids such as {docs[0]}, the judgments {judged[0]}." if docs and judged else ""
    return Statement(
        about="no document in common", answer="no", figure="judged documents retrieved", value=0.0,
        rule="no: no document that any run retrieved is judged",
        claim="Compare these runs by these judgments",
        why=f"No document is in common: none of the {len(docs):,} that the runs retrieved for these topics is"
        f" among the {len(judged):,} of the qrels. Are they of another collection, or are ids written"
        f" otherwise?{here}",
    )  # fmt: skip


def _pooled_runs(audit: AuditEvidence) -> Statement:
    runs = audit.runs
    depth, topics = runs.pool.depth, len(runs.topics)
    rule = (
        f"yes: a pool of depth {SHALLOW} or more, at most {whole_percent(MOST_HOLED)} of its documents"
        f" unjudged, and {FEW_TOPICS} topics or more; with care: less of these; no: more than"
        f" {whole_percent(UNPOOLED)} of even the first documents are unjudged, or one topic; not known: only"
        " relevant documents are listed"
    )
    why = f"{runs.pool.describe()} {plural(topics, 'topic')}."
    if audit.only_relevant or not audit.has_pool:
        why += ONLY_RELEVANT if audit.only_relevant else " List the runs that were pooled with --info."
        return Statement(
            about="pooled runs", answer="not known", figure="pool depth", value=np.nan, rule=rule,
            claim="Compare pooled runs", why=why,
        )  # fmt: skip
    if topics == 1:
        why += " One topic proves nothing about runs: another may turn everything round."
    elif 0 < depth < SHALLOW:
        why += f" Values of the first {depth} rest on few documents each."
    enough = depth >= SHALLOW and topics >= FEW_TOPICS and audit.holed() <= MOST_HOLED
    own: Answer = "yes" if enough else "with care" if depth else "no"
    answer = _no_better(own, _by_topics(audit))
    return Statement(
        about="pooled runs", answer=answer, figure="pool depth", value=float(depth), rule=rule,
        claim=f"Compare pooled runs at k of at most {depth}" if depth else "Compare pooled runs",
        why=why + _topic_depths(audit),
    )  # fmt: skip


def _by_topics(audit: AuditEvidence) -> Answer:
    """The best answer that the number of topics allows, whatever was judged."""
    topics = len(audit.runs.topics)
    return "no" if topics == 1 else "yes" if topics >= FEW_TOPICS else "with care"


def _few_topics(audit: AuditEvidence, answer: Answer) -> str:
    """Why an answer is worse than the figure alone would give."""
    if _no_better(answer, _by_topics(audit)) == answer:
        return ""
    return f" {plural(len(audit.runs.topics), 'topic')} allow{'s' * (len(audit.runs.topics) == 1)} no more."


def _topic_depths(audit: AuditEvidence) -> str:
    """What the topics' own depths add."""
    depths, _ = depth_by_topic(audit.runs.pool, audit.runs.retrieved, audit.runs.grades())
    known = depths[np.isfinite(depths)]
    if not len(known) or known.max() == known.min():
        return ""
    return (
        f" By topic the pool is {known.min():.0f} to {known.max():.0f} deep, median {np.median(known):.0f}."
    )


def _below_the_pool(audit: AuditEvidence) -> Statement:
    deepest = audit.runs.retrieved.depth
    shares = audit.coverage().judged_share[audit.runs.contributing, deepest - 1]
    shares = shares[np.isfinite(shares)]
    middle = float(np.median(shares)) if len(shares) else np.nan
    graded = _graded(1 - middle, 1 - WELL_JUDGED, 1 - HALF_JUDGED)
    own: Answer = "not known" if audit.only_relevant else graded
    return Statement(
        about="below the pool", figure=f"median share judged at {deepest}", value=middle,
        answer=_no_better(own, _by_topics(audit)),
        rule=f"yes: {whole_percent(WELL_JUDGED)} judged or more, by the median of pooled runs; with care:"
        f" {whole_percent(HALF_JUDGED)}; {TOPICS_RULE}",
        claim=f"Compare pooled runs by P@{deepest} and whatever weighs all ranks alike",
        why=f"Judged of what they have down to {deepest}: {whole_percent(middle)} by the median run,"
        f" {whole_percent(shares.min(initial=np.inf))} to {whole_percent(shares.max(initial=-np.inf))};"
        f" {UNJUDGED[audit.runs.policies.unjudged]}.{_few_topics(audit, own)}"
        + (UNLISTED if audit.only_relevant else ""),
    )  # fmt: skip


def _recall(audit: AuditEvidence) -> Statement:
    growth = audit.growth()
    known, late, more = growth.relevant.sum(), growth.second_half().sum(), growth.twice.sum()
    likely = growth.twice_likely.sum()
    share = float(more / known) if known and np.isfinite(more) else np.nan
    rule = (
        f"yes: twice the depth would add at most {whole_percent(SMALL_REMAINDER)} relevant documents, by"
        f" Zobel's extrapolation; with care: {whole_percent(LARGE_REMAINDER)}; {TOPICS_RULE}"
    )
    own = _if_pooled(audit, _graded(share, SMALL_REMAINDER, LARGE_REMAINDER))
    if audit.only_relevant:
        share, why = np.nan, "Where only relevant documents are listed there is no growth to extrapolate."
    elif np.isnan(share):
        why = "No relevant document was pooled, or the pool is one rank deep: nothing to extrapolate."
    else:
        half = (growth.depth + 1) // 2
        why = (
            f"Twice the depth would add {more:,.0f} relevant documents ({whole_percent(share)}) by Zobel's"
            f" extrapolation, {likely:,.0f} ({whole_percent(likely / known)}) by a Poisson fit; of the"
            f" {known:,} pooled, {whole_percent(late / known)} came from below rank {half}."
        )
    return Statement(
        about="recall", figure="relevant documents to come", value=share, rule=rule,
        why=why + _few_topics(audit, own) + ("" if audit.only_relevant else _doubt(audit)),
        answer=_no_better(own, _by_topics(audit)),
        claim="Compare pooled runs by AP, nDCG and other measures of recall",
    )  # fmt: skip


def _runs_like_these(audit: AuditEvidence) -> Statement:
    found = audit.leave_out()
    measure, whole = found.measures[0], found.summary()
    rule = (
        f"yes: leaving a group out changes {measure} of its runs by at most {SMALL_CHANGE:g}% on average;"
        f" with care: {LARGE_CHANGE:g}%; never better than for pooled runs"
    )
    kinds = sorted({kind for kind, own in zip(found.kinds, found.pooled, strict=True) if own})
    parts = [
        f"{kind} runs {one.mean_percent:.2f}%, at most {one.max_percent:.2f}% ({one.most_changed})"
        for kind in (kinds if len(kinds) > 1 else [])
        if (one := found.summary(0, found.of_kind(kind))).most_changed
    ]
    ten = f" ({whole.mean_percent_on_ten:.1f}% on the ten topics with most relevant documents)"
    why = (
        f"Without what only its group found, {measure} of a pooled run changes by {whole.mean_percent:.2f}%"
        f" on average{ten if len(audit.runs.topics) > 10 else ''}, at most {whole.max_percent:.2f}%"
        f" ({whole.most_changed}), its rank by {whole.mean_places:.2f}, at most {whole.max_places}"
        + (f"; {'; '.join(parts)}." if parts else ".")
    )
    if whole.most_changed is None:
        why = f"{measure} of every pooled run is 0: there is nothing to change."
    if len(found.units) == 1:
        why = "Only one run or group contributed: without it there are no judgments."
    answer = _graded(whole.mean_percent, SMALL_CHANGE, LARGE_CHANGE) if len(found.units) > 1 else "not known"
    outside, judged = audit.growth().elsewhere, len(audit.runs.judgments.grades)
    if outside > MOST_ABSENT * judged:
        answer = "not known"
        why += (
            f" But {outside:,} of {judged:,} judged documents came from runs that are not here, which may"
            " have found the same."
        )
    return Statement(
        about="runs like the pooled ones", figure=f"% change in {measure}",
        answer=_no_better(_if_pooled(audit, answer), _pooled_runs(audit).answer),
        value=whole.mean_percent if len(found.units) > 1 else np.nan, rule=rule, why=why + _doubt(audit),
        claim="Compare new runs that are like the pooled ones",
    )  # fmt: skip


def _if_pooled(audit: AuditEvidence, answer: Answer) -> Answer:
    """The answer, where there is a pool: without one the judgments do not show what they miss."""
    return answer if audit.runs.pool.depth and not audit.only_relevant else "not known"


def _doubt(audit: AuditEvidence) -> str:
    if audit.only_relevant:
        return " But only relevant documents seem to be listed."
    if audit.runs.pool.depth:
        return ""
    return (
        f" But more than {whole_percent(UNPOOLED)} of even the first documents of these runs are unjudged:"
        " they were not pooled as listed."
    )


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
    limit = f" at k of at most {reach}" if reach and answer in ("yes", "with care") else ""
    shown = [depth for depth in depths if depth <= max(10, (reach or 0) * 5)][-4:]
    middle = depths[min(1, len(depths) - 1)]
    in_words = ", ".join(f"{whole_percent(shares[depth])} of the first {depth}" for depth in shown)
    return Statement(
        about=f"new run {name}", answer=answer, figure=f"judged share at {middle}", value=shares[middle],
        rule=f"yes: {whole_percent(WELL_JUDGED)} judged or more down to k; with care:"
        f" {whole_percent(HALF_JUDGED)}, and as much as the lower quartile of left-out runs; never"
        " better than for pooled runs",
        claim=f"Compare {name} with the others{limit}",
        why=" ".join(
            [
                f"Judged: {in_words}, mean over topics."
                + (UNLISTED if audit.only_relevant else ""),
                *(["The pooled runs themselves cannot be compared more surely than that."] * (answer != own)),
                *_beside_new_run(audit, run, [usual[depth] for depth in shown if depth in usual]),
            ]
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
    """What to hold against the shares of a new run."""
    if usual:
        shares = ", ".join(map(whole_percent, usual))
        yield f"A pooled run whose group is left out has {shares} (lower quartile)."
    first = audit.coverage().first_unjudged[run]
    known = first[np.isfinite(first)]
    if len(known):
        yield f"Its first unjudged document stands at rank {known.mean():.1f} on average."


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
