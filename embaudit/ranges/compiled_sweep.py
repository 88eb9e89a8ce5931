"""The sweep of `embaudit.ranges.sweep`, pair by pair, compiled where numba is installed. Importing loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats
from embaudit.foundation.compiled import compiled
from embaudit.ranges.sweep import NEVER, Ints


def compiled_best_interval(x: Floats, y: Floats, ratios: Floats, square: float) -> tuple[Ints, Ints, Floats]:
    """Find the best interval [start, stop) of coordinates of each pair, and the cosine it gives.

    Parameters are those of `embaudit.ranges.sweep.best_interval`.
    """
    start, stop, cosine = np.empty(len(x), dtype=np.intp), np.empty(len(x), dtype=np.intp), np.empty(len(x))
    _sweep(np.stack([x * y, x * x, y * y]), ratios, square - 1, start, stop, cosine)
    return start, stop, cosine


@compiled(cache=True, error_model="numpy")
def _sweep(terms: Any, ratios: Any, step: float, start: Any, stop: Any, cosine: Any) -> None:
    sums = np.zeros((3, ratios.shape[1] + 1))
    for i in range(len(ratios)):
        for z in range(3):
            for j in range(ratios.shape[1]):
                sums[z, j + 1] = sums[z, j] + terms[z, i, j]
        ratio = ratios[i, : np.searchsorted(ratios[i], NEVER)]
        base = sums[:, -1] / step
        best, first, last = _cosine(base, sums, 0, len(ratio)), 0, len(ratio)
        before = -np.inf
        while best > before:
            before = best
            best, first, last = _followed(base, sums, ratio, best, first, last)
            best, first, last = _round(base, sums, ratio, best, first, last)
        start[i], stop[i], cosine[i] = first, last, best


@compiled(cache=True, error_model="numpy")
def _totals(base: Any, sums: Any, start: int, stop: int) -> tuple[float, float, float]:
    return (
        base[0] + (sums[0, stop] - sums[0, start]),
        base[1] + (sums[1, stop] - sums[1, start]),
        base[2] + (sums[2, stop] - sums[2, start]),
    )


@compiled(cache=True, error_model="numpy")
def _cosine(base: Any, sums: Any, start: int, stop: int) -> float:
    dot, p, q = _totals(base, sums, start, stop)
    return float(dot / np.sqrt(p * q))


@compiled(cache=True, error_model="numpy")
def _width(cosine: float) -> float:
    level = min(max(cosine, 1e-300), 1.0)
    return float(2 * np.log((1 + np.sqrt((1 - level) * (1 + level))) / level))


@compiled(cache=True, error_model="numpy")
def _followed(base: Any, sums: Any, ratio: Any, best: float, first: int, last: int) -> tuple[float, int, int]:
    """Go from a window to the one that is best at its own s, until that gains nothing."""
    while True:
        _, p, q = _totals(base, sums, first, last)
        centre, half = np.log(q / p) / 2, _width(best) / 2
        start, stop = np.searchsorted(ratio, centre - half), np.searchsorted(ratio, centre + half, side="right")
        found = _cosine(base, sums, start, stop)
        if not found > best:
            return best, first, last
        best, first, last = found, start, stop


@compiled(cache=True, error_model="numpy")
def _round(base: Any, sums: Any, ratio: Any, best: float, first: int, last: int) -> tuple[float, int, int]:
    """Try the windows that a cosine leaves: one after each entry, and one after each exit."""
    width, left, entered = _width(best), 0, 0
    for j in range(len(ratio)):
        while ratio[left] < ratio[j] - width:
            left += 1
        while entered < len(ratio) and ratio[entered] <= ratio[j] + width:
            entered += 1
        for start, stop in ((left, j + 1), (j + 1, max(entered, j + 1))):
            found = _cosine(base, sums, start, stop)
            if found > best:
                best, first, last = found, start, stop
    return best, first, last
