"""Fewer judgments: shallower pools, and random parts; how soon each loses the ordering of the runs.

Random parts follow the protocol of Buckley & Voorhees (2004): for every topic the relevant and the other
judged documents are each put in a random order, and a share of both is kept from the front. So a smaller
part lies within every larger one of the same draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.core.limits import check_count
from sounding.core.workers import Progress, map_items, processes_for
from sounding.measures import Measure, parse, parse_measures
from sounding.measures.regrading import GONE, JUDGED, POOLED, PartSizes, Regrading, random_places
from sounding.measures.summaries import check_comparable, summaries
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.retrieved import Retrieved
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import agreement_matrix, most_places, on_a_grid

COEFFICIENTS = ("tau_b", "tau_ap_b", "rbo_b")  # identical orderings give 1, ties or not
EACH_PAIR_ALONE = Procedure(test="t", correction="none")  # as Lu et al. count significant pairs


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PoolDepths:
    """The runs under pools of several depths, each set against all judgments; the last pool is the whole one.

    Orders and claims are about pairs of runs: `order` is 1 where the first of a pair is better, -1 where the
    second is, 0 where they tie or one has no value; `significant` is what the test says of the pair.
    """

    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    depths: tuple[int, ...]  # (pool,) of all but the whole one
    judgments: NDArray[np.int64]  # (pool,) how many there are; pools, here and below, end with the whole one
    relevant: NDArray[np.int64]  # (pool,)
    values: NDArray[np.float64]  # (pool, run, measure, topic)
    means: NDArray[np.float64]  # (pool, run, measure)
    agreement: NDArray[np.float64]  # (coefficient, pool, measure) with the whole pool, by COEFFICIENTS
    moved: NDArray[np.float64]  # (pool, measure) most places that a run stands from its place in the whole
    pairs: Pairs  # (pair, 2)
    order: NDArray[np.int8]  # (pool, measure, pair)
    significant: NDArray[np.bool_]  # (pool, measure, pair)

    @property
    def reversed(self) -> NDArray[np.bool_]:
        """(pool, measure, pair): in the opposite order to that of the whole pool."""
        return self.order * self.order[-1] < 0

    @property
    def claims_reversed(self) -> NDArray[np.bool_]:
        """(pool, measure, pair): significant in this pool, and in the opposite order in the whole one."""
        return self.significant & self.reversed

    @property
    def claims_lost(self) -> NDArray[np.bool_]:
        """(pool, measure, pair): significant in this pool, not so in the whole one, and not reversed."""
        return self.significant & ~self.significant[-1] & ~self.reversed

    @property
    def claims_missed(self) -> NDArray[np.bool_]:
        """(pool, measure, pair): significant in the whole pool, and not in this one."""
        return self.significant[-1] & ~self.significant

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per pool and measure: judgments, agreement with the whole pool, and pairs counted.

        Columns pool_depth (null: the whole pool), measure, judgments, relevant, one a coefficient,
        most_places, pairs, reversed, significant, claims_reversed, claims_lost, claims_missed.
        """
        pools, measures = self.means.shape[0], len(self.measures)
        counted = {
            name: np.count_nonzero(table, axis=2).ravel()
            for name, table in (
                ("reversed", self.reversed), ("significant", self.significant),
                ("claims_reversed", self.claims_reversed), ("claims_lost", self.claims_lost),
                ("claims_missed", self.claims_missed),
            )
        }  # fmt: skip
        return polars.DataFrame(
            {
                "pool_depth": [depth for depth in (*self.depths, None) for _ in range(measures)],
                "measure": [str(measure) for measure in self.measures] * pools,
                "judgments": np.repeat(self.judgments, measures),
                "relevant": np.repeat(self.relevant, measures),
            }
            | {name: self.agreement[n].ravel() for n, name in enumerate(COEFFICIENTS)}
            | {"most_places": self.moved.ravel(), "pairs": [len(self.pairs)] * (pools * measures)}
            | counted,
            schema_overrides={"pool_depth": polars.Int64, "measure": polars.String},
        )


