"""One pass over a tile of cosines, compiled where numba is installed: the tally of `kernels.tally` in less time.

What numpy does in some twenty walks over a tile is done row by row here: sums, then the place of each pair in the
counts, then the counts. Places are computed as numpy computes them, so that all counts are the same; sums are added up
in another order. Importing this module loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.foundation.compiled import compiled
from embaudit.kernels.tally import GRID, LEVELS

LAST = GRID - 1
"""The last cell from which a rank bin is looked up."""
SUMS = 7
"""Sums of the cosines before and after, of their squares, of their products, of |Δ|, and sign flips."""


@compiled(cache=True, fastmath={"reassoc", "nsz"})
def add_sums(before: Any, after: Any, rounding: float, sums: Any) -> None:
    """Add what is summed of a row."""
    b = a = bb = aa = ba = gap = flips = 0.0
    for j in range(len(before)):
        x, y = before[j], after[j]
        b += x
        a += y
        bb += x * x
        aa += y * y
        ba += x * y
        gap += abs(y - x)
        flips += 1.0 if x * y < -rounding else 0.0
    for place, value in enumerate((b, a, bb, aa, ba, gap, flips)):
        sums[place] += value


@compiled(cache=True)
def put_cells(cosines: Any, lowest: float, scale: float, cells: Any) -> None:
    """Write the cell of each cosine."""
    for j in range(len(cosines)):
        cells[j] = min(max(np.int32((cosines[j] - lowest) * scale), np.int32(0)), np.int32(LAST))


@compiled(cache=True)
def put_gaps(before: Any, after: Any, changes: float, last: int, gaps: Any, cells: Any) -> None:
    """Write each |Δ| and its bin."""
    for j in range(len(before)):
        gaps[j] = abs(after[j] - before[j])
        cells[j] = min(np.int32(gaps[j] * changes), np.int32(last))


@compiled(cache=True)
def count(one: Any, other: Any, gap: Any, table: Any, table_after: Any, histogram: Any, joint: Any) -> None:
    """Add one to the counts of each pair."""
    # Unsigned, since of others it is looked whether they count from the end.
    for j in range(len(one)):
        row, column = np.uint64(table[np.uint64(one[j])]), np.uint64(table_after[np.uint64(other[j])])
        joint[row * np.uint64(LEVELS) + column] += 1
        histogram[np.uint64(gap[j])] += 1


@compiled(cache=True)
def largest_of(bits: Any, most: int) -> int:
    """Find the largest |Δ|, by its bits: those of positive numbers are in their order, and compared several at once."""
    for j in range(len(bits)):
        most = max(most, bits[j])
    return most


@compiled(cache=True)
def tally_tile(
    before: Any, after: Any, upper: bool, lowest: Any, scale: Any, tables: Any, changes: float, rounding: float,
    histogram: Any, joint: Any, sums: Any, largest: Any,
) -> None:  # fmt: skip
    """Add a tile of both models to a tally, or what of it is above the diagonal.

    Parameters
    ----------
    before, after : array of shape (m, n)
        Cosines, contiguous.
    upper : bool
        Whether only entries (i, j) with i < j count.
    lowest, scale : array of shape (2,)
        Of the cells, before and after.
    tables : array of uint8 (2, LAST + 1)
        The rank bin of each cell.
    changes, rounding : float
        Bins of |Δ| a unit; products below −rounding are sign flips.
    histogram, joint, sums, largest : array
        What is added to: counts of |Δ|, joint counts of rank bins, `SUMS` sums, the bits of the largest |Δ|.
    """
    m, n = before.shape
    one, other, gap, gaps = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
    for i in range(m):
        first = min(i + 1, n) if upper else 0
        x, y, size = before[i][first:], after[i][first:], n - first
        add_sums(x, y, rounding, sums)
        put_cells(x, lowest[0], scale[0], one)
        put_cells(y, lowest[1], scale[1], other)
        put_gaps(x, y, changes, len(histogram) - 1, gaps, gap)
        count(one[:size], other[:size], gap[:size], tables[0], tables[1], histogram, joint)
        largest[0] = largest_of(gaps[:size].view(np.int64), largest[0])
