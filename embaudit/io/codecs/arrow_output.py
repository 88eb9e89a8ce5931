"""Parquet and Arrow files that embaudit writes: columns beside vectors of fixed size, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.arrow import stacked

if TYPE_CHECKING:
    import pyarrow as pa


def write(file: IO[bytes], stream: Stream, columns: Mapping[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Write Parquet with the columns given and a vector of fixed size a row, a block of rows at a time."""
    from pyarrow import parquet

    schema = _schema(stream, columns, metadata)
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, schema, **options) as writer:
        for batch in _batches(stream, columns, schema):
            writer.write_batch(batch)


def write_file(file: IO[bytes], stream: Stream, columns: Mapping[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Write the same as an Arrow file, which Feather is."""
    from pyarrow import ipc

    schema = _schema(stream, columns, metadata)
    with ipc.new_file(file, schema) as writer:
        for batch in _batches(stream, columns, schema):
            writer.write_batch(batch)


def _schema(stream: Stream, columns: Mapping[str, NDArray[Any]], metadata: dict[str, str]) -> pa.Schema:
    import pyarrow as pa

    fields = [(name, pa.array(values[:0]).type) for name, values in columns.items()]
    vector = pa.list_(pa.from_numpy_dtype(stream.dtype), stream.shape[1])
    return pa.schema([*fields, ("vector", vector)], metadata=metadata)


def _batches(stream: Stream, columns: Mapping[str, NDArray[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    start = 0
    for block in stream.rows():
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), stream.shape[1])
        beside = [pa.array(values[start : start + len(block)]) for values in columns.values()]
        yield pa.record_batch([*beside, vectors], schema=schema)
        start += len(block)


def stored_rows(path: Path, rows: slice) -> NDArray[Any]:
    """Read some rows of the column that `write` calls vector, and only the groups of rows they lie in."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        lengths = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = np.cumsum(lengths)
        first, last = np.searchsorted(ends, [rows.start, rows.stop - 1], side="right")
        groups = file.read_row_groups(list(range(first, last + 1)), columns=["vector"])
    start = rows.start - int(ends[first] - lengths[first])
    return stacked(groups.column(0), "vector")[start : start + rows.stop - rows.start]
