"""Live models of Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imitations import imitation

from embaudit.errors import InputError
from embaudit.io import load

DRAW = np.random.default_rng(7)
USERS, ITEMS = DRAW.normal(size=(4, 3)), DRAW.normal(size=(5, 3))
USER_IDS, ITEM_IDS = np.array([30, 10, 20, 40]), np.array([7, 5, 9, 1, 3])
ALS = "pyspark.ml.recommendation.ALSModel"


def table(ids: Any, rows: Any) -> Any:
    session = SimpleNamespace(
        createDataFrame=lambda pairs, columns: [
            dict(zip(columns, pair, strict=True)) for pair in pairs
        ]
    )
    frame = pd.DataFrame({"id": ids, "features": rows.tolist()})
    return SimpleNamespace(toPandas=lambda: frame, sparkSession=session)


class Row(dict[Any, Any]):
    """A row of Spark answers to numbers and names."""

    def __missing__(self, key: int) -> Any:
        return list(self.values())[key]


def als(far: float = 0.0, known: Any = ITEM_IDS, noise: float = 0.0) -> Any:
    def transform(_: Any, asked: Any) -> Any:
        found = []
        for row in asked:
            if row["film"] in known:
                score = (
                    USERS[row["viewer"] == USER_IDS][0]
                    @ ITEMS[row["film"] == ITEM_IDS][0]
                )
                score += far * (row["film"] == 5) + noise * (row["viewer"] != 10)
                found.append(Row(row, prediction=score))
        # Spark answers in any order.
        return SimpleNamespace(collect=lambda: found[::-1])

    columns = {"getUserCol": lambda _: "viewer", "getItemCol": lambda _: "film"}
    return imitation(
        ALS,
        userFactors=table(USER_IDS, USERS),
        itemFactors=table(ITEM_IDS, ITEMS),
        transform=transform,
        **columns,
    )


def test_rows_of_spark_follow_their_ids() -> None:
    model = load(als())
    np.testing.assert_allclose(
        model.scores(), USERS[[1, 2, 0, 3]] @ ITEMS[[3, 4, 1, 0, 2]].T, atol=1e-12
    )
    assert model.left_ids is not None
    assert model.right_ids is not None
    assert (model.left_ids.tolist(), model.right_ids.tolist()) == (
        [10, 20, 30, 40],
        [1, 3, 5, 7, 9],
    )
    assert model.objective == "factors-counted"


def test_other_scores_of_spark_are_refused() -> None:
    message = (
        "scores read from ALSModel must equal its own scores; got .* its transform says"
    )
    for wrong in (als(far=0.5), als(known=[1, 3, 7, 9])):
        with pytest.raises(InputError, match=message):
            load(wrong)
    with pytest.raises(InputError, match="ALSModel without itemFactors"):
        load(imitation(ALS, userFactors=table(USER_IDS, USERS)))


def test_a_pipeline_of_spark_is_its_model() -> None:
    def pipeline(*stages: Any) -> Any:
        return imitation("pyspark.ml.pipeline.PipelineModel", stages=list(stages))

    assert load(pipeline(SimpleNamespace(), als())).n_right == 5
    for stages, got in (((), "0"), ((als(), als()), "2")):
        with pytest.raises(
            InputError,
            match=f"must be a pipeline with one ALS model; got {got} ALS models; "
            f"pass the stage",
        ):
            load(pipeline(*stages))


@pytest.mark.parametrize("noise", [-1e-12, 0.0, 1e-12])
def test_a_refusal_names_the_first_of_equally_wrong_scores(noise: float) -> None:
    """Item 5 is row 2. Its scores for all users are off by 0.5, but for rounding."""
    with pytest.raises(InputError, match="row 0 of the left side, row 2 of the right"):
        load(als(far=0.5, noise=noise))
