"""The best interval of high weights, by trying all of them: sums only ever grow, so that nothing cancels in them.

That takes k²/2 steps, where `embaudit.ranges.sweep` takes k log k and sums up by differences of longer sums. These lose
a share of about √k κ² eps, so that where weights may be very far apart all intervals are tried.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.ranges.sweep import NEVER, Ints


def every_interval(x: Floats, y: Floats, ratios: Floats, square: float) -> tuple[Ints, Ints, Floats]:
    """Find the interval [start, stop) of coordinates of each pair that gives the largest cosine, and that.

    Parameters are those of `embaudit.ranges.sweep.best_interval`.

    Examples
    --------
    >>> every_interval(np.ones((1, 2)), np.array([[1.0, -1.0]]), np.array([[0, NEVER]]), 4.0)
    (array([0]), array([1]), array([0.6]))
    """
    may_be_high = ratios.T < NEVER
    k = int(may_be_high.sum(axis=0).max())
    products = [np.ascontiguousarray(product.T) for product in (x * y, x * x, y * y)]
    # In units of κ² - 1: what all weights of 1 contribute, then the sums over the interval.
    base = [product.sum(axis=0) / (square - 1) for product in products]
    terms = [np.where(may_be_high[:k], product[:k], 0) for product in products]
    sums = [np.repeat(value[None], k, axis=0) for value in base]
    best = np.full((k, len(x)), -np.inf)
    for longer in range(k):
        n = k - longer
        for total, term in zip(sums, terms, strict=True):
            total[:n] += term[longer:]
        dot, p, q = (total[:n] for total in sums)
        np.maximum(best[:n], dot / np.sqrt(p * q), out=best[:n])
    start = best.argmax(axis=0)
    return start, *_best_stop(base, terms, start)


def _best_stop(base: list[Floats], terms: list[Floats], start: Ints) -> tuple[Ints, Floats]:
    """Best end of the interval that begins at `start`, and the cosine."""
    k = len(terms[0])
    place = start + np.arange(k)[:, None]
    inside = place < k
    place[~inside] = 0
    picked = [np.where(inside, np.take_along_axis(term, place, axis=0), 0) for term in terms]
    dot, p, q = (value + np.cumsum(term, axis=0) for value, term in zip(base, picked, strict=True))
    cosine = dot / np.sqrt(p * q)
    length = cosine.argmax(axis=0)
    return start + length + 1, np.take_along_axis(cosine, length[None], axis=0)[0]