def pool_depths(
    regrading: Regrading,
    measures: Any,
    depths: Sequence[int],
    *,
    contributors: Retrieved,
    procedure: Procedure = EACH_PAIR_ALONE,
    progress: Progress | None = None,
) -> PoolDepths:
    """The ordering of the runs under pools of these depths, set against that under all judgments.

    A judgment is in a pool of depth d where one of the `contributors`, read at least so deep, has the
    document at d or better. For `tau_ap` the whole pool is the reference. `progress` counts pools, the whole
    one among them.
    """
    wanted = parse_measures(measures)
    check_comparable(wanted, regrading.policies)
    check_judgments(regrading)
    ascending = tuple(sorted(set(depths)))
    if not ascending or ascending[0] < 1:
        raise DataError(f"pool depths {list(depths)}; expected whole numbers from 1")
    ranks = contributors.pool_ranks(regrading.qrels)
    ranked = replace(regrading, qrels=replace(regrading.qrels, pool_ranks=ranks))
    states = [
        np.where((ranks > 0) & (ranks <= depth), ranked.full, GONE).astype(np.int8) for depth in ascending
    ] + [ranked.full]
    values = np.array(
        map_items(lambda state: ranked.values(wanted, ranked.under(state)), states, progress=progress)
    )
    means, pairs = np.array([summaries(table, wanted) for table in values]), all_pairs(len(ranked.runs))
    columns = range(len(wanted))
    return PoolDepths(
        runs=ranked.runs, measures=wanted, depths=ascending,
        judgments=np.array([np.count_nonzero(state == JUDGED) for state in states]),
        relevant=np.array([np.count_nonzero(ranked.row_grade[state == JUDGED] >= 1) for state in states]),
        values=values, means=means, agreement=_agreement(means, means[-1], COEFFICIENTS),
        moved=np.array(
            [[most_places(means[-1, :, n], table[:, n]).places for n in columns] for table in means]
        ),
        pairs=pairs, order=np.array([_order(table.T, pairs) for table in means]),
        significant=np.array(
            [[procedure.apply(table[:, n], pairs).significant for n in columns] for table in values]
        ),
    )  # fmt: skip


def check_judgments(regrading: Regrading) -> None:
    """An error where parts of the judgments say nothing: too few runs, or a sample already."""
    if len(regrading.runs) < 2:
        raise DataError(f"runs: {len(regrading.runs)}; an ordering needs at least 2")
    qrels = regrading.qrels
    if qrels.strata is not None or qrels.probabilities is not None:
        raise DataError(
            f"{qrels.source}: these judgments are a sample already; take parts of complete judgments"
        )


def _agreement(
    means: NDArray[np.float64], full: NDArray[np.float64], coefficients: Sequence[str]
) -> NDArray[np.float64]:
    """(coefficient, part, measure): of the orderings by means (part, run, measure) with that by `full`."""
    found = [
        [agreement_matrix(full[np.newaxis, :, n], means[:, :, n], name)[0] for n in range(means.shape[2])]
        for name in coefficients
    ]
    return np.array(found).transpose(0, 2, 1)


def _order(means: NDArray[np.float64], pairs: Pairs) -> NDArray[np.int8]:
    """(measure, pair) from (measure, run): which run of a pair is better; 0 where one has no value."""
    steps = np.where(np.isnan(means), np.nan, on_a_grid(np.nan_to_num(means)))
    gaps = steps[:, pairs[:, 0]] - steps[:, pairs[:, 1]]
    return np.nan_to_num(np.sign(gaps)).astype(np.int8)


# -- random parts -----------------------------------------------------------------------------------

