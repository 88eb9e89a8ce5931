"""Cosines under diagonal gauges: which values do weights on the coordinates reach?

Within a side the cosine becomes `Σ w r / √(Σ w p · Σ w q)` with `r = x y, p = x², q = y²` and weights `w = D²` (left)
or `D⁻²` (right). Without a budget one coordinate can be given all the weight: the supremum is 1 as soon as some r > 0,
the infimum -1 as soon as some r < 0. If all r >= 0 the infimum is `2√ρ/(1+ρ)`, ρ the ratio of the largest to the
smallest |y/x| (mirrored if all r <= 0): in half angles `tan(θ/2) = tanh(¼ ln ρ)`. With a budget see
`embaudit.ranges.weights`.

Across sides the dot product is fixed, and the product of the lengths moves. `|cos'| = |Σ x y| / √F(w)` with `F(w) = Σ w
x² · Σ y²/w` and `w = D²`. `ln F` is convex in `ln w`, so the smallest F, hence the end away from 0, is found exactly:
`w = clip(σ|y/x|, 1, κ²)` with `σ² = Σ w x² / Σ y²/w`. The largest F lies at a vertex, but which one is a number
partitioning problem (x = y asks for half of Σ x²), which is NP-hard. The end towards 0 is therefore the largest F over
fractions of coordinates: a bound, never crossed, marked where it is attained. Without a budget both ends are closed
forms: `|Σ x y| / Σ|x y|`, and 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.errors import InputError
from embaudit.gauges.gauge import Gauge
from embaudit.model import SideName
from embaudit.ranges.half_angle import (
    between,
    compensated_dot,
    cosine_of,
    dots,
    normalise_exponent,
    shear,
)
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
        return RangeEnds(
            *(
                np.where(still, fixed, end)
                for fixed, end in zip(point(tangent), moving, strict=True)
            )
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Give nearly all the weight to one coordinate, or to the two of extreme ratio."""
        x, y = normalise_exponent(x[None])[0], normalise_exponent(y[None])[0]
        ends = self.ends(x[None], y[None])
        wanted = cosine_of(getattr(ends, end))[0]
        if getattr(ends, f"{end}_attained")[0] and ends.lower[0] != ends.upper[0]:
            # Only the two extreme ratios occur, so nothing has to vanish beside them.
            weights = _extreme_ratios(x, y)
            return gauge_from_weights(
                np.where(weights == 0, weights.max(), weights), self.side
            )
        if abs(_weighted_cosine(x, y, np.ones(len(x))) - wanted) <= tol / 2:
            return Gauge.identity(len(x))
        weights = np.zeros(len(x))
        if abs(wanted) == 1 or _ratio_spread(x[None], y[None])[0][0] == np.inf:
            weights[_deciding(x, y, wanted)] = 1.0
        else:
            weights = _extreme_ratios(x, y)
        rest = np.where(weights == 0, weights[weights > 0].min(), 0)
        share = 1.0
        while (
            share > 1e-290
            and abs(_weighted_cosine(x, y, weights + share * rest) - wanted) > tol / 2
        ):
            share /= 4
        return gauge_from_weights(weights + share * rest, self.side)


