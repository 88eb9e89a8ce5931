"""Interactions behind each row of a model: one number a row, or a table of ids and counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.core.checked import Floats
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import UNNAMED
from embaudit.io.codecs.npy import Npy
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.tables.columns import TableFile, numbers, open_table, read_by_id, read_columns
from embaudit.io.tables.interactions import USER_NAMES
from embaudit.io.tables.titles import ID_NAMES, places_of, require_rows
from embaudit.model.side import Side

IDS = ID_NAMES | USER_NAMES
COUNT_NAMES = frozenset({
    "count", "counts", "interactions", "ratings", "nratings", "ninteractions", "n", "size", "frequency", "plays",
    "playcount", "listens",
})  # fmt: skip


def counts_of(counts: Any, side: Side) -> Any:
    """Return counts that are at hand as they are, and read those in a file; the side checks them."""
    return read_counts(counts, side) if isinstance(counts, (str, os.PathLike)) else counts


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
        require_rows(len(array), len(side), where, f"{side.title} counts")
        return np.asarray(array, dtype=np.float64)
    table = _opened(where)
    if table.width == 1:
        counts = numbers(table, read_columns(table, {0: "number"})[0], 0)
        require_rows(len(counts), len(side), where, f"{side.title} counts")
        return counts
    ids, counts = read_by_id(table, *_positions(table), "number")
    wanted = np.arange(len(side)) if side.ids is None else side.ids
    places = places_of(wanted, ids)
    missing = np.flatnonzero(places < 0)
    if len(missing):
        got = f"{len(wanted) - len(missing)} of them; {wanted[missing[0]]}, for instance, is not there"
        remedy = "write 0 for those without interactions" if len(missing) < len(wanted) else "check its column of ids"
        raise must_be(f"the counts in {where}", f"those of all {len(wanted)} {side.title}s", got, remedy)
    return counts[places]


def _opened(path: Path) -> TableFile:
    customary = IDS | COUNT_NAMES
    try:
        return open_table(path, customary=customary)
    except InputError:
        # A single column is cut by no separator.
        table = open_table(path, sep=",", customary=customary)
        if table.width > 1:
            raise
        return table


def _positions(table: TableFile) -> tuple[int, int]:
    """Return the columns of ids and of counts."""
    if table.names is None and table.width == 2:
        return 0, 1
    places = [table.optional_column(what, None, names) for names, what in ((IDS, "id"), (COUNT_NAMES, "count"))]
    if table.width == 2 and places.count(None) == 1:
        rest = 1 - sum(place for place in places if place is not None)
        places = [rest if place is None else place for place in places]
    if places[0] is None or places[1] is None:
        raise must_be(f"the columns of {table.path}", "called id and count", table.listed(), "rename them")
    return places[0], places[1]
