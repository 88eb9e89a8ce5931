"""Ends of the ranges of `cosine_range` by the name of the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Flags, Floats
from embaudit.ranges import CosineRange
from embaudit.ranges.range_solver import End

ENDS: tuple[End, End] = ("lower", "upper")


def ends_at(found: CosineRange, end: End) -> tuple[Floats, Flags]:
    """Return the cosines at one end, and whether a gauge attains them."""
    if end == "lower":
        return found.lower, found.lower_attained
    return found.upper, found.upper_attained


class RangeEnd(NamedTuple):
    """One end of the range of one pair."""

    pair: int
    """Number of the pair."""
    end: End
    cosine: float
    is_attained: bool


def defined_ends(found: CosineRange) -> Iterator[RangeEnd]:
    """Yield both ends of each pair whose cosine is defined."""
    for pair in np.flatnonzero(~np.isnan(found.lower)):
        for end in ENDS:
            cosines, attained = ends_at(found, end)
            yield RangeEnd(int(pair), end, float(cosines[pair]), bool(attained[pair]))
