"""The truncated SVD of a dense or sparse matrix, with a certificate.

1. A basis that nearly holds the k leading right singular vectors is computed: by
   LAPACK for small matrices, from the Gram matrix of the smaller side if that has at
   most 4,000 rows, and otherwise by block Krylov iteration in float32. A sparse matrix
   of which few vectors are wanted is iterated over, too, if its Gram matrix, which is
   dense, would take more than about a second.
2. One Rayleigh–Ritz step in float64 finds the best singular triplets within the span
   of that basis, and measures the residual `‖XᵀX v − σ² v‖` of each of them.
3. If these residuals do not bound the relative error of each σ by 1e-8, the Krylov
   iteration is repeated in float64 from the vectors found so far.

The Krylov basis is the only place of the package that computes in float32, because
float64 takes 1.6 times as long. Step 2 uses the float32 numbers for the span only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Matrix,
    Vector,
    as_generator,
    frozen,
    is_integer,
)
from embaudit.core.parallel import one_blas_thread, parallel_map, row_blocks
from embaudit.core.ties import first_largest
from embaudit.core.tolerances import (
    EPS,
    FLOAT32_MAGNITUDE,
    GRAM_RESOLVED,
    KRYLOV_ERROR,
    KRYLOV_VECTOR_ERROR,
    LARGEST_MAGNITUDE,
    SINGULAR_VALUE_ERROR,
    SMALLEST_MAGNITUDE,
)
from embaudit.errors import must_be
from embaudit.linalg.rows import ordered_sum, triangular_factor
from embaudit.solvers.krylov import block_krylov, orthonormal, value_errors
from embaudit.solvers.products import (
    Interactions,
    as_interactions,
    gram_times,
    is_sparse,
    times,
    transposed_times,
    with_dtype,
)

LAPACK_SIDE = 500
"""Smaller side up to which a full SVD takes below a second."""
LAPACK_ENTRIES = 2_000_000
"""Number of entries up to which a full SVD takes below a second."""
GRAM_SIDE = 4_000
"""Smaller side up to which its Gram matrix can be decomposed in seconds."""
GRAM_PRODUCTS = 4e10
"""Multiplications for a Gram matrix, `n p min(n, p)`, that take about a second."""
GRAM_SHARE = 1 / 8
"""Share of wanted vectors below which iterating over a sparse matrix is faster.

