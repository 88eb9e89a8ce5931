"""The truncated SVD of a dense or sparse matrix: the route for its size, polished in float64, with a certificate.

1. A route finds a basis that nearly holds the k leading right singular vectors (LAPACK finds them outright).
2. One Rayleigh–Ritz step in float64 takes the best triplets within it, and measures `‖XᵀX v − σ² v‖` of each.
3. "auto" goes on to a stronger route where those residuals do not bound the error of each σ by 1e-8, or where
   squaring has lost singular values below 1e-6 of the largest.

**Products.** A sparse product uses one core and releases the lock, so blocks of rows share the cores; the transpose of
a block is taken as it lies in memory, never converted. Workers of other processes are sent no block: they open each
where it was written down once.

**Block Krylov iteration.** A basis of `Q, GQ, G²Q, …` grows by a block a step. G projected onto it is a small matrix,
whose eigenvalues (Ritz values) approach the largest ones of G. A run ends where they have converged or the basis is
full; then another one starts from what it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Matrix,
    Vector,
    as_generator,
    frozen,
    is_integer,
    require_one_of,
)
from embaudit.core.parallel import one_blas_thread, parallel_map, row_blocks
from embaudit.core.ties import first_largest
from embaudit.errors import must_be
from embaudit.linalg.rows import in_order, triangular_factor

Interactions: TypeAlias = Any
"""A dense matrix or a sparse one in row order, float32 or float64."""

MIN_BLOCKS = 16
"""Minimum number of blocks, for an even load and sums that stay in the cache."""


def is_sparse(X: Any) -> bool:
    """Check for a sparse array or matrix of scipy."""
    return bool(sp.issparse(X))


def as_interactions(X: Any) -> Interactions:
    """Bring any sparse format to rows (CSR) without copying one that is; keep float32 and float64."""
    if not is_sparse(X):
        dense = np.asarray(X)
        if dense.ndim != 2 or dense.dtype.kind not in "fiub":
            got = f"{dense.dtype} of shape {dense.shape}"
            raise must_be("X", "a matrix of real numbers, dense or sparse", got)
        return (
            dense
            if dense.dtype in (np.float32, np.float64)
            else dense.astype(np.float64)
        )
    rows = sp.csr_array(X)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _csr_rows(X: sp.csr_array[Any], rows: slice) -> sp.csr_array[Any]:
    """Cut rows out of a CSR matrix without copying them."""
    pointers = X.indptr[rows.start : rows.stop + 1]
    inside = slice(pointers[0], pointers[-1])
    block = sp.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # Set one by one: slicing and the constructor both copy a small part of a large array.
    block.data, block.indices = frozen(X.data[inside]), frozen(X.indices[inside])
    block.indptr = frozen(pointers - pointers[0])
    return block


def _even_rows(X: Interactions, columns: int) -> Iterator[slice]:
    """Cut the rows so that blocks hold about as many entries each and their product stays small."""
    n = X.shape[0]
    limit = next(row_blocks(n, columns)).stop
    if not is_sparse(X):
        step = min(-(-n // MIN_BLOCKS), limit, next(row_blocks(n, X.shape[1])).stop)
        yield from (slice(start, min(start + step, n)) for start in range(0, n, step))
        return
    # Equal shares of the stored entries, and besides a cut wherever a block would have too many rows.
    pointers = X.indptr
    cuts = np.searchsorted(pointers, np.linspace(0, pointers[-1], MIN_BLOCKS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, np.arange(0, n, limit), [n]]))
    yield from (slice(int(a), int(b)) for a, b in pairwise(edges))


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """A matrix cut into row blocks, ready to be multiplied in one precision.

    Parameters
    ----------
    slices : tuple of slice
        Where each block lies.
    parts : tuple of array or sparse array
        The blocks, read-only; views, unless the precision had to change.
    shape : pair of int
    dtype : dtype
        The precision of the products.
    """

    slices: tuple[slice, ...]
    parts: tuple[Any, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @classmethod
    def of(
        cls, X: Interactions, columns: int, dtype: DTypeLike = np.float64
    ) -> RowBlocks:
        """Cut `X` for products of `columns` columns."""
        slices = tuple(_even_rows(X, columns))
        if is_sparse(X):
            # One conversion of the values; the indices are shared with X.
            same = sp.csr_array(
                (np.asarray(X.data, dtype), X.indices, X.indptr), X.shape
            )
            parts: tuple[Any, ...] = tuple(_csr_rows(same, rows) for rows in slices)
        else:
            parts = tuple(frozen(X[rows]) for rows in slices)
        return cls(slices, parts, (int(X.shape[0]), int(X.shape[1])), np.dtype(dtype))

    def _part(self, i: int) -> Any:
        block = self.parts[i]
        return block if is_sparse(block) else np.asarray(block, dtype=self.dtype)

    def _each(self, function: Callable[[int], NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Map over blocks, in order, in threads: each product would send the interactions on their way again."""
        return parallel_map(function, range(len(self.parts)), in_threads=True)

    def times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Compute `X V`, n×b.

        Examples
        --------
        >>> RowBlocks.of(np.eye(3), 1).times(np.ones((3, 1))).ravel()
        array([1., 1., 1.])
        """
        return np.concatenate(list(self._each(lambda i: self._part(i) @ V)))

    def transposed_times(self, W: NDArray[Any]) -> NDArray[Any]:
        """Compute `Xᵀ W`, p×b."""
        return in_order(self._each(lambda i: self._part(i).T @ W[self.slices[i]]))

    def normal_times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Compute `Xᵀ X V`, p×b, never holding `X V` as a whole."""

        def term(i: int) -> NDArray[Any]:
            block = self._part(i)
            return cast("NDArray[Any]", block.T @ (block @ V))

        return in_order(self._each(term))

    def smaller_times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Multiply with the Gram matrix of the smaller side, `Xᵀ X` where p <= n, else `X Xᵀ`."""
        # Both have the same nonzero eigenvalues, the squares of the singular values.
        n, p = self.shape
        return self.normal_times(V) if p <= n else self.times(self.transposed_times(V))


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
    return np.asarray(
        np.divide(error, 2 * theta, out=np.full(k, np.inf), where=theta > 0)
    )


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
        return np.asarray(
            self.rows[: self.size].T @ coordinates.astype(self.rows.dtype)
        )


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
    wanted = min(
        length, max(MIN_EXPANSION * n_vectors, min(within_budget, MAX_COLUMNS))
    )
    capacity = max(wanted, width, n_vectors)
    space = _Subspace(
        np.empty((capacity, length), start.dtype), np.zeros((capacity, capacity))
    )
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


Solver: TypeAlias = Literal["auto", "lapack", "gram", "krylov", "lanczos", "randomized"]

LAPACK_SIDE = 500
"""Smaller side up to which (and `LAPACK_ENTRIES`) a full SVD costs next to nothing."""
LAPACK_ENTRIES = 2_000_000
GRAM_SIDE = 4_000
"""Smaller side up to which its Gram matrix is cheap."""
FALLBACK_ENTRIES = 40_000_000
"""Number of entries up to which a full SVD may step in where a Gram matrix resolves too little."""
RESOLVED = 1e-6
"""A route through `XᵀX` does not resolve singular values below this share of the largest."""
KRYLOV_RESTARTS = 4
"""Continuations in float64 before another route is tried."""
SMALLEST = 1e-12
"""A matrix whose largest entry is smaller than this, or larger than its inverse, is scaled first."""
EXACT = 1e-8
"""Relative error of the singular values that "auto" accepts (an estimate, see `value_errors`)."""
OVERSAMPLE = 8
"""Vectors beyond k that guard the gap."""
KRYLOV_WIDTH = 16
"""Columns of a block: one cache line of float32, and a block of 27,000 rows still fits the second-level cache."""
KRYLOV_TOLERANCE = 1e-9
"""Wanted relative error of the singular values."""


@dataclass(frozen=True, eq=False)
class TruncatedSVD:
    """The k largest singular values of X and their right singular vectors.

    Parameters
    ----------
    singular_values : array of shape (k,)
        In descending order, float64.
    right : array of shape (p, k)
        Orthonormal columns, float64; the entry of largest magnitude of each is positive.
    residual : float
        Largest `‖XᵀX v − σ² v‖ / σ₁²` of the triplets. For every σ there is then a singular value s of X with
        `|σ² − s²| <= residual · σ₁²`; where σ² is apart from the rest by a gap, the error is but `residual² σ₁⁴ / gap`.
    solver : str
        The route that gave the result.
    """

    singular_values: Vector
    right: Matrix
    residual: float
    solver: str

    def __repr__(self) -> str:
        size = f"{len(self.right):,} columns, rank {len(self.singular_values)}"
        return f"TruncatedSVD({size}, {self.solver}, residual {self.residual:.1e})"


# The routes: each returns a basis of about k right vectors; LAPACK the triplets themselves.


def _from_smaller_side(blocks: RowBlocks, vectors: NDArray[Any]) -> NDArray[Any]:
    """Turn vectors of the smaller side into right vectors: those of `X Xᵀ` become an orthonormal basis of `Xᵀ U`."""
    n, p = blocks.shape
    return vectors if p <= n else orthonormal(blocks.transposed_times(vectors))


def _by_lapack(X: Interactions, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compute `(σ, V)` by a full dense SVD in float64: exact to rounding, small matrices only."""
    dense = X.toarray() if is_sparse(X) else X
    _, values, right = scipy.linalg.svd(
        np.asarray(dense, dtype=np.float64), full_matrices=False, check_finite=False
    )
    return values[:k], right[:k].T


