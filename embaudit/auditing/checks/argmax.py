"""Whether every label can be the most probable one (EMB304)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import counted
from embaudit.softmax.feasibility import MARGIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def hidden_labels(evidence: Evidence) -> Iterator[Finding]:
    """Count the labels that no input makes lead by a margin."""
    if evidence.head is None or not evidence.head.argmax.n_cannot:
        return
    argmax = evidence.head.argmax
    names = ", ".join(repr(name) for name in argmax.to_dict()["cannot"][:3]) + "…" * (argmax.n_cannot > 3)
    asked = f"{counted(len(argmax.labels), 'label')} asked" if argmax.is_sample else "all labels"
    text = (
        f"No input puts them ({names}) ahead of every other label by more than {MARGIN:g} of the spread of its logits. "
        "Their rows lie inside the hull of the others, or at its edge within that margin."
    )
    scope = Scope(f"all inputs, and leads above {MARGIN:g} of the spread of the logits")
    claim = Claim("argmax", Kind.PROVEN, asked, scope, text, float(argmax.n_cannot), "head")
    remedy = "Greedy decoding hardly ever emits them; lengthen those rows, or give the head more dimensions or a bias."
    yield Finding(
        "EMB304", Severity.TIP, f"{argmax.n_cannot:,} of {asked} can hardly be the most probable", claim, remedy
    )
