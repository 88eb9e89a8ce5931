"""Cosines of pairs and of tiles, pair sampling, and exact top-N neighbours that never build a p×p matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.arrays import Indices, Matrix, as_rows, ordered_map, row_blocks, unit_rows
from embaudit.errors import must_be

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

TILE = 512
"""Rows of a square tile: two of them, in float64, stay in the second-level cache."""
TIE = 1e-9
"""Cosines closer than this are one cosine: rows of one direction differ by rounding only."""


def as_pairs(pairs: ArrayLike, n_rows: int, n_columns: int) -> NDArray[np.intp]:
    """Check that `pairs` are (m, 2) row numbers, the first below `n_rows`, the second below `n_columns`.

    Examples
    --------
    >>> as_pairs([[0, 3]], 2, 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be row numbers from 0 to 1 and from 0 to 1; got (0, 3).
    """
    try:
        given = np.asarray(pairs)
    except ValueError as error:
        raise must_be("pairs", "integers of shape (m, 2)", "rows that differ in length") from error
    if given.ndim != 2 or given.shape[1] != 2 or (given.size and given.dtype.kind not in "iu"):
        raise must_be("pairs", "integers of shape (m, 2)", f"{given.dtype} of shape {given.shape}")
    outside = (given < 0) | (given >= (n_rows, n_columns))
    if outside.any():
        i, j = given[outside.any(axis=1)][0]
        raise must_be("pairs", f"row numbers from 0 to {n_rows - 1} and from 0 to {n_columns - 1}", f"({i}, {j})")
    return given.astype(np.intp)


def pair_cosines(x: Matrix, y: Matrix, pairs: ArrayLike) -> NDArray[np.float64]:
    """Compute `cos(x_i, y_j)` for each pair (i, j), a block of pairs at a time.

    Parameters
    ----------
    x, y : array of shape (n, k) and (p, k)
        The two sides; the same matrix for same-side pairs.
    pairs : array of shape (m, 2)
        Row numbers.

    Returns
    -------
    array of shape (m,)
        Within [-1, 1]; NaN where a row is zero.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> pair_cosines(x, x, [[0, 1]]).round(4)
    array([0.7071])
    """
    index = as_pairs(pairs, len(x), len(y))
    cosines = np.empty(len(index))
    for rows in row_blocks(len(index), 4 * x.shape[1]):
        i, j = index[rows].T
        np.einsum("ij,ij->i", unit_rows(x[i]), unit_rows(y[j]), out=cosines[rows])
    return np.clip(cosines, -1, 1, out=cosines)


def n_pairs(n_rows: int, n_columns: int | None = None) -> int:
    """Count the pairs i < j of `n_rows`, or all pairs of rows and columns."""
    return n_rows * (n_rows - 1) // 2 if n_columns is None else n_rows * n_columns


def all_pairs(n_rows: int) -> NDArray[np.intp]:
    """List every pair i < j.

    Examples
    --------
    >>> all_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.column_stack(np.triu_indices(n_rows, 1))


def sample_pairs(
    n_rows: int, size: int, *, n_columns: int | None = None, rng: np.random.Generator | int | None = None
) -> NDArray[np.intp]:
    """Draw pairs uniformly, with replacement: i < j of one side, or (i, j) of two.

    Parameters
    ----------
    n_rows : int
        Rows of the side, or of the left side.
    size : int
        How many pairs.
    n_columns : int, optional
        Rows of the right side, for left-right pairs.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    array of shape (size, 2)

    Examples
    --------
    >>> sample_pairs(2, 3, rng=0).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    if n_columns is None and n_rows < 2:
        raise must_be("the number of rows", "at least 2 to form a pair", n_rows)
    if size < 0:
        raise must_be("size", "at least 0", size)
    draw = np.random.default_rng(rng)
    i = draw.integers(n_rows, size=size)
    if n_columns is not None:
        return np.column_stack([i, draw.integers(n_columns, size=size)])
    # Another row than i, uniformly: skip i by shifting what lies above it.
    j = draw.integers(n_rows - 1, size=size)
    j += j >= i
    return np.sort(np.column_stack([i, j]), axis=1)


@dataclass(frozen=True)
class Neighbours:
    """The exact top-N of some rows by cosine, best first, the row itself left out."""

    rows: Indices
    """The rows asked for."""
    indices: Indices
    """(m, N) their neighbours; equal cosines in order of row number; -1 where no row with a direction is left."""
    cosines: NDArray[np.float64]
    """(m, N) the cosines, NaN where there is no neighbour."""
    runner_up: NDArray[np.float64]
    """(m,) the cosine of the first excluded row, -inf where none is left, NaN for a row without direction."""


def _top(tile: NDArray[np.float64], n: int) -> tuple[Indices, NDArray[np.float64], NDArray[np.float64]]:
    """Best `n` of each row of a tile of cosines; ties by row number."""
    keep = min(n + 1, tile.shape[1])
    candidates = np.sort(np.argpartition(-tile, keep - 1, axis=1)[:, :keep], axis=1)
    values = np.take_along_axis(tile, candidates, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    candidates, values = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(values, order, axis=1)
    runner_up = values[:, n] if values.shape[1] > n else np.full(len(tile), -np.inf)
    best = candidates[:, :n]
    # A tie across the cut leaves it to the partition who is in: settle it by row number too.
    tied = values[:, n - 1] == runner_up
    best[tied] = np.argsort(-tile[tied], axis=1, kind="stable")[:, :n]
    none = ~np.isfinite(values[:, :n])
    return np.where(none, -1, best), np.where(none, np.nan, values[:, :n]), runner_up


def neighbour_tiles(unit: Matrix, rows: Indices) -> Iterator[tuple[Indices, NDArray[np.float64]]]:
    """Yield `(rows, cosines to every row)` in tiles.

    A row itself and rows without direction are -inf; to a row without direction every cosine is NaN.
    """
    known = np.nan_to_num(unit)
    empty = np.isnan(unit[:, 0])

    def tile(part: slice) -> tuple[Indices, NDArray[np.float64]]:
        chosen = rows[part]
        cosines = known[chosen] @ known.T
        np.clip(cosines, -1, 1, out=cosines)
        cosines[:, empty] = -np.inf
        cosines[np.arange(len(chosen)), chosen] = -np.inf
        cosines[empty[chosen]] = np.nan
        return chosen, cosines

    yield from ordered_map(tile, row_blocks(len(rows), len(unit)))


def neighbours(x: Matrix, n: int = 10, *, rows: ArrayLike | None = None) -> Neighbours:
    """Find the exact `n` nearest rows by cosine.

    Parameters
    ----------
    x : array of shape (p, k)
        The side to search; rows without direction are nobody's neighbour and have none.
    n : int
        How many neighbours; at most p - 1.
    rows : array of int, optional
        For which rows; all by default.

    Returns
    -------
    Neighbours

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> neighbours(x, 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    if len(x) < 2:
        raise must_be("the number of rows", "at least 2 to have neighbours", len(x))
    if not isinstance(n, int | np.integer) or not 1 <= n < len(x):
        raise must_be("the number of neighbours", f"an integer from 1 to {len(x) - 1}", repr(n))
    chosen = np.arange(len(x)) if rows is None else as_rows(rows, len(x))
    if not len(chosen):
        raise must_be("rows", "at least one row number", "none")
    parts = [(part, *_top(tile, int(n))) for part, tile in neighbour_tiles(unit_rows(x), chosen)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Neighbours(*columns)