def _gram_matrix(X: Interactions) -> Floats:
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


def _by_gram(X: Interactions, k: int) -> NDArray[Any]:
    """Find V from an eigendecomposition of the Gram matrix of the smaller side."""
    matrix = _gram_matrix(X)
    m = len(matrix)
    try:
        _, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=[m - k, m - 1], check_finite=False
        )
    except np.linalg.LinAlgError:
        # LAPACK can fail to separate a range of eigenvalues that are equal up to rounding.
        vectors = np.linalg.eigh(matrix)[1][:, m - k :]
    # Eigenvalues come in ascending order.
    return _from_smaller_side(RowBlocks.of(X, k), vectors[:, ::-1])


def _by_krylov(
    X: Interactions, k: int, rng: np.random.Generator, start: NDArray[Any] | None = None
) -> NDArray[Any]:
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
        # The operator is the Gram matrix of the smaller side: where that has the rows, right vectors start it as X v.
        start = start if X.shape[1] == m else blocks.times(start)
    vectors = block_krylov(
        blocks.smaller_times, start, n_vectors, k, tolerance=KRYLOV_TOLERANCE
    )
    return _from_smaller_side(blocks, vectors)


def _by_lanczos(X: Interactions, k: int, rng: np.random.Generator) -> NDArray[Any]:
    """Find V by ARPACK on the Gram operator of the smaller side, in float64 to full precision."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    blocks = RowBlocks.of(X, 1)
    m = min(X.shape)
    operator = LinearOperator(
        (m, m), matvec=lambda v: blocks.smaller_times(v.reshape(m, 1)), dtype=np.float64
    )
    _, vectors = eigsh(operator, k, v0=rng.standard_normal(m), tol=0)
    return _from_smaller_side(blocks, vectors[:, ::-1])


def _by_randomized(X: Interactions, k: int, rng: np.random.Generator) -> NDArray[Any]:
    """Find V by scikit-learn's randomised range finder: quick, and inexact where the spectrum is flat."""
    from sklearn.utils.extmath import randomized_svd

    right = randomized_svd(
        X, k, n_oversamples=OVERSAMPLE, random_state=int(rng.integers(2**31))
    )[2]
    return np.asarray(right.T)