class BoundedDiagonalRangeSolver(NamedTuple):
    """Pairs of one side under diagonal gauges with `κ(D) <= max_condition`, for k >= 2."""

    side: SideName
    max_condition: float
    block_bytes: int = 2**16

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends, exact and attained."""
        upper = largest_cosine(x, y, self.max_condition).tangent
        with np.errstate(divide="ignore"):
            lower = 1 / largest_cosine(x, -y, self.max_condition).tangent
        reached = np.ones(len(x), dtype=np.bool_)
        return RangeEnds(lower, upper, reached, reached)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:  # noqa: ARG002
        """Return the gauge with the optimal weights."""
        toward = y if end == "upper" else -y
        best = largest_cosine(x[None], toward[None], self.max_condition)
        return gauge_from_weights(best.weights[0], self.side)


def gauge_from_weights(weights: Floats, side: SideName) -> Gauge:
    """Gauge that puts the metric `diag(weights)` on one side.

    Raises
    ------
    InputError
        If the weights are too far apart for float64.

    Examples
    --------
    >>> np.diag(gauge_from_weights(np.array([1.0, 16.0]), "left").left)
    array([0.5, 2. ])
    >>> gauge_from_weights(np.array([1e-300, 1e306]), "right")
    Gauge(rank 2, condition number 1e+303)
    >>> gauge_from_weights(np.array([1e-320, 1e308]), "left")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: no float64 gauge comes that close to this end; ask for a larger tol.
    """
    roots = np.sqrt(weights)
    if not roots.min() > roots.max() / np.finfo(np.float64).max:
        raise InputError(
            "no float64 gauge comes that close to this end; ask for a larger tol."
        )
    scales = roots / np.sqrt(roots.max()) / np.sqrt(roots.min())
    return Gauge.diagonal(scales if side == "left" else 1 / scales)


def _ratio_spread(x: Floats, y: Floats) -> tuple[Floats, Flags]:
    """Compute `ln ρ` over the coordinates not both 0, and whether only the two extreme ratios occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(y) / np.abs(x)
        top, bottom = (
            f(ratio, axis=1, initial=i, where=~np.isnan(ratio))
            for f, i in ((np.max, 0), (np.min, np.inf))
        )
        spread = np.log(top) - np.log(bottom)
        extreme = np.isnan(ratio) | (ratio == top[:, None]) | (ratio == bottom[:, None])
        near = np.flatnonzero(spread < _NEAR)
        if len(near):
            # ln ρ near 0: relative distances from the top ratio, which `shear` finds without cancellation.
            a, b, s = np.abs(x[near]), np.abs(y[near]), top[near, None]
            rest = shear(a, b, s) / (s * a)
            has_ratio = ~np.isnan(rest)
            high, low = (
                f(rest, axis=1, initial=i, where=has_ratio)
                for f, i in ((np.max, -1), (np.min, 0))
            )
            spread[near] = np.log1p(high) - np.log1p(low)
    return spread, extreme.all(axis=1) & np.isfinite(spread)


def _weighted_cosine(x: Floats, y: Floats, weights: Floats) -> float:
    roots = np.sqrt(weights / weights.max())
    return float(
        cosine_of(
            between(
                normalise_exponent((roots * x)[None]),
                normalise_exponent((roots * y)[None]),
            )
        )[0]
    )


def _extreme_ratios(x: Floats, y: Floats) -> Floats:
    """Weights that balance the coordinates of largest against those of smallest ratio, 0 on the others."""
    weights = np.zeros(len(x))
    product = np.abs(x * y)
    ratio = np.divide(
        np.abs(y), np.abs(x), out=np.full(len(x), np.nan), where=product > 0
    )
    for extreme in (np.nanmax(ratio), np.nanmin(ratio)):
        is_extreme = ratio == extreme
        # Weights 1/|x y| give both groups the same share of the dot product, where the cosine of two ratios is
        # smallest.
        weights[is_extreme] = 1 / (product[is_extreme] * is_extreme.sum())
    return weights


def _deciding(x: Floats, y: Floats, wanted: float) -> int:
    """Coordinate whose weight takes the cosine to 1, -1 or (where one row has a lone zero) 0."""
    if wanted == 0:
        return int(
            np.argmax(np.where(x * y == 0, np.maximum(np.abs(x), np.abs(y)), -1))
        )
    return int(np.argmax(x * y * wanted))


class _Far(NamedTuple):
    """The end towards 0: its bound, whether a vertex attains it, and the best vertex."""

    tangent: Floats
    attained: Flags
    weights: Floats


