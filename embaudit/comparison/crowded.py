"""Neighbours that are kept in the lists of another model, also if many rows tie.

A neighbour of the old model is kept if the new list holds it, or if it ties with the
last entry of the new list, because the order of tied rows says nothing.

In a model whose rows have collapsed to one direction, all rows tie, so every neighbour
would be kept. Therefore a new list is *crowded* if more than `CROWDED` times as many
rows reach its last entry as reached the last entry of the old list. A row reaches an
entry if it is nearer than the entry or ties with it. In a crowded list, a neighbour
that ties with the last entry counts by its chance to be listed.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.ties import above_and_tied, tied_chances
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.linalg.nearest import CandidateBlock, NeighbourLists
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows

CROWDED = 2.0
"""A list is crowded if more than this many times as many rows as before reach its last
entry."""


def kept_chances(
    before: NeighbourLists, after: NeighbourLists, representatives: Indices
) -> Floats:
    """Return the chance of each old neighbour to be in the new list.

    Parameters
    ----------
    before, after : NeighbourLists
        Lists of the same m rows in the old model and in the new one, of length N.
    representatives : array of int (p,)
        For each row of the searched side, the number of the row that represents it in
        lists. Duplicates have one representative.

    Returns
    -------
    array of shape (m, N)
        1 for a neighbour that is kept and 0 for a neighbour that is lost, or that is
        missing in the old list. A neighbour that ties with the last entry of a crowded
        list has a chance between 0 and 1.

    Examples
    --------
    >>> from embaudit.linalg.nearest import neighbours
    >>> angles = np.linspace(0, 1, 9)
    >>> rows = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> before, collapsed = neighbours(rows, 2), neighbours(np.ones((9, 2)), 2)
    >>> float(kept_chances(before, collapsed, np.arange(9)).mean())
    0.25
    """
    is_kept = before.kept_in(after, tie=FLOAT32_TIE)
    chances = is_kept.astype(np.float64)
    # A list whose last entry ties with no other row is not crowded. Counting tied rows
    # takes as long as a search, so it is done for the other lists only.
    which = np.flatnonzero(after.end_in_tie(tie=FLOAT32_TIE))
    if len(which):
        before, after = before.take(which), after.take(which)
        is_tied = _tied_neighbours(before, after)
        chances_if_tied = _chances_at_last_entry(before, after, representatives)
        is_uncertain = is_kept[which] & is_tied
        chances[which] = np.where(
            is_uncertain, chances_if_tied[:, None], chances[which]
        )
    return chances


def crowded_chances(
    n_reaching_before: Indices, n_above: Indices, n_tied: Indices, length: int
) -> Floats:
    """Return how much a neighbour counts that ties with the last entry of a new list.

    Parameters
    ----------
    n_reaching_before : array of shape (m,)
        Number of rows that reach the last entry of each old list.
    n_above, n_tied : array of shape (m,)
        Number of rows above the last entry of each new list, and of rows that tie with
        it.
    length : int
        Length of the lists.

    Returns
    -------
    array of shape (m,)
        1 if the list is not crowded; otherwise the chance of a tied row to be listed.

    Examples
    --------
    Two lists of length 3. The last entry of the first list ties with one row that is
    not listed, and the last entry of the second list ties with nine such rows.

    >>> crowded_chances(np.array([3, 3]), np.array([2, 2]), np.array([2, 10]), 3)
    array([1. , 0.1])
    """
    is_crowded = n_above + n_tied > CROWDED * n_reaching_before
    return np.where(is_crowded, tied_chances(n_above, n_tied, length), 1.0)


def _tied_neighbours(before: NeighbourLists, after: NeighbourLists) -> Flags:
    """Flag the old neighbours that tie with the last entry of the new list."""
    row, place = np.nonzero(before.indices >= 0)
    pairs = np.column_stack([before.rows[row], before.indices[row, place]])
    cosines = np.full(before.indices.shape, -np.inf)
    cosines[row, place] = pair_cosines(after.searched, after.searched, pairs)
    _, is_tied = above_and_tied(cosines, after.cosines[:, -1:], FLOAT32_TIE)
    return is_tied


def _chances_at_last_entry(
    before: NeighbourLists, after: NeighbourLists, representatives: Indices
) -> Floats:
    """Return how much a neighbour counts that ties with the last entry of each list.

    All new lists end in a tie.
    """
    # If the last entry of an old list ties with no other row, only entries reach it.
    n_reaching_before = np.count_nonzero(before.indices >= 0, axis=1)
    which = np.flatnonzero(before.end_in_tie(tie=FLOAT32_TIE))
    if len(which):
        n_above, n_tied = _counts_at_last_entry(before.take(which), representatives)
        n_reaching_before[which] = n_above + n_tied
    n_above, n_tied = _counts_at_last_entry(after, representatives)
    length = after.indices.shape[1]
    return crowded_chances(n_reaching_before, n_above, n_tied, length)


def _counts_at_last_entry(
    lists: NeighbourLists, representatives: Indices
) -> tuple[Indices, Indices]:
    """Count the rows above the last entry of each list, and the rows that tie with it.

    All lists are full. The counts take one pass over all rows.
    """
    queries = unit_rows(lists.searched[lists.rows], none=0)
    own = representatives[lists.rows]
    last = lists.cosines[:, -1:]
    n_above = np.zeros(len(queries), dtype=np.intp)
    n_tied = np.zeros(len(queries), dtype=np.intp)
    for block in row_blocks(len(representatives), len(queries)):
        candidates = CandidateBlock.read(lists.searched, block, representatives)
        cosines = candidates.cosines(queries, own)
        is_above, is_tied = above_and_tied(cosines, last, FLOAT32_TIE)
        n_above += np.count_nonzero(is_above, axis=1)
        n_tied += np.count_nonzero(is_tied, axis=1)
    return n_above, n_tied
