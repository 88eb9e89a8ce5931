"""Notes on neighbours that stay if scores change a little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Scope, Severity
from embaudit.auditing.wording import Nouns

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

NOTES = ("certain", "stable")
"""Words of the notes that this module can write."""


def tolerance(evidence: Evidence) -> Iterator[Finding]:
    """Report the neighbours that no change of scores within the tolerance removes."""
    near = evidence.nearly_equal
    if near is None or near.tolerance is None:
        return
    nouns = Nouns.from_model(evidence.model, near.role)
    yield Finding(
        code="certain",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=Scope(
            f"models whose {near.scores} of each {nouns.item} differ by at most "
            f"{near.tolerance_text}"
        ),
        rows=f"the {near.n} nearest {nouns.items} by prediction cosine",
        role=near.role,
        value=near.certain_share,
        text=near.on_tolerance(),
        measured_on=near.lists,
    )


def noise(evidence: Evidence) -> Iterator[Finding]:
    """Report the neighbours that lead by two standard errors."""
    near = evidence.nearly_equal
    if near is None or near.noise is None:
        return
    nouns = Nouns.from_model(evidence.model, near.role)
    yield Finding(
        code="stable",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"the {near.n} nearest {nouns.items} by prediction cosine",
        role=near.role,
        value=near.stable_share,
        text=near.on_noise(),
        measured_on=near.lists,
    )
