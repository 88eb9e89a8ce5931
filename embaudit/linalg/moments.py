"""One pass over one side of a model: its mean row and a small matrix with the same inner products.

A factor matrix X of any height is summed up by its mean row and by a k×k root R of its centred Gram
matrix, `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`. Everything a linear gauge can do to cosines is read from the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector, frozen
from embaudit.core.parallel import fill_in_threads, one_blas_thread, row_blocks
from embaudit.core.tolerances import EPS
from embaudit.linalg.rows import WIDE, cached_blocks, each_chunk, in_order, unit_rows

Route: TypeAlias = Literal["qr", "gram"]
AFFORDABLE = 2**24
"""Entries up to which float32 factors take the slower QR route too."""
WIDE_BYTES = 2**26
"""A float64 block of rows of very many columns: as few passes over a k×k matrix as
memory allows for.
"""
STRIP = 512
"""Columns of a Gram matrix computed at a time."""
EXACT_PRODUCTS = 2**38
"""Number of products up to which a Gram matrix is always computed in float64."""
ENTERING, FEWER = 1.5, 8
"""Rows a dimension, at least, that prove a rank above that, spread evenly over all, and
how many times as many are.
"""
EVEN = 16.0
"""Scales of columns within this of each other need not be evened out."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of one pass over an n×k factor matrix."""

    n_rows: int
    """Number of rows n."""
    mean: Vector
    """(k,) the mean row."""
    centred_root: Matrix
    """(k, k) R with `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`."""
    precision: float
    """Relative to the largest one, the singular values that the numbers and the route
    can tell from zero.
    """
    route: Route
    """QR (errors relative to X) or the Gram matrix (relative to its square, in
    float64).
    """
    found_axes: tuple[Vector, Matrix] | None = None
    """`axes`, where the route gave them."""
    inverse_root: Matrix | None = None
    """(k, k) inverse of the centred root, a triangle, where it proves that all
    dimensions are spanned.
    """
    lengths: Vector | None = None
    """(k,) lengths of the columns of X, where the root is one in float32; see
    `outlined`.
    """

    @cached_property
    def root(self) -> Matrix:
        """(k, k) R with `RᵀR = XᵀX`, the rows as they are."""
        stacked = np.vstack([np.sqrt(self.n_rows) * self.mean, self.centred_root])
        return frozen(np.asarray(np.linalg.qr(stacked, mode="r")))

    @cached_property
    def axes(self) -> tuple[Vector, Matrix]:
        """Singular values of the centred root, the largest first, and its right singular vectors as rows."""
        if self.found_axes is not None:
            return self.found_axes
        if self.inverse_root is not None:
            return _spectrum(self.centred_root.T @ self.centred_root)
        _, s, vt = np.linalg.svd(self.centred_root)
        return frozen(s), frozen(vt)

    @cached_property
    def right_inverse(self) -> Matrix | None:
        """(k, r) T with `R T = I`, where it proves that long rows span all the r dimensions that they can."""
        if (
            self.inverse_root is not None
            or self.route == "gram"
            or len(self.mean) <= WIDE
        ):
            return self.inverse_root
        rows = self.centred_root[: self.n_rows - 1]
        inverse = _right_inverse(rows)
        size = float(np.sqrt(self.n_rows) * np.linalg.norm(self.mean))
        return (
            frozen(inverse)
            if inverse is not None and _spans(rows, inverse, size, self.precision)
            else None
        )

    @cached_property
    def rank(self) -> int:
        """Dimensions that the rows as they are span, as far as `precision` can tell.

        Examples
        --------
        >>> moments(np.array([[1.0, 1.0], [3.0, 1.0]])).rank, moments(np.array([[1.0, 1.0], [3.0, 3.0]])).rank
        (2, 1)
        """
        row = np.sqrt(self.n_rows) * self.mean
        if self.right_inverse is not None:
            rank = _rank_by_inverse(
                self.centred_root, self.right_inverse, row, self.precision
            )
            if rank is not None:
                return rank
        s = np.linalg.svd(self.root, compute_uv=False)
        return int((s > self.precision * s[0]).sum())

    @cached_property
    def column_norms(self) -> Vector:
        """(k,) lengths of the columns of X."""
        if self.lengths is not None:
            return self.lengths
        spread = np.linalg.norm(self.centred_root, axis=0)
        return frozen(np.hypot(np.sqrt(self.n_rows) * np.abs(self.mean), spread))

    @cached_property
    def constant_columns(self) -> tuple[int, ...]:
        """Columns that hold one number other than 0 in every row, as a bias kept inside the factors needs."""
        spread = np.linalg.norm(self.centred_root, axis=0)
        level = np.sqrt(self.n_rows) * np.abs(self.mean)
        return tuple(
            np.flatnonzero(
                (level > 0) & (spread <= 16 * self.precision * level)
            ).tolist()
        )


