"""The largest cosine that a diagonal gauge within a budget can give two rows.

A diagonal gauge of condition at most κ gives the coordinates weights `w ∈ [1, κ²]^k`.
With `N = Σ w x y`, `P = Σ w x²` and `Q = Σ w y²` the cosine is `N / √(P Q)`. Where N > 0,

    N / √(P Q) = max over s > 0 of 2 N / (s P + Q / s),   reached at s² = Q / P.

For a given s, weights exist that give the quotient more than a level λ if and only if
`Σ w (2 x y - λ (s x² + y² / s)) > 0` for the weights that are κ² where the bracket is
positive and 1 elsewhere (Dinkelbach 1967, "On nonlinear fractional programming"). There
are two cases:

- Some weights make the cosine positive. Then the best weights are κ² in a window of the
  sorted ratios `ln(y / x)` and 1 elsewhere; see `_window_weights`.
- No weights do. Then the largest cosine of x and y is minus the smallest cosine of x and
  -y, which is positive for all weights; see `_saddle_weights`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.linalg.rows import unit_rows
from embaudit.ranges.half_angle import between, dots

Ints = NDArray[np.intp]
ROUNDING = 1e-12
"""Relative rounding of a quotient of two sums, with a wide margin."""
CONVERGED = 1e-11
"""A cosine this close below its upper bound is exact."""


class Best(NamedTuple):
    """The largest cosine of each pair and where it is reached."""

    tangent: Floats
    """(m,) tan(θ/2)."""
    weights: Floats
    """(m, k) between 1 and κ²."""


def largest_cosine(x: Floats, y: Floats, max_condition: float) -> Best:
    """Maximise the cosine of each pair of rows over weights within κ² of each other.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Rows; NaN is returned where one is zero.
    max_condition : float
        κ > 1, the condition number of the diagonal gauge whose squares are the weights.

    Examples
    --------
    >>> best = largest_cosine(np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]]), 2.0)
    >>> best.weights, round(float(best.tangent[0]), 4)
    (array([[4., 1.]]), 0.5)
    """
    x, y = unit_rows(x), unit_rows(y)
    square = max_condition**2
    product = x * y
    largest_sum = np.where(product > 0, square * product, product).sum(axis=1)
    can_be_positive = np.flatnonzero(largest_sum > 0)
    never_positive = np.flatnonzero(largest_sum <= 0)
    weights = np.ones(x.shape)
    weights[can_be_positive] = _window_weights(
        x[can_be_positive], y[can_be_positive], square
    )
    weights[never_positive] = _saddle_weights(
        x[never_positive], -y[never_positive], square
    )
    roots = np.sqrt(weights)
    return Best(between(roots * x, roots * y), weights)


def _window_weights(x: Floats, y: Floats, square: float) -> Floats:
    """Maximise the cosine of unit rows to which some weights give a positive one.

    The bracket of a coordinate is positive where x y > 0 and `ln(y / x)` is less than
    `arcsech λ` away from `ln s`. As s grows, each coordinate enters this window once and
    leaves it once. So if any weights give more than λ, the window after some entry or
    exit does. The best of these windows gives the next λ, until none gives more.
    """
    m, k = x.shape
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Coordinates without a positive product come first, below every window.
        ratios = np.where(x * y > 0, np.log(y / x), -np.inf)
    order = np.argsort(ratios, axis=1)
    ratios = np.take_along_axis(ratios, order, axis=1)
    x, y = np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)
    sums = [_prefix_sums(terms) for terms in (x * y, x * x, y * y)]
    places = np.arange(k)
    behind = np.broadcast_to(places + 1, (m, k))
    start, stop = np.isneginf(ratios).sum(axis=1)[:, None], np.full((m, 1), k)
    level = _window_cosines(sums, start, stop, square)
    is_growing = True
    while is_growing:
        width = 2 * np.arccosh(1 / np.clip(level, 1e-300, 1))
        left = _count_below(ratios, ratios - width, "left")
        entered = _count_below(ratios, ratios + width, "right")
        is_growing = False
        # A window ends behind the coordinate that enters or begins behind the one that
        # leaves.
        for starts, stops in ((left, behind), (behind, entered)):
            cosines = _window_cosines(sums, starts, stops, square)
            best = cosines.argmax(axis=1)[:, None]
            cosine = np.take_along_axis(cosines, best, axis=1)
            is_better = cosine > level
            start = np.where(is_better, np.take_along_axis(starts, best, axis=1), start)
            stop = np.where(is_better, np.take_along_axis(stops, best, axis=1), stop)
            level = np.where(is_better, cosine, level)
            is_growing = is_growing or bool(is_better.any())
    is_inside = (places >= start) & (places < stop)
    weights = np.empty((m, k))
    np.put_along_axis(weights, order, np.where(is_inside, square, 1.0), axis=1)
    return weights


def _count_below(
    ratios: Floats, bounds: Floats, side: Literal["left", "right"]
) -> Ints:
    """Count the sorted ratios of each row below its bounds ("right": up to them)."""
    counts = np.empty(bounds.shape, dtype=np.intp)
    for row in range(len(ratios)):
        counts[row] = ratios[row].searchsorted(bounds[row], side)
    return counts


def _prefix_sums(terms: Floats) -> tuple[Floats, Floats]:
    """Sum the first 0, 1, ..., k terms of each row, in two parts.

    The sum of a window is a difference of prefix sums. It would lose its digits beside
    terms that are κ² times as large, so each term is split: the sums of multiples of
    2⁻⁵¹ are exact, because terms of unit rows add up to at most 1, and what is left of
    the terms is tiny.
    """
    multiples = (terms + 2.0) - 2.0
    start = np.zeros((len(terms), 1))
    return (
        np.hstack([start, np.cumsum(multiples, axis=1)]),
        np.hstack([start, np.cumsum(terms - multiples, axis=1)]),
    )


def _window_cosines(
    sums: list[tuple[Floats, Floats]], start: Ints, stop: Ints, square: float
) -> Floats:
    """Compute the cosines with weights κ² from `start` to before `stop`, 1 elsewhere."""
    m, n_sums = sums[0][0].shape
    first = n_sums * np.arange(m)[:, None]
    start, stop = first + start, first + stop
    weighted = []
    for multiples, rests in sums:
        window = multiples.take(stop) - multiples.take(start)
        window += rests.take(stop) - rests.take(start)
        total = multiples[:, -1:] + rests[:, -1:]
        weighted.append(total + (square - 1) * window)
    dot, p, q = weighted
    return np.asarray(dot / np.sqrt(p * q))


def _saddle_weights(x: Floats, y: Floats, square: float) -> Floats:
    """Minimise the cosine of unit rows to which all weights give a positive one.

    The minimum over w of the maximum over s is the maximum over s of

        λ(s) = min over w of 2 N / (s P + Q / s),

    because the quotient is quasi-linear in w and quasi-concave in s. The quotient of any
    weights is an upper bound of λ. Of the best weights at two points, λ rising at one and
    falling at the other, the smaller quotient bounds the maximum. It is largest at some s,
    which replaces one of the two points, until λ attains the bound there.
    """
    terms = x * y, x * x, y * y
    # Weighted lengths of unit rows lie between 1 and κ, so √(Q / P) between 1/κ and κ.
    low = np.full(len(x), 1 / np.sqrt(square))
    high = 1 / low
    at_low, rising = _least_quotient(terms, low, np.ones(len(x)), square)
    at_high, falling = _least_quotient(terms, high, np.ones(len(x)), square)
    while True:
        s = np.clip(_highest_bound(rising, falling), low, high)
        bound = np.minimum(_quotient(rising, s), _quotient(falling, s))
        weights, sums = _least_quotient(terms, s, bound, square)
        is_open = bound - _quotient(sums, s) > CONVERGED
        if not is_open.any():
            break
        rises = is_open & (_slope(sums, s) > 0)
        falls = is_open & ~rises
        low, high = np.where(rises, s, low), np.where(falls, s, high)
        rising, falling = np.where(rises, sums, rising), np.where(falls, sums, falling)
        at_low = np.where(rises[:, None], weights, at_low)
        at_high = np.where(falls[:, None], weights, at_high)
    # Both weights have the least quotient at s. Between them are those for which s is best.
    before, after = _slope(rising, s), _slope(falling, s)
    share = np.zeros(len(x))
    np.divide(before, before - after, out=share, where=before > after)
    share = np.clip(share, 0, 1)[:, None]
    return np.asarray((1 - share) * at_low + share * at_high)


def _quotient(sums: Floats, s: Floats) -> Floats:
    """Compute `2 N / (s P + Q / s)`."""
    dot, p, q = sums
    return np.asarray(2 * dot / (s * p + q / s))


def _slope(sums: Floats, s: Floats) -> Floats:
    """Compute `Q / s - s P`, which has the sign of the slope of the quotient at s."""
    _, p, q = sums
    return np.asarray(q / s - s * p)


def _highest_bound(rising: Floats, falling: Floats) -> Floats:
    """Find where the smaller of two quotients is largest.

    That is where they are equal, `N₁ (s P₂ + Q₂ / s) = N₂ (s P₁ + Q₁ / s)`, unless one of
    them is largest before that, at `s² = Q / P`.
    """
    (dot_1, p_1, q_1), (dot_2, p_2, q_2) = rising, falling
    with np.errstate(divide="ignore", invalid="ignore"):
        equal = np.sqrt((dot_2 * q_1 - dot_1 * q_2) / (dot_1 * p_2 - dot_2 * p_1))
    peak_1, peak_2 = np.sqrt(q_1 / p_1), np.sqrt(q_2 / p_2)
    # Quotients of the same weights are equal everywhere: `fmin` drops the NaN.
    inner = np.fmin(equal, np.maximum(peak_1, peak_2))
    return np.asarray(np.fmax(inner, np.minimum(peak_1, peak_2)))


def _least_quotient(
    terms: tuple[Floats, Floats, Floats], s: Floats, level: Floats, square: float
) -> tuple[Floats, Floats]:
    """Find the weights of the least `2 N / (s P + Q / s)`, and their N, P and Q.

    Each round takes the best weights for a level, whose quotient is the next level. A
    coordinate whose own quotient is the level up to rounding gets the weight 1: with a
    high weight it would outweigh coordinates that have a smaller quotient.
    """
    product, p, q = terms
    length = (s[:, None] * p + q / s[:, None]) / 2
    best, least = np.ones(p.shape), np.full(len(s), np.inf)
    while True:
        is_high = product < (1 - ROUNDING) * level[:, None] * length
        weights = np.where(is_high, square, 1.0)
        level = dots(weights, product) / dots(weights, length)
        is_less = level < least
        if not is_less.any():
            return best, np.array([dots(best, term) for term in terms])
        best = np.where(is_less[:, None], weights, best)
        least = level = np.where(is_less, level, least)
