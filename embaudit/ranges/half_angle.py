"""Half-angle tangents: `t = tan(θ/2)` of the angle θ between two rows.

The tangent runs from 0 (same direction) over 1 (orthogonal) to infinity (opposite
direction), and `t = exp(-artanh(cos θ))`. It keeps the digits of small angles, which
the cosine loses to rounding near 1 and -1.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.tolerances import ROW_ROUNDING, SAFE_SQUARE
from embaudit.linalg.rows import unit_rows

_BLOCK_COLUMNS = 1024
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


def sine_of(tangent: Floats) -> Floats:
    """Compute `sin θ = 2t / (1 + t²)` for t from 0 to infinity, both included.

    Examples
    --------
    >>> sine_of(np.array([0.0, 1.0, np.inf]))
    array([0., 1., 0.])
    """
    with np.errstate(divide="ignore", over="ignore"):
        # The formula in 1/t is the same, so infinity is no exception.
        small = np.minimum(tangent, 1 / tangent)
    sine: Floats = 2 * small / (1 + small * small)
    return sine


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


def tangent_lengths(rows: Floats, lengths: Floats, radius: float) -> Floats:
    """Compute `√(‖row‖² - r²)`, the length of a tangent from each row to a disc.

    The centre of the disc is the origin and r is its radius. If a row is nearly as long
    as r, rounding of its length would leave few digits of the difference: 1e-8 of r at
    best. Then the entries and r are first rounded to multiples m of a step of 2²⁷ units
    in the last place of r. Squares of multiples add up without rounding, because
    their sum is less than 2⁵³ squares of the step. The rest of a square,
    `x² - m² = (x - m)(x + m)`, is so small that its rounding does not matter.

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
    if len(near) > 0:
        x = rows[near]
        step = 2.0**27 * np.spacing(radius)
        rounded = np.round(x / step) * step
        rounded_radius = np.round(radius / step) * step
        square = np.vecdot(rounded, rounded) - rounded_radius**2
        square += np.vecdot(x - rounded, x + rounded)
        square -= (radius - rounded_radius) * (radius + rounded_radius)
        with np.errstate(invalid="ignore"):
            tangents[near] = np.sqrt(square)
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
        x_square, y_square = np.vecdot(x, x), np.vecdot(y, y)
        cosine = _dot_products(x, y) / (np.sqrt(x_square) * np.sqrt(y_square))
        tangent = tangent_of(cosine)
    # Squares of entries of shorter rows lose digits or vanish.
    is_short = np.minimum(x_square, y_square) < SAFE_SQUARE**2
    near = np.flatnonzero(is_short | (np.abs(cosine) > _NEARLY_PARALLEL))
    if len(near) > 0:
        tangent[near] = _tangents_of_unit_rows(unit_rows(x[near]), unit_rows(y[near]))
    return tangent


def _dot_products(x: Floats, y: Floats) -> Floats:
    """Compute the dot product of each pair of rows with little rounding.

    A gauge of condition κ multiplies the rounding of a cosine near 0 by up to κ. If
    many thousand equal terms are added one by one, each step can be rounded in the same
    direction, so the terms of each block of columns are added up first.
    """
    blocks = []
    for start in range(0, x.shape[1], _BLOCK_COLUMNS):
        columns = slice(start, start + _BLOCK_COLUMNS)
        blocks.append(np.vecdot(x[:, columns], y[:, columns]))
    return np.asarray(np.stack(blocks, axis=1).sum(axis=1))


def _tangents_of_unit_rows(x: Floats, y: Floats) -> Floats:
    difference = x - y
    total = x + y
    with np.errstate(divide="ignore"):
        tangent = np.sqrt(np.vecdot(difference, difference) / np.vecdot(total, total))
    tangent[tangent <= ROW_ROUNDING] = 0
    tangent[tangent >= 1 / ROW_ROUNDING] = np.inf
    return np.asarray(tangent)
