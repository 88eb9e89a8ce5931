"""The exact search in two steps: float32 products with a proven bound of their error, then float64 for what is near.

With u the unit roundoff of float32 and `γ = (k + 8) u`, a row y = x·linear + shift computed in float32 is off by
at most `γ (‖x‖‖linear‖ + ‖shift‖)`, its direction by at most 2.5 times that over its length, and a product of two
directions by `3 γ` more. Candidates that may exceed the threshold within these bounds are kept, and their cosines
computed in float64. A list is settled if its last cosine exceeds every bound that was left out; the few others are
searched again in float64.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.topk import Hits, TopK, topk_above
from embaudit.linalg.transformed_rows import Rows, Singles, lengths, single

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
MAX_BLOCK = 16_384
"""Rows of a block at most."""
MIN_BLOCK = 1_024
"""Rows of a block at least."""
NUMBERS = 2**22
"""Numbers of a block at most, from `MIN_BLOCK` rows on: several blocks are mapped in float64 at a time."""
LOOKED_UP = 2**22
"""Bytes of candidates in float64 at a time."""
WAITING = 4
"""Hits for each query that wait at least before they are merged."""
ROUNDOFF = 2.0**-24
SIZES = (1e-15, 1e15)
"""Lengths between which squares in float32 neither overflow nor vanish."""


def two_stage_topk(
    x: Rows, rows: Indices, keep: int, first: Indices | None = None, *, spare: int | None = None
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
    n_candidates = keep + (n_extra_candidates(x) if spare is None else spare)
    return certify_topk(x, queries, _upper_bounds(x, rows, queries.astype(np.float32), n_candidates, first), keep)


def n_extra_candidates(x: Rows) -> int:
    """Return how many candidates are kept beside those asked for.

    Examples
    --------
    >>> n_extra_candidates(np.eye(3, 128))
    18
    """
    return int(SPARE + x.shape[1] // COLUMNS_A_SPARE)


def certify_topk(x: Rows, queries: Floats, bounds: TopK, keep: int) -> tuple[TopK, Flags]:
    """Find the largest cosines among those of the largest bounds, and tell where no other one can be larger."""
    exact = _exact(x, queries, bounds, keep)
    order = np.lexsort((bounds.columns, -exact), axis=1)[:, :keep]
    best = TopK(len(queries), keep)
    best.columns = np.take_along_axis(bounds.columns, order, axis=1)
    best.values = np.take_along_axis(exact, order, axis=1)
    best.columns[best.values == -np.inf] = -1
    # The last bound kept exceeds every bound that was left out; -inf means that none was.
    sure = (best.values[:, -1] > bounds.threshold) | (bounds.threshold == -np.inf)
    lost = ~queries.any(axis=1)
    best.columns[lost], best.values[lost] = -1, np.nan
    return best, sure | lost


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
            exact[row[batch], place[batch]] = np.where(np.isnan(cosines), -np.inf, cosines)

        list(parallel_map(fill, row_blocks(len(row), x.shape[1], budget=LOOKED_UP), in_threads=True))

    foremost = np.arange(bounds.keep) < keep
    look_up(np.broadcast_to(foremost, exact.shape))
    look_up(~foremost & (bounds.values >= exact[:, :keep].min(axis=1)[:, None]))
    return exact


def block_size(n_queries: int, n_columns: int) -> int:
    """Return how many rows pass by at a time, so that neither their numbers nor the cosines take much room.

    Examples
    --------
    >>> block_size(3, 64), block_size(3, 4_096), block_size(400, 64)
    (16384, 1024, 1024)
    """
    return min(MAX_BLOCK, max(MIN_BLOCK, TILE // max(1, n_queries)), max(MIN_BLOCK, NUMBERS // n_columns))


def _upper_bounds(x: Rows, rows: Indices, queries: Singles, keep: int, first: Indices | None) -> TopK:
    """Find the `keep` largest upper bounds of cosines of each query."""
    merged, own = Merged(len(rows), keep), rows if first is None else first[rows]
    best = merged.best

    def found(block: slice) -> list[Hits]:
        return multiplied(x, block, own, queries, best.threshold, keep, first)

    for parts in parallel_map(found, blocks_of(x, len(rows))):
        merged.add(parts)
    return merged.done()


def blocks_of(x: Rows, n_queries: int) -> Iterator[slice]:
    """Cut the rows that pass by into blocks."""
    size = block_size(n_queries, x.shape[1])
    return (slice(start, min(start + size, len(x))) for start in range(0, len(x), size))


def multiplied(
    x: Rows, block: slice, own: Indices, queries: Singles, threshold: Vector, keep: int, first: Indices | None = None
) -> list[Hits]:
    """Find the upper bounds of cosines of queries with the rows of a block that exceed a threshold."""
    candidates, inverse, slack = _inverse_lengths(x, block)
    if first is not None:
        slack[first[block] != np.arange(len(x))[block]] = -np.inf
    even = float(slack[0]) if 0 < slack.min() == slack.max() else 0.0
    parts: list[Hits] = []
    for batch in row_blocks(len(queries), len(candidates), budget=8 * TILE):
        tile = queries[batch] @ candidates.T
        tile *= inverse
        if not even:
            tile += slack
        parts.append(above_threshold(tile, batch, block, own, threshold, np.full(len(queries), even), keep))
    return parts


def above_threshold(
    tile: Singles, batch: slice, block: slice, own: Indices, threshold: Vector, slack: Vector, keep: int
) -> Hits:
    """Take what exceeds a threshold, with the slack of its query; nothing is taken of a row and itself."""
    itself = np.flatnonzero((own[batch] >= block.start) & (own[batch] < block.stop))
    tile[itself, own[batch][itself] - block.start] = -np.inf
    row, column, value = topk_above(tile, _rounded_down(threshold[batch] - slack[batch]), keep)
    return row + batch.start, column + block.start, value.astype(np.float64) + slack[batch][row]


class Merged:
    """The largest bounds of each query so far, and those that wait.

    A few hits more, against a threshold that is a little old, take less time than a merge for each block.
    """

    def __init__(self, n_queries: int, keep: int) -> None:
        self.best, self.waiting = TopK(n_queries, keep), list[Hits]()

    def add(self, parts: list[Hits]) -> None:
        """Take those of the next block."""
        self.waiting += parts
        if sum(len(row) for row, _, _ in self.waiting) >= len(self.best.values) * WAITING:
            self.done()

    def done(self) -> TopK:
        """Merge the pending blocks and return the top-k upper bounds."""
        if self.waiting:
            self.best.merge(*_together(self.waiting))
            self.waiting = []
        return self.best


def _together(parts: list[Hits]) -> Hits:
    """Put hits of consecutive blocks together, in order of rows and then of columns."""
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], column[order], value[order]


def _rounded_down(threshold: Vector) -> Singles:
    return np.nextafter(threshold.astype(np.float32), np.float32(-np.inf))


def _inverse_lengths(x: Rows, block: slice) -> tuple[Singles, Singles, Singles]:
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
