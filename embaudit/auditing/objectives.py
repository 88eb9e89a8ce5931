"""Training objectives, as an audit speaks of them; see `embaudit.model.objectives`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.model import Link
from embaudit.model.objectives import OBJECTIVES, Objective, Status, training_objective, usual_objectives

if TYPE_CHECKING:
    from embaudit.model import FactorModel

__all__ = ["OBJECTIVES", "Objective", "Status", "training_objective", "usual_objectives", "with_objective"]


def with_objective(model: FactorModel, name: str | None = None) -> FactorModel:
    """Note how the model was trained, where that is told, in a way that makes models of its link.

    Vectors alone have the identity link for want of a better one: cosines that were trained are what they score by.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> with_objective(FactorModel.from_vectors([[1.0, 2.0]]), "cosine").link == "cosine"
    True
    """
    name = model.objective if name is None else name
    if name is None:
        return model
    trained = training_objective(name).status is Status.TRAINED
    link = Link.COSINE if trained and model.left is None and model.link == "identity" else model.link
    return model if (name, link) == (model.objective, model.link) else model.replace(objective=name, link=link)
