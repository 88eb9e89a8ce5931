"""Tables in Parquet, Feather and Arrow, in one file or many, read in batches."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import storage_of
from embaudit.core.parallel import fill_in_threads
from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.arrays import are_signs
from embaudit.io.damaged import READ_ERRORS, reason
from embaudit.io.files import existing_file
from embaudit.io.tables.delimited import require_distinct
from embaudit.io.tables.lists import is_vectors, stack_lists
from embaudit.io.unpacked import require_sense
from embaudit.linalg.scratch import scratch

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
COUNTS = "interactions"
"""The column of the number of interactions behind each row."""
SUFFIXES = (*PARQUET, ".feather", ".arrow", ".ipc", ".arrows")
FILE_MARKS = (b"ARROW1", b"FEA1")
"""First bytes of an Arrow file. A stream, as of Hugging Face datasets, has none."""
STREAM_END = bytes.fromhex("ffffffff00000000")
"""Last bytes of a complete stream."""
BATCH_ROWS = 4096
"""Rows that are read at a time from Parquet, if a column holds lists."""
BATCH_ROWS_OF_NUMBERS = 8 * BATCH_ROWS
"""Rows that are read at a time without lists. More, because each of many columns of
numbers costs a call per batch.
"""
WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
"""Bytes of a value by its physical type in Parquet; one byte for other types."""
SAFE_BYTES = 2**26
"""Bytes that a file of any size can unpack to. Tables are copied twice on the way to a
model, so this is less than for other files.
"""
PLAUSIBLE_RATIO = 10
"""Largest ratio of unpacked to packed bytes of a file of vectors. A larger claim must
fit into memory. Real vectors can exceed memory, because they are read in batches.
"""
MEMORY = Path("/proc/meminfo")
"""File of Linux that states the available memory."""


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """The columns of a table in files, in memory or in a store.

    Several files are read as one table, one below another.
    """

    path: Path
    """The file, or the folder of the files, for messages."""
    schema: pa.Schema
    """Names and types, without dictionaries and views of text."""
    lengths: tuple[int, ...]
    """Rows of each file; a table in memory or in a store has one length."""
    files: tuple[Path, ...] = ()
    constants: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)
    """Columns of each file that its folders name, such as `year=2020`."""
    content: pa.Table | None = None
    """The columns of a table in memory."""
    scan: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    """Reads columns of a table in a store; None for files and tables in memory."""

    @classmethod
    def from_store(
        cls,
        path: Path,
        schema: pa.Schema,
        n_rows: int,
        scan: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
    ) -> ArrowTable:
        """Wrap a table of a store. `scan` must read rows in one order every time."""
        return cls(path, _plain(schema), (n_rows,), scan=scan)

    @classmethod
    def from_memory(cls, path: Path, content: pa.Table) -> ArrowTable:
        """Wrap a table in memory. Messages name `path`."""
        return cls(path, _plain(content.schema), (content.num_rows,), content=content)

    @classmethod
    def open(cls, path: Path, files: Sequence[Path] = ()) -> ArrowTable:
        """Read the names and types of the columns and the number of rows.

        Raises
        ------
        InputError
            If a file is damaged or has other columns than the first file, or if the
            files claim to hold more than fits into memory.
        """
        files = tuple(files) or (path,)
        headers = [_header(existing_file(file)) for file in files]
        constants = {file: _constants(file.relative_to(path)) for file in files}
        schema = _with_constants(headers[0][0], constants[files[0]])
        for file, (header, _, _) in zip(files, headers, strict=True):
            other = _with_constants(header, constants[file])
            # Columns are read by name, so their order does not matter.
            if set(other) != set(schema):
                here, there = _list_missing(other, schema), _list_missing(schema, other)
                raise must_be(
                    Sentence("the columns of {}", File(file)),
                    Sentence("the columns of {}", File(files[0])),
                    f"{here} in place of {there}",
                    "write it with the same columns, or name the tables to read",
                )
        lengths = tuple(header[1] for header in headers)
        # Two lower bounds: the sizes in the headers, and the widths of the types.
        claimed = sum(header[2] for header in headers)
        smallest = sum(lengths) * sum(width_of(kind) for kind in schema.types)
        _require_room(path, files, max(claimed, smallest))
        return cls(path, schema, lengths, files, constants)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(self.lengths)

    def batches(
        self, columns: Sequence[str], files: Sequence[Path] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns, file by file; of all files by default.

        Raises
        ------
        InputError
            If a file is damaged.
        """
        import pyarrow as pa

        if self.scan is not None:
            yield from self.scan(columns)
            return
        if self.content is not None:
            yield from self.content.select(list(columns)).to_batches()
            return
        for file in self.files if files is None else files:
            constants = {
                name: value
                for name, value in self.constants[file].items()
                if name in columns
            }
            stored = [name for name in columns if name not in constants]
            try:
                if file.suffix.lower() in PARQUET:
                    # Each of several files is read in a thread of its own already.
                    is_alone = len(self.files) == 1
                    batches = _of_parquet(
                        file, stored, self.schema, in_threads=is_alone
                    )
                else:
                    batches = _of_arrow(file, stored)
                for batch in batches:
                    # Arrow ends the process at damaged lists that are not validated.
                    batch.validate(full=True)
                    for name, value in constants.items():
                        batch = batch.append_column(name, pa.repeat(value, len(batch)))
                    yield batch
            except InputError:
                raise
            except READ_ERRORS as error:
                raise damaged(file, error) from error

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column.

        Raises
        ------
        InputError
            If a file is damaged, or would unpack to far more bytes than it has.
        """
        import pyarrow as pa
        from pyarrow import types

        kind = self.schema.field(name).type
        size = 0
        chunks = []
        packed = sum(file.stat().st_size for file in self.files)
        for batch in self.batches([name]):
            chunk = batch.column(name)
            try:
                # A file can store a text once for all rows. Add up the length of the
                # copies before they are made.
                if types.is_dictionary(chunk.type) and self.files:
                    size += _length_of_texts(chunk)
                    require_sense(size, packed)
                chunks.append(chunk.cast(kind))
            except (ValueError, NotImplementedError) as error:
                raise damaged(self.path, error) from error
        column = pa.chunked_array(chunks, kind)
        if len(column) != self.rows:
            raise damaged(
                self.path, ValueError(f"{len(column)} of {self.rows} rows of {name}")
            )
        return column

    def to_pandas(self) -> pd.DataFrame:
        """Read all columns."""
        import pandas as pd
        import pyarrow as pa

        if not self.rows:
            # pyarrow ends the process if it converts list views without rows.
            return pd.DataFrame(columns=self.schema.names)
        columns = {name: self.column(name) for name in self.schema.names}
        return pa.table(columns, schema=self.schema).to_pandas()  # type: ignore[no-any-return]

    def first_list(self, name: str, called: Sentence) -> NDArray[Any]:
        """Read the first list of a column, for the length of lists and their type.

        If the type of the column tells both, zeros are returned, so that no store
        starts a scan for one row. This is so for floats in lists of fixed length.

        Returns
        -------
        array of shape (1, k), or (0, 0) if there are no rows
        """
        from pyarrow import types

        kind = self.schema.field(name).type
        if (
            types.is_fixed_size_list(kind)
            and types.is_floating(kind.value_type)
            and self.rows
            and kind.list_size
        ):
            return np.zeros((1, kind.list_size), kind.value_type.to_pandas_dtype())
        for batch in self.batches([name]):
            if len(batch):
                return stack_lists(batch.column(0).slice(0, 1), called)
        return np.empty((0, 0))

    def matrix(self, name: str, called: Sentence) -> NDArray[Any]:
        """Read a column of lists as a matrix, several files in parallel.

        A large matrix is backed by a temporary file; see `scratch`.

        Raises
        ------
        InputError
            If a file is damaged, or as `stack_lists` does.
        """
        from pyarrow import types

        kind = self.schema.field(name).type
        if not is_vectors(kind):
            raise must_be(called, "lists of numbers", str(kind))
        # A table in memory comes from JSON, which writes 1 for 1.0. Other integers are
        # counts or codes, unless all are 1 or -1.
        is_json = self.content is not None
        are_numbers = types.is_floating(kind.value_type) or (
            is_json and types.is_int64(kind.value_type)
        )
        first = self.first_list(name, called)
        width = first.shape[1]

        def fill(out: NDArray[Any], batch: pa.RecordBatch, row: int) -> None:
            out[:] = stack_lists(batch.column(0), called, row, width)

        refusal = must_be(
            called,
            "lists of floating-point numbers",
            f"{kind.value_type}, counts or codes",
            "store the original numbers as float32",
        )
        # Most codes are refused by the first row, before all rows are read.
        if not are_numbers and not (np.abs(first) == 1).all():
            raise refusal
        rows = self._filled([name], width, first.dtype, fill)
        if not are_numbers and not are_signs(rows):
            raise refusal
        return rows

    def side_by_side(self, columns: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
        """Read columns of numbers as a matrix, several files in parallel.

        A large matrix is backed by a temporary file; see `scratch`.

        Raises
        ------
        InputError
            If a file is damaged, or numbers are missing.
        """

        def fill(out: NDArray[Any], batch: pa.RecordBatch, _row: int) -> None:
            if any(column.null_count for column in batch.columns):
                missing = sum(
                    column.null_count
                    for batch in self.batches(columns)
                    for column in batch.columns
                )
                raise must_be(
                    Sentence("the vectors of {}", File(self.path)),
                    "free of missing numbers",
                    f"{missing} missing",
                )
            np.stack(
                [batch.column(name).to_numpy(zero_copy_only=False) for name in columns],
                axis=1,
                out=out,
            )

        return self._filled(columns, len(columns), dtype, fill)

    def _filled(
        self,
        columns: Sequence[str],
        width: int,
        dtype: DTypeLike,
        fill: Callable[[NDArray[Any], pa.RecordBatch, int], None],
    ) -> NDArray[Any]:
        """Fill a matrix batch by batch.

        `fill(out, batch, row)` writes a batch, which begins at `row`, to rows `out`.
        """
        matrix = scratch((self.rows, width), storage_of(np.dtype(dtype)))
        # The rows of each file are known, so files are decoded in parallel without
        # locks.
        file_ends = np.cumsum(self.lengths)

        def fill_from(number: int) -> None:
            n_rows = self.lengths[number]
            file_end = int(file_ends[number])
            file_start = file_end - n_rows
            n_read = 0
            for batch in self.batches(columns, self.files[number : number + 1]):
                start = file_start + n_read
                end = start + len(batch)
                n_read += len(batch)
                if len(batch) and end <= file_end:
                    fill(matrix[start:end], batch, start)
            if n_read != n_rows:
                file = self.path
                if self.files:
                    file = self.files[number]
                raise damaged(file, ValueError(f"{n_read} of {n_rows} rows"))

        fill_in_threads(fill_from, range(len(self.lengths)))
        matrix.flags.writeable = False
        return matrix


def _list_missing(schema: pa.Schema, other: pa.Schema) -> str:
    """List the columns of one schema that another one does not have."""
    missing = [column for column in schema if column not in set(other)]
    return ", ".join(f"{column.name} ({column.type})" for column in missing) or "none"


def _header(path: Path) -> tuple[pa.Schema, int, int]:
    """Return the schema of a file, its number of rows, and its unpacked size in bytes.

    The size is what the header claims; 0 for Arrow, whose header does not say.
    """
    from pyarrow import parquet

    try:
        metadata = None
        if path.suffix.lower() in PARQUET:
            metadata = parquet.read_metadata(path)
            schema = _plain(metadata.schema.to_arrow_schema())
        else:
            schema = _plain(_schema_of_arrow(path))
        # Names are decoded only here.
        require_distinct(schema.names, path)
        _require_lengths(schema)
        if not schema.names:
            raise must_be(File(path), "a table with columns", "no columns")
        if metadata is not None:
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            size = sum(group.total_byte_size for group in groups)
            return schema, metadata.num_rows, size + _size_of_lists(path, metadata)
        # The header of an Arrow file does not have the number of rows. Count the rows
        # of the narrowest column.
        narrowest = min(schema, key=lambda column: width_of(column.type))
        n_rows = sum(batch.num_rows for batch in _of_arrow(path, [narrowest.name]))
        return schema, n_rows, 0
    except InputError:
        raise
    except READ_ERRORS as error:
        raise damaged(path, error) from error


def _require_lengths(schema: pa.Schema) -> None:
    """Raise ValueError if a type has lists of a negative length."""
    from pyarrow import types

    for column in schema:
        if types.is_fixed_size_list(column.type) and column.type.list_size < 0:
            raise ValueError(f"lists of {column.type.list_size} numbers")


def _size_of_lists(path: Path, metadata: Any) -> int:
    """Return the bytes of all values in lists, which can have any length."""
    leaves = [metadata.schema.column(leaf) for leaf in range(metadata.num_columns)]
    # In Parquet, a column of lists is a leaf whose values repeat.
    in_lists = [
        leaf for leaf, column in enumerate(leaves) if column.max_repetition_level > 0
    ]
    _require_sound_columns(path, metadata, in_lists)
    size = 0
    for leaf in in_lists:
        width = WIDTHS.get(leaves[leaf].physical_type, 1)
        for group in range(metadata.num_row_groups):
            size += width * metadata.row_group(group).column(leaf).num_values
    return size


class _UnreadFile(io.FileIO):
    """A file that gives its size but no content, and counts attempts to read it."""

    n_reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return no bytes, as at the end of a file."""
        del size
        self.n_reads += 1
        return b""


