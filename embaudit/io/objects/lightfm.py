"""Live models of LightFM, whose rows are features: an entity is the sum of the rows of its features."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import InputError
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.implicit import objective_of
from embaudit.model import FactorModel

NONE = "none"
"""What the caller says of a side that was trained without features."""


def read(model: Any, given: Given) -> Reading:
    """Sum the rows of each entity's features; nothing in the model tells whether it had any, so that has to be said.

    Raises
    ------
    InputError
        If the caller has not said what the features of a side are, or they are of another model.
    """
    require_fitted(model, "user_embeddings", "item_embeddings", "user_biases", "item_biases")
    features = {
        "user": _features(model, "user", given.user_features, given.user_ids),
        "item": _features(model, "item", given.item_features, given.item_ids),
    }
    sides: dict[str, Any] = {}
    for side, matrix in features.items():
        rows, bias = as_array(getattr(model, f"{side}_embeddings")), as_array(getattr(model, f"{side}_biases"))
        sides[f"{side}_factors"] = rows if matrix is None else np.asarray(matrix @ rows)
        sides[f"{side}_bias"] = bias if matrix is None else np.asarray(matrix @ bias)
    link = "identity" if getattr(model, "loss", None) == "logistic" else "ranking"
    # Its decay shrinks every row at every sample, by a step that adapts to each coordinate: no law is known.
    strengths = (getattr(model, f"{side}_alpha", None) for side in ("user", "item"))
    made = FactorModel.from_user_item(**sides, link=link, objective=objective_of(*strengths, decayed=None))
    taken = {"link": "its loss"}
    for role, side in (("left", "user"), ("right", "item")):
        summed = "" if features[side] is None else f" summed over {side}_features"
        taken |= {role: f"{side}_embeddings{summed}", f"{role}_bias": f"{side}_biases{summed}"}
    beside = {f"{side}_features": matrix for side, matrix in features.items()}
    if not callable(getattr(model, "predict", None)):
        return Reading(made, taken=taken)

    def own(users: Indices, items: Indices) -> Floats:
        several = items.astype(np.int32)
        return np.stack([model.predict(np.full(len(items), user, np.int32), several, **beside) for user in users])

    return Reading(made, own, taken=taken)


def _features(model: Any, side: str, features: Any, ids: Any) -> Any:
    """Return the feature matrix of a side, None where each entity is its own feature."""
    n_rows = len(as_array(getattr(model, f"{side}_biases")))
    if features is None:
        if ids is not None and len(ids) == n_rows:
            return None
        raise InputError(
            f"{side}_features must be the matrix LightFM was trained with, because its {n_rows} {side} rows are "
            f'features; got none; pass it, or {side}_features="none" if each {side} was its own feature.'
        )
    if isinstance(features, str):
        if features != NONE:
            raise InputError(f'{side}_features must be a matrix or "none"; got {features!r}.')
        return None
    if features.shape[1] != n_rows:
        raise InputError(
            f"{side}_features must have one column a feature: {n_rows}; got {features.shape[1]}; "
            "pass the matrix the model was trained with."
        )
    return features
