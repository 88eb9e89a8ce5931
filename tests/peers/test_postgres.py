"""Tables of a real PostgreSQL server with pgvector, read by the real client."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.postgres import running
from peers.servers import (
    check_refusal_without_secret,
    read_with_secret,
)

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import inspect, read
from embaudit.io.options import Request
from embaudit.io.stores import postgres
from embaudit.io.stores.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.io.stores.vector_table import VectorTable

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pgvector")

X = np.random.default_rng(0).normal(size=(250, 6)).astype(np.float32)
IDS = np.random.default_rng(1).permutation(1000)[: len(X)]
ORDER = np.argsort(IDS)
CLASSES = {
    "cosine": "vector_cosine_ops",
    "dot": "vector_ip_ops",
    "l2": "vector_l2_ops",
    "l1": "vector_l1_ops",
}
"""Operator classes of pgvector by the metric that they mean."""


@pytest.fixture(scope="session")
def port() -> Iterator[int]:
    with running() as place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield int(place.split(":")[-1].split("/")[0])


def address(port: int, table: str = "", user: str = "postgres") -> str:
    place = f"postgresql://{user}@127.0.0.1:{port}/postgres"
    return f"{place}/{table}" if table else place


def described(port: int, table: str, **options: Any) -> VectorTable:
    """Describe a table whose rows are not read yet."""
    place = Address(*address(port, table).split(":", 1))
    return postgres.table(place, Request.from_options(options))


@pytest.fixture
def execute(port: int) -> Iterator[Callable[[str], Any]]:
    """Return a function that runs SQL in a database without tables of other tests."""
    with psycopg.connect(address(port), autocommit=True) as connection:
        connection.execute(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION vector;"
            "GRANT USAGE ON SCHEMA public TO public"
        )
        yield connection.execute


def texts(rows: Any) -> list[str]:
    return [f"[{','.join(map(repr, row.tolist()))}]" for row in rows]


@pytest.fixture
def films(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Fill the table films, and return the function that runs SQL."""
    execute(
        "CREATE TABLE films "
        "(film int PRIMARY KEY, title text, year int, embedding vector(6))"
    )
    for id_, text in zip(IDS.tolist(), texts(X), strict=True):
        row = [id_, f"film {id_}", 1950 + id_ % 70, text]
        execute("INSERT INTO films VALUES (%s, %s, %s, %s)", row)
    return execute


@pytest.mark.holds("scores", library="pgvector", model="tables")
def test_the_model_has_every_number_and_the_ids_of_the_table(
    films: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several batches.
    monkeypatch.setattr("embaudit.io.stores.postgres.BATCH_BYTES", 24 * 100)
    model = read(address(port, "films")).model
    assert model.right.dtype == np.float32
    np.testing.assert_array_equal(model.right, X[ORDER])
    assert model.right_ids.tolist() == sorted(IDS.tolist())


# One state of the database


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO films VALUES (1001, 'new', 2024, NULL)",
        "DELETE FROM films WHERE film = (SELECT min(film) FROM films)",
        "CREATE INDEX ON films USING hnsw (embedding vector_ip_ops)",
        "ALTER TABLE films ALTER embedding TYPE halfvec(6)",
        "ALTER TABLE films ADD title_of_film text; "
        "ALTER TABLE films DROP title; ALTER TABLE films RENAME title_of_film TO title",
        "ALTER TABLE films RENAME TO old; CREATE TABLE films AS SELECT * FROM old",
    ],
)
def test_a_table_that_changed_after_it_was_described_is_refused(
    films: Any, port: int, change: str
) -> None:
    table = described(port, "films")
    films(change)
    with pytest.raises(InputError, match="unchanged while it is read; got changes to"):
        table.contents().model()


