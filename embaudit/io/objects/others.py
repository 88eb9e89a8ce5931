"""Objects that no table of attributes describes: indexes of vectors, ALS of Spark, pipelines of LensKit, LightFM."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import comes_from, require_fitted
from embaudit.io.objects.live_model import LiveModel
from embaudit.io.objects.recommenders import LIBRARIES
from embaudit.io.readers.faiss import vectors_of
from embaudit.io.readers.implicit import objective_of
from embaudit.io.readers.spark import of_rows
from embaudit.io.request import Request
from embaudit.model import FactorModel


def faiss(index: Any, request: Request) -> LiveModel:  # noqa: ARG001
    """Read the vectors of an index that stores them as they were given, and their ids."""
    # What an index was put into by may be known as an index of any kind only.
    rows, ids = vectors_of(import_module("faiss").downcast_index(index), "an index of FAISS")
    taken = {"right": "the vectors it keeps", "right_ids": "the ids it was given"}
    return LiveModel.of(FactorModel.from_vectors(rows, ids=ids), taken)


def hnswlib(index: Any, request: Request) -> LiveModel:  # noqa: ARG001
    """Read the vectors in the order of their labels; labels that only count rows are no ids.

    Raises
    ------
    InputError
        If it is empty, or some of its vectors are marked as deleted.
    """
    labels = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))
    if not len(labels):
        raise must_be("an index of hnswlib", "one with vectors", "none")
    try:
        rows = np.asarray(index.get_items(labels), dtype=np.float32)
    except RuntimeError as error:
        remedy = "pass the rows that are left to FactorModel.from_vectors"
        raise must_be("an index of hnswlib", "one without deleted vectors", str(error), remedy) from error
    counting = np.array_equal(labels, np.arange(len(labels)))
    taken = {"right": "the vectors it keeps", "right_ids": "their labels"}
    return LiveModel.of(FactorModel.from_vectors(rows, ids=None if counting else labels), taken)


def lenskit_pipeline(pipeline: Any, request: Request) -> LiveModel:
    """Read the scorer of a pipeline, or the one component that has factors.

    Raises
    ------
    InputError
        If none of its components has factors, or several have.
    """
    names = pipeline.component_names()
    parts = [pipeline.component(name) for name in (["scorer"] if "scorer" in names else names)]
    library = next(row for row in LIBRARIES if row.package == "lenskit")
    found = [part for part in parts if library.sides_of(part)]
    if len(found) != 1:
        got = f"{len(found)} among {', '.join(names)}"
        raise must_be("a pipeline of LensKit", "trained, with one model that has factors", got, "pass that model")
    return library.read(found[0], request)


def spark(model: Any, request: Request) -> LiveModel:
    """Read both tables of factors of ALS, rows in the order of their ids.

    Raises
    ------
    InputError
        If a pipeline holds no ALS model, or several.
    """
    if comes_from(model, ("pyspark",), ("PipelineModel",)):
        found = [stage for stage in model.stages if comes_from(stage, ("pyspark",), ("ALSModel",))]
        if len(found) != 1:
            raise must_be("a pipeline of Spark", "one with one ALS model", f"{len(found)} of them", "pass that stage")
        return spark(found[0], request)
    require_fitted(model, "userFactors", "itemFactors")
    made = of_rows(*_side(model.userFactors), *_side(model.itemFactors))
    user_ids, item_ids = np.asarray(made.left_ids), np.asarray(made.right_ids)

    def own(left_rows: Indices, right_rows: Indices) -> Floats:
        pairs = [(int(user), int(item)) for user in user_ids[left_rows] for item in item_ids[right_rows]]
        columns = [model.getUserCol(), model.getItemCol()]
        asked = model.userFactors.sparkSession.createDataFrame(pairs, columns)
        found = {(row[0], row[1]): row["prediction"] for row in model.transform(asked).collect()}
        return np.array([found.get(pair, np.nan) for pair in pairs]).reshape(len(left_rows), len(right_rows))

    taken = {"left": "userFactors.features", "right": "itemFactors.features", "left_ids": "userFactors.id",
             "right_ids": "itemFactors.id", "link": "its class"}  # fmt: skip
    return LiveModel.of(made, taken, own, "transform")


def _side(factors: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bring the columns id and features from wherever Spark keeps them."""
    frame = factors.toPandas()
    return frame["id"].to_numpy(), np.stack(frame["features"].tolist())


NONE = "none"
"""What the caller says of a side that was trained without features."""


def lightfm(model: Any, request: Request) -> LiveModel:
    """Sum the rows of each entity's features; nothing in the model tells whether it had any, so that has to be said.

    Raises
    ------
    InputError
        If the caller has not said what the features of a side are, or they are of another model.
    """
    require_fitted(model, "user_embeddings", "item_embeddings", "user_biases", "item_biases")
    features = {
        "user": _features(model, "user", request.user_features, request.left_ids),
        "item": _features(model, "item", request.item_features, request.ids),
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
        return LiveModel.of(made, taken)

    def own(users: Indices, items: Indices) -> Floats:
        several = items.astype(np.int32)
        return np.stack([model.predict(np.full(len(items), user, np.int32), several, **beside) for user in users])

    return LiveModel.of(made, taken, own)


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
