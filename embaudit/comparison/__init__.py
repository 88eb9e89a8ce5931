"""Two trained models compared: gauge part and remainder, on rows held out of every fit."""

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import RoleChange
from embaudit.comparison.compare import compare
from embaudit.comparison.matching import Match
from embaudit.comparison.result import Comparison

__all__ = ["Agreement", "Comparison", "Match", "RoleChange", "compare"]
