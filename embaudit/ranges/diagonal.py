"""Same-side cosines under diagonal gauges: which values do weights on the coordinates reach?

The cosine becomes `Σ w r / √(Σ w p · Σ w q)` with `r = x y, p = x², q = y²` and weights `w = D²` (left) or `D⁻²`
(right). Without a budget one coordinate can be given all the weight: the supremum is 1 as soon as some r > 0, the
infimum -1 as soon as some r < 0. If all r >= 0 the infimum is `2√ρ/(1+ρ)`, ρ the ratio of the largest to the smallest
|y/x| (mirrored if all r <= 0): in half angles `tan(θ/2) = tanh(¼ ln ρ)`. With a budget see `embaudit.ranges.weights`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.errors import InputError
from embaudit.gauges.gauge import Gauge
from embaudit.model import SideName
from embaudit.ranges.half_angle import between, cosine_of, normalise_exponent, shear
from embaudit.ranges.range_solver import End, RangeEnds, point
from embaudit.ranges.weights import largest_cosine

_NEAR = 1e-3


class DiagonalRangeSolver(NamedTuple):
    """Pairs of one side under diagonal gauges without a budget."""

    side: SideName
    block_bytes: int = 2**20

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends, mostly limits; a pair with coordinates of both signs can be given any cosine."""
        x, y = normalise_exponent(x), normalise_exponent(y)
        tangent = between(x, y)
        signs = np.sign(x) * np.sign(y)
        positive, negative = (signs > 0).any(axis=1), (signs < 0).any(axis=1)
        spread, attained = _ratio_spread(x, y)
        least = np.where(np.isinf(spread), 1.0, np.tanh(spread / 4))
        # No coordinate of either sign: the cosine is 0 whatever the weights.
        attained |= ~positive & ~negative
        with np.errstate(divide="ignore", over="ignore"):
            lower = np.where(negative, np.inf, least)
            upper = np.where(positive, 0.0, 1 / least)
        still = (tangent == 0) | np.isinf(tangent) | np.isnan(tangent)
        moving = RangeEnds(lower, upper, ~negative & attained, ~positive & attained)
        return RangeEnds(*(np.where(still, fixed, end) for fixed, end in zip(point(tangent), moving, strict=True)))

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Give nearly all the weight to one coordinate, or to the two of extreme ratio."""
        x, y = normalise_exponent(x[None])[0], normalise_exponent(y[None])[0]
        ends = self.ends(x[None], y[None])
        wanted = cosine_of(getattr(ends, end))[0]
        if getattr(ends, f"{end}_attained")[0] and ends.lower[0] != ends.upper[0]:
            # Only the two extreme ratios occur, so nothing has to vanish beside them.
            weights = _extreme_ratios(x, y)
            return gauge_from_weights(np.where(weights == 0, weights.max(), weights), self.side)
        if abs(_weighted_cosine(x, y, np.ones(len(x))) - wanted) <= tol / 2:
            return Gauge.identity(len(x))
        weights = np.zeros(len(x))
        if abs(wanted) == 1 or _ratio_spread(x[None], y[None])[0][0] == np.inf:
            weights[_deciding(x, y, wanted)] = 1.0
        else:
            weights = _extreme_ratios(x, y)
        rest = np.where(weights == 0, weights[weights > 0].min(), 0)
        share = 1.0
        while share > 1e-290 and abs(_weighted_cosine(x, y, weights + share * rest) - wanted) > tol / 2:
            share /= 4
        return gauge_from_weights(weights + share * rest, self.side)


class BoundedDiagonalRangeSolver(NamedTuple):
    """Pairs of one side under diagonal gauges with `κ(D) <= max_condition`, for k >= 2."""

    side: SideName
    max_condition: float
    block_bytes: int = 2**18

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends, exact and attained."""
        x, y = normalise_exponent(x), normalise_exponent(y)
        upper = largest_cosine(x, y, self.max_condition).tangent
        with np.errstate(divide="ignore"):
            lower = 1 / largest_cosine(x, -y, self.max_condition).tangent
        reached = np.ones(len(x), dtype=np.bool_)
        return RangeEnds(lower, upper, reached, reached)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:  # noqa: ARG002
        """Return the gauge with the optimal weights."""
        x, y = normalise_exponent(x[None]), normalise_exponent(y[None])
        best = largest_cosine(x, y if end == "upper" else -y, self.max_condition)
        return gauge_from_weights(best.weights[0], self.side)


def gauge_from_weights(weights: Floats, side: SideName) -> Gauge:
    """Gauge that puts the metric `diag(weights)` on one side.

    Raises
    ------
    InputError
        If the weights are too far apart for float64.
    """
    # Divided by both ends one after the other: their product may overflow.
    scales = np.sqrt(weights / np.sqrt(weights.max()) / np.sqrt(weights.min()))
    if not (np.isfinite(scales).all() and scales.min() > 0):
        raise InputError("no float64 gauge comes that close to this end; ask for a larger tol.")
    return Gauge.diagonal(scales if side == "left" else 1 / scales)


def _ratio_spread(x: Floats, y: Floats) -> tuple[Floats, Flags]:
    """Compute `ln ρ` over the coordinates not both 0, and whether only the two extreme ratios occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(y) / np.abs(x)
        top, bottom = (f(ratio, axis=1, initial=i, where=~np.isnan(ratio)) for f, i in ((np.max, 0), (np.min, np.inf)))
        spread = np.log(top) - np.log(bottom)
        extreme = np.isnan(ratio) | (ratio == top[:, None]) | (ratio == bottom[:, None])
        near = np.flatnonzero(spread < _NEAR)
        if len(near):
            # ln ρ near 0: relative distances from the top ratio, which `shear` finds without cancellation.
            a, b, s = np.abs(x[near]), np.abs(y[near]), top[near, None]
            rest = shear(a, b, s) / (s * a)
            has_ratio = ~np.isnan(rest)
            high, low = (f(rest, axis=1, initial=i, where=has_ratio) for f, i in ((np.max, -1), (np.min, 0)))
            spread[near] = np.log1p(high) - np.log1p(low)
    return spread, extreme.all(axis=1) & np.isfinite(spread)


def _weighted_cosine(x: Floats, y: Floats, weights: Floats) -> float:
    roots = np.sqrt(weights / weights.max())
    return float(cosine_of(between(normalise_exponent((roots * x)[None]), normalise_exponent((roots * y)[None])))[0])


def _extreme_ratios(x: Floats, y: Floats) -> Floats:
    """Weights that balance the coordinates of largest against those of smallest ratio, 0 on the others."""
    weights = np.zeros(len(x))
    product = np.abs(x * y)
    ratio = np.divide(np.abs(y), np.abs(x), out=np.full(len(x), np.nan), where=product > 0)
    for extreme in (np.nanmax(ratio), np.nanmin(ratio)):
        is_extreme = ratio == extreme
        # Weights 1/|x y| give both groups the same share of the dot product, where the cosine of two ratios is
        # smallest.
        weights[is_extreme] = 1 / (product[is_extreme] * is_extreme.sum())
    return weights


def _deciding(x: Floats, y: Floats, wanted: float) -> int:
    """Coordinate whose weight takes the cosine to 1, -1 or (where one row has a lone zero) 0."""
    if wanted == 0:
        return int(np.argmax(np.where(x * y == 0, np.maximum(np.abs(x), np.abs(y)), -1)))
    return int(np.argmax(x * y * wanted))