class CrossDiagonalRangeSolver(NamedTuple):
    """Left-right pairs under diagonal gauges, k >= 2, with `κ(D) <= max_condition` (None: unbounded)."""

    max_condition: float | None
    block_bytes: int = 2**18

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; a cosine of 0 stays 0 and no cosine changes its sign."""
        x, y = normalise_exponent(x), normalise_exponent(y)
        dot = compensated_dot(x, y)
        # Two rows on one axis cannot move.
        pinned = ((x != 0).sum(axis=1) == 1) & ((y != 0).sum(axis=1) == 1) & (dot != 0)
        if self.max_condition is None:
            # Towards 0 it is a limit, unless the rows are pinned.
            far = _Far(np.where(pinned, 0.0, 1.0), pinned, np.ones(x.shape))
            # |cos| = |Σr| / Σ|r| has the tangent √(smaller/larger) of the sums of either sign.
            sums = np.maximum(x * y, 0).sum(axis=1), -np.minimum(x * y, 0).sum(axis=1)
            larger = np.maximum(*sums)
            near = np.sqrt(
                np.divide(
                    np.minimum(*sums), larger, out=np.ones(len(x)), where=larger > 0
                )
            )
            near_attained = ((x == 0) == (y == 0)).all(axis=1)
        else:
            square = self.max_condition**2
            bound = _bounded_far(x, y, dot, square)
            far = _Far(
                np.where(pinned, 0.0, bound.tangent),
                bound.attained | pinned,
                bound.weights,
            )
            near = _acute(_after(x, y, _longest_shadow(x, y, square)))
            near_attained = np.ones(len(x), dtype=np.bool_)
        negative, still = dot < 0, dot == 0
        with np.errstate(divide="ignore", over="ignore"):
            lower = np.where(negative, 1 / near, far.tangent)
            upper = np.where(negative, 1 / far.tangent, near)
        lower, upper = (np.where(still, 1.0, end) for end in (lower, upper))
        zero = (dots(x, x) == 0) | (dots(y, y) == 0)
        lower[zero] = upper[zero] = np.nan
        lower_attained = np.where(negative, near_attained, far.attained) | still
        return RangeEnds(
            lower,
            upper,
            lower_attained,
            np.where(negative, far.attained, near_attained) | still,
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Return the gauge of the best weights known; the end towards 0 of a bounded range may have none."""
        x, y = normalise_exponent(x[None]), normalise_exponent(y[None])
        dot = compensated_dot(x, y)
        if dot[0] == 0:
            return Gauge.identity(x.shape[1])
        away_from_zero = (end == "upper") == bool(dot[0] > 0)
        if self.max_condition is not None:
            square = self.max_condition**2
            best = (
                _longest_shadow(x, y, square)
                if away_from_zero
                else _bounded_far(x, y, dot, square).weights
            )
            return gauge_from_weights(best[0], "left")
        limit = _shadow_limit if away_from_zero else _far_limit
        wanted = cosine_of(getattr(self.ends(x, y), end))[0]
        share = 1.0
        while (
            share > 1e-290
            and abs(cosine_of(_after(x, y, limit(x, y, share)))[0] - wanted) > tol / 2
        ):
            share /= 4
        return gauge_from_weights(limit(x, y, share)[0], "left")


