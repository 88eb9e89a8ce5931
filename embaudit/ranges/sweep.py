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
        ratios = np.where(inside, np.log(np.abs(y[:k])) - np.log(np.abs(x[:k])), APART / 2).T
    start, stop = np.zeros(m, dtype=np.intp), count.astype(np.intp)
    value = _cosines(base, sums, start[:, None], stop[:, None])[:, 0]
    open_still = np.arange(m)
    while len(open_still):  # λ grows each time, and takes the value of a window: there is an end
        rows = open_still
        first, last, found = _round(base[:, rows], sums[:, rows], ratios[rows], count[rows], value[rows])
        better = found > value[rows]
        open_still = rows[better]
        start[open_still], stop[open_still], value[open_still] = first[better], last[better], found[better]
    return start, stop, value * np.abs(value)


def _cosines(base: Floats, sums: Floats, start: Ints, stop: Ints) -> Floats:
    """Cosines that intervals of high weights give, (m, n)."""
    dot, p, q = (
        part[:, None] + np.take_along_axis(total, stop, axis=1) - np.take_along_axis(total, start, axis=1)
        for part, total in zip(base, sums, strict=True)
    )
    return np.asarray(dot / np.sqrt(p * q))


def _round(base: Floats, sums: Floats, ratios: Floats, count: Ints, value: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the best of the windows that a value leaves, and its cosine."""
    level = np.clip(value, 1e-300, 1.0)
    # A window spans a factor c² of ratios; twice its logarithm is that of c.
    width = 2 * np.log((1 + np.sqrt((1 - level) * (1 + level))) / level)
    width = np.minimum(width, APART / 2)[:, None]
    place = np.broadcast_to(np.arange(ratios.shape[1]), ratios.shape)
    entered = np.minimum(place + 1, count[:, None])
    after_entry = np.minimum(_places(ratios, ratios - width), entered)
    after_exit = np.maximum(np.minimum(_places(ratios, ratios + width), count[:, None]), entered)
    start, stop = np.hstack([after_entry, entered]), np.hstack([entered, after_exit])
    cosines = _cosines(base, sums, start, stop)
    best = cosines.argmax(axis=1)[:, None]
    picked = (np.take_along_axis(array, best, axis=1)[:, 0] for array in (start, stop, cosines))
    return tuple(picked)  # type: ignore[return-value]


def _places(ratios: Floats, wanted: Floats) -> Ints:
    """Count for each number of a row how many of the sorted ratios of that row are smaller."""
    m, k = ratios.shape
    offset = APART * np.arange(m)[:, None]
    flat = np.searchsorted((ratios + offset).ravel(), (wanted + offset).ravel()).reshape(m, k)
    return np.asarray(np.clip(flat - k * np.arange(m)[:, None], 0, k))
