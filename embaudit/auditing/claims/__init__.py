"""Claims: everything an audit concludes, each with how firmly it stands and for which set of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.freedom import freedom
from embaudit.auditing.claims.heads import logits, origin, shortest, stretched
from embaudit.auditing.claims.limits import attacks, certificates, ranges
from embaudit.auditing.claims.movement import drawn, moved
from embaudit.auditing.claims.norm import folded, ones
from embaudit.auditing.claims.predicted import predicted
from embaudit.auditing.claims.predictions import predictions
from embaudit.auditing.claims.training import SETTLES, training

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

__all__ = ["DRAWN", "Claim", "Kind", "Scope", "claims"]

DRAWN = (
    predictions,
    origin,
    shortest,
    stretched,
    folded,
    ones,
    logits,
    moved,
    drawn,
    predicted,
    freedom,
    ranges,
    certificates,
    attacks,
    training,
)
"""What draws claims from the evidence, one file a subject."""

UNCHECKED = ("predictions", "training", *(name for name, _ in SETTLES.values()))
"""What may be claimed where the check failed: that it did, and what was declared."""


def claims(evidence: Evidence) -> tuple[Claim, ...]:
    """Draw every claim from the evidence; where the check failed, only that it did, and what was declared."""
    found = [claim for draw in DRAWN for claim in draw(evidence)]
    return tuple(found if evidence.predictions_hold else [c for c in found if c.about in UNCHECKED])
