"""The kept fraction of each old neighbour in the lists of a new model.

Let c be the cosine of a row with its old neighbour, computed in the new model, and let
l be the cosine of the row with the last entry of its new list. Cosines that differ by
at most `FLOAT32_TIE` are equal. The kept fraction of the neighbour is

    1    if c > l: the neighbour is listed,
    t    if c = l: the neighbour ties with the last entry,
    0    if c < l: the neighbour is lost.

The order of tied rows says nothing, so a tie loses no neighbour, and t = 1. But if all
rows of the new model have collapsed to one direction, then all of them tie, and every
neighbour would be kept. Therefore t is smaller in a *crowded* list. Let A rows be above
the last entry of the new list, let T rows tie with it, and let B rows have been above
the last entry of the old list or have tied with it. For lists of length N,

    t = (N − A) / T    if A + T > 2 B: the list is crowded,
    t = 1              otherwise.

In a crowded list, t is the chance of a tied row to be listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.core.ties import above_and_tied, tied_chances
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.linalg.nearest import CandidateBlock, NeighbourLists
from embaudit.linalg.rows import unit_rows

CROWDED = 2.0
"""A list is crowded if more than this many times as many rows as before are above its
last entry or tie with it."""


@dataclass(frozen=True, eq=False)
class TieCounts:
    """Numbers of rows above the last entry of each list, and of rows that tie with it.

    Examples
    --------
    >>> cosines = np.array([[0.9, 0.5, 0.5, 0.5, 0.2]])
    >>> counts = TieCounts.from_values(cosines, np.array([[0.5]]), FLOAT32_TIE)
    >>> counts.n_above, counts.n_tied
    (array([1]), array([3]))
    """

    n_above: Indices
    """(m,)"""
    n_tied: Indices
    """(m,) the last entry itself is one of them."""

    @classmethod
    def from_values(cls, values: Matrix, last: Matrix, tolerance: float) -> TieCounts:
        """Count the candidates that `above_and_tied` flags; see there."""
        is_above, is_tied = above_and_tied(values, last, tolerance)
        return cls(
            np.count_nonzero(is_above, axis=1), np.count_nonzero(is_tied, axis=1)
        )


def kept_fractions(
    before: NeighbourLists, after: NeighbourLists, representatives: Indices
) -> Floats:
    """Return the kept fraction of each old neighbour.

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
        From 0 for a neighbour that is lost to 1 for a neighbour that is kept. 0 if the
        old list has no neighbour there.

    Examples
    --------
    In a model whose rows are all the same, a list of 2 holds 2 of 8 other rows that
    tie.

    >>> from embaudit.linalg.nearest import neighbours
    >>> angles = np.linspace(0, 1, 9)
    >>> rows = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> before, collapsed = neighbours(rows, 2), neighbours(np.ones((9, 2)), 2)
    >>> np.unique(kept_fractions(before, collapsed, np.arange(9))).tolist()
    [0.25]
    """
    is_above, is_tied = above_and_tied(
        before.cosines_in(after), after.last_cosines[:, None], FLOAT32_TIE
    )
    fractions_if_tied = np.ones(len(after.rows))
    # If no unlisted row ties with the last entry, all tied rows are listed, so their
    # chance is 1 and nothing is counted.
    which = np.flatnonzero(after.end_in_tie(tie=FLOAT32_TIE))
    if len(which):
        fractions_if_tied[which] = tied_fractions(
            _count_ties(before.take(which), representatives),
            _count_ties(after.take(which), representatives),
            length=after.indices.shape[1],
        )
    return np.asarray(is_above + is_tied * fractions_if_tied[:, None])


def tied_fractions(before: TieCounts, after: TieCounts, length: int) -> Floats:
    """Return the kept fraction of a neighbour that ties with the last new entry.

    It is t in the formula of this module.

    Parameters
    ----------
    before, after : TieCounts
        Counts for m old lists and for the new lists of the same rows.
    length : int
        Length N of the lists.

    Returns
    -------
    array of shape (m,)
        1 if the new list is not crowded.

    Examples
    --------
    Two lists of length 3. The last new entry of the first list ties with one more row,
    and that of the second list ties with nine more rows.

    >>> before = TieCounts(n_above=np.array([2, 2]), n_tied=np.array([1, 1]))
    >>> after = TieCounts(n_above=np.array([2, 2]), n_tied=np.array([2, 10]))
    >>> tied_fractions(before, after, length=3)
    array([1. , 0.1])
    """
    n_reaching_before = before.n_above + before.n_tied
    n_reaching_after = after.n_above + after.n_tied
    is_crowded = n_reaching_after > CROWDED * n_reaching_before
    chances = tied_chances(after.n_above, after.n_tied, length)
    return np.where(is_crowded, chances, 1.0)


def _count_ties(lists: NeighbourLists, representatives: Indices) -> TieCounts:
    """Count the rows above the last entry of each list, and rows that tie with it."""
    listed_cosines = np.nan_to_num(lists.cosines, nan=-np.inf)
    last = lists.last_cosines[:, None]
    counts = TieCounts.from_values(listed_cosines, last, FLOAT32_TIE)
    # Unlisted rows count only if one of them ties with the last entry.
    which = np.flatnonzero(lists.end_in_tie(tie=FLOAT32_TIE))
    if len(which):
        among_all_rows = _count_ties_among_all(lists.take(which), representatives)
        counts.n_above[which] = among_all_rows.n_above
        counts.n_tied[which] = among_all_rows.n_tied
    return counts


def _count_ties_among_all(lists: NeighbourLists, representatives: Indices) -> TieCounts:
    """Count as `_count_ties` does, in one pass over all rows of the searched side."""
    queries = unit_rows(lists.searched[lists.rows], none=0)
    own = representatives[lists.rows]
    last = lists.last_cosines[:, None]
    n_above = np.zeros(len(queries), dtype=np.intp)
    n_tied = np.zeros(len(queries), dtype=np.intp)
    for block in row_blocks(len(representatives), len(queries)):
        candidates = CandidateBlock.read(lists.searched, block, representatives)
        cosines = candidates.cosines(queries, own)
        in_block = TieCounts.from_values(cosines, last, FLOAT32_TIE)
        n_above += in_block.n_above
        n_tied += in_block.n_tied
    return TieCounts(n_above, n_tied)
