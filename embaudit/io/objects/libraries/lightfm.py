"""LightFM: a vector per feature, summed over the features of each user and item."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.arrays import as_array
from embaudit.io.formats.implicit import objective_of
from embaudit.io.objects.libraries.library import Library, Query
from embaudit.io.options import Request
from embaudit.model import FactorModel


def _build(source: Any, fields: dict[str, Any], request: Request) -> FactorModel:
    """Sum the rows of the features of each user and item.

    Nothing in the model tells whether it had features, so the caller has to say it.
    """
    matrices = _features(source, request)
    fields = dict(fields)
    for side, matrix in (
        ("left", matrices["user_features"]),
        ("right", matrices["item_features"]),
    ):
        if matrix is None:
            continue
        for name in (side, f"{side}_bias"):
            fields[name] = np.asarray(matrix @ fields[name])
    # The decay shrinks every row at every sample, by a step that adapts to each
    # coordinate, so no law is known.
    objective = objective_of(
        getattr(source, "user_alpha", None),
        getattr(source, "item_alpha", None),
        decayed=None,
    )
    is_logistic = getattr(source, "loss", None) == "logistic"
    link = "identity" if is_logistic else "ranking"
    return FactorModel.from_arrays(**fields, link=link, objective=objective)


def _predict(query: Query) -> Any:
    n_items = len(query.right)
    return query.source.predict(
        np.full(n_items, query.left, dtype=np.int32),
        query.right.astype(np.int32),
        **_features(query.source, query.request),
    )


def _features(source: Any, request: Request) -> dict[str, Any]:
    """Return the matrices `user_features` and `item_features` of a model.

    A matrix is None if each row of the model is one user or item.
    """
    return {
        "user_features": _features_of_side(
            "user", source.user_biases, request.user_features, request.left_ids
        ),
        "item_features": _features_of_side(
            "item", source.item_biases, request.item_features, request.ids
        ),
    }


def _features_of_side(side: str, biases: Any, features: Any, ids: Any) -> Any:
    """Return the feature matrix of one side; None if it has none.

    Raises
    ------
    InputError
        If the caller does not say whether the side has features, or gives something
        else than a matrix with one column per row of the model.
    """
    name = f"{side}_features"
    n_rows = len(as_array(biases))
    if features is None:
        # As many ids as rows say that each row is one user or item.
        if ids is not None and np.shape(ids) == (n_rows,):
            return None
        raise InputError(
            f"{name} must be the matrix LightFM was trained with, because its "
            f"{n_rows} {side} rows are features; got None; pass that matrix, or "
            f'{name}="none" if each {side} was its own feature.'
        )
    if isinstance(features, str):
        if features == "none":
            return None
        raise InputError(f'{name} must be a matrix or "none"; got {features!r}.')
    if features.shape[1] != n_rows:
        raise must_be(
            name,
            f"a matrix with {n_rows} columns, one per feature",
            f"{features.shape[1]} columns",
            "pass the matrix the model was trained with",
        )
    return features


LIGHTFM = Library(
    packages=("lightfm", "lightfm_next"),
    classes=("LightFM",),
    tables=(("user_embeddings", "item_embeddings"),),
    fields={"left_bias": ("user_biases",), "right_bias": ("item_biases",)},
    build=_build,
    options=("user_features", "item_features"),
    predicts={"predict": _predict},
)
