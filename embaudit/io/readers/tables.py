"""Tables of vectors in Parquet, Arrow, JSON and text, in one file or in many: an id, and a list or numbers a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.codecs import json_vectors
from embaudit.io.codecs.arrow import COUNTS, ArrowTable
from embaudit.io.codecs.delimited import Cell
from embaudit.io.codecs.lists import matrix
from embaudit.io.files import as_opened
from embaudit.io.intake import Contents, Part, Source
from embaudit.io.readers.assemble import OF_HEAD
from embaudit.io.readers.table_layout import TableLayout, files_below, layout_of, opened
from embaudit.io.remote import naming, with_urls
from embaudit.io.request import Request
from embaudit.io.saving import Draft, fields_in
from embaudit.io.tables.columns import TableFile, numbers, plain_ids, read_columns, texts
from embaudit.model.lazy_array import LazyArray

if TYPE_CHECKING:
    import pyarrow as pa

Made: TypeAlias = "Callable[[TableFile, pa.ChunkedArray, int], NDArray[Any]]"
"""Makes an array of the column of a table at some place."""


def recognises(path: Path) -> bool:
    """Take every file of a suffix of tables, and a folder with one of them."""
    return not path.is_dir() or bool(files_below(path))


def contents(path: Path, request: Request, files: tuple[Path, ...] = ()) -> Contents:
    """Map columns of a table of vectors to fields, by its header and its first rows.

    Parameters
    ----------
    path : Path
        A table, or the folder of several that lie one below another.
    files : tuple of Path
        Some of that folder; by default all.

    Raises
    ------
    InputError
        If it is damaged, or its columns leave open which hold the id and the vectors.
    """
    return contents_of_table(opened(path, files), request)


def contents_of_json(path: Path, request: Request) -> Contents:
    """Map parts of JSON as `contents` does; such a document has no header, so it is read for that."""
    return contents_of_table(TableFile.of(ArrowTable.of(path, json_vectors.table(path))), request)


def contents_of_table(table: TableFile, request: Request) -> Contents:
    """Map columns of a table to fields.

    Raises
    ------
    InputError
        As `contents` does.
    """
    if table.arrow is not None and not table.arrow.rows:
        raise must_be(f"{table.path}", "a table with rows", "none")
    layout = layout_of(table, request)
    fields = _of_text(table, layout) if table.arrow is None else _of_arrow(table, table.arrow, layout)
    # What embaudit wrote says more in its metadata.
    metadata = (table.arrow and layout.lists and table.arrow.schema.metadata) or {}
    texts_beside = {key.decode(errors="replace"): text.decode(errors="replace") for key, text in metadata.items()}
    stored = fields_in(texts_beside, request.kind)
    roles = Contents.roles
    # Rows of a head are labels: what would be ids names them, unless embaudit wrote ids beside titles.
    if request.kind == "head" or stored.get("link") == "softmax":
        ids = fields.get("right_ids") if stored or layout.names or layout.counts else fields.pop("right_ids", None)
        fields |= {"right_names": ids} if ids is not None and "right_names" not in fields else {}
        fields["link"], roles = Source.of("", "softmax"), OF_HEAD
    fields |= {name: Source.of("the metadata", value) for name, value in stored.items()}
    rows = None if table.arrow is None else table.arrow.rows
    rest = tuple(Part(table.title(place) or "the first column", "", (rows,)) for place in layout.left_over(table))
    return Contents(fields, rest, roles=roles)


def _of_arrow(table: TableFile, stored: ArrowTable, layout: TableLayout) -> dict[str, Source]:
    """Leave columns in the file until they are used."""
    names = [stored.schema.names[place] for place in layout.vectors]
    kinds = [stored.schema.field(name).type for name in names]
    if layout.lists:
        columns, kind = stored.width(names[0]), np.dtype(kinds[0].value_type.to_pandas_dtype())
        decode = partial(stored.matrix, names[0], table.called(layout.vectors[0]))
    else:
        columns, kind = len(names), np.result_type(*(each.to_pandas_dtype() for each in kinds))
        decode = partial(stored.side_by_side, names, kind)

    def later(name: str, shape: tuple[int, ...], kind: np.dtype[Any], read: Callable[[], Any]) -> LazyArray:
        read = naming(str(table.path))(as_opened(stored.files, read))
        return LazyArray(with_urls(str(table.path)), name, shape, kind, read, on_disk=bool(stored.files))

    def column(field: str, place: int, made: Made) -> NDArray[Any] | None:
        read = stored.column(table.title(place))
        # Titles and counts that are not there for every row are left out.
        return None if read.null_count and field in ("right_names", "right_counts") else made(table, read, place)

    def source(field: str, place: int, made: Made) -> Source:
        read = partial(later, "", (stored.rows,), np.dtype(object), partial(column, field, place, made))
        return Source(table.title(place), read, (stored.rows,))

    name, shape = names[0] if layout.lists else "", (stored.rows, columns)
    vectors = Source(layout.title(table), partial(later, name, shape, kind, decode), (stored.rows, columns or None))
    return {"right": vectors} | {field: source(field, place, made) for field, (place, made) in _beside(layout).items()}


def _of_text(table: TableFile, layout: TableLayout) -> dict[str, Source]:
    """Leave columns in the file until the first is used; all of them are parsed at once."""
    parsed = cache(partial(_parsed, table, layout))

    def source(place: int, made: Made) -> Source:
        return Source(table.title(place), lambda: made(table, parsed()[1][place], place), (None,))

    width = None if layout.lists else len(layout.vectors)
    vectors = Source(layout.title(table), lambda: parsed()[0], (None, width))
    return {"right": vectors} | {field: source(place, made) for field, (place, made) in _beside(layout).items()}


def _beside(layout: TableLayout) -> dict[str, tuple[int, Made]]:
    """Return the columns beside the vectors, and how arrays are made of them, by field."""
    places: dict[str, tuple[int | None, Made]] = {
        "right_ids": (layout.ids, plain_ids), "right_bias": (layout.bias, numbers),
        "right_names": (layout.names, texts), "right_counts": (layout.counts, numbers),
    }  # fmt: skip
    return {field: (place, made) for field, (place, made) in places.items() if place is not None}


def _parsed(table: TableFile, layout: TableLayout) -> tuple[NDArray[Any], dict[int, pa.ChunkedArray]]:
    """Parse text: the vectors, and the other columns by place."""
    cells: dict[int, Cell] = {} if layout.ids is None else {layout.ids: "id"}
    cells |= {i: "number" for i in (layout.bias, layout.counts) if i is not None}
    cells |= {} if layout.names is None else {layout.names: "text"}
    columns = read_columns(table, {**dict.fromkeys(layout.vectors, "text" if layout.lists else "number"), **cells})
    if layout.lists:
        vectors = matrix(columns[layout.vectors[0]], table.called(layout.vectors[0]))
    else:
        vectors = np.empty((len(columns[layout.vectors[0]]), len(layout.vectors)))
        for place, position in enumerate(layout.vectors):
            # Each column is let go of once it is copied.
            vectors[:, place] = numbers(table, columns.pop(position), position)
    return vectors, columns


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """One side: ids, titles, counts, and in the metadata of the file link and objective."""
    return frozenset({"right_ids", "right_names", "right_counts", "link", "objective"})


def columns_of(draft: Draft) -> dict[str, NDArray[Any]]:
    """Return what stands beside the vectors of a draft; row numbers stand for ids and titles that are not there.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> columns_of(Draft.of(FactorModel.from_vectors([[1.0], [2.0]])))
    {'id': array([0, 1])}
    """
    names = draft.fields.get("right_names") if draft.tokens_are == "right_ids" else None
    beside = {"id": draft.tokens, "title": names, COUNTS: draft.fields.get("right_counts")}
    return {name: values for name, values in beside.items() if values is not None}


def write(file: IO[bytes], draft: Draft) -> None:
    """Write Parquet."""
    from pyarrow import parquet

    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    _write_batches(partial(parquet.ParquetWriter, file, **options), draft)


def write_feather(file: IO[bytes], draft: Draft) -> None:
    """Write an Arrow file, uncompressed, so that readers can map it into memory."""
    from pyarrow import ipc

    _write_batches(partial(ipc.new_file, file), draft)


def _write_batches(open_writer: Callable[[pa.Schema], Any], draft: Draft) -> None:
    """Write columns beside vectors of fixed size, a block of rows at a time."""
    import pyarrow as pa

    columns, width, start = columns_of(draft), draft.right.shape[1], 0
    fields = [(name, pa.array(values[:0]).type) for name, values in columns.items()]
    vector = ("vector", pa.list_(pa.from_numpy_dtype(draft.right.dtype), width))
    schema = pa.schema([*fields, vector], metadata=draft.metadata)
    with open_writer(schema) as writer:
        for block in draft.right.rows():
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), width)
            beside = [pa.array(values[start : start + len(block)]) for values in columns.values()]
            writer.write_batch(pa.record_batch([*beside, vectors], schema=schema))
            start += len(block)


def write_csv(file: IO[bytes], draft: Draft) -> None:
    """Write a header and a row each: id, title and interactions where there are any, and the vector in brackets.

    `COPY` of Postgres takes such a list into a column of pgvector.

    Raises
    ------
    InputError
        If an id is empty, which reads back as none.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(draft)
    if (columns["id"].astype(str) == "").any():
        raise must_be("an id in a .csv file", "text that is not empty", "''", "save it as .parquet")
    writer.writerow([*columns, "vector"])
    beside = zip(*(map(str, values) for values in columns.values()), strict=True)
    vectors = (row for block in draft.right.rows() for row in block)
    writer.writerows([*next(beside), f"[{','.join(map(str, row))}]"] for row in vectors)
    text.detach()
