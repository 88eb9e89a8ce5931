"""What a final norm leaves open: gains that may stand in the head or before it, and a direction no state sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.heads import LABELS
from embaudit.foundation.words import percent
from embaudit.softmax.folding import folding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.softmax.conventions import Apart, NormEvidence

DECIDES = 0.05
"""Share of labels without a copy whose nearest one changes when the gains are folded in, from which they matter."""
FOLDED = Scope("the head with the gains of its final norm folded in")


def decides(norm: NormEvidence) -> bool:
    """Whether folding the gains changes nearest labels noticeably."""
    return norm.folded.nearest.share >= DECIDES


def changed(norm: NormEvidence, apart: Apart) -> str:
    """Say how many labels get another nearest one."""
    which = "labels" if not norm.n_copies else "labels without a copy"
    which += "" if apart.nearest.is_of_all else " asked"
    return f"{percent(apart.nearest.share)} of {which}"


def folded(evidence: Evidence) -> Iterator[Claim]:
    """Tell what folding the gains of the final norm does to nearest labels."""
    norm = evidence.norm
    if norm is None or norm.norm.condition_number == 1:
        return
    kappa, gauge = norm.norm.condition_number, folding(norm.norm)
    text = (
        f"Multiplied into the rows, the gains of the final {norm.norm.title} (κ = {kappa:.3g}) change no logit. "
        f"Then {changed(norm, norm.folded)} have another nearest label."
    )
    if gauge is None:
        text = (
            f"Gains of the final {norm.norm.title} are 0, so that some dimensions reach no logit. Multiplied into the "
            f"rows, they give {changed(norm, norm.folded)} another nearest one."
        )
    kind = Kind.MEASURED if gauge is None else Kind.SHOWN
    yield Claim("norm", kind, LABELS, FOLDED, text, norm.folded.nearest.share, "final_norm", gauge)


def ones(evidence: Evidence) -> Iterator[Claim]:
    """Tell what no state behind a LayerNorm sees of the rows."""
    norm = evidence.norm
    if norm is None or norm.ones is None:
        return
    text = (
        "States behind a LayerNorm sum to 0. So any number may be added along the ones vector to each folded row, "
        "another one to each: no logit shows it. The cosine of any two labels can be brought near 1 and near −1. "
        f"Here the median row has {norm.ones:.2g} times the length of its rest there."
    )
    yield Claim("ones", Kind.MEASURED, LABELS, Scope("states behind a LayerNorm"), text, norm.ones, "final_norm")
