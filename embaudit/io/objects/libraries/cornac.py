"""cornac: models whose scores are inner products of user and item vectors."""

from __future__ import annotations

from typing import Any

from embaudit.io.arrays import as_array
from embaudit.io.formats.implicit import objective_of
from embaudit.io.objects.helpers import comes_from, has
from embaudit.io.objects.libraries.library import Computed, Library, Query
from embaudit.io.options import Request
from embaudit.model import FactorModel

RANKS = ("BPR", "WBPR", "MMMF", "IBPR")
"""Classes trained on pairs of items, so that their scores only rank."""
POSITIVE = ("NMF", "HPF")
"""Classes whose factors stay positive, so that no law is known for their decay."""


def _global_mean(source: Any) -> Any:
    """Return the mean rating; None if the model holds it but adds no biases to it."""
    if has(source, "global_mean", "u_biases", "i_biases"):
        return source.global_mean
    return None


def _user_vectors(source: Any) -> Any:
    return source.get_user_vectors() if _is_searched_by_product(source) else None


def _item_vectors(source: Any) -> Any:
    return source.get_item_vectors() if _is_searched_by_product(source) else None


def _is_searched_by_product(source: Any) -> bool:
    """Return True if cornac searches the vectors of a model by inner products."""
    if not has(source, "get_user_vectors", "get_item_vectors"):
        return False
    return "dot" in str(source.get_vector_measure())


def _build(source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    link = _link(source)
    objective = _objective(source)
    return FactorModel.from_arrays(**fields, link=link, objective=objective)


def _link(source: Any) -> str:
    if comes_from(source, ("cornac",), RANKS):
        return "ranking"
    if getattr(source, "variant", None) == "non_linear":
        # PMF predicts ratings by a sigmoid between the lowest and the highest rating.
        return "sigmoid"
    return "identity"


def _objective(source: Any) -> str | None:
    """Return the objective by the weight decay; None if no law is known for it."""
    # With torch, each step decays all rows of a batch; cornac's own SGD decays the rows
    # of one sample.
    is_own_sgd = getattr(source, "backend", "cpu") == "cpu"
    if comes_from(source, ("cornac",), POSITIVE) or not is_own_sgd:
        return None
    if comes_from(source, ("cornac",), ("BPR", "WBPR")):
        decayed = "bpr"
    elif comes_from(source, ("cornac",), RANKS):
        # Negative items are drawn at random, so no law is known.
        decayed = None
    else:
        decayed = "factors-counted"
    return objective_of(getattr(source, "lambda_reg", None), decayed=decayed)


def _score(query: Query) -> Any:
    return as_array(query.source.score(query.left))[query.right]


CORNAC = Library(
    packages=("cornac",),
    classes=("Recommender",),
    tables=(
        ("u_factors", "i_factors"),
        ("U", "V"),
        (
            Computed("get_user_vectors", _user_vectors),
            Computed("get_item_vectors", _item_vectors),
        ),
    ),
    fields={
        "left_bias": ("u_biases",),
        "right_bias": ("i_biases",),
        "offset": (Computed("global_mean", _global_mean),),
        "left_ids": ("uid_map", "train_set.uid_map"),
        "right_ids": ("iid_map", "train_set.iid_map"),
    },
    build=_build,
    predicts={"score": _score},
)
