"""A model's place among its equivalents, of a model, a file or a fitted object."""

from __future__ import annotations

from embaudit import canonical
from embaudit.canonical import Position
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.model import FactorModel


def position(model: FactorModel | AnyPath | object) -> Position:
    """Locate a model among its equivalents.

    A model of very many columns is located in the dimensions that its rows span, where
    no column is constant.

    Parameters
    ----------
    model : FactorModel, path or object
        A model with both sides, or a file or object that `embaudit.load` reads.

    Returns
    -------
    Position
        The exponent of the nearest canonical gauge, and the distance from it in ln κ.

    Raises
    ------
    InputError
        If a side is missing, or every score is zero.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.diag([9.0, 4.0, 1.0])
    >>> position(FactorModel.from_user_item(scores, np.eye(3)))
    Position(exponent 1.00, ln κ 0 off, 3 of 3 dimensions seen, UΣ, V)
    """
    return canonical.position(model_of(model))
