"""Entries of `embaudit explain` and of docs/checks.md: codes of findings, and words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from embaudit.auditing.finding import Severity
from embaudit.auditing.wording import Nouns

PAGE = "docs/checks.md"
"""The page of all codes and words, in the source of embaudit; each has a heading of its
own.
"""


@dataclass(frozen=True)
class Entry:
    """The explanation of a code of a finding, or of a word that reports use."""

    name: str
    """Stable code, EMB and three digits, or the spelling in reports."""
    meaning: str
    """Meaning of the finding, the observation and its rows, or of the word."""
    severities: tuple[Severity, ...] = ()
    """Severity of the finding, or the two severities that the finding can have; empty
    for a word.
    """
    title: str = ""
    """The case of a finding in a few words."""
    why: str = ""
    """Reason why a finding matters to a reader of cosines."""
    remedy: str = ""
    """Advice to the reader of a finding."""
    measured: str = ""
    """Quantity that decides whether a finding is reported, and how it is computed."""
    reported: str = ""
    """Condition under which a finding is reported, and under which it is an issue."""
    reference: str = ""
    """Reference to a text with more."""
    example: str = ""
    """An example of a word."""
    also: tuple[str, ...] = ()
    """Other names under which the entry can be looked up, without their numbers."""
    pages: tuple[str, ...] = ("audit",)
    """Commands whose pages define the word."""
    grows: bool = True
    """True if a larger absolute value of the number behind a finding is worse."""

    def with_nouns(self, nouns: Nouns) -> Entry:
        """Return the entry with the nouns of a model in place of names in braces.

        The texts of an entry name rows and predictions in braces, such as `{items}`.

        Examples
        --------
        >>> from embaudit.auditing.wording import USERS_AND_ITEMS
        >>> Entry("role", "Which cosines: {item}-{item} or others.").with_nouns(
        ...     USERS_AND_ITEMS
        ... ).meaning
        'Which cosines: item-item or others.'
        """
        names = {
            "item": nouns.item,
            "items": nouns.items,
            "user": nouns.user,
            "users": nouns.users,
            "Users": nouns.users.capitalize(),
            "prediction": nouns.predictions.removesuffix("s"),
            "predictions": nouns.predictions,
            "Predictions": nouns.predictions.capitalize(),
        }
        return replace(
            self,
            title=self.title.format_map(names),
            meaning=self.meaning.format_map(names),
            why=self.why.format_map(names),
            remedy=self.remedy.format_map(names),
            measured=self.measured.format_map(names),
            reported=self.reported.format_map(names),
            reference=self.reference.format_map(names),
            example=self.example.format_map(names),
        )

    @property
    def address(self) -> str:
        """Place in the documentation, with the anchor that its heading gets there."""
        heading = re.sub(r"[^\w -]", "", self.name.lower())
        return f"{PAGE}#{heading.replace(' ', '-')}"

    @property
    def severity(self) -> str:
        """Severities of the finding, in words."""
        return " or ".join(severity.title for severity in self.severities)

    @property
    def heading(self) -> str:
        """The line above the sections."""
        if self.severities:
            return f"{self.name} ({self.severity}): {self.title}"
        if self.also:
            return f"{self.name} (also {'; '.join(self.also)})"
        return self.name

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """Headings, each with its text."""
        texts = (
            ("What it measures", self.measured),
            ("When it is reported", self.reported),
            ("What it means", self.meaning),
            ("For example", self.example),
            ("Why it matters", self.why),
            ("What to do", self.remedy),
            ("Reference", self.reference),
        )
        return tuple((heading, text) for heading, text in texts if text)
