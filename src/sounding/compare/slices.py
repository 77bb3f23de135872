"""A comparison slice by slice: the same pairs, tested over the topics of each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sounding.compare.result import Comparison
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.text import natural_order
from sounding.evaluate.topic_files import read_attributes
from sounding.measures.summaries import mean_over_topics
from sounding.statistics.pairwise import PairTests, fewest_topics

COLUMNS = ("slice", "run_a", "run_b", "measure", "topics", "mean_a", "mean_b", "difference", "ci_low",
           "ci_high", "p", "p_adjusted", "significant", "reversed", "tested")  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SlicedPairs:
    """Every pair of a comparison by every measure, over the topics of each slice."""

    comparison: Comparison
    names: tuple[str, ...]  # of the slices
    topics: tuple[tuple[int, ...], ...]  # (slice,) the places of its topics
    tests: tuple[tuple[PairTests | None, ...], ...]  # (slice, measure); None: too few topics to test
    difference: NDArray[np.float64]  # (slice, measure, pair)
    means: NDArray[np.float64]  # (slice, measure, 2, pair)
    counted: NDArray[np.int64]  # (slice, measure, pair): topics on which both runs have a value
    source: str

    @property
    def fewest(self) -> int:
        """The least number of topics with which a test can reach alpha."""
        return fewest_topics(self.comparison.alpha)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """(slice, measure, pair): the two runs differ significantly in the slice."""
        none = np.zeros(len(self.comparison.pairs), np.bool_)
        return np.array([[none if one is None else one.significant for one in row] for row in self.tests])

    @property
    def reversed(self) -> NDArray[np.bool_]:
        """(slice, measure, pair): the other run is ahead in the slice than over all topics."""
        whole = np.array([tests.difference for tests in self.comparison.performance_tests])
        return np.sign(np.nan_to_num(self.difference)) * np.sign(np.nan_to_num(whole)) < 0

    def sizes(self) -> dict[str, int]:
        """The number of topics of every slice."""
        return {name: len(own) for name, own in zip(self.names, self.topics, strict=True)}

    def small_slices(self) -> list[str]:
        """The slices that have too few topics to be tested."""
        return [
            name for name, row in zip(self.names, self.tests, strict=True) if all(one is None for one in row)
        ]

    def significant_slices(self) -> list[str]:
        """The slices in which some pair differs significantly by the first measure."""
        return self._where(self.significant)

    def reversed_slices(self) -> list[str]:
        """The slices in which some pair is in the other order by the first measure."""
        return self._where(self.reversed)

    def _where(self, flags: NDArray[np.bool_]) -> list[str]:
        return [name for name, own in zip(self.names, flags[:, 0], strict=True) if own.any()]

    def rows(self) -> list[tuple[int, int, int]]:
        """(slice, measure, pair) of every row: pairs of the best runs first, the slices of each together."""
        order = self.comparison.by_rank()
        return [(part, number, pair) for number, pair in order for part in range(len(self.names))]

    def columns(self, rows: list[tuple[int, int, int]]) -> dict[str, list[Any]]:
        """The columns of some rows, by name; None: not known."""
        found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        significant, turned = self.significant, self.reversed
        for part, number, pair in rows:
            tests = self.tests[part][number]
            a, b = self.comparison.names(pair)
            mean_a, mean_b = self.means[part, number, :, pair].tolist()
            numbers: list[float | None] = [None] * 4
            if tests is not None:
                numbers = [*tests.between([pair])[:, 0].tolist(), float(tests.p[pair])]
                numbers.append(float(tests.p_adjusted[pair]))
            cells = (
                self.names[part], a, b, str(self.comparison.measures[number]),
                int(self.counted[part, number, pair]), mean_a, mean_b,
                float(self.difference[part, number, pair]), *numbers,
                bool(significant[part, number, pair]), bool(turned[part, number, pair]), tests is not None,
            )  # fmt: skip
            for name, cell in zip(COLUMNS, cells, strict=True):
                found[name].append(cell)
        return found


def slice_comparison(comparison: Comparison, source: str | Path) -> SlicedPairs:
    """Test the pairs of a comparison over the topics of each slice that a file names (topic <TAB> slice).

    p is adjusted over the pairs of a slice, within each measure. A slice with fewer topics than the test
    needs to reach alpha is not tested.
    """
    places = {topic: place for place, topic in enumerate(comparison.topics)}
    parts: dict[str, set[int]] = {}
    for topic, label in read_attributes(source):
        if topic in places:
            parts.setdefault(label, set()).add(places[topic])
    if not parts:
        raise DataError(
            f"{source}: none of its topics was judged; expected ids such as {comparison.topics[0]!r}"
        )
    names = sorted(parts, key=natural_order)
    topics = tuple(tuple(sorted(parts[name])) for name in names)
    least = fewest_topics(comparison.alpha)
    tests, differences, means, counted = [], [], [], []
    for own in topics:
        values = comparison.values[:, :, list(own)]
        both = values[comparison.pairs.T]  # (2, pair, measure, topic)
        both = np.where(np.isnan(both).any(axis=0), np.nan, both)
        known = np.count_nonzero(~np.isnan(both[0]), axis=2)  # (pair, measure)
        mean = np.where(known > 0, np.nansum(both, axis=3) / np.maximum(known, 1), np.nan)
        counted.append(known.T)
        means.append(mean.transpose(2, 0, 1))
        difference = (mean[0] - mean[1]).T
        for measure, direct in comparison.preferences.items():
            difference[comparison.measures.index(measure)] = mean_over_topics(direct[:, list(own)])
        differences.append(difference)
        tests.append(
            tuple(
                _tests(comparison, number, list(own), int(known[:, number].max(initial=0)), least)
                for number in range(len(comparison.measures))
            )
        )
    return SlicedPairs(
        comparison=comparison, names=tuple(names), topics=topics, tests=tuple(tests),
        difference=np.array(differences), means=np.array(means), counted=np.array(counted),
        source=str(source),
    )  # fmt: skip


def _tests(
    comparison: Comparison, number: int, own: Sequence[int], topics: int, least: int
) -> PairTests | None:
    """The tests of all pairs by a measure over the topics of a slice; None: they are too few."""
    if topics < least:
        return None
    direct = comparison.preferences.get(comparison.measures[number])
    preferences = None if direct is None else direct[:, own]
    values = comparison.values[:, number][:, own]
    try:
        return comparison.procedure.apply(values, comparison.pairs, preferences=preferences)
    except DataError:
        return None
