"""EMB105: it is undecided whether the predictions fix the cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Case
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.wording import Nouns

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB105",
    title="whether the {predictions} fix the cosines is undecided",
    severities=(Severity.TIP,),
    measured=(
        "The audit tests a sufficient condition under which the {predictions} fix the "
        "cosines. If both sides are loaded, it also searches for an equivalent model "
        "with other cosines."
    ),
    reported=(
        "If neither the test nor the search decides the question, or if the rows have "
        "too many columns for the test."
    ),
    meaning=(
        "No equivalent model with other cosines was found, and it is not proven that "
        "no such model exists."
    ),
    why=(
        "These cosines can be part of what the model predicts, or a convention of its "
        "training."
    ),
    remedy=(
        "Read the cosines as a convention of this training run until the question is "
        "decided."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report cosines that may or may not be fixed by the predictions."""
    diagnosis = evidence.diagnosis
    if diagnosis.case is not Case.UNDECIDED:
        return
    nouns = Nouns.from_model(evidence.model, diagnosis.role)
    # Distances leave this undecided only if all rows are equal, so nothing can move.
    measures_distances = evidence.model.link.measures_distances
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=diagnosis.freedom.kind,
        scope=evidence.equivalence.scope,
        rows=nouns.cosines,
        role=diagnosis.role,
        value=None if measures_distances else diagnosis.mean_move,
        title=f"whether the {nouns.predictions} fix the cosines is undecided",
        text=diagnosis.freedom.because,
        remedy=(
            "Read the cosines as a convention of this training run until the question "
            "is decided."
        ),
    )
