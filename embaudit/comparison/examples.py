"""Whose neighbours are shown side by side in two models, and who these are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.comparison.outcomes import TIED
from embaudit.kernels.nearest import neighbours
from embaudit.movements.neighbourhoods import by_name

if TYPE_CHECKING:
    from embaudit.comparison.matching import Match
    from embaudit.foundation.checked import Floats, Indices
    from embaudit.movements.neighbourhoods import Neighbourhood

EACH = 2
"""Entities that moved most, and entities in the middle."""


def examples(match: Match, rows: tuple[Floats, Floats], moved: Floats, *, n: int) -> tuple[Neighbourhood, ...]:
    """List the nearest shared entities, in either model, of two entities that moved most and of two in the middle.

    Parameters
    ----------
    match : Match
        The shared entities.
    rows : pair of array of shape (m, k)
        Their rows in the first model and in the second.
    moved : array of shape (m,)
        Mean change of the cosines of each; NaN where it has none.
    n : int
        Length of the lists.
    """
    chosen = example_rows(moved)
    if not len(chosen):
        return ()
    # Neighbours are judged among all that are shared: a list within one half would be nobody's.
    lists = [neighbours(x, min(n, len(moved) - 1), rows=chosen) for x in rows]
    return by_name(match.names, lists[0], lists[1], first=np.arange(len(moved)), tie=TIED)


def example_rows(moved: Floats) -> Indices:
    """Choose the rows that moved most and those in the middle; none where nothing moved.

    Examples
    --------
    >>> example_rows(np.array([0.1, 0.5, np.nan, 0.2, 0.4, 0.3])).tolist()
    [1, 4, 5, 3]
    >>> example_rows(np.array([0.0, 1e-9])).tolist()
    []
    """
    order = np.argsort(-moved, kind="stable")
    order = order[moved[order] > TIED]
    middle = order[EACH:][max(0, len(order) // 2 - EACH) :]
    return np.concatenate([order[:EACH], middle[:EACH]])
