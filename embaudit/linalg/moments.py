"""Mean row of one side of a model, and a small matrix with the same inner products.

A factor matrix X of any height is summed up by its mean row x̄ and by a k×k root R of
its centred Gram matrix, `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`. Everything that a linear gauge can
do to cosines is read from the two.

Two routes compute them. QR of `[1 X]` does not square the condition number, so it is
taken for all matrices of up to 2²⁴ entries and for all matrices in float64. Larger
matrices in float32 take the Gram matrix in float64, which is several times faster. The
Gram matrix loses singular values below √(k eps), about 1e-7, of the largest one, and
the rounding of float32 hides these as well.

For rows of 4,096 columns, the Gram matrix takes 0.5 s of processor time for every
1,000 rows, and its axes take 16 s. A Gram matrix in float32 would take half of the
former, and the inverse of a triangle a tenth of the latter. Both need a proof that
rounding hides no dimension, so every matrix is summed up in float64 and has its axes
computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector, frozen
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import EPS
from embaudit.linalg.rows import WIDE, cached_blocks, map_chunks, unit_rows
from embaudit.linalg.transformed_rows import Rows

Route: TypeAlias = Literal["qr", "gram"]
"""QR of the rows, or their Gram matrix in float64."""
MOST_QR_ENTRIES = 2**24
"""Entries of a float32 matrix up to which it takes the QR route."""
WIDE_CHUNK_BYTES = 2**26
"""Size in float64 of the rows of many columns that are added to a Gram matrix at a
time. The product has k² entries, so it should have many rows."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean row and Gram root of the rows of an (n, k) factor matrix X."""

    n_rows: int
    """Number of rows n."""
    mean: Vector
    """(k,) the mean row x̄."""
    centred_root: Matrix
    """(k, k) R with `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`."""
    precision: float
    """Singular values below this share of the largest one are rounding.

    It covers the rounding of the stored numbers and that of the route.
    """
    route: Route
    """The route that computed the root.

    The errors of the QR route are relative to X, and those of the Gram route to `XᵀX`.
    """

    @cached_property
    def root(self) -> Matrix:
        """(k, k) R with `RᵀR = XᵀX`, for the rows without centring."""
        stacked = np.vstack([self._scaled_mean, self.centred_root])
        return frozen(np.asarray(np.linalg.qr(stacked, mode="r")))

    @cached_property
    def axes(self) -> tuple[Vector, Matrix]:
        """Singular values and right singular vectors of the centred root.

        The values, (k,), start with the largest one. The vectors are the rows of a
        (k, k) matrix.

        The Gram route takes the eigenvectors of `RᵀR`, because they take a third of the
        time of an SVD. Squaring loses no more digits than the Gram matrix has lost.
        """
        if self.route == "qr":
            _, s, vt = np.linalg.svd(self.centred_root)
        else:
            squares, vectors = np.linalg.eigh(self.centred_root.T @ self.centred_root)
            s = np.sqrt(np.maximum(squares[::-1], 0))
            vt = vectors.T[::-1]
        return frozen(s), frozen(vt)

    @cached_property
    def rank(self) -> int:
        """Number of dimensions that the rows without centring span.

        Examples
        --------
        >>> moments(np.array([[1.0, 1.0], [3.0, 1.0]])).rank
        2
        >>> moments(np.array([[1.0, 1.0], [3.0, 3.0]])).rank
        1
        """
        # The singular values of X lie between those of R and those of R and √n x̄, so
        # centred rows of full rank need no second decomposition. Centring takes away
        # one dimension of n ≤ k rows, so that their centred rows never have full rank.
        if self.n_rows > len(self.mean):
            centred, _ = self.axes
            largest = np.hypot(centred[0], np.linalg.norm(self._scaled_mean))
            if (centred > self.precision * largest).all():
                return len(centred)
        s = np.linalg.svd(self.root, compute_uv=False)
        return int((s > self.precision * s[0]).sum())

    @cached_property
    def column_norms(self) -> Vector:
        """(k,) lengths of the columns of X."""
        return frozen(np.hypot(np.abs(self._scaled_mean), self._column_spreads))

    @cached_property
    def constant_columns(self) -> tuple[int, ...]:
        """Columns that hold one number other than 0 in all rows.

        A bias that is kept inside the factors needs such a column on the other side.
        """
        level = np.abs(self._scaled_mean)
        is_constant = self._column_spreads <= 16 * self.precision * level
        return tuple(np.flatnonzero((level > 0) & is_constant).tolist())

    @property
    def _scaled_mean(self) -> Vector:
        """`√n x̄`, the row that the mean adds to the centred root."""
        return np.asarray(np.sqrt(self.n_rows) * self.mean)

    @property
    def _column_spreads(self) -> Vector:
        """(k,) lengths of the columns of X without their means."""
        return np.asarray(np.linalg.norm(self.centred_root, axis=0))


