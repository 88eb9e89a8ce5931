"""Cosines under a shift of one side and linear gauges, both within a budget.

Each affine gauge is a shift of length at most τ, followed by a linear gauge of a
condition number of at most κ. So the linear range is taken around each cosine that the
shift reaches. These cosines form an interval, and both ends of the linear range grow
with the cosine that it starts from, so the ends come from the ends of that interval.

*Within a side*, where the shift reaches the cosines from lo to hi, the range is

    [tanh(artanh lo - ln κ), tanh(artanh hi + ln κ)],

that is, `tan(θ'/2)` from that of hi over κ to κ times that of lo.

*Across the sides*, a linear gauge fixes the dot product and hence the sign of the
cosine; only the lengths of the rows change. If one of the rows is turned by a right
angle in their plane, the statement of `embaudit.ranges.linear` is one about the
complement `q = tan(π/4 - θ/2)`: it is multiplied by a factor between 1/κ and κ, while
its size stays at most 1. In other words, with `w = arsech|cos θ|`, the size of the
cosine ranges from `sech(w + ln κ)` to `sech(max(0, w - ln κ))`. A shift of at most r
moves a row within a ball, so it turns the row by at most `arcsin(r / ‖row‖)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.tolerances import COLLINEAR, PAST_ROW, ROW_ROUNDING
from embaudit.gauges import Affine, Gauge
from embaudit.linalg.rows import row_norms
from embaudit.ranges.half_angle import (
    complement_of,
    half_angle_tangents,
    tangent_lengths,
)
from embaudit.ranges.linear import (
    bisector_and_normal,
    orthogonal_direction,
    stretch,
    stretch_to_end,
    stretched,
)
from embaudit.ranges.range_solver import AffineBudget, End, RangeEnd, RangeEnds, point
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
        """Shift to the end of the range under shifts, then stretch the shifted pair."""
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
        condition = self.budget.max_condition
        from_lower = _stretched_across(shifted.lower.tangent, condition)
        from_upper = _stretched_across(shifted.upper.tangent, condition)
        lower_attained = from_lower.lower.is_attained & shifted.lower.is_attained
        upper_attained = from_upper.upper.is_attained & shifted.upper.is_attained
        return RangeEnds(
            lower=RangeEnd(from_lower.lower.tangent, lower_attained),
            upper=RangeEnd(from_upper.upper.tangent, upper_attained),
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift one row to the end of its range, then stretch both rows."""
        side, max_shift = self.budget.side, self.budget.max_shift
        shift = np.zeros(len(x))
        if max_shift != 0:
            goal = self._shifted_ends(x[None], y[None]).at(end)
            angle = 2 * np.arctan(float(goal.tangent[0]))
            if not goal.is_attained[0]:
                # The longest shift takes the row to the origin, so a direction a little
                # short of the end is taken.
                angle += tol / 4 if end == "upper" else -tol / 4
            fixed_row, moving_row = (x, y) if side == "right" else (y, x)
            shift = _shift_to(fixed_row, moving_row, angle, max_shift)
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
        return _turned(tangent, moving_rows, self.budget.max_shift)


def _stretched_across(tangent: Floats, condition: float | None) -> RangeEnds:
    """Return both ends of left-right cosines, given by tangents, under linear gauges.

    The complement q of a cosine keeps its sign, and its size grows up to 1 or shrinks
    by at most κ. Without a bound on κ, a cosine other than 0 comes near to 0 and
    reaches 1 or -1.
    """
    complement = complement_of(tangent)
    if condition is None:
        is_orthogonal = np.abs(complement) <= ROW_ROUNDING
        complement = np.where(is_orthogonal, 0, complement)
        near_zero = np.zeros(len(tangent))
        near_one = np.sign(complement)
        near_zero_attained = is_orthogonal
    else:
        near_zero = complement / condition
        near_one = np.clip(complement * condition, -1, 1)
        near_zero_attained = np.ones(len(tangent), dtype=np.bool_)
    is_negative = complement < 0
    # The end near 0 is the lower one of a positive cosine, and 1 or -1 is attained.
    lower = RangeEnd(
        complement_of(np.minimum(near_zero, near_one)), is_negative | near_zero_attained
    )
    upper = RangeEnd(
        complement_of(np.maximum(near_zero, near_one)),
        ~is_negative | near_zero_attained,
    )
    return RangeEnds(lower, upper).with_fixed(np.isnan(tangent), tangent)


