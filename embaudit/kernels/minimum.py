"""The least of a function with one valley between two ends: by parabolas where these shrink, else by golden sections.

Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5. `scipy.optimize` finds the same numbers, and
takes a tenth of the time of a small audit to load.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, nan, sqrt
from typing import NamedTuple

GOLDEN = (3 - sqrt(5)) / 2
"""Where a section is cut."""
BLURRED = sqrt(2.2e-16)
"""Nearer than this to the least, relatively, rounding hides how a function rises."""


class Least(NamedTuple):
    """A place, and how much the function is there."""

    x: float
    value: float


def minimum(function: Callable[[float], float], low: float, high: float, *, within: float) -> Least:
    """Find where a function with one valley is least between two ends.

    Parameters
    ----------
    function : callable
        Of one number.
    low, high : float
        The ends, of which neither is tried.
    within : float
        How far the place may be from the least one, beside what rounding hides.

    Examples
    --------
    >>> found = minimum(lambda x: (x - 0.25) ** 2 + 1, 0.0, 1.0, within=1e-6)
    >>> round(found.x, 6), round(found.value, 6)
    (0.25, 1.0)
    """
    x = low + GOLDEN * (high - low)
    best = second = third = Least(x, function(x))
    step = before = 0.0
    while True:
        middle, near = (low + high) / 2, BLURRED * abs(best.x) + within / 3
        if abs(best.x - middle) <= 2 * near - (high - low) / 2:
            return best
        before, step = step, _step(best, second, third, before) if abs(before) > near else nan
        if not low < best.x + step < high:
            before = (low if best.x >= middle else high) - best.x
            step = GOLDEN * before
        elif min(best.x + step - low, high - best.x - step) < 2 * near:
            step = copysign(near, middle - best.x)
        x = best.x + copysign(max(abs(step), near), step)
        tried = Least(x, function(x))
        inner, outer = (best.x, tried.x) if tried.value <= best.value else (tried.x, best.x)
        low, high = (inner, high) if outer > inner else (low, inner)
        best, second, third = _ranked(tried, best, second, third)


def _step(best: Least, second: Least, third: Least, before: float) -> float:
    """Go to the lowest point of the parabola through three points; NaN where that is not half as far as `before`."""
    one, other = best.x - second.x, best.x - third.x
    rise, fall = other * (best.value - second.value), one * (best.value - third.value)
    bend = 2 * (rise - fall)
    step = (one * fall - other * rise) / bend if bend else nan
    return step if abs(step) < abs(before) / 2 else nan


def _ranked(tried: Least, best: Least, second: Least, third: Least) -> tuple[Least, Least, Least]:
    """Put a point that was tried among the three lowest of late."""
    if tried.value <= best.value:
        return tried, best, second
    if tried.value <= second.value or second.x == best.x:
        return best, tried, second
    if tried.value <= third.value or third.x in (best.x, second.x):
        return best, second, tried
    return best, second, third
