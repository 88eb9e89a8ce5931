"""Files above 64 MiB: an error occurs when the file is opened, as for a small file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from example_files import refusal
from pyarrow import parquet
from safetensors.numpy import save_file

from embaudit.io import load

N_ROWS, N_COLUMNS = 2**19 + 1, 32
"""One row more than 64 MiB of numbers in float32."""
FAULT = "must be finite; got nan at row 5, column 1; repair or drop that row."


def damaged(n_rows: int) -> np.ndarray:
    rows = np.ones((n_rows, N_COLUMNS), dtype=np.float32)
    rows[5, 1] = np.nan
    return rows


def write(path: Path, rows: np.ndarray) -> Path:
    """Write rows as a file of the suffix's format."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".safetensors":
        save_file({"lm_head.weight": rows}, path)
    else:
        ids = np.arange(len(rows)) + 70
        vectors = pa.FixedSizeListArray.from_arrays(rows.ravel(), rows.shape[1])
        parquet.write_table(pa.table({"id": ids, "vector": vectors}), path)
    return path


@pytest.mark.parametrize("n_rows", [9, N_ROWS])
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("v.npy", "item factors"),
        ("v.safetensors", "label factors (lm_head.weight)"),
        ("v.parquet", "item factors (vector)"),
    ],
)
def test_a_fault_is_told_with_the_file_the_array_and_the_row(
    name: str, what: str, n_rows: int, tmp_path: Path
) -> None:
    path = write(tmp_path / name, damaged(n_rows))
    assert refusal(load, path) == f"{path}: {what} {FAULT}"


def test_a_fault_of_one_of_two_files_is_told_with_the_name_of_that_file(
    tmp_path: Path,
) -> None:
    items = write(tmp_path / "items.npy", np.ones((9, N_COLUMNS)))
    users = write(tmp_path / "users.npy", damaged(9))
    sentence = refusal(load, items, left_file=str(users))
    assert f"{users}: user factors {FAULT}" in sentence
    sentence = refusal(load, users, left_file=str(items))
    assert sentence == f"{users}: item factors {FAULT}"


def test_a_large_table_keeps_its_rows_and_ids_if_its_file_is_gone(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "v.parquet", np.ones((N_ROWS, N_COLUMNS), np.float32))
    model = load(path)
    path.unlink()
    assert model.right_ids[:3].tolist() == [70, 71, 72]
    assert (model.right == 1).all()
