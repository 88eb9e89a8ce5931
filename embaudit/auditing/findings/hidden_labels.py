"""EMB304: labels that no input makes the most probable one by a margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.tolerances import ARGMAX_MARGIN
from embaudit.core.words import counted, row_quoted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB304",
    title=(
        "some labels can hardly be the most probable one: no input puts them ahead by "
        "a stated margin"
    ),
    severities=(Severity.TIP,),
    measured=(
        "For each label, the audit searches an input that puts this label ahead of all "
        "others, or a proof that there is no such input. It computes the point nearest "
        "to the origin in the convex hull of the differences of rows. If this point is "
        "away from the origin, it is such an input. If it is the origin, this is such "
        "a proof."
    ),
    reported=(
        "With `--hull`, if no input puts a label ahead by more than 1e-6 standard "
        "deviations of its logits. Without `--hull`, this is not checked."
    ),
    meaning=(
        "The rows of these labels lie inside the convex hull of the other rows, or at "
        "its edge."
    ),
    why="Greedy decoding hardly ever produces these labels, whatever the input is.",
    remedy="Lengthen these rows, or give the head more dimensions or a bias.",
    reference="Demeter, Kimmel, Downey: Stolen Probability (ACL 2020).",
)

SHOWN = 3
"""Labels that are named."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Count the labels that no input makes lead by a margin."""
    argmax = None if evidence.head is None else evidence.head.argmax
    if argmax is None or not argmax.n_cannot:
        return
    label, row_title = evidence.model.title("right"), evidence.model.row_title("right")
    labels = counted(len(argmax.labels), label)
    if argmax.is_sample:
        labels = f"{labels} tested"
    hidden = argmax.to_dict()["cannot"]
    names = ", ".join(row_quoted(row_title, str(name)) for name in hidden[:SHOWN])
    if argmax.n_cannot > SHOWN:
        names = f"{names}…"
    if is_head(evidence.model):
        remedy = (
            "Greedy decoding hardly ever produces these labels. Lengthen their rows, "
            "or give the head more dimensions or a bias."
        )
    else:
        remedy = (
            "They are hardly ever ranked first. Lengthen their rows, or give the model "
            "more dimensions or a bias."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.PROVEN,
        scope=Scope(
            f"all inputs, and leads above {ARGMAX_MARGIN:g} of the spread of the logits"
        ),
        rows=labels,
        role="right",
        value=float(argmax.n_cannot),
        title=f"{argmax.n_cannot:,} of {labels} can hardly be the most probable",
        text=(
            f"No input puts them ({names}) ahead of every other {label} by more than "
            f"{ARGMAX_MARGIN:g} of the spread of its logits. Their rows lie inside the "
            "hull of the others, or at its edge within that margin."
        ),
        remedy=remedy,
    )
