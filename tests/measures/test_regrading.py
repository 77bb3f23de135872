"""Runs that are graded together have, to the last bit, the values that each has by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.core.policies import Policies
from sounding.measures import parse_measures
from sounding.measures import regrading as regrading_module
from sounding.measures.regrading import Regrading, View, read_regrading

MEASURES = parse_measures(
    [
        "AP",
        "AP@5",
        "AP(rel=2)",
        "P@3",
        "P(rel=2)@5",
        "R@10",
        "RelP@5",
        "F@5",
        "Success@2",
        "RR",
        "RR(rel=2)",
        "GMAP",
        "Rprec",
        "nDCG",
        "nDCG@5",
        "nDCG(dcg='exp-log2')@5",
        "nDCG(gains={0:1,1:2})@5",
        "nDCG(judged_only=True)@5",
        "DCG@5",
        "Q",
        "Q@5",
        "RBP",
        "RBP(rel=2)",
        "ERR@10",
        "SDCG@5",
        "SetP",
        "SetR",
        "SetF",
        "SetAP",
        "INSQ",
        "Bpref",
        "Judged@5",
        "P(rel=0)@5",
    ]
)


def one_by_one(found: Regrading, view: View, runs: list[int]) -> np.ndarray:
    """Return the values of each run from its whole ranking."""
    rankings = [found.ranking(run, view) for run in runs]
    values = np.array([[measure(ranking) for measure in MEASURES] for ranking in rankings])
    if found.policies.missing == "skip":
        for row, ranking in zip(values, rankings, strict=True):
            row[:, ranking.missing] = np.nan
    return values


@pytest.mark.parametrize("policies", [
    Policies(), Policies(missing="skip"), Policies(depth=7), Policies(unjudged="condensed"),
    Policies(ties="file"), Policies(negative="split"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("cells", [2**23, 300])
def test_values_of_many_runs_are_those_of_each(
    policies: Policies, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regrading_module, "CELLS_AT_ONCE", cells)
    for seed in range(3):
        found = read_regrading(draw_qrels(seed), draw_runs(seed), policies=policies)
        rng = np.random.default_rng(seed)
        lost = rng.random(len(found.retrieved.docs)) < 0.3
        drawn = rng.random(len(found.retrieved.docs)) < 0.2
        views = [found.view(), found.view(lost), found.view(lost, np.array([1, 2, 4])), found.pretend(drawn)]
        views += [found.pretend(drawn & lost, drawn), found.pretend(drawn & ~lost, drawn)]
        for view in views:
            for runs in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [4, 1, 4], []):
                expected = one_by_one(found, view, runs)
                np.testing.assert_array_equal(
                    found.values(MEASURES, view, runs),
                    expected.reshape(len(runs), len(MEASURES), len(view.topics)),
                )


def test_lists_in_another_order_are_graded_anew() -> None:
    """A relisted collection has values of its own, though the old ones are remembered."""
    found = read_regrading(draw_qrels(1), draw_runs(1))
    first = found.values(MEASURES, found.view())
    fewer = replace(found, retrieved=found.retrieved.pick([3, 2]))
    np.testing.assert_array_equal(fewer.values(MEASURES, fewer.view()), first[[3, 2]])
