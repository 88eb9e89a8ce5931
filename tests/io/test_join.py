"""Titles and counts beside models: joined by id, by row where asked, and refused where that would be a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import join_texts, with_titles
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from pathlib import Path


def table(folder: Path, ids: Any) -> Path:
    path = folder / "movies.csv"
    path.write_text("movieId,title\n" + "".join(f"{i},Film {i}\n" for i in ids))
    return path


def items(ids: Any = None, n: int = 4) -> FactorModel:
    return FactorModel.from_vectors(np.eye(n), ids=ids)


def test_titles_are_found_by_id_and_counted(tmp_path: Path) -> None:
    path = table(tmp_path, [9, 7, 5])
    model, joined = with_titles(items([5, 6, 7, 8]), path)
    assert model.right_names.tolist() == ["Film 5", "6", "Film 7", "8"]
    assert (joined.texts, joined.n_matched, joined.by_row) == (
        ("Film 5", None, "Film 7", None),
        2,
        False,
    )
    assert joined.explain() == "2 of 4 items matched by id."
    path.write_text("id,title\n5,\n6,A\n")
    assert with_titles(items([5, 6], 2), path)[0].right_names.tolist() == ["5", "A"]


def test_rows_are_joined_only_when_asked(tmp_path: Path) -> None:
    path = table(tmp_path, [9, 7, 5, 3])
    with pytest.raises(InputError):
        join_texts(items().right_side, path)
    for model in (items(), items([3, 5, 7, 9])):
        named, joined = with_titles(model, path, by_row=True)
        assert named.right_names.tolist() == ["Film 9", "Film 7", "Film 5", "Film 3"]
        assert joined.explain() == "4 of 4 items matched by row."
    with pytest.raises(InputError):
        join_texts(items(n=5).right_side, path, by_row=True)
