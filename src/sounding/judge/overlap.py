"""How well assessors agree who judged the same documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.statistics.assessor_agreement import cohen_kappa, confusions, observed_agreement

if TYPE_CHECKING:
    from sounding.judge.expert import Audit
    from sounding.judge.store import Standing

FEWEST = 10  # documents of both: with fewer, a single one decides what kappa says
Opinion = tuple[
    str, tuple[str, str], float | None
]  # assessor, (topic, document), grade; None: could not judge


def agreements(
    given: Iterable[Opinion], scale: Sequence[float], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """How well each two assessors agree on the documents that both could judge, where there are any.

    Kappa is None where fewer than `FEWEST` speak for it, or where chance alone would give as much.
    """
    by_assessor: dict[str, dict[tuple[str, str], float]] = {}
    for assessor, pair, grade in given:
        if grade is not None:
            by_assessor.setdefault(assessor, {})[pair] = grade
    found = []
    for first, second in combinations(sorted(by_assessor), 2):
        common = sorted(by_assessor[first].keys() & by_assessor[second].keys())
        if not common:
            continue
        left, right = (np.array([by_assessor[who][pair] for pair in common]) for who in (first, second))
        table = confusions(left, right, np.array(sorted(scale)), np.zeros(len(common), np.int64), 1)
        kappa = float(cohen_kappa(table)[0])
        found.append(
            {
                "first": names.get(first, first),
                "second": names.get(second, second),
                "common": len(common),
                "observed": float(observed_agreement(table)[0]),
                "kappa": kappa if math.isfinite(kappa) and len(common) >= FEWEST else None,
            }
        )
    return found


def opinion_of(one: Standing) -> Opinion:
    """What a judgment that stands says."""
    return one.assessor, (one.topic, one.doc), one.grade


def agreement_of(audit: Audit, scale: Sequence[float]) -> dict[str, Any] | None:
    """How often assessor and expert gave the same grade; None: nothing is graded that both could judge."""
    found = agreements((opinion_of(one) for both in audit.compared for one in both), scale, {})
    return found[0] if found else None
