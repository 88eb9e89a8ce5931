"""Cosines within a side under general linear gauges of a bounded condition number.

A gauge of condition at most κ multiplies the half-angle tangent of two rows by a factor
between 1/κ and κ, and every factor between is reached:

    tan(θ'/2) ∈ [tan(θ/2) / κ, κ tan(θ/2)].

Equivalently `artanh(cos θ')` lies within `ln κ` of `artanh(cos θ)`. This is the
generalised Wielandt inequality (Bauer & Householder 1960; Householder, "The Theory of
Matrices in Numerical Analysis", 1964, section 3.4) read as a range.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Floats, as_numbers
from embaudit.core.tolerances import EPS, ROW_ROUNDING
from embaudit.errors import InputError, must_be
from embaudit.gauges.gauge import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import SideName
from embaudit.ranges.half_angle import half_angle_tangents
from embaudit.ranges.range_solver import End, RangeEnd, RangeEnds


def stretched(ends: RangeEnds, condition: float | None) -> RangeEnds:
    """Widen ranges by what linear gauges of at most that condition do to each value.

    The tangent of each value grows or shrinks by at most the condition, so the new ends
    come from the old ones. They are attained if the old ones are. Without a bound on
    the condition (None), two rows that are not parallel can be given every cosine
    strictly between -1 and 1, so the ends are -1 and 1, and are limits unless they were
    attained before; parallel rows keep their cosine.
    """
    lower, upper = ends.lower, ends.upper
    if condition is not None:
        return RangeEnds(
            lower=RangeEnd(lower.tangent * condition, lower.is_attained),
            upper=RangeEnd(upper.tangent / condition, upper.is_attained),
        )
    is_undefined = np.isnan(lower.tangent)
    is_opposite = lower.is_attained & np.isinf(lower.tangent)
    is_parallel = upper.is_attained & (upper.tangent == 0)
    limits = RangeEnds(
        lower=RangeEnd(np.where(is_undefined, np.nan, np.inf), is_opposite),
        upper=RangeEnd(np.where(is_undefined, np.nan, 0.0), is_parallel),
    )
    # All cosines before the gauge are 1, or all are -1.
    is_fixed = (lower.tangent == 0) | np.isinf(upper.tangent)
    return limits.with_fixed(is_fixed, lower.tangent)


def stretch_to_end(
    x: Floats, y: Floats, side: SideName, condition: float | None, end: End, tol: float
) -> Gauge:
    """Find the gauge that takes two rows of shape (k,) to an end of their linear range.

    It stretches them along their bisector (upper end) or along the normal of the
    bisector in their plane (lower end). Without a bound on the condition, it stretches
    them until the cosine is within `tol` of 1 or -1.
    """
    tangent = half_angle_tangents(x[None], y[None])[0]
    if tangent == 0 or np.isinf(tangent) or condition == 1:
        return Gauge.identity(len(x))
    if condition is None:
        # cos θ' = (1 - t²) / (1 + t²) is within 2 t² of 1.
        small = np.sqrt(tol / 8)
        needed = tangent / small if end == "upper" else 1 / (tangent * small)
        condition = max(1.0, float(needed))
    factor = condition if end == "lower" else 1 / condition
    return stretch(*bisector_and_normal(x, y), factor, side)


def bisector_and_normal(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the directions of `x̂ + ŷ` and `x̂ - ŷ` for two rows of shape (k,).

    They are orthogonal. Of nearly parallel rows the difference is short and has lost
    digits, so its part along the sum is removed; of nearly opposite rows the other way
    round. Of parallel rows any direction orthogonal to the sum is taken.
    """
    x, y = unit_rows(np.stack([x, y]))
    is_acute = x @ y > 0
    long, short = (x + y, x - y) if is_acute else (x - y, x + y)
    long /= np.linalg.norm(long)
    if np.linalg.norm(short) <= ROW_ROUNDING:
        short = orthogonal_direction(long)
    short -= (short @ long) * long
    short /= np.linalg.norm(short)
    return (long, short) if is_acute else (short, long)


def orthogonal_direction(unit: Floats) -> Floats:
    """Return some unit vector that is orthogonal to a given one, k >= 2."""
    axis = np.zeros(len(unit))
    axis[np.argmin(np.abs(unit))] = 1
    axis -= (axis @ unit) * unit
    return np.asarray(axis / np.linalg.norm(axis))


def stretch(bisector: Floats, normal: Floats, factor: float, side: SideName) -> Gauge:
    """Return the gauge that multiplies `tan(θ/2)` of a pair of that side by `factor`.

    Its condition number is the larger one of `factor` and `1 / factor`. The rows stay
    in the axes that are stretched. If they were turned back, their coordinates would
    mix small and large numbers, and rounding would grow with the condition number.

    Raises
    ------
    InputError
        If the condition number is too large for float64.
    """
    k = len(bisector)
    if not k * EPS < factor < 1 / (k * EPS):
        condition = max(factor, 1 / factor)
        raise InputError(
            f"no gauge in float64 has the condition number {condition:.1e} that this "
            "end needs; choose a larger tol."
        )
    # The first two columns of Q are the bisector and the normal, up to signs.
    axes = np.linalg.qr(np.column_stack([bisector, normal]), mode="complete").Q
    scales = np.ones(k)
    scales[:2] = factor**-0.5, factor**0.5
    acting, inverse = axes * scales, axes / scales
    if side == "right":
        return Gauge(inverse, acting)
    return Gauge(acting, inverse)


def require_cosines(values: ArrayLike, name: str) -> Floats:
    """Check cosines. NaN, the cosine of a zero row, is allowed."""
    cosines = as_numbers(values, name)
    outside = np.abs(cosines) > 1
    if outside.any():
        raise must_be(name, "a cosine, from -1 to 1", f"{cosines[outside].flat[0]:g}")
    return cosines


def condition_to_reach(cosine: ArrayLike, target: ArrayLike) -> Floats:
    """Compute the smallest condition number that moves a same-side cosine to a target.

    `κ = exp|artanh(cosine) - artanh(target)|`.

    Parameters
    ----------
    cosine, target : array_like
        Cosines between -1 and 1; they broadcast.

    Returns
    -------
    array, or float for two numbers
        At least 1. Infinite if no gauge does it: the cosine of parallel rows (±1) never
        moves, and no other cosine becomes ±1. NaN where a cosine is NaN.

    Raises
    ------
    InputError
        If a value is not a number or is outside [-1, 1], or the shapes do not match.

    Examples
    --------
    >>> condition_to_reach(0.8, [0.8, 0.0, -0.8]).round(9)
    array([1., 3., 9.])
    >>> condition_to_reach([0.5, 1.0], 1.0)
    array([inf,  1.])
    """
    start = require_cosines(cosine, "cosine")
    goal = require_cosines(target, "target")
    try:
        start, goal = np.broadcast_arrays(start, goal)
    except ValueError as error:
        raise must_be(
            "cosine and target", "of one shape", f"{start.shape} and {goal.shape}"
        ) from error
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.exp(np.abs(np.arctanh(start) - np.arctanh(goal)))
    smallest: Floats = np.where(start == goal, 1.0, condition)[()]
    return smallest
