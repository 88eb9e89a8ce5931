"""Tables of vectors in stores, read from files in the layout of sqlite-vec and Chroma.

`tests/peers` tests the real clients.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from store_files import ChromaFolder, digests, write_sqlite_vec

import embaudit as ea
from embaudit import io
from embaudit.errors import InputError
from embaudit.io.formats import writer_of
from embaudit.io.intake import Metric
from embaudit.io.stores.addresses import Address, chosen_table
from embaudit.io.stores.vector_table import Batch, VectorTable
from embaudit.io.stores.writing import removed_if_new

ADD, UPDATE, UPSERT, DELETE = range(4)
ROWS = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
IDS = [10**15 + 3 * row for row in range(40)]
TITLES = [f"Film {'of the year ' * (row % 3)}{row}" for row in range(40)]
"""Texts shorter and longer than the 12 bytes that lie in a chunk."""


def refusal_of(address, **options):
    """Return the sentence with which an address is refused."""
    with pytest.raises(InputError) as caught:
        io.read(address, **options)
    return str(caught.value)


@pytest.fixture
def films(tmp_path):
    """Return a file of sqlite-vec with 40 rows."""
    path = tmp_path / "films.db"
    write_sqlite_vec(path, ROWS, IDS)
    return path


def test_sqlite_vec_rows_are_those_that_were_written(films):
    model = io.load(films)
    np.testing.assert_array_equal(model.right, ROWS)
    np.testing.assert_array_equal(model.right_ids, IDS)


def test_sqlite_vec_places_without_a_bit_hold_no_row(tmp_path):
    path = tmp_path / "films.db"
    deleted = {0, 17, 38}
    write_sqlite_vec(path, ROWS, IDS, deleted=deleted)
    left = [row for row in range(40) if row not in deleted]
    model = io.load(path)
    np.testing.assert_array_equal(model.right, ROWS[left])
    np.testing.assert_array_equal(model.right_ids, np.array(IDS)[left])


def test_sqlite_vec_rows_can_have_texts_as_ids(tmp_path):
    path = tmp_path / "films.db"
    names = [f"n{row}" for row in range(40)]
    columns = "id text primary key, v float[{width}]"
    write_sqlite_vec(path, ROWS, IDS, names=names, columns=columns)
    assert io.load(path).right_ids.tolist() == names


@pytest.mark.parametrize("kind", ["titles", "auxiliary"])
def test_sqlite_vec_titles_lie_in_chunks_or_in_a_table_of_their_own(tmp_path, kind):
    path = tmp_path / "films.db"
    sign = "+" if kind == "auxiliary" else ""
    columns = f"id integer primary key, v float[{{width}}], {sign}title text, year int"
    write_sqlite_vec(path, ROWS, IDS, columns=columns, **{kind: TITLES})
    reading = io.read(path)
    expected = [" ".join(title.split()) for title in TITLES]
    assert reading.model.right_names.tolist() == expected
    assert [part.name for part in reading.intake.left_over] == ["year"]


@pytest.mark.parametrize(
    ("words", "metric", "is_default"),
    [
        ("distance_metric=cosine", "cosine", False),
        ("DISTANCE_METRIC = L1", "l1", False),
        ("", "l2", True),
    ],
)
def test_sqlite_vec_metric_is_that_of_the_words_that_created_the_table(
    tmp_path, words, metric, is_default
):
    path = tmp_path / "films.db"
    columns = f"id integer primary key, v float[{{width}}] {words}, chunk_size=16"
    write_sqlite_vec(path, ROWS, IDS, columns=columns)
    intake = io.inspect(path)
    found = intake.metric
    assert (found.name, found.is_default) == (metric, is_default)
    suffix = " by default" if is_default else ""
    assert intake.line().endswith(f"; metric {metric}{suffix}")


@pytest.mark.parametrize("kind", ["int8", "bit"])
def test_sqlite_vec_codes_are_refused(tmp_path, kind):
    path = tmp_path / "films.db"
    columns = f"id integer primary key, v {kind}[{{width}}]"
    write_sqlite_vec(path, ROWS, IDS, columns=columns)
    assert f"got v ({kind}[8]), which hold rounded numbers; store" in refusal_of(path)


def test_sqlite_vec_with_two_columns_asks_which(tmp_path):
    path = tmp_path / "films.db"
    columns = "id integer primary key, v float[{width}], w float[3]"
    write_sqlite_vec(path, ROWS, IDS, columns=columns)
    assert "got v (float[8]), w (float[3]); choose it with vector" in refusal_of(path)
    np.testing.assert_array_equal(io.load(path, vector="v").right, ROWS)


def test_sqlite_vec_chunk_that_is_cut_is_refused(films):
    with closing(sqlite3.connect(films)) as database:
        database.execute(
            "UPDATE films_vector_chunks00 SET vectors = x'00' WHERE rowid = 2"
        )
        database.commit()
    assert "must be a complete table of sqlite-vec; got 1 bytes" in refusal_of(films)


def test_sqlite_vec_rows_that_differ_from_their_count_are_refused(films):
    with closing(sqlite3.connect(films)) as database:
        database.execute("DELETE FROM films_rowids WHERE chunk_id = 2")
        database.commit()
    assert "another number of rows than 24" in refusal_of(films)


def changed(path, *statements):
    """Run statements on a file of SQLite, and return the file."""
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ("UPDATE films_chunks SET size = 'x'", "no number of places of chunk 1"),
        ("UPDATE films_chunks SET size = -16", "2 bytes of validity in chunk 1"),
        ("UPDATE films_chunks SET validity = NULL", "no bytes of validity in chunk 1"),
        ("UPDATE films_chunks SET validity = x'ff'", "1 bytes of validity in chunk 1"),
        ("UPDATE films_chunks SET rowids = 7", "no bytes of rows in chunk 1"),
        ("UPDATE films_chunks SET rowids = x'00'", "1 bytes of rows in chunk 1"),
        (
            "UPDATE films_vector_chunks00 SET vectors = 1.5",
            "no bytes of vectors in chunk 1",
        ),
        (
            "UPDATE films_rowids SET id = NULL WHERE chunk_id = 2",
            "rows without an id in chunk 2",
        ),
        (
            "UPDATE films_metadatachunks00 SET data = 'x'",
            "no bytes of texts in chunk 1",
        ),
        (
            "UPDATE films_metadatachunks00 SET data = x'00'",
            "1 bytes of texts in chunk 1",
        ),
        (
            f"UPDATE films_metadatachunks00 SET data = x'{'ff' * 256}'",
            "texts of negative length in chunk 1",
        ),
        ("DELETE FROM films_metadatachunks00", "0 bytes of texts in chunk 1"),
    ],
)
def test_sqlite_vec_cell_that_holds_a_wrong_value_is_refused(tmp_path, change, got):
    path = tmp_path / "films.db"
    columns = "id text primary key, v float[{width}], title text"
    names = [f"n{row}" for row in range(40)]
    write_sqlite_vec(path, ROWS, IDS, columns=columns, names=names, titles=TITLES)
    changed(path, change)
    assert refusal_of(path) == (
        f"{path} must be a complete table of sqlite-vec; got {got}; write it again."
    )


def test_sqlite_vec_whose_file_is_too_small_for_its_rows_is_refused(tmp_path):
    path = tmp_path / "films.db"
    columns = "id integer primary key, v float[99999999]"
    write_sqlite_vec(path, ROWS, IDS, columns=columns)
    for reading in (io.inspect, io.read):
        with pytest.raises(InputError) as caught:
            reading(path)
        assert str(caught.value) == (
            f"{path} must be a complete store; got 40 rows of 99,999,999 "
            "numbers, more than its files hold; write it again."
        )


def test_sqlite_vec_table_without_a_column_of_vectors_is_refused(tmp_path):
    path = tmp_path / "films.db"
    write_sqlite_vec(path, ROWS, IDS, columns="id integer primary key, title text")
    assert "must be a table with a column of vectors; got no such column" in refusal_of(
        path
    )


def test_sqlite_vec_width_of_many_digits_is_no_width(tmp_path):
    path = tmp_path / "films.db"
    # Python refuses to convert a text of more than 4,300 digits to an integer.
    columns = f"id integer primary key, v float[{'9' * 5000}]"
    write_sqlite_vec(path, ROWS, IDS, columns=columns)
    assert "must be a table with a column of vectors; got no such column" in refusal_of(
        path
    )


def test_view_in_a_file_of_sqlite_is_refused(films):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)"
    changed(
        films,
        "DROP TABLE films_rowids",
        f"CREATE VIEW films_rowids AS {endless} SELECT x AS rowid, x AS id FROM n",
    )
    assert "must be a store of tables; got a view; write it again" in refusal_of(films)


def test_declaration_in_sqlite_that_is_no_utf8_is_refused(films):
    changed(
        films,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = CAST(x'437265617465ff' AS TEXT) "
        "WHERE name = 'films_chunks'",
    )
    assert "got a damaged declaration of a table; write it" in refusal_of(films)


def test_file_of_sqlite_without_vectors_is_refused(tmp_path):
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE films (id INTEGER, title TEXT)")
    assert refusal_of(path) == (
        f"{path} must be a file of SQLite with a table of vectors of sqlite-vec; got "
        "only the table films; check the path, or write the vectors as .npy or "
        ".parquet."
    )


def test_file_of_sqlite_without_tables_is_refused(tmp_path):
    path = tmp_path / "plain.db"
    with closing(sqlite3.connect(path)) as database:
        # Without a table, SQLite writes no byte.
        database.execute("CREATE TABLE films (id INTEGER)")
        database.execute("DROP TABLE films")
    assert "with a table of vectors of sqlite-vec; got no tables;" in refusal_of(path)


def test_store_is_recognised_under_any_name(films):
    path = films.rename(films.with_name("films.data"))
    np.testing.assert_array_equal(io.load(path).right, ROWS)


def test_several_tables_are_one_question_with_their_addresses(films):
    write_sqlite_vec(films, ROWS[:5], IDS[:5], table="users")
    question = refusal_of(films)
    addresses = [f"sqlite-vec:{films}/films", f"sqlite-vec:{films}/users"]
    assert question == (
        f"{films} must be one table of vectors; got 2 tables; name one of "
        f"{addresses[0]}, {addresses[1]}."
    )
    assert [io.load(address).n_right for address in addresses] == [40, 5]


def test_table_that_is_not_there_is_refused_with_those_that_are(films):
    sentence = refusal_of(f"sqlite-vec:{films}/users")
    assert "no table with this name; name one of" in sentence
    assert f"sqlite-vec:{films}/films." in sentence


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_reading_changes_no_byte_of_a_file_of_sqlite(tmp_path, journal):
    path = tmp_path / "films.db"
    write_sqlite_vec(path, ROWS, IDS, journal=journal)
    before = digests(tmp_path)
    io.load(path)
    assert digests(tmp_path) == before


def test_rows_in_a_log_beside_the_file_are_read(films, tmp_path):
    with closing(sqlite3.connect(films)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        stored = np.vstack([ROWS[:16] + 1]).tobytes()
        writer.execute(
            "UPDATE films_vector_chunks00 SET vectors = ? WHERE rowid = 1", [stored]
        )
        writer.commit()
        before = digests(tmp_path)
        assert any(name.endswith("-wal") for name in before)
        model = io.load(films)
        assert digests(tmp_path) == before
    np.testing.assert_array_equal(model.right[:16], ROWS[:16] + 1)


@pytest.fixture
def chroma(tmp_path):
    """Return a folder of Chroma with one collection of 40 rows, none of which an index
    has taken.
    """
    folder = ChromaFolder(tmp_path / "chroma")
    folder.create("films", 8, space="cosine")
    folder.queue("films", [(ADD, f"f{row}", ROWS[row]) for row in range(40)])
    folder.describe(
        "films",
        [
            (f"f{row}", {"chroma:document": TITLES[row], "genre": "x"})
            for row in range(40)
        ],
    )
    return folder


def test_chroma_rows_are_read_from_the_queue(chroma):
    before = digests(chroma.folder)
    reading = io.read(chroma.folder)
    np.testing.assert_array_equal(reading.model.right, ROWS)
    assert reading.model.right_ids.tolist() == [f"f{row}" for row in range(40)]
    assert reading.model.right_names[4] == "Film of the year 4"
    assert [part.name for part in reading.intake.left_over] == ["genre"]
    assert digests(chroma.folder) == before


def test_chroma_file_in_the_folder_is_the_folder(chroma):
    np.testing.assert_array_equal(io.load(chroma.path).right, ROWS)


def test_chroma_operations_are_carried_out_in_their_order(tmp_path):
    folder = ChromaFolder(tmp_path / "chroma")
    folder.create("films", 8, space="l2")
    operations = [
        (ADD, "a", ROWS[0]),
        (ADD, "b", ROWS[1]),
        (ADD, "c", ROWS[2]),
        (ADD, "a", ROWS[3]),  # ignored: a is there
        (UPDATE, "d", ROWS[4]),  # ignored: d is not there
        (UPSERT, "b", ROWS[5]),
        (UPDATE, "c", ROWS[6]),
        (UPDATE, "a", None),  # metadata only
        (DELETE, "b", None),
        (ADD, "b", ROWS[7]),
        (UPSERT, "e", ROWS[8]),
        (DELETE, "e", None),
    ]
    folder.queue("films", operations)
    folder.queue("others", [(ADD, "a", ROWS[9])])
    folder.describe("films", [("a", {}), ("c", {}), ("b", {})])
    model = io.load(folder.folder)
    assert model.right_ids.tolist() == ["a", "c", "b"]
    np.testing.assert_array_equal(model.right, ROWS[[0, 6, 7]])


@pytest.mark.parametrize(
    ("stated", "metric", "is_default"),
    [
        ({"space": "ip"}, "dot", False),
        ({"configuration": '{"hnsw": {"space": "cosine"}}'}, "cosine", False),
        (
            {"configuration": '{"vector_index": {"hnsw": {"space": "ip"}}}'},
            "dot",
            False,
        ),
        ({"configuration": '{"hnsw_configuration": {"space": "ip"}}'}, "dot", False),
        (
            {
                "configuration": '{"hnsw_configuration": {"space": "l2"}}',
                "metadata_space": "cosine",
            },
            "cosine",
            False,
        ),
        ({"configuration": '{"other": {"space": "ip"}}'}, "not stated", False),
        ({"metadata_space": "cosine"}, "cosine", False),
        ({"configuration": "no JSON"}, "l2", True),
        ({}, "l2", True),
    ],
)
def test_chroma_metric_is_read_wherever_a_version_states_it(
    tmp_path, stated, metric, is_default
):
    folder = ChromaFolder(tmp_path / "chroma")
    folder.create("films", 8, **stated)
    folder.queue("films", [(ADD, "a", ROWS[0])])
    folder.describe("films", [("a", {})])
    found = io.inspect(folder.folder).metric
    assert (found.name, found.is_default) == (metric, is_default)


def test_chroma_index_needs_the_client_but_its_metric_does_not(chroma, monkeypatch):
    chroma.take("films")
    monkeypatch.setitem(sys.modules, "chromadb", None)
    assert io.inspect(chroma.folder).metric.name == "cosine"
    assert refusal_of(chroma.folder).endswith(
        "must be installed; run pip install 'embaudit[chroma]'."
    )


def test_chroma_row_without_a_vector_in_the_queue_is_refused(chroma):
    chroma.describe("films", [("f40", {})])
    assert (
        "must be a complete collection of Chroma; got no vector for 'f40'"
        in refusal_of(chroma.folder)
    )


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ("collections SET name = x'ff'", "a collection without a name or a dimension"),
        (
            "collections SET dimension = 'x'",
            "a collection without a name or a dimension",
        ),
        (
            "segments SET id = '../x' WHERE scope = 'METADATA'",
            "a segment without an id",
        ),
        ("embeddings SET embedding_id = x'ff'", "a row without an id"),
        ("embeddings_queue SET vector = 'x'", "no bytes of a vector for 'f0'"),
        ("embeddings_queue SET vector = x'00'", "1 bytes of FLOAT32 for 'f0'"),
    ],
)
def test_chroma_cell_that_holds_a_wrong_value_is_refused(chroma, change, got):
    changed(chroma.path, f"UPDATE {change}")
    sentence = refusal_of(chroma.folder)
    assert f"must be a complete collection of Chroma; got {got}; write it" in sentence


@pytest.mark.parametrize(
    "change",
    [
        "collections SET schema_str = x'ff'",
        "collections SET config_json_str = 5",
        "embedding_metadata SET string_value = x'ff'",
        "embedding_metadata SET key = x'ff' WHERE key = 'genre'",
    ],
)
def test_damaged_words_beside_the_rows_of_chroma_leave_the_rows(chroma, change):
    changed(chroma.path, f"UPDATE {change}")
    model = io.load(chroma.folder)
    np.testing.assert_array_equal(np.sort(model.right, axis=0), np.sort(ROWS, axis=0))


def test_damaged_metric_of_chroma_is_its_default(tmp_path):
    folder = ChromaFolder(tmp_path / "chroma")
    folder.create("films", 8, metadata_space="cosine")
    folder.queue("films", [(ADD, f"f{row}", ROWS[row]) for row in range(40)])
    folder.describe("films", [(f"f{row}", {}) for row in range(40)])
    changed(folder.path, "UPDATE collection_metadata SET str_value = x'ff'")
    assert io.inspect(folder.folder).metric.is_default


def test_chroma_whose_files_are_too_small_for_its_rows_is_refused(chroma):
    changed(chroma.path, "UPDATE collections SET dimension = 99999999")
    with pytest.raises(InputError, match="got 40 rows of 99,999,999 numbers, more"):
        io.inspect(chroma.folder)


def test_chroma_collection_without_rows_is_refused(tmp_path):
    folder = ChromaFolder(tmp_path / "chroma")
    folder.create("films", 8)
    assert "must be a collection with rows; got no rows" in refusal_of(folder.folder)


def test_metric_stands_in_the_json_of_an_audit(chroma):
    audit = ea.audit(f"chroma:{chroma.folder}/films", compared="cosine", quick=True)
    intake = json.loads(json.dumps(audit.to_dict()))["input"]["intake"]
    assert intake["metric"]["name"] == "cosine"
    assert intake["metric"]["source"] == "the schema of the collection"
    assert "Metric of the index: cosine, as the schema of" in intake["explanation"]


def test_formats_shows_the_metric(chroma, embaudit):
    shown = embaudit("formats", f"chroma:{chroma.folder}/films")
    assert shown.code == 0
    assert "Metric of the index: cosine" in shown.out


def test_files_have_no_metric(tmp_path):
    path = tmp_path / "v.npy"
    np.save(path, ROWS)
    assert io.read(path).intake.metric is None


@pytest.mark.parametrize(
    ("address", "package"),
    [("lancedb:{}", "lancedb"), ("duckdb:{}", "duckdb")],
)
def test_missing_client_is_one_sentence_with_its_extra(
    tmp_path, monkeypatch, address, package
):
    monkeypatch.setitem(sys.modules, package, None)
    if package == "duckdb":
        (tmp_path / "films.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(4))
        place = tmp_path / "films.duckdb"
    else:
        (tmp_path / "films.lance" / "_versions").mkdir(parents=True)
        place = tmp_path
    sentence = f"run pip install 'embaudit[{package}]'"
    assert sentence in refusal_of(address.format(place))
    assert sentence in refusal_of(place)


@pytest.mark.parametrize(
    ("store", "kind"),
    [
        ("lancedb", "a folder of LanceDB"),
        ("duckdb", "a file of DuckDB"),
        ("chroma", "a folder of Chroma"),
        ("sqlite-vec", "a file of SQLite"),
    ],
)
def test_wrong_path_is_refused_even_without_the_client(
    tmp_path, monkeypatch, store, kind
):
    for package in ("lancedb", "duckdb", "chromadb"):
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("a\n")
    for place, found in (
        ("nowhere/items", "nowhere, which does not exist"),
        ("nowhere", "nowhere, which does not exist"),
        ("empty", "empty, another folder"),
        ("empty/items", "empty/items, which does not exist"),
        ("notes.txt/items", "notes.txt, another file"),
    ):
        address = f"{store}:{tmp_path}/{place}"
        assert refusal_of(address) == (
            f"{address} must be a table in {kind}; got {tmp_path}/{found}; check the "
            "path."
        )


def test_wrong_table_of_lancedb_is_refused_even_without_the_client(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    (tmp_path / "films.lance" / "_versions").mkdir(parents=True)
    sentence = refusal_of(f"lancedb:{tmp_path}/users")
    assert f"no table with this name; name one of lancedb:{tmp_path}/films." in sentence


def table_of(*batches, n_rows=2, **properties):
    """Return a table of two numbers a row."""
    return VectorTable(
        Address("chroma", "db/films"),
        n_rows,
        2,
        Metric("cosine", "the collection"),
        lambda: iter(batches),
        ids="ids",
        **properties,
    )


def test_the_file_of_a_store_is_no_output_without_a_table():
    with pytest.raises(InputError) as caught:
        writer_of("new.duckdb")
    assert str(caught.value) == (
        "the output must be a table, such as duckdb:new.duckdb/TABLE; got new.duckdb."
    )


@pytest.mark.parametrize("wanted", ["", "film"])
def test_tables_of_an_object_are_named_by_the_keyword(wanted):
    address = Address("qdrant", "client")
    with pytest.raises(InputError) as caught:
        chosen_table(address, ["films", "users"], wanted, keyword="collection")
    choices = "; name one of collection='films', collection='users'."
    assert str(caught.value).endswith(choices)


@pytest.mark.parametrize(
    ("index_type", "codes"),
    [
        ("IVF_FLAT", ""),
        ("IVF_HNSW_FLAT", ""),
        ("IVF_PQ", "PQ codes of them"),
        ("IVF_HNSW_SQ", "SQ codes of them"),
        ("IVF_RQ", "RQ codes of them"),
    ],
)
def test_codes_that_an_index_of_lancedb_searches_are_named(
    tmp_path, monkeypatch, index_type, codes
):
    class Table:
        schema = pa.schema([("vector", pa.list_(pa.float32(), 8))])

        def count_rows(self, condition):
            return 40

        def list_indices(self):
            return [SimpleNamespace(name="vector_idx", columns=["vector"])]

        def index_stats(self, name):
            return SimpleNamespace(distance_type="cosine", index_type=index_type)

    client = ModuleType("lancedb")
    client.__spec__ = ModuleSpec("lancedb", None)
    client.connect = lambda folder: SimpleNamespace(open_table=lambda name: Table())
    monkeypatch.setitem(sys.modules, "lancedb", client)
    (tmp_path / "films.lance" / "_versions").mkdir(parents=True)
    found = io.inspect(f"lancedb:{tmp_path}/films").metric
    assert found == Metric("cosine", "the index vector_idx", codes=codes)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_a_new_folder_goes_when_writing_stops(tmp_path, stop):
    folder = tmp_path / "store"

    def write():
        with removed_if_new(folder):
            folder.mkdir()
            (folder / "part").write_text("part")
            raise stop

    with pytest.raises(stop):
        write()
    assert not folder.exists()


def test_a_folder_that_was_there_stays_when_writing_stops(tmp_path):
    (tmp_path / "films").write_text("films")
    with pytest.raises(ValueError, match="stopped"), removed_if_new(tmp_path):
        raise ValueError("stopped")
    assert (tmp_path / "films").read_text() == "films"


def test_panic_of_the_client_of_lancedb_is_refused(tmp_path, monkeypatch):
    class RustPanic(Exception):  # noqa: N818
        """As the client raises it, from no module that can be imported."""

    class Database:
        def open_table(self, name):
            raise RustPanic("rust future panicked: unknown error")

    client = ModuleType("lancedb")
    client.__spec__ = ModuleSpec("lancedb", None)
    client.connect = lambda folder: Database()
    monkeypatch.setitem(sys.modules, "lancedb", client)
    (tmp_path / "db" / "films.lance" / "_versions").mkdir(parents=True)
    for address in (f"lancedb:{tmp_path}/db", f"lancedb:{tmp_path}/db/films"):
        assert refusal_of(address) == (
            f"{address} cannot be read: the client LanceDB failed, as it does at "
            "damaged tables."
        )


def test_batches_of_another_width_are_refused():
    table = table_of(Batch(np.ones((2, 3)), [1, 2]))
    with pytest.raises(InputError, match="must be of 2 numbers; got 3 from row 0 on"):
        table.contents().model()


@pytest.mark.parametrize("n_rows", [1, 3])
def test_batches_of_more_or_fewer_rows_are_refused(n_rows):
    table = table_of(Batch(np.ones((2, 2)), [1, 2]), n_rows=n_rows)
    with pytest.raises(InputError, match="must be unchanged while it is read"):
        table.contents().model()


def model_of_two_batches(second_titles=("c", "d")):
    """Read a table of four rows in two batches of two."""
    first = Batch(
        vectors=np.array([[1.0, 2.0], [3.0, 4.0]]),
        ids=[5, 2**63],
        titles=["a", "b"],
    )
    second = Batch(
        vectors=np.array([[5.0, 6.0], [7.0, 8.0]]),
        ids=np.array([7, 8]),
        titles=list(second_titles),
    )
    table = table_of(first, second, n_rows=4, titles="name")
    return table.contents().model()


def test_vectors_of_batches_are_joined_in_their_order():
    model = model_of_two_batches()
    assert model.right.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_ids_of_batches_are_joined_in_their_order():
    """The second batch has small integers; the first has one beyond 63 bits."""
    model = model_of_two_batches()
    assert model.right_ids.tolist() == [5, 2**63, 7, 8]


def test_titles_of_batches_are_joined_in_their_order():
    model = model_of_two_batches()
    assert model.right_names.tolist() == ["a", "b", "c", "d"]


def test_long_titles_are_cut_to_100_characters():
    model = model_of_two_batches(second_titles=["c", "d" * 300])
    assert model.right_names.tolist() == ["a", "b", "c", "d" * 100]


def test_titles_that_some_row_lacks_are_none():
    table = table_of(Batch(np.eye(2), ["x", "y"], ["a", None]), titles="name")
    assert table.contents().model().right_names is None