def _after(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Half-angle tangent of each pair under the gauge `D² = weights`."""
    roots = np.sqrt(weights)
    return between(normalise_exponent(roots * x), normalise_exponent(y / roots))


def _acute(tangent: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(tangent, 1 / tangent))


def _longest_shadow(x: Floats, y: Floats, square: float) -> Floats:
    """Weights that make the product of the lengths smallest, by bisection for σ."""
    p, q = (x * x).T, (y * y).T
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.log(p.sum(axis=0) / q.sum(axis=0)) / 2
        low[~np.isfinite(low)] = 0
        width = np.log(square)
        # Halving ln κ² sixty times leaves less than float64 resolves.
        for _ in range(60):
            width /= 2
            factor = np.exp(2 * (low + width))
            # Σ w p − σ² Σ q/w at w = clip(σ|y/x|, 1, κ²): coordinates between the limits cancel, and it falls as σ
            # grows.
            excess = np.maximum(p - factor * q, 0) + np.minimum(
                square * p - factor / square * q, 0
            )
            low += np.where(excess.sum(axis=0) > 0, width, 0)
        weights = np.clip(np.exp(low)[:, None] * np.abs(y) / np.abs(x), 1, square)
    return np.where(np.isnan(weights), 1.0, weights)


def _bounded_far(x: Floats, y: Floats, dot: Floats, square: float) -> _Far:
    """Largest product of the lengths along the chain of vertices in order of |y/x|, fractions allowed."""
    p, q = x * x, y * y
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.abs(y) / np.abs(x), axis=1)
    p, q = np.take_along_axis(p, order, axis=1), np.take_along_axis(q, order, axis=1)
    left, right = _chain(p, square), _chain(q, 1 / square)
    rise, fall = (square - 1) * p, (1 - 1 / square) * q
    with np.errstate(divide="ignore", invalid="ignore"):
        # On the edge from vertex j to j + 1 a fraction s of coordinate j is high: (left + s rise)(right − s fall) is
        # largest here.
        share = (rise * right[:, :-1] - fall * left[:, :-1]) / (2 * rise * fall)
    share = np.where(np.isnan(share), 0.0, np.clip(share, 0, 1))
    value = (left[:, :-1] + share * rise) * (right[:, :-1] - share * fall)
    lines = np.arange(len(x))
    edge = value.argmax(axis=1)
    best, fraction = np.sqrt(value[lines, edge]), share[lines, edge]
    # A witness has whole coordinates: the best vertex of the chain.
    vertex = np.argmax(left * right, axis=1)
    weights = np.empty(x.shape)
    np.put_along_axis(
        weights,
        order,
        np.where(np.arange(x.shape[1]) < vertex[:, None], square, 1.0),
        axis=1,
    )
    attained = (fraction == 0) | (fraction == 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # tan²(θ/2) = (1 − c)/(1 + c) for c = |dot| / √F; splitting a coordinate in fractions can only raise F, so this
        # is a bound.
        bound = np.sqrt(np.maximum(best - np.abs(dot), 0) / (best + np.abs(dot)))
        reached = _acute(_after(x, y, weights))
    return _Far(
        np.where(attained, reached, np.maximum(bound, reached)), attained, weights
    )


def _chain(terms: Floats, high: float) -> Floats:
    """(m, k + 1) weighted sums with the first 0, 1, ..., k terms times `high` and the others as they are."""
    zero = np.zeros((len(terms), 1))
    before = np.hstack([zero, np.cumsum(terms, axis=1)])
    after = np.hstack([np.cumsum(terms[:, ::-1], axis=1)[:, ::-1], zero])
    return np.asarray(high * before + after)


def _shadow_limit(x: Floats, y: Floats, share: float) -> Floats:
    """Weights |y/x|; a lone zero is given the weight that makes it vanish as `share` does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.abs(y) / np.abs(x)
    finite = weights[(weights > 0) & np.isfinite(weights)]
    return np.where(
        np.isnan(weights),
        finite.mean(),
        np.clip(weights, share * finite.min(), finite.max() / share),
    )


def _far_limit(x: Floats, y: Floats, share: float) -> Floats:
    """Weights that lengthen x along one coordinate and y along another as `share` vanishes."""
    strength = np.abs(x[0])[:, None] * np.abs(y[0])
    np.fill_diagonal(strength, -1)
    first, second = np.unravel_index(strength.argmax(), strength.shape)
    weights = np.ones(x.shape)
    weights[0, first], weights[0, second] = 1 / share, share
    return weights
