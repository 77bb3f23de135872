"""Simulated further assessors, who find part of what the primary one found and something else besides.

A secondary assessor accepts a relevant document with a fixed chance, and takes as many others as make the
overlap with the primary what is wanted. In the independent model every document is a matter of its own for
every assessor. In the correlated one assessors share a view of each document, so that secondaries agree with
each other as much as they do with the primary: independent flips cannot give that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.assessors.panel import Panel
from sounding.assessors.reading import read_panel
from sounding.data.tables import Qrels
from sounding.errors import DataError

# Voorhees (2002), Table 1: primary with A, primary with B. A and B overlap by .426, all three by .301, and
# both reject .30 of what the primary found. Acceptance and correlation are those that come nearest to it.
OVERLAPS = (0.421, 0.494)
ACCEPTANCE = 0.75  # power of the overlap: .52 and .59 for A and B
CORRELATION = 0.65


def simulate_assessors(
    qrels: Qrels,
    *,
    overlaps: Sequence[float] = OVERLAPS,
    acceptance: Sequence[float] | None = None,
    correlation: float = 0.0,
    level: float = 1,
    seed: int = 0,
) -> Panel:
    """The primary's judgments and those of simulated secondaries, one for each wanted overlap.

    `acceptance` is the chance that a secondary accepts what the primary found relevant; by default it follows
    from the overlap as the paper's figures have it. `correlation` (0 to 1) is that of the views of any two
    secondaries; 0: independent flips. A relevant document that stays relevant keeps its grade; one that only
    a secondary finds relevant gets `level`.
    """
    if acceptance is None:
        acceptance = [overlap**ACCEPTANCE for overlap in overlaps]
    _check(overlaps, acceptance, correlation)
    from scipy.special import ndtri

    primary = read_panel([qrels], by="file")
    rng = np.random.default_rng(seed)
    grade = primary.grades[:, 0]
    relevant = grade >= level
    found, others = primary.count(relevant), primary.count(~relevant)
    shared = rng.standard_normal(len(grade))
    columns = [grade]
    for overlap, accepts in zip(overlaps, acceptance, strict=True):
        # With R found and N others, accepts x R / (R + false x N) is the wanted overlap.
        false = np.minimum((accepts / overlap - 1) * found / np.maximum(others, 1), 1.0)
        chance = np.where(relevant, accepts, false[primary.topic])
        view = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal(len(grade))
        takes = view < ndtri(chance)
        columns.append(np.where(takes, np.where(relevant, grade, level), np.where(relevant, 0.0, grade)))
    labels = [f"secondary-{chr(ord('A') + place)}" for place in range(len(overlaps))]
    return Panel(
        assessors=(primary.assessors[0], *labels), topics=primary.topics, starts=primary.starts,
        docs=primary.docs, grades=np.stack(columns, axis=1),
    )  # fmt: skip


def _check(overlaps: Sequence[float], acceptance: Sequence[float], correlation: float) -> None:
    if len(overlaps) != len(acceptance) or not len(overlaps):
        raise DataError(
            f"{len(overlaps)} overlaps and {len(acceptance)} chances of acceptance;"
            " expected one of each for every simulated assessor"
        )
    for overlap, accepts in zip(overlaps, acceptance, strict=True):
        if not 0 < overlap <= accepts <= 1:
            raise DataError(
                f"overlap {overlap:g} with acceptance {accepts:g}; expected 0 < overlap <= acceptance <= 1"
            )
    if not 0 <= correlation <= 1:
        raise DataError(f"correlation {correlation:g}; expected a number from 0 to 1")
