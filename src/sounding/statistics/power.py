"""Plan the size of an experiment: power, topics needed, and how often fewer topics reverse an order.

docs/design.md explains how each number is computed and used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.core.errors import DataError
from sounding.core.lazy import special
from sounding.runs.pairs import Pairs, blocks, differences, grid_decimals
from sounding.statistics import testing as student
from sounding.statistics.testing import Floats

FAR = 30.0  # a noncentrality from which SciPy's noncentral t may fail to converge
MANY = 1e6  # topics from which Student's t equals the normal distribution to six digits
REQUIRED = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)
WANTED = (0.01, 0.02, 0.05, 0.1)
SIZES = 5  # topic set sizes, unless others are given
LEAST_SPLIT = 10  # topics, two sets of 5: rates of smaller sets predict nothing
LEAST_FITTED = 3  # sizes: a curve with two parameters always fits two points


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairPower:
    """Power of a paired t test on these topics; NaN if the differences of a pair do not vary."""

    pairs: Pairs  # (pair, 2): run_a, run_b
    topics: NDArray[np.int64]  # (pair,) on which both have a value
    difference: Floats  # (pair,) observed: mean of run_a - run_b
    deviation: Floats  # (pair,) standard deviation of the differences over topics
    power: Floats  # (pair,) if the observed difference were the true one
    topics_needed: Floats  # (pair,) for the observed difference; infinite if there is none
    detectable: Floats  # (pair,) smallest true difference that is found with the target power
    wanted: Floats  # (difference,) of interest to the user
    needed: Floats  # (difference, pair) topics needed for it
    alpha: float
    comparisons: int  # divisor of alpha
    target: float  # target power


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SwapRates:
    """Rates at which two disjoint topic sets disagree on the better run (Voorhees and Buckley 2002).

    A comparison is one pair of runs on one set of topics, checked on the other set. It is a claim if the
    difference is not 0 and at least the required one, and an error if the other set has the opposite order.
    """

    sizes: NDArray[np.int64]  # (size,) topics in each of the two sets
    required: Floats  # (difference,)
    compared: int  # comparisons for every size: pairs x splits x 2
    claims: NDArray[np.int64]  # (size, difference)
    errors: NDArray[np.int64]  # (size, difference)
    topics: int  # from which the sets were drawn: those on which all runs have a value
    dropped: int  # topics left out because a run has no value
    splits: int

    @property
    def error_rate(self) -> Floats:
        """(size, difference): errors among claims; NaN without claims."""
        return _share(self.errors, self.claims)

    @property
    def fuzziness(self) -> Floats:
        """(size, difference): share of comparisons that are ties, below the required difference."""
        return 1 - self.claims / self.compared

    @property
    def bin_error_rate(self) -> Floats:
        """(size, difference): errors among claims from this difference up to the next; the last is unbounded.

        The rate that Voorhees and Buckley plot.
        """
        none = np.zeros((len(self.sizes), 1), np.int64)
        errors, claims = (-np.diff(counts, axis=1, append=none) for counts in (self.errors, self.claims))
        return _share(errors, claims)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Extrapolation:
    """Error rates for larger topic sets: scale x exp(-decay x topics), fitted to `SwapRates`.

    None of it was observed. NaN if fewer than three sizes have claims.
    """

    topics: NDArray[np.int64]  # (size,) beyond those observed
    required: Floats  # (difference,)
    error_rate: Floats  # (size, difference)
    scale: Floats  # (difference,)
    decay: Floats  # (difference,) per topic
    shortfall: Floats  # (difference,) observed rate at the largest size minus that of a fit to the others
    fitted: tuple[int, int]  # the smallest and the largest observed size


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Design:
    """Power and error rates that the available topics allow, for one measure."""

    power: PairPower
    swaps: SwapRates
    extrapolation: Extrapolation


def design(
    values: Floats,
    pairs: Pairs,
    *,
    wanted: Sequence[float] = WANTED,
    alpha: float = 0.05,
    comparisons: int = 1,
    splits: int = 100,
    rng: np.random.Generator,
) -> Design:
    """Compute power and swap rates of pairs of runs, from values by run and topic (NaN: no value).

    The rates are extrapolated to all available topics, twice and four times as many.
    """
    swaps = swap_rates(values, pairs, splits=splits, rng=rng)
    return Design(
        power=pair_power(values, pairs, wanted=wanted, alpha=alpha, comparisons=comparisons),
        swaps=swaps,
        extrapolation=extrapolate(swaps, [swaps.topics * times for times in (1, 2, 4)]),
    )  # fmt: skip


def pair_power(
    values: Floats,
    pairs: Pairs,
    *,
    wanted: Sequence[float] = WANTED,
    alpha: float = 0.05,
    comparisons: int = 1,
    target: float = 0.8,
) -> PairPower:
    """Return the power of the paired t test for every pair, and the topics it needs.

    Each pair uses the topics where both runs have a value, at the level alpha / comparisons.
    """
    table, level = np.asarray(values, np.float64), _level(alpha, comparisons, target)
    _check_table(table, pairs)
    aims = np.asarray(wanted, np.float64)
    if not np.all((aims > 0) & np.isfinite(aims)):
        raise DataError(f"wanted differences {list(wanted)}: expected numbers above 0, such as 0.05")
    decimals = grid_decimals(table)
    found = [differences(table, pairs[rows], decimals) for rows in blocks(len(pairs), table.shape[1])]
    topics = np.concatenate([block.topics for block in found])
    difference = np.concatenate([block.mean for block in found])
    deviation = np.concatenate([block.deviation for block in found])
    spread = np.where(deviation > 0, deviation, np.nan)
    return PairPower(
        pairs=pairs, topics=topics, difference=difference, deviation=deviation,
        power=paired_power(difference / spread, topics, alpha=level),
        topics_needed=topics_needed(difference / spread, alpha=level, target=target),
        detectable=detectable_effect(topics, alpha=level, target=target) * spread,
        wanted=aims, needed=topics_needed(aims[:, np.newaxis] / spread, alpha=level, target=target),
        alpha=alpha, comparisons=comparisons, target=target,
    )  # fmt: skip


def paired_power(effect: ArrayLike, topics: ArrayLike, *, alpha: float) -> Floats:
    """Return the probability that a two-sided paired t test at level alpha finds a true effect.

    The effect is d_z: mean over standard deviation of the differences. NaN for fewer than two topics.
    """
    size, count = np.broadcast_arrays(np.abs(np.asarray(effect, np.float64)), np.asarray(topics, np.float64))
    known = (count >= 2) & ~np.isnan(size)
    chance = np.full(size.shape, np.nan)
    chance[known] = _chance(size[known] * np.sqrt(count[known]), count[known] - 1, alpha)
    return chance


def topics_needed(effect: ArrayLike, *, alpha: float, target: float = 0.8) -> Floats:
    """Return the fewest topics with which a paired t test has the target power; infinite if no effect."""
    size = np.abs(np.asarray(effect, np.float64))
    with np.errstate(divide="ignore", over="ignore"):
        # A z test never needs more topics than a t test.
        by_z = ((special.ndtri(1 - alpha / 2) + special.ndtri(target)) / size) ** 2
    needed = np.array(np.maximum(np.ceil(by_z), 2.0))
    searched = np.asarray(by_z < MANY)
    needed[searched] = _search(size[searched], np.asarray(by_z)[searched], alpha, target)
    return needed


def detectable_effect(topics: ArrayLike, *, alpha: float, target: float = 0.8) -> Floats:
    """Return the smallest true effect (d_z) found with the target power; NaN below two topics."""
    distinct, place = np.unique(np.asarray(topics, np.float64), return_inverse=True)
    count = np.maximum(distinct, 2.0)
    low, high = np.zeros(len(count)), np.ones(len(count))
    while (short := paired_power(high, count, alpha=alpha) < target).any():
        high[short] *= 2
    for _ in range(60):  # bisection to all digits of a double
        middle = (low + high) / 2
        short = paired_power(middle, count, alpha=alpha) < target
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.where(distinct >= 2, high, np.nan)[place].reshape(np.shape(topics))


def _search(effect: Floats, by_z: Floats, alpha: float, target: float) -> Floats:
    """Bisect whole numbers: `low` topics are too few (or 1), `high` are enough."""
    low = np.maximum(np.floor(0.9 * by_z) - 1, 1.0)
    high = np.maximum(np.ceil(by_z) + 4, 2.0)
    while (short := paired_power(effect, high, alpha=alpha) < target).any():
        low[short] = high[short]
        high[short] *= 2
    while (undecided := high - low > 1).any():
        middle = np.floor((low[undecided] + high[undecided]) / 2)
        short = paired_power(effect[undecided], middle, alpha=alpha) < target
        low[undecided] = np.where(short, middle, low[undecided])
        high[undecided] = np.where(short, high[undecided], middle)
    return high


def _chance(noncentrality: Floats, df: Floats, alpha: float) -> Floats:
    """Return the probability that a noncentral t exceeds the critical values, on either side."""
    limit = student.critical(alpha, df.astype(np.int64))
    far = noncentrality > FAR
    chance = np.empty(len(df))
    chance[far] = _far_chance(noncentrality[far], df[far], limit[far])
    shift, degrees, bound = noncentrality[~far], df[~far], limit[~far]
    # SciPy gives NaN for the wrong side if its probability is below rounding.
    wrong_side = np.nan_to_num(special.nctdtr(degrees, shift, -bound))
    chance[~far] = 1 - special.nctdtr(degrees, shift, bound) + wrong_side
    return np.clip(chance, 0.0, 1.0)


def _far_chance(noncentrality: Floats, df: Floats, limit: Floats) -> Floats:
    """Return the same far from 0, where it is a smooth mean over the normal deviate in the numerator."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    top = noncentrality[:, np.newaxis] + nodes
    inside = special.chdtr(df[:, np.newaxis], df[:, np.newaxis] * (top / limit[:, np.newaxis]) ** 2)
    return np.asarray(inside @ (weights / weights.sum()), np.float64)


