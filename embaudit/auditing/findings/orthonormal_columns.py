"""EMB410: orthonormal columns, as of V in a singular value decomposition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import is_alone
from embaudit.canonical.position_words import MEANINGS
from embaudit.model import Equivalence

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB410",
    title=(
        "vectors of one side have orthonormal columns, so their cosines weigh all "
        "directions alike"
    ),
    severities=(Severity.TIP,),
    measured="The largest and the smallest singular value of the rows.",
    reported=(
        "If they differ by at most 0.1 %, there are more rows than columns, and only "
        "one side is loaded. If both sides are loaded, the gauge position in the "
        "report shows this."
    ),
    meaning=(
        "The columns are at right angles and have the same length, like the columns of "
        "V in a singular value decomposition."
    ),
    why=(
        "Every direction counts the same in the cosines, however little it changes a "
        "score. With as many directions as rows, all these cosines would be 0."
    ),
    remedy=(
        "Multiply the columns by the singular values. If the other side is loaded, "
        "`embaudit fix` does so."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report vectors whose columns are orthogonal and have equal lengths."""
    model = evidence.model
    if not is_alone(model) or model.predicts is Equivalence.COSINES or model.rank == 1:
        return
    for traits in evidence.traits:
        if not traits.orthonormal:
            continue
        item = model.title(traits.role)
        meaning = MEANINGS["right-whitened"].format(items=item, near="")
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} rows",
            role=traits.role,
            title=(
                f"{item} columns are orthonormal, so cosines weigh all directions alike"
            ),
            text=f"{meaning[0].upper()}{meaning[1:]}.",
            remedy=(
                "If they are the V of a singular value decomposition, multiply the "
                "columns by its singular values. If you load the other side, "
                "`embaudit fix` does so."
            ),
        )
