"""Cosines under a translation of one side: the rows stay, the origin they are seen from moves.

A shift v is a viewpoint -v, and the points that see the segment ab under an angle θ lie on a circular arc (inscribed
angles). For `‖v‖ <= r` with `W = ‖a‖‖b‖ sin θ`, `L = ‖a - b‖`, `K = a·b - r²` and the tangent lengths
`α = √(‖a‖² - r²)`, `β = √(‖b‖² - r²)`, the discs of radius r that touch those arcs give

    tan(θ'/2) between (W - rL)/(K + αβ) and (W + rL)/(K + αβ)

until the disc meets the line through a and b: between them the cosine is -1, outside +1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import EPS, Flags, Floats, as_numbers
from embaudit.errors import must_be
from embaudit.ranges.half_angle import between, cosine_of, dots, normalise_exponent
from embaudit.ranges.linear import require_cosines
from embaudit.ranges.range_solver import End, RangeEnds, point


class _PairGeometry(NamedTuple):
    """Geometry of the origin and the segments from a to b (lengths in units that neither overflow nor vanish)."""

    tangent: Floats
    a: Floats
    b: Floats
    area: Floats
    base: Floats
    dot: Floats
    offset: Floats
    inward: Floats
    """Length by which the foot of the origin on the line through both lies inward of the nearer of them."""
    nearest: Floats
    corner: Floats
    unit: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats) -> _PairGeometry:
        """Compute lengths, area and feet of both rows, scaled by a power of two that loses no digit."""
        largest = np.maximum(
            np.abs(x).max(axis=1, initial=0), np.abs(y).max(axis=1, initial=0)
        )
        exponent = np.frexp(largest)[1]
        # Powers of two round nothing; of rows of about 1 the products of four lengths below neither overflow nor
        # vanish.
        x, y = np.ldexp(x, -exponent[:, None]), np.ldexp(y, -exponent[:, None])
        gap = y - x
        tangent = between(normalise_exponent(x), normalise_exponent(y))
        a, b, base = (np.sqrt(dots(z, z)) for z in (x, y, gap))
        # sin θ = 2t/(1 + t²) is the same for t and 1/t: the smaller one does not overflow.
        small = np.where(tangent > 1, 1 / np.where(tangent > 1, tangent, 1), tangent)
        area, dot = a * b * 2 * small / (1 + small * small), dots(x, y)
        # Of the foot of the origin on the line: its distance, its offset from the middle, and how far it lies inward of
        # the nearer end.
        nearest, offset, inward = (
            np.divide(numerator, base, out=np.zeros_like(a), where=base > 0)
            for numerator in (
                area,
                dots(x + y, gap) / 2,
                np.where(a <= b, -dots(x, gap), dots(y, gap)),
            )
        )
        corner = np.minimum(a, b)
        return cls(
            tangent,
            a,
            b,
            area,
            base,
            dot,
            offset,
            inward,
            nearest,
            corner,
            np.ldexp(1.0, exponent),
        )

    @property
    def inside(self) -> Flags:
        """Flags of pairs whose foot lies strictly between a and b."""
        return self.inward > 0


def shifted_ends(x: Floats, y: Floats, max_shift: float | None) -> RangeEnds:
    """Find the ranges of pairs under shifts of at most that length (None: any).

    In one dimension, where a cosine is 1 or -1 only, the hull of what is reached.
    """
    geometry = _PairGeometry.of(x, y)
    radius = np.full(len(x), np.inf) if max_shift is None else max_shift / geometry.unit
    ends = _ends(geometry, radius, flat=x.shape[1] == 1)
    same = (geometry.base == 0) | np.isnan(geometry.tangent)
    return RangeEnds(
        *(
            np.where(same, fixed, end)
            for fixed, end in zip(point(geometry.tangent), ends, strict=True)
        )
    )


def shift_to_end(
    x: Floats,
    y: Floats,
    max_shift: float | None,
    end: End,
    tol: float,
    condition: float | None = 1.0,
) -> Floats:
    """Find the shift that reaches an end, or comes within `tol` of it once a linear gauge has widened the range.

    It takes the origin to where the arc touches the disc, or onto the line through the rows.
    """
    geometry = _PairGeometry.of(x[None], y[None])
    unit = float(geometry.unit[0])
    radius = np.inf if max_shift is None else max_shift / unit
    if geometry.base[0] == 0 or radius == 0:
        return np.zeros(len(x))
    radius = _short_of(geometry, radius, end, tol, condition or 1.0)
    return np.asarray(unit * _touching_shift(x / unit, y / unit, geometry, radius, end))


def _short_of(
    geometry: _PairGeometry, radius: float, end: End, tol: float, condition: float
) -> float:
    """Return a radius whose end is reached: where it is a limit, one shorter by as little as `tol` asks for."""
    ends = _ends(geometry, np.array([radius]), flat=False)
    if getattr(ends, f"{end}_attained")[0]:
        return radius
    widened = condition if end == "lower" else 1 / condition
    goal = cosine_of(getattr(ends, end) * widened)
    # From a sixteenth less to the last bit of a float64: the longest radius below the limit that is near enough.
    for places in range(4, 53):
        shorter = radius * (1 - 2.0**-places)
        reached = getattr(_ends(geometry, np.array([shorter]), flat=False), end)
        if abs(cosine_of(reached * widened) - goal)[0] <= tol / 2:
            break
    return shorter


def _ends(geometry: _PairGeometry, radius: Floats, *, flat: bool) -> RangeEnds:
    """Return the ends of a scene: tangents to the disc, until it meets the line."""
    beyond = radius > geometry.corner
    opposite = np.where(geometry.inside, radius >= geometry.nearest, beyond)
    same = np.where(geometry.inside | flat, beyond, radius >= geometry.nearest)
    same |= ~geometry.inside & (geometry.tangent == 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        reach = np.where(beyond, 0, radius)
        # ‖a‖² − r² as a product, which does not cancel where r is nearly ‖a‖.
        tangents = np.sqrt(
            (geometry.a - reach)
            * (geometry.a + reach)
            * (geometry.b - reach)
            * (geometry.b + reach)
        )
        turn = reach * geometry.base
        inner = geometry.dot - reach * reach
        # (W + rL)/(K + αβ) = (αβ − K)/(W − rL), since both cross products are W² − r²L².
        # Two forms of one number: neither may cancel.
        acute = (inner > 0) | ~geometry.inside
        lower = np.where(
            acute,
            (geometry.area + turn) / (inner + tangents),
            (tangents - inner) / (geometry.area - turn),
        )
        upper = np.where(
            acute,
            (geometry.area - turn) / (inner + tangents),
            (tangents - inner) / (geometry.area + turn),
        )
    # Where rounding cannot tell whether the disc touches the line, it does.
    same |= ~geometry.inside & (geometry.area - turn <= 16 * EPS * geometry.area)
    if flat:
        lower = upper = geometry.tangent
    lower, upper = np.where(opposite, np.inf, lower), np.where(same, 0.0, upper)
    # A budget of a row's own length, as rounding leaves it, may or may not get past that row.
    touching = np.abs(radius - geometry.corner) <= 8 * EPS * geometry.corner
    return RangeEnds(
        np.where(radius == 0, geometry.tangent, lower),
        np.where(radius == 0, geometry.tangent, upper),
        (opposite & geometry.inside) | ~touching,
        (same & (radius > geometry.nearest) & ~geometry.inside & (not flat))
        | ~touching,
    )


def _touching_shift(
    x: Floats, y: Floats, geometry: _PairGeometry, radius: float, end: End
) -> Floats:
    """Shift v of length at most `radius` that reaches an end; rows and radius in the units of the scene."""
    ends = _ends(geometry, np.array([radius]), flat=len(x) == 1)
    half = float(geometry.base[0]) / 2
    along, up = _frame(x, y)
    u, h = -float((x + y) @ along) / 2, float(geometry.nearest[0])
    tangent = float(getattr(ends, end)[0])
    if np.isinf(tangent):
        pieces = [(-half, half)]
    elif tangent == 0:
        pieces = [(half, np.inf), (-np.inf, -half)]
    else:
        # The vector from the centre of the arc, half · cot θ above the middle of the segment, to the origin: the disc
        # touches on it.
        away = np.array([u, h - half * (1 / tangent - tangent) / 2])
        away = away / np.hypot(*away) if away.any() else np.array([0.0, 1.0])
        step = radius * away * (1.0 if end == "upper" else -1.0)
        return np.asarray(-(step[0] * along + step[1] * up))
    goal = _on_line(u, h, radius, pieces)
    # The viewpoint moves by goal - u along the line and by -h onto it; the rows move the other way.
    return np.asarray((u - goal) * along + h * up)


def _on_line(
    u: float, h: float, radius: float, pieces: list[tuple[float, float]]
) -> float:
    """Middle of the longest part that the disc around (u, h) cuts out of some pieces of the line."""
    chord = (
        np.sqrt(max(0.0, (radius - h) * (radius + h)))
        if np.isfinite(radius)
        else np.inf
    )
    cuts = [(max(u - chord, start), min(u + chord, stop)) for start, stop in pieces]
    far = 4 * max(abs(edge) for cut in cuts for edge in cut if np.isfinite(edge))
    low, high = max(cuts, key=lambda cut: cut[1] - cut[0])
    return float(max(low, -far) + min(high, far)) / 2


def _frame(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return unit vectors along y - x and, at a right angle to it, towards the origin (any if that is on the line).

    Examples
    --------
    >>> _frame(np.array([1.0, 1.0]), np.array([3.0, 1.0])), _frame(np.array([1.0]), np.array([3.0]))
    ((array([1., 0.]), array([ 0., -1.])), (array([1.]), array([0.])))
    """
    along = (y - x) / np.linalg.norm(y - x)
    # A row that lies nearly along the line leaves only rounding of its part across: then another one serves.
    for candidate in (-x, -y, np.eye(len(x))[np.argmin(np.abs(along))]):
        up = candidate - (candidate @ along) * along
        length = np.linalg.norm(up)
        if length > 1e-7 * np.linalg.norm(candidate):
            up /= length
            up -= (up @ along) * along
            return along, up / np.linalg.norm(up)
    return along, np.zeros(len(x))


