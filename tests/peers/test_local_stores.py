"""Stores of vectors on disk, written by their clients: all numbers and the metric are
read, and no byte of the store is changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from embaudit.errors import InputError
from embaudit.io import Reading, inspect, list_formats, read

ROWS = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
IDS = [10**17 + 3 * row for row in range(300)]
TITLES = [f"Film {'of the year ' * (row % 3)}{row}" for row in range(300)]
DELETED = [0, 7, 130, 299]
LEFT = [row for row in range(300) if row not in DELETED]
SUFFIXES = {row.name: row.suffixes for row in list_formats()}


def digests(place: Path) -> dict[str, str]:
    """Return the hash of every file of a store."""
    files = place.rglob("*") if place.is_dir() else place.parent.glob(f"{place.name}*")
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file()
    }


def read_unchanged(place: Path, address: object, **options: Any) -> Reading:
    """Read a table, and check that its store is unchanged and its header agrees."""
    before = digests(place)
    seen = inspect(address, **options)
    reading = read(address, **options)
    assert digests(place) == before
    assert seen.metric == reading.intake.metric
    assert [part.shape for part in seen.parts if part.became == "right"] == [
        reading.model.right.shape
    ]
    return reading


def refusal_of(address: object, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(address, **options)
    return str(caught.value)


def arrow(vectors: pa.Array | None = None, **columns: Any) -> pa.Table:
    """Return a table of 300 rows: ids, titles, nested metadata, and vectors."""
    if vectors is None:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), 16)
    return pa.table(
        {
            "id": IDS,
            "title": TITLES,
            "vector": vectors,
            "more": [{"year": row, "tags": ["a", "b"]} for row in range(300)],
            **columns,
        }
    )


@dataclass(frozen=True)
class Store:
    """How one store is written."""

    name: str
    """Format, and beginning of its addresses."""
    library: str
    write: Callable[..., Path]
    """Writes a store: `write(folder, table, metric)`, and deletes some rows."""
    metrics: dict[str, tuple[str, bool]]
    """By the word of the store: the metric that is read, and if it is a default."""


def write_lancedb(folder: Path, table: pa.Table, metric: str = "") -> Path:
    lancedb = pytest.importorskip("lancedb")
    database = lancedb.connect(str(folder / "lance"))
    # Rows without a vector stay, as rows without one.
    options = {"on_bad_vectors": "null"}
    stored = database.create_table("films", table.slice(0, 120), **options)
    stored.add(table.slice(120), **options)
    stored.delete(f"id IN ({', '.join(str(IDS[row]) for row in DELETED)})")
    if metric:
        index = pytest.importorskip("lancedb.index").IvfFlat
        stored.create_index(
            "vector", config=index(distance_type=metric, num_partitions=2)
        )
    return folder / "lance"


def write_duckdb(folder: Path, table: pa.Table, metric: str = "") -> Path:
    duckdb = pytest.importorskip("duckdb")
    path = folder / "films.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("given", table)
        database.execute("CREATE TABLE films AS SELECT * FROM given")
        deleted = ", ".join(str(IDS[row]) for row in DELETED)
        database.execute(f"DELETE FROM films WHERE id IN ({deleted})")
    return path


def write_chroma(folder: Path, table: pa.Table, metric: str = "") -> Path:
    return chroma_of(folder, ROWS, metric)


def chroma_of(
    folder: Path, rows: np.ndarray, metric: str = "", threshold: int = 1000
) -> Path:
    """Write a collection of Chroma, which uses an index if it has more rows than the
    threshold.
    """
    chromadb = pytest.importorskip("chromadb")
    hnsw: dict[str, Any] = {"sync_threshold": threshold, "batch_size": 50}
    if metric:
        hnsw["space"] = metric
    client = chromadb.PersistentClient(str(folder / "chroma"))
    films = client.create_collection(
        "films", configuration={"hnsw": hnsw}, embedding_function=None
    )
    films.add(
        ids=[str(name) for name in IDS],
        embeddings=rows,
        documents=TITLES,
        metadatas=[{"year": row} for row in range(300)],
    )
    films.delete(ids=[str(IDS[row]) for row in DELETED])
    close(client)
    return folder / "chroma"


def close(client: Any) -> None:
    """Close a client of Chroma; older versions do so when the process ends."""
    if hasattr(client, "close"):
        client.close()


def write_sqlite_vec(folder: Path, table: pa.Table, metric: str = "") -> Path:
    path = folder / "films.db"
    words = f" distance_metric={metric}" if metric else ""
    with vec0(path) as database:
        database.execute(
            "CREATE VIRTUAL TABLE films USING vec0(id integer primary key, "
            f"v float[16]{words}, year integer, +title text, chunk_size=64)"
        )
        for row in range(300):
            values = (IDS[row], ROWS[row].tobytes(), row, TITLES[row])
            database.execute(
                "INSERT INTO films(id, v, year, title) VALUES (?, ?, ?, ?)", values
            )
        for row in DELETED:
            database.execute("DELETE FROM films WHERE id = ?", [IDS[row]])
        database.commit()
    return path


@contextlib.contextmanager
def vec0(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect with sqlite-vec, even if Python cannot load extensions of SQLite."""
    sqlite_vec = pytest.importorskip("sqlite_vec")
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.enable_load_extension(True)
            sqlite_vec.load(database)
            yield database
        return
    try:
        library = ctypes.CDLL("libsqlite3.so.0")
        extension = ctypes.CDLL(f"{sqlite_vec.loadable_path()}.so")
    except OSError as error:
        pytest.skip(f"no extension can be loaded: {error}")
    entry = ctypes.cast(extension.sqlite3_vec_init, ctypes.c_void_p)
    library.sqlite3_auto_extension(entry)
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            yield database
    finally:
        library.sqlite3_cancel_auto_extension(entry)


