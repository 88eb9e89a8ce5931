"""Live models of LensKit, of both its ages."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import has, require_fitted
from embaudit.io.objects.reading import Given, Own, Reading
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
    own = _scorer(model, extras, old=old) if extras.keys() == {"user_ids", "item_ids"} else None
    return Reading(made, own, "predict_for_user" if old else "scorer")


def _scorer(model: Any, ids: dict[str, Any], *, old: bool) -> Own | None:
    """Return how a model scores by itself; what a query is made of lies in its library, which is loaded with it."""
    data: Any = sys.modules.get("lenskit.data")
    if old and not callable(getattr(model, "predict_for_user", None)):
        return None
    if not old and (data is None or not callable(model)):
        return None

    def score(user: Any, items: Any) -> Any:
        if old:
            return model.predict_for_user(user, items)
        return model(data.RecQuery(user_id=user), data.ItemList(item_ids=items)).scores()

    def own(users: Indices, items: Indices) -> Floats:
        return np.stack([as_array(score(ids["user_ids"][user], ids["item_ids"][items])) for user in users])

    return own


def _biases(bias: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if bias is None:
        return found
    for side in ("user", "item"):
        values = getattr(bias, f"{side}_biases", getattr(bias, f"{side}_offsets_", None))
        if values is not None:
            found[f"{side}_bias"] = as_array(values)
    return {**found, "offset": float(getattr(bias, "global_bias", getattr(bias, "mean_", 0.0)))}
