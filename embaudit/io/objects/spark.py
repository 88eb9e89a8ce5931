"""Live models of Spark: ALS, by itself or in a pipeline that was fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.objects.library import comes_from, require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.spark import of_rows


def read(model: Any, given: Given) -> Reading:
    """Take both tables of factors, rows in the order of their ids.

    Raises
    ------
    InputError
        If a pipeline holds no ALS model, or several.
    """
    if comes_from(model, ("pyspark",), ("PipelineModel",)):
        found = [stage for stage in model.stages if comes_from(stage, ("pyspark",), ("ALSModel",))]
        if len(found) != 1:
            raise must_be("a pipeline of Spark", "one with one ALS model", f"{len(found)} of them", "pass that stage")
        return read(found[0], given)
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
    return Reading(made, own, "transform", taken=taken)


def _side(factors: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bring the columns id and features from wherever Spark keeps them."""
    frame = factors.toPandas()
    return frame["id"].to_numpy(), np.stack(frame["features"].tolist())
