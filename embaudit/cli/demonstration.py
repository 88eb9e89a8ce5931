"""The Netflix paper's argument on simulated data: under one objective cosines are free, under the other chosen.

Penalties and rank are those of the paper's simulation (its section 4); that nobody takes more than 40 % of the
catalogue, and how other sizes scale the penalties, are choices of this project.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.auditing import Audit, audit
from embaudit.core.progress import track
from embaudit.errors import must_be
from embaudit.simulate import simulate_interactions
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

PAPER_USERS, PAPER_ITEMS = 20_000, 1_000
RANK = 50
PRODUCT_ALPHA = 10_000.0
FACTOR_ALPHA = 100.0
SMALLEST = 20
"""Fewer users or items leave no clusters to speak of."""
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
    rank: int
    """Dimensions asked for."""
    product_alpha: float
    """Penalty of Eq. 1."""
    factor_alpha: float
    """Penalty of Eq. 2."""

    @property
    def setting(self) -> str:
        """Rank and penalties in a sentence."""
        size = (self.n_users, self.n_items)
        source = "as in the paper" if size == (PAPER_USERS, PAPER_ITEMS) else "the paper's, scaled to this size"
        penalties = f"{self.product_alpha:.4g} (Eq. 1) and {self.factor_alpha:.4g} (Eq. 2)"
        return f"Rank {self.rank}, penalties {penalties}: {source}."

    @property
    def predictions_hold(self) -> bool:
        """True if every equivalent model predicted the same."""
        return self.product.predictions_hold and self.factors.predictions_hold


def demonstrate(*, n_users: int = 20_000, n_items: int = 1_000, seed: int = 0) -> Demonstration:
    """Simulate, fit both objectives, audit both models.

    Eq. 1 compares its penalty with squared singular values, which grow as the number of interactions does, Eq. 2 with
    singular values: at another size than the paper's they are scaled by `n p / (20000 · 1000)` and its square root.

    Parameters
    ----------
    n_users, n_items : int
        Size of the simulated data, the paper's by default; at least 20 of each. The rank is 50, but at most half
        of either.
    seed : int
        Seed of everything random.

    Raises
    ------
    InputError
        For fewer users or items.

    Examples
    --------
    >>> shown = demonstrate(n_users=120, n_items=24)
    >>> shown.predictions_hold, [finding.code for finding in shown.product.findings]
    (True, ['EMB101'])
    """
    for name, size in (("n_users", n_users), ("n_items", n_items)):
        if size < SMALLEST:
            raise must_be(name, f"a whole number >= {SMALLEST}", size)
    share = n_users * n_items / (PAPER_USERS * PAPER_ITEMS)
    rank = min(RANK, n_users // 2, n_items // 2)
    alphas = PRODUCT_ALPHA * share, FACTOR_ALPHA * share**0.5
    data = simulate_interactions(n_users, n_items, max_items=max(1, round(MAX_SHARE * n_items)), rng=seed)
    names = np.array([f"item {i} (cluster {c})" for i, c in enumerate(data.clusters)])
    estimators = (ProductPenaltyMF(rank, alpha=alphas[0]), FactorPenaltyMF(rank, alpha=alphas[1]))
    models = [estimator.fit(data.matrix).model(data.matrix, item_names=names) for estimator in estimators]
    product, factors = (
        audit(model, roles=["right"], source=f"simulated, {model.objective}", rng=seed)
        for model in track(models, "auditing both objectives", len(models))
    )
    return Demonstration(n_users, n_items, data.matrix.nnz, product, factors, models[1].rank, rank, *alphas)
