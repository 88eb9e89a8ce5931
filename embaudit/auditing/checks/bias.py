"""Whether a bias takes part in the predictions and not in the cosines (EMB202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def bias(evidence: Evidence) -> Iterator[Finding]:
    """Tell of a bias that differs between items."""
    popularity = evidence.model.right_bias
    if popularity is None or not np.ptp(popularity) > 0 or not evidence.model.link.sees_biases:
        return
    items = evidence.model.title("right")
    text = f"Predictions rank {items}s with their bias, cosines without it: what the bias holds is thrown away."
    spread = float(np.ptp(popularity))
    claim = Claim("bias", Kind.MEASURED, f"the {items} bias", Scope("the model at hand"), text, spread, "model")
    remedy = "Rank by the score where popularity should count."
    yield Finding("EMB202", Severity.TIP, f"the {items} bias takes no part in the cosines", claim, remedy)
