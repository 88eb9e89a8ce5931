"""Findings: the one type of conclusion, how firmly it stands, and for which set of models and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from embaudit.core.plain import plain_dict
from embaudit.core.words import in_typical_rows
from embaudit.gauges import Gauge
from embaudit.model import Role


class Severity(IntEnum):
    """Weight of a finding; `--fail-on` compares with it."""

    NOTE = 0
    """A conclusion that asks for nothing; its code is a word."""
    TIP = 1
    """Know this before you read the cosines."""
    ISSUE = 2
    """Do not read the cosines before this is mended."""

    @property
    def title(self) -> str:
        """The word people read."""
        return self.name.lower()


class Kind(StrEnum):
    """Firmness of a finding."""

    SHOWN = "shown"
    """A witness is at hand: another model, whose predictions were checked."""
    PROVEN = "proven"
    """A theorem, for a named set of gauges and a budget."""
    MEASURED = "measured"
    """Seen on all rows or pairs, or on a sample with an interval."""
    ASSUMED = "assumed"
    """Declared about training."""
    UNDECIDED = "undecided"
    """Conclusion that is neither shown nor ruled out."""


@dataclass(frozen=True)
class Scope:
    """The set of models that a finding speaks of.

    Examples
    --------
    >>> str(Scope("linear gauges", max_condition=2.0)), str(Scope("every equivalent model", whole=True))
    ('linear gauges within κ = 2', 'every equivalent model')
    """

    models: str
    """Set of gauges or of models, in words."""
    max_condition: float | None = None
    """Budget of the linear part; None where there is none, or it is unbounded."""
    max_shift: float | None = None
    """Budget of the translation, in median row lengths."""
    whole: bool = False
    """True if these are all models that predict the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "models": self.models,
                "max_condition": self.max_condition,
                "max_shift": self.max_shift,
                "whole": self.whole,
                "title": str(self),
            }
        )

    def __str__(self) -> str:
        """Return the set in words, with its budget."""
        budget = (
            [f"κ = {self.max_condition:.3g}"] if self.max_condition is not None else []
        )
        budget += (
            [f"a shift of {in_typical_rows(self.max_shift)}"]
            if self.max_shift is not None
            else []
        )
        return f"{self.models} within {' and '.join(budget)}" if budget else self.models

    @property
    def all_models(self) -> str:
        """All of them, in words."""
        return self.models if self.models.startswith("every ") else f"all {self.models}"


AT_HAND = Scope("this model")
"""The scope of findings about the rows as stored."""


@dataclass(frozen=True)
class Finding:
    """One conclusion of an audit: its scope names the models, and its rows the cosines, that it speaks of.

    Examples
    --------
    >>> scope = Scope("every equivalent model", whole=True)
    >>> note = Finding("pinned", Severity.NOTE, Kind.PROVEN, scope, "cosines", "No equivalent model moves them.")
    >>> note.clause
    'no equivalent model moves them'
    """

    code: str
    """EMB and three digits, which never change their meaning, or the word of a note."""
    severity: Severity
    """Note, tip or issue."""
    kind: Kind
    """Kind of the conclusion: shown (by an example), proven, measured, assumed (you
    declared it) or undecided.
    """
    scope: Scope
    """The set of models it speaks of."""
    rows: str
    """The cosines, rows or lists it speaks of, and of how many."""
    text: str
    """The explanation, in the sentences in which people read it."""
    value: float | None = None
    """The number behind it."""
    title: str = ""
    """The case in a few words; empty for notes."""
    remedy: str = ""
    """Advice; empty for notes."""
    role: Role | None = None
    """The kind of pairs it speaks of; None where it speaks of the whole model."""
    witness: Gauge | None = field(default=None, compare=False)
    """The gauge that shows it, where one does."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "code": self.code,
                "severity": self.severity,
                "kind": self.kind,
                "scope": self.scope,
                "rows": self.rows,
                "text": self.text,
                "value": self.value,
                "title": self.title,
                "remedy": self.remedy,
                "role": self.role,
                "witness": self.has_witness,
            }
        )

    @property
    def has_witness(self) -> bool:
        """True if a concrete gauge shows it."""
        return self.witness is not None

    @property
    def sentence(self) -> str:
        """The text without its full stop."""
        return self.text.removesuffix(".")

    @property
    def clause(self) -> str:
        """The sentence as it follows a colon."""
        return f"{self.text[0].lower()}{self.text[1:].removesuffix('.')}"
