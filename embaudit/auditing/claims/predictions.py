"""What was seen of the predictions: that they stay, or that the check itself failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.alone import is_alone
from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.fibre import noun
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

FAILED = "The check failed: models that should predict the same do not (EMB001). Nothing here can be trusted."


def predictions(evidence: Evidence) -> Iterator[Claim]:
    """Tell how far the predictions moved, where they must not."""
    head = evidence.head
    changes = [record.max_abs for record in evidence.drift]
    changes += [] if head is None else [other.change for other in head.verifiable]
    if not changes:
        return
    made, subject = counted(evidence.n_visited, "equal model"), f"every {noun(evidence.model)}"
    scope = Scope(f"the {made} visited")
    if not evidence.predictions_hold:
        yield Claim("predictions", Kind.SHOWN, subject, scope, FAILED, max(changes), "drift")
        return
    where = "" if evidence.model.left is not None else ", on probe rows for the side that is not at hand"
    label = "Check" if is_alone(evidence.model) else "Predictions"
    text = f"{label}: {made} made every {noun(evidence.model)} the same{where} (largest change {max(changes):.1g})."
    yield Claim("predictions", Kind.MEASURED, subject, scope, text, max(changes), "drift")