def test_changes_during_the_read_are_not_seen(
    films: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embaudit.io.stores.postgres.BATCH_BYTES", 24 * 100)
    batches = described(port, "films").batches()
    read_batches = [next(batches)]
    films("UPDATE films SET embedding = '[1,2,3,4,5,6]', title = 'changed'")
    films("DELETE FROM films WHERE film % 2 = 0")
    films("INSERT INTO films VALUES (1001, 'new', 2024, '[1,2,3,4,5,6]')")
    read_batches += batches
    vectors = np.concatenate([batch.vectors for batch in read_batches])
    np.testing.assert_array_equal(vectors, X[ORDER])
    titles = [title for batch in read_batches for title in batch.titles or ()]
    assert titles == [f"film {id_}" for id_ in sorted(IDS)]


# The order of the rows


def test_the_order_of_rows_without_ids_depends_on_nothing_but_the_rows(
    execute: Any, port: int
) -> None:
    execute("CREATE TABLE a (v vector(6)); CREATE TABLE b (v vector(6))")
    for table, rows in (("a", X), ("b", X[::-1])):
        for text in texts(rows):
            execute(f"INSERT INTO {table} VALUES (%s)", [text])
    execute("CREATE VIEW c AS SELECT v FROM a ORDER BY random()")
    models = [read(address(port, table)).model for table in ("a", "b", "c")]
    expected = X[np.lexsort(X.T[::-1])]
    for model in models:
        np.testing.assert_array_equal(model.right, expected)


def test_rows_of_one_id_are_sorted_by_title_and_vector(execute: Any, port: int) -> None:
    rows = [
        (1, "a", "[1,1]"),
        (1, "a", "[1,2]"),
        (1, "b", "[0,0]"),
        (2, "a", "[0,0]"),
    ]
    execute("CREATE TABLE a (id int, title text, v vector(2))")
    for row in (rows[2], rows[1], rows[3], rows[0]):
        execute("INSERT INTO a VALUES (%s, %s, %s)", row)
    (batch,) = described(port, "a").batches()
    assert batch.vectors.tolist() == [[1, 1], [1, 2], [0, 0], [0, 0]]
    assert list(batch.titles or ()) == ["a", "a", "b", "a"]


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("text", ["A", "B", "a", "b", "ä", "😀"]),
        # Sizes in their own order are s, m, l.
        ("size", ["l", "m", "s"]),
        ("numeric", ["10", "9"]),
        # Types whose values have no order.
        ("json", ["[1]", '{"a": 1}']),
        ("point", ["(1,2)", "(3,4)"]),
    ],
)
def test_ids_that_are_no_whole_numbers_are_sorted_as_texts(
    execute: Any, port: int, kind: str, ids: list[str]
) -> None:
    execute("CREATE TYPE size AS ENUM ('s', 'm', 'l')")
    execute(f"CREATE TABLE a (id {kind}, v vector(2))")
    for id_ in reversed(ids):
        execute(f"INSERT INTO a VALUES ('{id_}', '[1,2]')")
    assert read(address(port, "a")).model.right_ids.tolist() == ids


# Roles of columns


@pytest.mark.holds("titles", library="pgvector", model="tables")
def test_titles_are_read_and_other_columns_are_left_over(films: Any, port: int) -> None:
    reading = read(address(port, "films"))
    assert reading.model.right_names.tolist() == [f"film {i}" for i in sorted(IDS)]
    assert [str(part) for part in reading.intake.left_over] == ["year (250)"]
    assert reading.intake.files == (f"postgresql://127.0.0.1:{port}/postgres/films",)


@pytest.mark.parametrize("metric", CLASSES)
def test_the_operator_class_of_an_index_is_the_metric(
    films: Any, port: int, metric: str
) -> None:
    films(f"CREATE INDEX near ON films USING hnsw (embedding {CLASSES[metric]})")
    stated = read(address(port, "films")).intake.metric
    assert (stated.name, stated.source) == (metric, "the index near")
    assert not stated.codes


