"""Training objectives, as an audit speaks of them; see `embaudit.model.objectives`."""

from embaudit.model.objectives import OBJECTIVES, Objective, Status, training_objective, usual_objectives

__all__ = ["OBJECTIVES", "Objective", "Status", "training_objective", "usual_objectives"]
