"""Exact ranges of cosines with witness gauges, and certificates for neighbour lists."""

from embaudit.ranges.certificates import CertifiedNeighbours, certified_neighbours
from embaudit.ranges.cosine_range import (
    CosineRange,
    RangeSummary,
    cosine_range,
    range_summary,
)
from embaudit.ranges.linear import condition_to_reach
from embaudit.ranges.translation import shift_to_reach

__all__ = [
    "CertifiedNeighbours",
    "CosineRange",
    "RangeSummary",
    "certified_neighbours",
    "condition_to_reach",
    "cosine_range",
    "range_summary",
    "shift_to_reach",
]
