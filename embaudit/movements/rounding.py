"""Whether the rounding of stored rows decides who is near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.foundation.checked import Matrix
from embaudit.foundation.workers import each_done, row_blocks
from embaudit.kernels.nearest import NeighbourLists, neighbours
from embaudit.kernels.rows import PASS_BYTES
from embaudit.kernels.scratch import scratch
from embaudit.kernels.storage import Storage, storage_of
from embaudit.model.side import Side
from embaudit.movements.nearest_changed import NearestChanged


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
        drawn[rows] = block + storage.half_steps(block) * draw.uniform(-1, 1, block.shape)

    each_done(fill, zip(blocks, rng.spawn(len(blocks)), strict=True))
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
    after = neighbours(redrawn_within(side.rows, storage, rng), 1, rows=lists.rows)
    changed = NearestChanged.of(after, lists, exact=len(lists.rows) == len(side.directed))
    return Rounding(storage.title, changed)
