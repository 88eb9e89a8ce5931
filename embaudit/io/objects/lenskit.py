"""Live models of LensKit, of both its ages, and the pipelines that they stand in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import comes_from, has
from embaudit.io.objects.reading import Given, Own, Reading
from embaudit.io.readers.implicit import split_columns
from embaudit.model import FactorModel

TABLES = (
    ("user_embeddings", "item_embeddings"),
    ("user_features_", "item_features_"),
    ("user_components", "item_components"),
)
"""Where ALS and FunkSVD, models of its first age, and NMF keep users and items."""
LINKS = {"logistic": "sigmoid", "pairwise": "ranking", "warp": "ranking"}
"""What the scores of a model trained with a loss of FlexMF are."""


def read(model: Any, given: Given) -> Reading:
    """Take factors, biases and ids; without a history of ratings it scores users with these factors.

    Raises
    ------
    InputError
        If it is not fitted, has no factors, or is a pipeline with none or several models that have.
    """
    if has(model, "component_names", "component"):
        return read(_inside(model), given)
    users, items = _tables(model)
    if comes_from(model, ("lenskit",), ("BPR",)):
        # It keeps the columns of implicit: ones beside the items' bias.
        made = split_columns(users, items, users.shape[1] - 1)
    else:
        made = FactorModel.from_user_item(users, items, **_biases(model), **_trained(model))
    ids = _ids(model, made)
    made = made.replace(**ids)
    own = _scorer(model, ids) if len(ids) == 2 else None
    return Reading(made, own, "predict_for_user" if _is_old(model) else "scorer", taken=_taken(model))


def _inside(pipeline: Any) -> Any:
    """Return the scorer of a pipeline, or the one component that has factors."""
    names = pipeline.component_names()
    parts = [pipeline.component(name) for name in (["scorer"] if "scorer" in names else names)]
    found = [part for part in parts if _layout(part) is not None]
    if len(found) != 1:
        got = f"{len(found)} among {', '.join(names)}"
        raise must_be("a pipeline of LensKit", "trained, with one model that has factors", got, "pass that model")
    return found[0]


def _taken(model: Any) -> dict[str, str]:
    sides = next((names for names in TABLES if has(model, *names)), ("its users", "its items"))
    beside = {"left_bias": "its biases of users", "right_bias": "its biases of items", "link": "its class"}
    return {"left": sides[0], "right": sides[1], "left_ids": "its users", "right_ids": "its items", **beside}


def _layout(model: Any) -> tuple[Any, Any] | None:
    """Return what holds users and items, None where nothing does."""
    for names in TABLES:
        if has(model, *names):
            return getattr(model, names[0]), getattr(model, names[1])
    if has(model, "user_components_", "factorization_"):
        return model.user_components_, model.factorization_.components_.T
    network: Any = getattr(model, "model", None)
    if not has(network, "u_embed", "i_embed"):
        return None
    if has(network, "u_layers", "i_layers"):
        # With layers it scores by the mean over them.
        return network.u_layers.mean(0), network.i_layers.mean(0)
    return network.u_embed.weight, network.i_embed.weight


def _tables(model: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    found = _layout(model)
    if found is None:
        got = f"{type(model).__name__} without them"
        raise must_be("a model of LensKit", "fitted, with factors of users and items", got, "fit it first")
    return as_array(found[0]), as_array(found[1])


def _is_old(model: Any) -> bool:
    return callable(getattr(model, "predict_for_user", None))


def _trained(model: Any) -> dict[str, Any]:
    """Return link and objective, which the configuration of FlexMF tells."""
    config = getattr(model, "config", None)
    objective = {"AdamW": "decoupled-decay", None: "none"}.get(getattr(config, "reg_method", "unknown"))
    return {"link": LINKS.get(getattr(config, "loss", ""), "identity"), "objective": objective}


def _ids(model: Any, made: FactorModel) -> dict[str, Any]:
    """Return the ids of both sides, under the names that they have in one age or the other."""
    found: dict[str, Any] = {}
    for side, title, n_rows in (("left", "user", made.n_left), ("right", "item", made.n_right)):
        names = (f"{title}s", f"{title}s_", f"{title}_index_")
        known = next((getattr(model, name) for name in names if has(model, name)), None)
        ids: Any = known.ids() if known is not None and hasattr(known, "ids") else known
        if ids is not None and len(ids) == n_rows:
            found[f"{side}_ids"] = as_array(ids)
    return found


def _biases(model: Any) -> dict[str, Any]:
    network = getattr(model, "model", None)
    flexible = {"user_bias": getattr(network, "u_bias", None), "item_bias": getattr(network, "i_bias", None)}
    found = {side: as_array(layer.weight)[:, 0] for side, layer in flexible.items() if layer is not None}
    bias = next((getattr(model, name) for name in ("bias", "bias_") if has(model, name)), None)
    if bias is None:
        # FlexMF for ratings keeps their mean beside the network.
        mean = getattr(model, "global_bias", None)
        return found if mean is None else {**found, "offset": float(mean)}
    for side in ("user", "item"):
        values = getattr(bias, f"{side}_biases", getattr(bias, f"{side}_offsets_", None))
        if values is not None:
            found[f"{side}_bias"] = as_array(values)
    return {**found, "offset": float(getattr(bias, "global_bias", getattr(bias, "mean_", 0.0)))}


def _scorer(model: Any, ids: dict[str, Any]) -> Own | None:
    """Return how a model scores by itself; what a query is made of lies in its library, which is loaded with it."""
    data: Any = sys.modules.get("lenskit.data")
    old = _is_old(model)
    if not old and (data is None or not callable(model)):
        return None

    def score(user: Any, items: Any) -> Any:
        if old:
            return model.predict_for_user(user, items)
        return model(data.RecQuery(user_id=user), data.ItemList(item_ids=items)).scores()

    def own(users: Indices, items: Indices) -> Floats:
        return np.stack([as_array(score(ids["left_ids"][user], ids["right_ids"][items])) for user in users])

    return own
