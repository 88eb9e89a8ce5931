"""EMB409: vectors of length 1 whose training is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.auditing.wording import is_alone
from embaudit.core.words import counted
from embaudit.model import Equivalence

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB409",
    also=("unit rows",),
    title="all vectors of one side have length 1",
    severities=(Severity.TIP,),
    measured=(
        "The largest difference between 1 and the length of a row that is not zero."
    ),
    reported=(
        "If the difference is at most 0.001, only one side is loaded, and its training "
        "is not known."
    ),
    meaning=(
        "The dot product of two rows is their cosine. If the rows had other lengths "
        "before, these lengths are lost."
    ),
    why=(
        "Training on cosines leaves such rows, and so does dividing rows by their "
        "lengths afterwards. In the first case the cosines can be fixed, if the rows "
        "span enough directions. In the second case they are not, because the lengths "
        "that training used are lost."
    ),
    remedy=(
        "Declare what training compared: `--compared cosine` if one encoder compared "
        "these rows with each other, or `--objective cosine` if they were compared "
        "with rows of another table."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report vectors of length 1 of which nobody said how they were trained."""
    model = evidence.model
    is_known = model.objective is not None or model.predicts is Equivalence.COSINES
    if is_known or not is_alone(model):
        return
    for traits in evidence.traits:
        if not traits.is_unit:
            continue
        item = model.title(traits.role)
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=AT_HAND,
            rows=f"{item} rows",
            role=traits.role,
            value=traits.off_unit,
            title=(f"all {item} rows have length 1, by training or divided afterwards"),
            text=(
                "Either training compared cosines, or the rows were divided by their "
                "lengths after training. The rows do not show which. In the first case "
                "the cosines can be fixed, if the rows span enough directions. In the "
                "second case they are not, because the lengths that training used are "
                "lost."
            ),
            remedy=(
                "Declare what training compared: `--compared cosine` if one encoder "
                "compared these rows with each other, or `--objective cosine` if they "
                "were compared with rows of another table. With the second option the "
                f"audit tests whether {counted(traits.n_rows, item)} of length 1 are "
                "enough to fix the cosines."
            ),
        )