def test_without_an_index_no_metric_is_stated(films: Any, port: int) -> None:
    films("CREATE INDEX ON films (year)")
    metric = read(address(port, "films")).intake.metric
    assert metric.name == "not stated"
    assert "the operator of each query decides" in metric.source


def test_indexes_that_differ_state_no_metric(films: Any, port: int) -> None:
    films("CREATE INDEX a ON films USING hnsw (embedding vector_cosine_ops)")
    films(
        "CREATE INDEX b ON films USING ivfflat (embedding vector_l2_ops) "
        "WITH (lists = 1)"
    )
    metric = read(address(port, "films")).intake.metric
    assert str(metric) == "not stated: its indexes differ: a by cosine and b by l2"


def test_an_index_of_a_cast_searches_copies(films: Any, port: int) -> None:
    films(
        "CREATE INDEX near ON films USING hnsw ((embedding::halfvec(6)) halfvec_ip_ops)"
    )
    metric = read(address(port, "films")).intake.metric
    assert (metric.name, metric.codes) == ("dot", "halfvec copies of them")
    # An index of the vectors themselves with the same metric, later in the alphabet.
    films("CREATE INDEX nearer ON films USING hnsw (embedding vector_ip_ops)")
    metric = read(address(port, "films")).intake.metric
    assert (metric.source, metric.codes) == ("the index nearer", "")


@pytest.mark.holds("audited", library="pgvector", model="tables")
def test_an_audit_takes_an_address_and_reports_its_metric(
    films: Any, port: int, embaudit: Any, tmp_path: Path
) -> None:
    films("CREATE INDEX near ON films USING hnsw (embedding vector_cosine_ops)")
    out = tmp_path / "audit.json"
    result = embaudit("audit", address(port, "films"), "--json", out)
    assert result.code in (0, 1), result.err
    intake = json.loads(out.read_text())["input"]["intake"]
    assert intake["metric"]["name"] == "cosine"
    # The name of the user is no part of the report.
    assert intake["files"] == [f"postgresql://127.0.0.1:{port}/postgres/films"]


def test_inspect_reads_the_catalogue_and_one_row(films: Any, port: int) -> None:
    line = inspect(address(port, "films")).explain()
    assert (
        "column embedding (250 × 6) as right factors, film (250) as right ids" in line
    )


def test_the_environment_names_the_server(
    films: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(port),
        "PGUSER": "postgres",
        "PGDATABASE": "postgres",
    }.items():
        monkeypatch.setenv(name, value)
    for place in ("postgresql:films", "postgresql:///films", "postgres:public.films"):
        np.testing.assert_array_equal(read(place).model.right, X[ORDER])


def test_rows_without_a_vector_are_left_out_and_counted(films: Any, port: int) -> None:
    films("INSERT INTO films VALUES (1001, 'new', 2024, NULL)")
    reading = read(address(port, "films"))
    np.testing.assert_array_equal(reading.model.right, X[ORDER])
    assert reading.intake.left_over[-1].name == "1 row without a vector"


def test_a_title_that_some_rows_lack_names_no_rows(films: Any, port: int) -> None:
    films("UPDATE films SET title = NULL WHERE film = %s", [int(IDS[0])])
    assert read(address(port, "films")).model.right_names is None


@pytest.fixture
def items(execute: Callable[..., Any], port: int) -> str:
    """Return the address of a table with one row and columns of many types."""
    execute(
        "CREATE TABLE items (id text PRIMARY KEY, v vector(3), h halfvec(3), "
        "b bit(3), s sparsevec(3), r real[], d double precision[], n int[])"
    )
    execute(
        "INSERT INTO items VALUES ('x', '[1,2,3]', '[0.1,2,-3]', b'101', '{1:1}/3', "
        "'{4,5,6}', '{0.1,8,9}', '{1,2,3}')"
    )
    return address(port, "items")


