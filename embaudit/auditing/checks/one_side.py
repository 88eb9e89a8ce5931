"""What one side alone shows of how it was made: rows of length 1 (EMB409), orthonormal columns (EMB410)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.alone import is_alone
from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.canonical.words import whitened
from embaudit.foundation.words import counted
from embaudit.model import Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

SCOPE = Scope("the rows as they are stored")


def unit_rows(evidence: Evidence) -> Iterator[Finding]:
    """Tell of rows of length 1 that nothing was said of: what the file leaves open, and what would settle it."""
    model = evidence.model
    if not is_alone(model) or model.objective is not None or model.predicts is Equivalence.COSINES:
        return
    for traits in evidence.traits:
        if not traits.is_unit:
            continue
        title, rows = model.title(traits.role), counted(traits.n_rows, model.title(traits.role))
        text = (
            "Either training compared cosines, or the rows were divided by their lengths afterwards. "
            "The file cannot say which, and only the first pins anything."
        )
        claim = Claim(
            f"unit-rows:{traits.role}", Kind.MEASURED, f"{title} rows", SCOPE, text, traits.off_unit, "traits"
        )
        yield Finding(
            "EMB409",
            Severity.TIP,
            f"all {title} rows have length 1: trained so, or normalised afterwards",
            claim,
            f"If training compared cosines, say so (`--objective cosine`): then it is tested whether {rows} of that "
            "length fix their cosines. With the other side at hand, its lengths count too, and cosines of the scores "
            "can be compared.",
        )


def orthonormal_columns(evidence: Evidence) -> Iterator[Finding]:
    """Tell of columns at right angles and of one length, as the right side of a singular value decomposition has."""
    model = evidence.model
    if not is_alone(model) or model.predicts is Equivalence.COSINES or model.rank == 1:
        return
    for traits in evidence.traits:
        if not traits.orthonormal:
            continue
        title = model.title(traits.role)
        said = whitened(title)
        text = f"{said[0].upper()}{said[1:]}."
        claim = Claim(f"whitened:{traits.role}", Kind.MEASURED, f"{title} rows", SCOPE, text, evidence="traits")
        yield Finding(
            "EMB410",
            Severity.TIP,
            f"{title} columns are orthonormal, so cosines weigh all directions alike",
            claim,
            "If they are the V of a singular value decomposition, multiply the columns by its singular values. "
            "With the other side at hand, `embaudit fix` does so.",
        )
