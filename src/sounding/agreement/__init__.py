"""How far two orderings of the same systems agree: tau, tau_ap, Spearman, Pearson, RMSE, RBO.

Importing a family registers its coefficients; `agreement_matrix` compares whole sets of orderings at once.
"""

from sounding.agreement.correlation import pearson, rmse, spearman
from sounding.agreement.moves import MostPlaces, most_places, swaps
from sounding.agreement.overlap import RankBiasedOverlap, rbo, rbo_of_values
from sounding.agreement.pairwise import kendall_tau, tau_ap
from sounding.agreement.registry import (
    Agreement,
    Coefficient,
    agreement_matrix,
    coefficients,
    find_coefficient,
    rank_agreement,
)

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
