"""EMB106: the declared training contradicts the statement of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB106",
    title="the declared training contradicts the training that the file states",
    severities=(Severity.ISSUE,),
    measured=(
        "The audit looks up two objectives in the table of objectives (in "
        "docs/reading.md): the objective that you declared (`--objective`), and the "
        "objective that the file states."
    ),
    reported=(
        "If the two objectives have different laws. Two words for one law, such as "
        "implicit-als and factors, do not contradict each other."
    ),
    meaning=(
        "The file says how the model was trained, and your declaration says something "
        "else."
    ),
    why=(
        "Some objectives choose the cosines and some leave them free, so the answer "
        "depends on which of the two is right. A wrong declaration can turn NO into BY "
        "CONVENTION."
    ),
    remedy=(
        "If the file is right, do not declare the objective. If the file is wrong, "
        "write another file with the right objective: "
        "`embaudit.save(embaudit.load(FILE, objective=NAME), NEW)`."
    ),
    reference="The table of objectives in docs/reading.md.",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a declared objective that contradicts the objective of the file."""
    model = evidence.model
    if model.overruled is None:
        return
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.ASSUMED,
        scope=THIS_MODEL,
        rows="the declared training",
        title=f"you declared {model.objective}, but {model.overruled}",
        text=(
            f"You declared the objective {model.objective}, but {model.overruled}. "
            "Only one of the two can be right, and it decides whether training chose "
            "these cosines. All other findings assume that your declaration is right."
        ),
        remedy=ENTRY.remedy,
    )
