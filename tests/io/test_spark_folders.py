"""Folders of ALS models that Spark saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import refusal, table, write_all

from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

USERS = {"id": [3, 1], "features": [[1.0, 2.0], [3.0, -4.0]]}
ITEMS = {"id": [9, 8, 7], "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}


def side(columns: dict[str, Any]) -> dict[str, Any]:
    return {"part-0.parquet": table(columns), "_SUCCESS": ""}


FOLDERS = [
    {"userFactors": side(USERS), "itemFactors": side(ITEMS)},
    # MLlib, which came before Spark ML.
    {"data": {"user": side(USERS), "product": side(ITEMS)}},
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_are_sorted_by_their_ids(tmp_path: Path, folder: Any) -> None:
    model = load(write_all(tmp_path, {"d": folder}))
    assert model.left_ids.tolist() == [1, 3]
    assert model.left.tolist() == [[3, -4], [1, 2]]
    assert model.right_ids.tolist() == [7, 8, 9]
    assert model.right.tolist() == [[1, 1], [0, 1], [1, 0]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_scores_of_spark_are_products_of_rows(tmp_path: Path, folder: Any) -> None:
    model = load(write_all(tmp_path, {"d": folder}))
    assert model.predictions().tolist() == [[-1, -4, 3], [3, 2, 1]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_spark_decays_each_row_by_the_number_of_its_interactions(
    tmp_path: Path, folder: Any
) -> None:
    model = load(write_all(tmp_path, {"d": folder}))
    assert model.objective == "factors-counted"


@pytest.mark.parametrize(
    ("folder", "options", "part"),
    [
        ({}, {"format": "spark"}, "it holds no factors"),
        (
            {"userFactors": side(USERS)},
            {},
            "got no itemFactors; copy the whole directory",
        ),
        (
            {"data": {"user": side(USERS)}},
            {},
            "got no data/product; copy the whole directory",
        ),
        (
            {"stages": {"0_a": {"itemFactors": {}}, "1_b": {"itemFactors": {}}}},
            {},
            "got 0_a, 1_b; name the folder of one of its stages",
        ),
    ],
)
def test_folders_without_one_whole_model_are_refused(
    tmp_path: Path, folder: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"d": folder})
    assert part in refusal(load, path, **options)


def test_one_side_alone_is_a_table_of_vectors(tmp_path: Path) -> None:
    model = load(write_all(tmp_path, {"userFactors": side(USERS)}))
    assert (model.left, model.right_ids.tolist()) == (None, [3, 1])
    np.testing.assert_array_equal(model.right, USERS["features"])
