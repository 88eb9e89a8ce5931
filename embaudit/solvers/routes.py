"""Ways to the leading right singular subspace, each for a size of problem; svd.py chooses and polishes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.passes import in_order
from embaudit.solvers.krylov import block_krylov, orthonormal
from embaudit.solvers.products import Interactions, RowBlocks, is_sparse

OVERSAMPLE = 8
"""Vectors beyond k that guard the gap."""
KRYLOV_WIDTH = 16
"""Columns of a block: one cache line of float32, and a block of 27,000 rows still fits the second-level cache."""
KRYLOV_TOLERANCE = 1e-9
"""Wanted relative error of the singular values."""


def from_smaller_side(blocks: RowBlocks, vectors: NDArray[Any]) -> NDArray[Any]:
    """Turn vectors of the smaller side into right vectors: those of `X Xᵀ` become an orthonormal basis of `Xᵀ U`."""
    n, p = blocks.shape
    return vectors if p <= n else orthonormal(blocks.transposed_times(vectors))


def lapack(X: Interactions, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compute `(σ, V)` by a full dense SVD in float64: exact to rounding, small matrices only."""
    dense = X.toarray() if is_sparse(X) else X
    _, values, right = scipy.linalg.svd(np.asarray(dense, dtype=np.float64), full_matrices=False, check_finite=False)
    return values[:k], right[:k].T


def gram_matrix(X: Interactions) -> Floats:
    """Compute the Gram matrix of the smaller side in float64, streamed."""
    n, p = X.shape
    tall = X if p <= n else X.T.tocsr() if is_sparse(X) else X.T
    m = min(n, p)

    def term(rows: slice) -> NDArray[Any]:
        stored = tall[rows]
        block = stored.toarray() if is_sparse(stored) else stored
        block = np.asarray(block, dtype=np.float64)
        return cast("NDArray[Any]", block.T @ block)

    return in_order(parallel_map(term, row_blocks(max(n, p), m), in_threads=True))


def gram(X: Interactions, k: int) -> NDArray[Any]:
    """Find V from an eigendecomposition of the Gram matrix of the smaller side."""
    matrix = gram_matrix(X)
    m = len(matrix)
    try:
        _, vectors = scipy.linalg.eigh(matrix, subset_by_index=[m - k, m - 1], check_finite=False)
    except np.linalg.LinAlgError:
        # LAPACK can fail to separate a range of eigenvalues that are equal up to rounding.
        vectors = np.linalg.eigh(matrix)[1][:, m - k :]
    return from_smaller_side(RowBlocks.of(X, k), vectors[:, ::-1])


def krylov(X: Interactions, k: int, rng: np.random.Generator, start: NDArray[Any] | None = None) -> NDArray[Any]:
    """Find V by block Krylov iteration: in float32 from a random block, in float64 from a `start` that is close."""
    m = min(X.shape)
    n_vectors = min(k + OVERSAMPLE, m)
    if start is None:
        # Wider blocks for many vectors: each pass over X then serves more of them.
        width = min(m, max(KRYLOV_WIDTH, n_vectors // 8))
        blocks = RowBlocks.of(X, width, np.float32)
        start = rng.standard_normal((m, width), dtype=np.float32)
    else:
        blocks = RowBlocks.of(X, n_vectors)
        # The operator is the Gram matrix of the smaller side; right vectors start it as their images there.
        start = start if X.shape[1] == m else blocks.times(start)
    vectors = block_krylov(blocks.smaller_times, start, n_vectors, k, tolerance=KRYLOV_TOLERANCE)
    return from_smaller_side(blocks, vectors)


def lanczos(X: Interactions, k: int, rng: np.random.Generator) -> NDArray[Any]:
    """Find V by ARPACK on the Gram operator of the smaller side, in float64 to full precision."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    blocks = RowBlocks.of(X, 1)
    m = min(X.shape)
    operator = LinearOperator((m, m), matvec=lambda v: blocks.smaller_times(v.reshape(m, 1)), dtype=np.float64)
    _, vectors = eigsh(operator, k, v0=rng.standard_normal(m), tol=0)
    return from_smaller_side(blocks, vectors[:, ::-1])


def randomized(X: Interactions, k: int, rng: np.random.Generator) -> NDArray[Any]:
    """Find V by scikit-learn's randomised range finder: quick, and inexact where the spectrum is flat."""
    from sklearn.utils.extmath import randomized_svd

    right = randomized_svd(X, k, n_oversamples=OVERSAMPLE, random_state=int(rng.integers(2**31)))[2]
    return np.asarray(right.T)
