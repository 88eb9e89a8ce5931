"""Left-right cosines under diagonal gauges: the dot product is fixed, the product of the lengths moves.

`|cos'| = |Σ x y| / √F(w)` with `F(w) = Σ w x² · Σ y²/w` and `w = D²`. `ln F` is convex in `ln w`, so the smallest F,
hence the end away from 0, is found exactly: `w = clip(σ|y/x|, 1, κ²)` with `σ² = Σ w x² / Σ y²/w`. The largest F lies
at a vertex, but which one is a number partitioning problem (x = y asks for half of Σ x²), which is NP-hard. The end
towards 0 is therefore the largest F over fractions of coordinates: a bound, never crossed, marked where it is attained.
Without a budget both ends are closed forms: `|Σ x y| / Σ|x y|`, and 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.gauges.gauge import Gauge
from embaudit.ranges.diagonal import gauge_from_weights
from embaudit.ranges.half_angle import between, compensated_dot, cosine_of, dots, normalise_exponent
from embaudit.ranges.range_solver import End, RangeEnds


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
        if self.max_condition is None:
            # Towards 0 it is a limit, unless both rows lie on one axis and cannot move.
            pinned = ((x != 0).sum(axis=1) == 1) & ((y != 0).sum(axis=1) == 1) & (dot != 0)
            far = _Far(np.where(pinned, 0.0, 1.0), pinned, np.ones(x.shape))
            # |cos| = |Σr| / Σ|r| has the tangent √(smaller/larger) of the sums of either sign.
            sums = np.maximum(x * y, 0).sum(axis=1), -np.minimum(x * y, 0).sum(axis=1)
            larger = np.maximum(*sums)
            near = np.sqrt(np.divide(np.minimum(*sums), larger, out=np.ones(len(x)), where=larger > 0))
            near_attained = ((x == 0) == (y == 0)).all(axis=1)
        else:
            square = self.max_condition**2
            far = _bounded_far(x, y, dot, square)
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
        return RangeEnds(lower, upper, lower_attained, np.where(negative, far.attained, near_attained) | still)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Return the gauge of the best weights known; the end towards 0 of a bounded range may have none."""
        x, y = normalise_exponent(x[None]), normalise_exponent(y[None])
        dot = compensated_dot(x, y)
        if dot[0] == 0:
            return Gauge.identity(x.shape[1])
        away_from_zero = (end == "upper") == bool(dot[0] > 0)
        if self.max_condition is not None:
            square = self.max_condition**2
            best = _longest_shadow(x, y, square) if away_from_zero else _bounded_far(x, y, dot, square).weights
            return gauge_from_weights(best[0], "left")
        limit = _shadow_limit if away_from_zero else _far_limit
        wanted = cosine_of(getattr(self.ends(x, y), end))[0]
        share = 1.0
        while share > 1e-290 and abs(cosine_of(_after(x, y, limit(x, y, share)))[0] - wanted) > tol / 2:
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
            excess = np.maximum(p - factor * q, 0) + np.minimum(square * p - factor / square * q, 0)
            low += np.where(excess.sum(axis=0) > 0, width, 0)
        weights = np.clip(np.exp(low)[:, None] * np.abs(y) / np.abs(x), 1, square)
    return np.where(np.isnan(weights), 1.0, weights)


def _bounded_far(x: Floats, y: Floats, dot: Floats, square: float) -> _Far:
    """Largest product of the lengths along the chain of vertices in order of |y/x|, fractions allowed."""
    p, q = x * x, y * y
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.abs(y) / np.abs(x), axis=1)
    p, q = np.take_along_axis(p, order, axis=1), np.take_along_axis(q, order, axis=1)
    left, right = _chain(p, square, 1.0), _chain(q, 1 / square, 1.0)
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
    np.put_along_axis(weights, order, np.where(np.arange(x.shape[1]) < vertex[:, None], square, 1.0), axis=1)
    attained = (fraction == 0) | (fraction == 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # tan²(θ/2) = (1 − c)/(1 + c) for c = |dot| / √F; splitting a coordinate in fractions can only raise F, so this
        # is a bound.
        bound = np.sqrt(np.maximum(best - np.abs(dot), 0) / (best + np.abs(dot)))
        reached = _acute(_after(x, y, weights))
    return _Far(np.where(attained, reached, np.maximum(bound, reached)), attained, weights)


def _chain(terms: Floats, high: float, low: float) -> Floats:
    """(m, k + 1) weighted sums with the first 0, 1, ..., k terms high and the others low."""
    zero = np.zeros((len(terms), 1))
    before = np.hstack([zero, np.cumsum(terms, axis=1)])
    after = np.hstack([np.cumsum(terms[:, ::-1], axis=1)[:, ::-1], zero])
    return np.asarray(high * before + low * after)


def _shadow_limit(x: Floats, y: Floats, share: float) -> Floats:
    """Weights |y/x|; a lone zero is given the weight that makes it vanish as `share` does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.abs(y) / np.abs(x)
    finite = weights[(weights > 0) & np.isfinite(weights)]
    return np.where(np.isnan(weights), finite.mean(), np.clip(weights, share * finite.min(), finite.max() / share))


def _far_limit(x: Floats, y: Floats, share: float) -> Floats:
    """Weights that lengthen x along one coordinate and y along another as `share` vanishes."""
    strength = np.abs(x[0])[:, None] * np.abs(y[0])
    np.fill_diagonal(strength, -1)
    first, second = np.unravel_index(strength.argmax(), strength.shape)
    weights = np.ones(x.shape)
    weights[0, first], weights[0, second] = 1 / share, share
    return weights
