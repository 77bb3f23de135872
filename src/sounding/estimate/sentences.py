"""Sentences of `sounding estimate`, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sounding.core.text import percent, plural, quote_list
from sounding.estimate.result import Estimation, MeasureEstimate


def headline(estimation: Estimation) -> str:
    """Answer which run is best, and whether it is significantly so, by the first measure."""
    one = estimation.estimates[0]
    order = estimation.order(one)
    best = order[0]
    known = (
        f"{100 * estimation.confidence:g}% interval {one.low[best]:.3f} to {one.high[best]:.3f}"
        if one.low[best] <= one.high[best]
        else "no valid interval"
    )
    text = (
        f"{estimation.runs[best]} is estimated best by {one.measure}: {one.means[best]:.3f} ({known} on these"
        f" {plural(len(estimation.topics), 'topic')})."
    )
    if one.tests is None:
        return text
    significant = int(np.count_nonzero(one.tests.p_adjusted <= estimation.procedure.alpha))
    return (
        f"{text} {significant:,} of {plural(len(estimation.pairs), 'pair')} differ"
        f"{'s' if len(estimation.pairs) == 1 else ''} significantly on topics like these."
    )


def notes(estimation: Estimation) -> list[str]:
    """Return what a reader should know, the most important first."""
    return list(_notes(estimation))


def _notes(estimation: Estimation) -> Iterator[str]:
    yield from estimation.remarks
    basis = f"The estimates rest on {plural(estimation.judged, 'judgment')} by people"
    if estimation.whole is not None and estimation.whole < len(estimation.topics):
        yield (
            f"People judged {estimation.whole} of {len(estimation.topics)} topics whole. The estimates are"
            " valid only if chance decided which."
        )
        yield from _without_interval(estimation)
    if estimation.judges:
        yield (
            f"{basis} and {plural(estimation.labeled, 'label')} by {quote_list(estimation.described)};"
            f" {percent(estimation.machine_share)} of the documents were seen by machines only."
        )
        yield from _machine(estimation, estimation.estimates[0])
    else:
        yield f"{basis}; add --labels to use a machine's labels as well."
    outside = float(estimation.outside.max(initial=0))
    if outside > 0:
        yield (
            f"Documents that nobody judged or labeled count as not relevant: up to {percent(outside)} of a"
            " run's first ten."
        )


def _machine(estimation: Estimation, one: MeasureEstimate) -> Iterator[str]:
    """Yield how far the machine's labels alone are from the estimates."""
    known = one.low <= one.high
    inside = (one.machine >= one.low) & (one.machine <= one.high)
    yield (
        f"At face value the labels of {estimation.judges[0]} give {one.measure} values that are off by"
        f" {np.mean(one.machine - one.means):+.3f} on average; they lie inside the interval for"
        f" {int(inside.sum())} of {plural(int(known.sum()), 'run')}."
    )


def _without_interval(estimation: Estimation) -> Iterator[str]:
    """Yield for how many runs no interval is valid, and why."""
    for one in estimation.estimates:
        none = int(np.isnan(one.low).sum())
        if none:
            yield (
                f"{one.measure}: {plural(none, 'run')} without an interval, because"
                f" {'its value is' if none == 1 else 'their values are'} the same on nearly all judged"
                " topics."
            )