@pytest.mark.parametrize("by_address", [True, False])
@pytest.mark.parametrize(
    ("column", "row"),
    [
        ("v", np.array([1, 2, 3], np.float32)),
        ("h", np.array([0.1, 2, -3], np.float16).astype(np.float32)),
        ("r", np.array([4, 5, 6], np.float32)),
        ("d", np.array([0.1, 8, 9], np.float64)),
    ],
)
def test_the_address_or_an_option_names_the_column_that_is_read(
    items: str, column: str, row: np.ndarray, by_address: bool
) -> None:
    if by_address:
        model = read(f"{items}?vectors={column}").model
    else:
        model = read(items, vector=column).model
    assert model.right.dtype == row.dtype
    np.testing.assert_array_equal(model.right, [row])


def test_a_column_that_the_address_and_the_option_name_differently_is_refused(
    items: str,
) -> None:
    with pytest.raises(InputError, match="the column that the address names, v"):
        read(f"{items}?vectors=v", vector="h")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (None, "choose one of v, h with vector=COLUMN"),
        ("b", "of bits, which are codes"),
        ("s", "of sparse vectors; make a view"),
        ("n", "of type _int4"),
        ("q", "choose one of id, v, h"),
    ],
)
def test_a_column_that_is_not_one_column_of_dense_vectors_is_refused(
    items: str, column: str | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read(items, vector=column)


@pytest.mark.usefixtures("items")
def test_sparse_vectors_are_read_by_a_view_that_casts_them(
    execute: Any, port: int
) -> None:
    execute("CREATE VIEW dense AS SELECT id, s::vector(3) AS v FROM items")
    model = read(address(port, "dense")).model
    np.testing.assert_array_equal(model.right, [[1.0, 0, 0]])


@pytest.mark.parametrize(
    ("base", "dtype"),
    [
        ("vector(3)", np.float32),
        ("halfvec(3)", np.float32),
        ("real[]", np.float32),
        ("double precision[]", np.float64),
    ],
)
def test_a_domain_is_read_as_its_base_type(
    execute: Any, port: int, base: str, dtype: type
) -> None:
    execute(f"CREATE DOMAIN embedding AS {base}")
    execute("CREATE DOMAIN required_embedding AS embedding NOT NULL")
    for domain in ("embedding", "required_embedding"):
        execute(f"CREATE TABLE a (v {domain})")
        execute(
            "INSERT INTO a VALUES (%s)", ["[1,2,3]" if "vec" in base else "{1,2,3}"]
        )
        model = read(address(port, "a")).model
        assert model.right.tolist() == [[1, 2, 3]]
        assert model.right.dtype == dtype
        execute("DROP TABLE a")


def test_ids_titles_and_the_metric_of_columns_of_domains(
    execute: Any, port: int
) -> None:
    execute("CREATE DOMAIN embedding AS vector(2); CREATE DOMAIN sku AS bigint")
    execute("CREATE DOMAIN one_line AS text CHECK (VALUE NOT LIKE '%\n%')")
    execute("CREATE TABLE items (sku sku PRIMARY KEY, title one_line, v embedding)")
    execute("INSERT INTO items VALUES (10, 'ten', '[1,2]'), (9, 'nine', '[3,4]')")
    # A domain has no number of dimensions, which an index needs.
    execute("CREATE INDEX near ON items USING hnsw ((v::vector(2)) vector_cosine_ops)")
    reading = read(address(port, "items"))
    assert reading.model.right_ids.tolist() == [9, 10]
    assert reading.model.right_names.tolist() == ["nine", "ten"]
    assert str(reading.intake.metric) == "cosine, as the index near says"
    with pytest.raises(InputError, match="none called item; name one of items"):
        read(address(port, "item"))


def test_a_key_of_several_columns_is_no_id_unless_one_of_them_is_named(
    execute: Any, port: int
) -> None:
    execute(
        "CREATE TABLE a (sku uuid, lang text, v vector(2), PRIMARY KEY (sku, lang))"
    )
    uuid = "5c56c793-69f3-4fbf-87e6-c4bf54c28c26"
    execute(f"INSERT INTO a VALUES ('{uuid}', 'en', '[1,2]')")
    place = address(port, "a")
    assert read(place).model.right_ids is None
    assert read(place, vector_id="sku").model.right_ids.tolist() == [uuid]
    with pytest.raises(InputError, match="one of sku, lang; got 'isbn'"):
        read(place, vector_id="isbn")


def test_ids_that_are_missing_are_refused(execute: Any, port: int) -> None:
    execute("CREATE TABLE a (id int, v vector(2))")
    execute("INSERT INTO a VALUES (NULL, '[1,2]')")
    with pytest.raises(InputError, match="must be free of NULL"):
        read(address(port, "a"))


def test_ids_that_are_not_unique_are_refused(execute: Any, port: int) -> None:
    execute("CREATE TABLE a (id int, v vector(2))")
    execute("INSERT INTO a VALUES (7, '[1,2]'), (7, '[3,4]')")
    with pytest.raises(InputError, match="must be unique; got 7 in 2 rows"):
        read(address(port, "a"))


def test_a_column_that_is_called_a_bias_must_be_left_out_by_name(
    films: Any, port: int
) -> None:
    films("ALTER TABLE films ADD COLUMN bias real DEFAULT 0.5")
    with pytest.raises(
        InputError, match="which has the name of a bias; ignore it with"
    ):
        read(address(port, "films"))
    assert read(address(port, "films"), ignore="bias").model.n_right == 250
    assert read(address(port, "films"), kind="vectors").model.n_right == 250


def test_vectors_of_different_lengths_are_refused(execute: Any, port: int) -> None:
    execute("CREATE TABLE a (id int PRIMARY KEY, v vector)")
    execute("INSERT INTO a VALUES (1, '[1,2]'), (2, '[1,2,3]')")
    with pytest.raises(InputError, match="must be of one length; got 2 and 3 numbers"):
        read(address(port, "a"))


def test_ids_of_other_types_are_texts(execute: Any, port: int) -> None:
    execute("DROP TYPE IF EXISTS colour; CREATE TYPE colour AS ENUM ('red', 'blue')")
    for kind, value, text in (
        ("colour", "'red'", "red"),
        ("money", "3", "$3.00"),
        ("char(5)", "'ab'", "ab"),
        ("numeric", "12", "12"),
    ):
        execute(f"CREATE TABLE a (id {kind} PRIMARY KEY, v vector(2))")
        execute(f"INSERT INTO a VALUES ({value}, '[1,2]')")
        assert read(address(port, "a")).model.right_ids.tolist() == [text]
        execute("DROP TABLE a")


def test_the_column_of_the_vectors_holds_no_ids(execute: Any, port: int) -> None:
    execute("CREATE TABLE a (sku text, v vector(2) PRIMARY KEY)")
    execute("INSERT INTO a VALUES ('x', '[1,2]')")
    assert read(address(port, "a")).model.right_ids is None
    with pytest.raises(InputError, match="must be one of sku; got 'v'"):
        read(address(port, "a"), vector_id="v")


def test_options_of_the_connection_keep_their_spaces(execute: Any, port: int) -> None:
    execute("DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA shop")
    execute("CREATE TABLE shop.items (v vector(2))")
    execute("INSERT INTO shop.items VALUES ('[1,2]')")
    options = "options=-c%20search_path%3Dshop,public&application_name=a+b"
    model = read(f"{address(port, 'items')}?{options}").model
    np.testing.assert_array_equal(model.right, [[1.0, 2.0]])


def test_a_schema_comes_before_a_dot_in_the_name_of_a_table(
    execute: Any, port: int
) -> None:
    execute("DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA shop")
    execute('CREATE TABLE shop.items (v vector(2)); CREATE TABLE "shop.items" (id int)')
    execute("INSERT INTO shop.items VALUES ('[1,2]')")
    model = read(address(port, "shop.items")).model
    np.testing.assert_array_equal(model.right, [[1.0, 2.0]])


def test_names_with_dots_can_mean_two_tables(execute: Any, port: int) -> None:
    execute('DROP SCHEMA IF EXISTS a CASCADE; DROP SCHEMA IF EXISTS "a.b" CASCADE')
    execute('CREATE SCHEMA a; CREATE TABLE a."b.c" (v vector(2))')
    execute('CREATE SCHEMA "a.b"; CREATE TABLE "a.b".c (v vector(2))')
    with pytest.raises(InputError, match=r"got 2 tables called a\.b\.c; make a view"):
        read(address(port, "a.b.c"))
    execute('DROP SCHEMA a CASCADE; DROP SCHEMA "a.b" CASCADE')


def test_names_are_quoted_and_never_run_as_sql(execute: Any, port: int) -> None:
    execute('DROP SCHEMA IF EXISTS "Shop" CASCADE; CREATE SCHEMA "Shop"')
    name = '"Shop"."my ""items"""'
    execute(f"CREATE TABLE {name} (v vector(2)); INSERT INTO {name} VALUES ('[1,2]')")
    model = read(address(port, "Shop.my%20%22items%22")).model
    np.testing.assert_array_equal(model.right, [[1.0, 2.0]])
    with pytest.raises(InputError, match=r'none called items"; DROP TABLE x'):
        read(address(port, 'items"; DROP TABLE x'))


@pytest.mark.parametrize("table", ["film", "public.film", "other.films"])
def test_a_table_that_is_not_there_is_refused_with_those_that_are(
    films: Any, port: int, table: str
) -> None:
    with pytest.raises(InputError, match=f"none called {table}; name one of films"):
        read(address(port, table))


def test_tables_without_vectors_are_refused(execute: Any, port: int) -> None:
    execute("CREATE TABLE a (id int, price real)")
    with pytest.raises(InputError, match=r"got id \(int4\), price \(float4\)"):
        read(address(port, "a"))
    execute("CREATE TABLE b (id int PRIMARY KEY, v vector(2))")
    with pytest.raises(
        InputError, match="a column with at least one vector; got no vector in 0 rows"
    ):
        read(address(port, "b"))


def test_a_read_leaves_no_connection_and_cannot_write(films: Any, port: int) -> None:
    from embaudit.io.stores.postgres_client import Place, connection_to

    read(address(port, "films"))
    where = Address("postgresql", f"//postgres@127.0.0.1:{port}/postgres/films")
    with (
        pytest.raises(InputError, match="in a read-only transaction"),
        connection_to(where, Place.parse(where)) as connection,
    ):
        connection.execute("DELETE FROM films")
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'embaudit'"
    # The server notices a little later that a connection was closed.
    deadline = time.monotonic() + 5
    while films(count).fetchone() != (0,):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert films("SELECT count(*) FROM films").fetchone() == (250,)


def test_a_role_reads_a_table_only_if_it_has_the_right(films: Any, port: int) -> None:
    films("DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN")
    with pytest.raises(InputError, match="permission denied for table films; ask its"):
        read(address(port, "films", user="bob"))
    films("GRANT SELECT ON films TO bob")
    assert read(address(port, "films", user="bob")).model.n_right == 250


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (
            "//postgres@127.0.0.1:{port}/nobody/films",
            'database "nobody" does not exist',
        ),
        ("//nobody@127.0.0.1:{port}/postgres/films", 'role "nobody" does not exist'),
        ("//postgres@127.0.0.1:{port}/postgres/films?sslmode=require", "check sslmode"),
        ("//postgres@127.0.0.1:{port}/postgres/films?colour=1", "colour"),
        (
            "//postgres@127.0.0.1:1/postgres/films",
            "Connection refused; start the server",
        ),
        ("//postgres@no.such.host.invalid/x/films", "check the host"),
        ("//ann:secret@127.0.0.1:{port}/postgres/films", "free of passwords"),
        ("//127.0.0.1:{port}/postgres/films?password=secret", "free of passwords"),
        ("//127.0.0.1:{port}", "must be postgresql://HOST/DATABASE/TABLE"),
    ],
)
def test_the_error_for_a_server_that_cannot_be_read_has_advice_and_no_secret(
    films: Any, port: int, embaudit: Any, place: str, sentence: str
) -> None:
    result = embaudit("audit", f"postgresql:{place.format(port=port)}")
    check_refusal_without_secret(result, sentence)


