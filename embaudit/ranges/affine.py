"""Cosines under a shift of one side by at most τ and linear gauges of condition at most κ, within a side and across.

Within a side the range is the linear one around the translation's. Each gauge is a shift of length at most τ followed
by a linear gauge of condition at most κ, and for every shift the cosines that the linear part reaches are known
exactly: each value c of the interval [lo, hi] that a translation reaches spreads to `[tanh(artanh c - ln κ),
tanh(artanh c + ln κ)]`. Both ends grow with c, and the values a translation reaches leave no gap, so the reachable set
is

    [tanh(artanh lo - ln κ), tanh(artanh hi + ln κ)],

that is `tan(θ'/2)` from that of hi over κ to κ times that of lo.

Across sides a linear gauge fixes the dot product, hence the sign; only the lengths move. With `w = arsech|cos|` the
reachable set under `κ(M) <= κ` is `|cos'| ∈ [sech(w + ln κ), sech(max(0, w - ln κ))]`: turning one of the rows by a
right angle in their plane makes it the same-side statement of `embaudit.ranges.linear`. A shift of at most r moves a
row within a ball, so it turns by `arcsin(r/‖row‖)` at most. Of both together: each value c that the shift reaches
spreads as above, 0 stays 0, and both ends grow with c, so that they come from the ends of what the shift reaches.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.gauges import Affine, Gauge
from embaudit.linalg.rows import row_norms
from embaudit.ranges.half_angle import (
    between,
    compensated_dot,
    dots,
    normalise_exponent,
)
from embaudit.ranges.linear import SHOWN, stretch, stretch_to_end, stretched
from embaudit.ranges.range_solver import AffineBudget, End, RangeEnds, point
from embaudit.ranges.translation import shift_to_end, shifted_ends


class SameSideRangeSolver(AffineBudget):
    """Pairs of rows of the side that is shifted, under an affine budget."""

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; equal rows keep a cosine of 1."""
        if self.max_shift == 0:
            return stretched(
                point(between(normalise_exponent(x), normalise_exponent(y))),
                self.max_condition,
            )
        return stretched(shifted_ends(x, y, self.max_shift), self.max_condition)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch the shifted pair."""
        shift = np.zeros(len(x))
        if self.max_shift != 0:
            shift = shift_to_end(x, y, self.max_shift, end, tol, self.max_condition)
        linear = stretch_to_end(
            x + shift, y + shift, self.side, self.max_condition, end, tol
        )
        return Affine(len(x), side=self.side).after(shift, linear)


_CANCELLED = 1e-4
"""|cosine| below which the dot product is summed in twice the precision: its relative error is what counts."""


class CrossRangeSolver(AffineBudget):
    """Left-right pairs under an affine budget, k >= 2."""

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends: a shift may turn the sign over, the linear part does not."""
        if self.max_shift == 0:
            return _around(*_signed_depth(x, y), self.max_condition)
        shifted = _turned(
            x, y, _radius(y if self.side == "right" else x, self.max_shift)
        )
        if self.max_condition == 1:
            return shifted
        # Both ends of what a value c spreads to grow with c, so that they come from the ends of the translation.
        lower, upper = (
            _around(*_depth_of(tangent), self.max_condition) for tangent in shifted[:2]
        )
        return RangeEnds(
            lower.lower,
            upper.upper,
            lower.lower_attained & shifted.lower_attained,
            upper.upper_attained & shifted.upper_attained,
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch what was shifted against what was not."""
        shift = np.zeros(len(x))
        if self.max_shift != 0:
            wanted = getattr(
                self._replace(max_condition=1.0).ends(x[None], y[None]), end
            )[0]
            still, moving = (x, y) if self.side == "right" else (y, x)
            shift = _shift_to(still, moving, float(wanted), self.max_shift, end, tol)
        moved = (x, y + shift) if self.side == "right" else (x + shift, y)
        linear = _stretch_to_end(*moved, self.max_condition, end, tol)
        return Affine(len(x), side=self.side).after(shift, linear)


def _around(depth: Floats, negative: Flags, condition: float | None) -> RangeEnds:
    """Return both ends for cosines of `± sech(depth)`; one counts as reached where float64 rows can show it."""
    if condition is None:
        # Infinite depth is a cosine of 0, which stays; any other goes down to 0 without reaching it.
        deep = np.where(np.isnan(depth), np.nan, np.inf)
        shallow = np.where(depth < np.inf, 0.0, depth)
        deep_reached = np.isinf(depth)
    else:
        step = np.log(condition)
        deep, shallow = depth + step, np.maximum(0, depth - step)
        deep_reached = np.ones(len(depth), dtype=np.bool_)
    near_zero, far = np.tanh(deep / 2), np.tanh(shallow / 2)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # The lengths shrink by exp(depth - shallow), the rounding of the dot product does not.
        shown = np.isinf(depth) | (depth - shallow <= np.log(SHOWN))
        return RangeEnds(
            np.where(negative, 1 / far, near_zero),
            np.where(negative, 1 / near_zero, far),
            np.where(negative, shown, deep_reached),
            np.where(negative, deep_reached, shown),
        )


def _stretch_to_end(
    x: Floats, y: Floats, condition: float | None, end: End, tol: float
) -> Gauge:
    """Stretch along the bisector of x and y turned by a right angle, or along its normal."""
    depths, negatives = _signed_depth(x[None], y[None])
    depth, negative = float(depths[0]), bool(negatives[0])
    if np.isinf(depth) or condition == 1:
        return Gauge.identity(len(x))
    budget = np.log(condition) if condition is not None else np.inf
    if (end == "upper") != negative:
        factor = np.exp(min(budget, depth))
    else:
        # sech w <= 2 exp(-w): this deep the cosine is within tol of 0.
        factor = np.exp(-min(budget, max(0.0, np.log(4 / tol) - depth)))
    return stretch(*_turned_axes(x, -y if negative else y), float(factor), "left")


def _signed_depth(x: Floats, y: Floats) -> tuple[Floats, Flags]:
    """Compute `w = arsech|cos|`, from 0 (parallel) to infinity (orthogonal), and whether the cosine is negative."""
    x, y = normalise_exponent(x), normalise_exponent(y)
    tangent = between(x, y)
    depth, negative = _depth_of(tangent)
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.sqrt(dots(x, x) * dots(y, y))
        small = np.flatnonzero(np.abs(tangent - 1) < _CANCELLED)
        if len(small):
            product = compensated_dot(x[small], y[small])
            cosine = np.abs(product) / lengths[small]
            depth[small] = np.log((1 + np.sqrt((1 - cosine) * (1 + cosine))) / cosine)
            negative[small] = product < 0
    return depth, negative


def _depth_of(tangent: Floats) -> tuple[Floats, Flags]:
    """Compute `arsech|cos|` and whether the cosine is negative from half-angle tangents."""
    with np.errstate(divide="ignore", over="ignore"):
        return 2 * np.arctanh(np.minimum(tangent, 1 / tangent)), tangent > 1


def _turned_axes(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Orthonormal vectors along the bisector of x and y, y turned by a right angle towards x, and along its normal.

    Orthogonal rows fall together when turned, so the angle comes from their cosine.
    """
    x, y = normalise_exponent(x[None])[0], normalise_exponent(y[None])[0]
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    across = (
        y if between(x[None], y[None])[0] > 0 else np.eye(len(x))[np.argmin(np.abs(x))]
    )
    for _ in range(2):
        across = across - (x @ across) * x
        across /= np.linalg.norm(across)
    half = np.arcsin(min(1.0, float(compensated_dot(x[None], y[None])[0]))) / 2
    return np.cos(half) * x - np.sin(half) * across, np.sin(half) * x + np.cos(
        half
    ) * across


def _radius(moving: Floats, max_shift: float | None) -> Floats:
    """Compute the longest shift over the length of each moving row."""
    if max_shift is None:
        return np.full(len(moving), np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(max_shift / row_norms(moving))


def _turned(x: Floats, y: Floats, radius: Floats) -> RangeEnds:
    """Turn one row of each pair by at most `arcsin radius`; a shift longer than the row points it anywhere."""
    tangent = between(normalise_exponent(x), normalise_exponent(y))
    free = radius > 1
    sine = np.where(free, 0, radius)
    turn = (
        sine / (1 + np.sqrt((1 - sine) * (1 + sine)))
        if x.shape[1] > 1
        else np.zeros(len(x))
    )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # tan((θ ± φ)/2) by the addition theorem; beyond a straight angle the cosine is −1, below 0 it is 1.
        product = tangent * turn
        low = np.where(free | ~(product < 1), np.inf, (tangent + turn) / (1 - product))
        high = np.where(np.isinf(tangent), 1 / turn, (tangent - turn) / (1 + product))
    high = np.where(free, 0.0, np.maximum(high, 0.0))
    low[np.isnan(tangent)] = high[np.isnan(tangent)] = np.nan
    return RangeEnds(low, high, radius != 1, radius != 1)


def _shift_to(
    still: Floats,
    moving: Floats,
    tangent: float,
    max_shift: float | None,
    end: End,
    tol: float,
) -> Floats:
    """Take the moving row to the nearest point of the wanted direction, or just beyond the origin."""
    radius, length = (
        float(_radius(moving[None], max_shift)[0]),
        float(np.linalg.norm(moving)),
    )
    angle = 2 * np.arctan(tangent)
    if radius == 1:
        # A shift as long as the row reaches this direction at the origin only: one a little short of it is taken.
        angle += tol / 4 if end == "upper" else -tol / 4
    wanted = _at_angle(still / np.linalg.norm(still), moving / length, angle)
    along = float(moving @ wanted)
    if radius > 1:
        # A ball that holds the origin reaches every direction: stop just beyond the origin, within the budget.
        along = max(along, length * min(1.0, (radius - 1) / 2))
    shift = along * wanted - moving
    if max_shift is None:
        return shift
    # A short shift is the difference of two long vectors: rounding must not overspend.
    size = float(np.linalg.norm(shift))
    return shift if size <= max_shift else shift * (max_shift / size)


def _at_angle(still: Floats, moving: Floats, angle: float) -> Floats:
    """Return the unit vector at an angle from `still`, in its plane with `moving`.

    Examples
    --------
    >>> right, up = np.eye(2)
    >>> [_at_angle(right, moving, np.arcsin(0.6)).round(9) for moving in (right + up, -up)]
    [array([0.8, 0.6]), array([ 0.8, -0.6])]
    >>> np.abs(_at_angle(right, right, np.pi / 2)).round(9), _at_angle(np.ones(1), np.ones(1), np.pi)
    (array([0., 1.]), array([-1.]))
    """
    for candidate in (moving, np.eye(len(still))[np.argmin(np.abs(still))]):
        across = candidate - (candidate @ still) * still
        length = np.linalg.norm(across)
        if length > 1e-8:
            return np.asarray(np.cos(angle) * still + np.sin(angle) * across / length)
    return np.asarray(np.cos(angle) * still)
