"""How far assessors agree, for every pair and all together, by topic, with intervals.

Overlap is that of Voorhees (2002, Table 1): of the documents that any of them found relevant, the share
that all did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

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

# What each coefficient is called by programs.
COEFFICIENTS = (
    "overlap", "agreement", "kappa", "alpha", "kappa_grades", "kappa_weighted", "alpha_grades",
    "alpha_ordinal",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AssessorGroup:
    """How far some assessors agree: a pair, or all of them."""

    members: tuple[int, ...]  # columns of the panel
    documents: int  # that all of them judged
    topics: int  # with such documents
    overlaps: Floats  # (topic,) NaN: see `reasons`
    kappas: Floats  # (topic,) Cohen's for a pair, Fleiss' for more; of relevance
    reasons: tuple[str, ...]  # (topic,) why the overlap or kappa is not known; empty: both are
    estimates: dict[str, Estimate]  # by the names of COEFFICIENTS
    by_grade: dict[float, Estimate]  # grade -> share of its uses that the members share
    confusion: Floats | None  # (grade, grade) of a pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Of what one assessor found relevant and all others judged, the documents that all others reject."""

    assessor: str
    relevant: int  # documents found relevant that all others judged
    rejected: int
    share: Estimate  # over all topics together, as the paper has it
    mean: Estimate  # mean over topics


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TopicTalk:
    """One topic: what to talk about, and how urgently."""

    topic: str
    documents: int  # that anybody judged
    common: int  # that everybody judged
    relevant: tuple[int, ...]  # (assessor,) of the documents that everybody judged
    contested: int  # documents, of all, that one found relevant and another did not
    overlap: float
    kappa: float
    reason: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Agreements:
    """How far every pair of assessors agrees, and all of them, over all topics and topic by topic."""

    panel: Panel
    level: float
    scale: tuple[float, ...]
    groups: tuple[AssessorGroup, ...]  # pairs first, then all where there are more than two
    rejections: tuple[Rejection, ...]
    topics: tuple[TopicTalk, ...]  # those that need talking about first

    @property
    def everyone(self) -> AssessorGroup:
        """All assessors together."""
        return self.groups[-1]

    def names(self, group: AssessorGroup) -> str:
        """The members of a group as outputs call it."""
        if len(group.members) > 2:
            return f"all {len(group.members)}"
        return " & ".join(self.panel.assessors[member] for member in group.members)


def assessor_agreements(panel: Panel, *, level: float = 1, bootstrap: Bootstrap | None = None) -> Agreements:
    """How far the assessors of a panel agree, with intervals by a bootstrap over topics.

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
        topics=_talk_first(panel, groups[-1], level),
    )  # fmt: skip


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Counts:
    """Tables of one group of assessors, topic by topic: what the coefficients are taken of."""

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
    estimates = {"overlap": bootstrap.mean(overlaps, nothing or "nobody found a relevant document")}
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
    """All coefficients but the overlap; `nothing` and `same` say why some of them have no value."""
    kappa = cohen_kappa if members == 2 else fleiss_kappa
    shared = counts.paired_relevance.sum(axis=(1, 2)) > 0
    unpaired = "no document has two judgments" if not shared.any() else "every judgment says the same"
    weighted = Estimate(value=np.nan, reason="defined for two assessors")
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
            "no document that all judged has this grade",
        )
    return found


def _why_nothing(panel: Panel, judged: Marks, common: Marks) -> str:
    """Why there is nothing to compare the members on; empty where there is."""
    if common.any():
        return ""
    if not everyone(panel.count(judged) > 0).any():
        return "no topic that all of them judged"
    return "no document that all of them judged"


def _why_same(grades: Floats, binary: Floats, level: float) -> str:
    """Why agreement beyond chance is not defined, if it is not, on documents that all members judged."""
    if len(np.unique(grades)) == 1:
        return f"all gave every document the grade {grades[0, 0]:g}: chance agrees as well"
    what = "relevant" if binary[0, 0] else "not relevant"
    return f"all found every document {what} (level {level:g}): chance agrees as well"


def _reasons(
    panel: Panel, members: tuple[int, ...], used: Marks, any_one: Places, kappas: Floats
) -> tuple[str, ...]:
    """(topic,): why something is not known; empty where all is."""
    judged = panel.count(panel.judged[:, list(members)]) > 0
    told = []
    for topic in range(len(panel.topics)):
        absent = [panel.assessors[member] for member in np.array(members)[~judged[topic]].tolist()]
        if absent:
            told.append(f"not judged by {', '.join(absent)}")
        elif not used[topic]:
            told.append("no document that all judged")
        elif not any_one[topic]:
            told.append("nobody found a relevant document")
        elif np.isnan(kappas[topic]):
            told.append("all found every document relevant")
        else:
            told.append("")
    return tuple(told)


# -- rejected by all others ------------------------------------------------------------------------


def _rejection(panel: Panel, place: int, level: float, bootstrap: Bootstrap) -> Rejection:
    """Share of one assessor's relevant documents that everybody else judged and rejected."""
    others = np.delete(panel.grades, place, axis=1)
    found = (panel.grades[:, place] >= level) & everyone(~np.isnan(others))
    refused = found & everyone(others < level)
    counts = np.stack([panel.count(refused), panel.count(found)], axis=1).astype(np.float64)
    used = counts[:, 1] > 0
    reason = "no document found relevant that all others judged"
    return Rejection(
        assessor=panel.assessors[place], relevant=int(counts[:, 1].sum()), rejected=int(counts[:, 0].sum()),
        share=bootstrap.estimate(counts, _share, used, reason), mean=bootstrap.mean(_share(counts), reason),
    )  # fmt: skip


def _share(pairs: Floats) -> Floats:
    return ratio(pairs[..., 0], pairs[..., 1])


# -- topics ----------------------------------------------------------------------------------------


def _talk_first(panel: Panel, whole: AssessorGroup, level: float) -> tuple[TopicTalk, ...]:
    """All topics: low overlap on many documents first, those without a value last."""
    relevant = panel.relevant(level)
    refused = panel.judged & ~relevant
    contested = panel.count(anyone(relevant) & anyone(refused))
    common = everyone(panel.judged)
    shared = panel.count(common)
    found = panel.count(relevant & common[:, np.newaxis])
    sizes = np.diff(panel.starts)
    shown = [
        TopicTalk(
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
    """The upper 95% limit of each overlap, as a share of so many documents (Wilson 1927); NaN becomes 2.

    Low overlap on many documents says more than the same on one or two.
    """
    size = np.maximum(np.asarray(documents, np.float64), 1.0)
    center = overlaps + NORMAL_95**2 / (2 * size)
    spread = NORMAL_95 * np.sqrt(overlaps * (1 - overlaps) / size + NORMAL_95**2 / (4 * size**2))
    return np.nan_to_num((center + spread) / (1 + NORMAL_95**2 / size), nan=2.0)


# -- bias ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeBias:
    """How often one assessor gives a grade, and how often the others do on the same documents."""

    assessor: str
    grade: float
    documents: int  # that the assessor and somebody else judged
    given: float  # share of these documents; NaN: there are none
    by_others: float  # mean share among the others' judgments
    bias: Estimate  # the difference


def grade_biases(panel: Panel, *, bootstrap: Bootstrap | None = None) -> list[GradeBias]:
    """One row for every assessor and grade; every document counts once, however many others judged it."""
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
                        "no document that somebody else judged as well",
                    ),
                )
            )  # fmt: skip
    return found
