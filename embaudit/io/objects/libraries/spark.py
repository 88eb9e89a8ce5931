"""Spark: ALSModel, alone or as a stage of a PipelineModel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import must_be
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.formats.spark import of_rows
from embaudit.io.objects.helpers import comes_from, require_fitted
from embaudit.io.options import Request
from embaudit.model import FactorModel

PLACES = {
    "left": "userFactors.features",
    "right": "itemFactors.features",
    "left_ids": "userFactors.id",
    "right_ids": "itemFactors.id",
    "link": "its class",
}


def read(source: Any, _request: Request) -> Contents:
    """Read both tables of factors of ALS, with rows in the order of their ids.

    Raises
    ------
    InputError
        If a pipeline holds no ALS model, or several.
    """
    als = source
    if comes_from(source, ("pyspark",), ("PipelineModel",)):
        als = _stage_of_als(source)
    require_fitted(als, "userFactors", "itemFactors")
    user_ids, users = _ids_and_features(als.userFactors)
    item_ids, items = _ids_and_features(als.itemFactors)
    model = of_rows(user_ids, users, item_ids, items)
    return Contents.from_model(model, PLACES, own=_own_scores(als, model))


def _stage_of_als(pipeline: Any) -> Any:
    stages = [
        stage
        for stage in pipeline.stages
        if comes_from(stage, ("pyspark",), ("ALSModel",))
    ]
    if len(stages) != 1:
        raise must_be(
            "a pipeline of Spark",
            "a pipeline with one ALS model",
            f"{len(stages)} ALS models",
            "pass the stage with the ALS model",
        )
    return stages[0]


def _ids_and_features(factors: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bring the columns `id` and `features` of a data frame from the cluster."""
    frame = factors.toPandas()
    return frame["id"].to_numpy(), np.stack(frame["features"].tolist())


def _own_scores(als: Any, model: FactorModel) -> OwnScores:
    """Return the predictions of `transform` for pairs; NaN for pairs that it drops."""
    user_ids, item_ids = np.asarray(model.left_ids), np.asarray(model.right_ids)

    def scores(left: Indices, right: Indices) -> Floats:
        pairs = [
            (int(user), int(item))
            for user, item in zip(user_ids[left], item_ids[right], strict=True)
        ]
        session = als.userFactors.sparkSession
        frame = session.createDataFrame(pairs, [als.getUserCol(), als.getItemCol()])
        predictions = {
            (row[0], row[1]): row["prediction"]
            for row in als.transform(frame).collect()
        }
        return np.array([predictions.get(pair, np.nan) for pair in pairs])

    return OwnScores(scores, "transform")