def test_a_server_that_does_not_answer_is_refused_after_the_timeout(
    silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embaudit.io.stores.postgres_client.TIMEOUT_SECONDS", 2)
    with pytest.raises(InputError, match="timeout expired; check host and port"):
        read(address(silent_port, "films"))


def test_a_table_that_is_locked_is_refused_after_the_timeout(
    films: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embaudit.io.stores.postgres_client.TIMEOUT_SECONDS", 1)
    with psycopg.connect(address(port)) as other:
        other.execute("LOCK TABLE films IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(InputError, match="lock timeout; run the command again"):
            read(address(port, "films"))


def test_a_password_comes_from_the_environment(
    films: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    films("DROP ROLE IF EXISTS eve; CREATE ROLE eve LOGIN PASSWORD 'secret'")
    films("GRANT SELECT ON films TO eve")
    data = films("SHOW data_directory").fetchone()[0]
    access = Path(data, "pg_hba.conf")
    rules = access.read_text()
    access.write_text(f"host all eve 127.0.0.1/32 scram-sha-256\n{rules}")
    films("SELECT pg_reload_conf()")
    try:
        place = address(port, "films", user="eve")
        monkeypatch.setenv("PGPASSFILE", "/no/such/file")
        with pytest.raises(InputError, match="no password supplied; set PGUSER and"):
            read(place)
        reading = read_with_secret(
            place, "PGPASSWORD", monkeypatch, refusal="authentication failed"
        )
        np.testing.assert_array_equal(reading.model.right, X[ORDER])
    finally:
        access.write_text(rules)
        films("SELECT pg_reload_conf()")


def test_the_server_computes_the_same_cosine(films: Any, port: int) -> None:
    model = read(address(port, "films")).model
    first, second = (int(id_) for id_ in model.right_ids[:2])
    (theirs,) = films(
        "SELECT 1 - (a.embedding <=> b.embedding) FROM films a, films b "
        "WHERE a.film = %s AND b.film = %s",
        [first, second],
    ).fetchone()
    rows = model.right[:2].astype(np.float64)
    ours = rows[0] @ rows[1] / np.prod(np.linalg.norm(rows, axis=1))
    assert ours == pytest.approx(theirs, abs=1e-7)


def test_places_that_cannot_be_written_are_refused_and_left_as_they_are(
    execute: Any, port: int
) -> None:
    model = ea.FactorModel.from_vectors(X, ids=IDS)
    ea.save(model, address(port, "items"), metric="dot")
    execute("CREATE VIEW v AS SELECT * FROM items")
    for table, words in (
        ("items", "cannot drop table items because other objects depend on it"),
        ("v", '"v" is not a table'),
        ("nowhere.items", 'schema "nowhere" does not exist'),
    ):
        with pytest.raises(InputError, match=f"cannot be written: {words}"):
            ea.save(model, address(port, table), metric="dot", force=True)
    np.testing.assert_array_equal(read(address(port, "items")).model.right, X[ORDER])
    execute("DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN")
    with pytest.raises(InputError, match="the right to create tables there"):
        ea.save(model, address(port, "more", user="bob"), metric="dot")
    execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    with pytest.raises(InputError, match="run CREATE EXTENSION vector in the database"):
        ea.save(model, address(port, "items"), metric="dot")


def test_pgvector_can_be_in_a_schema_of_its_own(execute: Any, port: int) -> None:
    execute(
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
        "DROP SCHEMA IF EXISTS extensions CASCADE; CREATE SCHEMA extensions; "
        "CREATE EXTENSION vector SCHEMA extensions"
    )
    try:
        model = ea.FactorModel.from_vectors(X, ids=IDS)
        ea.save(model, address(port, "items"), metric="cosine")
        reading = read(address(port, "items"))
        np.testing.assert_array_equal(reading.model.right, X[ORDER])
        assert reading.intake.metric.name == "cosine"
    finally:
        execute("DROP SCHEMA extensions CASCADE")


def test_vectors_too_long_for_an_index_state_no_metric(execute: Any, port: int) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 2001))
    remedy = ea.fix(ea.FactorModel.from_vectors(rows, ids=range(30), compared="cosine"))
    place = address(port, "items")
    assert "states no metric: rank its rows by cosine" in remedy.lost_fields(place)
    remedy.write(place)
    assert read(place).intake.metric.name == "not stated"


def test_arrays_of_several_dimensions_or_with_null_are_refused(
    execute: Any, port: int
) -> None:
    execute("CREATE TABLE a (id int PRIMARY KEY, v real[])")
    execute("INSERT INTO a VALUES (1, '{{1,2},{3,4}}')")
    with pytest.raises(InputError, match="must be one list of numbers per row"):
        read(address(port, "a"))
    execute("UPDATE a SET v = '{1,NULL}'")
    with pytest.raises(InputError, match="got nan at row 0, column 1"):
        read(address(port, "a"))
    # An array of one dimension and one of two dimensions, both of length 2.
    execute("UPDATE a SET v = '{1,2}'; INSERT INTO a VALUES (2, '{{1,2},{3,4}}')")
    with pytest.raises(InputError, match="got arrays of several dimensions"):
        read(address(port, "a"))


def test_the_address_names_the_column_that_is_written(execute: Any, port: int) -> None:
    model = ea.FactorModel.from_vectors(X, ids=IDS)
    place = f"{address(port, 'items')}?vectors=embedding"
    ea.save(model, place, metric="cosine")
    reading = read(place)
    np.testing.assert_array_equal(reading.model.right, X[ORDER])
    assert reading.intake.metric.name == "cosine"
    with pytest.raises(InputError, match="another column than id and title; got id"):
        ea.save(model, f"{address(port, 'more')}?vectors=id", metric="cosine")


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int32])
def test_whole_numbers_stay_numbers(execute: Any, port: int, kind: type) -> None:
    ids = np.arange(5).astype(kind)
    ea.save(
        ea.FactorModel.from_vectors(X[:5], ids=ids), address(port, "a"), metric="dot"
    )
    assert read(address(port, "a")).model.right_ids.tolist() == [0, 1, 2, 3, 4]


def test_names_that_the_server_would_cut_are_refused(execute: Any, port: int) -> None:
    model = ea.FactorModel.from_vectors(X, ids=IDS)
    longest = "x" * 63
    ea.save(model, address(port, longest), metric="dot")
    assert read(address(port, longest)).model.n_right == len(X)
    with pytest.raises(InputError, match=r"at most 63 bytes long, because .* 64 bytes"):
        ea.save(model, address(port, f"{longest}y"), metric="dot", force=True)


def test_an_error_of_a_certificate_is_not_one_of_sslmode() -> None:
    from embaudit.io.stores.postgres_client import _refusal

    error = psycopg.OperationalError("SSL error: certificate verify failed")
    refusal = _refusal(Address("postgresql", "items"), error, "read")
    assert str(refusal).endswith(
        "failed; check sslrootcert in the address or PGSSLROOTCERT."
    )
