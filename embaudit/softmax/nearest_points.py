"""The point of a convex hull that is nearest to the origin: an input that parts the origin from the whole hull.

With d_l the corners and p the nearest point, `d_l·p >= p·p` for all of them; p is 0 where the origin lies inside, and
the weights that mix it are the proof.

Source: Lawson & Hanson, "Solving Least Squares Problems", 1974, ch. 23 (least distances by NNLS), here with weights of
sum 1.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Vector


def nearest_point(corners: Floats) -> tuple[Floats, Vector]:
    """Find the point of a hull nearest to the origin, and the weights of the corners that mix it.

    Weights in proportion solve `min ‖Σ λ_l d_l‖² + s² (1 − Σ λ_l)²  such that  λ >= 0`, whatever s: for a given mixture
    the sum that is best leaves `s² ‖p‖² / (s² + ‖p‖²)`, which grows with `‖p‖`.

    Parameters
    ----------
    corners : array of shape (c, r)
        What spans the hull.

    Returns
    -------
    point : array of shape (r,)
        p, the shortest corner where the solver gives up.
    weights : array of shape (c,)
        Not negative, of sum 1; 0 for corners that p does not need.

    Examples
    --------
    >>> point, weights = nearest_point(np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]]))
    >>> point.round(12) + 0.0, weights.round(12)
    (array([1., 0.]), array([0.5, 0.5, 0. ]))
    """
    from scipy.optimize import nnls

    lengths = np.linalg.norm(corners, axis=1)
    size = float(lengths.max()) or 1.0
    # Of fewer corners than dimensions a triangle tells as much, in less time.
    columns = corners.T if len(corners) > corners.shape[1] else np.linalg.qr(corners.T, mode="r")
    try:
        weights, _ = nnls(np.vstack([columns, np.full(len(corners), size)]), np.append(np.zeros(len(columns)), size))
    except RuntimeError:
        weights = (np.arange(len(corners)) == np.argmin(lengths)).astype(float)
    # Weights in proportion: the least-squares sum is below 1 by what `‖p‖` adds to the residual.
    weights /= weights.sum()
    return weights @ corners, weights
