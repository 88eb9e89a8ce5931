"""Rows of one direction, up to rounding, and pairs of rows at small angles.

All unit rows are multiplied by a fixed random matrix with four orthonormal columns. The
products of two rows are at most as far apart as the unit rows, and two rows whose
cosine is at least c are at most `√(2 − 2c)` apart. Rows of one direction have equal
products up to rounding, so they follow each other when the rows are sorted by their
first product. Rows at small angles are neighbours in a tree over all four products.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices, Matrix, Vector
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.core.tolerances import EPS, ROUNDING
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import PASS_BYTES, unit_rows

SHORT_FORMATS = ((8, -133), (11, -24), (24, -149))
"""bfloat16, float16, float32: binary digits of the significand, and the exponent of the
smallest step."""
PROJECTIONS = 4
"""Number of random vectors. In more dimensions a tree proposes fewer pairs of rows that
are not near, but takes longer."""
MOST_NEAR = 2_000_000
"""Largest number of near pairs, because the cosine of each one is computed."""
SAMPLE_SIZE = 256
"""Number of rows from which the storage format and the number of near pairs are
estimated."""


def spacing_of(block: Floats) -> float:
    """Return the spacing at 1 of the shortest format that holds all numbers of a block.

    Formats are bfloat16, float16, float32 and float64. Whole numbers count as float64,
    because they were not rounded.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(9, 4))
    >>> kinds = (np.float16, np.float32, np.float64)
    >>> [spacing_of(x.astype(kind).astype(float)) for kind in kinds]
    [0.0009765625, 1.1920928955078125e-07, 2.220446049250313e-16]
    """
    if (block == np.rint(block)).all():
        return EPS
    _, exponents = np.frexp(block)
    for digits, smallest_exponent in SHORT_FORMATS:
        # A format holds the multiples of its step at the size of each number.
        steps = np.ldexp(1.0, np.maximum(exponents - digits, smallest_exponent))
        multiples = block / steps
        if (multiples == np.rint(multiples)).all():
            return float(2.0 ** (1 - digits))
    return EPS


def resolution(rank: int, spacing: float = EPS) -> float:
    """Return how far below 1 rounding can bring the cosine of rows of one direction.

    It is `(8 + √k) ε + spacing² / 2`. Rounding moves a number by at most half its
    spacing, so two rows of one direction are at most an angle of `spacing` apart and
    their cosine is `spacing² / 2` below 1. The cosine is computed in float64 for every
    storage format: adding k products moves it by `√k ε`, and dividing by the lengths by
    a few ε.

    Examples
    --------
    >>> spacings = (2.0**-7, 2.0**-10, 2.0**-23, 2.0**-52)
    >>> [f"{resolution(64, spacing):.1e}" for spacing in spacings]
    ['3.1e-05', '4.8e-07', '1.1e-14', '3.6e-15']
    """
    return float((8 + np.sqrt(rank)) * EPS + spacing**2 / 2)


def _projections(x: Matrix, rows: Indices) -> Floats:
    """Multiply the unit rows by fixed random vectors, which are orthonormal.

    So the products of two rows are at most as far apart as the unit rows.
    """
    draw = np.random.default_rng(0)
    vectors = np.linalg.qr(draw.standard_normal((x.shape[1], PROJECTIONS)))[0]
    products = np.empty((len(rows), vectors.shape[1]))

    def fill(block: slice) -> None:
        products[block] = unit_rows(x[rows[block]]) @ vectors

    fill_in_threads(fill, row_blocks(len(rows), x.shape[1], budget=PASS_BYTES))
    return products


def _reach(least: float) -> float:
    """Bound the distance of products of rows whose cosine is at least `least`.

    The bound allows for the rounding of the products.
    """
    return float(np.sqrt(2 - 2 * least) * (1 + 1e-6) + ROUNDING)


def equal_representatives(
    keys: Vector, reach: float, are_equal: Callable[[Indices, Indices], Flags]
) -> Indices:
    """Find for each row the first row that equals it, by sorting.

    Only rows that follow each other in the order of their keys are compared. The keys
    of equal rows differ by rounding, so it is very unlikely that the key of another row
    lies between them; such equal rows would be missed. Different rows are never taken
    for equal ones.

    Parameters
    ----------
    keys : array of shape (m,)
        A number per row, such as its product with a random vector.
    reach : float
        Largest difference of the keys of equal rows.
    are_equal : callable
        Compares row by row two arrays of row numbers.

    Returns
    -------
    array of shape (m,)
        The number of the row itself if no earlier row equals it.

    Examples
    --------
    >>> keys = np.array([0.5, 0.1, 0.5, 0.5])
    >>> equal_representatives(keys, 1e-9, lambda i, j: i + j != 5).tolist()
    [0, 1, 0, 3]
    """
    order = np.argsort(keys, kind="stable")
    is_equal = np.diff(keys[order]) <= reach
    place = np.flatnonzero(is_equal)
    is_equal[place] = are_equal(order[place], order[place + 1])
    # A run of rows that each equal the row before them has its smallest number.
    starts = np.concatenate([[0], np.flatnonzero(~is_equal) + 1])
    lengths = np.diff(np.append(starts, len(order)))
    representative = np.empty(len(order), dtype=np.intp)
    if len(order):
        representative[order] = np.repeat(np.minimum.reduceat(order, starts), lengths)
    # Rows of a run can drift, so each row is compared with its representative, too.
    copy = np.flatnonzero(representative != np.arange(len(order)))
    drifted = copy[~are_equal(representative[copy], copy)]
    representative[drifted] = drifted
    return representative


def duplicate_representatives(x: Matrix, rows: Indices) -> Indices:
    """Find for each row the first row of its direction, up to rounding.

    Parameters
    ----------
    x : array of shape (p, k)
        All rows.
    rows : array of shape (m,)
        Numbers of the rows to compare, in order; each row has a direction.

    Returns
    -------
    array of shape (m,)
        The place in `rows` of the first row of the same direction.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, -1.0]])
    >>> duplicate_representatives(x, np.arange(4)).tolist()
    [0, 1, 0, 3]
    """
    least = 1 - resolution(x.shape[1])
    products, reach = _projections(x, rows), _reach(least)

    def are_equal(places: Indices, others: Indices) -> Flags:
        # Of very many rows, most neighbours by the first product differ in the other
        # products, which takes less time to see than to fetch both rows.
        distances = np.linalg.norm(products[places] - products[others], axis=1)
        near = np.flatnonzero(distances <= reach)
        pairs = np.column_stack([rows[places[near]], rows[others[near]]])
        is_equal = np.zeros(len(places), dtype=bool)
        is_equal[near] = pair_cosines(x, x, pairs) >= least
        return is_equal

    return equal_representatives(products[:, 0], reach, are_equal)


def near_pairs(x: Matrix, rows: Indices, least: float) -> Indices | None:
    """Find every pair of the given rows whose cosine exceeds `least`.

    Parameters
    ----------
    x : array of shape (p, k)
        All rows.
    rows : array of shape (m,)
        Numbers of the rows to compare; each row has a direction.
    least : float
        A cosine near 1.

    Returns
    -------
    array of shape (q, 2) or None
        Places in `rows`, the smaller one first; None if so many rows are near each
        other that the search would take long.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.001]])
    >>> near_pairs(x, np.arange(3), 0.9999).tolist()
    [[0, 2]]
    >>> near_pairs(np.eye(2), np.array([1]), 0.9999).tolist()
    []
    >>> near_pairs(np.ones((2001, 1)), np.arange(2001), 0.9999) is None
    True
    """
    from scipy.spatial import cKDTree

    if len(rows) < 2:
        return np.empty((0, 2), dtype=np.intp)
    points = _projections(x, rows)
    reach = _reach(least)
    tree = cKDTree(points)
    sample = points[spaced_places(len(points))]
    # A point is within reach of itself.
    n_near = tree.query_ball_point(sample, reach, return_length=True).mean() - 1
    if n_near * len(points) / 2 > MOST_NEAR:
        return None
    pairs = np.asarray(tree.query_pairs(reach, output_type="ndarray"), dtype=np.intp)
    # Distances of the projections are lower bounds, so the cosines decide.
    is_near = pair_cosines(x, x, rows[pairs]) > least
    return np.asarray(pairs[is_near])


def spaced_places(n: int) -> Indices:
    """Return at most 256 of the places from 0 to n − 1, at equal distances.

    Examples
    --------
    >>> spaced_places(3).tolist(), len(spaced_places(1_000))
    ([0, 1, 2], 256)
    """
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE_SIZE)).astype(np.intp))


def cluster_representatives(n: int, pairs: Indices) -> Indices:
    """Group rows: the first row without a group takes all such rows it is paired with.

    Parameters
    ----------
    n : int
        Number of rows.
    pairs : array of shape (q, 2)
        Pairs of rows, the smaller number first.

    Returns
    -------
    array of shape (n,)
        The first row of the group of each row; a row without pairs is its own group.

    Examples
    --------
    >>> cluster_representatives(5, np.array([[0, 1], [1, 2], [2, 4]])).tolist()
    [0, 0, 2, 3, 2]
    """
    representative = np.arange(n)
    is_taken = np.zeros(n, dtype=bool)
    lower, other = pairs[np.argsort(pairs[:, 0], kind="stable")].T
    bounds = [*np.flatnonzero(np.diff(lower, prepend=-1)), len(lower)]
    for start, end in pairwise(bounds):
        row, paired = lower[start], other[start:end]
        if is_taken[row]:
            continue
        paired = paired[~is_taken[paired]]
        representative[paired] = row
        is_taken[paired] = True
    return representative
