"""Same-side cosines under general linear gauges: `tan(θ'/2)` between `tan(θ/2)/κ` and `κ tan(θ/2)`.

Equivalently `artanh(cos')` lies within `ln κ` of `artanh(cos)`. This is the generalised Wielandt inequality (Bauer &
Householder 1960; Householder, "The Theory of Matrices in Numerical Analysis", 1964, section 3.4) read as a range.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import EPS, Floats, as_numbers
from embaudit.errors import InputError, must_be
from embaudit.gauges.gauge import Gauge
from embaudit.model import SideName
from embaudit.ranges.half_angle import between, normalise_exponent, shear
from embaudit.ranges.range_solver import End, RangeEnds

SHOWN = 1e-9 / EPS
"""A gauge that magnifies rounding more than this can no longer show the end of a range to nine digits."""


def stretched(ends: RangeEnds, condition: float | None) -> RangeEnds:
    """Widen ranges by what linear gauges of at most that condition (None: any) do to every value in them.

    Half-angle tangents grow or shrink by the condition at most, and both ends move on with the value they start from,
    so the ends of a whole interval come from its own ends. An end counts as reached where a float64 gauge can show it:
    rounding turns a row by about eps, and the gauge carries the change of the angle over to the end in proportion,
    `sin θ' / sin θ`.
    """
    if condition == 1:
        return ends
    if condition is None:
        # Parallel rows never separate; any other pair can be given every cosine strictly between -1 and 1.
        still = (ends.lower == ends.upper) & ((ends.lower == 0) | np.isinf(ends.lower))
        lower, upper = (
            np.where(still, ends.lower, np.inf),
            np.where(still, ends.upper, 0.0),
        )
        lower[np.isnan(ends.lower)] = upper[np.isnan(ends.upper)] = np.nan
        shown = lower == ends.lower, upper == ends.upper
    else:
        lower, upper = ends.lower * condition, ends.upper / condition
        shown = (
            _magnified(lower, ends.lower) <= SHOWN,
            _magnified(upper, ends.upper) <= SHOWN,
        )
    return RangeEnds(
        lower, upper, ends.lower_attained & shown[0], ends.upper_attained & shown[1]
    )


def stretch_to_end(
    x: Floats, y: Floats, side: SideName, condition: float | None, end: End, tol: float
) -> Gauge:
    """Stretch two rows along their bisector (upper end) or along its normal in their plane (lower end).

    Without a bound on the condition, as far as comes within `tol` of 1 or -1.
    """
    x, y = normalise_exponent(x[None])[0], normalise_exponent(y[None])[0]
    tangent = between(x[None], y[None])[0]
    if tangent == 0 or np.isinf(tangent) or condition == 1:
        return Gauge.identity(len(x))
    if condition is None:
        # cos θ' = (1 - t²)/(1 + t²) is within 2 t² of 1.
        nearly = np.sqrt(tol / 8)
        condition = max(
            1.0, tangent / nearly if end == "upper" else 1 / (tangent * nearly)
        )
    bisector, normal = bisector_and_normal(x, y)
    return stretch(
        bisector, normal, condition if end == "lower" else 1 / condition, side
    )


def _magnified(end: Floats, start: Floats) -> Floats:
    """Compute `sin θ' / sin θ` from two half-angle tangents, 1 where the rows are parallel."""
    # 1/t of a subnormal tangent is infinite, as that of 0 is.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # sin θ = 2t/(1 + t²); the factor 2 cancels in the ratio.
        sines = [1 / (tangent + 1 / tangent) for tangent in (end, start)]
        return np.where(sines[1] > 0, sines[0] / sines[1], 1.0)


def bisector_and_normal(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Orthonormal vectors along `x̂ + ŷ` and `ŷ - x̂`, exact also for rows that are nearly, but not quite, parallel."""
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    flip = -1.0 if x @ y < 0 else 1.0
    ratio = np.asarray(flip * (x @ y) / (x @ x))
    # The part of y across x, first without cancellation and then cleaned of what rounding left along x.
    across = shear(x, flip * y, ratio)
    for _ in range(2):
        across -= (x @ across) * x
    across /= np.linalg.norm(across)
    half = np.arctan(between(x[None], flip * y[None])[0])
    bisector, normal = (
        np.cos(half) * x + np.sin(half) * across,
        np.cos(half) * across - np.sin(half) * x,
    )
    normal -= (bisector @ normal) * bisector
    normal /= np.linalg.norm(normal)
    # Of an obtuse angle x̂ + ŷ and x̂ - ŷ change places.
    return (bisector, normal) if flip > 0 else (normal, bisector)


def stretch(bisector: Floats, normal: Floats, factor: float, side: SideName) -> Gauge:
    """Gauge that multiplies `tan(θ/2)` of a pair of that side by `factor`, with `κ = max(factor, 1/factor)`.

    It leaves the rows in the axes it stretches: turned back, they would mix coordinates of all lengths, and rounding
    would grow with κ.

    Raises
    ------
    InputError
        If float64 cannot hold so large a condition.
    """
    if not len(bisector) * EPS < factor < 1 / (len(bisector) * EPS):
        raise InputError(
            f"no float64 gauge has the condition {max(factor, 1 / factor):.1e} this end asks for; ask for a larger tol."
        )
    axes = np.linalg.qr(np.column_stack([bisector, normal]), mode="complete").Q
    # QR may turn the signs of the first columns; the completed ones fit either way.
    axes[:, 0], axes[:, 1] = bisector, normal
    scales = np.ones(len(bisector))
    scales[:2] = factor**-0.5, factor**0.5
    acting, inverse = axes * scales, axes / scales
    return Gauge(inverse, acting) if side == "right" else Gauge(acting, inverse)


def require_cosines(values: ArrayLike, name: str) -> Floats:
    """Check cosines; NaN, the cosine of a zero row, passes."""
    cosines = as_numbers(values, name)
    outside = np.abs(cosines) > 1
    if outside.any():
        raise must_be(name, "a cosine, from -1 to 1", f"{cosines[outside].flat[0]:g}")
    return cosines


def condition_to_reach(cosine: ArrayLike, target: ArrayLike) -> Floats:
    """Compute the smallest condition number of a linear gauge that moves a same-side cosine to a target.

    `κ = exp|artanh(cosine) - artanh(target)|`.

    Parameters
    ----------
    cosine, target : array_like
        Cosines between -1 and 1; they broadcast.

    Returns
    -------
    array, or float for two numbers
        At least 1. Infinite where no gauge does it: parallel rows (±1) never move, and nothing else gets to ±1.
        NaN where a cosine is.

    Raises
    ------
    InputError
        If a value is no number or outside [-1, 1], or the shapes do not match.

    Examples
    --------
    >>> condition_to_reach(0.8, [0.8, 0.0, -0.8]).round(9)
    array([1., 3., 9.])
    >>> condition_to_reach([0.5, 1.0], 1.0)
    array([inf,  1.])
    """
    ends = require_cosines(cosine, "cosine"), require_cosines(target, "target")
    try:
        start, goal = np.broadcast_arrays(*ends)
    except ValueError as error:
        raise must_be(
            "cosine and target", "of one shape", f"{ends[0].shape} and {ends[1].shape}"
        ) from error
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.exp(np.abs(np.arctanh(start) - np.arctanh(goal)))
    smallest: Floats = np.where(start == goal, 1.0, condition)[()]
    return smallest
