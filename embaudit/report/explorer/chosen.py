"""Whose rows the explorer holds: the most popular or the longest of a side, under names that stay short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.words import cut, row_called
from embaudit.movements.twins import twins

if TYPE_CHECKING:
    from embaudit.core.checked import Indices
    from embaudit.model import FactorModel, SideName

ROWS, OTHERS = 300, 100
"""Rows that are explored, and rows of the other side whose predictions are shown, at most."""
NUMBERS = 24_000
"""Numbers of all families together, 260 KB as the page holds them, where that leaves `LEAST` rows of either side."""
LEAST = (24, 8)
"""Rows of either side that are explored however wide they are."""
LONGEST = 80
"""Characters of a name."""


def how_many(rank: int, families: int) -> tuple[int, int]:
    """Return how many rows of either side there is room for.

    Examples
    --------
    >>> how_many(32, 2), how_many(512, 2), how_many(4096, 1)
    ((281, 93), (24, 8), (24, 8))
    """
    room = NUMBERS // (max(rank, 1) * max(families, 1))
    return max(LEAST[0], min(ROWS, 3 * room // 4)), max(LEAST[1], min(OTHERS, room // 4))


def chosen_rows(model: FactorModel, role: SideName, most: int) -> Indices:
    """Choose the rows with most interactions, or the longest where nobody counted; none is a copy or set aside.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 3.0], [2.0, 2.0], [4.0, 4.0], [0.0, 0.0]])
    >>> chosen_rows(model, "right", 2)
    array([1, 2])
    """
    side = model.side(role)
    weight = np.asarray(side.norms if side.counts is None else side.counts, dtype=np.float64)
    alone = twins(model, role=role).first == np.arange(len(side))
    able = side.eligible_rows[(alone & (side.norms > 0))[side.eligible_rows]]
    return np.sort(able[np.argsort(-weight[able], kind="stable")[:most]])


def names_of(model: FactorModel, role: SideName, rows: Indices) -> list[str]:
    """Name rows: what is a bare number is called by what it is, and what is very long is cut.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> names_of(FactorModel.from_vectors([[1.0], [2.0]], ids=["7", "x" * 99]), "right", np.array([0, 1]))[0]
    'item 7'
    """
    title, labels = model.title(role), model.names(role)
    return [cut(row_called(title, name), LONGEST) for name in map(str, labels[rows])]
