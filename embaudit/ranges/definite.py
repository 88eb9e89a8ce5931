"""The smallest cosine that weights `w ∈ [1, κ²]^k` can give a pair of rows at an acute angle whatever the weights.

In `e = 1/cos - 1` it is `max_w min_s E(w, s)` with `E = Σ w (s x - y)² / (2 s Σ w x y)`: no cancellation however nearly
parallel the rows are. For a given s the inner maximum e(s) is a linear fractional programme (Dinkelbach 1967), whose
optimal w is high exactly where `(s x - y)² / 2s > e x y`. As a function of s, e(s) is quasi-convex, and the sign of
`Σ w (s x - y)(s x + y)` tells on which side of its minimum s lies. Two vertices w of opposite sign enclose the optimum;
the best point of the edge between them has a closed form, gives the next s, and its value bounds e from below.

Arrays inside are (k, m): coordinates by pairs.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import EPS, Flags, Floats
from embaudit.ranges.half_angle import shear

_GAP = 64 * EPS
"""Upper and lower bound of e this close, relatively, are one."""
_STEPS = 120
_CLOSE = 0.5
"""Within this of s0, s is kept as `s/s0 - 1`."""


class _AcutePairs:
    """Rows under work, and what does not change from step to step."""

    def __init__(self, x: Floats, y: Floats, square: float) -> None:
        self.x, self.y, self.square = x, y, square
        self.s0: Floats = np.sqrt((y * y).sum(axis=0) / (x * x).sum(axis=0))
        self.rest = shear(x, y, self.s0)
        self.product = x * y

    def keep(self, is_open: Flags) -> None:
        """Drop the pairs that are done."""
        for name in ("x", "y", "rest", "product", "s0"):
            setattr(self, name, getattr(self, name)[..., is_open])

    def moments(self, weights: Floats) -> Floats:
        """(5, m) weighted sums: dot product, first and second moment of `y - s0 x`, squared lengths."""
        x, y, rest = weights * self.x, weights * self.y, weights * self.rest
        factors = (
            (x, self.y),
            (rest, self.x),
            (rest, self.rest),
            (x, self.x),
            (y, self.y),
        )
        return np.array([_sums(a, b) for a, b in factors])

    def best_slope(self, moments: Floats) -> tuple[Floats, Floats]:
        """Compute the s that minimises E for these moments, as `s/s0 - 1` and as itself."""
        _, first, second, p, q = moments
        excess = (2 * self.s0 * first + second) / (self.s0**2 * p)
        # s² = q/p. As √(1 + excess) − 1, written so that nothing cancels where s is near s0.
        offset = excess / (1 + np.sqrt(np.maximum(1 + excess, 0)))
        plain = np.sqrt(q / p)
        near = np.abs(offset) < _CLOSE
        return np.where(near, offset, plain / self.s0 - 1), np.where(
            near, self.s0 * (1 + offset), plain
        )

    def misfit(self, offset: Floats, s: Floats) -> Floats:
        """Compute `s x - y`, exact to its own size where s is near s0."""
        near = np.abs(offset) < _CLOSE
        misfit: Floats = np.where(near, offset * self.s0, s) * self.x
        misfit -= self.rest if near.all() else np.where(near, self.rest, self.y)
        return misfit

    def highest(
        self, misfit: Floats, s: Floats, start: Floats
    ) -> tuple[Floats, Floats]:
        """Maximise E over w for a given s, from a lower value: E and the vertex w (Dinkelbach)."""
        costs = misfit * misfit / (2 * s)
        # A start a little low, so that rounding never hides the vertex that belongs to the level.
        level, best = start * (1 - 1e-9), np.ones_like(costs)
        for _ in range(64):
            weights = np.where(costs > level * self.product, self.square, 1.0)
            raised = _sums(weights, costs) / _sums(weights, self.product)
            better = raised > level
            if not better.any():
                break
            best = np.where(better, weights, best)
            # Dinkelbach: the ratio at the vertex that is best for a level is never below it, and equal only at the
            # maximum.
            level = np.maximum(level, raised)
        return level, best


class _Side:
    """One side of the bracket: the vertex w that is optimal there, its moments, and where it was found."""

    def __init__(self, k: int, m: int, at: float) -> None:
        self.weights, self.moments = np.ones((k, m)), np.ones((5, m))
        self.offset, self.s = np.full(m, at - 1), np.full(m, at)
        self.known = np.zeros(m, dtype=np.bool_)

    def keep(self, is_open: Flags) -> None:
        for name in ("weights", "moments", "offset", "s", "known"):
            setattr(self, name, getattr(self, name)[..., is_open])

    def store(
        self, here: Flags, weights: Floats, moments: Floats, offset: Floats, s: Floats
    ) -> None:
        self.weights[:, here], self.moments[:, here] = (
            weights[:, here],
            moments[:, here],
        )
        self.offset[here], self.s[here] = offset[here], s[here]
        self.known |= here


def smallest_definite_cosine(
    x: Floats, y: Floats, max_condition: float
) -> tuple[Floats, Floats]:
    """Minimise the cosine of pairs that keep an acute angle.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Rows, not parallel, with `Σ w x y > 0` for all weights w between 1 and κ².
    max_condition : float
        κ > 1.

    Returns
    -------
    tangents : array of shape (m,)
        tan(θ/2) of the smallest cosine.
    weights : array of shape (m, k)
        Where it is reached.

    Examples
    --------
    >>> tangent, weights = smallest_definite_cosine(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]]), 3.0)
    >>> round(float(tangent[0]), 9), weights.ravel().tolist()
    (0.333333333, [1.0, 1.0])
    """
    m, k = x.shape
    pairs = _AcutePairs(
        np.ascontiguousarray(x.T), np.ascontiguousarray(y.T), max_condition**2
    )
    rows, best = np.arange(m), np.ones((m, k))
    excess, reached = np.full(m, np.inf), np.full(m, -np.inf)
    low, high = _Side(k, m, 0.0), _Side(k, m, np.inf)
    trial = np.ones((k, m))
    offset, s = pairs.best_slope(pairs.moments(trial))
    stationary = np.ones(m, dtype=np.bool_)
    for step in range(_STEPS):
        misfit = pairs.misfit(offset, s)
        below = _sums(trial, misfit * misfit) / (2 * s * _sums(trial, pairs.product))
        level, vertex = pairs.highest(misfit, s, below)
        excess[rows] = np.minimum(excess[rows], level)
        # At the slope that is best for them, weights reach the value that bounds e from below.
        further = stationary & (below > reached[rows])
        best[rows[further]], reached[rows[further]] = trial.T[further], below[further]
        active = ~(stationary & (level - below <= _GAP * level))
        slope = _sums(vertex * misfit, s * pairs.x + pairs.y)
        if not active.any():
            break
        moments = pairs.moments(vertex)
        low.store(slope <= 0, vertex, moments, offset, s)
        high.store(slope > 0, vertex, moments, offset, s)
        # A cut copies all arrays, so pairs that are done stay until they are a third.
        if active.sum() < 0.7 * len(rows):
            rows = rows[active]
            for held in (pairs, low, high):
                held.keep(active)
        trial, offset, s, stationary = _next(pairs, low, high, halve=step % 4 == 3)
    else:
        # Where the slopes of both sides are one by rounding, what lies between them was never tried at its own.
        trial, offset, s = _edge(pairs, low, high)
        misfit = pairs.misfit(offset, s)
        further = (
            _sums(trial, misfit * misfit) / (2 * s * _sums(trial, pairs.product))
            > reached[rows]
        )
        best[rows[further]] = trial.T[further]
    return np.sqrt(excess / (2 + excess)), best


def _edge(pairs: _AcutePairs, low: _Side, high: _Side) -> tuple[Floats, Floats, Floats]:
    """Find the best point of the edge between both sides, and its slope."""
    both = low.known & high.known
    share = np.where(
        both, _best_share(low.moments, high.moments), np.where(high.known, 1.0, 0.0)
    )
    trial = (1 - share) * low.weights + share * high.weights
    return trial, *pairs.best_slope((1 - share) * low.moments + share * high.moments)


def _next(
    pairs: _AcutePairs, low: _Side, high: _Side, *, halve: bool
) -> tuple[Floats, Floats, Floats, Flags]:
    """Choose weights and slope to try next: the best point of the edge between both sides, or the middle in s."""
    (trial, offset, s), both = _edge(pairs, low, high), low.known & high.known
    middle = both & ((s <= low.s) | (s >= high.s) | halve)
    if middle.any():
        near = (np.abs(low.offset) < _CLOSE) & (np.abs(high.offset) < _CLOSE)
        with np.errstate(invalid="ignore"):
            # The middle in ln s: an arithmetic mean would creep over brackets of many decades.
            between = np.where(
                near,
                (low.offset + high.offset) / 2,
                np.sqrt(low.s) * np.sqrt(high.s) / pairs.s0 - 1,
            )
            at = np.where(
                near, pairs.s0 * (1 + between), np.sqrt(low.s) * np.sqrt(high.s)
            )
        offset, s = np.where(middle, between, offset), np.where(middle, at, s)
    return trial, offset, s, ~middle


def _best_share(low: Floats, high: Floats) -> Floats:
    """Find the share between two sets of moments where tan² θ = (p · second - first²) / dot² is largest."""
    step = high - low

    def slope(at: Floats) -> Floats:
        dot, first, second, p, _ = at
        rise = step[3] * second + p * step[2] - 2 * first * step[1]
        # N' dot − 2 N dot', the numerator of the derivative of N/dot²: its squares cancel, so that it is linear in the
        # share.
        return np.asarray(rise * dot - 2 * (p * second - first * first) * step[0])

    start, end = slope(low), slope(high)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The zero of a line by its values at both ends; where these agree, every share is as good and ½ is taken.
        share = np.clip(start / (start - end), 0, 1)
    return np.where(np.isfinite(share), share, 0.5)


def _sums(weights: Floats, terms: Floats) -> Floats:
    total: Floats = np.einsum("km,km->m", weights, terms)
    return total
