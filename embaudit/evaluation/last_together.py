"""Truth from behaviour: items that a user consumed one right after the other, last of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.evaluation.truth import Truth
from embaudit.io.tables.interactions import read_interactions
from embaudit.io.tables.titles import places_of

if TYPE_CHECKING:
    from embaudit.io.files import AnyPath
    from embaudit.model.side import Side

TIMES = ("timestamp", "time", "ts", "unixtime")
"""Customary names of a column of times."""


def last_together(path: AnyPath, side: Side, *, time: str | None = None) -> Truth:
    r"""Relate the last two items of every user, to judge similarities by what was consumed together.

    Only items of the model count, and users whose times tell which two were the last. Leave these interactions out of
    training: what a model has seen it may have learned by heart.

    Parameters
    ----------
    path : path
        A table of interactions, as `embaudit fit` reads it, with times.
    side : Side
        The items of the model, with ids.
    time : str, optional
        Column of the times, as numbers; by default timestamp, time, ts or unixtime.

    Returns
    -------
    Truth
        Its labels are the users, of whom each relates two items.

    Raises
    ------
    InputError
        If the table has no times, the items have no ids, or no user has two of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from embaudit.model import FactorModel
    >>> items = FactorModel.from_vectors(np.eye(3), ids=[10, 20, 30]).right_side
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "seen.csv")
    ...     _ = file.write_text("userId,movieId,timestamp\n1,10,5\n1,20,7\n1,30,6\n2,10,1\n2,30,2\n")
    ...     truth = last_together(file, items)
    >>> truth.labels, truth.table.toarray().tolist()
    (('1', '2'), [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    """
    from scipy.sparse import csr_array

    if side.ids is None:
        raise InputError(f"the {side.title}s must have ids, to be found in {path}; add them with --ids.")
    interactions = read_interactions(path, rating=_times(path, time), duplicates="last")
    rows = places_of(interactions.item_ids, side.ids)
    columns, users = [], []
    matrix = interactions.matrix
    for user in range(matrix.shape[0]):
        stored = slice(matrix.indptr[user], matrix.indptr[user + 1])
        in_model = rows[matrix.indices[stored]] >= 0
        items, times = matrix.indices[stored][in_model], matrix.data[stored][in_model]
        order = np.argsort(times, kind="stable")[::-1][:3]
        # Three at one time: the order of the last two is not recorded.
        if len(order) < 2 or (len(order) == 3 and times[order[1]] == times[order[2]]):
            continue
        columns.append(rows[items[order[:2]]])
        users.append(user)
    if len(users) < 2:
        remedy = f"check that {path} has the ids of the model, and times that differ"
        raise must_be("users whose last two items of the model are known", "at least 2", len(users), remedy)
    places = (np.concatenate(columns), np.repeat(np.arange(len(users)), 2))
    table = csr_array((np.ones(2 * len(users), dtype=np.float32), places), shape=(len(side), len(users)))
    return Truth(tuple(map(str, interactions.user_ids[users])), table, "were consumed together last", is_complete=True)


def _times(path: AnyPath, time: str | None) -> str:
    """Return the column of times, by name or by a customary one."""
    from embaudit.io.tables.columns import open_table

    if time is not None:
        return time
    table = open_table(path, customary=frozenset(TIMES))
    for name in table.names or ():
        if name.lower() in TIMES:
            return name
    what, names = f"the column of times in {path}", f"one of {', '.join(TIMES)}"
    raise must_be(what, names, table.listed(), "name it with --time")
