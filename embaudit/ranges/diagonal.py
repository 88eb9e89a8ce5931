"""Cosines under diagonal gauges: which values do weights on the coordinates reach?

*Within a side* the cosine is `Σ w x y / √(Σ w x² · Σ w y²)` with weights `w = D²`
(left) or `w = D⁻²` (right). Without a budget one coordinate can be given all the
weight, so the supremum is 1 if some x y > 0, and the infimum is -1 if some x y < 0. If
all x y >= 0, the infimum is `2 √ρ / (1 + ρ)`, where ρ is the largest |y/x| over the
smallest (mirrored if all x y <= 0): in half angles, `tan(θ/2) = tanh(ln ρ / 4)`. With a
budget see `embaudit.ranges.weights`.

*Across the sides* the dot product is fixed, and the product of the lengths changes:
`|cos'| = |Σ x y| / √F(w)` with `F(w) = Σ w x² · Σ y² / w` and `w = D²`.

- *Away from 0*: `ln F` is convex in `ln w`, so the smallest F is found exactly. It is
  at `w = clip(σ |y/x|, 1, κ²)` with `σ² = Σ w x² / Σ y² / w`.
- *Towards 0*: the largest F is at a vertex (each w is 1 or κ²), but to find that vertex
  is a number partitioning problem (x = y asks for half of Σ x²), which is NP-hard. The
  end is the largest F over fractions of coordinates: a bound that no gauge crosses,
  marked where it is attained.

Without a budget both ends are closed forms: `|Σ x y| / Σ |x y|`, and 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.core.tolerances import ROW_ROUNDING
from embaudit.errors import InputError
from embaudit.gauges.gauge import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import SideName
from embaudit.ranges.half_angle import cosine_of, half_angle_tangents, tangent_of
from embaudit.ranges.range_solver import End, RangeEnd, RangeEnds
from embaudit.ranges.weights import largest_cosine

MOST_STEPS = 100
"""Times that a weight is divided by 4 at most to come near a limit."""


@dataclass(frozen=True)
class DiagonalRangeSolver:
    """Pairs of one side under diagonal gauges without a budget."""

    side: SideName
    block_bytes: ClassVar[int] = 2**20

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends, which are mostly limits."""
        product_signs = np.sign(x) * np.sign(y)
        has_positive = (product_signs > 0).any(axis=1)
        has_negative = (product_signs < 0).any(axis=1)
        has_none = ~has_positive & ~has_negative
        ratios = _ratios(x, y)
        only_extremes = ratios.only_extremes
        # The least size of a cosine whose coordinates all have the same sign.
        least = np.tanh(ratios.log_spread / 4)
        with np.errstate(divide="ignore"):
            lower = np.where(has_negative, np.inf, least)
            upper = np.where(has_positive, 0.0, 1 / least)
        ends = RangeEnds(
            lower=RangeEnd(lower, (~has_negative & only_extremes) | has_none),
            upper=RangeEnd(upper, (~has_positive & only_extremes) | has_none),
        )
        tangent = half_angle_tangents(x, y)
        is_parallel = (tangent == 0) | np.isinf(tangent)
        return ends.with_fixed(is_parallel | np.isnan(tangent), tangent)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Give nearly all weight to one coordinate or to the two of extreme ratio."""
        x, y = unit_rows(np.stack([x, y]))
        limit = self.ends(x[None], y[None]).at(end)
        ratios = _ratios(x[None], y[None])
        goal = float(cosine_of(limit.tangent)[0])
        if abs(_weighted_cosine(x, y, np.ones(len(x))) - goal) <= tol / 2:
            return Gauge.identity(len(x))
        if limit.is_attained[0]:
            # Coordinates other than the two extremes are 0 in both rows.
            weights = _extreme_weights(x, y, ratios)
            weights[weights == 0] = weights.max()
            return gauge_from_weights(weights, self.side)
        if abs(goal) == 1 or np.isinf(ratios.log_spread[0]):
            weights = np.zeros(len(x))
            weights[_deciding_coordinate(x, y, goal)] = 1.0
        else:
            weights = _extreme_weights(x, y, ratios)
        others = np.where(weights == 0, weights[weights > 0].min(), 0)
        share = 1.0
        for _ in range(MOST_STEPS):
            if abs(_weighted_cosine(x, y, weights + share * others) - goal) <= tol / 2:
                break
            share /= 4
        return gauge_from_weights(weights + share * others, self.side)


@dataclass(frozen=True)
class BoundedDiagonalRangeSolver:
    """Pairs of one side under diagonal gauges within a budget, k >= 2."""

    side: SideName
    max_condition: float
    block_bytes: ClassVar[int] = 2**16

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends, exact and attained."""
        upper = largest_cosine(x, y, self.max_condition).tangent
        with np.errstate(divide="ignore"):
            lower = 1 / largest_cosine(x, -y, self.max_condition).tangent
        is_attained = np.ones(len(x), dtype=np.bool_)
        return RangeEnds(RangeEnd(lower, is_attained), RangeEnd(upper, is_attained))

    def witness(
        self,
        x: Floats,
        y: Floats,
        end: End,
        tol: float,  # noqa: ARG002
    ) -> Gauge:
        """Return the gauge with the optimal weights."""
        towards = y if end == "upper" else -y
        best = largest_cosine(x[None], towards[None], self.max_condition)
        return gauge_from_weights(best.weights[0], self.side)