STORES = (
    Store(
        "lancedb",
        "lancedb",
        write_lancedb,
        {
            "": ("l2", True),
            "l2": ("l2", False),
            "cosine": ("cosine", False),
            "dot": ("dot", False),
        },
    ),
    Store("duckdb", "duckdb", write_duckdb, {"": ("not stated", False)}),
    Store(
        "chroma",
        "chromadb",
        write_chroma,
        {
            "": ("l2", False),
            "l2": ("l2", False),
            "cosine": ("cosine", False),
            "ip": ("dot", False),
        },
    ),
    Store(
        "sqlite-vec",
        "sqlite-vec",
        write_sqlite_vec,
        {"": ("l2", True), "l1": ("l1", False), "cosine": ("cosine", False)},
    ),
)


def each(column: str) -> Any:
    return pytest.mark.parametrize(
        "store",
        [
            pytest.param(
                store,
                id=store.name,
                marks=pytest.mark.holds(
                    column, library=store.library, model="tables of vectors"
                ),
            )
            for store in STORES
        ],
    )


@each("file")
@pytest.mark.parametrize("is_address", [False, True])
def test_every_number_is_that_of_the_store(
    store: Store, is_address: bool, tmp_path: Path
) -> None:
    place = store.write(tmp_path, arrow())
    address = f"{store.name}:{place}/films" if is_address else place
    reading = read_unchanged(place, address)
    ids = [int(name) for name in reading.model.right_ids]
    rows = dict(zip(ids, reading.model.right, strict=True))
    assert sorted(rows) == [IDS[row] for row in LEFT]
    np.testing.assert_array_equal([rows[IDS[row]] for row in LEFT], ROWS[LEFT])


@each("titles")
def test_titles_stand_at_their_rows(store: Store, tmp_path: Path) -> None:
    model = read_unchanged(tmp_path, store.write(tmp_path, arrow())).model
    titles = {
        int(name): title
        for name, title in zip(model.right_ids, model.right_names, strict=True)
    }
    assert titles == {IDS[row]: " ".join(TITLES[row].split()) for row in LEFT}


