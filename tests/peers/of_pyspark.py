"""Models of Spark: ALS alone and in a pipeline, as a live object and from saved
folders.
"""

from __future__ import annotations

import shutil
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from peers.trained import Peer, Trained

if TYPE_CHECKING:
    from pathlib import Path

    from peers.films import Films


@cache
def session() -> Any:
    from pyspark.sql import SparkSession

    if shutil.which("java") is None:
        pytest.skip("no Java")
    quiet = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    return SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()


def train(films: Films, *, piped: bool = False, **options: Any) -> Trained:
    from pyspark.ml import Pipeline
    from pyspark.ml.recommendation import ALS

    frame = session().createDataFrame(films.frame[["userId", "movieId", "rating"]])
    columns = {"userCol": "userId", "itemCol": "movieId", "ratingCol": "rating"}
    als = ALS(
        rank=8,
        maxIter=2,
        seed=0,
        numUserBlocks=2,
        numItemBlocks=2,
        **columns,
        **options,
    )
    made = (Pipeline(stages=[als]) if piped else als).fit(frame)

    def predict(users: Any, items: Any) -> Any:
        pairs = pd.DataFrame(
            {
                "userId": np.repeat(users, len(items)),
                "movieId": np.tile(items, len(users)),
            }
        )
        found = (
            made.transform(session().createDataFrame(pairs))
            .toPandas()
            .set_index(["userId", "movieId"])
        )
        order = pd.MultiIndex.from_frame(pairs)
        return found["prediction"].loc[order].to_numpy().reshape(len(users), len(items))

    def store(folder: Path) -> tuple[Path, dict[str, Any]]:
        made.save(str(folder / "model"))
        return folder / "model", {}

    return Trained(made, predict, {}, store)


PEERS = (
    Peer("pyspark", "ALSModel", train),
    Peer("pyspark", "ALSModel implicit", partial(train, implicitPrefs=True)),
    Peer("pyspark", "PipelineModel", partial(train, piped=True)),
)
