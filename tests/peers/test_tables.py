"""Tables of pyarrow, polars, DuckDB and pandas, and our tables read by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from embaudit import FactorModel
from embaudit.io import load, save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
IDS = [f"film {i}" for i in np.random.default_rng(1).permutation(100)[:40]]
FRAME = pd.DataFrame({"id": IDS, "vector": [row.tolist() for row in X]})


def of_polars(folder: Path) -> list[Path]:
    polars = pytest.importorskip("polars")
    lists = polars.DataFrame({"id": IDS, "vector": X.tolist()}).with_columns(
        polars.col("vector").cast(polars.List(polars.Float32))
    )
    arrays = lists.with_columns(
        polars.col("vector").cast(polars.Array(polars.Float32, 5))
    )
    lists.write_parquet(folder / "lists.parquet")
    arrays.write_parquet(folder / "arrays.parquet")
    lists.write_ipc(folder / "lists.arrow")
    arrays.write_ipc(folder / "newest.arrow", compat_level=polars.CompatLevel.newest())
    lists.write_ipc_stream(folder / "stream.arrows")
    lists.write_ndjson(folder / "rows.jsonl")
    return sorted(folder.iterdir())


def of_duckdb(folder: Path) -> list[Path]:
    duckdb = pytest.importorskip("duckdb")
    frame = FRAME  # noqa: F841 - asked for by its name
    with duckdb.connect() as base:
        base.execute(
            "create table films as select id, vector::float[] as vector from frame"
        )
        base.execute(
            "create table fixed as select id, vector::float[5] as vector from films"
        )
        base.execute(f"copy films to '{folder / 'lists.parquet'}'")
        base.execute(f"copy fixed to '{folder / 'arrays.parquet'}'")
        base.execute(f"copy films to '{folder / 'lists.csv'}'")
        base.execute(f"copy films to '{folder / 'rows.json'}' (array true)")
        base.execute(f"copy films to '{folder / 'rows.jsonl'}' (format json)")
    return sorted(folder.iterdir())


def of_pyarrow(folder: Path) -> list[Path]:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table(
        {"id": IDS, "vector": pa.array(list(X), pa.list_(pa.float32(), 5))}
    )
    parquet.write_table(table, folder / "fixed.parquet")
    feather.write_feather(table, folder / "fixed.feather")
    views = table.set_column(0, "id", pa.array(IDS, pa.string_view()))
    with pa.ipc.new_stream(folder / "views.arrows", views.schema) as file:
        file.write_table(views)
    return sorted(folder.iterdir())


def of_pandas(folder: Path) -> list[Path]:
    FRAME.to_parquet(folder / "lists.parquet")
    FRAME.to_csv(folder / "lists.csv", index=False)
    FRAME.to_json(folder / "rows.json", orient="records")
    wide = pd.DataFrame(
        X, index=pd.Index(IDS, name="film"), columns=[f"d{i}" for i in range(5)]
    )
    wide.to_csv(folder / "wide.csv")
    wide.to_parquet(folder / "wide.parquet")
    return sorted(folder.iterdir())


WRITERS: dict[str, Callable[[Path], list[Path]]] = {
    "polars": of_polars,
    "duckdb": of_duckdb,
    "pyarrow": of_pyarrow,
    "pandas": of_pandas,
}


def each(column: str) -> Any:
    marked = [
        pytest.param(n, marks=pytest.mark.holds(column, library=n, model="tables"))
        for n in WRITERS
    ]
    return pytest.mark.parametrize("name", marked)


@each("file")
def test_tables_of_others(name: str, tmp_path: Path) -> None:
    for path in WRITERS[name](tmp_path):
        model = load(path)
        assert model.right_ids is not None, path
        assert model.right_ids.tolist() == IDS, path
        np.testing.assert_allclose(model.right, X, rtol=0, atol=1e-6, err_msg=str(path))


@each("written")
def test_tables_of_ours(name: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.parquet"
    save(FactorModel.from_vectors(X, ids=IDS), path)
    if name == "polars":
        read = pytest.importorskip("polars").read_parquet(path).to_pandas()
    elif name == "duckdb":
        read = pytest.importorskip("duckdb").sql(f"select * from '{path}'").df()
    elif name == "pyarrow":
        from pyarrow import parquet

        read = parquet.read_table(path).to_pandas()
    else:
        read = pd.read_parquet(path)
    assert read.iloc[:, 0].tolist() == IDS
    np.testing.assert_array_equal(np.stack(read.iloc[:, 1]), X)
