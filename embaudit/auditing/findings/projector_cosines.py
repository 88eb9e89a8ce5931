"""EMB303: projector cosines say little, because there are few labels per dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.core.words import down

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB303",
    title="projector cosines say little",
    severities=(Severity.TIP,),
    measured="The number of labels per dimension, V/k.",
    reported=(
        "If it is below 2. If labels are so few that EMB302 is reported, EMB303 is not."
    ),
    meaning=(
        "If there are so few labels per dimension, nearly all projector cosines are "
        "alike."
    ),
    why=(
        "Projector cosines are the only similarity of a head that needs no inputs, and "
        "here they say little."
    ),
    remedy="Give inputs (`--inputs`), and use logit cosines over these inputs.",
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
        remedy = "Give inputs (`--inputs`) and use logit cosines over these inputs."
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=Scope("all inputs"),
        rows=f"{evidence.model.title('right')} cosines",
        role="right",
        value=head.projector.labels_per_dimension,
        title=(
            "projector cosines say little, because there are only "
            f"{down(head.projector.labels_per_dimension):.2f} labels per dimension"
        ),
        text=head.projector.warning,
        remedy=remedy,
    )
