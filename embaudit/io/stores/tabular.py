"""Stores whose tables have columns, such as LanceDB and DuckDB.

Columns get their roles as in files of tables (`embaudit.io.formats.tables`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import listed
from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.formats.tables import contents_of_table, layout_of
from embaudit.io.intake import NOT_STATED, Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.addresses import Address, chosen_table
from embaudit.io.stores.columns import title_column
from embaudit.io.tables.arrow import ArrowTable, is_text, width_of
from embaudit.io.tables.columns import TableFile, to_texts
from embaudit.io.tables.lists import is_list_type, is_vectors

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 2**24
"""Approximate size of the vectors of one batch."""
BATCH_ROWS = 65_536
"""Rows of one batch, at most."""
BYTES_OF_LIST = 2**13
"""Size that is assumed for a list of no fixed length: 2,048 numbers of float32."""
BYTES_OF_VALUE = 2**6
"""Size that is assumed for a number or a text."""
SHOWN = 4
"""Columns that a sentence names, at most."""


class Scan(Protocol):
    """Reads columns of a table, a batch of rows at a time."""

    def __call__(
        self, columns: Sequence[str], *, filled: Sequence[str], n_rows: int
    ) -> Iterator[tuple[Any, pa.RecordBatch]]:
        """Yield batches: an array of the places of rows in the store, and columns.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        filled : sequence of str
            Rows in which one of these columns is empty are skipped.
        n_rows : int
            Rows of a batch.
        """


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """One table of a store: what describes it, and readers of its rows."""

    address: Address
    schema: pa.Schema
    """Names and types of its columns."""
    count: Callable[[Sequence[str]], int]
    """Returns the number of rows in which all of some columns are filled."""
    scan: Scan
    metric: Callable[[str], Metric]
    """Returns the metric of a column of vectors."""
    files: tuple[str, ...]
    """The file or folder of the table."""

    def contents(self, request: Request) -> Contents:
        """Map columns to the fields of a model, as those of a table in a file.

        Rows without a vector are skipped and counted in the report.

        Raises
        ------
        InputError
            If the columns leave open which hold the ids and the vectors, or rows have
            several vectors.
        """
        _require_single_vectors(self.schema, self.address, request)
        n_rows = self.count(())
        if n_rows == 0:
            raise must_be(File(self.address), "a table with rows", "no rows")
        table = self._with_rows(n_rows, ())
        layout = layout_of(table, request)
        vectors = [table.title(place) for place in layout.vectors]
        n_filled = self.count(vectors)
        if n_filled == 0:
            raise must_be(
                File(self.address),
                "a table with vectors",
                f"{n_rows:,} rows without a vector",
            )
        left_over: tuple[Part, ...] = ()
        if n_filled < n_rows:
            table = self._with_rows(n_filled, vectors)
            left_over = (Part("rows without a vector", "", (n_rows - n_filled,)),)
        if layout.lists:
            metric = self.metric(vectors[0])
        else:
            reason = "the numbers of a vector lie in several columns"
            metric = Metric(NOT_STATED, reason)
        contents = _with_titles(contents_of_table(table, request), table)
        left_over = (*contents.left_over, *left_over)
        return replace(contents, left_over=left_over, metric=metric, files=self.files)

    def _with_rows(self, n_rows: int, filled: Sequence[str]) -> TableFile:
        """Return the table without the rows in which some columns are empty."""
        scan = _ScanInOneOrder(self, filled)
        path = Path(str(self.address))
        return TableFile.from_arrow(
            ArrowTable.from_store(path, self.schema, n_rows, scan)
        )


@dataclass(eq=False)
class _ScanInOneOrder:
    """Reads columns of a table, and checks that every scan has the same order of rows.

    Ids and vectors are read one after the other. If the store returned its rows in
    another order, every vector would get the id of another row.
    """

    table: ColumnTable
    filled: Sequence[str]
    digests: set[bytes] = field(default_factory=set)
    """Digests of the places of the rows, of the scans that ran to their end. All scans
    must have the same digest.
    """

    def __call__(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        digest = hashlib.blake2b()
        n_rows = _batch_rows(self.table.schema, columns)
        for places, batch in self.table.scan(
            columns, filled=self.filled, n_rows=n_rows
        ):
            digest.update(places.to_numpy(zero_copy_only=False).tobytes())
            yield batch
        self.digests.add(digest.digest())
        if len(self.digests) > 1:
            raise must_be(
                File(self.table.address),
                "unchanged while it is read",
                "rows in another order than before",
                "run the command again",
            )


def _with_titles(contents: Contents, table: TableFile) -> Contents:
    """Name the rows by the column of `title_column`, unless they have names."""
    assert table.arrow is not None
    stored = table.arrow
    unused = [part.name for part in contents.left_over]
    texts_unused = [name for name in unused if is_text(stored.schema.field(name).type)]
    title = title_column(texts_unused)
    if not title or "right_names" in contents.fields:
        return contents

    def read() -> NDArray[np.str_] | None:
        column = stored.column(title)
        # If a row has no title, all rows go by their ids, as in files of tables.
        if column.null_count:
            return None
        return to_texts(table, column, stored.schema.get_field_index(title))

    fields = {**contents.fields, "right_names": Source(title, read, (stored.rows,))}
    left_over = tuple(part for part in contents.left_over if part.name != title)
    return replace(contents, fields=fields, left_over=left_over)


def _batch_rows(schema: pa.Schema, columns: Sequence[str]) -> int:
    """Return the number of rows whose vectors take about 16 MiB, at most 65,536."""
    from pyarrow import types

    row_bytes = 0
    for name in columns:
        kind = schema.field(name).type
        if types.is_fixed_size_list(kind):
            row_bytes += width_of(kind)
        elif is_vectors(kind):
            row_bytes += BYTES_OF_LIST
        else:
            row_bytes += BYTES_OF_VALUE
    return max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, row_bytes)))


def chosen_table_of_columns(
    store: Address,
    names: Sequence[str],
    wanted: str,
    schema_of: Callable[[str], pa.Schema],
) -> str:
    """Return the table that was named, or the only one, or the only one of vectors.

    Parameters
    ----------
    store : Address
        Address of the store, without a table.
    names : sequence of str
        Names of its tables.
    wanted : str
        The table that the caller named; empty for none.
    schema_of : callable
        Returns the names and types of the columns of a table. It is only called to
        choose among several tables.

    Raises
    ------
    InputError
        As `chosen_table` does.
    """
    if not wanted and len(names) > 1:
        with_vectors = [name for name in names if _has_vectors(schema_of(name))]
        if with_vectors:
            names = with_vectors
    return chosen_table(store, names, wanted)


def _has_vectors(schema: pa.Schema) -> bool:
    """Check for a column of vectors, or of several vectors in each row."""
    return any(is_vectors(kind) or _is_multiple(kind) for kind in schema.types)


def _require_single_vectors(
    schema: pa.Schema, address: Address, request: Request
) -> None:
    """Refuse several vectors per row, as models of late interaction write them.

    A column of several vectors per row is refused if the caller names it. If the caller
    names no column, such columns are skipped unless there is no other.
    """
    multiple = [column.name for column in schema if _is_multiple(column.type)]
    single = [column.name for column in schema if is_vectors(column.type)]
    if request.vector is not None:
        refused = [name for name in multiple if name == request.vector]
    elif single:
        refused = []
    else:
        refused = multiple
    if not refused:
        return
    remedy: str | Sentence = "store one vector per row, such as their mean"
    if single:
        remedy = Sentence("choose another column with {}", Option("vector", single[0]))
    raise must_be(
        File(address),
        "a table with one vector per row",
        f"several vectors per row in {listed(refused, SHOWN)}",
        remedy,
    )


def _is_multiple(kind: pa.DataType) -> bool:
    """Check for the type of a list of vectors."""
    return is_list_type(kind) and is_vectors(kind.value_type)
