"""Agreement of each pair of assessors and of all together, with intervals, and by topic.

Overlap is that of Voorhees (2002, Table 1): the number of documents that all of them found relevant, divided
by the number that any of them did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sounding.agree import reasons as why
from sounding.agree.panel import Marks, Panel, anyone, everyone
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.tables import Places
from sounding.statistics.assessor_agreement import (
    Bootstrap,
    Estimate,
    agreement_by_grade,
    cohen_kappa,
    coincidences,
    confusions,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
    ratio,
    weighted_kappa,
)
from sounding.statistics.testing import NORMAL_95

Floats = NDArray[np.float64]

# The names of the coefficients in outputs for programs.
COEFFICIENTS = (
    "overlap", "agreement", "kappa", "alpha", "kappa_grades", "kappa_weighted", "alpha_grades",
    "alpha_ordinal",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AssessorGroup:
    """Agreement of a group of assessors: a pair, or all of them."""

    members: tuple[int, ...]  # columns of the panel
    documents: int  # judged by all of them
    topics: int  # topics that have such documents
    overlaps: Floats  # (topic,); `reasons` explains each NaN
    kappas: Floats  # (topic,) of binary relevance: Cohen's for a pair, Fleiss' for more
    reasons: tuple[str, ...]  # (topic,) why overlap or kappa has no value; empty: both have one
    estimates: dict[str, Estimate]  # by the names of COEFFICIENTS
    by_grade: dict[float, Estimate]  # grade -> share of its uses on which the members agree
    confusion: Floats | None  # (grade, grade); None unless the group is a pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Count the relevant documents of an assessor that all other assessors rejected."""

    assessor: str
    relevant: int  # documents that the assessor found relevant and all others judged
    rejected: int
    share: Estimate  # over all topics together, as in the paper
    mean: Estimate  # mean over topics


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TopicAgreement:
    """Agreement of the assessors on one topic, and the number of documents they should discuss."""

    topic: str
    documents: int  # judged by at least one assessor
    common: int  # judged by all assessors
    relevant: tuple[int, ...]  # (assessor,) among the documents judged by all
    contested: int  # documents on whose relevance any two assessors differ
    overlap: float
    kappa: float
    reason: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Agreements:
    """The agreement of each pair of assessors and of all of them, over all topics and by topic."""

    panel: Panel
    level: float
    scale: tuple[float, ...]
    groups: tuple[AssessorGroup, ...]  # pairs, then all if there are more than two
    rejections: tuple[Rejection, ...]
    topics: tuple[TopicAgreement, ...]  # the most urgent to discuss first

    @property
    def everyone(self) -> AssessorGroup:
        """The group of all assessors."""
        return self.groups[-1]

    def names(self, group: AssessorGroup) -> str:
        """Return the name of a group in outputs."""
        if len(group.members) > 2:
            return f"all {len(group.members)}"
        return " & ".join(self.panel.assessors[member] for member in group.members)


def assessor_agreements(panel: Panel, *, level: float = 1, bootstrap: Bootstrap | None = None) -> Agreements:
    """Return how far the assessors of a panel agree, with intervals from a bootstrap over topics.

    A document is relevant from grade `level`. Pairs are compared on documents that both judged.
    """
    count = len(panel.assessors)
    if count < 2:
        raise DataError(f"one assessor ({panel.assessors[0]}); agreement needs at least two")
    scale = panel.scale()
    bootstrap = bootstrap or Bootstrap()
    members = list(combinations(range(count), 2)) + ([tuple(range(count))] if count > 2 else [])
    groups = tuple(_group(panel, chosen, scale, level, bootstrap) for chosen in members)
    return Agreements(
        panel=panel, level=level, scale=tuple(scale.tolist()), groups=groups,
        rejections=tuple(_rejection(panel, place, level, bootstrap) for place in range(count)),
        topics=_topics_to_discuss(panel, groups[-1], level),
    )  # fmt: skip


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Counts:
    """Contingency tables of a group of assessors by topic, from which the coefficients are computed."""

    relevance: Floats  # (topic, 2, 2) of documents that all members judged
    graded: Floats  # (topic, grade, grade) of the same
    paired_relevance: Floats  # (topic, 2, 2) of documents that two members or more judged
    paired_grades: Floats  # (topic, grade, grade) of the same


def _counts(panel: Panel, grades: Floats, binary: Floats, scale: Floats) -> _Counts:
    topics = len(panel.topics)
    two = np.array([0.0, 1.0])

    def complete(values: Floats, steps: Floats) -> Floats:
        if values.shape[1] == 2:
            return confusions(values[:, 0], values[:, 1], steps, panel.topic, topics)
        return coincidences(values, steps, panel.topic, topics, complete=True)

    return _Counts(
        relevance=complete(binary, two), graded=complete(grades, scale),
        paired_relevance=coincidences(binary, two, panel.topic, topics),
        paired_grades=coincidences(grades, scale, panel.topic, topics),
    )  # fmt: skip


