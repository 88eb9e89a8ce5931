"""The Netflix paper's argument on simulated data: under one objective cosines are free, under the other chosen.

Penalties and rank are those of the paper's simulation (its section 4); that nobody takes more than 40 % of the
catalogue is a choice of this project.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.auditing import Audit, audit
from embaudit.progress import track
from embaudit.simulate import simulate_interactions
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

RANK = 50
PRODUCT_ALPHA = 10_000.0
FACTOR_ALPHA = 100.0
MAX_SHARE = 0.4


@dataclass(frozen=True)
class Demonstration:
    """Both models of the paper, audited."""

    n_users: int
    n_items: int
    n_interactions: int
    product: Audit
    """Eq. 1: penalty on the product."""
    factors: Audit
    """Eq. 2: penalty on the factors."""
    effective_rank: int
    """Dimensions that Eq. 2 keeps: singular values above its penalty."""

    @property
    def predictions_hold(self) -> bool:
        """Whether every equivalent model predicted the same."""
        return self.product.predictions_hold and self.factors.predictions_hold


def demonstrate(*, n_users: int = 20_000, n_items: int = 1_000, seed: int = 0) -> Demonstration:
    """Simulate, fit both objectives, audit both models.

    Parameters
    ----------
    n_users, n_items : int
        Size of the simulated data, the paper's by default; at least 51 of each.
    seed : int
        Seed of everything random.

    Examples
    --------
    >>> shown = demonstrate(n_users=2000, n_items=100)
    >>> shown.predictions_hold, [finding.code for finding in shown.product.findings]
    (True, ['EMB101'])
    """
    data = simulate_interactions(n_users, n_items, max_items=max(1, round(MAX_SHARE * n_items)), rng=seed)
    names = np.array([f"item {i} (cluster {c})" for i, c in enumerate(data.clusters)])
    estimators = (ProductPenaltyMF(RANK, alpha=PRODUCT_ALPHA), FactorPenaltyMF(RANK, alpha=FACTOR_ALPHA))
    models = [estimator.fit(data.matrix).model(data.matrix, item_names=names) for estimator in estimators]
    product, factors = (
        audit(model, roles=["right"], source=f"simulated, {model.objective}", rng=seed)
        for model in track(models, "objectives", len(models))
    )
    return Demonstration(n_users, n_items, data.matrix.nnz, product, factors, models[1].rank)
