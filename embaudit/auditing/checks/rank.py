"""Whether rows hold what no prediction sees, or what a bias could hold (EMB203, EMB204, EMB407)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.canonical import hidden_biases
from embaudit.foundation.words import counted, percent
from embaudit.model import OPPOSITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def hidden_directions(evidence: Evidence) -> Iterator[Finding]:
    """Tell of components in directions that the other side does not have."""
    model, fibre = evidence.model, evidence.fibre
    for side, share in fibre.outside.items():
        other = OPPOSITE[side]
        title, others, k = model.title(side), model.title(other), model.rank
        few = len(model.side(other)) <= k
        why = (
            f"{counted(len(model.side(other)), others)} cannot span {k} dimensions"
            if few
            else "no prediction sees them"
        )
        text = (
            f"Up to {percent(share)} of a row's squared length lies in {k - fibre.seen_rank} of {k} dimensions that no "
            f"{others} row has: {why}. What {title}s hold there is arbitrary, and their cosines count it in full."
        )
        scope = Scope(f"the {k} latent dimensions")
        claim = Claim(
            f"outside:{side}", Kind.PROVEN, f"{title} cosines", scope, text, float(k - fibre.seen_rank), "fibre"
        )
        yield Finding(
            "EMB203",
            Severity.TIP if few else Severity.ISSUE,
            f"{title} rows reach into {counted(k - fibre.seen_rank, 'dimension')} that no prediction sees",
            claim,
            "Project those directions out (the canonical models of this audit do), or compare predictions.",
        )


def absorbable(evidence: Evidence) -> Iterator[Finding]:
    """Tell of a direction that one side has alike in every row: what the other side holds there acts as a bias."""
    position, model = evidence.position, evidence.model
    for hidden in () if position is None else position.hidden_biases:
        other = OPPOSITE[hidden.role]
        if hidden.column is not None and not model.factors(other)[:, hidden.column].any():
            continue
        constant, title = model.title(hidden.role), model.title(other)
        where = "A mixture of columns" if hidden.column is None else f"Column {hidden.column}"
        given = model.side(other).bias is not None
        text = (
            f"{where} of the {constant}s is constant, {hidden.value:.3g}. What {title}s hold there adds a number to "
            f"every score of one {title}, as a bias does. Their cosines count it as a likeness."
        )
        free = f"The {title} bias could take it up: add" if given else f"Make it the {title} bias: take"
        claim = Claim(
            f"absorbable:{other}", Kind.MEASURED, f"{title} cosines", Scope("the model at hand"), text, hidden.value,
            "position",
        )  # fmt: skip
        remedy = f"{free} {hidden.value:.3g} times that component of the {title}s, then drop it from both sides."
        yield Finding("EMB204", Severity.TIP, f"{title} cosines count what acts as a bias", claim, remedy)


def constant_alone(evidence: Evidence) -> Iterator[Finding]:
    """Tell of a direction that vectors alone have alike in every row; of two sides `absorbable` tells it."""
    model = evidence.model
    if model.left is not None or evidence.head is not None:
        return
    for hidden in hidden_biases("right", model.right_side.moments):
        title = model.title("right")
        where = "A mixture of columns" if hidden.column is None else f"Column {hidden.column}"
        text = (
            f"{where} is {hidden.value:.3g} in every row. In a dot product it makes a number that is the same for all "
            f"{title}s, as a bias does. Cosines count it as a likeness of any two."
        )
        claim = Claim(
            "constant:right", Kind.MEASURED, f"{title} rows", Scope("the model at hand"), text, hidden.value, "model"
        )
        remedy = "Leave it out before taking cosines, if it was a bias."
        yield Finding("EMB407", Severity.TIP, f"something is the same in every {title} row", claim, remedy)
        return
