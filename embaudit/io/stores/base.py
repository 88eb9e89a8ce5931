"""Parts that all stores share: addresses, and tables of vectors read in batches.

To add a store: write a module of this package with a reader that is registered with its
address (`embaudit.io.formats.register`). The reader returns `VectorTable.contents`, or,
if the tables of the store have columns with types of Arrow, `ColumnTable.contents` of
`embaudit.io.stores.tabular`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts, storage_of
from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be, without_secrets
from embaudit.io.contents import Contents, Source
from embaudit.io.formats.tables import BIAS_NAMES
from embaudit.io.intake import NOT_STATED, Metric, Part
from embaudit.io.options import Request
from embaudit.io.tables.delimited import plain_name
from embaudit.io.tables.titles import TITLE_NAMES
from embaudit.linalg.scratch import scratch

LISTED = 12
"""Number of tables that a question lists, at most."""
TITLE_CHARACTERS = 100
"""Length to which texts are cut that serve as titles, such as documents."""
METRICS: Mapping[str, str] = {
    "cosine": "cosine",
    "cosinesim": "cosine",
    "dot": "dot",
    "dotproduct": "dot",
    "innerproduct": "dot",
    "ip": "dot",
    "euclid": "l2",
    "euclidean": "l2",
    "l2": "l2",
    "l2sq": "l2",
    "manhattan": "l1",
    "taxicab": "l1",
}
"""One name for each metric, by the names that stores use, in lower case."""


def metric_named(name: str) -> str:
    """Return the name in `METRICS` of a metric, or an unknown name in lower case.

    Examples
    --------
    >>> metric_named("Cosine"), metric_named("inner_product"), metric_named("l1")
    ('cosine', 'dot', 'l1')
    """
    plain = name.lower().replace("_", "").replace(" ", "")
    return METRICS.get(plain, name.lower())


def metric_of_indexes(metrics: Mapping[str, str]) -> Metric | None:
    """Return the metric in which all indexes of a column agree.

    Parameters
    ----------
    metrics : mapping of str to str
        Metric of each index, by the name of the index.

    Returns
    -------
    Metric or None
        Its source is the first index. The metric is not stated if the indexes differ,
        and None without an index.

    Examples
    --------
    >>> print(metric_of_indexes({"by_id": "cosine", "by_year": "cosine"}))
    cosine, as the index by_id says
    >>> print(metric_of_indexes({"by_id": "cosine", "by_year": "dot"}))
    not stated: its indexes differ (by_id cosine, by_year dot)
    >>> metric_of_indexes({}) is None
    True
    """
    if not metrics:
        return None
    if len(set(metrics.values())) > 1:
        listing = ", ".join(f"{name} {metric}" for name, metric in metrics.items())
        return Metric(NOT_STATED, f"its indexes differ ({listing})")
    first_index, metric = next(iter(metrics.items()))
    return Metric(metric, f"the index {first_index}")


@dataclass(frozen=True)
class Address:
    """The place of a table of vectors, as a user types it: `STORE:PLACE`.

    Examples
    --------
    >>> address = Address("lancedb", "data/films")
    >>> str(address), str(address.with_table("items"))
    ('lancedb:data/films', 'lancedb:data/films/items')
    """

    store: str
    """Name of the format, such as "lancedb"."""
    place: str
    """Path or connection behind the prefix, perhaps with a table."""
    typed: str = ""
    """Address as the user typed it, for errors; empty if it is `STORE:PLACE`."""

    @classmethod
    def parse(cls, store: str, address: str | Path) -> Address:
        """Take an address, or the path of a local store without a prefix.

        Examples
        --------
        >>> Address.parse("lancedb", "lancedb:data/films").place
        'data/films'
        >>> print(Address.parse("lancedb", Path("data/films")))
        data/films
        """
        return cls(store, str(address).removeprefix(f"{store}:"), str(address))

    def __str__(self) -> str:
        return without_secrets(self.typed or f"{self.store}:{self.place}")

    def with_table(self, table: str) -> Address:
        """Add the name of a table to the address of a store."""
        return Address(self.store, f"{self.place.rstrip('/')}/{table}")

    def split(self, is_store: Callable[[Path], bool]) -> tuple[Path, str]:
        """Separate the path of a local store from the name of a table.

        The store is the longest beginning of the path that is a store, and the name of
        the table is what follows; it can hold slashes. The name is empty if the whole
        path is a store. If no beginning is a store, the last name is the table.
        """
        path = Path(self.place)
        for parent in (path, *path.parents):
            if is_store(parent):
                table = path.relative_to(parent).as_posix()
                return parent, "" if table == "." else table
        return path.parent, path.name


def chosen_table(
    address: Address, tables: Sequence[str], wanted: str, *, keyword: str = ""
) -> str:
    """Return the table that was named, or the only one.

    Parameters
    ----------
    address : Address
        Address whose place is the store, without a table.
    tables : sequence of str
        Tables of the store that can hold vectors.
    wanted : str
        The table that the caller named; empty for none.
    keyword : str
        Keyword of Python that names a table of an object; empty if the store has an
        address that can be typed.

    Raises
    ------
    InputError
        If the store has no such table, or several and none was named. The sentence
        lists addresses that can be typed, or values of the keyword.

    Examples
    --------
    >>> chosen_table(Address("lancedb", "db"), ["films", "users"], "")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: lancedb:db must be one table of vectors; got 2 tables;
    name one of lancedb:db/films, lancedb:db/users.
    >>> client = Address("qdrant", "client")
    >>> chosen_table(client, ["films", "users"], "", keyword="collection")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: qdrant:client must be one table of vectors; got 2
    tables; name one of collection='films', collection='users'.
    """
    if wanted in tables:
        return wanted
    if not tables:
        raise must_be(
            File(address),
            "a store with a table of vectors",
            "no such table",
            "name another store",
        )
    if keyword:
        choices = [f"{keyword}={name!r}" for name in tables]
    else:
        choices = [str(address.with_table(name)) for name in tables]
    remedy = f"name one of {listed(choices, LISTED)}"
    if wanted:
        missing = address
        if not address.typed:
            missing = address.with_table(wanted)
        raise must_be(
            File(missing), "a table of the store", "no table with this name", remedy
        )
    if len(tables) > 1:
        raise must_be(
            File(address),
            "one table of vectors",
            f"{len(tables)} tables",
            remedy,
        )
    return tables[0]


def no_store(address: Address, kind: str) -> InputError:
    """Build the error for an address whose path leads to no store of its kind.

    Parameters
    ----------
    address : Address
        Address with the path of a local store, and perhaps a table.
    kind : str
        Kind of the store, such as "a folder of LanceDB".

    Examples
    --------
    >>> address = Address("lancedb", "no-such-folder/items")
    >>> print(no_store(address, "a folder of LanceDB"))
    lancedb:no-such-folder/items must be a table in a folder of LanceDB; got
    no-such-folder, which does not exist; check the path.
    """
    place = Path(address.place)
    found = f"{place}, another folder"
    # Name the first part of the path that is a file or does not exist, because what
    # follows it can be the name of a table.
    for path in (*reversed(place.parents), place):
        if path.is_file():
            found = f"{path}, another file"
            break
        if not path.exists():
            found = f"{path}, which does not exist"
            break
    return must_be(File(address), f"a table in {kind}", found, "check the path")


def client(module: str, *, extra: str, what: str) -> ModuleType:
    """Import the client of a store.

    Parameters
    ----------
    module : str
        Module to import.
    extra : str
        Extra of embaudit that installs it.
    what : str
        What needs it, such as "a LanceDB table".

    Raises
    ------
    InputError
        If it is not installed.

    Examples
    --------
    >>> client("no_such_client", extra="lancedb", what="a LanceDB table")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the package no_such_client, which reads a LanceDB table,
    must be installed; run pip install 'embaudit[lancedb]'.
    """
    if find_spec(module) is None:
        raise InputError(
            f"the package {module}, which reads {what}, must be installed; run "
            f"pip install 'embaudit[{extra}]'."
        )
    return import_module(module)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, one below another."""

    vectors: NDArray[Any]
    """(m, k)"""
    ids: Sequence[int | str] | NDArray[np.integer[Any]] = ()
    """(m,) whole numbers or texts; an array holds whole numbers only. Empty if the
    table has no ids.
    """
    titles: Sequence[str | None] | None = None
    """(m,) None where the table has no texts that name its rows."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows of a table."""

    vectors: NDArray[Any]
    """(n, k)"""
    ids: NDArray[Any]
    """(n,) empty if the table has no ids."""
    titles: NDArray[np.str_] | None
    """(n,) None if a row has no title."""