@pytest.mark.parametrize(
    ("store", "suffix"),
    [
        pytest.param(store, suffix, id=f"{store.name}{suffix}")
        for store in STORES
        if store.name in ("duckdb", "sqlite-vec")
        for suffix in SUFFIXES[store.name]
    ],
)
def test_file_is_read_under_each_suffix_of_its_format(
    store: Store, suffix: str, tmp_path: Path
) -> None:
    place = store.write(tmp_path, arrow())
    place = place.rename(place.with_suffix(suffix))
    reading = read_unchanged(place, place)
    assert reading.intake.format == store.name
    ids = [int(name) for name in reading.model.right_ids]
    assert sorted(ids) == [IDS[row] for row in LEFT]


@pytest.mark.parametrize(
    ("store", "word"),
    [
        pytest.param(store, word, id=f"{store.name}-{word or 'none'}")
        for store in STORES
        for word in store.metrics
    ],
)
def test_metric_is_that_of_the_store(store: Store, word: str, tmp_path: Path) -> None:
    place = store.write(tmp_path, arrow(), word)
    metric = read_unchanged(place, place).intake.metric
    assert metric is not None
    assert (metric.name, metric.is_default) == store.metrics[word]


@pytest.mark.parametrize(
    "store",
    [x for x in STORES if x.name in ("lancedb", "duckdb")],
    ids=lambda x: x.name,
)
class TestColumns:
    """Stores whose tables have columns."""

    def test_rows_without_a_vector_are_skipped_and_counted(
        self, store: Store, tmp_path: Path
    ) -> None:
        mask = np.arange(300) % 50 == 2
        vectors = pa.array(
            [None if gone else row for row, gone in zip(ROWS, mask, strict=True)],
            pa.list_(pa.float32(), 16),
        )
        place = store.write(tmp_path, arrow(vectors))
        reading = read_unchanged(place, place)
        left = [row for row in LEFT if not mask[row]]
        assert reading.model.right_ids.tolist() == [IDS[row] for row in left]
        np.testing.assert_array_equal(reading.model.right, ROWS[left])
        skipped = [part for part in reading.intake.left_over if part.shape == (6,)]
        assert [part.name for part in skipped] == ["rows without a vector"]

    def test_only_column_with_a_customary_name_names_the_rows(
        self, store: Store, tmp_path: Path
    ) -> None:
        columns = ["id", "Movie_Title", "vector", "more"]
        place = store.write(tmp_path, arrow().rename_columns(columns))
        reading = read_unchanged(place, place)
        assert reading.model.right_names.tolist() == [TITLES[row] for row in LEFT]
        assert [part.name for part in reading.intake.left_over] == ["more"]

    def test_table_without_any_vector_is_refused(
        self, store: Store, tmp_path: Path
    ) -> None:
        vectors = pa.nulls(300, pa.list_(pa.float32(), 16))
        place = store.write(tmp_path, arrow(vectors))
        assert "must be a table with vectors; got 296 rows without" in refusal_of(place)

    def test_table_without_rows_is_refused(self, store: Store, tmp_path: Path) -> None:
        place = store.write(tmp_path, arrow().slice(0, 0))
        assert "must be a table with rows; got no rows" in refusal_of(place)

    def test_several_vectors_in_a_row_are_refused(
        self, store: Store, tmp_path: Path
    ) -> None:
        several = pa.array(
            [[row[:8], row[8:]] for row in ROWS], pa.list_(pa.list_(pa.float32()))
        )
        place = store.write(tmp_path, arrow(several))
        assert "got several vectors per row in vector; store one vector" in refusal_of(
            place
        )

    def test_codes_of_eight_bits_are_refused(
        self, store: Store, tmp_path: Path
    ) -> None:
        codes = pa.FixedSizeListArray.from_arrays(
            pa.array((ROWS.reshape(-1) * 20).astype(np.int8)), 16
        )
        place = store.write(tmp_path, arrow(codes))
        assert "must be lists of floating-point numbers; got int8" in refusal_of(place)

    def test_two_columns_of_vectors_are_a_question(
        self, store: Store, tmp_path: Path
    ) -> None:
        second = pa.FixedSizeListArray.from_arrays(pa.array(ROWS[:, :4].reshape(-1)), 4)
        first = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.reshape(-1)), 16)
        place = store.write(
            tmp_path,
            arrow()
            .drop(["vector"])
            .append_column("a", first)
            .append_column("b", second),
        )
        assert "got a and b; keep one, or choose it with vector" in refusal_of(place)
        reading = read_unchanged(place, place, vector="b")
        np.testing.assert_array_equal(reading.model.right, ROWS[LEFT, :4])


