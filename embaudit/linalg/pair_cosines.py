"""Cosines of pairs of rows: of listed pairs, or of all pairs of a few rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.linalg.pairs import as_pairs
from embaudit.linalg.rows import CACHE_BYTES, unit_rows
from embaudit.linalg.transformed_rows import Rows


def pair_cosines(x: Rows, y: Rows, pairs: ArrayLike) -> Floats:
    """Compute `cos(x_i, y_j)` for each pair (i, j), a block of pairs at a time.

    Parameters
    ----------
    x, y : array of shape (n, k) and (p, k)
        The two sides. Pass the same object twice for pairs of one side, so that its
        rows are normalised once.
    pairs : array of shape (m, 2)
        Row numbers (i, j) of x and y.

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
    for block in row_blocks(len(index), x.shape[1]):
        _fill_cosines(x, y, index[block], cosines[block])
    return np.clip(cosines, -1, 1)


def _fill_cosines(x: Rows, y: Rows, pairs: NDArray[np.intp], cosines: Floats) -> None:
    """Write the cosines of a block of pairs.

    Each row is computed and divided by its norm once, even if several pairs share it.
    """
    if y is x:
        rows, positions = _distinct_rows(pairs, len(x))
        first = second = _unit_rows_at(x, rows)
        i, j = positions.T
    else:
        first_rows, i = _distinct_rows(pairs[:, 0], len(x))
        second_rows, j = _distinct_rows(pairs[:, 1], len(y))
        first = _unit_rows_at(x, first_rows)
        second = _unit_rows_at(y, second_rows)

    def fill(block: slice) -> None:
        np.einsum("ij,ij->i", first[i[block]], second[j[block]], out=cosines[block])

    fill_in_threads(fill, row_blocks(len(pairs), x.shape[1], budget=CACHE_BYTES))


def _distinct_rows(numbers: Indices, n_rows: int) -> tuple[Indices, Indices]:
    """Return the distinct row numbers, sorted, and the position of each number there.

    This is `np.unique(numbers, return_inverse=True)` without a sort, which takes longer
    than a table of all rows. The table takes 9 bytes per row.

    Examples
    --------
    >>> rows, positions = _distinct_rows(np.array([[3, 1], [3, 3]]), 5)
    >>> rows.tolist(), positions.tolist()
    ([1, 3], [[1, 0], [1, 1]])
    """
    is_used = np.zeros(n_rows, dtype=bool)
    is_used[numbers] = True
    rows = np.flatnonzero(is_used)
    position_of_row = np.empty(n_rows, dtype=np.intp)
    position_of_row[rows] = np.arange(len(rows))
    return rows, position_of_row[numbers]


def _unit_rows_at(x: Rows, rows: Indices) -> Floats:
    """Divide the rows with these numbers by their norms, a block at a time."""
    unit = np.empty((len(rows), x.shape[1]))

    def fill(block: slice) -> None:
        unit[block] = unit_rows(x[rows[block]])

    fill_in_threads(fill, row_blocks(*unit.shape, budget=CACHE_BYTES))
    return unit


def cosine_matrix(x: Rows) -> Floats:
    """Compute the cosines of all pairs of n rows, (n, n), for example for a heatmap.

    Cosines of a zero row are NaN. The result has n² entries, so n has to be small.

    Examples
    --------
    >>> cosine_matrix(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    array([[1. , 0.6, nan],
           [0.6, 1. , nan],
           [nan, nan, nan]])
    """
    unit = unit_rows(x)
    cosines = np.clip(unit @ unit.T, -1, 1)
    # Rounding leaves the cosine of a row with itself slightly off 1.
    has_direction = np.flatnonzero(~np.isnan(unit).any(axis=1))
    cosines[has_direction, has_direction] = 1
    return cosines
