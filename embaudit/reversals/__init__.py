"""Simpson's paradox: an association that every group, or none, shares with the whole."""

from embaudit.reversals.report import Grouping, Kind, SimpsonReport
from embaudit.reversals.search import simpson
from embaudit.reversals.statistics import Association, GroupMoments
from embaudit.reversals.structures import similarity_reversal

__all__ = ["Association", "GroupMoments", "Grouping", "Kind", "SimpsonReport", "similarity_reversal", "simpson"]
