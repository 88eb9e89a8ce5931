"""Files in the layout of sqlite-vec and Chroma, written without these stores."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np

SIZE = 16
"""Places of a chunk."""


def digests(place):
    """Return the hash of each file in a folder, or of one file and those beside it."""
    place = Path(place)
    files = place.rglob("*") if place.is_dir() else place.parent.glob(f"{place.name}*")
    return {
        str(file): sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


def write_sqlite_vec(
    path,
    vectors,
    ids,
    *,
    table="films",
    columns="id integer primary key, v float[{width}]",
    titles=None,
    auxiliary=None,
    names=None,
    deleted=(),
    journal="delete",
):
    """Write one table of sqlite-vec.

    Parameters
    ----------
    vectors : array of shape (n, k)
    ids : sequence of int
        Numbers of the rows.
    columns : str
        Words between the parentheses of vec0.
    titles, auxiliary : sequence of str, optional
        Texts of a metadata column or of an auxiliary column.
    names : sequence of str, optional
        Texts that are the primary key.
    deleted : collection of int
        Places of rows whose bit is not set, as sqlite-vec leaves them behind.
    """
    n_rows, width = vectors.shape
    n_chunks = -(-n_rows // SIZE)
    vectors = np.vstack(
        [vectors, np.full((n_chunks * SIZE - n_rows, width), 99, np.float32)]
    ).astype("<f4")
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        sql = f"CREATE VIRTUAL TABLE {table} using vec0({columns.format(width=width)})"
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) "
            "VALUES ('table', ?, ?, 0, ?)",
            [table, table, sql],
        )
        database.execute("PRAGMA writable_schema = OFF")
        database.executescript(
            f"""
            CREATE TABLE {table}_chunks (chunk_id INTEGER PRIMARY KEY, size INTEGER,
                validity BLOB, rowids BLOB);
            CREATE TABLE {table}_rowids (rowid INTEGER PRIMARY KEY, id,
                chunk_id INTEGER, chunk_offset INTEGER);
            CREATE TABLE {table}_vector_chunks00 (rowid PRIMARY KEY, vectors BLOB);
            CREATE TABLE {table}_auxiliary (rowid INTEGER PRIMARY KEY, value00);
            CREATE TABLE {table}_metadatachunks00 (rowid PRIMARY KEY, data BLOB);
            CREATE TABLE {table}_metadatatext00 (rowid PRIMARY KEY, data TEXT);
            """
        )
        for chunk in range(n_chunks):
            is_filled = np.zeros(SIZE, bool)
            rows = np.zeros(SIZE, "<i8")
            views = np.zeros((SIZE, 16), np.uint8)
            for place in range(SIZE):
                row = chunk * SIZE + place
                if row >= n_rows or row in deleted:
                    continue
                is_filled[place] = True
                rows[place] = ids[row]
                name = None if names is None else names[row]
                database.execute(
                    f"INSERT INTO {table}_rowids VALUES (?, ?, ?, ?)",
                    [ids[row], name, chunk + 1, place],
                )
                if auxiliary is not None:
                    database.execute(
                        f"INSERT INTO {table}_auxiliary VALUES (?, ?)",
                        [ids[row], auxiliary[row]],
                    )
                if titles is not None:
                    text = titles[row].encode()
                    views[place, :4] = np.frombuffer(
                        np.int32(len(text)).tobytes(), np.uint8
                    )
                    views[place, 4 : 4 + len(text[:12])] = list(text[:12])
                    if len(text) > 12:
                        database.execute(
                            f"INSERT INTO {table}_metadatatext00 VALUES (?, ?)",
                            [ids[row], titles[row]],
                        )
            validity = np.packbits(is_filled, bitorder="little").tobytes()
            stored = vectors[chunk * SIZE : (chunk + 1) * SIZE].tobytes()
            database.execute(
                f"INSERT INTO {table}_chunks VALUES (?, ?, ?, ?)",
                [chunk + 1, SIZE, validity, rows.tobytes()],
            )
            database.execute(
                f"INSERT INTO {table}_vector_chunks00 VALUES (?, ?)",
                [chunk + 1, stored],
            )
            database.execute(
                f"INSERT INTO {table}_metadatachunks00 VALUES (?, ?)",
                [chunk + 1, views.tobytes()],
            )
        database.commit()


CHROMA = """
CREATE TABLE databases (id TEXT PRIMARY KEY, name TEXT, tenant_id TEXT);
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT, dimension INTEGER,
    database_id TEXT, config_json_str TEXT, schema_str TEXT);
CREATE TABLE collection_metadata (collection_id TEXT, key TEXT, str_value TEXT);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT,
    seq_id BLOB);
CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT,
    int_value INTEGER, PRIMARY KEY (id, key));
CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER);
CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, operation INTEGER,
    topic TEXT, id TEXT, vector BLOB, encoding TEXT, metadata TEXT);
INSERT INTO databases VALUES ('d', 'default_database', 'default_tenant');
"""
"""The tables of Chroma that are read."""


class ChromaFolder:
    """A folder of Chroma whose collections are written operation by operation."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir()
        self.path = self.folder / "chroma.sqlite3"
        with closing(sqlite3.connect(self.path)) as database:
            database.executescript(CHROMA)

    def create(
        self, name, width, *, space=None, metadata_space=None, configuration="{}"
    ):
        """Add an empty collection, and return its number."""
        identity = name.ljust(36, "0")
        schema = None
        if space is not None:
            index = {"vector_index": {"config": {"space": space}}}
            schema = json.dumps({"keys": {"#embedding": {"float_list": index}}})
        with closing(sqlite3.connect(self.path)) as database:
            database.execute(
                "INSERT INTO collections VALUES (?, ?, ?, 'd', ?, ?)",
                [identity, name, width, configuration, schema],
            )
            if metadata_space is not None:
                database.execute(
                    "INSERT INTO collection_metadata VALUES (?, 'hnsw:space', ?)",
                    [identity, metadata_space],
                )
            for scope in ("METADATA", "VECTOR"):
                database.execute(
                    "INSERT INTO segments VALUES (?, 'x', ?, ?)",
                    [f"{name}-{scope}", scope, identity],
                )
            database.commit()
        return identity

    def queue(self, name, operations):
        """Add operations to the queue: (number, id, vector or None)."""
        topic = f"persistent://default/default/{name.ljust(36, '0')}"
        with closing(sqlite3.connect(self.path)) as database:
            for operation, id_, vector in operations:
                stored = None if vector is None else vector.astype("<f4").tobytes()
                encoding = None if vector is None else "FLOAT32"
                database.execute(
                    "INSERT INTO embeddings_queue "
                    "(operation, topic, id, vector, encoding) VALUES (?, ?, ?, ?, ?)",
                    [operation, topic, id_, stored, encoding],
                )
            database.commit()

    def describe(self, name, rows):
        """Add rows to the part of metadata: (id, mapping of keys to texts)."""
        with closing(sqlite3.connect(self.path)) as database:
            for id_, texts in rows:
                number = database.execute(
                    "INSERT INTO embeddings (segment_id, embedding_id) VALUES (?, ?)",
                    [f"{name}-METADATA", id_],
                ).lastrowid
                for key, text in texts.items():
                    database.execute(
                        "INSERT INTO embedding_metadata (id, key, string_value) "
                        "VALUES (?, ?, ?)",
                        [number, key, text],
                    )
            database.commit()

    def take(self, name):
        """Say that an index has taken the vectors out of the queue."""
        with closing(sqlite3.connect(self.path)) as database:
            database.execute("INSERT INTO max_seq_id VALUES (?, 1)", [f"{name}-VECTOR"])
            database.commit()
