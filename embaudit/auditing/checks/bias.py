"""Whether a bias takes part in the predictions and not in the cosines (EMB202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def bias(evidence: Evidence) -> Iterator[Finding]:
    """Tell of a bias that differs between items."""
    popularity = evidence.model.right_bias
    if popularity is not None and np.ptp(popularity) > 0:
        items = evidence.model.title("right")
        yield Finding(
            "EMB202",
            Severity.TIP,
            f"the {items} bias takes no part in the cosines",
            f"Predictions rank {items}s with their bias, cosines without it: popularity is thrown away.",
            "Rank by the score where popularity should count.",
            float(np.ptp(popularity)),
        )
