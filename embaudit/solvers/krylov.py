"""Block Krylov iteration for the leading eigenvectors of a large positive semidefinite operator.

A basis of `Q, GQ, G²Q, …` grows by a block a step. G projected onto it is a small matrix, whose eigenvalues (Ritz
values) approach the largest ones of G. A run ends where they have converged or the basis is full; svd.py then starts
another one from what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from embaudit.core.checked import Floats

BASIS_BYTES = 256 * 2**20
"""Memory for one basis."""
MAX_COLUMNS = 1_000
"""Number of basis vectors beyond which a restart is cheaper than going on."""
MIN_EXPANSION = 4
"""A basis holds so many times the vectors wanted, whatever the memory."""
CHECK_FROM = 2.5
"""Convergence is looked for from so many times the vectors wanted,"""
CHECK_GROWTH = 1.05
"""and then each time the basis has grown by this factor: a look costs the cube of its size."""


def orthonormal(block: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns (completed where they are dependent), by Householder QR."""
    return np.asarray(scipy.linalg.qr(block, mode="economic", check_finite=False)[0])


def value_errors(values: NDArray[Any], residuals: NDArray[Any], k: int) -> Floats:
    """Estimate the relative error of the square roots of the first `k` Ritz values.

    An eigenvalue lies within the residual r of each Ritz value θ, and within r²/gap where the rest of the
    spectrum is farther away; the gap is taken to the last Ritz value of the block.

    Examples
    --------
    >>> value_errors(np.array([4.0, 1.0, 0.5]), np.array([1e-3, 1e-3, 0.1]), 2)
    array([3.57142857e-08, 1.00000000e-06])
    """
    theta, r = values[:k].astype(np.float64), residuals[:k].astype(np.float64)
    # Divided by 2θ: the relative error of √θ is half that of θ.
    gap = theta - values[-1]
    quadratic = np.divide(r * r, gap, out=np.full(k, np.inf), where=gap > 0)
    error = np.minimum(r, quadratic)
    return np.asarray(np.divide(error, 2 * theta, out=np.full(k, np.inf), where=theta > 0))


@dataclass(eq=False)
class _Subspace:
    """A growing orthonormal basis, one vector a row, and the operator projected onto it."""

    rows: NDArray[Any]
    projected: Floats
    size: int = 0

    def append(self, block: NDArray[Any], image: NDArray[Any]) -> NDArray[Any]:
        """Take in a block and its image; return the part of the image that is orthogonal to all so far."""
        old, self.size = self.size, self.size + block.shape[1]
        self.rows[old : self.size] = block.T
        basis = self.rows[: self.size]
        # ⟨basis, G · block⟩ is the new column of the projected operator, and by symmetry its new row.
        column = basis @ image
        rest: NDArray[Any] = image - basis.T @ column
        # Orthogonalised twice ("twice is enough", Kahan and Parlett): after once the rest keeps rounding errors along
        # vectors that have converged, and grows them into copies of eigenvalues that were there before.
        rest -= basis.T @ (basis @ rest)
        self.projected[: self.size, old : self.size] = column
        self.projected[old : self.size, : self.size] = column.T
        return rest

    def fresh(self, block: NDArray[Any]) -> NDArray[Any]:
        """Make a block orthogonal to the basis, to the last digit, and cut it to the room that is left.

        Where the image lies in the basis already, the block is but rounding: it has to be cleaned after it was scaled.
        """
        room = len(self.rows) - self.size
        if room == 0:
            return block[:, :0]
        basis = self.rows[: self.size]
        return orthonormal(block - basis.T @ (basis @ block))[:, :room]

    def ritz(self) -> tuple[Floats, Floats]:
        """Return Ritz values, largest first, and the coordinates of their vectors."""
        values, vectors = np.linalg.eigh(self.projected[: self.size, : self.size])
        return values[::-1], vectors[:, ::-1]

    def vectors(self, coordinates: Floats) -> NDArray[Any]:
        return np.asarray(self.rows[: self.size].T @ coordinates.astype(self.rows.dtype))


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
        Stop when `value_errors` of the first k are below, or when the memory for the basis is used up.

    Returns
    -------
    array of shape (m, n_vectors)
        Ritz vectors, best first, orthonormal to working precision.

    References
    ----------
    Golub & Underwood, "The block Lanczos method for computing eigenvalues", 1977.

    Examples
    --------
    >>> g = np.diag([9.0, 4.0, 1.0, 0.0])
    >>> found = block_krylov(lambda v: g @ v, np.ones((4, 1)) + np.eye(4)[:, :1], 2, 1, tolerance=1e-12)
    >>> np.abs(found[:, 0]).round(6)
    array([1., 0., 0., 0.])
    """
    length, width = start.shape
    # As many basis vectors as the memory holds, but room for a few times those wanted.
    within_budget = BASIS_BYTES // (length * start.dtype.itemsize)
    wanted = min(length, max(MIN_EXPANSION * n_vectors, min(within_budget, MAX_COLUMNS)))
    capacity = max(wanted, width, n_vectors)
    space = _Subspace(np.empty((capacity, length), start.dtype), np.zeros((capacity, capacity)))
    block, next_look = orthonormal(start), CHECK_FROM * n_vectors
    while True:
        rest = space.append(block, multiply(np.ascontiguousarray(block)))
        newest = block.shape[1]
        # G · newest = basis · projected + block · coupling, so a Ritz vector's residual is coupling times its last
        # coordinates. QR splits what is left of the image into the next block and that coupling.
        block, coupling = scipy.linalg.qr(rest, mode="economic", check_finite=False)
        block = space.fresh(block)
        full = block.shape[1] == 0
        if not full and space.size < next_look:
            continue
        # The projected problem costs the cube of its size: it is solved again only after some growth.
        next_look = CHECK_GROWTH * space.size
        values, coordinates = space.ritz()
        residuals = np.linalg.norm(coupling @ coordinates[-newest:, :n_vectors], axis=0)
        if full or value_errors(values[:n_vectors], residuals, k).max() <= tolerance:
            return space.vectors(coordinates[:, :n_vectors])