def shift_to_reach(a: ArrayLike, b: ArrayLike, target: ArrayLike) -> Floats:
    """Compute the length of the shortest shift v that gives `cos(a + v, b + v)` a target.

    With θ the target angle and the origin u₀ along the segment ab (length L) from its middle and h away from its
    line, it is the distance to the arc that sees ab under θ, `|d - R|` with `R = L / (2 sin θ)` and d the distance to
    its centre, or to the nearer of a and b where the arc ends before it comes nearest.

    Parameters
    ----------
    a, b : array_like of shape (k,) or (m, k)
        Two rows, or m pairs of rows; k >= 2.
    target : array_like
        Cosine or m cosines.

    Returns
    -------
    array, or float for one pair
        An infimum: at the nearer of a and b it is approached, not reached. Infinite for equal rows and a target
        other than 1; NaN where a row is zero or the target is NaN.

    Raises
    ------
    InputError
        If the rows do not match, are not finite or have one dimension only, or a target lies outside [-1, 1].

    Examples
    --------
    >>> shift_to_reach([1.0, 0.5], [0.5, 1.0], [-1.0, 1.0]).round(4)
    array([1.0607, 1.118 ])
    """
    first, second, goal = (
        as_numbers(a, "a"),
        as_numbers(b, "b"),
        require_cosines(target, "target"),
    )
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
            "as many rows of one length, and cosines",
            f"shapes {shapes}",
        ) from error
    table = (math.prod(shape), first.shape[-1])
    geometry = _PairGeometry.of(
        np.broadcast_to(first, table), np.broadcast_to(second, table)
    )
    lengths = _shortest(geometry, np.broadcast_to(goal, shape).ravel()) * geometry.unit
    result: Floats = lengths.reshape(shape)[()]
    return result


