"""An entry: what is told of one code, or of one word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from embaudit.auditing.finding import Severity
from embaudit.auditing.thresholds import THRESHOLDS

ISSUE, TIP = Severity.ISSUE, Severity.TIP


PAGE = "docs/checks.md"
"""The page of all codes and words, in the source of embaudit; each has a heading of its own."""


class _Listed:
    """What codes and words have in common: a name, and a place on the page of all of them."""

    name: str

    @property
    def address(self) -> str:
        """Where the documentation has it, with the anchor that forges and Sphinx give its heading."""
        return f"{PAGE}#{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class Code(_Listed):
    """A code of a finding, and all that its reader may ask about it."""

    name: str
    """Stable code, EMB and three digits."""
    severities: tuple[Severity, ...]
    """How grave it is: one, or the two that it can be."""
    title: str
    """What is the case, in a few words."""
    meaning: str
    """What was seen, and of what."""
    why: str
    """Why it matters to somebody who reads cosines."""
    remedy: str
    """What to do."""
    computed: str
    """How it is found, and from which number on it is reported."""
    reference: str
    """Where more is written."""
    also: tuple[str, ...] = ()
    """Other names it is looked up by."""
    grows: bool = True
    """Whether it is graver where the number behind it, without its sign, is larger."""

    @property
    def severity(self) -> str:
        """How grave it is, in words."""
        return " or ".join(severity.title for severity in self.severities)

    @property
    def heading(self) -> str:
        """The line above the sections."""
        return f"{self.name} ({self.severity}): {self.title}"

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """What is told of it, under which headings."""
        return (
            ("What it means", self.meaning),
            ("Why it matters", self.why),
            ("What to do", self.remedy),
            ("How it is computed", self.computed),
            *(("Threshold", str(one)) for one in THRESHOLDS.values() if one.code == self.name),
            ("Reference", self.reference),
        )


@dataclass(frozen=True)
class Word(_Listed):
    """A word that reports use."""

    name: str
    """As reports write it."""
    meaning: str
    """What it stands for."""
    example: str
    """What it is on a model that one can picture."""
    also: tuple[str, ...] = ()
    """Other names it is looked up by."""

    @property
    def heading(self) -> str:
        """The line above the sections."""
        return f"{self.name} (also {', '.join(self.also)})" if self.also else self.name

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """What is told of it, under which headings."""
        return (("What it means", self.meaning), ("For example", self.example))


Entry: TypeAlias = Code | Word
