"""How much of the neighbour lists a copy of vectors keeps, also if rows tie.

A list holds n rows. If more rows tie for the last places than the list has, an index
returns any of them. So the list of a copy is taken as drawn at random: it holds all
rows above its last entry, and for the places that they leave, rows drawn from those
that tie with the last entry. In the original, every row that ties with the last entry
belongs to the list as much as the entry itself. Rows of the copy tie if their cosines
are equal (`TIE`), and rows of the original also if only computation in float32 could
swap them (`FLOAT32_TIE`).

The share of a list that a copy keeps is the expected share of its places that hold rows
which belong to the original list. A copy whose rows all have one direction keeps no
more than chance, and an exact copy keeps all of it, also among duplicates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import FLOAT32_TIE, TIE
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.serving.copy_proofs import Lists


@dataclass(frozen=True, eq=False)
class Searched:
    """A table, and the nearest rows of some queries in it by cosine."""

    rows: Rows = field(repr=False)
    """(p, k) the table."""
    queries: Rows = field(repr=False)
    """(m, k) the queries; the table itself if they are rows of it (`lists.own`)."""
    lists: Lists
    """Lists of the queries, longer than those that are compared, so that rows that tie
    with the last entry are usually in them."""

    def cosines_with(self, which: Indices, block: slice) -> Floats:
        """Return the cosines of some queries with a block of rows.

        Rows that no list can hold have the cosine -inf.
        """
        numbers = which
        if self.lists.own is not None:
            numbers = self.lists.own[which]
        queries = np.asarray(self.queries[numbers], dtype=np.float64)
        rows = np.asarray(self.rows[block], dtype=np.float64)
        cosines = unit_rows(queries, none=0) @ unit_rows(rows, none=0).T
        cosines[:, ~rows.any(axis=1)] = -np.inf
        if self.lists.own is not None:
            candidates = np.arange(block.start, block.start + len(rows))
            cosines[numbers[:, None] == candidates] = -np.inf
        return cosines

    def last_cosines(self, n: int) -> Floats:
        """Return the cosine of the last of n entries of each list; inf without one."""
        cosines = self.lists.cosines[:, :n]
        return np.asarray(np.nan_to_num(cosines, nan=np.inf).min(axis=1))


@dataclass(frozen=True, eq=False)
class _Counts:
    """Numbers of rows that can be in the list of each query in a copy."""

    above: Indices
    """(m,) rows above the last entry."""
    level: Indices
    """(m,) rows that tie with the last entry."""
    above_belonging: Indices
    """(m,) rows above the last entry that belong to the original list."""
    level_belonging: Indices
    """(m,) rows that tie with the last entry and belong to the original list."""


def shares_of_lists_kept(original: Searched, copy: Searched, n: int) -> Floats:
    """Return the share of the list of each query that a copy keeps, (m,).

    Parameters
    ----------
    original, copy : Searched
        The same queries in the original and in the copy.
    n : int
        Length of the lists.
    """
    last_before, last_after = original.last_cosines(n), copy.last_cosines(n)
    counts = _counts_in_lists(original, copy, last_before, last_after)
    # Rows outside of the longer lists can tie with the last entry, too.
    is_incomplete = original.lists.bounds >= last_before - FLOAT32_TIE
    is_incomplete |= copy.lists.bounds >= last_after - TIE
    which = np.flatnonzero(is_incomplete)
    if len(which):
        among_all = _counts_among_all_rows(
            original, copy, which, last_before[which], last_after[which]
        )
        counts.above[which] = among_all.above
        counts.level[which] = among_all.level
        counts.above_belonging[which] = among_all.above_belonging
        counts.level_belonging[which] = among_all.level_belonging
    n_entries = np.count_nonzero(original.lists.indices[:, :n] >= 0, axis=1)
    chances = np.minimum((n - counts.above) / np.maximum(counts.level, 1), 1)
    n_kept = counts.above_belonging + chances * counts.level_belonging
    # More rows than entries belong to a list if rows tie with its last entry.
    return np.asarray(np.minimum(n_kept, n_entries) / np.maximum(n_entries, 1))


def _counts_in_lists(
    original: Searched, copy: Searched, last_before: Floats, last_after: Floats
) -> _Counts:
    """Count rows of the longer lists."""
    # NaN, the cosine of a place without a row, is neither above nor at a level.
    belongs = original.lists.cosines >= last_before[:, None] - FLOAT32_TIE
    is_above = copy.lists.cosines > last_after[:, None] + TIE
    reaches_last = copy.lists.cosines >= last_after[:, None] - TIE
    is_level = reaches_last & ~is_above
    is_belonging = np.zeros(is_above.shape, dtype=bool)
    # One column at a time, because all at once take m × c × c flags.
    for column, belongs_of_column in zip(
        original.lists.indices.T, belongs.T, strict=True
    ):
        is_same = copy.lists.indices == column[:, None]
        is_belonging |= is_same & belongs_of_column[:, None]
    return _Counts(
        above=np.count_nonzero(is_above, axis=1),
        level=np.count_nonzero(is_level, axis=1),
        above_belonging=np.count_nonzero(is_above & is_belonging, axis=1),
        level_belonging=np.count_nonzero(is_level & is_belonging, axis=1),
    )


def _counts_among_all_rows(
    original: Searched,
    copy: Searched,
    which: Indices,
    last_before: Floats,
    last_after: Floats,
) -> _Counts:
    """Count rows of the whole table, for some of the queries."""
    counts = _Counts(*(np.zeros(len(which), dtype=np.intp) for _ in range(4)))
    for block in row_blocks(len(original.rows), len(which)):
        before = original.cosines_with(which, block)
        after = copy.cosines_with(which, block)
        belongs = before >= last_before[:, None] - FLOAT32_TIE
        is_above = after > last_after[:, None] + TIE
        is_level = (after >= last_after[:, None] - TIE) & ~is_above
        counts.above[:] += np.count_nonzero(is_above, axis=1)
        counts.level[:] += np.count_nonzero(is_level, axis=1)
        counts.above_belonging[:] += np.count_nonzero(is_above & belongs, axis=1)
        counts.level_belonging[:] += np.count_nonzero(is_level & belongs, axis=1)
    return counts
