"""The largest cosine that a diagonal gauge within a budget can give two rows.

A diagonal gauge of condition at most κ gives the coordinates weights `w ∈ [1, κ²]^k`.
With `N = Σ w x y`, `P = Σ w x²` and `Q = Σ w y²` the cosine is `N / √(P Q)`. If N > 0,

    N / √(P Q) = max over s > 0 of 2 N / (s P + Q / s),   reached at s² = Q / P.

For a given s, weights exist that give the quotient more than a level λ if and only if
`Σ w (2 x y - λ (s x² + y² / s)) > 0` for the weights that are κ² where the bracket is
positive and 1 elsewhere (Dinkelbach 1967, "On nonlinear fractional programming"). There
are two cases:

- Some weights make the cosine positive. Then the best weights are κ² in a window of the
  sorted ratios `ln(y / x)` and 1 elsewhere; see `_window_weights`.
- No weights do. Then the largest cosine of x and y is minus the smallest cosine of x
  and -y, which is positive for all weights; see `saddle_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.tolerances import CONVERGED_COSINE, ROUNDING
from embaudit.linalg.rows import unit_rows
from embaudit.ranges.half_angle import half_angle_tangents

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Best:
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
    acute_x, acute_y = x[never_positive], -y[never_positive]
    weights[never_positive] = saddle_weights(
        (acute_x * acute_y, acute_x**2, acute_y**2), square
    )
    roots = np.sqrt(weights)
    return Best(half_angle_tangents(roots * x, roots * y), weights)


def _window_weights(x: Floats, y: Floats, square: float) -> Floats:
    """Maximise the cosine of unit rows to which some weights give a positive one.

    The bracket of a coordinate is positive where x y > 0 and `ln(y / x)` is less than
    `arcsech λ` away from `ln s`. As s grows, each coordinate enters this window once
    and leaves it once. So if any weights give more than λ, the window after some entry
    or exit does. The best of these windows gives the next λ, until no window gives
    more.
    """
    m, k = x.shape
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Coordinates without a positive product come first, below every window.
        ratios = np.where(x * y > 0, np.log(y / x), -np.inf)
    order = np.argsort(ratios, axis=1)
    ratios = np.take_along_axis(ratios, order, axis=1)
    x = np.take_along_axis(x, order, axis=1)
    y = np.take_along_axis(y, order, axis=1)
    terms = np.stack([x * y, x * x, y * y])
    totals = terms.sum(axis=2, keepdims=True)

    # Columns without a positive product in any pair are in no window.
    n_not_positive = np.isneginf(ratios).sum(axis=1)
    skipped = n_not_positive.min(initial=k)
    ratios = ratios[:, skipped:]
    terms = terms[:, :, skipped:]

    outward = _outward_sums(terms)

    def window_cosines(pairs: Ints, start: Ints, stop: Ints) -> Floats:
        """Compute `N / √(P Q)` with weights κ² from `start` to before `stop`.

        The other weights are 1. So each of N, P and Q is the total of all terms plus
        κ² - 1 times the sum of the window.
        """
        window = _window_sums(outward, pairs, start, stop)
        dot, p, q = totals[:, pairs] + (square - 1) * window
        return np.asarray(dot / np.sqrt(p * q))

    # The first window holds every coordinate with a positive product.
    growing = np.arange(m)
    start = n_not_positive[:, None] - skipped
    stop = np.full((m, 1), k - skipped)
    level = window_cosines(growing, start, stop)

    # A pair is done after the first round that finds no window above its level.
    while len(growing) > 0:
        starts, stops = _windows(ratios[growing], level[growing])
        cosines = window_cosines(growing, starts, stops)
        best = cosines.argmax(axis=1)[:, None]
        best_level = np.take_along_axis(cosines, best, axis=1)
        is_higher = (best_level > level[growing])[:, 0]
        growing = growing[is_higher]
        start[growing] = np.take_along_axis(starts, best, axis=1)[is_higher]
        stop[growing] = np.take_along_axis(stops, best, axis=1)[is_higher]
        level[growing] = best_level[is_higher]

    places = np.arange(k) - skipped
    is_inside = (places >= start) & (places < stop)
    sorted_weights = np.where(is_inside, square, 1.0)
    weights = np.empty((m, k))
    np.put_along_axis(weights, order, sorted_weights, axis=1)
    return weights


def _windows(ratios: Floats, level: Floats) -> tuple[Ints, Ints]:
    """List the windows of half width `arcsech λ` after each entry and after each exit.

    A window changes when its upper edge reaches a coordinate, which enters, or when its
    lower edge passes a coordinate, which leaves.

    Returns
    -------
    start, stop : array of shape (m, 2 k)
        A window holds the sorted coordinates from `start` to before `stop`.
    """
    m, k = ratios.shape
    width = 2 * np.arccosh(1 / np.clip(level, 1e-300, 1))
    after = np.broadcast_to(np.arange(1, k + 1), (m, k))
    # Coordinate i enters: the window holds the coordinates down to `ratio i - width`.
    start_at_entry = _count_below(ratios, ratios - width, "left")
    # Coordinate i leaves: the window holds the coordinates up to `ratio i + width`.
    stop_at_exit = _count_below(ratios, ratios + width, "right")
    return np.hstack([start_at_entry, after]), np.hstack([after, stop_at_exit])


def _count_below(
    ratios: Floats, bounds: Floats, side: Literal["left", "right"]
) -> Ints:
    """Count the sorted ratios of each row below its bounds ("right": up to them)."""
    counts = np.empty(bounds.shape, dtype=np.intp)
    for row in range(len(ratios)):
        counts[row] = ratios[row].searchsorted(bounds[row], side)
    return counts


def _outward_sums(terms: Floats) -> Floats:
    """Add up terms, (3, m, k), outwards from the middle of blocks of 2, 4, 8, ….

    Each window is the sum of two of these sums; see `_window_sums`. Differences of
    running sums would be shorter to write, but a gauge of condition 1e6 multiplies the
    rounding of large terms before a window by 1e12.

    Returns
    -------
    array of shape (3, n_levels + 1, width, m)
        For each level l and place, the sum of the terms between the place and the
        middle of its block of 2ˡ terms: from the place on in the first half, and to
        before the place in the second half. Level 0 holds zeros. The terms are
        continued by zeros to `width`, a power of 2.

    Examples
    --------
    >>> _outward_sums(np.array([[[1.0, 2.0, 3.0]]]))[0, 1:, :, 0]
    array([[1., 0., 3., 0.],
           [3., 2., 0., 3.]])
    """
    n_terms, m, k = terms.shape
    n_levels = k.bit_length()
    width = 2**n_levels
    # Sums within blocks of 1, 2, 4, ... terms: from a place to the end of its block,
    # and from the start of the block to before the place.
    to_end = np.zeros((n_terms, width, m))
    to_end[:, :k] = np.swapaxes(terms, 1, 2)
    from_start = np.zeros_like(to_end)
    outward = np.zeros((n_terms, n_levels + 1, width, m))
    for level in range(1, n_levels + 1):
        # Two neighbouring blocks are the halves of a block of the next size.
        halves = (n_terms, -1, 2, 2 ** (level - 1), m)
        ends, starts = to_end.reshape(halves), from_start.reshape(halves)
        sums = outward[:, level].reshape(halves)
        sums[:, :, 0] = ends[:, :, 0]
        sums[:, :, 1] = starts[:, :, 1]
        starts[:, :, 1] += ends[:, :, 0, :1]
        ends[:, :, 0] += ends[:, :, 1, :1]
    return outward


def _window_sums(outward: Floats, pairs: Ints, start: Ints, stop: Ints) -> Floats:
    """Add up terms of some pairs in windows from `start` to before `stop`, (m, w).

    The smallest block that holds both ends of a window has its middle between them. So
    the window is the sum of its parts on both sides of that middle.

    Parameters
    ----------
    outward : array of shape (3, n_levels + 1, width, n)
        From `_outward_sums`.
    pairs : array of shape (m,)
        The pairs that the windows belong to.
    start, stop : array of shape (m, w)
        Ends of the windows.

    Examples
    --------
    >>> outward = _outward_sums(np.array([[[1.0, 2.0, 3.0]]]))
    >>> start, stop = np.array([[0, 0, 1, 2, 2]]), np.array([[3, 2, 3, 3, 2]])
    >>> _window_sums(outward, np.array([0]), start, stop)[0]
    array([[6., 3., 5., 3., 0.]])
    """
    n_terms, _, width, n_pairs = outward.shape
    # That block has 2ˡ terms if the ends agree in all binary digits before the last l.
    _, level = np.frexp(start ^ stop)
    # Places in flattened sums: `take` without an axis is several times faster.
    at_start = (level * width + start) * n_pairs + pairs[:, None]
    at_stop = (level * width + stop) * n_pairs + pairs[:, None]
    sums = np.empty((n_terms, *start.shape))
    for term in range(n_terms):
        sums[term] = outward[term].take(at_start) + outward[term].take(at_stop)
    return sums


def saddle_weights(terms: tuple[Floats, Floats, Floats], square: float) -> Floats:
    """Minimise the cosine of unit rows to which all weights give a positive one.

    The minimum over w of the maximum over s is the maximum over s of

        λ(s) = min over w of 2 N / (s P + Q / s),

    because the quotient is quasi-linear in w and quasi-concave in s. The quotient of
    any weights is an upper bound of λ. Take the best weights at two points, where λ
    rises at one and falls at the other: the smaller of their quotients bounds the
    maximum. It is largest at some s, which replaces one of the two points, until λ
    attains the bound there.

    Parameters
    ----------
    terms : three arrays of shape (m, k)
        Parts of the products `x·y`, `x·x` and `y·y` that have a weight of their own:
        one coordinate each, or the sum over several coordinates.
    square : float
        κ², the largest weight; the smallest is 1.
    """
    n_pairs = len(terms[0])
    # Weighted lengths of unit rows lie between 1 and κ, so √(Q / P) between 1/κ and κ.
    low = np.full(n_pairs, 1 / np.sqrt(square))
    high = 1 / low
    # A cosine is at most 1, so 1 is a level to start from.
    first_level = np.ones(n_pairs)
    at_low, rising = _least_quotient(terms, low, first_level, square)
    at_high, falling = _least_quotient(terms, high, first_level, square)
    while True:
        s = np.clip(_highest_bound(rising, falling), low, high)
        bound = np.minimum(_quotient(rising, s), _quotient(falling, s))
        weights, sums = _least_quotient(terms, s, bound, square)
        is_open = bound - _quotient(sums, s) > CONVERGED_COSINE
        if not is_open.any():
            break
        rises = is_open & (_slope(sums, s) > 0)
        falls = is_open & ~rises
        # s replaces `low` where λ rises there and `high` where λ falls.
        low = np.where(rises, s, low)
        rising = np.where(rises, sums, rising)
        at_low = np.where(rises[:, None], weights, at_low)
        high = np.where(falls, s, high)
        falling = np.where(falls, sums, falling)
        at_high = np.where(falls[:, None], weights, at_high)
    # Both weights have the least quotient at s, and so has each mixture of them. The
    # mixture whose slope is 0 has its peak at s, so its cosine is the minimum.
    rising_slope = _slope(rising, s)
    falling_slope = _slope(falling, s)
    share = np.zeros(n_pairs)
    np.divide(
        rising_slope,
        rising_slope - falling_slope,
        out=share,
        where=rising_slope > falling_slope,
    )
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
    """Find the s at which the smaller of two quotients is largest.

    A quotient `2 N / (s P + Q / s)` rises up to its peak at `s = √(Q / P)` and falls
    after the peak. The two quotients are equal at one s only, the crossing, because
    `N₁ (s P₂ + Q₂ / s) = N₂ (s P₁ + Q₁ / s)` is linear in s².

    Assumption: the rising quotient is the smaller one before the crossing and the
    falling quotient is the smaller one after the crossing, or both have the same
    weights. Then the falling quotient has the earlier peak, and the smaller quotient is
    largest at

    - the crossing, if the crossing lies between the two peaks,
    - the earlier peak, if the crossing comes before both peaks,
    - the later peak, if the crossing comes after both peaks.
    """
    dot_1, p_1, q_1 = rising
    dot_2, p_2, q_2 = falling
    peak_1 = np.sqrt(q_1 / p_1)
    peak_2 = np.sqrt(q_2 / p_2)
    earlier_peak = np.minimum(peak_1, peak_2)
    later_peak = np.maximum(peak_1, peak_2)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing_square = (dot_2 * q_1 - dot_1 * q_2) / (dot_1 * p_2 - dot_2 * p_1)
        crossing = np.sqrt(crossing_square)
    # The crossing is NaN if the weights are the same. `fmin` ignores NaN, so the result
    # is then the common peak.
    at_most_later = np.fmin(crossing, later_peak)
    return np.asarray(np.fmax(at_most_later, earlier_peak))


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
    best = np.ones(p.shape)
    least = np.full(len(s), np.inf)
    while True:
        is_high = product < (1 - ROUNDING) * level[:, None] * length
        weights = np.where(is_high, square, 1.0)
        level = np.vecdot(weights, product) / np.vecdot(weights, length)
        is_less = level < least
        if not is_less.any():
            return best, np.array([np.vecdot(best, term) for term in terms])
        best = np.where(is_less[:, None], weights, best)
        least = np.where(is_less, level, least)
        # A pair that found no smaller quotient keeps its least one as the next level.
        level = least