def gauge_from_weights(weights: Floats, side: SideName) -> Gauge:
    """Return the gauge that gives the coordinates of one side these weights.

    Raises
    ------
    InputError
        If the weights are too far apart for float64.

    Examples
    --------
    >>> gauge_from_weights(np.array([1.0, 16.0]), "right")
    Gauge(rank 2, condition number 4)
    >>> gauge_from_weights(np.array([1e-320, 1e308]), "left")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: no gauge in float64 comes that close to this end; choose
    a larger tol.
    """
    roots = np.sqrt(weights)
    if not roots.min() > roots.max() / np.finfo(np.float64).max:
        raise InputError(
            "no gauge in float64 comes that close to this end; choose a larger tol."
        )
    # The largest scale is the inverse of the smallest one.
    scales = roots / np.sqrt(roots.max()) / np.sqrt(roots.min())
    return Gauge.diagonal(scales if side == "left" else 1 / scales)


@dataclass(frozen=True)
class _Ratios:
    """Ratios |y/x| of the coordinates that are not 0 in both rows."""

    log_spread: Floats
    """(m,) logarithm of the largest ratio over the smallest one."""
    is_largest: Flags
    """(m, k) whether the ratio is the largest one, up to rounding."""
    is_smallest: Flags
    """(m, k) whether the ratio is the smallest one, up to rounding."""
    only_extremes: Flags
    """(m,) whether each ratio is the largest or smallest one, both finite and > 0."""


