"""Rows of one direction, up to the rounding of their storage: found by a hash, an order or a tree, then verified."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import fill_in_threads, one_blas_thread, row_blocks
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import PASS_BYTES, unit_rows

SHORT_FORMATS = ((8, -133), (11, -24), (24, -149))
"""bfloat16, float16, float32: binary digits of the significand, and the exponent of the smallest step."""
CELLS = 2**20
"""Steps in which the hash counts along a drawn direction: coarser than rounding, finer than any tolerance."""
MARKS = 4
"""Drawn directions along which it counts."""
ODD = 0x9E3779B97F4A7C15 - 2**64
"""Odd multiplier that hashes these counts to one number of 64 bits: 2⁶⁴ over the golden ratio."""
DIMENSIONS = 8
"""Dimensions of the tree: more of them leave fewer candidates and cost more."""
CANDIDATES = 2_000_000
"""Pairs of rows that are near in the tree, at most: above it there are too many to verify."""
BESIDE = 8
"""Steps along one dimension: a row with another in reach so many steps behind it calls for a tree over several."""
LOOKED_AT = 256
"""Rows from which the dimensions are chosen, the format is read, and the candidates are counted."""


def spacing_of(block: Floats) -> float:
    """Return the distance from 1 to the next number of the shortest format that holds all numbers of a block.

    Formats are bfloat16, float16, float32 and float64; whole numbers were not rounded to any, and count as float64.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(9, 4))
    >>> [spacing_of(x.astype(kind).astype(float)) for kind in (np.float16, np.float32, np.float64)]
    [0.0009765625, 1.1920928955078125e-07, 2.220446049250313e-16]
    """
    exponents = np.frexp(block)[1]
    if not (block == np.rint(block)).all():
        for digits, least in SHORT_FORMATS:
            units = block / np.ldexp(1.0, np.maximum(exponents - digits, least))
            if (units == np.rint(units)).all():
                return float(2.0 ** (1 - digits))
    return float(np.finfo(np.float64).eps)


def resolution(rank: int, spacing: float = float(np.finfo(np.float64).eps)) -> float:
    """Return how far rounding may bring the cosine of two rows of one direction from 1: `(8 + √k) ε + spacing² / 2`.

    Numbers rounded to a spacing lie half of it away at most, relative to each, so two rows of one direction are at most
    an angle of `spacing` apart and their cosine is `spacing² / 2` below 1. It is computed in float64, whatever the rows
    are stored in: summing k products moves it by its ε times the root of k, and dividing by the lengths by some ε.

    Examples
    --------
    >>> [f"{resolution(64, spacing):.1e}" for spacing in (2.0**-7, 2.0**-10, 2.0**-23, 2.0**-52)]
    ['3.1e-05', '4.8e-07', '1.1e-14', '3.6e-15']
    """
    return float((8 + np.sqrt(rank)) * np.finfo(np.float64).eps + spacing**2 / 2)


def _along(x: Matrix, rows: Indices, basis: Floats) -> Floats:
    """Multiply directions with a few others."""
    projections = np.empty((len(rows), basis.shape[1]))

    def fill(block: slice) -> None:
        projections[block] = unit_rows(x[rows[block]]) @ basis

    fill_in_threads(fill, row_blocks(len(rows), x.shape[1], budget=PASS_BYTES))
    return projections


def duplicate_representatives(x: Matrix, rows: Indices) -> Indices:
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
    >>> duplicate_representatives(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, -1.0]]), np.arange(4)).tolist()
    [0, 1, 0, 3]
    """
    marks = _along(
        x, rows, np.random.default_rng(0).standard_normal((x.shape[1], MARKS))
    )
    # Products wrap around, as those of a hash may.
    keys = np.rint(marks * CELLS).astype(np.int64) @ np.cumprod(np.full(MARKS, ODD))
    # A stable sort keeps rows of one key in order, so that the first of each run is the first of them all.
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.diff(keys[order]) != 0) + 1
    lengths = np.diff(np.concatenate([[0], begins, [len(rows)]]))
    first = np.empty(len(rows), dtype=np.intp)
    first[order] = np.repeat(order[np.concatenate([[0], begins])], lengths)
    later = np.flatnonzero(first != np.arange(len(rows)))
    # Keys may collide, which verifying tells; a copy at the edge of a cell is missed.
    same = pair_cosines(
        x, x, np.column_stack([rows[first[later]], rows[later]])
    ) >= 1 - resolution(x.shape[1])
    first[later[~same]] = later[~same]
    return first


