"""Live models of LensKit, of both its ages."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import has, require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.model import FactorModel

OLD = ("user_features_", "item_features_")
NEW = ("user_embeddings", "item_embeddings")


def read(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take factors, biases and ids; without a history of ratings it scores users with these factors."""
    old = has(model, *OLD)
    names = OLD if old else NEW
    require_fitted(model, *names)
    users, items = (as_array(getattr(model, name)) for name in names)
    extras: dict[str, Any] = {}
    for side, rows in (("user", users), ("item", items)):
        known = getattr(model, f"{side}_index_" if old else f"{side}s", None)
        ids: Any = known.ids() if known is not None and hasattr(known, "ids") else known
        if ids is not None and len(ids) == len(rows):
            extras[f"{side}_ids"] = as_array(ids)
    made = FactorModel.from_user_item(users, items, **extras, **_biases(getattr(model, "bias", None)))
    if not callable(getattr(model, "predict_for_user", None)) or len(extras) < 2:
        return Reading(made)

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        wanted = extras["item_ids"][right_rows]
        return np.stack([as_array(model.predict_for_user(extras["user_ids"][i], wanted)) for i in left_rows])

    return Reading(made, own, "predict_for_user")


def _biases(bias: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if bias is None:
        return found
    for side in ("user", "item"):
        values = getattr(bias, f"{side}_biases", getattr(bias, f"{side}_offsets_", None))
        if values is not None:
            found[f"{side}_bias"] = as_array(values)
    return {**found, "offset": float(getattr(bias, "global_bias", getattr(bias, "mean_", 0.0)))}
