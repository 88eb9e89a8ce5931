"""Whether rounding explains every change of a prediction (EMB001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

CHECK = "Check the factors for huge or tiny columns; if they are ordinary, report this as a bug."


def predictions(evidence: Evidence) -> Iterator[Finding]:
    """Name the first equal model whose predictions are others; of a head, the one furthest off."""
    head = evidence.head
    if head is not None and not head.verified:
        worst = max(head.verifiable, key=lambda other: other.change / other.tolerance)
        yield _failed(
            worst.name, f"a probability changed by {worst.change:.2g} of itself", worst.change, worst.tolerance
        )
        return
    for equivalent, record in zip(evidence.equivalents, evidence.drift, strict=True):
        if not record.ok:
            changed = f"the {record.level.title} changed by {record.max_abs:.2g}"
            yield _failed(equivalent.name, changed, record.max_abs, record.tolerance)
            return


def _failed(name: str, changed: str, value: float, tolerance: float) -> Finding:
    text = (
        f"Under {name} {changed}, where rounding explains {tolerance:.2g}; nothing else in this audit can be trusted."
    )
    claim = Claim("failed", Kind.SHOWN, "the predictions", Scope(name), text, value, "drift")
    return Finding("EMB001", Severity.ISSUE, "the predictions did not stay the same", claim, CHECK)