def _spans(root: Matrix, inverse: Matrix, size: float, precision: float) -> bool:
    """Check that a root R surely spans all dimensions, beside a mean of a size.

    In Frobenius norms no singular value is larger than `‖R‖`, and none smaller than `1/‖R⁻¹‖`.
    """
    return bool(
        1 / np.linalg.norm(inverse) > precision * np.hypot(np.linalg.norm(root), size)
    )


def _rank_by_inverse(
    root: Matrix, inverse: Matrix, row: Vector, precision: float
) -> int | None:
    """Count the dimensions of the rows of a root and of one more by an inverse; None where its norm leaves it open.

    With T of r columns in the span of the rows of R, `R T = I`, and the part w'' of the
    row w at right angles to these, the inverse of `[w; R]` in the dimensions that both
    span has the Frobenius norm `√(‖T‖² + (1 + ‖wT‖²)/‖w''‖²)`; and the largest singular
    value of R is at least `‖R‖/√r`.

    Parameters
    ----------
    root : array of shape (m, k)
        R, whose rows after the first r are zero.
    inverse : array of shape (k, r)
        T, by which `_spans` holds.
    row : array of shape (k,)
        w.
    precision : float
        What a singular value must exceed, relative to the largest.

    Examples
    --------
    >>> root = np.array([[3.0, 0.0], [0.0, 0.0]])
    >>> [_rank_by_inverse(root, np.array([[1 / 3], [0.0]]), np.array([1.0, x]), 1e-9) for x in (1.0, 1e-10, 3.1e-9)]
    [2, 1, None]
    """
    k, r = (int(size) for size in inverse.shape)
    if r == k:
        return k
    along, spread, length = (
        row @ inverse,
        float(np.linalg.norm(root)),
        float(np.linalg.norm(row)),
    )
    # `w T R` is the part of w within the span of R's rows.
    beyond = float(np.linalg.norm(row - along @ root[:r]))
    # The largest singular value is at least ‖R‖/√r and ‖w‖: a rest below the precision
    # of that adds no dimension.
    if beyond <= precision * max(spread / np.sqrt(r), length):
        return r
    # 1/‖inverse‖ bounds the smallest singular value from below, ‖[w; R]‖ the largest
    # from above.
    least = 1 / np.sqrt(np.square(inverse).sum() + (1 + along @ along) / beyond**2)
    return r + 1 if least > precision * np.hypot(spread, length) else None


def moments(x: Matrix, *, normalise: bool = False) -> Moments:
    """Sum up a factor matrix in one streamed pass.

    QR of `[1 X]`, a block of rows at a time, holds the mean in its first row and the
    centred root below it, and does not square the condition number. Large float32
    matrices take the Gram matrix in float64 instead, ten times faster: what its square
    loses (singular values below √(k·eps) = 1e-7 of the largest) is below what float32
    holds.

    Parameters
    ----------
    x : array of shape (n, k)
        Factors; may lie on disk.
    normalise : bool
        Take rows of length 1 instead, as a model that predicts cosines does.

    Examples
    --------
    >>> m = moments(np.array([[1.0, 1.0], [3.0, 1.0]]))
    >>> m.mean.round(12), np.abs(m.centred_root).round(12), m.constant_columns
    (array([2., 1.]), array([[1.41421356, 0.        ],
           [0.        , 0.        ]]), (1,))
    """
    use_gram = x.dtype == np.float32 and x.size > AFFORDABLE
    k = x.shape[1]
    precision = max(
        k * EPS, float(np.finfo(x.dtype).eps), np.sqrt(k * EPS) if use_gram else 0.0
    )
    if not use_gram:
        mean, root = _by_qr(x, normalise=normalise)
        return Moments(len(x), frozen(mean), frozen(root), precision, "qr")
    mean, gram = (_wide_gram if k > WIDE else _centred_gram)(x, normalise=normalise)
    sizes = np.diag(gram)
    if k <= WIDE or not 0 < sizes.max() <= EVEN**2 * sizes.min():
        return Moments(len(x), frozen(mean), frozen(gram_root(gram)), precision, "gram")
    roots = _triangles(gram)
    if roots is not None and _spans(
        *roots, float(np.sqrt(len(x)) * np.linalg.norm(mean)), precision
    ):
        root, inverse = map(frozen, roots)
        return Moments(
            len(x), frozen(mean), root, precision, "gram", inverse_root=inverse
        )
    s, vt = _spectrum(gram)
    return Moments(
        len(x), frozen(mean), frozen(s[:, None] * vt), precision, "gram", (s, vt)
    )