def near_pairs(x: Matrix, rows: Indices, least: float) -> Indices | None:
    """Find every pair of some rows whose cosine exceeds `least`; None where too many come near it.

    Rows that near lie within a distance `√(2 − 2 least)` of each other on the sphere, hence in any few of its
    dimensions: an order of one of them, or a tree over all, proposes the pairs, and each one is verified.

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
    >>> near_pairs(np.eye(2), np.array([1]), 0.9999).tolist(), near_pairs(np.ones((2001, 1)), np.arange(2001), 0.9999)
    ([], None)
    """
    if len(rows) < 2:
        return np.empty((0, 2), dtype=np.intp)
    # A little more than the distance: the few dimensions are rounded, too.
    reach = float(np.sqrt(2 - 2 * least) * (1 + 1e-6) + 1e-12)
    # Eight dimensions in which directions spread most: no pair within reach is lost, few others come with it.
    pairs = _within(reach, _along(x, rows, _widest(x, rows)))
    return (
        None
        if pairs is None
        else np.asarray(pairs[pair_cosines(x, x, rows[pairs]) > least])
    )


def _within(reach: float, points: Floats) -> Indices | None:
    """Propose pairs, the smaller number first: all within reach of each other, and others; None where too many."""
    # As a rule few points are within reach of each other along the widest dimension alone: then no tree is needed,
    # which takes longer to load than thousands of rows to search.
    order = np.argsort(points[:, 0])
    along = points[order, 0]
    behind = [
        np.flatnonzero(along[step:] - along[:-step] <= reach)
        for step in range(1, BESIDE + 1)
    ]
    if not len(behind[-1]):
        return np.sort(
            np.concatenate(
                [
                    order[np.column_stack([i, i + step])]
                    for step, i in enumerate(behind, 1)
                ]
            )
        )
    from scipy.spatial import cKDTree

    tree, some = cKDTree(points), spread(len(points))
    # The rows between those that the dimensions were chosen by, which lie apart in these.
    some = some if len(some) < LOOKED_AT else (some[:-1] + some[1:]) // 2
    near = tree.query_ball_point(tree.data[some], reach, return_length=True)
    if (near.mean() - 1) * len(points) / 2 > CANDIDATES:
        return None
    return np.asarray(tree.query_pairs(reach, output_type="ndarray"), dtype=np.intp)


def spread(n: int) -> Indices:
    """Take a few of n places, at equal distances."""
    return np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp))


def _widest(x: Matrix, rows: Indices) -> Floats:
    """Find the few dimensions, as columns, in which some directions spread most."""
    some = unit_rows(x[rows[spread(len(rows))]])
    # Threads of the BLAS wait for each other longer than so few rows take.
    with one_blas_thread():
        return np.asarray(
            np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2][
                :DIMENSIONS
            ].T
        )


def cluster_representatives(n: int, pairs: Indices) -> Indices:
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
    >>> cluster_representatives(5, np.array([[0, 1], [1, 2], [2, 4]])).tolist()
    [0, 0, 2, 3, 2]
    """
    first, is_taken = np.arange(n), np.zeros(n, dtype=bool)
    lower, other = pairs[np.argsort(pairs[:, 0], kind="stable")].T
    bounds = [*np.flatnonzero(np.diff(lower, prepend=-1)), len(lower)]
    for start, end in pairwise(bounds):
        row, paired = lower[start], other[start:end]
        if not is_taken[row]:
            paired = paired[~is_taken[paired]]
            first[paired], is_taken[paired] = row, True
    return first
