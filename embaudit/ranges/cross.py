"""Left-right cosines under linear gauges: the dot product, hence the sign, is fixed; only the lengths move.

With `w = arsech|cos|` the reachable set under `κ(M) <= κ` is `|cos'| ∈ [sech(w + ln κ), sech(max(0, w - ln κ))]`:
turning one of the rows by a right angle in their plane makes it the same-side statement of `embaudit.ranges.linear`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from embaudit.gauges.gauge import Gauge
from embaudit.ranges.half_angle import between, compensated_dot, dots, tamed
from embaudit.ranges.linear import bisector_and_normal, stretch
from embaudit.ranges.reach import End, Ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_CANCELLED = 1e-4
"""Below this |cosine| the dot product is summed in twice the precision: its relative error is what counts."""


class CrossLinearReach(NamedTuple):
    """Left-right pairs under GL(k), k >= 2, with `κ(M) <= max_condition` (None: unbounded)."""

    max_condition: float | None
    block_bytes: int = 2**21

    def ends(self, x: Array, y: Array) -> Ends:
        """Both ends; a cosine of 0 stays 0, without a budget every other one comes as near to 0 as you like."""
        depth, negative = signed_depth(x, y)
        if self.max_condition is None:
            # Infinite depth is a cosine of 0, which stays; any other goes down to 0 without reaching it.
            deep = np.where(np.isnan(depth), np.nan, np.inf)
            shallow = np.where(depth < np.inf, 0.0, depth)
            return signed_ends(deep, shallow, negative, np.isinf(depth), np.ones(len(depth), dtype=np.bool_))
        step = np.log(self.max_condition)
        reached = np.ones(len(depth), dtype=np.bool_)
        return signed_ends(depth + step, np.maximum(0, depth - step), negative, reached, reached)

    def witness(self, x: Array, y: Array, end: End, tol: float) -> Gauge:
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
        bisector, normal = bisector_and_normal(x, _turned(x, -y if negative else y))
        return stretch(bisector, normal, float(factor), "left")


def signed_depth(x: Array, y: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Compute `w = arsech|cos|`, from 0 (parallel) to infinity (orthogonal), and whether the cosine is negative."""
    x, y = tamed(x), tamed(y)
    tangent = between(x, y)
    negative = tangent > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        depth: Array = 2 * np.arctanh(np.minimum(tangent, 1 / tangent))
        lengths = np.sqrt(dots(x, x) * dots(y, y))
        small = np.flatnonzero(np.abs(tangent - 1) < _CANCELLED)
        if len(small):
            product = compensated_dot(x[small], y[small])
            cosine = np.abs(product) / lengths[small]
            depth[small] = np.log((1 + np.sqrt((1 - cosine) * (1 + cosine))) / cosine)
            negative[small] = product < 0
    return depth, negative


def signed_ends(
    deep: Array,
    shallow: Array,
    negative: NDArray[np.bool_],
    deep_attained: NDArray[np.bool_],
    shallow_attained: NDArray[np.bool_],
) -> Ends:
    """Order the ends of |cos| = sech(depth) by the sign of the cosine."""
    near_zero, far = np.tanh(deep / 2), np.tanh(shallow / 2)
    with np.errstate(divide="ignore"):
        return Ends(
            np.where(negative, 1 / far, near_zero),
            np.where(negative, 1 / near_zero, far),
            np.where(negative, shallow_attained, deep_attained),
            np.where(negative, deep_attained, shallow_attained),
        )


def _turned(x: Array, y: Array) -> Array:
    """Turn y by a right angle towards x, in their plane (in any plane through them where they are parallel)."""
    x, y = tamed(x[None])[0], tamed(y[None])[0]
    y = y / np.linalg.norm(y)
    if between(x[None], y[None])[0] == 0:
        x = np.eye(len(y))[np.argmin(np.abs(y))]
    bisector, normal = bisector_and_normal(x, y)
    towards, away = bisector @ y, normal @ y
    turned: Array = away * bisector - towards * normal
    return turned