def _spectrum(gram: Floats) -> tuple[Vector, Matrix]:
    """Singular values of a root of a Gram matrix, the largest first, and its right singular vectors as rows.

    Examples
    --------
    >>> s, vt = _spectrum(np.diag([1.0, 9.0]))
    >>> s, np.abs(vt)
    (array([3., 1.]), array([[0., 1.],
           [1., 0.]]))
    """
    values, vectors = np.linalg.eigh(gram)
    return frozen(np.sqrt(np.maximum(values[::-1], 0))), frozen(vectors.T[::-1])


def _triangles(gram: Floats) -> tuple[Floats, Floats] | None:
    """Factor a Gram matrix as `RᵀR`, R triangular, and invert R: a tenth of what its axes take; None if it is singular.

    Examples
    --------
    >>> root, inverse = _triangles(np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> root.tolist(), inverse.diagonal().tolist()
    ([[2.0, 0.0], [0.0, 1.0]], [0.5, 1.0])
    >>> _triangles(np.ones((2, 2))) is None
    True
    """
    from scipy.linalg import LinAlgError, cholesky

    try:
        # The transpose, which is the same matrix, is stored as LAPACK reads it.
        root = cholesky(gram.T, check_finite=False)
    except LinAlgError:
        return None
    inverse = _inverse(root)
    return None if inverse is None else (root, inverse)


def _right_inverse(root: Matrix) -> Floats | None:
    """Compute the shortest T with `R T = I`, of a triangle R; None if there is none.

    Where it has more columns than rows, T is `Q L⁻ᵀ`, with the QR `Q L` of its
    transpose.

    Examples
    --------
    >>> _right_inverse(np.array([[4.0, 0.0, 3.0]])).round(12).ravel()
    array([0.16, 0.  , 0.12])
    """
    if len(root) == root.shape[1]:
        return _inverse(root)
    # Threads of the BLAS would wait for each other longer than they compute where
    # others use the cores, too.
    with one_blas_thread():
        q, triangle = np.linalg.qr(root.T)
    inverse = _inverse(triangle)
    return None if inverse is None else np.asarray(q @ inverse.T)


def _inverse(triangle: Matrix) -> Floats | None:
    """Invert an upper triangle; None where it is singular."""
    from scipy.linalg.lapack import dtrtri

    inverse, failed = dtrtri(triangle)
    return None if failed else np.asarray(inverse)


def outlined(x: Matrix, *, exact_products: int = EXACT_PRODUCTS) -> Moments | None:
    """Sum up very many long rows: column means and lengths in float64, the root in float32.

    The root is meant for whitening: its error is about a millionth of the largest
    singular value. A sample of the rows proves in float64 that all dimensions are
    spanned, because further rows make no singular value smaller. Return None if the
    sample does not prove it, or if `moments` costs as little.

    Parameters
    ----------
    x : array of shape (n, k)
        Rows in float32; other types return None.
    exact_products : int
        Return None if the Gram matrix of the rows takes at most so many products.
    """
    n, k = x.shape
    every = int(n // (ENTERING * k))
    if n * k * k <= exact_products or every < FEWER or x.dtype != np.float32:
        return None
    # Rows at equal distances, in float64: their rank is a lower bound of that of all
    # rows.
    sampled, (total, squares) = moments(x[::every]), _column_sums(x)
    mean, most = total / n, float(np.sqrt(squares.sum()))
    inverse = sampled.right_inverse
    if inverse is None or not _spans(
        sampled.centred_root, inverse, most, sampled.precision
    ):
        return None
    roots = _triangles(_single_gram(x, mean))
    if roots is None:
        return None
    root, inverse = map(frozen, roots)
    lengths = frozen(np.sqrt(squares))
    return Moments(
        n,
        frozen(mean),
        root,
        sampled.precision,
        "gram",
        inverse_root=inverse,
        lengths=lengths,
    )


def _single_gram(x: Matrix, mean: Floats) -> Floats:
    """Add up the products of rows less their mean in float32, a block at a time, in float64."""
    gram, middle = np.zeros((x.shape[1],) * 2), mean.astype(np.float32)
    for rows in row_blocks(*x.shape, budget=WIDE_BYTES):
        add_gram(gram, x[rows] - middle)
    # Far from the origin float32 holds no number as near to the mean as the rows'
    # spread asks for.
    _move_to_mean(gram, mean - middle, len(x))
    mirror(gram)
    return gram


def _move_to_mean(gram: Floats, shift: Floats, n: int) -> None:
    """Turn the products of n rows about a point into those about their mean, which lies at a shift from it."""
    for start in range(0, len(gram), STRIP):
        gram[start:, start : start + STRIP] -= n * np.outer(
            shift[start:], shift[start : start + STRIP]
        )


def _column_sums(x: Matrix) -> tuple[Floats, Floats]:
    """Return the sums of the columns, and of their squares."""

    def summed(chunk: slice) -> Floats:
        sums = np.zeros((2, x.shape[1]))
        for _, block in cached_blocks(x, chunk):
            sums += [block.sum(axis=0), np.einsum("ij,ij->j", block, block)]
        return sums

    total, squares = in_order(each_chunk(x, summed))
    return total, squares


def _qr(blocks: list[Floats]) -> Floats:
    return np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))


