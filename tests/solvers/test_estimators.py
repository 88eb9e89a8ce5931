"""Both estimators keep scikit-learn's whole contract."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF


@parametrize_with_checks(
    [
        ProductPenaltyMF(n_components=2),
        ProductPenaltyMF(n_components=1),
        FactorPenaltyMF(n_components=2),
        FactorPenaltyMF(n_components=1),
    ]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)
