"""Whether the rounding of stored rows decides who is near.

A row x may lie δ from what was rounded to it, so its direction is turned by at most `arcsin(δ/‖x‖)`. Only rows that
are nearly as near as the nearest one can take its place: most are never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from embaudit.foundation.checked import Flags, Matrix, Vector
from embaudit.foundation.parallel import parallel_map, row_blocks
from embaudit.kernels.nearest import NeighbourLists, neighbours
from embaudit.kernels.rows import PASS_BYTES
from embaudit.kernels.scratch import scratch
from embaudit.kernels.storage import Storage, storage_of
from embaudit.model.side import Side
from embaudit.movements.nearest_changed import NearestChanged

LONGER = 1_000
"""Rows listed where a list leaves it open who may be nearest: as many copies are told."""
LOOSE = 2.0
"""Times the median turn from which a row is drawn in any case, as long as such rows are few."""
MOST_LOOSE = 4_096
"""Rows at most that are few."""


@dataclass(frozen=True)
class Rounding:
    """What numbers were rounded to, and who may have been near before."""

    stored_as: str
    """What the numbers are, in words."""
    redrawn: NearestChanged
    """What other numbers that would be stored as the same ones do to the nearest rows."""


def redrawn_within(x: Matrix, storage: Storage, rng: np.random.Generator) -> Matrix:
    """Draw numbers that would have been stored as these, evenly within half a step on either side.

    Examples
    --------
    >>> from embaudit.kernels.storage import FLOAT16
    >>> x = np.array([[1.0, 0.5]])
    >>> bool(np.abs(redrawn_within(x, FLOAT16, np.random.default_rng(0)) - x).max() <= 2**-11)
    True
    """
    drawn, blocks = scratch(x.shape, x.dtype), list(row_blocks(*x.shape, budget=PASS_BYTES))

    def fill(one: tuple[slice, np.random.Generator]) -> None:
        rows, draw = one
        block = np.asarray(x[rows], dtype=np.float64)
        steps = storage.half_steps(block) * block.any(axis=1, keepdims=True)  # a row of zeros was never more
        drawn[rows] = block + steps * draw.uniform(-1, 1, block.shape)

    list(parallel_map(fill, zip(blocks, rng.spawn(len(blocks)), strict=True), in_threads=True))
    return drawn


def rounding(side: Side, lists: NeighbourLists, rng: np.random.Generator) -> Rounding | None:
    """Redraw rows within their rounding and count the nearest rows that become others; None for unrounded rows.

    A row counts as changed where its nearest one after the draw is not also nearest, or tied with it, as stored: rows
    that were stored as equal stay candidates.

    Parameters
    ----------
    side : Side
        The rows.
    lists : NeighbourLists
        The nearest rows of some of them, as they are.
    rng : numpy Generator
        Draws.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> draw = np.random.default_rng(0)
    >>> side = Side(draw.normal(size=(60, 8)).astype(np.float16), "item")
    >>> rounding(side, neighbours(side.rows, 1), draw)
    Rounding(stored_as='float16 numbers', redrawn=NearestChanged(share=0.0, ci_low=0.0, ci_high=0.0, n_rows=60))
    """
    storage = storage_of(side.rows, rng)
    if storage is None:
        return None
    after = _nearest_redrawn(side, storage, lists, rng)
    changed = NearestChanged.of(after, lists, exact=len(lists.rows) == len(side.directed))
    return Rounding(storage.title, changed)


def _nearest_redrawn(side: Side, storage: Storage, lists: NeighbourLists, rng: np.random.Generator) -> NeighbourLists:
    """Find the nearest rows after a draw, in which rows that no draw could make nearest have no part."""
    turns, n = _turns(side, storage), len(side.directed) - 1
    usual = LOOSE * float(np.median(turns[side.directed]))
    needed = [np.flatnonzero(turns > usual), lists.rows, lists.indices.ravel()]
    settled = _settled(lists, turns, usual)
    if not settled.all():
        longer = neighbours(side.rows, min(LONGER, n), rows=lists.rows[~settled])
        needed.append(longer.indices.ravel())
        settled[~settled] = _settled(longer, turns, usual) | (n <= LONGER)
    if not settled.all() or len(needed[0]) > MOST_LOOSE:
        return neighbours(redrawn_within(side.rows, storage, rng), 1, rows=lists.rows)
    some = np.unique(np.concatenate(needed))
    found = neighbours(redrawn_within(side.rows[some], storage, rng), 1, rows=np.searchsorted(some, lists.rows))
    return replace(found, rows=lists.rows, indices=some[found.indices])


def _turns(side: Side, storage: Storage) -> Vector:
    """Bound the angle by which each row may be turned; 0 for a row without direction."""
    far = storage.farthest(side.norms, side.rows.shape[1])
    share = np.divide(far, side.norms, out=np.zeros(len(side)), where=side.norms > 0)
    return np.asarray(np.arcsin(np.minimum(share, 1)))


def _settled(lists: NeighbourLists, turns: Vector, usual: float) -> Flags:
    """Tell in which lists every row stands that may be nearest after a draw, but for those that turn by more.

    The nearest row, at angle θ, stays within `θ + turn` of it and of the row asked; no other row comes nearer than the
    angle of the first row left out less the two turns there.
    """
    first, last = (np.arccos(np.clip(c, -1, 1)) for c in (lists.cosines[:, 0], lists.runner_up))
    return np.asarray(last - usual > first + turns[lists.indices[:, 0]] + 2 * turns[lists.rows])
