"""Maps of the rows of a matrix, a few thousand at a time, stored as precisely as the rows were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.rows import cached_blocks

LONG = 256
"""Columns from which on the products of a square map take longer than the result takes from another process."""
RowMap: TypeAlias = "Callable[[Floats], Floats]"
"""Turns a few float64 rows, which it must not keep, into as many vectors."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """Rows that a function makes of those of a matrix, a block in float64 at a time.

    Examples
    --------
    >>> halves = Mapped(np.array([[2.0, 4.0], [6.0, 8.0]]), lambda block: block / 2, 2)
    >>> halves[:1], halves.stored()
    (array([[1., 2.]]), array([[1., 2.],
           [3., 4.]]))
    """

    x: Matrix
    """(p, k), may lie on disk."""
    function: RowMap
    """Function of some rows."""
    width: int
    """Columns of the result."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns of the result."""
        return len(self.x), self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of what is stored."""
        return self.x.dtype

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any, /) -> Floats:
        return self.function(np.array(self.x[rows], dtype=np.float64))

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield `(rows, self[rows])` a chunk at a time, as precise as the rows are stored."""

        def computed(chunk: slice) -> tuple[slice, Matrix]:
            result = np.empty((chunk.stop - chunk.start, self.width), dtype=self.dtype)
            for rows, block in cached_blocks(self.x, chunk):
                result[rows.start - chunk.start : rows.stop - chunk.start] = (
                    self.function(block)
                )
            return chunk, result

        # Long rows are worth the way back from another process; short ones stay in threads of this one.
        yield from parallel_map(
            computed, row_blocks(*self.x.shape), in_threads=self.x.shape[1] < LONG
        )

    def stored(self) -> Matrix:
        """Compute all rows, as precise as they are stored."""
        result = np.empty(self.shape, dtype=self.dtype)
        for rows, block in self.blocks():
            result[rows] = block
        return result


def affine(centre: Vector, linear: Matrix, precision: float) -> RowMap:
    """Return the function `x → (x − centre) · linear` of rows, known up to a relative precision.

    What is zero but for rounding becomes zero, since it would have a direction made of rounding errors.
    """
    shift, metric = centre @ linear, np.linalg.norm(linear, axis=1)

    def function(block: Floats) -> Floats:
        """Map a few rows."""
        result: Floats = block @ linear
        result -= shift
        lengths = np.sqrt(np.einsum("ij,ij->i", result, result))
        # What no row exceeds first, so that only suspects are looked at one by one.
        most = (np.linalg.norm(block) + np.abs(centre).max()) * metric.sum()
        suspects = np.flatnonzero(lengths <= precision * most)
        sizes = (np.abs(block[suspects]) + np.abs(centre)) @ metric
        result[suspects[lengths[suspects] <= precision * sizes]] = 0
        return result

    return function