def _ratios(x: Floats, y: Floats) -> _Ratios:
    """Compare the ratios |y/x| of each pair of rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(y) / np.abs(x)
        is_ratio = ~np.isnan(ratios)
        largest = np.max(ratios, axis=1, initial=0, where=is_ratio)
        smallest = np.min(ratios, axis=1, initial=np.inf, where=is_ratio)
        log_spread = np.log(largest) - np.log(smallest)
    is_largest = ratios >= (1 - ROW_ROUNDING) * largest[:, None]
    is_smallest = ratios <= (1 + ROW_ROUNDING) * smallest[:, None]
    only_extremes = (is_largest | is_smallest | ~is_ratio).all(axis=1)
    return _Ratios(
        log_spread=log_spread,
        is_largest=is_largest,
        is_smallest=is_smallest,
        only_extremes=only_extremes & np.isfinite(log_spread),
    )


def _weighted_cosine(x: Floats, y: Floats, weights: Floats) -> float:
    roots = np.sqrt(weights / weights.max())
    return float(
        cosine_of(half_angle_tangents((roots * x)[None], (roots * y)[None]))[0]
    )


def _extreme_weights(x: Floats, y: Floats, ratios: _Ratios) -> Floats:
    """Return weights on the coordinates of the largest and the smallest ratio |y/x|.

    Weights of 1/|x y| give both groups of coordinates the same share of the dot
    product. Then the cosine of two ratios is smallest. The other weights are 0.
    """
    product = np.abs(x * y)
    weights = np.zeros(len(x))
    for is_extreme in (ratios.is_largest[0], ratios.is_smallest[0]):
        weights[is_extreme] = 1 / (product[is_extreme] * is_extreme.sum())
    return weights


def _deciding_coordinate(x: Floats, y: Floats, goal: float) -> int:
    """Return the coordinate whose weight takes the cosine to 1, to -1 or to 0.

    A cosine goes to 0 if one of the rows has a zero where the other has none.
    """
    if goal == 0:
        size = np.maximum(np.abs(x), np.abs(y))
        return int(np.argmax(np.where(x * y == 0, size, -1)))
    return int(np.argmax(x * y * goal))


@dataclass(frozen=True)
class CrossDiagonalRangeSolver:
    """Left-right pairs under diagonal gauges, within a budget or not, k >= 2."""

    max_condition: float | None
    """Largest condition number; None means that there is no bound."""
    block_bytes: ClassVar[int] = 2**18

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; a cosine of 0 stays 0 and no cosine changes its sign."""
        x, y = unit_rows(x), unit_rows(y)
        product = x * y
        dot = product.sum(axis=1)
        if self.max_condition is None:
            sizes = np.abs(product).sum(axis=1)
            is_zero = np.abs(dot) <= ROW_ROUNDING * sizes
            with np.errstate(invalid="ignore"):
                away = np.abs(dot) / sizes
            # Equal lengths of both rows in every coordinate need a weight of |y/x|.
            away_attained = ((x == 0) == (y == 0)).all(axis=1)
            towards = np.zeros(len(x))
            towards_attained = np.zeros(len(x), dtype=np.bool_)
        else:
            square = self.max_condition**2
            is_zero = dot == 0
            away = np.abs(dot) / _product_of_lengths(
                x, y, _shortest_weights(x, y, square)
            )
            away_attained = np.ones(len(x), dtype=np.bool_)
            longest = _longest_product(x, y, square)
            towards = np.abs(dot) / longest.length
            towards_attained = longest.is_vertex
        # Two rows on one axis cannot move.
        is_on_axis = ((x != 0).sum(axis=1) == 1) & ((y != 0).sum(axis=1) == 1)
        is_fixed = is_on_axis & ~is_zero
        towards = np.where(is_fixed, 1.0, towards)
        near_one = tangent_of(np.minimum(away, 1))
        near_zero = tangent_of(np.minimum(towards, 1))
        is_negative = dot < 0
        towards_attained = towards_attained | is_fixed
        with np.errstate(divide="ignore"):
            lower = np.where(is_negative, 1 / near_one, near_zero)
            upper = np.where(is_negative, 1 / near_zero, near_one)
        lower_attained = np.where(is_negative, away_attained, towards_attained)
        upper_attained = np.where(is_negative, towards_attained, away_attained)
        ends = RangeEnds(
            RangeEnd(lower, lower_attained), RangeEnd(upper, upper_attained)
        )
        ends = ends.with_fixed(is_zero, np.ones(len(x)))
        return ends.with_fixed(np.isnan(dot), dot)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Return the gauge of the best weights that are known.

        The end of a bounded range towards 0 may have no witness.
        """
        x, y = unit_rows(x[None]), unit_rows(y[None])
        ends = self.ends(x, y)
        if ends.lower.tangent[0] == ends.upper.tangent[0]:
            return Gauge.identity(x.shape[1])
        is_negative = bool(ends.lower.tangent[0] > 1)
        is_away_from_zero = (end == "upper") != is_negative
        if self.max_condition is not None:
            square = self.max_condition**2
            if is_away_from_zero:
                best = _shortest_weights(x, y, square)
            else:
                best = _longest_product(x, y, square).weights
            return gauge_from_weights(best[0], "left")
        goal = float(cosine_of(ends.at(end).tangent)[0])
        approach = _equalising_weights if is_away_from_zero else _lengthening_weights
        share = 1.0
        for _ in range(MOST_STEPS):
            weights = approach(x, y, share)
            reached = np.vecdot(x, y) / _product_of_lengths(x, y, weights)
            if abs(reached[0] - goal) <= tol / 2:
                break
            share /= 4
        return gauge_from_weights(weights[0], "left")


def _product_of_lengths(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute `√F(w)` of each pair."""
    x_length = np.sqrt(np.vecdot(weights, x * x))
    y_length = np.sqrt(np.vecdot(1 / weights, y * y))
    return np.asarray(x_length * y_length)


