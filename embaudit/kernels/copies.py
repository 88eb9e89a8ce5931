"""Rows of one direction, exactly or nearly: found by a hash, by products or a tree, then verified."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from embaudit.foundation.checked import Flags, Floats, Indices, Matrix
from embaudit.foundation.parallel import one_blas_thread, parallel_map, row_blocks
from embaudit.kernels.pairs import pair_cosines
from embaudit.kernels.rows import PASS_BYTES, unit_rows

CELLS = 2**20
"""Steps in which the hash counts along a drawn direction: coarser than rounding, finer than any tolerance."""
MARKS = 4
"""Drawn directions along which it counts."""
ODD = 0x9E3779B97F4A7C15 - 2**64
"""What brings these counts together in one number of 64 bits."""
PRODUCTS = 8_000_000_000
"""Multiplications up to which all pairs are multiplied: that takes less time than loading what makes a tree."""
STRIP = 128
"""Rows multiplied at a time with those from there on."""
DIMENSIONS = (4, 8)
"""Dimensions of the tree: more of them leave fewer candidates and cost more."""
PROPOSED = 64
"""Dimensions in which candidates of the tree are compared before all."""
DEEP = 20_000
"""Above so many rows only the cheaper tree is built."""
CANDIDATES = 2_000_000
"""Pairs of rows that are near in the tree, at most: above it there are too many to verify."""
LOOKED_AT = 256
"""Rows from which the dimensions are chosen and the candidates counted."""


def resolution(rank: int) -> float:
    """How far rounding in float64 may bring a cosine of two rows from where it is.

    Examples
    --------
    >>> resolution(64) < 2e-14
    True
    """
    return float((rank + 8) * np.finfo(np.float64).eps)


def even_chance(rank: int, least: float) -> float:
    """Compute how likely the cosine of two directions spread evenly over all dimensions exceeds `least`, above 0.

    The share of a sphere that a cap covers (Li, Asian Journal of Mathematics and Statistics 4, 2011).

    Examples
    --------
    >>> round(even_chance(3, 0.5), 12), even_chance(64, 0.9999) < 1e-100
    (0.25, True)
    """
    from scipy.special import betainc

    return 0.5 * float(betainc((rank - 1) / 2, 0.5, (1 - least) * (1 + least))) if rank > 1 else 0.5


def _are_few(n: int, rank: int) -> bool:
    """Whether all pairs of rows are multiplied."""
    return n**2 * rank <= PRODUCTS


def _along(x: Matrix, rows: Indices, basis: Floats) -> Floats:
    """Multiply directions with a few others."""
    found = np.empty((len(rows), basis.shape[1]))

    def fill(part: slice) -> None:
        found[part] = unit_rows(x[rows[part]]) @ basis

    list(parallel_map(fill, row_blocks(len(rows), x.shape[1], budget=PASS_BYTES), in_threads=True))
    return found


def first_copies(x: Matrix, rows: Indices) -> Indices:
    """Find for each of some rows the first one of exactly its direction, by its place among them.

    Directions that differ by rounding may be taken for different ones; different ones are never taken for one.

    Parameters
    ----------
    x : array of shape (p, k)
        All rows.
    rows : array of shape (m,)
        Those to compare, in order; each has a direction.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> first_copies(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, -1.0]]), np.arange(4)).tolist()
    [0, 1, 0, 3]
    """
    marks = _along(x, rows, np.random.default_rng(0).standard_normal((x.shape[1], MARKS)))
    # Products wrap around, as those of a hash may.
    keys = np.rint(marks * CELLS).astype(np.int64) @ np.cumprod(np.full(MARKS, ODD))
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.diff(keys[order]) != 0) + 1
    lengths = np.diff(np.concatenate([[0], begins, [len(rows)]]))
    first = np.empty(len(rows), dtype=np.intp)
    first[order] = np.repeat(order[np.concatenate([[0], begins])], lengths)
    others = np.flatnonzero(first != np.arange(len(rows)))
    same = pair_cosines(x, x, np.column_stack([rows[first[others]], rows[others]])) >= 1 - resolution(x.shape[1])
    first[others[~same]] = others[~same]
    return first


def near_pairs(x: Matrix, rows: Indices, least: float) -> Indices | None:
    """Find every pair of some rows whose cosine exceeds `least`; None where too many come near it.

    Few rows are all multiplied. Of more, rows that near lie within a distance `√(2 − 2 least)` of each other on the
    sphere, hence in any few of its dimensions; a tree over these proposes the pairs, and each one is verified.

    Parameters
    ----------
    x : array of shape (p, k)
        All rows.
    rows : array of shape (m,)
        Those to compare; each has a direction.
    least : float
        The cosine to exceed, near 1.

    Returns
    -------
    array of shape (q, 2) or None
        Places among `rows`, the smaller first.

    Examples
    --------
    >>> near_pairs(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.001]]), np.arange(3), 0.9999).tolist()
    [[0, 2]]
    """
    if _are_few(len(rows), x.shape[1]):
        return _multiplied(x, rows, least)
    points = _along(x, rows, _widest(x, rows))
    reach = _reach(least)
    some = _between(_spread(len(rows)))
    for dimensions in DIMENSIONS if len(rows) <= DEEP else DIMENSIONS[:1]:
        tree = _tree(points[:, :dimensions])
        near = tree.query_ball_point(tree.data[some], reach, return_length=True)
        if (near.mean() - 1) * len(rows) / 2 <= CANDIDATES:
            pairs = tree.query_pairs(reach, output_type="ndarray").astype(np.intp)
            pairs = pairs[_within(points, pairs, reach)]
            return np.asarray(pairs[pair_cosines(x, x, rows[pairs]) > least])
    return None


def _reach(least: float) -> float:
    """How far rows whose cosine exceeds `least` lie apart at most, and a little more."""
    return float(np.sqrt(2 - 2 * least) * (1 + 1e-6) + 1e-12)


def _multiplied(x: Matrix, rows: Indices, least: float) -> Indices | None:
    """Compare all pairs, in order; None where more than `CANDIDATES` exceed the cosine."""
    found: list[Indices] = [np.empty((0, 2), dtype=np.intp)]
    unit, total = unit_rows(x[rows]), 0
    # Cosines of their own verify the pairs, so that rounding here must leave none out.
    bar = least - 2 * resolution(x.shape[1])

    def strip(start: int) -> Indices:
        marked = unit[start : start + STRIP] @ unit[start:].T > bar
        return np.column_stack(np.nonzero(np.triu(marked, 1))) + start

    for pairs in parallel_map(strip, range(0, len(rows), STRIP), in_threads=True):
        total += len(pairs)
        if total > CANDIDATES:
            return None
        found.append(pairs[pair_cosines(x, x, rows[pairs]) > least])
    return np.concatenate(found)


def _tree(points: Floats) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(points)


def _spread(n: int) -> Indices:
    """Take a few places at equal distances."""
    return np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))


def _between(some: Indices) -> Indices:
    """Take the places between some: these lie apart in the dimensions, which were chosen by them."""
    return some if len(some) < LOOKED_AT else (some[:-1] + some[1:]) // 2


def _within(points: Floats, pairs: Indices, reach: float) -> Flags:
    """Tell which pairs are as near in more dimensions than the tree has: of long rows few candidates are."""
    near = np.empty(len(pairs), dtype=bool)
    for part in row_blocks(len(pairs), 2 * points.shape[1]):
        one, other = pairs[part].T
        near[part] = np.square(points[one] - points[other]).sum(axis=1) <= reach**2
    return near


def _widest(x: Matrix, rows: Indices) -> Floats:
    """Find the few dimensions, as columns, in which some directions spread most."""
    some = unit_rows(x[rows[_spread(len(rows))]])
    # Threads of the BLAS wait for each other longer than so few rows take.
    with one_blas_thread():
        return np.asarray(np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][:PROPOSED].T)


def leaders(n: int, pairs: Indices) -> Indices:
    """Gather rows around leaders: the first row that is free takes all free ones it is paired with, and so on.

    Parameters
    ----------
    n : int
        How many rows.
    pairs : array of shape (q, 2)
        Those that belong together, the smaller number first.

    Returns
    -------
    array of shape (n,)
        The leader of each row; a row without pairs leads itself.

    Examples
    --------
    >>> leaders(5, np.array([[0, 1], [1, 2], [2, 4]])).tolist()
    [0, 0, 2, 3, 2]
    """
    first, taken = np.arange(n), np.zeros(n, dtype=bool)
    one, other = pairs[np.argsort(pairs[:, 0], kind="stable")].T
    bounds = [*np.flatnonzero(np.diff(one, prepend=-1)), len(one)]
    for start, end in pairwise(bounds):
        row, others = one[start], other[start:end]
        if not taken[row]:
            others = others[~taken[others]]
            first[others], taken[others] = row, True
    return first
