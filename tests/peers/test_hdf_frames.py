"""The line that a refusal of a data frame in HDF5 prints runs on files of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("tables")
ROWS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
IDS = [f"i{k}" for k in range(8)]
FRAMES = {
    "numbers": pd.DataFrame(ROWS, index=IDS),
    "names": pd.DataFrame(ROWS, index=IDS).add_prefix("e"),
    "columns": pd.DataFrame(ROWS).add_prefix("e").assign(id=IDS, title="t"),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("layout", ["fixed", "table"])
def test_the_line_takes_a_data_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, layout: str
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAMES[name].to_hdf("v.h5", key="emb", format=layout)
    with pytest.raises(InputError) as refused:
        load("v.h5")
    exec(str(refused.value).partition("in Python: ")[2].removesuffix("."), {})
    model = load("vectors.parquet")
    np.testing.assert_array_equal(model.right, ROWS)
    assert model.right_ids.tolist() == IDS
