"""The side of a model that training did not learn."""

from __future__ import annotations

from embaudit.model import FactorModel, SideName
from embaudit.model.objectives import Status
from embaudit.model.trainings import known_objective


def given_side(model: FactorModel) -> SideName | None:
    """Return the side that training is known not to have learned, or None."""
    objective = known_objective(model.objective)
    if objective is not None and objective.status is Status.INPUTS:
        return "left"
    return None
