"""Tables of PostgreSQL with a column of vectors.

A table is described when its address is opened, and its rows are read when a model is
made of them. The rows are read in one transaction, which sees one state of the
database. In this transaction the table is described again, and the read is refused if
the description has changed. So all rows, their ids, their titles and the metric are of
one state.

Rows are sorted by all columns that are read: by id, by title, and then by vector. So
the order depends on nothing but the rows, even without ids.

The metric is that of the operator class of an index of pgvector. A query can use
another operator, and a table without an index states no metric. `postgres_writing`
writes tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.progress import track
from embaudit.core.words import counted, listed
from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.formats import register
from embaudit.io.intake import Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.columns import require_no_bias, title_column
from embaudit.io.stores.postgres_catalogue import (
    PGVECTOR_TYPES,
    Column,
    Table,
    columns_of,
    find_table,
    index_metric,
    primary_key,
)
from embaudit.io.stores.postgres_client import Place, connection_to
from embaudit.io.stores.vector_table import Batch, VectorTable

if TYPE_CHECKING:
    from psycopg import Connection, sql

BATCH_BYTES = 2**22
"""Size of the vectors that are fetched at a time."""
INTEGER_TYPES = ("int2", "int4", "int8", "oid")
NUMBER_TYPES = ("int2", "int4", "int8", "float4", "float8", "numeric")
TEXT_TYPES = ("text", "varchar", "bpchar", "citext", "name")
VECTOR_TYPES: Mapping[str, type[np.floating[Any]]] = {
    "vector": np.float32,
    "halfvec": np.float16,
    "_float4": np.float32,
    "_float8": np.float64,
}
"""Types of the numbers of a vector, by the name of the type of its column."""
VECTOR_TYPES_IN_SQL = "vector, halfvec, real[] or double precision[]"
"""The same types as users write them."""
REFUSED_TYPES: Mapping[str, tuple[str, str]] = {
    "bit": ("bits, which are codes", "read the original vectors instead"),
    "sparsevec": (
        "sparse vectors",
        "make a view whose column is cast to vector",
    ),
}
"""Types of pgvector that are not read: what a column holds, and what to do instead."""
MOST_LISTED = 12
"""Number of columns that a sentence lists, at most."""


@dataclass(frozen=True)
class Selection:
    """The columns of a table that are read."""

    table: Table
    vectors: Column
    ids: Column | None
    titles: Column | None


@dataclass(frozen=True)
class Description:
    """What is known of a table before its rows are read."""

    selection: Selection
    n_rows: int
    """Number of all rows of the table."""
    n_vectors: int
    """Number of rows with a vector, which are read."""
    n_dimensions: int
    """Length of the first vector."""
    metric: Metric
    unread: tuple[Column, ...]
    """Columns that are not read."""


@register(
    "postgres",
    addresses=("postgresql://", "postgres://", "postgresql:", "postgres:"),
    origin="PostgreSQL with pgvector, postgresql://HOST/DATABASE/TABLE",
    content="vectors, ids, titles, metric",
    options=("vector", "vector_id", "ignore"),
    extra="postgres",
    package="psycopg",
)
def read(address: str, request: Request) -> Contents:
    """Read a table of vectors; see `table`."""
    return table(Address(*address.split(":", 1)), request).contents()


def table(address: Address, request: Request) -> VectorTable:
    """Describe a table of vectors.

    Parameters
    ----------
    address : Address
        `postgresql://HOST/DATABASE/TABLE?vectors=COLUMN`.
    request : Request
        `vector` names the column of the vectors, and `vector_id` that of the ids.

    Raises
    ------
    InputError
        If the server, the table or the column cannot be read, if several columns hold
        vectors and none is named, or if the column holds codes. When the rows are read:
        if the description of the table has changed.
    """
    place = Place.parse(address)
    with connection_to(address, place) as connection:
        description = _describe(connection, place, request, address)

    def batches() -> Iterator[Batch]:
        with connection_to(address, place) as connection:
            if _describe(connection, place, request, address) != description:
                raise must_be(
                    File(address),
                    "unchanged while it is read",
                    "changes to the table",
                    "run the command again",
                )
            yield from _read_all(connection, description)

    selection = description.selection
    vectors, ids, titles = selection.vectors, selection.ids, selection.titles
    return VectorTable(
        address,
        description.n_vectors,
        description.n_dimensions,
        description.metric,
        batches,
        ids="" if ids is None else ids.name,
        dtype=np.dtype(VECTOR_TYPES[vectors.type]),
        vectors=f"column {vectors.name}",
        titles="" if titles is None else titles.name,
        left_over=_left_over(description),
    )


def _describe(
    connection: Connection[Any], place: Place, request: Request, address: Address
) -> Description:
    """Choose the columns of a table, count its rows, and look for its metric."""
    found = find_table(connection, place.table, address)
    columns = columns_of(connection, found)
    vectors = _vector_column(columns, _named_vector(place, request), address)
    others = [column for column in columns if column != vectors]
    key = primary_key(connection, found)
    ids = _id_column(others, request, key, address)
    titles = _title_column([column for column in others if column != ids], request)
    unread = [column for column in others if column not in (ids, titles)]
    numbers = [column.name for column in unread if column.type in NUMBER_TYPES]
    require_no_bias(address, numbers, request)
    selection = Selection(found, vectors, ids, titles)
    n_rows, n_vectors = _count_rows(connection, selection)
    if not n_vectors:
        raise must_be(
            Sentence("column {} of {}", vectors.name, File(address)),
            "a column with at least one vector",
            f"no vector in {n_rows:,} rows",
        )
    (first,) = _read_batches(connection, selection, 1, most=1)
    metric = index_metric(connection, found, vectors)
    return Description(
        selection, n_rows, n_vectors, first.vectors.shape[1], metric, tuple(unread)
    )


def _left_over(description: Description) -> tuple[Part, ...]:
    """Return the columns that are not read, and the rows without a vector."""
    n_rows = description.n_rows
    parts = [Part(column.name, "", (n_rows,)) for column in description.unread]
    n_missing = n_rows - description.n_vectors
    if n_missing:
        parts.append(Part(f"{counted(n_missing, 'row')} without a vector", ""))
    return tuple(parts)


# Roles of columns


def _named_vector(place: Place, request: Request) -> str | None:
    """Return the column of vectors that the address or the option names."""
    if place.vector is not None and request.vector not in (None, place.vector):
        raise must_be(
            "vector",
            f"the column that the address names, {place.vector}",
            repr(request.vector),
            "name it once",
        )
    return request.vector or place.vector


def _vector_column(
    columns: Sequence[Column], wanted: str | None, address: Address
) -> Column:
    """Return the column of vectors that was named, or the only one.

    A column of pgvector is preferred to arrays, which can hold other numbers.
    """
    where = Sentence("the vectors of {}", File(address))
    if wanted is not None:
        named = [column for column in columns if column.name == wanted]
        if not named:
            names = [column.name for column in columns]
            raise must_be(
                where,
                "in one of its columns",
                repr(wanted),
                f"choose one of {listed(names, MOST_LISTED)}",
            )
        return _require_vectors(named[0], where)
    for types in (PGVECTOR_TYPES, tuple(VECTOR_TYPES)):
        found = [column for column in columns if column.type in types]
        if len(found) == 1:
            return found[0]
        if found:
            names = [column.name for column in found]
            raise must_be(
                where,
                "in one column",
                f"{len(found)} columns of vectors",
                Sentence(
                    "choose one of {} with {}",
                    listed(names, MOST_LISTED),
                    Option("vector", placeholder="COLUMN"),
                ),
            )
    refused = [column for column in columns if column.type in REFUSED_TYPES]
    if refused:
        return _require_vectors(refused[0], where)
    described = [f"{column.name} ({column.type})" for column in columns]
    raise must_be(
        where,
        f"in a column of type {VECTOR_TYPES_IN_SQL}",
        listed(described, MOST_LISTED) or "no columns",
    )


def _require_vectors(column: Column, where: Sentence) -> Column:
    """Refuse a column whose cells are not vectors of floating-point numbers."""
    if column.type in VECTOR_TYPES:
        return column
    content, remedy = REFUSED_TYPES.get(column.type, (f"type {column.type}", ""))
    raise must_be(
        where,
        f"in a column of type {VECTOR_TYPES_IN_SQL}",
        f"column {column.name}, of {content}",
        remedy,
    )


def _id_column(
    columns: Sequence[Column], request: Request, key: str | None, address: Address
) -> Column | None:
    """Return the column of ids: the named one, the primary key, or the column id.

    `columns` are those without the column of the vectors. None if there are no ids.
    """
    by_name = {column.name: column for column in columns}
    wanted = request.vector_id
    if wanted is not None:
        if wanted not in by_name:
            raise must_be(
                Sentence("the id column of {}", File(address)),
                f"one of {listed(list(by_name), MOST_LISTED)}",
                repr(wanted),
            )
        return by_name[wanted]
    if key in by_name:
        return by_name[key]
    # A view has no primary key, but can have a column with the name id.
    return by_name.get("id")


def _title_column(columns: Sequence[Column], request: Request) -> Column | None:
    """Return the column whose texts name the rows; None without one."""
    texts = {
        column.name: column
        for column in columns
        if column.type in TEXT_TYPES and not request.ignores(column.name)
    }
    return texts.get(title_column(list(texts)))


# Rows


def _count_rows(connection: Connection[Any], selection: Selection) -> tuple[int, int]:
    """Count the rows of a table, and those with a vector."""
    from psycopg import sql

    query = sql.SQL("SELECT count(*), count({}) FROM {}").format(
        selection.vectors.quoted(), selection.table.quoted()
    )
    n_rows, n_vectors = connection.execute(query).fetchone() or (0, 0)
    return n_rows, n_vectors


def _read_all(connection: Connection[Any], description: Description) -> Iterator[Batch]:
    """Yield all rows that have a vector, in batches of about 4 MiB."""
    vectors = description.selection.vectors
    number_bytes = np.dtype(VECTOR_TYPES[vectors.type]).itemsize
    row_bytes = max(1, number_bytes * description.n_dimensions)
    size = max(1, BATCH_BYTES // row_bytes)
    n_batches = math.ceil(description.n_vectors / size)
    batches = _read_batches(connection, description.selection, size)
    yield from track(batches, f"reading {vectors.name}", n_batches)


def _read_batches(
    connection: Connection[Any],
    selection: Selection,
    size: int,
    *,
    most: int | None = None,
) -> Iterator[Batch]:
    """Yield the rows that have a vector, `size` at a time.

    A cursor on the server keeps the result, so that only one batch is in memory.

    Parameters
    ----------
    connection : psycopg.Connection
    selection : Selection
        The columns to read. Rows are sorted by all of them.
    size : int
        Number of rows of a batch.
    most : int, optional
        Number of rows to read at most; all rows by default.
    """
    from psycopg.types.string import ByteaBinaryLoader

    vectors = selection.vectors
    if vectors.type in PGVECTOR_TYPES:
        # Keep the bytes that the server sends; `_stack` parses them, batch by batch.
        connection.adapters.register_loader(vectors.type_id, ByteaBinaryLoader)
    with connection.cursor("embaudit", binary=True) as cursor:
        cursor.execute(_rows_query(selection), {"most": most})
        while rows := cursor.fetchmany(size):
            vector_cells, id_cells, title_cells = zip(*rows, strict=True)
            ids: Sequence[Any] = ()
            if selection.ids is not None:
                ids = _require_ids(id_cells)
            titles = None
            if selection.titles is not None:
                titles = title_cells
            yield Batch(_stack(vector_cells, vectors), ids, titles)


def _rows_query(selection: Selection) -> sql.Composed:
    """Return the query for vectors, ids and titles, with `most` as its parameter.

    Only rows that are equal in all three columns tie, so the order of the result is
    fixed. LIMIT NULL is no limit.
    """
    from psycopg import sql

    vectors = selection.vectors.quoted()
    order = [
        _sort_key(column) for column in (selection.ids, selection.titles) if column
    ]
    order.append(vectors)
    return sql.SQL(
        "SELECT {vectors}, {ids}, {titles} FROM {table} WHERE {vectors} IS NOT NULL "
        "ORDER BY {order} LIMIT %(most)s"
    ).format(
        vectors=vectors,
        ids=_cells(selection.ids),
        titles=_cells(selection.titles),
        table=selection.table.quoted(),
        order=sql.SQL(", ").join(order),
    )


def _cells(column: Column | None) -> sql.Composable:
    """Return the SQL for a column of whole numbers or texts; NULL without a column.

    The server writes values of other types as texts, because the client does not know
    all types: for an enumeration it would return bytes.
    """
    from psycopg import sql

    if column is None:
        return sql.SQL("NULL")
    if column.type in INTEGER_TYPES:
        return column.quoted()
    return sql.SQL("{}::text").format(column.quoted())


def _sort_key(column: Column) -> sql.Composable:
    """Return the SQL by which the cells of a column are sorted.

    Texts are sorted by code points, because the order of a locale differs from server
    to server, and can take different texts for equal.
    """
    from psycopg import sql

    if column.type in INTEGER_TYPES:
        return column.quoted()
    return sql.SQL('{} COLLATE "C"').format(_cells(column))


def _require_ids(ids: Sequence[Any]) -> Sequence[Any]:
    """Refuse rows without an id.

    A primary key does not allow NULL, but other columns do.
    """
    if any(value is None for value in ids):
        raise must_be(
            "the column of ids",
            "free of NULL",
            "a row without an id",
            Sentence("choose another column with {}", Option("vector_id")),
        )
    return ids


def _stack(cells: Sequence[Any], column: Column) -> NDArray[Any]:
    """Stack vectors of one length; missing numbers of an array are NaN."""
    from pgvector import HalfVector, Vector

    parsers = {"vector": Vector.from_binary, "halfvec": HalfVector.from_binary}
    vectors = cells
    if column.type in parsers:
        parse = parsers[column.type]
        vectors = [parse(cell).to_numpy() for cell in cells]
    # All parts of an array have the same depth, so its first part tells it.
    if any(isinstance(part, list) for vector in vectors for part in vector[:1]):
        raise must_be(
            f"the vectors of column {column.name}",
            "one list of numbers per row",
            "arrays of several dimensions",
        )
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise must_be(
            f"the vectors of column {column.name}",
            "of one length",
            f"{min(lengths)} and {max(lengths)} numbers",
            "choose the rows of one length in a view",
        )
    return np.array(vectors, dtype=VECTOR_TYPES[column.type])
