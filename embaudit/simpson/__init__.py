"""Simpson's paradox: an association over all rows that groups of rows do not share."""

from embaudit.simpson.report import ReversalKind, SimpsonReport
from embaudit.simpson.similarity import similarity_reversal
from embaudit.simpson.table import simpson

__all__ = ["ReversalKind", "SimpsonReport", "similarity_reversal", "simpson"]
