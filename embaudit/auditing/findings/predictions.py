"""The predictions stay (a note), or the check itself failed (EMB001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Kind, Scope
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_alone, prediction_noun
from embaudit.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


SAME = 0.5
"""Least correlation of scores with a baseline's: another seed gives .9 and more, shuffled rows or another side 0."""


MIN_MOVED, MOVED = 4, 0.03
"""Rows, and share of the sampled ones, whose scores are others from which on a release is stopped: of 100 rows another
seed moves one, and a tenth of shuffled rows at least 4 in 97 of 100 samples."""


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
        Kind.MEASURED,
        scope=Scope(f"the {made} visited"),
        rows=f"every {prediction_noun(evidence.model)}",
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
        yield finding("EMB002", evidence, Kind.MEASURED, rows=rows, value=change.correlation, what=what)
        return
    left, right = evidence.model.roles
    sides = ((left, change.moved_rows, change.n_rows), (right, change.moved_columns, change.n_columns))
    title, n_moved, n_rows = max(sides, key=lambda side: side[1] / side[2])
    if n_moved >= MIN_MOVED and n_moved > MOVED * n_rows:
        rows = f"scores of {n_rows} sampled {title}s"
        what = f"Of {n_rows} sampled {title}s {n_moved}"
        yield finding("EMB002", evidence, Kind.MEASURED, "rows", rows=rows, value=n_moved / n_rows, what=what)


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
        Kind.SHOWN,
        scope=Scope(name),
        rows="the predictions",
        value=value,
        made=name,
        changed=changed,
        tolerance=tolerance,
    )
