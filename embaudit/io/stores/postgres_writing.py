"""Tables of PostgreSQL that are written: one transaction, with an index of pgvector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.progress import announced
from embaudit.errors import File, Sentence, must_be
from embaudit.io.draft import Draft
from embaudit.io.formats import TableWriter, register_tables
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.postgres_client import Place, connection_to
from embaudit.io.stores.writing import already_there, has_titles, keeps, row_batches

if TYPE_CHECKING:
    from psycopg import Connection, sql

OPERATOR_CLASSES = {"cosine": "vector_cosine_ops", "dot": "vector_ip_ops"}
"""Operator classes of the indexes that are built, by metric."""
MOST_INDEXED_DIMENSIONS = 2000
"""Number of dimensions up to which pgvector builds an index of vectors."""
MOST_NAME_BYTES = 63
"""Longest name in UTF-8. PostgreSQL cuts longer names, with a notice only."""
OTHER_COLUMNS = ("id", "title")
"""Columns of a written table next to the vectors."""
EXTENSION = """
SELECT n.nspname FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
"""Schema that holds the types and operator classes of pgvector."""


@dataclass(frozen=True)
class NewTable:
    """The names of a table that is written, quoted for SQL, and the type of its ids."""

    name: sql.Identifier
    vector: sql.Identifier
    """Column of the vectors."""
    extension: str
    """Schema of pgvector."""
    id_type: str
    """Either "bigint" or "text"."""

    @classmethod
    def for_draft(cls, place: Place, extension: str, draft: Draft) -> NewTable:
        """Take the names from an address, and the type of the ids from a draft."""
        from psycopg import sql

        vector = sql.Identifier(place.vector or "vector")
        return cls(_quoted(place.table), vector, extension, _id_type(draft.tokens))

    def create(self, connection: Connection[Any], draft: Draft) -> None:
        """Create the table without rows."""
        from psycopg import sql

        columns: list[sql.Composable] = [sql.SQL(f"id {self.id_type} PRIMARY KEY")]
        if has_titles(draft):
            columns.append(sql.SQL("title text"))
        vector_column = sql.SQL("{} {}({})").format(
            self.vector,
            sql.Identifier(self.extension, "vector"),
            sql.Literal(draft.right.shape[1]),
        )
        columns.append(vector_column)
        query = sql.SQL("CREATE TABLE {} ({})")
        connection.execute(query.format(self.name, sql.SQL(", ").join(columns)))

    def copy_rows(self, connection: Connection[Any], draft: Draft) -> None:
        """Send the rows of a draft."""
        from pgvector import Vector
        from psycopg import sql

        columns = [sql.Identifier("id")]
        types = ["int8" if self.id_type == "bigint" else "text"]
        if has_titles(draft):
            columns.append(sql.Identifier("title"))
            types.append("text")
        # A vector is sent in the binary form of its own type, as bytes.
        columns.append(self.vector)
        types.append("bytea")
        query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)")
        query_of_table = query.format(self.name, sql.SQL(", ").join(columns))
        with connection.cursor().copy(query_of_table) as copy:
            copy.set_types(types)
            for batch in row_batches(draft):
                ids = batch.ids
                if self.id_type == "text":
                    ids = [str(value) for value in ids]
                cells = [ids]
                if batch.titles is not None:
                    cells.append(batch.titles)
                cells.append([Vector(row).to_binary() for row in batch.vectors])
                for row in zip(*cells, strict=True):
                    copy.write_row(row)

    def create_index(self, connection: Connection[Any], metric: str) -> None:
        """Build an index of the vectors, whose operator class states the metric."""
        from psycopg import sql

        query = sql.SQL("CREATE INDEX ON {} USING hnsw ({} {})")
        operators = sql.Identifier(self.extension, OPERATOR_CLASSES[metric])
        with announced("building the index"):
            connection.execute(query.format(self.name, self.vector, operators))


