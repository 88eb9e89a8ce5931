"""Cosines under a translation of one side.

A shift v of both rows moves the origin, from which they are seen, to -v. The points
that see the segment from a to b under the angle θ lie on a circular arc (inscribed
angles), so the ends under shifts of length at most r belong to the arcs that touch the
disc of radius r around the origin. With `L = ‖a - b‖`, the distance h of the origin
from the line through a and b, and `K = (a·b - r²) / L`, the half-angle tangents t of
the two ends are the positive roots of

    (h - r) t² + 2 K t = h + r   (smallest cosine),
    (h + r) t² + 2 K t = h - r   (largest cosine),

until the disc meets the line through a and b: on the segment the cosine is -1, on the
line outside the segment it is 1. A quarter of the discriminant of both equations is

    K² + h² - r² = (‖a‖² - r²) (‖b‖² - r²) / L².

Let a be the shorter row and φ the angle at a between the directions to the origin and
to b. Then `h = ‖a‖ sin φ` and `a·b = ‖a‖² - ‖a‖ L cos φ`. Seen from a, nearly equal
rows keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Flags, Floats, as_numbers
from embaudit.core.tolerances import COLLINEAR, PAST_ROW
from embaudit.errors import must_be
from embaudit.linalg.rows import row_norms
from embaudit.ranges.half_angle import (
    cosine_of,
    half_angle_tangents,
    sine_of,
    tangent_lengths,
)
from embaudit.ranges.linear import orthogonal_direction, require_cosines
from embaudit.ranges.range_solver import End, RangeEnd, RangeEnds


@dataclass(frozen=True)
class _Triangles:
    """The triangle of the origin, a and b for each of m pairs of rows."""

    x: Floats
    """(m, k) the first rows."""
    y: Floats
    """(m, k) the second rows."""
    x_length: Floats
    """(m,) lengths of the first rows."""
    y_length: Floats
    """(m,) lengths of the second rows."""
    x_is_shorter: Flags
    """(m,) whether the first row is a, the shorter one."""
    shorter: Floats
    """(m,) ‖a‖."""
    base: Floats
    """(m,) L = ‖x - y‖; 0 for equal rows."""
    height: Floats
    """(m,) h = ‖a‖ sin φ, the distance of the origin from the line through a and b."""
    inward: Floats
    """(m,) ‖a‖ cos φ, the distance from a to the foot of the height.

    It is positive towards b and negative if the foot lies outside the segment.
    """

    @property
    def is_inside(self) -> Flags:
        """Flags of pairs whose foot lies strictly between a and b."""
        return self.inward > 0


def _triangles(x: Floats, y: Floats) -> _Triangles:
    gap = y - x
    x_length = row_norms(x)
    y_length = row_norms(y)
    x_is_shorter = x_length <= y_length
    shorter = np.minimum(x_length, y_length)
    # φ is the angle between -x and y - x, or between -y and x - y. If both directions
    # are turned over, the angle stays.
    to_origin = np.where(x_is_shorter[:, None], -x, y)
    tangent = half_angle_tangents(to_origin, gap)
    return _Triangles(
        x=x,
        y=y,
        x_length=x_length,
        y_length=y_length,
        x_is_shorter=x_is_shorter,
        shorter=shorter,
        base=row_norms(gap),
        height=shorter * sine_of(tangent),
        inward=shorter * cosine_of(tangent),
    )


def shifted_ends(x: Floats, y: Floats, max_shift: float | None) -> RangeEnds:
    """Compute the ranges of pairs of rows under shifts of at most a length (None: any).

    On a line (k = 1), a cosine is 1 or -1, and the range is from the smallest to the
    largest cosine that a shift gives.
    """
    triangles = _triangles(x, y)
    radius = np.inf if max_shift is None else max_shift
    is_line = x.shape[1] == 1
    is_fixed = (triangles.base == 0) | (triangles.shorter == 0)
    if radius == 0:
        is_fixed[:] = True
    elif is_line:
        is_fixed |= radius <= triangles.shorter
    ends = _ends(triangles, radius, is_line=is_line)
    if not is_fixed.any():
        return ends
    return ends.with_fixed(is_fixed, half_angle_tangents(x, y))


def _ends(triangles: _Triangles, radius: float, *, is_line: bool) -> RangeEnds:
    """Compute both ends of pairs of different rows under shifts within a radius."""
    height, base = triangles.height, triangles.base
    is_inside = triangles.is_inside
    x_tangent = tangent_lengths(triangles.x, triangles.x_length, radius)
    y_tangent = tangent_lengths(triangles.y, triangles.y_length, radius)
    a_tangent = np.where(triangles.x_is_shorter, x_tangent, y_tangent)
    b_tangent = np.where(triangles.x_is_shorter, y_tangent, x_tangent)
    # Lengths that are equal up to rounding do not tell which row is covered first.
    covers_shorter = np.isnan(a_tangent) | np.isnan(b_tangent)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # K = (a·b - r²) / L, seen from a.
        linear = a_tangent * (a_tangent / base) - triangles.inward
        root = a_tangent * (b_tangent / base)
        larger = height + radius
        # If the disc meets the line (r > h), the negative h - r becomes 0: the roots
        # that are kept then do not contain it.
        smaller = np.maximum(height - radius, 0)
        lower = positive_root(smaller, linear, larger, root)
        upper = positive_root(larger, linear, smaller, root)
    meets_line = covers_shorter | (radius >= height)
    meets_segment = np.where(is_inside, meets_line, covers_shorter)
    meets_outside = np.where(is_inside | is_line, covers_shorter, meets_line)
    # A shift of exactly the length of the shorter row takes that row to the origin,
    # where it has no cosine; the cosines nearby are approached.
    touches_shorter = ~covers_shorter & (np.minimum(a_tangent, b_tangent) == 0)
    crosses_segment = meets_segment & is_inside
    crosses_outside = meets_outside & (radius > height) & ~is_inside & (not is_line)
    return RangeEnds(
        lower=RangeEnd(
            np.where(meets_segment, np.inf, lower), crosses_segment | ~touches_shorter
        ),
        upper=RangeEnd(
            np.where(meets_outside, 0.0, upper), crosses_outside | ~touches_shorter
        ),
    )


def positive_root(
    square: Floats, linear: Floats, constant: Floats, root: Floats
) -> Floats:
    """Solve `square t² + 2 linear t = constant` for t > 0 without cancellation.

    Parameters
    ----------
    square, linear, constant : array
        The coefficients; `square` and `constant` are not negative.
    root : array
        `√(linear² + square · constant)`, which the caller computes from a form that
        does not cancel.

    Examples
    --------
    >>> one = np.ones(1)
    >>> positive_root(2 * one, one, 4 * one, 3 * one)
    array([1.])
    >>> positive_root(one, -one, 3 * one, 2 * one)
    array([3.])
    """
    # The two forms are equal, and each adds numbers of one sign.
    return np.where(linear >= 0, constant / (linear + root), (root - linear) / square)


def shift_to_end(
    x: Floats,
    y: Floats,
    max_shift: float | None,
    end: End,
    tol: float,
    condition: float | None = 1.0,
) -> Floats:
    """Find a shift of two rows of shape (k,) that reaches an end of their range.

    If the end is only approached, the shift comes within `tol` of it once a linear
    gauge of the given condition has widened the range. It takes the origin to the
    point where the arc touches the disc, or onto the line through the rows.
    """
    triangle = _triangles(x[None], y[None])
    radius = np.inf if max_shift is None else max_shift
    if triangle.base[0] == 0 or radius == 0:
        return np.zeros(len(x))
    if condition is None:
        # Without a bound, the gauge takes every shifted pair to the end, so any
        # condition serves here.
        condition = 1.0
    radius = _short_of(triangle, radius, end, tol, condition)
    return _touching_shift(x, y, triangle, radius, end)


def _short_of(
    triangle: _Triangles, radius: float, end: End, tol: float, condition: float
) -> float:
    """Return the radius if its end is attained, or else a shorter one.

    The shorter radius is the longest of `r (1 - 2⁻ⁿ)` whose end is within `tol` of the
    limit, for n from 4 to 52.
    """
    limit = _ends(triangle, radius, is_line=False).at(end)
    if limit.is_attained[0]:
        return radius
    widening = condition if end == "lower" else 1 / condition
    goal = cosine_of(limit.tangent * widening)[0]
    shorter = radius
    for n in range(4, 53):
        shorter = radius * (1 - 2.0**-n)
        attained = _ends(triangle, shorter, is_line=False).at(end)
        reached = cosine_of(attained.tangent * widening)[0]
        if abs(reached - goal) <= tol / 2:
            break
    return shorter


def _touching_shift(
    x: Floats, y: Floats, triangle: _Triangles, radius: float, end: End
) -> Floats:
    """Find a shift of length at most `radius` whose cosine is the end of its range.

    Coordinates in the plane of the rows: `along` the segment from its middle, and `up`
    from its line to the origin. The origin is at (u, h).
    """
    ends = _ends(triangle, radius, is_line=len(x) == 1)
    tangent = float(ends.at(end).tangent[0])
    half = float(triangle.base[0]) / 2
    along, up = _segment_axes(x, y)
    u = -float((x + y) @ along) / 2
    h = float(triangle.height[0])
    if np.isinf(tangent):
        goal = _on_line(u, h, radius, [(-half, half)])
    elif tangent == 0:
        goal = _on_line(u, h, radius, [(half, np.inf), (-np.inf, -half)])
    else:
        # The centre of the arc is half · cot θ above the middle of the segment, and the
        # disc touches the arc on the line from that centre through the origin.
        cotangent = (1 / tangent - tangent) / 2
        away = np.array([u, h - half * cotangent])
        distance = np.hypot(away[0], away[1])
        away = away / distance if distance > 0 else np.array([0.0, 1.0])
        step = radius * away if end == "upper" else -radius * away
        return np.asarray(-(step[0] * along + step[1] * up))
    # The origin moves by goal - u along the line and by -h onto it, rows oppositely.
    return np.asarray((u - goal) * along + h * up)


def _on_line(
    u: float, h: float, radius: float, intervals: list[tuple[float, float]]
) -> float:
    """Return a point of a line that a disc around (u, h) covers, inside some intervals.

    It is the middle of the longest part of an interval that the disc covers.
    """
    low, high = _longest_covered(u, h, radius, intervals)
    if high - low < PAST_ROW * radius < np.inf:
        # The disc ends at a row up to rounding. The origin must not fall on the row.
        low, high = _longest_covered(u, h, radius * (1 + PAST_ROW), intervals)
    return (low + high) / 2


def _longest_covered(
    u: float, h: float, radius: float, intervals: list[tuple[float, float]]
) -> tuple[float, float]:
    """Return both ends of the longest part of an interval that the disc covers."""
    half_chord = np.inf
    if np.isfinite(radius):
        half_chord = np.sqrt(max(0.0, (radius - h) * (radius + h)))
    covered = [
        (max(u - half_chord, start), min(u + half_chord, stop))
        for start, stop in intervals
    ]
    # An unbounded part is cut at a distance of a few lengths.
    finite = [abs(edge) for part in covered for edge in part if np.isfinite(edge)]
    far = 4 * max(finite)
    low, high = max(covered, key=lambda part: part[1] - part[0])
    return float(max(low, -far)), float(min(high, far))


def _segment_axes(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return unit vectors along y - x and from its line to the origin.

    The second one is orthogonal to the first. If the origin lies on the line, it is any
    such vector, and zero if there is none.

    Examples
    --------
    >>> _segment_axes(np.array([1.0, 1.0]), np.array([3.0, 1.0]))
    (array([1., 0.]), array([ 0., -1.]))
    >>> _segment_axes(np.array([1.0]), np.array([3.0]))
    (array([1.]), array([0.]))
    """
    along = (y - x) / np.linalg.norm(y - x)
    if len(x) == 1:
        return along, np.zeros(1)
    nearer = x if np.linalg.norm(x) <= np.linalg.norm(y) else y
    up = (nearer @ along) * along - nearer
    if np.linalg.norm(up) <= COLLINEAR * np.linalg.norm(nearer):
        # Only rounding is left of the row nearly along the line.
        up = orthogonal_direction(along)
    up /= np.linalg.norm(up)
    up -= (up @ along) * along
    return along, up / np.linalg.norm(up)


