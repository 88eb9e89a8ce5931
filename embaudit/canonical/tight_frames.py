"""Unit rows of both sides as tight frames, for which predictions pin every cosine.

Let P = X Yᵀ be the cosines of unit rows in r dimensions, with weights w, v ≥ 0 such
that `Σ wᵢ xᵢ xᵢᵀ = I` and `Σ vⱼ yⱼ yⱼᵀ = I`. Then `W^½ P V^½ = (W^½ X)(V^½ Y)ᵀ` is a
product of orthonormal columns, whose nuclear norm is r. In any other model X′ Y′ᵀ = P
of unit rows, of whatever width, `½ (‖W^½ X′‖² + ‖V^½ Y′‖²) = ½ (Σ w + Σ v) = r` attains
that norm too, and the balanced factors that attain it are unique up to a rotation. So
X′ and Y′ have the cosines of X and Y. A row without weight is fixed by its cosines with
the rows of the other side, which span everything.

A softmax over the right rows hides a number per left row: `X′ Y′ᵀ = P + a 1ᵀ`. If in
addition `Σ vⱼ yⱼ = 0`, the inner product of `W^½ (P + a 1ᵀ) V^½` and `(W^½ X)(V^½ Y)ᵀ`
is still r, so the same follows, and a = 0.
"""

from __future__ import annotations

import numpy as np

from embaudit.canonical.quadratic_forms import lift, n_forms, pack
from embaudit.core.checked import Floats
from embaudit.core.tolerances import FRAME_RESIDUAL
from embaudit.linalg.rows import unit_rows

LARGEST_FRAME = 300
"""Largest number of entries of a form for which weights are searched (24 dimensions).

The search takes a second or two.
"""
ROWS_PER_FORM = 4
"""Largest number of rows that get weights, per entry of a form."""


def forms_tight_frame(rows: Floats, *, centred: bool = False) -> bool:
    """Return True if weights w ≥ 0 with `Σ wᵢ uᵢ uᵢᵀ = I` of unit rows u were found.

    Parameters
    ----------
    rows : array of shape (n, r)
        Rows of any length. If there are very many, an evenly spaced selection is used.
    centred : bool
        Whether the weights must also satisfy `Σ wᵢ uᵢ = 0`.

    Examples
    --------
    >>> triangle = [[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]]
    >>> forms_tight_frame(np.array(triangle))
    True

    Two axes are a tight frame, and no weights bring their mean to zero.

    >>> forms_tight_frame(np.eye(2)), forms_tight_frame(np.eye(2), centred=True)
    (True, False)

    No weights turn these rows into a tight frame, because all lie near one direction.

    >>> forms_tight_frame(np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.0]]))
    False
    """
    from scipy.optimize import nnls  # loads for long

    r = rows.shape[1]
    if n_forms(r) > LARGEST_FRAME:
        return False
    most = ROWS_PER_FORM * n_forms(r)
    taken = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int))
    units = unit_rows(rows[taken], none=0)
    equations, wanted = lift(units), pack(np.eye(r))
    if centred:
        equations = np.hstack([equations, units])
        wanted = np.append(wanted, np.zeros(r))
    try:
        _, distance = nnls(equations.T, wanted)
    except RuntimeError:
        # The iteration did not converge, so no weights were found.
        return False
    return bool(distance < FRAME_RESIDUAL)
