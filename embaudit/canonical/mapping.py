"""Maps of the rows of a side, a few thousand at a time, stored as precisely as the rows were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.rows import cached_blocks

LONG = 256
"""Columns from which on the products of a square map take longer than the result takes from another process."""
RowMap: TypeAlias = "Callable[[Floats], Floats]"
"""Turns a few float64 rows of a side into as many vectors."""


def mapped_blocks(x: Matrix, function: RowMap, width: int) -> Iterator[tuple[slice, Matrix]]:
    """Yield `(rows, function(x[rows]))` a chunk at a time, computed in float64, as precise as `x` is stored.

    The function gets a few thousand rows, which it must not keep, and returns as many with `width` columns.
    """

    def part(chunk: slice) -> tuple[slice, Matrix]:
        result = np.empty((chunk.stop - chunk.start, width), dtype=x.dtype)
        for rows, block in cached_blocks(x, chunk):
            result[rows.start - chunk.start : rows.stop - chunk.start] = function(block)
        return chunk, result

    # Long rows are worth the way back from another process; short ones stay in threads of this one.
    yield from parallel_map(part, row_blocks(*x.shape), in_threads=x.shape[1] < LONG)


def affine(centre: Vector, linear: Matrix) -> RowMap:
    """Return the function `x → (x − centre) · linear` of rows."""
    shift = centre @ linear

    def function(block: Floats) -> Floats:
        result: Floats = block @ linear
        result -= shift
        return result

    return function


def gathered(blocks: Iterator[tuple[slice, Matrix]], shape: tuple[int, int], dtype: np.dtype[Any]) -> Matrix:
    """Put blocks of rows together."""
    result = np.empty(shape, dtype=dtype)
    for rows, block in blocks:
        result[rows] = block
    return result


def mapped(x: Matrix, centre: Vector, linear: Matrix) -> Matrix:
    """Compute `(x − centre) · linear`, stored as precisely as `x` was."""
    width = linear.shape[1]
    return gathered(mapped_blocks(x, affine(centre, linear), width), (len(x), width), x.dtype)
