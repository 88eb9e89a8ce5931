"""Rows that are decoded are exact, on disk where they are many, and in memory where no disk has room."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from embaudit.io import load, read
from embaudit.io.codecs.gguf import Gguf
from embaudit.linalg import scratch

ROWS = np.random.default_rng(0).standard_normal((37, 5)).astype(np.float16)
WIDE = ROWS.astype(np.float32)


def lies_on_disk(array):
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


@pytest.mark.parametrize("kind", ["Q8_0", "F16", "BF16"])
def test_rounded_tensors_are_undone_there(kind, tmp_path, monkeypatch):
    rows = np.random.default_rng(1).standard_normal((40, 32)).astype(np.float32)
    number = gguf.GGMLQuantizationType[kind]
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("output.weight", gguf.quantize(rows, number), raw_dtype=number)
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    in_memory = Gguf(tmp_path / "m.gguf")["output.weight"]
    monkeypatch.setattr(scratch, "HELD", 0)
    on_disk = Gguf(tmp_path / "m.gguf")["output.weight"]
    assert [lies_on_disk(x) for x in (in_memory, on_disk)] == [False, True]
    assert np.abs(on_disk - rows).max() < 0.03
    assert on_disk.tolist() == in_memory.tolist()
    assert lies_on_disk(load(tmp_path / "m.gguf").right)


def written(path: Path, rows: np.ndarray) -> Path:
    """Write rows by the name of the file: a list a row, or a column a dimension; packed, or as a stream."""
    values = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    columns = {f"d{i}": rows[:, i] for i in range(rows.shape[1])} if "wide" in path.name else {"vector": values}
    # What is not read comes first, so that places in the file and in what is read differ.
    table = pa.table({"id": np.arange(len(rows)) + 70, **columns})
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=15)
    elif path.suffix == ".arrows":
        with ipc.new_stream(path, table.schema) as file:
            file.write_table(table, max_chunksize=15)
    else:
        packed = "zstd" if "packed" in path.name else "uncompressed"
        feather.write_feather(table, str(path), compression=packed, chunksize=15)
    return path


NAMES = [f"{kind}{suffix}" for kind in ("lists", "wide", "packed", "packed_wide")
         for suffix in (".parquet", ".feather", ".arrows")]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_decoded_there(name, tmp_path, monkeypatch):
    path = written(tmp_path / name, WIDE)
    in_memory = load(path).right
    monkeypatch.setattr(scratch, "HELD", 0)
    found = load(path)
    assert [lies_on_disk(x) for x in (in_memory, found.right)] == [False, True]
    assert found.right.tolist() == in_memory.tolist() == WIDE.tolist()
    assert found.right_ids.tolist() == list(range(70, 107))
    half = load(written(tmp_path / f"half_{name}", ROWS))
    assert (half.right.dtype, half.right.tolist()) == (np.float32, WIDE.tolist())
    assert read(path).intake.parts[0].shape[0] == 37
