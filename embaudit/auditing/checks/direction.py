"""Whether all rows of a side point the same way (EMB403)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.heads import origin_matters
from embaudit.auditing.fibre import noun
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted, percent
from embaudit.model import OPPOSITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.traits import Traits
    from embaudit.movements.common_direction import CommonDirection


def common_direction(evidence: Evidence) -> Iterator[Finding]:
    """Tell of sides whose rows are alike before anything is known of them."""
    for traits in evidence.traits:
        found = traits.direction
        said = evidence.head is not None and traits.role == "right" and origin_matters(evidence.head)
        if found is None or not found.mean_cosine >= evidence.thresholds["common-direction"] or said:
            continue
        title = evidence.model.title(traits.role)
        text = f"{_seen(found, title)} {_centring(evidence, traits)}"
        claim = Claim(
            f"common-direction:{traits.role}", Kind.MEASURED, f"{title} rows", Scope("the model at hand"), text,
            found.mean_cosine, "traits",
        )  # fmt: skip
        yield Finding(
            "EMB403",
            Severity.TIP,
            f"any two {title}s have cosine {found.mean_cosine:.2f} on average, so a high one says less",
            claim,
            f"Read a cosine against those of random {title}s, not against 0.",
        )


def _seen(found: CommonDirection, title: str) -> str:
    asked = counted(found.centring.n_rows, title)
    return (
        f"The mean row is {found.offset:.2g} of a typical row (median) long. Without it, "
        f"{percent(found.centring.share)} of {asked} have another nearest one."
    )


def _centring(evidence: Evidence, traits: Traits) -> str:
    """Say whether removing the mean row makes an equal model or another one."""
    model = evidence.model
    title = model.title(traits.role)
    if traits.role in model.free_shifts:
        return f"Removing it changes no {noun(model)}, so either list is as good."
    if model.left is None:
        return f"Removing it makes other vectors: then cosines compare what is left of two {title}s."
    if traits.role in model.link.unit_sides:
        return f"Removing it changes the {model.link.noun}, so it would make another model."
    other = model.title(OPPOSITE[traits.role])
    return f"Removing it adds a number to all scores of each {other}, so it would make another model."
