"""EMB002: predictions are not those of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.auditing.identity import SAMPLED, MovedRows, moved_rows
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB002",
    title="{predictions} are not those of the baseline",
    severities=(Severity.ISSUE,),
    meaning=(
        "Under the same ids this model scores other pairs high than the model of the "
        "baseline did."
    ),
    why=(
        "Rows were shuffled, one side is of another run, or training went another way. "
        "An audit of one model cannot see that: each of these models is sound by "
        "itself."
    ),
    remedy=(
        "Check that ids fit their rows and that both sides are of one run. Write a new "
        "baseline if the change is meant."
    ),
    computed=(
        "An audit's JSON keeps the scores of 100 rows of each side, chosen by their "
        "ids. `--baseline` correlates them, each row for itself, with those of this "
        "model. Reported where the mean over the rows is below 0.5. Also reported "
        "where more than 3 % of the rows of a side, and at least 4, correlate by less "
        "than 0.3. One side alone has no scores to keep."
    ),
    reference="The numbers are `score_sample` of `embaudit schema`.",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report scores that correlate little with those of the baseline."""
    change = evidence.score_change
    if change is None:
        return
    if not change.is_same_on_average:
        n_rows = f"{change.n_rows} and {change.n_columns} sampled rows"
        yield _reported(
            f"scores of {n_rows}",
            change.correlation,
            f"Scores of {n_rows} correlate by {change.correlation:.2f} with those of "
            "the baseline.",
        )
        return
    moved = moved_rows(evidence.model, change)
    if moved:
        # If rows of both sides moved, the larger share is reported.
        most = max(moved, key=lambda side: (side.share, side.n, side.n_rows))
        yield _reported(
            f"scores of {most.n_rows} sampled {most.title}s",
            most.share,
            _text_on_rows(most),
        )


def _text_on_rows(moved: MovedRows) -> str:
    """Write how many rows of a side have other scores, and why that may be."""
    text = (
        f"Of {moved.n_rows} sampled {moved.title}s {moved.n} have scores that "
        "correlate by less than 0.3 with those of the baseline"
    )
    if not moved.n_zero:
        return f"{text}, so rows may be mixed up."
    zeros = counted(moved.n_zero, moved.title)
    return f"{text}. Rows of zeros may be why: {zeros} of the model have no cosine."


def _reported(rows: str, value: float, text: str) -> Finding:
    """Make the finding."""
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
        title="predictions are not those of the baseline",
        text=text,
        remedy=(
            "Check that ids fit their rows and that both sides are of one run; write a "
            "new baseline if it is meant."
        ),
    )