For 50 vectors of 6,040 × 3,706 ratings with a million entries, iterating takes a tenth
of the time of the Gram matrix.
"""
OVERSAMPLE = 8
"""Vectors beyond k, which guard the gap to the other singular values."""
KRYLOV_WIDTH = 16
"""Columns of a Krylov block: one cache line of float32."""
MAX_REPEATS = 8
"""Repetitions of the Krylov iteration in float64 before a warning is given."""


@dataclass(frozen=True, eq=False)
class TruncatedSVD:
    """The k largest singular values of X and their right singular vectors.

    Parameters
    ----------
    singular_values : array of shape (k,)
        In descending order, float64.
    right : array of shape (p, k)
        Orthonormal columns, float64. The entry of largest magnitude of each column is
        positive.
    residual : float
        Largest `‖XᵀX v − σ² v‖ / σ₁²` of the triplets. For every σ there is a singular
        value s of X with `|σ² − s²| <= residual · σ₁²`. If σ² is apart from the rest of
        the spectrum by a gap, the error is at most `residual² σ₁⁴ / gap`.
    solver : {"lapack", "gram", "krylov"}
        How the vectors were found.
    """

    singular_values: Vector
    right: Matrix
    residual: float
    solver: str

    def __repr__(self) -> str:
        size = f"{len(self.right):,} columns, rank {len(self.singular_values)}"
        return f"TruncatedSVD({size}, {self.solver}, residual {self.residual:.1e})"


@dataclass(frozen=True, eq=False)
class _Triplets:
    """Singular values σ, in descending order, right vectors v, and `‖XᵀX v − σ² v‖`."""

    values: Floats
    right: Floats
    residuals: Floats

    def are_exact(self, k: int) -> bool:
        """Return True if the residuals bound the relative error of each of k values."""
        errors = value_errors(self.values**2, self.residuals, k)
        # Values that the Gram matrix loses have a warning of their own.
        is_lost = self.values[:k] <= GRAM_RESOLVED * self.values[0]
        return bool(np.all((errors <= SINGULAR_VALUE_ERROR) | is_lost))


def _rayleigh_ritz(X: Interactions, basis: NDArray[Any]) -> _Triplets:
    """Find the best singular triplets within the span of a basis, in float64.

    For an orthonormal basis V and `X V = Q R`, the SVD `R = U Σ Wᵀ` gives the values Σ
    and the right vectors `V W`. Unlike the Gram matrix `VᵀXᵀX V`, it does not square
    the values.
    """
    span = orthonormal(np.asarray(basis, dtype=np.float64))
    image = times(X, span)
    _, values, rotation = np.linalg.svd(triangular_factor(image))
    right = span @ rotation.T
    residuals = transposed_times(X, image) @ rotation.T - right * values**2
    return _Triplets(values, right, np.linalg.norm(residuals, axis=0))


def _from_smaller_side(X: Interactions, vectors: NDArray[Any]) -> NDArray[Any]:
    """Return a basis of right vectors from eigenvectors of `XᵀX`, or `XXᵀ` if n < p."""
    n, p = X.shape
    if p <= n:
        return vectors
    return orthonormal(transposed_times(X, vectors))


def _by_lapack(X: Interactions, k: int) -> _Triplets:
    """Compute the triplets by a full SVD in float64."""
    dense = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    _, _, right = scipy.linalg.svd(dense, full_matrices=False, check_finite=False)
    return _rayleigh_ritz(X, right[:k].T)


def _gram_matrix(X: Interactions) -> Floats:
    """Compute `XᵀX`, or `XXᵀ` if n < p, in float64 from blocks of rows or columns."""
    n, p = X.shape
    tall = X
    if n < p:
        tall = X.T.tocsr() if is_sparse(X) else X.T

    def term(rows: slice) -> NDArray[Any]:
        part = tall[rows].toarray() if is_sparse(X) else tall[rows]
        block = np.asarray(part, dtype=np.float64)
        return np.asarray(block.T @ block)

    rows = row_blocks(max(n, p), min(n, p))
    return np.asarray(ordered_sum(parallel_map(term, rows, in_threads=True)))


def _by_gram(X: Interactions, k: int) -> _Triplets:
    """Find the triplets from eigenvectors of the Gram matrix of the smaller side."""
    matrix = _gram_matrix(X)
    m = len(matrix)
    # One more vector guards the gap. Eigenvalues come in ascending order.
    n_vectors = min(k + 1, m)
    try:
        wanted = [m - n_vectors, m - 1]
        _, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=wanted, check_finite=False
        )
    except np.linalg.LinAlgError:
        # LAPACK can fail to separate eigenvalues that are equal up to rounding.
        _, vectors = np.linalg.eigh(matrix)
        vectors = vectors[:, m - n_vectors :]
    return _rayleigh_ritz(X, _from_smaller_side(X, vectors[:, ::-1]))


def _by_krylov(X: Interactions, k: int, rng: np.random.Generator) -> _Triplets:
    """Find the triplets by Krylov iteration in float32, and in float64 if needed."""
    n, p = X.shape
    m = min(n, p)
    n_vectors = min(k + OVERSAMPLE, m)

    def basis(matrix: Interactions, start: NDArray[Any]) -> NDArray[Any]:
        vectors = block_krylov(
            lambda block: gram_times(matrix, block),
            start,
            n_vectors,
            k,
            tolerance=KRYLOV_ERROR,
        ).astype(np.float64)
        # One more product, in float64, damps what rounding to float32 added, and gives
        # equal columns of X equal rows, which belong to duplicates.
        if p <= n:
            vectors = times(X, vectors)
        return transposed_times(X, vectors)

    random_block = rng.standard_normal((m, KRYLOV_WIDTH), dtype=np.float32)
    triplets = _rayleigh_ritz(X, basis(with_dtype(X, np.float32), random_block))
    if triplets.are_exact(k):
        return triplets
    in_float64 = with_dtype(X, np.float64)
    for _ in range(MAX_REPEATS):
        start = triplets.right
        if n < p:
            # The iteration is over XXᵀ, whose vectors are X v for right vectors v.
            start = times(in_float64, start)
        triplets = _rayleigh_ritz(X, basis(in_float64, start))
        if triplets.are_exact(k):
            break
    return triplets


def _triplets(
    X: Interactions, k: int, rng: np.random.Generator
) -> tuple[_Triplets, str]:
    """Compute the triplets by the solver that suits the size; return its name, too."""
    n, p = X.shape
    m = min(n, p)
    if m <= LAPACK_SIDE and n * p <= LAPACK_ENTRIES:
        return _by_lapack(X, k), "lapack"
    # The Gram matrix is taken where it can be decomposed, because its vectors are exact
    # and those of the iteration only nearly so. Only for a sparse matrix can iterating
    # be much faster.
    is_gram_fast = n * p * m <= GRAM_PRODUCTS or k >= GRAM_SHARE * m
    if m <= GRAM_SIDE and (is_gram_fast or not is_sparse(X)):
        return _by_gram(X, k), "gram"
    return _by_krylov(X, k, rng), "krylov"


def _scaled_for_float32(X: Interactions) -> tuple[Interactions, float]:
    """Return X divided by a power of two, and that power.

    The power is 1 unless squares of entries are too large or too small for float32.

    Raises
    ------
    InputError
        If an entry is not finite, or the largest entry is not from 1e-100 to 1e100.
    """
    entries = X.data if is_sparse(X) else X
    largest = float(max(entries.max(initial=0), -entries.min(initial=0)))
    if not np.isfinite(largest):
        raise must_be("X", "finite", "nan or infinity", "repair or drop these rows")
    if largest != 0 and not SMALLEST_MAGNITUDE <= largest <= LARGEST_MAGNITUDE:
        raise must_be(
            "the largest entry of X",
            f"from {SMALLEST_MAGNITUDE:g} to {LARGEST_MAGNITUDE:g}, or 0",
            f"{largest:.2g}",
            "multiply X by a constant",
        )
    if largest == 0 or 1 / FLOAT32_MAGNITUDE <= largest <= FLOAT32_MAGNITUDE:
        return X, 1.0
    # A power of two changes no digit.
    scale = float(2.0 ** np.floor(np.log2(largest)))
    return with_dtype(X, np.float64) / scale, scale


def zero_below(shape: tuple[int, ...], largest: float) -> float:
    """Return the size up to which σ is zero by rounding, `eps · max(n, p) · σ₁`."""
    return EPS * max(shape) * largest


def _positive_signs(right: NDArray[Any]) -> NDArray[Any]:
    """Make the entry of largest magnitude (the first of equals) of each column > 0."""
    result = right.copy()
    for j, sizes in enumerate(np.abs(right).T):
        largest = first_largest(sizes, tolerance=KRYLOV_VECTOR_ERROR * sizes.max())
        if right[largest, j] < 0:
            result[:, j] *= -1
    return result


def truncated_svd(X: Any, k: int, *, rng: RNG = 0) -> TruncatedSVD:
    """Compute the k largest singular values of X and their right singular vectors.

    Small matrices are decomposed by LAPACK, matrices whose smaller side has at most
    4,000 rows by their Gram matrix, and all others by block Krylov iteration; so are
    sparse matrices of which few vectors are wanted, if the Gram matrix takes long.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        Dense, or any sparse format, in float32 or float64.
    k : int
        From 1 to min(n, p).
    rng : numpy Generator or int
        Random numbers for the start of the Krylov iteration.

    Returns
    -------
    TruncatedSVD
        `singular_values` of shape (k,), largest first, `right` with the right singular
        vectors, the `solver` that was used, and `residual`, a certificate of its error.

    Raises
    ------
    InputError
        If k or the size of the entries is out of range.

    Warns
    -----
    RuntimeWarning
        If singular values below 1e-6 of the largest are wanted, which the Gram matrix
        loses, or if the iteration did not reach a relative error of 1e-8.

    Examples
    --------
    >>> from embaudit.errors import InputError
    >>> found = truncated_svd(np.diag([3.0, 2.0, 1.0]), 2)
    >>> found.singular_values.round(9), found.solver
    (array([3., 2.]), 'lapack')
    >>> truncated_svd(np.eye(3), 4)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: k must be from 1 to min(n, p) = 3; got 4.
    >>> truncated_svd(np.array([[1.0, np.inf]]), 1)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: X must be finite; got nan or infinity; repair or drop
    these rows.
    """
    rows, scale = _scaled_for_float32(as_interactions(X))
    limit = min(rows.shape)
    if not is_integer(k) or not 1 <= k <= limit:
        raise must_be("k", f"from 1 to min(n, p) = {limit}", repr(k))
    # The threads share the rows, and threads of the BLAS would compete with them.
    with one_blas_thread():
        triplets, solver = _triplets(rows, k, as_generator(rng))
    values = triplets.values[:k]
    largest = float(values[0])
    if solver != "lapack":
        _warn_of_errors(triplets, k, zero_below(rows.shape, largest))
    residual = 0.0
    if largest > 0:
        residual = float(triplets.residuals[:k].max()) / largest**2
    right = np.ascontiguousarray(_positive_signs(triplets.right[:, :k]))
    return TruncatedSVD(frozen(values * scale), frozen(right), residual, solver)


def _warn_of_errors(triplets: _Triplets, k: int, floor: float) -> None:
    """Warn of singular values that are neither exact nor zero within rounding.

    Values up to `floor` count as zero.
    """
    values = triplets.values[:k]
    if np.any((values > floor) & (values < GRAM_RESOLVED * values[0])):
        warnings.warn(
            "the smallest singular values asked for lie below 1e-6 of the largest and "
            "are not resolved; choose fewer components.",
            RuntimeWarning,
            stacklevel=3,
        )
    if not triplets.are_exact(k):
        warnings.warn(
            "the singular values did not converge to a relative error of 1e-8; ask for "
            "fewer components.",
            RuntimeWarning,
            stacklevel=3,
        )
