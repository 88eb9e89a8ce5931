"""Tables of PostgreSQL with a column of vectors.

A table is read or written in one transaction. Its metric is that of the operator class
of its index of pgvector. A query can use another operator, and a table without an index
states no metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

import numpy as np
from numpy.typing import NDArray

from embaudit.core.progress import announced, track
from embaudit.core.words import counted, listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.formats import TableWriter, register, register_tables
from embaudit.io.intake import NOT_STATED, Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.base import (
    Address,
    Batch,
    VectorTable,
    client,
    metric_named,
    require_no_bias,
    title_column,
)
from embaudit.io.stores.writing import already_there, has_titles, keeps, row_batches

if TYPE_CHECKING:
    from psycopg import Connection

PLACE = re.compile(r"(/*)([^?]*)\??(.*)", re.DOTALL)
"""The slashes behind the scheme of an address, its path and its parameters."""
FORM = (
    "postgresql://HOST/DATABASE/TABLE, or postgresql:TABLE if the environment names "
    "the server"
)
"""What an address looks like."""
SECRETS = ("password", "sslpassword", "oauth_client_secret")
"""Parameters of a connection that are secrets."""
TIMEOUT_SECONDS = 10
"""Time to wait for a server, unless the address says otherwise."""
BATCH_BYTES = 2**22
"""Size of the vectors that are fetched at a time."""
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
ADVICE = {
    "canceling statement": "run the command again",
    "starting up": "run the command again",
    "shutting down": "run the command again",
    "password": "set PGUSER and PGPASSWORD, or write them to ~/.pgpass",
    "Connection refused": "start the server, or check host and port",
    "No such file": "start the server, or name its host in the address",
    "resolve host": "check the host",
    "timeout": "check host and port",
    "SSL": "check sslmode in the address or PGSSLMODE",
    "certificate": "check sslrootcert in the address or PGSSLROOTCERT",
    "permission denied": "ask its owner to GRANT SELECT on the table to you",
    "role ": "set PGUSER",
    "database ": "check the database in the address or PGDATABASE",
}
"""What to do, by a word of what the server or the client says."""
SHOWN = 12
"""Tables and columns that a sentence names at most."""
CLASSES = {"cosine": "vector_cosine_ops", "dot": "vector_ip_ops"}
"""Operator classes of the indexes that are built, by metric."""
LONGEST_INDEXED = 2000
"""Number of dimensions of a vector up to which pgvector builds an index of it."""

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
EXTENSION = """
SELECT n.nspname FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
"""Schema that holds the types and operator classes of pgvector."""


@dataclass(frozen=True)
class Place:
    """A table and its database, as an address names them.

    Examples
    --------
    >>> text = "//ann@db:5433/shop/public.items?vectors=e&sslmode=require"
    >>> place = Place.parse(Address("postgresql", text))
    >>> place.database, place.table, place.vector
    ('postgresql://ann@db:5433/shop?sslmode=require', 'public.items', 'e')
    >>> Place.parse(Address("postgresql", "items"))
    Place(database='postgresql://', table='items', vector=None)
    """

    database: str
    """Address of the database for libpq. The environment gives its missing parts."""
    table: str
    """Name of a table, perhaps with its schema: `items` or `public.items`."""
    vector: str | None
    """Column of the vectors, if the address names it."""

    @classmethod
    def parse(cls, address: Address) -> Place:
        """Take an address apart.

        Raises
        ------
        InputError
            If it names no table, or holds a password.
        """
        match = PLACE.fullmatch(address.place)
        assert match is not None
        slashes, path, query = match.groups()
        host = ""
        if len(slashes) == 2:
            host, _, path = path.partition("/")
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        user = host.rpartition("@")[0]
        if ":" in user or any(name in parameters for name in SECRETS):
            raise must_be(
                "the address of a table of PostgreSQL",
                "free of passwords, which other users of this machine could see",
                "one with a password",
                "set PGPASSWORD, or write it to ~/.pgpass",
            )
        database, _, table = path.strip("/").rpartition("/")
        if not table:
            raise must_be("the address of a table of PostgreSQL", FORM, File(address))
        vector = parameters.pop("vectors", None)
        server = f"postgresql://{host}"
        if database:
            server += f"/{database}"
        if parameters:
            server += f"?{urlencode(parameters)}"
        return cls(server, unquote(table), vector or None)


