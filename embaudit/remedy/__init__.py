"""After the alarm: vectors to use instead, and files of them."""

from embaudit.remedy.kinds import KINDS, fix
from embaudit.remedy.vectors import Reduction, Remedy

__all__ = ["KINDS", "Reduction", "Remedy", "fix"]