def moments(x: Rows, *, normalise: bool = False) -> Moments:
    """Sum up a factor matrix in one pass over its rows.

    Parameters
    ----------
    x : array of shape (n, k)
        Factors; may lie on disk.
    normalise : bool
        Divide rows by their lengths first, as a model that predicts cosines does.

    Examples
    --------
    >>> m = moments(np.array([[1.0, 1.0], [3.0, 1.0]]))
    >>> m.mean.round(12), m.constant_columns
    (array([2., 1.]), (1,))
    >>> np.abs(m.centred_root).round(12)
    array([[1.41421356, 0.        ],
           [0.        , 0.        ]])
    """
    k = x.shape[1]
    stored_precision = float(np.finfo(x.dtype).eps)
    if x.dtype == np.float32 and len(x) * k > MOST_QR_ENTRIES:
        mean, root = _by_gram(x, normalise=normalise)
        precision = max(stored_precision, float(np.sqrt(k * EPS)))
        return Moments(len(x), frozen(mean), frozen(root), precision, "gram")
    mean, root = _by_qr(x, normalise=normalise)
    precision = max(stored_precision, k * EPS)
    return Moments(len(x), frozen(mean), frozen(root), precision, "qr")


def _by_qr(x: Rows, *, normalise: bool) -> tuple[Floats, Floats]:
    """Compute the mean and the centred root by QR of `[1 X]`.

    The first column is constant, so the first row of the triangle is `√n (1, x̄)`, and
    the rows below it are a root of the centred rows.
    """
    k = x.shape[1]

    def chunk_triangle(chunk: slice) -> Floats:
        triangle = np.zeros((0, k + 1))
        for block in _blocks(x, chunk, normalise=normalise):
            with_ones = np.column_stack([np.ones(len(block)), block])
            triangle = _stacked_triangle(triangle, with_ones)
        return triangle

    triangle = reduce(_stacked_triangle, map_chunks(x, chunk_triangle))
    mean = triangle[0, 1:] / triangle[0, 0]
    # Fewer rows than columns have a triangle of as many rows.
    root = np.zeros((k, k))
    root[: len(triangle) - 1] = triangle[1:, 1:]
    return mean, root


def _stacked_triangle(above: Floats, below: Floats) -> Floats:
    """Compute the triangle R of a QR decomposition of two blocks of rows."""
    return np.asarray(np.linalg.qr(np.vstack([above, below]), mode="r"))


def _by_gram(x: Rows, *, normalise: bool) -> tuple[Floats, Floats]:
    """Compute the mean and the centred root by the Gram matrix of the rows.

    The rows are summed up about the mean of the first block, so that a large mean does
    not cancel the spread.
    """
    n, k = x.shape
    first_block = next(_blocks(x, slice(0, n), normalise=normalise))
    origin = first_block.mean(axis=0)

    def chunk_sums(chunk: slice) -> tuple[Floats, Floats]:
        total, gram = np.zeros(k), np.zeros((k, k))
        for block in _blocks(x, chunk, normalise=normalise):
            block -= origin
            total += block.sum(axis=0)
            gram += block.T @ block
        return total, gram

    if k <= WIDE:
        chunks = map_chunks(x, chunk_sums)
    else:
        # A k×k matrix for each worker could exceed the memory. So chunks follow each
        # other, and the threads of the BLAS share each product.
        chunks = map(chunk_sums, row_blocks(n, k, budget=WIDE_CHUNK_BYTES))
    total, gram = np.zeros(k), np.zeros((k, k))
    for chunk_total, chunk_gram in chunks:
        total += chunk_total
        gram += chunk_gram
    shift = total / n
    gram -= n * np.outer(shift, shift)
    return origin + shift, _root_of_gram(gram)


def _blocks(x: Rows, chunk: slice, *, normalise: bool) -> Iterator[Floats]:
    """Yield the blocks of a chunk of rows in float64, of length 1 if `normalise`.

    A block is overwritten by the next one. It has at least k rows, because the steps
    between two blocks take a pass over k×k numbers.
    """
    for _, block in cached_blocks(x, chunk, least=x.shape[1]):
        if normalise:
            yield unit_rows(block, none=0)
        else:
            yield block


def _root_of_gram(gram: Floats) -> Floats:
    """Compute R with `RᵀR = G` for a positive semidefinite G, (k, k).

    The columns of X are scaled to length 1 first, so that a short column keeps its
    digits next to a long one. The Cholesky decomposition exchanges columns, so it also
    exists if the columns depend on each other.

    Examples
    --------
    >>> root = _root_of_gram(np.array([[4.0, 0.0], [0.0, 1e-40]]))
    >>> np.allclose(root.T @ root / [[4.0, 1.0], [1.0, 1e-40]], np.eye(2))
    True
    >>> root = _root_of_gram(np.ones((2, 2)))
    >>> root.T @ root
    array([[1., 1.],
           [1., 1.]])
    """
    from scipy.linalg.lapack import dpstrf

    scale = np.sqrt(np.maximum(np.diag(gram), 0))
    scale[scale == 0] = 1
    # LAPACK counts columns from 1.
    triangle, order, rank, _ = dpstrf(gram / scale[:, None] / scale)
    root = np.zeros_like(gram)
    root[:rank, order - 1] = np.triu(triangle)[:rank]
    return root * scale
