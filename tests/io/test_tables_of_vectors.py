"""Vectors in tables: lists in a cell, streams and views of text, columns of biases, and
interactions passed by mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from embaudit.errors import InputError
from embaudit.io import inspect, load, read

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32)
IDS = [f"item {i}" for i in range(9)]
BIAS = np.arange(9) / 4


def test_one_of_two_lists_has_to_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text('id,a,b\nx,"[1,2]","[3,4]"\ny,"[5,6]","[7,8]"\nz,"[0,6]","[0,8]"\n')
    with pytest.raises(
        InputError,
        match="must be in one column; got a and b; keep one, or choose it with vector",
    ):
        load(path)
    np.testing.assert_array_equal(
        load(path, vector="b").right, [[3, 4], [7, 8], [0, 8]]
    )
    with pytest.raises(
        InputError,
        match="a column of lists; got 'id'; name such a column, or columns of "
        "numbers as FIRST:LAST",
    ):
        load(path, vector="id")


# Arrow


def test_titles_and_counts_that_some_rows_lack_are_left_over(tmp_path: Path) -> None:
    titles = [*IDS[:8], None]
    table = pa.table(
        {"id": IDS, "title": titles, "interactions": [None, *range(8)], "v": [*X]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    reading = read(tmp_path / "a.parquet")
    assert reading.model.right_names is None
    assert reading.model.right_side.counts is None
    assert [part.became for part in reading.intake.parts] == ["right", "right_ids"]
    assert [part.name for part in reading.intake.left_over] == [
        "title, which some rows lack",
        "interactions, which some rows lack",
    ]


@pytest.mark.parametrize("suffix", [".arrows", ".arrow", ".ipc"])
def test_arrow_streams(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"id": IDS, "embedding": X.tolist(), "year": range(9)})
    path = tmp_path / f"v{suffix}"
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    model = load(path)
    np.testing.assert_array_equal(model.right, X)
    assert model.names("right")[8] == "item 8"
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) - 8, len(whole) // 2, 3):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=rf"must be a readable {suffix} table"):
            load(path)


# Biases

BIASES = [
    "bias",
    "biases",
    "Intercept",
    "user_intercept",
    "item_intercept",
    "user_bias",
    "item_bias",
    "i_biases",
    "left_bias",
    "right_bias",
]


def with_bias(folder: Path, suffix: str, name: str, *, lists: bool) -> Path:
    path = folder / f"v{suffix}"
    frame = (
        pd.DataFrame({"id": IDS, "embedding": X.tolist()})
        if lists
        else pd.DataFrame(X).add_prefix("d")
    )
    frame[name] = BIAS
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(
        path, index=False
    )
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("name", BIASES)
def test_a_bias_among_columns_stops_the_read_until_it_is_settled(
    tmp_path: Path, suffix: str, lists: bool, name: str
) -> None:
    path = with_bias(tmp_path, suffix, name, lists=lists)
    for reading in (load, inspect):
        with pytest.raises(
            InputError,
            match=f"got {name}, which has the name of a bias; name it with "
            f"bias='{name}', or",
        ):
            reading(path)
    biased = load(path, bias=name)
    np.testing.assert_array_equal(biased.right_bias, BIAS)
    np.testing.assert_allclose(biased.right, X, rtol=1e-6)
    assert biased.link.name == "identity"
    assert load(path, ignore=name).right_bias is None
    assert load(path, ignore=name).right.shape == (9, 4)
    head = load(path, bias=name, kind="head")
    assert (head.link.name, head.roles) == ("softmax", ("input", "label"))
    np.testing.assert_array_equal(head.right_bias, BIAS)
    assert [
        part.became for part in inspect(path, bias=name).parts if part.name == name
    ] == ["right_bias"]


# Interactions


@pytest.mark.parametrize(
    "header",
    [
        "userId,movieId,rating,timestamp",
        "user_id,item_id",
        "uid,iid,score,when,where,why",
    ],
)
def test_ratings_are_to_be_factorized_first(tmp_path: Path, header: str) -> None:
    path = tmp_path / "ratings.csv"
    columns = header.split(",")
    pd.DataFrame(
        {name: np.arange(5) + place for place, name in enumerate(columns)}
    ).to_csv(path, index=False)
    message = f"got interactions .{', '.join(columns)}.; factorize them first: `emb"
    with pytest.raises(InputError, match=message):
        load(path)


@pytest.mark.parametrize(
    "text", ["1.5,2.5\n", "1.5,2.5,\n", "id,e0,e1,\na,1.5,2.5,\n", '"1.5","2.5"\n']
)
def test_a_table_of_one_row_may_have_neither_header_nor_an_end_without_separator(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert load(tmp_path / "a.csv").right[:].tolist() == [[1.5, 2.5]]


# Records that hold vectors, or parts of them

RECORDS = {
    "lists of records": [
        [{"i": j, "v": float(x)} for j, x in enumerate(row)] for row in X
    ],
    # Dense vectors of Spark ML.
    "records": [
        {"type": 1, "size": None, "indices": None, "values": row.tolist()} for row in X
    ],
}


@pytest.mark.parametrize("kind", RECORDS)
def test_the_line_for_records_takes_the_vectors_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": IDS, "vec": RECORDS[kind]}), "v.parquet")
    with pytest.raises(InputError, match=f"got {kind} in the column vec") as refused:
        load("v.parquet")
    exec(str(refused.value).partition("in Python: ")[2].removesuffix("."), {})
    model = load("vectors.parquet")
    np.testing.assert_array_equal(model.right, X)
    assert model.right_ids.tolist() == IDS
