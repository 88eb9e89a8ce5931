"""Factors of Spark: a saved ALS model (`userFactors`, `itemFactors`) or an MLlib one (`data/user`, `data/product`).

A pipeline keeps its models among its `stages`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrow import BROKEN, schema
from embaudit.io.codecs.arrow_vectors import stacked
from embaudit.io.codecs.npy import reason
from embaudit.io.intake import Intake, Part
from embaudit.io.request import Request, as_kind
from embaudit.model import FactorModel

LAYOUTS = (("userFactors", "itemFactors"), ("data/user", "data/product"))


def recognises(path: Path) -> bool:
    """Whether one of the four folders is there, or in a stage of a pipeline."""
    return any(_holds_some(folder) for folder in (path, *_stages(path)))


def _holds_some(path: Path) -> bool:
    return any((path / folder).is_dir() for layout in LAYOUTS for folder in layout)


def _stages(path: Path) -> list[Path]:
    return sorted((path / "stages").glob("*"))


def _model_in(path: Path) -> Path:
    """Return the folder of the model: itself, or the one stage of a pipeline that has factors."""
    stages = [stage for stage in _stages(path) if _holds_some(stage)]
    if len(stages) > 1:
        got = ", ".join(stage.name for stage in stages)
        raise must_be(f"{path}", "a pipeline with one ALS model", got, "name the folder of one of its stages")
    return stages[0] if stages else path


def read(path: Path, request: Request) -> FactorModel:
    """Read both sides, rows in the order of their ids, which Spark keeps as integers.

    Raises
    ------
    InputError
        If a side is missing, damaged, or has rows of different length, or a pipeline holds several models.
    """
    path = _model_in(path)
    for layout in LAYOUTS:
        missing = [folder for folder in layout if not (path / folder).is_dir()]
        if not missing:
            return as_kind(of_rows(*_side(path / layout[0]), *_side(path / layout[1])), request.kind)
        if len(missing) == 1:
            raise must_be(
                f"{path}", f"a directory with {layout[0]} and {layout[1]}", f"no {missing[0]}", "copy all of it"
            )
    raise InputError(f"{path} must be the directory of a saved ALS model; it holds no factors.")


def of_rows(user_ids: NDArray[Any], users: NDArray[Any], item_ids: NDArray[Any], items: NDArray[Any]) -> FactorModel:
    """Make a model of rows in any order.

    Its decay counts the ratings of each row; factors that were held positive obey no law that is known.

    Examples
    --------
    >>> of_rows(np.array([7, 3]), np.array([[1.0], [-2.0]]), np.array([5]), np.array([[1.0]])).scores()
    array([[-2.],
           [ 1.]])
    """
    objective = None if min(users.min(), items.min()) >= 0 else "factors-counted"
    left, right = np.argsort(user_ids, kind="stable"), np.argsort(item_ids, kind="stable")
    return FactorModel(
        users[left], items[right], left_ids=user_ids[left], right_ids=item_ids[right], objective=objective
    )


def look(path: Path, request: Request) -> Intake:  # noqa: ARG001
    """Say which folders hold the sides; how many rows only reading them tells."""
    path = _model_in(path)
    folders = next((layout for layout in LAYOUTS if all((path / one).is_dir() for one in layout)), None)
    if folders is None:
        return Intake("spark", (str(path),))
    sides = zip(("left", "right"), folders, strict=True)
    parts = [Part(f"{folder}.{column}", f"{side}{what}")
             for side, folder in sides for column, what in (("features", ""), ("id", "_ids"))]  # fmt: skip
    return Intake("spark", tuple(str(path / one) for one in folders), tuple(parts))


def _side(folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    from pyarrow import dataset, types

    # Spark also leaves _SUCCESS and .crc files there, which pyarrow passes over.
    try:
        found = dataset.dataset(folder, format="parquet")
        for file in found.files:
            schema(Path(file))
        table = found.to_table(columns=["id", "features"])
    except BROKEN as error:
        what = "Parquet files with columns id and features"
        raise must_be(f"{folder}", what, reason(error), "copy all of it") from error
    if not len(table):
        raise must_be(f"{folder}", "a table with rows", "none")
    ids = table.column("id")
    if not types.is_integer(ids.type):
        raise must_be(f"the ids in {folder}", "integers", str(ids.type))
    if ids.null_count:
        raise must_be(f"the ids in {folder}", "there in every row", f"{ids.null_count} missing")
    return ids.to_numpy(), stacked(table.column("features"), f"features in {folder}")
