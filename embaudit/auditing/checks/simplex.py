"""Whether a head without inputs says anything about which labels are alike (EMB302, EMB303)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def simplex(evidence: Evidence) -> Iterator[Finding]:
    """Compare the number of labels with the dimensions they span."""
    head = evidence.head
    if head is None or not (head.projector.degenerate or head.projector.thin):
        return
    remedy = (
        "Use logit cosines over the inputs." if head.has_inputs else "Bring inputs and use logit cosines over them."
    )
    code, title, text = "EMB303", "projector cosines say little", head.projector.warning
    if head.projector.degenerate:
        code, title = "EMB302", "the labels are affinely independent"
        text = (
            f"{counted(head.n_labels, 'label')} span {counted(head.affine_rank, 'dimension')}, so inputs can produce "
            "any logits, and affine gauges any cosines. By itself this head says nothing about which labels are alike. "
            "All its projector cosines are equal."
        )
    scope, value = Scope("affine gauges"), head.projector.labels_per_dimension
    claim = Claim("simplex", Kind.PROVEN, "label cosines", scope, text, value, "head")
    yield Finding(code, Severity.TIP, title, claim, remedy)
