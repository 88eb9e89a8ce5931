"""Parquet, Feather and Arrow: names of columns, whole columns, a column of lists as a matrix, vectors in blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.arrow_room import claimed_bytes, require_room
from embaudit.io.codecs.npy import reason
from embaudit.io.codecs.unpacked import require_sense

if TYPE_CHECKING:
    import pyarrow as pa


BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, NotImplementedError, MemoryError, RuntimeError)
"""What Arrow raises at a file that is cut off, altered, or something else altogether."""
PARQUET = (".parquet", ".pq")
COUNTS = "interactions"
"""The column of the number of interactions behind each row."""
SUFFIXES = (*PARQUET, ".feather", ".arrow", ".ipc", ".arrows")
FILE = (b"ARROW1", b"FEA1")
"""What an Arrow file begins with; a stream, which HF datasets and the like write, has no such mark."""
END = bytes.fromhex("ffffffff00000000")
"""What a whole stream ends with."""


def names(path: Path) -> list[str]:
    """Return the names of the columns; nothing else is read.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    return list(schema(path)[0].names)


def schema(path: Path) -> tuple[pa.Schema, int]:
    """Read the types of the columns, and the number of rows; of a stream its narrowest column, nothing else.

    Raises
    ------
    InputError
        If the file cannot be read, or says that it holds more than memory does.
    """
    from pyarrow import parquet

    unpacked = 0
    try:
        if path.suffix.lower() in PARQUET:
            metadata = parquet.read_metadata(path)
            found, rows = metadata.schema.to_arrow_schema(), metadata.num_rows
            unpacked = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        else:
            found, rows = _arrow_schema(path)
        found = _plain(found)
        # Names are decoded only here.
        twice = next((name for name, count in Counter(found.names).items() if count > 1), None)
    except BROKEN as error:
        raise damaged(path, error) from error
    if twice is not None:
        raise must_be(f"the columns of {path}", "of different names", f"{twice!r} more than once", "rename one")
    require_room(path, max(unpacked, claimed_bytes(found.types, rows)))
    return found, rows


def _arrow_schema(path: Path) -> tuple[pa.Schema, int]:
    """Read the types of the columns of an Arrow file or stream, and the number of rows."""
    import pyarrow as pa
    from pyarrow import dataset, ipc

    with pa.memory_map(str(path)) as file:
        if not is_stream(path):
            return ipc.open_file(file).schema, dataset.dataset(path, format="feather").count_rows()
        found = ipc.open_stream(file).schema
    narrowest = min(range(len(found)), key=lambda place: claimed_bytes([found.field(place).type], 1), default=0)
    with pa.memory_map(str(path)) as file:
        batches = ipc.open_stream(file, options=ipc.IpcReadOptions(included_fields=[narrowest]))
        return found, sum(batch.num_rows for batch in batches)


def damaged(path: Path, error: Exception) -> InputError:
    """Say that a Parquet or Arrow file cannot be read."""
    allowed = f"a readable {path.suffix.lower()} table"
    return must_be(f"{path}", allowed, reason(error), "write it again")


def table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read columns of a Parquet, Feather or Arrow file.

    Raises
    ------
    InputError
        If it is damaged.
    """
    from pyarrow import feather

    try:
        known = schema(path)[0]
        if path.suffix.lower() in PARQUET:
            found = _parquet(path, columns, known)
        else:
            found = _streamed(path, columns) if is_stream(path) else feather.read_table(path, columns=columns)
            _require_texts(found, path)
        return found.cast(_plain(found.schema))
    except InputError:
        raise
    except BROKEN as error:
        raise damaged(path, error) from error


def is_stream(path: Path) -> bool:
    """Whether it is an Arrow file without a footer, to be read from its beginning."""
    if path.suffix.lower() in PARQUET:
        return False
    with path.open("rb") as file:
        return not file.read(6).startswith(FILE)


def _streamed(path: Path, columns: list[str] | None) -> pa.Table:
    """Read a stream."""
    from pyarrow import ipc

    require_end(path)
    with path.open("rb") as file:
        found = ipc.open_stream(file).read_all()
    return found if columns is None else found.select(columns)


def require_end(path: Path) -> None:
    """Refuse a stream that is cut off between two of its batches.

    Raises
    ------
    ValueError
        If it has no end.
    """
    with path.open("rb") as file:
        file.seek(-len(END), 2)
        if file.read() != END:
            raise ValueError("a stream without its end")


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the views of text that polars writes."""
    import pyarrow as pa
    from pyarrow import types

    for i, field in enumerate(schema):
        if types.is_string_view(field.type):
            schema = schema.set(i, field.with_type(pa.string()))
    return schema


def _parquet(path: Path, columns: list[str] | None, known: pa.Schema) -> pa.Table:
    """Read Parquet; texts as places in a dictionary first, where one long text for all rows takes no room yet."""
    from pyarrow import parquet, types

    leaves = parquet.read_metadata(path).schema
    texts = [leaf.path for leaf in map(leaves.column, range(len(leaves))) if leaf.physical_type == "BYTE_ARRAY"]
    found = parquet.read_table(path, columns=columns, read_dictionary=texts)
    _require_texts(found, path)
    for place, field in enumerate(found.schema):
        wanted = known.field(field.name)
        if field.type == wanted.type:
            continue
        # Arrow unpacks no dictionary within lists, but reads them unpacked.
        plain = found.column(place).cast(wanted.type) if types.is_dictionary(field.type) else None
        column = parquet.read_table(path, columns=[field.name]).column(0) if plain is None else plain
        column.validate(full=True)
        found = found.set_column(place, wanted, column)
    return found


def _require_texts(found: pa.Table, path: Path) -> None:
    """Refuse texts of a dictionary that would take far more room as one for each row."""
    # Arrow ends the process where it walks through damaged lists.
    found.validate(full=True)
    size = sum(_length_of_texts(chunk) for column in found.columns for chunk in column.chunks)
    require_sense(size, path.stat().st_size)


def _length_of_texts(column: pa.Array) -> int:
    """Add up the lengths of texts that lie in dictionaries, each as often as it is used."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_nested(kind):
        parts = (
            column.flatten() if types.is_struct(kind) else [column.values if types.is_map(kind) else column.flatten()]
        )
        return sum(map(_length_of_texts, parts))
    if not types.is_dictionary(kind) or not (types.is_unicode(kind.value_type) or _is_bytes(kind.value_type)):
        return 0
    return compute.sum(compute.binary_length(column.dictionary).take(column.indices)).as_py() or 0


def _is_bytes(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_large_unicode(kind))


def is_vectors(kind: pa.DataType) -> bool:
    """Whether a column holds lists of numbers."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


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
