"""EMB409: vectors of length 1 whose training is not known.

If both sides have length 1, the link of the model is unknown, and the answer itself
asks how training compared the rows (EMB105).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
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
        "If the difference is at most 0.001, and it is not declared how training "
        "compared these rows: by an objective, a link, or `--compared` for one side "
        "alone. If the rows of both sides have length 1, EMB105 says it."
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
        "with rows of another table. If both sides are loaded, `--link identity` "
        "declares dot products."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report vectors of length 1 if nobody declared how they were trained."""
    model = evidence.model
    is_known = model.objective is not None or model.predicts is Equivalence.COSINES
    is_assumed = model.left is not None and model.link.is_assumed
    if is_known or not (is_alone(model) or is_assumed):
        return
    for traits in evidence.traits:
        if not traits.is_unit:
            continue
        rows = model.side(traits.role).rows
        # A constant side has one length, whatever training compared.
        if is_assumed and (rows == rows[0]).all():
            continue
        item = model.title(traits.role)
        n_rows = counted(traits.n_rows, item)
        if is_alone(model):
            text, remedy = _about_one_table(n_rows)
        else:
            text, remedy = _about_one_of_two_tables(item, n_rows)
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} rows",
            role=traits.role,
            value=traits.off_unit,
            title=f"all {item} rows have length 1, by training or divided afterwards",
            text=text,
            remedy=remedy,
        )


def _about_one_table(n_rows: str) -> tuple[str, str]:
    """Write the text and the remedy for a table without a second table."""
    text = (
        "Either training compared cosines, or the rows were divided by their lengths "
        "after training. The rows do not show which. In the first case the cosines can "
        "be fixed, if the rows span enough directions. In the second case they are "
        "not, because the lengths that training used are lost."
    )
    remedy = (
        "Declare what training compared: `--compared cosine` if one encoder compared "
        "these rows with each other, or `--objective cosine` if they were compared "
        f"with rows of another table. With the second option the audit tests whether "
        f"{n_rows} of length 1 are enough to fix the cosines."
    )
    return text, remedy


def _about_one_of_two_tables(item: str, n_rows: str) -> tuple[str, str]:
    """Write the text and the remedy for unit rows next to a table of other lengths.

    Dot products of both tables order the unit rows as cosines do, so the predictions
    do not show whether training compared cosines. This audit assumed dot products.
    """
    text = (
        "Either training compared cosines, or it compared dot products with "
        f"{item} rows of length 1, or the {item} rows were divided by their lengths "
        "after training. The rows do not show which. In the first case the cosines can "
        "be fixed, if the rows span enough directions. In the third case the scores of "
        "these rows are not the scores of the training, because the lengths that "
        "training used are lost. This audit assumes dot products."
    )
    remedy = (
        "Declare what training compared: `--objective cosine`, `--objective clip` if "
        "the cosines were divided by a learned temperature, or `--link identity` for "
        "dot products. With the first option the audit tests whether "
        f"{n_rows} of length 1 are enough to fix the cosines. If the rows were divided "
        "afterwards, audit the rows as they were before."
    )
    return text, remedy