def test_lancedb_float16_is_read_as_it_is(tmp_path: Path) -> None:
    half = ROWS.astype(np.float16)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(half.reshape(-1)), 16)
    place = write_lancedb(tmp_path, arrow(vectors))
    model = read_unchanged(place, place).model
    assert model.right.dtype == np.float32
    np.testing.assert_array_equal(model.right, half[LEFT].astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "codes"),
    [("IvfFlat", ""), ("IvfPq", "PQ codes of them"), ("HnswSq", "SQ codes of them")],
)
def test_lancedb_index_of_codes_is_named(tmp_path: Path, kind: str, codes: str) -> None:
    place = write_lancedb(tmp_path, arrow())
    table = pytest.importorskip("lancedb").connect(str(place)).open_table("films")
    index = getattr(pytest.importorskip("lancedb.index"), kind)
    table.create_index("vector", config=index(distance_type="cosine", num_partitions=1))
    metric = inspect(place).metric
    assert metric is not None
    assert (metric.name, metric.codes) == ("cosine", codes)


def test_lancedb_takes_the_table_with_vectors_or_asks(tmp_path: Path) -> None:
    place = write_lancedb(tmp_path, arrow())
    database = pytest.importorskip("lancedb").connect(str(place))
    database.create_table("readers", pa.table({"id": [1, 2]}))
    assert read_unchanged(place, place).model.n_right == len(LEFT)
    database.create_table("users", arrow())
    addresses = f"name one of lancedb:{place}/films, lancedb:{place}/users."
    assert refusal_of(place).endswith(addresses)
    assert read(place / "users.lance").model.n_right == 300


def test_lancedb_rows_in_many_parts_keep_their_ids(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    rows = np.random.default_rng(3).normal(size=(40_000, 8)).astype(np.float32)
    database = lancedb.connect(str(tmp_path))
    stored = None
    for start in range(0, 40_000, 1_000):
        part = pa.table(
            {
                "id": np.arange(start, start + 1_000),
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(rows[start : start + 1_000].reshape(-1)), 8
                ),
            }
        )
        if stored is None:
            stored = database.create_table("films", part)
        else:
            stored.add(part)
    stored.delete("id % 3 = 1")
    stored.optimize()
    stored.delete("id % 7 = 2")
    stored.update(where="id = 30000", values={"vector": [1.0] * 8})
    rows[30_000] = 1
    model = read_unchanged(tmp_path, tmp_path).model
    np.testing.assert_array_equal(model.right, rows[model.right_ids])
    assert sorted(model.right_ids.tolist()) == [
        row for row in range(40_000) if row % 3 != 1 and row % 7 != 2
    ]


