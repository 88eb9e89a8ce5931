"""The best interval of high weights among very many coordinates, exactly, without trying all of them.

Let `f(w) = Σ w r / √(Σ w p · Σ w q)` with `r = x y, p = x², q = y²`, and λ a positive value of f that is known. Since
`√(PQ) = min over s > 0 of (s P + Q/s)/2`, some w gives more than λ iff for some s

    Σ w (r − λ (s p + q/s)/2) > 0,

and then the best w for that s gives more than λ too. For a fixed s it is plain: a weight is high where its bracket is
positive, which holds for the ratios `ρ = y/x` between `s/c` and `s c`, with `c = (1 + √(1 − λ²))/λ`. As s grows,
coordinates enter this window in order of ρ and leave it in that order; so there are at most two windows a coordinate,
one after each entry and one after each exit. If none gives more than λ, nothing does; else the best of them is the next
λ.
Each round takes k log k operations, and a few rounds suffice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import Floats

Ints = NDArray[np.intp]
APART = 4096.0
"""Between the logarithms of ratios of one pair and those of the next: float64 holds none that are 1,420 apart."""


def best_interval(x: Floats, y: Floats, count: Ints, square: float) -> tuple[Ints, Ints, Floats]:
    """Find the best interval [start, stop) of the first `count` coordinates of each pair, and its cos².

    Parameters
    ----------
    x, y : array of shape (k, m)
        Coordinates by pairs; the first `count` of each in order of |y/x|, with products above 0.
    count : array of int (m,)
        How many these are.
    square : float
        High weights over low ones, κ². With all of the first `count` high each cosine is positive.

    Examples
    --------
    >>> start, stop, value = best_interval(np.ones((2, 1)), np.array([[1.0], [-1.0]]), np.array([1]), 4.0)
    >>> start, stop, value.round(4)
    (array([0]), array([1]), array([0.36]))
    """
    k, m = int(count.max()), x.shape[1]
    terms = [x * y, x * x, y * y]
    base = np.stack([term.sum(axis=0) / (square - 1) for term in terms])
    inside = np.arange(k)[:, None] < count
    sums = np.zeros((3, m, k + 1))
    for total, term in zip(sums, terms, strict=True):
        np.cumsum(np.where(inside, term[:k], 0).T, axis=1, out=total[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(inside, np.log(np.abs(y[:k])) - np.log(np.abs(x[:k])), APART / 2)
    ratios = np.ascontiguousarray(logs.T)
    start, stop = np.zeros(m, dtype=np.intp), count.astype(np.intp)
    value = _cosines(base, sums[:, np.arange(m), count])
    open_still = np.arange(m)
    while len(open_still):  # λ grows each time, and takes the value of a window: there is an end
        rows = open_still
        first, last, found = _round(base[:, rows], sums[:, rows], ratios[rows], count[rows], value[rows])
        better = found > value[rows]
        open_still = rows[better]
        start[open_still], stop[open_still], value[open_still] = first[better], last[better], found[better]
    return start, stop, value * np.abs(value)


def _cosines(base: Floats, inside: Floats) -> Floats:
    """Cosines by what the coordinates of an interval add to the sums over all."""
    dot, p, q = base + inside
    return np.asarray(dot / np.sqrt(p * q))


def _round(base: Floats, sums: Floats, ratios: Floats, count: Ints, value: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the best of the windows that a value leaves, and its cosine."""
    level = np.clip(value, 1e-300, 1.0)
    # A window spans a factor c² of ratios; twice its logarithm is that of c, at most 1,383.
    width = 2 * np.log((1 + np.sqrt((1 - level) * (1 + level))) / level)
    left = _left(ratios, width)
    k, lines = ratios.shape[1], np.arange(len(ratios))
    entered = np.arange(1, k + 1)
    before_exit = np.maximum(_entered(left), entered)
    flat, each = sums.reshape(3, -1), (k + 1) * lines[:, None]
    # Up to each coordinate, from the first that has not left when it enters; and from the next to the last that enters
    # before it leaves.
    after_entry = sums[:, :, 1:] - flat.take(left + each, axis=1)
    after_exit = flat.take(before_exit + each, axis=1) - sums[:, :, 1:]
    cosines = np.hstack([_cosines(base[:, :, None], part) for part in (after_entry, after_exit)])
    best = cosines.argmax(axis=1)
    enters, place = best < k, best % k
    start = np.where(enters, left[lines, place], entered[place])
    stop = np.where(enters, entered[place], before_exit[lines, place])
    return np.minimum(start, count), np.minimum(stop, count), cosines[lines, best]


def _left(ratios: Floats, width: Floats) -> Ints:
    """Count for each coordinate those that have left when it enters: whose ratio is smaller by more than a width."""
    m, k = ratios.shape
    offset = APART * np.arange(m)[:, None]
    flat = np.searchsorted((ratios + offset).ravel(), (ratios - width[:, None] + offset).ravel()).reshape(m, k)
    return np.asarray(np.clip(flat - k * np.arange(m)[:, None], 0, np.arange(k)))


def _entered(left: Ints) -> Ints:
    """Count for each coordinate those that enter before it leaves: those at whose entry no more than it had left.

    Examples
    --------
    >>> _entered(np.array([[0, 0, 1, 3]]))
    array([[2, 3, 3, 4]])
    """
    m, k = left.shape
    lines = k * np.arange(m)[:, None]
    return np.asarray(np.cumsum(np.bincount((left + lines).ravel(), minlength=m * k).reshape(m, k), axis=1))
