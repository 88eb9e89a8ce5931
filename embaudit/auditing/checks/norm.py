"""Whether the gains of a final norm, which may stand in a head or before it, decide its cosines (EMB307)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind
from embaudit.auditing.claims.heads import LABELS
from embaudit.auditing.claims.norm import FOLDED, changed, decides
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import percent
from embaudit.softmax.folding import folding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def final_norm(evidence: Evidence) -> Iterator[Finding]:
    """Tell of nearest labels that depend on where the gains stand."""
    norm = evidence.norm
    if norm is None or not decides(norm):
        return
    far, gauge = norm.furthest, folding(norm.norm)
    text = (
        f"The gains of the final {norm.norm.title} may stand before the head or in it: the same model, whose label "
        f"cosines differ by {norm.folded.mean_abs:.2f} on average. The two conventions furthest apart, {far.one!r} and "
        f"{far.other!r}, differ for {changed(norm, far)}."
    )
    kind = Kind.MEASURED if gauge is None else Kind.SHOWN
    claim = Claim("norm-decides", kind, LABELS, FOLDED, text, norm.folded.nearest.share, "final_norm", gauge)
    aside = ", copies aside" if norm.n_copies else ""
    which = "nearest labels" if norm.folded.nearest.is_of_all else "the nearest labels asked for"
    title = f"final norm folded in: {percent(norm.folded.nearest.share)} of {which} change{aside}"
    remedy = (
        "Name the convention where you report label cosines, and compare heads in one. `embaudit fix --as "
        "folded-centred` writes one in which neither the gains nor the origin is left to choose; axes still are."
    )
    yield Finding("EMB307", Severity.ISSUE, title, claim, remedy)
