"""EMB407: vectors alone have something the same in every row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.findings.constant_columns import constant_columns
from embaudit.canonical import hidden_biases

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB407",
    title="vectors of one side hold the same number in every row",
    severities=(Severity.TIP,),
    measured=(
        "The audit searches the vectors for constant columns and, if there are none, "
        "for a mixture of columns that is constant up to rounding."
    ),
    reported=(
        "If there is such a column or mixture, and only one side is loaded. If both "
        "sides are loaded, EMB204 is reported instead. Not checked for heads."
    ),
    meaning="A column, or a mixture of columns, has the same number in all rows.",
    why=(
        "Libraries store biases in this way. Cosines count the number as a similarity "
        "of any two rows."
    ),
    remedy="If the number is a bias, remove it before you compute cosines.",
    reference=(
        "Koren, Bell, Volinsky: Matrix Factorization Techniques for Recommender "
        "Systems (Computer 42, 2009)."
    ),
    grows=False,
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report the first direction in which vectors of one side are constant."""
    model = evidence.whole
    if model.left is not None or evidence.head is not None:
        return
    biases = list(hidden_biases("right", model.right_side.moments))[:1]
    if not biases:
        return
    item = model.title("right")
    columns = constant_columns(biases, evidence.columns)
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{item} rows",
        role="right",
        value=biases[0].value,
        title=(
            f"all {item} rows hold the same number ({biases[0].value:.3g}) in one "
            "direction"
        ),
        text=(
            f"{columns} is {biases[0].value:.3g} in every row. In a dot product it "
            f"adds a number that is the same for all {item}s, as a bias does. Cosines "
            f"count it as a similarity of any two {item}s."
        ),
        remedy="If the number is a bias, remove it before you compute cosines.",
    )
