"""Whether the rounding of stored rows decides who is near (EMB408)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.heads import CHANGED
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def rounding(evidence: Evidence) -> Iterator[Finding]:
    """Tell of nearest rows that other numbers, stored as the same ones, would not have."""
    for traits in evidence.traits:
        found = traits.rounding
        if found is None or found.redrawn.share < CHANGED:
            continue
        title, share = evidence.model.title(traits.role), percent(found.redrawn.share)
        text = (
            f"The rows hold {found.stored_as}. Other rows that would be stored as the same ones were drawn; there "
            f"{share} of {counted(found.redrawn.n_rows, title)} have another nearest one."
        )
        claim = Claim(
            f"rounding:{traits.role}", Kind.MEASURED, f"{title} rows", Scope("rows stored as these are"), text,
            found.redrawn.share, "traits",
        )  # fmt: skip
        yield Finding(
            "EMB408",
            Severity.TIP,
            f"rounding decides the nearest one of {share} of the {title}s",
            claim,
            "Store the vectors in float32, or take such near ties for ties.",
        )
