"""Several assessors as rows by name, the same for people and programs: one function for each section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np

from sounding.assessors.agreement import COEFFICIENTS
from sounding.assessors.intervals import Estimate
from sounding.assessors.study import Study

Row = dict[str, Any]
Rows = list[Row]


def _estimate(name: str, estimate: Estimate) -> Row:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def pair_rows(study: Study) -> Rows:
    """One row for each pair of assessors, and one for all."""
    rows: Rows = []
    for group in study.agreements.groups:
        row: Row = {
            "assessors": study.agreements.names(group), "topics": group.topics, "documents": group.documents,
        }  # fmt: skip
        for name in COEFFICIENTS:
            row |= _estimate(name, group.estimates[name])
        rows.append(row | {"reason": reasons(group.estimates, COEFFICIENTS)})
    return rows


def reasons(estimates: Mapping[str, Estimate], names: Sequence[str]) -> str:
    """What is to be said of some coefficients, as `overlap, kappa: no topic that all of them judged`."""
    named: dict[str, list[str]] = {}
    for name in names:
        named.setdefault(estimates[name].remark, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {remark}" for remark, alike in named.items() if remark)


def grade_rows(study: Study) -> Rows:
    """One row for each pair and grade: the share of the judgments with it that the other one shares."""
    return [
        {"assessors": study.agreements.names(group), "grade": grade}
        | _estimate("agreement", estimate)
        | {"reason": estimate.remark}
        for group in study.agreements.groups
        for grade, estimate in group.by_grade.items()
    ]


def confusion_rows(study: Study) -> Rows:
    """One row for each pair of assessors and of grades: the documents to which they gave these."""
    scale = study.agreements.scale
    return [
        {
            "assessor": study.panel.assessors[group.members[0]],
            "other": study.panel.assessors[group.members[1]],
            "grade": scale[row], "other_grade": scale[column],
            "documents": int(group.confusion[row, column]),
        }
        for group in study.agreements.groups
        if group.confusion is not None
        for row, column in product(range(len(scale)), repeat=2)
    ]  # fmt: skip


def rejected_rows(study: Study) -> Rows:
    """One row for each assessor: relevant documents that all others reject."""
    return [
        {"assessor": one.assessor, "relevant": one.relevant, "rejected": one.rejected}
        | _estimate("share", one.share)
        | _estimate("mean_over_topics", one.mean)
        | {"reason": reasons({"share": one.share, "mean": one.mean}, ("share", "mean"))}
        for one in study.agreements.rejections
    ]


def bias_rows(study: Study) -> Rows:
    """One row for each assessor and grade."""
    return [
        {
            "assessor": one.assessor, "grade": one.grade, "documents": one.documents, "given": one.given,
            "by_others": one.by_others,
        }
        | _estimate("bias", one.bias)
        | {"reason": one.bias.remark}
        for one in study.biases
    ]  # fmt: skip


def topic_rows(study: Study) -> Rows:
    """One row for each topic, those that need talking about first."""
    rows: Rows = []
    for one in study.agreements.topics:
        counts = zip(study.panel.assessors, one.relevant, strict=True)
        rows.append(
            {"topic": one.topic, "documents": one.documents, "judged_by_all": one.common}
            | {f"relevant {name}": count for name, count in counts}
            | {
                "contested": one.contested, "overlap": one.overlap, "kappa": one.kappa, "reason": one.reason,
            }
        )  # fmt: skip
    return rows


def tau_rows(study: Study) -> Rows:
    """One row for each measure and comparison of rankings (Voorhees 2002, Table 2)."""
    rows: Rows = []
    for effect in study.effects:
        original = effect.assessors[effect.original]
        spreads = {
            f"all with {original}": effect.with_original,
            f"every two of {effect.subsample:,}": effect.in_subsample,
        }
        found = [(name, one.mean, one.least, one.most, one.reason) for name, one in spreads.items()]
        others = zip((*effect.assessors, "union", "intersection"), effect.single, strict=True)
        found += [
            (f"{name} with {original}", one.value, np.nan, np.nan, one.reason)
            for place, (name, one) in enumerate(others)
            if place != effect.original
        ]
        for name, mean, least, most, reason in found:
            row: Row = {"measure": str(effect.measure), "coefficient": effect.coefficient, "rankings": name}
            row |= {"mean": mean, "least": least, "most": most}
            row |= {f"swaps_{what}": effect.swaps(row[what]) for what in ("mean", "least", "most")}
            rows.append(row | {"reason": reason})
    return rows


def system_rows(study: Study) -> Rows:
    """One row for each measure and system, by falling mean over qrels (Voorhees 2002, Fig. 3)."""
    rows: Rows = []
    for effect in study.effects:
        union, intersection = effect.inside("union"), effect.inside("intersection")
        for place in effect.order:
            mine = zip(effect.assessors, effect.by_assessor[:, place].tolist(), strict=True)
            rows.append(
                {
                    "measure": str(effect.measure), "system": effect.systems[place],
                    "mean": float(effect.mean[place]), "least": float(effect.least[place]),
                    "most": float(effect.most[place]), "original": float(effect.values[place]),
                    "union": float(effect.union[place]), "intersection": float(effect.intersection[place]),
                    "union_inside": bool(union[place]), "intersection_inside": bool(intersection[place]),
                }
                | {f"by {name}": value for name, value in mine}
            )  # fmt: skip
    return rows


def swap_rows(study: Study) -> Rows:
    """One row for each measure and pair of systems that some qrels turn, most often first."""
    rows: Rows = []
    for effect in study.effects:
        values = effect.values
        better, worse = (np.nan_to_num(effect.swap_share) > 0).nonzero()
        found = [
            (float(effect.swap_share[one, other]), float(values[one] - values[other]), one, other)
            for one, other in zip(better.tolist(), worse.tolist(), strict=True)
            if values[one] > values[other]
        ]
        found.sort(key=lambda item: (-item[0], item[1], item[2], item[3]))
        rows += [
            {
                "measure": str(effect.measure), "system": effect.systems[one], "other": effect.systems[other],
                "difference": gap, "swapped": share,
            }
            for share, gap, one, other in found
        ]  # fmt: skip
    return rows


def top_rows(study: Study) -> Rows:
    """One row for each measure and assessor: what they do to the best systems."""
    return [
        {"measure": str(effect.measure)} | asdict(one)
        for effect, tops in zip(study.effects, study.tops, strict=True)
        for one in tops
    ]


SECTIONS: dict[str, Callable[[Study], Rows]] = {
    "pairs": pair_rows,
    "grades": grade_rows,
    "confusions": confusion_rows,
    "rejected": rejected_rows,
    "bias": bias_rows,
    "topics": topic_rows,
    "taus": tau_rows,
    "systems": system_rows,
    "swaps": swap_rows,
    "top": top_rows,
}
OF_RUNS = ("taus", "systems", "swaps", "top")