def _require_new(text: str, force: bool) -> None:
    """Refuse a table that exists, and a database without pgvector."""
    address, place = _parsed(text)
    with connection_to(address, place) as connection:
        _extension_schema(connection, address)
        if not force and _is_there(connection, place.table):
            raise already_there(address)


def _write(text: str, draft: Draft, metric: str, force: bool) -> dict[str, str]:
    """Write a table with a primary key and an index, all in one transaction."""
    address, place = _parsed(text)
    with connection_to(address, place, writes=True) as connection:
        extension = _extension_schema(connection, address)
        if force:
            _drop(connection, place.table)
        elif _is_there(connection, place.table):
            raise already_there(address)
        table = NewTable.for_draft(place, extension, draft)
        table.create(connection, draft)
        table.copy_rows(connection, draft)
        if _is_indexed(draft):
            table.create_index(connection, metric)
    return {}


def _remove(text: str) -> None:
    """Remove a table."""
    address, place = _parsed(text)
    with connection_to(address, place, writes=True) as connection:
        _drop(connection, place.table)


def _drop(connection: Connection[Any], table: str) -> None:
    """Remove a table if it is there."""
    from psycopg import sql

    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(_quoted(table)))


def _parsed(text: str) -> tuple[Address, Place]:
    """Take apart the address of a table that is to be written.

    Raises
    ------
    InputError
        If PostgreSQL would cut a name, so that the address would lead to no table or to
        another one, or if the column of the vectors has the name of another column.
    """
    address = Address(*text.split(":", 1))
    place = Place.parse(address)
    names = place.table.split(".", 1)
    if place.vector is not None:
        names.append(place.vector)
    for name in names:
        n_bytes = len(name.encode())
        if n_bytes > MOST_NAME_BYTES:
            raise must_be(
                f"the name {name}",
                f"at most {MOST_NAME_BYTES} bytes long, because PostgreSQL cuts "
                "longer names",
                f"{n_bytes} bytes",
            )
    if place.vector in OTHER_COLUMNS:
        raise must_be(
            "the column of the vectors",
            f"another column than {' and '.join(OTHER_COLUMNS)}",
            place.vector,
        )
    return address, place


def _id_type(ids: NDArray[Any]) -> str:
    """Return the type of a column of ids.

    A bigint is a whole number below 2⁶³. Larger numbers are written as text.

    Examples
    --------
    >>> _id_type(np.array([7], dtype=np.uint8)), _id_type(np.array(["a"]))
    ('bigint', 'text')
    >>> _id_type(np.array([2**63], dtype=np.uint64))
    'text'
    """
    if ids.dtype.kind in "iu" and ids.max() <= np.iinfo(np.int64).max:
        return "bigint"
    return "text"


def _is_there(connection: Connection[Any], table: str) -> bool:
    """Check for a relation of a name, which can be a table, a view or an index."""
    name = _quoted(table).as_string(connection)
    row = connection.execute("SELECT to_regclass(%s)", [name]).fetchone()
    return row is not None and row[0] is not None


def _quoted(table: str) -> sql.Identifier:
    """Quote the name of a table, with or without its schema."""
    from psycopg import sql

    return sql.Identifier(*table.split(".", 1))


def _extension_schema(connection: Connection[Any], address: Address) -> str:
    """Return the schema that holds pgvector.

    Raises
    ------
    InputError
        If the database does not have the extension.
    """
    row = connection.execute(EXTENSION).fetchone()
    if row is None:
        raise must_be(
            Sentence("the database of {}", File(address)),
            "a database with the extension vector",
            "a database without it",
            "run CREATE EXTENSION vector in the database",
        )
    return str(row[0])


def _is_indexed(draft: Draft) -> bool:
    """Return whether an index of the vectors can be built, which states the metric."""
    return draft.right.shape[1] <= MOST_INDEXED_DIMENSIONS


register_tables(
    "postgres", TableWriter(_require_new, _write, _remove, keeps, _is_indexed)
)
