"""Shallower pools: what the ordering of the runs would have been, and which claims would not have held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.workers import Progress, map_items
from sounding.measures import Measure, parse_measures
from sounding.measures.regrading import GONE, JUDGED, Regrading, States
from sounding.measures.summaries import check_comparable, summaries
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.retrieved import Retrieved
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import on_a_grid
from sounding.statistics.rankings import agreement_matrix, find_coefficient, most_places

if TYPE_CHECKING:
    import polars

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
    topics: tuple[str, ...]
    depths: tuple[int, ...]  # (pool,) of all but the whole one
    judgments: NDArray[np.int64]  # (pool,) how many there are; pools, here and below, end with the whole one
    relevant: NDArray[np.int64]  # (pool,)
    values: NDArray[np.float64]  # (pool, run, measure, topic)
    means: NDArray[np.float64]  # (pool, run, measure)
    coefficients: tuple[str, ...]
    agreement: NDArray[np.float64]  # (coefficient, pool, measure) with the whole pool
    moved: NDArray[np.float64]  # (pool, measure) most places that a run stands from its place in the whole
    pairs: Pairs  # (pair, 2)
    order: NDArray[np.int8]  # (pool, measure, pair)
    significant: NDArray[np.bool_]  # (pool, measure, pair)
    procedure: Procedure
    policies: Policies

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
        """One row a pool and measure: judgments, agreement with the whole pool, and pairs counted.

        Columns pool_depth (null: the whole pool), measure, judgments, relevant, one a coefficient,
        most_places, pairs, reversed, significant, claims_reversed, claims_lost, claims_missed.
        """
        import polars

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
            | {name: self.agreement[n].ravel() for n, name in enumerate(self.coefficients)}
            | {"most_places": self.moved.ravel(), "pairs": [len(self.pairs)] * (pools * measures)}
            | counted,
            schema_overrides={"pool_depth": polars.Int64, "measure": polars.String},
        )


def pool_depths(
    regrading: Regrading,
    measures: Any,
    depths: Sequence[int],
    *,
    contributors: Retrieved | None = None,
    coefficients: Sequence[str] = COEFFICIENTS,
    procedure: Procedure = EACH_PAIR_ALONE,
    progress: Progress | None = None,
) -> PoolDepths:
    """The ordering of the runs under pools of these depths, set against that under all judgments.

    A judgment is in a pool of depth d where one of the `contributors`, read at least so deep, has the
    document at d or better; without contributors the pool ranks of the qrels say so. For `tau_ap` the whole
    pool is the reference. `progress` counts pools, the whole one among them.
    """
    wanted = parse_measures(measures)
    check_comparable(wanted, regrading.policies)
    check_judgments(regrading)
    for name in coefficients:
        find_coefficient(name)
    ascending = tuple(sorted(set(depths)))
    if not ascending or ascending[0] < 1:
        raise DataError(f"pool depths {list(depths)}; expected whole numbers from 1")
    ranks = _pool_ranks(regrading, contributors)
    ranked = replace(regrading, qrels=replace(regrading.qrels, pool_ranks=ranks))
    states = [_cut(regrading.full, ranks, depth) for depth in ascending] + [regrading.full]
    values = np.array(
        map_items(lambda state: ranked.values(wanted, ranked.under(state)), states, progress=progress)
    )
    return _set_against_whole(ranked, states, values, ascending, wanted, tuple(coefficients), procedure)


def _pool_ranks(regrading: Regrading, contributors: Retrieved | None) -> NDArray[np.int64]:
    """(row of the qrels,): the best rank of the document in a contributing run; 0: none."""
    if contributors is not None:
        return contributors.pool_ranks(regrading.qrels)
    if regrading.qrels.pool_ranks is None:
        raise DataError(
            f"{regrading.qrels.source}: no pool ranks, and no runs that the pool was made of; give one"
        )
    return regrading.qrels.pool_ranks


def check_judgments(regrading: Regrading) -> None:
    """An error where parts of the judgments say nothing: too few runs, or a sample already."""
    if len(regrading.runs) < 2:
        raise DataError(f"runs: {len(regrading.runs)}; an ordering needs at least 2")
    qrels = regrading.qrels
    if qrels.strata is not None or qrels.probabilities is not None:
        raise DataError(
            f"{qrels.source}: these judgments are a sample already; take parts of complete judgments"
        )


def _cut(full: States, ranks: NDArray[np.int64], depth: int) -> States:
    return np.where((ranks > 0) & (ranks <= depth), full, GONE).astype(np.int8)


def _set_against_whole(
    regrading: Regrading,
    states: Sequence[States],
    values: NDArray[np.float64],
    depths: tuple[int, ...],
    measures: tuple[Measure, ...],
    coefficients: tuple[str, ...],
    procedure: Procedure,
) -> PoolDepths:
    pairs = all_pairs(len(regrading.runs))
    means = np.array([summaries(table, measures) for table in values])
    tested = [[procedure.apply(table[:, n], pairs) for n in range(len(measures))] for table in values]
    return PoolDepths(
        runs=regrading.runs, measures=measures, topics=regrading.topics, depths=depths,
        judgments=np.array([np.count_nonzero(state == JUDGED) for state in states]),
        relevant=np.array([np.count_nonzero(regrading.row_grade[state == JUDGED] >= 1) for state in states]),
        values=values, means=means, coefficients=coefficients,
        agreement=np.array(
            [
                [agreement_matrix(means[-1:, :, n], means[:, :, n], name)[0] for n in range(len(measures))]
                for name in coefficients
            ]
        ).transpose(0, 2, 1),
        moved=np.array(
            [
                [most_places(means[-1, :, n], table[:, n]).places for n in range(len(measures))]
                for table in means
            ]
        ),
        pairs=pairs, order=np.array([_order(table.T, pairs) for table in means]),
        significant=np.array([[tests.significant for tests in row] for row in tested]),
        procedure=procedure, policies=regrading.policies,
    )  # fmt: skip


def _order(means: NDArray[np.float64], pairs: Pairs) -> NDArray[np.int8]:
    """(measure, pair) from (measure, run): which run of a pair is better; 0 where one has no value."""
    steps = np.where(np.isnan(means), np.nan, on_a_grid(np.nan_to_num(means)))
    gaps = steps[:, pairs[:, 0]] - steps[:, pairs[:, 1]]
    return np.nan_to_num(np.sign(gaps)).astype(np.int8)
