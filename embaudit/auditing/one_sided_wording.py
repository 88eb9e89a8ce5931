"""Wording for vectors alone, which have no other side and so no predictions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from embaudit.model import Softmax

if TYPE_CHECKING:
    from embaudit.model import FactorModel


def is_alone(model: FactorModel) -> bool:
    """Check for vectors of one side; a softmax head, or rows compared with each other, have their predictions.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> is_alone(FactorModel.from_vectors([[1.0]])), is_alone(FactorModel.from_softmax([[1.0]]))
    (True, False)
    """
    return model.left is None and model.compared is None and not isinstance(model.link, Softmax)


def worded_for(model: FactorModel, text: str) -> str:
    """Write scores with any other side for predictions, in a text on vectors alone.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> worded_for(FactorModel.from_vectors([[1.0]]), "unique given the predictions")
    'unique given the scores'
    """
    if not is_alone(model):
        return text
    return text.replace("predictions", "scores").replace("Predictions", "Scores").replace("prediction as", "score as")


def in_titles(model: FactorModel, text: str) -> str:
    """Write a model's own sides for users and items, and scores for the predictions of vectors alone.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> in_titles(FactorModel.from_softmax([[1.0]]), "a stretch of the users that is undone on the items")
    'a stretch of the inputs that is undone on the labels'
    """
    titles = {"user": model.title("left"), "item": model.title("right")}
    titles |= {name.capitalize(): title.capitalize() for name, title in titles.items()}
    return re.sub(r"\b([Uu]ser|[Ii]tem)(s?)\b", lambda word: titles[word[1]] + word[2], worded_for(model, text))
