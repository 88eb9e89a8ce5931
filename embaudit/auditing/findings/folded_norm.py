"""EMB307: the gains of the final norm, before or in the head, decide nearest labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import gains_decide
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import percent
from embaudit.heads.conventions import ConventionDistance, NormEvidence, folding

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB307",
    also=("folding", "final norm"),
    title=(
        "the gains of the final norm, which may stand in the head or before it, decide "
        "nearest labels"
    ),
    severities=(Severity.ISSUE,),
    meaning=(
        "A network multiplies its last states by gains, then by the head. Folded into "
        "the head, the gains give the same model with other label cosines."
    ),
    why=(
        "Two readers of one model can list different neighbours. Papers differ in this "
        "convention."
    ),
    remedy=(
        "Name the convention, and compare heads in one. `embaudit fix --as "
        "folded-centred` writes it."
    ),
    computed=(
        "Nearest labels are compared as stored and folded, of labels without a "
        "duplicate. Reported where 5 % of them, and more than five, get another "
        "nearest one. Logits of 1,000 random normalised states verify that both are "
        "one model. Behind a LayerNorm, what rows have along the ones vector is seen "
        "by no state."
    ),
    reference="Nanda, Bloom: TransformerLens (2022), on folding a LayerNorm.",
)


def changed_labels(norm: NormEvidence, apart: ConventionDistance, label: str) -> str:
    """Write how many labels have another nearest one in another convention."""
    labels = f"{label}s without a duplicate" if norm.n_copies else f"{label}s"
    asked = "" if apart.nearest.is_of_all else " asked"
    return f"{percent(apart.nearest.share)} of {labels}{asked}"


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head whose nearest labels change if its final norm is folded in."""
    norm = evidence.norm
    if norm is None or not gains_decide(norm):
        return
    label = evidence.model.title("right")
    noun = "head" if is_head(evidence.model) else "model"
    gauge = folding(norm.norm)
    changed = changed_labels(norm, norm.folded, label)
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.MEASURED if gauge is None else Kind.SHOWN,
        scope=Scope(f"the {noun} with the gains of its final norm folded in"),
        rows=f"{label} cosines",
        role="right",
        value=norm.folded.nearest.share,
        witness=gauge,
        title=f"folding in the norm changes the nearest {label} for {changed}",
        text=_text(norm, label, noun),
        remedy=(
            f"Name the convention where you report {label} cosines, and compare "
            f"{noun}s in one. `embaudit fix --as folded-centred` writes one in which "
            "neither the gains nor the origin is left to choose; axes still are."
        ),
    )


def _text(norm: NormEvidence, label: str, noun: str) -> str:
    """Write how far conventions of the norm are apart.

    If folding is no gauge, some gain is 0.
    """
    gains = f"The gains of the final {norm.norm.title}"
    zeros = ""
    if folding(norm.norm) is None:
        zeros = "Some gains are 0, so that these dimensions reach no logit. "
    else:
        gains = f"{gains} (κ = {norm.norm.condition_number:.3g})"
    furthest = norm.furthest
    return (
        f"{gains} may stand before the {noun} or in it. It is the same model, but "
        f"{label} cosines differ by {norm.folded.mean_abs:.2f} on average. {zeros}The "
        f"two conventions furthest apart, {furthest.first!r} and {furthest.second!r}, "
        f"differ for {changed_labels(norm, furthest, label)}."
    )
