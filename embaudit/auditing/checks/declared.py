"""What a declared soft-cap or normalisation of a head rules out (EMB305)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def declared(evidence: Evidence) -> Iterator[Finding]:
    """Say which other heads no longer predict the same."""
    head = evidence.head
    if head is None or head.origin_is_free or not head.link.guard:
        return
    rest = "Linear gauges still keep every probability."
    if evidence.fibre.pinning is not None:
        rest = evidence.fibre.pinning.explain()
    text = (
        f"With it, removing the mean row changes a probability by {_relative(head.centred.change)}: that is another "
        f"head. {rest}"
    )
    if head.centred.ok:
        text = f"The labels lie at their mean row, whose removal changes no probability; other shifts would. {rest}"
    scope = Scope("the head less its mean row")
    claim = Claim("declared", Kind.SHOWN, "label cosines", scope, text, head.centred.change, "head")
    title = f"{head.link.guard} ties the origin of the labels"
    yield Finding("EMB305", Severity.TIP, title, claim, "If the declaration is wrong, audit again without it.")


def _relative(change: float) -> str:
    """Write a change of a log-probability as a factor where it is large."""
    return f"a relative {change:.2g}" if change < 1 else f"a factor e^{change:.1f}"
