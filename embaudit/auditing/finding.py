"""The type of every conclusion: its text, its certainty, its models and its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from embaudit.core.plain import plain_dict
from embaudit.core.words import in_typical_rows
from embaudit.gauges import Gauge
from embaudit.model import Role


class Severity(IntEnum):
    """Severity of a finding, with which `--fail-on` compares."""

    NOTE = 0
    """A conclusion that asks for no action; its code is a word."""
    TIP = 1
    """A fact to know before reading the cosines."""
    ISSUE = 2
    """A reason not to read the cosines before it is mended."""

    @property
    def title(self) -> str:
        """The severity as reports write it."""
        return self.name.lower()


class Kind(StrEnum):
    """Firmness of a finding."""

    SHOWN = "shown"
    """Shown by a witness: another model, whose predictions were checked."""
    PROVEN = "proven"
    """Proven for a named set of gauges and a budget."""
    MEASURED = "measured"
    """Measured on all rows or pairs, or on a sample."""
    ASSUMED = "assumed"
    """A consequence of a declaration about training."""
    UNDECIDED = "undecided"
    """Neither shown nor ruled out."""


@dataclass(frozen=True)
class Scope:
    """The set of models that a finding is about.

    Examples
    --------
    >>> str(Scope("linear gauges", max_condition=2.0))
    'linear gauges within κ = 2'
    >>> str(Scope("every equivalent model", whole=True))
    'every equivalent model'
    """

    models: str
    """Set of gauges or of models, in words."""
    max_condition: float | None = None
    """Largest κ of the linear part; None if there is none or it is unbounded."""
    max_shift: float | None = None
    """Longest shift, in median row lengths; None if there is none."""
    whole: bool = False
    """True if these are all models that predict the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
        limits = []
        if self.max_condition is not None:
            limits.append(f"κ = {self.max_condition:.3g}")
        if self.max_shift is not None:
            limits.append(f"a shift of {in_typical_rows(self.max_shift)}")
        if not limits:
            return self.models
        return f"{self.models} within {' and '.join(limits)}"

    @property
    def all_models(self) -> str:
        """All models of the set, in words."""
        if self.models.startswith("every "):
            return self.models
        return f"all {self.models}"


THIS_MODEL = Scope("this model")
"""The scope of findings about the rows as stored."""


@dataclass(frozen=True)
class Finding:
    """One conclusion of an audit, about the models of a scope and about some rows.

    Examples
    --------
    >>> note = Finding(
    ...     code="pinned",
    ...     severity=Severity.NOTE,
    ...     kind=Kind.PROVEN,
    ...     scope=Scope("every equivalent model", whole=True),
    ...     rows="item-item cosines",
    ...     text="No equivalent model moves them.",
    ... )
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
    """The set of models that the finding is about."""
    rows: str
    """The cosines, rows or lists that the finding is about, and how many they are."""
    text: str
    """The explanation, in whole sentences."""
    value: float | None = None
    """The number behind the finding; None if there is none."""
    title: str = ""
    """The case in a few words; empty for notes."""
    remedy: str = ""
    """Advice; empty for notes."""
    role: Role | None = None
    """The kind of pairs that the finding is about; None for the whole model."""
    measured_on: str = ""
    """The rows, lists or pairs that its figures were measured on, and how many of how
    many they are, such as "lists of 400 of 9,724 items"; empty if it quotes no figure
    of that kind."""
    witness: Gauge | None = field(default=None, compare=False)
    """The gauge that shows the finding; None if no gauge does."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
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
                "measured_on": self.measured_on,
                "witness": self.has_witness,
            }
        )

    @property
    def has_witness(self) -> bool:
        """True if a concrete gauge shows the finding."""
        return self.witness is not None

    @property
    def sentence(self) -> str:
        """The text without its full stop."""
        return self.text.removesuffix(".")

    @property
    def clause(self) -> str:
        """The sentence, written to follow a comma or a colon."""
        return f"{self.text[0].lower()}{self.text[1:].removesuffix('.')}"
