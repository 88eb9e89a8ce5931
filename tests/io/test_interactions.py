"""Interactions: all customary tables give one matrix, and an error names its line."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from example_files import refusal, table, write_all
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from embaudit.errors import InputError
from embaudit.io import load, read_interactions, read_titles

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [(7, 30, 4.0), (7, 10, 1.5), (8, 10, 5.0), (9, 20, 0.5), (9, 30, 3.0)]
DENSE = np.array([[1.5, 0, 4], [5, 0, 0], [0, 0.5, 3]])


def lines(separator: str, header: str = "") -> str:
    rows = [separator.join(map(str, row)) for row in ROWS]
    return "\n".join(([header.replace(",", separator)] if header else []) + rows) + "\n"


def expect(path: Path, **options: Any) -> None:
    found = read_interactions(path, **options)
    np.testing.assert_array_equal(found.matrix.toarray(), DENSE)
    assert found.user_ids.tolist() == [7, 8, 9]
    assert found.item_ids.tolist() == [10, 20, 30]
    assert found.user_ids.dtype.kind == "i"
    assert (found.n_rows_read, found.n_duplicates, found.n_dropped) == (5, 0, 0)
    assert found.matrix.dtype == np.float64
    assert found.matrix.has_canonical_format


@pytest.mark.parametrize("separator", ["::", "\t", ",", ";", "|", " "])
@pytest.mark.parametrize(
    "header", ["", "user_id,item_id,rating", "UserID,MovieID,Rating", "uid,iid,weight"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_customary_tables_are_read_without_options(
    tmp_path: Path, separator: str, header: str, packed: bool
) -> None:
    text = lines(separator, header).encode()
    path = tmp_path / ("ratings.dat.gz" if packed else "ratings.dat")
    path.write_bytes(gzip.compress(text) if packed else text)
    expect(path)


def test_columns_by_name_and_by_position(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "x,score of it,who,what\n" + "\n".join(f"0,{r},{u},{i}" for u, i, r in ROWS)
    )
    expect(path, user="who", item="what", rating="score of it")
    expect(path, user=2, item="3", rating="1")
    with pytest.raises(InputError, match="x, score of it, who, what"):
        read_interactions(path, user="whom", item="what")
    with pytest.raises(InputError, match=r"choose it with user"):
        read_interactions(path)
    with pytest.raises(InputError, match="different ones"):
        read_interactions(path, user="who", item="who")


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 5)),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from(["sum", "mean", "last", "max"]),
    st.none() | st.integers(1, 6),
    st.booleans(),
)
def test_agrees_with_pandas(
    tmp_path_factory: Any, rows: Any, duplicates: Any, threshold: Any, binarise: bool
) -> None:
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    path = tmp_path_factory.mktemp("t") / "a.csv"
    frame.to_csv(path, index=False)
    merged = frame.groupby(["user", "item"])["rating"].agg(duplicates).astype(float)
    kept = merged[(merged != 0) & (merged >= (threshold or -np.inf))]
    expected = kept.unstack(fill_value=0.0).sort_index().sort_index(axis=1)  # noqa: PD010
    options = {"duplicates": duplicates, "threshold": threshold, "binarise": binarise}
    if min(expected.shape, default=0) < 2:
        with pytest.raises(InputError, match="at least 2"):
            read_interactions(path, **options)
        return
    found = read_interactions(path, **options)
    dense = expected.to_numpy()
    np.testing.assert_allclose(
        found.matrix.toarray(), (dense > 0) if binarise else dense
    )
    assert found.user_ids.tolist() == expected.index.tolist()
    assert found.item_ids.tolist() == expected.columns.tolist()
    assert (
        found.n_rows_read - found.n_duplicates - found.n_dropped
        == found.matrix.nnz
        == len(kept)
    )


@pytest.mark.parametrize(
    ("name", "cells", "needs"),
    [
        ("rating", [2**60 + 1, 3], "numbers"),
        ("movieId", [1.5, 2], "integers or text"),
        ("title", [[1], [2]], "text"),
    ],
)
def test_cells_that_do_not_convert(
    tmp_path: Path, name: str, cells: Any, needs: str
) -> None:
    columns = {
        "userId": [1, 2],
        "movieId": [1, 2],
        "rating": [1, 2],
        "title": ["a", "b"],
        name: cells,
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=rf"column {name} of .* must be {needs}; got"):
        (read_titles if name == "title" else read_interactions)(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("rows", "line"),
    [('1\t"Heroes" and "Low"\n', 3), (1100 * "1\tRan\n" + '2\t"two\nlines"\n', 1104)],
)
def test_lines_are_counted_whatever_quotes_mean(
    tmp_path: Path, rows: str, line: int
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"id\ttitle\n{rows}\tUp\n")
    with pytest.raises(
        InputError, match=rf"an id in every row; got no id in line {line};"
    ):
        read_titles(path)


CELLS = st.sampled_from(
    [
        "1",
        "2",
        "a",
        "",
        '"',
        '"x',
        "1.5",
        "nan",
        "é",
        "-",
        " ",
        "userId",
        "itemId",
        "rating",
        "1e400",
    ]
)
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=6)


@settings(max_examples=120)
@given(
    st.binary(max_size=60) | st.tuples(TABLES, st.sampled_from([",", "::", "\t", "|"])),
    st.sampled_from(["csv", "txt", "dat.gz", "parquet"]),
)
def test_any_content_is_read_or_refused_with_the_name_of_the_file(
    tmp_path_factory: Any, content: Any, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("t") / f"a.{suffix}"
    if isinstance(content, tuple):
        rows, separator = content
        content = "\n".join(separator.join(row) for row in rows).encode()
    path.write_bytes(gzip.compress(content) if suffix == "dat.gz" else content)
    for reader in (
        lambda p: read_interactions(p, duplicates="sum").matrix.data,
        lambda p: read_titles(p)[1],
        lambda p: load(p).right,
    ):
        try:
            assert len(reader(path)) > 0
        except InputError as error:
            assert "a." + suffix in str(error) or "columns" in str(error)  # noqa: PT017


HEAD = "userId,movieId,rating\n"
REPEATED = HEAD + "7,10,4\n7,10,3\n8,20,5\n7,20,1\n7,10,8\n"
"""User 7 rates item 10 three times: 4, 3, 8."""


@pytest.mark.parametrize(
    ("duplicates", "merged"), [("sum", 15), ("mean", 5), ("last", 8), ("max", 8)]
)
def test_repeated_pairs_are_merged_as_asked(
    tmp_path: Path, duplicates: Any, merged: float
) -> None:
    path = write_all(tmp_path, {"r.csv": REPEATED})
    found = read_interactions(path, duplicates=duplicates)
    assert found.matrix.toarray().tolist() == [[merged, 1], [0, 5]]
    assert (found.n_rows_read, found.n_duplicates, found.n_dropped) == (5, 2, 0)


@pytest.mark.parametrize(
    ("options", "matrix", "n_dropped"),
    [
        # A rating of 0 is no interaction.
        ({}, [[4, 0], [2, 5]], 1),
        # The threshold itself is kept.
        ({"threshold": 4}, [[4, 0], [0, 5]], 2),
        ({"threshold": 4, "binarise": True}, [[1, 0], [0, 1]], 2),
        # Without ratings, each row is an interaction.
        ({"rating": "none"}, [[1, 1], [1, 1]], 0),
    ],
)
def test_ratings_that_are_no_interaction_are_dropped_and_counted(
    tmp_path: Path, options: Any, matrix: Any, n_dropped: int
) -> None:
    path = write_all(tmp_path, {"r.csv": HEAD + "7,10,4\n7,20,0\n8,20,5\n8,10,2\n"})
    found = read_interactions(path, **options)
    assert found.matrix.toarray().tolist() == matrix
    assert found.n_dropped == n_dropped


def test_interactions_name_their_columns_and_count_their_rows(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"r.csv": HEAD + "7,10,4\n7,20,3\n8,20,5\n9,20,1\n"})
    found = read_interactions(path)
    assert found.columns == ("userId", "movieId", "rating")
    assert found.counts("left").tolist() == [2, 1, 1]
    assert found.counts("right").tolist() == [1, 3]
    assert repr(found) == "Interactions(3 users × 2 items, 4 interactions)"


def test_ids_of_interactions_may_be_text(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"r.csv": 'userId,movieId\na,10\n"b",20\nb,10\n'})
    found = read_interactions(path)
    assert found.user_ids.tolist() == ["a", "b"]
    assert found.matrix.toarray().tolist() == [[1, 0], [1, 1]]


def test_interactions_in_parquet(tmp_path: Path) -> None:
    columns = {"user": [1, 2, 2], "item": ["a", "a", "b"], "count": [1, 2, 3]}
    path = write_all(tmp_path, {"r.parquet": table(columns)})
    found = read_interactions(path)
    assert found.matrix.toarray().tolist() == [[1, 0], [2, 3]]
    assert found.item_ids.tolist() == ["a", "b"]


def test_times_in_the_third_column_are_ratings_only_if_asked(tmp_path: Path) -> None:
    """Without a header, numbers as large as seconds since 1970 are no ratings."""
    text = "7\t10\t881250949\n7\t20\t881250950\n8\t10\t881250951\n"
    path = write_all(tmp_path, {"r.tsv": text})
    sentence = refusal(read_interactions, path)
    assert "choose rating='none' if these are times, rating=2 if" in sentence
    pairs = read_interactions(path, rating="none")
    assert pairs.matrix.toarray().tolist() == [[1, 1], [1, 0]]
    rated = read_interactions(path, rating=2)
    assert rated.matrix.toarray().max() == 881250951


def numbers(**columns: Any) -> Any:
    valid = {"user": [1, 2, 2], "item": ["a", "a", "b"], "count": [1, 2, 3]}
    return table({**valid, **columns})


@pytest.mark.parametrize(
    ("name", "content", "options", "part"),
    [
        ("r.csv", REPEATED, {}, "got user 7 and item 10 again in row 2"),
        ("r.csv", REPEATED, {}, "merge them with duplicates='sum'"),
        ("r.csv", REPEATED, {"duplicates": "min"}, "one of error, sum, mean, last"),
        ("r.csv", REPEATED, {"threshold": np.nan}, "threshold must be a finite number"),
        (
            "r.csv",
            HEAD + "1,2,3\n2,3,4\n",
            {"threshold": 9},
            "got 0; lower the threshold",
        ),
        ("r.csv", REPEATED, {"header": "no"}, 'header must be "auto", True or False'),
        ("r.csv", REPEATED, {"sep": "ab"}, 'sep must be one character or "::"'),
        ("r.csv", REPEATED, {"user": 0.0}, "one of userId, movieId, rating"),
        ("r.csv", REPEATED, {"user": "movieId"}, "must be different ones"),
        ("r.txt", "7 1 4\n8 2 5\n", {"header": True}, "choose it with user"),
        ("r.csv", "", {}, "an empty file"),
        ("r.csv", HEAD, {}, "got only a header"),
        ("r.csv", HEAD + "1,2,3\n1,3,3\n", {}, "at least 2 users; got 1"),
        ("r.csv", HEAD + "1,2,3\n2,2,3\n", {}, "at least 2 items; got 1"),
        ("r.csv", HEAD + "1,2,3\n2,3,good\n", {}, "numbers; got 'good' in line 3"),
        ("r.csv", HEAD + "1,2,3\n2,3,\n", {}, "got an empty cell in line 3"),
        ("r.csv", HEAD + "1,2,3\n\n2,3,nan\n", {}, "finite numbers; got nan in line 4"),
        ("r.csv", HEAD + "1,2,3\n2,3,-inf\n", {}, "got -inf in line 3"),
        ("r.csv", HEAD + "1,2,3\n,3,1\n", {}, "column userId of"),
        ("r.csv", HEAD + "1,2,3\n,3,1\n", {}, "got no id in line 3; drop that row"),
        (
            "r.csv",
            HEAD + "1,2,3\n2,3\n",
            {},
            "3 columns in every line; got 2 in line 3",
        ),
        ("r.csv", "userId,movieId,itemId\n1,2,3\n", {}, "got movieId and itemId"),
        ("r.csv", "userId,rating\n1,2\n2,1\n", {}, "choose it with item"),
        ("r.csv", "a,b,c\n1,2,3\n", {}, "choose it with user"),
        ("r.csv", "onecolumn\n", {}, "the same number of columns in every line"),
        ("r.csv", "userId,itemId,x,x\n1,2,3,4\n", {}, "'x' more than once; rename"),
        ("r.parquet", numbers(user=[1, 2, None]), {}, "got no id in row 2"),
        ("r.parquet", numbers(user=[1.5, 2, 2]), {}, "must be integers or text"),
        ("r.parquet", numbers(user=[[1], [2], [2]]), {}, "must be integers or text"),
        ("r.parquet", numbers(count=[1, None, 3]), {}, "got an empty cell in row 1"),
        ("r.parquet", numbers(count=list("123")), {}, "must be numbers; got string"),
        (
            "r.parquet",
            numbers(
                user=pa.array([], "int64"),
                item=pa.array([], "int64"),
                count=pa.array([], "int64"),
            ),
            {},
            "a table with rows",
        ),
    ],
)
def test_read_interactions_refuses(
    tmp_path: Path, name: str, content: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(read_interactions, path, **options)


# Sparse matrices


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("is_array", [False, True])
def test_a_sparse_matrix_of_scipy_is_read_by_row_and_column(
    tmp_path: Path, kind: str, is_array: bool
) -> None:
    constructor = sparse.coo_array if is_array else sparse.coo_matrix
    path = tmp_path / "m.npz"
    # Only 2-dimensional arrays of other formats name their rows.
    kind = "csr" if is_array else kind
    sparse.save_npz(path, constructor(np.pad(DENSE, (2, 1))).asformat(kind))
    found = read_interactions(path)
    np.testing.assert_array_equal(found.matrix.toarray(), DENSE)
    assert found.user_ids.tolist() == [2, 3, 4]
    assert found.item_ids.tolist() == [2, 3, 4]
    assert found.columns == ("user", "item", "rating")


def test_a_sparse_matrix_is_no_model_and_the_command_of_the_refusal_works(
    tmp_path: Path, embaudit: Any
) -> None:
    path = tmp_path / "m.npz"
    sparse.save_npz(path, sparse.random(30, 40, 0.3, format="csr", random_state=0))
    sentence = refusal(load, path)
    assert "it is a sparse matrix; if it holds interactions of users (rows)" in sentence
    command = re.search("`embaudit (fit .*)`", sentence)[1]
    exec(sentence.partition(" in Python: ")[2].removesuffix("."), {})
    assert load("vectors.npy").right.shape == (30, 40)
    done = embaudit(*command.split(), "--n-components", 4, "--out", "fitted.npz")
    assert done.code == 0
    assert load("fitted.npz").right.shape == (40, 4)


@pytest.mark.parametrize(
    ("arrays", "part"),
    [
        ({"format": "bsr"}, "in CSR, CSC or COO; got the format bsr; save it with"),
        ({"indices": [0, 9]}, "must be a valid sparse matrix; it cannot"),
        ({"indptr": [0, 3]}, "must be a valid sparse matrix; it cannot"),
        ({"shape": [10**15]}, "must be a valid sparse matrix; it cannot"),
        ({"indices": None}, "or a sparse matrix of scipy.sparse.save_npz; got the arr"),
    ],
)
def test_damaged_sparse_matrices_are_refused(
    tmp_path: Path, arrays: dict[str, Any], part: str
) -> None:
    whole = {
        "format": b"csr",
        "shape": [2, 3],
        "data": [1.0, 2.0],
        "indices": [0, 1],
        "indptr": [0, 1, 2],
    }
    path = tmp_path / "m.npz"
    changed = {**whole, **arrays}
    np.savez(path, **{k: v for k, v in changed.items() if v is not None})
    assert part in refusal(read_interactions, path)
