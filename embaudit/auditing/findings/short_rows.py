"""EMB205: rows so short that their direction may be rounding noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import counted, row_called

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB205",
    title="rows are much shorter than the others",
    severities=(Severity.TIP,),
    measured=(
        "The length of each row, divided by the median length of the rows of its side."
    ),
    reported=(
        "If the quotient is at most 1e-7, the relative precision of float32, but not "
        "0. Rows of length 0 are reported as EMB201. Not checked if the model compares "
        "rows by distance."
    ),
    meaning=(
        "These rows are not zero, but very much shorter than the other rows of their "
        "side."
    ),
    why=(
        "A row this short is often a row of zeros after rounding, or a row that "
        "training never updated. Then its direction is rounding noise or its random "
        "start, but cosines count this direction in full."
    ),
    remedy=(
        "Show no neighbours of such rows, unless you know that their direction was "
        "learned."
    ),
    reference="The definition of the cosine: it divides by both lengths.",
)

SHORT = 1e-7
"""Largest length of a row that counts as much shorter, relative to the median length:
the precision of float32."""
SHOWN = 3
"""Rows that are named."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Name the rows of each side that are much shorter than its median row."""
    model = evidence.whole
    if model.link.measures_distances:
        return
    for role in model.sides:
        side = model.side(role)
        is_short = (side.norms > 0) & (side.norms <= SHORT * side.median_length)
        short = np.flatnonzero(is_short)
        if not len(short):
            continue
        row_title, names = model.row_title(role), model.names(role)
        named = [row_called(row_title, str(names[row])) for row in short[:SHOWN]]
        if len(short) > SHOWN:
            named.append("…")
        share = f"{len(short):,} of {counted(len(side), model.title(role))}"
        verb = "is" if len(short) == 1 else "are"
        shortest = float(side.norms[short].min() / side.median_length)
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{model.title(role)}s",
            role=role,
            value=float(len(short)),
            title=f"{share} {verb} much shorter than the others: {', '.join(named)}",
            text=(
                f"The shortest is {shortest:.1g} times as long as the median row. "
                "Cosines divide by the length, so they count its direction in full, "
                "even if that is only rounding noise."
            ),
            remedy=ENTRY.remedy,
        )
