"""Factors of Spark: a saved ALS model (`userFactors`, `itemFactors`) or an MLlib one (`data/user`, `data/product`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrow import BROKEN, schema, stacked
from embaudit.io.codecs.npy import reason
from embaudit.io.intake import Intake, Part
from embaudit.io.request import Request, as_kind
from embaudit.model import FactorModel

LAYOUTS = (("userFactors", "itemFactors"), ("data/user", "data/product"))


def recognises(path: Path) -> bool:
    """Whether one of the four folders is there."""
    return any((path / folder).is_dir() for layout in LAYOUTS for folder in layout)


def read(path: Path, request: Request) -> FactorModel:
    """Read both sides, rows in the order of their ids, which Spark keeps as integers.

    Its decay counts the ratings of each row; factors that were held positive obey no law that is known.

    Raises
    ------
    InputError
        If a side is missing, damaged, or has rows of different length.
    """
    for layout in LAYOUTS:
        missing = [folder for folder in layout if not (path / folder).is_dir()]
        if not missing:
            user_ids, users = _side(path / layout[0])
            item_ids, items = _side(path / layout[1])
            objective = None if min(users.min(), items.min()) >= 0 else "factors-counted"
            model = FactorModel(users, items, left_ids=user_ids, right_ids=item_ids, objective=objective)
            return as_kind(model, request.kind)
        if len(missing) == 1:
            raise must_be(
                f"{path}", f"a directory with {layout[0]} and {layout[1]}", f"no {missing[0]}", "copy all of it"
            )
    raise InputError(f"{path} must be the directory of a saved ALS model; it holds no factors.")


def look(path: Path, request: Request) -> Intake:  # noqa: ARG001
    """Say which folders hold the sides; how many rows only reading them tells."""
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
    order = np.argsort(ids.to_numpy(), kind="stable")
    return ids.to_numpy()[order], stacked(table.column("features"), f"features in {folder}")[order]
