"""Which runs went into the pool and how deep it is: the three scenarios of Lu, Moffat & Culpepper.

1. Both runs contributed and k is within the pool: everything that counts was judged.
2. Both contributed and k lies below the pool: what stands there was judged by luck.
3. A run did not contribute: any of its documents may be unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sounding.compare.pairs import Pairs
from sounding.data.simulation import RunInfo
from sounding.errors import DataError

GUESSED_FROM = 10  # a run with fewer judged at its top on some topic is never taken to have contributed

SCENARIOS = {
    1: "both pooled, k within the pool",
    2: "both pooled, k below the pool",
    3: "a run not pooled",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """Which runs contributed to the judgments, and how deep every one of them was judged."""

    contributing: NDArray[np.bool_]  # (run,)
    depth: int  # the deepest d such that the top d of every contributing run was judged; 0: none is
    guessed: bool  # contributing runs were recognised by their judged documents, not read from a list

    def describe(self) -> str:
        """How many runs, how deep, and how that is known, in a sentence."""
        count = int(np.count_nonzero(self.contributing))
        if not count and self.guessed:
            return f"No pool was recognised: no run has its first {GUESSED_FROM} documents judged."
        if not count:
            return "No run contributed to the pool (as listed)."
        how = "guessed from what is judged" if self.guessed else "as listed"
        runs = f"{count} of {len(self.contributing)} runs contributed to the pool ({how})"
        return f"{runs}; the first {self.depth} documents of each of them are judged."


def find_pool(
    first_unjudged: NDArray[np.float64],
    names: Sequence[Sequence[str]],
    listed: Mapping[str, RunInfo] | None = None,
    *,
    deepest: int = 0,
) -> Pool:
    """The pool behind the judgments, from the rank of each run's first unjudged document, (run, topic).

    NaN: all that the run retrieved was judged. `names` are the names that each run goes by; a run that
    is not listed did not contribute. Without a list, contributing runs are guessed. Where they never met
    an unjudged document, the pool is as deep as their lists: `deepest`.
    """
    judged = np.where(np.isnan(first_unjudged), np.inf, first_unjudged - 1)
    reach = judged.min(axis=1, initial=np.inf)
    if listed is None:
        contributing = reach >= _common_reach(reach)
    else:
        known = [next((listed[name] for name in own if name in listed), None) for own in names]
        if not any(known):
            raise DataError(
                f"none of the {len(names)} runs is listed; expected names such as {names[0][0]!r},"
                f" found {next(iter(listed), 'nothing')!r}"
            )
        contributing = np.array([run is not None and run.pooled for run in known], np.bool_)
    depth = reach[contributing].min(initial=np.inf) if contributing.any() else 0.0
    depth = depth if np.isfinite(depth) else deepest
    return Pool(contributing=contributing, depth=int(depth), guessed=listed is None)


def _common_reach(reach: NDArray[np.float64]) -> float:
    """The depth to which most runs are judged on every topic, from ten: where a pool of runs was cut.

    Where no two runs agree it is ten: a pool cannot be told from luck.
    """
    depths, counts = np.unique(
        reach[(reach >= GUESSED_FROM) & np.isfinite(reach)].astype(np.int64), return_counts=True
    )
    if counts.max(initial=0) < 2:
        return GUESSED_FROM
    return float(depths[counts == counts.max()].max())


def scenarios(pool: Pool, pairs: Pairs, k: int) -> NDArray[np.int8]:
    """(pair,): 1, 2 or 3."""
    both = pool.contributing[pairs].all(axis=1)
    return np.where(both, 1 if k <= pool.depth else 2, 3).astype(np.int8)
