"""Runs x measures x topics: the values, what they were computed from, and what was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sounding.measures.registry import Measure
from sounding.policies import Policies

if TYPE_CHECKING:
    import polars

GEOMETRIC_FLOOR = 1e-5  # trec_eval's: a value of 0 would make every geometric mean 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scores:
    """The value of every measure for every run and topic, with what was counted on the way."""

    runs: tuple[str, ...]
    tags: tuple[str, ...]  # what each run calls itself
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]  # the judged topics, in byte order
    values: NDArray[np.float64]  # (run, measure, topic); NaN: not defined, or the topic is skipped
    texts: Mapping[Measure, NDArray[np.object_]]  # (run, topic) for measures that give text
    judged: NDArray[np.float64]  # (run, measure): mean share of judged documents down to the measure's depth
    missing: NDArray[np.bool_]  # (run, topic): the run lacks the topic
    ignored: tuple[int, ...]  # (run,): topics of the run that nobody judged
    without_relevant: tuple[str, ...]  # topics that have no relevant document (grade 1 or better)
    policies: Policies

    def mean(self) -> NDArray[np.float64]:
        """(run, measure): each measure's own summary over topics (mean, sum, geometric mean); NaN: none."""
        summary = np.full(self.values.shape[:2], np.nan)
        for number, measure in enumerate(self.measures):
            values = self.values[:, number, :]
            kind = measure.definition.aggregate
            if kind == "sum":
                summary[:, number] = np.nansum(values, axis=1)
            elif kind == "geometric":
                logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
                summary[:, number] = np.exp(_mean_over_topics(logs))
            elif kind == "mean":
                summary[:, number] = _mean_over_topics(values)
        return summary

    def counted(self) -> NDArray[np.int64]:
        """(run, measure): over how many topics each summary is taken."""
        return np.count_nonzero(~np.isnan(self.values), axis=2)

    def deviation(self) -> NDArray[np.float64]:
        """(run, measure): standard deviation over topics (n - 1); NaN for fewer than two."""
        counted = self.counted()
        centred = self.values - _mean_over_topics(self.values)[..., np.newaxis]
        squares = np.nansum(centred**2, axis=2)
        return np.sqrt(np.divide(squares, counted - 1, out=np.full(squares.shape, np.nan), where=counted > 1))

    def standard_error(self) -> NDArray[np.float64]:
        """(run, measure): standard error of the mean over topics; NaN for fewer than two."""
        return self.deviation() / np.sqrt(np.maximum(self.counted(), 1))

    def geometric_mean(self) -> NDArray[np.float64]:
        """(run, measure): geometric mean over topics; below 1e-5 counts as 1e-5 (trec_eval's rule)."""
        return np.exp(_mean_over_topics(np.log(np.maximum(self.values, GEOMETRIC_FLOOR))))

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, measure, topic, value: one row a value; the summaries are not in it."""
        import polars

        runs, measures, topics = len(self.runs), len(self.measures), len(self.topics)
        return polars.DataFrame(
            {
                "run": [name for name in self.runs for _ in range(measures * topics)],
                "measure": [str(m) for m in self.measures for _ in range(topics)] * runs,
                "topic": list(self.topics) * (runs * measures),
                "value": self.values.ravel(),
            },
            schema_overrides={"run": polars.String, "measure": polars.String, "topic": polars.String},
        )


def _mean_over_topics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of what is not NaN along the last axis; NaN where nothing is."""
    counted = np.count_nonzero(~np.isnan(values), axis=-1)
    total = np.nansum(values, axis=-1)
    return np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)
