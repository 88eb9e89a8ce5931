"""Leading eigenvectors of a large symmetric operator by block Krylov iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from embaudit.core.checked import Floats

BASIS_BYTES = 256 * 2**20
"""Memory of the basis (256 MiB), unless `MIN_EXPANSION` asks for more."""
MAX_COLUMNS = 1_000
"""Largest number of basis vectors, unless `MIN_EXPANSION` asks for more."""
MIN_EXPANSION = 4
"""The basis has room for at least so many times the wanted vectors."""
FIRST_CHECK = 2.5
"""Convergence is first checked when the basis has so many times the wanted vectors."""
CHECK_GROWTH = 1.05
"""Growth of the basis between two checks. A check costs the cube of its size."""


def orthonormal(block: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns; dependent columns are replaced."""
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def value_errors(values: NDArray[Any], residuals: NDArray[Any], k: int) -> Floats:
    """Estimate the relative error of the square roots of the first `k` Ritz values.

    An eigenvalue lies within the residual r of each Ritz value θ, and within r²/gap if
    all other eigenvalues are farther away than the gap. The gap is taken to the last
    Ritz value. The relative error of √θ is half that of θ.

    Parameters
    ----------
    values : array of shape (b,)
        Ritz values θ in descending order.
    residuals : array of shape (b,)
        `‖G v − θ v‖` of each Ritz vector.
    k : int
        At most b.

    Examples
    --------
    >>> value_errors(np.array([4.0, 1.0, 0.5]), np.array([1e-3, 1e-3, 0.1]), 2)
    array([3.57142857e-08, 1.00000000e-06])
    """
    theta = np.asarray(values[:k], dtype=np.float64)
    r = np.asarray(residuals[:k], dtype=np.float64)
    gap = theta - values[-1]
    quadratic = np.full(k, np.inf)
    np.divide(r * r, gap, out=quadratic, where=gap > 0)
    errors = np.full(k, np.inf)
    np.divide(np.minimum(r, quadratic), 2 * theta, out=errors, where=theta > 0)
    return errors


def block_krylov(
    multiply: Callable[[NDArray[Any]], NDArray[Any]],
    start: NDArray[Any],
    n_vectors: int,
    k: int,
    *,
    tolerance: float,
) -> NDArray[Any]:
    """Find the leading eigenvectors of `G` in the span of `Q, G Q, G² Q, …`.

    An orthonormal basis V of that span grows by one block per step. The eigenvalues of
    the small matrix `Vᵀ G V` (Ritz values) approach the largest eigenvalues of G.

    Parameters
    ----------
    multiply : callable
        `Q -> G Q` for a symmetric matrix G of size m × m.
    start : array of shape (m, b)
        Block Q of full rank. All steps are computed in its precision.
    n_vectors : int
        Number of Ritz vectors to return, at least k. Those beyond k guard the gap.
    k : int
        Number of Ritz vectors that have to converge.
    tolerance : float
        Stop if `value_errors` of the first k are at most this, apart from values that
        are zero within rounding, or if the basis is full.

    Returns
    -------
    array of shape (m, n_vectors)
        Ritz vectors in descending order of their values, orthonormal to rounding.

    References
    ----------
    Golub & Underwood, "The block Lanczos method for computing eigenvalues", 1977.

    Examples
    --------
    >>> g, start = np.diag([9.0, 4.0, 1.0, 0.0]), np.array([[2.0], [1.0], [1.0], [1.0]])
    >>> found = block_krylov(lambda q: g @ q, start, 2, 1, tolerance=1e-12)
    >>> np.abs(found[:, 0]).round(6)
    array([1., 0., 0., 0.])
    """
    m, width = start.shape
    capacity = _capacity(m, width, n_vectors, start.dtype.itemsize)
    basis = np.empty((m, capacity), dtype=start.dtype, order="F")
    projected = np.zeros((capacity, capacity))
    size = 0
    next_check = FIRST_CHECK * n_vectors
    block = orthonormal(start)
    while True:
        first = size
        size += block.shape[1]
        basis[:, first:size] = block
        V = basis[:, :size]
        image = multiply(np.ascontiguousarray(block))
        # The new columns of Vᵀ G V, and its new rows by symmetry.
        coefficients = V.T @ image
        projected[:size, first:size] = coefficients
        projected[first:size, :size] = coefficients.T
        # G block = V coefficients + block_next coupling, which gives the residual of a
        # Ritz vector V z without another product: ‖coupling z_last‖.
        outside = image - V @ coefficients
        block, coupling = scipy.linalg.qr(outside, mode="economic", check_finite=False)
        # The part outside of the basis can be so small that rounding dominates its
        # direction. So it is made orthogonal to the basis again once it has unit length
        # ("twice is enough": Parlett, The Symmetric Eigenvalue Problem, 1980).
        room = capacity - size
        block = orthonormal(block - V @ (V.T @ block))[:, :room]
        if room > 0 and size < next_check:
            continue
        next_check = CHECK_GROWTH * size
        values, vectors = np.linalg.eigh(projected[:size, :size])
        values, vectors = values[::-1], vectors[:, ::-1]
        leading = vectors[:, :n_vectors]
        residuals = np.linalg.norm(coupling @ leading[first:], axis=0)
        errors = value_errors(values[:n_vectors], residuals, k)
        # A value below the rounding of the largest one has no digits to converge.
        is_rounding = values[:k] <= np.finfo(start.dtype).eps * values[0]
        if room == 0 or np.all((errors <= tolerance) | is_rounding):
            return np.asarray(V @ leading.astype(start.dtype))


def _capacity(m: int, width: int, n_vectors: int, itemsize: int) -> int:
    """Return the number of basis vectors of m entries for which there is room.

    It is what fits into memory, but at least four times the wanted vectors and one
    block, and at most m unless the block is wider.
    """
    affordable = min(BASIS_BYTES // (m * itemsize), MAX_COLUMNS)
    wanted = max(MIN_EXPANSION * n_vectors, affordable)
    return max(min(m, wanted), width, n_vectors)
