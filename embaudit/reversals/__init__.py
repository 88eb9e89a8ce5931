"""Simpson's paradox: an association that every group, or none, shares with the whole."""

from embaudit.reversals.grouped import Association, GroupMoments
from embaudit.reversals.grouping import Grouping, Kind
from embaudit.reversals.report import SimpsonReport
from embaudit.reversals.search import simpson
from embaudit.reversals.structures import similarity_reversal

__all__ = ["Association", "GroupMoments", "Grouping", "Kind", "SimpsonReport", "similarity_reversal", "simpson"]
