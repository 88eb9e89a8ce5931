"""Vectors in Parquet, Feather and Arrow files, a batch of rows at a time: a column of lists, or many of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import storage_of
from embaudit.io.codecs.arrow import BROKEN, PARQUET, damaged, is_stream, is_vectors, require_end, schema
from embaudit.io.codecs.held import held

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2048
"""Rows of Parquet that are read at a time."""


def stacked(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Stack a column of lists of numbers, of fixed size or not, into a matrix of shape (n, k), chunk by chunk.

    Raises
    ------
    InputError
        If a list is missing, or the lists differ in length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> stacked(pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]]), "vectors")
    array([[1., 2.], [3., 4.]])
    """
    if not is_vectors(column.type):
        raise must_be(name, "lists of numbers", str(column.type))
    return np.concatenate(list(_stacked_parts(column.chunks, name)))


def _stacked_parts(chunks: Iterable[pa.Array], name: str) -> Iterator[NDArray[Any]]:
    from pyarrow import compute

    width: int | None = None
    done = 0
    for chunk in chunks:
        if not len(chunk):
            continue
        if chunk.null_count:
            row = done + compute.index(chunk.is_null(), True).as_py()
            raise must_be(name, "a vector in every row", f"none in row {row}", "drop that row")
        lengths = compute.list_value_length(chunk).to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if width is None else width
        wrong = np.flatnonzero(lengths != width)
        if len(wrong):
            got = f"{lengths[wrong[0]]} in row {done + wrong[0]}"
            raise must_be(name, f"vectors of {width} numbers, as the first is", got)
        values = chunk.flatten()
        if values.null_count:
            raise must_be(name, "free of missing numbers", f"{values.null_count} missing")
        yield values.to_numpy(zero_copy_only=False).reshape(len(chunk), width)
        done += len(chunk)


def width(path: Path, column: str) -> int:
    """Return how long the lists of a column are by what a file says of itself; 0 where it does not tell."""
    from pyarrow import parquet, types

    kind = schema(path)[0].field(column).type
    if types.is_fixed_size_list(kind):
        return int(kind.list_size)
    if path.suffix.lower() not in PARQUET:
        return 0
    try:
        metadata = parquet.read_metadata(path)
        leaves = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path.startswith(f"{column}.")]
        groups = range(metadata.num_row_groups)
        values = sum(metadata.row_group(group).column(i).num_values for i in leaves for group in groups)
    except BROKEN as error:
        raise damaged(path, error) from error
    whole = len(leaves) == 1 and metadata.num_rows > 0 and values % metadata.num_rows == 0
    return values // metadata.num_rows if whole else 0


def matrix(path: Path, column: str, name: str) -> NDArray[Any]:
    """Read a column of lists as `stacked` does, some rows at a time; see `held` for where they are held.

    Raises
    ------
    InputError
        If the file is damaged, or as `stacked` does.
    """

    def parts() -> Iterator[NDArray[Any]]:
        return _stacked_parts((batch.column(column) for batch in _batches(path, [column])), name)

    try:
        first = next(parts(), None)
        if first is None:
            raise ValueError("no rows")
        return held((_rows(path), first.shape[1]), storage_of(first.dtype), parts())
    except InputError:
        raise
    except BROKEN as error:
        raise damaged(path, error) from error


def side_by_side(path: Path, columns: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
    """Read columns of numbers as a matrix, some rows at a time; see `held` for where they are held.

    Raises
    ------
    InputError
        If the file is damaged, or numbers are missing.
    """

    def parts() -> Iterator[NDArray[Any]]:
        for batch in _batches(path, columns):
            chosen = [batch.column(name) for name in columns]
            if any(column.null_count for column in chosen):
                raise _missing(path, columns)
            yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in chosen])

    try:
        return held((_rows(path), len(columns)), storage_of(np.dtype(dtype)), parts())
    except InputError:
        raise
    except BROKEN as error:
        raise damaged(path, error) from error


def _missing(path: Path, columns: Sequence[str]) -> InputError:
    missing = sum(batch.column(name).null_count for batch in _batches(path, columns) for name in columns)
    return must_be(f"the vectors of {path}", "free of missing numbers", f"{missing} missing")


def _rows(path: Path) -> int:
    return schema(path)[1]


def _batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in (_of_parquet if path.suffix.lower() in PARQUET else _of_arrow)(path, columns):
        # Arrow ends the process where it walks through damaged lists.
        batch.validate(full=True)
        yield batch


def _of_parquet(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    # Mapped, or Arrow holds the packed numbers of a whole group of rows.
    with parquet.ParquetFile(path, memory_map=True) as file:
        # Asked for all groups of rows at once, Arrow keeps those it has decoded.
        for group in range(file.num_row_groups):
            yield from file.iter_batches(ROWS, row_groups=[group], columns=list(columns), use_threads=False)


def _of_arrow(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that the file was written in; those that are not packed stay on disk."""
    import pyarrow as pa
    from pyarrow import ipc

    places = schema(path)[0]
    options = ipc.IpcReadOptions(included_fields=sorted(places.get_field_index(name) for name in columns))
    with pa.memory_map(str(path)) as file:
        if is_stream(path):
            require_end(path)
            yield from ipc.open_stream(file, options=options)
            return
        reader = ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


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
