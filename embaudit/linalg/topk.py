"""The largest entries of the rows of a matrix that passes by in tiles: only the best so far are kept."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from embaudit.core.checked import Flags, Indices, Matrix, Vector

Hits: TypeAlias = tuple[Indices, Indices, Vector]
"""Row, column and value of some entries of a tile, in order of rows and then of columns."""


def _foremost(tile: Matrix, keep: int) -> Flags:
    """Mark the `keep` largest of each row, and of equals the first: a partition alone leaves them to chance."""
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
            values[:, : self.keep], columns[:, : self.keep] = self.values[touched], self.columns[touched]
            values[line, place], columns[line, place] = value, np.where(value > -np.inf, column, -1)
            # Later columns stand last, so that a stable sort keeps equals in the order of their columns.
            order = np.argsort(-values, axis=1, kind="stable")[:, : self.keep]
            self.values[touched] = np.take_along_axis(values, order, axis=1)
            self.columns[touched] = np.take_along_axis(columns, order, axis=1)
        return self
