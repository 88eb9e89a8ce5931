"""Statistics of two sets of rows that random rotations explain, or do not explain.

Let the sets A and B have unrelated coordinate systems, that is, let B be turned by a
random rotation Q (of the Haar measure). Then Q carries all properties of B along, so
the principal directions of B lie at random to those of A, and the shape of B points in
a random direction. The functions of this module measure how far two sets are from
that. Their mean and variance over Q are exact for all sets of rows, however few or
noisy the rows are.

`embaudit.linalg.alignment` weighs all directions by their variances and adds them up.
Sets of one system can have an alignment of 1, too, if they agree in some directions and
avoid each other in others. The statistics of this module do not cancel in this way.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import GRAM_RESOLVED, TIE

FIRST_GROUP = 2
"""Number of principal directions in the first group; each later group is twice as
large. A group of one direction would make the distribution of χ² far from normal.
"""


def direction_groups(rank: int) -> list[int]:
    """Return where groups of 2, 4, 8, … directions end, as far as `rank` exceeds them.

    The directions after the last end are one more group.

    Examples
    --------
    >>> direction_groups(20), direction_groups(2)
    ([2, 6, 14], [])
    """
    ends = []
    size = FIRST_GROUP
    end = size
    while end < rank:
        ends.append(end)
        size *= 2
        end += size
    return ends


def shared_directions(first: Floats, second: Floats) -> float:
    """Compare the principal directions of two sets of rows.

    The principal directions u_1, u_2, … of A, in the order of their variances, are
    divided into groups of 2, 4, 8, … directions, and so are the directions v_1, v_2, …
    of B. Groups I of A and J of B share

        o_IJ = Σ (u_i · v_j)² over i in I and j in J.

    On average over random rotations, this is e_IJ = |I| |J| / d. So the shares are
    compared as the counts in a contingency table:

        χ² = (d − 1)(d + 2) / (2d) · Σ (o_IJ − e_IJ)² / e_IJ.

    For g and h groups, its mean is exactly f = (g − 1)(h − 1), and it is nearly
    distributed as χ² with f degrees of freedom.

    Parameters
    ----------
    first, second : array of shape (n, d) and (m, d)
        Rows, usually centred.

    Returns
    -------
    float
        χ² as the number of standard deviations of a normal distribution that is
        exceeded with the same probability (Wilson and Hilferty, 1931). It is 0 if a set
        has too few directions for two groups.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> spectrum = 1 / np.arange(1.0, 25)
    >>> first = draw.normal(size=(500, 24)) * spectrum
    >>> second = draw.normal(size=(500, 24)) * spectrum
    >>> turned = second @ np.linalg.qr(draw.normal(size=(24, 24)))[0]
    >>> shared_directions(first, second) > 10, shared_directions(first, turned) < 4
    (True, True)
    """
    first_directions, first_ends = _leading_directions(first)
    second_directions, second_ends = _leading_directions(second)
    if not first_ends or not second_ends:
        return 0.0
    d = first.shape[1]
    squares = np.square(first_directions.T @ second_directions)
    first_starts, second_starts = [0, *first_ends[:-1]], [0, *second_ends[:-1]]
    leading = np.add.reduceat(squares, first_starts, axis=0)
    leading = np.add.reduceat(leading, second_starts, axis=1)
    first_sizes = np.diff([0, *first_ends, d])
    second_sizes = np.diff([0, *second_ends, d])
    # The squares of a direction of A over all directions of B have the sum 1. So the
    # shares of the last groups, whose directions were not computed, follow from sums.
    observed = np.zeros((len(first_sizes), len(second_sizes)))
    observed[:-1, :-1] = leading
    observed[:-1, -1] = first_sizes[:-1] - leading.sum(axis=1)
    observed[-1] = second_sizes - observed.sum(axis=0)
    expected = np.outer(first_sizes, second_sizes) / d
    scale = (d - 1) * (d + 2) / (2 * d)
    chi_squared = scale * float((np.square(observed - expected) / expected).sum())
    freedom = len(first_ends) * len(second_ends)
    return _normal_deviate(chi_squared, freedom)


def _normal_deviate(chi_squared: float, freedom: int) -> float:
    """Return a number that is nearly standard normal if χ² is as expected.

    The cube root of χ² / f is nearly normal with the mean 1 − 2 / 9f and the variance
    2 / 9f.
    """
    variance = 2 / (9 * freedom)
    root: float = (chi_squared / freedom) ** (1 / 3)
    return (root - (1 - variance)) / sqrt(variance)


def _leading_directions(rows: Floats) -> tuple[Floats, list[int]]:
    """Compute the principal directions of all groups but the last.

    Returns
    -------
    directions : array of shape (d, k)
        The directions of the largest variances as columns, largest first.
    ends : list of int
        Where the groups of these directions end; the last number is k.
    """
    n_rows, n_columns = rows.shape
    is_tall = n_rows >= n_columns
    moments = rows.T @ rows if is_tall else rows @ rows.T
    variances, vectors = np.linalg.eigh(moments)
    variances, vectors = variances[::-1], vectors[:, ::-1]
    is_resolved = variances > GRAM_RESOLVED**2 * variances[0]
    ends = direction_groups(int(is_resolved.sum()))
    n_kept = ends[-1] if ends else 0
    vectors = vectors[:, :n_kept]
    if not is_tall:
        vectors = rows.T @ vectors / np.sqrt(variances[:n_kept])
    return vectors, ends


def aligned_shapes(first: Floats, second: Floats, degree: int) -> float:
    """Compare the third or fourth moments of two sets of unit rows.

    The zonal polynomial P of degree k in d dimensions, scaled to P(1) = 1, is

        P_3(t) = ((d + 2) t³ − 3t) / (d − 1)
        P_4(t) = ((d + 2)(d + 4) t⁴ − 6 (d + 2) t² + 3) / (d² − 1).

    P(x · y) is the inner product of two unit vectors, which are functions of x and of y
    in the space of the spherical harmonics of degree k. This space has

        N_3 = d (d − 1)(d + 4) / 6
        N_4 = d (d² − 1)(d + 6) / 24

    dimensions. So the means over pairs of rows give the cosine between the mean vectors
    of A and of B, and

        z = √N · mean P(x · y) / √(mean P(x · x') · mean P(y · y'))

    for rows x, x' of A and y, y' of B. Rotations act on this space without an invariant
    subspace, so z has mean 0 and variance 1 exactly over random rotations. For degree
    2, the same is true of the alignment of second moments that are not centred.

    Parameters
    ----------
    first, second : array of shape (n, d) and (m, d)
        Unit rows, d of at least 2. Zero rows are allowed.
    degree : {3, 4}

    Returns
    -------
    float
        z. It is 0 if the moments of a set prefer no direction.
    """
    own = _mean_zonal(first, first, degree) * _mean_zonal(second, second, degree)
    if own <= TIE**2:
        return 0.0
    between = _mean_zonal(first, second, degree)
    return sqrt(n_harmonics(first.shape[1], degree)) * between / sqrt(own)


def n_harmonics(d: int, degree: int) -> int:
    """Count the spherical harmonics of degree 3 or 4 in d dimensions.

    Examples
    --------
    In three dimensions, there are 2k + 1 of degree k.

    >>> n_harmonics(3, 3), n_harmonics(3, 4)
    (7, 9)
    """
    if degree == 3:
        return d * (d - 1) * (d + 4) // 6
    return d * (d**2 - 1) * (d + 6) // 24


def _mean_zonal(first: Floats, second: Floats, degree: int) -> float:
    """Average the zonal polynomial over all pairs of a row of each set."""
    d = first.shape[1]
    total = 0.0
    for rows in row_blocks(len(first), len(second)):
        t = first[rows] @ second.T
        squared = np.square(t)
        if degree == 3:
            values = t * ((d + 2) * squared - 3) / (d - 1)
        else:
            values = ((d + 2) * squared * ((d + 4) * squared - 6) + 3) / (d**2 - 1)
        total += float(values.sum())
    return total / (len(first) * len(second))
