"""The search in two steps, of rows as they are and with a shift, by one float32 product for both.

With v the direction of a query q + s and y a row, `(q + s)·(y + s) = ‖q + s‖ (v·y + v·s)`, and
`q·y = ‖q + s‖ v·y − s·y`: the products v·y tell the cosines of both. With u the unit roundoff of float32 and
`γ = (k + 8) u`, a product of v or of `s/‖s‖` with y is off by at most `(k + 2) u ‖y‖`, each operation after by u, and
a length by `(k/2 + 4) u`. So a cosine is off by at most `γ (1.5 h + 1)` as rows are, where `h = (‖q + s‖ + ‖s‖)/‖q‖`,
and with the shift by `γ (1.5 g + 1)`, where `g = (‖y‖ + ‖s‖)/‖y + s‖`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.foundation.checked import Flags, Floats, Indices, Matrix, Vector
from embaudit.foundation.parallel import parallel_map, row_blocks
from embaudit.kernels.largest import Hits, Largest
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.screened import ROUNDOFF, SIZES, TILE, Merged, blocks_of, multiplied, settled, spare_of, taken
from embaudit.kernels.seen import Seen, Singles, lengths, single, with_shift
from embaudit.kernels.stretch import Stretch

UNKNOWN = 2.0
"""Slack of a cosine of which nothing is known."""
MOST = 0.1
"""What errors may come to beside a length, beyond which nothing is known of the cosine."""


def slack_of(n_columns: int, grown: Vector) -> Singles:
    """Bound how far cosines are off where what was added up is so many times as long as what came out.

    Examples
    --------
    >>> slack_of(92, np.array([1.0, 1e6])).tolist()
    [1.4901161193847656e-05, 2.0]
    """
    gamma = (n_columns + 8) * ROUNDOFF
    return np.where(gamma * grown < MOST, gamma * (1.5 * grown + 1), UNKNOWN).astype(np.float32)


def is_scaled(x: Matrix | Seen) -> bool:
    """Whether rows are stored in float32, and are those or the same with their columns scaled: rounding then adds 2 u.

    Examples
    --------
    >>> x = np.eye(2, dtype=np.float32)
    >>> [is_scaled(Seen(x, Stretch(np.array([2.0, 1.0])), np.array([0.0, end]))) for end in (0.0, 1.0)]
    [True, False]
    """
    if x.dtype != np.float32 or not isinstance(x, Seen):
        return x.dtype == np.float32
    plain = isinstance(x.linear, Stretch) and x.linear.first is None and x.linear.last is None
    return plain and not x.shift.any()


@dataclass(frozen=True, eq=False)
class _Queries:
    """Queries q with a shift s, and what makes of `v·y` the products of both kinds."""

    moved: Singles
    """(m, k) v."""
    along: Singles
    """(k,) the direction of s."""
    factor: Singles
    """(m, 1) `‖q + s‖/‖q‖`, times v·y; 0 where nothing is known of q."""
    share: Singles
    """(m, 1) `‖s‖/‖q‖`, times that of y along s."""
    level: Singles
    """(m, 1) v·s."""
    slack: Singles
    """(m,) how far the cosines of q may be off."""

    @classmethod
    def of(cls, rows: Floats, shift: Vector) -> _Queries:
        """Prepare queries, given in float64."""
        moved, size = unit_rows(rows + shift, none=0), float(np.linalg.norm(shift))
        near, far = (np.linalg.norm(x, axis=1) for x in (rows, rows + shift))
        grown = np.divide(far + size, near, out=np.full(len(near), np.inf), where=near > 0)
        slack = slack_of(rows.shape[1], grown)
        inverse = np.divide(1, near, out=np.zeros(len(near)), where=slack < UNKNOWN)
        factor, share, level = (
            part[:, None].astype(np.float32) for part in (far * inverse, size * inverse, moved @ shift)
        )
        return cls(moved.astype(np.float32), (shift / (size or 1.0)).astype(np.float32), factor, share, level, slack)


def screened_both(
    x: Matrix | Seen, rows: Indices, shift: Vector, keep: int, keep_shifted: int
) -> tuple[tuple[Largest, Flags], tuple[Largest, Flags]]:
    """Find the largest cosines of some rows with all others, as they are and with a shift added to all.

    Parameters
    ----------
    x : array of shape (p, k) or Seen
        All rows, in float32, as they are or with their columns scaled.
    rows : array of int (m,)
        For which rows.
    shift : array of shape (k,)
        What is added.
    keep, keep_shifted : int
        How many.

    Returns
    -------
    as they are, with the shift : tuple
        As `screened` returns them.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], dtype=np.float32)
    >>> found = screened_both(x, np.array([0]), np.array([0.0, -0.5]), 1, 1)
    >>> [(best.columns.tolist(), settled.tolist()) for best, settled in found]
    [([[1]], [True]), ([[1]], [True])]
    """
    views, keeps, given = (x, with_shift(x, shift)), (keep, keep_shifted), np.asarray(x[rows], dtype=np.float64)
    units = [unit_rows(part, none=0) for part in (given, given + shift)]
    queries, plain = _Queries.of(given, shift), units[0].astype(np.float32)
    merged = [Merged(len(rows), one + spare_of(x)) for one in keeps]
    bests = [one.best for one in merged]

    def found(block: slice) -> list[list[Hits]]:
        parts = _both(x, block, rows, queries, shift, bests)
        if parts is not None:
            return parts
        return [
            multiplied(view, block, rows, q, best.bar, best.keep)
            for view, q, best in zip(views, (plain, queries.moved), bests, strict=True)
        ]

    for both in parallel_map(found, blocks_of(x, len(rows))):
        for one, parts in zip(merged, both, strict=True):
            one.add(parts)
    ends = zip(views, units, merged, keeps, strict=True)
    plainly, shifted = (settled(view, unit, bounds.done(), n) for view, unit, bounds, n in ends)
    return plainly, shifted


def _both(
    x: Matrix | Seen, block: slice, own: Indices, queries: _Queries, shift: Vector, bests: list[Largest]
) -> list[list[Hits]] | None:
    """Find the upper bounds of both kinds that exceed their bars; None where a row of the block has no usual length."""
    rows = single(x, block)[0]
    norms, moved = lengths(rows), lengths(rows + shift.astype(np.float32))
    if not all(((part > SIZES[0]) & (part < SIZES[1])).all() for part in (norms, moved)):
        return None
    slack = slack_of(x.shape[1], (norms + np.linalg.norm(shift)) / moved)
    if not (slack < UNKNOWN).all():
        return None
    inverse, inverse_moved, along = 1 / norms, 1 / moved, rows @ queries.along
    none, parts = np.zeros(len(own), dtype=np.float32), (list[Hits](), list[Hits]())
    for part in row_blocks(len(own), len(rows), budget=8 * TILE):
        product: Singles = queries.moved[part] @ rows.T
        tile: Singles = queries.factor[part] * product
        tile -= queries.share[part] * along
        tile *= inverse
        product += queries.level[part]
        product *= inverse_moved
        product += slack
        for found, bounds, best, off in zip(parts, (tile, product), bests, (queries.slack, none), strict=True):
            found.append(taken(bounds, part, block, own, best.bar, off, best.keep))
    return list(parts)
