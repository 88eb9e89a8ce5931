"""Half-angle tangents: `t = tan(θ/2)` of the angle θ between two rows.

The tangent runs from 0 (same direction) over 1 (orthogonal) to infinity (opposite
direction), and `t = exp(-artanh(cos θ))`. It keeps the digits of small angles, which
the cosine loses to rounding near 1 and -1.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import EPS, Floats
from embaudit.linalg.rows import unit_rows

ROUNDING = 64 * EPS
"""Rows with a tangent this near to 0 count as parallel, with one this near to 1 as orthogonal.

Rows whose tangent has a reciprocal this near to 0 count as opposite. The entries of unit
rows have errors of a few eps, which turn a row by about as much.
"""
_BLOCK_COLUMNS = 256
"""Columns of a dot product that are added up at once."""
_NEARLY_PARALLEL = 0.95
"""Size of a cosine beyond which the tangent is computed from the unit rows."""


def cosine_of(tangent: Floats) -> Floats:
    """Compute `cos θ = (1 - t²) / (1 + t²)` for t from 0 to infinity, both included.

    Examples
    --------
    >>> cosine_of(np.array([0.0, 1.0, np.inf]))
    array([ 1.,  0., -1.])
    """
    with np.errstate(divide="ignore", over="ignore"):
        # The formula in 1/t has the opposite sign, so infinity is no exception.
        small = np.minimum(tangent, 1 / tangent)
    cosine: Floats = (1 - small) * (1 + small) / (1 + small * small)
    return np.where(tangent <= 1, cosine, -cosine)


def tangent_of(cosine: Floats) -> Floats:
    """Compute `t = √((1 - c) / (1 + c))`, infinite at c = -1.

    Examples
    --------
    >>> tangent_of(np.array([1.0, 0.0, -1.0]))
    array([ 0.,  1., inf])
    """
    with np.errstate(divide="ignore"):
        tangent: Floats = np.sqrt((1 - cosine) / (1 + cosine))
    return tangent


def complement_of(tangent: Floats) -> Floats:
    """Compute `tan(π/4 - θ/2) = (1 - t) / (1 + t)`, which has the sign of the cosine.

    It is the tangent of half the angle that is left up to π/2. It runs from 1 (same
    direction) over 0 (orthogonal) to -1 (opposite direction). The complement of the
    complement is t.

    Examples
    --------
    >>> complement_of(np.array([0.0, 1.0, np.inf]))
    array([ 1.,  0., -1.])
    >>> complement_of(np.array([1.0, 0.0, -1.0]))
    array([ 0.,  1., inf])
    """
    with np.errstate(divide="ignore"):
        # The formula in 1/t has the opposite sign, so infinity is no exception.
        small = np.where(tangent <= 1, tangent, 1 / tangent)
        complement: Floats = (1 - small) / (1 + small)
    return np.where(tangent <= 1, complement, -complement)


def dots(x: Floats, y: Floats) -> Floats:
    """Compute the dot product of each row of x with the same row of y.

    A sum of many terms is rounded at every step, and a gauge multiplies the rounding of
    a cosine near 0 by up to κ. Sums of blocks of columns need fewer steps.
    """
    total = np.zeros(len(x))
    for start in range(0, x.shape[1], _BLOCK_COLUMNS):
        columns = slice(start, start + _BLOCK_COLUMNS)
        total += np.einsum("ij,ij->i", x[:, columns], y[:, columns])
    return total


def tangent_lengths(rows: Floats, lengths: Floats, radius: float) -> Floats:
    """Compute `√(‖row‖² - r²)`, the length of a tangent from each row to a disc.

    The centre of the disc is the origin and r is its radius. If a row is nearly as long
    as r, rounding of its length would leave few digits of the difference. Then each
    entry is split into a multiple of 2⁻²⁶, in units near r, and a remainder of at most
    2⁻²⁷. Squares of the multiples are multiples of 2⁻⁵² and add up to about 1, so their
    sum is exact, and the sums with remainders are small.

    Parameters
    ----------
    rows : array of shape (m, k)
    lengths : array of shape (m,)
        The lengths of the rows.
    radius : float
        r > 0, may be infinite.

    Returns
    -------
    array of shape (m,)
        0 exactly if the disc touches the row, NaN if the disc covers it.

    Examples
    --------
    >>> rows = np.array([[1.0, 1e-12], [3.0, 4.0], [0.5, 0.0], [0.0, 1.0]])
    >>> tangent_lengths(rows, np.array([1.0, 5.0, 0.5, 1.0]), 1.0)
    array([1.00000000e-12, 4.89897949e+00,            nan, 0.00000000e+00])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        tangents = np.sqrt(lengths - radius) * np.sqrt(lengths + radius)
    near = np.flatnonzero(np.abs(lengths - radius) < 0.1 * radius)
    if len(near) > 0 and np.isfinite(radius):
        unit = np.ldexp(1.0, int(np.frexp(radius)[1]))
        scaled = np.column_stack([rows[near], np.full(len(near), radius)]) / unit
        multiples = np.round(scaled * 2.0**26) / 2.0**26
        remainders = scaled - multiples
        signs = np.ones(scaled.shape[1])
        signs[-1] = -1
        difference = dots(signs * multiples, multiples)
        difference += dots(signs * remainders, 2 * multiples + remainders)
        with np.errstate(invalid="ignore"):
            tangents[near] = unit * np.sqrt(difference)
    return tangents


def half_angle_tangents(x: Floats, y: Floats) -> Floats:
    """Compute the half-angle tangent of each pair of rows.

    For unit rows it is `‖x̂ - ŷ‖ / ‖x̂ + ŷ‖` (Kahan, "How futile are mindless
    assessments of roundoff in floating-point computation?", 2006, section 12), which
    has a relative error of about eps / θ. The cosine gives the same tangent in a third
    of the time, with a relative error of about `eps / (1 - |cos θ|)`, so it is used up
    to |cos θ| = 0.95.

    Parameters
    ----------
    x, y : array of shape (m, k)

    Returns
    -------
    array of shape (m,)
        From 0 to infinity; NaN where a row is zero.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 1e-9]])
    >>> half_angle_tangents(x, np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([1.e+00, 5.e-10])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        x_square, y_square = dots(x, x), dots(y, y)
        cosine = dots(x, y) / (np.sqrt(x_square) * np.sqrt(y_square))
        tangent = tangent_of(cosine)
    # Squares of entries of rows that are shorter than 1e-140 lose digits or vanish.
    is_short = np.minimum(x_square, y_square) < 1e-280
    near = np.flatnonzero(is_short | (np.abs(cosine) > _NEARLY_PARALLEL))
    if len(near) > 0:
        tangent[near] = _tangents_of_unit_rows(unit_rows(x[near]), unit_rows(y[near]))
    return tangent


def _tangents_of_unit_rows(x: Floats, y: Floats) -> Floats:
    difference, total = x - y, x + y
    with np.errstate(divide="ignore"):
        tangent = np.sqrt(dots(difference, difference) / dots(total, total))
    tangent[tangent <= ROUNDING] = 0
    tangent[tangent >= 1 / ROUNDING] = np.inf
    return tangent
