"""Tables of vectors: Parquet and Arrow with an id and a column of lists or many numeric columns, CSV with ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Floats
from embaudit.io.codecs import arrow
from embaudit.io.codecs.arrow import is_vectors, stacked, stored_rows
from embaudit.io.codecs.delimited import NUMBER, Cell
from embaudit.io.draft import Draft, said
from embaudit.io.intake import Intake, Part
from embaudit.io.request import Request
from embaudit.io.tables.columns import TableFile, numbers, open_table, plain_ids, read_columns
from embaudit.io.tables.titles import ID_NAMES
from embaudit.model import FactorModel

if TYPE_CHECKING:
    import pyarrow as pa


__all__ = ["keeps", "read", "stored_rows", "write"]
KNOWN = ID_NAMES | {"user", "userid", "token", "word", "name", "label", "key"}
UNNAMED = ("", "Unnamed: 0")
"""What data frames write above their index."""
PANDAS_INDEX = "__index_level_0__"
"""What pandas calls its index in Parquet and Feather."""


def read(path: Path, request: Request) -> FactorModel:
    """Read one table of vectors.

    Raises
    ------
    InputError
        If it is damaged, or its columns leave open which hold the id and the vectors.
    """
    if request.kind == "factors":
        raise InputError('kind must be "vectors" or "head" for a table, which is one side; got "factors".')
    table = _opened(path)
    if table.text is None:
        return _from_arrow(table, request)
    ids, vectors = _from_text(table, request)
    return _model(vectors, ids, request)


def _model(vectors: NDArray[Any], ids: NDArray[Any] | None, request: Request) -> FactorModel:
    if request.kind == "head":
        return FactorModel.from_softmax(vectors, labels=ids)
    return FactorModel.from_vectors(vectors, ids=ids)


def _opened(path: Path) -> TableFile:
    """Look at a table whose header may be the numbers that data frames give columns."""
    table = open_table(path, known=KNOWN)
    numbered = table.text is not None and table.names is None and _is_numbered(*table.text.first_rows)
    return open_table(path, header=True) if numbered else table


def _is_numbered(first: tuple[str, ...], *rest: tuple[str, ...]) -> bool:
    """Whether 0, 1, 2, … stand above vectors, perhaps after the name of an index."""
    if first[0].strip() in UNNAMED:
        return _counts(first[1:])
    # Vectors may begin with 0, 1, 2, too, but then others are whole numbers as well.
    start = 0 if NUMBER.fullmatch(first[0]) else 1
    whole = any(all(cell.strip().isdigit() for cell in row[start:]) for row in rest)
    return len(first) - start > 1 and bool(rest) and not whole and _counts(first[start:])


def _counts(cells: tuple[str, ...]) -> bool:
    return [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]


def _id_position(table: TableFile, request: Request, index: int | None = None) -> int | None:
    """Find the column of ids: the one asked for, else the named index of a data frame, else a customary one."""
    if request.id is not None:
        return table.position(request.id, "id")
    if index is not None:
        return index
    found = table.customary(KNOWN, "id")
    if found is not None or table.names is None:
        return found
    if table.names[0] in UNNAMED or (table.text is not None and _counts(table.names[1:])):
        return 0
    return table.names.index(PANDAS_INDEX) if PANDAS_INDEX in table.names else None


def look(path: Path, request: Request) -> Intake:
    """Say which columns become what, from the header of the table.

    Raises
    ------
    InputError
        If its columns leave that open.
    """
    table = _opened(path)
    rows, lists, index = None, [], None
    if table.text is None:
        schema, rows = arrow.schema(path)
        lists, index = [field.name for field in schema if is_vectors(field.type)], _named_index(schema)
    position = _id_position(table, request, index)
    position = 0 if position is None and table.text is not None and not _all_numbers(table) else position
    names = [str(i) for i in range(table.width)] if table.names is None else list(table.names)
    identifier = None if position is None else names[position]
    vectors = [request.vector] if request.vector is not None else lists or [x for x in names if x != identifier]
    beside = {"title": "right_names", arrow.COUNTS: "right_counts"} if lists else {}
    parts = [Part(_span(vectors), "right", (rows, None if lists else len(vectors)))]
    parts += [] if identifier is None else [Part(identifier, "right_ids", (rows,))]
    parts += [Part(name, field, (rows,)) for name, field in beside.items() if name in names]
    used = {*vectors, identifier, *beside}
    rest = tuple(Part(name, "", (rows,)) for name in names if name not in used)
    return Intake("table", (str(path),), tuple(parts), rest)


def _span(columns: list[str]) -> str:
    return f"column {columns[0]}" if len(columns) == 1 else f"columns {columns[0]} to {columns[-1]}"


def _all_numbers(table: TableFile) -> bool:
    assert table.text is not None
    return all(NUMBER.fullmatch(row[0]) for row in table.text.first_rows)


def _from_text(table: TableFile, request: Request) -> tuple[NDArray[Any] | None, Floats]:
    assert table.text is not None
    if request.vector is not None:
        raise must_be("vector", "left out for a text table, whose columns are the numbers", repr(request.vector))
    position = _id_position(table, request)
    if position is None and not _all_numbers(table):
        position = 0
    if position is None and table.names is None and all(row[0].isdigit() for row in table.text.first_rows):
        remedy = "write a header that calls ids id, or choose them with id in Python"
        raise must_be(
            f"the first column of {table.path}",
            "ids or numbers of the vectors",
            "integers, which both could be",
            remedy,
        )
    unnamed = 0 if table.names is not None and table.names[0] in UNNAMED else None
    of_ids: dict[int, Cell] = {i: "id" for i in (position, unnamed) if i is not None}
    cells: dict[int, Cell] = {i: "number" for i in range(table.width) if i not in of_ids}
    columns = read_columns(table, {**cells, **of_ids})
    vectors = np.column_stack([numbers(table, columns[i], i) for i in cells])
    ids = {i: plain_ids(table, columns[i], i) for i in of_ids}
    if unnamed is not None:
        _require_index(table, ids[unnamed], beside=position != unnamed)
    return None if position is None else ids[position], vectors


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


def _from_arrow(table: TableFile, request: Request) -> FactorModel:
    content = arrow.table(table.path)
    assert table.names is not None
    if not content.num_rows:
        raise must_be(f"{table.path}", "a table with rows", "none")
    position = _id_position(table, request, _named_index(content.schema))
    ids = None if position is None else plain_ids(table, content.column(position), position)
    lists = [name for name in table.names if is_vectors(content.schema.field(name).type)]
    if request.vector is not None:
        lists = [table.names[table.position(request.vector, "vector")]]
    if len(lists) > 1:
        remedy = "keep one, or choose it with vector in Python"
        raise must_be(f"the vectors of {table.path}", "in one column", " and ".join(lists), remedy)
    if not lists:
        return _model(_numeric(table, content, position), ids, request)
    vectors = stacked(content.column(lists[0]), f"column {lists[0]} of {table.path}")
    metadata = {key.decode(): text.decode() for key, text in (content.schema.metadata or {}).items()}
    stored = said(metadata, request.kind)
    if stored.get("link") == "softmax":
        request = replace(request, kind="head")
    model = _model(vectors, ids, request)
    titles = _titles(content)
    beside = {} if titles is None else {"right_names": titles}
    counts = _counts_of(content)
    beside |= {} if counts is None else {"right_counts": counts}
    return model.replace(**stored, **beside, right_ids=ids) if stored or beside else model


def _named_index(schema: pa.Schema) -> int | None:
    """Return the column that was the index of a data frame, where it had a name of its own."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    named = [name for name in columns if isinstance(name, str) and name != PANDAS_INDEX]
    return schema.names.index(named[0]) if len(named) == 1 and named[0] in schema.names else None


