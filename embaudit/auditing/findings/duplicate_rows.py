"""EMB401: rows that have a duplicate, which fill each other's lists of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.ties import reaches
from embaudit.core.words import percent
from embaudit.model import FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB401",
    title="duplicate rows",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "The share of rows with a duplicate: another row of the same side with the "
        "same direction, up to the rounding of stored numbers. Two rows of k columns "
        "are duplicates if their cosine exceeds 1 − (8 + √k) ε − s²/2. Here s is the "
        "spacing of numbers near 1 in the shortest format that can hold the rows: 2⁻⁷ "
        "for bfloat16, 2⁻¹⁰ for float16, 2⁻²³ for float32. The precision ε is 2⁻⁵², "
        "because cosines are computed in float64. For more than 200,000 directions, "
        "the share is estimated from a sample."
    ),
    reported=(
        "If at least 1 % of the rows have a duplicate: a tip, and an issue from 25 % "
        "on. If the share is estimated, the lower end of its confidence interval "
        "decides."
    ),
    meaning=(
        "Each of these rows has the same direction as another row. A group of "
        "duplicates is a first row with its later duplicates. Rows that are only very "
        "near to each other, such as at a cosine of 0.9999, do not count."
    ),
    why=(
        "A neighbour list then names one direction many times, and figures about lists "
        "are mostly about duplicates."
    ),
    remedy=(
        "Look at a few groups. In a catalogue, duplicates are often {items} with the "
        "same few interactions, or one product that is listed twice. In a vocabulary, "
        "they are often tokens that training hardly touched. Show one row of each "
        "group."
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
            scope=THIS_MODEL,
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
            f"{items} that training hardly touched stay duplicates, and so do {items} "
            "that are listed twice"
        )
    return (
        f"{items} with the same few interactions end as duplicates, and so do {items} "
        "that are listed twice"
    )