def _require_sound_columns(path: Path, metadata: Any, leaves: Sequence[int]) -> None:
    """Raise OSError if the header of a column is damaged.

    pyarrow ends the process if `metadata.row_group(group).column(leaf)` fails, because
    it does not translate this exception of C++. Before Arrow reads rows, it looks at
    the same headers, and there an exception is translated. Reading rows always fails
    here, so no memory is needed: the header is damaged if reading failed before the
    first attempt to read rows.
    """
    from pyarrow import parquet

    if not leaves:
        return
    # With a buffer, Arrow reads nothing until it has looked at all columns.
    with (
        _UnreadFile(path) as content,
        parquet.ParquetFile(content, metadata=metadata, buffer_size=1) as file,
    ):
        for group in range(file.num_row_groups):
            content.n_reads = 0
            try:
                next(file.reader.iter_batches(1, [group], list(leaves)), None)
            except OSError:
                if content.n_reads == 0:
                    raise


def _constants(path: Path) -> dict[str, Any]:
    """Return the columns in names of folders, as Hive and Spark write `year=2020`."""
    constants = {}
    for folder in path.parts[:-1]:
        name, equals, value = folder.partition("=")
        if equals:
            constants[name] = unquote(value)
    return constants


def _with_constants(schema: pa.Schema, constants: Mapping[str, Any]) -> pa.Schema:
    """Add the columns in names of folders to a schema, unless it has them."""
    import pyarrow as pa

    for name in constants:
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
    return schema