def swap_rates(
    values: Floats,
    pairs: Pairs,
    *,
    required: Sequence[float] = REQUIRED,
    sizes: Sequence[int] | None = None,
    splits: int = 100,
    rng: np.random.Generator,
) -> SwapRates:
    """Return error rate and fuzziness by number of topics and required difference, from random splits.

    Every split divides the topics into two halves; a set of n topics is the first n of a half, and each half
    is used once to claim and once to check. Only topics count on which all runs have a value. Sizes None:
    five up to half of the topics.
    """
    table = np.asarray(values, np.float64)
    _check_table(table, pairs)
    whole = ~np.isnan(table).any(axis=0)
    kept = table[:, whole]
    topics = kept.shape[1]
    if topics < 2:
        raise DataError(
            f"{topics} of {table.shape[1]} topics have a value for every run; two sets need at least 2"
        )
    chosen = _sizes(sizes, topics // 2)
    bounds = np.asarray(required, np.float64)
    if not len(bounds) or bounds[0] < 0 or not np.all(np.diff(bounds) > 0) or not np.isfinite(bounds[-1]):
        raise DataError(f"required differences {list(required)}: expected ascending numbers of 0 or more")
    if splits < 1:
        raise DataError(f"{splits} splits: expected at least 1, better 100")
    claims, errors = np.zeros((2, len(chosen), len(bounds)), np.int64)
    decimals = grid_decimals(table)
    for _ in range(splits):
        means = _prefix_means(kept, rng.permutation(topics), chosen)
        gaps = np.round(means[:, :, pairs[:, 0]] - means[:, :, pairs[:, 1]], decimals)
        opposite = gaps[0] * gaps[1] < 0
        for half in np.abs(gaps):
            for place, (row, wrong) in enumerate(zip(half, opposite, strict=True)):
                claims[place] += _reaching(row[row > 0], bounds)
                errors[place] += _reaching(row[wrong], bounds)
    return SwapRates(
        sizes=chosen, required=bounds, compared=2 * splits * len(pairs), claims=claims, errors=errors,
        topics=topics, dropped=table.shape[1] - topics, splits=splits,
    )  # fmt: skip


def extrapolate(swaps: SwapRates, topics: Sequence[int]) -> Extrapolation:
    """Extrapolate error rates to larger sets of topics by an exponential for each difference.

    Least squares, each size weighted by its claims. The fit does not rise with the number of topics.
    """
    beyond = np.asarray(topics, np.int64)
    largest = int(swaps.sizes[-1])
    if not len(beyond) or beyond.min() <= largest:
        raise DataError(f"topics {list(topics)}: expected more than the {largest} whose error rate is known")
    rates = swaps.error_rate
    scale, decay = _fits(swaps.sizes, rates, swaps.claims)
    held_scale, held_decay = _fits(swaps.sizes[:-1], rates[:-1], swaps.claims[:-1])
    return Extrapolation(
        topics=beyond, required=swaps.required,
        error_rate=scale * np.exp(-decay * beyond[:, np.newaxis]), scale=scale, decay=decay,
        shortfall=rates[-1] - held_scale * np.exp(-held_decay * largest),
        fitted=(int(swaps.sizes[0]), largest),
    )  # fmt: skip


def _fits(sizes: NDArray[np.int64], rates: Floats, claims: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """(difference,) each: Return scale and decay; NaN if there is too little to fit."""
    fits = [_fit(sizes[seen > 0], rate[seen > 0], seen) for rate, seen in zip(rates.T, claims.T, strict=True)]
    scale, decay = np.array(fits).T
    return scale, decay


def _fit(sizes: NDArray[np.int64], rate: Floats, claims: NDArray[np.int64]) -> tuple[float, float]:
    from scipy.optimize import least_squares

    if len(sizes) < LEAST_FITTED:
        return np.nan, np.nan
    weight = np.sqrt(claims[claims > 0] / claims.sum())

    def misfits(parameters: Floats) -> Floats:
        return np.asarray(weight * (parameters[0] * np.exp(-parameters[1] * sizes) - rate), np.float64)

    start = np.array([max(rate[0], 0.01), 1 / sizes[-1]])
    fit = least_squares(misfits, start, bounds=((0, 0), (1, np.inf)), x_scale=start)
    return float(fit.x[0]), float(fit.x[1])


def _prefix_means(values: Floats, order: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    """(half, size, run): Return the means of the first topics of each half."""
    half = len(order) // 2
    totals = np.cumsum(values[:, order[: 2 * half]].reshape(len(values), 2, half), axis=2)
    return (totals[:, :, sizes - 1] / sizes).transpose(1, 2, 0)


def _reaching(gaps: Floats, bounds: Floats) -> NDArray[np.int64]:
    """(difference,): Count the gaps that are at least as large as each bound."""
    ordered = np.sort(gaps)
    return len(ordered) - np.searchsorted(ordered, bounds, side="left")


def _sizes(asked: Sequence[int] | None, half: int) -> NDArray[np.int64]:
    if asked is None:
        return np.unique(np.linspace(half / SIZES, half, SIZES).round().clip(1).astype(np.int64))
    sizes = np.unique(np.asarray(asked, np.int64))
    if not len(sizes) or sizes[0] < 1 or sizes[-1] > half:
        raise DataError(f"sizes {list(asked)}: expected from 1 to {half}, half of the topics")
    return sizes


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Floats:
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


def _level(alpha: float, comparisons: int, target: float) -> float:
    """Check the numbers and return the level of each comparison."""
    if not 0 < alpha < 1:
        raise DataError(f"alpha {alpha}: expected a number between 0 and 1, such as 0.05")
    if comparisons < 1:
        raise DataError(f"{comparisons} comparisons: expected at least 1")
    if not 0.5 <= target < 1:
        raise DataError(f"power {target}: expected a number from 0.5 to below 1, such as 0.8")
    return alpha / comparisons


def _check_table(values: Floats, pairs: Pairs) -> None:
    if values.ndim != 2:
        raise DataError(f"values of shape {values.shape}: expected one row per run and one column per topic")
    if not len(pairs):
        raise DataError("no pairs to plan for: give at least two runs")
