"""A finding: a claim that asks for something to be done, with a code, how bad it is, and the remedy.

Codes never change their meaning, so that a pipeline can ignore one by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embaudit.auditing.claims.claim import Claim


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
    claim: Claim
    """What it rests on: the explanation and the number are the claim's."""
    remedy: str
    """What to do."""

    @property
    def explanation(self) -> str:
        """Why it matters."""
        return self.claim.text

    @property
    def value(self) -> float | None:
        """The number behind it."""
        return self.claim.value

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        names = ("code", "title", "explanation", "remedy", "value")
        record = {name: getattr(self, name) for name in names}
        return record | {"severity": self.severity.title, "claim": self.claim.name}
