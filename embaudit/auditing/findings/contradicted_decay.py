"""EMB306: the mean row contradicts the weight decay declared for the head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import contradicts_decay
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB306",
    title="the mean row contradicts the weight decay declared for the head",
    severities=(Severity.TIP,),
    measured="The length of the mean row, divided by the median length of a row.",
    reported=(
        "If the quotient exceeds 0.01, the declared objective has weight decay on all "
        "labels, and a shift of all labels changes no probability."
    ),
    meaning=(
        "At a minimum of a loss with equal weight decay on all labels, the label rows "
        "add up to zero. These label rows do not."
    ),
    why=(
        "The declared objective does not describe this head, so nothing shows that its "
        "penalty chose the cosines."
    ),
    remedy=(
        "Check the declaration: perhaps training stopped early, some labels had "
        "another decay, or there was no decay."
    ),
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a mean row that weight decay on all labels would have removed."""
    head = evidence.head
    if head is None or not contradicts_decay(evidence):
        return
    label = evidence.model.title("right")
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=Scope("minima of the declared objective"),
        rows=f"{label} rows",
        role="right",
        value=head.offset,
        measured_on=f"all {counted(head.n_labels, label)}",
        title=(
            f"the mean row is {head.offset:.2g} of a typical row long, which "
            "contradicts the declared training"
        ),
        text=(
            f"The declared training is {evidence.declared_training}. At a minimum with "
            f"weight decay on all {label}s, the {label} rows add up to zero. "
            f"Here their mean is {head.offset:.2g} of a typical row "
            "long."
        ),
        remedy=(
            "Check the declaration: was training stopped early, did some "
            f"{label}s or a tied embedding have another decay, or was there no decay? "
            f"Without decay the origin of the {label}s is free."
        ),
    )
