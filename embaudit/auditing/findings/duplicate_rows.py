"""EMB401: rows that have a duplicate, which fill each other's lists of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.core.ties import reaches
from embaudit.core.words import percent
from embaudit.model import FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB401",
    title="duplicate rows",
    severities=(Severity.TIP, Severity.ISSUE),
    meaning=(
        "These rows have a duplicate: another row of the same side with the same "
        "direction, up to the rounding of stored numbers. Rows that are only very near "
        "to each other, such as at a cosine of 0.9999, do not count."
    ),
    why=(
        "A list of neighbours then names one direction many times. Figures about lists "
        "are then mostly about duplicates."
    ),
    remedy=(
        "Look at a few groups. In a catalogue they are often {items} with the same few "
        "interactions, or one product listed twice; among tokens those that training "
        "hardly touched. Show one of each group."
    ),
    computed=(
        "Rows of k columns are duplicates where their cosine exceeds 1 − (8 + √k) ε − "
        "s²/2. The spacing s of numbers near 1 is that of the shortest format that "
        "holds them: 2⁻⁷ for bfloat16, 2⁻¹⁰ for float16, 2⁻²³ for float32. The "
        "precision ε is that of float64 (2⁻⁵²), in which cosines are computed. Above "
        "200,000 directions by a sample. A tip from 1 % of the rows on, an issue from "
        "25 %. A group is a first row with its later duplicates."
    ),
    reference=(
        "Lee and others: Deduplicating Training Data Makes Language Models Better (ACL "
        "2022), on where duplicates come from."
    ),
)

FEW = 0.01
"""Smallest share of rows with a duplicate that is reported."""
MANY = 0.25
"""Smallest share of rows with a duplicate that is an issue."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report the share of rows of a side that have a duplicate."""
    for traits in evidence.traits:
        twins = traits.twins
        # The lower end of the interval decides, so that a share that was sampled is
        # reported only if it surely reaches the limit.
        if twins is None or not reaches(twins.ci_low, FEW):
            continue
        item = evidence.model.title(traits.role)
        origin = _origin(evidence.model, traits.role)
        yield Finding(
            code=ENTRY.name,
            severity=(Severity.ISSUE if reaches(twins.ci_low, MANY) else Severity.TIP),
            kind=Kind.MEASURED,
            scope=AT_HAND,
            rows=f"{item} rows",
            role=traits.role,
            value=twins.share,
            title=(
                f"{percent(twins.ci_low)} of {item} rows duplicate another row; count "
                "them once"
            ),
            text=f"{twins.explain()} Such rows fill each other's lists of neighbours.",
            remedy=(
                f"Look at a few groups: {origin}. Show one of each group, and read "
                "figures with duplicates counted once."
            ),
        )


def _origin(model: FactorModel, role: SideName) -> str:
    """Write where duplicates of such a model come from."""
    items = f"{model.title(role)}s"
    if model.link.name == "softmax":
        if role == "left":
            return f"{items} that are given twice are duplicates"
        return (
            f"{items} that training hardly touched, such as unused tokens, stay "
            "duplicates"
        )
    if model.left is None:
        return (
            f"{items} that training hardly touched stay duplicates, and so does what "
            "is listed twice"
        )
    return (
        f"{items} with the same few interactions end as duplicates, and so does what "
        "is listed twice"
    )
