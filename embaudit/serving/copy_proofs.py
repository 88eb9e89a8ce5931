"""Proofs that entries of neighbour lists stay in a copy of the vectors.

Let the row i of a table turn by the angle α_i on the way to a copy, and let θ_ij be the
angle between the rows i and j of the table. The angles of the copy differ from it by at
most `α_i + α_j` (triangle inequality on the sphere). So j stays before l in the list of
i if

    θ_il − θ_ij > 2 α_i + α_j + α_l.

This holds for every copy whose rows turn by at most these angles.

A query q that stays as it is compares the unit rows x_j, and in the copy the unit rows
`x_j + e_j`. So j stays before l in the list of q if

    q·(x_j − x_l) > ‖e_j − e_l‖.

An entry of a list of n rows stays listed if it stays before every row that is not
listed, because at most n - 1 rows can then come before it.

No proof may depend on rounding. Angles and cosines are therefore taken at the end of
their error bounds that makes a proof harder, and an entry must lead by more than
`FLOAT32_TIE`, so that it also stays in an index that computes cosines in float32 with
errors of at most half of that.

Not every pair of an entry and a row that is not listed has to be compared. The nearest
of these rows, and the rows that turned most, are compared one by one. All other rows
are at least as far away as the last of the nearest rows, and turned at most as far as
the last of the rows that turned most, so one bound holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.ties import cosine_rounding
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.linalg.rows import block_norms, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.serving.copy_formats import CopiedRows

N_NEAREST = 50
"""Number of nearest rows outside of a list that are compared with it one by one."""
N_TURNED = 1_000
"""Number of rows that turned most and are compared with all lists."""
ROUNDINGS = 8
"""Multiple of `cosine_rounding` that bounds the errors of a computed cosine or angle.

