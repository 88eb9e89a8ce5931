"""Whether a few stored dimensions carry nearly all of the cosines (EMB406)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def few_dimensions(evidence: Evidence) -> Iterator[Finding]:
    """Name the dimensions that carry nearly all of the cosines of a side."""
    for traits in evidence.traits:
        found = traits.dimensions
        if found is None or found.without is None or found.stored < evidence.thresholds["few-dimensions"]:
            continue
        title, few = evidence.model.title(traits.role), len(found.columns)
        columns = " and ".join(map(str, found.columns))
        text = (
            f"Column{'s' * (few > 1)} {columns} of {evidence.model.rank}, counted from 0: without, "
            f"{percent(found.without.share)} of {counted(found.without.n_rows, title)} have another nearest one. "
            "A rotation would spread it over all columns and change no cosine; the "
            f"{few} strongest principal ax{'is' if few == 1 else 'es'} would still carry {percent(found.principal)}."
            + (f" Shares are estimated from {counted(found.n_drawn, title)}." if found.n_drawn else "")
        )
        claim = Claim(
            f"few-dimensions:{traits.role}", Kind.MEASURED, f"{title} cosines", Scope("the stored basis"), text,
            found.stored, "traits",
        )  # fmt: skip
        yield Finding(
            "EMB406",
            Severity.TIP,
            f"{counted(few, 'dimension')} carr{'ies' if few == 1 else 'y'} {percent(found.stored)} of the {title} "
            f"cosines",
            claim,
            "Look who is near without them. Dropping or rescaling columns changes what a cosine means.",
        )
