"""What pages, notebooks and terminals show of a result: sentences and tables, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from embaudit.auditing.finding import Finding

Part: TypeAlias = Grid | str


@dataclass(frozen=True)
class Content:
    """Everything shown of a result; a string is a paragraph."""

    title: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    """Small print at the end."""
    question: str = ""
    """Stands above the page in place of the title."""
    answer: str = ""
    """A word, and why in a sentence."""
    verdict: str = ""
    severity: str = ""
    """Of the gravest finding."""
    findings: tuple[Finding, ...] = ()
    definitions: tuple[str, ...] = ()
    """What its words mean, for readers who meet them for the first time."""

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The tables alone."""
        return tuple(part for part in self.parts if isinstance(part, Grid))
