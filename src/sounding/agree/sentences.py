"""What is said of several assessors, in sentences that take their numbers from a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sounding.agree.panel import LogCounts, Repeats
from sounding.agree.resampling import SWAP_SHARES, Effect
from sounding.agree.result import Study
from sounding.core.text import first_few, natural_order, plural, whole_percent
from sounding.statistics.assessor_agreement import Estimate

OF_JUDGMENTS = ("negative", "fractional")  # policies that count where there are no runs

OUTSIDE = {
    "common": "Outside common: pairs are compared on documents that both judged.",
    "primary": "Outside primary: {count:,} documents that {primary} found relevant and others were not shown"
    " count as relevant for them.",
    "nonrelevant": "Outside nonrelevant: {count:,} documents that an assessor of the topic did not judge"
    " count as grade 0.",
}
MEAN_GRADES = (
    "Mean grades: relevant where the mean reaches {level:g}; of votes 0 and 1 that takes all of them at level"
    " 1, and half of them at --level 0.5."
)
NONE_CONTESTED = "No document is contested: all who judged one agree whether it is relevant."
LEFT_OUT = "left out, as an assessor found nothing relevant,"
NOT_IN_ALL = "the intersection has no relevant document for"
RELEVANCE = (
    "Overlap: relevant to all of the documents relevant to any, mean over topics. Agreement, kappa ({kappa})"
    " and alpha (Krippendorff's) are of relevance, over all topics together."
)
GRADES = (
    "Of grades, not of relevance. Kappa ({kappa}) and alpha count grades as equal or not; weighted kappa (of"
    " pairs) and ordinal alpha count near grades as less of a disagreement."
)
SHARED = (
    "Shared: of the judgments with this grade, those of the one and of the other counted together, the share"
    " on documents to which both gave it; for more than two, over all pairs of judgments."
)
CONFUSIONS = "Documents that both judged, by the grade that each gave."
REJECTED = "Relevant: found relevant and judged by all others; rejected: not relevant to any of these."
BIAS = "Shares of the documents that the assessor and somebody else judged; bias: given less by others."
TOPICS = (
    "Relevant: to {assessors}, of the documents that all judged. Contested: of all documents, those relevant"
    " to one and not to another."
)
SWAPS = "In brackets: swaps of neighbors that the value stands for."
TOP = (
    "{best} by the mean over assessors, under each assessor and under the mean of the others: mean shift of"
    " the values, {coefficient} of the two rankings, the system that gains most beyond the shift of all, and"
    " the one that moves most places."
)


def notes(study: Study) -> list[str]:
    """What the figures rest on: who, what counts as judged and relevant, what was repeated or left out."""
    panel, how = study.panel, study.choices
    texts = [
        f"{len(panel.assessors)} assessors, {plural(len(panel.topics), 'topic')},"
        f" {plural(len(panel.docs), 'document')};"
        f" relevant from grade {how.level:g}. Intervals: {100 * (1 - how.alpha):g}%, bootstrap over topics"
        f" ({how.resamples:,} resamples, seed {how.seed}).",
        OUTSIDE[how.outside].format(primary=panel.assessors[how.primary], count=sum(panel.filled)),
        *(_log(one) for one in panel.logs),
        *(repeated(one) for one in panel.repeats),
    ]
    if any(one.policy == "mean" and one.contradictory for one in panel.repeats):
        texts.append(MEAN_GRADES.format(level=how.level))
    if not any(one.contested for one in study.agreements.topics):
        texts.append(NONE_CONTESTED)
    texts += [f"{text}." for text in _topics_without_value(study)]
    named = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in policies_in_force(study).items())
    return [*texts, f"Policies: {named}."]


def _log(counts: LogCounts) -> str:
    """What a judgment log holds, and what was left out."""
    return (
        f"Log: {counts.source}: {counts.standing:,} judgments stand; left out: could not judge"
        f" {counts.cannot:,}, skipped {counts.skipped:,}, taken back {counts.withdrawn:,}, changed later"
        f" {counts.changed:,}, adjudications {counts.adjudicated:,}."
    )


def repeated(repeats: Repeats) -> str:
    """What an assessor judged more than once, and what was made of it."""
    text = (
        f"Repeated: {repeats.assessor}: {plural(repeats.pairs, 'document')} listed more than once"
        f" ({plural(repeats.rows, 'further row')})"
    )
    if not repeats.contradictory:
        return f"{text}, always with the same grade, counted once; first {repeats.example}."
    return (
        f"{text}, {repeats.contradictory:,} with different grades, settled by `{repeats.policy}`;"
        f" first {repeats.example}."
    )


def policies_in_force(study: Study) -> dict[str, str | int]:
    """The policies that could change a figure here, by name."""
    known = study.policies.in_force()
    return known if study.effects else {name: known[name] for name in OF_JUDGMENTS}


def _topics_without_value(study: Study) -> list[str]:
    """Topics without a value or without relevant documents, counted and named."""
    groups: dict[str, list[str]] = {}
    for one in study.agreements.topics:
        if np.isnan(one.overlap):
            groups.setdefault(one.reason, []).append(one.topic)
    texts = [f"No overlap for {_counted_topics(topics)}: {reason}" for reason, topics in groups.items()]
    for effect in study.effects:
        gone = [str(one) for one in effect.dropped if one.everywhere]
        less = [one.topic for one in effect.dropped if not one.everywhere]
        for text, topics in ((LEFT_OUT, gone), (NOT_IN_ALL, less)):
            if topics:
                texts.append(f"{effect.measure}: {text} {_counted_topics(topics)}")
    return texts


def _counted_topics(names: Sequence[str], most: int = 10) -> str:
    return f"{plural(len(names), 'topic')} ({first_few(sorted(names, key=natural_order), most)})"


def reasons(estimates: Mapping[str, Estimate], names: Sequence[str]) -> str:
    """What is to be said of some coefficients, as `overlap, kappa: no topic that all of them judged`."""
    named: dict[str, list[str]] = {}
    for name in names:
        named.setdefault(estimates[name].remark, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {remark}" for remark, alike in named.items() if remark)


def first_of(shown: int, count: int, what: str) -> str:
    """That only the first of many rows are shown; nothing where all are."""
    return f"{shown} of {count} {what}, more with --top N. " if shown < count else ""


def resampled(effect: Effect) -> str:
    """What resampling showed of a measure, in sentences."""
    qrels = f"{effect.samples:,} qrels that pick an assessor for every topic"
    if effect.enumerated:
        qrels = f"all {effect.samples:,} possible qrels"
    text = f"{effect.measure}: {qrels}, over {plural(len(effect.topics), 'topic')}"
    text += f" and {plural(len(effect.systems), 'system')}."
    mean, least = effect.mean_correlation()
    if not np.isnan(mean):
        text += f" Values of two systems over qrels correlate by {mean:.3f} on average, {least:.3f} at least."
    else:
        text += " No two systems' values vary over qrels."
    for which in ("union", "intersection"):
        out = len(effect.outside(which))
        where = f"outside the sampled range for {out}" if out else "in the sampled range for all"
        text += f" The {which} lies {where} of them."
    return text


def swaps(effect: Effect, pairs: int) -> str:
    """How many pairs some qrels turn, and how large their differences are."""
    if not pairs:
        return f"None of {plural(effect.pairs, 'pair')} is turned by any qrels."
    *gaps, largest = effect.swap_difference.tolist()
    shares = ", ".join(
        f"{whole_percent(share)} at or below {gap:.4f}"
        for share, gap in zip(SWAP_SHARES[:-1], gaps, strict=True)
    )
    return (
        f"Turned by some qrels: {pairs:,} of {plural(effect.pairs, 'pair')}, none with an original"
        f" difference above {largest:.4f}. Of all swaps, {shares}."
    )
