"""Files of SQLite, opened so that neither they nor their folder change."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from embaudit.errors import File, must_be
from embaudit.io.files import first_bytes
from embaudit.io.stores.addresses import Address
from embaudit.io.stores.clients import unreadable

MAGIC = b"SQLite format 3\0"
"""First bytes of a file of SQLite."""
WRITE_AHEAD = b"\2\2"
"""Bytes 18 and 19 of a file in write-ahead mode."""
LOGS = ("-wal", "-journal")
"""Endings of the names of logs next to a file, with changes that are not in it yet."""


def is_sqlite(path: Path) -> bool:
    """Check the first bytes of a file."""
    return first_bytes(path) == MAGIC


@contextmanager
def opened(path: Path, address: Address) -> Iterator[sqlite3.Connection]:
    """Open a file of SQLite for reading, as it is at this moment.

    A log next to the file holds changes that belong to it. SQLite would write them into
    the file, so the file and its logs are copied, and the copy is read. Without a log,
    the file itself is read. If the file is in write-ahead mode, it is opened as
    immutable, because SQLite would create an empty log otherwise.

    Raises
    ------
    InputError
        If the file is damaged, or changed while it is read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.db")
    ...     with closing(sqlite3.connect(path)) as database:
    ...         _ = database.execute("CREATE TABLE a AS SELECT 3 AS x")
    ...     with opened(path, Address("sqlite-vec", str(path))) as database:
    ...         database.execute("SELECT x FROM a").fetchall()
    [(3,)]
    """
    logs = [path.with_name(path.name + ending) for ending in LOGS]
    if any(log.exists() and log.stat().st_size for log in logs):
        with tempfile.TemporaryDirectory(
            prefix="embaudit-", ignore_cleanup_errors=True
        ) as folder:
            for file in (path, *logs):
                if file.exists():
                    shutil.copy(file, folder)
            copy = Path(folder, path.name)
            with _connected(copy.as_uri(), address) as database:
                yield database
        return
    uri = f"{path.absolute().as_uri()}?mode=ro"
    has_write_ahead_mode = first_bytes(path, 20)[18:] == WRITE_AHEAD
    if has_write_ahead_mode:
        uri += "&immutable=1"
    before = path.stat()
    with _connected(uri, address) as database:
        yield database
    after = path.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise must_be(
            File(address),
            "unchanged while it is read",
            "changes to the file",
            "run the command again",
        )


@contextmanager
def _connected(uri: str, address: Address) -> Iterator[sqlite3.Connection]:
    """Connect to a file, and read all of it in one transaction."""
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as database:
            database.text_factory = _text
            database.set_authorizer(_without_views)
            database.execute("BEGIN")
            yield database
    except sqlite3.Error as error:
        # `_without_views` causes this code. Errors that Python raises have no code.
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_AUTH:
            raise must_be(
                File(address), "a store of tables", "a view", "write it again"
            ) from error
        raise unreadable(address, error) from error
    except UnicodeDecodeError as error:
        # Messages of SQLite can quote a damaged CREATE TABLE statement.
        raise must_be(
            File(address),
            "a valid file of SQLite",
            "a damaged declaration of a table",
            "write it again",
        ) from error


def _without_views(
    _action: int,
    _first: str | None,
    _second: str | None,
    _database: str | None,
    view: str | None,
) -> int:
    """Deny every action of a view, because a view can have endlessly many rows."""
    if view is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _text(stored: bytes) -> str:
    return stored.decode(errors="replace")


def require_room(
    files: Iterable[Path], n_rows: int, n_columns: int, address: Address
) -> None:
    """Refuse rows of float32 that do not fit into the files that should hold them.

    Examples
    --------
    >>> require_room([Path(__file__)], 2**40, 8, Address("sqlite-vec", "a.db"))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: sqlite-vec:a.db must be a complete store; got
    1,099,511,627,776 rows of 8 numbers, more than its files hold; write it again.
    """
    n_bytes = sum(path.stat().st_size for path in files if path.is_file())
    if 4 * n_rows * n_columns > n_bytes:
        raise must_be(
            File(address),
            "a complete store",
            f"{n_rows:,} rows of {n_columns:,} numbers, more than its files hold",
            "write it again",
        )


def column_names(database: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of the columns of a table; empty if there is no such table."""
    rows = database.execute("SELECT name FROM pragma_table_info(?)", [table])
    return [name for (name,) in rows]