def _group(
    panel: Panel, members: tuple[int, ...], scale: Floats, level: float, bootstrap: Bootstrap
) -> AssessorGroup:
    grades = panel.grades[:, list(members)]
    judged = ~np.isnan(grades)
    common = everyone(judged)
    relevant = (grades >= level) & common[:, np.newaxis]
    any_one = panel.count(anyone(relevant))
    overlaps = ratio(panel.count(everyone(relevant)), any_one)
    used = panel.count(common) > 0
    binary = np.where(judged, (grades >= level).astype(np.float64), np.nan)
    counts = _counts(panel, grades, binary, scale)
    kappas = (cohen_kappa if len(members) == 2 else fleiss_kappa)(counts.relevance)
    nothing = _why_nothing(panel, judged, common)
    same = nothing or _why_same(grades[common], binary[common], level)
    estimates = {"overlap": bootstrap.mean(overlaps, nothing or why.NOTHING_RELEVANT)}
    return AssessorGroup(
        members=members, documents=int(np.count_nonzero(common)), topics=int(np.count_nonzero(used)),
        overlaps=overlaps, kappas=kappas,
        reasons=_reasons(panel, members, used, any_one, kappas),
        estimates=estimates | _estimates(counts, scale, len(members), used, nothing, same, bootstrap),
        by_grade=_by_grade(counts.graded, scale, used, bootstrap),
        confusion=counts.graded.sum(axis=0) if len(members) == 2 else None,
    )  # fmt: skip


def _estimates(
    counts: _Counts,
    scale: Floats,
    members: int,
    used: Marks,
    nothing: str,
    same: str,
    bootstrap: Bootstrap,
) -> dict[str, Estimate]:
    """Return all coefficients except overlap; `nothing` and `same` are reasons for missing values."""
    kappa = cohen_kappa if members == 2 else fleiss_kappa
    shared = counts.paired_relevance.sum(axis=(1, 2)) > 0
    unpaired = why.ONE_GRADE if shared.any() else why.NOT_PAIRED
    weighted = Estimate(value=np.nan, reason=why.FOR_TWO)
    if members == 2:
        weighted = bootstrap.estimate(
            counts.graded, lambda table: weighted_kappa(table, scale), used, same
        )  # fmt: skip
    return {
        "agreement": bootstrap.estimate(counts.relevance, observed_agreement, used, nothing),
        "kappa": bootstrap.estimate(counts.relevance, kappa, used, same),
        "alpha": bootstrap.estimate(counts.paired_relevance, krippendorff_alpha, shared, unpaired),
        "kappa_grades": bootstrap.estimate(counts.graded, kappa, used, same),
        "kappa_weighted": weighted,
        "alpha_grades": bootstrap.estimate(counts.paired_grades, krippendorff_alpha, shared, unpaired),
        "alpha_ordinal": bootstrap.estimate(
            counts.paired_grades, lambda table: krippendorff_alpha(table, ordinal=True), shared, unpaired
        ),
    }


def _by_grade(graded: Floats, scale: Floats, used: Marks, bootstrap: Bootstrap) -> dict[float, Estimate]:
    found = {}
    for place, grade in enumerate(scale.tolist()):
        found[grade] = bootstrap.estimate(
            graded,
            lambda table, place=place: agreement_by_grade(table)[..., place],  # type: ignore[misc]
            used,
            why.GRADE_NOT_USED,
        )
    return found


def _why_nothing(panel: Panel, judged: Marks, common: Marks) -> str:
    """Return why the members cannot be compared; "" if they can."""
    if common.any():
        return ""
    if not everyone(panel.count(judged) > 0).any():
        return why.NO_COMMON_TOPIC
    return why.NO_COMMON_DOCUMENT


def _why_same(grades: Floats, binary: Floats, level: float) -> str:
    """Return why agreement beyond chance is undefined on documents that all judged; "" if it is defined."""
    if len(np.unique(grades)) == 1:
        return why.same_grade(grades[0, 0])
    return why.same_relevance(bool(binary[0, 0]), level)


def _reasons(
    panel: Panel, members: tuple[int, ...], used: Marks, any_one: Places, kappas: Floats
) -> tuple[str, ...]:
    """Return for each topic why its overlap or kappa has no value; an empty text if both have one."""
    judged = panel.count(panel.judged[:, list(members)]) > 0
    reasons = []
    for topic in range(len(panel.topics)):
        absent = [panel.assessors[member] for member in np.array(members)[~judged[topic]].tolist()]
        if absent:
            reasons.append(why.not_judged_by(absent))
        elif not used[topic]:
            reasons.append(why.NO_COMMON_DOCUMENT)
        elif not any_one[topic]:
            reasons.append(why.NOTHING_RELEVANT)
        elif np.isnan(kappas[topic]):
            reasons.append(why.ALL_RELEVANT)
        else:
            reasons.append("")
    return tuple(reasons)


