"""Parquet, Feather and Arrow: one table in a file or in many; names and shapes first, then columns in batches."""

from __future__ import annotations

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
from embaudit.io.tables.lists import is_vectors, stack
from embaudit.io.unpacked import require_sense
from embaudit.linalg.scratch import scratch

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
COUNTS = "interactions"
"""The column of the number of interactions behind each row."""
SUFFIXES = (*PARQUET, ".feather", ".arrow", ".ipc", ".arrows")
FILE = (b"ARROW1", b"FEA1")
"""First bytes of an Arrow file; a stream, which HF datasets and the like write, has no
such mark.
"""
END = bytes.fromhex("ffffffff00000000")
"""Last bytes of a whole stream."""
ROWS = 4096
"""Rows of Parquet that are read at a time; eight times as many of columns of numbers,
each a call of its own.
"""
WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
"""Bytes of a value by its physical type in Parquet; one for any other."""
FREE = 2**26
"""So many bytes may come of any file: a table is copied twice before it is a model."""
UNPACKED = 10
"""Times its size that a file of vectors unpacks to at most; one that is larger than
memory is read in batches.
"""


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """The columns of a table: in files that lie one below another, in memory or in a store."""

    path: Path
    """The file, or the folder of the files, that messages name."""
    schema: pa.Schema
    """Names and types, without dictionaries and views of text."""
    lengths: tuple[int, ...]
    """Rows of each file, of all where they are in memory."""
    files: tuple[Path, ...] = ()
    constants: Mapping[Path, Mapping[str, Any]] = field(default_factory=dict)
    """By file: the columns that the names of its folders tell, as `year=2020` does."""
    content: pa.Table | None = None
    """The columns, where they are in memory."""
    scan: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    """Reads columns of a table in a store; None for files and tables in memory."""

    @classmethod
    def of_store(
        cls,
        path: Path,
        schema: pa.Schema,
        n_rows: int,
        scan: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
    ) -> ArrowTable:
        """Take a table of a store, whose columns are read by `scan` in one order of rows."""
        return cls(path, _plain(schema), (n_rows,), scan=scan)

    @classmethod
    def of(cls, path: Path, content: pa.Table) -> ArrowTable:
        """Take a table in memory."""
        return cls(path, _plain(content.schema), (content.num_rows,), content=content)

    @classmethod
    def open(cls, path: Path, files: Sequence[Path] = ()) -> ArrowTable:
        """Read names and types of the columns and the number of rows, nothing else.

        Raises
        ------
        InputError
            If a file is damaged, has other columns than the first, or they say that
            they hold more than memory does.
        """
        files = tuple(files) or (path,)
        headers = [_header(existing_file(file)) for file in files]
        constants = {file: _constants(file.relative_to(path)) for file in files}
        schema = _with_constants(headers[0][0], constants[files[0]])
        for file, (header, _, _) in zip(files, headers, strict=True):
            other = _with_constants(header, constants[file])
            # Columns are read by name, in whatever order a file has them.
            if {*other} != {*schema}:
                pairs = ((other, {*schema}), (schema, {*other}))
                here, there = (
                    ", ".join(f"{x.name} ({x.type})" for x in a if x not in b) or "none"
                    for a, b in pairs
                )
                got, remedy = (
                    f"{here} in place of {there}",
                    "write it with those, or name the tables to read, one or more",
                )
                raise must_be(
                    Sentence("the columns of {}", File(file)),
                    Sentence("those of {}", File(files[0])),
                    got,
                    remedy,
                )
        lengths = tuple(header[1] for header in headers)
        rows = sum(lengths)
        # Before any column is read: by what the files say, and by the least that their
        # types take.
        _require_room(
            path,
            files,
            max(
                sum(header[2] for header in headers),
                rows * sum(map(_width_of, schema.types)),
            ),
        )
        return cls(path, schema, lengths, files, constants)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(self.lengths)

    def batches(
        self, columns: Sequence[str], files: Sequence[Path] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns a batch of rows at a time, in the order of the files, of some or all of them.

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
        for file in self.files if files is None else files:
            constants = {
                name: value
                for name, value in self.constants[file].items()
                if name in columns
            }
            stored = [name for name in columns if name not in constants]
            try:
                if file.suffix.lower() in PARQUET:
                    # Of several files each has a thread of its own.
                    batches = _of_parquet(
                        file, stored, self.schema, in_threads=len(self.files) == 1
                    )
                else:
                    batches = _of_arrow(file, stored)
                for batch in batches:
                    # Arrow ends the process where it walks through damaged lists.
                    batch.validate(full=True)
                    for name, value in constants.items():
                        batch = batch.append_column(name, pa.repeat(value, len(batch)))
                    yield batch
            except InputError:
                raise
            except READ_ERRORS as error:
                raise damaged(file, error) from error

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column; texts that stand once in the file for very many rows are refused."""
        import pyarrow as pa
        from pyarrow import types

        kind, size, chunks = self.schema.field(name).type, 0, []
        packed = sum(file.stat().st_size for file in self.files)
        for batch in self.batches([name]):
            chunk = batch.column(name)
            try:
                # A text used by every row lies in the file once: its copies are counted
                # before they are made.
                if types.is_dictionary(chunk.type) and self.files:
                    size += _length_of_texts(chunk)
                    require_sense(size, packed)
                chunks.append(chunk.cast(kind))
            except ValueError as error:
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
        """Read the first of a column of lists, (1, k): all have its length and type; (0, 0) where there is none.

        If the type of the column says both, zeros stand for the numbers of floats, so
        that no store starts a scan for one row.
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
        first = next(
            (batch.column(0) for batch in self.batches([name]) if len(batch)), None
        )
        return np.empty((0, 0)) if first is None else stack(first.slice(0, 1), called)

    def matrix(self, name: str, called: Sentence) -> NDArray[Any]:
        """Read a column of lists as `stack` does, files side by side; see `scratch` for where it is held.

        Raises
        ------
        InputError
            If a file is damaged, or as `stack` does.
        """
        from pyarrow import types

        kind = self.schema.field(name).type
        if not is_vectors(kind):
            raise must_be(called, "lists of numbers", str(kind))
        # JSON writes 1 for 1.0, which is no code of eight bits.
        is_json = self.content is not None
        # Others than these two are counts or codes.
        must_be_signs = not types.is_floating(kind.value_type) and (
            not is_json or not types.is_int64(kind.value_type)
        )
        first = self.first_list(name, called)
        width = first.shape[1]

        def fill(out: NDArray[Any], batch: pa.RecordBatch, row: int) -> None:
            out[:] = stack(batch.column(0), called, row, width)

        is_refused = must_be_signs and not (np.abs(first) == 1).all()
        if not is_refused:
            rows = self._filled([name], width, first.dtype, fill)
            is_refused = must_be_signs and not are_signs(rows)
        if is_refused:
            remedy = "store the numbers they stand for as float32"
            got = f"{kind.value_type}, counts or codes"
            raise must_be(called, "lists of floating-point numbers", got, remedy)
        return rows

    def side_by_side(self, columns: Sequence[str], dtype: DTypeLike) -> NDArray[Any]:
        """Read columns of numbers as a matrix, files side by side; see `scratch` for where it is held.

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
        """Fill a matrix block by block: `fill` takes some of its rows, a batch, and the row that this begins at."""
        matrix = scratch((self.rows, width), storage_of(np.dtype(dtype)))
        # Each file knows its rows of the matrix beforehand, so that files are decoded
        # side by side, without locks.
        ends = np.cumsum(self.lengths)

        def fill_from(number: int) -> None:
            done, end = int(ends[number] - self.lengths[number]), int(ends[number])
            for batch in self.batches(columns, self.files[number : number + 1]):
                start, done = done, done + len(batch)
                if len(batch) and done <= end:
                    fill(matrix[start:done], batch, start)
            if done != end:
                got = f"{done - end + self.lengths[number]} of {self.lengths[number]} rows"
                raise damaged(
                    self.files[number] if self.files else self.path, ValueError(got)
                )

        fill_in_threads(fill_from, range(len(self.lengths)))
        matrix.flags.writeable = False
        return matrix


def _header(path: Path) -> tuple[pa.Schema, int, int]:
    """Return the types of the columns of a file, its number of rows, and the bytes that it says they unpack to."""
    from pyarrow import parquet

    try:
        metadata = (
            parquet.read_metadata(path) if path.suffix.lower() in PARQUET else None
        )
        schema = _plain(
            _schema_of_arrow(path)
            if metadata is None
            else metadata.schema.to_arrow_schema()
        )
        # Names are decoded only here.
        require_distinct(schema.names, path)
        if not schema.names:
            raise must_be(File(path), "a table with columns", "none")
        if metadata is not None:
            groups = map(metadata.row_group, range(metadata.num_row_groups))
            return (
                schema,
                metadata.num_rows,
                sum(group.total_byte_size for group in groups)
                + _size_of_lists(metadata),
            )
        # No header of Arrow counts rows: batches are passed over, with the column that
        # takes least.
        narrowest = min(schema, key=lambda column: _width_of(column.type))
        return (
            schema,
            sum(batch.num_rows for batch in _of_arrow(path, [narrowest.name])),
            0,
        )
    except InputError:
        raise
    except READ_ERRORS as error:
        raise damaged(path, error) from error


def _size_of_lists(metadata: Any) -> int:
    """Return the bytes of the values in lists of a Parquet file, which no number of rows tells."""
    size = 0
    for leaf in range(metadata.num_columns):
        column = metadata.schema.column(leaf)
        if column.max_repetition_level == 0:
            continue
        width = WIDTHS.get(column.physical_type, 1)
        for group in range(metadata.num_row_groups):
            size += width * metadata.row_group(group).column(leaf).num_values
    return size


def _constants(path: Path) -> dict[str, Any]:
    """Read what the names of folders tell, as Hive and Spark write it: `year=2020/part-0.parquet`."""
    pairs = (name.partition("=") for name in path.parts[:-1])
    return {name: unquote(value) for name, equals, value in pairs if equals}


def _with_constants(schema: pa.Schema, constants: Mapping[str, Any]) -> pa.Schema:
    import pyarrow as pa

    for name in constants:
        schema = (
            schema
            if name in schema.names
            else schema.append(pa.field(name, pa.string()))
        )
    return schema


def _of_parquet(
    path: Path, columns: Sequence[str], schema: pa.Schema, *, in_threads: bool
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a file, a batch of rows at a time, decoded side by side if asked for."""
    from pyarrow import parquet, types

    # Texts as places in a dictionary: one long text for all rows takes no room yet.
    # Mapped, or Arrow holds the packed numbers of a whole group of rows.
    texts = [name for name in columns if is_text(schema.field(name).type)]
    rows = (
        ROWS
        if any(types.is_nested(schema.field(name).type) for name in columns)
        else 8 * ROWS
    )
    with parquet.ParquetFile(path, memory_map=True, read_dictionary=texts) as file:
        # Asked for all groups of rows at once, Arrow keeps those it has decoded.
        for group in range(file.num_row_groups):
            yield from file.iter_batches(
                rows, row_groups=[group], columns=list(columns), use_threads=in_threads
            )


def _schema_of_arrow(path: Path) -> pa.Schema:
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as file:
        return (ipc.open_stream if is_stream(path) else ipc.open_file)(file).schema


def _of_arrow(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that the file was written in; those that are not packed stay on disk."""
    import pyarrow as pa
    from pyarrow import ipc

    schema = _schema_of_arrow(path)
    # Buffers of columns that are left out stay on disk.
    options = ipc.IpcReadOptions(
        included_fields=sorted(schema.get_field_index(name) for name in columns)
    )
    with pa.memory_map(str(path)) as file:
        if is_stream(path):
            file.seek(-len(END), 2)
            if file.read() != END:
                raise ValueError("a stream without its end")
            file.seek(0)
            yield from ipc.open_stream(file, options=options)
            return
        reader = ipc.open_file(file, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def is_stream(path: Path) -> bool:
    """Check for an Arrow file without a footer, to be read from its beginning."""
    with path.open("rb") as file:
        return not file.read(6).startswith(FILE)


def damaged(path: Path, error: Exception) -> InputError:
    """Return the refusal of a Parquet or Arrow file that cannot be read."""
    kind = f"{path.suffix.lower()} table".lstrip()
    return must_be(
        File(path),
        f"a readable {kind}",
        reason(error),
        "write it again",
    )


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without dictionaries, the views of text that polars writes, and what may not be missing."""
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
    # All at once: setting one field after the other copies the schema for each.
    return pa.schema(fields, schema.metadata)


def _length_of_texts(column: pa.DictionaryArray) -> int:
    """Add up the lengths of texts that lie in a dictionary, each as often as it is used."""
    from pyarrow import compute

    if not is_text(column.type.value_type):
        return 0
    return (
        compute.sum(
            compute.binary_length(column.dictionary).take(column.indices)
        ).as_py()
        or 0
    )


def is_text(kind: pa.DataType) -> bool:
    """Check for a type of texts."""
    from pyarrow import types

    kinds = (
        types.is_unicode,
        types.is_large_unicode,
        types.is_binary,
        types.is_large_binary,
    )
    return any(is_kind(kind) for is_kind in kinds)


def _width_of(kind: pa.DataType) -> int:
    """Return the bytes that a value takes at least: texts and lists, whose lengths are not told, take their places."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width_of(kind.value_type)
    # Truth values take a bit in Arrow and a byte in NumPy.
    return max(1, kind.bit_width // 8) if types.is_primitive(kind) else 4


def _require_room(path: Path, files: Sequence[Path], claimed: int) -> None:
    """Refuse files that claim more memory than there is, and more than files of their size can unpack to."""
    packed = sum(file.stat().st_size for file in files)
    available = available_memory()
    if claimed > max(available, UNPACKED * packed):
        got = f"{claimed:,} bytes of columns by its metadata"
        raise must_be(
            File(path),
            f"a table that fits into the {available:,} bytes of memory available",
            got,
        )
    try:
        require_sense(claimed, packed, free=FREE)
    except ValueError as error:
        raise damaged(path, error) from error


def available_memory() -> int:
    """Return the bytes of memory that are free for programs; where a system does not tell, 64 GB."""
    if MEMORY.exists():
        sizes = dict(line.split(":") for line in MEMORY.read_text().splitlines())
        return 1024 * int(sizes["MemAvailable"].split()[0])
    return 2**36


MEMORY = Path("/proc/meminfo")
