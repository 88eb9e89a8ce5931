"""Both estimators keep scikit-learn's whole contract."""

from __future__ import annotations

import os
import subprocess
import sys
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


ALL_CHECKS = """
from sklearn.utils.estimator_checks import check_estimator
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF
for estimator in (ProductPenaltyMF(n_components=2), FactorPenaltyMF(n_components=2)):
    results = check_estimator(estimator, on_skip=None)
    assert len(results) > 40
    assert {result["status"] for result in results} == {"passed"}, results
"""


def test_scikit_learn_contract_without_a_skip() -> None:
    # One check runs only where scipy was imported with this variable set, hence another process.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL_CHECKS], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
