"""Training objectives, as an audit notes them; see `embaudit.model.objectives`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.model import Link
from embaudit.model.objectives import Status, training_objective

if TYPE_CHECKING:
    from embaudit.model import FactorModel


def with_objective(model: FactorModel, name: str | None = None) -> FactorModel:
    """Note how the model was trained, where that is told, in a way that makes models of its link.

    Where nobody said the link, and for vectors alone, cosines that were trained are what they score by.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> pair = FactorModel.from_user_item([[0.6, 0.8]], [[1.0, 0.0]])
    >>> [str(with_objective(pair, name).link) for name in (None, "cosine", "factors")]
    ['unknown', 'cosine', 'identity']
    """
    name = model.objective if name is None else name
    if name is None:
        return model
    trained = training_objective(name).status is Status.TRAINED
    if trained and model.left_side is None and model.link == "identity":
        return model.replace(objective=name, link=Link.COSINE)
    return model if name == model.objective else model.replace(objective=name)
