"""EMB002: predictions differ from the predictions of the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.identity import (
    FEWEST_MOVED_ROWS,
    LOWEST_CORRELATION,
    SAMPLE_SIZE,
    SHARE_OF_MOVED_ROWS,
    MovedRows,
    ScoreChange,
    moved_rows,
)
from embaudit.core.words import counted, down, percent
from embaudit.model.equivalence import UNLIKE_CORRELATION

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB002",
    title="the {predictions} differ from the {predictions} of the baseline",
    severities=(Severity.ISSUE,),
    measured=(
        f"The JSON of an audit keeps the scores of up to {SAMPLE_SIZE} rows of each "
        "side, chosen by their ids. With `--baseline`, the audit correlates the scores "
        "of each of these rows with the scores of the same row in the baseline. Rows "
        "of zeros of the baseline are skipped, because they had no scores of their "
        "own. A model of one side alone has no scores, unless its rows are compared "
        "with each other."
    ),
    reported=(
        f"If the rows correlate by less than {LOWEST_CORRELATION:g} on average. Also "
        f"if more than {percent(SHARE_OF_MOVED_ROWS)} of the rows of a side, and at "
        f"least {FEWEST_MOVED_ROWS} rows, correlate by less than "
        f"{UNLIKE_CORRELATION:g}."
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
    """Report scores that correlate little with the scores of the baseline.

    The mean over all sampled rows comes first. If it is high enough, single rows can
    still have other scores.
    """
    change = evidence.score_change
    if change is None:
        return
    if not change.is_same_on_average:
        yield _low_mean_correlation(change)
        return
    sides = moved_rows(evidence.model, change)
    if sides:
        # If rows of both sides moved, report the side with the larger share.
        side = max(sides, key=lambda side: (side.share, side.n, side.n_rows))
        yield _moved_rows_of_side(side)


def _low_mean_correlation(change: ScoreChange) -> Finding:
    """Report that the scores of the sampled rows correlate little on average."""
    rows = f"{change.n_rows} and {change.n_columns} sampled rows"
    # Rounded down, so that a correlation below the limit is not written as the limit.
    correlation = f"{down(change.correlation):.2f}"
    return _finding(
        rows=f"scores of {rows}",
        value=change.correlation,
        summary=f"their scores correlate by {correlation}",
        text=(
            f"Scores of {rows} correlate by {correlation} with the scores of the "
            "baseline."
        ),
    )


def _moved_rows_of_side(side: MovedRows) -> Finding:
    """Report how many sampled rows of a side have other scores than before.

    Rows of zeros are named as a possible reason.
    """
    text = (
        f"Of {side.n_rows} sampled {side.title}s {side.n} have scores that correlate "
        f"by less than {UNLIKE_CORRELATION:g} with their scores in the baseline"
    )
    if side.n_zero == 0:
        text += ", so rows may be mixed up."
    else:
        zero_rows = counted(side.n_zero, side.title)
        text += f". Rows of zeros may be why: {zero_rows} of the model have no cosine."
    return _finding(
        rows=f"scores of {side.n_rows} sampled {side.title}s",
        value=side.share,
        summary=f"{side.n} of {side.n_rows} sampled {side.title}s have other scores",
        text=text,
    )


def _finding(*, rows: str, value: float, summary: str, text: str) -> Finding:
    """Return the finding. Its title ends with a summary, which holds the number."""
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=rows,
        # The answer of the audit repeats this phrase. `verify` recomputes the answer
        # without the baseline, so the phrase holds no number of the comparison.
        measured_on=f"the scores of up to {SAMPLE_SIZE} rows of each side",
        value=value,
        title=f"the predictions differ from the predictions of the baseline: {summary}",
        text=text,
        remedy=ENTRY.remedy,
    )
