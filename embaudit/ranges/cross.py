"""Left-right cosines under linear gauges: the dot product, hence the sign, is fixed; only the lengths move.

With `w = arsech|cos|` the reachable set under `κ(M) <= κ` is `|cos'| ∈ [sech(w + ln κ), sech(max(0, w - ln κ))]`:
turning one of the rows by a right angle in their plane makes it the same-side statement of `embaudit.ranges.linear`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.gauges.gauge import Gauge
from embaudit.ranges.half_angle import between, compensated_dot, dots, normalise_exponent
from embaudit.ranges.linear import SHOWN, stretch
from embaudit.ranges.range_solver import End, RangeEnds

_CANCELLED = 1e-4
"""|cosine| below which the dot product is summed in twice the precision: its relative error is what counts."""


class CrossLinearRangeSolver(NamedTuple):
    """Left-right pairs under GL(k), k >= 2, with `κ(M) <= max_condition` (None: unbounded)."""

    max_condition: float | None
    block_bytes: int = 2**21

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; a cosine of 0 stays 0, without a budget every other one comes as near to 0 as you like."""
        return self.around(*signed_depth(x, y))

    def around(self, depth: Floats, negative: Flags) -> RangeEnds:
        """Return both ends for cosines of `± sech(depth)`; one counts as reached where float64 rows can show it."""
        if self.max_condition is None:
            # Infinite depth is a cosine of 0, which stays; any other goes down to 0 without reaching it.
            deep = np.where(np.isnan(depth), np.nan, np.inf)
            shallow = np.where(depth < np.inf, 0.0, depth)
            deep_reached = np.isinf(depth)
        else:
            step = np.log(self.max_condition)
            deep, shallow = depth + step, np.maximum(0, depth - step)
            deep_reached = np.ones(len(depth), dtype=np.bool_)
        with np.errstate(invalid="ignore"):
            # The lengths shrink by exp(depth - shallow), the rounding of the dot product does not.
            shown = np.isinf(depth) | (depth - shallow <= np.log(SHOWN))
        return signed_ends(deep, shallow, negative, deep_reached, shown)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Stretch along the bisector of x and y turned by a right angle, or along its normal."""
        depths, negatives = signed_depth(x[None], y[None])
        depth, negative = float(depths[0]), bool(negatives[0])
        if np.isinf(depth):
            return Gauge.identity(len(x))
        budget = np.log(self.max_condition) if self.max_condition is not None else np.inf
        if (end == "upper") != negative:
            factor = np.exp(min(budget, depth))
        else:
            # sech w <= 2 exp(-w): this deep the cosine is within tol of 0.
            factor = np.exp(-min(budget, max(0.0, np.log(4 / tol) - depth)))
        return stretch(*_turned_axes(x, -y if negative else y), float(factor), "left")


def signed_depth(x: Floats, y: Floats) -> tuple[Floats, Flags]:
    """Compute `w = arsech|cos|`, from 0 (parallel) to infinity (orthogonal), and whether the cosine is negative."""
    x, y = normalise_exponent(x), normalise_exponent(y)
    tangent = between(x, y)
    depth, negative = depth_of(tangent)
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.sqrt(dots(x, x) * dots(y, y))
        small = np.flatnonzero(np.abs(tangent - 1) < _CANCELLED)
        if len(small):
            product = compensated_dot(x[small], y[small])
            cosine = np.abs(product) / lengths[small]
            depth[small] = np.log((1 + np.sqrt((1 - cosine) * (1 + cosine))) / cosine)
            negative[small] = product < 0
    return depth, negative


def depth_of(tangent: Floats) -> tuple[Floats, Flags]:
    """Compute `arsech|cos|` and whether the cosine is negative from half-angle tangents."""
    with np.errstate(divide="ignore", over="ignore"):
        return 2 * np.arctanh(np.minimum(tangent, 1 / tangent)), tangent > 1


def signed_ends(
    deep: Floats, shallow: Floats, negative: Flags, deep_attained: Flags, shallow_attained: Flags
) -> RangeEnds:
    """Order the ends of |cos| = sech(depth) by the sign of the cosine."""
    near_zero, far = np.tanh(deep / 2), np.tanh(shallow / 2)
    with np.errstate(divide="ignore", over="ignore"):
        return RangeEnds(
            np.where(negative, 1 / far, near_zero),
            np.where(negative, 1 / near_zero, far),
            np.where(negative, shallow_attained, deep_attained),
            np.where(negative, deep_attained, shallow_attained),
        )


def _turned_axes(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Orthonormal vectors along the bisector of x and y, y turned by a right angle towards x, and along its normal.

    Orthogonal rows fall together when turned, so the angle comes from their cosine.
    """
    x, y = normalise_exponent(x[None])[0], normalise_exponent(y[None])[0]
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    across = y if between(x[None], y[None])[0] > 0 else np.eye(len(x))[np.argmin(np.abs(x))]
    for _ in range(2):
        across = across - (x @ across) * x
        across /= np.linalg.norm(across)
    half = np.arcsin(min(1.0, float(compensated_dot(x[None], y[None])[0]))) / 2
    return np.cos(half) * x - np.sin(half) * across, np.sin(half) * x + np.cos(half) * across