def _of_parquet(
    path: Path, columns: Sequence[str], schema: pa.Schema, *, in_threads: bool
) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns of a file, which `in_threads` decodes in parallel."""
    from pyarrow import parquet, types

    # Texts are read as dictionaries, so that a long text that all rows have is stored
    # once. The file is mapped, because otherwise Arrow holds a whole row group in
    # memory.
    texts = [name for name in columns if is_text(schema.field(name).type)]
    has_lists = any(types.is_nested(schema.field(name).type) for name in columns)
    rows = BATCH_ROWS if has_lists else BATCH_ROWS_OF_NUMBERS
    with parquet.ParquetFile(path, memory_map=True, read_dictionary=texts) as file:
        # Row groups are read one by one, because Arrow otherwise keeps decoded ones.
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                rows, row_groups=[group], columns=list(columns), use_threads=in_threads
            )


def _schema_of_arrow(path: Path) -> pa.Schema:
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as file:
        if is_stream(path):
            return ipc.open_stream(file).schema
        return ipc.open_file(file).schema


def _of_arrow(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file; uncompressed ones are mapped, not read."""
    import pyarrow as pa
    from pyarrow import ipc

    schema = _schema_of_arrow(path)
    # Buffers of other columns stay on disk.
    options = ipc.IpcReadOptions(
        included_fields=sorted(schema.get_field_index(name) for name in columns)
    )
    with pa.memory_map(str(path)) as file:
        if is_stream(path):
            file.seek(-len(STREAM_END), 2)
            if file.read() != STREAM_END:
                raise ValueError("a stream without its end")
            file.seek(0)
            yield from ipc.open_stream(file, options=options)
            return
        reader = ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def is_stream(path: Path) -> bool:
    """Return True for an Arrow stream, which has no footer."""
    with path.open("rb") as file:
        return not file.read(6).startswith(FILE_MARKS)


