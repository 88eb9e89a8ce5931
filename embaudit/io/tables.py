"""Tables of vectors: Parquet and Arrow with an id and a column of lists or many numeric columns, CSV with ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.columns import (
    ARROW,
    PARQUET,
    TableFile,
    arrow_table,
    codes,
    numbers,
    open_table,
    plain_ids,
    read_columns,
)
from embaudit.io.delimited import NUMBER
from embaudit.io.files import plain_suffix, written_whole
from embaudit.io.numpy_arrays import require_one_side
from embaudit.io.titles import ID_NAMES
from embaudit.io.vectors import is_vectors, stacked
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from embaudit.io.delimited import Cell
    from embaudit.io.files import AnyPath
    from embaudit.io.request import Request

KNOWN = ID_NAMES | {"user", "userid", "token", "word", "name", "label", "key"}


def recognises(path: Path) -> bool:
    """Whatever has such a suffix."""
    return plain_suffix(path) in (*PARQUET, *ARROW, ".csv", ".tsv")


def read(path: Path, request: Request) -> FactorModel:
    """Read one table of vectors.

    Raises
    ------
    InputError
        If it is damaged, or its columns leave open which hold the id and the vectors.
    """
    if request.kind == "factors":
        raise InputError('kind must be "vectors" or "head" for a table, which is one side; got "factors".')
    table = open_table(path, known=KNOWN)
    ids, vectors = _from_text(table, request) if table.text is not None else _from_arrow(table, request)
    if request.kind == "head":
        return FactorModel.from_softmax(vectors, labels=ids)
    return FactorModel.from_vectors(vectors, ids=ids)


def _id_position(table: TableFile, request: Request) -> int | None:
    if request.id is not None:
        return table.position(request.id, "id")
    found = table.customary(KNOWN, "id")
    return 0 if found is None and table.names and table.names[0] == "" else found


def _from_text(table: TableFile, request: Request) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
    assert table.text is not None
    if request.vector is not None:
        raise must_be("vector", "left out for a text table, whose columns are the numbers", repr(request.vector))
    position = _id_position(table, request)
    if position is None and not all(NUMBER.fullmatch(row[0]) for row in table.text.first_rows):
        position = 0
    if position is None and table.names is None and all(row[0].isdigit() for row in table.text.first_rows):
        remedy = "pass id=0 if they are, or write a header"
        raise must_be(
            f"the first column of {table.path}",
            "ids or numbers of the vectors",
            "integers, which both could be",
            remedy,
        )
    cells: dict[int, Cell] = {i: "number" for i in range(table.width) if i != position}
    columns = read_columns(table, {**cells, **({} if position is None else {position: "id"})})
    vectors = np.column_stack([numbers(table, columns[i], i) for i in cells])
    return _ids(table, columns, position), vectors


def _ids(table: TableFile, columns: dict[int, pa.ChunkedArray], position: int | None) -> NDArray[Any] | None:
    if position is None:
        return None
    places, values = codes(table, columns[position], position)
    return values[places]


def _from_arrow(table: TableFile, request: Request) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    content = arrow_table(table.path)
    assert table.names is not None
    if not content.num_rows:
        raise must_be(f"{table.path}", "a table with rows", "none")
    position = _id_position(table, request)
    ids = None if position is None else plain_ids(table, content.column(position), position)
    lists = [name for name in table.names if is_vectors(content.schema.field(name).type)]
    if request.vector is not None:
        lists = [table.names[table.position(request.vector, "vector")]]
    if len(lists) > 1:
        raise must_be(f"the vectors of {table.path}", "in one column", " and ".join(lists), "pass vector= to choose it")
    if lists:
        return ids, stacked(content.column(lists[0]), f"column {lists[0]} of {table.path}")
    return ids, _numeric(table, content, position)


def _numeric(table: TableFile, content: pa.Table, position: int | None) -> NDArray[Any]:
    from pyarrow import types

    kept = [i for i in range(table.width) if i != position and types.is_floating(content.schema.field(i).type)]
    others = [table.names[i] for i in range(table.width) if i != position and i not in kept] if table.names else []
    if not kept or others:
        got = "also " + ", ".join(others[:5]) if kept else table.listed()
        remedy = "pass id= to name the ids, and drop what is no dimension"
        raise must_be(f"{table.path}", "a table of an id and a column of vectors, or of floating numbers", got, remedy)
    columns = [content.column(i) for i in kept]
    missing = sum(column.null_count for column in columns)
    if missing:
        raise must_be(f"the vectors of {table.path}", "free of missing numbers", f"{missing} missing")
    return np.column_stack([column.to_numpy() for column in columns])


def write(model: FactorModel, path: AnyPath, *, force: bool = False) -> None:
    """Write ids (row numbers where there are none) and vectors, as a column of fixed-size lists.

    Raises
    ------
    InputError
        If the model holds more than one side.
    """
    import pyarrow as pa
    from pyarrow import parquet

    require_one_side(model, ".parquet", ids=True)
    ids = np.arange(model.n_right) if model.right_ids is None else model.right_ids
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(model.right).reshape(-1)), model.rank)
    with written_whole(path, force=force) as file:
        parquet.write_table(pa.table({"id": pa.array(ids), "vector": vectors}), file)
