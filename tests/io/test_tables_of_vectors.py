"""Vectors in tables: lists in a cell, streams and views of text, columns of biases, and interactions in their place."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from embaudit.errors import InputError
from embaudit.io import load, look
from embaudit.io.codecs.lists import is_list

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32)
IDS = [f"item {i}" for i in range(9)]
BIAS = np.arange(9) / 4

WRITTEN: dict[str, Callable[[Any], str]] = {
    "JSON": lambda row: json.dumps(row.tolist()),
    "pgvector": lambda row: "[" + ",".join(map(str, row.tolist())) + "]",
    "Postgres": lambda row: "{" + ",".join(map(str, row.tolist())) + "}",
    "numpy": lambda row: np.array2string(row, max_line_width=20, precision=9),
    "repr": lambda row: f"array({row.tolist()})",
    "spaces": lambda row: " ".join(map(str, row.tolist())),
    "tuple": lambda row: str(tuple(row.tolist())),
    "semicolons": lambda row: "; ".join(map(str, row.tolist())),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(("suffix", "sep"), [(".csv", ","), (".tsv", "\t")])
def test_lists_in_a_column_of_text(tmp_path: Path, written: str, suffix: str, sep: str) -> None:
    cells = [WRITTEN[written](row) for row in X]
    path = tmp_path / f"v{suffix}"
    pd.DataFrame({"id": IDS, "year": range(9), "embedding": cells}).to_csv(path, index=False, sep=sep)
    model = load(path)
    np.testing.assert_allclose(model.right, X, rtol=1e-7)
    assert model.right_ids is not None
    assert model.right_ids.tolist() == IDS
    assert look(path).explain() == (
        f"Read as {'csv' if suffix == '.csv' else 'table'}: column embedding (? × ?) as right factors, id (?) as right "
        "ids. Left over: year (?)."
    )


def test_lists_before_their_names(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    frame = pd.DataFrame({"vector": [json.dumps(row.tolist()) for row in X], "asin": IDS})
    frame.to_csv(path, index=False)
    model = load(path)
    assert (model.names("right")[0], model.right.shape) == ("item 0", (9, 4))
    frame.rename(columns={"asin": "what"}).to_csv(path, index=False)
    assert load(path).right_ids is None
    assert load(path, id="what").names("right")[8] == "item 8"


def test_a_list_longer_than_the_csv_module_takes(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 16384))
    path = tmp_path / "v.csv"
    pd.DataFrame({"id": list("abc"), "v": [json.dumps(row.tolist()) for row in rows]}).to_csv(path, index=False)
    np.testing.assert_array_equal(load(path).right, rows)


def test_one_of_two_lists_has_to_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text('id,a,b\nx,"[1,2]","[3,4]"\ny,"[5,6]","[7,8]"\nz,"[0,6]","[0,8]"\n')
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value) == (
        f"the vectors of {path} must be in one column; got a and b; keep one, or choose it with vector."
    )
    np.testing.assert_array_equal(load(path, vector="b").right, [[3, 4], [7, 8], [0, 8]])
    with pytest.raises(InputError) as refused:
        load(path, vector="id")
    assert str(refused.value) == (
        f"{path}: vector must be a column of lists; got 'id'; or name columns of numbers, FIRST:LAST."
    )


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ('"[1,2,3]"', "column v of PATH must be vectors of 2 numbers, as the first is; got 3 in row 3."),
        ("", "column v of PATH must be a vector in every row; got none in row 3; drop that row."),
        ('"[1,x]"', "column v of PATH must be lists of numbers; got '[1,x]' in row 3; repair that row."),
        ("[1 ... 2]", "column v of PATH must be lists of numbers; got '[1 ... 2]' in row 3; numpy printed it "
         "shortened: write it with .tolist()."),
        ('"[1,inf]"', "PATH: item factors must be finite; got inf at row 3, column 1; repair or drop that row."),
    ],
)  # fmt: skip
def test_a_cell_that_is_no_list(tmp_path: Path, cell: str, sentence: str) -> None:
    path = tmp_path / "v.csv"
    path.write_text(f'id,v\na,"[1,2]"\nb,"[3,4]"\nc,"[5,6]"\nd,{cell}\n')
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value) == sentence.replace("PATH", str(path))


def test_titles_in_brackets_are_no_lists() -> None:
    assert [
        cell for cell in ("(500) Days of Summer (2009)", "[REC]", "300", "(1984) x", "[]", "1-2") if is_list(cell)
    ] == []
    assert all(is_list(cell) for cell in ("[1]", "(1.5e-3,nan)", " [ 1.\n 2.] ", "array([1, inf])", "1;2", "-1 .5"))


# Arrow


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


@pytest.mark.parametrize("suffix", [".feather", ".parquet", ".arrows"])
def test_views_of_text(tmp_path: Path, suffix: str) -> None:
    views = pa.array(IDS, pa.string_view())
    table = pa.table({"id": views, "title": pa.array(IDS[::-1], pa.string_view()), "v": X.tolist()})
    path = tmp_path / f"v{suffix}"
    if suffix == ".arrows":
        with ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        try:
            parquet.write_table(table, path)
        except pa.ArrowNotImplementedError:
            pytest.skip("this Arrow reads views in Parquet and does not write them")
    model = load(path)
    assert model.right_ids is not None
    assert (model.right_ids.tolist(), model.names("right").tolist()) == (IDS, IDS[::-1])
    np.testing.assert_array_equal(model.right, X)


def test_titles_of_large_strings_are_titles(tmp_path: Path) -> None:
    titles = pa.array(IDS[::-1], pa.large_string())
    parquet.write_table(pa.table({"id": IDS, "title": titles, "v": X.tolist()}), tmp_path / "v.parquet")
    assert load(tmp_path / "v.parquet").names("right").tolist() == IDS[::-1]


# Biases


def with_bias(folder: Path, suffix: str, name: str, *, lists: bool) -> Path:
    path = folder / f"v{suffix}"
    frame = (
        pd.DataFrame({"id": IDS, "embedding": [row.tolist() for row in X]})
        if lists
        else pd.DataFrame(X).add_prefix("d")
    )
    frame[name] = BIAS
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("name", ["bias", "item_bias", "Intercept"])
def test_a_bias_among_columns_stops_the_read_until_it_is_settled(
    tmp_path: Path, suffix: str, lists: bool, name: str
) -> None:
    path = with_bias(tmp_path, suffix, name, lists=lists)
    for reading in (load, look):
        with pytest.raises(InputError) as refused:
            reading(path)
        assert str(refused.value) == (
            f"every column of {path} that could matter must be named or left out; got {name}, which is called a bias; "
            f"name it with bias='{name}', or leave it out with ignore='{name}'."
        )
    biased = load(path, bias=name)
    np.testing.assert_array_equal(biased.right_bias, BIAS)
    np.testing.assert_allclose(biased.right, X, rtol=1e-6)
    assert biased.link == "identity"
    assert load(path, ignore=name).right_bias is None
    assert load(path, ignore=name).right.shape == (9, 4)
    head = load(path, bias=name, kind="head")
    assert (head.link, head.roles) == ("softmax", ("input", "label"))
    np.testing.assert_array_equal(head.right_bias, BIAS)
    assert [part.became for part in look(path, bias=name).parts if part.name == name] == ["right_bias"]


@pytest.mark.parametrize("lists", [True, False])
def test_vectors_asked_for_need_no_bias_but_it_is_no_dimension(tmp_path: Path, lists: bool) -> None:
    path = with_bias(tmp_path, ".parquet", "bias", lists=lists)
    if lists:
        assert load(path, kind="vectors").right.shape == (9, 4)
        return
    with pytest.raises(InputError, match="got bias, which is called a bias"):
        load(path, kind="vectors")


def test_a_bias_is_a_column_of_its_own(tmp_path: Path) -> None:
    path = with_bias(tmp_path, ".parquet", "bias", lists=True)
    with pytest.raises(InputError) as refused:
        load(path, bias="id")
    assert str(refused.value) == (
        f"{path}: bias must be a column of its own; got 'id'; choose another of id, embedding, bias."
    )
    for name in ("b", "bi", "bu", "year"):
        assert load(with_bias(tmp_path, ".parquet", name, lists=True)).right_bias is None
        assert load(with_bias(tmp_path, ".parquet", name, lists=False)).right.shape == (9, 4)


# Interactions


@pytest.mark.parametrize(
    "header", ["userId,movieId,rating,timestamp", "user_id,item_id", "uid,iid,score,when,where,why"]
)
def test_ratings_are_to_be_factorized_first(tmp_path: Path, header: str) -> None:
    path = tmp_path / "ratings.csv"
    width = header.count(",") + 1
    path.write_text(header + "\n" + "".join(",".join(map(str, range(i, i + width))) + "\n" for i in range(5)))
    with pytest.raises(InputError) as refused:
        load(path)
    assert str(refused.value) == (
        f"{path} must be a table of vectors, one a row; got interactions ({header.replace(',', ', ')}); factorize them "
        f"first: `embaudit fit {path} --objective product`."
    )


# Many rows


def test_rows_shorter_than_those_at_the_beginning(tmp_path: Path) -> None:
    rows = np.concatenate([np.random.default_rng(1).normal(size=(1000, 3)), np.ones((9000, 3))])
    lines = [f"i{i},{','.join(f'{x:.17g}' for x in row)}\n" for i, row in enumerate(rows)]
    path = tmp_path / "v.csv"
    path.write_text("id,e1,e2,e3\n" + "".join(lines))
    model = load(path)
    np.testing.assert_array_equal(model.right, rows)
    assert model.names("right")[9999] == "i9999"
    with gzip.open(tmp_path / "w.csv.gz", "wb") as file:
        file.write(path.read_bytes())
    np.testing.assert_array_equal(load(tmp_path / "w.csv.gz").right, rows)
    for cell, got in (("", "an empty cell"), ("nan", "nan"), ("-inf", "-inf")):
        path.write_text("id,e1,e2,e3\n" + "".join(lines) + f"x,1,{cell},2\n")
        with pytest.raises(InputError) as refused:
            load(path)
        assert str(refused.value) == (
            f"column e2 of {path} must be finite numbers; got {got} in line 10002; drop that row."
        )
    path.write_text("id,e1,e2,e3\n" + "".join(lines) + "x,1,2,y\n")
    with pytest.raises(InputError, match="must be numbers; got 'y' in line 10002"):
        load(path)


def test_rows_of_parquet_in_several_groups(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    for vectors in (X.tolist(), pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), 4)):
        parquet.write_table(pa.table({"title": IDS, "v": vectors, "year": range(9)}), path, row_group_size=2)
        model = load(path)
        np.testing.assert_array_equal(model.right, X)
        assert model.names("right")[8] == "item 8"
    for wrong, sentence in ((None, "a vector in every row; got none in row 5; drop that row."),
                            ([1.0], "vectors of 4 numbers, as the first is; got 1 in row 5.")):  # fmt: skip
        rows = [*X.tolist()[:5], wrong, *X.tolist()[6:]]
        parquet.write_table(pa.table({"v": rows, "id": IDS}), path, row_group_size=2)
        with pytest.raises(InputError) as refused:
            load(path)
        assert str(refused.value) == f"column v of {path} must be {sentence}"