@dataclass(frozen=True, eq=False)
class _Triplets:
    values: Floats
    right: Floats
    residuals: Floats

    def is_exact(self, k: int) -> bool:
        # Values that squaring loses are judged by `resolves`, not by their error relative to themselves.
        dead = self.values[:k] <= RESOLVED * self.values[0]
        return bool(
            ((value_errors(self.values**2, self.residuals, k) <= EXACT) | dead).all()
        )

    def resolves(self, k: int, floor: float) -> bool:
        """Check that each value is either zero within rounding or within reach of a route that squares."""
        leading = self.values[:k]
        return not bool(
            ((leading > floor) & (leading < RESOLVED * self.values[0])).any()
        )


def _measured(X: Interactions, values: NDArray[Any], right: NDArray[Any]) -> _Triplets:
    # ‖XᵀX v − σ² v‖ of each triplet, with one more pass over X.
    image = RowBlocks.of(X, right.shape[1]).normal_times(right)
    return _Triplets(values, right, np.linalg.norm(image - right * values**2, axis=0))


def _polished(X: Interactions, basis: NDArray[Any]) -> _Triplets:
    """Rayleigh–Ritz in float64: the best triplets within the span of a basis."""
    blocks = RowBlocks.of(X, basis.shape[1])
    span = orthonormal(np.asarray(basis, dtype=np.float64))
    image = blocks.normal_times(span)
    projected = span.T @ image
    # Rayleigh–Ritz: XᵀX within the span is a small matrix, whose eigenvectors turn the span's basis into triplets.
    # Symmetric but for rounding, which eigh would read from one triangle only.
    squares, rotation = np.linalg.eigh((projected + projected.T) / 2)
    squares, rotation = squares[::-1], rotation[:, ::-1]
    right = span @ rotation
    if squares[-1] < RESOLVED**2 * squares[0]:
        # The square has lost the small values; a triangular factor of X V has not.
        _, values, turn = np.linalg.svd(triangular_factor(blocks.times(right)))
        return _measured(X, values, right @ turn.T)
    return _Triplets(
        np.sqrt(squares),
        right,
        np.linalg.norm(image @ rotation - right * squares, axis=0),
    )