def shift_to_reach(a: ArrayLike, b: ArrayLike, target: ArrayLike) -> Floats:
    """Compute the length of the shortest shift that gives two rows a target cosine.

    The shift v makes `cos(a + v, b + v)` the target. Its length is the distance from
    the origin to the arc of the points that see the segment ab under the target angle
    θ. With L the length of the segment, this is `|d - R|` with the radius
    `R = L / (2 sin θ)` and d the distance to the centre of the arc, or the distance to
    the nearer one of a and b if the arc ends before it comes nearest.

    Parameters
    ----------
    a, b : array_like of shape (k,) or (m, k)
        Two rows, or m pairs of rows; k >= 2.
    target : array_like
        Cosine or m cosines.

    Returns
    -------
    array, or float for one pair
        An infimum: at the nearer one of a and b it is approached, not reached. Infinite
        for equal rows and a target other than 1. NaN where a row is zero or the target
        is NaN.

    Raises
    ------
    InputError
        If the rows do not match, are not finite or have only one dimension, or if a
        target lies outside [-1, 1].

    Examples
    --------
    >>> shift_to_reach([1.0, 0.5], [0.5, 1.0], [-1.0, 1.0]).round(4)
    array([1.0607, 1.118 ])
    """
    first = as_numbers(a, "a")
    second = as_numbers(b, "b")
    goal = require_cosines(target, "target")
    for name, rows in (("a", first), ("b", second)):
        if rows.ndim not in (1, 2) or rows.shape[-1] < 2 or not np.isfinite(rows).all():
            raise must_be(
                name, "one or more rows of at least 2 finite numbers", _described(rows)
            )
    try:
        if first.shape[-1] != second.shape[-1]:
            raise ValueError
        shape = np.broadcast_shapes(first.shape[:-1], second.shape[:-1], goal.shape)
    except ValueError as error:
        shapes = f"{first.shape}, {second.shape} and {goal.shape}"
        raise must_be(
            "a, b and target",
            "arrays with the same number of rows: vectors of one length, and cosines",
            f"shapes {shapes}",
        ) from error
    table = (math.prod(shape), first.shape[-1])
    triangles = _triangles(
        np.broadcast_to(first, table), np.broadcast_to(second, table)
    )
    lengths = _shortest(triangles, np.broadcast_to(goal, shape).ravel())
    result: Floats = lengths.reshape(shape)[()]
    return result


