"""Interactions: every customary table becomes the same matrix, and every fault is told with its line."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        InputError, match=rf"an id in every row; got none in line {line};"
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
def test_any_content_is_read_or_told(
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
