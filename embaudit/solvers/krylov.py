"""Block Krylov iteration for the leading eigenvectors of a large positive semidefinite operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MAX_STEPS = 40
"""Blocks of one expansion; more are a restart from the best vectors so far."""


def orthonormal(block: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns (completed where they are dependent), by Householder QR."""
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def value_errors(values: NDArray[Any], residuals: NDArray[Any], k: int) -> NDArray[np.float64]:
    """Estimate the relative error of the square roots of the first `k` Ritz values.

    An eigenvalue lies within the residual r of each Ritz value θ, and within r²/gap where the rest of the
    spectrum is farther away; the gap is taken to the last Ritz value of the block.

    Examples
    --------
    >>> value_errors(np.array([4.0, 1.0, 0.5]), np.array([1e-3, 1e-3, 0.1]), 2)
    array([3.57142857e-08, 1.00000000e-06])
    """
    theta, r = values[:k].astype(np.float64), residuals[:k].astype(np.float64)
    gap = theta - values[-1]
    quadratic = np.divide(r * r, gap, out=np.full(k, np.inf), where=gap > 0)
    error = np.minimum(r, quadratic)
    return np.asarray(np.divide(error, 2 * theta, out=np.full(k, np.inf), where=theta > 0))


def block_krylov(
    multiply: Callable[[NDArray[Any]], NDArray[Any]],
    start: NDArray[Any],
    n_vectors: int,
    k: int,
    *,
    tolerance: float,
) -> NDArray[Any]:
    """Find the leading eigenvectors of `G` in the span of `Q, GQ, G²Q, …`, in the precision of `start`.

    Parameters
    ----------
    multiply : callable
        `V -> G V`.
    start : array of shape (m, b)
        Any full-rank block.
    n_vectors : int
        How many Ritz vectors to return, at least k: those beyond k guard the gap.
    k : int
        How many have to converge.
    tolerance : float
        Stop when `value_errors` of the first k are below.

    Returns
    -------
    array of shape (m, n_vectors)
        Ritz vectors, best first, orthonormal to working precision.

    Notes
    -----
    Every new block is orthogonalised twice against all former ones, so that values do not come back as ghosts.

    References
    ----------
    Golub & Underwood, "The block Lanczos method for computing eigenvalues", 1977.
    """
    block = orthonormal(start)
    basis = block
    width = block.shape[1]
    projected = np.zeros((0, 0))
    while True:
        image = multiply(block)
        column = basis.T @ image
        image = image - basis @ column
        image -= basis @ (basis.T @ image)
        projected = _bordered(projected, column.astype(np.float64))
        values, vectors = np.linalg.eigh(projected)
        values, vectors = values[::-1], vectors[:, ::-1]
        following, coupling = scipy.linalg.qr(image, mode="economic", check_finite=False)
        residuals = np.linalg.norm(coupling @ vectors[-width:, : min(n_vectors, len(values))], axis=0)
        full = basis.shape[1] + width > len(basis) or basis.shape[1] >= MAX_STEPS * width
        enough = len(values) >= n_vectors and len(values) >= 2 * width
        if full or (enough and value_errors(values[:n_vectors], residuals, k).max() <= tolerance):
            return np.asarray(basis @ vectors[:, :n_vectors].astype(basis.dtype))
        block = following
        basis = np.hstack([basis, block])


def _bordered(projected: NDArray[Any], column: NDArray[Any]) -> NDArray[Any]:
    """Append the projection of a new block to the symmetric matrix of the former ones."""
    old = len(projected)
    size = len(column)
    grown = np.zeros((size, size))
    grown[:old, :old] = projected
    grown[:, old:] = column
    grown[old:, :old] = column[:old].T
    grown[old:, old:] = (column[old:] + column[old:].T) / 2
    return grown
