"""The direction that all rows of a side share, and what it does to their cosines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix, Vector
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.passes import cached_blocks, each_chunk, in_order
from embaudit.linalg.rows import row_norms, unit_rows
from embaudit.model.side import Side
from embaudit.movements.nearest_changed import NearestChanged
from embaudit.movements.twins import once

SHORT = 1e-290
"""Length up to which rows are divided one by one: its inverse may overflow, and it has lost digits."""


@dataclass(frozen=True)
class CommonDirection:
    """Direction that the rows share: how similar two rows are before anything is told of them."""

    mean_cosine: float
    """Mean cosine of all pairs of rows with a direction, exact."""
    offset: float
    """Length of the mean row, in median rows."""
    centring: NearestChanged
    """Change of the nearest rows when the mean row is removed."""


def mean_cosine(x: Matrix, norms: Vector | None = None) -> float:
    """Compute the mean cosine of all pairs of rows, from the sum of their directions; no pair is formed.

    With m unit rows, `Σ cos = (‖Σ u‖² − m) / 2` over the m(m−1)/2 pairs. Rows without direction are left out; NaN where
    there are fewer than two others.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows; may lie on disk.
    norms : array of shape (p,), optional
        Their lengths, where they are known.

    Examples
    --------
    >>> round(mean_cosine(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])), 6)
    0.466667
    """
    norms = row_norms(x) if norms is None else norms
    # 1/‖x‖ of a very short row leaves float64: such rows are divided by their lengths one by one.
    short, m = np.flatnonzero((norms > 0) & (norms <= SHORT)), int(np.count_nonzero(norms))
    weights = np.divide(1, norms, out=np.zeros(len(norms)), where=norms > SHORT)

    def summed(chunk: slice) -> Floats:
        total = np.zeros(x.shape[1])
        for rows, block in cached_blocks(x, chunk):
            total += weights[rows] @ block
        return total

    total = in_order(each_chunk(x, summed)) + unit_rows(x[short]).sum(axis=0)
    return float((total @ total - m) / (m * (m - 1))) if m > 1 else float("nan")


def mean_row(side: Side) -> Vector:
    """Compute the mean row of a side.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> mean_row(Side([[1.0, 0.0], [0.0, 1.0]], "item"))
    array([0.5, 0.5])
    """
    return np.asarray(np.mean(side.rows, axis=0, dtype=np.float64))


def common_direction(side: Side, lists: NeighbourLists, first: Indices | None = None) -> CommonDirection:
    """Measure the common direction of the rows of a side.

    Parameters
    ----------
    side : Side
        The rows.
    lists : NeighbourLists
        The nearest rows of some of them, as they are.
    first : array of int, optional
        The row that stands for each in the lists, where rows are copies.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> side = Side([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]], "item")
    >>> found = common_direction(side, neighbours(side.rows, 1))
    >>> round(found.mean_cosine, 3), round(found.offset, 3), found.centring.share
    (0.986, 0.996, 1.0)
    """
    mean = mean_row(side)
    centred = neighbours(side.rows, 1, rows=lists.rows, shift=-mean, first=first)
    return CommonDirection(
        mean_cosine(side.rows, side.norms),
        float(np.linalg.norm(mean)) / side.median_length if side.median_length else float("nan"),
        NearestChanged.of(lists, centred, exact=len(lists.rows) == len(once(side.directed, first))),
    )
