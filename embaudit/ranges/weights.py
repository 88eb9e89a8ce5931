"""The largest cosine that coordinate weights `w ∈ [1, κ²]^k` can give a pair of rows, exactly.

With `r = x y, p = x², q = y²` maximise `f(w) = Σ w r / √(Σ w p · Σ w q)`.

*Some w makes f positive.* Then f is quasi-convex where it is positive, its maximum lies at a vertex, and the optimality
condition `ρ/Σwr > 1/(2Σwp) + ρ²/(2Σwq)` on a coordinate of ratio `ρ = y/x` is quadratic in ρ: the high weights are the
coordinates with r > 0 whose ratios fill one interval. `embaudit.ranges.sweep` finds the best of these.

*No w does.* Turn y over and minimise the cosine of a pair with `Σ w r > 0` for every w, which is quasi-convex. See
`embaudit.ranges.definite`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.gauges.gauge import EPS
from embaudit.ranges.definite import smallest_definite_cosine
from embaudit.ranges.half_angle import between, difference_of_products, normalise_exponent
from embaudit.ranges.sweep import NEVER, best_interval

Ints = NDArray[np.intp]

_FINE = 1e-3
"""Half-angle tangent below which intervals are compared by 1 - cos², summed without cancellation."""


class Best(NamedTuple):
    """The largest cosine of each pair and where it is reached."""

    tangent: Floats
    """(m,) tan(θ/2)."""
    weights: Floats
    """(m, k) between 1 and κ²."""


def largest_cosine(x: Floats, y: Floats, max_condition: float) -> Best:
    """Maximise the cosine of each pair of rows over weights within `κ²` of each other.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Rows whose squares neither overflow nor vanish; NaN comes back where one is zero.
    max_condition : float
        κ > 1, the condition number of the diagonal gauge whose squares are the weights.

    Examples
    --------
    >>> best = largest_cosine(np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]]), 2.0)
    >>> best.weights, round(float(best.tangent[0]), 4)
    (array([[4., 1.]]), 0.5)
    """
    tangent = between(x, y)
    weights = np.ones(x.shape)
    square = max_condition**2
    product = x * y
    gain, loss = square * np.maximum(product, 0).sum(axis=1), -np.minimum(product, 0).sum(axis=1)
    moving = (tangent > 0) & np.isfinite(tangent)
    # The largest Σ w r is κ² Σ r⁺ − Σ r⁻. Its sign decides the case; where rounding hides it, the best cosine is 0.
    level = moving & (np.abs(gain - loss) <= 8 * x.shape[1] * EPS * loss)
    vertex, definite = (np.flatnonzero(moving & ~level & side) for side in (gain > loss, gain < loss))
    weights[level] = np.where(product[level] > 0, square, 1.0)
    tangent[level] = 1.0
    if len(vertex):
        tangent[vertex], weights[vertex] = _best_vertex(x[vertex], y[vertex], square)
    if len(definite):
        least, weights[definite] = smallest_definite_cosine(x[definite], -y[definite], max_condition)
        tangent[definite] = 1 / least
    return Best(tangent, weights)


def _best_vertex(x: Floats, y: Floats, square: float) -> Best:
    """Find the best interval of high weights, for pairs some weights of which make the cosine positive."""
    positive = x * y > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(positive, np.log(np.abs(y)) - np.log(np.abs(x)), NEVER)
    order = np.argsort(ratios, axis=1)
    p, q, ratios = (np.take_along_axis(z, order, axis=1) for z in (x, y, ratios))
    start, stop, cosine = best_interval(p, q, ratios, square)
    plain, count = np.empty(len(x)), positive.sum(axis=1)
    fine = np.flatnonzero(cosine > 1 - _FINE**2)
    for rows in row_blocks(len(fine), x.shape[1] ** 2, budget=2**20):
        near = fine[rows]
        start[near], stop[near], plain[near] = _fine_scan(p[near].T, q[near].T, count[near], square)
    place = np.arange(x.shape[1])
    high = (place >= start[:, None]) & (place < stop[:, None])
    weights = np.empty(order.shape)
    np.put_along_axis(weights, order, np.where(high, square, 1.0), axis=1)
    roots = np.sqrt(weights)
    tangent = between(normalise_exponent(roots * x), normalise_exponent(roots * y))
    # Rounding the weighted rows would turn nearly parallel ones.
    tangent[fine] = plain[fine] / (1 + np.sqrt(1 + plain[fine] ** 2))
    return Best(tangent, weights)


def _fine_scan(x: Floats, y: Floats, count: Ints, square: float) -> tuple[Ints, Ints, Floats]:
    """Best interval and its tan θ where cosines are so near 1 that only 1 - cos² tells them apart.

    Arrays are (k, m): coordinates by pairs, the first `count` of each in order of ratios.
    By Lagrange's identity `Σwp Σwq - (Σwr)² = Σ_{i<j} w_i w_j (x_i y_j - x_j y_i)²`, a sum of positive terms.
    """
    k = int(count.max())
    # gaps[i, j] is the squared determinant of coordinates i and j: a term of Lagrange's sum without its weights.
    gaps = difference_of_products(x[:, None], y[None], x[None], y[:, None]) ** 2
    # Weights are 1 + step inside the interval and 1 outside. Sums are kept in units of step², the dot product in units
    # of step.
    step = square - 1
    rows = gaps.sum(axis=1)
    # With all weights 1 the sum over i < j is half of all entries of the symmetric table.
    apart = np.repeat((rows.sum(axis=0) / (2 * step * step))[None], k, axis=0)
    dot = np.repeat(((x * y).sum(axis=0) / step)[None], k, axis=0)
    within = np.zeros((k + 1, x.shape[1]))
    best, stop = np.full(dot.shape, np.inf), np.zeros(dot.shape, dtype=np.intp)
    places = np.arange(k)
    for longer in range(k):
        n = k - longer
        last = places[:n] + longer
        # Pairs (i, last) with i inside: those of the interval that starts one later, known from the turn before, and
        # (start, last).
        within[:n] = within[1 : n + 1] + gaps[places[:n], last]
        # Raising coordinate `last` adds its row of gaps once in units of step, and those inside the interval once more
        # in full.
        apart[:n] += rows[last] / step + within[:n]
        dot[:n] += (x * y)[last]
        with np.errstate(divide="ignore", invalid="ignore"):
            # This is tan²θ. Intervals that reach beyond the coordinates with r > 0, or leave no acute angle, do not
            # count.
            value = np.where((dot[:n] > 0) & (last[:, None] < count), apart[:n] / dot[:n] ** 2, np.inf)
        better = value < best[:n]
        best[:n][better] = value[better]
        stop[:n] = np.where(better, last[:, None] + 1, stop[:n])
    start, lines = best.argmin(axis=0), np.arange(x.shape[1])
    return start, stop[start, lines], np.sqrt(best[start, lines])
