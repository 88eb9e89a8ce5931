"""Tables of vectors: Parquet and Arrow with an id and a column of lists or many numeric columns, CSV with ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import as_texts
from embaudit.io.codecs import arrow, arrow_vectors
from embaudit.io.codecs.arrow_vectors import side_by_side, stacked, stored_rows, width
from embaudit.io.codecs.delimited import NUMBER, Cell
from embaudit.io.codecs.lists import matrix
from embaudit.io.draft import Draft, said
from embaudit.io.files import as_opened
from embaudit.io.intake import Intake
from embaudit.io.readers.assemble import OF_HEAD
from embaudit.io.readers.table_layout import TableLayout, of_arrow, of_text, opened
from embaudit.io.remote import naming, with_urls
from embaudit.io.request import Request, as_one_side
from embaudit.io.tables.columns import TableFile, numbers, plain_ids, read_columns, read_vectors
from embaudit.model import FactorModel
from embaudit.model.lazy_array import LazyArray

if TYPE_CHECKING:
    import pyarrow as pa

Made: TypeAlias = "Callable[[TableFile, pa.ChunkedArray, int], NDArray[Any] | None]"
"""Makes an array of the column of a table at some place; None where it is not whole."""

__all__ = ["keeps", "read", "stored_rows", "write"]


def read(path: Path, request: Request) -> FactorModel:
    """Read one table of vectors.

    Raises
    ------
    InputError
        If it is damaged, or its columns leave open which hold the id and the vectors.
    """
    as_one_side(request, "a table")
    table = opened(path)
    if table.text is not None:
        return _from_text(table, request)
    schema, rows = arrow.schema(path)
    if not rows:
        raise _empty(table)
    layout = of_arrow(table, schema, request)

    def later(place: int, made: Made) -> LazyArray:
        """Leave a column in the file until it is used."""
        read = naming(str(path))(as_opened(path, partial(_column, table, place, made)))
        return LazyArray(with_urls(str(path)), "", (rows,), np.dtype(object), read, on_disk=True)

    return _assembled(later, schema.metadata, layout, _unread(table, schema, layout, rows), request)


def _empty(table: TableFile) -> InputError:
    return must_be(f"{table.path}", "a table with rows", "none")


def _unread(table: TableFile, schema: pa.Schema, layout: TableLayout, rows: int) -> LazyArray:
    """Leave the vectors in the file until they are used."""
    assert table.names is not None
    names = [table.names[place] for place in layout.vectors]
    kinds = [schema.field(name).type for name in names]
    if layout.lists:
        name, kind = names[0], np.dtype(kinds[0].value_type.to_pandas_dtype())
        columns, called = width(table.path, name), table.called(layout.vectors[0])
        decode = partial(arrow_vectors.matrix, table.path, name, called)
    else:
        name, kind = "", np.result_type(*(each.to_pandas_dtype() for each in kinds))
        columns, decode = len(names), partial(side_by_side, table.path, names, kind)
    read = naming(str(table.path))(as_opened(table.path, decode))
    return LazyArray(with_urls(str(table.path)), name, (rows, columns), kind, read, on_disk=True)


def _column(table: TableFile, place: int, made: Made) -> NDArray[Any] | None:
    assert table.names is not None
    return made(table, arrow.table(table.path, [table.names[place]]).column(0), place)


def look(path: Path, request: Request) -> Intake:
    """Say which columns become what, from the header of the table and its first rows.

    Raises
    ------
    InputError
        If they leave that open.
    """
    table = opened(path)
    if table.text is not None:
        layout, rows = of_text(table, request), None
    else:
        schema, rows = arrow.schema(path)
        layout = of_arrow(table, schema, request)
    return intake_of("table", table, layout, rows, request)


def intake_of(kind: str, table: TableFile, layout: TableLayout, rows: int | None, request: Request) -> Intake:
    """Say which columns become what; the ids of a head are what its labels are called."""
    parts, rest = layout.parts(table, rows)
    if request.kind != "head":
        return Intake(kind, (str(table.path),), parts, rest)
    named = tuple(replace(part, became="right_names") if part.became == "right_ids" else part for part in parts)
    return Intake(kind, (str(table.path),), named, rest, titles=OF_HEAD)


def _model(vectors: NDArray[Any], ids: NDArray[Any] | None, bias: NDArray[Any] | None, request: Request) -> FactorModel:
    if request.kind == "head":
        return FactorModel.from_softmax(vectors, bias, labels=ids)
    model = FactorModel.from_vectors(vectors, ids=ids)
    return model if bias is None else model.replace(right_bias=bias)


def _from_text(table: TableFile, request: Request) -> FactorModel:
    layout = of_text(table, request)
    of_ids: dict[int, Cell] = {i: "id" for i in (layout.ids, layout.index) if i is not None}
    cells: dict[int, Cell] = {layout.vectors[0]: "text"}
    cells_of: tuple[tuple[int | None, Cell], ...] = (
        (layout.bias, "number"), (layout.counts, "number"), (layout.names, "text"),
    )  # fmt: skip
    others = {i: cell for i, cell in cells_of if i is not None}
    if layout.lists:
        # What numpy prints of a long vector has several lines.
        columns = read_columns(table, {**cells, **others, **of_ids}, newlines=True)
        vectors = matrix(columns[layout.vectors[0]], table.called(layout.vectors[0]))
    else:
        vectors, columns = read_vectors(table, layout.vectors, {**others, **of_ids})
    ids = {i: plain_ids(table, columns[i], i) for i in of_ids}
    if layout.index is not None:
        _require_index(table, ids[layout.index], beside=layout.ids != layout.index)
    bias = None if layout.bias is None else numbers(table, columns[layout.bias], layout.bias)
    model = _model(vectors, None if layout.ids is None else ids[layout.ids], bias, request)
    beside = _texts_beside(table, columns, layout)
    return model.replace(**beside) if beside else model


def _texts_beside(table: TableFile, columns: dict[int, pa.ChunkedArray], layout: TableLayout) -> dict[str, Any]:
    beside: dict[str, Any] = {}
    if layout.names is not None:
        beside["right_names"] = as_texts([text or "" for text in columns[layout.names].to_pylist()], "titles")
    if layout.counts is not None:
        beside["right_counts"] = numbers(table, columns[layout.counts], layout.counts)
    return beside


def _require_index(table: TableFile, values: NDArray[Any], *, beside: bool) -> None:
    """Refuse a first column without a name that is no index: beside ids the row numbers, else one id a row."""
    what, remedy = f"the first column of {table.path}, which has no name,", "give it a name, or leave it out"
    if beside:
        if not np.array_equal(values, np.arange(len(values))):
            raise must_be(what, "the row numbers from 0 on", "other values beside a column of ids", remedy)
        return
    fraction = next((str(value) for value in values if not str(value).isdigit() and NUMBER.fullmatch(str(value))), None)
    if fraction is not None:
        raise must_be(what, "an index", f"numbers such as {fraction}", remedy)
    if len(np.unique(values)) < len(values):
        raise must_be(what, "an index, each value once", "some more than once", remedy)


def from_arrow(table: TableFile, content: pa.Table, request: Request) -> FactorModel:
    """Make a model of columns that are at hand.

    Raises
    ------
    InputError
        As `read` does.
    """
    if not content.num_rows:
        raise _empty(table)
    layout = of_arrow(table, content.schema, request)
    vectors = (
        stacked(content.column(layout.vectors[0]), table.called(layout.vectors[0]))
        if layout.lists
        else _dense(table, [content.column(i) for i in layout.vectors])
    )

    def now(place: int, made: Made) -> NDArray[Any] | None:
        """Make an array of a column that is at hand."""
        return made(table, content.column(place), place)

    return _assembled(now, content.schema.metadata, layout, vectors, request)


def _assembled(
    take: Callable[[int, Made], Any], said_there: Mapping[bytes, bytes] | None, layout: TableLayout, vectors: Any,
    request: Request,
) -> FactorModel:  # fmt: skip
    """Add to vectors what other columns, and the metadata of a file that embaudit wrote, say."""
    ids = None if layout.ids is None else take(layout.ids, plain_ids)
    bias = None if layout.bias is None else take(layout.bias, _numbers)
    if not layout.lists:
        return _model(vectors, ids, bias, request)
    metadata = {key.decode(errors="replace"): text.decode(errors="replace") for key, text in (said_there or {}).items()}
    stored = said(metadata, request.kind)
    if stored.get("link") == "softmax":
        request = replace(request, kind="head")
    model = _model(vectors, ids, bias, request)
    places = {"right_names": (layout.names, _titles), "right_counts": (layout.counts, _counts)}
    beside = {field: take(place, made) for field, (place, made) in places.items() if place is not None}
    return model.replace(**stored, **beside, right_ids=ids) if stored or beside else model


def _titles(table: TableFile, column: pa.ChunkedArray, place: int) -> NDArray[Any] | None:  # noqa: ARG001
    """Return the column of titles that `write` puts beside ids, where it is whole."""
    return None if column.null_count else as_texts(column.to_pylist(), f"the titles in {table.path}")


def _counts(table: TableFile, column: pa.ChunkedArray, place: int) -> NDArray[Any] | None:  # noqa: ARG001
    """Return the column of counts that `write` puts beside ids, where it is whole."""
    return None if column.null_count else np.asarray(column.to_numpy())


def _numbers(table: TableFile, column: pa.ChunkedArray, place: int) -> NDArray[Any]:  # noqa: ARG001
    return _dense(table, [column])[:, 0]


def _dense(table: TableFile, columns: Sequence[pa.ChunkedArray]) -> NDArray[Any]:
    missing = sum(column.null_count for column in columns)
    if missing:
        raise must_be(f"the vectors of {table.path}", "free of missing numbers", f"{missing} missing")
    return np.column_stack([column.to_numpy() for column in columns])


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """One side: ids, titles, counts, and in the metadata of the file link and objective."""
    return frozenset({"right_ids", "right_names", "right_counts", "link", "objective"})


def columns_of(draft: Draft) -> dict[str, NDArray[Any]]:
    """Return what stands beside the vectors of a draft; row numbers stand for ids and titles that are not there.

    Examples
    --------
    >>> columns_of(Draft.of(FactorModel.from_vectors([[1.0], [2.0]])))
    {'id': array([0, 1])}
    """
    names = draft.fields.get("right_names") if draft.tokens_are == "right_ids" else None
    beside = {"id": draft.tokens, "title": names, arrow.COUNTS: draft.fields.get("right_counts")}
    return {name: values for name, values in beside.items() if values is not None}


def write(file: IO[bytes], draft: Draft) -> None:
    """Write Parquet."""
    arrow.write(file, draft.right, columns_of(draft), draft.metadata)
