"""Neighbours that are kept in other lists, also if these lists are crowded.

A former neighbour that ties with the last entry of the new list counts as kept, because
the order of tied rows says nothing. A model whose rows have collapsed to one direction
would keep every neighbour that way: all rows tie, so every row could be listed. If more
rows tie for the last places than could be listed before, a tied neighbour counts by its
chance to get one of the places.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.linalg.nearest import NeighbourLists
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows

CROWDED = 2.0
"""A list is crowded if this many times as many rows as before reach its last entry."""


def kept_shares(
    former: NeighbourLists, latter: NeighbourLists, first: Indices
) -> Floats:
    """Return how far each former neighbour is kept in the latter lists.

    Parameters
    ----------
    former, latter : NeighbourLists
        Lists of the same rows in the first and in the second model.
    first : array of shape (p,)
        The row that stands for each row in the lists.

    Returns
    -------
    array of shape (m, N)
        1 for a neighbour that is kept, 0 for one that is lost, and the chance to be
        listed for one that ties with many others.

    Examples
    --------
    >>> from embaudit.linalg.nearest import neighbours
    >>> angles = np.linspace(0, 1, 9)
    >>> rows = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> first, before = np.arange(9), neighbours(rows, 2)
    >>> collapsed = neighbours(np.ones((9, 2)), 2)
    >>> float(kept_shares(before, collapsed, first).mean())
    0.25
    """
    kept = former.kept_in(latter, tie=FLOAT32_TIE).astype(np.float64)
    tied = np.flatnonzero(_is_tied(latter))
    if not len(tied):
        return kept
    old, new = former.take(tied), latter.take(tied)
    # If the last entry ties with no other row, only the entries reach it.
    n_reach_before = np.count_nonzero(old.indices >= 0, axis=1)
    tied_before = np.flatnonzero(_is_tied(old))
    if len(tied_before):
        _, n_reach_before[tied_before] = _level_counts(old.take(tied_before), first)
    n_above, n_reach = _level_counts(new, first)
    chances = place_chances(n_reach_before, n_above, n_reach, kept.shape[1])

    # Only neighbours at the level of the last entry share the last places.
    row, place = np.nonzero(old.indices >= 0)
    pairs = np.column_stack([old.rows[row], old.indices[row, place]])
    cosines = pair_cosines(new.searched, new.searched, pairs)
    is_level = cosines <= new.cosines[row, -1] + FLOAT32_TIE
    kept[tied[row[is_level]], place[is_level]] *= chances[row[is_level]]
    return kept


def _is_tied(lists: NeighbourLists) -> Flags:
    """Flag lists whose last entry ties with a row that is not listed."""
    with np.errstate(invalid="ignore"):
        return np.asarray(lists.cosines[:, -1] - lists.runner_up <= FLOAT32_TIE)


def place_chances(
    n_reach_before: Indices, n_above: Indices, n_reach: Indices, length: int
) -> Floats:
    """Return the chance of an entry at the level of the last one to be listed.

    Parameters
    ----------
    n_reach_before : array of shape (m,)
        Number of rows that reach the last entry of each list in the first model.
    n_above : array of shape (m,)
        Number of rows above the last entry in the second model.
    n_reach : array of shape (m,)
        Number of rows that reach the last entry in the second model.
    length : int
        Length of the lists.

    Returns
    -------
    array of shape (m,)
        1 if hardly more rows than before reach the last entry.

    Examples
    --------
    >>> place_chances(np.array([3, 3]), np.array([2, 1]), np.array([4, 11]), 3)
    array([1. , 0.2])
    """
    n_level = np.maximum(n_reach - n_above, 1)
    chances = np.minimum(1.0, (length - n_above) / n_level)
    is_crowded = n_reach > CROWDED * n_reach_before
    return np.asarray(np.where(is_crowded, chances, 1.0))


def _level_counts(lists: NeighbourLists, first: Indices) -> tuple[Indices, Indices]:
    """Count the rows above the last entry of each list, and the rows that reach it."""
    queries = unit_rows(lists.searched[lists.rows], none=0)
    own = first[lists.rows]
    # A row without neighbours has no last entry, so no row is above it or reaches it.
    is_entry = ~np.isnan(lists.cosines)
    last = np.min(lists.cosines, axis=1, where=is_entry, initial=np.inf)[:, None]
    n_above = np.zeros(len(queries), dtype=np.intp)
    n_reach = np.zeros(len(queries), dtype=np.intp)
    for block in row_blocks(len(first), len(queries)):
        candidates = np.arange(block.start, block.stop)
        rows = np.asarray(lists.searched[block], dtype=np.float64)
        cosines = queries @ unit_rows(rows, none=0).T
        # The same rows as in a search: no zero rows, no duplicates, not the row itself.
        cosines[:, ~rows.any(axis=1) | (first[block] != candidates)] = -np.inf
        cosines[own[:, None] == candidates] = -np.inf
        n_above += np.count_nonzero(cosines > last + FLOAT32_TIE, axis=1)
        n_reach += np.count_nonzero(cosines >= last - FLOAT32_TIE, axis=1)
    return n_above, n_reach