The order of tied entries of a list, the division by lengths, a rotation of the copy and
the sum of products each leave at most one or two of them.
"""


@dataclass(frozen=True, eq=False)
class Lists:
    """Nearest rows of some queries, in order, and a bound for all other rows."""

    indices: Indices
    """(m, c) row numbers, the nearest first; -1 if no row is left."""
    cosines: Floats
    """(m, c) their cosines; NaN if no row is left."""
    bounds: Floats
    """(m,) largest cosine of all other rows; -inf if there are none."""
    own: Indices | None
    """(m,) rows that the queries are, which are not listed; None for other queries."""


@dataclass(frozen=True, eq=False)
class Changes:
    """How far the rows of a table turn and move on the way to a copy."""

    angles: Floats = field(repr=False)
    """(p,) angles between the rows of the table and of the copy, in radians.

    π for a row that has no direction in one of them."""
    distances: Floats = field(repr=False)
    """(p,) lengths ‖e‖ of the changes of the rows of length 1."""
    is_listed: Flags = field(repr=False)
    """(p,) True if the row has a direction in the copy, so that lists can hold it."""
    rounding: float
    """Bound of the errors of these angles and lengths, and of cosines."""

    @property
    def largest_angles(self) -> Floats:
        """(p,) upper bounds of the angles."""
        return np.minimum(self.angles + self.rounding, np.pi)

    @property
    def largest_distances(self) -> Floats:
        """(p,) upper bounds of the lengths of the changes."""
        return self.distances + self.rounding


def measure_changes(x: Rows, copied: CopiedRows) -> Changes:
    """Measure how far each row of a table turns on the way to a copy.

    Angles are `2 arctan(‖x̂ − ŷ‖ / ‖x̂ + ŷ‖)`, which loses no digits near 0 and π.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> signs = CopiedRows(np.array([[1.0, -1.0], [1.0, 1.0]]), 1)
    >>> np.degrees(measure_changes(x, signs).angles).round(9)
    array([45.,  0.])
    """
    angles = np.empty(len(x))
    distances = np.empty(len(x))
    is_listed = np.empty(len(x), dtype=bool)
    width = max(x.shape[1], copied.rows.shape[1])
    # Four blocks of this width are in memory at a time.
    for block in row_blocks(len(x), 4 * width):
        original, change = unit_pair(x, copied, block)
        directed = original.any(axis=1)
        original *= 2
        original += change
        sums = block_norms(original)
        distances[block] = block_norms(change)
        is_listed[block] = np.isfinite(distances[block])
        angles[block] = 2 * np.arctan2(distances[block], sums)
        angles[block][~directed | ~is_listed[block]] = np.pi
    # A row that lists cannot hold has no change that matters.
    distances[~is_listed] = 0
    return Changes(angles, distances, is_listed, rounding_of(x, copied))


def rounding_of(x: Rows, copied: CopiedRows) -> float:
    """Bound the errors of computed cosines, angles and changes of unit rows."""
    width = max(x.shape[1], copied.rows.shape[1])
    return ROUNDINGS * cosine_rounding(width)


def unit_pair(
    x: Rows, copied: CopiedRows, which: slice | Indices
) -> tuple[Floats, Floats]:
    """Return unit rows of a table, and their changes e on the way to a copy.

    Both are in the space of the table, or in that of the copy if it has more columns.
    A row of zeros in the table stays zero. The change of a row that is zero in the copy
    is NaN.
    """
    original = unit_rows(np.asarray(x[which], dtype=np.float64), none=0)
    after = unit_rows(np.asarray(copied.rows[which], dtype=np.float64))
    if copied.axes is not None:
        after = after @ copied.axes
    n_columns, width = original.shape[1], after.shape[1]
    if width > n_columns:
        original = np.pad(original, ((0, 0), (0, width - n_columns)))
    change = -original
    change[:, :width] += after
    # NaN in the first columns only would be lost in sums of other columns.
    change[np.isnan(after[:, 0])] = np.nan
    return original, change


def stays_for_stored_rows(lists: Lists, n: int, x: Rows, changes: Changes) -> Flags:
    """Flag entries that stay in the list of a row whatever the copy does.

    Parameters
    ----------
    lists : Lists
        Lists of rows of the table, longer than n if there are more rows.
    n : int
        Number of entries of a list.
    x : array of shape (p, k)
        The table.
    changes : Changes
        How far its rows turn. Any other copy whose rows turn by at most these angles
        keeps the flagged entries, too.

    Returns
    -------
    array of bool (m, n)
    """
    if lists.own is None:
        raise ValueError("the queries must be rows of the table")
    turns = changes.largest_angles
    own_turns = turns[lists.own][:, None]
    listed = lists.indices[:, :n]
    # The angle of an entry is at most `farthest`, that of a rival at least `nearest`.
    farthest = np.arccos(np.clip(lists.cosines[:, :n] - changes.rounding, -1, 1))
    least_leads = _least_rival_angles(lists, n, x, changes)[:, None] - own_turns
    largest_angles = farthest + turns[listed] + own_turns
    least_cosines = np.cos(np.minimum(largest_angles, np.pi))
    rival_cosines = np.cos(np.clip(least_leads, 0, np.pi))
    # Without rivals, the difference of angles is infinite.
    rival_cosines = np.where(np.isinf(least_leads), -np.inf, rival_cosines)
    leads = least_cosines - rival_cosines > FLOAT32_TIE
    can_be_listed = (listed >= 0) & changes.is_listed[listed]
    has_list = changes.is_listed[lists.own][:, None]
    return np.asarray(leads & can_be_listed & has_list)


def _least_rival_angles(lists: Lists, n: int, x: Rows, changes: Changes) -> Floats:
    """Bound `θ_il − α_l` from below, over all rows l that a list leaves out, (m,)."""
    turns = changes.largest_angles
    rounding = changes.rounding
    rivals = lists.indices[:, n:]
    angles = np.arccos(np.clip(lists.cosines[:, n:] + rounding, -1, 1)) - turns[rivals]
    is_rival = (rivals >= 0) & changes.is_listed[rivals]
    least = np.min(angles, axis=1, where=is_rival, initial=np.inf)

    most_turned, other_turn = _most(turns, changes.is_listed)
    # arccos(-inf) is not defined; without other rows there is no such bound.
    has_others = np.isfinite(lists.bounds) & np.isfinite(other_turn)
    bounds = np.clip(lists.bounds + rounding, -1, 1)
    others = np.where(has_others, np.arccos(bounds) - other_turn, np.inf)
    least = np.minimum(least, others)

    for batch, cosines in _cosines_with(lists, x, x, most_turned):
        angles = np.arccos(np.clip(cosines + rounding, -1, 1)) - turns[most_turned]
        # Rows that are compared elsewhere have the cosine NaN.
        nearest = np.min(angles, axis=1, where=~np.isnan(angles), initial=np.inf)
        least[batch] = np.minimum(least[batch], nearest)
    return np.asarray(least)


def stays_for_queries(
    lists: Lists, n: int, queries: Rows, x: Rows, copied: CopiedRows, changes: Changes
) -> Flags:
    """Flag entries that stay in the list of a query that is not copied.

    Parameters
    ----------
    lists : Lists
        Lists of the queries, longer than n if there are more rows.
    n : int
        Number of entries of a list.
    queries : array of shape (m, k)
        The queries; the table itself if the queries are rows of it (`lists.own`).
    x : array of shape (p, k)
        The table.
    copied : CopiedRows
        The copy, whose rows have moved as `changes` says.

    Returns
    -------
    array of bool (m, n)
    """
    moves = changes.largest_distances
    margin = FLOAT32_TIE + 2 * changes.rounding
    listed = lists.indices[:, :n]
    # ‖e_j − e_l‖ ≤ ‖e_j‖ + ‖e_l‖, so an entry needs this much more than a rival has.
    leads = lists.cosines[:, :n] - moves[listed] - margin

    most_moved, other_move = _most(moves, changes.is_listed)
    stays = leads > (lists.bounds + other_move)[:, None]
    for batch, cosines in _cosines_with(lists, queries, x, most_moved):
        scores = cosines + moves[most_moved]
        largest = np.max(scores, axis=1, where=~np.isnan(scores), initial=-np.inf)
        stays[batch] &= leads[batch] > largest[:, None]

    # The nearest rivals, with the exact length of the difference of both changes.
    n_columns = max(x.shape[1], copied.rows.shape[1])
    for batch in row_blocks(len(listed), 4 * lists.indices.shape[1] * n_columns):
        differences = _move_differences(lists.indices[batch], n, x, copied)
        gaps = lists.cosines[batch, :n, None] - lists.cosines[batch, None, n:]
        rivals = lists.indices[batch, n:]
        is_rival = (rivals >= 0) & changes.is_listed[rivals]
        is_ahead = gaps > differences + margin
        stays[batch] &= (is_ahead | ~is_rival[:, None, :]).all(axis=2)
    return np.asarray(stays & (listed >= 0) & changes.is_listed[listed])


def _move_differences(indices: Indices, n: int, x: Rows, copied: CopiedRows) -> Floats:
    """Bound ‖e_j − e_l‖ from above for entries j and rivals l, (m, n, c − n)."""
    m, c = indices.shape
    numbers, places = np.unique(indices, return_inverse=True)
    _, change = unit_pair(x, copied, numbers)
    change = np.nan_to_num(change, nan=0.0)
    moved = change[places.reshape(m, c)]
    squares = np.einsum("mck,mck->mc", moved, moved)
    products = moved[:, :n] @ moved[:, n:].transpose(0, 2, 1)
    sizes = squares[:, :n, None] + squares[:, None, n:]
    # The products cancel the squares down to the rounding of their sizes.
    error = cosine_rounding(moved.shape[2]) * sizes
    return np.asarray(np.sqrt(np.maximum(sizes - 2 * products, 0) + error))


def _most(sizes: Floats, is_listed: Flags) -> tuple[Indices, float]:
    """Return the rows with the largest sizes, and a bound for all other rows.

    Only rows that lists can hold count. The bound is -inf if there are no others.
    """
    numbers = np.flatnonzero(is_listed)
    if len(numbers) <= N_TURNED:
        return numbers, -np.inf
    order = np.argpartition(-sizes[numbers], N_TURNED)
    return np.sort(numbers[order[:N_TURNED]]), float(sizes[numbers[order[N_TURNED]]])


def _cosines_with(
    lists: Lists, queries: Rows, x: Rows, rows: Indices
) -> Iterator[tuple[slice, Floats]]:
    """Yield cosines of batches of queries with some rows, in ascending order.

    Rows that are listed or among the nearest rivals, and the row that a query is, have
    the cosine NaN, because they are judged elsewhere.
    """
    if not len(rows):
        return
    units = unit_rows(np.asarray(x[rows], dtype=np.float64), none=0)
    for batch in row_blocks(len(lists.indices), len(rows) + x.shape[1]):
        which = batch if lists.own is None else lists.own[batch]
        cosines = unit_rows(np.asarray(queries[which], dtype=np.float64)) @ units.T
        listed = lists.indices[batch]
        places = np.searchsorted(rows, listed)
        places = np.minimum(places, len(rows) - 1)
        query, entry = np.nonzero(rows[places] == listed)
        cosines[query, places[query, entry]] = np.nan
        if lists.own is not None:
            own = lists.own[batch]
            place = np.minimum(np.searchsorted(rows, own), len(rows) - 1)
            query = np.flatnonzero(rows[place] == own)
            cosines[query, place[query]] = np.nan
        yield batch, cosines
