"""EMB201: rows of zeros, and labels that equal the mean row, have no direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.effect import is_effect
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import counted
from embaudit.model import SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB201",
    title="some rows are zero vectors, which have no cosine",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "The number of rows of length 0 on each side and, in a head, of labels that "
        "equal the mean row."
    ),
    reported=(
        "If there is at least one such row, unless the model compares rows by "
        "distance. An issue if such rows are at least 5 % of a side and more than "
        "five, otherwise a tip."
    ),
    meaning=(
        "A row of zeros has no cosine with any row, so it is in no pair. It is in a "
        "neighbour list only if a shift gives it a direction. A label that equals the "
        "mean row has cosines as stored, but none after the mean row is subtracted."
    ),
    why="Libraries that return neighbours of such a row return arbitrary rows.",
    remedy="Show no neighbours of such rows.",
    reference="The definition of the cosine: it divides by both lengths.",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Count rows without a direction, side by side."""
    model = evidence.whole
    if model.link.measures_distances:
        # A row of zeros is a point like any other: it has neighbours by distance.
        return
    for side in model.sides:
        n_rows = len(model.side(side))
        n_zero = len(model.zero_rows(side))
        n_at_mean = 0
        if evidence.head is not None and side == "right":
            # Centring a head makes the labels that equal its mean row zero.
            n_rows = evidence.head.n_labels
            n_at_mean = evidence.head.n_at_mean
            n_zero = evidence.head.n_zero - n_at_mean
        if n_zero:
            yield _rows_of_zeros(evidence, side, n_zero, n_at_mean, n_rows)
        elif n_at_mean:
            yield _rows_at_the_mean(evidence, side, n_at_mean, n_rows)


def _rows_of_zeros(
    evidence: Evidence, side: SideName, n_zero: int, n_at_mean: int, n_rows: int
) -> Finding:
    """Report rows of zeros, and in addition labels that equal the mean row."""
    title = evidence.model.title(side)
    text = (
        "A zero vector has no cosine, so it is in no pair, and in no neighbour list "
        "unless a shift gives it a direction."
    )
    are_zeros = "are zero vectors, which have no cosine"
    if n_zero == 1:
        are_zeros = "is a zero vector, which has no cosine"
    if n_at_mean:
        verb = "equals" if n_at_mean == 1 else "equal"
        text += (
            f" In addition, {n_at_mean:,} {verb} the mean row, so they have no cosine "
            "once the mean row is removed."
        )
    return Finding(
        code=ENTRY.name,
        severity=_severity(n_zero, n_rows),
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{title}s",
        role=side,
        value=float(n_zero),
        title=f"{_share(n_zero, n_rows, title)} {are_zeros}",
        text=text,
        remedy="Show no neighbours of such rows, instead of arbitrary neighbours.",
    )


def _rows_at_the_mean(
    evidence: Evidence, side: SideName, n_at_mean: int, n_rows: int
) -> Finding:
    """Report labels that equal the mean row of a head without rows of zeros."""
    title = evidence.model.title(side)
    share = _share(n_at_mean, n_rows, title)
    equal_it = "equal the mean row, so they have no cosine without it"
    if n_at_mean == 1:
        equal_it = "equals the mean row, so it has no cosine without it"
    return Finding(
        code=ENTRY.name,
        severity=_severity(n_at_mean, n_rows),
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{title}s",
        role=side,
        value=float(n_at_mean),
        title=f"{share} {equal_it}",
        text=(
            "Such a row equals the mean row. It has cosines and neighbours as stored, "
            "but none in the equivalent head whose rows are centred, so figures of "
            "that head skip it."
        ),
        remedy=(
            "Expect other neighbours of such rows in every equivalent head, because "
            "the origin alone decides them."
        ),
    )


def _severity(count: int, n_rows: int) -> Severity:
    """Return the severity for so many rows of a side."""
    return Severity.ISSUE if is_effect(count / n_rows, n_rows) else Severity.TIP


def _share(count: int, n_rows: int, title: str) -> str:
    """Write how many rows of a side have no direction."""
    return f"{count:,} of {counted(n_rows, title)}"
