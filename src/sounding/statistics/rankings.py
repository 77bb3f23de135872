"""How far two orderings of the same systems agree: tau, tau_ap, Spearman, Pearson, RMSE, RBO.

Importing a family registers its coefficients; `agreement_matrix` compares whole sets of orderings at once.
"""

from sounding.statistics.rank_correlation import (
    Agreement,
    Coefficient,
    MostPlaces,
    agreement_matrix,
    coefficients,
    find_coefficient,
    kendall_tau,
    most_places,
    pearson,
    rank_agreement,
    rmse,
    spearman,
    swaps,
    tau_ap,
)
from sounding.statistics.rank_overlap import RankBiasedOverlap, rbo, rbo_of_values

__all__ = [
    "Agreement",
    "Coefficient",
    "MostPlaces",
    "RankBiasedOverlap",
    "agreement_matrix",
    "coefficients",
    "find_coefficient",
    "kendall_tau",
    "most_places",
    "pearson",
    "rank_agreement",
    "rbo",
    "rbo_of_values",
    "rmse",
    "spearman",
    "swaps",
    "tau_ap",
]
