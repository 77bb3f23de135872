"""The result of `estimate`: runs and pairs with intervals, and what people or machines alone would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import polars
from sounding.measures import Measure
from sounding.runs.pairs import Pairs, all_pairs
from sounding.statistics.pairwise import PairTests, Procedure

Floats = NDArray[np.float64]


def interval(measure: Measure, means: Floats, reach: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Return (run,) each: the ends of intervals, within the values that the measure can have."""
    return possible(measure, means - reach), possible(measure, means + reach)


def possible(measure: Measure, values: Floats) -> Floats:
    """Return the values that the measure can have which are closest to these."""
    return np.clip(values, 0.0, np.inf if measure.name in UNBOUNDED else 1.0)


UNBOUNDED = ("DCG", "IDCG")  # all other measures that can be estimated end at 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasureEstimate:
    """The estimates of one measure."""

    measure: Measure
    values: Floats  # (run, topic)
    uncut: Floats  # (run,) estimated means; unbiased (ERR: nearly), but perhaps impossible values
    low: Floats  # (run,) interval for complete judgments by people, on these topics
    high: Floats
    topics_low: Floats  # (run,) interval for topics like these
    topics_high: Floats
    people: Floats  # (run,) estimates from the same judgments without labels
    people_error: Floats  # (run,) standard errors of `people`
    machine: Floats  # (run,) from the labels alone, at face value; NaN without labels
    machine_values: Floats  # (run, topic) the values behind `machine`
    covariance: Floats  # (run, run) of the means, on these topics
    pair_low: Floats  # (pair,) interval of the difference, on these topics
    pair_high: Floats
    tests: PairTests | None  # for topics like these; None: fewer than two runs or topics
    worth: float  # number of people's judgments that the labels replace
    refused: str = ""  # why there is no estimate; "" if there is one

    @property
    def means(self) -> Floats:
        """Return (run,): the estimated means, as values that the measure can have."""
        return possible(self.measure, self.uncut)

    @property
    def differences(self) -> Floats:
        """Return (pair,): the differences, unbiased (ERR: nearly): no mean is cut to a possible value."""
        pairs = all_pairs(len(self.uncut))
        return self.uncut[pairs[:, 0]] - self.uncut[pairs[:, 1]]

    @property
    def errors(self) -> Floats:
        """Return (run,): the standard error on these topics."""
        return np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Estimation:
    """The result of `estimate`: estimates of several measures, with the data behind them."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    judges: tuple[str, ...]  # machines
    described: tuple[str, ...]  # each machine with model, prompt and so on
    judged: int  # documents judged by people with known probability
    whole: int | None  # topics judged whole, if topics were sampled; None: documents were sampled
    frame: int  # documents that are labeled or judged
    labeled: int  # documents with a label
    outside: Floats  # (run,) share of the first ten that are neither judged nor labeled
    estimates: tuple[MeasureEstimate, ...]
    confidence: float
    procedure: Procedure
    remarks: tuple[str, ...] = field(default=())

    @property
    def machine_share(self) -> float:
        """Return the share of documents that only machines labeled."""
        return 1 - self.judged / max(self.frame, 1)

    @property
    def pairs(self) -> Pairs:
        """Return (pair, 2): the indices of the runs of each pair."""
        return all_pairs(len(self.runs))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that were estimated."""
        return tuple(one.measure for one in self.estimates)

    def order(self, estimate: MeasureEstimate) -> list[int]:
        """Return the runs from best to worst."""
        return np.argsort(-estimate.uncut, kind="stable").tolist()

    def columns(self) -> dict[str, Sequence[object]]:
        """Return one row for each measure and run."""
        rows: list[dict[str, object]] = []
        for one in self.estimates:
            for run in self.order(one):
                rows.append({
                    "measure": str(one.measure), "run": self.runs[run], "estimate": float(one.means[run]),
                    "low": float(one.low[run]), "high": float(one.high[run]),
                    "topics_low": float(one.topics_low[run]), "topics_high": float(one.topics_high[run]),
                    "people": float(one.people[run]), "people_error": float(one.people_error[run]),
                    "error": float(one.errors[run]), "machine": float(one.machine[run]),
                    "outside": float(self.outside[run]), "machine_share": self.machine_share,
                })  # fmt: skip
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}

    def pair_columns(self) -> dict[str, Sequence[object]]:
        """Return one row for each measure and pair of runs."""
        rows: list[dict[str, object]] = []
        for one in self.estimates:
            tests, differences = one.tests, one.differences.tolist()
            for number, (a, b) in enumerate(self.pairs.tolist()):
                rows.append({
                    "measure": str(one.measure), "run_a": self.runs[a], "run_b": self.runs[b],
                    "difference": differences[number],
                    "low": float(one.pair_low[number]), "high": float(one.pair_high[number]),
                    "topics_low": np.nan if tests is None else float(tests.ci_low[number]),
                    "topics_high": np.nan if tests is None else float(tests.ci_high[number]),
                    "p": np.nan if tests is None else float(tests.p[number]),
                    "p_adjusted": np.nan if tests is None else float(tests.p_adjusted[number]),
                    "machine": float(one.machine[a] - one.machine[b]), "machine_share": self.machine_share,
                })  # fmt: skip
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}

    @property
    def frame_of_runs(self) -> polars.DataFrame:
        """Return the estimates as a data frame: one row for each measure and run."""
        return polars.DataFrame(self.columns())

    @property
    def frame_of_pairs(self) -> polars.DataFrame:
        """Return the differences as a data frame: one row for each measure and pair."""
        return polars.DataFrame(self.pair_columns())
