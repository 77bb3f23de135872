"""What each rank counts in a measure cut at k."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sounding.measures import Measure
from sounding.measures.graded import DcgForm
from sounding.measures.utility import insq_weights, rank_numbers, rbp_weight
from sounding.ranking import Values


def rank_weights(measure: Measure, k: int) -> Values | None:
    """(rank,): the share that each of the first k ranks has in the value; None: it depends on the ranking.

    RBP's ranks beyond k keep their share, so it sums to 1 - p^k. DCG's are the discounts themselves. The
    shares of nDCG are those of a topic with k documents of the best grade or more.
    """
    known = _WEIGHTS.get(measure.name)
    return None if known is None else known(measure, k)


def _discounts(measure: Measure, k: int) -> Values:
    return DcgForm(measure.get("dcg")).discount(rank_numbers(k))


def _summing_to_one(weight: Values) -> Values:
    return weight / weight.sum()


_WEIGHTS: Mapping[str, Callable[[Measure, int], Values]] = {
    "P": lambda measure, k: np.full(k, 1 / k),
    "RBP": lambda measure, k: rbp_weight(np.arange(1, k + 1), measure.get("p")),
    "DCG": _discounts,
    "nDCG": lambda measure, k: _summing_to_one(_discounts(measure, k)),
    "SDCG": lambda measure, k: _summing_to_one(_discounts(measure, k)),
    "INSQ": lambda measure, k: _summing_to_one(insq_weights(k, measure.get("T"))),
}
