"""Whether the factors are as the declared weight decay leaves them (EMB104)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.canonical.balance import BALANCED, counted_balance
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.canonical import Position
    from embaudit.model import FactorModel

LAWS = {
    "factors": "equal Gram matrices",
    "factors-counted": "equal Gram matrices, each row weighted by its interactions",
}
"""What decay on both sides leaves at a minimum, by objective."""


def stretch_of(model: FactorModel, position: Position) -> float | None:
    """Return κ between a model and its balance under the law of its objective; None where that cannot be judged."""
    if model.objective == "factors-counted":
        return counted_balance(model, position.effective_rank)
    return float(np.exp(position.distances["balanced"]))


def balance(evidence: Evidence) -> Iterator[Finding]:
    """Compare factors with those that the declared decay would leave."""
    model, position = evidence.model, evidence.position
    plain = model.predicts is Equivalence.SCORES and model.left_bias is None and model.right_bias is None
    if position is None or not plain or model.objective not in LAWS:
        return
    stretch = stretch_of(model, position)
    if stretch is None or stretch <= BALANCED:
        return
    users, items = model.title("left"), model.title("right")
    text = (
        f"At a minimum with such decay, {users}s and {items}s have {LAWS[model.objective]}. A gauge of condition "
        f"number {stretch:.3g} lies between that and these factors; up to {BALANCED:g} counts as balanced."
    )
    scope = Scope("minima of the declared objective")
    claim = Claim("balance", Kind.MEASURED, "the factors", scope, text, stretch, "position")
    counted = "" if model.objective == "factors-counted" else " If decay counted ratings, declare factors-counted."
    yield Finding(
        "EMB104",
        Severity.TIP,
        "the factors are not where the declared objective would leave them",
        claim,
        "Check the objective and that training converged; if somebody rescaled the factors, no cosine is pinned."
        + counted,
    )
