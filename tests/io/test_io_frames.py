"""Tables that pandas wrote with their index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from embaudit.io import load, read

if TYPE_CHECKING:
    from pathlib import Path

FRAME, IDS = np.random.default_rng(7).standard_normal((8, 3)), list("abcdefgh")


def written_csv(folder: Path, frame: pd.DataFrame, **options: Any) -> Path:
    frame.to_csv(folder / "frame.csv", **options)
    return folder / "frame.csv"


@pytest.mark.parametrize(
    ("index", "ids"),
    [
        (range(8), list(range(8))),
        ([9, 7, 5, 3, 1, 2, 4, 6], [9, 7, 5, 3, 1, 2, 4, 6]),
        (list("abcdefgh"), list("abcdefgh")),
    ],
)
@pytest.mark.parametrize(
    ("columns", "name"),
    [(range(3), None), (["x1", "x2", "x3"], None), (range(3), "thing")],
)
def test_the_index_of_a_data_frame_is_its_ids(
    tmp_path: Path, index: Any, ids: list[Any], columns: Any, name: str | None
) -> None:
    frame = pd.DataFrame(FRAME, index=index, columns=columns).rename_axis(name)
    model = load(written_csv(tmp_path, frame))
    np.testing.assert_array_equal(model.right, FRAME)
    assert model.right_ids is not None
    assert model.right_ids.tolist() == ids


@pytest.mark.parametrize(("first", "beside"), [(1, True), (0.5, True), (0.5, False)])
def test_a_first_column_without_a_name_that_is_no_index_is_left_over(
    tmp_path: Path, first: float, beside: bool
) -> None:
    frame = pd.DataFrame(FRAME, index=np.arange(8) + first).add_prefix("d")
    reading = read(written_csv(tmp_path, frame.assign(id=IDS) if beside else frame))
    np.testing.assert_array_equal(reading.model.right, FRAME)
    assert [part.name for part in reading.intake.left_over] == [
        "column 1, without a name"
    ]
    ids = reading.model.right_ids
    assert (None if ids is None else ids.tolist()) == (IDS if beside else None)


def test_the_index_that_pandas_keeps_in_parquet(tmp_path: Path) -> None:
    pd.DataFrame(FRAME, index=list("abcdefgh")).add_prefix("d").to_parquet(
        tmp_path / "frame.parquet"
    )
    model = load(tmp_path / "frame.parquet")
    np.testing.assert_array_equal(model.right, FRAME)
    assert model.right_ids is not None
    assert model.right_ids[7] == "h"
    # Of an index of several levels none is the ids.
    for names in (None, [None, "b"], ["a", "b"]):
        index = pd.MultiIndex.from_product([["u", "v"], list("abcd")], names=names)
        pd.DataFrame(FRAME, index=index).add_prefix("d").to_parquet(
            tmp_path / "frame.parquet"
        )
        assert load(tmp_path / "frame.parquet").right_ids is None
