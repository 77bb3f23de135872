"""Find which pairs of runs differ significantly at each depth, and how that agrees with a reference.

Lu, Moffat & Culpepper (2016), section 3: discrimination ratio and median p; coverage ratio (Eq. 5) and
observed inversion ratio (Eq. 6) against a reference measure. A pair that the reference separates has a
direction: separated the other way round it is not covered, and it is inverted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.runs.pairs import Pairs, blocks, differences, grid_decimals
from sounding.statistics import testing as student
from sounding.statistics.pairwise import PairTests, Procedure, check_choices, find_test
from sounding.statistics.testing import CORRECTIONS

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]

# Two runs so alike that their covariance cancels their variances to this share: differences are taken
# topic by topic, which keeps all digits and finds those that are all equal.
ALIKE = 1e-5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Separation:
    """Test results for all pairs of runs, at some depths of one measure."""

    ks: tuple[int, ...]
    order: Signs  # (k, pair): 1 where the first run has the higher mean, -1 the second, 0 neither
    separated: Signs  # (k, pair): the same where the difference is significant, otherwise 0
    median_p: Floats  # (k,) over the pairs, each by itself; NaN: there was nothing to test
    constant: NDArray[np.int64]  # (k,) pairs left untested: they differ by the same on every topic

    @property
    def tested(self) -> NDArray[np.bool_]:
        """(k,): whether there was anything to test."""
        return ~np.isnan(self.median_p)

    def discrimination(self) -> Floats:
        """(k,): the share of pairs that differ significantly, of all but the constant ones.

        NaN: there was nothing to test.
        """
        pairs = np.maximum(self.separated.shape[1] - self.constant, 1)
        return np.where(self.tested, np.count_nonzero(self.separated, axis=1) / pairs, np.nan)

    def at(self, k: int) -> Signs:
        """(pair,): what is separated at one depth, with its direction."""
        return self.separated[self.ks.index(k)]


def coverage(new: Separation, reference: Signs) -> Floats:
    """(k,): of the pairs that the reference separates, those that are separated the same way.

    NaN where the reference separates none, or there was nothing to test.
    """
    return _share_of(new, reference, (new.separated == reference) & (reference != 0))


def inversions(new: Separation, reference: Signs) -> Floats:
    """(k,): of the pairs that the reference separates, those whose means stand the other way round.

    Significant or not; NaN where the reference separates none, or there was nothing to test.
    """
    return _share_of(new, reference, (new.order == -reference) & (reference != 0))


def _share_of(new: Separation, reference: Signs, counted: NDArray[np.bool_]) -> Floats:
    total = np.count_nonzero(reference)
    if not total:
        return np.full(len(counted), np.nan)
    return np.where(new.tested, np.count_nonzero(counted, axis=1) / total, np.nan)


def separate(values: Floats, ks: Sequence[int], pairs: Pairs, procedure: Procedure) -> Separation:
    """Test all pairs at every depth, from values (k, run, topic); NaN: the run lacks the topic.

    Paired t tests of runs that all have the same topics are made for many depths at once; any other test
    is made depth by depth, as `sounding compare` does.
    """
    if values.shape[0] != len(ks):
        raise DataError(f"values at {values.shape[0]} depths, and {len(ks)} depths are named")
    present = ~np.isnan(values).all(axis=(0, 1))
    known = values[:, :, present]
    if is_quick(procedure) and known.shape[2] > 1 and not np.isnan(known).any():
        return joined([_t_tests(known[rows], ks[rows], pairs, procedure) for rows in _chunks(known, pairs)])
    return joined([_tested(table, k, pairs, procedure) for table, k in zip(values, ks, strict=True)])


def joined(parts: Sequence[Separation]) -> Separation:
    """Several groups of depths as one, in the order given."""
    return Separation(
        ks=tuple(k for part in parts for k in part.ks),
        order=np.concatenate([part.order for part in parts]),
        separated=np.concatenate([part.separated for part in parts]),
        median_p=np.concatenate([part.median_p for part in parts]),
        constant=np.concatenate([part.constant for part in parts]),
    )


def is_quick(procedure: Procedure) -> bool:
    """Return whether a thousand depths are tested in seconds: paired t tests."""
    return procedure.test == "t"


def can_test(table: Floats, procedure: Procedure) -> bool:
    """Return whether at least two topics can be tested; the table is (run, topic)."""
    known = ~np.isnan(table)
    if find_test(procedure.test).whole_topics:
        return int(np.count_nonzero(known.all(axis=0))) >= 2
    shared = known.astype(np.int64) @ known.T
    return bool((np.triu(shared, 1) >= 2).any())


def _chunks(values: Floats, pairs: Pairs) -> Iterator[slice]:
    """Depths in groups for which a few numbers a pair, and the runs' covariances, stay small."""
    runs = values.shape[1]
    return blocks(len(values), (4 * len(pairs) + 2 * runs * runs) // 16)


def same_everywhere(tests: PairTests) -> NDArray[np.bool_]:
    """(pair,): the runs differ by the same on every topic, and the test has no error to hold that against."""
    return np.isinf(tests.effect) & find_test(tests.test).needs_spread


def _tested(table: Floats, k: int, pairs: Pairs, procedure: Procedure) -> Separation:
    """Test the pairs at one depth as `compare` does; if there is nothing to test, no pair differs."""
    if not can_test(table, procedure):
        nothing = np.zeros((1, len(pairs)), np.int8)
        return Separation(
            ks=(k,), order=nothing, separated=nothing, median_p=np.full(1, np.nan),
            constant=np.zeros(1, np.int64),
        )  # fmt: skip
    tests = procedure.apply(table, pairs)
    order = np.sign(np.nan_to_num(tests.difference)).astype(np.int8)
    constant = same_everywhere(tests)
    separated = (order * (tests.significant & ~constant)).astype(np.int8)
    return Separation(
        ks=(k,), order=order[np.newaxis], separated=separated[np.newaxis],
        median_p=np.array([np.nan if constant.all() else np.median(tests.p[~constant])]),
        constant=np.array([np.count_nonzero(constant)]),
    )  # fmt: skip


def _t_tests(values: Floats, ks: Sequence[int], pairs: Pairs, procedure: Procedure) -> Separation:
    """Make paired t tests at several depths; variances of differences come from the runs' covariances."""
    topics = values.shape[2]
    decimals = grid_decimals(values)
    gaps, squares = _spread(values, pairs, decimals)
    error = np.sqrt(squares / (topics - 1) / topics)
    tested = error > 0
    order = np.sign(gaps).astype(np.int8)
    constant = ~tested & (order != 0)
    # The t of a constant difference has the p that compare gives it, by which the others are corrected.
    flipped = student.critical(0.5 ** (topics - 1), topics - 1)
    t = np.where(tested, student.ratio(gaps, error), np.where(constant, flipped, 0.0))
    separated = order * (_significant(t, topics - 1, procedure) & ~constant)
    median = _median_p(t, topics - 1)
    for place in constant.any(axis=1).nonzero()[0].tolist():
        kept = t[place : place + 1, ~constant[place]]
        median[place] = _median_p(kept, topics - 1)[0] if kept.size else np.nan
    return Separation(
        ks=tuple(ks), order=order, separated=separated.astype(np.int8), median_p=median,
        constant=np.count_nonzero(constant, axis=1),
    )  # fmt: skip


def _spread(values: Floats, pairs: Pairs, decimals: int) -> tuple[Floats, Floats]:
    """(k, pair) each: mean differences, and the sums of squared deviations from them."""
    first, second = pairs[:, 0], pairs[:, 1]
    means = values.mean(axis=2)
    gaps = np.round(means[:, first] - means[:, second], decimals)
    centerd = values - means[:, :, np.newaxis]
    products = centerd @ centerd.transpose(0, 2, 1)
    own = np.einsum("krr->kr", products)
    both = own[:, first] + own[:, second]
    squares = both - 2 * products[:, first, second]
    place, pair = (squares <= ALIKE * both).nonzero()
    if len(place):
        runs = values.shape[1]
        flat = values.reshape(-1, values.shape[2])
        chosen = pairs[pair] + (place * runs)[:, np.newaxis]
        for rows in blocks(len(chosen), values.shape[2]):
            found = differences(flat, chosen[rows], decimals)
            gaps[place[rows], pair[rows]] = found.mean
            squares[place[rows], pair[rows]] = found.squares
    return gaps, squares


def _significant(t: Floats, df: int, procedure: Procedure) -> NDArray[np.bool_]:
    """(k, pair): whether the adjusted p is at most alpha.

    Without a correction, or with Bonferroni's, all pairs have one critical t, and no p is needed.
    """
    used = check_choices(procedure.test, procedure.correction, procedure.alpha, None, None)
    family = {"none": 1, "bonferroni": t.shape[1]}.get(used)
    if family is not None:
        return np.abs(t) >= float(student.critical(procedure.alpha / family, df))
    p = student.two_sided(t, df)
    return np.array([CORRECTIONS[used](row) for row in p]) <= procedure.alpha


def _median_p(t: Floats, df: int) -> Floats:
    """(k,): p falls with the size of t, so that the middle ones of the pairs are found before it is known."""
    count = t.shape[1]
    middle = sorted({(count - 1) // 2, count // 2})
    sizes = np.partition(np.abs(t), middle, axis=1)[:, middle]
    return student.two_sided(sizes, df).mean(axis=1)
