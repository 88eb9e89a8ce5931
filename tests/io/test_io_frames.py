"""Tables that data frames write with their index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

FRAME = np.random.default_rng(7).standard_normal((8, 3))


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
@pytest.mark.parametrize(("columns", "name"), [(range(3), None), (["x1", "x2", "x3"], None), (range(3), "thing")])
def test_the_index_of_a_data_frame_is_its_ids(
    tmp_path: Path, index: Any, ids: list[Any], columns: Any, name: str | None
) -> None:
    frame = pd.DataFrame(FRAME, index=index, columns=columns).rename_axis(name)
    model = load(written_csv(tmp_path, frame))
    np.testing.assert_array_equal(model.right, FRAME)
    assert model.right_ids is not None
    assert model.right_ids.tolist() == ids


def test_row_numbers_beside_ids_are_no_dimension(tmp_path: Path) -> None:
    frame = pd.DataFrame(FRAME).add_prefix("d")
    frame.insert(0, "id", list("abcdefgh"))
    model = load(written_csv(tmp_path, frame))
    np.testing.assert_array_equal(model.right, FRAME)
    assert model.right_ids is not None
    assert model.right_ids[1] == "b"
    with pytest.raises(InputError, match="has no name, must be the row numbers"):
        load(written_csv(tmp_path, frame.set_axis(range(1, 9))))


@pytest.mark.parametrize(
    ("index", "got"), [([0, 0, 1, 2, 3, 4, 5, 6], "some more than once"), (np.arange(8) + 0.5, "numbers such as 0.5")]
)
def test_a_first_column_without_a_name_must_be_an_index(tmp_path: Path, index: Any, got: str) -> None:
    with pytest.raises(InputError, match=f"has no name, must be an index.*{got}"):
        load(written_csv(tmp_path, pd.DataFrame(FRAME, index=index)))


def test_the_index_that_pandas_keeps_in_parquet(tmp_path: Path) -> None:
    pd.DataFrame(FRAME, index=list("abcdefgh")).add_prefix("d").to_parquet(tmp_path / "frame.parquet")
    model = load(tmp_path / "frame.parquet")
    np.testing.assert_array_equal(model.right, FRAME)
    assert model.right_ids is not None
    assert model.right_ids[7] == "h"