@dataclass(frozen=True, eq=False)
class VectorTable:
    """One table of a store: what describes it, and a reader of its rows.

    Examples
    --------
    >>> rows = Batch(np.eye(2, dtype=np.float32), ["a", "b"])
    >>> table = VectorTable(
    ...     Address("chroma", "db/films"), 2, 2, Metric("cosine", "the collection"),
    ...     lambda: iter([rows]), ids="ids",
    ... )
    >>> table.contents().model()
    FactorModel(2 items, 2 dimensions, identity link, float32, no users)
    >>> print(table.contents().intake("chroma", None).explain())
    Read as chroma: vectors (2 × 2) as right factors, ids (2) as right ids. Metric of
    the index: cosine, as the collection says.
    """

    address: Address
    """Its address, which errors name."""
    n_rows: int
    """Number of rows with a vector, which the batches have in total."""
    n_columns: int
    metric: Metric
    batches: Callable[[], Iterator[Batch]]
    """Reads the rows in the order of the store. Called once, when a model is made."""
    ids: str
    """Name of the ids in the report of the read; empty if there are none."""
    dtype: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009
    """Type of the numbers as the store holds them."""
    vectors: str = "vectors"
    """Name of the vectors in the report of the read."""
    titles: str = ""
    """Name of the texts that name rows; empty if there are none."""
    left_over: tuple[Part, ...] = ()
    """What is not read, such as metadata, or rows without a vector."""
    files: tuple[str, ...] = ()
    """Files of the store that were read; empty for a server."""

    def contents(self) -> Contents:
        """Describe the fields of a model; rows are read when the first of them is used.

        Raises
        ------
        InputError
            When they are read: if the store holds more or fewer rows than it said, or
            rows of another length.
        """
        # All fields are read at once, when the first of them is used.
        read = cache(self._read)
        shape = (self.n_rows, self.n_columns)
        fields = {"right": Source(self.vectors, lambda: read().vectors, shape)}
        if self.ids:
            fields["right_ids"] = Source(self.ids, lambda: read().ids, (self.n_rows,))
        if self.titles:
            fields["right_names"] = Source(
                self.titles, lambda: read().titles, (self.n_rows,)
            )
        return Contents(
            fields,
            self.left_over,
            files=self.files or (str(self.address),),
            metric=self.metric,
        )

    def _read(self) -> _Rows:
        """Read all rows into one array, backed by a temporary file if it is large."""
        matrix = scratch((self.n_rows, self.n_columns), storage_of(self.dtype))
        ids: list[Sequence[int | str] | NDArray[np.integer[Any]]] = []
        titles: list[str] = []
        n_read = 0
        for batch in self.batches():
            start = n_read
            n_read += len(batch.vectors)
            if n_read > self.n_rows:
                break
            if batch.vectors.shape[1:] != (self.n_columns,):
                raise must_be(
                    Sentence("the vectors of {}", File(self.address)),
                    f"of {self.n_columns} numbers",
                    f"{batch.vectors.shape[-1]} from row {start:,} on",
                )
            matrix[start:n_read] = batch.vectors
            ids.append(batch.ids)
            titles.extend(_line_of(text) for text in batch.titles or ())
        if n_read != self.n_rows:
            raise must_be(
                File(self.address),
                "unchanged while it is read",
                f"another number of rows than {self.n_rows:,}",
                "run the command again",
            )
        matrix.flags.writeable = False
        return _Rows(matrix, ids_of(ids, self.address), titles_of(titles, self.n_rows))


