"""Tables of PostgreSQL with a column of vectors.

A table is read in one transaction. Its metric is that of the operator class of its
index of pgvector. A query can use another operator, and a table without an index states
no metric. `postgres_writing` writes tables.
"""

from __future__ import annotations

import math
import re
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
from embaudit.io.intake import NOT_STATED, Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.base import (
    Address,
    Batch,
    VectorTable,
    metric_named,
    require_no_bias,
    title_column,
)
from embaudit.io.stores.postgres_client import Place, connection_to

if TYPE_CHECKING:
    from psycopg import Connection, sql

BATCH_BYTES = 2**22
"""Size of the vectors that are fetched at a time."""
WHOLE = ("int2", "int4", "int8", "oid")
"""Types whose values are whole numbers."""
FIGURES = ("int2", "int4", "int8", "float4", "float8", "numeric")
"""Types whose values are numbers."""
TEXTS = ("text", "varchar", "bpchar", "citext", "name")
"""Types whose values are text."""
NUMBERS: Mapping[str, Any] = {
    "vector": np.float32,
    "halfvec": np.float16,
    "_float4": np.float32,
    "_float8": np.float64,
}
"""Types of the numbers in a column, by the name of the column's type."""
OF_PGVECTOR = ("vector", "halfvec")
"""Types among them that hold nothing but vectors."""
CODES: Mapping[str, tuple[str, str]] = {
    "bit": ("bits, which are codes", "read the vectors that they were made of"),
    "sparsevec": (
        "sparse vectors",
        "make a view whose column is cast to vector",
    ),
}
"""What columns of other types hold, and what to do instead."""
OPERATORS = re.compile(r"(vector|halfvec|sparsevec|bit)_(\w+)_ops")
"""An operator class of pgvector: the type that its index searches, and its metric."""
UNINDEXED = "{} has no index, and the operator of each query decides"
"""Why a column states no metric."""
SHOWN = 12
"""Tables and columns that a sentence names at most."""
# Names are looked up in the catalogue and quoted as identifiers, so that none of them
# is read as SQL.
TABLES = """
SELECT c.oid, n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid),
  EXISTS (
    SELECT FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND t.typname = ANY(%s))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY n.nspname, c.relname
"""
"""Tables and views, and whether each has a column of pgvector."""
COLUMNS = """
SELECT a.attname, a.attnum, t.typname, t.oid
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
"""Columns of a table."""
KEY = """
SELECT a.attname
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = %s AND i.indisprimary AND i.indnkeyatts = 1
"""
"""The primary key of a table, if it is one column."""
INDEXES = """
SELECT c.relname, array_agg(DISTINCT o.opcname::text)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL unnest(i.indclass::oid[]) AS class(oid)
JOIN pg_catalog.pg_opclass o ON o.oid = class.oid
WHERE i.indrelid = %(table)s AND i.indisvalid AND EXISTS (
  SELECT FROM pg_catalog.pg_depend d
  WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = i.indexrelid
    AND d.refclassid = 'pg_catalog.pg_class'::regclass
    AND d.refobjid = %(table)s AND d.refobjsubid = %(column)s)
GROUP BY c.relname
ORDER BY c.relname
"""
"""Operator classes of the indexes of a column, and of expressions that use the column.

