"""Balance: the factors that weight decay on both sides leaves at a stationary point.

Any gauge M changes the factors and keeps the scores. At a stationary point no gauge
lowers the penalty `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²` to first order, so
`Pᵀ diag(w) P = Qᵀ diag(w) Q`. Equal decay has the weights 1. With decay at every rating
(ALS-WR, Spark ALS, SGD by samples) the weight of a row is its number of ratings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Matrix
from embaudit.core.tolerances import FAINT_DIRECTION
from embaudit.linalg.rows import triangular_factor
from embaudit.model import FactorModel, SideName

BALANCED = 1.1
"""κ of the gauge to the balanced model up to which factors count as balanced."""


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
    `Mᵀ N = I`, so that scores stay, and both Gram matrices `Mᵀ R_Pᵀ R_P M` and `Nᵀ R_Qᵀ
    R_Q N` are s.

    R is (m, k) on each side. Directions that one of the sides lacks are dropped.

    Examples
    --------
    >>> round(balance(np.diag([2.0, 1.0]), np.diag([2.0, 4.0])).condition_number, 9)
    2.0
    """
    u, s, vt = np.linalg.svd(left_root @ right_root.T)
    rank = int(np.sum(s > FAINT_DIRECTION * s[0]))
    scale = np.sqrt(s[:rank])
    left_map = right_root.T @ vt[:rank].T / scale
    right_map = left_root.T @ u[:, :rank] / scale
    return Balance({"left": left_map, "right": right_map})


def balanced_maps(model: FactorModel, *, counted: bool = False) -> Balance | None:
    """Compute the gauge to the balanced form of a model.

    Parameters
    ----------
    model : FactorModel
        With both sides.
    counted : bool
        Weight every row by its number of interactions.

    Returns
    -------
    Balance or None
        None if the scores vanish, if predictions do not depend on the lengths of rows,
        or if `counted` and the counts of a side are not known.

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
    if model.link.unit_sides:
        return None
    left_weights = right_weights = None
    if counted:
        left_weights, right_weights = left.counts, right.counts
        if left_weights is None or right_weights is None:
            return None
    left_root = triangular_factor(left.rows, left_weights)
    right_root = triangular_factor(right.rows, right_weights)
    if not np.any(left_root @ right_root.T):
        return None
    return balance(left_root, right_root)
