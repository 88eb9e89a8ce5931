"""Pairs of rows: their number, their order, a uniform sample, and checked row numbers.

Pairs of one side are i < j. Pairs of two sides are all (i, j), where i is a row of the
first side and j is a row of the second side. Functions take the number of rows of the
second side as `n_second`, and None for pairs of one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import RNG, as_count, as_generator
from embaudit.core.sizes import MOST_COUNT
from embaudit.errors import must_be

MAX_PAIRS_BY_DEFAULT = 5_000_000
"""Largest number of pairs that are all taken by default."""


def n_pairs(n_rows: int, n_second: int | None = None) -> int:
    """Count the pairs of one side or of two sides.

    Examples
    --------
    >>> n_pairs(3), n_pairs(3, 2)
    (3, 6)
    """
    if n_second is None:
        return n_rows * (n_rows - 1) // 2
    return n_rows * n_second


def all_pairs(n_rows: int, n_second: int | None = None) -> NDArray[np.intp]:
    """List the pairs of one side or of two sides in order, (m, 2).

    Examples
    --------
    >>> all_pairs(3).tolist(), all_pairs(1, 2).tolist()
    ([[0, 1], [0, 2], [1, 2]], [[0, 0], [0, 1]])
    """
    return pairs_at(np.arange(n_pairs(n_rows, n_second)), n_rows, n_second)


def pairs_at(
    places: NDArray[np.int64], n_rows: int, n_second: int | None = None
) -> NDArray[np.intp]:
    """Return the pairs at these places of `all_pairs`, without listing all pairs.

    Of two sides, the pair (i, j) has the place `i · n_second + j`.

    Of one side, the pairs are counted from the last one back. The last r rows form
    r (r − 1)/2 pairs, which are the last ones. The r pairs before them have row
    n − 1 − r as their first row. For n = 3:

        pair                  (0, 1)  (0, 2)  (1, 2)
        place                   0       1       2
        number b of pairs
        behind the pair         2       1       0
        r                       2       2       1

    So r is the largest integer with `r (r − 1)/2 <= b`, which is the integer part of

        (1 + √(1 + 8 b)) / 2.

    Parameters
    ----------
    places : array of int (m,)
        Places from 0 to the number of pairs − 1.
    n_rows, n_second : int
        Number of rows of the first and of the second side.

    Returns
    -------
    array of shape (m, 2)

    Examples
    --------
    >>> pairs_at(np.array([0, 2]), 3).tolist(), pairs_at(np.array([2]), 2, 2).tolist()
    ([[0, 1], [1, 2]], [[1, 0]])
    """
    if n_second is not None:
        first, second = np.divmod(places, n_second)
        return np.asarray(np.column_stack([first, second]), np.intp)
    n_behind = n_pairs(n_rows) - 1 - places
    r = ((1 + np.sqrt(1.0 + 8.0 * n_behind)) / 2).astype(np.int64)
    # The root of a number above 2^53 is rounded. For b = r (r − 1)/2 it still rounds to
    # 2r − 1, because its error is less than half the spacing of float64 there. Just
    # below this b it can round up to 2r − 1, too, which makes r too large by one.
    is_too_large = r * (r - 1) // 2 > n_behind
    r = r - is_too_large
    n_pairs_of_last_rows = r * (r - 1) // 2
    first = n_rows - 1 - r
    second = n_rows - 1 - (n_behind - n_pairs_of_last_rows)
    return np.asarray(np.column_stack([first, second]), np.intp)


def draw_pairs(
    n_rows: int, size: int, *, n_second: int | None = None, rng: RNG = 0
) -> NDArray[np.intp]:
    """Draw distinct pairs uniformly, or return all pairs if there are no more.

    Parameters
    ----------
    n_rows : int
        Number of rows; of the first side for pairs of two sides.
    size : int
        Number of pairs.
    n_second : int, optional
        Number of rows of the second side. Without it, pairs are i < j of one side.
    rng : numpy Generator or int
        Draws the pairs.

    Returns
    -------
    array of shape (m, 2)
        In the order of `all_pairs`.

    Raises
    ------
    InputError
        If one side has fewer than two rows, or the size is not a count.

    Examples
    --------
    >>> draw_pairs(3, 5).tolist(), len(draw_pairs(1_000_000, 5, rng=0))
    ([[0, 1], [0, 2], [1, 2]], 5)
    """
    if n_second is None and n_rows < 2:
        raise must_be("the number of rows", "at least 2 to form a pair", n_rows)
    as_count(size, "the number of pairs", least=0, most=MOST_COUNT)
    total = n_pairs(n_rows, n_second)
    if total <= size:
        return all_pairs(n_rows, n_second)
    draw = as_generator(rng)
    # Sorted places give the order of `all_pairs`.
    places = np.sort(draw.choice(total, size, replace=False, shuffle=False))
    return pairs_at(places, n_rows, n_second)


def pairs_or_all(
    pairs: ArrayLike | None, n_rows: int, n_second: int | None = None
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
    count = n_pairs(n_rows, n_second)
    if count > MAX_PAIRS_BY_DEFAULT:
        raise must_be(
            "pairs",
            f"specified if there are more than {MAX_PAIRS_BY_DEFAULT:,}",
            f"None for {count:,}",
            "pass row numbers (m, 2), or use movement and range_summary, which sample",
        )
    return all_pairs(n_rows, n_second)


def as_pairs(pairs: ArrayLike, n_first: int, n_second: int) -> NDArray[np.intp]:
    """Check row numbers of pairs, and return them with shape (m, 2).

    Parameters
    ----------
    pairs : array of int of shape (m, 2), or (2,) for one pair
        Row numbers, of the first side below `n_first` and of the second side below
        `n_second`.
    n_first, n_second : int
        Number of rows of the first and of the second side. Both are the same number for
        pairs of one side.

    Raises
    ------
    InputError
        If `pairs` are not integers of this shape, or not numbers of rows.

    Examples
    --------
    >>> as_pairs([0, 1], 2, 2)
    array([[0, 1]])
    >>> as_pairs([[0, 3]], 2, 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be row numbers from 0 to 1 and from 0 to 1;
    got (0, 3).
    """
    numbers = _as_table(pairs, (2,), "integers of shape (m, 2)")
    _require_rows(numbers, (n_first, n_second))
    return numbers.astype(np.intp)


def as_pairs_or_differences(
    pairs: ArrayLike, n_first: int, n_second: int
) -> NDArray[np.intp]:
    """Check row numbers of pairs of rows, or of pairs of differences of rows.

    Parameters
    ----------
    pairs : array of int of shape (m, 2) or (m, 4), or one row of it
        Two numbers are a pair as in `as_pairs`. Four numbers (a, b, c, d) are rows of
        the first side, and stand for the differences of rows a − b and c − d.
    n_first, n_second : int
        Number of rows of the first and of the second side.

    Raises
    ------
    InputError
        If `pairs` are not integers of this shape, or not numbers of rows.

    Examples
    --------
    >>> as_pairs_or_differences([0, 1, 1, 0], 2, 0)
    array([[0, 1, 1, 0]])
    """
    expected = "integers of shape (m, 2), or (m, 4) for differences of rows"
    numbers = _as_table(pairs, (2, 4), expected)
    if numbers.shape[1] == 2:
        _require_rows(numbers, (n_first, n_second))
    else:
        _require_rows(numbers, (n_first,) * 4)
    return numbers.astype(np.intp)


def _as_table(numbers: ArrayLike, widths: Sequence[int], expected: str) -> NDArray[Any]:
    """Return integers as a matrix that has one of these numbers of columns.

    Raises
    ------
    InputError
        If `numbers` is not `expected`.
    """
    try:
        table = np.asarray(numbers)
    except ValueError as error:
        raise must_be("pairs", expected, "rows that differ in length") from error
    if table.ndim == 1 and len(table) in widths:
        table = table[None]
    has_shape = table.ndim == 2 and table.shape[1] in widths
    # An empty list becomes an array of floats.
    has_type = table.size == 0 or table.dtype.kind in "iu"
    if not (has_shape and has_type):
        raise must_be("pairs", expected, f"{table.dtype} of shape {table.shape}")
    return table


def _require_rows(table: NDArray[Any], n_rows: Sequence[int]) -> None:
    """Raise InputError unless each column holds row numbers below its limit."""
    is_outside = (table < 0) | (table >= np.array(n_rows))
    if not is_outside.any():
        return
    outside = table[is_outside.any(axis=1)][0]
    numbers = ", ".join(str(number) for number in outside)
    # The first two columns are named, because four columns have one limit.
    raise must_be(
        "pairs",
        f"row numbers from 0 to {n_rows[0] - 1} and from 0 to {n_rows[1] - 1}",
        f"({numbers})",
    )
