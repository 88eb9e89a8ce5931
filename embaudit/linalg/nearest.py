"""The nearest rows by cosine: the one exact search, streamed, and the lists it finds.

Candidates pass by in tiles that stay in the cache. Of each row only the best so far are kept, and a tile is looked at
closely only where it exceeds the last of them; no p×p and no m×p matrix is ever built.

Among many rows the search has two steps: float32 products with a proven bound of their error, then float64 for what is
near. With u the unit roundoff of float32 and `γ = (k + 8) u`, a row y = x·linear + shift computed in float32 is off by
at most `γ (‖x‖‖linear‖ + ‖shift‖)`, its direction by at most 2.5 times that over its length, and a product of two
directions by `3 γ` more. Candidates that may exceed the threshold within these bounds are kept, and their cosines
computed in float64. A list is settled if its last cosine exceeds every bound that was left out; the few others are
searched again in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.ties import TIE, cosine_rounding, order_lists
from embaudit.errors import must_be
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import Rows, Singles, lengths, single

Hits: TypeAlias = tuple[Indices, Indices, Vector]
"""Row, column and value of some entries of a tile, in order of rows and then of columns."""


def _foremost(tile: Matrix, keep: int) -> Flags:
    """Mark the `keep` largest of each row, and of equals the first: a partition alone leaves them to chance.

    Examples
    --------
    >>> _foremost(np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 3.0]]), 2).tolist(), _foremost(np.ones((1, 2)), 2).tolist()
    ([[True, True, False], [True, False, True]], [[True, True]])
    """
    if keep >= tile.shape[1]:
        return np.ones(tile.shape, dtype=bool)
    least = np.partition(tile, tile.shape[1] - keep, axis=1)[:, -keep, None]
    marked = tile >= least
    cut = np.flatnonzero(np.count_nonzero(marked, axis=1) > keep)
    above, level = tile[cut] > least[cut], tile[cut] == least[cut]
    # Among equals at the limit the first ones stay, as many as there is room for.
    room = keep - np.count_nonzero(above, axis=1)[:, None]
    marked[cut] = above | (level & (np.cumsum(level, axis=1) <= room))
    return np.asarray(marked)


def topk_above(tile: Matrix, threshold: Vector, keep: int) -> Hits:
    """Take what exceeds the threshold of its row, at most `keep` a row where that is much."""
    marked = tile > threshold[:, None]
    if np.count_nonzero(marked) > keep * (8 + 4 * len(tile)):
        marked = _foremost(tile, keep)
    flat = np.flatnonzero(marked)
    return *np.divmod(flat, tile.shape[1]), tile.ravel()[flat]


class TopK:
    """The `keep` largest entries so far of each row of a wide matrix that passes by in blocks of columns.

    Best first, equals in the order of their columns; -1 at -inf where too few passed by. A block may be compared with
    the threshold of an earlier moment: then more of it is merged, with the same result.
    """

    def __init__(self, n_rows: int, keep: int) -> None:
        self.keep = keep
        self.columns: Indices = np.full((n_rows, keep), -1, dtype=np.intp)
        self.values = np.full((n_rows, keep), -np.inf)

    @property
    def threshold(self) -> Vector:
        """(m,) what an entry of a later column must exceed."""
        return self.values[:, -1]

    def add(self, tile: Matrix, first: int = 0) -> TopK:
        """Merge a block of columns, the first of which is number `first`."""
        row, column, value = topk_above(tile, self.threshold, self.keep)
        return self.merge(row, column + first, value)

    def merge(self, row: Indices, column: Indices, value: Vector) -> TopK:
        """Merge entries of later columns, given in order of rows and then of columns."""
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        touched, counts = row[starts], np.diff(np.append(starts, len(row)))
        if len(touched):
            # Each touched row gets its entries so far, and behind them its new ones; rows of fewer are filled up with
            # -inf.
            line = np.repeat(np.arange(len(touched)), counts)
            place = self.keep + np.arange(len(row)) - np.repeat(starts, counts)
            shape = (len(touched), self.keep + int(counts.max()))
            values, columns = np.full(shape, -np.inf), np.full(shape, -1, dtype=np.intp)
            values[:, : self.keep], columns[:, : self.keep] = (
                self.values[touched],
                self.columns[touched],
            )
            values[line, place], columns[line, place] = (
                value,
                np.where(value > -np.inf, column, -1),
            )
            # Later columns stand last, so that a stable sort keeps equals in the order of their columns.
            order = np.argsort(-values, axis=1, kind="stable")[:, : self.keep]
            self.values[touched] = np.take_along_axis(values, order, axis=1)
            self.columns[touched] = np.take_along_axis(columns, order, axis=1)
        return self


MANY = 30_000
"""Rows from which two steps take less time than one, of 64 columns or more; of 16, it takes some 100,000."""
SPARE = 16
"""Extra candidates kept per query; they absorb float32 error, so that few queries need the float64 search."""
COLUMNS_A_SPARE = 64
"""Columns for which one more is kept: bounds grow with the columns, so that more of them overlap."""
SPARE_IN_A_CROWD = 2_000
"""Candidates kept for rows that fewer settle nothing for: near the mean row very many bounds overlap."""
TILE = 2**18
"""Cosines of a tile."""
MAX_SINGLE_BLOCK = 16_384
"""Rows of a block at most."""
MIN_SINGLE_BLOCK = 1_024
"""Rows of a block at least."""
NUMBERS = 2**22
"""Numbers of a block at most, from `MIN_SINGLE_BLOCK` rows on: several blocks are mapped in float64 at a time."""
LOOKED_UP = 2**22
"""Bytes of candidates in float64 at a time."""
WAITING = 4
"""Hits for each query that wait at least before they are merged."""
ROUNDOFF = 2.0**-24
SIZES = (1e-15, 1e15)
"""Lengths between which squares in float32 neither overflow nor vanish."""


def two_stage_topk(
    x: Rows,
    rows: Indices,
    keep: int,
    first: Indices | None = None,
    *,
    spare: int | None = None,
) -> tuple[TopK, Flags]:
    """Find the `keep` largest cosines of some rows with all others, and tell which lists are settled.

    Parameters
    ----------
    x : Rows
        (p, k).
    rows : array of int (m,)
        For which rows.
    keep : int
        How many.
    first : array of int (p,), optional
        The row that stands for each, as in `neighbours`.
    spare : int, optional
        Candidates beside these whose cosines are computed in float64.

    Returns
    -------
    best : TopK
        In float64; NaN for a row without direction.
    settled : array of bool (m,)
        Where these are proven to be the largest ones.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> best, settled = two_stage_topk(x, np.array([0]), 1)
    >>> best.columns.tolist(), settled.tolist()
    ([[1]], [True])
    """
    queries = unit_rows(x[rows], none=0)
    n_candidates = keep + (
        SPARE + x.shape[1] // COLUMNS_A_SPARE if spare is None else spare
    )
    bounds = _upper_bounds(x, rows, queries.astype(np.float32), n_candidates, first)
    exact = _exact(x, queries, bounds, keep)
    order = np.lexsort((bounds.columns, -exact), axis=1)[:, :keep]
    best = TopK(len(queries), keep)
    best.columns = np.take_along_axis(bounds.columns, order, axis=1)
    best.values = np.take_along_axis(exact, order, axis=1)
    best.columns[best.values == -np.inf] = -1
    # The last bound kept exceeds every bound that was left out; -inf means that none was.
    settled = (best.values[:, -1] > bounds.threshold) | (bounds.threshold == -np.inf)
    lost = ~queries.any(axis=1)
    best.columns[lost], best.values[lost] = -1, np.nan
    return best, settled | lost


def _exact(x: Rows, queries: Floats, bounds: TopK, keep: int) -> Floats:
    """Compute the cosines of each query with its candidates in float64; -inf where there is none.

    The `keep` of the largest bounds come first. A bound below all of their cosines is that of none among the largest.
    """
    exact = np.full(bounds.columns.shape, -np.inf)

    def look_up(wanted: Flags) -> None:
        row, place = np.nonzero(wanted & (bounds.columns >= 0))

        def fill(batch: slice) -> None:
            units = unit_rows(x[bounds.columns[row[batch], place[batch]]])
            cosines = np.clip(np.einsum("mk,mk->m", queries[row[batch]], units), -1, 1)
            exact[row[batch], place[batch]] = np.where(
                np.isnan(cosines), -np.inf, cosines
            )

        list(
            parallel_map(
                fill,
                row_blocks(len(row), x.shape[1], budget=LOOKED_UP),
                in_threads=True,
            )
        )

    foremost = np.arange(bounds.keep) < keep
    look_up(np.broadcast_to(foremost, exact.shape))
    look_up(~foremost & (bounds.values >= exact[:, :keep].min(axis=1)[:, None]))
    return exact


def _upper_bounds(
    x: Rows, rows: Indices, queries: Singles, keep: int, first: Indices | None
) -> TopK:
    """Find the `keep` largest upper bounds of cosines of each query, a block of rows at a time."""
    own, n = rows if first is None else first[rows], len(rows)
    best, waiting = TopK(n, keep), list[Hits]()

    def above(block: slice) -> list[Hits]:
        """Take the bounds of a block that exceed the threshold of their query so far."""
        candidates, inverse, slack = inverse_lengths(x, block)
        if first is not None:
            slack[first[block] != np.arange(len(x))[block]] = -np.inf
        # Where it is the same for all candidates, the threshold is moved instead of every cosine of the tile.
        even = float(slack[0]) if 0 < slack.min() == slack.max() else 0.0
        parts: list[Hits] = []
        for batch in row_blocks(n, len(candidates), budget=8 * TILE):
            tile = queries[batch] @ candidates.T
            tile *= inverse
            if not even:
                tile += slack
            itself = np.flatnonzero(
                (own[batch] >= block.start) & (own[batch] < block.stop)
            )
            tile[itself, own[batch][itself] - block.start] = -np.inf
            threshold = _rounded_down(best.threshold[batch], even)
            row, column, value = topk_above(tile, threshold, keep)
            parts.append(
                (
                    row + batch.start,
                    column + block.start,
                    value.astype(np.float64) + even,
                )
            )
        return parts

    # Neither the numbers of a block nor its cosines may take much room.
    size = min(
        MAX_SINGLE_BLOCK,
        max(MIN_SINGLE_BLOCK, TILE // max(1, n)),
        max(MIN_SINGLE_BLOCK, NUMBERS // x.shape[1]),
    )
    for parts in parallel_map(
        above,
        (slice(start, min(start + size, len(x))) for start in range(0, len(x), size)),
    ):
        waiting += parts
        # A few hits more, against a threshold that is a little old, take less time than a merge for each block.
        if sum(len(row) for row, _, _ in waiting) >= n * WAITING:
            best.merge(*_together(waiting))
            waiting = []
    return best.merge(*_together(waiting)) if waiting else best


def _rounded_down(threshold: Vector, even: float) -> Singles:
    """Return thresholds in float32 that no bound above the given ones falls short of.

    A bound is a float32 number plus `even`. A bound that equals the threshold does not
    exceed the result, because many equal rows would all be merged otherwise.

    Examples
    --------
    >>> _rounded_down(np.array([0.5, 0.1]), 0.0) <= [0.5, 0.1]
    array([ True,  True])
    """
    single = (threshold - even).astype(np.float32)
    lower = np.nextafter(single, np.float32(-np.inf))
    return np.where(single.astype(np.float64) + even > threshold, lower, single)


def _together(parts: list[Hits]) -> Hits:
    """Put hits of consecutive blocks together, in order of rows and then of columns."""
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], column[order], value[order]


def inverse_lengths(x: Rows, block: slice) -> tuple[Singles, Singles, Singles]:
    """Rows of a block, what to multiply products with them by, and how far each cosine may then be off.

    The last is 2 where nothing is known: a direction that rounding may have turned far, a length that float32 cannot
    square; and -inf where a row is zero.
    """
    rows, growth = single(x, block)
    norms, gamma = lengths(rows), (rows.shape[1] + 8) * ROUNDOFF
    is_ordinary = (norms > SIZES[0]) & (norms < SIZES[1]) & (gamma * growth < 0.1)
    # Lengths whose squares leave float32, or directions that rounding may have turned far, get no bound but 2.
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=is_ordinary)
    slack = np.where(is_ordinary, gamma * (2.5 * growth + 3), 2).astype(np.float32)
    extreme = block.start + np.flatnonzero(~is_ordinary)
    if len(extreme):
        slack[extreme[~np.asarray(x[extreme]).any(axis=1)] - block.start] = -np.inf
        # What float32 cannot hold is infinite here, and times 0 no number.
        rows = np.where(is_ordinary[:, None], rows, np.float32(0))
    return rows, inverse, slack


FIRST = 512
"""Candidates of the first block, which sets the threshold for the others; each of those is twice as large."""
MAX_BLOCK = 2048
"""Candidates of a block at most."""


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
    """(m, N) their neighbours. Cosines that differ by rounding only stand in order of row number; -1 where no row with
    a direction is left."""
    cosines: Floats
    """(m, N) the N largest cosines in descending order, NaN where there is no neighbour."""
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
        after = np.where(
            np.isnan(self.runner_up),
            np.nan,
            np.nan_to_num(self.cosines[:, n], nan=-np.inf),
        )
        return replace(
            self,
            indices=self.indices[:, :n],
            cosines=self.cosines[:, :n],
            runner_up=after,
        )

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
        standing = (
            listed
            & (first[self.indices] == self.indices)
            & (self.indices != first[self.rows, None])
        )
        enough = np.count_nonzero(standing, axis=1) > n
        place = np.argsort(~standing, axis=1, kind="stable")[:, : n + 1]
        indices, cosines = (
            np.take_along_axis(self.indices, place, axis=1),
            np.take_along_axis(self.cosines, place, axis=1),
        )
        lists = replace(
            self,
            indices=indices[:, :n],
            cosines=cosines[:, :n],
            runner_up=cosines[:, -1].copy(),
        )
        rest = np.flatnonzero(~enough)
        if not len(rest):
            return lists
        again = neighbours(self.searched, n, rows=self.rows[rest], first=first)
        if len(rest) == len(self.rows):
            return again
        lists = replace(
            lists, indices=lists.indices.copy(), cosines=lists.cosines.copy()
        )
        lists.indices[rest], lists.cosines[rest], lists.runner_up[rest] = (
            again.indices,
            again.cosines,
            again.runner_up,
        )
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
            raise must_be(
                "the lists compared",
                "of the same rows",
                f"{len(self.rows)} and {len(other.rows)} others",
            )
        is_entry = self.indices >= 0
        # One column of the other lists at a time: all at once would be m × N × N flags.
        stays = np.zeros(self.indices.shape, dtype=bool)
        for column in other.indices.T:
            stays |= self.indices == column[:, None]
        stays &= is_entry
        row, place = np.nonzero(is_entry & ~stays)
        pairs = np.column_stack([self.rows[row], self.indices[row, place]])
        last = np.nan_to_num(other.cosines, nan=np.inf).min(axis=1)
        stays[row, place] = (
            pair_cosines(other.searched, other.searched, pairs) >= last[row] - tie
        )
        return stays

    def overlap(self, other: NeighbourLists, *, tie: float = TIE) -> float:
        """Share of the neighbours that are kept in other lists."""
        return int(np.count_nonzero(self.kept_in(other, tie=tie))) / max(
            1, int(np.count_nonzero(self.indices >= 0))
        )


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


def _search_in_float64(
    x: Rows,
    rows: Indices,
    keep: int,
    first: Indices | None,
    level: Vector | None = None,
) -> TopK:
    """Search in float64 alone.

    Parameters
    ----------
    x, rows, keep, first
        As in `neighbours`.
    level : array of shape (m,), optional
        A cosine for each query. Cosines that differ from it by rounding only are replaced by it, so that the rows of
        these cosines enter the list in order of their numbers.
    """
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
            if level is not None:
                levels = level[batch, None]
                is_tied = np.abs(tile - levels) <= cosine_rounding(x.shape[1])
                np.copyto(tile, levels, where=is_tied)
            row, column, value = topk_above(tile, best.threshold[batch], keep)
            parts.append((row + batch.start, number[column], np.maximum(value, -1)))
        return parts

    for parts in parallel_map(largest, _blocks(len(x), x.shape[1], keep)):
        best.merge(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    lost = ~queries.any(axis=1)
    best.columns[lost], best.values[lost] = -1, np.nan
    return best


def _with_ties_in_order(
    x: Rows, rows: Indices, keep: int, first: Indices | None
) -> TopK:
    """Find the `keep` largest cosines, and put rows whose cosines differ by rounding only in order of their numbers.

    The last entry is the runner-up. If it ties with the entry before it, rounding would decide which of the tied rows
    are listed, so these lists are searched again with all tied cosines made equal.
    """
    best, tolerance = _search(x, rows, keep, first), cosine_rounding(x.shape[1])
    last = best.values[:, -2]
    with np.errstate(invalid="ignore"):
        is_tied = last - best.values[:, -1] <= tolerance
    tied = np.flatnonzero(is_tied)
    if len(tied):
        again = _search_in_float64(x, rows[tied], keep, first, last[tied])
        best.columns[tied] = again.columns
    best.columns = order_lists(best.columns, best.values, tolerance)
    return best


MOST_LISTED = 10
"""Length of a list among thirty rows and more, where none is asked for."""


def list_length(n: int | None, n_rows: int, *, left_out: int = 0) -> int:
    """Return the length asked for, or without one ten, at most a third of the others: lists of all rows cannot change.

    Parameters
    ----------
    n : int, optional
        Length asked for.
    n_rows : int
        Rows that lists are of, and hold.
    left_out : int
        Rows beside its own that a list leaves out, at least.

    Examples
    --------
    >>> list_length(None, 9_724), list_length(None, 10), list_length(None, 2), list_length(5, 10), list_length(9, 5)
    (10, 3, 1, 5, 4)
    """
    usual = min(MOST_LISTED, max(1, round((n_rows - 1) / 3)))
    return min(usual if n is None else n, n_rows - 1 - left_out)


def require_length(n: int | None, n_rows: int) -> None:
    """Refuse lists as long as there are rows.

    Examples
    --------
    >>> require_length(12, 10)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: n_neighbours must be an integer from 1 to 9, as lists hold others of 10 rows; got 12.
    """
    if n is not None and as_count(n, "n_neighbours") >= max(n_rows, 2):
        raise must_be(
            "n_neighbours",
            f"an integer from 1 to {n_rows - 1:,}, as lists hold others of {n_rows:,} rows",
            n,
        )


def neighbours(
    x: Rows, n: int = 10, *, rows: ArrayLike | None = None, first: Indices | None = None
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
    first : array of int (p,), optional
        The row that stands for each: only rows that stand for themselves are listed, and never for their own group.

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
    if len(getattr(x, "shape", ())) != 2 or (
        isinstance(x, np.ndarray) and x.dtype.kind not in "fiu"
    ):
        raise must_be(
            "x",
            "a matrix of real numbers",
            f"{type(x).__name__}",
            "np.asarray makes one of rows",
        )
    if len(x) < 2:
        raise must_be("the number of rows", "at least 2 to have neighbours", len(x))
    n = as_count(n, "the number of neighbours", most=len(x) - 1)
    queries: Indices = np.arange(len(x)) if rows is None else as_rows(rows, len(x))
    first = None if first is None else as_rows(first, len(x), "first")
    if first is not None and len(first) != len(x):
        raise must_be("first", f"a vector of {len(x)} row numbers", f"{len(first)}")
    if not len(queries):
        raise must_be("rows", "at least one row number", "none")
    parts = [
        _with_ties_in_order(x, queries[batch], n + 1, first)
        for batch in row_blocks(len(queries), x.shape[1])
    ]
    indices, cosines = (
        np.concatenate([getattr(top, name) for top in parts])
        for name in ("columns", "values")
    )
    listed = np.where(indices[:, :-1] < 0, np.nan, cosines[:, :-1])
    return NeighbourLists(queries, indices[:, :-1], listed, cosines[:, -1], x)
