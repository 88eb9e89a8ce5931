"""Tables of a DuckDB file, read and written by its client.

To read, the file is opened for reading only, and only while its columns are described
or rows are scanned. Nobody can write to a file that is open in the same process.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embaudit.core.words import listed
from embaudit.errors import File, must_be
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.files import first_bytes
from embaudit.io.formats import COLUMNS, TableWriter, register, register_tables
from embaudit.io.intake import NOT_STATED, Metric
from embaudit.io.options import Request
from embaudit.io.stores.addresses import LISTED, Address, no_store
from embaudit.io.stores.clients import errors_of_client, import_client, unreadable
from embaudit.io.stores.metrics import metric_named, metric_of_indexes
from embaudit.io.stores.tabular import ColumnTable, chosen_table_of_columns
from embaudit.io.stores.writing import (
    already_there,
    arrow_batches,
    arrow_schema,
    keeps,
    require_place,
)

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"DUCK"
"""Bytes 8 to 11 of a file of DuckDB."""
PLACE = "rowid"
"""Column of the place of each row, which every table has, and no view."""
TABLES = """
SELECT schema_name, table_name FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal
ORDER BY schema_name, table_name
"""
VIEWS = """
SELECT schema_name, view_name FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal
ORDER BY schema_name, view_name
"""
INDEXES = """
SELECT index_name, sql FROM duckdb_indexes()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ?
"""
HNSW = re.compile(
    r"\bUSING\s+HNSW\s*\(\s*(?P<column>\"(?:[^\"]|\"\")+\"|\w+)\s*\)"
    r"(?:\s*WITH\s*\((?P<options>[^)]*)\))?",
    re.IGNORECASE,
)
"""Pattern of the SQL that created an index of the extension vss."""
METRIC = re.compile(r"\bmetric\s*=\s*'(?P<metric>\w+)'", re.IGNORECASE)


def is_store(path: Path) -> bool:
    """Check the first bytes of a file."""
    return first_bytes(path, 12)[8:] == MAGIC


@register(
    "duckdb",
    suffixes=(".duckdb", ".ddb", ".db"),
    origin="DuckDB, a file or duckdb:FILE/TABLE",
    content="vectors, ids, titles, metric",
    options=COLUMNS,
    extra="duckdb",
    addresses=("duckdb:",),
    recognises=is_store,
    recognises_any=is_store,
)
def read(address: str | Path, request: Request) -> Contents:
    """Determine the columns of a table and what becomes of them.

    No vectors are read yet.

    Raises
    ------
    InputError
        If there is no such table, several and none is named, or it holds no vectors. A
        view is rejected, because its rows have no fixed places: two scans can return
        them in different orders, which would give vectors the ids of other rows.
    """
    typed = Address.parse("duckdb", address)
    path, wanted = typed.split(is_store)
    store = replace(typed, place=str(path))
    if not is_store(path):
        raise no_store(typed, "a file of DuckDB")
    file = _File(path, typed, _state(path))
    with file.opened() as database:
        tables = _names(database, TABLES)
        _require_no_view(store, wanted, tables, _names(database, VIEWS))
        name = chosen_table_of_columns(
            store,
            sorted(tables),
            wanted,
            lambda name: _Rows(file, *tables[name]).schema(),
        )
        return _Rows(file, *tables[name]).table().contents(request)


def _state(path: Path) -> list[tuple[int, ...]]:
    """Return place, size and time of the last change of a file and of its log.

    The log next to a file holds changes that are not in the file yet.
    """
    states: list[tuple[int, ...]] = []
    for file in (path, path.with_name(f"{path.name}.wal")):
        if file.exists():
            status = file.stat()
            states.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return states


@dataclass(frozen=True, eq=False)
class _File:
    """A file that is opened several times: to describe its columns and for each scan.

    Nobody can write to it while it is open. It is closed between the scans, so it must
    still be the same file when it is opened again.
    """

    path: Path
    address: Address
    state: list[tuple[int, ...]]
    """See `_state`."""

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file for reading; close it after the block.

        Raises
        ------
        InputError
            If the file cannot be read, or was changed since it was described.
        """
        duckdb = import_client("duckdb", extra="duckdb", what="a DuckDB table")
        with (
            errors_of_client(self.address, _errors()),
            duckdb.connect(str(self.path), read_only=True) as database,
        ):
            if _state(self.path) != self.state:
                raise must_be(
                    File(self.address),
                    "unchanged while it is read",
                    "changes to the file",
                    "run the command again",
                )
            yield database


