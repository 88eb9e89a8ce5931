"""Whether a few rows fill the lists of all others (EMB404)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import ONCE, counted, percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

NAMED = 3
"""Hubs that are named."""


def hubs(evidence: Evidence) -> Iterator[Finding]:
    """Name the rows that stand in very many lists."""
    model = evidence.model if evidence.head is None else evidence.head.model
    for traits in evidence.traits:
        found = traits.hubs
        if found is None or found.filled < evidence.thresholds["hubs"]:
            continue
        title, names = model.title(traits.role), model.names(traits.role)
        each = zip(found.few[:NAMED], found.lists_with, strict=False)
        named = ", ".join(f"{visible(str(names[row]))} in {percent(share)}" for row, share in each)
        text = (
            f"Of the lists of {counted(found.n_lists, title)}, the {found.top_n} nearest each, {named}. "
            f"How often each {title} occurs has a skewness of {found.skewness:.1f}."
        )
        once = traits.hubs_without_twins
        if once is not None:
            text += f" {ONCE.capitalize()}, so few fill {percent(once.filled)}, and it is {once.skewness:.1f}."
        claim = Claim(
            f"hubs:{traits.role}", Kind.MEASURED, f"{title} lists", Scope("the model at hand"), text, found.filled,
            "traits",
        )  # fmt: skip
        yield Finding(
            "EMB404",
            Severity.TIP,
            f"{counted(len(found.few), title)} of {traits.n_rows:,} fill{'s' * (len(found.few) == 1)} "
            f"{percent(found.filled)} of the lists",
            claim,
            "Discount them: what is near to everything says little by being near. Centring often weakens hubs.",
        )
