"""Whether equivalent models predict the same, without which nothing else counts (EMB001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def predictions(evidence: Evidence) -> Iterator[Finding]:
    """Name the first equivalent head or model whose predictions changed by more than rounding explains."""
    changes = [
        (head.name, "a probability", f"{head.change:.2g} of itself", head.change, head.tolerance, head.ok)
        for head in (evidence.head.verifiable if evidence.head is not None else ())
    ]
    changes += [
        (made.name, f"the {d.level.title}", f"{d.max_abs:.2g}", d.max_abs, d.tolerance, d.ok)
        for made, d in zip(evidence.equivalents, evidence.drift, strict=True)
    ]
    for name, what, by, change, tolerance, ok in changes:
        if not ok:
            yield Finding(
                "EMB001",
                Severity.ISSUE,
                "the predictions did not stay the same",
                f"Under {name} {what} changed by {by}, where rounding explains {tolerance:.2g}; nothing else in this "
                "audit can be trusted.",
                "Check the rows for huge or tiny columns; if they are ordinary, report this as a bug.",
                change,
            )
            return
