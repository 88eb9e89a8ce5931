"""EMB002: predictions are not those of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.auditing.identity import SAMPLED, MovedRows, moved_rows
from embaudit.core.words import counted, down

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB002",
    title="the {predictions} differ from the {predictions} of the baseline",
    severities=(Severity.ISSUE,),
    measured=(
        "The JSON of an audit keeps the scores of up to 100 rows of each side, chosen "
        "by their ids. With `--baseline`, the audit correlates the scores of each of "
        "these rows with the scores of the same row in the baseline. Rows of zeros of "
        "the baseline are skipped, because they had no scores of their own. A model of "
        "one side alone has no scores, unless its rows are compared with each other."
    ),
    reported=(
        "If the mean correlation of the rows is below 0.5. Also if the correlation is "
        "below 0.3 for more than 3 % of the rows of a side, and at least four rows."
    ),
    meaning=(
        "For the same ids, this model gives high scores to other pairs than the model "
        "of the baseline did."
    ),
    why=(
        "Perhaps rows were shuffled, one side comes from another training run, or "
        "training changed. An audit of one model cannot see this, because each of the "
        "two models is sound by itself."
    ),
    remedy=(
        "Check that each id belongs to its row, and that both sides come from one "
        "training run. If the change is intended, write a new baseline."
    ),
    reference="The field `score_sample` in the schema of the JSON (`embaudit schema`).",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report scores that correlate little with those of the baseline."""
    change = evidence.score_change
    if change is None:
        return
    if not change.is_same_on_average:
        n_rows = f"{change.n_rows} and {change.n_columns} sampled rows"
        # Rounded down, so that a correlation below the limit is not written as 0.50.
        correlation = f"{down(change.correlation):.2f}"
        yield _reported(
            f"scores of {n_rows}",
            change.correlation,
            f"their scores correlate by {correlation}",
            f"Scores of {n_rows} correlate by {correlation} with the scores of the "
            "baseline.",
        )
        return
    moved = moved_rows(evidence.model, change)
    if moved:
        # If rows of both sides moved, the larger share is reported.
        most = max(moved, key=lambda side: (side.share, side.n, side.n_rows))
        yield _reported(
            f"scores of {most.n_rows} sampled {most.title}s",
            most.share,
            f"{most.n} of {most.n_rows} sampled {most.title}s have other scores",
            _text_on_rows(most),
        )


def _text_on_rows(moved: MovedRows) -> str:
    """Write how many rows of a side have other scores, and why that may be."""
    text = (
        f"Of {moved.n_rows} sampled {moved.title}s {moved.n} have scores that "
        "correlate by less than 0.3 with their scores in the baseline"
    )
    if not moved.n_zero:
        return f"{text}, so rows may be mixed up."
    zeros = counted(moved.n_zero, moved.title)
    return f"{text}. Rows of zeros may be why: {zeros} of the model have no cosine."


def _reported(rows: str, value: float, measured: str, text: str) -> Finding:
    """Make the finding, whose title ends with the measured number."""
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.MEASURED,
        scope=AT_HAND,
        rows=rows,
        # Without the numbers of this comparison, so that `verify` can write the answer
        # anew without the baseline.
        measured_on=f"the scores of up to {SAMPLED} rows of each side",
        value=value,
        title=(
            f"the predictions differ from the predictions of the baseline: {measured}"
        ),
        text=text,
        remedy=(
            "Check that each id belongs to its row, and that both sides come from one "
            "training run. If the change is intended, write a new baseline."
        ),
    )