MEASURES = ("AP", "bpref", "P@10")
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)
DRAWS = 5
SUBSET_COEFFICIENTS = COEFFICIENTS[:2]
RELEVANT = 1  # the lowest grade that counts as relevant


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgmentSubsets:
    """The ordering of the runs under random parts of the judgments, set against that under all of them."""

    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    shares: tuple[float, ...]  # of the judgments of every topic, largest first
    draws: int
    seed: int
    judgments: NDArray[np.int64]  # (share, draw) how many were kept
    relevant: NDArray[np.int64]  # (share, draw)
    means: NDArray[np.float64]  # (share, draw, run, measure)
    full: NDArray[np.float64]  # (run, measure) with all judgments
    reference: Measure | None  # whose full ordering all are held against; None: each measure's own
    agreement: NDArray[np.float64]  # (coefficient, share, draw, measure), by SUBSET_COEFFICIENTS

    @property
    def frame(self) -> polars.DataFrame:
        """Columns share, draw, measure, judgments, relevant and one a coefficient: one row a part."""
        shares, draws, measures = len(self.shares), self.draws, len(self.measures)
        return polars.DataFrame(
            {
                "share": np.repeat(np.array(self.shares), draws * measures),
                "draw": np.tile(np.repeat(np.arange(1, draws + 1), measures), shares),
                "measure": [str(measure) for measure in self.measures] * (shares * draws),
                "judgments": np.repeat(self.judgments.ravel(), measures),
                "relevant": np.repeat(self.relevant.ravel(), measures),
            }
            | {name: self.agreement[number].ravel() for number, name in enumerate(SUBSET_COEFFICIENTS)},
            schema_overrides={"measure": polars.String},
        )

    @property
    def summary_frame(self) -> polars.DataFrame:
        """Return one row per share, measure and coefficient: mean, least, most, undefined over draws."""
        rows = [
            {
                "share": share,
                "measure": str(measure),
                "coefficient": name,
                "mean": float(known.mean()),
                "least": float(known.min()),
                "most": float(known.max()),
                "undefined": self.draws - np.count_nonzero(~np.isnan(drawn)),
            }
            for place, share in enumerate(self.shares)
            for column, measure in enumerate(self.measures)
            for number, name in enumerate(SUBSET_COEFFICIENTS)
            for drawn in [self.agreement[number, place, :, column]]
            for known in [_known(drawn)]
        ]
        return polars.DataFrame(rows)


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values that are known; one NaN where none is."""
    known = values[~np.isnan(values)]
    return known if len(known) else np.array([np.nan])


def judgment_subsets(
    regrading: Regrading,
    measures: Any = MEASURES,
    *,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
    reference: str | Measure | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> JudgmentSubsets:
    """The ordering of the runs under random parts of the judgments, drawn from the seed of the policies.

    A topic keeps at least 1 relevant document and 10 others, or all that it has. Documents that lose their
    judgment stay in the pool, unjudged. All orderings are held against that of `reference` with all
    judgments; None: against the measure's own.
    """
    wanted = parse_measures(measures)
    check_judgments(regrading)
    falling = _checked(wanted, shares, draws)
    orders = [random_places(regrading, RELEVANT, [regrading.policies.seed, draw]) for draw in range(draws)]
    sizes = PartSizes.of(regrading, RELEVANT)

    def work(part: tuple[float, int]) -> tuple[NDArray[np.float64], int, int]:
        """Means (run, measure) under one part of the judgments, and how many judged and relevant it has."""
        share, draw = part
        stays = orders[draw] < sizes.kept(share)[sizes.group]
        states = np.where(stays, regrading.full, POOLED).astype(np.int8)
        grades = regrading.row_grade[states == JUDGED]
        means = regrading.means(wanted, regrading.under(states))
        return means, len(grades), int(np.count_nonzero(grades >= RELEVANT))

    parts = [(share, draw) for share in falling for draw in range(draws)]
    processes = processes_for(regrading.retrieved.lists.size * len(parts), len(parts), jobs)
    values, judgments, relevant = zip(
        *map_items(work, parts, processes=processes, progress=progress), strict=True
    )
    means, shape = np.array(values), (len(falling), draws)
    full = against = regrading.means(wanted, regrading.view())
    target = None if reference is None else parse(str(reference))
    if target is not None:
        against = np.tile(regrading.means([target], regrading.view()), len(wanted))
    return JudgmentSubsets(
        runs=regrading.runs, measures=wanted, shares=falling, draws=draws, seed=regrading.policies.seed,
        judgments=np.array(judgments).reshape(shape), relevant=np.array(relevant).reshape(shape),
        means=means.reshape(*shape, *full.shape), full=full, reference=target,
        agreement=_agreement(means, against, SUBSET_COEFFICIENTS).reshape(-1, *shape, len(wanted)),
    )  # fmt: skip


def _checked(measures: Sequence[Measure], shares: Sequence[float], draws: int) -> tuple[float, ...]:
    """The shares, largest first; an error where something asked for is none."""
    for measure in measures:
        if measure.definition.aggregate == "text":
            raise DataError(f"{measure} gives text, and runs are ordered by numbers; leave it out")
    wrong = [share for share in shares if not 0 < share <= 1]
    if wrong or not len(shares):
        raise DataError(f"shares {list(shares)}; expected numbers above 0 and at most 1, such as 0.1")
    check_count("draws", draws, 1)
    return tuple(sorted(set(shares), reverse=True))
