"""A finding: what the evidence means, how bad it is, and what to do about it.

Codes never change their meaning, so that a pipeline can ignore one by name.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Severity(IntEnum):
    """How much a finding matters; `--fail-on` compares with it."""

    TIP = 1
    """Know this before you read the cosines."""
    ISSUE = 2
    """Do not read the cosines before this is mended."""

    @property
    def title(self) -> str:
        """The word people read."""
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """One thing an audit found."""

    code: str
    """Stable code, EMB and three digits."""
    severity: Severity
    """Tip or issue."""
    title: str
    """What is the case, in a few words."""
    explanation: str
    """Why it matters."""
    remedy: str
    """What to do."""
    value: float | None = None
    """The number behind it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return asdict(self) | {"severity": self.severity.title}