def ids_of(
    batches: Sequence[Sequence[int | str] | NDArray[np.integer[Any]]], address: Address
) -> NDArray[Any]:
    """Return the ids of all batches: whole numbers if all ids are, else texts.

    Examples
    --------
    >>> address = Address("chroma", "db/films")
    >>> ids_of([np.array([3]), [7, 2**63]], address)
    array([                  3,                   7, 9223372036854775808], dtype=uint64)
    >>> ids_of([["7"], ["a"]], address)
    array(['7', 'a'], dtype='<U1')
    """
    arrays = [ids for ids in batches if isinstance(ids, np.ndarray)]
    are_arrays = len(arrays) == len(batches)
    n_types = len({array.dtype for array in arrays})
    if are_arrays and n_types == 1:
        return np.concatenate(arrays)
    values = [value for ids in batches for value in np.asarray(ids, object).tolist()]
    if values and all(type(value) is int for value in values):
        low, high = min(values), max(values)
        if low >= -(2**63) and high < 2**63:
            return np.array(values, dtype=np.int64)
        if low >= 0 and high < 2**64:
            return np.array(values, dtype=np.uint64)
    return as_texts(
        [str(value) for value in values], Sentence("the ids of {}", File(address))
    )


def titles_of(lines: Sequence[str], n_rows: int) -> NDArray[np.str_] | None:
    """Return the titles of all rows; None if a row has none.

    Examples
    --------
    >>> titles_of(["Heat", "Ran"], 2)
    array(['Heat', 'Ran'], dtype='<U4')
    >>> titles_of(["Heat", ""], 2) is None
    True
    """
    if len(lines) != n_rows or not all(lines):
        return None
    return as_texts(lines, "titles")


