"""A claim: one conclusion, how firmly it stands, and for which set of models.

Whatever an audit says to people is the text of a claim, or is written from one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from embaudit.foundation.words import in_typical_rows

if TYPE_CHECKING:
    from embaudit.gauges import Gauge


class Kind(StrEnum):
    """How firmly a claim stands."""

    SHOWN = "shown"
    """A witness is at hand: another model, whose predictions were checked."""
    PROVEN = "proven"
    """A theorem, for a named set of gauges and a budget."""
    MEASURED = "measured"
    """What was seen on all, or on a sample with an interval."""
    ASSUMED = "assumed"
    """What was declared about training."""
    UNDECIDED = "undecided"
    """Neither shown nor ruled out."""


@dataclass(frozen=True)
class Scope:
    """The set of models that a claim speaks of.

    Examples
    --------
    >>> str(Scope("linear gauges", max_condition=2.0)), str(Scope("every equal model", whole=True))
    ('linear gauges within κ = 2', 'every equal model')
    """

    models: str
    """In words: which gauges, or which models."""
    max_condition: float | None = None
    """Budget of the linear part; None where there is none, or it is unbounded."""
    max_shift: float | None = None
    """Budget of the translation, in median row lengths."""
    whole: bool = False
    """Whether these are all models that predict the same."""

    def __str__(self) -> str:
        budget = [f"κ = {self.max_condition:.3g}"] if self.max_condition is not None else []
        budget += [f"a shift of {in_typical_rows(self.max_shift)}"] if self.max_shift is not None else []
        return f"{self.models} within {' and '.join(budget)}" if budget else self.models

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return {**vars(self), "title": str(self)}


@dataclass(frozen=True)
class Claim:
    """One conclusion.

    Examples
    --------
    >>> claim = Claim(
    ...     "nothing-moves:right", Kind.PROVEN, "item-item cosines", Scope("every equal model", whole=True),
    ...     "No equal model moves item-item cosines.", value=0.0, evidence="model",
    ... )
    >>> claim.about, claim.role
    ('nothing-moves', 'right')
    """

    name: str
    """Unique within an audit: what it is about and, behind a colon, of which cosines."""
    kind: Kind
    """How firmly it stands."""
    subject: str
    """Which cosines, rows or labels it speaks of."""
    scope: Scope
    """The set of models it speaks of."""
    text: str
    """The sentence, or the two, in which people read it."""
    value: float | None = None
    """The number behind it."""
    evidence: str = ""
    """Field of the audit's JSON that it is read from."""
    witness: Gauge | None = field(default=None, compare=False)
    """The gauge that shows it, where one does."""

    @property
    def about(self) -> str:
        """What it is about, whichever cosines it speaks of."""
        return self.name.partition(":")[0]

    @property
    def role(self) -> str:
        """Which cosines it speaks of; empty where it speaks of the whole model."""
        return self.name.partition(":")[2]

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        direct = ("name", "subject", "text", "value", "evidence")
        return {
            **{key: getattr(self, key) for key in direct},
            "kind": str(self.kind),
            "scope": self.scope.to_dict(),
            "witness": self.witness is not None,
        }
