"""The sentences of `agree`: the headline, notes, legends of tables, and reasons for missing values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sounding.agree.panel import LogCounts, Repeats
from sounding.agree.resampling import SWAP_SHARES, Effect
from sounding.agree.result import Study
from sounding.core.text import first_few, natural_order, plural, whole_percent
from sounding.evaluate.result import FEW_RUNS, FEW_TOPICS
from sounding.statistics.assessor_agreement import Estimate
from sounding.statistics.rank_correlation import find_coefficient

OF_JUDGMENTS = ("negative", "fractional")  # policies that affect the judgments
BARELY, SOMEWHAT = 0.9, 0.7  # mean tau from which a ranking "barely" or "somewhat" changes
MOST_MEASURES = 3  # named in the headline


# -- the answer -----------------------------------------------------------------------------------


def headline(study: Study) -> str:
    """Return how far the assessors agree and, with runs, what that does to the ranking."""
    ranking = f" {_ranking(study.effects)}." if study.effects else ""
    return f"{_agreement(study)}.{ranking}"


def _agreement(study: Study) -> str:
    agreements = study.agreements
    everyone = agreements.everyone
    overlap = everyone.estimates["overlap"]
    if np.isnan(overlap.value):
        return f"The assessors cannot be compared: {overlap.remark}"
    topics = int(np.count_nonzero(~np.isnan(everyone.overlaps)))
    frame = f"overlap, {plural(topics, 'topic')}"
    shared = whole_percent(overlap.value)
    if len(everyone.members) == 2:
        return f"Two assessors agree on {shared} of the relevant documents ({frame})"
    pairs = [group.estimates["overlap"].value for group in agreements.groups[:-1]]
    known = [value for value in pairs if np.isfinite(value)]
    span = f"{whole_percent(min(known))} to {whole_percent(max(known))}"
    return (
        f"All {len(everyone.members)} assessors agree on {shared} of the relevant documents,"
        f" pairs of them on {span} ({frame})"
    )


def _ranking(effects: Sequence[Effect]) -> str:
    systems = len(effects[0].systems)
    if systems < FEW_RUNS:
        return _few_systems(effects)
    if find_coefficient(effects[0].coefficient).identical != 1:
        return f"The rankings of {systems} systems differ by {_means(effects)}"
    groups: dict[str, list[Effect]] = {}
    for effect in effects:
        groups.setdefault(_change(effect.with_original.mean), []).append(effect)
    parts = [f"{change} ({_means(alike)})" for change, alike in groups.items()]
    return f"The ranking of {systems} systems {', but '.join(parts)}"


def _change(tau: float) -> str:
    if np.isnan(tau):
        return "is undefined"
    return "barely changes" if tau >= BARELY else "changes somewhat" if tau >= SOMEWHAT else "changes a lot"


def _means(effects: Sequence[Effect]) -> str:
    """Return the mean coefficient by measure, such as `mean tau 0.94 by AP, 0.91 by P@10`."""
    coefficient = effects[0].coefficient
    known = [effect for effect in effects if np.isfinite(effect.with_original.mean)]
    if not known:
        return f"systems tie by {', '.join(str(effect.measure) for effect in effects)}"
    values = [f"{effect.with_original.mean:.2f} by {effect.measure}" for effect in known]
    return f"mean {'tau' if coefficient == 'tau_b' else coefficient} {first_few(values, MOST_MEASURES)}"


def _few_systems(effects: Sequence[Effect]) -> str:
    swapped = [
        f"{int(np.count_nonzero(np.triu(np.nan_to_num(_either_way(effect)) > 0, 1)))} of"
        f" {plural(effect.pairs, 'pair')} by {effect.measure}"
        for effect in effects
    ]
    return (
        f"{len(effects[0].systems)} systems are too few for a rank correlation; some qrels reverse"
        f" {first_few(swapped, MOST_MEASURES)}"
    )


def _either_way(effect: Effect) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    share = np.nan_to_num(effect.swap_share)
    return np.maximum(share, share.T)


# -- notes ----------------------------------------------------------------------------------------

OUTSIDE = {
    "primary": "{count:,} documents that {primary} found relevant and others did not judge count as relevant"
    " for them too (--outside primary).",
    "nonrelevant": "{count:,} documents that an assessor of the topic did not judge count as grade 0"
    " (--outside nonrelevant).",
}
MEAN_GRADES = (
    "A document is relevant if its mean grade reaches {level:g}. At level 1, all votes must be 1; use --level"
    " 0.5 for half of them."
)
NONE_CONTESTED = "The assessors never disagree about relevance."
LEFT_OUT = "leaves out {topics}, for which an assessor found nothing relevant"
NOT_IN_ALL = "the intersection has no relevant document for {topics}"


def notes(study: Study, *, policies: bool = False) -> list[str]:
    """Return what could mislead a reader, the most important first; `policies` adds all policies."""
    panel, how = study.panel, study.choices
    texts = [repeated(repeats) for repeats in panel.repeats if repeats.contradictory]
    if any(repeats.policy == "mean" and repeats.contradictory for repeats in panel.repeats):
        texts.append(MEAN_GRADES.format(level=how.level))
    if how.outside in OUTSIDE:
        filled = sum(panel.filled)
        texts.append(OUTSIDE[how.outside].format(primary=panel.assessors[how.primary], count=filled))
    texts += _topics_without_value(study)
    if not any(topic.contested for topic in study.agreements.topics):
        texts.append(NONE_CONTESTED)
    if len(panel.topics) < FEW_TOPICS:
        texts.append(
            f"Only {plural(len(panel.topics), 'topic')}, fewer than {FEW_TOPICS}: agreement and rankings may"
            " well differ on other topics."
        )
    texts += [_log(counts) for counts in panel.logs]
    texts += [repeated(repeats) for repeats in panel.repeats if not repeats.contradictory]
    if changed := study.policies.changed():
        texts.append(f"Policies that differ from the defaults: {changed}.")
    texts.append(
        f"{len(panel.assessors)} assessors judged {plural(len(panel.docs), 'document')} of"
        f" {plural(len(panel.topics), 'topic')}; grades from {how.level:g} are relevant. The"
        f" intervals are {100 * (1 - how.alpha):g}% bootstrap intervals over topics"
        f" ({how.resamples:,} resamples, seed {how.seed})."
    )
    texts += [note for effect in study.effects for note in resampled(effect)]
    if policies:
        named = (f"{name.replace('_', ' ')} {value}" for name, value in policies_in_force(study).items())
        texts.append(f"Policies: {', '.join(named)}.")
    return texts


def _log(counts: LogCounts) -> str:
    return (
        f"{counts.source}: {plural(counts.standing, 'judgment')} used. Left out: {counts.cannot:,} that could"
        f" not be judged, {counts.skipped:,} skipped, {counts.withdrawn:,} withdrawn, {counts.changed:,}"
        f" changed later, {counts.adjudicated:,} adjudications."
    )


def repeated(repeats: Repeats) -> str:
    """Return how many documents an assessor judged more than once, and which grade counts."""
    if not repeats.contradictory:
        return (
            f"{repeats.assessor} lists {plural(repeats.pairs, 'document')} more than once, always with the"
            f" same grade; each counts once."
        )
    return (
        f"{repeats.assessor} gave {plural(repeats.contradictory, 'document')} different grades; --repeated"
        f" {repeats.policy} decides. The first is {repeats.example}."
    )


def policies_in_force(study: Study) -> dict[str, str | int]:
    """Return the policies that could change a number here, by name."""
    known = study.policies.in_force()
    return known if study.effects else {name: known[name] for name in OF_JUDGMENTS}


def _topics_without_value(study: Study) -> list[str]:
    """Return which topics have no overlap, and which ones rankings leave out."""
    groups: dict[str, list[str]] = {}
    for topic in study.agreements.topics:
        if np.isnan(topic.overlap):
            groups.setdefault(topic.reason, []).append(topic.topic)
    texts = [f"No overlap for {_counted_topics(topics)}: {reason}." for reason, topics in groups.items()]
    for effect in study.effects:
        gone = [str(topic) for topic in effect.dropped if topic.everywhere]
        less = [topic.topic for topic in effect.dropped if not topic.everywhere]
        if gone:
            texts.append(f"{effect.measure} {LEFT_OUT.format(topics=_counted_topics(gone))}.")
        if less:
            texts.append(f"{effect.measure}: {NOT_IN_ALL.format(topics=_counted_topics(less))}.")
    return texts


def _counted_topics(names: Sequence[str], most: int = 10) -> str:
    return f"{plural(len(names), 'topic')} ({first_few(sorted(names, key=natural_order), most)})"


def resampled(effect: Effect) -> Iterator[str]:
    """Yield how the values of the systems vary over the qrels."""
    mean, least = effect.mean_correlation()
    if np.isnan(mean):
        yield f"{effect.measure}: no two systems' values vary over the qrels."
    else:
        yield (
            f"{effect.measure}: over the qrels, the values of two systems have a correlation of {mean:.3f} on"
            f" average and of at least {least:.3f}."
        )
    outside = {which: len(effect.outside(which)) for which in ("union", "intersection")}
    yield (
        f"{effect.measure} lies outside the range of the qrels for {plural(outside['union'], 'system')} under"
        f" the union of all judgments, and for {outside['intersection']} under their intersection."
    )


def more_sections(names: Sequence[str]) -> str:
    """Return which other tables there are."""
    return f"More tables: --section {', '.join(names)}; or --all."


def reasons(estimates: Mapping[str, Estimate], names: Sequence[str]) -> str:
    """Return why some coefficients have no value or interval, such as `kappa: one topic: no interval`."""
    named: dict[str, list[str]] = {}
    for name in names:
        named.setdefault(estimates[name].remark, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {remark}" for remark, alike in named.items() if remark)


# -- legends of tables ----------------------------------------------------------------------------

RELEVANCE = (
    "Overlap: the documents that all assessors found relevant, as a share of those that at least one found"
    " relevant (mean over topics). Kappa is {kappa}. Alpha is Krippendorff's."
)
GRADES = (
    "Kappa is {kappa}. Alpha is Krippendorff's. The weighted and ordinal forms count near grades as less"
    " wrong."
)
SHARED = (
    "Shared: the number of documents to which both assessors gave the grade, divided by the mean number to"
    " which one of them gave it."
)
CONFUSIONS = "The table counts the documents that both assessors judged, by the grade that each gave."
REJECTED = (
    "Relevant: how many documents the assessor found relevant, among the documents that all assessors judged."
    " Rejected: how many of these no other assessor found relevant."
)
BIAS = (
    "Bias: how often the assessor gives the grade, minus how often the others give it to the same documents."
)
TOPICS = (
    "Relevant: how many documents {assessors} found relevant, among the documents that all of them judged."
    " Contested: how many documents one assessor found relevant and another did not."
)
SWAPS = "In brackets: the number of swaps of neighbors that would give this value."
TOP = (
    "{best}, ranked under each assessor and under the mean of the others. Favored: the system that gains most"
    " beyond the mean shift. Places: the largest move of a system."
)


def first_of(shown: int, count: int, what: str) -> str:
    """Return that only the first rows are shown; an empty text if all are."""
    return f"{shown} of {count} {what} are shown; --top N shows more. " if shown < count else ""


def sampled(effect: Effect) -> str:
    """Return how many qrels a measure was computed under."""
    frame = f"{plural(len(effect.topics), 'topic')}, {plural(len(effect.systems), 'system')}"
    if effect.enumerated:
        return f"{effect.measure}: all {effect.samples:,} possible qrels ({frame})."
    return f"{effect.measure}: {effect.samples:,} qrels, each with a random assessor per topic ({frame})."


def swaps(effect: Effect, pairs: int) -> str:
    """Return how many pairs some qrels reverse, and how large their differences are."""
    if not pairs:
        return f"No qrels reverse any of {plural(effect.pairs, 'pair')}."
    *gaps, largest = effect.swap_difference.tolist()
    limits = ", ".join(
        f"{whole_percent(share)} at most {gap:.4f}" for share, gap in zip(SWAP_SHARES[:-1], gaps, strict=True)
    )
    return (
        f"Some qrels reverse {pairs:,} of {plural(effect.pairs, 'pair')}. The original differences of these"
        f" swaps: {limits}, all at most {largest:.4f}."
    )
