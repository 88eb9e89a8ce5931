"""Factor validation, dtype policy, row norms and row blocks, the unit of out-of-core work.

Factors keep the precision they are stored in (float32 or float64) and may lie on disk; every
computation reads them a block of rows at a time and works in float64.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.errors import must_be

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Two-dimensional, rows are entities, columns are latent dimensions."""
Vector: TypeAlias = NDArray[np.floating[Any]]
"""One-dimensional, one number an entity or a latent dimension."""
Indices: TypeAlias = NDArray[np.integer[Any]]

T = TypeVar("T")
S = TypeVar("S")

BLOCK_BYTES = 32 * 2**20
"""Working memory of one row block in float64."""
WORKERS = 2
"""Threads that share tiles; each runs its own single-threaded BLAS."""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: the caller's own array stays writeable, ours cannot be changed by mistake."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def row_blocks(n_rows: int, n_columns: int, *, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut `n_rows` into consecutive slices whose float64 block of `n_columns` stays within `budget` bytes.

    Examples
    --------
    >>> list(row_blocks(5, 1, budget=16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def float64_blocks(x: Matrix) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield `(rows, block)` with every block in contiguous float64, whatever `x` is stored as."""
    for rows in row_blocks(*x.shape):
        yield rows, np.ascontiguousarray(x[rows], dtype=np.float64)


def ordered_map(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Map in `WORKERS` threads, in order, holding only a few results at a time.

    BLAS is limited to one thread meanwhile: nested thread pools spin against each other.
    """
    from collections import deque

    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(WORKERS) as pool:
        waiting = deque[Any]()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def is_number(value: object) -> bool:
    """Whether a parameter is one finite real number.

    Examples
    --------
    >>> is_number(2.5), is_number(np.float32(1)), is_number("2"), is_number(float("nan"))
    (True, True, False, False)
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(np.isfinite(value))


def _as_array(array: ArrayLike, name: str) -> NDArray[Any]:
    """Make an array without copying one; refuse rows of different lengths and hidden entries."""
    try:
        given = np.asanyarray(array)
    except ValueError as error:
        raise must_be(name, "a rectangular array", "rows that differ in length") from error
    if np.ma.is_masked(given):
        raise must_be(name, "finite", "masked entries", "fill them or drop their rows")
    return given


def as_rows(rows: ArrayLike, n_rows: int, name: str = "rows") -> NDArray[np.intp]:
    """Check a vector of row numbers from 0 to `n_rows - 1`; a mask or a fraction is refused, not cast.

    Examples
    --------
    >>> as_rows([True, False], 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rows must be a vector of integers; got bool of shape (2,); np.flatnonzero turns ...
    """
    given = _as_array(rows, name)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        remedy = "np.flatnonzero turns a mask into row numbers" if given.dtype == bool else ""
        raise must_be(name, "a vector of integers", f"{given.dtype} of shape {given.shape}", remedy)
    outside = (given < 0) | (given >= n_rows)
    if outside.any():
        raise must_be(name, f"row numbers from 0 to {n_rows - 1}", given[outside][0])
    return given.astype(np.intp)


def _storage(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Keep float32 and float64 as they are; widen what is narrower; refuse what is no number."""
    kind = array.dtype
    if kind in (np.float32, np.float64):
        return array
    if kind.kind not in "fiu":
        raise must_be(name, "an array of real numbers", f"dtype {kind}", "convert it to float32 or float64")
    return array.astype(np.float32 if kind == np.float16 else np.float64)


def _require_finite(array: Matrix, name: str) -> None:
    for rows in row_blocks(*array.shape):
        finite = np.isfinite(array[rows])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = array[rows.start + row, column]
            where = f"{value} at row {rows.start + row}, column {column}"
            raise must_be(name, "finite", where, "repair or drop that row")


def as_factors(array: ArrayLike, name: str) -> Matrix:
    """Check a factor matrix and return it read-only, in the precision it was stored in.

    Parameters
    ----------
    array : array_like of shape (n, k)
        Rows are entities. float32 and float64 are kept (a memory map stays on disk), float16 becomes
        float32, integers become float64.
    name : str
        What to call it in an error.

    Returns
    -------
    Matrix
        A read-only view or a converted copy; zero rows are allowed, they only have no cosine.

    Raises
    ------
    InputError
        If it is not two-dimensional, is empty, holds no real numbers or a non-finite entry.

    Examples
    --------
    >>> as_factors([[1, 2], [3, 4]], "item_factors").dtype
    dtype('float64')
    >>> as_factors([[1.0, float("nan")]], "item_factors")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item_factors must be finite; got nan at row 0, column 1; repair or drop that row.
    """
    given = _as_array(array, name)
    if given.ndim != 2 or 0 in given.shape:
        got = f"shape {given.shape}" if given.ndim else f"one {type(array).__name__}"
        raise must_be(name, "a matrix with at least one row and one column", got)
    stored = _storage(given, name)
    _require_finite(stored, name)
    return frozen(stored)


def as_vector(array: ArrayLike, name: str, length: int) -> Vector:
    """Check a vector of `length` finite numbers and return it read-only in float64.

    Examples
    --------
    >>> as_vector([1, 2], "item_bias", 3)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: item_bias must be a vector of 3 numbers; got shape (2,).
    """
    given = _as_array(array, name)
    if given.shape != (length,):
        raise must_be(name, f"a vector of {length} numbers", f"shape {given.shape}")
    stored = np.array(_storage(given, name), dtype=np.float64)
    _require_finite(stored[:, None], name)
    return frozen(stored)


def row_norms(x: Matrix) -> NDArray[np.float64]:
    """Euclidean norm of every row in float64, free of overflow and underflow.

    Examples
    --------
    >>> row_norms(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    array([5.e+200, 5.e-200, 0.e+000])
    """
    norms = np.empty(len(x))
    for rows, block in float64_blocks(x):
        norms[rows] = _block_norms(block)
    return norms


def _block_norms(block: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", block, block))
    extreme = (norms < 1e-140) | (norms > 1e140)
    if extreme.any():
        largest = np.abs(block[extreme]).max(axis=1, keepdims=True)
        scaled = np.divide(block[extreme], largest, out=np.zeros_like(block[extreme]), where=largest > 0)
        norms[extreme] = largest[:, 0] * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return norms


def unit_rows(x: Matrix) -> NDArray[np.float64]:
    """Divide every row by its norm, in float64; a zero row has no direction and becomes NaN.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8], [nan, nan]])
    """
    unit = np.empty(x.shape)
    for rows, block in float64_blocks(x):
        unit[rows] = _block_units(block)
    return unit


def _block_units(block: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = _block_norms(block)
    norms[norms == 0] = np.nan
    unit = block / norms[:, None]
    subnormal = np.flatnonzero(norms < 1e-290)
    if len(subnormal):
        # Division by the largest entry first: a subnormal norm has lost digits.
        scaled = block[subnormal] / np.abs(block[subnormal]).max(axis=1, keepdims=True)
        unit[subnormal] = scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return unit


def directions(x: Matrix) -> Matrix:
    """Compute `unit_rows`, stored as precisely as `x`: what many cosines are taken from at once."""
    unit = np.empty(x.shape, dtype=x.dtype)
    for rows, block in float64_blocks(x):
        unit[rows] = _block_units(block)
    return unit


def gram(x: Matrix, y: Matrix | None = None) -> NDArray[np.float64]:
    """Compute `xᵀy` (`xᵀx` without `y`), k×k, streamed over rows in float64."""
    y = x if y is None else y
    total = np.zeros((x.shape[1], y.shape[1]))
    for rows, block in float64_blocks(x):
        total += block.T @ (block if y is x else np.asarray(y[rows], dtype=np.float64))
    return total


def triangular_factor(x: Matrix) -> NDArray[np.float64]:
    """Compute R with `RᵀR = xᵀx` by streamed QR, which does not square the condition number as a Gram matrix does.

    Examples
    --------
    >>> np.abs(triangular_factor(np.array([[3.0], [4.0]])))
    array([[5.]])
    """
    factor: NDArray[np.float64] = np.zeros((0, x.shape[1]))
    for _, block in float64_blocks(x):
        factor = np.asarray(np.linalg.qr(np.vstack([factor, block]), mode="r"))
    return factor
