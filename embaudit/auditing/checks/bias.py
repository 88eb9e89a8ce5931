"""Whether a bias takes part in the predictions and not in the cosines (EMB202)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.movements.bias_columns import BiasColumns


def bias(evidence: Evidence) -> Iterator[Finding]:
    """Tell of a bias that differs between items."""
    popularity = evidence.model.right_bias
    if popularity is None or not np.ptp(popularity) > 0 or not evidence.model.link.sees_biases:
        return
    items = evidence.model.title("right")
    text = f"Predictions rank {items}s with their bias, cosines without it: what the bias holds is thrown away."
    found = next((one.bias_columns for one in evidence.traits if one.role == "right"), None)
    text += "" if found is None else f" {_counted_in(found, items)}"
    spread = float(np.ptp(popularity))
    claim = Claim("bias", Kind.MEASURED, f"the {items} bias", Scope("the model at hand"), text, spread, "model")
    remedy = "Rank by the score where popularity should count."
    yield Finding("EMB202", Severity.TIP, f"the {items} bias takes no part in the cosines", claim, remedy)


def _counted_in(found: BiasColumns, items: str) -> str:
    """Say how neighbours differ from those of a library that leaves the bias among the factors."""
    columns = "the bias as a column" if found.columns == 1 else "the bias and a constant as columns"
    them = "it" if found.columns == 1 else "them"
    kept = f"{found.kept * found.n_neighbours:.1f} of their {found.n_neighbours} nearest"
    asked = counted(found.n_rows, items)
    return f"With {columns}, as `similar_items` of implicit has {them}, {items}s keep {kept} (mean of {asked})."
