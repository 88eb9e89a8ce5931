"""The exact search in two steps: float32 products with a proven bound of their error, then float64 for what is near.

With u the unit roundoff of float32 and `γ = (k + 8) u`, a row y = x·linear + shift computed in float32 is off by
at most `γ (‖x‖‖linear‖ + ‖shift‖)`, its direction by at most 2.5 times that over its length, and a product of two
directions by `3 γ` more. Candidates that may exceed the threshold within these bounds are kept, and their cosines
computed in float64. A list is settled if its last cosine exceeds every bound that was left out; the few others are
searched again in float64.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
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
    n_candidates = keep + (SPARE + x.shape[1] // COLUMNS_A_SPARE if spare is None else spare)
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
            exact[row[batch], place[batch]] = np.where(np.isnan(cosines), -np.inf, cosines)

        list(parallel_map(fill, row_blocks(len(row), x.shape[1], budget=LOOKED_UP), in_threads=True))

    foremost = np.arange(bounds.keep) < keep
    look_up(np.broadcast_to(foremost, exact.shape))
    look_up(~foremost & (bounds.values >= exact[:, :keep].min(axis=1)[:, None]))
    return exact


def _upper_bounds(x: Rows, rows: Indices, queries: Singles, keep: int, first: Indices | None) -> TopK:
    """Find the `keep` largest upper bounds of cosines of each query, a block of rows at a time."""
    own, n = rows if first is None else first[rows], len(rows)
    best, waiting = TopK(n, keep), list[Hits]()

    def above(block: slice) -> list[Hits]:
        """Take the bounds of a block that exceed the threshold of their query so far."""
        candidates, inverse, slack = _inverse_lengths(x, block)
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
            itself = np.flatnonzero((own[batch] >= block.start) & (own[batch] < block.stop))
            tile[itself, own[batch][itself] - block.start] = -np.inf
            # Rounded down, or float32 might round the threshold up beyond a bound.
            threshold = np.nextafter((best.threshold[batch] - even).astype(np.float32), np.float32(-np.inf))
            row, column, value = topk_above(tile, threshold, keep)
            parts.append((row + batch.start, column + block.start, value.astype(np.float64) + even))
        return parts

    # Neither the numbers of a block nor its cosines may take much room.
    size = min(MAX_BLOCK, max(MIN_BLOCK, TILE // max(1, n)), max(MIN_BLOCK, NUMBERS // x.shape[1]))
    for parts in parallel_map(above, (slice(start, min(start + size, len(x))) for start in range(0, len(x), size))):
        waiting += parts
        # A few hits more, against a threshold that is a little old, take less time than a merge for each block.
        if sum(len(row) for row, _, _ in waiting) >= n * WAITING:
            best.merge(*_together(waiting))
            waiting = []
    return best.merge(*_together(waiting)) if waiting else best


def _together(parts: list[Hits]) -> Hits:
    """Put hits of consecutive blocks together, in order of rows and then of columns."""
    row, column, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], column[order], value[order]


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