An index of an expression, such as a cast to halfvec, depends on its columns.
"""


@dataclass(frozen=True)
class Column:
    """One column of a table, as the catalogue describes it."""

    name: str
    number: int
    type: str
    """Name of its type, such as int4 or vector."""
    type_id: int


@dataclass(frozen=True)
class Selection:
    """The columns of a table that are read."""

    table: tuple[str, str]
    """Its schema and its name."""
    vectors: Column
    ids: Column | None
    titles: Column | None


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
        vectors and none is named, or if the column holds codes.
    """
    place = Place.parse(address)
    with connection_to(address, place) as connection:
        name, table_id = _find_table(connection, place.table, address)
        columns = [Column(*row) for row in connection.execute(COLUMNS, [table_id])]
        key = _primary_key(connection, table_id)
        vectors = _vector_column(columns, _named_vector(place, request), address)
        others = [column for column in columns if column != vectors]
        ids = _id_column(others, request, key, address)
        titles = _title_column([column for column in others if column != ids], request)
        selection = Selection(name, vectors, ids, titles)
        left_over = [column for column in others if column not in (ids, titles)]
        numbers = [column.name for column in left_over if column.type in FIGURES]
        require_no_bias(address, numbers, request)
        metric = _metric(connection, table_id, vectors)
        n_rows, n_vectors = _counts(connection, selection)
        if not n_vectors:
            raise must_be(
                Sentence("column {} of {}", vectors.name, File(address)),
                "a vector in some row",
                f"none in {n_rows:,} rows",
            )
        # The first row tells the length of the vectors.
        first = next(_read_rows(connection, selection, 1)).vectors

    def batches() -> Iterator[Batch]:
        size = max(1, BATCH_BYTES // max(1, first.nbytes))
        with connection_to(address, place) as connection:
            rows = _read_rows(connection, selection, size)
            n_batches = math.ceil(n_vectors / size)
            yield from track(rows, f"reading {vectors.name}", n_batches)

    parts = [Part(column.name, "", (n_rows,)) for column in left_over]
    if n_rows > n_vectors:
        missing = counted(n_rows - n_vectors, "row")
        parts.append(Part(f"{missing} without a vector", ""))
    return VectorTable(
        address,
        n_vectors,
        first.shape[1],
        metric,
        batches,
        ids="" if ids is None else ids.name,
        dtype=np.dtype(NUMBERS[vectors.type]),
        vectors=f"column {vectors.name}",
        titles="" if titles is None else titles.name,
        left_over=tuple(parts),
    )


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


def _find_table(
    connection: Connection[Any], wanted: str, address: Address
) -> tuple[tuple[str, str], int]:
    """Return the schema and the name of a table, and its number in the catalogue.

    Raises
    ------
    InputError
        If there is no such table. Also if several have this name, which is possible
        only with dots in names of schemas or tables.
    """
    rows = connection.execute(TABLES, [[*OF_PGVECTOR]]).fetchall()
    by_full_name = []
    by_name = []
    offered = []
    for table_id, schema, name, is_visible, has_vectors in rows:
        # A table that is not on the search path needs the name of its schema.
        full_name = f"{schema}.{name}"
        if wanted == full_name:
            by_full_name.append(((schema, name), table_id))
        elif is_visible and wanted == name:
            by_name.append(((schema, name), table_id))
        if has_vectors:
            offered.append(name if is_visible else full_name)
    # "a.b" is table b of schema a, even if a table of another schema is called "a.b".
    found = by_full_name or by_name
    if len(found) == 1:
        return found[0]
    if found:
        raise must_be(
            File(address),
            "one table of the database",
            f"{len(found)} tables called {wanted}",
            "make a view of one of them, with a name without dots",
        )
    remedy = "no table of the database has a column of vectors"
    if offered:
        remedy = f"name one of {listed(offered, SHOWN)}"
    raise must_be(
        File(address), "a table of the database", f"none called {wanted}", remedy
    )


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
                f"choose one of {listed(names, SHOWN)}",
            )
        return _require_vectors(named[0], where)
    for types in (OF_PGVECTOR, tuple(NUMBERS)):
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
                    listed(names, SHOWN),
                    Option("vector", placeholder="COLUMN"),
                ),
            )
    codes = [column for column in columns if column.type in CODES]
    if codes:
        return _require_vectors(codes[0], where)
    described = [f"{column.name} ({column.type})" for column in columns]
    raise must_be(
        where,
        "in a column of type vector, halfvec, real[] or double precision[]",
        listed(described, SHOWN) or "no columns",
    )


def _require_vectors(column: Column, where: Sentence) -> Column:
    """Refuse a column whose cells are not vectors of floating-point numbers."""
    if column.type in NUMBERS:
        return column
    content, remedy = CODES.get(column.type, (f"type {column.type}", ""))
    raise must_be(
        where,
        "in a column of type vector, halfvec, real[] or double precision[]",
        f"column {column.name}, of {content}",
        remedy,
    )


def _primary_key(connection: Connection[Any], table_id: int) -> str:
    """Return the column that is the primary key of a table; empty without one."""
    row = connection.execute(KEY, [table_id]).fetchone()
    if row is None:
        return ""
    return str(row[0])


def _id_column(
    columns: Sequence[Column], request: Request, key: str, address: Address
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
                f"one of {listed(list(by_name), SHOWN)}",
                repr(wanted),
            )
        return by_name[wanted]
    # A view has no primary key, but can have a column with the name id.
    return by_name.get(key) or by_name.get("id")