def shifts_to_reach(a: Floats, b: Floats, targets: Sequence[float]) -> Floats:
    """Compute `shift_to_reach` of m pairs of rows for each of some targets, (t, m), in one look at the rows.

    Examples
    --------
    >>> shifts_to_reach(np.array([[1.0, 0.5]]), np.array([[0.5, 1.0]]), [-1.0, 1.0]).round(4)
    array([[1.0607],
           [1.118 ]])
    """
    geometry = _PairGeometry.of(a, b)
    return np.array(
        [
            _shortest(geometry, np.full(len(a), target)) * geometry.unit
            for target in targets
        ]
    )


def _described(rows: Floats) -> str:
    bad = rows[~np.isfinite(rows)]
    return str(bad[0]) if bad.size else f"shape {rows.shape}"


def _shortest(geometry: _PairGeometry, cosine: Floats) -> Floats:
    """Compute the length of the shortest shift that gives each pair a cosine."""
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    half = geometry.base / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        # Everything times sin θ, so that a straight angle is no exception.
        rise = geometry.nearest * sine - half * cosine
        distance = np.hypot(geometry.offset * sine, rise)
        arc = np.abs(geometry.dot * sine - geometry.area * cosine) / (half + distance)
    # Compared without a difference of lengths that are nearly equal where one row is far longer than the other.
    on_arc = geometry.nearest * sine >= cosine * geometry.inward
    on_arc = np.where(
        cosine == 1, ~geometry.inside, np.where(cosine == -1, geometry.inside, on_arc)
    )
    arc = np.where(sine == 0, geometry.nearest, arc)
    shortest = np.where(on_arc, arc, geometry.corner)
    equal = np.where(cosine == 1, 0.0, np.inf)
    shortest = np.where(geometry.base == 0, equal, shortest)
    return np.where(np.isnan(geometry.tangent) | np.isnan(cosine), np.nan, shortest)
