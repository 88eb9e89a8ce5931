"""The nearest rows by cosine: the one exact search, streamed, and the lists it finds.

Candidates pass by in tiles that stay in the cache. Of each row only the best so far are kept, and a tile is looked at
closely only where it exceeds the last of them; no p×p and no m×p matrix is ever built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import Flags, Floats, Indices, Vector, as_count, as_rows, as_vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.errors import must_be
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.topk import Hits, TopK, topk_above
from embaudit.linalg.transformed_rows import Rows, with_shift
from embaudit.linalg.two_stage import MANY, SPARE_IN_A_CROWD, two_stage_topk

TIE = 1e-9
"""Cosines closer than this are one cosine: rows of one direction differ by rounding only."""
FIRST = 512
"""Candidates of the first block, which sets the threshold for the others; each of those is twice as large."""
MAX_BLOCK = 2048
"""Candidates of a block at most."""
TILE = 2**18
"""Cosines of a tile: in float64 they stay in the second-level cache."""


def tie_of(x: Rows) -> float:
    """Return what cosines of rows must differ by to differ at all: the rounding of their numbers may move as much.

    Examples
    --------
    >>> [f"{tie_of(np.eye(2, dtype=kind)):.1e}" for kind in (np.float64, np.float32)]
    ['1.0e-09', '1.9e-06']
    """
    return max(TIE, 16 * float(np.finfo(x.dtype).eps))


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """The exact N nearest of some rows by cosine, best first, the row itself left out.

    A neighbour is *kept* in other lists if it is listed there, or ties with the last one listed there: rows of one
    direction stay tied in every equivalent model, and their order says nothing.
    """

    rows: Indices
    """The rows asked for."""
    indices: Indices
    """(m, N) their neighbours; equal cosines in order of row number; -1 where no row with a direction is left."""
    cosines: Floats
    """(m, N) the cosines, NaN where there is no neighbour."""
    runner_up: Floats
    """(m,) the cosine of the first excluded row, -inf where none is left, NaN for a row without direction."""
    searched: Rows = field(repr=False)
    """(p, k) the rows searched."""

    @property
    def tied(self) -> Flags:
        """(m,) whether the last neighbour ties with the first row left out."""
        return self.cosines[:, -1] - self.runner_up <= TIE

    def first(self, n: int) -> NeighbourLists:
        """Return the lists of the `n` nearest of them."""
        if n >= self.indices.shape[1]:
            return self
        after = np.where(np.isnan(self.runner_up), np.nan, np.nan_to_num(self.cosines[:, n], nan=-np.inf))
        return replace(self, indices=self.indices[:, :n], cosines=self.cosines[:, :n], runner_up=after)

    def of(self, which: Indices) -> NeighbourLists:
        """Return some of the lists, by their position."""
        fields = ("rows", "indices", "cosines", "runner_up")
        return replace(self, **{name: getattr(self, name)[which] for name in fields})

    def among(self, first: Indices, n: int) -> NeighbourLists:
        """Return the lists of the `n` nearest that stand for themselves, as `neighbours` finds them with `first`.

        They are read off these where enough others are listed; only the rest are searched for.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.1], [0.0, 1.0]])
        >>> neighbours(x, 3).among(np.array([0, 1, 1, 3]), 1).indices.ravel().tolist()
        [1, 0, 0, 1]
        """
        listed = self.indices >= 0
        standing = listed & (first[self.indices] == self.indices) & (self.indices != first[self.rows, None])
        enough = np.count_nonzero(standing, axis=1) > n
        place = np.argsort(~standing, axis=1, kind="stable")[:, : n + 1]
        indices, cosines = (
            np.take_along_axis(self.indices, place, axis=1),
            np.take_along_axis(self.cosines, place, axis=1),
        )
        lists = replace(self, indices=indices[:, :n], cosines=cosines[:, :n], runner_up=cosines[:, -1].copy())
        rest = np.flatnonzero(~enough)
        if not len(rest):
            return lists
        again = neighbours(self.searched, n, rows=self.rows[rest], first=first)
        if len(rest) == len(self.rows):
            return again
        lists = replace(lists, indices=lists.indices.copy(), cosines=lists.cosines.copy())
        lists.indices[rest], lists.cosines[rest], lists.runner_up[rest] = again.indices, again.cosines, again.runner_up
        return lists

    def kept_in(self, other: NeighbourLists, *, tie: float = TIE) -> Flags:
        """Flag neighbours that are still among the nearest of the same rows elsewhere.

        Parameters
        ----------
        other : NeighbourLists
            Of the same rows in another matrix, row by row.
        tie : float
            Cosines there closer than this are one: rows stored in float32 differ by its rounding.

        Returns
        -------
        array of shape (m, N)
            False also where there is no neighbour, here or there.

        Examples
        --------
        >>> x = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
        >>> neighbours(x, 1).kept_in(neighbours(x[[0, 2, 1, 3]], 1)).ravel().tolist()
        [True, True, True, True]
        """
        if not np.array_equal(self.rows, other.rows):
            raise must_be("the lists compared", "of the same rows", f"{len(self.rows)} and {len(other.rows)} others")
        is_entry = self.indices >= 0
        # One column of the other lists at a time: all at once would be m × N × N flags.
        stays = np.zeros(self.indices.shape, dtype=bool)
        for column in other.indices.T:
            stays |= self.indices == column[:, None]
        stays &= is_entry
        row, place = np.nonzero(is_entry & ~stays)
        pairs = np.column_stack([self.rows[row], self.indices[row, place]])
        last = np.nan_to_num(other.cosines, nan=np.inf).min(axis=1)
        stays[row, place] = pair_cosines(other.searched, other.searched, pairs) >= last[row] - tie
        return stays

    def overlap(self, other: NeighbourLists, *, tie: float = TIE) -> float:
        """Share of the neighbours that are kept in other lists."""
        return int(np.count_nonzero(self.kept_in(other, tie=tie))) / max(1, int(np.count_nonzero(self.indices >= 0)))


def _blocks(n_rows: int, rank: int, keep: int) -> Iterator[slice]:
    """Cut many candidates into blocks that grow, so that all but the first meet a threshold."""
    most = max(keep, next(row_blocks(MAX_BLOCK, rank)).stop)
    start, size = 0, n_rows if n_rows <= most else min(max(FIRST, 2 * keep), most)
    while start < n_rows:
        yield slice(start, min(start + size, n_rows))
        start, size = start + size, min(2 * size, most)


def _search(x: Rows, rows: Indices, keep: int, first: Indices | None) -> TopK:
    """Find the `keep` largest cosines of some rows with all others; NaN for a row without direction."""
    if len(x) < MANY:
        return _search_in_float64(x, rows, keep, first)
    best, settled = two_stage_topk(x, rows, keep, first)
    rest = np.flatnonzero(~settled)
    # Rows whose list few candidates did not settle: more of them if rows are few, then everything in float64.
    if 0 < len(rest) * SPARE_IN_A_CROWD <= len(x):
        again, now = two_stage_topk(x, rows[rest], keep, first, spare=SPARE_IN_A_CROWD)
        best.columns[rest], best.values[rest] = again.columns, again.values
        rest = rest[~now]
    if len(rest):
        again = _search_in_float64(x, rows[rest], keep, first)
        best.columns[rest], best.values[rest] = again.columns, again.values
    return best


def _search_in_float64(x: Rows, rows: Indices, keep: int, first: Indices | None) -> TopK:
    """Search in float64 alone."""
    queries, best = unit_rows(x[rows], none=0), TopK(len(rows), keep)
    own = rows if first is None else first[rows]

    def largest(block: slice) -> list[Hits]:
        """Find the largest cosines of a block of candidates for every query."""
        number = np.arange(block.start, block.stop)
        if first is not None:
            number = number[first[block] == number]
        unit = unit_rows(x[block if first is None else number])
        empty = np.isnan(unit[:, 0])
        unit[empty] = 0
        parts = []
        for batch in row_blocks(len(rows), len(unit), budget=8 * TILE):
            tile = queries[batch] @ unit.T
            tile[:, empty] = -np.inf
            # A row is no neighbour of itself, nor of the row that stands for it: that column is ruled out where it is
            # in this block.
            place = np.searchsorted(number, own[batch])
            itself = np.flatnonzero(place < len(number))
            itself = itself[number[place[itself]] == own[batch][itself]]
            tile[itself, place[itself]] = -np.inf
            # Nothing exceeds a cosine of 1, though its rounding may.
            np.minimum(tile, 1, out=tile)
            row, column, value = topk_above(tile, best.threshold[batch], keep)
            parts.append((row + batch.start, number[column], np.maximum(value, -1)))
        return parts

    for parts in parallel_map(largest, _blocks(len(x), x.shape[1], keep)):
        best.merge(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    lost = ~queries.any(axis=1)
    best.columns[lost], best.values[lost] = -1, np.nan
    return best


def neighbours(
    x: Rows,
    n: int = 10,
    *,
    rows: ArrayLike | None = None,
    shift: Vector | None = None,
    first: Indices | None = None,
) -> NeighbourLists:
    """Find the exact `n` nearest rows by cosine.

    Parameters
    ----------
    x : array of shape (p, k)
        The side to search; rows without direction are nobody's neighbour and have none.
    n : int
        How many neighbours; at most p - 1.
    rows : array of int, optional
        For which rows; all by default.
    shift : array of shape (k,), optional
        Added to every row first, a block at a time.
    first : array of int (p,), optional
        The row that stands for each: only rows that stand for themselves are listed, and never for their own group.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> neighbours(x, 1).indices.ravel().tolist()
    [1, 0, 1]
    >>> neighbours(x, 1, first=np.array([0, 0, 2])).indices.ravel().tolist()
    [2, 2, 0]
    """
    if len(getattr(x, "shape", ())) != 2 or (isinstance(x, np.ndarray) and x.dtype.kind not in "fiu"):
        raise must_be("x", "a matrix of real numbers", f"{type(x).__name__}", "np.asarray makes one of rows")
    if len(x) < 2:
        raise must_be("the number of rows", "at least 2 to have neighbours", len(x))
    n = as_count(n, "the number of neighbours", most=len(x) - 1)
    queries: Indices = np.arange(len(x)) if rows is None else as_rows(rows, len(x))
    shift = None if shift is None else as_vector(shift, "shift", x.shape[1])
    first = None if first is None else as_rows(first, len(x), "first")
    if first is not None and len(first) != len(x):
        raise must_be("first", f"a vector of {len(x)} row numbers", f"{len(first)}")
    if not len(queries):
        raise must_be("rows", "at least one row number", "none")
    rows_searched = x if shift is None else with_shift(x, shift)
    parts = [_search(rows_searched, queries[batch], n + 1, first) for batch in row_blocks(len(queries), x.shape[1])]
    indices, cosines = (np.concatenate([getattr(top, name) for top in parts]) for name in ("columns", "values"))
    listed = np.where(indices[:, :-1] < 0, np.nan, cosines[:, :-1])
    return NeighbourLists(queries, indices[:, :-1], listed, cosines[:, -1], rows_searched)