def _by_qr(x: Matrix, *, normalise: bool) -> tuple[Vector, Matrix]:
    """Compute mean and centred root by QR of the rows with a column of ones before them."""
    k = x.shape[1]

    def triangle(chunk: slice) -> Floats:
        factor = np.zeros((0, k + 1))
        for block in _chunk_blocks(x, chunk, normalise=normalise):
            factor = _qr([factor, np.column_stack([np.ones(len(block)), block])])
        return factor

    factor, *factors = each_chunk(x, triangle)
    for other in factors:
        factor = _qr([factor, other])
    missing = np.zeros((k + 1 - len(factor), k + 1))
    # The first column of [1 X] is constant, so the first row of its triangle is √n (1,
    # mean) and the rows below are centred.
    return factor[0, 1:] / factor[0, 0], np.vstack([factor, missing])[1:, 1:]


def _chunk_blocks(x: Matrix, chunk: slice, *, normalise: bool) -> Iterator[Floats]:
    """Yield the cached blocks of a chunk, their rows of length 1 if `normalise`; of wide rows at least k."""
    for _, block in cached_blocks(x, chunk, least=x.shape[1]):
        yield unit_rows(block, none=0) if normalise else block


def _centred_gram(x: Matrix, *, normalise: bool) -> tuple[Vector, Floats]:
    """Accumulate sums about a provisional mean, so that a large mean does not cancel the spread."""
    k = x.shape[1]
    origin = next(
        iter(_chunk_blocks(x, slice(0, min(4096, len(x))), normalise=normalise))
    ).mean(axis=0)

    def sums(chunk: slice) -> tuple[Floats, Floats]:
        gram, total = np.zeros((k, k)), np.zeros(k)
        for block in _chunk_blocks(x, chunk, normalise=normalise):
            block -= origin
            gram += block.T @ block
            total += np.ones(len(block)) @ block
        return gram, total

    gram, total = np.zeros((k, k)), np.zeros(k)
    for part_gram, part_total in each_chunk(x, sums):
        gram += part_gram
        total += part_total
    shift = total / len(x)
    return origin + shift, gram - len(x) * np.outer(shift, shift)


def _wide_gram(x: Matrix, *, normalise: bool) -> tuple[Vector, Floats]:
    """Do the same for very many columns: one k×k matrix in all, whose strips are shared out, and large blocks."""
    k = x.shape[1]
    gram, total, origin = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for rows in row_blocks(*x.shape, budget=WIDE_BYTES):
        block = np.array(x[rows], dtype=np.float64)
        block = unit_rows(block, none=0) if normalise else block
        origin = block.mean(axis=0) if rows.start == 0 else origin
        block -= origin
        total += block.sum(axis=0)
        add_gram(gram, block)
    shift = total / len(x)
    _move_to_mean(gram, shift, len(x))
    mirror(gram)
    return origin + shift, gram


def add_gram(gram: Floats, block: Matrix) -> None:
    """Add `XᵀX` of a block of rows to a matrix, in strips that threads share; above the diagonal it is left unfinished.

    Examples
    --------
    >>> gram = np.zeros((2, 2))
    >>> add_gram(gram, np.array([[1.0, 2.0]]))
    >>> mirror(gram)
    >>> gram
    array([[1., 2.],
           [2., 4.]])
    """

    def add(start: int) -> None:
        strip, below = slice(start, start + STRIP), slice(start + STRIP, None)
        columns = block[:, strip]
        # Products of a matrix with itself are made by half.
        gram[strip, strip] += columns.T @ columns
        gram[below, strip] += block[:, below].T @ columns

    fill_in_threads(add, range(0, len(gram), STRIP))


def mirror(gram: Floats) -> None:
    """Copy what is below the diagonal above it."""
    for start in range(0, len(gram), STRIP):
        gram[start : start + STRIP, start:] = gram[start:, start : start + STRIP].T


def gram_root(gram: Floats) -> Floats:
    """Compute R with `RᵀR = G` for a positive semidefinite G, whatever the scales of its columns.

    Examples
    --------
    >>> r = gram_root(np.array([[4.0, 0.0], [0.0, 1e-40]]))
    >>> np.allclose(r.T @ r / [[4.0, 1], [1, 1e-40]], np.eye(2))
    True
    """
    scale = np.sqrt(np.maximum(np.diag(gram), 0))
    scale[scale == 0] = 1
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    root: Floats = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * scale
    return root
