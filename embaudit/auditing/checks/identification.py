"""Whether predictions and training together pin the cosines down (EMB101, EMB102, EMB103)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.objectives import OBJECTIVES, Objective, Status, usual_objectives
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def cosines_can_move(evidence: Evidence) -> bool:
    """Whether some gauge that keeps the predictions moves a cosine: not in one dimension, nor where all rows agree."""
    if evidence.model.rank == 1 or evidence.model.predicts is Equivalence.COSINES:
        return False
    tried = [m for e, m in evidence.visits() if e.condition_number > 1 + 1e-9 or e.shift > 0]
    return not tried or any(m.max_abs > 1e-6 for m in tried)


def objective_of(evidence: Evidence) -> Objective | None:
    """Look up how the model was trained, where it says so."""
    return OBJECTIVES[evidence.model.objective] if evidence.model.objective else None


def identification(evidence: Evidence) -> Iterator[Finding]:
    """Ask what is left of the cosines once the objective has had its say."""
    objective = objective_of(evidence)
    if not cosines_can_move(evidence):
        return
    largest = max((m.mean_abs for e, m in evidence.visits() if m.role != "cross"), default=None)
    if objective is None:
        names = ", ".join(row.name for row in usual_objectives(evidence.model.link))
        yield Finding(
            "EMB102",
            Severity.TIP,
            "the predictions do not fix the cosines, and how the model was trained is not known",
            "Equally predicting models have other cosines; whether training chose one depends on its objective.",
            f"Name the objective ({names} or another one, `--objective`).",
            largest,
        )
    elif objective.status is Status.FREE:
        yield Finding(
            "EMB101",
            Severity.ISSUE,
            "the cosines are not identified",
            f"Training minimised {objective.loss}; under it they are {objective.cosines}.",
            "Rank by the dot product, or compare what is predicted for two items instead of their vectors "
            "(cosines of the predictions do not depend on the gauge).",
            largest,
        )
    elif objective.status in (Status.CHOSEN, Status.INPUTS):
        yield Finding(
            "EMB103",
            Severity.TIP,
            f"the cosines are {objective.status.value}",
            f"Training minimised {objective.loss}; under it they are {objective.cosines}. The predictions alone "
            "would allow others.",
            "Read them as one convention, never across models; check them against cosines of the predictions.",
            largest,
        )
