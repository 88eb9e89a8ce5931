"""Whether a head without inputs says anything about which labels are alike (EMB302, EMB303)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


INSTEAD = "Bring inputs and use logit cosines over them."


def simplex(evidence: Evidence) -> Iterator[Finding]:
    """Compare the number of labels with the dimensions they span."""
    head = evidence.head
    if head is not None and head.projector.degenerate:
        yield Finding(
            "EMB302",
            Severity.TIP,
            "the labels are affinely independent",
            f"{counted(head.n_labels, 'label')} span {counted(head.affine_rank, 'dimension')}, so inputs can "
            "produce any logits, and affine gauges any cosines: without inputs this head says nothing about which "
            "labels are alike. All its projector cosines are equal.",
            INSTEAD,
            head.projector.labels_per_dimension,
        )
    elif head is not None and head.projector.thin:
        yield Finding(
            "EMB303",
            Severity.TIP,
            "projector cosines say little",
            head.projector.warning,
            INSTEAD,
            head.projector.labels_per_dimension,
        )