def _auto_route(X: Interactions, k: int) -> Solver:
    """Choose the cheapest exact route.

    Examples
    --------
    >>> [_auto_route(sp.csr_array((n, n)), 10) for n in (10, 1_000, 100_000)]
    ['lapack', 'gram', 'krylov']
    """
    n, p = X.shape
    m = min(n, p)
    if m <= LAPACK_SIDE and n * p <= LAPACK_ENTRIES:
        return "lapack"
    if m <= GRAM_SIDE and _gram_is_cheap(X, k):
        return "gram"
    return "krylov"


def _gram_is_cheap(X: Interactions, k: int) -> bool:
    """Check that dense arithmetic on `n·p·m` entries beats iterating over the stored ones."""
    n, p = X.shape
    # A stored number of a sparse matrix is counted as 20 dense ones, an iteration as 16 passes over its columns.
    stored = X.nnz if is_sparse(X) else n * p
    slower = 20 if is_sparse(X) else 1
    return bool(n * p * min(n, p) <= slower * 16 * (k + OVERSAMPLE) * stored + 4e10)


def _by_name(
    X: Interactions, k: int, solver: str, rng: np.random.Generator
) -> _Triplets:
    """Compute triplets by a route of the user's choice; all but LAPACK's are polished in float64."""
    if solver == "lapack":
        return _measured(X, *_by_lapack(X, k))
    if solver == "gram":
        return _polished(X, _by_gram(X, min(k + 1, *X.shape)))
    if solver == "krylov":
        return _restarted(X, k, rng)
    if solver == "lanczos" and k < min(X.shape):
        return _polished(X, _by_lanczos(X, k, rng))
    if solver == "randomized":
        return _polished(X, _by_randomized(X, k, rng))
    raise must_be(
        "k",
        f"below min(n, p) = {min(X.shape)} for the lanczos route",
        k,
        'use "lapack"',
    )


def _restarted(X: Interactions, k: int, rng: np.random.Generator) -> _Triplets:
    """Iterate in float32, and only where that was not enough go on in float64 from there."""
    triplets = _polished(X, _by_krylov(X, k, rng))
    for _ in range(KRYLOV_RESTARTS):
        if triplets.is_exact(k):
            break
        triplets = _polished(X, _by_krylov(X, k, rng, start=triplets.right))
    return triplets


def _automatic(
    X: Interactions, k: int, rng: np.random.Generator
) -> tuple[_Triplets, str]:
    """Take the cheapest exact route and go on to a stronger one until the result is exact."""
    solver = _auto_route(X, k)
    triplets = _by_name(X, k, solver, rng)
    # A Gram matrix has the squares of the singular values, and loses those below 1e-8 of the largest: where some are
    # neither zero nor within its reach a full SVD steps in, if it can be afforded; else a warning says so.
    floor = zero_below(X.shape, float(triplets.values[0]))
    if (
        solver != "lapack"
        and not triplets.resolves(k, floor)
        and X.shape[0] * X.shape[1] <= FALLBACK_ENTRIES
    ):
        return _by_name(X, k, "lapack", rng), "lapack"
    if solver == "krylov" and not triplets.is_exact(k) and k < min(X.shape):
        return _by_name(X, k, "lanczos", rng), "lanczos"
    return triplets, solver


