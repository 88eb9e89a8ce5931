"""Balance: what decay on both sides leaves at every stationary point, and how far a model is from it.

With the penalty `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²` the factors may still be changed by any M while the scores stay; at
a stationary point no such change lowers the penalty, hence `Pᵀ diag(w) P = Qᵀ diag(w) Q`. Equal decay has weights 1;
decay at every rating (ALS-WR, Spark ALS, SGD by samples) has the number of ratings of each row.
"""

from __future__ import annotations

import numpy as np

from embaudit.foundation.checked import Matrix
from embaudit.kernels.rows import triangular_factor
from embaudit.model import FactorModel

BALANCED = 1.1
"""Condition number of the gauge to the balanced model up to which factors count as balanced."""


def balance_condition(left_root: Matrix, right_root: Matrix, rank: int) -> float:
    """Compute κ of the gauge that balances two sides whose Gram matrices are `RᵀR`.

    The gauge M with `Mᵀ G_P M = M⁻¹ G_Q M⁻ᵀ` is `R_Qᵀ v s^-½`, from the singular values of `R_P R_Qᵀ = u s vᵀ`.

    R is (m, k) on each side; directions beyond `rank`, which not both sides see, are left out.

    Examples
    --------
    >>> round(balance_condition(np.diag([2.0, 1.0]), np.diag([2.0, 4.0]), 2), 9)
    2.0
    """
    _, s, vt = np.linalg.svd(left_root @ right_root.T)
    scales = np.linalg.svd(right_root.T @ vt[:rank].T / np.sqrt(s[:rank]), compute_uv=False)
    return float(scales[0] / scales[-1])


def counted_balance(model: FactorModel, rank: int) -> float | None:
    """Compute κ between a model and its balance with every row weighted by its number of interactions.

    Returns
    -------
    float or None
        1 for a converged ALS-WR; None where the counts of a side are not known, where the rows that have interactions
        do not span what the predictions see, and where lengths of rows take no part in the predictions.

    Examples
    --------
    >>> known = {"user_counts": [4, 1], "item_counts": [1, 1]}
    >>> model = FactorModel.from_user_item([[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 2.0]], **known)
    >>> counted_balance(model, 2), counted_balance(model.replace(left_counts=None), 2)
    (1.0, None)
    """
    left, right = model.side("left"), model.side("right")
    if left.counts is None or right.counts is None or model.link.unit_sides:
        return None
    roots = triangular_factor(left.rows, left.counts), triangular_factor(right.rows, right.counts)
    s = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False)
    seen = len(s) >= rank and s[rank - 1] > 64 * rank * np.finfo(np.float64).eps * s[0]
    return balance_condition(*roots, rank) if seen else None
