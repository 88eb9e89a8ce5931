"""Factors of Spark.

They lie in a saved ALS model (`userFactors`, `itemFactors`) or in one of MLlib
(`data/user`, `data/product`). A pipeline keeps its models among its `stages`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.formats import register
from embaudit.io.formats.tables import contents_of_table, open_vectors
from embaudit.io.options import Request
from embaudit.model import FactorModel

LAYOUTS = (("userFactors", "itemFactors"), ("data/user", "data/product"))


def recognises(path: Path) -> bool:
    """Return whether one of the four folders is there, or in a stage of a pipeline."""
    return bool(_models_in(path))


def _models_in(path: Path) -> list[Path]:
    """Return the folders with factors: the path itself, or stages of a pipeline."""
    folders = [path, *sorted((path / "stages").glob("*"))]
    return [
        folder
        for folder in folders
        if any((folder / side).is_dir() for layout in LAYOUTS for side in layout)
    ]


@register(
    "spark",
    suffixes=("/",),
    origin="ALS models of Spark ML or MLlib",
    content="users, items, ids",
    recognises=recognises,
)
def read(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine both sides, with rows in the order of their ids.

    Spark keeps ids as integers. The number of rows is known only after they are read.

    Raises
    ------
    InputError
        If a side is missing, damaged, or has rows of different length, or a pipeline
        holds several models.
    """
    models = _models_in(path)
    if not models:
        raise InputError(
            "{} must be the directory of a saved ALS model; it holds no factors.",
            File(path),
        )
    if len(models) > 1:
        got = ", ".join(stage.name for stage in models)
        raise must_be(
            File(path),
            "a pipeline with one ALS model",
            got,
            "name the folder of one of its stages",
        )
    (path,) = models
    folders = next(
        layout
        for layout in LAYOUTS
        if any((path / folder).is_dir() for folder in layout)
    )
    missing = [folder for folder in folders if not (path / folder).is_dir()]
    if missing:
        raise must_be(
            File(path),
            f"a directory with {' and '.join(folders)}",
            f"no {missing[0]}",
            "copy the whole directory",
        )
    model = cache(lambda: of_rows(*_side(path / folders[0]), *_side(path / folders[1])))

    def source(place: str, field: str) -> Source:
        return Source(place, lambda: getattr(model(), field))

    fields = {"objective": source("", "objective")}
    for side, folder in zip(("left", "right"), folders, strict=True):
        fields |= {
            side: source(f"{folder}.features", side),
            f"{side}_ids": source(f"{folder}.id", f"{side}_ids"),
        }
    return Contents(fields, files=tuple(str(path / folder) for folder in folders))


def of_rows(
    user_ids: NDArray[Any],
    users: NDArray[Any],
    item_ids: NDArray[Any],
    items: NDArray[Any],
) -> FactorModel:
    """Make a model of rows in any order.

    Spark weights the decay of each row by its number of ratings. Factors that were kept
    non-negative have no known objective.

    Examples
    --------
    >>> users, items = np.array([[1.0], [-2.0]]), np.array([[1.0]])
    >>> of_rows(np.array([7, 3]), users, np.array([5]), items).scores()
    array([[-2.],
           [ 1.]])
    """
    objective = None if min(users.min(), items.min()) >= 0 else "factors-counted"
    left = np.argsort(user_ids, kind="stable")
    right = np.argsort(item_ids, kind="stable")
    return FactorModel.from_arrays(
        users[left],
        items[right],
        left_ids=user_ids[left],
        right_ids=item_ids[right],
        objective=objective,
    )


def _side(folder: Path) -> tuple[Any, Any]:
    """Read ids and features of one side from the Parquet files of a folder."""
    # Spark also leaves _SUCCESS and .crc files there.
    table = open_vectors(folder, tuple(sorted(folder.glob("[!._]*.parquet"))))
    model = contents_of_table(table, Request(vector_id="id", vector="features")).model()
    return model.right_ids, model.right
