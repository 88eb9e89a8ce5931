"""Names that sentences use: of sides, pairs, predictions and kinds of models.

Vectors alone have no other side and so no predictions, so sentences about them speak of
scores with any other side.
"""

from __future__ import annotations

from dataclasses import dataclass

from embaudit.model import OPPOSITE, Equivalence, FactorModel, Pairs, Role, SideName

NOUNS = {Equivalence.PROBABILITIES: "probability", Equivalence.RANKINGS: "ranking"}


def is_alone(model: FactorModel) -> bool:
    """Return True for vectors of one side, which predict nothing without another side.

    A softmax head predicts probabilities, and rows that are compared with each other
    predict how similar they are.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> is_alone(FactorModel.from_vectors([[1.0]]))
    True
    >>> is_alone(FactorModel.from_softmax([[1.0]]))
    False
    """
    return (
        model.left is None and model.compared is None and model.link.name != "softmax"
    )


def is_head(model: FactorModel) -> bool:
    """Return True for a softmax over labels, whose inputs are loaded or not.

    Two towers with a softmax, such as users and items, are not a head.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> towers = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]], link="softmax")
    >>> is_head(FactorModel.from_softmax([[1.0]])), is_head(towers)
    (True, False)
    """
    return model.link.name == "softmax" and (
        model.left is None or model.title("left") == "input"
    )


def prediction_noun(model: FactorModel) -> str:
    """Name one prediction in a sentence.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> prediction_noun(FactorModel.from_softmax([[1.0]]))
    'probability'
    >>> prediction_noun(FactorModel.from_vectors([[1.0]]))
    'score'
    """
    if model.link.measures_distances:
        return "distance"
    return NOUNS.get(model.link.level, "score")


def leaves_out_biases(model: FactorModel) -> bool:
    """Return True if scores have biases, which prediction cosines leave out.

    The logits of a head are centred, so no bias enters them in any case.
    """
    has_biases = model.left_bias is not None or model.right_bias is not None
    sees_biases = model.link.sees_biases and model.link.name != "softmax"
    return model.left is not None and has_biases and sees_biases


def prediction_phrase(model: FactorModel) -> str:
    """Name the numbers that prediction cosines are taken of.

    These are the scores if the predictions are rankings or sigmoids of scores.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[1.0]], [[1.0]])
    >>> prediction_phrase(model)
    'their predictions'
    >>> prediction_phrase(model.replace(link="ranking"))
    'their scores'
    >>> prediction_phrase(model.replace(right_bias=[1.0]))
    'their scores without biases'
    """
    if leaves_out_biases(model):
        return "their scores without biases"
    if model.predicts is Equivalence.RANKINGS or model.link.name == "sigmoid":
        return "their scores"
    return "their predictions"


@dataclass(frozen=True)
class Nouns:
    """Nouns for the rows, pairs and predictions of a model.

    They are written from one kind of pairs: `item` is a row of its side, and `user` one
    of the other side.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> nouns = Nouns.from_model(FactorModel.from_softmax([[1.0]]))
    >>> nouns.items, nouns.users, nouns.cosines, nouns.prediction
    ('labels', 'inputs', 'label-label cosines', 'probability')
    """

    item: str
    """One row of the side."""
    items: str
    """Several rows of the side."""
    user: str
    """One row of the other side."""
    users: str
    """Several rows of the other side."""
    label: str
    """One row of the right side."""
    head: str
    """The model: "head" or "model"."""
    cosines: str
    """The cosines of the pairs, such as "item-item cosines"."""
    prediction: str
    """One prediction, such as "score" or "probability"."""
    predictions: str
    """Noun of the output of the model: "predictions", or "scores" for vectors alone."""
    prediction_phrase: str
    """The numbers that prediction cosines are taken of, such as "their predictions"."""

    @classmethod
    def from_model(cls, model: FactorModel, role: Role = "right") -> Nouns:
        """Return the nouns of a model for one kind of pairs."""
        side: SideName = "left" if role == "left" else "right"
        item, user = model.title(side), model.title(OPPOSITE[side])
        return cls(
            item=item,
            items=f"{item}s",
            user=user,
            users=f"{user}s",
            label=model.title("right"),
            head="head" if is_head(model) else "model",
            cosines=f"{Pairs(role).titled(model)} cosines",
            prediction=prediction_noun(model),
            predictions="scores" if is_alone(model) else "predictions",
            prediction_phrase=prediction_phrase(model),
        )


USERS_AND_ITEMS = Nouns(
    item="item",
    items="items",
    user="user",
    users="users",
    label="item",
    head="model",
    cosines="item-item cosines",
    prediction="score",
    predictions="predictions",
    prediction_phrase="their predictions",
)
"""The nouns of explanations that are about no model in particular."""
