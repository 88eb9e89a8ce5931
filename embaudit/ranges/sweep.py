"""The best interval of high weights, exactly, without trying all k²/2 of them.

Let `f(w) = Σ w r / √(Σ w p · Σ w q)` with `r = x y, p = x², q = y²`, and λ a positive value of f that is known. Since
`√(PQ) = min over s > 0 of (s P + Q/s)/2`, some w gives more than λ iff for some s

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

from embaudit.core.checked import Floats
from embaudit.gauges.gauge import EPS

Ints = NDArray[np.intp]
LOST = 1e-10
"""Share of a sum that rounding may take before it is made up for."""
NEVER = 2048.0
"""Stands for the logarithm of a ratio where a weight is never high: float64 holds none above 1,420."""


def best_interval(x: Floats, y: Floats, ratios: Floats, square: float) -> tuple[Ints, Ints, Floats]:
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
    while len(open_still):  # cosines grow each time, and are those of windows: there is an end
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
                np.cumsum((before - (after - added)) + (term[:, :k] - added), axis=1, out=lost[i, :, 1:])
        return cls(base / (square - 1), (sums,) if lost is None else (sums, lost), ratios[:, :k])

    def some(self, lines: Ints) -> _WindowSums:
        """Take some of the pairs."""
        if len(lines) == len(self.ratios):
            return self
        return _WindowSums(self.base[:, lines], tuple(sums[:, lines] for sums in self.sums), self.ratios[lines])

    def window(self, start: Ints, stop: Ints) -> Windows:
        """Compute the cosine of one window of each pair."""
        return Windows(start, stop, _cosines(self.totals(start, stop)))

    def totals(self, start: Ints, stop: Ints) -> Floats:
        """(3, m) weighted sums of one window of each pair."""
        lines = np.arange(len(start))
        return np.asarray(self.base + sum(sums[:, lines, stop] - sums[:, lines, start] for sums in self.sums))


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
    left = _left(pairs.ratios, _width(cosine))
    m, k = left.shape
    lines, entered = np.arange(m), np.arange(1, k + 1)
    before_exit = np.maximum(_entered(left), entered)
    each = (k + 1) * lines[:, None]
    after_entry, after_exit = 0.0, 0.0
    for sums in pairs.sums:
        # Up to each coordinate, from the first that has not left when it enters; and from the next to the last that
        # enters before it leaves.
        after_entry += sums[:, :, 1:] - sums.reshape(3, -1).take(left + each, axis=1)
        after_exit += sums.reshape(3, -1).take(before_exit + each, axis=1) - sums[:, :, 1:]
    cosines = np.hstack([_cosines(pairs.base[:, :, None] + total) for total in (after_entry, after_exit)])
    best = cosines.argmax(axis=1)
    enters, place = best < k, best % k
    start = np.where(enters, left[lines, place], entered[place])
    stop = np.where(enters, entered[place], before_exit[lines, place])
    return Windows(start, stop, cosines[lines, best])


def _left(ratios: Floats, width: Floats) -> Ints:
    """For each coordinate, count those that have left the window when it enters: ratios smaller by a width."""
    return np.asarray(np.clip(_below(ratios, ratios - width[:, None]), 0, np.arange(ratios.shape[1])))


def _below(ratios: Floats, bounds: Floats, side: Literal["left", "right"] = "left") -> Ints:
    """Count for each pair the ratios below its bounds, or with `side` "right" those up to them."""
    m, k = ratios.shape
    lines = np.arange(m)[:, None]
    # One search serves all pairs: an offset for each line keeps their ratios apart.
    apart = 2 * NEVER * lines
    return np.asarray(np.searchsorted((ratios + apart).ravel(), bounds + apart, side) - k * lines)


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
    return np.asarray(np.cumsum(np.bincount((left + lines).ravel(), minlength=m * k).reshape(m, k), axis=1))
