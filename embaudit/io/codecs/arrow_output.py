"""Parquet and Arrow files that embaudit writes: columns beside vectors of fixed size, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import NDArray

from embaudit.io.codecs.arrays import Stream

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
