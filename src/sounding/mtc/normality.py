"""Whether differences between two runs are normally distributed over completions of the judgments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.ranking import Values


@dataclass(frozen=True, slots=True, eq=False)
class Normality:
    """Differences in many completions, and how far they are from a normal distribution."""

    standardised: Values  # (draw,) less their mean, over their deviation; ascending
    mean: float
    deviation: float
    statistic: float  # Anderson and Darling's, both parameters estimated
    p: float  # Stephens's approximation


def normality(differences: Values) -> Normality | None:
    """The Anderson-Darling test that differences (draw,) are normal; None: they do not vary."""
    from scipy.special import log_ndtr

    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if not deviation > 1e-12 * max(1.0, abs(mean)):
        return None
    ordered = np.sort((differences - mean) / deviation)
    number = len(ordered)
    weight = 2 * np.arange(1, number + 1) - 1
    statistic = float(-number - (weight * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))).sum() / number)
    return Normality(ordered, mean, deviation, statistic, _p(statistic, number))


def _p(statistic: float, number: int) -> float:
    """The chance of a statistic this large where all is normal (D'Agostino & Stephens 1986, table 4.9)."""
    a = statistic * (1 + 0.75 / number + 2.25 / number**2)
    if a < 0.2:
        return float(1 - np.exp(-13.436 + 101.14 * a - 223.73 * a**2))
    if a < 0.34:
        return float(1 - np.exp(-8.318 + 42.796 * a - 59.938 * a**2))
    if a < 0.6:
        return float(np.exp(0.9177 - 4.279 * a - 1.38 * a**2))
    return float(np.exp(1.2937 - 5.709 * a + 0.0186 * a**2)) if a < 10 else 0.0
