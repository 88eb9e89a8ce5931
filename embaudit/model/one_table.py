"""Models that compare the rows of one table with each other."""

from __future__ import annotations

from embaudit.errors import must_be
from embaudit.model.factor_model import FactorModel
from embaudit.model.links import Comparison, Link
from embaudit.model.sizes import require_model


def require_two_sides(model: FactorModel, what: str) -> None:
    """Refuse rows compared with each other where a second side is needed."""
    require_model(model)
    if model.compared is not None:
        got, remedy = f"rows compared by {model.compared}", "use them as they are: its predictions fix their cosines"
        raise must_be(f"a model for {what}", "one of two sides", got, remedy)


def comparing(model: FactorModel, compared: Comparison | None) -> FactorModel:
    """Return a table of vectors as the model that compares them with each other; without a word the model as it is.

    Raises
    ------
    InputError
        If it is no plain table of vectors, or for another word than "cosine" or "dot".

    Examples
    --------
    >>> comparing(FactorModel.from_vectors([[1.0], [2.0]]), "dot")
    FactorModel(2 items, 1 dimension, compared by dot, float64)
    """
    if compared is None:
        return model
    link = Link.comparing(compared)
    if model.left_side is None and model.compared is None and model.link not in ("identity", "cosine"):
        got, remedy = f"a model with {model.link} link", "read it as vectors (--kind vectors)"
        raise must_be("rows to compare with each other", "those of one table of vectors", got, remedy)
    return model.replace(link=link)
