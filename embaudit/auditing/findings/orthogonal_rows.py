"""EMB412: rows that are all at right angles, so that neighbours are rounding noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import is_alone
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB412",
    also=("right angles", "one-hot"),
    title="all rows are at right angles, so every cosine is 0",
    severities=(Severity.ISSUE,),
    measured="The cosines of all pairs of rows of a side.",
    reported=(
        "If all of them lie between -0.001 and 0.001, and the side has at least 6 rows "
        "and not more rows than columns. Rounding to float16 or bfloat16 leaves "
        "cosines below 0.001."
    ),
    meaning=(
        "Any two rows are at right angles, up to rounding. Such rows tell {items} "
        "apart, but say nothing about their similarity."
    ),
    why="Rounding alone decides which rows are listed as nearest.",
    remedy=(
        "If the file holds a factor of a singular value decomposition, its rows can be "
        "the singular directions instead of the {items}: then read the file with "
        "`--transpose right`. One-hot rows look the same, and contain no similarity."
    ),
    reference="In k dimensions, at most k rows can be at right angles to each other.",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report sides whose rows are pairwise orthogonal."""
    model = evidence.model
    for traits in evidence.traits:
        if not traits.orthogonal_rows:
            continue
        item = model.title(traits.role)
        if is_alone(model):
            remedy = (
                "Is the file transposed? A factor of a singular value decomposition "
                "can be stored with one row per singular direction: if the columns "
                f"stand for {item}s, add `--transpose right`. One-hot rows look the "
                "same, and contain no similarity."
            )
        else:
            remedy = (
                f"Do not read neighbour lists of these {item}s. Rows that only tell "
                f"{item}s apart, such as one-hot rows, look like this."
            )
        yield Finding(
            code=ENTRY.name,
            severity=Severity.ISSUE,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} rows",
            role=traits.role,
            title=f"all {item} cosines are 0 (rows at right angles)",
            text=(
                f"Any two of {counted(traits.n_rows, item)} have a cosine between "
                f"-0.001 and 0.001. Rounding alone decides which {item}s are listed as "
                "nearest."
            ),
            remedy=remedy,
        )
