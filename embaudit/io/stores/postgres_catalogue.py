"""What the catalogue of PostgreSQL says about tables: columns, keys and indexes.

Names of tables and columns are looked up here and quoted as identifiers later, so that
none of them is read as SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.core.words import listed
from embaudit.errors import File, must_be
from embaudit.io.intake import NOT_STATED, Metric
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.metrics import metric_named

if TYPE_CHECKING:
    from psycopg import Connection, sql

PGVECTOR_TYPES = ("vector", "halfvec")
"""Types of pgvector that hold dense vectors of floating-point numbers."""
MOST_LISTED = 12
"""Number of tables that a sentence lists, at most."""
OPERATOR_CLASS = re.compile(
    r"(?P<type>vector|halfvec|sparsevec|bit)_(?P<metric>\w+)_ops"
)
"""An operator class of pgvector: the type that an index searches, and its metric."""
BASE_TYPES = """
WITH RECURSIVE base_types (type_id, base_id) AS (
  SELECT oid, oid FROM pg_catalog.pg_type WHERE typtype <> 'd'
  UNION ALL
  SELECT domain.oid, base_types.base_id
  FROM pg_catalog.pg_type domain
  JOIN base_types ON base_types.type_id = domain.typbasetype
  WHERE domain.typtype = 'd'
)
"""
"""The beginning of a query, which maps each type to its base type.

The base type of a domain is the type that holds its values. A domain can be defined
over another domain. Every other type is its own base type.
"""
TABLES = (
    BASE_TYPES
    + """
SELECT c.oid, n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid),
  EXISTS (
    SELECT FROM pg_catalog.pg_attribute a
    JOIN base_types ON base_types.type_id = a.atttypid
    JOIN pg_catalog.pg_type t ON t.oid = base_types.base_id
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND t.typname = ANY(%(types)s))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY n.nspname, c.relname
"""
)
"""Tables and views, and whether each has a column of one of some types."""
COLUMNS = (
    BASE_TYPES
    + """
SELECT a.attname, a.attnum, t.typname, t.oid
FROM pg_catalog.pg_attribute a
JOIN base_types ON base_types.type_id = a.atttypid
JOIN pg_catalog.pg_type t ON t.oid = base_types.base_id
WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
)
"""Columns of a table."""
PRIMARY_KEY = """
SELECT a.attname
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = %(table)s AND i.indisprimary AND i.indnkeyatts = 1
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
class Table:
    """A table or a view."""

    schema: str
    name: str
    id: int
    """Its number in the catalogue."""

    def quoted(self) -> sql.Identifier:
        """Return the name with its schema, quoted for SQL."""
        from psycopg import sql

        return sql.Identifier(self.schema, self.name)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    number: int
    type: str
    """Name of its type, such as int4 or vector; the base type of a domain."""
    type_id: int
    """Number of this type in the catalogue."""

    def quoted(self) -> sql.Identifier:
        """Return the name, quoted for SQL."""
        from psycopg import sql

        return sql.Identifier(self.name)


def find_table(connection: Connection[Any], wanted: str, address: Address) -> Table:
    """Return the table or view with a name, which can begin with a schema.

    Raises
    ------
    InputError
        If there is no such table. Also if several have this name, which is possible
        only with dots in names of schemas or tables.
    """
    rows = connection.execute(TABLES, {"types": [*PGVECTOR_TYPES]}).fetchall()
    by_full_name = []
    by_name = []
    offered = []
    for table_id, schema, name, is_visible, has_vectors in rows:
        # A table that is not on the search path needs the name of its schema.
        full_name = f"{schema}.{name}"
        if wanted == full_name:
            by_full_name.append(Table(schema, name, table_id))
        elif is_visible and wanted == name:
            by_name.append(Table(schema, name, table_id))
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
        remedy = f"name one of {listed(offered, MOST_LISTED)}"
    raise must_be(
        File(address), "a table of the database", f"none called {wanted}", remedy
    )


def columns_of(connection: Connection[Any], table: Table) -> list[Column]:
    """Return the columns of a table in their order."""
    rows = connection.execute(COLUMNS, {"table": table.id})
    return [Column(*row) for row in rows]


def primary_key(connection: Connection[Any], table: Table) -> str | None:
    """Return the column that is the primary key of a table.

    None for a view, and for a table whose key is missing or has several columns.
    """
    row = connection.execute(PRIMARY_KEY, {"table": table.id}).fetchone()
    if row is None:
        return None
    return str(row[0])


def index_metric(connection: Connection[Any], table: Table, column: Column) -> Metric:
    """Return the metric that the indexes of a column of vectors have in common.

    It is not stated if there is no index, or if the indexes differ.
    """
    parameters = {"table": table.id, "column": column.number}
    # By metric: an index, and the type of the values that it searches.
    sources: dict[str, tuple[str, str]] = {}
    for index, operator_classes in connection.execute(INDEXES, parameters):
        for name in operator_classes:
            match = OPERATOR_CLASS.fullmatch(name)
            if match is None:
                continue
            searched, metric = match["type"], metric_named(match["metric"])
            # The first index comes first, but an index of the column itself comes
            # before an index of an expression, such as a cast to halfvec.
            is_cast_before = metric in sources and sources[metric][1] != column.type
            if metric not in sources or (is_cast_before and searched == column.type):
                sources[metric] = (index, searched)
    if not sources:
        reason = (
            f"column {column.name} has no index, and the operator of each query decides"
        )
        return Metric(NOT_STATED, reason)
    if len(sources) > 1:
        differing = [f"{index} by {metric}" for metric, (index, _) in sources.items()]
        return Metric(NOT_STATED, f"its indexes differ: {' and '.join(differing)}")
    ((metric, (index, searched)),) = sources.items()
    codes = ""
    if searched != column.type:
        codes = f"{searched} copies of them"
    return Metric(metric, f"the index {index}", codes=codes)
