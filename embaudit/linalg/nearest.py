"""The nearest rows by cosine: an exact search in float64, and lists of neighbours.

The search computes the cosines of the given rows with a block of candidates at a time.
For each row it keeps the largest cosines so far, and merges only the cosines of a block
that exceed the smallest of them. No p×p and no m×p matrix is ever built.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import (
    Flags,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_count,
    as_rows,
)
from embaudit.core.parallel import BLOCK_BYTES, parallel_map, row_blocks
from embaudit.core.ties import cosine_rounding, order_lists
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import block_norms, row_norms, unit_rows
from embaudit.linalg.transformed_rows import Rows

Hits: TypeAlias = tuple[Indices, Indices, Vector]
"""Rows, columns and values of some entries of a tile, by rows and then by columns."""

CANDIDATES = 4096
"""Largest number of candidates in a block."""
TILE_BYTES = 2**22
"""Size of a tile of cosines, of some queries with the candidates of one block."""


def _largest_entries(tile: Matrix, keep: int) -> Flags:
    """Mark the `keep` largest entries of each row, and the first ones among equals.

    Examples
    --------
    >>> _largest_entries(np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 3.0]]), 2).tolist()
    [[True, True, False], [True, False, True]]
    """
    # The copy frees the partition, which is as large as the tile.
    smallest_kept = np.partition(tile, -keep, axis=1)[:, -keep, None].copy()
    is_kept = tile >= smallest_kept
    has_more = np.flatnonzero(np.count_nonzero(is_kept, axis=1) > keep)
    if len(has_more):
        # The tied entries fill the places that the larger entries leave, from the left.
        is_larger = tile[has_more] > smallest_kept[has_more]
        is_tied = tile[has_more] == smallest_kept[has_more]
        n_places = keep - np.count_nonzero(is_larger, axis=1)
        is_placed = np.cumsum(is_tied, axis=1) <= n_places[:, None]
        is_kept[has_more] = is_larger | (is_tied & is_placed)
    return np.asarray(is_kept)


def entries_above(tile: Matrix, threshold: Vector, keep: int) -> Hits:
    """Return the entries of each row above its threshold, or the `keep` largest ones.

    A row can have more than `keep` entries here. The limit only saves the sorting of
    whole rows while the thresholds are still low.
    """
    is_above = tile > threshold[:, None]
    is_crowded = np.count_nonzero(is_above) > 4 * keep * len(tile)
    if is_crowded and keep < tile.shape[1]:
        is_above &= _largest_entries(tile, keep)
    rows, columns = np.divmod(np.flatnonzero(is_above), tile.shape[1])
    return rows, columns, tile[rows, columns]


class TopK:
    """The `keep` largest entries of each row of a matrix that is read by column blocks.

    Entries are in descending order, equal entries in the order of their columns. Places
    of missing entries hold column -1 and value -inf. A block may be compared with an
    earlier, lower threshold: more entries are merged then, and the result is the same.
    """

    def __init__(self, n_rows: int, keep: int) -> None:
        self.keep = keep
        self.columns: Indices = np.full((n_rows, keep), -1, dtype=np.intp)
        self.values = np.full((n_rows, keep), -np.inf)

    @property
    def threshold(self) -> Vector:
        """(m,) values that an entry of a later column must exceed."""
        return self.values[:, -1]

    def add(self, tile: Matrix, first: int = 0) -> TopK:
        """Merge a block of columns, the first of which has the number `first`."""
        rows, columns, values = entries_above(tile, self.threshold, self.keep)
        return self.merge(rows, columns + first, values)

    def merge(self, rows: Indices, columns: Indices, values: Vector) -> TopK:
        """Merge entries of later columns, given by rows and then by columns."""
        touched, starts, counts = np.unique(rows, return_index=True, return_counts=True)
        if not len(touched):
            return self
        # Line up the kept entries of each touched row with its new entries behind them.
        # Rows with fewer new entries are filled up with -inf.
        line = np.repeat(np.arange(len(touched)), counts)
        place = self.keep + np.arange(len(rows)) - np.repeat(starts, counts)
        shape = (len(touched), self.keep + int(counts.max()))
        all_values = np.full(shape, -np.inf)
        all_values[:, : self.keep] = self.values[touched]
        all_values[line, place] = values
        all_columns: Indices = np.full(shape, -1, dtype=np.intp)
        all_columns[:, : self.keep] = self.columns[touched]
        all_columns[line, place] = columns
        # A stable sort leaves equal entries in the order of their columns.
        order = np.argsort(-all_values, axis=1, kind="stable")[:, : self.keep]
        self.values[touched] = np.take_along_axis(all_values, order, axis=1)
        self.columns[touched] = np.take_along_axis(all_columns, order, axis=1)
        return self


def tie_of(x: Rows) -> float:
    """Return the difference up to which two cosines of these rows count as equal.

    It is TIE, or what the rounding of the stored numbers can move a cosine by if that
    is larger.

    Examples
    --------
    >>> [f"{tie_of(np.eye(2, dtype=kind)):.1e}" for kind in (np.float64, np.float32)]
    ['1.0e-09', '1.9e-06']
    """
    return max(TIE, 16 * float(np.finfo(x.dtype).eps))


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """Lists of the N rows with the largest cosines to a row, for some of the rows.

    No row lists itself. A neighbour is *kept* in other lists if it is listed there, or
    if it ties with the last neighbour there, because rows of one direction stay tied in
    every equivalent model and their order says nothing.
    """

    rows: Indices
    """(m,) the rows that the lists belong to."""
    indices: Indices
    """(m, N) their neighbours. Neighbours whose cosines differ only by rounding are in
    order of row number; -1 if no row with a direction is left."""
    cosines: Floats
    """(m, N) the N largest cosines in descending order; NaN without a neighbour."""
    runner_up: Floats
    """(m,) the largest cosine that is not listed; -inf if no row is left, NaN for a row
    without direction."""
    searched: Rows = field(repr=False)
    """(p, k) the rows searched."""

    def end_in_tie(self, *, tie: float = TIE) -> Flags:
        """Flag lists whose last neighbour ties with the first row not listed.

        Parameters
        ----------
        tie : float
            Cosines that differ by at most this count as equal.

        Returns
        -------
        array of shape (m,)
            False for a list that is not full.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
        >>> neighbours(x, 1).end_in_tie().tolist()
        [True, False, False, True]
        """
        # NaN, the cosine of a missing entry, is not below the tolerance.
        return np.asarray(self.cosines[:, -1] - self.runner_up <= tie)

    @property
    def last_cosines(self) -> Vector:
        """(m,) cosine of the last entry of each list; inf for an empty list."""
        return np.asarray(np.nan_to_num(self.cosines, nan=np.inf).min(axis=1))

    def first(self, n: int) -> NeighbourLists:
        """Return the first `n` entries of each list."""
        if n >= self.indices.shape[1]:
            return self
        has_no_direction = np.isnan(self.runner_up)
        runner_up = np.nan_to_num(self.cosines[:, n], nan=-np.inf)
        runner_up[has_no_direction] = np.nan
        return replace(
            self,
            indices=self.indices[:, :n],
            cosines=self.cosines[:, :n],
            runner_up=runner_up,
        )

    def take(self, which: Indices) -> NeighbourLists:
        """Return some of the lists, by their position."""
        return replace(
            self,
            rows=self.rows[which],
            indices=self.indices[which],
            cosines=self.cosines[which],
            runner_up=self.runner_up[which],
        )

    def among(self, first: Indices, n: int) -> NeighbourLists:
        """Restrict the lists to rows that represent themselves, and to length `n`.

        The result is that of `neighbours` with `n` and `first`. A list that holds too
        few rows that represent themselves is searched for again.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.1], [0.0, 1.0]])
        >>> lists = neighbours(x, 3).among(np.array([0, 1, 1, 3]), 1)
        >>> lists.indices.ravel().tolist()
        [1, 0, 0, 1]
        """
        is_listed = self.indices >= 0
        is_representative = first[self.indices] == self.indices
        is_of_own_group = self.indices == first[self.rows, None]
        stays = is_listed & is_representative & ~is_of_own_group
        # The entries that stay come first, in their order; one more is the runner-up.
        place = np.argsort(~stays, axis=1, kind="stable")[:, : n + 1]
        indices = np.take_along_axis(self.indices, place, axis=1)
        cosines = np.take_along_axis(self.cosines, place, axis=1)
        is_short = np.count_nonzero(stays, axis=1) <= n
        if is_short.all():
            return neighbours(self.searched, n, rows=self.rows, first=first)
        lists = replace(
            self,
            indices=indices[:, :n].copy(),
            cosines=cosines[:, :n].copy(),
            runner_up=cosines[:, -1].copy(),
        )
        if is_short.any():
            rows = self.rows[is_short]
            found = neighbours(self.searched, n, rows=rows, first=first)
            lists.indices[is_short] = found.indices
            lists.cosines[is_short] = found.cosines
            lists.runner_up[is_short] = found.runner_up
        return lists

    def kept_in(self, other: NeighbourLists, *, tie: float = TIE) -> Flags:
        """Flag neighbours that are still among the nearest in other lists.

        Parameters
        ----------
        other : NeighbourLists
            Lists of the same rows in another matrix, in the same order.
        tie : float
            Cosines in the other matrix that differ by at most this count as equal.

        Returns
        -------
        array of shape (m, N)
            False also if there is no neighbour, in these or in the other lists.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
        >>> neighbours(x, 1).kept_in(neighbours(x[[0, 2, 1, 3]], 1)).ravel().tolist()
        [True, True, True, True]
        """
        self._require_rows_of(other)
        is_entry = self.indices >= 0
        # Compare with one column of the other lists at a time, because all at once
        # would take m × N × N flags.
        stays = np.zeros(self.indices.shape, dtype=bool)
        for column in other.indices.T:
            stays |= self.indices == column[:, None]
        stays &= is_entry
        row, place = np.nonzero(is_entry & ~stays)
        pairs = np.column_stack([self.rows[row], self.indices[row, place]])
        cosines = pair_cosines(other.searched, other.searched, pairs)
        stays[row, place] = cosines >= other.last_cosines[row] - tie
        return stays

    def cosines_in(self, other: NeighbourLists) -> Matrix:
        """Return the cosines of the neighbours in the matrix of other lists.

        Parameters
        ----------
        other : NeighbourLists
            Lists of the same rows in another matrix, in the same order.

        Returns
        -------
        array of shape (m, N)
            -inf without a neighbour, and for a neighbour without direction in the other
            matrix.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        >>> y = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
        >>> neighbours(x, 1).cosines_in(neighbours(y, 1)).ravel().tolist()
        [0.0, 0.0, 0.8]
        """
        self._require_rows_of(other)
        row, place = np.nonzero(self.indices >= 0)
        pairs = np.column_stack([self.rows[row], self.indices[row, place]])
        found = pair_cosines(other.searched, other.searched, pairs)
        cosines = np.full(self.indices.shape, -np.inf)
        cosines[row, place] = np.nan_to_num(found, nan=-np.inf)
        return cosines

    def _require_rows_of(self, other: NeighbourLists) -> None:
        """Raise InputError unless other lists belong to the same rows."""
        if not np.array_equal(self.rows, other.rows):
            others = counted(len(other.rows), "other row")
            raise must_be(
                "the compared lists",
                "lists of the same rows",
                f"lists of {counted(len(self.rows), 'row')} and of {others}",
            )

    def overlap(self, other: NeighbourLists, *, tie: float = TIE) -> float:
        """Share of the neighbours that are kept in other lists."""
        n_kept = int(np.count_nonzero(self.kept_in(other, tie=tie)))
        n_neighbours = int(np.count_nonzero(self.indices >= 0))
        return n_kept / max(1, n_neighbours)


@dataclass(frozen=True, eq=False)
class CandidateBlock:
    """Consecutive rows of a searched side, and which of them a list can hold.

    Examples
    --------
    >>> x = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])
    >>> block = CandidateBlock.read(x, slice(0, 3), first=np.array([0, 1, 0]))
    >>> block.cosines(np.array([[1.0, 0.0]]), own=np.array([1])).tolist()
    [[0.6, -inf, -inf]]
    """

    start: int
    """Number of the first row of the block."""
    rows: Matrix
    """(c, k) in float64."""
    norms: Vector
    """(c,) lengths; 1 for a row without direction."""
    excluded: Indices
    """Places in the block of rows that no list holds: rows without direction, and rows
    that another row represents."""

    @classmethod
    def read(cls, x: Rows, block: slice, first: Indices | None) -> CandidateBlock:
        """Read some rows; `x` and `first` as in `neighbours`."""
        rows = np.ascontiguousarray(x[block], dtype=np.float64)
        norms = block_norms(rows)
        is_excluded = norms == 0
        norms[is_excluded] = 1
        if first is not None:
            is_excluded |= first[block] != np.arange(block.start, block.stop)
        return cls(block.start, rows, norms, np.flatnonzero(is_excluded))

    def cosines(self, queries: Matrix, own: Indices) -> Matrix:
        """Return the cosines of queries with the rows of the block.

        Parameters
        ----------
        queries : array of shape (m, k)
            Unit rows.
        own : array of int (m,)
            Number of the row that represents each query, which its list leaves out.

        Returns
        -------
        array of shape (m, c)
            -inf for a row that the list of the query cannot hold.
        """
        cosines: Matrix = queries @ self.rows.T
        cosines /= self.norms
        cosines[:, self.excluded] = -np.inf
        # A row is no neighbour of itself, nor of the row that represents it.
        place = own - self.start
        itself = np.flatnonzero((place >= 0) & (place < len(self.rows)))
        cosines[itself, place[itself]] = -np.inf
        return cosines


def _search(
    x: Rows,
    rows: Indices,
    keep: int,
    first: Indices | None,
    level: Vector | None = None,
) -> TopK:
    """Find the `keep` largest cosines of some rows with all others.

    Parameters
    ----------
    x, rows, first
        As in `neighbours`.
    keep : int
        Number of cosines.
    level : array of shape (m,), optional
        A cosine for each query. Cosines that differ from it only by rounding are
        replaced by it, so their rows enter the list in order of their numbers.

    Returns
    -------
    TopK
        NaN and -1 for a row without direction.
    """
    queries = unit_rows(x[rows], none=0)
    own = rows if first is None else first[rows]
    best = TopK(len(rows), keep)

    def search_block(block: slice) -> list[Hits]:
        """Find the largest cosines of every query with a block of candidates."""
        candidates = CandidateBlock.read(x, block, first)
        hits = []
        for batch in row_blocks(len(rows), len(candidates.rows), budget=TILE_BYTES):
            cosines = candidates.cosines(queries[batch], own[batch])
            if level is not None:
                levels = level[batch, None]
                is_tied = np.abs(cosines - levels) <= cosine_rounding(x.shape[1])
                np.copyto(cosines, levels, where=is_tied)
            row, column, cosine = entries_above(cosines, best.threshold[batch], keep)
            # Rounding can move a cosine beyond 1.
            cosine = np.clip(cosine, -1, 1)
            hits.append((row + batch.start, column + block.start, cosine))
        return hits

    n_candidates = min(CANDIDATES, max(1, BLOCK_BYTES // (8 * x.shape[1])))
    blocks = [
        slice(start, min(start + n_candidates, len(x)))
        for start in range(0, len(x), n_candidates)
    ]
    for hits in parallel_map(search_block, blocks):
        row, column, cosine = (np.concatenate(part) for part in zip(*hits, strict=True))
        best.merge(row, column, cosine)
    is_zero = ~queries.any(axis=1)
    best.columns[is_zero] = -1
    best.values[is_zero] = np.nan
    return best


def _with_ties_in_order(
    x: Rows, rows: Indices, keep: int, first: Indices | None, first_tied: bool
) -> TopK:
    """Find the `keep` largest cosines, with tied rows in order of their numbers.

    Cosines tie if they differ only by rounding. The last entry is the runner-up. If it
    ties with the entry before it, rounding would decide which of the tied rows are
    listed, so these lists are searched again with all tied cosines made equal, unless
    `first_tied` is False.
    """
    best = _search(x, rows, keep, first)
    tolerance = cosine_rounding(x.shape[1])
    last = best.values[:, -2]
    with np.errstate(invalid="ignore"):
        is_tied = last - best.values[:, -1] <= tolerance
    tied = np.flatnonzero(is_tied)
    if first_tied and len(tied):
        again = _search(x, rows[tied], keep, first, last[tied])
        best.columns[tied] = again.columns
    best.columns = order_lists(best.columns, best.values, tolerance)
    return best


MOST_LISTED = 10
"""Default length of a list."""


def list_length(n: int | None, n_rows: int, *, left_out: int = 0) -> int:
    """Return the length of neighbour lists.

    The default is 10, but at most a third of the other rows, because a list of all
    other rows cannot change.

    Parameters
    ----------
    n : int, optional
        Length that the user gave.
    n_rows : int
        Number of rows that are searched, and that have lists.
    left_out : int
        Number of rows, in addition to its own, that each list must leave out.

    Examples
    --------
    >>> list_length(None, 9_724), list_length(None, 10), list_length(None, 2)
    (10, 3, 1)
    >>> list_length(5, 10), list_length(9, 5)
    (5, 4)
    """
    if n is None:
        n = min(MOST_LISTED, max(1, round((n_rows - 1) / 3)))
    return min(n, n_rows - 1 - left_out)


def require_length(n: int | None, n_rows: int) -> None:
    """Raise InputError unless each of `n_rows` rows has `n` other rows.

    Examples
    --------
    >>> require_length(12, 10)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: n_neighbours must be an integer from 1 to 9, because a
    row has 9 other rows; got 12.
    """
    if n is not None and as_count(n, "n_neighbours") >= max(n_rows, 2):
        others = counted(n_rows - 1, "other row")
        length = f"an integer from 1 to {n_rows - 1:,}, because a row has {others}"
        raise must_be("n_neighbours", length, n)


def neighbours(
    x: Rows,
    n: int = 10,
    *,
    rows: ArrayLike | None = None,
    first: Indices | None = None,
    first_tied: bool = True,
) -> NeighbourLists:
    """Find the exact `n` nearest rows by cosine.

    Parameters
    ----------
    x : array of shape (p, k)
        The side to search. Rows without direction are listed nowhere and have no list.
    n : int
        Number of neighbours, at most p - 1.
    rows : array of int, optional
        Rows whose neighbours to find; all rows by default.
    first : array of int (p,), optional
        For each row, the number of the row that represents it. Only rows that represent
        themselves are listed, and the list of a row leaves out its representative.
    first_tied : bool
        Of the rows that tie with the last entry, list those of the smallest numbers.
        False saves a second search where many rows tie. Rounding then decides which of
        them are listed, so use only the cosines of the last entries.

    Returns
    -------
    NeighbourLists
        `indices` and `cosines` of shape (m, n), best first.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> neighbours(x, 1).indices.ravel().tolist()
    [1, 0, 1]
    >>> neighbours(x, 1, first=np.array([0, 0, 2])).indices.ravel().tolist()
    [2, 2, 0]
    >>> neighbours(x, 1, first=np.array([0, 1]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: first must be a vector of 3 row numbers; got 2.
    """
    is_matrix = len(getattr(x, "shape", ())) == 2
    if is_matrix and isinstance(x, np.ndarray):
        is_matrix = x.dtype.kind in "fiu"
    if not is_matrix:
        raise must_be(
            "x",
            "a matrix of real numbers",
            f"{type(x).__name__}",
            "convert rows with np.asarray",
        )
    if len(x) < 2:
        raise must_be("the number of rows", "at least 2 to have neighbours", len(x))
    n = as_count(n, "the number of neighbours", most=len(x) - 1)
    queries: Indices = np.arange(len(x)) if rows is None else as_rows(rows, len(x))
    if first is not None:
        first = as_rows(first, len(x), "first")
        if len(first) != len(x):
            raise must_be("first", f"a vector of {len(x)} row numbers", f"{len(first)}")
    if not len(queries):
        raise must_be("rows", "at least one row number", "an empty list")
    found = [
        _with_ties_in_order(x, queries[batch], n + 1, first, first_tied)
        for batch in row_blocks(len(queries), x.shape[1])
    ]
    indices = np.concatenate([best.columns for best in found])
    cosines = np.concatenate([best.values for best in found])
    runner_up = cosines[:, -1].copy()
    indices, cosines = indices[:, :-1], cosines[:, :-1]
    cosines = np.where(indices < 0, np.nan, cosines)
    return NeighbourLists(queries, indices, cosines, runner_up, x)


def nearest_by_product(
    queries: Floats, candidates: Floats, itself: Indices, n: int
) -> Indices:
    """Find the `n` candidates with the largest dot products with each query.

    Products tie if they differ by less than TIE times the largest product that the
    lengths of the query and of the candidates allow. Tied candidates are listed in the
    order of their numbers.

    Parameters
    ----------
    queries : array of shape (q, k)
    candidates : array of shape (m, k)
    itself : array of int (q,)
        Number of the candidate that each query itself is, which is not listed.
    n : int
        Length of the lists, at most m - 2.

    Returns
    -------
    array of int (q, n)

    Examples
    --------
    >>> x = np.array([[1.0], [3.0], [2.0], [2.0], [0.0]])
    >>> nearest_by_product(x[:2], x, np.array([0, 1]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    largest = float(row_norms(candidates).max())
    scale = np.maximum(block_norms(queries) * largest, np.finfo(np.float64).tiny)
    queries = queries / scale[:, None]
    blocks = [
        slice(start, min(start + CANDIDATES, len(candidates)))
        for start in range(0, len(candidates), CANDIDATES)
    ]

    def search(which: Indices, level: Vector | None = None) -> TopK:
        """Find the n + 1 largest products, in units of the scale."""
        best = TopK(len(which), n + 1)
        for block in blocks:
            products = queries[which] @ candidates[block].T
            if level is not None:
                is_tied = np.abs(products - level[:, None]) <= TIE
                np.copyto(products, level[:, None], where=is_tied)
            place = itself[which] - block.start
            own = np.flatnonzero((place >= 0) & (place < products.shape[1]))
            products[own, place[own]] = -np.inf
            best.add(products, block.start)
        return best

    def lists(batch: slice) -> Indices:
        which = np.arange(len(queries))[batch]
        best = search(which)
        last = best.values[:, n - 1]
        # If the last one listed ties with the first one that is not, rounding would
        # decide which one is listed.
        tied = np.flatnonzero(last - best.values[:, n] <= TIE)
        if len(tied):
            again = search(which[tied], last[tied])
            best.columns[tied] = again.columns
            best.values[tied] = again.values
        return order_lists(best.columns[:, :n], best.values[:, :n], TIE)

    batches = row_blocks(
        len(queries), min(len(candidates), CANDIDATES), budget=TILE_BYTES
    )
    return np.concatenate(list(parallel_map(lists, batches)))
