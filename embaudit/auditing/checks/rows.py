"""Whether all rows have a direction (EMB201)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def undirected_rows(evidence: Evidence) -> Iterator[Finding]:
    """Count the rows of each side that have no cosine; of a head, in all of it and also those at its mean row."""
    for side in evidence.model.sides:
        of_head = evidence.head if side == "right" else None
        count = len(evidence.model.zero_rows(side)) if of_head is None else of_head.n_zero
        if not count:
            continue
        title = evidence.model.title(side)
        text = "A zero vector has no cosine; pairs leave it out, and lists unless a shift gives it a direction."
        if of_head is not None:
            text = "A row that is zero, or equal to the mean row, has no cosine there; it was left out of such figures."
        claim = Claim(
            f"no-direction:{side}", Kind.MEASURED, f"{title}s", Scope("the model at hand"), text, float(count), "model"
        )
        yield Finding(
            "EMB201",
            Severity.TIP,
            f"{count:,} {title}{'s have' if count > 1 else ' has'} no direction",
            claim,
            "Give such rows no neighbours instead of arbitrary ones.",
        )
