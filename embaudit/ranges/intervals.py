"""The best interval of high weights by trying all of them, compiled where numba is installed. Importing loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats
from embaudit.foundation.compiled import compiled
from embaudit.ranges.sweep import Ints


def every_interval(x: Floats, y: Floats, count: Ints, square: float) -> tuple[Ints, Ints, Floats]:
    """Find the best interval [start, stop) of the first `count` coordinates of each pair, and its cos².

    Parameters are those of `embaudit.ranges.sweep.best_interval`.
    """
    m = len(count)
    start, stop, value = np.zeros(m, dtype=np.intp), np.ones(m, dtype=np.intp), np.empty(m)
    by_pairs = [np.ascontiguousarray(z.T, dtype=np.float64) for z in (x, y)]
    _try_all(by_pairs[0], by_pairs[1], count, square - 1, start, stop, value)
    return start, stop, value


@compiled(cache=True, error_model="numpy")
def _try_all(x: Any, y: Any, count: Any, step: float, start: Any, stop: Any, value: Any) -> None:
    for i in range(len(count)):
        dot, p, q, best = np.sum(x[i] * y[i]) / step, np.sum(x[i] ** 2) / step, np.sum(y[i] ** 2) / step, -np.inf
        for first in range(count[i]):
            d, a, b = dot, p, q
            for last in range(first, count[i]):
                d += x[i, last] * y[i, last]
                a += x[i, last] ** 2
                b += y[i, last] ** 2
                found = abs(d) * d / (a * b)
                if found > best:
                    best, start[i], stop[i] = found, first, last + 1
        value[i] = best
