"""Which runs went into the pool and how deep it is: the three scenarios of Lu, Moffat & Culpepper.

1. Both runs contributed and k is within the pool: everything that counts was judged.
2. Both contributed and k lies below the pool: what stands there was judged by luck.
3. A run did not contribute: any of its documents may be unjudged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.pairs import Pairs
from sounding.data.listed_runs import info_remarks, listed_rows
from sounding.data.simulation import RunInfo
from sounding.errors import DataError

GUESSED_FROM = 10  # a run with fewer judged at its top is never taken to have contributed
HOLED = 0.1  # share of a run's lists in which a judgment may be lacking, where contributors are guessed
END = 0.02  # share of lists that meet an unjudged document at one rank: more of them is a pool's end
MOST_HOLED = 0.25  # share of lists with an unjudged document above a depth that is still called the pool's

ROUNDING = 1e-9

SCENARIOS = {
    1: "both pooled, k within the pool",
    2: "both pooled, k below the pool",
    3: "a run not pooled",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """Which runs contributed to the judgments, how deep they were pooled, and how deep all are judged."""

    contributing: NDArray[np.bool_]  # (run,)
    depth: int  # to which they were pooled: `judged`, or deeper where single judgments are lacking; 0: none
    judged: int  # the deepest d such that the top d of every contributing run was judged; 0: none is
    lists: int  # of contributing runs, one a topic
    holed: int  # those of them with an unjudged document within the depth
    guessed: bool  # contributing runs were recognised by their judged documents, not read from a list
    remarks: tuple[str, ...] = ()  # what the list and the runs do not have in common, a line each

    def notes(self) -> list[str]:
        """The remarks as sentences."""
        return [f"{remark}." for remark in self.remarks]

    def describe(self) -> str:
        """How many runs, how deep, and how that is known, in a sentence."""
        count = int(np.count_nonzero(self.contributing))
        if not count and self.guessed:
            return f"No pool was recognised: no run has its first {GUESSED_FROM} documents judged."
        if not count:
            return "No run contributed to the pool (as listed)."
        how = "guessed from what is judged" if self.guessed else "as listed"
        runs = f"{count} of {len(self.contributing)} runs contributed to the pool ({how})"
        if not self.depth:
            return f"{runs}; not even the first documents of them are all judged."
        if self.judged < self.depth:
            return (
                f"{runs}; it is {self.depth} deep, with holes: {self.holed:,} of {self.lists:,} lists have an"
                f" unjudged document within that depth, the first at rank {self.judged + 1}."
            )
        return f"{runs}; the first {self.depth} documents of each of them are judged."


def find_pool(
    first_unjudged: NDArray[np.float64],
    names: Sequence[Sequence[str]],
    listed: Mapping[str, RunInfo] | None = None,
    *,
    lengths: NDArray[np.float64] | NDArray[np.int64] | None = None,
) -> Pool:
    """The pool behind the judgments, from the rank of each run's first unjudged document, (run, topic).

    NaN: all that the run retrieved was judged. `names` are the names that each run goes by; a run that
    is not listed did not contribute. Without a list, contributing runs are guessed. `lengths` are how many
    documents each run has for each topic; where no contributing run met an unjudged document, the pool is
    as deep as the longest of all.
    """
    judged = np.where(np.isnan(first_unjudged), np.inf, first_unjudged - 1)
    remarks: tuple[str, ...] = ()
    if listed is None:
        reach = _usual_reach(judged)
        contributing = reach >= _common_end(judged, reach)
    else:
        known = listed_rows([own[0] for own in names], [own[-1] for own in names], listed)
        if not any(known):
            raise DataError(
                f"none of the {len(names)} runs is listed; expected names such as {names[0][0]!r},"
                f" found {next(iter(listed), 'nothing')!r}"
            )
        contributing = np.array([run is not None and run.pooled for run in known], np.bool_)
        remarks = tuple(info_remarks([own[0] for own in names], known, listed, grouped=False))
    longest = 0 if lengths is None else int(lengths.max(initial=0))
    ends = judged[contributing].ravel()
    known_to = ends if lengths is None else np.minimum(ends, lengths[contributing].ravel())
    strict = int(ends.min()) if np.isfinite(ends).any() else longest if len(ends) else 0
    depth = max(strict, _pooled_depth(ends, known_to))
    return Pool(
        contributing=contributing, depth=depth, judged=strict, lists=len(ends),
        holed=int(np.count_nonzero(ends < depth)), guessed=listed is None,
        remarks=remarks,
    )  # fmt: skip


def pool_end(reached: NDArray[np.int64], ended: NDArray[np.int64], share: float) -> int:
    """The depth behind which more than a share of what is looked at ends; single losses above it are borne.

    At each rank, from 1, so many go on and so many end. The depth is the one down to which going on, each
    counted by `share`, outweighs ending, counted by the rest of 1, by most.
    """
    gain = np.cumsum(share * reached - (1 - share) * ended)
    if not len(gain) or gain.max() < 0:
        return 0
    return int((gain >= gain.max() - ROUNDING).nonzero()[0][-1]) + 1


def _pooled_depth(ends: NDArray[np.float64], known_to: NDArray[np.float64]) -> int:
    """The depth to which lists were pooled, from where each stops being judged, if it does.

    A judgment that was lost ends the lists that hold its document, each at another rank; the end of a pool
    ends many lists at one rank.
    """
    stopped = ends[np.isfinite(ends)].astype(np.int64)
    if not len(stopped):
        return 0
    deepest = int(max(stopped.max() + 1, known_to[np.isfinite(known_to)].max()))
    ended = np.bincount(stopped, minlength=deepest)  # place r: lists whose document at rank r + 1 is unjudged
    seen = np.minimum(np.where(np.isfinite(known_to), known_to, deepest), deepest).astype(np.int64)
    going = len(ends) - np.cumsum(np.bincount(seen, minlength=deepest + 1))[:deepest]
    holed = np.cumsum(ended) >= MOST_HOLED * len(ends)
    last = int(holed.argmax()) if holed.any() else deepest
    return pool_end(going[:last], ended[:last], END)


def _usual_reach(judged: NDArray[np.float64]) -> NDArray[np.float64]:
    """(run,): how deep a run is judged on all topics but a tenth, where a judgment may be lacking."""
    topics = judged.shape[1]
    return np.sort(judged, axis=1)[:, int(HOLED * topics)] if topics else np.full(len(judged), np.inf)


def _common_end(judged: NDArray[np.float64], reach: NDArray[np.float64]) -> float:
    """The rank, from ten, behind which lists begin to stop being judged: where a pool of runs was cut.

    Within a pool lists go on; behind its end the next document is unjudged in many of them at once. So
    it is the rank at which the most lists end beyond those that end one rank above. Where no two do, it
    is ten: a pool cannot be told from luck.
    """
    ends = judged[reach >= GUESSED_FROM]
    ends = ends[(ends >= GUESSED_FROM - 1) & np.isfinite(ends)].astype(np.int64)
    rises = np.diff(np.bincount(ends, minlength=GUESSED_FROM + 1))[GUESSED_FROM - 1 :]
    if rises.max() < 2:
        return GUESSED_FROM
    return float(GUESSED_FROM + (rises == rises.max()).nonzero()[0][-1])


def scenarios(pool: Pool, pairs: Pairs, k: int) -> NDArray[np.int8]:
    """(pair,): 1, 2 or 3."""
    both = pool.contributing[pairs].all(axis=1)
    return np.where(both, 1 if k <= pool.depth else 2, 3).astype(np.int8)
