"""Exact top-N neighbours by cosine; no p×p matrix is ever built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import Indices, Matrix, as_rows
from embaudit.foundation.workers import ordered_map, row_blocks
from embaudit.kernels.rows import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

TILE = 512
"""Rows of a square tile: two of them, in float64, stay in the second-level cache."""
TIE = 1e-9
"""Cosines closer than this are one cosine: rows of one direction differ by rounding only."""


@dataclass(frozen=True)
class Neighbours:
    """The exact top-N of some rows by cosine, best first, the row itself left out."""

    rows: Indices
    """The rows asked for."""
    indices: Indices
    """(m, N) their neighbours; equal cosines in order of row number; -1 where no row with a direction is left."""
    cosines: NDArray[np.float64]
    """(m, N) the cosines, NaN where there is no neighbour."""
    runner_up: NDArray[np.float64]
    """(m,) the cosine of the first excluded row, -inf where none is left, NaN for a row without direction."""


def _top(tile: NDArray[np.float64], n: int) -> tuple[Indices, NDArray[np.float64], NDArray[np.float64]]:
    """Best `n` of each row of a tile of cosines; ties by row number."""
    keep = min(n + 1, tile.shape[1])
    candidates = np.sort(np.argpartition(-tile, keep - 1, axis=1)[:, :keep], axis=1)
    values = np.take_along_axis(tile, candidates, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    candidates, values = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(values, order, axis=1)
    runner_up = values[:, n] if values.shape[1] > n else np.full(len(tile), -np.inf)
    best = candidates[:, :n]
    # A tie across the cut leaves it to the partition who is in: settle it by row number too.
    tied = values[:, n - 1] == runner_up
    best[tied] = np.argsort(-tile[tied], axis=1, kind="stable")[:, :n]
    none = ~np.isfinite(values[:, :n])
    return np.where(none, -1, best), np.where(none, np.nan, values[:, :n]), runner_up


def neighbour_tiles(unit: Matrix, rows: Indices) -> Iterator[tuple[Indices, NDArray[np.float64]]]:
    """Yield `(rows, cosines to every row)` in tiles.

    A row itself and rows without direction are -inf; to a row without direction every cosine is NaN.
    """
    known = np.nan_to_num(unit)
    empty = np.isnan(unit[:, 0])

    def tile(part: slice) -> tuple[Indices, NDArray[np.float64]]:
        chosen = rows[part]
        cosines = known[chosen] @ known.T
        np.clip(cosines, -1, 1, out=cosines)
        cosines[:, empty] = -np.inf
        cosines[np.arange(len(chosen)), chosen] = -np.inf
        cosines[empty[chosen]] = np.nan
        return chosen, cosines

    yield from ordered_map(tile, row_blocks(len(rows), len(unit)))


def neighbours(x: Matrix, n: int = 10, *, rows: ArrayLike | None = None) -> Neighbours:
    """Find the exact `n` nearest rows by cosine.

    Parameters
    ----------
    x : array of shape (p, k)
        The side to search; rows without direction are nobody's neighbour and have none.
    n : int
        How many neighbours; at most p - 1.
    rows : array of int, optional
        For which rows; all by default.

    Returns
    -------
    Neighbours

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> neighbours(x, 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    if len(x) < 2:
        raise must_be("the number of rows", "at least 2 to have neighbours", len(x))
    if not isinstance(n, int | np.integer) or not 1 <= n < len(x):
        raise must_be("the number of neighbours", f"an integer from 1 to {len(x) - 1}", repr(n))
    chosen = np.arange(len(x)) if rows is None else as_rows(rows, len(x))
    if not len(chosen):
        raise must_be("rows", "at least one row number", "none")
    parts = [(part, *_top(tile, int(n))) for part, tile in neighbour_tiles(unit_rows(x), chosen)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Neighbours(*columns)
