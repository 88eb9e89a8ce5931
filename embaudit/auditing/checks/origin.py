"""Whether the origin of label rows, which no probability shows, decides their cosines (EMB301, EMB306)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.heads import counts_once, decides_neighbours, nearest_changed, origin_matters, subject
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

DECAYED = 1e-2
"""Offset of the mean row above which the labels are at no minimum of a loss with weight decay on all of them."""
DECAYING = ("softmax-decay", "logistic-decay")
"""Objectives with weight decay on all labels."""


def origin(evidence: Evidence) -> Iterator[Finding]:
    """Tell of cosines that depend on the origin."""
    head = evidence.head
    if head is None or not origin_matters(head):
        return
    changed, moved = head.neighbours.top1_changed, head.centred.movement.mean_abs
    neighbours = decides_neighbours(head)
    which = "nearest labels" if head.neighbours.exact else "the nearest labels asked for"
    effect = f"changes {percent(nearest_changed(head))} of {which}"
    effect += ", copies counted once" * counts_once(head)
    text = (
        "Adding one vector to every label row changes no probability, so the origin that cosines are measured from "
        f"is a convention. Here the mean row is {head.offset:.2g} of a typical row long, and it decides "
        f"{'neighbours' if neighbours else 'cosines'}."
    )
    value = changed if neighbours else moved
    scope = Scope("the head less its mean row")
    claim = Claim("origin-decides", Kind.SHOWN, subject(head), scope, text, value, "head", head.centred.gauge)
    remedy = (
        "Do not read label cosines as similarity. Compare what the head predicts: logit cosines over your inputs "
        "(`embaudit fix --as prediction`, with `--inputs` or `--states` where the head has none)."
    )
    title = "subtracting the average row " + (
        effect if neighbours else f"moves label cosines by {moved:.2f} on average"
    )
    yield Finding("EMB301", Severity.ISSUE, title, claim, remedy)


def undeclared_mean(evidence: Evidence) -> Iterator[Finding]:
    """Under weight decay the pulls on the labels add up to zero: what the data pull already does."""
    head = evidence.head
    if head is None or not head.origin_is_free or head.offset <= DECAYED or head.model.objective not in DECAYING:
        return
    text = (
        "Where weight decay on all labels has come to rest, the label rows add up to zero. Here their mean is "
        f"{head.offset:.2g} of a typical row long."
    )
    scope = Scope("minima of the declared objective")
    claim = Claim("mean-row", Kind.MEASURED, "label rows", scope, text, head.offset, "head")
    title = f"the mean row contradicts the declared objective ({head.model.objective})"
    remedy = (
        "Check the declaration: was training stopped early, were some labels or a tied embedding decayed "
        "otherwise, or was there no decay? Without it the origin of the labels is free."
    )
    yield Finding("EMB306", Severity.TIP, title, claim, remedy)
