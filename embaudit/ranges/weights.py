"""The largest cosine that coordinate weights `w ∈ [1, κ²]^k` can give a pair of rows, exactly.

With `r = x y, p = x², q = y²` maximise `f(w) = Σ w r / √(Σ w p · Σ w q)`.

*Some w makes f positive.* Then f is quasi-convex where it is positive, its maximum lies at a vertex, and the optimality
condition `ρ/Σwr > 1/(2Σwp) + ρ²/(2Σwq)` on a coordinate of ratio `ρ = y/x` is quadratic in ρ: the high weights are the
coordinates with r > 0 whose ratios fill one interval. `best_interval` finds the best of these.

*No w does.* Turn y over and minimise the cosine of a pair with `Σ w r > 0` for every w, which is quasi-convex. See
`embaudit.ranges.definite`.

**The best interval**, without trying all k²/2 of them. Let `f(w) = Σ w r / √(Σ w p · Σ w q)` with `r = x y, p = x², q =
y²`, and λ a positive value of f that is known. Since `√(PQ) = min over s > 0 of (s P + Q/s)/2`, some w gives more than
λ iff for some s

    Σ w (r − λ (s p + q/s)/2) > 0,

and then the best w for that s gives more than λ too. For a fixed s it is plain: a weight is high where its bracket is
positive, which holds for the ratios `ρ = y/x` between `s/c` and `s c`, with `c = (1 + √(1 − λ²))/λ`. As s grows,
coordinates enter this window in order of ρ and leave it in that order; so there are at most two windows a coordinate,
one after each entry and one after each exit. If none gives more than λ, nothing does; else the best of them is the next
λ. Such a round takes k log k operations.

Between rounds windows follow their own s: at `s = √(Q/P)` the bound is the value itself, so that the window which is
best there gives more or is the same. That takes log k operations a step, and leaves little to find for rounds.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import EPS, Floats
from embaudit.core.parallel import row_blocks
from embaudit.ranges.definite import smallest_definite_cosine
from embaudit.ranges.half_angle import (
    between,
    difference_of_products,
    normalise_exponent,
)

Ints = NDArray[np.intp]
LOST = 1e-10
"""Share of a sum that rounding may take before it is made up for."""
NEVER = 2048.0
"""Stands for the logarithm of a ratio where a weight is never high: float64 holds none above 1,420."""


def best_interval(
    x: Floats, y: Floats, ratios: Floats, square: float
) -> tuple[Ints, Ints, Floats]:
    """Find the interval [start, stop) of coordinates of each pair that gives the largest cosine, and that.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Rows, their coordinates in order of ratios.
    ratios : array of shape (m, k)
        ln |y/x| in order, `NEVER` where the product is not above 0.
    square : float
        High weights over low ones, κ². With all that may be high each cosine is positive.

    Returns
    -------
    start, stop : array of int (m,)
        Equal where no weight need be high, but for rounding.
    cosine : array of shape (m,)

    Examples
    --------
    >>> best_interval(np.ones((1, 2)), np.array([[1.0, -1.0]]), np.array([[0, NEVER]]), 4.0)
    (array([0]), array([1]), array([0.6]))
    """
    pairs = _WindowSums.of(x, y, ratios, square)
    count = (ratios < NEVER).sum(axis=1)
    best = pairs.window(np.zeros_like(count), count)
    open_still = np.arange(len(x))
    while len(
        open_still
    ):  # cosines grow each time, and are those of windows: there is an end
        some = pairs.some(open_still)
        followed = _followed(some, best.some(open_still))
        improved = followed.or_better(_round(some, followed.cosine))
        for whole, values in zip(best, improved, strict=True):
            whole[open_still] = values
        open_still = open_still[improved.cosine > followed.cosine]
    return best.start, best.stop, best.cosine


class Windows(NamedTuple):
    """High weights of each pair, those from `start` to before `stop`, and its cosine with these."""

    start: Ints
    stop: Ints
    cosine: Floats

    def some(self, lines: Ints) -> Windows:
        """Take those of some of the pairs."""
        return Windows(self.start[lines], self.stop[lines], self.cosine[lines])

    def or_better(self, other: Windows) -> Windows:
        """Take the others where they give more."""
        better = other.cosine > self.cosine
        return Windows(
            np.where(better, other.start, self.start),
            np.where(better, other.stop, self.stop),
            np.where(better, other.cosine, self.cosine),
        )


class _WindowSums(NamedTuple):
    """Sums that windows are computed from: of r, p and q, and in units of κ² - 1."""

    base: Floats
    """(3, m) sums over all coordinates."""
    sums: tuple[Floats, ...]
    """(3, m, k + 1) sums over the first coordinates: none, one, up to all that may be high in any of the pairs; and
    what rounding took from them, where weights are far apart."""
    ratios: Floats
    """(m, k) logarithms of |y/x|, in order."""

    @classmethod
    def of(cls, x: Floats, y: Floats, ratios: Floats, square: float) -> _WindowSums:
        """Sum up rows."""
        m, k = len(x), int((ratios < NEVER).sum(axis=1).max())
        base, sums = np.empty((3, m)), np.zeros((3, m, k + 1))
        # A window's sum is a difference of longer ones, beside a base κ² times smaller than these: it loses a share of
        # about √k κ² eps, at most a 500th of that as measured.
        lost = np.zeros_like(sums) if np.sqrt(k) * square * EPS > LOST else None
        for i, (a, b) in enumerate(((x, y), (x, x), (y, y))):
            term = a * b
            term.sum(axis=1, out=base[i])
            np.cumsum(term[:, :k], axis=1, out=sums[i, :, 1:])
            if lost is not None:
                before, after = sums[i, :, :-1], sums[i, :, 1:]
                added = after - before
                # TwoSum (Knuth) has the rounding of each addition exactly.
                np.cumsum(
                    (before - (after - added)) + (term[:, :k] - added),
                    axis=1,
                    out=lost[i, :, 1:],
                )
        return cls(
            base / (square - 1),
            (sums,) if lost is None else (sums, lost),
            ratios[:, :k],
        )

    def some(self, lines: Ints) -> _WindowSums:
        """Take some of the pairs."""
        if len(lines) == len(self.ratios):
            return self
        return _WindowSums(
            self.base[:, lines],
            tuple(sums[:, lines] for sums in self.sums),
            self.ratios[lines],
        )

    def window(self, start: Ints, stop: Ints) -> Windows:
        """Compute the cosine of one window of each pair."""
        return Windows(start, stop, _cosines(self.totals(start, stop)))

    def totals(self, start: Ints, stop: Ints) -> Floats:
        """(3, m) weighted sums of one window of each pair."""
        lines = np.arange(len(start))
        return np.asarray(
            self.base
            + sum(sums[:, lines, stop] - sums[:, lines, start] for sums in self.sums)
        )


def _cosines(totals: Floats) -> Floats:
    dot, p, q = totals
    return np.asarray(dot / np.sqrt(p * q))


def _width(cosine: Floats) -> Floats:
    """Compute the logarithm of the factor c² of ratios that a window spans; c has one of 691 at most."""
    level = np.clip(cosine, 1e-300, 1.0)
    return np.asarray(2 * np.log((1 + np.sqrt((1 - level) * (1 + level))) / level))


def _followed(pairs: _WindowSums, window: Windows) -> Windows:
    """Go from windows to those that are best at their own s, until no pair gains."""
    while True:
        _, p, q = pairs.totals(window.start, window.stop)
        # s² = Q/P, and the window of s holds the ratios from s/c to s c.
        centre, half = np.log(q / p) / 2, _width(window.cosine) / 2
        start = _below(pairs.ratios, (centre - half)[:, None])[:, 0]
        stop = _below(pairs.ratios, (centre + half)[:, None], "right")[:, 0]
        better = window.or_better(pairs.window(start, stop))
        if not (better.cosine > window.cosine).any():
            return window
        window = better


def _round(pairs: _WindowSums, cosine: Floats) -> Windows:
    """Return the best of the windows that a cosine leaves."""
    # For each coordinate, those that have left the window when it enters: ratios smaller by a width.
    gone = _below(pairs.ratios, pairs.ratios - _width(cosine)[:, None])
    left = np.clip(gone, 0, np.arange(pairs.ratios.shape[1]))
    m, k = left.shape
    lines, entered = np.arange(m), np.arange(1, k + 1)
    before_exit = np.maximum(_entered(left), entered)
    each = (k + 1) * lines[:, None]
    after_entry, after_exit = 0.0, 0.0
    for sums in pairs.sums:
        # Up to each coordinate, from the first that has not left when it enters; and from the next to the last that
        # enters before it leaves.
        after_entry += sums[:, :, 1:] - sums.reshape(3, -1).take(left + each, axis=1)
        after_exit += (
            sums.reshape(3, -1).take(before_exit + each, axis=1) - sums[:, :, 1:]
        )
    cosines = np.hstack(
        [
            _cosines(pairs.base[:, :, None] + total)
            for total in (after_entry, after_exit)
        ]
    )
    best = cosines.argmax(axis=1)
    enters, place = best < k, best % k
    start = np.where(enters, left[lines, place], entered[place])
    stop = np.where(enters, entered[place], before_exit[lines, place])
    return Windows(start, stop, cosines[lines, best])


def _below(
    ratios: Floats, bounds: Floats, side: Literal["left", "right"] = "left"
) -> Ints:
    """Count for each pair the ratios below its bounds, or with `side` "right" those up to them."""
    m, k = ratios.shape
    lines = np.arange(m)[:, None]
    # One search serves all pairs: an offset for each line keeps their ratios apart.
    apart = 2 * NEVER * lines
    return np.asarray(
        np.searchsorted((ratios + apart).ravel(), bounds + apart, side) - k * lines
    )


def _entered(left: Ints) -> Ints:
    """For each coordinate, count the coordinates that enter the window before this one leaves it.

    Examples
    --------
    >>> _entered(np.array([[0, 0, 1, 3]]))
    array([[2, 3, 3, 4]])
    """
    m, k = left.shape
    lines = k * np.arange(m)[:, None]
    # Coordinate j entered when left[j] had left; so before i leaves enter those with left[j] <= i.
    return np.asarray(
        np.cumsum(
            np.bincount((left + lines).ravel(), minlength=m * k).reshape(m, k), axis=1
        )
    )


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
    gain, loss = (
        square * np.maximum(product, 0).sum(axis=1),
        -np.minimum(product, 0).sum(axis=1),
    )
    moving = (tangent > 0) & np.isfinite(tangent)
    # The largest Σ w r is κ² Σ r⁺ − Σ r⁻. Its sign decides the case; where rounding hides it, the best cosine is 0.
    level = moving & (np.abs(gain - loss) <= 8 * x.shape[1] * EPS * loss)
    vertex, definite = (
        np.flatnonzero(moving & ~level & side) for side in (gain > loss, gain < loss)
    )
    weights[level] = np.where(product[level] > 0, square, 1.0)
    tangent[level] = 1.0
    if len(vertex):
        tangent[vertex], weights[vertex] = _best_vertex(x[vertex], y[vertex], square)
    if len(definite):
        least, weights[definite] = smallest_definite_cosine(
            x[definite], -y[definite], max_condition
        )
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
        start[near], stop[near], plain[near] = _fine_scan(
            p[near].T, q[near].T, count[near], square
        )
    place = np.arange(x.shape[1])
    high = (place >= start[:, None]) & (place < stop[:, None])
    weights = np.empty(order.shape)
    np.put_along_axis(weights, order, np.where(high, square, 1.0), axis=1)
    roots = np.sqrt(weights)
    tangent = between(normalise_exponent(roots * x), normalise_exponent(roots * y))
    # Rounding the weighted rows would turn nearly parallel ones.
    tangent[fine] = plain[fine] / (1 + np.sqrt(1 + plain[fine] ** 2))
    return Best(tangent, weights)


def _fine_scan(
    x: Floats, y: Floats, count: Ints, square: float
) -> tuple[Ints, Ints, Floats]:
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
            value = np.where(
                (dot[:n] > 0) & (last[:, None] < count),
                apart[:n] / dot[:n] ** 2,
                np.inf,
            )
        better = value < best[:n]
        best[:n][better] = value[better]
        stop[:n] = np.where(better, last[:, None] + 1, stop[:n])
    start, lines = best.argmin(axis=0), np.arange(x.shape[1])
    return start, stop[start, lines], np.sqrt(best[start, lines])
