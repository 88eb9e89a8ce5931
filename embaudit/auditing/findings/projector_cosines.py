"""EMB303: projector cosines say little, because there are few labels per dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB303",
    title="projector cosines say little",
    severities=(Severity.TIP,),
    meaning=(
        "There are few labels for each dimension, so that nearly all projector cosines "
        "are alike."
    ),
    why=(
        "It is the only similarity that a head has without inputs, and here it says "
        "little."
    ),
    remedy="Bring inputs, and use logit cosines over them.",
    computed="Labels per dimension, V/k; reported below 2.",
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
    grows=False,
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head with fewer than two labels per dimension.

    If there are so few that the labels are affinely independent, `few_labels` says so.
    """
    head = evidence.head
    if head is None or head.projector.degenerate or not head.projector.thin:
        return
    if head.has_inputs:
        remedy = "Use logit cosines over the inputs."
    else:
        remedy = "Bring inputs and use logit cosines over them."
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=Scope("all inputs"),
        rows=f"{evidence.model.title('right')} cosines",
        role="right",
        value=head.projector.labels_per_dimension,
        title="projector cosines say little",
        text=head.projector.warning,
        remedy=remedy,
    )
