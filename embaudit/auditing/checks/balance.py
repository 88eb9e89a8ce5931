"""Whether the factors are as the declared weight decay leaves them (EMB104)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.finding import Finding, Severity
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

BALANCED = 1.1
"""Condition number of the gauge to the balanced model up to which factors count as balanced."""


def balance(evidence: Evidence) -> Iterator[Finding]:
    """Compare factors of the objective `factors` with the balanced ones."""
    model, position = evidence.model, evidence.position
    plain = model.predicts is Equivalence.SCORES and model.left_bias is None and model.right_bias is None
    if position is None or not plain or model.objective != "factors":
        return
    stretch = float(np.exp(position.distances["balanced"]))
    if stretch > BALANCED:
        users, items = model.title("left"), model.title("right")
        yield Finding(
            "EMB104",
            Severity.TIP,
            "the factors are not balanced as their objective would leave them",
            f"At a minimum with equal weight decay on both sides, {users}s and {items}s have equal Gram matrices; a "
            f"gauge of condition number {stretch:.3g} lies between that and these factors.",
            "Check the objective and that training converged; if somebody rescaled the factors, no cosine is pinned.",
            stretch,
        )
