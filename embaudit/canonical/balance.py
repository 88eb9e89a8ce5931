"""Balance: the factors that weight decay on both sides leaves at a stationary point.

With the penalty `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²` the factors may still be changed by
any M while the scores stay; at a stationary point no such change lowers the penalty,
hence `Pᵀ diag(w) P = Qᵀ diag(w) Q`. Equal decay has weights 1; decay at every rating
(ALS-WR, Spark ALS, SGD by samples) has the number of ratings of each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Matrix
from embaudit.linalg.rows import triangular_factor
from embaudit.model import FactorModel, SideName

BALANCED = 1.1
"""Condition number of the gauge to the balanced model up to which factors count as
balanced."""


RESOLVED = np.sqrt(np.finfo(np.float64).eps)
"""Singular value of the scores, relative to the largest, below which a direction
carries nothing to balance."""


@dataclass(frozen=True, eq=False)
class Balance:
    """The gauge from a model to its balanced form.

    Examples
    --------
    >>> Balance({"left": np.diag([1.0, 2.0**-60])}).condition_number
    1.152921504606847e+18
    >>> Balance({"left": np.eye(2, 1)}).condition_number
    1.0
    >>> Balance({"left": np.diag([1.0, 0.0])}).condition_number
    inf
    """

    linear: dict[SideName, Floats]
    """(k, r) for each side: balanced rows are `x @ linear`, in the directions that both
    sides see."""

    @property
    def condition_number(self) -> float:
        """Largest over smallest stretch.

        It is 1 if the model is balanced, and infinite if the smallest stretch is 0.
        """
        return float(np.linalg.cond(self.linear["left"]))


def balance(left_root: Matrix, right_root: Matrix) -> Balance:
    """Balance two sides whose Gram matrices are `RᵀR`.

    With `R_P R_Qᵀ = u s vᵀ` the maps are `M = R_Qᵀ v s^-½` and `N = R_Pᵀ u s^-½`: then
    `Mᵀ N = 1`, so that scores stay, and both Gram matrices `Mᵀ R_Pᵀ R_P M` and `Nᵀ R_Qᵀ
    R_Q N` are s.

    R is (m, k) on each side; directions that not both sides see are left out.

    Examples
    --------
    >>> round(balance(np.diag([2.0, 1.0]), np.diag([2.0, 4.0])).condition_number, 9)
    2.0
    """
    # The singular values of the scores, from k×k roots (THEORY section 6); both
    # balanced Gram matrices become diag(s).
    u, s, vt = np.linalg.svd(left_root @ right_root.T)
    rank = int(np.sum(s > RESOLVED * s[0]))
    scale = np.sqrt(s[:rank])
    return Balance(
        {
            "left": right_root.T @ vt[:rank].T / scale,
            "right": left_root.T @ u[:, :rank] / scale,
        }
    )


def balanced_maps(model: FactorModel, *, counted: bool = False) -> Balance | None:
    """Compute the gauge to the balanced form of a model.

    If `counted`, every row is weighted by its number of interactions.

    None where the scores vanish, where lengths of rows take no part in the predictions,
    or where counts are asked for and those of a side are not known.

    Examples
    --------
    >>> known = {"user_counts": [4, 1], "item_counts": [1, 1]}
    >>> users, items = np.diag([1.0, 2.0]), np.diag([2.0, 2.0])
    >>> model = FactorModel.from_user_item(users, items, **known)
    >>> round(balanced_maps(model, counted=True).condition_number, 9)
    1.0
    >>> balanced_maps(model.replace(left_counts=None), counted=True) is None
    True
    """
    left, right = model.side("left"), model.side("right")
    if model.link.unit_sides or (
        counted and (left.counts is None or right.counts is None)
    ):
        return None
    weights = (left.counts, right.counts) if counted else (None, None)
    roots = [
        triangular_factor(side.rows, weight)
        for side, weight in zip((left, right), weights, strict=True)
    ]
    return balance(*roots) if np.any(roots[0] @ roots[1].T) else None
