"""After the alarm: vectors to use instead, and files of them."""

from embaudit.remedy.kinds import KINDS, fix
from embaudit.remedy.vectors import Remedy, TruncationLoss

__all__ = ["KINDS", "Remedy", "TruncationLoss", "fix"]