def _title_column(columns: Sequence[Column], request: Request) -> Column | None:
    """Return the column whose texts name the rows; None without one."""
    texts = {
        column.name: column
        for column in columns
        if column.type in TEXTS and not request.ignores(column.name)
    }
    return texts.get(title_column(list(texts)))


def _metric(connection: Connection[Any], table_id: int, column: Column) -> Metric:
    """Return the metric of the indexes of a column."""
    parameters = {"table": table_id, "column": column.number}
    # By metric: an index, and the type of the values that it searches.
    sources: dict[str, tuple[str, str]] = {}
    for index, classes in connection.execute(INDEXES, parameters):
        for name in classes:
            match = OPERATORS.fullmatch(name)
            if match is None:
                continue
            searched, metric = match[1], metric_named(match[2])
            # The first index comes first, but an index of the column itself comes
            # before an index of an expression, such as a cast to halfvec.
            is_cast_before = metric in sources and sources[metric][1] != column.type
            if metric not in sources or (is_cast_before and searched == column.type):
                sources[metric] = (index, searched)
    if not sources:
        return Metric(NOT_STATED, UNINDEXED.format(f"column {column.name}"))
    if len(sources) > 1:
        differing = [f"{index} by {metric}" for metric, (index, _) in sources.items()]
        return Metric(NOT_STATED, f"its indexes differ: {' and '.join(differing)}")
    ((metric, (index, searched)),) = sources.items()
    codes = ""
    if searched != column.type:
        codes = f"{searched} copies of them"
    return Metric(metric, f"the index {index}", codes=codes)


def _counts(connection: Connection[Any], selection: Selection) -> tuple[int, int]:
    """Count the rows of a table, and those with a vector."""
    from psycopg import sql

    query = sql.SQL("SELECT count(*), count({}) FROM {}").format(
        sql.Identifier(selection.vectors.name), sql.Identifier(*selection.table)
    )
    n_rows, n_vectors = connection.execute(query).fetchone() or (0, 0)
    return n_rows, n_vectors


def _read_rows(
    connection: Connection[Any], selection: Selection, size: int
) -> Iterator[Batch]:
    """Yield the rows that have a vector, in the order of the ids, `size` at a time.

    A cursor on the server keeps the result, so that only one batch is in memory.
    """
    from psycopg import sql
    from psycopg.types.string import ByteaBinaryLoader

    vectors, ids = selection.vectors, selection.ids
    query = sql.SQL("SELECT {}, {}, {} FROM {} WHERE {} IS NOT NULL").format(
        sql.Identifier(vectors.name),
        _plain_cells(ids),
        _plain_cells(selection.titles),
        sql.Identifier(*selection.table),
        sql.Identifier(vectors.name),
    )
    if ids is not None:
        query = sql.SQL("{} ORDER BY {}").format(query, sql.Identifier(ids.name))
    else:
        # Without this, PostgreSQL can start a scan in the middle of a table, so rows
        # could have another order each time they are read.
        connection.execute("SET LOCAL synchronize_seqscans = off")
    if vectors.type in OF_PGVECTOR:
        # Keep the bytes that the server sends; `_stack` parses them, batch by batch.
        connection.adapters.register_loader(vectors.type_id, ByteaBinaryLoader)
    with connection.cursor("embaudit", binary=True) as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(size):
            vector_cells, id_cells, title_cells = zip(*rows, strict=True)
            if ids is not None:
                _require_ids(id_cells)
            yield Batch(
                _stack(vector_cells, vectors),
                () if ids is None else id_cells,
                None if selection.titles is None else title_cells,
            )


def _plain_cells(column: Column | None) -> sql.Composable:
    """Return the SQL for a column of whole numbers or texts; NULL without a column.

    The server writes values of other types as texts, because the client does not know
    all types: for an enumeration it would return bytes.
    """
    from psycopg import sql

    if column is None:
        return sql.SQL("NULL")
    if column.type in WHOLE:
        return sql.Identifier(column.name)
    return sql.SQL("{}::text").format(sql.Identifier(column.name))


def _require_ids(ids: Sequence[Any]) -> None:
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
    return np.array(vectors, dtype=NUMBERS[column.type])