def _names(database: Any, query: str) -> dict[str, tuple[str, str]]:
    """Return schema and name of each table or view, by the name in an address.

    In an address, the schema stands before the name unless it is main.
    """
    names = {}
    for schema, name in database.execute(query).fetchall():
        if schema == "main":
            names[name] = (schema, name)
        else:
            names[f"{schema}.{name}"] = (schema, name)
    return names


def _rows_written(view: str) -> str:
    """Return the advice for a view."""
    name = ".".join(map(quoted, view.split(".")))
    return f"in DuckDB, write its rows to a table: CREATE TABLE vectors AS FROM {name}"


def _require_no_view(
    store: Address, wanted: str, tables: Collection[str], views: Collection[str]
) -> None:
    """Refuse a view that was named, and a file that has views but no table."""
    if wanted in views:
        raise must_be(
            File(store.with_table(wanted)), "a table", "a view", _rows_written(wanted)
        )
    if views and not tables:
        view = min(views)
        raise must_be(
            File(store),
            "a file with a table of vectors",
            f"only {listed([f'the view {name}' for name in sorted(views)], LISTED)}",
            _rows_written(view),
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table in a file."""

    file: _File
    schema_name: str
    table_name: str

    def table(self) -> ColumnTable:
        return ColumnTable(
            self.file.address,
            self.schema(),
            self.count,
            self.scan,
            self.metric,
            (str(self.file.path),),
        )

    @property
    def _quoted(self) -> str:
        return f"{quoted(self.schema_name)}.{quoted(self.table_name)}"

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        query = f"SELECT * FROM {self._quoted} LIMIT 0"  # noqa: S608
        with self.file.opened() as database:
            return _reader(database.sql(query), 1).schema

    def count(self, filled: Sequence[str]) -> int:
        """Count the rows in which some columns are filled."""
        query = f"SELECT count(*) FROM {self._quoted}{_filter(filled)}"  # noqa: S608
        with self.file.opened() as database:
            return int(database.execute(query).fetchone()[0])

    def scan(
        self, columns: Sequence[str], *, filled: Sequence[str], n_rows: int
    ) -> Iterator[tuple[Any, pa.RecordBatch]]:
        """Read columns in the order of the rows; see `Scan`."""
        names = ", ".join([PLACE, *map(quoted, columns)])
        query = f"SELECT {names} FROM {self._quoted}{_filter(filled)}"  # noqa: S608
        # Each scan has a connection of its own, because a connection ends a scan when
        # it starts another one.
        with self.file.opened() as database:
            for batch in _reader(database.sql(query), n_rows):
                yield batch.column(0), batch.select(list(columns))

    def metric(self, column: str) -> Metric:
        """Return the metric of the HNSW index of a column of vectors."""
        with self.file.opened() as database:
            rows = database.execute(INDEXES, [self.schema_name, self.table_name])
            return metric_of(column, rows.fetchall())


def metric_of(column: str, indexes: Sequence[tuple[str, str | None]]) -> Metric:
    """Return the metric of a column.

    Parameters
    ----------
    column : str
        Name of the column.
    indexes : sequence of tuple
        Name and SQL of each index of its table.

    Examples
    --------
    >>> sql = "CREATE INDEX i ON t USING HNSW (v)"
    >>> print(metric_of("v", [("i", sql + " WITH (metric = 'cosine');")]))
    cosine, as the index i says
    >>> print(metric_of("v", [("i", sql + ";")]))
    l2, the default of the index i, which names no metric
    >>> print(metric_of("v", []))
    not stated: the column v has no HNSW index
    """
    stated = {}
    defaults = {}
    for name, sql in indexes:
        index = HNSW.search(sql or "")
        if index is None or index["column"] not in (column, quoted(column)):
            continue
        option = METRIC.search(index["options"] or "")
        if option is None:
            defaults[name] = "l2"
        else:
            stated[name] = metric_named(option["metric"])
    metric = metric_of_indexes({**stated, **defaults})
    if metric is None:
        return Metric(NOT_STATED, f"the column {column} has no HNSW index")
    if metric.is_stated and not stated:
        source = f"the default of {metric.source}, which names no metric"
        return Metric(metric.name, source, is_default=True)
    return metric


def _errors() -> tuple[type[Exception], ...]:
    """Return the types of the errors of the client and of Arrow in a scan."""
    duckdb = import_client("duckdb", extra="duckdb", what="a DuckDB table")
    return duckdb.Error, OSError, RuntimeError, ValueError


def quoted(name: str) -> str:
    """Quote the name of a table or a column for SQL.

    Examples
    --------
    >>> print(quoted('two "films" of mine'))
    "two ""films"" of mine"
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _filter(filled: Sequence[str]) -> str:
    """Return the WHERE clause for rows in which all these columns are filled."""
    if not filled:
        return ""
    conditions = (f"{quoted(name)} IS NOT NULL" for name in filled)
    return f" WHERE {' AND '.join(conditions)}"


def _reader(relation: Any, n_rows: int) -> Any:
    """Return a reader of batches of Arrow, whose name depends on the version."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(n_rows)
    return relation.fetch_arrow_reader(n_rows)


def _place(text: str) -> tuple[Address, Path, str]:
    """Return an address, the file, and the name of the table."""
    address = Address.parse("duckdb", text)
    path, name = address.split(is_store)
    return address, path, name


def _require_new(text: str, force: bool) -> None:
    """Refuse a table that exists."""
    address, path, name = _place(text)
    require_place(address, path, name, "duckdb:FILE/TABLE")
    if path.exists() and not is_store(path):
        raise must_be(File(path), "a file of DuckDB", "another file")
    if path.exists():
        with _writing(address, path) as database:
            if not force and _is_there(database, name):
                raise already_there(address)


def _remove(text: str) -> None:
    """Remove a table."""
    address, path, name = _place(text)
    with _writing(address, path) as database:
        database.execute(f"DROP TABLE IF EXISTS {quoted(name)}")


def _write(
    text: str,
    draft: Draft,
    metric: str,  # noqa: ARG001
    force: bool,
) -> dict[str, str]:
    """Write a table in one transaction.

    The metric is not written, because DuckDB states none. Only its extension vss does,
    for an index in memory.
    """
    address, path, name = _place(text)
    is_new = not path.exists()
    columns = ", ".join(
        f"{quoted(field.name)} {_type(field.type)}" for field in arrow_schema(draft)
    )
    try:
        with _writing(address, path) as database:
            if force:
                database.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
            elif _is_there(database, name):
                raise already_there(address)
            database.execute(f"CREATE TABLE {quoted(name)} ({columns})")
            for batch in arrow_batches(draft):
                database.register("embaudit_batch", batch)
                database.execute(
                    f"INSERT INTO {quoted(name)} SELECT * FROM embaudit_batch"  # noqa: S608
                )
                database.unregister("embaudit_batch")
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise
    return {}


def _type(kind: pa.DataType) -> str:
    """Return the type of a column in SQL."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return f"FLOAT[{kind.list_size}]"
    if types.is_unsigned_integer(kind):
        return "UBIGINT"
    if types.is_integer(kind):
        return "BIGINT"
    return "VARCHAR"


def _is_there(database: Any, name: str) -> bool:
    """Check for a table or a view."""
    query = (
        "SELECT count(*) FROM information_schema.tables "
        "WHERE table_schema = 'main' AND table_name = ?"
    )
    return bool(database.execute(query, [name]).fetchone()[0])


@contextmanager
def _writing(address: Address, path: Path) -> Iterator[Any]:
    """Open a file for one transaction, which is undone if the block fails."""
    duckdb = import_client("duckdb", extra="duckdb", what="a DuckDB table")
    try:
        with duckdb.connect(str(path)) as database:
            database.begin()
            yield database
            database.commit()
    except duckdb.Error as error:
        raise unreadable(address, error, "written") from error


register_tables(
    "duckdb",
    TableWriter(
        _require_new, _write, _remove, keeps, states_metric=lambda _draft: False
    ),
)
