"""Pairs of rows: their number, their cosines, and a uniform sample of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import RNG, Floats, Indices, as_count, as_generator
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.core.sizes import MOST_COUNT
from embaudit.errors import must_be
from embaudit.linalg.rows import CACHE_BYTES, unit_rows
from embaudit.linalg.transformed_rows import Rows

MAX_PAIRS_BY_DEFAULT = 5_000_000
"""Largest number of pairs that are all taken by default."""


def pairs_or_all(
    pairs: ArrayLike | None, n_rows: int, n_columns: int | None = None
) -> ArrayLike:
    """Return the given pairs, or all pairs if there are not too many.

    Examples
    --------
    >>> pairs_or_all(None, 1, 2).tolist(), pairs_or_all(None, 2).tolist()
    ([[0, 0], [0, 1]], [[0, 1]])
    >>> pairs_or_all(None, 10_000)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be specified if there are more than
    5,000,000; got None for 49,995,000; ...
    """
    if pairs is not None:
        return pairs
    count = n_pairs(n_rows, n_columns)
    if count > MAX_PAIRS_BY_DEFAULT:
        raise must_be(
            "pairs",
            f"specified if there are more than {MAX_PAIRS_BY_DEFAULT:,}",
            f"None for {count:,}",
            "pass row numbers (m, 2), or see movement and range_summary, which sample",
        )
    return all_pairs(n_rows, n_columns)


def as_pairs(
    pairs: ArrayLike, n_rows: int, n_columns: int, *, differences: bool = False
) -> NDArray[np.intp]:
    """Check that `pairs` are row numbers of shape (m, 2), or (2,) for one pair.

    Parameters
    ----------
    pairs : array of shape (m, 2) or (2,)
        Row numbers, of the first side below `n_rows` and of the second side below
        `n_columns`.
    n_rows, n_columns : int
        Number of rows of the first and of the second side.
    differences : bool
        If True, four row numbers (a, b, c, d) of the first side are also allowed. They
        stand for the differences of rows a − b and c − d. `n_columns` is not used then.

    Examples
    --------
    >>> as_pairs([[0, 3]], 2, 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be row numbers from 0 to 1 and from 0 to 1;
    got (0, 3).
    >>> as_pairs([0, 1, 1, 0], 2, 0, differences=True)
    array([[0, 1, 1, 0]])
    """
    widths = [2]
    expected = "integers of shape (m, 2)"
    if differences:
        widths = [2, 4]
        expected += ", or (m, 4) for differences of rows"
    try:
        index = np.asarray(pairs)
    except ValueError as error:
        raise must_be("pairs", expected, "rows that differ in length") from error
    if index.ndim == 1 and len(index) in widths:
        index = index[None]
    has_shape = index.ndim == 2 and index.shape[1] in widths
    # An empty list becomes an array of floats.
    has_type = index.size == 0 or index.dtype.kind in "iu"
    if not (has_shape and has_type):
        raise must_be("pairs", expected, f"{index.dtype} of shape {index.shape}")
    if index.shape[1] == 2:
        n_second = n_columns
        limits = [n_rows, n_columns]
    else:
        # All four rows of two differences are rows of the first side.
        n_second = n_rows
        limits = [n_rows] * 4
    is_outside = (index < 0) | (index >= np.array(limits))
    if is_outside.any():
        first_outside = index[is_outside.any(axis=1)][0]
        numbers = ", ".join(str(number) for number in first_outside)
        raise must_be(
            "pairs",
            f"row numbers from 0 to {n_rows - 1} and from 0 to {n_second - 1}",
            f"({numbers})",
        )
    return index.astype(np.intp)


def pair_cosines(x: Rows, y: Rows, pairs: ArrayLike) -> Floats:
    """Compute `cos(x_i, y_j)` for each pair (i, j), a block of pairs at a time.

    Parameters
    ----------
    x, y : array of shape (n, k) and (p, k)
        The two sides; the same object for pairs of one side, because its rows are
        normalised once then.
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
    for block in row_blocks(len(index), x.shape[1]):
        _fill_cosines(x, y, index[block], cosines[block])
    return np.clip(cosines, -1, 1)


def _fill_cosines(x: Rows, y: Rows, pairs: NDArray[np.intp], cosines: Floats) -> None:
    """Write the cosines of a block of pairs.

    Each row is computed and divided by its norm once, even if several pairs share it.
    """
    if y is x:
        rows, places = _distinct(pairs, len(x))
        first = second = _unit_rows_at(x, rows)
        i, j = places.T
    else:
        rows, i = _distinct(pairs[:, 0], len(x))
        right_rows, j = _distinct(pairs[:, 1], len(y))
        first = _unit_rows_at(x, rows)
        second = _unit_rows_at(y, right_rows)

    def fill(block: slice) -> None:
        np.einsum("ij,ij->i", first[i[block]], second[j[block]], out=cosines[block])

    fill_in_threads(fill, row_blocks(len(pairs), x.shape[1], budget=CACHE_BYTES))


def _distinct(numbers: Indices, n_rows: int) -> tuple[Indices, Indices]:
    """Return the different row numbers in order, and the place of each number there.

    This is `np.unique(numbers, return_inverse=True)` without a sort, which takes longer
    than a table of all rows. The table takes 9 bytes per row.

    Examples
    --------
    >>> rows, places = _distinct(np.array([[3, 1], [3, 3]]), 5)
    >>> rows.tolist(), places.tolist()
    ([1, 3], [[1, 0], [1, 1]])
    """
    is_used = np.zeros(n_rows, dtype=bool)
    is_used[numbers] = True
    rows = np.flatnonzero(is_used)
    place_of_row = np.empty(n_rows, dtype=np.intp)
    place_of_row[rows] = np.arange(len(rows))
    return rows, place_of_row[numbers]


def _unit_rows_at(x: Rows, rows: Indices) -> Floats:
    """Divide the rows with these numbers by their norms, a block at a time."""
    unit = np.empty((len(rows), x.shape[1]))

    def fill(block: slice) -> None:
        unit[block] = unit_rows(x[rows[block]])

    fill_in_threads(fill, row_blocks(*unit.shape, budget=CACHE_BYTES))
    return unit


def cosine_matrix(x: Rows) -> Floats:
    """Compute the cosines of all pairs of p rows, (p, p), for example for a heatmap.

    Cosines of a zero row are NaN. The result has p² entries, so p has to be small.

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


def n_pairs(n_rows: int, n_columns: int | None = None) -> int:
    """Count the pairs i < j of one side, or all pairs of two sides."""
    if n_columns is None:
        return n_rows * (n_rows - 1) // 2
    return n_rows * n_columns


def all_pairs(n_rows: int, n_columns: int | None = None) -> NDArray[np.intp]:
    """List the pairs i < j of one side, or all pairs of two sides, in order.

    Examples
    --------
    >>> all_pairs(3).tolist(), all_pairs(1, 2).tolist()
    ([[0, 1], [0, 2], [1, 2]], [[0, 0], [0, 1]])
    """
    return pairs_at(np.arange(n_pairs(n_rows, n_columns)), n_rows, n_columns)


def draw_pairs(
    n_rows: int, size: int, *, n_columns: int | None = None, rng: RNG = 0
) -> NDArray[np.intp]:
    """Draw different pairs uniformly, or return all pairs if there are no more.

    Parameters
    ----------
    n_rows : int
        Number of rows; of the left rows for pairs of two sides.
    size : int
        Number of pairs.
    n_columns : int, optional
        Number of right rows. Without it, pairs are i < j of one side.
    rng : numpy Generator or int
        Draws the pairs.

    Returns
    -------
    array of shape (m, 2)
        In the order of `all_pairs`.

    Examples
    --------
    >>> draw_pairs(3, 5).tolist(), len(draw_pairs(1_000_000, 5, rng=0))
    ([[0, 1], [0, 2], [1, 2]], 5)
    """
    if n_columns is None and n_rows < 2:
        raise must_be("the number of rows", "at least 2 to form a pair", n_rows)
    as_count(size, "the number of pairs", least=0, most=MOST_COUNT)
    total = n_pairs(n_rows, n_columns)
    if total <= size:
        return all_pairs(n_rows, n_columns)
    draw = as_generator(rng)
    # Sorted places give the order of `all_pairs`.
    places = np.sort(draw.choice(total, size, replace=False, shuffle=False))
    return pairs_at(places, n_rows, n_columns)


def pairs_at(
    places: NDArray[np.int64], n_rows: int, n_columns: int | None = None
) -> NDArray[np.intp]:
    """Return the pairs at these places of `all_pairs`, without listing all pairs.

    Of two sides, the pair (i, j) has the place `i · n_columns + j`.

    Of one side, the pairs are counted from the last one back. The pairs of the last r
    rows are the last r (r − 1)/2 ones, and the r pairs before them have row n − 1 − r
    as their first row. For n = 3 they are

        pair     (0, 1)  (0, 2)  (1, 2)
        place m       2       1       0     counted from the last pair back
        r             2       2       1

    So the number m of pairs behind a pair gives r as the integer part of

        (1 + √(1 + 8 m)) / 2.

    Examples
    --------
    >>> pairs_at(np.array([0, 2]), 3).tolist(), pairs_at(np.array([2]), 2, 2).tolist()
    ([[0, 1], [1, 2]], [[1, 0]])
    """
    if n_columns is not None:
        first, second = np.divmod(places, n_columns)
        return np.asarray(np.column_stack([first, second]), np.intp)
    n_behind = n_pairs(n_rows) - 1 - places
    r = ((1 + np.sqrt(1.0 + 8.0 * n_behind)) / 2).astype(np.int64)
    # The root of a number above 2^53 is rounded. At m = r (r − 1)/2 it still rounds to
    # 2r − 1, because its error is less than half the spacing of float64 there. But just
    # below the next such number it can round up, which makes r too large by one.
    is_too_large = r * (r - 1) // 2 > n_behind
    r = r - is_too_large
    n_of_last_rows = r * (r - 1) // 2
    first = n_rows - 1 - r
    second = n_rows - 1 - (n_behind - n_of_last_rows)
    return np.asarray(np.column_stack([first, second]), np.intp)
