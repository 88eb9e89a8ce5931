"""The mean row that centring subtracts."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.model.factor_model import FactorModel
from embaudit.model.side import SideName


def centre_of(model: FactorModel, role: SideName) -> Floats:
    """Return the mean row of a side, for centring.

    A zero row belongs to an entity about which nothing was learned, such as an item
    without interactions. It has no cosine, so it does not count. A softmax head is the
    exception: the label of reference can have a zero row, which counts like any other.

    Returns
    -------
    array of shape (k,)
        Zeros if no row counts.

    Examples
    --------
    >>> rows = [[2.0, 1.0], [4.0, 1.0], [0.0, 0.0]]
    >>> centre_of(FactorModel.from_vectors(rows), "right")
    array([3., 1.])
    >>> centre_of(FactorModel.from_softmax(rows), "right").round(3)
    array([2.   , 0.667])
    """
    side = model.side(role)
    n_rows = len(side.directed)
    if model.link.name == "softmax":
        n_rows = len(side)
    # Zero rows add nothing to the sum. The sum of very many float32 rows would lose
    # digits in float32.
    total = np.sum(side.rows, axis=0, dtype=np.float64)
    return np.asarray(total / max(1, n_rows))
