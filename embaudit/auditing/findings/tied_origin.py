"""EMB305: a declared soft-cap or normalisation ties the origin of the labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB305",
    title="a declared soft-cap or normalisation fixes the origin of the labels",
    severities=(Severity.TIP,),
    measured=(
        "The largest change of a probability when the mean row is subtracted from all "
        "label rows."
    ),
    reported=(
        "If the head has a soft-cap or normalises its label rows, so that a shift of "
        "all labels changes probabilities."
    ),
    meaning=(
        "With a soft-cap or normalised rows, adding one vector to all labels changes "
        "probabilities. So fewer heads are equivalent to this head."
    ),
    why=(
        "If the declaration is wrong, the audit has looked at too few equivalent heads."
    ),
    remedy="If the declaration is wrong, audit again without it.",
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report what a declared soft-cap or normalisation of a head rules out."""
    head = evidence.head
    if head is None or head.origin_is_free or not head.link.guard:
        return
    label = evidence.model.title("right")
    noun = "head" if is_head(evidence.model) else "model"
    pinning, change = evidence.equivalence.pinning, head.centred.change
    other_gauges = "Linear gauges still keep every probability."
    if pinning is not None:
        other_gauges = pinning.explain()
    if head.centred.ok:
        text = (
            "Subtracting the mean row changes no probability here, but other shifts "
            f"would. {other_gauges}"
        )
    else:
        size = f"a relative {change:.2g}" if change < 1 else f"a factor e^{change:.1f}"
        text = (
            f"Subtracting the mean row changes a probability by {size}, so the result "
            f"is not an equivalent {noun}. {other_gauges}"
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.SHOWN,
        scope=Scope(f"the {noun} less its mean row"),
        rows=f"{label} cosines",
        role="right",
        value=change,
        title=f"the origin of the {label}s is fixed by {head.link.guard}",
        text=text,
        remedy="If the declaration is wrong, audit again without it.",
    )