def _titles(content: pa.Table) -> NDArray[np.str_] | None:
    """Return the column of titles that `write` puts beside ids, None where there is none."""
    from pyarrow import types

    column = content.column("title") if "title" in content.column_names else None
    if column is None or not types.is_string(column.type) or column.null_count:
        return None
    return np.array(column.to_pylist(), dtype=np.str_)


def _counts_of(content: pa.Table) -> NDArray[Any] | None:
    """Return the column of counts that `write` puts beside ids, None where there is none."""
    from pyarrow import types

    column = content.column(arrow.COUNTS) if arrow.COUNTS in content.column_names else None
    if column is None or column.null_count:
        return None
    numeric = types.is_floating(column.type) or types.is_integer(column.type)
    return np.asarray(column.to_numpy()) if numeric else None


def _numeric(table: TableFile, content: pa.Table, position: int | None) -> NDArray[Any]:
    from pyarrow import types

    kept = [i for i in range(table.width) if i != position and types.is_floating(content.schema.field(i).type)]
    others = [table.names[i] for i in range(table.width) if i != position and i not in kept] if table.names else []
    if not kept or others:
        got = "also " + ", ".join(others[:5]) if kept else table.listed()
        remedy = "call the ids id, and drop what is no dimension"
        raise must_be(f"{table.path}", "a table of an id and a column of vectors, or of floating numbers", got, remedy)
    columns = [content.column(i) for i in kept]
    missing = sum(column.null_count for column in columns)
    if missing:
        raise must_be(f"the vectors of {table.path}", "free of missing numbers", f"{missing} missing")
    return np.column_stack([column.to_numpy() for column in columns])


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """One side: ids, titles, counts, and in the metadata of the file link and objective."""
    return frozenset({"right_ids", "right_names", "right_counts", "link", "objective"})


def write(file: IO[bytes], draft: Draft) -> None:
    """Write Parquet; row numbers stand for ids and titles that are not there."""
    names = draft.fields.get("right_names") if draft.tokens_are == "right_ids" else None
    beside = {"id": draft.tokens, "title": names, arrow.COUNTS: draft.fields.get("right_counts")}
    labels = {name: values for name, values in beside.items() if values is not None}
    arrow.write(file, draft.right, labels, draft.metadata)
