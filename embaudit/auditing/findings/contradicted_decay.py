"""EMB306: the mean row contradicts the weight decay declared for the head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.core.ties import exceeds
from embaudit.model.trainings import known_objective

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB306",
    title="the mean row contradicts the weight decay declared for the head",
    severities=(Severity.TIP,),
    meaning=(
        "Where weight decay on all labels has come to rest, the label rows add up to "
        "zero. These do not."
    ),
    why=(
        "The declared objective does not describe this head, so what it would pin down "
        "is not pinned."
    ),
    remedy=(
        "Check the declaration: training stopped early, some labels were decayed "
        "otherwise, or none were."
    ),
    computed=(
        "Length of the mean row over the median length of a row; reported above 0.01."
    ),
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations (arXiv "
        "2603.29488)."
    ),
)

DECAYED = 1e-2
"""Offset of the mean row above which the labels are at no minimum of a loss with weight
decay on all of them."""
DECAYING = ("softmax-decay", "logistic-decay")
"""Objectives with weight decay on all labels."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a mean row that weight decay on all labels would have removed.

    At a minimum, the pulls of the decay on the labels add up to zero, because those of
    the data do so already.
    """
    head, law = evidence.head, known_objective(evidence.model.objective)
    if head is None or law is None or law.name not in DECAYING:
        return
    if not head.origin_is_free or not exceeds(head.offset, DECAYED):
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
        title=f"the mean row contradicts the training ({evidence.declared_training})",
        text=(
            f"Where weight decay on all {label}s has come to rest, the {label} rows add "
            f"up to zero. Here their mean is {head.offset:.2g} of a typical row long."
        ),
        remedy=(
            "Check the declaration: was training stopped early, were some "
            f"{label}s or a tied embedding decayed otherwise, or was there no decay? "
            f"Without it the origin of the {label}s is free."
        ),
    )
