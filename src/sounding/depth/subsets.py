"""Random parts of the judgments: how soon each measure loses the ordering of the runs.

The protocol of Buckley & Voorhees (2004): for every topic the relevant and the other judged documents are
each put in a random order, and a share of both is kept from the front. So a smaller part lies within every
larger one of the same draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import check_count
from sounding.core.policies import Policies
from sounding.core.workers import Progress, map_items, processes_for
from sounding.depth.pools import check_judgments
from sounding.measures import Measure, parse, parse_measures
from sounding.measures.judgment_parts import PartSizes, random_places
from sounding.measures.regrading import JUDGED, POOLED, Regrading
from sounding.statistics.rankings import agreement_matrix, find_coefficient

if TYPE_CHECKING:
    import polars

MEASURES = ("AP", "bpref", "P@10")
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)
DRAWS = 5
COEFFICIENTS = ("tau_b", "tau_ap_b")  # identical orderings give 1, ties or not


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
    coefficients: tuple[str, ...]
    agreement: NDArray[np.float64]  # (coefficient, share, draw, measure)
    policies: Policies

    @property
    def frame(self) -> polars.DataFrame:
        """Columns share, draw, measure, judgments, relevant and one a coefficient: one row a part."""
        import polars

        shares, draws, measures = len(self.shares), self.draws, len(self.measures)
        return polars.DataFrame(
            {
                "share": np.repeat(np.array(self.shares), draws * measures),
                "draw": np.tile(np.repeat(np.arange(1, draws + 1), measures), shares),
                "measure": [str(measure) for measure in self.measures] * (shares * draws),
                "judgments": np.repeat(self.judgments.ravel(), measures),
                "relevant": np.repeat(self.relevant.ravel(), measures),
            }
            | {name: self.agreement[number].ravel() for number, name in enumerate(self.coefficients)},
            schema_overrides={"measure": polars.String},
        )

    @property
    def summary_frame(self) -> polars.DataFrame:
        """Over the draws: columns share, measure, coefficient, mean, least, most, undefined; one row each."""
        import polars

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
            for number, name in enumerate(self.coefficients)
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
    level: float = 1,
    coefficients: Sequence[str] = COEFFICIENTS,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> JudgmentSubsets:
    """The ordering of the runs under random parts of the judgments, drawn from the seed of the policies.

    Relevant is what has the grade `level` or better. A topic keeps at least 1 relevant document and 10
    others, or all that it has. Documents that lose their judgment stay in the pool, unjudged. All orderings
    are held against that of `reference` with all judgments; None: against the measure's own.
    """
    wanted = parse_measures(measures)
    check_judgments(regrading)
    falling = _checked(wanted, shares, draws)
    for name in coefficients:
        find_coefficient(name)
    parts = _evaluated_parts(regrading, wanted, falling, draws, level, jobs, progress)
    shape = (len(falling), draws)
    means = np.array([part.means for part in parts]).reshape(*shape, len(regrading.runs), len(wanted))
    full = regrading.means(wanted, regrading.view())
    target, against = None, full
    if reference is not None:
        target = parse(str(reference))
        against = np.tile(regrading.means([target], regrading.view()), len(wanted))
    return JudgmentSubsets(
        runs=regrading.runs, measures=wanted, shares=falling, draws=draws, seed=regrading.policies.seed,
        judgments=np.array([part.judgments for part in parts]).reshape(shape),
        relevant=np.array([part.relevant for part in parts]).reshape(shape),
        means=means, full=full, reference=target, coefficients=tuple(coefficients),
        agreement=_agreement(means, against, coefficients), policies=regrading.policies,
    )  # fmt: skip


class _Part(NamedTuple):
    """What one random part of the judgments gives."""

    means: NDArray[np.float64]  # (run, measure)
    judgments: int
    relevant: int


def _evaluated_parts(
    regrading: Regrading,
    measures: tuple[Measure, ...],
    shares: tuple[float, ...],
    draws: int,
    level: float,
    jobs: int | None,
    progress: Progress | None,
) -> list[_Part]:
    """Every share of every draw, share by share."""
    orders = [random_places(regrading, level, [regrading.policies.seed, draw]) for draw in range(draws)]
    sizes = PartSizes.of(regrading, level)

    def work(part: tuple[float, int]) -> _Part:
        share, draw = part
        stays = orders[draw] < sizes.kept(share)[sizes.group]
        states = np.where(stays, regrading.full, POOLED).astype(np.int8)
        judged = states == JUDGED
        relevant = np.count_nonzero(regrading.row_grade[judged] >= level)
        means = regrading.means(measures, regrading.under(states))
        return _Part(means, int(np.count_nonzero(judged)), int(relevant))

    parts = [(share, draw) for share in shares for draw in range(draws)]
    processes = processes_for(regrading.retrieved.lists.size * len(parts), len(parts), jobs)
    return map_items(work, parts, processes=processes, progress=progress)


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


def _agreement(
    means: NDArray[np.float64], full: NDArray[np.float64], coefficients: Sequence[str]
) -> NDArray[np.float64]:
    """(coefficient, share, draw, measure): of every part's ordering with the full one of its column."""
    shares, draws, runs, measures = means.shape
    rows = means.reshape(shares * draws, runs, measures)
    found = [
        [agreement_matrix(full[np.newaxis, :, n], rows[:, :, n], name)[0] for n in range(measures)]
        for name in coefficients
    ]
    return np.array(found).reshape(len(coefficients), measures, shares, draws).transpose(0, 2, 3, 1)