@dataclass(frozen=True)
class Column:
    """One column of a table, as the catalogue describes it."""

    name: str
    number: int
    type: str
    """Name of its type, such as int4 or vector."""
    type_id: int


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
        vector = _vector_column(columns, _named_vector(place, request), address)
        ids = _id_column(columns, request, _primary_key(connection, table_id), address)
        titles = title_column(
            [
                column.name
                for column in columns
                if column.type in TEXTS
                and column.name not in (ids, vector.name)
                and not request.ignores(column.name)
            ]
        )
        read_names = (vector.name, ids, titles)
        numbers = [
            column.name
            for column in columns
            if column.type in FIGURES and column.name not in read_names
        ]
        require_no_bias(address, numbers, request)
        metric = _metric(connection, table_id, vector)
        n_rows, n_vectors = _counts(connection, name, vector)
        if not n_vectors:
            raise must_be(
                Sentence("column {} of {}", vector.name, File(address)),
                "a vector in some row",
                f"none in {n_rows:,} rows",
            )
        # The vectors come first.
        read_columns = [vector]
        read_columns += [column for column in columns if column.name in (ids, titles)]
        # The first row tells the length of the vectors.
        first = next(_read_rows(connection, name, read_columns, ids, 1))
    left_over = [
        Part(column.name, "", (n_rows,))
        for column in columns
        if column.name not in read_names
    ]
    if n_rows > n_vectors:
        left_over.append(
            Part(f"{counted(n_rows - n_vectors, 'row')} without a vector", "")
        )
    return VectorTable(
        address,
        n_vectors,
        first.vectors.shape[1],
        metric,
        partial(
            _batches,
            address,
            place,
            name,
            read_columns,
            ids,
            n_vectors,
            first.vectors.nbytes,
        ),
        ids=ids,
        dtype=np.dtype(NUMBERS[vector.type]),
        vectors=f"column {vector.name}",
        titles=titles,
        left_over=tuple(left_over),
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


@contextmanager
def connection_to(
    address: Address, place: Place, *, writes: bool = False
) -> Iterator[Connection[Any]]:
    """Open a connection for one transaction, which sees one state of the database.

    The transaction can only read unless `writes` is True. If the block fails, nothing
    is written.

    Raises
    ------
    InputError
        If the server cannot be reached, denies access, or fails inside the block.
    """
    psycopg = client("psycopg", extra="postgres", what="a table of PostgreSQL")
    client("pgvector", extra="postgres", what="a table of PostgreSQL")
    try:
        with psycopg.connect(
            place.database,
            fallback_application_name="embaudit",
            **_default_timeout(place),
        ) as connection:
            connection.read_only = not writes
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            # Another transaction that changes the table can lock it for a long time.
            connection.execute(f"SET LOCAL lock_timeout = {1000 * TIMEOUT_SECONDS}")
            yield connection
    except psycopg.Error as error:
        verb = "written" if writes else "read"
        raise _refusal(address, error, verb) from error


def _default_timeout(place: Place) -> dict[str, int]:
    """Return a timeout, unless the address has one.

    A keyword of psycopg would override the timeout in the address.
    """
    if "connect_timeout=" in place.database:
        return {}
    return {"connect_timeout": TIMEOUT_SECONDS}


def _refusal(address: Address, error: Exception, verb: str) -> InputError:
    """Build the error, with advice, for a table that the client cannot use."""
    lines = [line.strip(" -\t") for line in str(error).splitlines() if line.strip()]
    why = type(error).__name__
    if lines:
        why = lines[0]
    if why.startswith("Multiple connection attempts failed") and len(lines) > 1:
        why = lines[-1]
    # Remove that the connection failed, and the severity, which are not the reason.
    why = re.sub(r"^(?:.*connection (?:failed|is bad): )+", "", why)
    why = re.sub(r"\b(?:FATAL|ERROR): +", "", why).rstrip(".")
    advice = ""
    for word, text in ADVICE.items():
        if word in why:
            advice = text
            break
    if verb == "written" and "permission denied" in why:
        advice = "ask its owner for the right to create tables there"
    if advice:
        return InputError("{} cannot be {}: {}; {}.", File(address), verb, why, advice)
    return InputError("{} cannot be {}: {}.", File(address), verb, why)


def _find_table(
    connection: Connection[Any], wanted: str, address: Address
) -> tuple[tuple[str, str], int]:
    """Return the schema and the name of a table, and its number in the catalogue.

    Raises
    ------
    InputError
        If there is no such table, or several schemas have one.
    """
    rows = connection.execute(TABLES, [[*OF_PGVECTOR]]).fetchall()
    found = []
    offered = []
    for table_id, schema, name, is_visible, has_vectors in rows:
        # A table that is not on the search path needs the name of its schema.
        full_name = f"{schema}.{name}"
        if wanted == full_name or (is_visible and wanted == name):
            found.append(((schema, name), table_id))
        if has_vectors:
            offered.append(name if is_visible else full_name)
    if len(found) == 1:
        return found[0]
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


def _primary_key(connection: Connection[Any], table_id: int) -> str | None:
    """Return the column that is the primary key of a table; None without one."""
    row = connection.execute(KEY, [table_id]).fetchone()
    if row is None:
        return None
    return str(row[0])


def _id_column(
    columns: Sequence[Column], request: Request, key: str | None, address: Address
) -> str:
    """Return the column of ids: the named one, the primary key, or the column id."""
    names = [column.name for column in columns]
    wanted = request.vector_id
    if wanted is not None and wanted not in names:
        raise must_be(
            Sentence("the id column of {}", File(address)),
            f"one of {listed(names, SHOWN)}",
            repr(wanted),
        )
    if wanted is not None:
        return wanted
    if key is not None:
        return key
    # A view has no primary key, but can have a column of this name.
    if "id" in names:
        return "id"
    return ""


def _metric(connection: Connection[Any], table_id: int, column: Column) -> Metric:
    """Return the metric of the indexes of a column."""
    parameters = {"table": table_id, "column": column.number}
    # By metric: the first index with this metric, and the type that it searches.
    sources: dict[str, tuple[str, str]] = {}
    for index, classes in connection.execute(INDEXES, parameters):
        for name in classes:
            match = OPERATORS.fullmatch(name)
            if match is not None:
                sources.setdefault(metric_named(match[2]), (index, match[1]))
    if not sources:
        return Metric(NOT_STATED, UNINDEXED.format(f"column {column.name}"))
    if len(sources) > 1:
        differing = [f"{index} by {metric}" for metric, (index, _) in sources.items()]
        return Metric(NOT_STATED, f"its indexes differ: {' and '.join(differing)}")
    ((metric, (index, searched)),) = sources.items()
    # An index of an expression, such as a cast to halfvec, searches the values of the
    # expression.
    codes = ""
    if searched != column.type:
        codes = f"{searched} copies of them"
    return Metric(metric, f"the index {index}", codes=codes)


def _counts(
    connection: Connection[Any], name: tuple[str, str], vector: Column
) -> tuple[int, int]:
    """Count the rows of a table, and those with a vector."""
    from psycopg import sql

    query = sql.SQL("SELECT count(*), count({}) FROM {}").format(
        sql.Identifier(vector.name), sql.Identifier(*name)
    )
    n_rows, n_vectors = connection.execute(query).fetchone() or (0, 0)
    return n_rows, n_vectors


def _batches(
    address: Address,
    place: Place,
    name: tuple[str, str],
    columns: Sequence[Column],
    ids: str,
    n_rows: int,
    row_bytes: int,
) -> Iterator[Batch]:
    """Read the rows that have a vector, in the order of the ids."""
    size = max(1, BATCH_BYTES // max(1, row_bytes))
    with connection_to(address, place) as connection:
        rows = _read_rows(connection, name, columns, ids, size)
        yield from track(rows, f"reading {columns[0].name}", -(-n_rows // size))


def _read_rows(
    connection: Connection[Any],
    name: tuple[str, str],
    columns: Sequence[Column],
    ids: str,
    size: int,
) -> Iterator[Batch]:
    """Yield rows in batches of `size` rows.

    The first column holds the vectors. The others are ids, titles, or both. A cursor on
    the server keeps the result, so that only one batch is in memory.
    """
    from psycopg import sql
    from psycopg.types.string import ByteaBinaryLoader

    vector, *others = columns
    names = [column.name for column in others]
    query = sql.SQL("SELECT {} FROM {} WHERE {} IS NOT NULL").format(
        sql.SQL(", ").join(sql.Identifier(column.name) for column in columns),
        sql.Identifier(*name),
        sql.Identifier(vector.name),
    )
    if ids:
        query = sql.SQL("{} ORDER BY {}").format(query, sql.Identifier(ids))
    else:
        # Without this, PostgreSQL can start a scan in the middle of a table, so rows
        # could have another order each time they are read.
        connection.execute("SET LOCAL synchronize_seqscans = off")
    if vector.type in OF_PGVECTOR:
        # Keep the bytes that the server sends; `_stack` parses them, batch by batch.
        connection.adapters.register_loader(vector.type_id, ByteaBinaryLoader)
    with connection.cursor("embaudit", binary=True) as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(size):
            vectors, *values = zip(*rows, strict=True)
            ids_of_rows: Sequence[Any] = ()
            titles = None
            for column_name, cells in zip(names, values, strict=True):
                if column_name == ids:
                    ids_of_rows = cells
                else:
                    titles = cells
            yield Batch(_stack(vectors, vector), _plain_ids(ids_of_rows), titles)


def _plain_ids(ids: Sequence[Any]) -> list[int | str]:
    """Return ids as whole numbers or texts.

    Raises
    ------
    InputError
        If a row has no id. A primary key does not allow this, but other columns do.
    """
    if any(value is None for value in ids):
        raise must_be(
            "the column of ids",
            "free of NULL",
            "a row without an id",
            Sentence("choose another column with {}", Option("vector_id")),
        )
    return [value if type(value) is int else str(value) for value in ids]


def _stack(cells: Sequence[Any], column: Column) -> NDArray[Any]:
    """Stack vectors of one length; missing numbers of an array are NaN."""
    from pgvector import HalfVector, Vector

    parsers = {"vector": Vector.from_binary, "halfvec": HalfVector.from_binary}
    vectors = cells
    if column.type in parsers:
        parse = parsers[column.type]
        vectors = [parse(cell).to_numpy() for cell in cells]
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise must_be(
            f"the vectors of column {column.name}",
            "of one length",
            f"{min(lengths)} and {max(lengths)} numbers",
            "choose the rows of one length in a view",
        )
    rows = np.array(vectors, dtype=NUMBERS[column.type])
    if rows.ndim != 2:
        raise must_be(
            f"the vectors of column {column.name}",
            "one list of numbers per row",
            "arrays of several dimensions",
        )
    return rows


def _require_new(text: str, force: bool) -> None:
    """Refuse a table that exists, and a database without pgvector."""
    address = Address(*text.split(":", 1))
    place = Place.parse(address)
    with connection_to(address, place) as connection:
        _extension_schema(connection, address)
        if not force and _is_there(connection, place.table):
            raise already_there(address)


def _remove(text: str) -> None:
    """Remove a table."""
    from psycopg import sql

    address = Address(*text.split(":", 1))
    place = Place.parse(address)
    with connection_to(address, place, writes=True) as connection:
        query = sql.SQL("DROP TABLE IF EXISTS {}").format(_quoted(place.table))
        connection.execute(query)


def _write(text: str, draft: Draft, metric: str, force: bool) -> dict[str, str]:
    """Write a table with a primary key and an index, all in one transaction."""
    from psycopg import sql

    address = Address(*text.split(":", 1))
    place = Place.parse(address)
    name = _quoted(place.table)
    n_columns = draft.right.shape[1]
    # Whole numbers beyond 63 bits are written as text.
    id_type = "bigint" if draft.tokens.dtype.kind == "i" else "text"
    columns = [sql.SQL(f"id {id_type} PRIMARY KEY")]
    if has_titles(draft):
        columns.append(sql.SQL("title text"))
    with connection_to(address, place, writes=True) as connection:
        schema = _extension_schema(connection, address)
        vector = sql.Identifier(schema, "vector")
        columns.append(sql.SQL("vector {}({})").format(vector, sql.Literal(n_columns)))
        if force:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
        elif _is_there(connection, place.table):
            raise already_there(address)
        create = sql.SQL("CREATE TABLE {} ({})")
        connection.execute(create.format(name, sql.SQL(", ").join(columns)))
        _copy_rows(connection, name, draft, id_type)
        if _is_indexed(draft):
            index = sql.SQL("CREATE INDEX ON {} USING hnsw (vector {})")
            operators = sql.Identifier(schema, CLASSES[metric])
            with announced("building the index"):
                connection.execute(index.format(name, operators))
    return {}


def _copy_rows(
    connection: Connection[Any], name: Any, draft: Draft, id_type: str
) -> None:
    """Send the rows of a draft."""
    from pgvector import Vector
    from psycopg import sql

    names = ["id"]
    types = ["text"]
    if id_type == "bigint":
        types = ["int8"]
    if has_titles(draft):
        names.append("title")
        types.append("text")
    copy_rows = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        name, sql.SQL(", ").join(map(sql.Identifier, [*names, "vector"]))
    )
    with connection.cursor().copy(copy_rows) as copy:
        # A vector is sent in the binary form of its own type, as bytes.
        copy.set_types([*types, "bytea"])
        for rows in row_batches(draft):
            ids = rows.ids
            if id_type == "text":
                ids = [str(value) for value in ids]
            columns = [ids]
            if rows.titles is not None:
                columns.append(rows.titles)
            columns.append([Vector(row).to_binary() for row in rows.vectors])
            for row in zip(*columns, strict=True):
                copy.write_row(row)


def _is_there(connection: Connection[Any], table: str) -> bool:
    """Check for a relation of a name, which can be a table, a view or an index."""
    name = _quoted(table).as_string(connection)
    row = connection.execute("SELECT to_regclass(%s)", [name]).fetchone()
    return row is not None and row[0] is not None


def _quoted(table: str) -> Any:
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
            "one with the extension vector",
            "one without",
            "run CREATE EXTENSION vector in it",
        )
    return str(row[0])


def _is_indexed(draft: Draft) -> bool:
    """Return whether an index of the vectors can be built, which states the metric."""
    return draft.right.shape[1] <= LONGEST_INDEXED


register_tables(
    "postgres", TableWriter(_require_new, _write, _remove, keeps, _is_indexed)
)