# -- rejected by all others ------------------------------------------------------------------------


def _rejection(panel: Panel, place: int, level: float, bootstrap: Bootstrap) -> Rejection:
    """Return the share of an assessor's relevant documents that all others judged and rejected."""
    others = np.delete(panel.grades, place, axis=1)
    found = (panel.grades[:, place] >= level) & everyone(~np.isnan(others))
    refused = found & everyone(others < level)
    counts = np.stack([panel.count(refused), panel.count(found)], axis=1).astype(np.float64)
    used, reason = counts[:, 1] > 0, why.NONE_TO_REJECT
    return Rejection(
        assessor=panel.assessors[place], relevant=int(counts[:, 1].sum()), rejected=int(counts[:, 0].sum()),
        share=bootstrap.estimate(counts, _share, used, reason), mean=bootstrap.mean(_share(counts), reason),
    )  # fmt: skip


def _share(pairs: Floats) -> Floats:
    return ratio(pairs[..., 0], pairs[..., 1])


# -- topics ----------------------------------------------------------------------------------------


def _topics_to_discuss(panel: Panel, whole: AssessorGroup, level: float) -> tuple[TopicAgreement, ...]:
    """Return all topics: low overlap on many documents first, those without a value last."""
    relevant = panel.relevant(level)
    refused = panel.judged & ~relevant
    contested = panel.count(anyone(relevant) & anyone(refused))
    common = everyone(panel.judged)
    shared = panel.count(common)
    found = panel.count(relevant & common[:, np.newaxis])
    sizes = np.diff(panel.starts)
    shown = [
        TopicAgreement(
            topic=topic, documents=int(sizes[row]), common=int(shared[row]),
            relevant=tuple(found[row].tolist()), contested=int(contested[row]),
            overlap=float(whole.overlaps[row]), kappa=float(whole.kappas[row]),
            reason=whole.reasons[row],
        )
        for row, topic in enumerate(panel.topics)
    ]  # fmt: skip
    limits = upper_limits(whole.overlaps, panel.count(anyone(relevant) & common))
    order = sorted(range(len(shown)), key=lambda row: (limits[row], -shown[row].contested))
    return tuple(shown[row] for row in order)


def upper_limits(overlaps: Floats, documents: Places | Sequence[int]) -> Floats:
    """Return the upper 95% limit of each overlap as a share of its documents (Wilson 1927); NaN becomes 2.

    Low overlap on many documents is stronger evidence than the same on one or two.
    """
    size = np.maximum(np.asarray(documents, np.float64), 1.0)
    center = overlaps + NORMAL_95**2 / (2 * size)
    spread = NORMAL_95 * np.sqrt(overlaps * (1 - overlaps) / size + NORMAL_95**2 / (4 * size**2))
    return np.nan_to_num((center + spread) / (1 + NORMAL_95**2 / size), nan=2.0)


# -- bias ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeBias:
    """Frequency of a grade from one assessor and from the others, on the same documents."""

    assessor: str
    grade: float
    documents: int  # judged by the assessor and at least one other
    given: float  # share of these documents; NaN without documents
    by_others: float  # mean share among the others' judgments
    bias: Estimate  # given - by_others


def grade_biases(panel: Panel, *, bootstrap: Bootstrap | None = None) -> list[GradeBias]:
    """Return a row for each assessor and grade; a document counts once, however many others judged it."""
    bootstrap = bootstrap or Bootstrap()
    found = []
    for place, assessor in enumerate(panel.assessors):
        mine, others = panel.grades[:, place], np.delete(panel.grades, place, axis=1)
        others_judged = np.count_nonzero(~np.isnan(others), axis=1)
        rows = (~np.isnan(mine) & (others_judged > 0)).nonzero()[0]
        topic = panel.topic[rows]
        size = np.bincount(topic, minlength=len(panel.topics)).astype(np.float64)
        for grade in panel.scale().tolist():
            given = (mine[rows] == grade).astype(np.float64)
            theirs = np.count_nonzero(others[rows] == grade, axis=1) / others_judged[rows]
            difference = np.bincount(topic, given - theirs, len(panel.topics))
            found.append(
                GradeBias(
                    assessor=assessor, grade=grade, documents=len(rows),
                    given=float(given.mean()) if len(rows) else np.nan,
                    by_others=float(theirs.mean()) if len(rows) else np.nan,
                    bias=bootstrap.estimate(
                        np.stack([difference, size], axis=1), _share, size > 0,
                        why.NOT_COMPARED,
                    ),
                )
            )  # fmt: skip
    return found