def _line_of(text: str | None) -> str:
    """Return a text as one line, cut to 100 characters."""
    words = (text or "")[: 4 * TITLE_CHARACTERS].split()
    return " ".join(words)[:TITLE_CHARACTERS]


def title_column(names: Sequence[str]) -> str:
    """Return the column whose texts name the rows: title, or the only customary name.

    Examples
    --------
    >>> title_column(["name", "title"]), title_column(["Movie_Title", "plot"])
    ('title', 'Movie_Title')
    >>> title_column(["name", "headline"])
    ''
    """
    if "title" in names:
        return "title"
    customary = [name for name in names if plain_name(name) in TITLE_NAMES]
    if len(customary) == 1:
        return customary[0]
    return ""


def require_no_bias(address: Address, columns: Iterable[str], request: Request) -> None:
    """Refuse to skip a column that is called a bias, unless the caller ignores it.

    Examples
    --------
    >>> films = Address("chroma", "db/films")
    >>> require_no_bias(films, ["year", "bias"], Request())
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: every column of chroma:db/films that could matter must
    be ignored by name; got bias, which has the name of a bias; ignore it with
    ignore='bias'.
    >>> require_no_bias(films, ["bias"], Request(ignore=("bias",)))
    """
    for name in columns:
        is_bias = plain_name(name) in BIAS_NAMES and not request.ignores(name)
        # If the caller wants vectors alone, a bias is not needed.
        if is_bias and request.kind != "vectors":
            raise must_be(
                Sentence("every column of {} that could matter", File(address)),
                "ignored by name",
                f"{name}, which has the name of a bias",
                Sentence("ignore it with {}", Option("ignore", name)),
            )


def unreadable(address: Address, error: Exception, verb: str = "read") -> InputError:
    """Build the error for a store that its client cannot read, or write.

    The reason is the first line of the error of the client.
    """
    first_line = str(error).strip().partition("\n")[0].rstrip()
    why = first_line or type(error).__name__
    return InputError("{} cannot be {}: {}.", File(address), verb, why.rstrip("."))


@contextmanager
def errors_of_client(
    address: Address, errors: tuple[type[Exception], ...]
) -> Iterator[None]:
    """Turn errors of a client inside of the block into refusals that name the store.

    Examples
    --------
    >>> with errors_of_client(Address("lancedb", "db"), (OSError,)):
    ...     raise OSError("a file is missing.")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: lancedb:db cannot be read: a file is missing.
    """
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise unreadable(address, error) from error
