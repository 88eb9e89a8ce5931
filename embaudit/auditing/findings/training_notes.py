"""Notes on the cosines that the declared training chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Case
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Scope, Severity
from embaudit.auditing.wording import Nouns, is_alone
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

NOTES = ("made", "order", "no_minimum", "second_table")
"""Words of the notes that this module can write."""


def made_of_predictions(evidence: Evidence) -> Iterator[Finding]:
    """Report vectors that were made to hold prediction cosines of another model."""
    diagnosis = evidence.diagnosis
    if diagnosis.case is not Case.MADE_OF_PREDICTIONS:
        return
    yield Finding(
        code="made",
        severity=Severity.NOTE,
        kind=Kind.ASSUMED,
        scope=THIS_MODEL,
        rows=Nouns.from_model(evidence.model, diagnosis.role).cosines,
        role=diagnosis.role,
        text="These vectors were made to hold the cosines of a model's predictions.",
    )


def order(evidence: Evidence) -> Iterator[Finding]:
    """Report that a temperature fixes only the order of cosines between the sides."""
    diagnosis = evidence.diagnosis
    if diagnosis.case is not Case.TEMPERATURE:
        return
    nouns = Nouns.from_model(evidence.model, diagnosis.role)
    declared = evidence.declared_training
    if is_alone(evidence.model):
        text = (
            "Training compared these rows with the rows of another side by cosines "
            f"divided by a temperature ({declared}). This fixes the order of cosines "
            f"between the sides, but not {nouns.cosines}, whatever the other side "
            "holds."
        )
    else:
        text = (
            f"Predictions are functions of cosines of {nouns.users} with {nouns.items} "
            f"divided by a temperature ({declared}): they fix the order of the "
            f"{nouns.items} for each {nouns.user}, but neither the level of those "
            f"cosines nor {nouns.cosines}."
        )
    yield Finding(
        code="order",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=evidence.equivalence.scope,
        rows=nouns.cosines,
        role=diagnosis.role,
        text=text,
    )


def no_minimum(evidence: Evidence) -> Iterator[Finding]:
    """Report a head that is at no minimum, whatever the labels of its inputs are."""
    if evidence.diagnosis.case is not Case.NO_MINIMUM:
        return
    model = evidence.model
    inputs = counted(model.n_left, model.title("left"))
    yield Finding(
        code="no_minimum",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=Scope("all labels that these inputs may have"),
        rows=f"{model.title('right')} cosines",
        role="right",
        text=(
            f"Whatever the labels of these {inputs} are, this head is at no minimum "
            "over them. Either planes separate the labels, so that the loss falls as "
            "long as the rows grow, or training stopped early."
        ),
    )


def second_table(evidence: Evidence) -> Iterator[Finding]:
    """Report that the second set of vectors of the training was not loaded."""
    diagnosis = evidence.diagnosis
    if diagnosis.case is not Case.OTHER_TABLE:
        return
    yield Finding(
        code="second_table",
        severity=Severity.NOTE,
        kind=Kind.ASSUMED,
        scope=THIS_MODEL,
        rows=Nouns.from_model(evidence.model, diagnosis.role).cosines,
        role=diagnosis.role,
        text=(
            "Training multiplied these rows with a second set, which was not loaded "
            f"({evidence.declared_training})."
        ),
    )
