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
_NEARLY_PARALLEL = 0.999
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


def half_angle_tangents(x: Floats, y: Floats) -> Floats:
    """Compute the half-angle tangent of each pair of rows.

    For unit rows it is `‖x̂ - ŷ‖ / ‖x̂ + ŷ‖` (Kahan, "How futile are mindless
    assessments of roundoff in floating-point computation?", 2006, section 12), which
    has a relative error of about eps / θ. The cosine gives the same tangent in a third
    of the time, with a relative error below 1e-12 for |cos θ| up to 0.999.

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
        cosine = dots(x, y) / (np.sqrt(dots(x, x)) * np.sqrt(dots(y, y)))
        tangent = tangent_of(cosine)
    # NaN belongs here too: the squares of rows shorter than 1e-154 are 0.
    near = np.flatnonzero(~(np.abs(cosine) <= _NEARLY_PARALLEL))
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
