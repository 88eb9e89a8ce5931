"""Rows of a matrix, streamed in float64: lengths, unit rows, Gram matrices, samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import Floats, Indices, Matrix, Vector
from embaudit.core.parallel import fill_in_threads, parallel_map, row_blocks
from embaudit.core.tolerances import SAFE_SQUARE
from embaudit.linalg.transformed_rows import Rows

T = TypeVar("T")
CACHE_BYTES = 2**20
"""Size of a float64 block that stays in the second-level cache between two steps."""
PASS_BYTES = 2**23
"""Size of a float64 block of a pass that several threads share."""
WIDE = 256
"""Columns above which rows are long: no k×k matrix is made for each random gauge."""


def float64_blocks(x: Rows) -> Iterator[tuple[slice, Floats]]:
    """Yield `(rows, block)` with every block in contiguous float64."""
    for rows in row_blocks(*x.shape):
        yield rows, np.ascontiguousarray(x[rows], dtype=np.float64)


def map_chunks(x: Rows, function: Callable[[slice], T]) -> Iterator[T]:
    """Apply a function to slices of rows on all workers, and yield results in order.

    The function must not have side effects.
    """
    return parallel_map(function, row_blocks(*x.shape))


def cached_blocks(
    x: Rows, chunk: slice, *, least: int = 1
) -> Iterator[tuple[slice, Floats]]:
    """Yield `(rows, block)` of a chunk in float64, small enough to stay in the cache.

    A block has at least `least` rows, except for the last one. All blocks are views of
    one buffer, so each block is overwritten by the next one.
    """
    n_rows, n_columns = chunk.stop - chunk.start, x.shape[1]
    budget = max(CACHE_BYTES, 8 * least * n_columns)
    buffer: Floats | None = None
    for local in row_blocks(n_rows, n_columns, budget=budget):
        size = local.stop - local.start
        if buffer is None:
            # No later block is larger than the first one.
            buffer = np.empty((size, n_columns))
        rows = slice(chunk.start + local.start, chunk.start + local.stop)
        block = buffer[:size]
        block[...] = x[rows]
        yield rows, block


def ordered_sum(terms: Iterable[T]) -> T:
    """Add terms in their order, so that the sum does not depend on the workers.

    There must be at least one term.

    Examples
    --------
    >>> ordered_sum(iter([1, 2, 3]))
    6
    """
    return reduce(add, terms)


def sample_rows(rows: int | Indices, size: int, rng: np.random.Generator) -> Indices:
    """Draw row numbers without replacement and sort them.

    Parameters
    ----------
    rows : int or array of int
        The number of rows, or the row numbers to draw from.
    size : int
        How many rows to draw. All rows are returned if there are no more.
    rng : numpy Generator
        Source of randomness.

    Examples
    --------
    >>> sample_rows(3, 5, np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    if isinstance(rows, int | np.integer):
        pool: Indices = np.arange(int(rows))
    else:
        pool = np.asarray(rows)
    if len(pool) > size:
        pool = rng.choice(pool, size, replace=False)
    return np.sort(pool)


def row_norms(x: Rows) -> Floats:
    """Euclidean norm of every row in float64, free of overflow and underflow.

    Examples
    --------
    >>> row_norms(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    array([5.e+200, 5.e-200, 0.e+000])
    """
    norms = np.empty(len(x))

    def fill(rows: slice) -> None:
        norms[rows] = block_norms(np.ascontiguousarray(x[rows], dtype=np.float64))

    fill_in_threads(fill, row_blocks(*x.shape, budget=PASS_BYTES))
    return norms


def block_norms(block: Floats) -> Floats:
    """Compute `row_norms` of one block of rows."""
    with np.errstate(over="ignore", under="ignore"):
        norms: Floats = np.sqrt(np.einsum("ij,ij->i", block, block))
    is_extreme = (norms < SAFE_SQUARE) | (norms > 1 / SAFE_SQUARE)
    if is_extreme.any():
        largest, _, scaled_norms = _scaled(block[is_extreme])
        # A norm above the largest float64 is infinite; callers refuse such rows.
        with np.errstate(over="ignore"):
            norms[is_extreme] = largest * scaled_norms
    return norms


def _scaled(rows: Floats) -> tuple[Vector, Floats, Vector]:
    """Divide each row by its largest entry, so that no square overflows or vanishes.

    Returns
    -------
    tuple
        The largest absolute entries, (m,), the scaled rows, (m, k), and the norms of
        the scaled rows, (m,). Rows of zeros stay zeros.
    """
    largest = np.abs(rows).max(axis=1, initial=0)
    divisors = np.where(largest > 0, largest, 1)
    scaled = rows / divisors[:, None]
    return largest, scaled, np.sqrt(np.einsum("ij,ij->i", scaled, scaled))


@overload
def unit_rows(x: Rows, *, none: float = np.nan) -> Floats: ...
@overload
def unit_rows(x: Rows, *, none: float = np.nan, dtype: DTypeLike) -> Matrix: ...
def unit_rows(
    x: Rows, *, none: float = np.nan, dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    """Divide every row by its norm, which is computed in float64.

    Parameters
    ----------
    x : array of shape (n, k)
        Rows; may lie on disk.
    none : float
        Entry of zero rows, which have no direction: NaN, or 0 for a cosine of 0 with
        every row.
    dtype : dtype
        Type of the result.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8], [nan, nan]])
    >>> unit_rows(np.array([[3e200, 4e200], [0.0, 0.0]]), none=0)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    unit = np.empty(x.shape, dtype=dtype)
    for rows in row_blocks(*x.shape, budget=CACHE_BYTES):
        _divide(np.ascontiguousarray(x[rows], dtype=np.float64), none, unit[rows])
    return unit


def _divide(block: Floats, none: float, unit: NDArray[Any]) -> None:
    """Divide a block of rows by their norms and write the result to `unit`."""
    norms = block_norms(block)
    is_zero = norms == 0
    norms[is_zero] = 1
    np.divide(block, norms[:, None], out=unit, casting="same_kind")
    unit[is_zero] = none
    # A subnormal norm has lost digits, and the norm of large rows can be infinite.
    is_inexact = (norms < np.finfo(np.float64).smallest_normal) | np.isinf(norms)
    if is_inexact.any():
        _, scaled, scaled_norms = _scaled(block[is_inexact])
        unit[is_inexact] = scaled / scaled_norms[:, None]


def gram(x: Matrix) -> Floats:
    """Compute `xᵀx`, k×k, streamed over rows in float64."""
    products: Floats = np.zeros((x.shape[1], x.shape[1]))
    for _, block in float64_blocks(x):
        products += block.T @ block
    return products


def triangular_factor(x: Matrix, weights: Vector | None = None) -> Floats:
    """Compute R with `RᵀR = xᵀx` by QR of a block of rows at a time.

    Unlike a Gram matrix, QR does not square the condition number. With weights w of
    the rows, (n,), it is `RᵀR = xᵀ diag(w) x`.

    Examples
    --------
    >>> np.abs(triangular_factor(np.array([[3.0], [4.0]])))
    array([[5.]])
    >>> np.abs(triangular_factor(np.array([[1.0], [2.0]]), np.array([9.0, 4.0])))
    array([[5.]])
    """
    triangle: Floats = np.zeros((0, x.shape[1]))
    for rows, block in float64_blocks(x):
        if weights is not None:
            block = block * np.sqrt(weights[rows, None])
        # The triangle so far has the inner products of all earlier rows.
        stacked = np.vstack([triangle, block])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return triangle
