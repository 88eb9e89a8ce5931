"""Whether the lengths of rows tell what their cosines throw away (EMB405)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

KNOWN = {"counts": "interactions", "bias": "bias"}
MORE = {"counts": "more interactions", "bias": "larger the bias"}


def lengths(evidence: Evidence) -> Iterator[Finding]:
    """Tell of lengths that are ordered as the counts, or the biases, of the rows are."""
    for traits in evidence.traits:
        found = traits.lengths
        if found is None or not abs(found.spearman) >= evidence.thresholds["lengths"]:
            continue
        title, known = evidence.model.title(traits.role), KNOWN[found.known]
        text = (
            f"The rank correlation of length and {known} is {found.spearman:.2f} over "
            f"{counted(found.n_rows, title)}. A cosine divides by the length, so none of this is left in it."
        )
        claim = Claim(
            f"lengths:{traits.role}", Kind.MEASURED, f"{title} rows", Scope("the model at hand"), text, found.spearman,
            "traits",
        )  # fmt: skip
        more = "longer" if found.spearman > 0 else "shorter"
        yield Finding(
            "EMB405",
            Severity.TIP,
            f"the {MORE[found.known]}, the {more} the {title} row, and cosines do not see it",
            claim,
            "Rank by the dot product where it should count.",
        )
