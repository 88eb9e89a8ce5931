"""Interactions behind each row of a model: one number a row, or a table of ids and counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import UNNAMED
from embaudit.io.codecs.npy import Npy
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.tables.columns import TableFile, codes, numbers, open_table, read_columns
from embaudit.io.tables.interactions import USER_NAMES
from embaudit.io.tables.titles import ID_NAMES
from embaudit.model.side import Side

IDS = ID_NAMES | USER_NAMES
COUNT_NAMES = frozenset({
    "count", "counts", "interactions", "ratings", "nratings", "ninteractions", "n", "size", "frequency", "plays",
    "playcount", "listens",
})  # fmt: skip


def counts_of(given: Any, side: Side) -> Any:
    """Return counts that are at hand as they are, and read those in a file; the side checks them."""
    return read_counts(given, side) if isinstance(given, (str, os.PathLike)) else given


def read_counts(path: AnyPath, side: Side) -> Floats:
    r"""Read the interactions behind every row of a side.

    Parameters
    ----------
    path : path
        A `.npy` file or a table of one column, one number a row in the order of the rows; or a table of ids and
        counts, in any order, matched to the ids of the side (to row numbers where it has none). More ids than the
        side has do no harm.
    side : Side
        Whose rows.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    InputError
        If the file cannot be read, leaves open which column is which, has another length, or lacks ids of the side.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "counts.csv")
    ...     _ = file.write_text("item,count\nb,7\nc,1\na,2\n")
    ...     read_counts(file, Side([[1.0], [2.0]], "item", ids=["a", "b"]))
    array([2., 7.])
    """
    where = existing_file(path)
    if where.suffix.lower() == ".npy":
        array = Npy(where)[UNNAMED]
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            raise must_be(f"{where}", "one number a row", f"{array.dtype} of shape {array.shape}")
        return _one_a_row(np.asarray(array, dtype=np.float64), where, side)
    table = _opened(where)
    if table.width == 1:
        return _one_a_row(numbers(table, read_columns(table, {0: "number"})[0], 0), where, side)
    id_position, position = _positions(table)
    read = read_columns(table, {id_position: "id", position: "number"})
    rows, ids = codes(table, read[id_position], id_position)
    if len(ids) < len(rows):
        twice = ids[np.bincount(rows).argmax()]
        raise must_be(f"the ids in {where}", "unique", f"{twice} more than once", "keep one row for each id")
    return _matched(side, ids, numbers(table, read[position], position)[np.argsort(rows)], where)


def _opened(path: Path) -> TableFile:
    known = IDS | COUNT_NAMES
    try:
        return open_table(path, known=known)
    except InputError:
        # A single column is cut by no separator.
        table = open_table(path, sep=",", known=known)
        if table.width > 1:
            raise
        return table


def _positions(table: TableFile) -> tuple[int, int]:
    """Tell which column holds the ids and which the counts."""
    if table.names is None and table.width == 2:
        return 0, 1
    found = [table.customary(names, what) for names, what in ((IDS, "id"), (COUNT_NAMES, "count"))]
    if table.width == 2 and found.count(None) == 1:
        found = [1 - sum(place for place in found if place is not None) if place is None else place for place in found]
    if found[0] is None or found[1] is None:
        raise must_be(f"the columns of {table.path}", "called id and count", table.listed(), "rename them")
    return found[0], found[1]


def _one_a_row(counts: Floats, path: Path, side: Side) -> Floats:
    if len(counts) != len(side):
        remedy = "check that it belongs to this model, or write ids beside the counts"
        raise must_be(f"{path}", f"a file of {len(side)} counts, one for each {side.title}", len(counts), remedy)
    return counts


def _matched(side: Side, ids: NDArray[Any], counts: Floats, path: Path) -> Floats:
    known = dict(zip(ids.astype(str).tolist(), counts.tolist(), strict=True))
    wanted = (np.arange(len(side)) if side.ids is None else side.ids).astype(str).tolist()
    missing = [each for each in wanted if each not in known]
    if missing:
        got = f"{len(wanted) - len(missing)} of them; {missing[0]}, for instance, is not there"
        remedy = "write 0 for those without interactions" if len(missing) < len(wanted) else "check its column of ids"
        raise must_be(f"the counts in {path}", f"those of all {len(wanted)} {side.title}s", got, remedy)
    return np.array([known[each] for each in wanted])
