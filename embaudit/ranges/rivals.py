"""The strongest rival of each neighbour list once rows may be shifted: who comes nearest, and how near.

A shift brings pairs together that the plain cosine ranks far apart, so every excluded row is looked at. From lengths
and cosine of a pair `embaudit.ranges.translation` gives its smallest half-angle tangent in closed form. It falls as the
cosine or the budget grows, so with both a rounding larger it is a bound for a whole tile at once; only rows whose bound
lies below the best exact value are computed exactly.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.gauges.gauge import EPS
from embaudit.linalg.nearest import NeighbourLists
from embaudit.linalg.rows import row_norms, unit_rows
from embaudit.ranges.range_solver import ranges_of_pairs
from embaudit.ranges.same_side import SameSideRangeSolver

SLACK = 64 * EPS
"""Rounding that a tangent may lose, relative to it."""
BLOCK_BYTES = 4 * 2**20
BATCH = 4096
"""Exact values asked for at once."""


def nearest_rivals(factors: Matrix, lists: NeighbourLists, max_shift: float) -> Floats:
    """Compute the smallest half-angle tangent that a shift gives each row with any row outside its list.

    Parameters
    ----------
    factors : array of shape (p, k)
        The side that is shifted.
    lists : NeighbourLists
        The lists.
    max_shift : float
        Longest shift, above 0.

    Returns
    -------
    array of shape (m,)
        A lower bound that is exact up to rounding; infinite where no row is left outside. A row without direction
        points wherever the shift does, so where there is one, it is 0.
    """
    lengths = row_norms(factors)
    directed = int((lengths > 0).sum())
    nearest = np.full(len(lists.rows), np.inf)
    if directed < len(lengths):
        return np.zeros(len(nearest))
    if directed <= lists.indices.shape[1] + 1:
        return nearest
    # A shift as long as the row points it anywhere: no search is needed to say so.
    nearest[lengths[lists.rows] <= max_shift] = 0
    searched = np.flatnonzero(lengths[lists.rows] > max_shift)
    unit = unit_rows(factors)

    def least(batch: slice) -> Floats:
        rows = lists.rows[searched[batch]]
        cosines = np.clip(unit[rows] @ unit.T, -1, 1)
        cosines[np.arange(len(rows)), rows] = -np.inf
        np.put_along_axis(cosines, lists.indices[searched[batch]], -np.inf, axis=1)
        bounds = _bounds(cosines, lengths[rows], lengths, max_shift, factors.shape[1])
        return _least(factors, rows, bounds, max_shift)

    parts = row_blocks(len(searched), len(factors), budget=BLOCK_BYTES)
    nearest[searched] = np.concatenate([*parallel_map(least, parts), np.empty(0)])
    return nearest * (1 - SLACK)


def _bounds(cosines: Floats, own: Floats, rival_lengths: Floats, radius: float, k: int) -> Floats:
    """Bound the smallest tangent of each pair of a tile from below; infinite for what is no rival."""
    unit = np.maximum(own[:, None], rival_lengths)
    a, b, r = own[:, None] / unit, rival_lengths / unit, radius * (1 + SLACK) / unit
    c = np.minimum(cosines + 4 * (8 + np.sqrt(k)) * EPS, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = r * np.sqrt((a - b) ** 2 + 2 * a * b * (1 - c))
        area = a * b * np.sqrt((1 - c) * (1 + c))
        inner = a * b * c - r * r
        tangents = np.sqrt((a - r) * (a + r) * (b - r) * (b + r))
        # Two forms of one number: neither may cancel.
        acute = np.maximum(area * (1 - SLACK) - turn, 0) / (inner + tangents)
        bound = np.where(inner > 0, acute, (tangents - inner) / (area + turn)) * (1 - SLACK)
    bound[(r >= np.minimum(a, b)) | np.isnan(bound)] = 0
    bound[np.isneginf(cosines)] = np.inf
    return np.asarray(bound)


def _least(factors: Matrix, rows: Indices, bounds: Floats, max_shift: float) -> Floats:
    """Smallest exact tangent of each row: first where the bound is least, then wherever it does not rule out less."""
    solver = SameSideRangeSolver("right", max_shift=max_shift * (1 + SLACK))
    lines = np.arange(len(rows))
    first = bounds.argmin(axis=1)
    best = ranges_of_pairs(solver, factors, factors, np.column_stack([rows, first])).upper
    bounds[lines, first] = np.inf
    waiting = np.argwhere(bounds < best[:, None])
    for start in range(0, len(waiting), BATCH):
        line, column = waiting[start : start + BATCH].T
        able = bounds[line, column] < best[line]
        line, column = line[able], column[able]
        exact = ranges_of_pairs(solver, factors, factors, np.column_stack([rows[line], column])).upper
        np.minimum.at(best, line, exact)
    return best
