"""Cosines under a shift of one side by at most τ and linear gauges of condition at most κ.

Each affine gauge is a shift of length at most τ, followed by a linear gauge of condition
at most κ. So the linear range is taken around each value that the shift reaches. Those
values leave no gap, and both ends of the linear range grow with the cosine it starts
from, so the ends come from the ends of what the shift reaches.

*Within a side*, where the shift reaches the cosines from lo to hi, the range is

    [tanh(artanh lo - ln κ), tanh(artanh hi + ln κ)],

that is, `tan(θ'/2)` from that of hi over κ to κ times that of lo.

*Across the sides*, a linear gauge fixes the dot product and hence the sign of the
cosine; only the lengths of the rows change. With `w = arsech|cos θ|`, the size of the
cosine ranges from `sech(w + ln κ)` to `sech(max(0, w - ln κ))`: if one of the rows is
turned by a right angle in their plane, this is the statement of
`embaudit.ranges.linear`. In half angles, `tan(θ/2) = tanh(w/2)` for cos θ >= 0. A shift
of at most r moves a row within a ball, so it turns the row by at most
`arcsin(r / ‖row‖)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from embaudit.core.checked import Floats
from embaudit.gauges import Affine, Gauge
from embaudit.linalg.rows import row_norms
from embaudit.ranges.half_angle import ROUNDING, half_angle_tangents
from embaudit.ranges.linear import (
    bisector_and_normal,
    orthogonal_direction,
    stretch,
    stretch_to_end,
    stretched,
)
from embaudit.ranges.range_solver import AffineBudget, End, RangeEnds, point
from embaudit.ranges.translation import shift_to_end, shifted_ends


@dataclass(frozen=True)
class SameSideRangeSolver:
    """Pairs of rows of the side that is shifted, under an affine budget."""

    budget: AffineBudget
    block_bytes: ClassVar[int] = 2**21

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; equal rows keep a cosine of 1."""
        if self.budget.max_shift == 0:
            unshifted = point(half_angle_tangents(x, y))
            return stretched(unshifted, self.budget.max_condition)
        shifted = shifted_ends(x, y, self.budget.max_shift)
        return stretched(shifted, self.budget.max_condition)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch the shifted pair."""
        side, condition = self.budget.side, self.budget.max_condition
        shift = np.zeros(len(x))
        if self.budget.max_shift != 0:
            shift = shift_to_end(x, y, self.budget.max_shift, end, tol, condition)
        linear = stretch_to_end(x + shift, y + shift, side, condition, end, tol)
        return Affine(len(x), side=side).after(shift, linear)


@dataclass(frozen=True)
class CrossRangeSolver:
    """Left-right pairs under an affine budget, k >= 2."""

    budget: AffineBudget
    block_bytes: ClassVar[int] = 2**21

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends. A shift can change the sign, the linear part does not."""
        shifted = self._shifted_ends(x, y)
        if self.budget.max_condition == 1:
            return shifted
        from_lower = _stretched_across(shifted.lower, self.budget.max_condition)
        from_upper = _stretched_across(shifted.upper, self.budget.max_condition)
        return RangeEnds(
            from_lower.lower,
            from_upper.upper,
            from_lower.lower_attained & shifted.lower_attained,
            from_upper.upper_attained & shifted.upper_attained,
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift one row to the end of the shift's range, then stretch it against the other."""
        side, max_shift = self.budget.side, self.budget.max_shift
        shift = np.zeros(len(x))
        if max_shift != 0:
            tangent = float(self._shifted_ends(x[None], y[None]).tangent(end)[0])
            fixed_row, moving_row = (x, y) if side == "right" else (y, x)
            shift = _shift_to(fixed_row, moving_row, tangent, max_shift, end, tol)
        if side == "right":
            y = y + shift
        else:
            x = x + shift
        linear = _stretch_to_end(x, y, self.budget.max_condition, end, tol)
        return Affine(len(x), side=side).after(shift, linear)

    def _shifted_ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends under shifts alone."""
        tangent = half_angle_tangents(x, y)
        if self.budget.max_shift == 0:
            return point(tangent)
        moving_rows = y if self.budget.side == "right" else x
        radius = _relative_radius(moving_rows, self.budget.max_shift)
        return _turned(tangent, radius, is_line=x.shape[1] == 1)


def _stretched_across(tangent: Floats, condition: float | None) -> RangeEnds:
    """Return both ends of left-right cosines, given by tangents, under linear gauges.

    With w and κ of the module's docstring, the tangents are `tanh((w ± ln κ) / 2)` if
    the cosine is positive, and the reciprocals of these if it is negative. Without a
    bound on κ, a cosine other than 0 comes near to 0 and reaches 1 or -1.
    """
    is_negative = tangent > 1
    all_pairs = np.ones(len(tangent), dtype=np.bool_)
    with np.errstate(divide="ignore"):
        acute = np.where(is_negative, 1 / tangent, tangent)
        if condition is None:
            is_orthogonal = acute >= 1 - ROUNDING
            near_zero = np.ones(len(tangent))
            near_zero_attained = is_orthogonal
            near_one = np.where(is_orthogonal, 1.0, 0.0)
        else:
            depth = 2 * np.arctanh(acute)
            step = np.log(condition)
            near_zero = np.tanh((depth + step) / 2)
            near_zero_attained = all_pairs
            near_one = np.tanh(np.maximum(depth - step, 0) / 2)
        ends = RangeEnds(
            np.where(is_negative, 1 / near_one, near_zero),
            np.where(is_negative, 1 / near_zero, near_one),
            np.where(is_negative, all_pairs, near_zero_attained),
            np.where(is_negative, near_zero_attained, all_pairs),
        )
    return ends.with_fixed(np.isnan(tangent), tangent)


def _stretch_to_end(
    x: Floats, y: Floats, condition: float | None, end: End, tol: float
) -> Gauge:
    """Find the linear gauge that takes a left row x and a right row y to an end.

    It stretches along the bisector of x and of y turned by a right angle towards x, or
    along the normal of that bisector. These lie half-way between the bisector of x and
    y and its normal. For a negative cosine, -y takes the place of y.
    """
    tangent = float(half_angle_tangents(x[None], y[None])[0])
    is_negative = tangent > 1
    acute = 1 / tangent if is_negative else tangent
    if condition == 1 or acute >= 1 - ROUNDING:
        return Gauge.identity(len(x))
    depth = 2 * np.arctanh(acute)
    most = np.inf if condition is None else np.log(condition)
    is_away_from_zero = (end == "upper") != is_negative
    if is_away_from_zero:
        step = min(most, depth)
    else:
        # sech w <= 2 exp(-w), so at the depth ln(4 / tol) the cosine is within tol of 0.
        step = -min(most, max(0.0, np.log(4 / tol) - depth))
    bisector, normal = bisector_and_normal(x, -y if is_negative else y)
    first = (bisector + normal) / np.sqrt(2)
    second = (bisector - normal) / np.sqrt(2)
    return stretch(first, second, float(np.exp(step)), "left")


def _relative_radius(moving_rows: Floats, max_shift: float | None) -> Floats:
    """Compute the longest shift over the length of each moving row."""
    if max_shift is None:
        return np.full(len(moving_rows), np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(max_shift / row_norms(moving_rows))


def _turned(tangent: Floats, radius: Floats, *, is_line: bool) -> RangeEnds:
    """Turn one row of each pair by at most arcsin(radius).

    A shift that is longer than the row points it anywhere. On a line, a shorter one
    does not turn it.
    """
    angle = 2 * np.arctan(tangent)
    turn = np.zeros(len(radius)) if is_line else np.arcsin(np.minimum(radius, 1))
    turn[radius > 1] = np.pi
    largest_angle = angle + turn
    smallest_angle = np.maximum(angle - turn, 0)
    # A shift exactly as long as the row takes it to the origin, where it has no cosine.
    is_attained = radius != 1
    return RangeEnds(
        np.where(largest_angle >= np.pi, np.inf, np.tan(largest_angle / 2)),
        np.tan(smallest_angle / 2),
        is_attained,
        is_attained,
    )


def _shift_to(
    fixed_row: Floats,
    moving_row: Floats,
    tangent: float,
    max_shift: float | None,
    end: End,
    tol: float,
) -> Floats:
    """Find a shift that turns the moving row to an angle from the fixed row.

    The shift takes the moving row to the nearest point of the wanted direction, or just
    beyond the origin.
    """
    radius = float(_relative_radius(moving_row[None], max_shift)[0])
    length = float(np.linalg.norm(moving_row))
    angle = 2 * np.arctan(tangent)
    if radius == 1:
        # A shift as long as the row reaches this direction only at the origin, so a
        # direction a little short of it is taken.
        angle += tol / 4 if end == "upper" else -tol / 4
    wanted = _at_angle(
        fixed_row / np.linalg.norm(fixed_row), moving_row / length, angle
    )
    along = float(moving_row @ wanted)
    if radius > 1:
        # The shifted row can be in any direction: stop just beyond the origin.
        along = max(along, length * min(1.0, (radius - 1) / 2))
    shift = along * wanted - moving_row
    if max_shift is None:
        return shift
    # A short shift is the difference of two long vectors, and rounding may lengthen it.
    size = float(np.linalg.norm(shift))
    return shift if size <= max_shift else shift * (max_shift / size)


def _at_angle(fixed_unit: Floats, moving_unit: Floats, angle: float) -> Floats:
    """Return the unit vector at an angle from `fixed_unit`, in its plane with `moving_unit`.

    Examples
    --------
    >>> right, up = np.eye(2)
    >>> angle = np.arcsin(0.6)
    >>> _at_angle(right, right + up, angle).round(9)
    array([0.8, 0.6])
    >>> _at_angle(right, -up, angle).round(9)
    array([ 0.8, -0.6])

    Of parallel vectors any plane is taken; on a line there is none.

    >>> np.abs(_at_angle(right, right, np.pi / 2)).round(9)
    array([0., 1.])
    >>> _at_angle(np.ones(1), np.ones(1), np.pi)
    array([-1.])
    """
    if len(fixed_unit) == 1:
        return np.asarray(np.cos(angle) * fixed_unit)
    across = moving_unit - (moving_unit @ fixed_unit) * fixed_unit
    if np.linalg.norm(across) <= 1e-8:
        across = orthogonal_direction(fixed_unit)
    across /= np.linalg.norm(across)
    return np.asarray(np.cos(angle) * fixed_unit + np.sin(angle) * across)
