"""What stands beside the values of Scores: bounds, or expectations, over the unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.measures.registry import Measure
from sounding.scores import summaries


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ValueBounds:
    """The least and the most that every value can be, whatever the unjudged documents are."""

    lower: NDArray[np.float64]  # (run, measure, topic)
    upper: NDArray[np.float64]  # (run, measure, topic)
    residual_unjudged: NDArray[np.float64]  # (run, measure, topic) what unjudged documents add; NaN: no such
    residual_tail: NDArray[np.float64]  # (run, measure, topic) what lies beyond the ranking can add
    kinds: tuple[str, ...]  # (measure,) exact, contains, or none: nothing but the measure's range

    def over_topics(self, measures: Sequence[Measure]) -> ValueBounds:
        """The bounds of each measure's own summary over topics: (run, measure)."""
        return replace(
            self,
            lower=summaries(self.lower, measures),
            upper=summaries(self.upper, measures),
            residual_unjudged=summaries(self.residual_unjudged, measures),
            residual_tail=summaries(self.residual_tail, measures),
        )

    def pick(self, rows: Any) -> ValueBounds:
        """Some runs, or some topics."""
        names = ("lower", "upper", "residual_unjudged", "residual_tail")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ExpectedValues:
    """Mean and standard deviation of every value when relevance of the unjudged is a matter of chance."""

    mean: NDArray[np.float64]  # (run, measure, topic)
    deviation: NDArray[np.float64]  # (run, measure, topic)
    error: NDArray[np.float64]  # (run, measure, topic) of the mean, where it was drawn; 0: exact
    methods: tuple[str, ...]  # (measure,)

    def over_topics(self, measures: Sequence[Measure]) -> ExpectedValues:
        """The same for each measure's mean or sum over topics, which are independent: (run, measure).

        NaN for geometric means: what is expected of them does not follow from the topics' means.
        """
        counted = np.maximum(np.count_nonzero(~np.isnan(self.mean), axis=-1), 1)
        kinds = [measure.definition.aggregate for measure in measures]
        share = np.where(np.array(kinds) == "sum", 1, counted)
        blank = np.where(np.isin(kinds, ("geometric", "text")), np.nan, 0.0)
        return replace(
            self,
            mean=np.nansum(self.mean, axis=-1) / share + blank,
            deviation=np.sqrt(np.nansum(self.deviation**2, axis=-1)) / share + blank,
            error=np.sqrt(np.nansum(self.error**2, axis=-1)) / share + blank,
        )

    def pick(self, rows: Any) -> ExpectedValues:
        """Some runs, or some topics."""
        return replace(self, mean=self.mean[rows], deviation=self.deviation[rows], error=self.error[rows])
