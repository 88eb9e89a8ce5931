"""Titles from a table: joined by id, or by row if the caller says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from example_files import gz, refusal, table, write_all

from embaudit.io import join_ids, join_texts, read_titles, with_titles
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from pathlib import Path

THREE_COLUMNS = "a,b,c\n2,Heat,x\n1,Ran,y\n"


def films(folder: Path, ids: Any) -> Path:
    lines = "".join(f"{i},Film {i}\n" for i in ids)
    return write_all(folder, {"movies.csv": "movieId,title\n" + lines})


def items(ids: Any = None, n: int = 4) -> FactorModel:
    return FactorModel.from_vectors(np.eye(n), ids=ids)


@pytest.mark.parametrize(
    ("name", "content", "options", "titles"),
    [
        # Rows are sorted by id; a row that repeats another one counts once.
        (
            "t.csv",
            "movieId,title\n7,Heat\n3,Ran\n7,Heat\n",
            {},
            {3: "Ran", 7: "Heat"},
        ),
        # An empty title stays empty.
        ("t.csv", "movieId,title\n2,Heat\n1,\n", {}, {1: "", 2: "Heat"}),
        # Without a header, the first two columns are ids and titles.
        ("t.csv", "2;Heat\n1;Ran\n", {}, {1: "Ran", 2: "Heat"}),
        ("t.csv.gz", gz("id,title\n2,Heat\n1,Ran\n"), {}, {1: "Ran", 2: "Heat"}),
        # A column is chosen by its name in either case, or by its position from 0.
        (
            "t.csv",
            THREE_COLUMNS,
            {"id": "C", "title": 1},
            {"x": "Heat", "y": "Ran"},
        ),
        ("t.csv", "2,Heat\n1,Ran\n", {"id": 1, "title": 0}, {"Heat": "2", "Ran": "1"}),
        (
            "t.parquet",
            table({"id": [2, 1], "title": ["Heat", None]}),
            {},
            {1: "", 2: "Heat"},
        ),
        ("t.parquet", table({"id": [2, 1], "title": [3, 4]}), {}, {1: "4", 2: "3"}),
        (
            "t.feather",
            table(
                {
                    "id": ["b", "a"],
                    "title": pa.array(["Heat", "Heat"]).dictionary_encode(),
                }
            ),
            {},
            {"a": "Heat", "b": "Heat"},
        ),
    ],
)
def test_read_titles_of_each_kind_of_table(
    tmp_path: Path, name: str, content: Any, options: Any, titles: dict[Any, str]
) -> None:
    ids, texts = read_titles(write_all(tmp_path, {name: content}), **options)
    assert ids.tolist() == list(titles)
    assert texts.tolist() == list(titles.values())


@pytest.mark.parametrize(
    ("name", "content", "options", "part"),
    [
        ("t.pkl", "movieId,title\n1,Heat\n", {}, "it is a pickle, which could run"),
        ("t.csv", "movieId,title\n2,Heat\n2,Ran\n", {}, "got 'Heat' and 'Ran' for 2"),
        ("t.csv", THREE_COLUMNS, {"id": "3"}, "must be one of a, b, c"),
        ("t.csv", THREE_COLUMNS, {"id": "a"}, "choose it with title"),
        ("t.csv", THREE_COLUMNS, {"title": "b"}, "choose it with id"),
        ("t.csv", "name,title,id\n2,Heat,x\n", {}, "got name and title"),
        ("t.csv", "id,movieId,title\n1,2,Heat\n", {}, "got id and movieId"),
        ("t.csv", "2,Heat\n1,Ran\n", {"id": "x"}, "2 columns without a header (0 to"),
        ("t.csv", THREE_COLUMNS, {"id": "a", "title": "a"}, "must be different ones"),
    ],
)
def test_read_titles_refuses(
    tmp_path: Path, name: str, content: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(read_titles, path, **options)


def test_titles_are_found_by_id_and_counted(tmp_path: Path) -> None:
    path = films(tmp_path, [9, 7, 5])
    model, joined = with_titles(items([5, 6, 7, 8]), path)
    assert model.right_names.tolist() == ["Film 5", "6", "Film 7", "8"]
    assert joined.texts == ("Film 5", None, "Film 7", None)
    assert (joined.n_matched, joined.by_row) == (2, False)
    assert joined.explain() == "2 of 4 items matched by id."


def test_an_empty_title_leaves_the_id_as_the_name(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"t.csv": "id,title\n5,\n6,A\n"})
    assert with_titles(items([5, 6], 2), path)[0].right_names.tolist() == ["5", "A"]


def test_the_columns_of_a_join_can_be_chosen(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"t.csv": "code,what\nb,Heat\na,Ran\n"})
    model, _ = with_titles(items(list("abcd")), path, id="code", title="what")
    assert model.right_names.tolist() == ["Ran", "Heat", "c", "d"]


@pytest.mark.parametrize("ids", [None, [3, 5, 7, 9]])
def test_rows_are_joined_in_their_order_only_if_asked(tmp_path: Path, ids: Any) -> None:
    path = films(tmp_path, [9, 7, 5, 3])
    named, joined = with_titles(items(ids), path, by_row=True)
    assert named.right_names.tolist() == ["Film 9", "Film 7", "Film 5", "Film 3"]
    assert joined.explain() == "4 of 4 items matched by row."


def test_fewer_than_half_of_the_rows_are_matched_only_if_asked(tmp_path: Path) -> None:
    path = films(tmp_path, [5, 1])
    side = items([5, 6, 7, 8]).right_side
    sentence = refusal(join_texts, side, path)
    assert "at least half of the items" in sentence
    assert "got 1 of 4" in sentence
    assert "partial=True" in sentence
    joined = join_texts(side, path, partial=True)
    assert joined.explain() == "1 of 4 items matched by id."


@pytest.mark.parametrize(
    ("model", "options", "part"),
    [
        (items(), {}, "join by row order with by_row=True"),
        (items(n=5), {"by_row": True}, "got 5 in the model and 2"),
        (
            items([1, 2], n=2),
            {},
            "got ids such as a, while the model has ids such as 1",
        ),
    ],
)
def test_join_texts_refuses(
    tmp_path: Path, model: FactorModel, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"t.csv": "id,title\na,Heat\nb,Ran\n"})
    assert part in refusal(join_texts, model.right_side, path, **options)


def test_join_texts_takes_one_side_and_a_file(tmp_path: Path) -> None:
    path = films(tmp_path, [1, 2])
    assert "such as model.right_side" in refusal(join_texts, items(), path)
    assert "must be a path" in refusal(join_texts, items().right_side, 3)


@pytest.mark.parametrize(
    ("ids", "part"),
    [
        (
            ["x", "y"],
            "got ids such as 1, while the model has ids such as x; choose "
            "their column with id",
        ),
        ([7], "got ids such as 1, while the model has ids such as 7"),
        ([], "got nothing"),
        ([[1]], "ids must be a list, one per row"),
    ],
)
def test_join_ids_refuses(tmp_path: Path, ids: Any, part: str) -> None:
    path = films(tmp_path, [1, 2])
    assert part in refusal(join_ids, np.array(ids), path, called="film")
