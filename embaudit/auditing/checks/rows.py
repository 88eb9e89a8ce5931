"""Whether all rows have a direction (EMB201)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def undirected_rows(evidence: Evidence) -> Iterator[Finding]:
    """Count the rows of each side that have no cosine; of a head, in all of it and also those at its mean row."""
    for side in evidence.model.sides:
        of_head = evidence.head if side == "right" else None
        count = len(evidence.model.zero_rows(side)) if of_head is None else of_head.n_zero
        if count:
            what = "A zero vector" if of_head is None else "A row that is zero, or equal to the mean row,"
            there = "" if of_head is None else " there"
            yield Finding(
                "EMB201",
                Severity.TIP,
                f"{count:,} {evidence.model.title(side)}{'s have' if count > 1 else ' has'} no direction",
                f"{what} has no cosine{there}; it was left out of every {'such ' * bool(there)}figure.",
                "Give such rows no neighbours instead of arbitrary ones.",
                float(count),
            )
