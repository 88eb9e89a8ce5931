"""Two trained models compared: gauge part and remainder, on rows held out of every fit."""

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import RoleChange
from embaudit.comparison.compare import Comparison, compare
from embaudit.comparison.matching import Match

__all__ = ["Agreement", "Comparison", "Match", "RoleChange", "compare"]
