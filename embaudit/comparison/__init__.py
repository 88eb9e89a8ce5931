"""May one trained model replace another? Which part of a change is a change of axes?"""

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import RoleChange
from embaudit.comparison.compare import compare
from embaudit.comparison.matching import Match
from embaudit.comparison.result import Comparison
from embaudit.comparison.verdict import Verdict

__all__ = ["Agreement", "Comparison", "Match", "RoleChange", "Verdict", "compare"]
