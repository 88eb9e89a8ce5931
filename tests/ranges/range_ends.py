"""Ends of the ranges of `cosine_range` by the name of the end."""

from __future__ import annotations

from embaudit.core.checked import Flags, Floats
from embaudit.ranges import CosineRange
from embaudit.ranges.range_solver import End


def ends_at(found: CosineRange, end: End) -> tuple[Floats, Flags]:
    """Return the cosines at one end, and whether a gauge attains them."""
    if end == "lower":
        return found.lower, found.lower_attained
    return found.upper, found.upper_attained
