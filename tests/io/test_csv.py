"""Vectors in delimited text: columns of vectors, ids, titles, counts and biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import npy, npz, refusal, write, write_all

from embaudit.errors import InputError
from embaudit.io import inspect, load, read

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[1, 2], [3, 4.5]]
LISTS = 'id,a,b\nx,"[1, 2]","[3]"\ny,"[3, 4.5]","[4]"\n'
FAMILIES = "id,e0,e1,f0,f1\na,1,2,3,4\nb,3,4.5,5,6\n"


@pytest.mark.parametrize(
    ("text", "options", "ids"),
    [
        # One family of columns, numbered from 0 or 1.
        ("id,e0,e1\na,1,2\nb,3,4.5\n", {}, ["a", "b"]),
        ("id,x1,x2\na,1,2\nb,3,4.5\n", {}, ["a", "b"]),
        ("id;e0;e1\na;1;2\nb;3;4.5\n", {}, ["a", "b"]),
        ("id\te0\te1\na\t1\t2\nb\t3\t4.5\n", {}, ["a", "b"]),
        # A column of lists, as Python or JSON prints them, or with spaces alone.
        ('id,vector\na,"[1, 2]"\nb,"[3, 4.5]"\n', {}, ["a", "b"]),
        ("id,vector\na,1 2\nb,3 4.5\n", {}, ["a", "b"]),
        # The index that pandas writes has no name, or the name "Unnamed: 0".
        (",0,1\n0,1,2\n1,3,4.5\n", {}, [0, 1]),
        ("Unnamed: 0,x1,x2\n5,1,2\n7,3,4.5\n", {}, [5, 7]),
        # Without a header: a first column of text is ids, fractions are vectors.
        ("a,1,2\nb,3,4.5\n", {}, ["a", "b"]),
        ("1.0,2.0\n3.0,4.5\n", {}, None),
        # Integers in the first column could be both, so the caller says.
        ("7,1,2\n8,3,4.5\n", {"vector_id": "0"}, [7, 8]),
        # One of two families, or any range of columns, is chosen.
        (FAMILIES, {"vector": "e"}, ["a", "b"]),
        (FAMILIES, {"vector": "e0:e1"}, ["a", "b"]),
        (LISTS, {"vector": "a"}, ["x", "y"]),
    ],
)
def test_vectors_and_ids_are_found_among_columns(
    tmp_path: Path, text: str, options: Any, ids: Any
) -> None:
    model = load(write_all(tmp_path, {"v.csv": text}), **options)
    assert model.right.tolist() == ROWS
    assert (model.right_ids is None) if ids is None else model.right_ids.tolist() == ids
    assert (model.left, model.link.name, model.right.dtype) == (None, "identity", float)


def test_a_column_called_vector_goes_before_other_lists(tmp_path: Path) -> None:
    text = LISTS.replace("b\n", "vector\n", 1)
    assert load(write_all(tmp_path, {"v.csv": text})).right.tolist() == [[3], [4]]


WIDE = np.arange(15).reshape(3, 5) / 8 + 0.5


@pytest.mark.parametrize(
    ("header", "ids", "options"),
    [
        # Numbers from 0 or 1 on, as data frames write them, with or without an index.
        ("0,1,2,3,4", None, {}),
        ("1,2,3,4,5", None, {}),
        ("0.0,1.0,2.0,3.0,4.0", None, {}),
        (",0,1,2,3,4", ["a", "b", "c"], {}),
        (",1,2,3,4,5", ["a", "b", "c"], {}),
        ("id,0,1,2,3,4", ["a", "b", "c"], {}),
        ("id,1,2,3,4,5", ["a", "b", "c"], {}),
        # Numbers of features.
        ("70,9,31,6,1002", None, {"vector": "70:1002"}),
        ("id,70,9,31,6,1002", ["a", "b", "c"], {"vector": "70:1002"}),
    ],
)
def test_a_header_of_numbers_is_no_vector(
    tmp_path: Path, header: str, ids: list[str] | None, options: dict[str, Any]
) -> None:
    rows = [",".join(map(str, row)) for row in WIDE]
    if ids is not None:
        rows = [f"{name},{row}" for name, row in zip(ids, rows, strict=True)]
    path = write(tmp_path / "v.csv", "\n".join([header, *rows]) + "\n")
    if options:
        assert "choose the columns with vector=FIRST:LAST" in refusal(load, path)
    model = load(path, **options)
    np.testing.assert_array_equal(model.right, WIDE)
    assert (None if model.right_ids is None else model.right_ids.tolist()) == ids


def test_a_header_of_numbers_stands_above_whole_numbers(tmp_path: Path) -> None:
    rows = "0,1,2,3,4\n5,3,1,2,2\n7,0,0,1,1\n"
    path = write(tmp_path / "v.csv", rows)
    assert load(path).right.tolist() == [[5, 3, 1, 2, 2], [7, 0, 0, 1, 1]]


@pytest.mark.parametrize("name", ["title", "name", "interactions", "word"])
@pytest.mark.parametrize("chosen", [0, 1])
def test_a_column_of_vectors_names_no_rows(
    tmp_path: Path, name: str, chosen: int
) -> None:
    # A vector for each field of a text stands in the column of that name.
    vectors = np.arange(24).reshape(2, 4, 3) / 8
    rows = [
        f'a{i},"{x.tolist()}","{y.tolist()}"'
        for i, (x, y) in enumerate(zip(*vectors, strict=True))
    ]
    path = write(tmp_path / "v.csv", "\n".join([f"id,{name},plot", *rows]))
    model = load(path, vector=(name, "plot")[chosen])
    np.testing.assert_array_equal(model.right, vectors[chosen])
    assert model.right_ids.tolist() == ["a0", "a1", "a2", "a3"]
    assert model.right_names is None
    assert model.right_counts is None


@pytest.mark.parametrize("other", ["(500)", "(12, 34)"])
def test_an_id_or_a_title_may_look_like_a_short_list(
    tmp_path: Path, other: str
) -> None:
    text = f'id,title,vector\n"{other}","{other}","[1, 2, 4]"\nb,c,"[3, 4, 5]"\n'
    model = load(write(tmp_path / "v.csv", text))
    assert model.right_ids.tolist() == [other, "b"]
    assert model.right_names.tolist() == [other, "c"]


RECORDS = 'title,id,vector,interactions,year\nHeat,a,"[1, 2]",5,1995\n'


def test_titles_and_counts_are_read_with_the_vectors(tmp_path: Path) -> None:
    text = RECORDS + 'Ran,b,"[3, 4.5]",6,1985\n'
    found = read(write_all(tmp_path, {"v.csv": text}))
    assert found.model.right_names.tolist() == ["Heat", "Ran"]
    assert found.model.right_ids.tolist() == ["a", "b"]
    assert found.model.right_counts.tolist() == [5, 6]
    assert found.intake.explain() == (
        "Read as csv: column vector (2 × 2) as right factors, id (2) as right ids, "
        "title (2) as right names, interactions (2) as right counts. Not used: year."
    )


def test_counts_with_an_empty_cell_are_no_counts(tmp_path: Path) -> None:
    text = RECORDS + 'Ran,b,"[3, 4.5]",,1985\n'
    assert load(write_all(tmp_path, {"v.csv": text})).right_counts is None


def test_ids_of_a_head_name_its_labels(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.csv": "id,e0,e1\na,1,2\nb,3,4.5\n"})
    head = load(path, kind="head")
    assert (head.link.name, head.roles) == ("softmax", ("input", "label"))
    assert head.names("right").tolist() == ["a", "b"]
    names = write_all(tmp_path, {"l.txt": "A\nB\n"})
    labelled = load(path, kind="head", labels=names)
    assert labelled.names("right").tolist() == ["A", "B"]


def test_a_bias_may_be_one_of_the_numbered_columns(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.csv": "id,e1,e2\na,1,2\nb,3,4.5\n"})
    model = load(path, bias="e1", vector="e1:e2")
    assert model.right.tolist() == [[2], [4.5]]
    assert model.right_bias.tolist() == [1, 3]


def test_the_other_side_from_a_second_file(tmp_path: Path) -> None:
    items = "id,e0,e1\na,1,2\nb,3,4.5\n"
    users = {"u.csv": "id,e0,e1\nx,2,2\n", "u.npy": npy(np.array([[2.0, 2.0]]))}
    path = write_all(tmp_path, {"v.csv": items, **users})
    pair = load(path, left_file=tmp_path / "u.csv")
    assert pair.predictions().tolist() == [[2 * 1 + 2 * 2, 2 * 3 + 2 * 4.5]]
    assert pair.left_ids.tolist() == ["x"]
    names = {"left_name": "text", "right_name": "image", "link": "cosine"}
    towers = load(path, left_file=tmp_path / "u.npy", **names)
    assert (towers.roles, towers.link.name) == (("text", "image"), "cosine")
    assert towers.left_ids is None


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("a,b\nhello,world\nfoo,bar\n", "text without numbers; give the file with"),
        ("A text, of words\nand, commas\n", "text without numbers; give the file with"),
        ("id,e0,e1\na,1,2\nb,x,4\nc,5,6\n", "column e0 of .*; got 'x' in line 3"),
        ('id,e0,e1\n"a\nb",1,2\nc,3,y\nd,5,6\n', "column e1 of .*; got 'y' in line 4"),
        ("a,0.5,0.1\nb,0.5,1/2\n", "column 2 of .*; got '1/2' in line 2"),
        ('a;"1,5";2,5\nb;3,5;4,5\n', "write decimals with a point"),
    ],
)
def test_a_look_refuses_text_where_numbers_must_be(
    tmp_path: Path, text: str, refusal: str
) -> None:
    path = tmp_path / "txt.csv"
    path.write_text(text)
    for reader in (inspect, read):
        with pytest.raises(InputError, match=refusal):
            reader(path)


def test_a_look_does_not_count_the_lines_of_text(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.csv": "id,x0,x1,x2\na,1,2,3\n"})
    assert "columns x0 to x2 (? × 3) as right factors" in inspect(path).explain()


def test_ids_of_users_are_asked_for_by_the_name_of_the_rows(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.csv": "userId,e0,e1\na,1,2\nb,3,4.5\n"})
    model = load(path, right_name="user")
    assert (model.roles[1], model.right_ids.tolist()) == ("user", ["a", "b"])


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        # Which columns are the vectors?
        (FAMILIES, {}, "got 2 groups of such columns"),
        ("id,e0,e1,e3\na,1,2,3\n", {}, "choose the columns with vector=FIRST:LAST"),
        ("id,e2,e3\na,1,2\n", {}, "columns such as e0 to e63; got id, e2, e3"),
        ("id,e0,e1,e01\na,1,2,3\n", {}, "got id, e0, e1, e01"),
        ("movieId,title\n1,Heat\n", {}, "got movieId, title"),
        (LISTS, {}, "in one column; got a and b; keep one, or choose it with vector"),
        (LISTS, {"vector": "id"}, "vector must be a column of lists; got 'id'"),
        ("1,2\n3,4\n", {}, "got integers, which could be either"),
        ("a,,\nb,,\n", {}, "columns of numbers without empty cells; got empty cells"),
        # Which columns are ids, and which a bias?
        ("id,e0\na,1\n", {"vector_id": "x"}, "the id column must be one of id, e0"),
        ("id,e1,bias\na,1,1\n", {}, "or ignore it with ignore='bias'"),
        (
            'id,v,bias\na,"[1]",1\n',
            {"bias": "v"},
            "bias must be a column that is not part",
        ),
        ("id,e0\na,1\n", {"bias": "e0", "kind": "vectors"}, "with kind='vectors'"),
        ("id,e0,e1\na,1,2\na,3,4\n", {}, "item ids must be unique; got a in 2 rows"),
        # What stands in a cell?
        ("id,e0,e1\na,1,2\nb,3,\n", {}, "got an empty cell in line 3; drop that row"),
        ("e0;e1\n0,5;1,5\n1,5;2,5\n", {}, "must be numbers; got '0,5' in line 2"),
        ('id,v\na,"[1, 2]"\nb,\n', {}, "a vector in every row; got no vector in row 1"),
        ('id,v\na,"[1, 2]"\nb,"[1]"\n', {}, "vectors of 2 numbers, like the first one"),
        ('id,v\na,"[1, 2]"\nb,"[1, x]"\n', {}, "got '[1, x]' in row 1"),
        ('id,v\na,"[1, 2]"\nb,"[1, ... 2]"\n', {"vector": "v"}, "with .tolist()"),
        # Is it a table at all?
        ("id,e0,e0\na,1,2\n", {}, "'e0' more than once; rename one"),
        ("1.5\n2.5\n", {}, "the same number of columns in every line"),
        ('id,t,e0\na,"b\n', {}, "the same number of columns in every line"),
        ('id,e0,e1\n"a",1,2\n"b"c,3,4\nd,1\n', {}, "the quotes of"),
        ("a\0b,c\n", {}, "a binary file"),
        ("userId,movieId,x\n1,2,3\n", {}, "got interactions (userId, movieId, x)"),
    ],
)
def test_tables_that_leave_a_question_are_refused(
    tmp_path: Path, text: str, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"v.csv": text})
    assert part in refusal(lambda: load(path, **options).right)


@pytest.mark.parametrize(
    ("first", "second", "part"),
    [
        ("v.csv", "v.csv", "compared with each other, use compared='dot'"),
        (
            "v.csv",
            "m.npz",
            "left_file must be vectors of one side; got a model of two sides",
        ),
        (
            "m.npz",
            "v.csv",
            "left_file must be omitted, because the model has two sides",
        ),
    ],
)
def test_the_other_side_has_one_side_and_another_file(
    tmp_path: Path, first: str, second: str, part: str
) -> None:
    pair = npz(users=np.eye(2), items=np.eye(2))
    write_all(tmp_path, {"v.csv": "id,e0,e1\na,1,2\nb,3,4.5\n", "m.npz": pair})
    assert part in refusal(load, tmp_path / first, left_file=tmp_path / second)
