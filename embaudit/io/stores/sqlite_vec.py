"""Tables of sqlite-vec in a file of SQLite, read by the standard library alone.

A table `X` keeps its vectors in chunks of places, which hold one row each. For each
place, `X_chunks` has a bit that says whether it is filled, and the number of its row.
`X_vector_chunks00` has the vectors of the first column of vectors, including places
that are not filled.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.formats import register
from embaudit.io.intake import Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.addresses import LISTED, Address, chosen_table, no_store
from embaudit.io.stores.columns import title_column
from embaudit.io.stores.metrics import metric_named
from embaudit.io.stores.sqlite import LOGS, is_sqlite, opened, require_room
from embaudit.io.stores.vector_table import Batch, VectorTable

TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
ARGUMENTS = re.compile(
    r"\bUSING\s+vec0\s*\((?P<arguments>.*)\)\s*;?\s*$", re.IGNORECASE | re.DOTALL
)
VECTOR = re.compile(
    r"(?P<name>\w+)\s+(?P<kind>float|f32|int8|i8|bit)\s*\[\s*(?P<width>\d{1,18})\s*\]"
    r"(?P<options>.*)",
    re.IGNORECASE | re.DOTALL,
)
METRIC = re.compile(r"\bdistance_metric\s*=\s*(?P<metric>\w+)", re.IGNORECASE)
COLUMN = re.compile(
    r"(?P<auxiliary>\+?)\s*(?P<name>\w+)\s+(?P<kind>\w+)(?P<role>(?:\s+\w+)*)",
    re.DOTALL,
)
FLOATS = ("float", "f32")
"""Kinds of vectors whose numbers are stored as they are, in float32."""
PREFIX_BYTES = 12
"""Length in bytes up to which a text is stored in a chunk of metadata. Longer texts are
stored in a table of their own.
"""


@dataclass(frozen=True)
class VectorColumn:
    """A column of vectors."""

    name: str
    kind: str
    """Float, int8 or bit."""
    width: int
    """Numbers of a vector."""
    metric: str | None
    """The metric that the table states; None if it states none."""
    number: int
    """Its place among the columns of vectors."""


@dataclass(frozen=True)
class TextColumn:
    """A column of texts, which can name rows."""

    name: str
    is_auxiliary: bool
    """True if the texts lie in a table of their own, not in chunks."""
    number: int
    """Its place among the columns of its kind."""


@dataclass(frozen=True)
class Declaration:
    """The columns of a table, as its CREATE statement declares them.

    Examples
    --------
    >>> table = Declaration.parse(
    ...     "CREATE VIRTUAL TABLE films USING vec0(id integer primary key,"
    ...     " v float[8] distance_metric=cosine, year integer, +title text,"
    ...     " chunk_size=16)"
    ... )
    >>> table.vectors
    (VectorColumn(name='v', kind='float', width=8, metric='cosine', number=0),)
    >>> table.key, table.texts, table.others
    ('id', (TextColumn(name='title', is_auxiliary=True, number=0),), ('year',))
    >>> Declaration.parse("CREATE TABLE films (id integer)") is None
    True
    """

    key: str
    """Name of the primary key; `rowid` if the table declares none."""
    vectors: tuple[VectorColumn, ...]
    texts: tuple[TextColumn, ...]
    others: tuple[str, ...]
    """Names of columns that are neither."""

    @classmethod
    def parse(cls, sql: str | None) -> Declaration | None:
        """Read a CREATE statement; return None for a table of another kind."""
        match = ARGUMENTS.search(sql or "")
        if match is None:
            return None
        key = "rowid"
        vectors: list[VectorColumn] = []
        texts: list[TextColumn] = []
        others: list[str] = []
        n_auxiliary = 0
        n_metadata = 0
        for argument in match["arguments"].split(","):
            text = argument.strip()
            vector = VECTOR.fullmatch(text)
            column = COLUMN.fullmatch(text)
            if vector is not None:
                stated = METRIC.search(vector["options"])
                metric = None
                if stated is not None:
                    metric = stated["metric"]
                vectors.append(
                    VectorColumn(
                        vector["name"],
                        vector["kind"].lower(),
                        int(vector["width"]),
                        metric,
                        len(vectors),
                    )
                )
            elif column is None:
                # An option of the table, such as chunk_size=16.
                continue
            elif "primary" in column["role"].lower():
                key = column["name"]
            elif "partition" in column["role"].lower():
                others.append(column["name"])
            else:
                # Auxiliary columns and columns of metadata are numbered apart.
                is_auxiliary = bool(column["auxiliary"])
                if is_auxiliary:
                    number = n_auxiliary
                    n_auxiliary += 1
                else:
                    number = n_metadata
                    n_metadata += 1
                if column["kind"].lower() == "text":
                    texts.append(TextColumn(column["name"], is_auxiliary, number))
                else:
                    others.append(column["name"])
        return cls(key, tuple(vectors), tuple(texts), tuple(others))


@register(
    "sqlite-vec",
    suffixes=(".db", ".sqlite", ".sqlite3"),
    origin="sqlite-vec, a file or sqlite-vec:FILE/TABLE",
    content="vectors, ids, titles, metric",
    options=("vector",),
    addresses=("sqlite-vec:",),
    recognises=is_sqlite,
    recognises_any=is_sqlite,
)
def read(address: str | Path, request: Request) -> Contents:
    """Determine the vectors of a table, their ids and titles; no vectors are read yet.

    Raises
    ------
    InputError
        If there is no such table, several and none is named, or its vectors are
        quantised.
    """
    typed = Address.parse("sqlite-vec", address)
    path, wanted = typed.split(is_sqlite)
    store = replace(typed, place=str(path))
    if not is_sqlite(path):
        raise no_store(typed, "a file of SQLite")
    with opened(path, store) as database:
        stored = dict(database.execute(TABLES).fetchall())
        tables = {}
        for name, sql in stored.items():
            declaration = Declaration.parse(sql)
            if declaration is not None:
                tables[name] = declaration
        if not tables:
            raise _without_vectors(store, sorted(stored))
        chosen = chosen_table(store, sorted(tables), wanted)
        rows = _Rows(path, typed, chosen, tables[chosen])
        return rows.table(database, request).contents()


def _without_vectors(store: Address, names: Sequence[str]) -> InputError:
    """Build the error for a file of SQLite that has only tables of other kinds."""
    got = "no tables"
    if len(names) == 1:
        got = f"only the table {names[0]}"
    elif names:
        got = f"only the tables {listed(names, LISTED)}"
    return must_be(
        File(store),
        "a file of SQLite with a table of vectors of sqlite-vec",
        got,
        "check the path, or write the vectors as .npy or .parquet",
    )


@dataclass(frozen=True)
class _Rows:
    """Reads the rows of a table in a file."""

    path: Path
    address: Address
    name: str
    declaration: Declaration

    def table(self, database: sqlite3.Connection, request: Request) -> VectorTable:
        """Describe the rows of a column of vectors."""
        column = self._column(request)
        texts = {text.name: text for text in self.declaration.texts}
        titles = texts.get(title_column([*texts]))
        query = f"SELECT count(*) FROM {self._shadow('rowids')}"  # noqa: S608
        (n_rows,) = database.execute(query).fetchone()
        if n_rows == 0:
            raise must_be(File(self.address), "a table with rows", "no rows")
        files = [self.path.with_name(f"{self.path.name}{end}") for end in ("", *LOGS)]
        require_room(files, n_rows, column.width, self.address)
        declared = self.declaration
        left_over = [other.name for other in declared.vectors if other != column]
        left_over += [text.name for text in declared.texts if text != titles]
        left_over += declared.others
        name_of_titles = ""
        if titles is not None:
            name_of_titles = titles.name
        return VectorTable(
            self.address,
            n_rows,
            column.width,
            metric_of(column),
            lambda: self._batches(column, titles),
            ids=declared.key,
            vectors=f"column {column.name}",
            titles=name_of_titles,
            left_over=tuple(Part(name, "", (n_rows,)) for name in left_over),
            files=(str(self.path),),
        )

    def _column(self, request: Request) -> VectorColumn:
        """Return the column of vectors that was named, or the only column of floats."""
        columns = self.declaration.vectors
        if not columns:
            raise must_be(
                File(self.address), "a table with a column of vectors", "no such column"
            )
        names = ", ".join(
            f"{column.name} ({column.kind}[{column.width}])" for column in columns
        )
        if request.vector is not None:
            columns = tuple(
                column for column in columns if column.name == request.vector
            )
            if not columns:
                raise must_be(
                    "vector",
                    Sentence("one of {} in {}", names, File(self.address)),
                    repr(request.vector),
                )
        floats = [column for column in columns if column.kind in FLOATS]
        if not floats:
            raise must_be(
                Sentence("the vectors of {}", File(self.address)),
                "floating-point numbers",
                f"{names}, which hold rounded numbers",
                "store the original numbers as float32",
            )
        if len(floats) > 1:
            raise must_be(
                Sentence("the vectors of {}", File(self.address)),
                "in one column",
                names,
                Sentence("choose it with {}", Option("vector")),
            )
        return floats[0]

    def _batches(
        self, column: VectorColumn, titles: TextColumn | None
    ) -> Iterator[Batch]:
        """Yield the rows of each chunk that are filled."""
        with opened(self.path, self.address) as database:
            has_names = self._has_names(database)
            table = self._shadow("chunks")
            query = f"SELECT chunk_id, size, validity, rowids FROM {table}"  # noqa: S608
            chunks = database.execute(f"{query} ORDER BY chunk_id")
            for chunk, size, validity, row_bytes in chunks:
                if type(size) is not int:
                    raise self._damaged(f"no number of places of chunk {chunk}")
                n_bytes = -(-size // 8)
                stored = self._stored(validity, n_bytes, f"validity in chunk {chunk}")
                bits = np.unpackbits(np.frombuffer(stored, np.uint8), bitorder="little")
                is_filled = bits[:size].astype(bool)
                if not is_filled.any():
                    continue
                places = np.flatnonzero(is_filled)
                vectors = self._vectors(database, column, chunk, size)[places]
                stored = self._stored(row_bytes, 8 * size, f"rows in chunk {chunk}")
                rows = np.frombuffer(stored, "<i8")[places]
                ids: Sequence[int | str] | NDArray[np.integer] = rows
                if has_names:
                    ids = self._named(database, rows, chunk)
                texts = None
                if titles is not None and titles.is_auxiliary:
                    texts = self._auxiliary(database, titles, rows)
                elif titles is not None:
                    texts = self._metadata(database, titles, chunk, size, rows, places)
                yield Batch(vectors, ids, texts)

    def _named(
        self, database: sqlite3.Connection, rows: NDArray[np.int64], chunk: int
    ) -> list[str]:
        """Return the ids of rows, by their numbers, in a table with texts as ids."""
        query = f"SELECT rowid, id FROM {self._shadow('rowids')}"  # noqa: S608
        names = _by_row(database, query, rows)
        ids = [name for name in names if name is not None]
        if len(ids) < len(names):
            raise self._damaged(f"rows without an id in chunk {chunk}")
        return ids

    def _auxiliary(
        self, database: sqlite3.Connection, titles: TextColumn, rows: NDArray[np.int64]
    ) -> list[str | None]:
        """Return the texts of rows, by their numbers, in an auxiliary column."""
        column = f"value{titles.number:02d}"
        query = f"SELECT rowid, {column} FROM {self._shadow('auxiliary')}"  # noqa: S608
        return _by_row(database, query, rows)

    def _vectors(
        self, database: sqlite3.Connection, column: VectorColumn, chunk: int, size: int
    ) -> NDArray[np.float32]:
        """Return the vectors of all places of a chunk."""
        table = self._shadow(f"vector_chunks{column.number:02d}")
        query = f"SELECT vectors FROM {table} WHERE rowid = ?"  # noqa: S608
        (value,) = database.execute(query, [chunk]).fetchone() or (b"",)
        n_bytes = 4 * size * column.width
        stored = self._stored(value, n_bytes, f"vectors in chunk {chunk}")
        return np.frombuffer(stored, "<f4").reshape(size, column.width)

    def _metadata(
        self,
        database: sqlite3.Connection,
        titles: TextColumn,
        chunk: int,
        size: int,
        rows: NDArray[np.int64],
        places: NDArray[np.intp],
    ) -> list[str | None]:
        """Return the texts of a chunk.

        A chunk holds the length of each text in 4 bytes, and then its first 12 bytes.
        Longer texts are stored in a table of their own.
        """
        table = self._shadow(f"metadatachunks{titles.number:02d}")
        query = f"SELECT data FROM {table} WHERE rowid = ?"  # noqa: S608
        (value,) = database.execute(query, [chunk]).fetchone() or (b"",)
        n_bytes = (4 + PREFIX_BYTES) * size
        stored = self._stored(value, n_bytes, f"texts in chunk {chunk}")
        views = np.frombuffer(stored, np.uint8).reshape(-1, 4 + PREFIX_BYTES)[places]
        lengths = views[:, :4].copy().view("<i4").ravel()
        if (lengths < 0).any():
            raise self._damaged(f"texts of negative length in chunk {chunk}")
        table = self._shadow(f"metadatatext{titles.number:02d}")
        query = f"SELECT rowid, data FROM {table}"  # noqa: S608
        is_long = lengths > PREFIX_BYTES
        long_texts = iter(_by_row(database, query, rows[is_long]))
        texts: list[str | None] = []
        for view, length in zip(views, lengths, strict=True):
            if length > PREFIX_BYTES:
                texts.append(next(long_texts))
            else:
                texts.append(view[4 : 4 + length].tobytes().decode(errors="replace"))
        return texts

    def _stored(self, value: object, n_bytes: int, what: str) -> bytes:
        """Return the bytes in a cell; raise InputError for another value.

        In SQLite, any column can hold values of any type.
        """
        if not isinstance(value, bytes):
            raise self._damaged(f"no bytes of {what}")
        if len(value) != n_bytes:
            raise self._damaged(f"{len(value):,} bytes of {what}")
        return value

    def _damaged(self, got: str) -> InputError:
        return must_be(
            File(self.address), "a complete table of sqlite-vec", got, "write it again"
        )

    def _has_names(self, database: sqlite3.Connection) -> bool:
        """Check if rows have texts as ids, next to the numbers of the rows."""
        query = f"SELECT 1 FROM {self._shadow('rowids')} WHERE id IS NOT NULL LIMIT 1"  # noqa: S608
        return database.execute(query).fetchone() is not None

    def _shadow(self, ending: str) -> str:
        """Return the quoted name of a table that holds a part of this one."""
        doubled = f"{self.name}_{ending}".replace('"', '""')
        return f'"{doubled}"'


def metric_of(column: VectorColumn) -> Metric:
    """Return the metric that a column states.

    Examples
    --------
    >>> print(metric_of(VectorColumn("v", "float", 8, None, 0)))
    l2, sqlite-vec's default for a column that states no metric
    """
    if column.metric is None:
        source = "sqlite-vec's default for a column that states no metric"
        return Metric("l2", source, is_default=True)
    return Metric(metric_named(column.metric), f"the column {column.name}")


def _by_row(
    database: sqlite3.Connection, query: str, rows: NDArray[np.int64]
) -> list[str | None]:
    """Return the text of each row; None for a row without a text.

    Parameters
    ----------
    database : Connection
    query : str
        Selects numbers of rows and their texts, without a condition.
    rows : array of int
        Numbers of the rows.
    """
    wanted = f"{query} WHERE rowid IN (SELECT value FROM json_each(?))"  # noqa: S608
    numbers = rows.tolist()
    stored = dict(database.execute(wanted, [json.dumps(numbers)]).fetchall())
    texts: list[str | None] = []
    for number in numbers:
        text = stored.get(number)
        if text is not None:
            text = str(text)
        texts.append(text)
    return texts