def _in_range(X: Interactions) -> tuple[Interactions, float]:
    """Scale a matrix whose squares would leave the range of float32; any other is returned as it is."""
    entries = X.data if is_sparse(X) else X
    largest = float(max(entries.max(initial=0), -entries.min(initial=0)))
    if not np.isfinite(largest):
        raise must_be(
            "X", "finite", "entries that are not", "repair or drop their rows"
        )
    if largest == 0 or SMALLEST <= largest <= 1 / SMALLEST:
        return X, 1.0
    # A power of two changes no digit, whatever the precision of X.
    scale = float(2.0 ** np.floor(np.log2(largest)))
    return (
        sp.csr_array((X.data / scale, X.indices, X.indptr), X.shape)
        if is_sparse(X)
        else X / scale
    ), scale


def zero_below(shape: tuple[int, ...], largest: float) -> float:
    """Return the singular value that is zero within rounding, `eps · max(n, p) · σ₁`."""
    return float(np.finfo(np.float64).eps) * max(shape) * largest


def _positive_signs(right: NDArray[Any]) -> NDArray[Any]:
    """Turn each vector so that its entry of largest magnitude (the first of equals) is positive."""
    # Singular vectors that the Krylov route computed agree with exact ones to about 1e-6.
    leading = [
        first_largest(column, tolerance=1e-6 * column.max())
        for column in np.abs(right).T
    ]
    return right * np.where(right[leading, np.arange(right.shape[1])] < 0, -1.0, 1.0)


def truncated_svd(
    X: Any, k: int, *, solver: str = "auto", rng: RNG = 0
) -> TruncatedSVD:
    """Compute the k largest singular values of X and their right singular vectors.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        Dense, or any sparse format; float32 is computed on in float64 where it matters.
    k : int
        From 1 to min(n, p).
    solver : {"auto", "lapack", "gram", "krylov", "lanczos", "randomized"}
        "lapack": full dense SVD. "gram": Gram matrix of the smaller side. "krylov": block Krylov in float32, one
        Rayleigh–Ritz step in float64. "lanczos": ARPACK on `v → Xᵀ(Xv)`. "randomized": scikit-learn's, inexact on a
        flat spectrum, only by name. "auto" takes the cheapest exact route and goes on to a stronger one where singular
        values are not exact to 1e-8 or, below 1e-6 of the largest, would be lost by squaring.
    rng : numpy Generator or int
        Where the iterative routes start.

    Raises
    ------
    InputError
        If k or the solver is out of range.

    Examples
    --------
    >>> from embaudit.errors import InputError
    >>> truncated_svd(np.diag([3.0, 2.0, 1.0]), 2).singular_values, truncated_svd(np.diag([3.0, 2.0, 1.0]), 2)
    (array([3., 2.]), TruncatedSVD(3 columns, rank 2, lapack, residual 0.0e+00))
    >>> for k in (0, 4):
    ...     try:
    ...         truncated_svd(np.eye(3), k)
    ...     except InputError as error:
    ...         print(error)
    k must be from 1 to min(n, p) = 3; got 0.
    k must be from 1 to min(n, p) = 3; got 4.
    >>> truncated_svd(np.eye(3), 3, solver="lanczos")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: k must be below min(n, p) = 3 for the lanczos route; got 3; use "lapack".
    >>> truncated_svd(np.array([[1.0, np.inf]]), 1)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: X must be finite; got entries that are not; repair or drop their rows.
    """
    rows, scale = _in_range(as_interactions(X))
    limit = min(rows.shape)
    if not is_integer(k) or not 1 <= k <= limit:
        raise must_be("k", f"from 1 to min(n, p) = {limit}", repr(k))
    require_one_of(solver, "solver", get_args(Solver))
    draw = as_generator(rng)
    # The products share the cores by rows; BLAS threads beside them would only spin.
    with one_blas_thread():
        triplets, used = (
            _automatic(rows, k, draw)
            if solver == "auto"
            else (_by_name(rows, k, solver, draw), solver)
        )
    values, right = triplets.values[:k], _positive_signs(triplets.right[:, :k])
    if (
        solver == "auto"
        and used != "lapack"
        and not triplets.resolves(k, zero_below(rows.shape, float(values[0])))
    ):
        warnings.warn(_UNRESOLVED, RuntimeWarning, stacklevel=2)
    largest = float(values[0]) ** 2
    residual = float(triplets.residuals[:k].max() / largest) if largest else 0.0
    return TruncatedSVD(
        frozen(values * scale), frozen(np.ascontiguousarray(right)), residual, used
    )


_UNRESOLVED = (
    "the smallest singular values asked for lie below 1e-6 of the largest and are not resolved; "
    "ask for fewer components."
)
