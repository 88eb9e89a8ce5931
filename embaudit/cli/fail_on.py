"""From which findings on the gate of a release is shut."""

from __future__ import annotations

from enum import StrEnum


class FailOn(StrEnum):
    """From which severity on a finding makes the command exit 1."""

    ISSUE = "issue"
    TIP = "tip"
    NEVER = "never"
