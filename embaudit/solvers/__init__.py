"""The closed-form factorisations of the Netflix paper, and their truncated SVD."""

from embaudit.solvers.factor_penalty import FactorPenaltyMF, factor_objective
from embaudit.solvers.product_penalty import (
    RESCALINGS,
    ProductPenaltyMF,
    product_objective,
)
from embaudit.solvers.svd import TruncatedSVD, truncated_svd

__all__ = [
    "RESCALINGS",
    "FactorPenaltyMF",
    "ProductPenaltyMF",
    "TruncatedSVD",
    "factor_objective",
    "product_objective",
    "truncated_svd",
]
