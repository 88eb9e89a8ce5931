"""Ids, labels and counts in files next to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from example_files import npy, refusal, table, write_all

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import load, read_ids, read_labels

if TYPE_CHECKING:
    from pathlib import Path

FILMS = "movieId,title\n7,Heat\n3,Ran\n"


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        # A column with a customary name of ids; whole numbers become integers.
        ("i.csv", FILMS, [7, 3]),
        ("i.csv", "id\n7\n3\n", [7, 3]),
        # Another column is chosen by its name or its position.
        ("i.csv:title", FILMS, ["Heat", "Ran"]),
        ("i.tsv:1", "7\tHeat\n3\tRan\n", ["Heat", "Ran"]),
        ("i.dat:name", "code;name\n7;Heat\n3;Ran\n", ["Heat", "Ran"]),
        # One id a line. A leading zero would be lost in an integer.
        ("i.txt", "70\n7\n", [70, 7]),
        ("i.txt", "007\n7\n", ["007", "7"]),
        ("i.json", '["a", "b"]', ["a", "b"]),
        ("i.npy", npy(np.array([5, 3])), [5, 3]),
        ("i.parquet", table({"id": [7.0, 3.0], "x": [1, 2]}), [7, 3]),
        (
            "i.parquet",
            table({"id": pa.array(["a", "b"]).dictionary_encode()}),
            ["a", "b"],
        ),
        # An integer that int64 cannot hold stays exact as text.
        (
            "i.parquet",
            table({"id": pa.array([2**64 - 1, 3], "uint64")}),
            ["18446744073709551615", "3"],
        ),
    ],
)
def test_read_ids_of_each_kind_of_file(
    tmp_path: Path, name: str, content: Any, ids: list[Any]
) -> None:
    file, _, column = name.partition(":")
    path = str(write_all(tmp_path, {file: content}))
    found = read_ids(path, 2, column=column or None)
    assert found.tolist() == ids


def test_read_ids_takes_a_list() -> None:
    assert read_ids(["a", "b"], 2).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("i.csv", FILMS + "5,M\n", "a file of 2 item ids, one per row; got 3"),
        ("i.csv", "code,name\n7,Heat\n3,Ran\n", "got code, name; choose it with id"),
        ("i.csv", "itemId,movieId\n7,8\n3,4\n", "got itemId and movieId"),
        ("i.json", "[1, 2, 3]", "a file of 2 item ids, one per row; got 3"),
        ("i.json", "[1, NaN]", "the number NaN, which is not finite"),
        ("i.json", "[1, -1e999]", "the number -1e999, which is not finite"),
        ("i.npy", npy(np.eye(2)), "got shape (2, 2)"),
        ("i.parquet", table({"id": [7.5, 3.0]}), "must be integers or text"),
        ("i.parquet", table({"id": [True, False]}), "integers or text; got bool"),
        ("i.parquet", table({"id": ["a", None]}), "got no id in row 1; drop that row"),
    ],
)
def test_read_ids_refuses(tmp_path: Path, name: str, content: Any, part: str) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(read_ids, path, 2)


@pytest.mark.parametrize("option", ["ids", "labels"])
def test_as_many_ids_as_columns_ask_if_a_table_is_transposed(
    tmp_path: Path, option: str
) -> None:
    files = {"v.npy": npy(np.arange(6.0).reshape(2, 3) + 1), "i.txt": "a\nb\nc\n"}
    path = write_all(tmp_path, files)
    options: dict[str, Any] = {option: tmp_path / "i.txt"}
    assert refusal(load, path, **options).endswith(
        "one per row; got 3; the vectors have 3 columns; if each column is one entity, "
        "say so with transpose, or write the vectors transposed."
    )
    model = load(path, **options, transpose="right")
    assert model.right.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert model.names("right").tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("read", [read_ids, read_labels])
def test_the_number_of_rows_is_a_positive_integer(tmp_path: Path, read: Any) -> None:
    path = write_all(tmp_path, {"l.txt": "a\nb\n"})
    with pytest.raises(InputError, match="n_rows must be an integer >= 1; got 0"):
        read(path, 0)


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("l.txt", "a\r\nb\r\n", ["a", "b"]),
        ("l.txt", "0,a\n1 b\n", ["0,a", "1 b"]),
        # In text, a quote that encloses nothing is a letter, as in a vocabulary.
        ("l.txt", '"\na"b\n', ['"', 'a"b']),
        # In a table, one line more than the rows is a header.
        ("l.csv", "title\na\nb\n", ["a", "b"]),
        ("l.csv", '"a, b"\nc\n', ["a, b", "c"]),
        # Row numbers before the labels, with and without a header.
        ("l.csv", ",0\n0,a\n1,b\n", ["a", "b"]),
        ("l.csv", "0,a\n1,b\n", ["a", "b"]),
        ("l.json", '["a", "b"]', ["a", "b"]),
        # A map from row to label, or from label to row, in any order.
        ("l.json", '{"1": "b", "0": "a"}', ["a", "b"]),
        ("l.json", '{"b": 1, "a": 0}', ["a", "b"]),
        # The configuration of a classifier.
        ("l.json", '{"id2label": {"1": "b", "0": "a"}}', ["a", "b"]),
        # Settings that name no label may be infinite in a configuration.
        (
            "config.json",
            '{"id2label": {"1": "b", "0": "a"}, "clip": Infinity}',
            ["a", "b"],
        ),
    ],
)
def test_read_labels_of_each_kind_of_file(
    tmp_path: Path, name: str, content: str, labels: list[str]
) -> None:
    assert read_labels(write_all(tmp_path, {name: content}), 2).tolist() == labels


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("l.json", '["a"]', "a file of 2 label names, one per row; got 1"),
        ("l.json", '["a", null]', "got None in row 1"),
        ("l.json", '{"b": 1, "a": 2}', "got none for row 0"),
        ("l.json", '{"a": 0}', "a map of 2 labels, one for each row from 0 to 1"),
        ("l.json", '{"b": 1, "a": true}', "the key 'a' with a value that is not a row"),
        (
            "l.json",
            '{"0": "b", "a": "c"}',
            "the key 'a' with a value that is not a row",
        ),
        ("l.json", '{"b": 1, "0": true}', "the key '0' with a value that is not a row"),
        ("l.json", "3", "a JSON list or a map between label and row"),
        ("l.json", "{", "must be valid JSON"),
        ("l.json", '["a", NaN]', "the number NaN, which is not finite"),
        ("l.json", '{"a": 0, "b": 1e999}', "the number 1e999, which is not finite"),
        ("config.json", '["a", Infinity]', "must be valid JSON"),
        ("config.json", '{"id2label": {"0": "a", "1": NaN}}', "must be valid JSON"),
        ("l.txt", b"\xe9\n", "text in UTF-8"),
    ],
)
def test_read_labels_refuses(
    tmp_path: Path, name: str, content: Any, part: str
) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(read_labels, path, 2)


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        (["a"], "a list of 2 token names; got shape (1,)"),
        (["a", np.nan], "present in every row; got nan in row 1"),
    ],
)
def test_a_list_of_labels_has_one_for_each_row(labels: Any, part: str) -> None:
    assert part in refusal(read_labels, labels, 2, what="token")


ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
NUMBERED = ea.FactorModel.from_vectors(ROWS)
NAMED = ea.FactorModel.from_vectors(ROWS, ids=["a", "b"])


@pytest.mark.parametrize(
    ("model", "name", "content"),
    [
        # Rows in their order.
        (NUMBERED, "c.npy", npy(np.array([7, 5]))),
        (NUMBERED, "c.csv", "count\n7\n5\n"),
        # A row number before each count.
        (NUMBERED, "c.csv", "1,5\n0,7\n2,8\n"),
        # Joined by ids; a customary name of one of two columns settles both.
        (NAMED, "c.csv", "n,code\n5,b\n7,a\n"),
        (NAMED, "c.csv", "userId,x\nb,5\na,7\n"),
        (NAMED, "c.csv", "x,userId,plays\n1,b,5\n2,a,7\n"),
        (NAMED, "c.csv", "b,5\na,7\n"),
        (NAMED, "c.parquet", table({"n": [5, 7], "id": ["b", "a"]})),
    ],
)
def test_counts_are_found_by_row_or_by_id(
    tmp_path: Path, model: ea.FactorModel, name: str, content: Any
) -> None:
    path = write_all(tmp_path, {name: content})
    assert load(model, right_counts=path).right_counts.tolist() == [7, 5]


@pytest.mark.parametrize(
    ("model", "name", "content", "part"),
    [
        (NUMBERED, "c.npy", npy(np.array([4, 2, 1])), "a file of 2 item counts"),
        (NUMBERED, "c.npy", npy(np.array(["4", "2"])), "must be one number per row"),
        (NUMBERED, "c.npy", npy(np.eye(2)), "must be one number per row"),
        (NUMBERED, "c.csv", "4\n2\n1\n", "a file of 2 item counts, one per row; got 3"),
        (NAMED, "c.csv", "x,y\nb,5\na,7\n", "must be called id and count; got x, y"),
        (NAMED, "c.csv", "title,year,pages\nA,1,2\n", "called id and count"),
        (NAMED, "c.csv", "id,n\na,5\n", "got 1 counts, and no count of b, for example"),
        (NAMED, "c.csv", "id,n\nx,5\ny,7\n", "check its column of ids"),
        (
            NAMED,
            "c.csv",
            "a,4\nb,0\na,2\n",
            "the same in all rows of an id; got 4.0 and 2.0 for a",
        ),
        (NAMED, "c.csv", "a,4\nb,x\n", "must be numbers; got 'x' in line 2"),
        (
            NAMED,
            "c.parquet",
            table({"n": [1.5, None], "id": ["b", "a"]}),
            "got an empty cell in row 1",
        ),
    ],
)
def test_counts_that_do_not_fit_the_rows_are_refused(
    tmp_path: Path, model: ea.FactorModel, name: str, content: Any, part: str
) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(load, model, right_counts=path)


@pytest.mark.parametrize("name", ["m.npz", "m.parquet", "m.txt"])
def test_an_id_with_a_zero_byte_stays_apart_from_others(
    tmp_path: Path, name: str
) -> None:
    """NumPy and Arrow cut texts at zero bytes: all three ids would become "a"."""
    path = tmp_path / name
    rows = np.array([[1.0, 0.25], [0.5, 1.5], [2.0, 0.75]])
    model = ea.FactorModel.from_arrays(
        left=None, right=rows, right_ids=["a", "a\0", "a\0b"]
    )
    ea.save(model, path)
    ids = ["a", "a\\x00", "a\\x00b"]
    assert model.right_ids.tolist() == ids
    assert ea.load(path).right_ids.tolist() == ids
    assert ea.load(path, ids=["a", "a\0", "a\0b"]).right_ids.tolist() == ids
