"""Collections of Chroma in a folder.

The folder holds the file `chroma.sqlite3`, and a folder with an index for each large
collection. Metric, ids and documents are read from the file by the standard library.
Vectors wait in a queue in the file until the index takes them, so the vectors of a
small collection are read from the queue. The index of a large collection names its rows
in a pickle, which is never opened here. Instead, the client of Chroma reads the index.
It reads a copy of the folder, because it would change the folder itself.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, must_be
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.formats import TableWriter, register, register_tables
from embaudit.io.intake import NOT_STATED, Metric, Part
from embaudit.io.options import Request
from embaudit.io.stores.addresses import Address, chosen_table, no_store
from embaudit.io.stores.clients import import_client, unreadable
from embaudit.io.stores.columns import title_column
from embaudit.io.stores.metrics import metric_named
from embaudit.io.stores.sqlite import (
    LOGS,
    column_names,
    is_sqlite,
    opened,
    require_room,
)
from embaudit.io.stores.vector_table import Batch, VectorTable
from embaudit.io.stores.writing import (
    Rows,
    already_there,
    keeps,
    removed_if_new,
    require_place,
    row_batches,
)

FILE = "chroma.sqlite3"
DOCUMENT = "chroma:document"
"""Key under which the document of a row lies among its metadata."""
PICKLE = "index_metadata.pickle"
"""File of an index that has taken vectors out of the queue."""
PAGE_ROWS = 2_000
"""Rows that are read at a time."""
SEGMENT = re.compile(r"[\w-]{1,99}")
"""Pattern of the id of a segment, which can also be the name of a folder."""
DEFAULT_DATABASE = "default_database"
ADD, UPDATE, UPSERT, DELETE = range(4)
"""Operations of the queue."""
COLLECTIONS = """
SELECT c.id, c.name, c.dimension, d.name AS database, d.tenant_id AS tenant,
       {schema} AS schema, {configuration} AS configuration
