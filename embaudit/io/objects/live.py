"""Models that are objects in memory: known by their attributes, without importing the libraries they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from embaudit.errors import InputError
from embaudit.io.codecs.memory import Memory, as_array
from embaudit.io.objects.live_heads import classifier, from_linear, network_head
from embaudit.io.readers.assemble import assemble
from embaudit.io.readers.implicit import objective_of, split_columns, trained_with
from embaudit.io.registry import ALWAYS, finish
from embaudit.io.request import Request, as_kind
from embaudit.model import FactorModel

LIGHTFM = ("user_biases", "item_biases", "user_embeddings", "item_embeddings")


def from_object(
    model: Any, *, user_features: Any = None, item_features: Any = None, kind: str = "auto", **options: Any
) -> FactorModel:
    """Take factors, biases and ids from a trained model of another library.

    Parameters
    ----------
    model : object
        implicit (ALS, BPR, logistic), LightFM, Surprise, cornac, LensKit, RecBole, scikit-learn (TruncatedSVD, NMF,
        linear classifiers with probabilities, MLPClassifier), gensim (KeyedVectors or a model with `wv`), torch
        (Linear, any module or state dictionary whose names `load` knows from files).
    user_features, item_features : sparse matrix, optional
        What a LightFM model was trained with: its rows are features, an entity is the sum of its features' rows.
    kind, **options
        As in `load`; which array is what is asked for state dictionaries only.

    Raises
    ------
    InputError
        If the object is not fitted, is of no known kind, or is a model whose predictions no link describes.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trained = SimpleNamespace(pu=np.ones((2, 1)), qi=np.ones((3, 1)), trainset=SimpleNamespace(global_mean=3.5))
    >>> from_object(trained)
    FactorModel(2 users × 3 items, rank 1, identity link, float64)
    """
    request = Request.of(kind, options)
    if user_features is not None or item_features is not None:
        if not _has(model, *LIGHTFM):
            raise InputError("user_features and item_features must be left out here; only LightFM models use them.")
        return finish(_lightfm(model, user_features, item_features), request)
    if isinstance(model, Mapping):
        return finish(_from_mapping(model, request), request)
    made = _read(model)
    if made is None:
        return finish(_from_mapping(model.state_dict(), request), request)
    unused = [name for name in request.given if name not in ALWAYS]
    if unused:
        raise InputError(f"{unused[0]} must be left out here; only state dictionaries leave open what is what.")
    return finish(as_kind(made, request.kind), request)


def _read(model: Any) -> FactorModel | None:
    """Read a model of a known kind; None for a module that has a state dictionary instead."""
    if isinstance(model, FactorModel):
        return model
    if _has(model, *LIGHTFM):
        return _lightfm(model, None, None)
    for attributes, reader in READERS:
        if _has(model, *attributes):
            return reader(model)
    if callable(getattr(model, "state_dict", None)):
        return None
    raise InputError(
        f"the object must be a fitted model of a known library; got {type(model).__name__}; "
        "use FactorModel.from_user_item, from_softmax or from_vectors with its arrays."
    )


def _has(model: Any, *names: str) -> bool:
    return all(getattr(model, name, None) is not None for name in names)


def _from_mapping(tensors: Mapping[str, Any], request: Request) -> FactorModel:
    arrays = Memory({str(name): value for name, value in tensors.items() if hasattr(value, "shape")})
    return assemble(arrays, request, "the state dictionary")


def _implicit(model: Any) -> FactorModel:
    made = split_columns(as_array(model.user_factors), as_array(model.item_factors), int(model.factors))
    return made.replace(objective=trained_with(getattr(model, "regularization", None), made))


def _lightfm(model: Any, user_features: Any, item_features: Any) -> FactorModel:
    sides: dict[str, Any] = {}
    for side, features in (("user", user_features), ("item", item_features)):
        rows, bias = as_array(getattr(model, f"{side}_embeddings")), as_array(getattr(model, f"{side}_biases"))
        if features is not None and features.shape[1] != len(rows):
            raise InputError(
                f"{side}_features must have one column a feature: {len(rows)}; got {features.shape[1]}; "
                "pass the matrix the model was trained with."
            )
        sides[f"{side}_factors"] = rows if features is None else np.asarray(features @ rows)
        sides[f"{side}_bias"] = bias if features is None else np.asarray(features @ bias)
    link = "identity" if getattr(model, "loss", None) == "logistic" else "ranking"
    # Its decay shrinks every row at every sample, by a step that adapts to each coordinate: no law is known.
    strengths = (getattr(model, f"{side}_alpha", None) for side in ("user", "item"))
    return FactorModel.from_user_item(**sides, link=link, objective=objective_of(*strengths, decayed=None))


def _surprise(model: Any) -> FactorModel:
    trainset = model.trainset
    biased = getattr(model, "biased", True) and _has(model, "bu", "bi")
    ids: dict[str, Any] = {}
    if _has(trainset, "to_raw_uid", "to_raw_iid"):
        ids["user_ids"] = np.array([trainset.to_raw_uid(row) for row in range(len(model.pu))])
        ids["item_ids"] = np.array([trainset.to_raw_iid(row) for row in range(len(model.qi))])
    biases = {"user_bias": model.bu, "item_bias": model.bi, "offset": trainset.global_mean} if biased else {}
    # NMF has no learning rate and keeps its factors positive; SVD++ adds implicit feedback to the users.
    by_samples = _has(model, "lr_pu", "reg_pu", "reg_qi") and not _has(model, "yj")
    objective = objective_of(model.reg_pu, model.reg_qi, decayed="factors-counted") if by_samples else None
    return FactorModel.from_user_item(model.pu, model.qi, **biases, **ids, objective=objective)


def _cornac(model: Any) -> FactorModel:
    use_bias = getattr(model, "use_bias", True)
    biases: dict[str, Any] = {
        f"{side}_bias": as_array(getattr(model, name))
        for side, name in (("user", "u_biases"), ("item", "i_biases"))
        if use_bias and _has(model, name)
    }
    offset = float(model.global_mean) if use_bias and biases.keys() == {"user_bias", "item_bias"} else 0.0
    link = "identity" if "user_bias" in biases or not biases else "ranking"
    # Its own SGD decays the rows of a sample; torch decays all rows of a batch.
    strength = getattr(model, "lambda_reg", None) if getattr(model, "backend", "cpu") == "cpu" else None
    objective = objective_of(strength, decayed="factors-counted")
    return FactorModel.from_user_item(
        as_array(model.u_factors), as_array(model.i_factors), **biases, offset=offset, link=link, objective=objective
    )


def _lenskit(model: Any) -> FactorModel:
    old = _has(model, "user_features_")
    names = ("user_features_", "item_features_") if old else ("user_embeddings", "item_embeddings")
    users, items = (as_array(getattr(model, name)) for name in names)
    extras: dict[str, Any] = {}
    for side, rows in (("user", users), ("item", items)):
        known = getattr(model, f"{side}_index_" if old else f"{side}s", None)
        ids: Any = known.ids() if known is not None and hasattr(known, "ids") else known
        if ids is not None and len(ids) == len(rows):
            extras[f"{side}_ids"] = as_array(ids)
    bias = getattr(model, "bias", None)
    for side in ("user", "item"):
        values = getattr(bias, f"{side}_biases", getattr(bias, f"{side}_offsets_", None))
        if values is not None:
            extras[f"{side}_bias"] = as_array(values)
    if bias is not None:
        extras["offset"] = float(getattr(bias, "global_bias", getattr(bias, "mean_", 0.0)))
    return FactorModel.from_user_item(users, items, **extras)


def _recbole(model: Any) -> FactorModel:
    users, items = as_array(model.user_embedding.weight), as_array(model.item_embedding.weight)
    if not _has(model, "USER_ID", "ITEM_ID"):
        return FactorModel.from_user_item(users, items)
    # RecBole keeps row 0 of every table for padding.
    ids: dict[str, Any] = {"user_ids": np.arange(1, len(users)), "item_ids": np.arange(1, len(items))}
    return FactorModel.from_user_item(users[1:], items[1:], **ids)


def _components(model: Any) -> FactorModel:
    names = getattr(model, "feature_names_in_", None)
    return FactorModel.from_vectors(np.asarray(model.components_).T, ids=names)


def _gensim(model: Any) -> FactorModel:
    vectors = getattr(model, "wv", model)
    return FactorModel.from_vectors(as_array(vectors.vectors), ids=np.array(vectors.index_to_key, dtype=np.str_))


READERS: tuple[tuple[tuple[str, ...], Callable[[Any], FactorModel]], ...] = (
    (("user_factors", "item_factors", "factors"), _implicit),
    (("pu", "qi", "trainset"), _surprise),
    (("u_factors", "i_factors"), _cornac),
    (("user_features_", "item_features_"), _lenskit),
    (("user_embeddings", "item_embeddings"), _lenskit),
    (("user_embedding", "item_embedding"), _recbole),
    (("coef_", "classes_"), classifier),
    (("coefs_", "out_activation_"), network_head),
    (("components_",), _components),
    (("vectors", "index_to_key"), _gensim),
    (("wv",), _gensim),
    (("weight", "out_features"), from_linear),
)
"""Attributes that tell a library, and what reads its models; the first match counts."""
