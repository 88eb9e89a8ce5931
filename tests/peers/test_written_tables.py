"""Vectors that `fix` writes as new tables of stores are read back by id."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import load, read
from embaudit.io.formats import format_named
from embaudit.remedy import fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

N = 300
USERS = np.random.default_rng(0).normal(size=(40, 5))
ITEMS = np.random.default_rng(1).normal(size=(N, 5))
NUMBERS = np.random.default_rng(2).permutation(1000)[:N]
TITLES = [f"Film {i}" for i in range(N)]
IDS = {
    "numbers": NUMBERS,
    "texts": np.array([f"tt{i:04}" for i in NUMBERS]),
    "none": None,
}


def model(ids: Any = NUMBERS, **fields: Any) -> ea.FactorModel:
    made = ea.FactorModel.from_user_item(USERS, ITEMS, item_ids=ids, link="identity")
    return made.replace(right_names=TITLES, **fields)


@contextmanager
def qdrant(_: Path) -> Iterator[str]:
    pytest.importorskip("qdrant_client")
    from peers.qdrant_server import running

    with running() as server:
        yield f"qdrant:{server.address}"


@contextmanager
def postgres(_: Path) -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg")
    pytest.importorskip("pgvector")
    from peers.postgres import running

    with running() as place:
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield place


@contextmanager
def lancedb(folder: Path) -> Iterator[str]:
    pytest.importorskip("lancedb")
    yield f"lancedb:{folder}/films"


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    pytest.importorskip("chromadb")
    yield f"chroma:{folder}/films"


@contextmanager
def duckdb(folder: Path) -> Iterator[str]:
    pytest.importorskip("duckdb")
    yield f"duckdb:{folder}/films.duckdb"


STORES: dict[str, Callable[[Path], Any]] = {
    "qdrant": qdrant,
    "postgres": postgres,
    "lancedb": lancedb,
    "chroma": chroma,
    "duckdb": duckdb,
}
LIBRARIES = {
    "qdrant": ("qdrant-client", "collections"),
    "postgres": ("pgvector", "tables"),
    "lancedb": ("lancedb", "tables of vectors"),
    "chroma": ("chromadb", "tables of vectors"),
    "duckdb": ("duckdb", "tables of vectors"),
}
"""Libraries and models of the table of libraries."""
STATES_NONE = ("duckdb",)
"""Stores that state no metric without an index, which they build in memory only."""


def pair(store: str) -> Any:
    library, kind = LIBRARIES[store]
    mark = pytest.mark.holds("written", library=library, model=kind)
    return pytest.param(store, marks=mark)


@pytest.fixture(scope="module", params=[pair(store) for store in STORES])
def store(request: Any, tmp_path_factory: Any) -> Iterator[tuple[str, str]]:
    """Return the name of a store and its address."""
    folder = tmp_path_factory.mktemp(request.param)
    with STORES[request.param](folder) as place:
        yield request.param, place


@pytest.fixture
def table(store: tuple[str, str], request: Any) -> str:
    """Return the address of a table that is not there yet."""
    number = abs(hash(request.node.name)) % 10**8
    return f"{store[1]}/table{number}"


def rows_by_id(address: str, **options: Any) -> tuple[dict[str, Any], ea.FactorModel]:
    stored = load(address, **options)
    ids = np.arange(stored.n_right) if stored.right_ids is None else stored.right_ids
    return dict(zip(map(str, ids), stored.right, strict=True)), stored


@pytest.mark.parametrize("ids", IDS)
def test_every_number_is_read_back_by_its_id(
    store: tuple[str, str], table: str, ids: str
) -> None:
    made = model(IDS[ids])
    if ids == "none":
        # Unique titles would stand in for ids.
        made = made.replace(right_names=None)
    remedy = fix(made, unit=True)
    assert remedy.write(table) == table
    # Points of Qdrant take no texts as ids, so these lie in the payload.
    in_payload = store[0] == "qdrant" and ids == "texts"
    rows, stored = rows_by_id(table, **({"vector_id": "id"} if in_payload else {}))
    wanted = remedy.vectors()
    names = range(N) if IDS[ids] is None else IDS[ids]
    assert stored.n_right == N
    for name, row in zip(names, wanted, strict=True):
        np.testing.assert_allclose(rows[str(name)], row, rtol=0, atol=2e-7)
    if ids == "none":
        assert stored.right_names is None
        return
    titles = dict(zip(map(str, stored.right_ids), stored.right_names, strict=True))
    assert titles == dict(zip(map(str, names), TITLES, strict=True))


@pytest.mark.parametrize(("unit", "metric"), [(False, "cosine"), (True, "dot")])
def test_the_metric_is_the_one_that_fits_the_vectors(
    store: tuple[str, str], table: str, unit: bool, metric: str
) -> None:
    remedy = fix(model(), unit=unit)
    remedy.write(table)
    assert remedy.metric == metric
    stated = read(table).intake.metric.name
    if store[0] in STATES_NONE:
        assert stated == "not stated"
        words = "dot product" if unit else "cosine"
        assert f"states no metric: rank its rows by {words}" in remedy.lost_fields(
            table
        )
    else:
        assert stated == metric


def test_cosines_of_a_table_are_those_of_the_remedy(table: str) -> None:
    remedy = fix(model())
    remedy.write(table)
    rows, _ = rows_by_id(table)
    stored = np.array([rows[str(i)] for i in NUMBERS], dtype=np.float64)
    wanted = remedy.vectors()
    cosines = []
    for x in (stored, wanted):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosines.append(unit @ unit.T)
    np.testing.assert_allclose(*cosines, rtol=0, atol=1e-6)


def test_a_table_that_exists_is_replaced_only_by_force(
    table: str, embaudit: Any, tmp_path: Path
) -> None:
    ea.save(model(), tmp_path / "model.npz")
    command = ("fix", tmp_path / "model.npz", "--out", table)
    first = embaudit(*command)
    assert first.code == 0, first.err
    assert "read back and verified" in first.out
    again = embaudit(*command, "--as", "balanced", "--role", "right")
    assert again.code == 2
    assert "must be a table that does not exist yet" in " ".join(again.err.split())
    forced = embaudit(*command, "--as", "balanced", "--role", "right", "--force")
    assert forced.code == 0, forced.err
    rows, _ = rows_by_id(table)
    wanted = fix(model(), "balanced").vectors("right")[0]
    row = rows[str(NUMBERS[0])].astype(np.float64)
    cosine = row @ wanted / np.linalg.norm(row) / np.linalg.norm(wanted)
    assert cosine == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, InputError("it broke.")])
@pytest.mark.parametrize("force", [False, True])
def test_a_write_that_stops_leaves_nothing_and_the_old_table(
    store: tuple[str, str],
    table: str,
    monkeypatch: pytest.MonkeyPatch,
    stop: Any,
    force: bool,
) -> None:
    if force:
        fix(model(), unit=True).write(table)
        before, _ = rows_by_id(table)
    module = format_named(store[0]).tables.write.__module__
    monkeypatch.setattr("embaudit.io.stores.writing.BATCH_BYTES", 20 * 100)
    from embaudit.io.stores.writing import row_batches

    def broken(draft: Any) -> Iterator[Any]:
        yield next(row_batches(draft))
        raise stop

    monkeypatch.setattr("embaudit.io.stores.writing.row_batches", broken)
    monkeypatch.setattr(f"{module}.row_batches", broken, raising=False)
    kind = stop if isinstance(stop, type) else type(stop)
    with pytest.raises(kind):
        fix(model()).write(table, force=force)
    if force:
        after, _ = rows_by_id(table)
        assert before.keys() == after.keys()
        for name, row in before.items():
            np.testing.assert_array_equal(row, after[name])
    else:
        with pytest.raises(InputError, match=r"must be a (table|store with a table)"):
            read(table)


@pytest.mark.parametrize(
    ("package", "prefix"), [("lancedb", "lancedb"), ("chromadb", "chroma")]
)
def test_a_name_that_the_client_does_not_allow_leaves_no_folder(
    package: str, prefix: str, tmp_path: Path
) -> None:
    pytest.importorskip(package)
    folder = tmp_path / "store"
    with pytest.raises(InputError, match="cannot be written"):
        fix(model()).write(f"{prefix}:{folder}/bad name!")
    assert not folder.exists()
    # The same process can write to this folder afterwards.
    fix(model()).write(f"{prefix}:{folder}/films")
    assert load(f"{prefix}:{folder}/films").n_right == N


def test_models_that_a_table_cannot_hold(table: str) -> None:
    with pytest.raises(InputError, match="must be the vectors of one side"):
        fix(model(), "balanced").write(table)
    head = ea.FactorModel.from_softmax(ITEMS)
    with pytest.raises(InputError, match="can record the softmax link"):
        fix(head, "centred").write(table)
    with pytest.raises(InputError, match=r"must be a (table|store with a table)"):
        read(table)


def test_what_a_table_cannot_say_is_said(store: tuple[str, str], table: str) -> None:
    remedy = fix(model())
    assert "audit it with objective='prediction'" in remedy.lost_fields(table)
    rows = ea.FactorModel.from_vectors(ITEMS, ids=NUMBERS, compared="dot")
    remedy = fix(rows)
    assert remedy.metric == "dot"
    assert "audit it with compared='dot'" in remedy.lost_fields(table)
    remedy.write(table)
    stated = read(table).intake.metric.name
    assert stated == ("not stated" if store[0] in STATES_NONE else "dot")


def test_a_model_is_saved_with_the_metric_that_is_named(table: str) -> None:
    rows = ea.FactorModel.from_vectors(ITEMS.astype(np.float32), ids=NUMBERS)
    with pytest.raises(InputError, match="must be vectors with a known metric"):
        ea.save(rows, table)
    with pytest.raises(InputError, match="metric must be one of cosine, dot; got 'l3'"):
        ea.save(rows, table, metric="l3")
    ea.save(rows, table, metric="dot")
    stored, _ = rows_by_id(table)
    for name, row in zip(NUMBERS, ITEMS.astype(np.float32), strict=True):
        np.testing.assert_array_equal(stored[str(name)], row)
