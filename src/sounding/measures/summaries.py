"""Summarize values over topics to one number per run, like trec_eval to the last bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies, check_policies
from sounding.measures.registry import Measure

GEOMETRIC_FLOOR = 1e-5  # from trec_eval: a value of 0 would make every geometric mean 0


def summaries(values: NDArray[np.float64], measures: Sequence[Measure]) -> NDArray[np.float64]:
    """(run, measure): Summarize values over topics as each measure requires; NaN: no summary."""
    summary = np.full(values.shape[:2], np.nan)
    for number, measure in enumerate(measures):
        kind = measure.definition.aggregate
        if kind == "sum":
            known = ~np.isnan(values[:, number]).all(axis=1)
            summary[known, number] = np.nansum(values[known, number], axis=1)
        elif kind == "geometric":
            logs = np.log(np.maximum(values[:, number], GEOMETRIC_FLOOR))
            summary[:, number] = np.exp(mean_in_order(logs))
        elif kind == "mean":
            summary[:, number] = mean_in_order(values[:, number])
    return summary


def mean_in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Like `mean_over_topics`, but add topics one after the other to match trec_eval to the last bit.

    NumPy's sums add pairwise; only accumulating avoids that.
    """
    if not values.shape[-1]:
        return mean_over_topics(values)
    counted = np.count_nonzero(~np.isnan(values), axis=-1)
    total = np.add.accumulate(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf), axis=-1)[..., -1]
    return np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)


def mean_over_topics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the known values along the last axis; NaN if there are none."""
    counted = np.count_nonzero(~np.isnan(values), axis=-1)
    total = np.nansum(values, axis=-1)
    return np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)


def comparable(measures: Sequence[Measure]) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """Split measures into those with a mean over topics, by which runs can be compared, and the others."""
    kept = tuple(measure for measure in measures if measure.definition.aggregate == "mean")
    return kept, tuple(measure for measure in measures if measure not in kept)


def check_comparable(measures: Sequence[Measure], policies: Policies) -> None:
    """Raise an error if runs cannot be compared by these measures or under these policies."""
    check_policies(policies)
    if not measures:
        raise DataError(
            "no measure can be compared; give at least one that is not a count or a text, such as AP"
        )
    for measure in measures:
        if measure.definition.aggregate == "text":
            raise DataError(f"{measure} gives a text, but only numbers can be compared; leave it out")
        if measure.definition.aggregate == "geometric":
            raise DataError(
                f"{measure} is a geometric mean over topics, but tests compare arithmetic means;"
                f" use {measure.name.removeprefix('GM')}"
            )
        if measure.definition.aggregate != "mean":
            raise DataError(
                f"{measure} is a sum over topics, but tests compare means;"
                " use a measure that has a mean, such as AP or P@10"
            )
    if policies.unjudged == "expected":
        raise DataError(
            "unjudged expected: tests compare the values of runs, not their expected values;"
            " use unjudged nonrelevant, condensed or bounds"
        )


def needs_pool_ranks(measures: Sequence[Measure]) -> bool:
    """Return whether a measure asks how many relevant documents the pool of each depth has."""
    return any(
        measure.get("norm") == "c"
        or (measure.name == "nDCG" and measure.get("norm") == "b")
        or measure.get("ideal") == "ii"
        for measure in measures
    )
