"""Simpson's paradox: an association that every group, or none, shares with the whole."""

from embaudit.reversals.report import Grouping, ReversalKind, SimpsonReport
from embaudit.reversals.search import similarity_reversal, simpson
from embaudit.reversals.statistics import Association, GroupMoments

__all__ = [
    "Association",
    "GroupMoments",
    "Grouping",
    "ReversalKind",
    "SimpsonReport",
    "similarity_reversal",
    "simpson",
]