def test_duckdb_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    place = write_duckdb(tmp_path, arrow())
    stored = place.read_bytes()
    place.write_bytes(stored[: len(stored) // 2])
    assert "cannot be read: " in refusal_of(place)


def test_lancedb_table_without_one_of_its_files_is_refused(tmp_path: Path) -> None:
    place = write_lancedb(tmp_path, arrow())
    next(place.glob("films.lance/data/*")).unlink()
    assert "cannot be read: " in refusal_of(place)


def test_chroma_pickle_of_an_index_runs_no_code(tmp_path: Path) -> None:
    place = chroma_of(tmp_path, ROWS, "cosine", threshold=60)
    (pickle,) = place.glob("*/index_metadata.pickle")
    mark = tmp_path / "ran"
    pickle.write_bytes(f"cos\nsystem\n(S'touch {mark}'\ntR.".encode())
    with contextlib.suppress(InputError):
        read(place)
    assert not mark.exists()


def test_duckdb_tables_of_schemas_are_named_with_them(tmp_path: Path) -> None:
    place = write_duckdb(tmp_path, arrow())
    with pytest.importorskip("duckdb").connect(str(place)) as database:
        database.execute('CREATE SCHEMA "old one"')
        database.execute('CREATE TABLE "old one".films AS SELECT * FROM films LIMIT 9')
    assert f"duckdb:{place}/old one.films" in refusal_of(place)
    reading = read_unchanged(place, f"duckdb:{place}/old one.films")
    assert reading.model.n_right == 9


def test_duckdb_views_are_to_be_written_to_a_table(tmp_path: Path) -> None:
    place = write_duckdb(tmp_path, arrow())
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(place)) as database:
        database.execute("CREATE VIEW new AS SELECT * FROM films LIMIT 9")
        database.execute("CREATE SCHEMA old")
        database.execute('CREATE VIEW old."my films" AS SELECT * FROM films')
    got = "must be a table; got a view; in DuckDB, write its rows to a table: "
    create = "CREATE TABLE vectors AS FROM "
    assert f'{got}{create}"new".' in refusal_of(f"duckdb:{place}/new")
    sentence = refusal_of(f"duckdb:{place}/old.my films")
    assert f'{got}{create}"old"."my films".' in sentence
    # The advice works. Refusals have closed the file, so it can be opened for writing.
    with duckdb.connect(str(place)) as database:
        database.execute(sentence[sentence.index("CREATE TABLE") : -1])
    for table in ("films", "vectors"):
        reading = read_unchanged(place, f"duckdb:{place}/{table}")
        assert reading.model.n_right == len(LEFT)


def test_duckdb_files_of_views_alone_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "films.duckdb"
    with pytest.importorskip("duckdb").connect(str(place)) as database:
        database.execute("CREATE VIEW films AS SELECT 1 AS id")
    for address in (place, f"duckdb:{place}"):
        assert "got only the view films; in DuckDB, write" in refusal_of(address)


def test_duckdb_file_is_closed_when_it_was_read(tmp_path: Path) -> None:
    place = write_duckdb(tmp_path, arrow())
    duckdb = pytest.importorskip("duckdb")
    described = inspect(place)
    reading = read(place)
    reading.model.right.sum()
    # Both results are still in use, so this does not rely on garbage collection.
    with duckdb.connect(str(place)) as database:
        database.execute("DELETE FROM films WHERE id > (SELECT median(id) FROM films)")
    assert described.format == reading.intake.format == "duckdb"
    assert read(place).model.n_right < reading.model.n_right


def test_duckdb_file_that_changes_before_its_rows_are_read_is_refused(
    tmp_path: Path,
) -> None:
    from embaudit.io.options import Request
    from embaudit.io.stores.duckdb import read as describe

    place = write_duckdb(tmp_path, arrow())
    contents = describe(place, Request())
    with pytest.importorskip("duckdb").connect(str(place)) as database:
        database.execute("UPDATE films SET id = id + 1000")
    with pytest.raises(InputError, match="unchanged while it is read; got changes"):
        contents.model()


def test_duckdb_indexes_that_state_the_default_metric_agree_with_it() -> None:
    pytest.importorskip("pyarrow")
    from embaudit.io.stores.duckdb import metric_of

    sql = "CREATE INDEX {} ON t USING HNSW (v){};"
    indexes = [
        ("i", sql.format("i", "")),
        ("j", sql.format("j", " WITH (metric = 'l2sq')")),
    ]
    assert str(metric_of("v", indexes)) == "l2, as the index j says"


def test_duckdb_lists_of_different_length_are_refused(tmp_path: Path) -> None:
    lists = [row[: 15 if number == 90 else 16] for number, row in enumerate(ROWS)]
    place = write_duckdb(tmp_path, arrow(pa.array(lists, pa.list_(pa.float32()))))
    assert "must be vectors of 16 numbers, like the first one; got 15" in refusal_of(
        place
    )


def test_duckdb_numbered_columns_are_one_vector(tmp_path: Path) -> None:
    columns = {f"e{place}": ROWS[:, place] for place in range(16)}
    place = write_duckdb(tmp_path, pa.table({"id": IDS, "year": range(300), **columns}))
    reading = read_unchanged(place, place)
    np.testing.assert_array_equal(reading.model.right, ROWS[LEFT])
    assert str(reading.intake.metric).startswith("not stated: the numbers of a vector")


@pytest.mark.parametrize("metric", ["l2", "cosine", "ip"])
def test_chroma_index_is_read_as_the_client_reads_it(
    metric: str, tmp_path: Path
) -> None:
    chromadb = pytest.importorskip("chromadb")
    place = chroma_of(tmp_path, ROWS, metric, threshold=60)
    reading = read_unchanged(place, place)
    client = chromadb.PersistentClient(str(place))
    page = client.get_collection("films").get(include=["embeddings"])
    expected = dict(zip(page["ids"], np.asarray(page["embeddings"]), strict=True))
    assert sorted(reading.model.right_ids.tolist()) == sorted(expected)
    for name, row in zip(
        reading.model.right_ids.tolist(), reading.model.right, strict=True
    ):
        np.testing.assert_array_equal(row, expected[name])
    close(client)


def test_chroma_queue_is_what_the_client_returns(tmp_path: Path) -> None:
    """A queue holds the numbers as added; for a cosine the client rounds them again."""
    chromadb = pytest.importorskip("chromadb")
    place = chroma_of(tmp_path, ROWS, "cosine")
    client = chromadb.PersistentClient(str(place))
    films = client.get_collection("films")
    name = str(IDS[5])
    films.update(ids=[name], embeddings=ROWS[6:7])
    films.upsert(ids=[str(IDS[0]), "new"], embeddings=ROWS[1:3])
    films.add(ids=[name], embeddings=ROWS[9:10])
    close(client)
    model = read_unchanged(place, place).model
    client = chromadb.PersistentClient(str(place))
    page = client.get_collection("films").get(include=["embeddings"])
    expected = dict(zip(page["ids"], np.asarray(page["embeddings"]), strict=True))
    assert sorted(model.right_ids.tolist()) == sorted(expected)
    for id_, row in zip(model.right_ids.tolist(), model.right, strict=True):
        np.testing.assert_allclose(row, expected[id_], rtol=3e-7)
    found = dict(zip(model.right_ids.tolist(), model.right, strict=True))
    np.testing.assert_array_equal(found[name], ROWS[6])
    np.testing.assert_array_equal(found["new"], ROWS[2])
    close(client)


def test_sqlite_vec_is_what_its_own_extension_returns(tmp_path: Path) -> None:
    place = write_sqlite_vec(tmp_path, arrow(), "cosine")
    with vec0(place) as database:
        stored = dict(database.execute("SELECT id, v FROM films").fetchall())
    model = read_unchanged(place, place).model
    for name, row in zip(model.right_ids.tolist(), model.right, strict=True):
        np.testing.assert_array_equal(row, np.frombuffer(stored[name], np.float32))
    assert len(stored) == model.n_right


def test_sqlite_vec_partitions_metadata_and_texts_as_ids(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    with vec0(path) as database:
        database.execute(
            "CREATE VIRTUAL TABLE films USING vec0(key text primary key, "
            "code int8[4], v float[16], "
            "genre text partition key, title text, year integer)"
        )
        for row in range(300):
            database.execute(
                "INSERT INTO films(key, code, v, genre, title, year) "
                "VALUES (?, vec_int8(?), ?, ?, ?, ?)",
                [
                    f"n{row}",
                    bytes(4),
                    ROWS[row].tobytes(),
                    "ab"[row % 2],
                    TITLES[row],
                    row,
                ],
            )
        database.commit()
    reading = read_unchanged(path, path)
    rows = [int(name[1:]) for name in reading.model.right_ids.tolist()]
    assert sorted(rows) == list(range(300))
    np.testing.assert_array_equal(reading.model.right, ROWS[rows])
    assert reading.model.right_names.tolist() == [
        " ".join(TITLES[row].split()) for row in rows
    ]