def damaged(path: Path, error: Exception) -> InputError:
    """Return the error of a Parquet or Arrow file that cannot be read."""
    kind = f"{path.suffix.lower()} table".lstrip()
    return must_be(
        File(path),
        f"a readable {kind}",
        reason(error),
        "write it again",
    )


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema of nullable columns without dictionaries and views of text."""
    import pyarrow as pa
    from pyarrow import types

    fields = []
    for column in schema:
        kind = column.type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_string_view(kind):
            kind = pa.string()
        fields.append(pa.field(column.name, kind))
    # `schema.set` would copy the schema for each column.
    return pa.schema(fields, schema.metadata)


def _length_of_texts(column: pa.DictionaryArray) -> int:
    """Return the total length of the texts of all rows of a dictionary."""
    from pyarrow import compute

    if not is_text(column.type.value_type):
        return 0
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return compute.sum(lengths).as_py() or 0


def is_text(kind: pa.DataType) -> bool:
    """Check for a type of texts."""
    from pyarrow import types

    return bool(
        types.is_unicode(kind)
        or types.is_large_unicode(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def width_of(kind: pa.DataType) -> int:
    """Return the smallest size of a value in bytes.

    Texts and lists have at least an offset of 4 bytes.
    """
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return int(kind.list_size) * width_of(kind.value_type)
    if types.is_primitive(kind):
        # Booleans take a bit in Arrow and a byte in NumPy.
        return max(1, int(kind.bit_width) // 8)
    return 4


def _require_room(path: Path, files: Sequence[Path], claimed: int) -> None:
    """Raise InputError if files claim more bytes than memory has or is plausible."""
    packed = sum(file.stat().st_size for file in files)
    available = available_memory()
    if claimed > max(available, PLAUSIBLE_RATIO * packed):
        got = f"{claimed:,} bytes of columns by its metadata"
        raise must_be(
            File(path),
            f"a table that fits into the {available:,} bytes of memory available",
            got,
        )
    try:
        require_sense(claimed, packed, free=SAFE_BYTES)
    except ValueError as error:
        raise damaged(path, error) from error


def available_memory() -> int:
    """Return the bytes of available memory, or 64 GiB if the system does not say."""
    if MEMORY.exists():
        sizes = dict(line.split(":") for line in MEMORY.read_text().splitlines())
        return 1024 * int(sizes["MemAvailable"].split()[0])
    return 2**36