FROM collections c JOIN databases d ON c.database_id = d.id
ORDER BY c.name
"""
IN_SCHEMA = (("keys", "#embedding", "float_list", "vector_index", "config", "space"),)
"""Keys to the metric in the schema that versions from 1.3 on write."""
IN_CONFIGURATION = (
    ("hnsw", "space"),
    ("spann", "space"),
    ("vector_index", "hnsw", "space"),
    ("vector_index", "spann", "space"),
)
"""Keys to the metric in the configuration that versions from 1.0 on write."""
BEFORE_1_0 = ("hnsw_configuration", "space")
SPACES = {"cosine": "cosine", "dot": "ip"}
"""Names of metrics in the configuration of a collection."""
QUEUE = """
SELECT operation, id, vector, encoding FROM embeddings_queue
WHERE substr(topic, -36) = ? ORDER BY seq_id
"""


def folder_of(path: Path) -> Path:
    """Return the folder of a store from its own path or from the path of its file."""
    if path.name == FILE:
        return path.parent
    return path


def is_store(path: Path) -> bool:
    """Check for a folder with a file of Chroma, or for this file."""
    return is_sqlite(folder_of(path) / FILE)


@register(
    "chroma",
    suffixes=("/", ".sqlite3"),
    origin="Chroma, a folder or chroma:FOLDER/COLLECTION",
    content="vectors, ids, titles, metric",
    addresses=("chroma:",),
    recognises=is_store,
)
def read(address: str | Path, request: Request) -> Contents:  # noqa: ARG001
    """Describe the vectors of a collection, their ids and titles.

    No vectors are read yet.

    Raises
    ------
    InputError
        If there is no such collection, several and none is named, or it is empty.
    """
    typed = Address.parse("chroma", address)
    path, wanted = typed.split(is_store)
    folder = folder_of(path)
    store = replace(typed, place=str(folder))
    if not is_store(folder):
        raise no_store(typed, "a folder of Chroma")
    with opened(folder / FILE, store) as database:
        collections = _collections(database, store)
        name = chosen_table(store, sorted(collections), wanted)
        return _Rows(folder, typed, collections[name]).table(database).contents()


@dataclass(frozen=True)
class Collection:
    """One collection, as the file describes it."""

    id: str
    name: str
    database: str
    tenant: str
    n_columns: int
    metric: Metric


def _collections(
    database: sqlite3.Connection, address: Address
) -> dict[str, Collection]:
    """Return the collections by name.

    A collection outside of the default database is called `database/name`.
    """
    # Older versions lack these columns.
    columns = column_names(database, "collections")
    schema_column = "NULL"
    if "schema_str" in columns:
        schema_column = "c.schema_str"
    configuration_column = "NULL"
    if "config_json_str" in columns:
        configuration_column = "c.config_json_str"
    query = COLLECTIONS.format(schema=schema_column, configuration=configuration_column)
    collections = {}
    rows = database.execute(query).fetchall()
    for id_, name, dimension, store, tenant, schema, configuration in rows:
        # SQLite lets any column hold a value of any type.
        texts = (id_, name, store, tenant)
        has_texts = all(isinstance(text, str) for text in texts)
        if not has_texts or not isinstance(dimension, int | None):
            raise _damaged(address, "a collection without a name or a dimension")
        space = database.execute(
            "SELECT str_value FROM collection_metadata "
            "WHERE collection_id = ? AND key = 'hnsw:space'",
            [id_],
        ).fetchone()
        stated_space = None
        if space is not None and isinstance(space[0], str):
            stated_space = space[0]
        metric = metric_of(schema, configuration, stated_space)
        title = name
        if store != DEFAULT_DATABASE:
            title = f"{store}/{name}"
        collections[title] = Collection(
            id_, name, store, tenant, dimension or 0, metric
        )
    return collections


def metric_of(
    schema: str | None, configuration: str | None, space: str | None
) -> Metric:
    """Return the metric of a collection by its schema, configuration or metadata.

    Examples
    --------
    >>> print(metric_of(None, '{"hnsw_configuration": {"space": "ip"}}', None))
    dot, as the configuration of the collection says
    >>> print(metric_of(None, "{}", None))
    l2, Chroma's default for a collection that states no metric
    """
    for document, places, source in (
        (schema, IN_SCHEMA, "the schema of the collection"),
        (configuration, IN_CONFIGURATION, "the configuration of the collection"),
    ):
        for place in places:
            name = _inside(document, place)
            if name is not None:
                return Metric(metric_named(name), source)
    if space is not None:
        source = "hnsw:space in the metadata of the collection"
        return Metric(metric_named(space), source)
    # Versions before 1.0 compared by the metadata, even if the configuration stated
    # another metric. Without metadata, the configuration counts.
    name = _inside(configuration, BEFORE_1_0)
    if name is not None:
        return Metric(metric_named(name), "the configuration of the collection")
    if '"space"' in f"{schema}{configuration}":
        return Metric(NOT_STATED, "its configuration has a form that is not known")
    default = "Chroma's default for a collection that states no metric"
    return Metric("l2", default, is_default=True)


def _inside(document: str | None, keys: Sequence[str]) -> str | None:
    """Return the text at a path of keys in a JSON document; None if there is none."""
    if not isinstance(document, str):
        return None
    try:
        value: Any = json.loads(document)
    except (ValueError, RecursionError):
        return None
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    if isinstance(value, str):
        return value
    return None


@dataclass(frozen=True)
class _Rows:
    """Reads the rows of a collection in a folder."""

    folder: Path
    address: Address
    collection: Collection

    def table(self, database: sqlite3.Connection) -> VectorTable:
        """Describe the rows."""
        segment = self._segment(database, "METADATA")
        (n_rows,) = database.execute(
            "SELECT count(*) FROM embeddings WHERE segment_id = ?", [segment]
        ).fetchone()
        if n_rows == 0 or self.collection.n_columns <= 0:
            raise must_be(File(self.address), "a collection with rows", "no rows")
        n_columns = self.collection.n_columns
        require_room(self.folder.rglob("*"), n_rows, n_columns, self.address)
        # If no index has taken vectors out of the queue, all of them are still there.
        batches = self._batches_of_queue
        if self._has_index(database):
            batches = self._batches_of_index
        keys = _keys(database, segment)
        texts = [key for key, is_text in keys.items() if is_text and key != DOCUMENT]
        title = title_column(texts)
        if not title and DOCUMENT in keys:
            title = DOCUMENT
        names = {key: key for key in keys}
        names[DOCUMENT] = "documents"
        left_over = tuple(
            Part(names[key], "", (n_rows,)) for key in keys if key != title
        )
        titles = ""
        if title:
            titles = names[title]
        return VectorTable(
            self.address,
            n_rows,
            self.collection.n_columns,
            self.collection.metric,
            lambda: batches(title),
            ids="ids",
            vectors="embeddings",
            titles=titles,
            left_over=left_over,
            files=(str(self.folder),),
        )

    def _segment(self, database: sqlite3.Connection, scope: str) -> str:
        """Return the id of the segment of metadata or of vectors; empty for none."""
        row = database.execute(
            "SELECT id FROM segments WHERE collection = ? AND scope = ?",
            [self.collection.id, scope],
        ).fetchone()
        if row is None:
            return ""
        # The id can be the name of a folder, so it must not lead to another place.
        segment = str(row[0])
        if SEGMENT.fullmatch(segment) is None:
            raise self._damaged("a segment without an id")
        return segment

    def _has_index(self, database: sqlite3.Connection) -> bool:
        """Check if an index has taken vectors out of the queue."""
        segment = self._segment(database, "VECTOR")
        taken = database.execute(
            "SELECT 1 FROM max_seq_id WHERE segment_id = ?", [segment]
        ).fetchone()
        # Older versions leave no other trace than the pickle.
        return taken is not None or (self.folder / segment / PICKLE).exists()

    def _rows(
        self, database: sqlite3.Connection, title: str
    ) -> Iterator[tuple[list[str], list[str | None]]]:
        """Yield ids and titles, a page at a time, in the order of their addition."""
        segment = self._segment(database, "METADATA")
        rows = database.execute(
            "SELECT e.embedding_id, m.string_value FROM embeddings e "
            "LEFT JOIN embedding_metadata m ON m.id = e.id AND m.key = ? "
            "WHERE e.segment_id = ? ORDER BY e.id",
            [title, segment],
        )
        while page := rows.fetchmany(PAGE_ROWS):
            ids = [row[0] for row in page]
            if not all(isinstance(name, str) for name in ids):
                raise self._damaged("a row without an id")
            texts = [row[1] if isinstance(row[1], str) else None for row in page]
            yield ids, texts

    def _batches_of_queue(self, title: str) -> Iterator[Batch]:
        """Yield the rows of a collection whose vectors all wait in the queue."""
        with opened(self.folder / FILE, self.address) as database:
            vectors = self._queued(database)
            for ids, titles in self._rows(database, title):
                missing = [name for name in ids if name not in vectors]
                if missing:
                    raise self._damaged(f"no vector for {missing[0]!r}")
                yield Batch(np.stack([vectors[name] for name in ids]), ids, titles)

    def _queued(self, database: sqlite3.Connection) -> dict[str, NDArray[np.float32]]:
        """Return the vector of each id after all operations of the queue."""
        vectors: dict[str, NDArray[np.float32]] = {}
        for operation, name, stored, encoding in database.execute(
            QUEUE, [self.collection.id]
        ):
            if operation == DELETE:
                vectors.pop(name, None)
                continue
            # Chroma does not add a row twice, and does not update a missing row.
            if operation == ADD and name in vectors:
                continue
            if operation == UPDATE and name not in vectors:
                continue
            # An update of metadata alone has no vector.
            if stored is None:
                continue
            if not isinstance(stored, bytes):
                raise self._damaged(f"no bytes of a vector for {name!r}")
            if encoding != "FLOAT32" or len(stored) != 4 * self.collection.n_columns:
                raise self._damaged(f"{len(stored)} bytes of {encoding} for {name!r}")
            vectors[name] = np.frombuffer(stored, "<f4")
        return vectors

    def _batches_of_index(self, title: str) -> Iterator[Batch]:
        """Yield the rows as the client reads them in a copy of the folder."""
        chromadb = import_client("chromadb", extra="chroma", what="an index of Chroma")
        if chromadb.__version__.startswith("0."):
            raise must_be(
                "the package chromadb",
                "1.0 or newer, which runs no code of the pickle next to an index",
                chromadb.__version__,
                "install it: `pip install --upgrade 'embaudit[chroma]'`",
            )
        with tempfile.TemporaryDirectory(
            prefix="embaudit-", ignore_cleanup_errors=True
        ) as copy:
            with opened(self.folder / FILE, self.address) as database:
                self._copy(database, Path(copy))
            settings = chromadb.config.Settings(anonymized_telemetry=False)
            try:
                store = chromadb.PersistentClient(
                    copy,
                    settings=settings,
                    tenant=self.collection.tenant,
                    database=self.collection.database,
                )
                collection = store.get_collection(
                    self.collection.name, embedding_function=None
                )
                with opened(Path(copy, FILE), self.address) as database:
                    for ids, titles in self._rows(database, title):
                        yield Batch(self._vectors(collection, ids), ids, titles)
                # Older versions keep files open until the process ends.
                if hasattr(store, "close"):
                    store.close()
            except (chromadb.errors.ChromaError, ValueError, RuntimeError) as error:
                if isinstance(error, InputError):
                    raise
                raise unreadable(self.address, error) from error

    def _copy(self, database: sqlite3.Connection, folder: Path) -> None:
        """Copy the file, its logs and the index of the collection."""
        for ending in ("", *LOGS):
            file = self.folder / f"{FILE}{ending}"
            if file.exists():
                shutil.copy(file, folder)
        index = self._segment(database, "VECTOR")
        if (self.folder / index).is_dir():
            shutil.copytree(self.folder / index, folder / index)

    def _vectors(self, collection: Any, ids: list[str]) -> NDArray[Any]:
        """Return the vectors of ids, in the order of the ids.

        The client returns them in another order.
        """
        page = collection.get(ids=ids, include=["embeddings"])
        places = {name: place for place, name in enumerate(page["ids"])}
        if len(places) != len(ids):
            raise self._damaged(f"{len(places)} of {len(ids)} vectors")
        return np.asarray(page["embeddings"])[[places[name] for name in ids]]

    def _damaged(self, got: str) -> InputError:
        return _damaged(self.address, got)


def _damaged(address: Address, got: str) -> InputError:
    return must_be(
        File(address), "a complete collection of Chroma", got, "write it again"
    )


def _keys(database: sqlite3.Connection, segment: str) -> dict[str, bool]:
    """Return the keys of the metadata, and whether a row has a text under each key."""
    rows = database.execute(
        "SELECT m.key, max(m.string_value IS NOT NULL) FROM embedding_metadata m "
        "JOIN embeddings e ON e.id = m.id WHERE e.segment_id = ? "
        "GROUP BY m.key ORDER BY m.key",
        [segment],
    )
    return {key: bool(is_text) for key, is_text in rows if isinstance(key, str)}


def _place(text: str) -> tuple[Address, Path, str]:
    """Return an address, the folder of the store, and the name of the collection."""
    address = Address.parse("chroma", text)
    path, name = address.split(is_store)
    return address, folder_of(path), name


def _require_new(text: str, force: bool) -> None:
    """Refuse a collection that exists."""
    address, folder, name = _place(text)
    require_place(address, folder, name, "chroma:FOLDER/COLLECTION")
    if folder.exists() and not folder.is_dir():
        raise must_be(File(folder), "a folder", "a file")
    if force or not is_store(folder):
        return
    with opened(folder / FILE, address) as database:
        if name in _collections(database, address):
            raise already_there(address)


def _remove(text: str) -> None:
    """Remove a collection."""
    address, folder, name = _place(text)
    with _writing(address, folder) as store:
        store.delete_collection(name)


def _write(text: str, draft: Draft, metric: str, force: bool) -> dict[str, str]:
    """Write a collection.

    Rows go to a collection of another name, which is renamed in one step at the end.
    """
    address, folder, name = _place(text)
    _require_new(text, force)
    part = f"{name[:40]}-{secrets.token_hex(4)}"
    with removed_if_new(folder), _writing(address, folder) as store:
        if name not in [other.name for other in store.list_collections()]:
            # A name that the client does not allow is refused before the rows are sent.
            store.create_collection(name, embedding_function=None)
            store.delete_collection(name)
        try:
            collection = store.create_collection(
                part,
                configuration={"hnsw": {"space": SPACES[metric]}},
                embedding_function=None,
            )
            for rows in row_batches(draft):
                _add(collection, rows, store.get_max_batch_size())
            if name in [other.name for other in store.list_collections()]:
                store.delete_collection(name)
            collection.modify(name=name)
        except BaseException:
            # Also after Ctrl-C. If this fails as well, the first error is raised.
            with suppress(Exception):
                store.delete_collection(part)
            raise
    return {}


def _add(collection: Any, rows: Rows, size: int) -> None:
    """Add rows, at most `size` at a time."""
    for start in range(0, len(rows.ids), size):
        part = slice(start, start + size)
        metadata = None
        if rows.titles is not None:
            metadata = [{"title": title} for title in rows.titles[part]]
        collection.add(
            ids=[str(id_) for id_ in rows.ids[part]],
            embeddings=rows.vectors[part],
            metadatas=metadata,
        )


@contextmanager
def _writing(address: Address, folder: Path) -> Iterator[Any]:
    """Open a folder with the client, which creates it if need be, and close it.

    Chroma would use a client that stays open again for this folder, even if the folder
    was removed and created anew in between.
    """
    chromadb = import_client("chromadb", extra="chroma", what="a collection of Chroma")
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    store: Any = None
    try:
        store = chromadb.PersistentClient(str(folder), settings=settings)
        yield store
    except (chromadb.errors.ChromaError, ValueError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise unreadable(address, error, "written") from error
    finally:
        # The oldest versions that are supported have no `close`.
        if hasattr(store, "close"):
            store.close()


register_tables("chroma", TableWriter(_require_new, _write, _remove, keeps))
