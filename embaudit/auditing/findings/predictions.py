"""The predictions stay (a note), or the check itself failed (EMB001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_alone
from embaudit.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


SAME = 0.5
"""Least correlation of scores with a baseline's: another seed gives .9 and more, shuffled rows or another side 0."""
MIN_MOVED, MOVED = 4, 0.03
"""Least number, and share, of a side's sampled rows with other scores that are reported: of 100 rows another seed moves
one; where a tenth of the rows is shuffled, 97 of 100 samples hold at least 4 of them."""


def predictions_stay(evidence: Evidence) -> Iterator[Finding]:
    """Report the largest change of a prediction in a model that should predict the same."""
    head = evidence.head
    changes = [record.max_abs for record in evidence.drift]
    changes += [] if head is None else [other.change for other in head.verifiable]
    if not changes:
        return
    made = counted(evidence.n_visited, "equivalent model")
    alone = evidence.model.left is None and evidence.model.compared is None
    yield finding(
        "predictions",
        evidence,
        value=max(changes),
        made=made,
        label=template("predictions", "label", *["alone"] * is_alone(evidence.model)),
        where=template("predictions", "where", *["alone"] * alone),
    )


def predictions_moved(evidence: Evidence) -> Iterator[Finding]:
    """Report predictions that are not those of the baseline (EMB002)."""
    change = evidence.score_change
    if change is None:
        return
    if change.correlation < SAME:
        rows = f"scores of {change.n_rows} and {change.n_columns} sampled rows"
        what = rows.capitalize()
        yield finding("EMB002", evidence, rows=rows, value=change.correlation, what=what)
        return
    counts = {"left": (change.moved_rows, change.n_rows), "right": (change.moved_columns, change.n_columns)}
    # Rows that are compared with each other are those of one side. Each side is judged by itself: of few rows, too few
    # to be reported may be the larger share.
    sides = [(*counts[side], evidence.model.title(side)) for side in evidence.model.sides]
    moved = [(n / n_rows, n, n_rows, title) for n, n_rows, title in sides if n >= MIN_MOVED and n > MOVED * n_rows]
    if moved:
        share, n, n_rows, title = max(moved)
        rows = f"scores of {n_rows} sampled {title}s"
        what = f"Of {n_rows} sampled {title}s {n}"
        yield finding("EMB002", evidence, "rows", rows=rows, value=share, what=what)


def check_failed(evidence: Evidence) -> Iterator[Finding]:
    """Name the first equivalent model whose predictions are others; of a head, the one furthest off (EMB001)."""
    head = evidence.head
    if head is not None and not head.verified:
        worst = max(head.verifiable, key=lambda other: other.change / other.tolerance)
        changed = f"a probability changed by {worst.change:.2g} of itself"
        yield _failed(evidence, worst.name, changed, worst.change, worst.tolerance)
        return
    failed = [
        (model.name, record)
        for model, record in zip(evidence.equivalents, evidence.drift, strict=True)
        if not record.ok
    ]
    if evidence.norm is not None and not evidence.norm.verified:
        furthest = max(evidence.norm.drift, key=lambda change: change.max_abs / change.tolerance)
        failed.append(("another form of the final norm", furthest))
    for name, record in failed[:1]:
        changed = f"the {record.level.title} changed by {record.max_abs:.2g}"
        yield _failed(evidence, name, changed, record.max_abs, record.tolerance)


def _failed(evidence: Evidence, name: str, changed: str, value: float, tolerance: float) -> Finding:
    """Report predictions that an equivalent model changes by more than rounding."""
    return finding(
        "EMB001",
        evidence,
        value=value,
        made=name,
        changed=changed,
        tolerance=tolerance,
    )