def _stretch_to_end(
    x: Floats, y: Floats, condition: float | None, end: End, tol: float
) -> Gauge:
    """Find the linear gauge that takes a left row x and a right row y to an end.

    It stretches along the bisector of x and of y turned by a right angle towards x, or
    along the normal of that bisector. These lie half-way between the bisector of x and
    y and its normal. For a negative cosine, -y takes the place of y.
    """
    complement = float(complement_of(half_angle_tangents(x[None], y[None]))[0])
    size = abs(complement)
    if condition == 1 or size <= ROW_ROUNDING:
        return Gauge.identity(len(x))
    most = np.inf if condition is None else condition
    is_negative = complement < 0
    is_away_from_zero = (end == "upper") != is_negative
    if is_away_from_zero:
        factor = min(most, 1 / size)
    else:
        # |cos| is at most 2 |q|, so it is within tol of 0 at |q| = tol / 4.
        factor = 1 / min(most, max(1.0, 4 * size / tol))
    bisector, normal = bisector_and_normal(x, -y if is_negative else y)
    first = (bisector + normal) / np.sqrt(2)
    second = (bisector - normal) / np.sqrt(2)
    return stretch(first, second, factor, "left")


def _turned(tangent: Floats, moving_rows: Floats, max_shift: float | None) -> RangeEnds:
    """Return both ends if one row of each pair is shifted by at most a length.

    A shift of at most r turns a row by at most `arcsin(r / ‖row‖)`. A shift that is
    longer than the row points it anywhere. On a line, a shorter one does not turn it.
    """
    radius = np.inf if max_shift is None else max_shift
    tangent_length = tangent_lengths(moving_rows, row_norms(moving_rows), radius)
    # A disc around the origin that covers the row has no tangent from it.
    is_covered = np.isnan(tangent_length)
    if moving_rows.shape[1] == 1:
        turn = np.where(is_covered, np.pi, 0)
    else:
        turn = np.where(is_covered, np.pi, np.arctan2(radius, tangent_length))
    angle = 2 * np.arctan(tangent)
    largest_angle = angle + turn
    smallest_angle = np.maximum(angle - turn, 0)
    # A shift exactly as long as the row takes it to the origin, where it has no cosine.
    is_attained = tangent_length != 0
    largest_tangent = np.where(
        largest_angle >= np.pi, np.inf, np.tan(largest_angle / 2)
    )
    return RangeEnds(
        lower=RangeEnd(largest_tangent, is_attained),
        upper=RangeEnd(np.tan(smallest_angle / 2), is_attained),
    )


def _shift_to(
    fixed_row: Floats, moving_row: Floats, angle: float, max_shift: float | None
) -> Floats:
    """Find a shift that turns the moving row to an angle from the fixed row.

    The shift takes the moving row to the nearest point of the wanted direction, or just
    beyond the origin.
    """
    length = float(np.linalg.norm(moving_row))
    radius = np.inf if max_shift is None else max_shift
    wanted = _at_angle(
        fixed_row / np.linalg.norm(fixed_row), moving_row / length, angle
    )
    along = float(moving_row @ wanted)
    tangent_length = tangent_lengths(moving_row[None], np.array([length]), radius)[0]
    if np.isnan(tangent_length):
        # The shifted row can be in any direction: stop just beyond the origin, but far
        # enough from it that rounding does not turn the row.
        share_left = min(1.0, (radius / length - 1) / 2)
        along = max(along, length * max(share_left, PAST_ROW))
        return np.asarray(along * wanted - moving_row)
    shift = along * wanted - moving_row
    # A short shift is the difference of two long vectors, and rounding may lengthen it.
    size = float(np.linalg.norm(shift))
    return shift if size <= radius else shift * (radius / size)


def _at_angle(fixed_unit: Floats, moving_unit: Floats, angle: float) -> Floats:
    """Return a unit vector at an angle from `fixed_unit`, towards `moving_unit`.

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
    if np.linalg.norm(across) <= COLLINEAR:
        across = orthogonal_direction(fixed_unit)
    across /= np.linalg.norm(across)
    return np.asarray(np.cos(angle) * fixed_unit + np.sin(angle) * across)
