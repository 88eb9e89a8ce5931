"""Number of dimensions that rows span: proven by the inverse of a triangle, without singular values."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Matrix, Vector


def spans(root: Matrix, inverse: Matrix, size: float, precision: float) -> bool:
    """Check that a root R surely spans all dimensions, beside a mean of a size.

    In Frobenius norms no singular value is larger than `‖R‖`, and none smaller than `1/‖R⁻¹‖`.
    """
    return bool(1 / np.linalg.norm(inverse) > precision * np.hypot(np.linalg.norm(root), size))


def rank_by_inverse(root: Matrix, inverse: Matrix, row: Vector, precision: float) -> int | None:
    """Count the dimensions of the rows of a root and of one more by an inverse; None where its norm leaves it open.

    With T of r columns in the span of the rows of R, `R T = I`, and the part w'' of the row w at right angles to these,
    the inverse of `[w; R]` in the dimensions that both span has the Frobenius norm `√(‖T‖² + (1 + ‖wT‖²)/‖w''‖²)`; and
    the largest singular value of R is at least `‖R‖/√r`.

    Parameters
    ----------
    root : array of shape (m, k)
        R, whose rows after the first r are zero.
    inverse : array of shape (k, r)
        T, by which `spans` holds.
    row : array of shape (k,)
        w.
    precision : float
        What a singular value must exceed, relative to the largest.

    Examples
    --------
    >>> root = np.array([[3.0, 0.0], [0.0, 0.0]])
    >>> [rank_by_inverse(root, np.array([[1 / 3], [0.0]]), np.array([1.0, x]), 1e-9) for x in (1.0, 1e-10, 3.1e-9)]
    [2, 1, None]
    """
    k, r = (int(size) for size in inverse.shape)
    if r == k:
        return k
    along, spread, length = row @ inverse, float(np.linalg.norm(root)), float(np.linalg.norm(row))
    # `w T R` is the part of w within the span of R's rows.
    beyond = float(np.linalg.norm(row - along @ root[:r]))
    # The largest singular value is at least ‖R‖/√r and ‖w‖: a rest below the precision of that adds no dimension.
    if beyond <= precision * max(spread / np.sqrt(r), length):
        return r
    # 1/‖inverse‖ bounds the smallest singular value from below, ‖[w; R]‖ the largest from above.
    least = 1 / np.sqrt(np.square(inverse).sum() + (1 + along @ along) / beyond**2)
    return r + 1 if least > precision * np.hypot(spread, length) else None
