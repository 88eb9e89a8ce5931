"""Pairs of rows: their cosines, how many there are, and how to draw some."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import MOST_COUNT, RNG, Floats, as_count, as_generator
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.errors import must_be
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import Rows

ALL_PAIRS = 5_000_000
"""Pairs of a model up to which all of them are taken where none were named."""
AT_ONCE = 2**22
"""Entries of a side up to which all its rows are divided by their norms at once."""


def pairs_or_all(
    pairs: ArrayLike | None, n_rows: int, n_columns: int | None = None
) -> ArrayLike:
    """Return the pairs given, or else all of them where they are not too many.

    Examples
    --------
    >>> pairs_or_all(None, 1, 2).tolist(), pairs_or_all(None, 2).tolist()
    ([[0, 0], [0, 1]], [[0, 1]])
    >>> pairs_or_all(None, 10_000)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be named where there are more than 5,000,000; got None for 49,995,000; ...
    """
    if pairs is not None:
        return pairs
    count = n_pairs(n_rows, n_columns)
    if count > ALL_PAIRS:
        remedy = (
            "pass row numbers (m, 2), or see movement and range_summary, which sample"
        )
        raise must_be(
            "pairs",
            f"named where there are more than {ALL_PAIRS:,}",
            f"None for {count:,}",
            remedy,
        )
    return (
        all_pairs(n_rows)
        if n_columns is None
        else np.indices((n_rows, n_columns)).reshape(2, -1).T
    )


def as_pairs(
    pairs: ArrayLike, n_rows: int, n_columns: int, *, differences: bool = False
) -> NDArray[np.intp]:
    """Check that `pairs` are one pair or (m, 2) row numbers, the first below `n_rows`, the second below `n_columns`.

    With `differences` they may be four, (m, 4), for differences of rows of the first side.

    Examples
    --------
    >>> as_pairs([[0, 3]], 2, 2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: pairs must be row numbers from 0 to 1 and from 0 to 1; got (0, 3).
    >>> as_pairs([0, 1, 1, 0], 2, 0, differences=True)
    array([[0, 1, 1, 0]])
    """
    widths = [2, 4] if differences else [2]
    expected = (
        "integers of shape (m, 2)" + ", or (m, 4) for differences of rows" * differences
    )
    try:
        index = np.asarray(pairs)
    except ValueError as error:
        raise must_be("pairs", expected, "rows that differ in length") from error
    index = index[None] if index.ndim == 1 and len(index) in widths else index
    if (
        index.ndim != 2
        or index.shape[1] not in widths
        or (index.size and index.dtype.kind not in "iu")
    ):
        raise must_be("pairs", expected, f"{index.dtype} of shape {index.shape}")
    last = n_columns if index.shape[1] == 2 else n_rows
    outside = (index < 0) | (index >= [n_rows, *[last] * (index.shape[1] - 1)])
    if outside.any():
        numbers = ", ".join(map(str, index[outside.any(axis=1)][0]))
        raise must_be(
            "pairs",
            f"row numbers from 0 to {n_rows - 1} and from 0 to {last - 1}",
            f"({numbers})",
        )
    return index.astype(np.intp)


def pair_cosines(x: Rows, y: Rows, pairs: ArrayLike) -> Floats:
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
    # Rows that many pairs share have their norms taken once.
    shared = (
        len(index) > len(x) + len(y)
        and max(math.prod(side.shape) for side in (x, y)) <= AT_ONCE
    )
    sides = (x, y)
    if shared:
        sides = ((unit_x := unit_rows(x)), unit_x if y is x else unit_rows(y))
    cosines = np.empty(len(index))

    def fill(rows: slice) -> None:
        ends = (side[column] for side, column in zip(sides, index[rows].T, strict=True))
        np.einsum(
            "ij,ij->i", *(ends if shared else map(unit_rows, ends)), out=cosines[rows]
        )

    fill_in_threads(fill, row_blocks(len(index), 4 * x.shape[1]))
    return np.clip(cosines, -1, 1)


def cosine_matrix(x: Rows) -> Floats:
    """Compute all p×p cosines, in [-1, 1]; for the sizes of a figure. A zero row has none: NaN.

    Examples
    --------
    >>> cosine_matrix(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    array([[1. , 0.6, nan],
           [0.6, 1. , nan],
           [nan, nan, nan]])
    """
    unit = unit_rows(x)
    cosines = np.clip(unit @ unit.T, -1, 1)
    directed = np.flatnonzero(~np.isnan(unit).any(axis=1))
    cosines[directed, directed] = 1
    return cosines


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


def draw_pairs(
    n_rows: int, size: int, *, n_columns: int | None = None, rng: RNG = 0
) -> NDArray[np.intp]:
    """Draw different pairs uniformly, i < j of one side or (i, j) of two; all of them where there are no more.

    Of two sides, `n_rows` counts the left rows and `n_columns` the right ones. The result is (m, 2), in the order of
    `all_pairs`. Memory is needed for the draw alone, and a generator is left as it is where nothing is drawn.

    Examples
    --------
    >>> draw_pairs(3, 5).tolist(), len(draw_pairs(1_000_000, 5, rng=0))
    ([[0, 1], [0, 2], [1, 2]], 5)
    """
    if n_columns is None and n_rows < 2:
        raise must_be("the number of rows", "at least 2 to form a pair", n_rows)
    as_count(size, "the number of pairs", least=0, most=MOST_COUNT)
    total = n_pairs(n_rows, n_columns)
    numbers = (
        np.arange(total)
        if total <= size
        else _draw_numbers(n_rows, size, n_columns, as_generator(rng))
    )
    if n_columns is not None:
        return np.asarray(np.column_stack(np.divmod(numbers, n_columns)), np.intp)
    # From the last pair on, row n - 1 - r stands first in r pairs: those of numbers r (r - 1)/2 to before r (r + 1)/2.
    back = total - 1 - numbers
    r = ((1 + np.sqrt(1.0 + 8.0 * back)) / 2).astype(np.int64)
    # A root of more than 53 bits is rounded, by less than one.
    r -= r * (r - 1) // 2 > back
    r += r * (r + 1) // 2 <= back
    return np.asarray(
        np.column_stack([n_rows - 1 - r, n_rows - 1 - (back - r * (r - 1) // 2)]),
        np.intp,
    )


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different ones of numbers from 0 on, in order; the hash of `np.unique` takes far longer than a sort.

    Examples
    --------
    >>> distinct(np.array([5, 0, 5])).tolist()
    [0, 5]
    """
    ranked = np.sort(numbers)
    return np.asarray(ranked[np.diff(ranked, prepend=-1) > 0])


def _draw_numbers(
    n_rows: int, size: int, n_columns: int | None, draw: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the places of different pairs among all, in order."""
    i = draw.integers(n_rows, size=size)
    if n_columns is not None:
        numbers = distinct(i * n_columns + draw.integers(n_columns, size=size))
    else:
        # Another row than i, uniformly: skip i by shifting what lies above it.
        j = draw.integers(n_rows - 1, size=size)
        j += j >= i
        i, j = np.minimum(i, j), np.maximum(i, j)
        numbers = distinct(i * n_rows - i * (i + 1) // 2 + j - i - 1)
    if len(numbers) == size:
        return numbers
    # For pairs drawn twice others are drawn among the rest: before the r-th number left stand those drawn numbers that
    # exceed their own place by r at most. Aside, so that how many there are changes nothing drawn later.
    again = np.random.default_rng(numbers[:4].tolist())
    rest = again.choice(
        n_pairs(n_rows, n_columns) - len(numbers),
        size - len(numbers),
        replace=False,
        shuffle=False,
    )
    rest += np.searchsorted(numbers - np.arange(len(numbers)), rest, side="right")
    return np.sort(np.concatenate([numbers, rest]))