def _shortest_weights(x: Floats, y: Floats, square: float) -> Floats:
    """Return the weights of the smallest `F(w)`, by bisection for σ.

    At `w = clip(σ |y/x|, 1, κ²)` the function `Σ w x² - σ² Σ y² / w` falls as σ grows,
    and the coordinates strictly between the limits cancel in it. For unit rows its zero
    lies between 1 and κ².
    """
    # Coordinates first: sums over the first axis of contiguous arrays are fast.
    p, q = np.ascontiguousarray((x * x).T), np.ascontiguousarray((y * y).T)
    low = np.zeros(len(x))
    width = np.log(square)
    # After sixty halvings, less than the rounding of σ is left.
    for _ in range(60):
        width /= 2
        factor = np.exp(2 * (low + width))
        at_one = np.maximum(p - factor * q, 0)
        at_square = np.minimum(square * p - factor / square * q, 0)
        excess = (at_one + at_square).sum(axis=0)
        low += np.where(excess > 0, width, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.clip(np.exp(low)[:, None] * np.abs(y) / np.abs(x), 1, square)
    # A coordinate that is 0 in both rows has no part in F.
    return np.where(np.isnan(weights), 1.0, weights)


@dataclass(frozen=True)
class _Longest:
    """The largest product of lengths of each pair over fractions of coordinates."""

    length: Floats
    """(m,) √F."""
    is_vertex: Flags
    """(m,) Whether it is attained, because no fraction of a coordinate is needed."""
    weights: Floats
    """(m, k) the best weights that are 1 or κ²."""


def _longest_product(x: Floats, y: Floats, square: float) -> _Longest:
    """Maximise F over the chain of vertices in order of |y/x|, fractions allowed.

    On the edge from vertex j to vertex j + 1, a share s of coordinate j has the weight
    κ². With the sums A of w x² and B of y² / w at vertex j, F is there
    `(A + s rise) (B - s fall)`, a parabola in s.
    """
    p, q = x * x, y * y
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.abs(y) / np.abs(x), axis=1)
    p = np.take_along_axis(p, order, axis=1)
    q = np.take_along_axis(q, order, axis=1)
    left = _sums_of_vertices(p, square)
    right = _sums_of_vertices(q, 1 / square)
    rise = (square - 1) * p
    fall = (1 - 1 / square) * q
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = (rise * right[:, :-1] - fall * left[:, :-1]) / (2 * rise * fall)
    share = np.where(np.isnan(peak), 0.0, np.clip(peak, 0, 1))
    value = (left[:, :-1] + share * rise) * (right[:, :-1] - share * fall)
    pairs = np.arange(len(x))
    edge = value.argmax(axis=1)
    best_share = share[pairs, edge]
    # A witness has whole coordinates: the best vertex of the chain.
    vertex = np.argmax(left * right, axis=1)
    is_high = np.arange(x.shape[1]) < vertex[:, None]
    weights = np.empty(x.shape)
    np.put_along_axis(weights, order, np.where(is_high, square, 1.0), axis=1)
    return _Longest(
        np.sqrt(value[pairs, edge]), (best_share == 0) | (best_share == 1), weights
    )


def _sums_of_vertices(terms: Floats, high: float) -> Floats:
    """Return the sums, (m, k + 1), with the first 0, 1, ..., k terms times `high`."""
    zero = np.zeros((len(terms), 1))
    before = np.hstack([zero, np.cumsum(terms, axis=1)])
    after = np.hstack([np.cumsum(terms[:, ::-1], axis=1)[:, ::-1], zero])
    return np.asarray(high * before + after)


def _equalising_weights(x: Floats, y: Floats, share: float) -> Floats:
    """Return the weights |y/x|, which make both rows equal in size in each coordinate.

    Where one row is 0 and the other is not, the weight makes that coordinate vanish as
    `share` goes to 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.abs(y) / np.abs(x)
    finite = weights[(weights > 0) & np.isfinite(weights)]
    weights[np.isnan(weights)] = finite.mean()
    return np.clip(weights, share * finite.min(), finite.max() / share)


def _lengthening_weights(x: Floats, y: Floats, share: float) -> Floats:
    """Return weights that lengthen x along one axis and y along another.

    Both grow without limit as `share` goes to 0. The two coordinates are those of the
    largest |x_i y_j| with i ≠ j.
    """
    strength = np.abs(x[0])[:, None] * np.abs(y[0])
    np.fill_diagonal(strength, -1)
    first, second = np.unravel_index(strength.argmax(), strength.shape)
    weights = np.ones(x.shape)
    weights[0, first] = 1 / share
    weights[0, second] = share
    return weights