def shifts_to_reach(a: Floats, b: Floats, targets: Sequence[float]) -> Floats:
    """Compute `shift_to_reach` of m pairs of rows for each of t targets, (t, m).

    Examples
    --------
    >>> a, b = np.array([[1.0, 0.5]]), np.array([[0.5, 1.0]])
    >>> shifts_to_reach(a, b, [-1.0, 1.0]).round(4)
    array([[1.0607],
           [1.118 ]])
    """
    triangles = _triangles(a, b)
    lengths = [_shortest(triangles, np.full(len(a), target)) for target in targets]
    return np.array(lengths)


def _described(rows: Floats) -> str:
    bad = rows[~np.isfinite(rows)]
    return str(bad[0]) if bad.size else f"shape {rows.shape}"


def _shortest(triangles: _Triangles, cosine: Floats) -> Floats:
    """Compute the length of the shortest shift that gives each pair a cosine.

    The formulas of `shift_to_reach` are multiplied by sin θ, so that they also hold for
    a straight angle. The distance `|d - R|` is `|d² - R²| / (d + R)`, whose numerator
    times sin θ is `|a·b sin θ - h L cos θ|`.
    """
    height, inward, base = triangles.height, triangles.inward, triangles.base
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    half = base / 2
    # From the middle of the segment to the foot of the height.
    offset = half - inward
    # From the centre of the arc to the origin, times sin θ.
    rise = height * sine - half * cosine
    distance = np.hypot(offset * sine, rise)
    dot = triangles.shorter**2 - inward * base
    with np.errstate(invalid="ignore", divide="ignore"):
        to_arc = np.abs(dot * sine - height * base * cosine) / (half + distance)
    to_arc = np.where(sine == 0, height, to_arc)
    # Whether the arc comes nearest to the origin between its ends a and b.
    is_on_arc = height * sine >= cosine * inward
    is_on_arc = np.where(cosine == 1, ~triangles.is_inside, is_on_arc)
    is_on_arc = np.where(cosine == -1, triangles.is_inside, is_on_arc)
    shortest = np.where(is_on_arc, to_arc, triangles.shorter)
    of_equal_rows = np.where(cosine == 1, 0.0, np.inf)
    shortest = np.where(triangles.base == 0, of_equal_rows, shortest)
    is_undefined = (triangles.shorter == 0) | np.isnan(cosine)
    return np.where(is_undefined, np.nan, shortest)
